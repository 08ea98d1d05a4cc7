//! A mutant's PTX on the emulator, watched by everybody.

use super::class::Trial;
use super::{BY_COUNTS, Catch};
use splatcheck_emulator::{Report, Schedule};
use splatcheck_gpu::Stage;
use splatcheck_gpu::artifact::{Artifact, Channels};
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::reduction::OfWorkgroup;
use splatcheck_gpu::{Engine, EngineError, Setting};
use splatcheck_judge::campaign::once::once;
use splatcheck_judge::verdict::Tally;
use splatcheck_judge::workload::Job;
use std::collections::BTreeMap;

/// Warp instructions that a mutant's launch may execute before anybody asks how many the right kernel needs: a
/// second of time for one that never ends.
const BUDGET: u64 = 1 << 25;
/// How many times as many as the right kernel under the same schedule it may execute in the end.
const PATIENCE: u64 = 8;

/// A kernel on the emulator, right or wrong, beside the right one.
#[derive(Debug)]
pub struct Emulated {
    kernel: Artifact,
    engine: EmulatorEngine,
    right: EmulatorEngine,
    stage: Stage,
    settings: Vec<Option<Setting>>,
}

/// The stage of an artifact, with the settings of a sweep that concern it.
///
/// # Errors
/// [`EngineError::Input`] for an artifact of no judged stage.
pub fn stage_of(
    kernel: &Artifact,
    lane_width: u32,
) -> Result<(Stage, Vec<Option<Setting>>), EngineError> {
    let missing = || EngineError::Input(format!("no stage is judged by {}", kernel.file()));
    let (stage, reduction) = kernel.judged().ok_or_else(missing)?;
    let mut settings = Setting::sweep(lane_width);
    settings.retain(|setting| Some(setting.reduction) == reduction);
    Ok((stage, stage.settings(&settings)))
}

/// Whether a kernel is made for the case.
#[must_use]
pub fn takes(kernel: &Artifact, stage: Stage, trial: &Trial) -> bool {
    let Some(job) = trial.job(stage) else { return false };
    let size = job.stage.compiled_size(&job.sizes);
    match kernel.channels {
        Some(Channels::Exactly(d)) => size == d,
        Some(Channels::UpTo(d)) => size <= d,
        None => true,
    }
}

impl Emulated {
    /// Opens the emulator with `ptx` in place of a kernel; with the kernel itself for `None`.
    ///
    /// # Errors
    /// Why the PTX is not one.
    pub fn new(kernel: Artifact, ptx: Option<&str>) -> Result<Self, EngineError> {
        let options = EmulatorOptions::default();
        let mut engine = EmulatorEngine::open(options.clone())?;
        if let Some(ptx) = ptx {
            engine.replace(kernel.stage, kernel.reduction, ptx, &kernel.entry())?;
        }
        let right = EmulatorEngine::open(options)?;
        let (stage, settings) = stage_of(&kernel, engine.info().lane_width)?;
        Ok(Self { kernel, engine, right, stage, settings })
    }

    /// Whether the kernel is made for the case.
    #[must_use]
    pub fn takes(&self, trial: &Trial) -> bool {
        takes(&self.kernel, self.stage, trial)
    }

    /// Runs a case under a schedule with every setting and says what killed it first, and
    /// under which setting.
    ///
    /// # Errors
    /// A defect of the emulator or of this procedure: nothing that tells of the kernel.
    pub fn run(
        &mut self,
        trial: &Trial,
        schedule: &Schedule,
    ) -> Result<Option<(Option<Setting>, Catch)>, EngineError> {
        for setting in self.settings.clone() {
            if let Some(catch) = self.run_with(trial, schedule, setting)? {
                return Ok(Some((setting, catch)));
            }
        }
        Ok(None)
    }

