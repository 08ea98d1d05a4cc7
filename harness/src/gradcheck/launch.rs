//! Runs the launches of a manifest on the emulator.

use std::collections::BTreeMap;
use std::time::Duration;

use splatcheck_emulator::{
    Argument, Buffer, DeviceMemory, Launch as Shape, Module, Observers, ParseError, RunError,
    Schedule, Shadowing, TimeLimit, run,
};
use splatcheck_workloads::layout::Expression;

use super::draw::{Case, CaseProblem};
use super::manifest::{Begins, Launch, Manifest, Number, Parameter};
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
        let (mut modules, mut names) = (Vec::new(), Vec::new());
        for (file, text) in files {
            let module = Module::parse(text);
            let module =
                module.map_err(|source| ProgramError::Ptx { file: file.to_owned(), source })?;
            modules.push(module);
            names.push(entries(text));
        }
        Ok(Self { modules, names })
    }

    /// The entry point that is meant, and its module.
    fn find(&self, kernel: &str) -> Result<(&Module, String), BindError> {
        let names: Vec<String> = self.names.concat();
        let found = entry(kernel, &names)?;
        let of = self.names.iter().position(|names| names.contains(&found)).unwrap_or(0);
        let module = &self.modules[of];
        match module.refusal(&found) {
            Some(refusal) => Err(BindError::Ptx(refusal.clone())),
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
            let (module, kernel) = program.find(&launch.kernel).map_err(ProgramError::from)?;
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
        let arguments: Vec<(Argument, u32)> = launch
            .parameters
            .iter()
            .map(|parameter| self.argument(kernel, parameter, case))
            .collect::<Result<_, _>>()?;
        let given: Vec<u32> = arguments.iter().map(|(_, bytes)| *bytes).collect();
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
            arguments: arguments.into_iter().map(|(argument, _)| argument).collect(),
        })
    }

    /// A parameter's value and its bytes.
    fn argument(
        &self,
        kernel: &str,
        parameter: &Parameter,
        case: &Case,
    ) -> Result<(Argument, u32), CaseProblem> {
        let place = format!("kernel '{kernel}', parameters");
        let number = match parameter {
            Parameter::Array(name) => return Ok((self.buffers[name].into(), 8)),
            Parameter::Number(number) => number,
        };
        let out_of_range = |value: i64| CaseProblem::Value {
            place: place.clone(),
            value: value.to_string(),
            advice: "expected a number that its type can hold",
        };
        Ok(match number {
            Number::U8(value) => {
                let value = case.integer(&place, value)?;
                let byte = u8::try_from(value).map_err(|_| out_of_range(value))?;
                (Argument::bytes(&[byte]), 1)
            }
            Number::U32(value) => (whole(case, &place, value)?.into(), 4),
            Number::I32(value) => {
                let value = case.integer(&place, value)?;
                (i32::try_from(value).map_err(|_| out_of_range(value))?.into(), 4)
            }
            Number::U64(value) => {
                let value = case.integer(&place, value)?;
                (u64::try_from(value).map_err(|_| out_of_range(value))?.into(), 8)
            }
            Number::I64(value) => (case.integer(&place, value)?.cast_unsigned().into(), 8),
            #[expect(clippy::cast_possible_truncation, reason = "rounded to the parameter's type")]
            Number::F32(value) => ((case.float(&place, value)? as f32).into(), 4),
            Number::F64(value) => (case.float(&place, value)?.to_bits().into(), 8),
            Number::Null(_) => (0_u64.into(), 8),
        })
    }

    /// The words of an array; why it cannot be read where some were never written.
    pub(super) fn words(&self, name: &str) -> Result<Vec<u32>, String> {
        let bytes =
            self.memory.read(self.buffers[name]).map_err(|error| format!("{name}: {error}"))?;
        let (words, _) = bytes.as_chunks::<4>();
        Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }
}

fn whole(case: &Case, place: &str, number: &Expression) -> Result<u32, CaseProblem> {
    let value = case.integer(place, number)?;
    u32::try_from(value).map_err(|_| CaseProblem::Value {
        place: place.to_owned(),
        value: value.to_string(),
        advice: "expected 0 to 2^32 - 1",
    })
}
