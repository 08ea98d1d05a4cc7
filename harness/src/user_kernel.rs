//! A user's kernel on its way to the emulator: one that takes a stage's own parameters, or one with
//! parameters of its own and a launch manifest; and what is watched while it runs.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use splatcheck_gpu::emulator::{
    EmulatorEngine, EmulatorOptions, ForeignProgram, Interface, OwnKernel, OwnKernelError,
};
use splatcheck_gpu::{EngineError, Reduction, Stage};
use splatcheck_reference::splat::Formulation;

use crate::manifest::{BindError, Manifest, ManifestKernel, all_filled};
use splatcheck_judge::io::{Problem, read};
use splatcheck_judge::workload::{AnyCase, NOTE_PREFIX, Notes};
use splatcheck_workloads::presets::Preset;
use splatcheck_workloads::splat::formulated::{FormulationUse, judged_in, stage_of};
use splatcheck_workloads::splat::has_channels;

/// Warp instructions that a user's kernel may execute on any case, and for each along the
/// longest side of its arrays, for splats the (tile, Gaussian) pairs: a block of 8 warps whose lanes
/// all run apart has 4096 for each lane and pair. A kernel that never ends is so reported within seconds
/// on a small case.
const ANY_CASE: u64 = 1 << 24;
const EVERY_ELEMENT: u64 = 1 << 20;

/// How long a run may take where nobody says otherwise, in processor time.
pub const TIME: Duration = Duration::from_secs(60);

/// How long a run may take of which is known that it does not end in more than this.
const SOON: Duration = Duration::from_secs(1);

/// Begins the keys of notes that hold a file of a launch's own.
const FILE_NOTE: &str = "file:";

/// The most that any launch may execute.
const MOST: u64 = 1 << 32;

/// Warp instructions that a launch may execute, by the longest side of its arrays.
#[must_use]
pub fn budget(largest: u64) -> u64 {
    largest.saturating_mul(EVERY_ELEMENT).saturating_add(ANY_CASE).min(MOST)
}

/// What is watched beside what always is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observe {
    /// Whether a data race ends a run. Where it does not, the values are judged all the same.
    pub races: bool,
    /// Whether a write to an input ends a run.
    pub inputs: bool,
    /// Whether an access of global memory out of bounds ends a run. Where it does not, a read there gives a
    /// number that was never written, and a write is lost.
    pub bounds: bool,
}

impl Default for Observe {
    fn default() -> Self {
        Self { races: true, inputs: true, bounds: true }
    }
}

/// There is nothing of that name to turn off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected races=off, inputs=off, bounds=off, or several with commas between them: what else is watched \
     is always watched"
)]
pub struct UnknownObservation;

impl FromStr for Observe {
    type Err = UnknownObservation;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut observe = Self::default();
        for word in text.split(',') {
            match word {
                "races=on" => observe.races = true,
                "races=off" => observe.races = false,
                "inputs=on" => observe.inputs = true,
                "inputs=off" => observe.inputs = false,
                "bounds=on" => observe.bounds = true,
                "bounds=off" => observe.bounds = false,
                _ => return Err(UnknownObservation),
            }
        }
        Ok(observe)
    }
}

impl fmt::Display for Observe {
    /// What is not watched, as it is read back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let off =
            [(self.races, "races=off"), (self.inputs, "inputs=off"), (self.bounds, "bounds=off")];
        let off: Vec<_> = off.into_iter().filter(|(on, _)| !on).map(|(_, word)| word).collect();
        f.write_str(&off.join(","))
    }
}

impl Observe {
    /// What the verdict does not speak of; `None` where everything is watched.
    #[must_use]
    pub fn not_sought(self) -> Option<String> {
        let off = [
            (self.races, "data races"),
            (self.inputs, "writes to inputs"),
            (self.bounds, "accesses out of bounds"),
        ];
        let off: Vec<_> = off.into_iter().filter(|(on, _)| !on).map(|(_, what)| what).collect();
        (!off.is_empty()).then(|| format!("not looked for: {}", off.join(", ")))
    }