    /// The same with the setting whose turn it is.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_in_turn(
        &mut self,
        trial: &Trial,
        schedule: &Schedule,
        turn: u64,
    ) -> Result<Option<Catch>, EngineError> {
        let count = self.settings.len() as u64;
        let index = usize::try_from(turn % count).unwrap_or(0);
        self.run_with(trial, schedule, self.settings[index])
    }

    /// The same with one setting.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_with(
        &mut self,
        trial: &Trial,
        schedule: &Schedule,
        setting: Option<Setting>,
    ) -> Result<Option<Catch>, EngineError> {
        self.engine.set_schedule(schedule.clone());
        let name = setting.map_or_else(|| self.stage.to_string(), |setting| setting.to_string());
        let job = job_of(trial, self.stage)?;
        if job.is_beyond(setting).is_some() {
            // The reduction is not for the case, which shows nothing of it.
            return Ok(None);
        }
        self.engine.set_budget(BUDGET);
        let mut made = once(&mut self.engine, job, setting);
        if made.is_err() && self.engine.misuse() == Some("budget") {
            // Too long for what: the right kernel may need as long on this case.
            self.right.set_schedule(schedule.clone());
            once(&mut self.right, job, setting)?;
            let reports = [self.right.report(), self.right.second_report()];
            let executed = reports.into_iter().flat_map(|report| report.instructions.values());
            let budget = executed.map(|executed| executed.warps).sum::<u64>() * PATIENCE;
            if budget > BUDGET {
                self.engine.set_budget(budget);
                made = once(&mut self.engine, job, setting);
            }
        }
        let tally = match made {
            Ok(tally) => tally,
            Err(error) => return misuse(&self.engine, error, &name).map(Some),
        };
        if let Some(catch) = disagrees(&tally, &name) {
            return Ok(Some(catch));
        }
        let Some(setting) = setting else { return Ok(None) };
        let approximation = schedule.approximation;
        self.right.set_schedule(Schedule { approximation, ..Schedule::lockstep() });
        once(&mut self.right, job, Some(setting))?;
        Ok(Counts::of(self.right.report()).differ(self.engine.report(), setting))
    }
}

/// What the engine's error says of the kernel that it ran under a setting.
///
/// # Errors
/// The error itself, where none of the emulator's observers has noticed a misuse.
pub(super) fn misuse(
    engine: &EmulatorEngine,
    error: EngineError,
    setting: &str,
) -> Result<Catch, EngineError> {
    match engine.misuse() {
        Some(by) => Ok(Catch { by: by.to_owned(), words: format!("{setting}: {error}") }),
        None => Err(error),
    }
}

/// How often a right kernel adds to memory: what its mutants must do as well. That is the reduction's rule,
/// and says nothing of values: a kernel that leaves out an exact zero has right sums and other counts.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    /// Additions to each word of global memory.
    chains: BTreeMap<u64, u32>,
    shared: u64,
    total: u64,
}

impl Counts {
    /// The counts of a launch.
    pub(super) fn of(report: &Report) -> Self {
        let shared = report.shared_atomics.operations;
        let total = report.global_atomics.operations + shared;
        Self { chains: report.chains.clone(), shared, total }
    }

    /// Whether a word of the gradients was added to more or less often than by the right kernel, or
    /// shared memory was.
    pub(super) fn differ(&self, found: &Report, setting: Setting) -> Option<Catch> {
        let same = match setting.reduction.row().of_workgroup {
            // A sum that an order of additions makes zero is not sent, one that is not zero is.
            OfWorkgroup::InMemory => found.shared_atomics.operations == self.shared,
            OfWorkgroup::Nothing | OfWorkgroup::InRegisters | OfWorkgroup::InOrder => {
                found.chains == self.chains
            }
        };
        if same {
            return None;
        }
        let total = found.global_atomics.operations + found.shared_atomics.operations;
        let how_many = match total == self.total {
            true => format!("{total} in all, as it should be, but not on every word of memory"),
            false => format!("{total} for {}", self.total),
        };
        let rule = match setting.reduction.has_threshold() {
            true => format!("{} at threshold {}", setting.reduction, setting.threshold),
            false => setting.reduction.to_string(),
        };
        let words = format!(
            "the values agree; the number of atomics is not what the rule of {rule} makes: {how_many}"
        );
        Some(Catch { by: BY_COUNTS.to_owned(), words })
    }
}

/// The job of a stage that [`Emulated::takes`] said the trial has.
pub(super) fn job_of(trial: &Trial, stage: Stage) -> Result<&Job, EngineError> {
    let missing = || EngineError::Input(format!("case {} has no {stage}", trial.name()));
    trial.job(stage).ok_or_else(missing)
}

/// The worst difference, as a catch by the oracle.
pub(super) fn disagrees(tally: &Tally, setting: &str) -> Option<Catch> {
    let worst = tally.worst.as_ref()?;
    let by = format!("oracle: {}", worst.output);
    Some(Catch { by, words: format!("{setting}: {worst}, {:.1e} bounds away", worst.ratio()) })
}
