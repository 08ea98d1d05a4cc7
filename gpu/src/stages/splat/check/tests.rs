use super::*;
use crate::engine::Work;
use crate::reduction::{Reduction, Setting};
use crate::stages::Stage;
use crate::stages::splat::tests::inputs::{gaussians, with_gradients};
use crate::stages::splat::{
    BackwardInputs, ClampGradient, PROJECT, PROJECT_BACKWARD, ProjectBackwardInputs, ProjectColors,
    ProjectInputs, RASTERIZE, RASTERIZE_BACKWARD, RasterConstants, RasterInputs, StopRule,
};
use crate::tensor::{ShapeError, TensorError};

/// Whether inputs fit a stage.
fn checked(stage: Stage, inputs: Result<Tensors, ShapeError>) -> Result<(), EngineError> {
    let inputs = inputs.map_err(TensorError::from)?;
    stage.check_inputs(&inputs).map(|_| ())
}

fn rasterize(inputs: &RasterInputs) -> Result<(), EngineError> {
    checked(RASTERIZE, inputs.tensors())
}

fn rasterize_backward(inputs: &BackwardInputs) -> Result<(), EngineError> {
    checked(RASTERIZE_BACKWARD, inputs.tensors())
}

fn empty_images(inputs: &mut BackwardInputs) {
    inputs.render_transmittance.clear();
    inputs.last_ids.clear();
    inputs.v_render_colors.clear();
    inputs.v_render_alphas.clear();
}

fn project(inputs: &ProjectInputs) -> Result<(), EngineError> {
    checked(PROJECT, inputs.tensors())
}

fn project_backward(inputs: &ProjectBackwardInputs) -> Result<(), EngineError> {
    checked(PROJECT_BACKWARD, inputs.tensors())
}

/// Two tiles side by side, three Gaussians, two channels.
fn valid() -> BackwardInputs {
    let raster = RasterInputs {
        width: 17,
        height: 2,
        tile_size: [16, 16],
        channels: 2,
        constants: RasterConstants {
            alpha_max: 0.99,
            alpha_min: 1.0 / 255.0,
            transmittance_min: 1e-4,
            stop_rule: StopRule::Less,
            clamp_gradient: ClampGradient::PassThrough,
            pixel_center: 0.5,
        },
        means2d: vec![[0.0; 2]; 3],
        conics: vec![[1.0, 0.0, 1.0]; 3],
        opacities: vec![0.5; 3],
        colors: vec![0.5; 6],
        background: vec![0.0; 2],
        tile_offsets: vec![0, 2, 4],
        flatten_ids: vec![0, 1, 1, 2],
    };
    BackwardInputs {
        raster,
        render_transmittance: vec![1.0; 34],
        last_ids: vec![-1; 34],
        v_render_colors: vec![0.0; 68],
        v_render_alphas: vec![0.0; 34],
    }
}

#[test]
fn valid_inputs_pass() {
    assert_eq!(rasterize_backward(&valid()), Ok(()), "nothing is wrong with these");
    let mut empty = valid().raster;
    empty.means2d.clear();
    empty.conics.clear();
    empty.opacities.clear();
    empty.colors.clear();
    empty.flatten_ids.clear();
    empty.tile_offsets = vec![0; 3];
    assert_eq!(rasterize(&empty), Ok(()), "no Gaussian is no error");
}

#[test]
fn other_tiles_are_for_kernels_of_users() {
    let mut inputs = valid();
    inputs.raster.tile_size = [8, 12];
    inputs.raster.tile_offsets = vec![0, 2, 4, 4];
    assert_eq!(rasterize_backward(&inputs), Ok(()), "three tiles of 8x12 are as right as two");
    let tensors = inputs.tensors().expect("the arrays fill their shapes");
    let error = RASTERIZE_BACKWARD.check_built_in(&tensors).expect_err("ours have 16x16");
    assert!(
        error.to_string().contains("tile_size is 8: the kernels are written for 16"),
        "{error}"
    );
    inputs.last_ids[7] = 2;
    let error = rasterize_backward(&inputs).expect_err("the first tile's list ends at 2");
    assert!(error.to_string().contains("last_ids of pixel (7, 0) is 2"), "{error}");
}

