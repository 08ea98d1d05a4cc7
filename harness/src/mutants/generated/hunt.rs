//! Mutants on the emulator, each until somebody notices it.

use super::super::Catch;
use super::super::class::Class;
use super::super::emulated::{disagrees, job_of, misuse};
use super::equivalent::Argued;
use super::probe::{Probe, Probes};
use super::sample::Drawn;
use super::{Fate, GeneratedError, Record, Subject};
use crate::campaign::once::once;
use rayon::prelude::*;
use splatcheck_emulator::mutate::{Mutation, apply};
use splatcheck_emulator::{Observers, Schedule};
use splatcheck_gpu::EngineError;
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::source_lines::SourceLines;

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
    /// How each unchanged kernel was run.
    pub unchanged: Vec<Unchanged>,
}

/// The runs of an unchanged kernel that its mutants are tried on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unchanged {
    /// The kernel: see [`Subject::name`].
    pub kernel: String,
    /// Cases under settings.
    pub runs: usize,
    /// Cases among them.
    pub cases: usize,
    /// Cases that the kernel is made for; what the others cost, many mutants of it may cost.
    pub of: usize,
    /// Warp instructions of all runs.
    pub instructions: u64,
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
    let open = |coverage| {
        let observers = Observers { coverage, ..Observers::default() };
        EmulatorEngine::open(EmulatorOptions { observers, ..EmulatorOptions::default() })
    };
    let probes = subjects
        .par_iter()
        .map(|subject| Probes::new(subject, classes, &mut open(true)?))
        .collect::<Result<Vec<_>, _>>()?;
    let mut hunted = Hunted::default();
    let mut lines = Vec::with_capacity(subjects.len());
    for (subject, probes) in subjects.iter().zip(&probes) {
        let named = |alarm: &String| format!("{}: {alarm}", subject.name());
        hunted.false_alarms.extend(probes.false_alarms.iter().map(named));
        let [cases, of] = probes.cases;
        hunted.unchanged.push(Unchanged {
            kernel: subject.name(),
            runs: probes.probes.len(),
            cases,
            of,
            instructions: probes.probes.iter().map(|probe| probe.cost).sum(),
        });
        lines.push(SourceLines::of(&subject.kernel).ok());
    }
    let all: Vec<_> = subjects
        .iter()
        .zip(&lines)
        .zip(&probes)
        .zip(drawn)
        .flat_map(|(((subject, lines), probes), drawn)| {
            let told = Told { subject, lines: lines.as_ref(), argued };
            drawn.mutants.iter().map(move |&mutation| (told, probes, mutation))
        })
        .collect();
    let records = all
        .into_par_iter()
        .map_init(
            || open(false),
            |engine, (told, probes, mutation)| {
                let engine = engine.as_mut().map_err(|error| error.clone())?;
                let (fate, runs) = follow(engine, told.subject, probes, mutation)?;
                progress();
                let reached = probes.probes.iter().any(|probe| probe.reaches(mutation.line));
                Ok(Record { reached, runs, ..told.record(mutation, fate) })
            },
        )
        .collect::<Result<Vec<_>, EngineError>>()?;
    hunted.records = records;
    for ((subject, lines), drawn) in subjects.iter().zip(&lines).zip(drawn) {
        let told = Told { subject, lines: lines.as_ref(), argued };
        for (mutation, reason) in &drawn.refused {
            let fate = Fate::Refused { reason: reason.clone() };
            hunted.records.push(told.record(mutation, fate));
        }
    }
    Ok(hunted)
}

/// What is known of a kernel's mutants before they are run.
#[derive(Clone, Copy)]
struct Told<'s> {
    subject: &'s Subject,
    lines: Option<&'s SourceLines>,
    argued: &'s Argued,
}

impl Told<'_> {
    fn record(&self, mutation: &Mutation, fate: Fate) -> Record {
        let origin = self.lines.and_then(|lines| lines.at(mutation.line));
        let mut record = Record {
            kernel: self.subject.name(),
            line: mutation.line,
            source: origin.map(|origin| origin.at.clone()),
            kind: mutation.kind.name(),
            instruction: mutation.instruction.clone(),
            change: mutation.what.clone(),
            fate,
            reached: false,
            runs: 0,
            equivalent: None,
        };
        record.equivalent = self.argued.reason(&record).map(str::to_owned);
        record
    }
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
    let reaching = || probes.probes.iter().filter(|probe| probe.reaches(mutation.line));
    for probe in reaching() {
        runs += 1;
        if let Some(catch) = noticed(engine, probes, probe, &Schedule::lockstep())? {
            return Ok((Fate::killed(probe.trial.name(), catch), runs));
        }
    }
    if !mutation.synchronizes() {
        return Ok((Fate::Survived, runs));
    }
    for seed in 0..SEEDS {
        for probe in reaching().take(SCHEDULED) {
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
        Err(error) => misuse(engine, error, &probes.words(probe.setting)).map(Some),
    }
}
