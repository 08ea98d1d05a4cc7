//! The runs that mutants of a kernel are tried on: cases under settings, with what the right kernel
//! does there.

use super::super::Catch;
use super::super::class::{Class, Trial};
use super::super::emulated::{Counts, disagrees, job_of, misuse};
use super::case_set::CaseSet;
use super::subject::Subject;
use super::{GeneratedError, NOTHING_SAID};
use splatcheck_emulator::mutate::{Mutation, MutationKind};
use splatcheck_emulator::{InstructionCoverage, KernelCoverage, Policy, Schedule};
use splatcheck_gpu::emulator::EmulatorEngine;
use splatcheck_gpu::{EngineError, Setting, Stage, Tensors};
use splatcheck_judge::campaign::once::{judged, once, outputs_of};
use std::collections::BTreeSet;

/// Warp instructions that the right kernel may execute in all runs together: what a mutant costs that
/// nobody notices.
const ALL_RUNS: u64 = 28_000_000;

/// Of these, what one run of each case may take where there are several settings; the rest is for
/// other settings of the cheapest cases.
const ONE_EACH: u64 = 20_000_000;

/// Of these, the most that one run may take.
const ONE_RUN: u64 = 1_000_000;

/// What a run may take that goes before all others, so that few costly cases leave room for many cheap
/// ones.
const CHEAP: u64 = 64_000;

/// What one run of a wide case may take: see [`CaseSet`].
const WIDE_RUN: u64 = 10_000_000;

/// Adversarial schedules of each run under which a mutant of synchronization is tried.
pub(super) const SEEDS: u64 = 3;

/// Runs under adversarial schedules, the cheapest first.
pub(super) const SCHEDULED: usize = 60;

/// How often more instructions than the right kernel a mutant may execute before it counts as one
/// that never ends. Schedules part warps, so that one instruction is issued many times.
const PATIENCE: u64 = 8;

/// An adversary that leaves approximate results alone, so that the right kernel counts as in lockstep.
pub(super) fn adversarial(seed: u64) -> Schedule {
    Schedule { policy: Policy::Adversarial(seed), ..Schedule::lockstep() }
}

/// A case under a setting, and what the right kernel does there under lockstep.
#[derive(Debug)]
pub(super) struct Probe<'c> {
    pub(super) trial: &'c Trial,
    pub(super) setting: Option<Setting>,
    pub(super) counts: Counts,
    /// What comes out.
    pub(super) outputs: Tensors,
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

    /// Warp instructions that a mutant may execute.
    pub(super) fn budget(&self, schedule: &Schedule) -> u64 {
        let splits = if schedule.policy == Policy::Lockstep { 1 } else { 32 };
        PATIENCE * splits * self.cost + 1000
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

/// The cases that the kernel is made for: those with the fewest active lanes first, and last those of
/// whose input only CUDA promises anything, which are not for WGSL.
fn taken<'c>(
    subject: &Subject,
    stage: Stage,
    classes: impl IntoIterator<Item = &'c Class>,
) -> Vec<&'c Trial> {
    let trials = classes.into_iter().flat_map(|class| class.trials.iter().map(move |t| (class, t)));
    let promised = |class: &Class| !(class.cuda_only && subject.is_wgsl());
    let takes = |(class, trial): &(&Class, &Trial)| promised(class) && subject.takes(stage, trial);
    let mut trials: Vec<_> = trials.filter(takes).collect();
    trials.sort_by_key(|(class, trial)| {
        (class.cuda_only, trial.job(stage).map_or(0, |job| job.lanes))
    });
    trials.into_iter().map(|(_, trial)| trial).collect()
}

/// Every line with an instruction of the kernel, and whether a lane has executed it on the engine.
fn executed(
    subject: &Subject,
    engine: &mut EmulatorEngine,
) -> Result<Vec<(u32, bool)>, EngineError> {
    // A user's program runs in place of the artifacts for all numbers of channels.
    let mut parts = engine.take_coverage();
    parts.retain(|artifact, _| (artifact.stage, artifact.reduction) == subject.place());
    let mut parts = parts.into_values();
    let Some(mut sum) = parts.next() else { return Ok(Vec::new()) };
    for part in parts {
        sum.merge(&part).map_err(|error| EngineError::Input(error.to_string()))?;
    }
    Ok(by_line(&sum))
}

/// Every line with an instruction, and whether a lane has executed it.
fn by_line(coverage: &KernelCoverage) -> Vec<(u32, bool)> {
    let of_line = |i: &InstructionCoverage| {
        // A branch that is never taken was executed all the same.
        let passed = i.branch && i.guard.is_some_and(|guard| guard.fails > 0);
        (i.line, i.executed.lanes > 0 || passed)
    };
    coverage.instructions.iter().map(of_line).collect()
}

