//! `splatcheck sweep`: which threshold of which reduction is best, on which scene.

mod options;
mod report;
mod scenes;

use std::io::Write;

use indicatif::ProgressBar;
use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_gpu::{EngineError, Reduction, Setting, TensorError};

use super::exit::{self, CliError, Outcome};
use super::output::Progress;
use crate::acceptance::speed::measure;
use crate::sweep::plot::plot;
use crate::sweep::records::csv;
use crate::sweep::{Device, Sweep};
pub use options::{SweepArgs, SweepPlan};
use scenes::Scene;
use splatcheck_judge::campaign::merge::add_report;
use splatcheck_judge::campaign::{Contender, EngineReport, Hooks, as_it_is, run as run_campaign};
pub use splatcheck_judge::engines::{EngineProcess, Found, Lent, Limits, Program};
use splatcheck_judge::gate::Evidence;
use splatcheck_judge::interrupt::{self, until_interrupted};
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::report::finding_words;
use splatcheck_judge::table::table;
use splatcheck_judge::traffic::Counts;
use splatcheck_judge::words::shown;
use splatcheck_judge::workload::AnyCase;
use splatcheck_workloads::splat::contributions::Contributions;

/// What the runs of engines came to, beside the sweeps themselves.
#[derive(Default)]
struct Ran {
    reports: Vec<EngineReport>,
    /// What was not timed, and why.
    not_exercised: Vec<String>,
    /// Clocks that failed.
    faults: Vec<String>,
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`]; an engine that failed is one, after everything else was written.
pub fn run(plan: &SweepPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let mut sweeps = Vec::with_capacity(plan.sweeps());
    if plan.counts_apart() {
        for scene in &plan.scenes {
            sweeps.extend(until_interrupted(|| counted(plan, scene, plan.lane_width))?);
        }
    }
    let mut ran = Ran::default();
    let bar = Progress::new("sweep", "runs", runs(plan));
    for found in &plan.engines {
        on_engine(plan, found, &mut sweeps, &mut ran, &bar)?;
    }
    bar.finish_and_clear();
    if interrupt::is_asked() {
        writeln!(out, "interrupted: these are the scenes that were done; no file is written")?;
    }
    if !sweeps.is_empty() {
        write_tables(plan, &sweeps, out)?;
    }
    write_notes(plan, &ran, out)?;
    if !interrupt::is_asked() {
        write_files(plan, &sweeps)?;
    }
    out.flush()?;
    if plan.engines.is_empty() && !interrupt::is_asked() {
        return Ok(Outcome::Agree);
    }
    exit::conclude(&Evidence { faults: ran.faults, ..Evidence::new(&ran.reports, &[]) })
}

/// What a scene's settings send on lanes of that width.
fn counted(plan: &SweepPlan, scene: &Scene, lane_width: u32) -> Result<Sweep, CliError> {
    let steps = Contributions::new(&scene.stage, lane_width).map_err(CliError::of)?;
    let counts = Counts::new(&steps);
    Sweep::counted(scene.name.clone(), &counts, &plan.reductions, plan.price).map_err(CliError::of)
}

/// The settings that are run on an engine.
fn settings(plan: &SweepPlan, found: &Found) -> Vec<Setting> {
    let lane_width = found.info.lane_width;
    let all = if plan.full { Setting::all(lane_width) } else { Setting::sweep(lane_width) };
    all.into_iter().filter(|setting| plan.reductions.contains(&setting.reduction)).collect()
}

/// A judged and a timed run of every setting.
fn runs(plan: &SweepPlan) -> u64 {
    let of = |found| 2 * settings(plan, found).len();
    (plan.scenes.len() * plan.engines.iter().map(of).sum::<usize>()) as u64
}

/// Counts, judges and times every scene.
fn on_engine(
    plan: &SweepPlan,
    found: &Found,
    sweeps: &mut Vec<Sweep>,
    ran: &mut Ran,
    bar: &ProgressBar,
) -> Result<(), CliError> {
    let id = found.spec.id();
    let program = Program::find().map_err(CliError::of)?;
    let mut engine = EngineProcess::start(found.spec.clone(), program, Limits::default())
        .map_err(|error| CliError::caused(format!("engine {id}"), error))?;
    let settings = settings(plan, found);
    let mut clock = Clock { works: true, repeats: plan.repeats };
    for scene in plan.scenes.iter().take_while(|_| !interrupt::is_asked()) {
        let mut sweep = counted(plan, scene, found.info.lane_width)?;
        sweep.device = Some(Device::new(found));
        let report = judged(found, &mut engine, scene, &settings, bar)?;
        sweep.judged(&report);
        ran.reports.push(report);
        clock.time(&mut engine, (id, scene), &settings, &mut sweep, ran, bar)?;
        // A scene that Ctrl-C cut short lacks runs and times.
        sweeps.extend(until_interrupted(|| Ok::<_, CliError>(sweep))?);
    }
    Ok(())
}

/// Settings of one request to an emulator: after Ctrl-C it is waited for, and each takes a second or more.
const AT_ONCE: usize = 8;

/// The scene's backward stage under all settings, fewer where Ctrl-C comes in between.
fn judged(
    found: &Found,
    engine: &mut EngineProcess,
    scene: &Scene,
    settings: &[Setting],
    bar: &ProgressBar,
) -> Result<EngineReport, CliError> {
    let at_once = if found.emulation().is_some() { AT_ONCE } else { settings.len().max(1) };
    let mut reports = Vec::new();
    for settings in settings.chunks(at_once) {
        if !reports.is_empty() && interrupt::is_asked() {
            break;
        }
        add_report(&mut reports, of_settings(found, engine, scene, settings, bar)?);
    }
    let none = || CliError::new(format!("engine {} gave no report", found.spec.id()));
    reports.pop().ok_or_else(none)
}

/// One campaign.
fn of_settings(
    found: &Found,
    engine: &mut EngineProcess,
    scene: &Scene,
    settings: &[Setting],
    bar: &ProgressBar,
) -> Result<EngineReport, CliError> {
    let contender = Contender {
        id: found.spec.id().to_owned(),
        emulation: found.emulation(),
        engine: Box::new(Lent(engine)),
        stages: vec![RASTERIZE_BACKWARD],
        settings: settings.to_vec(),
    };
    let case: AnyCase = scene.case.clone();
    let progress = |runs| bar.inc(runs);
    let hooks = Hooks::new(&as_it_is).observed(&progress);
    let reports = run_campaign(std::iter::once((case, scene.view)), vec![contender], hooks);
    let report = reports.map_err(CliError::of)?.pop();
    report.ok_or_else(|| CliError::new(format!("engine {} gave no report", found.spec.id())))
}

/// An engine's clock.
struct Clock {
    /// Whether it is worth asking again.
    works: bool,
    repeats: u32,
}

impl Clock {
    /// Times every setting by itself, so that one which cannot be run costs no other its time.
    fn time(
        &mut self,
        engine: &mut EngineProcess,
        (id, scene): (&str, &Scene),
        settings: &[Setting],
        sweep: &mut Sweep,
        ran: &mut Ran,
        bar: &ProgressBar,
    ) -> Result<(), CliError> {
        let inputs = scene.stage.inputs.tensors().map_err(TensorError::from);
        let inputs = inputs.map_err(CliError::of)?;
        let mut lacking: Option<Reduction> = None;
        for &setting in settings.iter().take_while(|_| !interrupt::is_asked()) {
            let asked = self.works && lacking != Some(setting.reduction);
            let times = asked.then(|| measure(engine, &inputs, &[setting], self.repeats, &|| ()));
            match times {
                None => {}
                Some(Ok(times)) => sweep.timed(&times),
                Some(Err(EngineError::Missing { what, .. })) => {
                    self.works = false;
                    ran.not_exercised.push(format!("times on {id}: it lacks {what}"));
                }
                Some(Err(error)) if error.is_a_limit() => {
                    lacking = Some(setting.reduction);
                    let what = format!("times of {setting} on {id}, {}: {error}", scene.name);
                    ran.not_exercised.push(what);
                }
                Some(Err(error)) => {
                    self.works = false;
                    ran.faults.push(format!("timing {setting} on {id}, {}: {error}", scene.name));
                }
            }
            bar.inc(1);
        }
        Ok(())
    }
}

fn write_tables(plan: &SweepPlan, sweeps: &[Sweep], out: &mut dyn Write) -> Result<(), CliError> {
    writeln!(
        out,
        "rasterize_backward, modelled time: operations on global memory + {} x shuffles, in atomic \
         additions of one lane",
        plan.price
    )?;
    if plan.scenes.len() == 1 || plan.verbose {
        for sweep in sweeps {
            writeln!(out, "\n{}\n", report::title(sweep))?;
            out.write_all(table(&report::rows(sweep)).as_bytes())?;
        }
    }
    writeln!(out)?;
    out.write_all(table(&report::summary(sweeps)).as_bytes())?;
    writeln!(
        out,
        "the authors' threshold: a quarter of the lanes, of the same reduction. A reduction in workgroup \
         memory or without atomics has no modelled time.\n"
    )?;
    out.write_all(table(&report::figures(sweeps)).as_bytes())?;
    Ok(())
}

/// What was found wrong, and what was not exercised.
fn write_notes(plan: &SweepPlan, ran: &Ran, out: &mut dyn Write) -> Result<(), CliError> {
    for found in plan.engines.iter().filter(|found| found.is_software()) {
        let id = found.spec.id();
        writeln!(out, "{id} runs on the processor: its times say nothing of a GPU")?;
    }
    for finding in ran.reports.iter().flat_map(|report| &report.findings) {
        out.write_all(finding_words(finding).as_bytes())?;
        writeln!(out, "  'splatcheck self-check' makes it smaller and writes a reproducer")?;
    }
    let nothing = ran.reports.iter().flat_map(|report| {
        let limited = report.limited.iter().map(|(key, limited)| (key, limited.to_string()));
        let lacking = report.unsupported.iter().map(|(key, reason)| (key, reason.clone()));
        limited.chain(lacking).map(|((_, reduction), why)| {
            format!("{} on {}: {why}", reduction.map_or("-", Reduction::name), report.id)
        })
    });
    let nothing = nothing.chain(ran.not_exercised.iter().cloned());
    let mut nothing: Vec<_> = nothing.chain(plan.said.blind.iter().cloned()).collect();
    if plan.no_engine {
        let what = "judging and timing: no engine on this machine ('splatcheck devices' says why)";
        nothing.push(what.to_owned());
    }
    nothing.dedup();
    for note in &plan.said.notes {
        writeln!(out, "{note}")?;
    }
    for what in nothing {
        writeln!(out, "NOT EXERCISED: {what}")?;
    }
    for what in &ran.faults {
        writeln!(out, "NO RESULT: {what}")?;
    }
    Ok(())
}

/// Writes what was asked for.
fn write_files(plan: &SweepPlan, sweeps: &[Sweep]) -> Result<(), CliError> {
    if let Some(file) = &plan.json {
        let value = report::json(sweeps, plan.price, plan.repeats);
        let text = serde_json::to_string_pretty(&value).map_err(CliError::of)?;
        write_file(file, (text + "\n").as_bytes()).map_err(CliError::of)?;
    }
    if let Some(file) = &plan.csv {
        write_file(file, &csv(sweeps).map_err(CliError::of)?).map_err(CliError::of)?;
    }
    if let Some(file) = &plan.plot {
        let svg = plot(sweeps).map_err(CliError::of)?;
        write_file(file, shown(&svg, usize::MAX).as_bytes()).map_err(CliError::of)?;
    }
    Ok(())
}
