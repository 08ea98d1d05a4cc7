//! One run: a stage of one case under one setting.

use super::Item;
use crate::verdict::Tally;
use splat_gpu::{BackwardConfig, Engine, EngineError};

/// Runs the backward stage of a case under a setting, or its forward stage, and judges it.
///
/// # Errors
/// The engine's.
pub fn once(
    engine: &mut dyn Engine,
    item: &Item,
    setting: Option<BackwardConfig>,
) -> Result<Tally, EngineError> {
    let info = engine.info().clone();
    let expectation = item.expectation(&info);
    let nothing = || EngineError::Device("no result came back".to_owned());
    match setting {
        None => {
            let outputs = engine.rasterize(&[&item.stage.inputs.raster])?;
            Ok(expectation.judge_forward(outputs.first().ok_or_else(nothing)?))
        }
        Some(setting) => {
            let gradients = engine.rasterize_backward(&[(&item.stage.inputs, &[setting])])?;
            let one = gradients.first().and_then(|settings| settings.first());
            Ok(expectation.judge_backward(one.ok_or_else(nothing)?, setting, info.lane_width))
        }
    }
}