#[test]
fn every_contradiction_names_its_field() {
    type Edit = fn(&mut BackwardInputs);
    let cases: &[(&str, Edit)] = &[
        ("the image is 0x2", |i| {
            i.raster.width = 0;
            i.raster.tile_offsets = vec![0];
            empty_images(i);
        }),
        ("the image is 17x0", |i| {
            i.raster.height = 0;
            empty_images(i);
        }),
        ("a tile is 0x16", |i| i.raster.tile_size = [0, 16]),
        ("a tile is 16x0", |i| i.raster.tile_size = [16, 0]),
        ("channels is 0", |i| {
            i.raster.channels = 0;
            i.raster.colors.clear();
            i.raster.background.clear();
            i.v_render_colors.clear();
        }),
        ("channels is 33", |i| {
            i.raster.channels = 33;
            i.raster.colors = vec![0.5; 99];
            i.raster.background = vec![0.0; 33];
            i.v_render_colors = vec![0.0; 33 * 34];
        }),
        ("conics has the shape [2, 3], expected [N, 3], N = 3", |i| i.raster.conics.truncate(2)),
        ("opacities has the shape [4], expected [N], N = 3", |i| i.raster.opacities.push(0.0)),
        ("colors has 5 numbers, but its shape [3, 2] takes 6", |i| i.raster.colors.truncate(5)),
        ("background has the shape [3], expected [D], D = 2", |i| i.raster.background.push(0.0)),
        ("tile_offsets has 2", |i| i.raster.tile_offsets.truncate(2)),
        ("tile_offsets[0] is 1", |i| i.raster.tile_offsets[0] = 1),
        ("tile_offsets[1] is 5", |i| i.raster.tile_offsets[1] = 5),
        ("tile_offsets ends at 3", |i| i.raster.tile_offsets[2] = 3),
        ("flatten_ids[2] is 3", |i| i.raster.flatten_ids[2] = 3),
        ("render_transmittance has 33 numbers, but its shape [2, 17] takes 34", |i| {
            i.render_transmittance.truncate(33)
        }),
        ("last_ids has 33 numbers, but its shape", |i| i.last_ids.truncate(33)),
        ("v_render_colors has 67 numbers, but its shape [2, 17, 2] takes 68", |i| {
            i.v_render_colors.truncate(67)
        }),
        ("v_render_alphas has 35 numbers, but its shape", |i| i.v_render_alphas.push(0.0)),
        ("last_ids of pixel (0, 0) is 2", |i| i.last_ids[0] = 2),
        ("last_ids of pixel (16, 1) is 1", |i| i.last_ids[33] = 1),
        ("last_ids of pixel (1, 0) is -2", |i| i.last_ids[1] = -2),
        // What an output that was never written holds.
        ("last_ids of pixel (1, 0) is 2143", |i| i.last_ids[1] = 0x7fc0_dead),
    ];
    for (expected, edit) in cases {
        let mut inputs = valid();
        edit(&mut inputs);
        let message = rasterize_backward(&inputs).expect_err(expected).to_string();
        assert!(message.contains(expected), "wanted '{expected}', got '{message}'");
    }
}

#[test]
fn valid_projections_pass() {
    assert_eq!(project_backward(&with_gradients(3, 2)), Ok(()), "nothing is wrong with these");
    assert_eq!(project(&gaussians(0, 1)), Ok(()), "no Gaussian is none too few");
    for coefficients in COEFFICIENTS.into_iter().filter(|&k| k > 0) {
        let mut inputs = gaussians(2, 1);
        let values = vec![0.0; 6 * coefficients];
        let coefficients = u32::try_from(coefficients).expect("at most 16");
        inputs.colors = ProjectColors::Harmonics { coefficients, values };
        assert_eq!(project(&inputs), Ok(()), "K = {coefficients}");
    }
}

