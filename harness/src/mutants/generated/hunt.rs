//! Mutants on the emulator, each until somebody notices it.

use super::super::Catch;
use super::super::class::Class;
use super::super::emulated::{disagrees, job_of};
use super::equivalent::Argued;
use super::probe::{Probe, Probes};
use super::report::source_of;
use super::sample::Drawn;
use super::{Fate, GeneratedError, Record, Subject};
use crate::campaign::once::once;
use rayon::prelude::*;
use splatcheck_emulator::mutate::{Mutation, apply};
use splatcheck_emulator::{Observers, Schedule};
use splatcheck_gpu::EngineError;
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};

/// Adversarial schedules of each run under which a mutant of synchronization is tried.
const SEEDS: u64 = 3;

/// Runs under adversarial schedules, the cheapest first.
const SCHEDULED: usize = 60;

/// How often more instructions than the right kernel a mutant may execute before it counts as one
/// that never ends. Schedules part warps, so that one instruction is issued many times.
const PATIENCE: u64 = 8;

/// What all mutants came to.
#[derive(Debug, Default)]
pub struct Hunted {
    /// A record for each mutant that was drawn, kernel by kernel and line by line.
    pub records: Vec<Record>,
    /// What somebody noticed about kernels that nobody had changed.
    pub false_alarms: Vec<String>,
    /// Runs of the right kernels.
    pub probes: usize,
}

/// Runs the mutants that were drawn. `progress` hears of every one.
///
/// # Errors
/// A defect of the emulator; a kernel for which there is no case.
pub fn hunt(
    subjects: &[Subject],
    drawn: &[Drawn<'_>],
    classes: &[Class],
    argued: &Argued,
    progress: &(dyn Fn() + Sync),
) -> Result<Hunted, GeneratedError> {
    let options = EmulatorOptions { observers: Observers::default(), ..EmulatorOptions::default() };
    let open = || EmulatorEngine::open(options.clone());
    let probes = subjects
        .par_iter()
        .map(|subject| Probes::new(subject, classes, &mut open()?))
        .collect::<Result<Vec<_>, _>>()?;
    let mut hunted = Hunted::default();
    for (subject, probes) in subjects.iter().zip(&probes) {
        let named = |alarm: &String| format!("{}: {alarm}", subject.name());
        hunted.false_alarms.extend(probes.false_alarms.iter().map(named));
        hunted.probes += probes.probes.len();
    }
    let all: Vec<_> = subjects
        .iter()
        .zip(&probes)
        .zip(drawn)
        .flat_map(|((subject, probes), drawn)| {
            drawn.mutants.iter().map(move |&mutation| (subject, probes, mutation))
        })
        .collect();
    let records = all
        .into_par_iter()
        .map_init(open, |engine, (subject, probes, mutation)| {
            let engine = engine.as_mut().map_err(|error| error.clone())?;
            let (fate, runs) = follow(engine, subject, probes, mutation)?;
            progress();
            Ok(record(subject, mutation, fate, runs, argued))
        })
        .collect::<Result<Vec<_>, EngineError>>()?;
    hunted.records = records;
    for (subject, drawn) in subjects.iter().zip(drawn) {
        for (mutation, reason) in &drawn.refused {
            let fate = Fate::Refused { reason: reason.clone() };
            hunted.records.push(record(subject, mutation, fate, 0, argued));
        }
    }
    Ok(hunted)
}

fn record(
    subject: &Subject,
    mutation: &Mutation,
    fate: Fate,
    runs: usize,
    argued: &Argued,
) -> Record {
    let mut record = Record {
        kernel: subject.name(),
        line: mutation.line,
        source: source_of(subject.ptx, mutation.line),
        kind: mutation.kind.name(),
        instruction: mutation.instruction.clone(),
        change: mutation.what.clone(),
        fate,
        runs,
        equivalent: None,
    };
    record.equivalent = argued.reason(&record).map(str::to_owned);
    record
}

/// Runs one mutant until somebody notices it; how many runs that took.
fn follow(
    engine: &mut EmulatorEngine,
    subject: &Subject,
    probes: &Probes<'_>,
    mutation: &Mutation,
) -> Result<(Fate, usize), EngineError> {
    let kernel = subject.kernel;
    let ptx = apply(subject.ptx, mutation);
    engine.replace(kernel.stage, kernel.reduction, &ptx, &kernel.entry())?;
    let mut runs = 0;
    for probe in &probes.probes {
        runs += 1;
        if let Some(catch) = noticed(engine, probes, probe, &Schedule::lockstep())? {
            return Ok((Fate::killed(probe.trial.name(), catch), runs));
        }
    }
    if !mutation.synchronizes() {
        return Ok((Fate::Survived, runs));
    }
    for seed in 0..SEEDS {
        for probe in probes.probes.iter().take(SCHEDULED) {
            runs += 1;
            if let Some(catch) = noticed(engine, probes, probe, &Schedule::adversarial(seed))? {
                let case = format!("{} under adversarial schedule {seed}", probe.trial.name());
                return Ok((Fate::killed(&case, catch), runs));
            }
        }
    }
    Ok((Fate::Survived, runs))
}

/// One run of a mutant.
fn noticed(
    engine: &mut EmulatorEngine,
    probes: &Probes<'_>,
    probe: &Probe<'_>,
    schedule: &Schedule,
) -> Result<Option<Catch>, EngineError> {
    engine.set_schedule(schedule.clone());
    let splits = if *schedule == Schedule::lockstep() { 1 } else { 32 };
    engine.set_budget(PATIENCE * splits * probe.cost + 1000);
    let job = job_of(probe.trial, probes.stage)?;
    match once(engine, job, probe.setting) {
        Ok(tally) => {
            let disagrees = disagrees(&tally, &probes.words(probe.setting));
            let miscounts = || probe.counts.differ(engine.report(), probe.setting?);
            Ok(disagrees.or_else(miscounts))
        }
        Err(error) => match engine.misuse() {
            Some(by) => {
                let words = format!("{}: {error}", probes.words(probe.setting));
                Ok(Some(Catch { by: by.to_owned(), words }))
            }
            None => Err(error),
        },
    }
}
