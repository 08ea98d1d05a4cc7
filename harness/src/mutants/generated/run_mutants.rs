//! Mutants on the emulator, each until somebody notices it.

use super::super::Catch;
use super::super::class::Class;
use super::super::emulated::{Counts, disagrees, job_of, misuse};
use super::case_set::CaseSet;
use super::equivalent::Argued;
use super::probe::{Probe, Probes, SCHEDULED, SEEDS, adversarial};
use super::sample::Drawn;
use super::subject::Subject;
use super::{Closest, Fate, GeneratedError, NOTHING_SAID, PROVED, Record};
use rayon::prelude::*;
use splatcheck_emulator::equivalence::Original;
use splatcheck_emulator::mutate::{Mutation, apply};
use splatcheck_emulator::{ApproximationMode, Module, Observers, Schedule};
use splatcheck_gpu::emulator::EmulatorEngine;
use splatcheck_gpu::{EngineError, Tensor, Tensors};
use splatcheck_judge::campaign::once::{judged, outputs_of};
use splatcheck_judge::interrupt::{self, until_interrupted};
use splatcheck_judge::workload::Job;
use std::borrow::Cow;

/// What all mutants came to.
#[derive(Debug, Default)]
pub struct MutantRuns {
    /// A record for each mutant that was drawn, kernel by kernel and line by line.
    pub records: Vec<Record>,
    /// What somebody noticed about kernels that nobody had changed.
    pub false_alarms: Vec<String>,
    /// How each unchanged kernel was run.
    pub unchanged: Vec<Unchanged>,
}

/// The runs of an unchanged kernel that its mutants are tried on.
#[derive(Clone, Debug, PartialEq)]
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
    /// The largest error/bound of the unchanged kernel.
    pub sharpness: f64,
    /// Every line of PTX with an instruction, and whether a lane executed it in any run.
    pub executed: Vec<(u32, bool)>,
}

/// Runs the mutants that were drawn, on the classes and, if they are of this repository's kernels, on the
/// cases that are drawn for all of these. `progress` hears of every one. Where a user's kernel is wrong
/// itself, its mutants say nothing: none is run, and there are no records. Ctrl-C ends it after the mutants that
/// run then.
///
/// # Errors
/// A defect of the emulator; a kernel for which there is no case, or no case that arrives at anything
/// that can be changed.
pub fn run_mutants(
    subjects: &[Subject],
    drawn: &[Drawn<'_>],
    classes: &[Class],
    argued: &Argued,
    progress: &(dyn Fn() + Sync),
) -> Result<MutantRuns, GeneratedError> {
    let pool = pool_of(subjects)?;
    let probes = subjects
        .par_iter()
        .map(|subject| until_interrupted(|| probes_of(subject, classes, &pool)))
        .collect::<Result<Vec<Option<_>>, _>>()?;
    let probes: Option<Vec<_>> = probes.into_iter().collect();
    let Some(probes) = probes else { return Ok(MutantRuns::default()) };
    let mut hunted = MutantRuns::default();
    for (subject, probes) in subjects.iter().zip(&probes) {
        let named = |alarm: &String| format!("{}: {alarm}", subject.name());
        hunted.false_alarms.extend(probes.false_alarms.iter().map(named));
        hunted.unchanged.push(unchanged(subject, probes));
    }
    let own = subjects.iter().any(|subject| subject.as_own().is_some());
    if own && !hunted.false_alarms.is_empty() {
        return Ok(hunted);
    }
    let modules: Vec<_> = subjects.iter().map(|s| Module::parse(s.ptx()).ok()).collect();
    let originals: Vec<_> = subjects
        .par_iter()
        .zip(&modules)
        .map(|(subject, module)| original(subject, module.as_ref(), argued))
        .collect();
    let all: Vec<_> = subjects
        .iter()
        .zip(probes.iter().zip(&originals))
        .zip(drawn)
        .flat_map(|((subject, (probes, original)), drawn)| {
            drawn.mutants.iter().map(move |&mutation| (subject, probes, original, mutation))
        })
        .collect();
    let records = all
        .into_par_iter()
        .map_init(
            || Engines::open(subjects),
            |engines, (subject, probes, original, mutation)| {
                if interrupt::is_asked() {
                    return Ok(None);
                }
                let engines = engines.as_mut().map_err(|error| error.clone())?;
                let (fate, runs) = follow(engines, subject, probes, mutation)?;
                progress();
                let reached = probes.reach(mutation.lines());
                let mut record = Record { reached, runs, ..record(subject, mutation, fate) };
                if original.as_ref().is_some_and(|o| is_proved(subject, o, mutation)) {
                    record.equivalent = Some(PROVED.to_owned());
                } else {
                    argued.argue(&mut record);
                }
                Ok(Some(record))
            },
        )
        .collect::<Result<Vec<_>, EngineError>>()?;
    hunted.records = records.into_iter().flatten().collect();
    for (subject, drawn) in subjects.iter().zip(drawn) {
        for (mutation, reason) in &drawn.refused {
            let fate = Fate::Refused { reason: reason.clone() };
            hunted.records.push(record(subject, mutation, fate));
        }
    }
    Ok(hunted)
}

/// The cases beside the classes: none for a user's kernel, whose cases a user may have chosen.
fn pool_of(subjects: &[Subject]) -> Result<CaseSet, GeneratedError> {
    let ours = subjects.iter().filter(|subject| subject.as_own().is_none());
    Ok(CaseSet::of(&ours.map(Subject::workload).collect())?)
}

/// The runs of a kernel, with what somebody noticed about it as it is.
fn probes_of<'c>(
    subject: &Subject,
    classes: &'c [Class],
    pool: &'c CaseSet,
) -> Result<Probes<'c>, GeneratedError> {
    let coverage = Observers { coverage: true, ..Observers::default() };
    let mut probes = Probes::new(subject, (classes, pool), &mut subject.open(coverage)?)?;
    let lines = subject.mutations.iter().map(|mutation| mutation.line);
    if !probes.probes.is_empty() && !probes.reach(lines) {
        return Err(GeneratedError::Asked(format!(
            "no case arrives at an instruction of kernel '{}' that can be changed, {NOTHING_SAID}",
            subject.name()
        )));
    }
    // The artifacts have campaigns of their own under schedules.
    if subject.as_own().is_some() && probes.false_alarms.is_empty() {
        probes.schedule(&mut subject.open(Observers::default())?)?;
    }
    Ok(probes)
}

