//! The engine that runs the CUDA kernels' PTX without a GPU.

mod host;
mod programs;
mod runs;
mod wgsl;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use splatcheck_emulator::{
    Argument, Buffer, DeviceMemory, Fault, FaultKind, KernelCoverage, Launch, LaunchError, Module,
    Observers, Report, RunError, Schedule, Shadowing, TimeLimit, Trace, WARP, run_traced,
};

use super::foreign::ForeignProgram;
use super::noted::Noted;
use crate::artifact::{ARCHITECTURE, Artifact, Build};
use crate::engine::{Arithmetic, DeviceInfo, EngineError, EngineKind, FloatAtomics, LoopLimit};
use crate::mutation::Edit;
use crate::ptx_host::{Geometry, PtxDevice};
use crate::reduction::Reduction;
use crate::stage::Language;
use host::Names;
use programs::Program;

/// Which artifacts run, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatorOptions {
    /// The kernels that were compiled with `--use_fast_math`.
    pub fast_math: bool,
    /// Order of execution and rounding of approximate instructions.
    pub schedule: Schedule,
    /// What is watched.
    pub observers: Observers,
    /// Whether a write to an input is a misuse.
    pub guard_inputs: bool,
    /// How long a run may take, all its launches together, in processor time.
    pub time: Option<Duration>,
    /// How often the launches of a run are made, one time after another in the same module, whose variables
    /// keep their values; what comes out of the last is the run's. Where a time leaves the variables as they
    /// were at first, the next would do the same and is left out.
    pub launches: u32,
    /// Lanes of a warp: a power of two up to 64, see [`Module::with_lane_width`]; of WGSL, 4 to 128.
    pub lane_width: u32,
    /// The language of the kernels: what `nvcc` made of those in CUDA, or those in WGSL, which are lowered.
    pub language: Language,
    /// A change of the kernels in WGSL: a mutant.
    pub edit: Option<Edit>,
}

impl Default for EmulatorOptions {
    fn default() -> Self {
        Self {
            fast_math: false,
            schedule: Schedule::lockstep(),
            observers: Observers::default(),
            guard_inputs: true,
            time: None,
            launches: 1,
            lane_width: WARP,
            language: Language::Ptx,
            edit: None,
        }
    }
}

/// The emulator as an engine. A kernel that misuses the machine is [`EngineError::Device`] with the
/// fault's words; [`EmulatorEngine::trace`] then replays it.
#[derive(Debug)]
pub struct EmulatorEngine {
    info: DeviceInfo,
    options: EmulatorOptions,
    programs: BTreeMap<(Artifact, bool), Program>,
    replaced: BTreeMap<Replaced, Program>,
    foreign: BTreeMap<Replaced, Arc<dyn ForeignProgram>>,
    /// Warp instructions of a launch on any job, and for each along the longest side of its arrays;
    /// never more than the observers' budget.
    budget_by_size: Option<[u64; 2]>,
    coverage: BTreeMap<Artifact, KernelCoverage>,
    /// The device's memory during a job.
    memory: DeviceMemory,
    report: Report,
    /// Of the launch that followed, if one did.
    second_report: Report,
    trace: Trace,
    /// The traces of the latest run, one for each launch.
    traces: Vec<Trace>,
    /// What the launches of a run follow in place of the schedule, one for each; none for the schedule.
    decisions: Vec<Trace>,
    fault: Option<Box<Fault>>,
    /// Whether the latest launch left an output unwritten.
    unwritten: bool,
    /// The limit of the run that is made now.
    limit: Option<TimeLimit>,
    noted: Noted,
    names: Names,
    /// The entry points of a user's program in WGSL, by name and constants.
    entries: BTreeMap<(String, String, bool), Program>,
}

