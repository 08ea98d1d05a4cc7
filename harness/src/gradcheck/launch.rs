//! Runs the launches of a manifest on the emulator.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use splatcheck_emulator::{
    Argument, Buffer, DeviceMemory, Launch as Shape, Module, Observers, ParseError, RunError,
    Schedule, Shadowing, TimeLimit, run,
};
use splatcheck_gpu::source_lines::SourceLines;
use splatcheck_workloads::layout::Expression;

use super::draw::{Case, CaseProblem};
use super::fault::{Known, told};
use super::manifest::{Begins, Launch, Manifest, Number, Parameter, Structure};
use crate::manifest::{BindError, entries, entry};
use crate::user_kernel::{KernelLimits, Observe};

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
    /// A file of which no launch has a kernel.
    #[error("{file} has no kernel that the manifest launches ({launched})")]
    Idle {
        /// The file.
        file: String,
        /// The kernels that are launched.
        launched: String,
    },
    /// A convention that names no line of the forward kernels at which it could hold.
    #[error(
        "[conventions], {convention}: {line} is no line of the forward kernels at which they {does}: {known}"
    )]
    Convention {
        /// Which.
        convention: &'static str,
        /// The line.
        line: String,
        /// What the line should do.
        does: &'static str,
        /// The lines that do.
        known: String,
    },
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
    files: Vec<File>,
    /// How many of them, from the first on, were named; the others have what these lack.
    named: usize,
    observe: Observe,
    time: Duration,
}

/// A file of them.
#[derive(Debug)]
struct File {
    name: String,
    module: Module,
    entries: Vec<String>,
    lines: SourceLines,
}

impl Program {
    /// The kernels of some files, each with its name and its text. A kernel that they do not have is one of
    /// `others`.
    ///
    /// # Errors
    /// The first that is no PTX.
    pub fn new<'t>(
        files: impl IntoIterator<Item = (&'t str, &'t str)>,
        others: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<Self, ProgramError> {
        let file = |(name, text): (&str, &str)| {
            let name = name.to_owned();
            match Module::parse(text) {
                Ok(module) => {
                    let (entries, lines) = (entries(text), SourceLines::in_text(text));
                    Ok(File { name, module, entries, lines })
                }
                Err(source) => Err(ProgramError::Ptx { file: name, source }),
            }
        };
        let mut all = files.into_iter().map(file).collect::<Result<Vec<_>, _>>()?;
        let named = all.len();
        all.extend(others.into_iter().map(file).collect::<Result<Vec<_>, _>>()?);
        let limits = KernelLimits::default();
        Ok(Self { files: all, named, observe: Observe::default(), time: limits.time })
    }

    /// The same with what is watched besides values, and how long a launch may take, in processor time.
    #[must_use]
    pub fn watched(self, observe: Observe, time: Duration) -> Self {
        Self { observe, time, ..self }
    }

