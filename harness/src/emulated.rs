//! Failing runs of the emulator, taken apart: repeated in this process, their decisions recorded and
//! made as few as the failure allows.
//!
//! The emulator is deterministic and touches nothing but its own memory, so that here, other than
//! for a device, no process of its own is needed: the same emulation on the same case makes the same
//! decisions that it made in the child.

mod recording;
pub mod trace;

pub use recording::Recording;

use crate::campaign::once::once;
use crate::campaign::{Fault, Finding, Item};
use crate::engines::Emulation;
use crate::workload::{CaseError, Job};
use splatcheck_emulator::{Trace, shrink};
use splatcheck_gpu::Stage;
use splatcheck_gpu::artifact::{Artifact, ArtifactError, sha256};
use splatcheck_gpu::emulator::{EmulatorEngine, OwnKernel};
use splatcheck_gpu::{EngineError, Reduction, Setting};
use std::mem::discriminant;
use std::slice;
use std::time::{Duration, Instant};

/// Time granted to the reduction of one trace.
const TIME: Duration = Duration::from_secs(10);

/// Warp instructions that a user's kernel may execute on any case, and for each along the
/// longest side of its arrays, for splats the (tile, Gaussian) pairs: a block of 8 warps whose lanes
/// all run apart has 4096 for each lane and pair. A kernel that never ends is so reported within seconds on a small case.
const ANY_CASE: u64 = 1 << 24;
const EVERY_ELEMENT: u64 = 1 << 20;

/// Opens the emulator with a user's kernel in place of a stage's artifacts of a reduction, for these
/// cases.
///
/// # Errors
/// As [`EmulatorEngine::open`].
pub fn open_own(
    emulation: Emulation,
    kernel: &OwnKernel,
    (stage, reduction): (Stage, Reduction),
    items: &[Item],
) -> Result<EmulatorEngine, EngineError> {
    let jobs = items.iter().filter_map(|item| item.job(stage));
    let largest = jobs.map(|job| job.sizes.largest() as u64);
    let budget = largest.max().unwrap_or(0).saturating_mul(EVERY_ELEMENT).saturating_add(ANY_CASE);
    let mut options = emulation.options();
    options.observers.budget = options.observers.budget.min(budget);
    let mut engine = EmulatorEngine::open(options)?;
    kernel.install(&mut engine, reduction)?;
    Ok(engine)
}

/// One job under one setting, with the emulator opened for it.
struct Rerun<'a> {
    engine: EmulatorEngine,
    emulation: Emulation,
    job: &'a Job,
    setting: Option<Setting>,
}

impl<'a> Rerun<'a> {
    fn new(
        emulation: Emulation,
        kernel: Option<&OwnKernel>,
        (stage, setting): (Stage, Option<Setting>),
        item: &'a Item,
    ) -> Result<Self, EngineError> {
        let job = item.job(stage).ok_or_else(|| {
            EngineError::Input(format!("view {} of {} has no {stage}", item.view, item.case.name()))
        })?;
        let engine = match kernel.zip(setting) {
            Some((kernel, setting)) => {
                open_own(emulation, kernel, (stage, setting.reduction), slice::from_ref(item))?
            }
            None => EmulatorEngine::open(emulation.options())?,
        };
        Ok(Self { engine, emulation, job, setting })
    }

    /// What fails under the emulation's schedule, or under some decisions of it.
    fn failure(&mut self, decisions: Option<&Trace>) -> Option<Fault> {
        let schedule = self.emulation.order.schedule();
        self.engine.set_schedule(match decisions {
            Some(trace) => schedule.replay(trace.clone()),
            None => schedule,
        });
        match once(&mut self.engine, self.job, self.setting) {
            Ok(tally) => tally.worst.map(Fault::Difference),
            Err(error) => Some(Fault::Engine(error)),
        }
    }
}

/// Why a finding cannot be recorded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecordError {
    /// It was not made by the emulator.
    #[error("it was not found on the emulator")]
    NotEmulated,
    /// Its case cannot be prepared.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The emulator does not open here, as it did where the finding was made.
    #[error("the emulator does not open: {0}")]
    Open(EngineError),
    /// Nothing fails here, or something else does.
    #[error("the failure does not repeat in this process")]
    NotRepeated,
    /// The decisions that were recorded do not give the failure that they were recorded of.
    #[error("the failure does not repeat under its own decisions")]
    NotReplayed,
    /// The program that ran is not what it was built as.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

