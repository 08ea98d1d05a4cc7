//! The engine that runs the CUDA kernels' PTX without a GPU.

mod runs;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use splatcheck_emulator::{
    Argument, Buffer, DeviceMemory, Fault, FaultKind, KernelCoverage, Launch, Module, Observers,
    Report, RunError, Schedule, Shadowing, TimeLimit, Trace, WARP, run_traced,
};

use super::foreign::ForeignProgram;
use super::noted::Noted;
use crate::artifact::{ARCHITECTURE, Artifact, Build};
use crate::engine::{Arithmetic, DeviceInfo, EngineError, EngineKind, FloatAtomics, LoopLimit};
use crate::ptx_host::{Geometry, Prepared, PtxDevice};
use crate::reduction::Reduction;

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
    /// Lanes of a warp: a power of two up to 64, see [`Module::with_lane_width`].
    pub lane_width: u32,
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
        }
    }
}

/// The emulator as an engine. A kernel that misuses the machine is [`EngineError::Device`] with the
/// fault's words; [`EmulatorEngine::trace`] then replays it.
#[derive(Debug)]
pub struct EmulatorEngine {
    info: DeviceInfo,
    options: EmulatorOptions,
    modules: BTreeMap<Artifact, Module>,
    replaced: BTreeMap<Replaced, Replacement>,
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
}