fn unchanged(subject: &Subject, probes: &Probes<'_>) -> Unchanged {
    let [cases, of] = probes.cases;
    Unchanged {
        kernel: subject.name(),
        runs: probes.probes.len(),
        cases,
        of,
        instructions: probes.probes.iter().map(|probe| probe.cost).sum(),
        sharpness: probes.sharpness,
        executed: probes.executed.clone(),
    }
}

/// What mutants run on.
struct Engines {
    mutant: EmulatorEngine,
    /// The right kernel, for runs of which the probes know nothing.
    right: EmulatorEngine,
}

impl Engines {
    /// Opens them for these kernels; a user's kernel is alone.
    fn open(subjects: &[Subject]) -> Result<Self, EngineError> {
        let none = || EngineError::Input("there is no kernel".to_owned());
        let open = || subjects.first().ok_or_else(none)?.open(Observers::default());
        Ok(Self { mutant: open()?, right: open()? })
    }
}

/// The kernel as it is, with all that its launches have in common.
fn original<'m>(
    subject: &Subject,
    module: Option<&'m Module>,
    argued: &Argued,
) -> Option<Original<'m>> {
    Original::of(module?, &subject.entry(), &argued.facts(&subject.name()))
}

/// Whether a mutant provably does what the original does. One that is killed is looked at as well: a proof
/// that a case refutes is a mistake of the proof.
fn is_proved(subject: &Subject, original: &Original<'_>, mutation: &Mutation) -> bool {
    let changed = || Module::parse(&apply(subject.ptx(), mutation)).ok();
    !mutation.is_of_whole_kernel()
        && changed().is_some_and(|changed| original.does_the_same(&changed, mutation.line))
}

/// What is known of a mutant before its runs.
fn record(subject: &Subject, mutation: &Mutation, fate: Fate) -> Record {
    Record {
        kernel: subject.name(),
        line: mutation.line,
        source: subject.source(mutation.line),
        kind: mutation.kind.name(),
        instruction: mutation.instruction.clone(),
        change: mutation.what.clone(),
        label: mutation.label.clone(),
        number: subject.number(mutation.line),
        fate,
        reached: false,
        runs: 0,
        equivalent: None,
        beyond: None,
    }
}

/// Runs one mutant until somebody notices it; how many runs that took.
fn follow(
    engines: &mut Engines,
    subject: &Subject,
    probes: &Probes<'_>,
    mutation: &Mutation,
) -> Result<(Fate, usize), EngineError> {
    // Of two launches the other one is as it was, whoever's mutant ran before.
    engines.mutant.restore();
    subject.install(&mut engines.mutant, &apply(subject.ptx(), mutation))?;
    let mut runs = 0;
    let reaching = || probes.of(mutation);
    let schedule = if mutation.approximates() { perturbed() } else { Schedule::lockstep() };
    let mut closest = None;
    for probe in reaching() {
        runs += 1;
        let run = Run { subject, probes, probe };
        let Some(right) = run.right(&mut engines.right, &schedule)? else { continue };
        match run.mutant(&mut engines.mutant, &schedule, &right.counts)? {
            Tried::Noticed(catch) => return Ok((Fate::killed(probe.trial.name(), catch), runs)),
            Tried::Passed(outputs) => {
                closest = run.closest(&engines.mutant, closest, [&outputs, &right.outputs])?;
            }
        }
    }
    if !mutation.synchronizes() {
        return Ok((Fate::Survived { closest }, runs));
    }
    for seed in 0..SEEDS {
        for probe in reaching().take(SCHEDULED) {
            runs += 1;
            let run = Run { subject, probes, probe };
            let tried = run.mutant(&mut engines.mutant, &adversarial(seed), &probe.counts)?;
            if let Tried::Noticed(catch) = tried {
                let case = format!("{} under adversarial schedule {seed}", probe.trial.name());
                return Ok((Fate::killed(&case, catch), runs));
            }
        }
    }
    Ok((Fate::Survived { closest }, runs))
}

