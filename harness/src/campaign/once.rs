//! One run: a stage of one case under one setting.

use super::Item;
use super::run_stage::tallies;
use crate::verdict::Tally;
use crate::workloads::splat::stage::StageName;
use splatcheck_gpu::{BackwardConfig, Engine, EngineError};

/// Runs a stage of a case under a setting, which the forward stages have none of, and judges it. The
/// case must have the stage.
///
/// # Errors
/// The engine's.
pub fn once(
    engine: &mut dyn Engine,
    stage: StageName,
    item: &Item,
    setting: Option<BackwardConfig>,
) -> Result<Tally, EngineError> {
    let mut tallies = tallies(engine, stage, &[(item, vec![setting])])?;
    let one = tallies.pop().and_then(|mut settings| settings.pop());
    one.ok_or_else(|| EngineError::Device("no result came back".to_owned()))
}