/// Repeats a finding and keeps the decisions that it needs; in the finding's place comes what was
/// seen under those. The finding's notes say what was kept, and show the PTX lines at fault.
///
/// # Errors
/// What the finding was made by is not the emulator, or it does not repeat here: then it is a defect
/// of this program.
pub fn record(finding: &mut Finding, kernel: Option<&OwnKernel>) -> Result<Recording, RecordError> {
    let emulation = finding.emulation.ok_or(RecordError::NotEmulated)?;
    let item = Item::new(finding.case.clone(), finding.view)?;
    let run = (finding.stage, finding.setting);
    let mut rerun = Rerun::new(emulation, kernel, run, &item).map_err(RecordError::Open)?;
    let same = |fault: &Fault| discriminant(fault) == discriminant(&finding.fault);
    let repeated = rerun.failure(None).filter(same);
    let mut fault = repeated.ok_or(RecordError::NotRepeated)?;
    let whole = rerun.engine.trace().clone();
    let mut trace = Trace::new();
    if !whole.is_empty() {
        let until = Instant::now() + TIME;
        trace = shrink(&whole, |fewer| {
            Instant::now() < until && rerun.failure(Some(fewer)).as_ref().is_some_and(same)
        });
        let left = rerun.failure(Some(&trace)).filter(same);
        fault = left.ok_or(RecordError::NotReplayed)?;
    }
    let ptx = Ptx::of(emulation, kernel, rerun.job, finding.setting)?;
    let recording = Recording {
        emulation,
        kernel: kernel.cloned(),
        artifact: ptx.name(),
        decisions: whole.len(),
        failure: describe(&fault),
        trace,
    };
    finding.notes = notes(&recording, &rerun.engine, ptx.text);
    finding.fault = fault;
    Ok(recording)
}

/// What a finding's reader is told besides the fault.
fn notes(recording: &Recording, engine: &EmulatorEngine, ptx: &str) -> Vec<String> {
    let mut notes = vec![format!("program {}", recording.artifact)];
    if recording.emulation.order.seed().is_some() {
        notes.push(format!(
            "schedule {}: {} of its {} decisions are needed, then lockstep",
            recording.emulation.order,
            recording.trace.len(),
            recording.decisions
        ));
    }
    notes.extend(lines_at_fault(engine, ptx));
    notes
}

/// The PTX lines that the latest launch's fault names, with their numbers.
fn lines_at_fault(engine: &EmulatorEngine, ptx: &str) -> Vec<String> {
    let Some(fault) = engine.fault() else { return Vec::new() };
    let shown = |line: u32| {
        let text = ptx.lines().nth((line as usize).checked_sub(1)?)?;
        Some(format!("line {line}: {}", text.trim()))
    };
    fault.lines().into_iter().filter_map(shown).collect()
}

/// Repeats a recording on its case: what fails now, `None` if nothing does.
///
/// # Errors
/// The emulator does not open.
pub fn replay(
    recording: &Recording,
    run: (Stage, Option<Setting>),
    item: &Item,
) -> Result<Option<Fault>, EngineError> {
    let kernel = recording.kernel.as_ref();
    let mut rerun = Rerun::new(recording.emulation, kernel, run, item)?;
    // Lockstep makes no decisions, and is not the same as following none.
    let decided = recording.emulation.order.seed().is_some();
    Ok(rerun.failure(decided.then_some(&recording.trace)))
}

/// A fault in words: a number that differs has all its digits.
#[must_use]
pub fn describe(fault: &Fault) -> String {
    match fault {
        Fault::Difference(difference) => difference.to_string(),
        Fault::Engine(error) => error.to_string(),
    }
}

/// The artifact that the emulator runs for a job.
#[must_use]
pub fn artifact(emulation: Emulation, job: &Job, setting: Option<Setting>) -> Artifact {
    emulation.build().artifact(job.stage.spec(), setting, &job.sizes)
}

/// File and SHA-256 of the PTX that a recording's replay runs.
///
/// # Errors
/// The artifact is missing or was changed.
pub fn program_now(
    recording: &Recording,
    job: &Job,
    setting: Option<Setting>,
) -> Result<String, ArtifactError> {
    let kernel = recording.kernel.as_ref();
    Ok(Ptx::of(recording.emulation, kernel, job, setting)?.name())
}

/// A program that runs.
struct Ptx<'a> {
    file: String,
    text: &'a str,
}

impl<'a> Ptx<'a> {
    fn of(
        emulation: Emulation,
        kernel: Option<&'a OwnKernel>,
        job: &Job,
        setting: Option<Setting>,
    ) -> Result<Self, ArtifactError> {
        if let Some(kernel) = kernel {
            return Ok(Self { file: kernel.entry().to_owned(), text: kernel.ptx() });
        }
        let artifact = artifact(emulation, job, setting);
        let text = artifact.ptx()?;
        Ok(Self { file: artifact.file(), text })
    }

    /// File or kernel, and hash.
    fn name(&self) -> String {
        format!("{} {}", self.file, sha256(self.text.as_bytes()))
    }
}
