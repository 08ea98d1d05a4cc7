//! `splatcheck check --command`: a user's own program in place of engines, in one formulation after
//! another.

use std::io::Write;
use std::iter;

use super::cases::Cases;
use super::options::CheckPlan;
use crate::cli::command::{CommandPlan, Started};
use crate::cli::contract::Promise;
use crate::cli::exit::{CliError, Outcome};
use crate::cli::expect;
use crate::cli::formulation::Trial;
use crate::cli::output::Progress;
use crate::cli::parts;
use crate::cli::provenance;
use crate::cli::sight::all_blind;
use splatcheck_judge::campaign::{
    Diagnoses, EngineReport, Everything, Hooks, Item, as_it_is, run as run_campaign,
};
use splatcheck_judge::gate::Evidence;
use splatcheck_judge::io::OF_CORPUS;
use splatcheck_judge::report::Report;
use splatcheck_judge::workload::AnyCase;

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`].
pub(super) fn run(
    plan: &CheckPlan,
    command: &CommandPlan,
    out: &mut dyn Write,
) -> Result<Outcome, CliError> {
    // The files first: what is wrong with them is said before a program is started.
    let cases = Cases::new(&plan.subject, &plan.workload, &plan.convention)?;
    let reproducers = plan.reproducers()?;
    let mut started = None;
    let (promise, judged) = command.promise.judge_in(|promise, trial| {
        judge(plan, &command.that_promises(promise), (&cases, trial), &mut started)
    })?;
    let (command, mut reports) = (command.that_promises(&promise), judged.reports);
    let files = reproducers.write_all(&mut reports, None);
    command.tell(&mut reports);
    let not_compared = command.promise.contract.not_compared();
    let about: Vec<_> = iter::once(command.to_string())
        .chain(plan.repeats.as_ref().map(expect::described))
        .chain(plan.parts.described())
        .chain(cases.said.notes.iter().cloned())
        .collect();
    let notes = judged.others.into_iter().chain(command.not_for.lines());
    let notes: Vec<_> = notes.chain(cases.unread.lines()).collect();
    // The files have fields of their own for these.
    let mut told = about.clone();
    told.extend(not_compared.iter().map(|what| format!("NOT COMPARED: {what}")));
    let mut left_out = notes.clone();
    left_out.extend(cases.said.blind.iter().map(|why| format!("NOT EXERCISED: {why}")));
    let blind = all_blind(cases.all().filter(|case| command.takes(case)));
    let gaps: Vec<_> = blind.into_iter().chain(cases.unread.gap(OF_CORPUS)).collect();
    let report = Report {
        about: &told,
        notes: &left_out,
        gaps: &gaps,
        ..Report::new(&reports, &[], &files)
    };
    out.write_all(report.text(plan.detail).as_bytes())?;
    let not_exercised = cases.said.blind.clone();
    let evidence = Evidence { gaps, not_exercised, not_compared, ..Evidence::new(&reports, &[]) };
    let gate = plan.gate.clone().of(provenance::of_program(&command, plan.subject.seed()));
    gate.told(&about, &notes).conclude(&evidence, &files, out)
}

/// One trial: the program, started once, on what is tried.
fn judge(
    plan: &CheckPlan,
    command: &CommandPlan,
    (cases, trial): (&Cases, Trial<'_>),
    started: &mut Option<Started>,
) -> Result<Vec<EngineReport>, CliError> {
    let own = cases.clone().of_program(command)?;
    let running = match started {
        Some(running) => running,
        None => started.insert(command.start()?),
    };
    let promise: &Promise = &command.promise;
    let contender = running.contender(promise, plan.repeats.as_ref());
    let contender = parts::contender(plan.parts, contender);
    let minimize = |item: &Item, fails: &mut dyn FnMut(&AnyCase) -> bool| match trial {
        Trial::Asked => own.smaller(item, fails),
        Trial::Other | Trial::Cases(_) => as_it_is(item, fails),
    };
    let bar = Progress::of_runs(plan.detail, "check", 0);
    let (diagnoses, given) = match trial {
        Trial::Asked => {
            bar.inc_length(own.runs(std::slice::from_ref(&contender), &Everything));
            (Diagnoses::Together, None)
        }
        Trial::Other => (Diagnoses::None, None),
        Trial::Cases(given) => (Diagnoses::None, Some(given)),
    };
    let progress = |runs| bar.inc(runs);
    let hooks = Hooks { diagnoses, ..Hooks::new(&minimize).observed(&progress) };
    let reports = match given {
        None => run_campaign(own.iter(), vec![contender], hooks),
        Some(given) => {
            let given = given.iter().map(|(case, view)| (command.case(case), *view));
            run_campaign(given, vec![contender], hooks)
        }
    };
    bar.finish_and_clear();
    let mut reports = reports.map_err(CliError::of)?;
    command.ran(&mut reports, running)?;
    Ok(reports)
}
