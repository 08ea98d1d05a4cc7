//! Runs the launches of a manifest on the emulator.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use splatcheck_emulator::{
    Argument, Buffer, DeviceMemory, Launch as Shape, Module, Observers, ParseError, RunError,
    Schedule, Shadowing, TimeLimit, run,
};
use splatcheck_workloads::layout::Expression;

use super::draw::{Case, CaseProblem};
use super::manifest::{Begins, Launch, Manifest, Number, Parameter, Structure};
use crate::manifest::{BindError, entries, entry};

/// Why a program cannot be run as its manifest says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// A file that is no PTX, or PTX outside the subset.
    #[error("{file}: {source}")]
    Ptx {
        /// The file.
        file: String,
        /// What is wrong.
        source: ParseError,
    },
    /// No entry point, or several, of that name.
    #[error(transparent)]
    Entry(#[from] BindError),
    /// No file of the name that a launch says.
    #[error("kernel '{kernel}', ptx: there is no file '{ptx}', the files are {}", files.join(", "))]
    File {
        /// The kernel.
        kernel: String,
        /// The file.
        ptx: String,
        /// The files that there are.
        files: Vec<String>,
    },
    /// Another number of parameters, or parameters of other sizes.
    #[error("kernel '{kernel}' has parameters of {found:?} bytes, the manifest gives {given:?}")]
    Parameters {
        /// The kernel.
        kernel: String,
        /// Its parameters' bytes.
        found: Vec<u32>,
        /// Those of the manifest's.
        given: Vec<u32>,
    },
    /// A number of the manifest.
    #[error(transparent)]
    Number(#[from] CaseProblem),
    /// A launch that does not fit its kernel.
    #[error("kernel '{kernel}': {why}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// Why.
        why: String,
    },
}

/// What a launch came to where it gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The kernel is at fault: a race, a barrier that threads miss, a number that was never written.
    Fault(String),
    /// The manifest or this program is.
    Error(ProgramError),
}

impl<E: Into<ProgramError>> From<E> for Stopped {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// Kernels in PTX.
#[derive(Debug)]
pub struct Program {
    modules: Vec<Module>,
    /// Each file's name.
    files: Vec<String>,
    /// The entry points of each file.
    names: Vec<Vec<String>>,
}

impl Program {
    /// The kernels of some files, each with its name and its text.
    ///
    /// # Errors
    /// The first that is no PTX.
    pub fn new<'t>(
        files: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<Self, ProgramError> {
        let (mut modules, mut names, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for (file, text) in files {
            let module = Module::parse(text);
            let module =
                module.map_err(|source| ProgramError::Ptx { file: file.to_owned(), source })?;
            modules.push(module);
            names.push(entries(text));
            all.push(file.to_owned());
        }
        Ok(Self { modules, files: all, names })
    }

    /// The entry point that a launch means, and its module.
    fn find(&self, launch: &Launch) -> Result<(&Module, String), ProgramError> {
        let Launch { ptx, kernel, .. } = launch;
        let is_meant = |file: &String| match ptx {
            Some(name) => Path::new(file).file_name().is_some_and(|own| own == name.as_str()),
            None => true,
        };
        let meant: Vec<usize> =
            (0..self.files.len()).filter(|&at| is_meant(&self.files[at])).collect();
        if let (Some(ptx), []) = (ptx, &meant[..]) {
            let (kernel, ptx, files) = (kernel.clone(), ptx.clone(), self.files.clone());
            return Err(ProgramError::File { kernel, ptx, files });
        }
        let names: Vec<String> = meant.iter().flat_map(|&at| self.names[at].clone()).collect();
        let found = entry(kernel, &names)?;
        let of = meant.into_iter().find(|&at| self.names[at].contains(&found)).unwrap_or(0);
        let module = &self.modules[of];
        match module.refusal(&found) {
            Some(refusal) => Err(BindError::Ptx(refusal.clone()).into()),
            None => Ok((module, found)),
        }
    }
}

/// The arrays of a case in the machine's memory.
pub(super) struct Arrays {
    pub(super) memory: DeviceMemory,
    pub(super) buffers: BTreeMap<String, Buffer>,
}

impl Arrays {
    /// All arrays of a manifest, as they are before the first launch.
    pub(super) fn new(manifest: &Manifest, case: &Case) -> Result<Self, CaseProblem> {
        let mut memory = DeviceMemory::new();
        let mut buffers = BTreeMap::new();
        for (name, array) in &case.arrays {
            buffers.insert(name.clone(), memory.upload_input(name, &array.values.bytes()));
        }
        for (name, output) in &manifest.outputs {
            let bytes = 4 * case.shape(name, &output.shape)?.iter().product::<usize>();
            let buffer = match output.begins {
                Begins::Poison => memory.allocate(bytes),
                Begins::Zeros => memory.upload(&vec![0; bytes]),
            };
            buffers.insert(name.clone(), buffer);
        }
        for (of, name) in manifest.returned() {
            let bytes = 4 * case.shape(of, &manifest.inputs[of].shape)?.iter().product::<usize>();
            buffers.insert(name.to_owned(), memory.upload(&vec![0; bytes]));
        }
        Ok(Self { memory, buffers })
    }

