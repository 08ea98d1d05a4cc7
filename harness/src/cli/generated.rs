//! `splatcheck mutants --generate`: changes every kernel instruction by instruction and says which
//! changes nobody notices.

use std::io::Write;
use std::time::Instant;

use super::args::GeneratedPlan;
use super::exit::{CliError, Outcome, conclude};
use super::mutants::{bar_of, classes_of, write_json};
use super::paths;
use crate::gate::Evidence;
use crate::mutants::class::Class;
use crate::mutants::generated::equivalent::Argued;
use crate::mutants::generated::hunt::{Hunted, Unchanged, hunt};
use crate::mutants::generated::report::{
    kind_table, refusals, score_table, survivor_list, survivors,
};
use crate::mutants::generated::{Record, Subject, sample, subjects};
use crate::table::table;

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`]; survivors and false alarms are outcomes.
pub fn run(plan: &GeneratedPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let cannot = |error| CliError::caused("cannot generate mutants", error);
    let subjects = subjects(&plan.kernels).map_err(cannot)?;
    let drawn = sample::draw(&subjects, plan.count, plan.seed)
        .map_err(|error| CliError::new(format!("--generate {}: {error}", plan.count)))?;
    let argued = argued(plan, &subjects)?;
    let classes = classes_for(&subjects, plan.cases)?;
    let bar = bar_of(plan.count, "mutants");
    let start = Instant::now();
    let hunted = hunt(&subjects, &drawn, &classes, &argued, &|| bar.inc(1)).map_err(cannot)?;
    let seconds = start.elapsed().as_secs_f64();
    bar.finish_and_clear();
    write_json(plan.out.as_deref(), &hunted.records)?;
    let everything = subjects.iter().map(|subject| subject.mutations.len()).sum::<usize>();
    let complete = plan.kernels.is_empty() && plan.count == everything;
    let failures = failures(&hunted, &argued, complete);
    let records = &hunted.records;
    for part in [survivor_list(records), score_table(records), kind_table(records)] {
        writeln!(out, "{part}")?;
    }
    out.write_all(refusals(records).as_bytes())?;
    out.write_all(runs_table(&hunted.unchanged).as_bytes())?;
    for failure in &failures.others {
        writeln!(out, "{failure}")?;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    let speed = plan.count as f64 / seconds;
    writeln!(
        out,
        "{} of {everything} mutants (seed {}) in {seconds:.1} s: {speed:.0} a second",
        plan.count, plan.seed
    )?;
    out.flush()?;
    conclude(&Evidence::of_failures(failures.all()))
}

/// What the mutants of each kernel were run on.
fn runs_table(unchanged: &[Unchanged]) -> String {
    let head = ["kernel", "runs", "cases", "warp instructions"].map(str::to_owned).to_vec();
    let row = |Unchanged { kernel, runs, cases, of, instructions }: &Unchanged| {
        let cases = format!("{cases} of {of}");
        vec![kernel.clone(), runs.to_string(), cases, instructions.to_string()]
    };
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

fn failures(hunted: &Hunted, argued: &Argued, complete: bool) -> Failures {
    let survivor = |record: &Record| {
        let Record { kernel, line, change, .. } = record;
        format!("{kernel} line {line} survives: {change}")
    };
    let alarms = hunted.false_alarms.iter().map(|alarm| format!("false alarm: {alarm}"));
    let refuted = argued.refuted(&hunted.records);
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
    let mut names: Vec<_> = subjects.iter().map(|subject| subject.kernel.workload()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The classes of cases of every workload; one without a corpus has those of its generators.
fn classes_for(subjects: &[Subject], count: u32) -> Result<Vec<Class>, CliError> {
    let mut all = Vec::new();
    for name in names(subjects) {
        all.extend(classes_of(name, paths::default_corpus(name).as_deref(), count)?);
    }
    Ok(all)
}

/// The arguments of every workload.
fn argued(plan: &GeneratedPlan, subjects: &[Subject]) -> Result<Argued, CliError> {
    let mut all = Argued::default();
    for workload in names(subjects) {
        let file = plan.folder.join(workload).join("equivalent.toml");
        let cannot = |error| CliError::caused("cannot read which mutants are equivalent", error);
        all.entries.extend(Argued::read(&file).map_err(cannot)?.entries);
    }
    Ok(all)
}
