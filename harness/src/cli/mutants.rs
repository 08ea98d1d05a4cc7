//! `splatcheck mutants`: runs kernels broken on purpose and says what kills them.

mod options;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::exit::{CliError, Outcome, conclude};
use super::output::Progress;
use super::paths;
use crate::mutants::class::{Class, classes, classes_as};
use crate::mutants::matrix::{self, Cell};
use crate::mutants::rates;
use crate::mutants::table::{class_table, conclusion, summary, summary_table};
use crate::mutants::{Language, Mutant, read_mutants};
pub(super) use options::default_folder;
pub use options::{MutantsArgs, MutantsPlan};
use serde::Serialize;
use splatcheck_judge::engines::Program;
use splatcheck_judge::gate::Evidence;
use splatcheck_judge::interrupt;
use splatcheck_judge::io::Unread;
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::workload::{AnyCase, Workload};

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`]; a survivor, a mutant caught by luck and a false alarm are outcomes.
pub fn run(plan: &MutantsPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let (mutants, mut unread) = chosen(plan)?;
    let classes = classes_for(&mutants, plan.budget.cases, &mut unread)?;
    let mut ran: BTreeSet<String> = BTreeSet::new();
    let (summary, table) = if plan.rates {
        let bar = bar(matrix::kernels(&mutants, Language::Cuda));
        let (found, bad) = rates::rates(&mutants, &classes, plan.budget.seeds, &|| bar.inc(1));
        bar.finish_and_clear();
        unread.extend(bad);
        something_ran(&found, &unread)?;
        write_json(plan.out.as_deref(), &found)?;
        ran.extend(found.iter().map(|rate| rate.mutant.clone()));
        (rates::summary(&found), rates::markdown(&found))
    } else {
        let cells = cells(plan, &mutants, &classes, &mut unread)?;
        something_ran(&cells, &unread)?;
        write_json(plan.out.as_deref(), &cells)?;
        ran.extend(cells.iter().map(|cell| cell.mutant.clone()));
        let tables = [summary_table(&mutants, &cells), class_table(&mutants, &cells)];
        (summary(&mutants, &cells), tables.join("\n"))
    };
    if interrupt::is_asked() {
        writeln!(out, "interrupted: these are the kernels that were done; no file is written")?;
    }
    writeln!(out, "{}\n{table}", conclusion(&summary))?;
    unread.lines().iter().try_for_each(|line| writeln!(out, "{line}"))?;
    let idle: Vec<_> = if interrupt::is_asked() { Vec::new() } else { idle(&mutants, &ran) };
    for name in &idle {
        writeln!(out, "NOT EXERCISED: {name}: it did not run on any engine")?;
    }
    out.flush()?;
    let named = idle.iter().find(|name| plan.mutants.iter().any(|named| named == *name));
    let unseen = named.or(idle.first().filter(|_| idle.len() == mutants.len()));
    let unseen = unseen.map(|name| format!("mutant {name} did not run"));
    let gaps = unread.gap(OF_MUTANTS).into_iter().chain(unseen).collect();
    conclude(&Evidence { gaps, ..Evidence::of_failures(summary.failures()) })
}

/// The mutants of which no kernel ran.
fn idle<'m>(mutants: &'m [Mutant], ran: &BTreeSet<String>) -> Vec<&'m str> {
    let names = mutants.iter().map(|mutant| mutant.mutation.name.as_str());
    names.filter(|name| !ran.contains(*name)).collect()
}

/// What is counted of what a run needs.
const OF_MUTANTS: &str = "mutants, cases and engines";

/// That anything ran at all; else why not.
fn something_ran<T>(found: &[T], unread: &Unread) -> Result<(), CliError> {
    match unread.gap(OF_MUTANTS).filter(|_| found.is_empty()) {
        Some(gap) => Err(CliError::new(gap)),
        None => Ok(()),
    }
}

/// The mutants of the plan.
fn chosen(plan: &MutantsPlan) -> Result<(Vec<Mutant>, Unread), CliError> {
    let wanted = |workload: &str, name: &str| {
        let is_named = plan.mutants.is_empty() || plan.mutants.iter().any(|named| named == name);
        plan.workloads.contains(&workload) && is_named
    };
    let (mutants, unread) = read_mutants(&plan.folder, &wanted)
        .map_err(|error| CliError::caused("cannot run the mutants", error))?;
    for name in &plan.mutants {
        if !mutants.iter().any(|mutant| mutant.mutation.name == *name) {
            let what = format!("--mutant {name}: none in {}", plan.folder.display());
            return Err(match unread.gap(OF_MUTANTS) {
                Some(gap) => CliError::caused(what, gap),
                None => CliError::new(what),
            });
        }
    }
    Ok((mutants, unread))
}

/// The classes of cases of every workload that has one of these mutants.
fn classes_for(
    mutants: &[Mutant],
    count: u32,
    unread: &mut Unread,
) -> Result<Vec<Class>, CliError> {
    let names: BTreeSet<_> = mutants.iter().map(|mutant| mutant.workload.as_str()).collect();
    let mut all = Vec::new();
    for name in names {
        all.extend(classes_of(name, &paths::default_corpus(name)?, count, unread)?);
    }
    Ok(all)
}

/// The classes of cases of a workload, with the corpus of a folder.
pub(super) fn classes_of(
    workload: &str,
    corpus: &Path,
    count: u32,
    unread: &mut Unread,
) -> Result<Vec<Class>, CliError> {
    let (workload, corpus) = named_cases(workload, corpus, unread)?;
    classes(workload.as_ref(), corpus, count).map_err(CliError::of)
}

/// The same of cases as a kernel is judged on them.
pub(super) fn classes_judged(
    workload: &str,
    corpus: &Path,
    count: u32,
    judged: &dyn Fn(AnyCase) -> AnyCase,
    unread: &mut Unread,
) -> Result<Vec<Class>, CliError> {
    let (workload, corpus) = named_cases(workload, corpus, unread)?;
    classes_as(workload.as_ref(), corpus, count, judged).map_err(CliError::of)
}

/// A workload with the cases of a folder.
fn named_cases(
    workload: &str,
    corpus: &Path,
    unread: &mut Unread,
) -> Result<(Arc<dyn Workload>, Vec<AnyCase>), CliError> {
    let workload = splatcheck_workloads::find(workload)
        .map_err(|error| CliError::caused("cannot run the mutants", error))?;
    let corpus = workload.read_corpus(corpus);
    let corpus = corpus.map_err(|error| CliError::caused("cannot read the corpus", error))?;
    unread.extend(corpus.unread);
    Ok((workload, corpus.cases))
}

/// Runs them all.
fn cells(
    plan: &MutantsPlan,
    mutants: &[Mutant],
    classes: &[Class],
    unread: &mut Unread,
) -> Result<Vec<Cell>, CliError> {
    let wgsl = matrix::kernels(mutants, Language::Wgsl) * plan.engines.len();
    let cuda = if plan.emulator { matrix::kernels(mutants, Language::Cuda) } else { 0 };
    let bar = bar(wgsl + cuda);
    let progress = || bar.inc(1);
    let mut cells = Vec::new();
    if plan.emulator {
        let (run, bad) = matrix::emulated(mutants, classes, plan.budget, &progress);
        cells.extend(run);
        unread.extend(bad);
    }
    if wgsl > 0 {
        let program = Program::find().map_err(CliError::of)?;
        for found in &plan.engines {
            let (run, bad) = matrix::on_device(mutants, found, &program, classes, &progress);
            cells.extend(run);
            unread.extend(bad);
        }
    }
    bar.finish_and_clear();
    Ok(cells)
}

/// How many kernels were tried.
fn bar(kernels: usize) -> Progress {
    Progress::new("mutants", "kernels", kernels as u64)
}

/// Writes what was found to a folder, if there is one; nothing where Ctrl-C came before all of it was found.
///
/// # Errors
/// Nothing was found, since nothing was run; or the file cannot be written.
pub(super) fn write_json<T: Serialize>(folder: Option<&Path>, found: &[T]) -> Result<(), CliError> {
    if interrupt::is_asked() {
        return Ok(());
    }
    if found.is_empty() {
        return Err(CliError::new("nothing was run: no engine for the mutants that were chosen"));
    }
    let Some(folder) = folder else { return Ok(()) };
    let file = folder.join("mutants.json");
    let cannot = |error| CliError::caused(format!("cannot write {}", file.display()), error);
    std::fs::create_dir_all(folder).map_err(cannot)?;
    let text = serde_json::to_string_pretty(found)
        .map_err(|error| CliError::caused("cannot write the matrix as JSON", error))?;
    write_file(&file, (text + "\n").as_bytes())
        .map_err(|error| CliError::caused("cannot write the matrix", error))
}
