//! `splatcheck check` judges a user's program, `splatcheck self-check` every kernel of this project on every engine.

mod cases;
mod checkout;
mod options;
mod program;

use std::io::Write;

use super::contender::team;
use super::exit::{CliError, Outcome};
use super::expect;
use super::options::Subject;
use super::output::Progress;
use super::parts;
use super::provenance;
use super::reproducer::Reproducers;
use super::sight::all_blind;
pub(super) use cases::Cases;
pub use checkout::run as run_checkout;
pub use options::{CheckArgs, CheckPlan, SelfCheckArgs};
use rayon::prelude::*;
use splatcheck_judge::campaign::merge::{add_report, join_seeds};
use splatcheck_judge::campaign::{
    ByTurns, EngineReport, Everything, Hooks, Item, Part, Policy, run as run_campaign,
};
use splatcheck_judge::engines::{Found, Program};
use splatcheck_judge::gate::Evidence;
use splatcheck_judge::io::{OF_CORPUS, source_tree};
use splatcheck_judge::report::{Detail, Report};
use splatcheck_judge::threads::cores;
use splatcheck_judge::words::list;
use splatcheck_judge::workload::AnyCase;

/// Cases of which each is run in one formulation, in turn; fewer are run in all of them, so that none
/// is without a case.
const MANY: u64 = 48;

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`]; that no engine is there to judge is one too, because nothing judged must not
/// look like a pass.
pub fn run(plans: &[CheckPlan], out: &mut dyn Write) -> Result<Outcome, CliError> {
    for plan in plans {
        if let Some(command) = &plan.command {
            return program::run(plan, command, out);
        }
    }
    let Some(first) = plans.first() else { return Err(CliError::new("no workload is named")) };
    let reproducers = first.reproducers()?;
    let mut reports: Vec<EngineReport> = Vec::new();
    let mut sight = Sight::default();
    for plan in plans {
        // The files first: what is wrong with them is said even where no engine is.
        let cases = Cases::new(&plan.subject, &plan.workload, &plan.convention)?;
        for report in judge(plan, &cases)? {
            add_report(&mut reports, report);
        }
        sight.add(cases);
    }
    conclude(&mut reports, (first, sight), &reproducers, out)
}

/// What no camera sees.
#[derive(Default)]
struct Sight {
    /// How a trained scene was read.
    notes: Vec<String>,
    /// Cameras that see nothing, where others do.
    not_exercised: Vec<String>,
    /// That there is nothing else, and files of the corpus that are no cases.
    gaps: Vec<String>,
    /// The latter, a line each.
    unread: Vec<String>,
}

impl Sight {
    fn add(&mut self, cases: Cases) {
        self.gaps.extend(all_blind(cases.all()).into_iter().chain(cases.unread.gap(OF_CORPUS)));
        self.unread.extend(cases.unread.lines());
        self.notes.extend(cases.said.notes);
        self.not_exercised.extend(cases.said.blind);
    }
}

/// Judges a plan's engines on its cases.
///
/// # Errors
/// As [`run`].
pub(super) fn judge(plan: &CheckPlan, cases: &Cases) -> Result<Vec<EngineReport>, CliError> {
    let bar = Progress::of_runs(plan.detail, "check", 0);
    let minimize =
        |item: &Item, fails: &mut dyn FnMut(&AnyCase) -> bool| cases.smaller(item, fails);
    let progress = |runs| bar.inc(runs);
    let policy: &dyn Policy = match plan.subject {
        Subject::Campaign { .. } if cases.count() >= MANY => &ByTurns,
        Subject::Campaign { .. } | Subject::Case(_) | Subject::Scene(_) => &Everything,
    };
    let chain = plan.chain;
    let mut reports = Vec::new();
    let part = Part { few: cases.count() < MANY };
    // A trained scene would take the emulator hours.
    let beside: &[Found] = match plan.subject {
        Subject::Scene(_) => &[],
        Subject::Campaign { .. } | Subject::Case(_) => &plan.beside,
    };
    let beside = (!beside.is_empty()).then_some((beside, &part as &dyn Policy));
    let batches = at_once(&plan.engines)?.map(|engines| (engines, policy)).chain(beside);
    let program = Program::find().map_err(CliError::of)?;
    let granted = (&program, plan.limits);
    for (engines, policy) in batches {
        let hooks = Hooks { policy, chain, ..Hooks::new(&minimize).observed(&progress) };
        let settings = |found: &Found| plan.settings(found.info.lane_width);
        // A second process would have nothing to do with a single case.
        let cores = if cases.count() > 1 { (cores() / emulators(engines)).max(1) } else { 1 };
        let start = |found: &Found| match &plan.repeats {
            Some(repeats) => expect::contender(found, granted, settings(found), repeats),
            None => team(found, granted, settings(found), cores),
        };
        // A driver takes its time to open a device.
        let contenders = engines.par_iter().map(start).collect::<Result<Vec<_>, _>>()?;
        let contenders = contenders.into_iter().map(|one| parts::contender(plan.parts, one));
        let contenders: Vec<_> = contenders.collect();
        bar.inc_length(cases.runs(&contenders, policy));
        let some = run_campaign(cases.iter(), contenders, hooks);
        reports.extend(some.map_err(CliError::of)?);
    }
    bar.finish_and_clear();
    Ok(join_seeds(reports))
}

/// Writes the reproducers and the report.
fn conclude(
    reports: &mut [EngineReport],
    (plan, sight): (&CheckPlan, Sight),
    reproducers: &Reproducers,
    out: &mut dyn Write,
) -> Result<Outcome, CliError> {
    let files = reproducers.write_all(reports, None);
    let repeats = plan.repeats.as_ref().map(expect::described);
    let chain = plan.chain.described().map(str::to_owned);
    let Sight { notes: read, not_exercised, gaps, unread } = sight;
    let about = repeats.into_iter().chain(plan.parts.described()).chain(chain);
    let about: Vec<_> = about.chain(in_part(plan)).chain(read).collect();
    let judge = plan.engines.iter().chain(&plan.beside);
    let missing = &plan.discovery.missing_requested(plan.named, judge);
    let blind = not_exercised.iter().map(|what| format!("NOT EXERCISED: {what}"));
    let notes: Vec<_> = blind.chain(unread.clone()).collect();
    let report = Report {
        about: &about,
        notes: &notes,
        gaps: &gaps,
        ..Report::new(reports, missing, &files)
    };
    out.write_all(report.text(plan.detail).as_bytes())?;
    out.write_all(to_add(plan).unwrap_or_default().as_bytes())?;
    let evidence = Evidence { not_exercised, gaps, ..Evidence::new(reports, missing) };
    let gate = plan.gate.clone().of(provenance::of_ours(plan.subject.seed()));
    gate.told(&about, &unread).conclude(&evidence, &files, out)
}

/// Which part of the runs the emulators have that do not have all.
fn in_part(plan: &CheckPlan) -> Option<String> {
    let of = |wgsl: bool| {
        let some = plan.beside.iter().filter(move |found| found.runs_wgsl() == wgsl);
        list(&some.map(|found| found.spec.id()).collect::<Vec<_>>())
    };
    let languages = [("CUDA kernels", of(false)), ("WGSL kernels", of(true))];
    let languages = languages.into_iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<_> = languages.map(|(what, names)| format!("{what} on {names}")).collect();
    if parts.is_empty() {
        return None;
    }
    let parts = parts.join("; ");
    let how = match &plan.subject {
        Subject::Scene(_) => "not run on a trained scene, which is long for them".to_owned(),
        Subject::Case(_) => "of runs with more than 2^18 loop steps one of a stage".to_owned(),
        Subject::Campaign { .. } => format!(
            "each case with one reduction and threshold of a stage in turn, unless there are fewer than \
             {MANY} cases"
        ),
    };
    Some(format!("in part: {parts}: {how} (--engine NAME makes all runs)"))
}

/// What a person may install for more engines, in a line.
fn to_add(plan: &CheckPlan) -> Option<String> {
    let drivers: Vec<_> = plan.discovery.to_set_up().collect();
    let wanted = !plan.named && !drivers.is_empty() && plan.detail != Detail::Verdict;
    wanted.then(|| {
        let who = if source_tree::has("tests/setup") {
            "tests/setup adds"
        } else {
            "'splatcheck devices' says how to add"
        };
        format!("{who} drivers for WGSL: {}\n", list(&drivers))
    })
}

/// The engines in the batches that run together: all of them, but of the emulator's schedules, which
/// may be a thousand and need a processor core each, only a few.
fn at_once(engines: &[Found]) -> Result<std::slice::Chunks<'_, Found>, CliError> {
    if engines.is_empty() {
        return Err(CliError::new(
            "no engine on this machine, so nothing was judged: 'splatcheck devices' says what is missing, \
             and how to add it",
        ));
    }
    let emulated = engines.iter().all(|found| found.emulation().is_some());
    Ok(engines.chunks(if emulated { cores() } else { engines.len() }))
}

/// The emulators among engines that run at the same time, each of which can use a core; at least 1.
fn emulators(engines: &[Found]) -> usize {
    engines.iter().filter(|found| found.emulation().is_some()).count().max(1)
}