#[test]
fn every_contradiction_of_projections_names_its_field() {
    type Edit = fn(&mut ProjectBackwardInputs);
    let cases: [(&str, Edit); 12] = [
        ("quats has the shape [2, 4], expected [N, 4], N = 3", |i| i.project.quats.truncate(2)),
        ("scales has the shape [2, 3], expected [N, 3], N = 3", |i| i.project.scales.truncate(2)),
        ("opacities has the shape [4], expected [N], N = 3", |i| i.project.opacities.push(0.0)),
        ("colors has 8 numbers, but its shape [3, 3] takes 9", |i| {
            i.project.colors = ProjectColors::Direct { channels: 3, values: vec![0.0; 8] };
        }),
        ("colors has 9 numbers, but its shape [3, 4, 3] takes 36", |i| {
            i.project.colors = ProjectColors::Harmonics { coefficients: 4, values: vec![0.0; 9] };
        }),
        ("channels is 0, expected 1..=32", |i| {
            i.project.colors = ProjectColors::Direct { channels: 0, values: vec![] };
            i.v_colors.clear();
        }),
        ("channels is 33, expected 1..=32", |i| {
            i.project.colors = ProjectColors::Direct { channels: 33, values: vec![0.0; 99] };
            i.v_colors = vec![0.0; 2 * 99];
        }),
        ("coefficients is 2, expected 1, 4, 9 or 16", |i| {
            i.project.colors = ProjectColors::Harmonics { coefficients: 2, values: vec![0.0; 18] };
        }),
        ("there is no camera", |i| {
            i.project.cameras.clear();
            i.v_means2d.clear();
            i.v_conics.clear();
            i.v_opacities.clear();
            i.v_colors.clear();
        }),
        ("v_means2d has 10 numbers, but its shape [2, 3, 2] takes 12", |i| i.v_means2d.truncate(5)),
        ("v_conics has 15 numbers, but its shape [2, 3, 3] takes 18", |i| i.v_conics.truncate(5)),
        ("v_colors has 17 numbers, but its shape [2, 3, 3] takes 18", |i| i.v_colors.truncate(17)),
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
    assert!(message.contains("4831838208 numbers"), "unhelpful: {message}");
}

#[test]
fn settings_are_those_of_the_stage() {
    let inputs = with_gradients(3, 2).tensors().expect("it is valid");
    let check = |stage: Stage, reduction, threshold| {
        let settings = [Some(Setting { reduction, threshold })];
        stage.check_work(&[Work { inputs: &inputs, settings: &settings }], 32).map(|_| ())
    };
    let none = check(PROJECT_BACKWARD, Reduction::PerGaussian, 0);
    let message = none.expect_err("it has no kernel").to_string();
    let expected = "no reduction per-gaussian: expected one of atomic, sw-s, sw-b, subgroup";
    assert!(message.contains(expected), "unhelpful: {message}");
    let beyond = check(PROJECT_BACKWARD, Reduction::SwB, 34);
    assert!(matches!(beyond, Err(EngineError::Threshold(_))), "34 > W + 1: {beyond:?}");
    let ignored = check(PROJECT_BACKWARD, Reduction::Atomic, 34);
    assert_eq!(ignored, Ok(()), "it has no threshold");
    let message = check(PROJECT, Reduction::Atomic, 0).expect_err("it adds nothing").to_string();
    assert!(message.contains("reduces nothing and has no reduction atomic"), "{message}");
    let work = [Work { inputs: &inputs, settings: &[None] }];
    let message = PROJECT_BACKWARD.check_work(&work, 32).expect_err("it needs one").to_string();
    assert!(message.contains("needs a reduction: one of atomic, sw-s"), "unhelpful: {message}");
}
