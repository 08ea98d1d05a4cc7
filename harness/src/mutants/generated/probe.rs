//! The runs that mutants of a kernel are tried on: cases under settings, with what the right kernel
//! does there.

use super::super::Catch;
use super::super::class::{Class, Trial};
use super::super::emulated::{Counts, disagrees, job_of, stage_of, takes};
use super::{GeneratedError, Subject};
use crate::campaign::once::once;
use splatcheck_emulator::{Schedule, WARP};
use splatcheck_gpu::emulator::EmulatorEngine;
use splatcheck_gpu::{EngineError, Setting, Stage};

/// Warp instructions that the right kernel may execute in all runs together: what a survivor costs.
const REACH: u64 = 3_000_000;

/// Of these, the most that one run may take.
const LONGEST: u64 = REACH / 10;

/// A case under a setting, and what the right kernel does there under lockstep.
#[derive(Debug)]
pub(super) struct Probe<'c> {
    pub(super) trial: &'c Trial,
    pub(super) setting: Option<Setting>,
    pub(super) counts: Counts,
    /// Warp instructions.
    pub(super) cost: u64,
}

/// The runs of one kernel, the cheapest first.
#[derive(Debug)]
pub(super) struct Probes<'c> {
    pub(super) stage: Stage,
    pub(super) probes: Vec<Probe<'c>>,
    /// What somebody noticed about the right kernel.
    pub(super) false_alarms: Vec<String>,
}

impl<'c> Probes<'c> {
    /// Runs the right kernel on the cases that it is made for, those with the fewest active lanes
    /// first, under one setting after the other, as long as the instructions last.
    ///
    /// # Errors
    /// A defect of the emulator; [`GeneratedError::NoCase`].
    pub(super) fn new(
        subject: &Subject,
        classes: &'c [Class],
        engine: &mut EmulatorEngine,
    ) -> Result<Self, GeneratedError> {
        let (stage, settings) = stage_of(&subject.kernel, WARP)?;
        let trials = classes.iter().flat_map(|class| &class.trials);
        let mut trials: Vec<_> =
            trials.filter(|trial| takes(&subject.kernel, stage, trial)).collect();
        trials.sort_by_key(|trial| trial.job(stage).map_or(0, |job| job.lanes));
        let mut all = Self { stage, probes: Vec::new(), false_alarms: Vec::new() };
        let mut left = REACH;
        engine.set_schedule(Schedule::lockstep());
        // Every case has another setting in each round, so that no setting waits for the last round.
        'all: for round in 0..settings.len() {
            let mut too_long = false;
            for (number, &trial) in trials.iter().enumerate() {
                let setting = settings[(number + round) % settings.len()];
                engine.set_budget(LONGEST);
                match all.right(trial, setting, engine)? {
                    Some(probe) if probe.cost <= left => {
                        left -= probe.cost;
                        all.probes.push(probe);
                    }
                    Some(_) => break 'all,
                    None => too_long = true,
                }
            }
            if too_long {
                trials.retain(|trial| {
                    all.probes.iter().any(|probe| std::ptr::eq(probe.trial, *trial))
                });
            }
        }
        if all.probes.is_empty() {
            return Err(GeneratedError::NoCase(subject.name()));
        }
        all.probes.sort_by_key(|probe| probe.cost);
        Ok(all)
    }

    /// One run of the right kernel; `None` where it takes too long.
    fn right(
        &mut self,
        trial: &'c Trial,
        setting: Option<Setting>,
        engine: &mut EmulatorEngine,
    ) -> Result<Option<Probe<'c>>, EngineError> {
        let job = job_of(trial, self.stage)?;
        match once(engine, job, setting) {
            Ok(tally) => self.alarm(trial, disagrees(&tally, &self.words(setting))),
            Err(_) if engine.misuse() == Some("budget") => return Ok(None),
            Err(error) => {
                let Some(by) = engine.misuse() else { return Err(error) };
                let words = format!("{}: {error}", self.words(setting));
                self.alarm(trial, Some(Catch { by: by.to_owned(), words }));
                return Ok(None);
            }
        }
        let report = engine.report();
        let cost = report.instructions.values().map(|executed| executed.warps).sum();
        Ok(Some(Probe { trial, setting, counts: Counts::of(report), cost }))
    }

    fn alarm(&mut self, trial: &Trial, catch: Option<Catch>) {
        let words = catch.map(|catch| format!("{}, {}", trial.name(), catch.words));
        self.false_alarms.extend(words);
    }

    /// The setting in words; the stage where there is none.
    pub(super) fn words(&self, setting: Option<Setting>) -> String {
        setting.map_or_else(|| self.stage.to_string(), |setting| setting.to_string())
    }
}
