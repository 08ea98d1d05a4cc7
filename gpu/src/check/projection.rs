//! The inputs of the projection stages.

use super::{fail, length};
use crate::engine::EngineError;
use crate::projection::{ProjectBackwardInputs, ProjectColors, ProjectInputs};
use crate::reduction::{BackwardConfig, Reduction};
use crate::stages::{MAX_CHANNELS, values};

/// Harmonics per channel that the kernels know: degrees 0 to 3.
const COEFFICIENTS: [u32; 4] = [1, 4, 9, 16];

/// Checks the inputs of the stage `project`.
///
/// # Errors
/// [`EngineError::Input`] naming the field, what was found and what was expected.
pub fn project(inputs: &ProjectInputs) -> Result<(), EngineError> {
    let n = inputs.len();
    let shape = "N, the length of means";
    length("quats", inputs.quats.len(), n, shape)?;
    length("scales", inputs.scales.len(), n, shape)?;
    length("opacities", inputs.opacities.len(), n, shape)?;
    let shape = match inputs.colors {
        ProjectColors::Direct { channels, .. } if !(1..=MAX_CHANNELS).contains(&channels) => {
            return fail(format!("channels is {channels}, expected 1..={MAX_CHANNELS}"));
        }
        ProjectColors::Direct { .. } => "N * channels",
        ProjectColors::Harmonics { coefficients, .. } if !COEFFICIENTS.contains(&coefficients) => {
            return fail(format!("coefficients is {coefficients}, expected 1, 4, 9 or 16"));
        }
        ProjectColors::Harmonics { .. } => "N * coefficients * 3",
    };
    let stride = inputs.colors.stride() as usize;
    length("colors", inputs.colors.values().len(), n * stride, shape)?;
    if inputs.cameras.is_empty() {
        return fail("there is no camera, expected at least one".to_owned());
    }
    reach(inputs)
}

/// The kernels index with 32 bits.
fn reach(inputs: &ProjectInputs) -> Result<(), EngineError> {
    let row = u64::from(values(inputs.colors.channels()));
    let reached = [
        ("the rows of projections", (inputs.projections() as u64).saturating_mul(row)),
        ("the colors", inputs.colors.values().len() as u64),
        ("the cameras' gradients", inputs.cameras.len() as u64 * 16),
    ];
    match reached.into_iter().find(|&(_, floats)| floats > u64::from(u32::MAX)) {
        Some((what, floats)) => fail(format!(
            "{what} hold {floats} floats, more than the kernels' 32-bit indices reach"
        )),
        None => Ok(()),
    }
}

/// Checks the inputs of the stage `project_backward`.
///
/// # Errors
/// [`EngineError::Input`] naming the field, what was found and what was expected.
pub fn project_backward(inputs: &ProjectBackwardInputs) -> Result<(), EngineError> {
    project(&inputs.project)?;
    let rows = inputs.project.projections();
    let colors = rows * inputs.project.colors.channels() as usize;
    let shape = "cameras * N";
    length("v_means2d", inputs.v_means2d.len(), rows, shape)?;
    length("v_conics", inputs.v_conics.len(), rows, shape)?;
    length("v_opacities", inputs.v_opacities.len(), rows, shape)?;
    length("v_colors", inputs.v_colors.len(), colors, "cameras * N * channels")
}

/// The settings of `project_backward`: reductions that it has, and their thresholds.
pub(crate) fn project_settings(
    configs: &[BackwardConfig],
    lane_width: u32,
) -> Result<(), EngineError> {
    let known = Reduction::OF_PROJECT_BACKWARD;
    if let Some(config) = configs.iter().find(|c| !known.contains(&c.reduction)) {
        let known: Vec<_> = known.iter().map(|r| r.name()).collect();
        return fail(format!(
            "project_backward has no reduction {}: expected one of {}",
            config.reduction,
            known.join(", ")
        ));
    }
    super::settings(configs, lane_width)
}
