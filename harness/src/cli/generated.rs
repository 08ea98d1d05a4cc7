//! `splatcheck mutants --generate`: changes every kernel instruction by instruction and says which
//! changes survive.

mod options;

use std::io::Write;
use std::time::Instant;

use super::case::read_case;
use super::exit::{CliError, Outcome, conclude};
use super::mutants::{classes_judged, classes_of, write_json};
use super::output::Progress;
use super::own::OwnPlan;
use super::{paths, ptx};
use crate::mutants::class::{Class, named};
use crate::mutants::generated::equivalent::Argued;
use crate::mutants::generated::report::{
    kind_table, refusals, score_table, survivor_list, survivors, unexecuted_list,
};
use crate::mutants::generated::run_mutants::{MutantRuns, Unchanged, run_mutants};
use crate::mutants::generated::subject::{Subject, subjects};
use crate::mutants::generated::{Fate, OwnProgram, Record, sample};
pub use options::GeneratedPlan;
use splatcheck_judge::engines::WGSL_EMULATOR;
use splatcheck_judge::gate::Evidence;
use splatcheck_judge::io::Unread;
use splatcheck_judge::table::table;
use splatcheck_judge::words;
use splatcheck_judge::workload::AnyCase;

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`]; survivors, false alarms and a user's kernel that is wrong itself are outcomes.
pub fn run(plan: &GeneratedPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let cannot = |error| CliError::caused("cannot generate mutants", error);
    let mut unread = Unread::default();
    let (subjects, classes) = match &plan.own {
        Some(own) => {
            let classes = own_classes(own, plan.cases, &mut unread)?;
            (vec![Subject::own(own.own.clone(), &classes).map_err(cannot)?], classes)
        }
        None => {
            let subjects = subjects(&plan.kernels, plan.wgsl).map_err(cannot)?;
            let classes = classes_for(&subjects, plan.cases, &mut unread)?;
            (subjects, classes)
        }
    };
    let drawn = sample::draw(&subjects, plan.count, plan.seed)
        .map_err(|error| CliError::new(format!("--generate {}: {error}", plan.count)))?;
    let argued = argued(plan)?;
    let bar = Progress::new("mutants", "mutants", plan.count as u64);
    let start = Instant::now();
    let hunted =
        run_mutants(&subjects, &drawn, &classes, &argued, &|| bar.inc(1)).map_err(cannot)?;
    let seconds = start.elapsed().as_secs_f64();
    bar.finish_and_clear();
    if let Some(own) = &plan.own {
        let run = (own.own.stage(), own.own.setting());
        let entry = own.own.program().to_string();
        writeln!(out, "{}\n", ptx::heading(&entry, &own.file, run, own.named))?;
        if hunted.records.is_empty() && !hunted.false_alarms.is_empty() {
            return wrong_itself(&hunted, own, out);
        }
    }
    unread.lines().iter().try_for_each(|line| writeln!(out, "{line}"))?;
    write_json(plan.out.as_deref(), &hunted.records)?;
    let everything = subjects.iter().map(|subject| subject.mutations.len()).sum::<usize>();
    let run =
        hunted.records.iter().filter(|record| !matches!(record.fate, Fate::Refused { .. })).count();
    let complete = run == plan.count
        && plan.own.is_none()
        && plan.wgsl.is_none()
        && plan.kernels.is_empty()
        && plan.count == everything;
    let failures = failures(&hunted, &argued, complete);
    let records = &hunted.records;
    for part in [survivor_list(records), score_table(records), kind_table(records)] {
        writeln!(out, "{part}")?;
    }
    out.write_all(refusals(records).as_bytes())?;
    out.write_all(runs_table(&hunted.unchanged).as_bytes())?;
    if plan.own.is_some() {
        for (subject, unchanged) in subjects.iter().zip(&hunted.unchanged) {
            writeln!(out, "\n{}", unexecuted_list(subject, unchanged))?;
        }
    }
    for failure in &failures.others {
        writeln!(out, "{failure}")?;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    let speed = run as f64 / seconds;
    if run < plan.count {
        writeln!(out, "interrupted after {run} of {}; no file is written", plan.count)?;
    }
    writeln!(
        out,
        "{run} of {everything} mutants (seed {}) in {seconds:.1} s: {speed:.0} a second",
        plan.seed
    )?;
    out.flush()?;
    let gaps = unread.gap("cases").into_iter().collect();
    conclude(&Evidence { gaps, ..Evidence::of_failures(failures.all()) })
}

/// Most cases that are told of a kernel that is wrong itself.
const TOLD: usize = 5;

/// Says of a user's kernel that it is wrong as it is.
fn wrong_itself(
    hunted: &MutantRuns,
    own: &OwnPlan,
    out: &mut dyn Write,
) -> Result<Outcome, CliError> {
    let alarms = &hunted.false_alarms;
    let count = alarms.len();
    let runs = words::count(count, "run");
    writeln!(
        out,
        "DISAGREE: {runs} of the unchanged kernel went wrong, so that its mutants say nothing"
    )?;
    for alarm in alarms.iter().take(TOLD) {
        writeln!(out, "  {alarm}")?;
    }
    if count > TOLD {
        writeln!(out, "  and {} more", count - TOLD)?;
    }
    let how = match &own.manifest {
        Some(manifest) => format!("--manifest {}", manifest.display()),
        None => format!("--kernel {}", own.own.program()),
    };
    let (command, engine) = match own.own.program() {
        OwnProgram::Ptx(_) => ("ptx", String::new()),
        OwnProgram::Wgsl { lanes, .. } => ("wgsl", format!(" --engine {WGSL_EMULATOR}-{lanes}")),
    };
    writeln!(
        out,
        "splatcheck {command} {} {how}{engine} --case CASE says more of a case; --case, --corpus and \
         --channels choose the cases that the kernel is made for",
        own.file.display()
    )?;
    out.flush()?;
    conclude(&Evidence::of_failures(alarms.clone()))
}

/// What the mutants of each kernel were run on.
fn runs_table(unchanged: &[Unchanged]) -> String {
    let head = ["kernel", "runs", "cases", "warp instructions", "executed", "error / bound"];
    let row = |unchanged: &Unchanged| {
        let Unchanged { kernel, runs, cases, of, instructions, sharpness, executed } = unchanged;
        let lines = executed.iter().filter(|(_, executed)| *executed).count();
        vec![
            kernel.clone(),
            runs.to_string(),
            format!("{cases} of {of}"),
            instructions.to_string(),
            format!("{lines} of {}", executed.len()),
            format!("{sharpness:.2e}"),
        ]
    };
    let head = head.map(str::to_owned).to_vec();
    table(&std::iter::once(head).chain(unchanged.iter().map(row)).collect::<Vec<_>>())
}

/// What is wrong with the harness, a sentence each.
struct Failures {
    survivors: Vec<String>,
    others: Vec<String>,
}

impl Failures {
    fn all(self) -> Vec<String> {
        self.survivors.into_iter().chain(self.others).collect()
    }
}

fn failures(hunted: &MutantRuns, argued: &Argued, complete: bool) -> Failures {
    let survivor = |record: &Record| {
        let Record { kernel, line, change, .. } = record;
        format!("{kernel} line {line} survives: {change}")
    };
    let alarms = hunted.false_alarms.iter().map(|alarm| format!("false alarm: {alarm}"));
    let refuted = Argued::refuted(&hunted.records);
    let refuted = refuted.iter().map(|words| format!("said to be equivalent, but killed: {words}"));
    let unused = if complete { argued.unused(&hunted.records) } else { Vec::new() };
    let unused =
        unused.iter().map(|words| format!("said to be equivalent, but no mutant: {words}"));
    Failures {
        survivors: survivors(&hunted.records).map(survivor).collect(),
        others: alarms.chain(refuted).chain(unused).collect(),
    }
}

/// The workloads of the kernels, without repetitions.
fn names(subjects: &[Subject]) -> Vec<&'static str> {
    let mut names: Vec<_> = subjects.iter().map(Subject::workload).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The classes of cases of every workload.
fn classes_for(
    subjects: &[Subject],
    count: u32,
    unread: &mut Unread,
) -> Result<Vec<Class>, CliError> {
    let mut all = Vec::new();
    for name in names(subjects) {
        all.extend(classes_of(name, &paths::default_corpus(name)?, count, unread)?);
    }
    Ok(all)
}

/// The classes of cases for a user's kernel, as it is judged on them.
fn own_classes(own: &OwnPlan, count: u32, unread: &mut Unread) -> Result<Vec<Class>, CliError> {
    let (kernel, formulation) = (own.own.program(), own.formulation);
    let judged = |case: AnyCase| kernel.judged(&case, formulation).unwrap_or(case);
    if own.cases.is_empty() {
        let workload = own.own.stage().spec().workload;
        let corpus = own.corpus.clone().map_or_else(|| paths::default_corpus(workload), Ok)?;
        return match &own.manifest {
            None => classes_of(workload, &corpus, count, unread),
            Some(_) => classes_judged(workload, &corpus, count, &judged, unread),
        };
    }
    let cases = own.cases.iter().map(|file| Ok::<_, CliError>(judged(read_case(file)?.case)));
    let (cases, bad) = Unread::sort(cases);
    unread.extend(bad);
    if let Some(gap) = unread.gap("cases").filter(|_| cases.is_empty()) {
        return Err(CliError::new(gap));
    }
    Ok(vec![named(cases).map_err(CliError::of)?])
}

/// The facts and arguments in the folders of all workloads: they are about our kernels.
fn argued(plan: &GeneratedPlan) -> Result<Argued, CliError> {
    let Some(folder) = plan.folder.as_ref().filter(|_| plan.own.is_none()) else {
        return Ok(Argued::default());
    };
    let all = Argued::read_all(
        folder,
        splatcheck_workloads::all().iter().map(|workload| workload.name()),
    );
    all.map_err(|error| CliError::caused("cannot read which mutants are equivalent", error))
}
