//! One run: a job under one setting.

use super::run_stage::{Runs, tallies};
use crate::verdict::Tally;
use crate::workload::Job;
use splatcheck_gpu::{Engine, EngineError, Setting};

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
    one.ok_or_else(|| EngineError::Device("no result came back".to_owned()))
}