/// Stage and reduction of the artifacts that are not run.
pub(super) type Replaced = (&'static str, Option<Reduction>);

impl EmulatorEngine {
    /// Opens the emulator and runs the probe on it.
    ///
    /// # Errors
    /// [`EngineError::Compile`] for an artifact that is missing, was changed or does not parse;
    /// [`EngineError::Input`] for a warp size that no machine has.
    pub fn open(options: EmulatorOptions) -> Result<Self, EngineError> {
        let (backend, arithmetic) = match (options.language, options.fast_math) {
            (Language::Ptx, false) => ("emulator", Arithmetic::Cuda),
            (Language::Ptx, true) => ("emulator-fast", Arithmetic::CudaFast),
            (Language::Wgsl, _) => ("emulator-wgsl", Arithmetic::Wgsl),
        };
        let mut engine = Self {
            info: DeviceInfo {
                adapter: match options.language {
                    Language::Ptx => format!("PTX emulator, {ARCHITECTURE}"),
                    Language::Wgsl => "WGSL emulator".to_owned(),
                },
                driver: format!("splatcheck-gpu {}", env!("CARGO_PKG_VERSION")),
                backend: backend.to_owned(),
                kind: EngineKind::Emulator,
                arithmetic,
                lane_width: options.lane_width,
                float_atomics: FloatAtomics::Native,
                exp_of_zero_is_one: false,
                loop_limit: LoopLimit::NotMeasured,
            },
            options,
            programs: BTreeMap::new(),
            replaced: BTreeMap::new(),
            foreign: BTreeMap::new(),
            budget_by_size: None,
            coverage: BTreeMap::new(),
            memory: DeviceMemory::new(),
            report: Report::default(),
            second_report: Report::default(),
            trace: Trace::new(),
            traces: Vec::new(),
            decisions: Vec::new(),
            fault: None,
            unwritten: false,
            limit: None,
            noted: Noted::default(),
            names: Names::default(),
            entries: BTreeMap::new(),
        };
        engine.info.exp_of_zero_is_one = engine.probe()?;
        Ok(engine)
    }

    /// Chooses how the next launches are scheduled.
    pub fn set_schedule(&mut self, schedule: Schedule) {
        self.options.schedule = schedule;
    }

    /// Lets it know what other engines note of the same kernel, and them what it notes.
    pub fn share(&mut self, noted: Noted) {
        self.noted = noted;
    }

    /// Chooses how many warp instructions the next launches may execute.
    pub fn set_budget(&mut self, budget: u64) {
        self.options.observers.budget = budget;
    }

    /// Chooses how many warp instructions the launches of a job may execute: so many on any job, and so
    /// many more for each along the longest side of its arrays. [`Self::set_budget`] is never exceeded.
    pub fn set_budget_by_size(&mut self, any_job: u64, every_element: u64) {
        self.budget_by_size = Some([any_job, every_element]);
    }

    /// Takes out what all launches so far executed of each artifact, or of the program in its place,
    /// where [`Observers::coverage`] is on. The probe is among them: it runs when the engine opens.
    #[must_use]
    pub fn take_coverage(&mut self) -> BTreeMap<Artifact, KernelCoverage> {
        std::mem::take(&mut self.coverage)
    }

    /// What the latest launch did, of two the first.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// What the launch that followed it did ([`crate::stage::ExtraLaunches`]); nothing where none did.
    #[must_use]
    pub fn second_report(&self) -> &Report {
        &self.second_report
    }

    /// The misuse that ended the latest launch, if one did.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_deref()
    }

    /// What noticed the misuse for which the latest run gave no result (see
    /// [`FaultKind::observer`](splatcheck_emulator::FaultKind::observer)); `None` where there was none, or
    /// where the launch or the emulator itself was at fault.
    #[must_use]
    pub fn misuse(&self) -> Option<&'static str> {
        let fault = self.fault().map(Fault::observer);
        fault.or(self.unwritten.then_some("output not written"))
    }

    /// The decisions of the latest launch, also if it failed; of two the first.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The decisions of each launch of the latest run, also if the last of them failed.
    #[must_use]
    pub fn traces(&self) -> &[Trace] {
        &self.traces
    }

    /// Lets each launch of a run follow these decisions and then lockstep, a trace for each launch in their
    /// order; none lets them follow the schedule again.
    pub fn set_decisions(&mut self, traces: Vec<Trace>) {
        self.decisions = traces;
    }

    /// Runs an artifact, or what was put in its place.
    fn execute(
        &mut self,
        artifact: Artifact,
        geometry: Geometry,
        arguments: Vec<Argument>,
    ) -> Result<(), EngineError> {
        let program = match self.replaced.get(&(artifact.stage, artifact.reduction)) {
            Some(program) => program,
            None => programs::loaded(&mut self.programs, &artifact, &self.options)?,
        };
        let Geometry { grid: [x, y], block } = geometry;
        let launch = Launch { grid: [x, y, 1], block: [block, 1, 1], dynamic_shared: 0, arguments };
        let EmulatorOptions { schedule, observers, .. } = &self.options;
        let observers = Observers { time: self.limit, ..*observers };
        let memory = &mut self.memory;
        self.fault = None;
        self.unwritten = false;
        // In a second launch no lane meets another: what is told of a run is the first's.
        let second = artifact.is_second_launch();
        let mut no_trace = Trace::new();
        let (followed, trace) = match second {
            true => (Schedule::lockstep(), &mut no_trace),
            false => (followed(schedule, &self.decisions, &self.traces), &mut self.trace),
        };
        let result = run_traced(
            &program.module,
            &program.entry,
            &launch,
            memory,
            &followed,
            observers,
            trace,
        );
        if !second {
            self.traces.push(self.trace.clone());
        }
        let report = result.map_err(|error| {
            let told = self.names.told(&error, (program, &self.memory));
            noticed(&mut self.fault, error, told)
        })?;
        self.count(artifact, &report)?;
        if second {
            self.second_report = report;
        } else {
            self.report = report;
            self.second_report = Report::default();
        }
        Ok(())
    }

    /// Launches a kernel of a user's program that has a host side of its own.
    pub(super) fn launch_foreign(
        &mut self,
        module: &Module,
        entry: &str,
        launch: &Launch,
    ) -> Result<(), EngineError> {
        self.fault = None;
        self.unwritten = false;
        let EmulatorOptions { schedule, observers, .. } = &self.options;
        let observers = Observers { time: self.limit, ..*observers };
        let followed = followed(schedule, &self.decisions, &self.traces);
        let (memory, trace) = (&mut self.memory, &mut self.trace);
        let result = run_traced(module, entry, launch, memory, &followed, observers, trace);
        self.traces.push(self.trace.clone());
        self.report = result.map_err(|error| {
            let text = error.to_string();
            noticed(&mut self.fault, error, text)
        })?;
        self.second_report = Report::default();
        Ok(())
    }

    /// An array that holds an input.
    pub(super) fn upload_input(&mut self, name: &str, bytes: &[u8]) -> Buffer {
        match self.options.guard_inputs {
            true => self.memory.upload_input(name, bytes),
            false => self.memory.upload(bytes),
        }
    }

    /// The device's memory.
    pub(super) fn memory(&self) -> &DeviceMemory {
        &self.memory
    }

    /// The device's memory.
    pub(super) fn memory_mut(&mut self) -> &mut DeviceMemory {
        &mut self.memory
    }

    /// What an array holds.
    pub(super) fn read_back(&mut self, what: &str, from: Buffer) -> Result<Vec<u8>, EngineError> {
        self.read_first(what, from, usize::MAX)
    }

    /// The same of the first bytes, so many or as many as there are.
    pub(super) fn read_first(
        &mut self,
        what: &str,
        from: Buffer,
        bytes: usize,
    ) -> Result<Vec<u8>, EngineError> {
        self.memory.read_first(from, bytes).map_err(|never_written| {
            self.unwritten = true;
            EngineError::Device(format!("{what}: {never_written}"))
        })
    }

    /// Lets a program with a host side of its own run.
    pub(super) fn insert_foreign(&mut self, place: Replaced, program: Arc<dyn ForeignProgram>) {
        self.foreign.insert(place, program);
    }

    /// Takes away what the device's memory holds, and what was seen of earlier runs.
    pub(super) fn begin_anew(&mut self) {
        self.memory = DeviceMemory::new();
        self.traces.clear();
        self.names.clear();
        self.limit = self.options.time.map(TimeLimit::from_now);
    }

    /// Does something while floats are followed in another way.
    pub(super) fn shadowed<T>(
        &mut self,
        shadow: Shadowing,
        work: impl FnOnce(&mut Self) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let plain = std::mem::replace(&mut self.options.observers.shadow, shadow);
        let result = work(self);
        self.options.observers.shadow = plain;
        result
    }

    /// How floats are followed.
    pub(super) fn shadowing(&self) -> Shadowing {
        self.options.observers.shadow
    }

    /// Adds the coverage of a launch, if it was counted.
    fn count(&mut self, artifact: Artifact, report: &Report) -> Result<(), EngineError> {
        let Some(latest) = &report.coverage else { return Ok(()) };
        match self.coverage.entry(artifact) {
            Entry::Occupied(mut sum) => {
                let added = sum.get_mut().merge(latest);
                added.map_err(|other| EngineError::Input(format!("{}: {other}", artifact.file())))
            }
            Entry::Vacant(first) => {
                first.insert(latest.clone());
                Ok(())
            }
        }
    }

    /// Whether exp(+-0) is exactly 1. The entry point in PTX takes the arguments, their number and the
    /// results; that in WGSL has bindings.
    fn probe(&mut self) -> Result<bool, EngineError> {
        if self.options.language == Language::Wgsl {
            return self.probe_wgsl();
        }
        let Build { fast_math } = self.build();
        let artifact = Artifact { stage: "probe", reduction: None, channels: None, fast_math };
        let one = 1.0_f32.to_bits();
        let arguments = self.upload("arguments", &[0.0_f32.to_bits(), (-0.0_f32).to_bits()])?;
        let exponentials = self.poison("exponentials", 2)?;
        let all = vec![arguments.into(), 2_u32.into(), exponentials.into()];
        self.execute(artifact, Geometry { grid: [1, 1], block: WARP }, all)?;
        let exponentials = self.download("exponentials", &exponentials, 2)?;
        Ok(exponentials.iter().all(|&bits| bits == one))
    }
}

