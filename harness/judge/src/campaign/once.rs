//! One run: a job under one setting.

use super::run_stage::{Runs, added_as, tallies};
use crate::judge::{Arithmetic, judge, judge_where_differs};
use crate::verdict::Tally;
use crate::workload::Job;
use splatcheck_gpu::{Engine, EngineError, Setting, Tensors, Work};

/// Runs a job under a setting, which a stage that reduces nothing has none of, and judges it.
///
/// # Errors
/// The engine's.
pub fn once(
    engine: &mut dyn Engine,
    job: &Job,
    setting: Option<Setting>,
) -> Result<Tally, EngineError> {
    let mut tallies = tallies(engine, job.stage, &[Runs { job, settings: vec![setting] }])?;
    let one = tallies.pop().and_then(|mut settings| settings.pop());
    one.ok_or_else(no_result)
}

/// Runs a job under a setting; what came out is not judged.
///
/// # Errors
/// The engine's.
pub fn outputs_of(
    engine: &mut dyn Engine,
    job: &Job,
    setting: Option<Setting>,
) -> Result<Tensors, EngineError> {
    only_one(engine.run(job.stage, &[Work { inputs: &job.inputs, settings: &[setting] }])?)
}

/// As [`outputs_of`], in one run also where runs are compared.
pub(super) fn outputs_of_one_run(
    engine: &mut dyn Engine,
    job: &Job,
    setting: Option<Setting>,
) -> Result<Tensors, EngineError> {
    only_one(engine.run_once(job.stage, &[Work { inputs: &job.inputs, settings: &[setting] }])?)
}

fn only_one(mut all: Vec<Vec<Tensors>>) -> Result<Tensors, EngineError> {
    all.pop().and_then(|mut settings| settings.pop()).ok_or_else(no_result)
}

/// Judges what came out of a run on an engine: all elements, or only those whose bits differ from
/// what came out of another run of the job.
///
/// # Errors
/// Outputs that are missing or have another type or shape.
pub fn judged(
    engine: &dyn Engine,
    job: &Job,
    setting: Option<Setting>,
    outputs: &Tensors,
    from: Option<&Tensors>,
) -> Result<Tally, EngineError> {
    let expectation = &*job.expectation_of(Arithmetic::of(engine.info()), outputs);
    let run = (added_as(engine, job.stage, setting), engine.info().lane_width);
    let tally = match from {
        Some(from) => {
            judge_where_differs(&job.stage, &job.sizes, expectation, [outputs, from], run)
        }
        None => judge(&job.stage, &job.sizes, expectation, outputs, run),
    };
    tally.map_err(EngineError::output)
}

fn no_result() -> EngineError {
    EngineError::Device("no result came back".to_owned())
}