    /// Whether each file that was named has a kernel of these launches: what is named must be judged.
    ///
    /// # Errors
    /// [`ProgramError::Idle`] for the first that has none.
    pub fn serves<'l>(
        &self,
        launches: impl Iterator<Item = &'l Launch> + Clone,
    ) -> Result<(), ProgramError> {
        let used = launches.clone().map(|launch| Ok(self.find(launch)?.0.name.as_str()));
        let used = used.collect::<Result<Vec<_>, ProgramError>>()?;
        let idle = |file: &&File| !used.contains(&file.name.as_str());
        match self.files[..self.named].iter().find(idle) {
            None => Ok(()),
            Some(file) => {
                let launched: Vec<_> = launches.map(|launch| launch.kernel.as_str()).collect();
                Err(ProgramError::Idle { file: file.name.clone(), launched: launched.join(", ") })
            }
        }
    }

    /// The entry point that a launch means, and its file.
    fn find(&self, launch: &Launch) -> Result<(&File, String), ProgramError> {
        let Launch { ptx, kernel, .. } = launch;
        let is_meant = |file: &&File| match ptx {
            Some(name) => Path::new(&file.name).file_name().is_some_and(|own| own == &**name),
            None => true,
        };
        let (named, others) = self.files.split_at(self.named);
        let of = |files: &[File]| {
            let meant = files.iter().filter(is_meant);
            entry(kernel, &meant.flat_map(|file| file.entries.clone()).collect::<Vec<_>>())
        };
        if let Some(ptx) = ptx
            && !self.files.iter().any(|file| is_meant(&file))
        {
            let files = self.files.iter().map(|file| file.name.clone()).collect();
            return Err(ProgramError::File { kernel: kernel.clone(), ptx: ptx.clone(), files });
        }
        let found = match of(named) {
            Err(BindError::NoEntry { .. }) if of(others).is_ok() => of(others)?,
            Err(BindError::NoEntry { .. }) => of(&self.files)?,
            found => found?,
        };
        let has = |file: &&File| is_meant(file) && file.entries.contains(&found);
        let Some(file) = self.files.iter().find(has) else {
            let (kernel, names) = (kernel.clone(), Vec::new());
            return Err(BindError::NoEntry { kernel, names }.into());
        };
        match file.module.refusal(&found) {
            Some(refusal) => Err(BindError::Ptx(refusal.clone()).into()),
            None => Ok((file, found)),
        }
    }

    /// Lines of CUDA at which some launches' kernels compute in f32, each with whether they choose an operand
    /// or clamp there.
    pub(super) fn departures(
        &self,
        launches: &[Launch],
    ) -> Result<BTreeMap<String, bool>, ProgramError> {
        let mut all = BTreeMap::new();
        for launch in launches {
            let (file, kernel) = self.find(launch)?;
            for (line, chooses) in file.module.departures(&kernel) {
                *all.entry(line).or_insert(false) |= chooses;
            }
        }
        Ok(all)
    }

    /// Whether conventions name lines of the forward kernels.
    ///
    /// # Errors
    /// [`ProgramError::Convention`] for the first that does not.
    pub(super) fn check_conventions(&self, manifest: &Manifest) -> Result<(), ProgramError> {
        let conventions = &manifest.conventions;
        if conventions.is_empty() {
            return Ok(());
        }
        let all = self.departures(&manifest.forward)?;
        let check =
            |lines: &BTreeSet<String>, (convention, does), can: &dyn Fn(bool) -> bool| match lines
                .iter()
                .find(|line| !all.get(*line).is_some_and(|&chooses| can(chooses)))
            {
                None => Ok(()),
                Some(line) => Err(ProgramError::Convention {
                    convention,
                    line: line.clone(),
                    does,
                    known: listed(all.iter().filter(|(_, chooses)| can(**chooses))),
                }),
            };
        let straight = ("straight_through", "choose an operand or clamp");
        check(&conventions.straight_through, straight, &|chooses| chooses)?;
        check(&conventions.detach, ("detach", "compute in f32"), &|_| true)
    }
}

/// Lines that are shown.
const SHOWN: usize = 12;

/// Some lines of CUDA, in words.
fn listed<'l>(lines: impl Iterator<Item = (&'l String, &'l bool)>) -> String {
    let lines: Vec<&str> = lines.map(|(line, _)| line.as_str()).collect();
    match lines.len() {
        0 => "there is none; compile with -lineinfo".to_owned(),
        1..=SHOWN => lines.join(", "),
        count => format!("{} and {} more", lines[..SHOWN].join(", "), count - SHOWN),
    }
}

/// The arrays of a case in the machine's memory.
pub(super) struct Arrays {
    pub(super) memory: DeviceMemory,
    pub(super) buffers: BTreeMap<String, Buffer>,
    /// The shape of each, and the bytes of a number.
    shapes: BTreeMap<String, (Vec<usize>, usize)>,
    /// What the launches since the last [`Self::count`] sent to global memory.
    traffic: Traffic,
}

/// What launches send to global memory by atomics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Instructions, each of up to 32 lanes.
    pub issued: u64,
    /// Additions to words: the lanes of all instructions.
    pub operations: u64,
    /// Words that were added to, launch by launch.
    pub words: u64,
}