    /// Makes some launches, one after another.
    pub(super) fn launch(
        &mut self,
        (program, case): (&Program, &Case),
        launches: &[Launch],
        (shadow, schedule): (Shadowing, &Schedule),
    ) -> Result<(), Stopped> {
        for launch in launches {
            let (module, kernel) = program.find(launch)?;
            let shape = self.shape(module, &kernel, launch, case)?;
            let time = Some(TimeLimit::from_now(Duration::from_secs(60)));
            let observers = Observers { shadow, time, ..Observers::default() };
            match run(module, &kernel, &shape, &mut self.memory, schedule, observers) {
                Ok(_) => {}
                Err(RunError::Launch(error)) => {
                    return Err(ProgramError::Launch { kernel, why: error.to_string() }.into());
                }
                Err(RunError::Program(fault)) => return Err(Stopped::Fault(fault.to_string())),
                Err(RunError::Emulator(defect)) => {
                    return Err(ProgramError::Launch { kernel, why: defect.to_string() }.into());
                }
            }
        }
        Ok(())
    }

    fn shape(
        &self,
        module: &Module,
        kernel: &str,
        launch: &Launch,
        case: &Case,
    ) -> Result<Shape, ProgramError> {
        let three = |what: &str, sides: &[Expression]| -> Result<[u32; 3], CaseProblem> {
            let mut all = [1; 3];
            for (all, side) in all.iter_mut().zip(sides) {
                *all = whole(case, &format!("kernel '{kernel}', {what}"), side)?;
            }
            Ok(all)
        };
        let place = format!("kernel '{kernel}', parameters");
        let arguments: Vec<Vec<u8>> = launch
            .parameters
            .iter()
            .map(|parameter| Ok(self.bytes(&place, parameter, case)?.0))
            .collect::<Result<_, CaseProblem>>()?;
        let given: Vec<u32> =
            arguments.iter().map(|bytes| u32::try_from(bytes.len()).unwrap_or(u32::MAX)).collect();
        let found = module.parameter_sizes(kernel).unwrap_or_default();
        if found != given {
            return Err(ProgramError::Parameters { kernel: kernel.to_owned(), found, given });
        }
        let shared = launch.dynamic_shared.as_ref();
        let place = format!("kernel '{kernel}', dynamic_shared");
        Ok(Shape {
            grid: three("grid", &launch.grid)?,
            block: three("block", &launch.block)?,
            dynamic_shared: shared.map_or(Ok(0), |shared| whole(case, &place, shared))?,
            arguments: arguments.iter().map(|bytes| Argument::bytes(bytes)).collect(),
        })
    }

    /// A parameter's bytes, and where they may begin: at multiples of this.
    fn bytes(
        &self,
        place: &str,
        parameter: &Parameter,
        case: &Case,
    ) -> Result<(Vec<u8>, usize), CaseProblem> {
        let bytes = match parameter {
            Parameter::Array(name) => self.buffers[name].address().to_le_bytes().to_vec(),
            Parameter::Number(number) => bytes_of(place, number, case)?,
            Parameter::Struct(structure) => return self.structure(place, structure, case),
        };
        let align = bytes.len();
        Ok((bytes, align))
    }

    /// The same of a structure: each field where C puts it, zeros between them.
    fn structure(
        &self,
        place: &str,
        structure: &Structure,
        case: &Case,
    ) -> Result<(Vec<u8>, usize), CaseProblem> {
        let (mut all, mut largest) = (Vec::new(), 1);
        for field in &structure.fields {
            let (bytes, align) = self.bytes(place, field, case)?;
            all.resize(all.len().next_multiple_of(align), 0);
            all.extend(bytes);
            largest = largest.max(align);
        }
        all.resize(all.len().next_multiple_of(largest), 0);
        Ok((all, largest))
    }

    /// The words of an array; why it cannot be read where some were never written.
    pub(super) fn words(&self, name: &str) -> Result<Vec<u32>, String> {
        let bytes =
            self.memory.read(self.buffers[name]).map_err(|error| format!("{name}: {error}"))?;
        let (words, _) = bytes.as_chunks::<4>();
        Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }
}

/// A number's bytes, little endian.
fn bytes_of(place: &str, number: &Number, case: &Case) -> Result<Vec<u8>, CaseProblem> {
    let out_of_range = |value: i64| CaseProblem::Value {
        place: place.to_owned(),
        value: value.to_string(),
        advice: "expected a number that its type can hold",
    };
    Ok(match number {
        Number::U8(value) => {
            let value = case.integer(place, value)?;
            vec![u8::try_from(value).map_err(|_| out_of_range(value))?]
        }
        Number::U32(value) => whole(case, place, value)?.to_le_bytes().to_vec(),
        Number::I32(value) => {
            let value = case.integer(place, value)?;
            i32::try_from(value).map_err(|_| out_of_range(value))?.to_le_bytes().to_vec()
        }
        Number::U64(value) => {
            let value = case.integer(place, value)?;
            u64::try_from(value).map_err(|_| out_of_range(value))?.to_le_bytes().to_vec()
        }
        Number::I64(value) => case.integer(place, value)?.to_le_bytes().to_vec(),
        #[expect(clippy::cast_possible_truncation, reason = "rounded to the parameter's type")]
        Number::F32(value) => (case.float(place, value)? as f32).to_le_bytes().to_vec(),
        Number::F64(value) => case.float(place, value)?.to_le_bytes().to_vec(),
        Number::Null(_) => 0_u64.to_le_bytes().to_vec(),
    })
}

fn whole(case: &Case, place: &str, number: &Expression) -> Result<u32, CaseProblem> {
    let value = case.integer(place, number)?;
    u32::try_from(value).map_err(|_| CaseProblem::Value {
        place: place.to_owned(),
        value: value.to_string(),
        advice: "expected 0 to 2^32 - 1",
    })
}

#[cfg(test)]
mod tests;
