//! One request to an engine: a stage of many jobs, and the judge's counts of each.

use crate::judge::{Arithmetic, judge};
use crate::verdict::Tally;
use crate::workload::Job;
use splatcheck_gpu::{Engine, EngineError, Setting, Stage, Work};

/// A job and the settings to run it with: `None` for a stage that reduces nothing.
#[derive(Clone, Debug)]
pub struct Runs<'j> {
    /// The job.
    pub job: &'j Job,
    /// The settings.
    pub settings: Vec<Option<Setting>>,
}

/// The setting whose order of additions bounds a run's sums: `None`, which is any order, where parts are added up.
pub(super) fn added_as(
    engine: &dyn Engine,
    stage: Stage,
    setting: Option<Setting>,
) -> Option<Setting> {
    setting.filter(|_| engine.parts(stage) == 1)
}

/// Runs all jobs, which are of that stage, under their settings and judges them: `[job][setting]`.
///
/// # Errors
/// The engine's; outputs that are missing or have another type or shape are the engine's fault too.
pub fn tallies(
    engine: &mut dyn Engine,
    stage: Stage,
    runs: &[Runs<'_>],
) -> Result<Vec<Vec<Tally>>, EngineError> {
    let work: Vec<_> = runs
        .iter()
        .map(|runs| Work { inputs: &runs.job.inputs, settings: &runs.settings })
        .collect();
    let outputs = engine.run(stage, &work)?;
    let info = engine.info();
    let arithmetic = Arithmetic::of(info);
    let asked: Vec<usize> = runs.iter().map(|runs| runs.settings.len()).collect();
    let answered: Vec<usize> = outputs.iter().map(Vec::len).collect();
    if asked != answered {
        return Err(EngineError::Device(format!(
            "its answer has {answered:?} results for {asked:?} settings of {} jobs",
            runs.len()
        )));
    }
    let judged = |(runs, outputs): (&Runs<'_>, &Vec<_>)| {
        let Runs { job, settings } = runs;
        let one = |(&setting, outputs)| {
            let expectation = job.expectation_of(arithmetic, outputs);
            let run = (added_as(&*engine, stage, setting), info.lane_width);
            judge(&stage, &job.sizes, &expectation, outputs, run).map_err(EngineError::output)
        };
        settings.iter().zip(outputs).map(one).collect()
    };
    runs.iter().zip(&outputs).map(judged).collect()
}