impl std::ops::AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.issued += other.issued;
        self.operations += other.operations;
        self.words += other.words;
    }
}

impl Arrays {
    /// All arrays of a manifest, as they are before the first launch.
    pub(super) fn new(
        manifest: &Manifest,
        program: &Program,
        case: &Case,
    ) -> Result<Self, CaseProblem> {
        let mut memory = DeviceMemory::new();
        let (mut buffers, mut shapes) = (BTreeMap::new(), BTreeMap::new());
        for (name, array) in &case.arrays {
            shapes.insert(name.clone(), (array.shape.clone(), array.values.dtype().bytes()));
            let bytes = array.values.bytes();
            let buffer = match program.observe.inputs {
                true => memory.upload_input(name, &bytes),
                false => memory.upload(&bytes),
            };
            buffers.insert(name.clone(), buffer);
        }
        for (name, output) in &manifest.outputs {
            let shape = case.shape(name, &output.shape)?;
            let bytes = output.dtype.bytes() * shape.iter().product::<usize>();
            shapes.insert(name.clone(), (shape, output.dtype.bytes()));
            let buffer = match output.begins {
                Begins::Poison => memory.allocate(bytes),
                Begins::Zeros => memory.upload(&vec![0; bytes]),
            };
            buffers.insert(name.clone(), buffer);
        }
        for (of, name) in manifest.returned() {
            let shape = case.shape(of, &manifest.inputs[of].shape)?;
            let bytes = 4 * shape.iter().product::<usize>();
            shapes.insert(name.to_owned(), (shape, 4));
            buffers.insert(name.to_owned(), memory.upload(&vec![0; bytes]));
        }
        Ok(Self { memory, buffers, shapes, traffic: Traffic::default() })
    }

    /// What the launches since the last call sent to global memory.
    pub(super) fn count(&mut self) -> Traffic {
        std::mem::take(&mut self.traffic)
    }

    /// Makes some launches, one after another.
    pub(super) fn launch(
        &mut self,
        (program, case): (&Program, &Case),
        launches: &[Launch],
        (shadow, schedule): (Shadowing, &Schedule),
    ) -> Result<(), Stopped> {
        for launch in launches {
            let (File { module, lines, .. }, kernel) = program.find(launch)?;
            let shape = self.shape(module, &kernel, launch, case)?;
            let time = Some(TimeLimit::from_now(program.time));
            let races = program.observe.races;
            let observers = Observers { shadow, time, races, ..Observers::default() };
            match run(module, &kernel, &shape, &mut self.memory, schedule, observers) {
                Ok(report) => {
                    self.traffic += Traffic {
                        issued: report.global_atomics.issued,
                        operations: report.global_atomics.operations,
                        words: report.chains.len() as u64,
                    };
                }
                Err(RunError::Launch(error)) => {
                    return Err(ProgramError::Launch { kernel, why: error.to_string() }.into());
                }
                Err(RunError::Program(fault)) => {
                    return Err(Stopped::Fault(told(&fault, &self.known(), lines)));
                }
                Err(RunError::Emulator(defect)) => {
                    return Err(ProgramError::Launch { kernel, why: defect.to_string() }.into());
                }
            }
        }
        Ok(())
    }

    fn known(&self) -> Vec<Known<'_>> {
        let all = self.buffers.iter().map(|(name, buffer)| {
            let (shape, width) = &self.shapes[name];
            Known { name, address: buffer.address(), shape, width: *width }
        });
        all.collect()
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

    /// The bytes of an array; why it cannot be read where some were never written.
    pub(super) fn bytes_of(&self, name: &str) -> Result<Vec<u8>, String> {
        self.memory.read(self.buffers[name]).map_err(|error| format!("{name}: {error}"))
    }

    /// The words of an array of floats.
    pub(super) fn words(&self, name: &str) -> Result<Vec<u32>, String> {
        let bytes = self.bytes_of(name)?;
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
