//! `splatcheck train`: fits Gaussians to a picture or a scene with the gradients of each engine's kernels.

pub(super) mod options;
mod report;

use std::io::Write;

use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_gpu::{Engine, EngineError, Setting, Support};

use super::exit::{CliError, Outcome};
use super::output::Progress;
pub use options::{TrainArgs, TrainPlan};
use report::{Report, Run};
use splatcheck_judge::engines::{EngineProcess, Found, Limits, Program};
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::table::table;
use splatcheck_judge::words::shown;
use splatcheck_workloads::train::backward::{OnEngine, Oracle};
use splatcheck_workloads::train::fit::{Curve, End, Fit};
use splatcheck_workloads::train::plot::plot;
use splatcheck_workloads::train::start::start;

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`]; an engine that gave no result is one, after everything else was written.
pub fn run(plan: &TrainPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let fit = Fit {
        target: plan.target.clone(),
        start: start(&plan.target, plan.gaussians, plan.seed),
        steps: plan.steps,
        loss: plan.loss,
    };
    let runs = 1 + plan.engines.iter().map(|found| plan.settings(found).len()).sum::<usize>();
    let bar = Progress::new("train", "steps", (runs * plan.steps) as u64);
    let done = || bar.inc(1);
    let oracle = Run::new("oracle".to_owned(), None, fit.run(&mut Oracle, &done));
    let mut all = vec![oracle];
    for found in &plan.engines {
        let settings = plan.settings(found);
        let mut engine = open(found);
        for setting in settings {
            let curve = match &mut engine {
                Ok(engine) => of_engine(&fit, engine, setting, &done),
                Err(error) => nothing(error.clone()),
            };
            all.push(Run::new(found.spec.id().to_owned(), Some(setting), curve));
        }
    }
    bar.finish_and_clear();
    let report = Report { plan, runs: all };
    writeln!(out, "{}\n", report.title())?;
    out.write_all(table(&report.rows()).as_bytes())?;
    if plan.engines.is_empty() && !plan.oracle_alone {
        writeln!(
            out,
            "\nNOT EXERCISED: no engine on this machine ('splatcheck devices' says why)"
        )?;
    }
    plan.said.lines().try_for_each(|line| writeln!(out, "{line}"))?;
    // A curve that Ctrl-C cut short is not written: the file would pass for the whole.
    if !report.runs.iter().any(Run::was_interrupted) {
        report.write_files()?;
    }
    out.flush()?;
    conclude(&report.runs)
}

fn open(found: &Found) -> Result<EngineProcess, EngineError> {
    let program = Program::find().map_err(|error| EngineError::Unavailable(error.to_string()))?;
    EngineProcess::start(found.spec.clone(), program, Limits::default())
}

fn of_engine(fit: &Fit, engine: &mut EngineProcess, setting: Setting, done: &dyn Fn()) -> Curve {
    match engine.supports(RASTERIZE_BACKWARD, Some(setting.reduction)) {
        Support::Yes => fit.run(&mut OnEngine { engine, setting }, done),
        Support::No(what) => {
            let adapter = engine.info().adapter.clone();
            nothing(EngineError::Missing { adapter, what })
        }
    }
}

/// A run that did not begin.
fn nothing(error: EngineError) -> Curve {
    Curve { psnr: Vec::new(), end: End::Failed { step: 0, error }, seconds: 0.0 }
}

/// A run that ends at a number that is not finite disagrees with the oracle, whose numbers are. How far
/// apart two curves may lie nobody says.
fn conclude(runs: &[Run]) -> Result<Outcome, CliError> {
    if runs.iter().any(Run::was_interrupted) {
        return Ok(Outcome::Interrupted);
    }
    let Some((oracle, others)) = runs.split_first() else { return Ok(Outcome::Agree) };
    if let Some(words) = oracle.stopped() {
        return Err(CliError::new(format!("the oracle's own run ended early: {words}")));
    }
    for run in others {
        if let End::Failed { error, .. } = &run.curve.end
            && !matches!(error, EngineError::Missing { .. })
        {
            return Err(CliError::caused(format!("{} gave no result", run.name()), error.clone()));
        }
    }
    let finite = |run: &Run| !matches!(run.curve.end, End::NotFinite { .. });
    Ok(if others.iter().all(finite) { Outcome::Agree } else { Outcome::Disagree })
}

impl Report<'_> {
    /// Writes what was asked for.
    fn write_files(&self) -> Result<(), CliError> {
        if let Some(file) = &self.plan.json {
            let text = serde_json::to_string_pretty(&self.json()).map_err(CliError::of)?;
            write_file(file, (text + "\n").as_bytes()).map_err(CliError::of)?;
        }
        if let Some(file) = &self.plan.plot {
            let curves: Vec<_> = self.runs.iter().map(|run| (run.name(), &run.curve)).collect();
            let svg = plot(&self.title(), &curves).map_err(CliError::of)?;
            write_file(file, shown(&svg, usize::MAX).as_bytes()).map_err(CliError::of)?;
        }
        Ok(())
    }
}