/// What the next launch of a run follows: its own decisions where there are any, else the schedule.
fn followed(schedule: &Schedule, decisions: &[Trace], made: &[Trace]) -> Schedule {
    match decisions.get(made.len()) {
        Some(own) => schedule.replay(own.clone()),
        None if decisions.is_empty() => schedule.clone(),
        None => schedule.replay(Trace::new()),
    }
}

/// The error of a run, as engines tell it, in these words; a misuse of the machine is kept.
fn noticed(kept: &mut Option<Box<Fault>>, error: RunError, text: String) -> EngineError {
    let RunError::Program(fault) = error else {
        return match error {
            RunError::Launch(LaunchError::Shape { .. } | LaunchError::Shared(_)) => {
                EngineError::NotLaunched(text)
            }
            RunError::Launch(_) => EngineError::Input(text),
            RunError::Program(_) | RunError::Emulator(_) => EngineError::Device(text),
        };
    };
    let ends = !matches!(fault.kind, FaultKind::Time { .. });
    *kept = Some(fault);
    if ends { EngineError::Device(text) } else { EngineError::NoEnd(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_accumulates_and_is_taken_out_once() {
        let observers = Observers { coverage: true, ..Observers::default() };
        let options = EmulatorOptions { observers, ..EmulatorOptions::default() };
        let mut engine = EmulatorEngine::open(options).expect("the artifacts are built in");
        engine.probe().expect("it ran before");
        let taken = engine.take_coverage();
        let [(artifact, twice)] = taken.iter().collect::<Vec<_>>()[..] else {
            panic!("only the probe ran: {:?}", taken.keys());
        };
        assert_eq!(artifact.stage, "probe", "it runs when the engine opens");
        assert_eq!(twice.instructions[0].executed.warps, 2, "two launches of one warp");
        assert!(engine.take_coverage().is_empty(), "it was taken out");
        let mut engine = EmulatorEngine::open(EmulatorOptions::default()).expect("built in");
        assert!(engine.take_coverage().is_empty(), "nobody asked");
    }
}