    /// The emulator's options with what is watched.
    #[must_use]
    pub fn options(self, mut options: EmulatorOptions) -> EmulatorOptions {
        options.observers.races = self.races;
        options.observers.bounds = self.bounds;
        options.guard_inputs = self.inputs;
        options
    }
}

/// The program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserProgram {
    /// It takes the parameters of a stage.
    Interface(OwnKernel),
    /// It takes what its manifest says.
    Manifest(Arc<ManifestKernel>),
}

/// A kernel of the user's own, with the interface of ours or a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserKernel {
    /// The program.
    pub program: UserProgram,
    /// What is watched.
    pub observe: Observe,
    /// How long a run may go on.
    pub limits: KernelLimits,
}

/// How long a user's kernel may go on: one that never ends is so reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelLimits {
    /// A run, with all its launches, in processor time.
    pub time: Duration,
    /// A launch, in warp instructions; `None` for as many as a case of its size may need.
    pub instructions: Option<u64>,
}

impl Default for KernelLimits {
    fn default() -> Self {
        Self { time: TIME, instructions: None }
    }
}

/// Why the notes of a reproducer hold no kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotedError {
    /// The program does not fit the parameters of a stage.
    #[error(transparent)]
    Own(#[from] OwnKernelError),
    /// The manifest is none.
    #[error(transparent)]
    Manifest(#[from] Problem),
    /// The manifest is of another program.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Something unknown is to be watched.
    #[error(transparent)]
    Observe(#[from] UnknownObservation),
}

impl From<OwnKernel> for UserKernel {
    fn from(kernel: OwnKernel) -> Self {
        UserProgram::Interface(kernel).into()
    }
}

impl From<Arc<ManifestKernel>> for UserKernel {
    fn from(kernel: Arc<ManifestKernel>) -> Self {
        UserProgram::Manifest(kernel).into()
    }
}

impl From<UserProgram> for UserKernel {
    fn from(program: UserProgram) -> Self {
        Self { program, observe: Observe::default(), limits: KernelLimits::default() }
    }
}

impl fmt::Display for UserKernel {
    /// Its entry points, as they were named.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.program {
            UserProgram::Interface(kernel) => f.write_str(kernel.entry()),
            UserProgram::Manifest(kernel) => {
                let names = kernel.manifest().launches.iter().map(|launch| &*launch.kernel);
                f.write_str(&names.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl UserKernel {
    /// The program's text.
    #[must_use]
    pub fn ptx(&self) -> &str {
        match &self.program {
            UserProgram::Interface(kernel) => kernel.ptx(),
            UserProgram::Manifest(kernel) => kernel.ptx(),
        }
    }

    /// The text that has an entry point.
    #[must_use]
    pub fn text_of(&self, entry: &str) -> &str {
        match &self.program {
            UserProgram::Interface(kernel) => kernel.ptx(),
            UserProgram::Manifest(kernel) => kernel.text_of(entry),
        }
    }

    /// The files that launches of its manifest have of their own, with their texts.
    #[must_use]
    pub fn files(&self) -> BTreeMap<&str, &str> {
        match &self.program {
            UserProgram::Interface(_) => BTreeMap::new(),
            UserProgram::Manifest(kernel) => kernel.files().collect(),
        }
    }

    /// Its manifest, if it has one.
    #[must_use]
    pub fn manifest(&self) -> Option<&Manifest> {
        match &self.program {
            UserProgram::Interface(_) => None,
            UserProgram::Manifest(kernel) => Some(kernel.manifest()),
        }
    }

    /// Its entry points, in the order in which they are launched.
    #[must_use]
    pub fn entries(&self) -> Vec<&str> {
        match &self.program {
            UserProgram::Interface(kernel) => vec![kernel.entry()],
            UserProgram::Manifest(kernel) => kernel.entries().iter().map(String::as_str).collect(),
        }
    }

    /// Whether the variables of its modules have values that it reads: without them nothing is judged.
    ///
    /// # Errors
    /// [`BindError::Unfilled`].
    pub fn filled(&self) -> Result<(), BindError> {
        match &self.program {
            UserProgram::Interface(kernel) => {
                all_filled(kernel.entry(), kernel.unfilled().to_owned())
            }
            UserProgram::Manifest(kernel) => kernel.filled(),
        }
    }

    /// Whether it was compiled to take subnormal numbers for zeros, as by `nvcc --use_fast_math`.
    #[must_use]
    pub fn flushes(&self) -> bool {
        match &self.program {
            UserProgram::Interface(kernel) => kernel.flushes(),
            UserProgram::Manifest(kernel) => kernel.flushes(),
        }
    }

    /// Lets an engine run a changed text of the program in its place, which has the same entry points.
    ///
    /// # Errors
    /// [`EngineError::Compile`] where the text does not parse or lacks one of them.
    pub fn install(
        &self,
        engine: &mut EmulatorEngine,
        (stage, reduction): (Stage, Option<Reduction>),
        ptx: &str,
    ) -> Result<(), EngineError> {
        match &self.program {
            UserProgram::Interface(kernel) => {
                engine.replace(stage.spec().name, reduction, ptx, kernel.entry())
            }
            UserProgram::Manifest(kernel) => {
                let failed = |error: BindError| EngineError::Compile {
                    kernel: self.to_string(),
                    message: error.to_string(),
                };
                engine.replace_by((stage, reduction), kernel.changed(ptx).map_err(failed)?);
                Ok(())
            }
        }
    }

    /// The same with less time, for a run that is known not to end: in less time it does not end either.
    #[must_use]
    pub fn soon_given_up(&self) -> Self {
        let limits = KernelLimits { time: self.limits.time.min(SOON), ..self.limits };
        Self { limits, ..self.clone() }
    }

    /// Whether a run of it is one launch, whose decisions are then the run's.
    #[must_use]
    pub fn is_one_launch(&self) -> bool {
        self.manifest().is_none_or(|manifest| manifest.launches.len() == 1)
    }

    /// Whether it may be judged in a formulation: whether it takes arrays that it is given there.
    #[must_use]
    pub fn fits(&self, formulation: Formulation) -> bool {
        match &self.program {
            UserProgram::Interface(kernel) => {
                Interface::of(stage_of(formulation)).is_some_and(|it| kernel.fits(it))
            }
            UserProgram::Manifest(kernel) => kernel.manifest().not_of(formulation).is_none(),
        }
    }

    /// The stage that it stands in for, judged in a formulation.
    #[must_use]
    pub fn stage(&self, formulation: Formulation) -> Stage {
        match &self.program {
            UserProgram::Interface(_) => stage_of(formulation),
            UserProgram::Manifest(kernel) => kernel.manifest().stage(formulation),
        }
    }

    /// Whether it is of the stage that has formulations.
    #[must_use]
    pub fn has_formulations(&self) -> bool {
        self.manifest().is_none_or(|manifest| manifest.kind.has_formulations())
    }

    /// A case as it is judged on it, in a formulation.
    ///
    /// # Errors
    /// [`FormulationUse`].
    pub fn judged(
        &self,
        case: &AnyCase,
        formulation: Formulation,
    ) -> Result<AnyCase, FormulationUse> {
        match &self.program {
            UserProgram::Interface(_) => judged_in(case, formulation),
            UserProgram::Manifest(kernel) => kernel.manifest().judged(case, formulation),
        }
    }

    /// Whether it is for a case: for its number of channels, where only one is, and as its manifest says.
    #[must_use]
    pub fn takes(&self, case: &AnyCase, channels: Option<u32>) -> bool {
        has_channels(case, channels) && self.manifest().is_none_or(|manifest| manifest.takes(case))
    }

    /// Opens the emulator with the kernel in place of a stage's artifacts of a reduction, if it has one.
    ///
    /// # Errors
    /// As [`EmulatorEngine::open`] and [`OwnKernel::install`].
    pub fn open(
        &self,
        options: EmulatorOptions,
        run: (Stage, Option<Reduction>),
    ) -> Result<EmulatorEngine, EngineError> {
        let mut options = self.observe.options(options);
        options.time = Some(self.limits.time);
        let mut engine = EmulatorEngine::open(options)?;
        match self.limits.instructions {
            Some(most) => engine.set_budget(most),
            None => engine.set_budget_by_size(ANY_CASE, EVERY_ELEMENT),
        }
        match &self.program {
            UserProgram::Interface(kernel) => kernel.install(&mut engine, run)?,
            UserProgram::Manifest(kernel) => {
                let program: Arc<dyn ForeignProgram> = Arc::<ManifestKernel>::clone(kernel);
                engine.replace_by(run, program);
            }
        }
        Ok(engine)
    }

    /// The kernel as notes of a reproducer, whose keys begin with `group` behind [`NOTE_PREFIX`].
    #[must_use]
    pub fn notes(&self, group: &str) -> Notes {
        let mut notes = vec![("kernel", self.to_string()), ("ptx", self.ptx().to_owned())];
        notes.extend(self.manifest().map(|manifest| ("manifest", manifest.text().to_owned())));
        let preset = self.manifest().and_then(Manifest::preset);
        notes.extend(preset.map(|text| ("manifest_preset", text.to_owned())));
        if self.observe != Observe::default() {
            notes.push(("observe", self.observe.to_string()));
        }
        let note = |(key, text): (&str, String)| (format!("{NOTE_PREFIX}{group}{key}"), text);
        let file = |(name, text): (&str, &str)| {
            (format!("{NOTE_PREFIX}{group}{FILE_NOTE}{name}"), text.to_owned())
        };
        notes.into_iter().map(note).chain(self.files().into_iter().map(file)).collect()
    }

    /// Reads [`Self::notes`]; `None` where there are none.
    ///
    /// # Errors
    /// The note, by its full key, that is missing or says nothing of its kind.
    pub fn of_notes(notes: &Notes, group: &str) -> Result<Option<Self>, Problem> {
        let key = |key: &str| format!("{NOTE_PREFIX}{group}{key}");
        let text = |name: &str| notes.get(&key(name)).map(String::as_str);
        if text("kernel").is_none() && text("ptx").is_none() {
            return Ok(None);
        }
        let need = |name: &str| {
            let missing = || Problem::new(key(name), "missing", "a kernel is kept with it");
            text(name).ok_or_else(missing)
        };
        let (ptx, entry) = (need("ptx")?.to_owned(), need("kernel")?.to_owned());
        let problem = |name: &str, error: NotedError| {
            Problem::new(key(name), "not usable", error.to_string())
        };
        let program = match text("manifest") {
            None => {
                let kernel = own_kernel(notes, ptx, entry);
                UserProgram::Interface(kernel.map_err(|error| problem("ptx", error.into()))?)
            }
            Some(manifest) => {
                let own = |name: &str| match text("manifest_preset") {
                    Some(text) => Preset::parse(&read::stem(Path::new(name)), text.to_owned())
                        .map(Arc::new)
                        .map_err(|problem| problem.to_string()),
                    None => Preset::named(name).map(Arc::new).map_err(|error| error.to_string()),
                };
                let manifest = Manifest::parse_with(manifest, &own);
                let manifest = manifest.map_err(|error| problem("manifest", error.into()))?;
                let file = |name: &str| {
                    Some((name.to_owned(), text(&format!("{FILE_NOTE}{name}"))?.to_owned()))
                };
                let files = manifest.files().into_iter().filter_map(file).collect();
                let kernel = ManifestKernel::of_files(manifest, ptx, files);
                UserProgram::Manifest(kernel.map_err(|error| problem("ptx", error.into()))?)
            }
        };
        let observe = match text("observe") {
            None => Observe::default(),
            Some(text) => text.parse().map_err(|error: UnknownObservation| {
                problem("observe", NotedError::Observe(error))
            })?,
        };
        Ok(Some(Self { observe, ..Self::from(program) }))
    }
}

/// A kernel with the parameters of the stage that a file's notes name.
fn own_kernel(notes: &Notes, ptx: String, entry: String) -> Result<OwnKernel, OwnKernelError> {
    let stage = notes.get(&format!("{NOTE_PREFIX}stage")).and_then(|name| name.parse().ok());
    let interface = stage.and_then(Interface::of).unwrap_or(Interface::Standard);
    OwnKernel::new(interface, ptx, entry)
}
