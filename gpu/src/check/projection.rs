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

/// Checks the inputs of `project_backward` and the settings to run them with.
pub(crate) fn project_backward_job(
    inputs: &ProjectBackwardInputs,
    configs: &[BackwardConfig],
    lane_width: u32,
) -> Result<(), EngineError> {
    project_backward(inputs)?;
    project_settings(configs, lane_width)
}

/// The settings of `project_backward`: reductions that it has, and their thresholds.
fn project_settings(configs: &[BackwardConfig], lane_width: u32) -> Result<(), EngineError> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::tests::inputs::{gaussians, with_gradients};

    #[test]
    fn valid_inputs_pass() {
        assert_eq!(project_backward(&with_gradients(3, 2)), Ok(()), "nothing is wrong with these");
        assert_eq!(project(&gaussians(0, 1)), Ok(()), "no Gaussian is none too few");
        for coefficients in COEFFICIENTS {
            let mut inputs = gaussians(2, 1);
            let values = vec![0.0; 6 * coefficients as usize];
            inputs.colors = ProjectColors::Harmonics { coefficients, values };
            assert_eq!(project(&inputs), Ok(()), "K = {coefficients}");
        }
    }

    #[test]
    fn every_contradiction_is_named() {
        type Edit = fn(&mut ProjectBackwardInputs);
        let cases: [(&str, Edit); 12] = [
            ("quats has 2 entries, expected 3", |i| i.project.quats.truncate(2)),
            ("scales has 2 entries, expected 3", |i| i.project.scales.truncate(2)),
            ("opacities has 4 entries, expected 3", |i| i.project.opacities.push(0.0)),
            ("colors has 8 entries, expected 9 = N * channels", |i| {
                i.project.colors = ProjectColors::Direct { channels: 3, values: vec![0.0; 8] };
            }),
            ("colors has 9 entries, expected 36 = N * coefficients * 3", |i| {
                i.project.colors =
                    ProjectColors::Harmonics { coefficients: 4, values: vec![0.0; 9] };
            }),
            ("channels is 0, expected 1..=32", |i| {
                i.project.colors = ProjectColors::Direct { channels: 0, values: vec![] };
            }),
            ("channels is 33, expected 1..=32", |i| {
                i.project.colors = ProjectColors::Direct { channels: 33, values: vec![0.0; 99] };
            }),
            ("coefficients is 2, expected 1, 4, 9 or 16", |i| {
                i.project.colors =
                    ProjectColors::Harmonics { coefficients: 2, values: vec![0.0; 18] };
            }),
            ("there is no camera", |i| i.project.cameras.clear()),
            ("v_means2d has 5 entries, expected 6", |i| i.v_means2d.truncate(5)),
            ("v_conics has 5 entries, expected 6", |i| i.v_conics.truncate(5)),
            ("v_colors has 17 entries, expected 18", |i| i.v_colors.truncate(17)),
        ];
        for (expected, edit) in cases {
            let mut inputs = with_gradients(3, 2);
            edit(&mut inputs);
            let message = project_backward(&inputs).expect_err(expected).to_string();
            assert!(message.contains(expected), "wanted '{expected}', got '{message}'");
        }
    }

    #[test]
    fn what_32_bits_do_not_reach_is_refused() {
        // 2^14 Gaussians before 2^15 cameras are 2^29 rows of 9.
        let inputs = gaussians(1 << 14, 1 << 15);
        let message = project(&inputs).expect_err("too many rows").to_string();
        assert!(message.contains("4831838208 floats"), "unhelpful: {message}");
    }

    #[test]
    fn settings_are_those_of_the_stage() {
        let config = |reduction, threshold| BackwardConfig { reduction, threshold };
        let none = project_settings(&[config(Reduction::PerGaussian, 0)], 32);
        let message = none.expect_err("it has no kernel").to_string();
        let expected = "no reduction per-gaussian: expected one of atomic, sw-s, sw-b, subgroup";
        assert!(message.contains(expected), "unhelpful: {message}");
        let beyond = project_settings(&[config(Reduction::SwB, 34)], 32);
        assert!(matches!(beyond, Err(EngineError::Threshold(_))), "34 > W + 1: {beyond:?}");
        let ignored = project_settings(&[config(Reduction::Atomic, 34)], 32);
        assert_eq!(ignored, Ok(()), "it has no threshold");
    }
}