/// The runs of one kernel, the cheapest first.
#[derive(Debug)]
pub(super) struct Probes<'c> {
    pub(super) stage: Stage,
    /// Whether the kernel is the second launch of a run.
    second: bool,
    pub(super) probes: Vec<Probe<'c>>,
    /// Those that only mutants which cut a result are tried on, the cheapest first.
    wide: Vec<Probe<'c>>,
    /// Cases among them, and cases that the kernel is made for.
    pub(super) cases: [usize; 2],
    /// What somebody noticed about the right kernel.
    pub(super) false_alarms: Vec<String>,
    /// The largest error/bound of the right kernel.
    pub(super) sharpness: f64,
    /// Every line of PTX with an instruction, and whether a lane executed it in any run.
    pub(super) executed: Vec<(u32, bool)>,
    /// Whether it is a kernel with a manifest, and what all of its runs executed, which the engine does not
    /// count.
    by_manifest: bool,
    seen: Option<KernelCoverage>,
}

impl<'c> Probes<'c> {
    /// Runs the right kernel, on an engine that counts coverage, on the cases that it is made for (see
    /// [`taken`]), cheap ones first, under one setting after the other, as long as the instructions
    /// last; then on the wide ones.
    ///
    /// # Errors
    /// A defect of the emulator; no case is for the kernel, or none ends.
    pub(super) fn new(
        subject: &Subject,
        (classes, pool): (&'c [Class], &'c CaseSet),
        engine: &mut EmulatorEngine,
    ) -> Result<Self, GeneratedError> {
        let (stage, settings) = subject.stage()?;
        let trials = taken(subject, stage, classes.iter().chain(&pool.common));
        let mut all = Self {
            stage,
            second: subject.is_second_launch(),
            probes: Vec::new(),
            wide: Vec::new(),
            cases: [0, trials.len()],
            false_alarms: Vec::new(),
            sharpness: 0.0,
            executed: Vec::new(),
            by_manifest: subject.has_manifest(),
            seen: None,
        };
        engine.set_schedule(Schedule::lockstep());
        let met = all.one_each(&trials, &settings, engine)?;
        all.other_settings((&trials, &met), &settings, engine)?;
        if trials.is_empty() {
            let none = format!("no case is for {}, {NOTHING_SAID}", subject.name());
            return Err(GeneratedError::Asked(none));
        }
        if all.probes.is_empty() && all.false_alarms.is_empty() {
            return Err(GeneratedError::Asked(format!(
                "no case runs {} to its end within {ONE_RUN} warp instructions, {NOTHING_SAID}",
                subject.name()
            )));
        }
        all.wide = all.wide_runs(&taken(subject, stage, &pool.wide), &settings, engine)?;
        all.executed = match all.seen.take() {
            Some(seen) => by_line(&seen),
            None => executed(subject, engine)?,
        };
        let met: BTreeSet<_> =
            all.probes.iter().map(|probe| std::ptr::from_ref(probe.trial)).collect();
        all.cases[0] = met.len();
        all.probes.sort_by_key(|probe| probe.cost);
        Ok(all)
    }