/// In step, with approximate results anywhere within their documented bounds.
fn perturbed() -> Schedule {
    Schedule { approximation: ApproximationMode::Perturbed(0), ..Schedule::lockstep() }
}

/// What one run of a mutant came to.
enum Tried {
    /// Somebody noticed it.
    Noticed(Catch),
    /// Nobody did; what came out.
    Passed(Tensors),
}

/// What the right kernel does in a run.
struct Right<'p> {
    outputs: Cow<'p, Tensors>,
    counts: Cow<'p, Counts>,
}

/// One run of a mutant, beside the right kernel.
#[derive(Clone, Copy)]
struct Run<'r> {
    subject: &'r Subject,
    probes: &'r Probes<'r>,
    probe: &'r Probe<'r>,
}

impl<'r> Run<'r> {
    fn job(&self) -> Result<&'r Job, EngineError> {
        job_of(self.probe.trial, self.probes.stage)
    }

    /// Runs the right kernel; `None` where its own approximations make it disagree, which only a
    /// user's kernel does: then the run says nothing of its mutants.
    fn right(
        &self,
        engine: &mut EmulatorEngine,
        schedule: &Schedule,
    ) -> Result<Option<Right<'r>>, EngineError> {
        let Probe { outputs, counts, setting, .. } = self.probe;
        if *schedule == Schedule::lockstep() {
            let (outputs, counts) = (Cow::Borrowed(outputs), Cow::Borrowed(counts));
            return Ok(Some(Right { outputs, counts }));
        }
        engine.set_schedule(schedule.clone());
        engine.set_budget(self.probe.budget(schedule));
        let outputs = outputs_of(engine, self.job()?, *setting)?;
        let tally = judged(engine, self.job()?, *setting, &outputs, None)?;
        let counts = Cow::Owned(Counts::of(engine.report()));
        Ok((tally.disagree == 0).then_some(Right { outputs: Cow::Owned(outputs), counts }))
    }

    /// Runs the mutant.
    fn mutant(
        &self,
        engine: &mut EmulatorEngine,
        schedule: &Schedule,
        counts: &Counts,
    ) -> Result<Tried, EngineError> {
        let setting = self.probe.setting;
        engine.set_schedule(schedule.clone());
        engine.set_budget(self.probe.budget(schedule));
        let words = self.probes.words(setting);
        let outputs = match outputs_of(engine, self.job()?, setting) {
            Ok(outputs) => outputs,
            Err(error) => return misuse(engine, error, &words).map(Tried::Noticed),
        };
        let tally = judged(engine, self.job()?, setting, &outputs, None)?;
        // A user's kernel is judged by its sums alone: nobody says how often it should add.
        let ours = self.subject.as_own().is_none();
        let miscounts = || counts.differ(engine.report(), setting.filter(|_| ours)?);
        let catch = disagrees(&tally, &words).or_else(miscounts);
        Ok(catch.map_or(Tried::Passed(outputs), Tried::Noticed))
    }

    /// The larger of what is known and how near this run came to being noticed.
    fn closest(
        &self,
        engine: &EmulatorEngine,
        known: Option<Closest>,
        [outputs, right]: [&Tensors; 2],
    ) -> Result<Option<Closest>, EngineError> {
        if outputs.iter().map(bits).eq(right.iter().map(bits)) {
            return Ok(known);
        }
        let Probe { trial, setting, .. } = self.probe;
        let job = self.job()?;
        let largest = |outputs, from| {
            judged(engine, job, *setting, outputs, Some(from)).map(|t| t.sharpness.max)
        };
        let ratio = largest(outputs, right)?;
        if known.as_ref().is_some_and(|known| known.ratio >= ratio) {
            return Ok(known);
        }
        let unchanged = largest(right, outputs)?;
        Ok(Some(Closest { ratio, unchanged, case: trial.name().to_owned() }))
    }
}

fn bits<'t>((_, tensor): (&'t str, &'t Tensor)) -> &'t [u32] {
    tensor.words()
}