/// Stage and reduction of the artifacts that are not run.
pub(super) type Replaced = (&'static str, Option<Reduction>);

/// A program that runs in an artifact's place.
#[derive(Debug)]
struct Replacement {
    module: Module,
    entry: String,
}

impl EmulatorEngine {
    /// Opens the emulator and runs the probe on it.
    ///
    /// # Errors
    /// [`EngineError::Compile`] for an artifact that is missing, was changed or does not parse;
    /// [`EngineError::Input`] for a warp size that no machine has.
    pub fn open(options: EmulatorOptions) -> Result<Self, EngineError> {
        let backend = if options.fast_math { "emulator-fast" } else { "emulator" };
        let mut engine = Self {
            info: DeviceInfo {
                adapter: format!("PTX emulator, {ARCHITECTURE}"),
                driver: format!("splatcheck-gpu {}", env!("CARGO_PKG_VERSION")),
                backend: backend.to_owned(),
                kind: EngineKind::Emulator,
                arithmetic: if options.fast_math { Arithmetic::CudaFast } else { Arithmetic::Cuda },
                lane_width: options.lane_width,
                float_atomics: FloatAtomics::Native,
                exp_of_zero_is_one: false,
                loop_limit: LoopLimit::NotMeasured,
            },
            options,
            modules: BTreeMap::new(),
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

    /// Runs the entry point of another program in place of the artifacts of a stage and reduction,
    /// for every number of channels. It must take the
    /// artifacts' parameters; a difference in their number or sizes is an error of the launch.
    ///
    /// # Errors
    /// [`EngineError::Compile`] where the program does not parse or has no such entry point.
    pub fn replace(
        &mut self,
        stage: &'static str,
        reduction: Option<Reduction>,
        ptx: &str,
        entry: &str,
    ) -> Result<(), EngineError> {
        let failed = |message| EngineError::Compile { kernel: entry.to_owned(), message };
        let module = Module::parse(ptx).map_err(|e| failed(e.to_string()))?;
        if let Some(refusal) = module.refusal(entry) {
            return Err(failed(refusal.to_string()));
        }
        if !module.kernels().any(|kernel| kernel == entry) {
            return Err(failed(format!("the program has no entry point {entry}")));
        }
        let module = on_machine(module, self.options.lane_width)?;
        let kernel = Replacement { module, entry: entry.to_owned() };
        self.replaced.insert((stage, reduction), kernel);
        self.coverage.retain(|ran, _| (ran.stage, ran.reduction) != (stage, reduction));
        Ok(())
    }

    /// Runs the artifacts again in place of every program of [`Self::replace`].
    pub fn restore(&mut self) {
        self.replaced.clear();
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
        let own;
        let (module, entry) = match self.replaced.get(&(artifact.stage, artifact.reduction)) {
            Some(kernel) => (&kernel.module, &kernel.entry),
            None => {
                own = artifact.entry();
                (loaded(&mut self.modules, &artifact, self.options.lane_width)?, &own)
            }
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
        let result = run_traced(module, entry, &launch, memory, &followed, observers, trace);
        if !second {
            self.traces.push(self.trace.clone());
        }
        let report = result.map_err(|error| noticed(&mut self.fault, error))?;
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
        self.report = result.map_err(|error| noticed(&mut self.fault, error))?;
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
    pub(super) fn memory_mut(&mut self) -> &mut DeviceMemory {
        &mut self.memory
    }

    /// What an array holds.
    pub(super) fn read_back(&mut self, what: &str, from: Buffer) -> Result<Vec<u8>, EngineError> {
        self.memory.read(from).map_err(|never_written| {
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

    /// Whether exp(+-0) is exactly 1. The probe's entry point takes the arguments, their number and
    /// the results.
    fn probe(&mut self) -> Result<bool, EngineError> {
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

/// The error of a run, as engines tell it; a misuse of the machine is kept.
fn noticed(kept: &mut Option<Box<Fault>>, error: RunError) -> EngineError {
    let text = error.to_string();
    let RunError::Program(fault) = error else {
        return match error {
            RunError::Launch(_) => EngineError::Input(text),
            RunError::Program(_) | RunError::Emulator(_) => EngineError::Device(text),
        };
    };
    let ends = !matches!(fault.kind, FaultKind::Time { .. });
    *kept = Some(fault);
    if ends { EngineError::Device(text) } else { EngineError::NoEnd(text) }
}

fn loaded<'a>(
    modules: &'a mut BTreeMap<Artifact, Module>,
    artifact: &Artifact,
    lane_width: u32,
) -> Result<&'a Module, EngineError> {
    match modules.entry(*artifact) {
        Entry::Occupied(loaded) => Ok(loaded.into_mut()),
        Entry::Vacant(place) => Ok(place.insert(on_machine(load(artifact)?, lane_width)?)),
    }
}

fn on_machine(module: Module, lane_width: u32) -> Result<Module, EngineError> {
    module.with_lane_width(lane_width).map_err(|e| EngineError::Input(e.to_string()))
}

fn load(artifact: &Artifact) -> Result<Module, EngineError> {
    let failed = |message| EngineError::Compile { kernel: artifact.file(), message };
    let ptx = artifact.ptx().map_err(|e| failed(e.to_string()))?;
    Module::parse(ptx).map_err(|e| failed(e.to_string()))
}

impl PtxDevice for EmulatorEngine {
    type Array = Buffer;

    fn build(&self) -> Build {
        Build { fast_math: self.options.fast_math }
    }

    fn upload(&mut self, _what: &str, words: &[u32]) -> Result<Buffer, EngineError> {
        Ok(self.memory.upload(bytemuck::cast_slice(words)))
    }

    fn upload_input(&mut self, what: &str, words: &[u32]) -> Result<Buffer, EngineError> {
        Ok(EmulatorEngine::upload_input(self, what, bytemuck::cast_slice(words)))
    }

    fn poison(&mut self, _what: &str, words: usize) -> Result<Buffer, EngineError> {
        Ok(self.memory.allocate(4 * words))
    }

    fn launch(&mut self, job: &mut Prepared<Buffer>) -> Result<(), EngineError> {
        let mut arguments = Vec::with_capacity(1 + job.inputs.len() + job.outputs.len());
        if !job.record.is_empty() {
            arguments.push(Argument::bytes(bytemuck::cast_slice(&job.record)));
        }
        arguments.extend(job.inputs.iter().chain(&job.outputs).copied().map(Argument::from));
        self.execute(job.artifact, job.geometry, arguments)
    }

    fn download(
        &mut self,
        what: &str,
        from: &Buffer,
        _words: usize,
    ) -> Result<Vec<u32>, EngineError> {
        self.read_back(what, *from).map(|bytes| bytemuck::pod_collect_to_vec(&bytes))
    }
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