    /// Runs every case under one setting, as far as the instructions last: the cheap ones first. Gives
    /// the cases by number, the cheapest first.
    fn one_each(
        &mut self,
        trials: &[&'c Trial],
        settings: &[Option<Setting>],
        engine: &mut EmulatorEngine,
    ) -> Result<Vec<usize>, EngineError> {
        let mut left = if settings.len() > 1 { ONE_EACH } else { ALL_RUNS };
        let mut met = Vec::new();
        let mut waiting: Vec<usize> = (0..trials.len()).collect();
        for limit in [CHEAP, ONE_RUN] {
            let mut costly = Vec::new();
            for number in waiting {
                engine.set_budget(limit.min(left));
                let setting = settings[number % settings.len()];
                if let Some(probe) = self.right(trials[number], setting, engine)? {
                    left -= probe.cost;
                    met.push((probe.cost, number));
                    self.probes.push(probe);
                } else if left < limit {
                    break;
                } else if engine.misuse() == Some("budget") {
                    costly.push(number);
                }
            }
            waiting = costly;
        }
        met.sort_unstable();
        Ok(met.into_iter().map(|(_, number)| number).collect())
    }

    /// Runs these cases under one other setting after the other, as long as the instructions last.
    /// Every case has another setting in each round, so that no setting waits for the last round.
    fn other_settings(
        &mut self,
        (trials, numbers): (&[&'c Trial], &[usize]),
        settings: &[Option<Setting>],
        engine: &mut EmulatorEngine,
    ) -> Result<(), EngineError> {
        let spent: u64 = self.probes.iter().map(|probe| probe.cost).sum();
        let mut left = ALL_RUNS - spent;
        for round in 1..settings.len() {
            for &number in numbers {
                if left < ONE_RUN {
                    return Ok(());
                }
                engine.set_budget(ONE_RUN);
                let setting = settings[(number + round) % settings.len()];
                if let Some(probe) = self.right(trials[number], setting, engine)? {
                    left -= probe.cost;
                    self.probes.push(probe);
                }
            }
        }
        Ok(())
    }

    /// Runs every wide case under one setting.
    fn wide_runs(
        &mut self,
        trials: &[&'c Trial],
        settings: &[Option<Setting>],
        engine: &mut EmulatorEngine,
    ) -> Result<Vec<Probe<'c>>, EngineError> {
        let mut all = Vec::new();
        for (number, trial) in trials.iter().enumerate() {
            engine.set_budget(WIDE_RUN);
            all.extend(self.right(trial, settings[number % settings.len()], engine)?);
        }
        all.sort_by_key(|probe| probe.cost);
        Ok(all)
    }

    /// The runs that a mutant is tried on: those that arrive at what it changes.
    pub(super) fn of(&self, mutation: &Mutation) -> impl Iterator<Item = &Probe<'c>> {
        let wide = if mutation.kind == MutationKind::Width { &self.wide[..] } else { &[] };
        let reaches = |probe: &&Probe<'_>| mutation.lines().any(|line| probe.reaches(line));
        self.probes.iter().chain(wide).filter(reaches)
    }

    /// One run of the right kernel; `None` where it takes too long.
    fn right(
        &mut self,
        trial: &'c Trial,
        setting: Option<Setting>,
        engine: &mut EmulatorEngine,
    ) -> Result<Option<Probe<'c>>, EngineError> {
        let job = job_of(trial, self.stage)?;
        if job.is_beyond(setting).is_some() {
            return Ok(None);
        }
        let outputs = match outputs_of(engine, job, setting) {
            Ok(outputs) => outputs,
            Err(_) if engine.misuse() == Some("budget") => return Ok(None),
            Err(error) => {
                let catch = misuse(engine, error, &self.words(setting))?;
                self.alarm(trial, Some(catch));
                return Ok(None);
            }
        };
        let tally = judged(engine, job, setting, &outputs, None)?;
        self.alarm(trial, disagrees(&tally, &self.words(setting)));
        self.sharpness = self.sharpness.max(tally.sharpness.max);
        let (report, second) = (engine.report(), engine.second_report());
        let instructions = report.instructions.values().chain(second.instructions.values());
        let cost = instructions.map(|executed| executed.warps).sum();
        let launch = if self.second { second } else { report };
        let lines = launch.coverage.as_ref().map(lines).unwrap_or_default();
        if let Some(coverage) = launch.coverage.as_ref().filter(|_| self.by_manifest) {
            let other = |error: &dyn std::fmt::Display| EngineError::Input(error.to_string());
            match &mut self.seen {
                Some(seen) => seen.merge(coverage).map_err(|error| other(&error))?,
                None => self.seen = Some(coverage.clone()),
            }
        }
        Ok(Some(Probe { trial, setting, counts: Counts::of(report), outputs, cost, lines }))
    }

    /// Runs the right kernel under the schedules that its mutants of synchronization get, and adds
    /// what somebody noticed.
    ///
    /// # Errors
    /// A defect of the emulator.
    pub(super) fn schedule(&mut self, engine: &mut EmulatorEngine) -> Result<(), EngineError> {
        let mut alarms = Vec::new();
        for seed in 0..SEEDS {
            let schedule = adversarial(seed);
            engine.set_schedule(schedule.clone());
            for probe in self.probes.iter().take(SCHEDULED) {
                engine.set_budget(probe.budget(&schedule));
                let words = self.words(probe.setting);
                let catch = match once(engine, job_of(probe.trial, self.stage)?, probe.setting) {
                    Ok(tally) => disagrees(&tally, &words),
                    Err(error) => Some(misuse(engine, error, &words)?),
                };
                let name = probe.trial.name();
                let words = |catch: Catch| {
                    format!("{name} under adversarial schedule {seed}, {}", catch.words)
                };
                alarms.extend(catch.map(words));
            }
        }
        self.false_alarms.extend(alarms);
        Ok(())
    }

    /// Whether a run arrives at one of these lines.
    pub(super) fn reach(&self, mut lines: impl Iterator<Item = u32>) -> bool {
        lines.any(|line| self.probes.iter().chain(&self.wide).any(|probe| probe.reaches(line)))
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
