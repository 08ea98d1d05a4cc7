//! The runs that mutants of a kernel are tried on: cases under settings, with what the right kernel
//! does there.

use super::super::Catch;
use super::super::class::{Class, Trial};
use super::super::emulated::{Counts, disagrees, job_of, misuse, stage_of, takes};
use super::{GeneratedError, Subject};
use crate::campaign::once::once;
use splatcheck_emulator::{InstructionCoverage, KernelCoverage, Schedule, WARP};
use splatcheck_gpu::emulator::EmulatorEngine;
use splatcheck_gpu::{EngineError, Setting, Stage};
use std::collections::BTreeSet;

/// Warp instructions that the right kernel may execute in all runs together: what a mutant costs that
/// nobody notices.
const ALL_RUNS: u64 = 16_000_000;

/// Of these, what one run of each case may take; the rest is for other settings of the cheapest cases.
const ONE_EACH: u64 = 10_000_000;

/// Of these, the most that one run may take.
const ONE_RUN: u64 = 1_000_000;

/// A case under a setting, and what the right kernel does there under lockstep.
#[derive(Debug)]
pub(super) struct Probe<'c> {
    pub(super) trial: &'c Trial,
    pub(super) setting: Option<Setting>,
    pub(super) counts: Counts,
    /// Warp instructions.
    pub(super) cost: u64,
    /// The lines of PTX that a warp arrives at, sorted.
    lines: Vec<u32>,
}

impl Probe<'_> {
    /// Whether the right kernel arrives at a line. Where it does not, a mutant of the line does what
    /// the right kernel does.
    pub(super) fn reaches(&self, line: u32) -> bool {
        self.lines.binary_search(&line).is_ok()
    }
}

/// The lines that a launch arrived at.
fn lines(coverage: &KernelCoverage) -> Vec<u32> {
    let reached = |instruction: &&InstructionCoverage| {
        let InstructionCoverage { executed, guard, .. } = instruction;
        executed.warps > 0 || guard.is_some_and(|guard| guard.holds + guard.fails > 0)
    };
    let reached = coverage.instructions.iter().filter(reached);
    let mut lines: Vec<_> = reached.map(|instruction| instruction.line).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// The runs of one kernel, the cheapest first.
#[derive(Debug)]
pub(super) struct Probes<'c> {
    pub(super) stage: Stage,
    pub(super) probes: Vec<Probe<'c>>,
    /// Cases among them, and cases that the kernel is made for.
    pub(super) cases: [usize; 2],
    /// What somebody noticed about the right kernel.
    pub(super) false_alarms: Vec<String>,
}

impl<'c> Probes<'c> {
    /// Runs the right kernel, on an engine that counts coverage, on the cases that it is made for:
    /// those with the fewest active lanes first, and those last of whose input only CUDA promises
    /// anything; under one setting after the other, as long as the instructions last.
    ///
    /// # Errors
    /// A defect of the emulator; [`GeneratedError::NoCase`].
    pub(super) fn new(
        subject: &Subject,
        classes: &'c [Class],
        engine: &mut EmulatorEngine,
    ) -> Result<Self, GeneratedError> {
        let (stage, settings) = stage_of(&subject.kernel, WARP)?;
        let trials = classes.iter().flat_map(|class| class.trials.iter().map(move |t| (class, t)));
        let mut trials: Vec<_> =
            trials.filter(|(_, trial)| takes(&subject.kernel, stage, trial)).collect();
        trials.sort_by_key(|(class, trial)| {
            (class.cuda_only, trial.job(stage).map_or(0, |job| job.lanes))
        });
        let trials: Vec<_> = trials.into_iter().map(|(_, trial)| trial).collect();
        let mut all =
            Self { stage, probes: Vec::new(), cases: [0, trials.len()], false_alarms: Vec::new() };
        engine.set_schedule(Schedule::lockstep());
        // Every case has another setting in each round, so that no setting waits for the last round.
        let mut left = ONE_EACH;
        for round in 0..settings.len() {
            for (number, &trial) in trials.iter().enumerate() {
                let setting = settings[(number + round) % settings.len()];
                engine.set_budget(ONE_RUN.min(left));
                if let Some(probe) = all.right(trial, setting, engine)? {
                    left -= probe.cost;
                    all.probes.push(probe);
                } else if left < ONE_RUN {
                    break;
                }
            }
            let spent: u64 = all.probes.iter().map(|probe| probe.cost).sum();
            left = ALL_RUNS - spent;
            if left < ONE_RUN {
                break;
            }
        }
        if all.probes.is_empty() {
            return Err(GeneratedError::NoCase(subject.name()));
        }
        let met: BTreeSet<_> =
            all.probes.iter().map(|probe| std::ptr::from_ref(probe.trial)).collect();
        all.cases[0] = met.len();
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
                let catch = misuse(engine, error, &self.words(setting))?;
                self.alarm(trial, Some(catch));
                return Ok(None);
            }
        }
        let report = engine.report();
        let cost = report.instructions.values().map(|executed| executed.warps).sum();
        let lines = report.coverage.as_ref().map(lines).unwrap_or_default();
        Ok(Some(Probe { trial, setting, counts: Counts::of(report), cost, lines }))
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
