//! `splatcheck fuzz`: a campaign of generated cases.

mod options;
mod program;
mod watcher;

use std::io::Write;

use rayon::prelude::*;
use splatcheck_gpu::Setting;

use super::contender::team;
use super::exit::{CliError, Outcome};
use super::parts;
use super::provenance;
pub(super) use options::find_generator;
pub use options::{FuzzArgs, FuzzPlan, Limit};
use splatcheck_judge::campaign::merge::add_report;
use splatcheck_judge::campaign::{Contender, EngineReport, Hooks, Item, Share};
use splatcheck_judge::engines::{Found, Program};
use splatcheck_judge::gate::{Evidence, Provenance};
use splatcheck_judge::interrupt;
use splatcheck_judge::io::write::remove_leftovers;
use splatcheck_judge::workload::AnyCase;
use splatcheck_workloads::fuzz::{RESULT, Results};
use watcher::Watcher;

/// Carries out the plans, one after another. Every finding is in its file as soon as it is known.
///
/// # Errors
/// See [`CliError`].
pub fn run(plans: &[FuzzPlan], out: &mut dyn Write) -> Result<Outcome, CliError> {
    let Some(first) = plans.first() else { return Err(CliError::new("no workload is named")) };
    let (mut reports, mut files): (Vec<EngineReport>, Vec<Vec<String>>) = Default::default();
    let mut told = Vec::new();
    for plan in plans.iter().take_while(|_| !interrupt::is_asked()) {
        if plans.len() > 1 {
            writeln!(out, "workload {}:\n", plan.plan.workload().name())?;
        }
        let results = campaign(plan, out)?;
        let found = results.files(&plan.out);
        told.push(results.told(Provenance::default()));
        for (report, found) in results.reports.into_iter().zip(found) {
            let at = add_report(&mut reports, report);
            files.resize(reports.len(), Vec::new());
            files[at].extend(found);
        }
        if plans.len() > 1 {
            writeln!(out)?;
        }
    }
    let seed = Some(first.plan.seed());
    let mut run = match &first.command {
        Some(command) => provenance::of_program(command, seed),
        None => provenance::of_ours(seed),
    };
    for told in told {
        run.about.extend(told.about);
        run.not_judged.extend(told.not_judged);
    }
    if let Some(command) = &first.command {
        run.about.insert(0, command.to_string());
        run.not_judged.extend(command.not_for.lines());
    }
    if interrupt::is_asked() && first.share == Share::Everyone {
        writeln!(
            out,
            "interrupted: no {RESULT} is written, as 'splatcheck merge' would take it for whole"
        )?;
    }
    let gate = first.gate.clone().of(run);
    let command = first.command.as_ref();
    let not_compared = command.map(|command| command.promise.contract.not_compared());
    let not_compared = not_compared.unwrap_or_default();
    let evidence = Evidence { not_compared, ..Evidence::new(&reports, &first.missing) };
    gate.conclude(&evidence, &files, out)
}

/// Carries out one plan and says what came of it.
fn campaign(fuzz: &FuzzPlan, out: &mut dyn Write) -> Result<Results, CliError> {
    remove_leftovers(&fuzz.out);
    if let Some(command) = &fuzz.command {
        return program::run(fuzz, command, out);
    }
    let program = Program::find().map_err(CliError::of)?;
    let start = |found: &Found| {
        let settings = Setting::all(found.info.lane_width);
        let team = team(found, (&program, fuzz.limits), settings, fuzz.jobs)?;
        Ok(parts::contender(fuzz.plan.parts(), team))
    };
    // A driver takes its time to open a device.
    let contenders = fuzz.engines.par_iter().map(start);
    let results = judge(fuzz, contenders.collect::<Result<_, CliError>>()?)?;
    out.write_all(results.text(&fuzz.out, fuzz.detail).as_bytes())?;
    if fuzz.share == Share::Dealt {
        writeln!(out, "dealt: each case was run by one engine")?;
    }
    Ok(results)
}

/// Runs the campaign on these contenders and writes what came of it: the findings, and the result
/// where the number of cases is given.
///
/// # Errors
/// A panic of an engine's thread; a file that cannot be written.
pub fn judge(fuzz: &FuzzPlan, contenders: Vec<Contender<'_>>) -> Result<Results, CliError> {
    let watch = Watcher::new(fuzz)?;
    let minimize = |item: &Item, fails: &mut dyn FnMut(&AnyCase) -> bool| fuzz.smaller(item, fails);
    let chain = fuzz.plan.chain();
    let hooks = Hooks::new(&minimize).diagnosing_each();
    let hooks = Hooks { policy: &fuzz.plan, observer: &watch, chain, ..hooks };
    let reports = fuzz.campaign(watch.cases(), contenders, hooks)?;
    watch.finish(reports, None)
}
