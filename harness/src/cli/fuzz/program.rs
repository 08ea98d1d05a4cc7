//! `splatcheck fuzz --command`: a user's own program in place of engines, in one formulation after
//! another.

use std::io::Write;
use std::sync::atomic::Ordering;

use super::options::FuzzPlan;
use super::watcher::Watcher;
use crate::cli::command::{CommandPlan, OfProgram, Started};
use crate::cli::exit::CliError;
use crate::cli::formulation::Trial;
use crate::cli::parts;
use splatcheck_judge::campaign::{Diagnoses, EngineReport, Hooks, Item, as_it_is};
use splatcheck_judge::workload::AnyCase;
use splatcheck_workloads::fuzz::Results;

/// Carries out the plan and says what came of it.
///
/// # Errors
/// See [`CliError`].
pub(super) fn run(
    fuzz: &FuzzPlan,
    command: &CommandPlan,
    out: &mut dyn Write,
) -> Result<Results, CliError> {
    let mut started = command.start()?;
    let watch = Watcher::new(fuzz)?;
    let (promise, judged) = command.promise.judge_in(|promise, trial| {
        judge(&watch, &command.that_promises(promise), trial, &mut started)
    })?;
    let (command, reports) = (command.that_promises(&promise), judged.reports);
    for finding in reports.iter().flat_map(|report| &report.findings) {
        // As soon as it was found nobody knew its formulation, nor which others agree.
        watch.reproducers.write(&mut finding.clone(), None)?;
    }
    let settled = command.promise.contract.formulation().to_string();
    let mut results = watch.finish(reports, command.promise.is_any().then_some(settled))?;
    command.tell(&mut results.reports);
    out.write_all(results.text(&fuzz.out, fuzz.detail).as_bytes())?;
    writeln!(out, "\n{command}")?;
    for what in command.promise.contract.not_compared() {
        writeln!(out, "NOT COMPARED: {what}")?;
    }
    if let Some(line) = judged.others {
        writeln!(out, "{line}")?;
    }
    Ok(results)
}

/// One trial of the program.
fn judge(
    watch: &Watcher<'_>,
    command: &CommandPlan,
    trial: Trial<'_>,
    started: &mut Started,
) -> Result<Vec<EngineReport>, CliError> {
    let fuzz = watch.fuzz;
    let contender = parts::contender(fuzz.plan.parts(), started.contender(&command.promise, None));
    let minimize = |item: &Item, fails: &mut dyn FnMut(&AnyCase) -> bool| match trial {
        Trial::Asked => command.smaller(|fails| fuzz.smaller(item, fails), fails),
        Trial::Other | Trial::Cases(_) => as_it_is(item, fails),
    };
    let of_program = OfProgram(&fuzz.plan);
    let own = |(case, view): (AnyCase, usize)| {
        let case = command.drawn(&case)?;
        (view < case.views()).then_some((case, view))
    };
    let hooks = Hooks { policy: &of_program, ..Hooks::new(&minimize) };
    let reports = match trial {
        Trial::Asked => {
            let hooks = Hooks { observer: watch, ..hooks.diagnosing_each() };
            fuzz.campaign(watch.cases().filter_map(own), vec![contender], hooks)
        }
        Trial::Other => {
            // As many as there were, whatever the time.
            let reached = watch.cases.load(Ordering::Relaxed);
            let within = |(case, _): &(AnyCase, usize)| {
                fuzz.plan.index(case.as_ref()).is_some_and(|index| index < reached)
            };
            let cases = fuzz.plan.cases(fuzz.shard).take_while(within).filter_map(own);
            let hooks = Hooks { diagnoses: Diagnoses::None, ..hooks };
            fuzz.campaign(cases, vec![contender], hooks)
        }
        Trial::Cases(given) => {
            let given = given.iter().map(|(case, view)| (command.case(case), *view));
            let hooks = Hooks { diagnoses: Diagnoses::None, ..hooks };
            fuzz.campaign(given, vec![contender], hooks)
        }
    };
    let mut reports = reports?;
    command.ran(&mut reports, started)?;
    Ok(reports)
}
