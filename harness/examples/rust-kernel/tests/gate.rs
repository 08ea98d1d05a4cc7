//! Tests the kernel: `cargo test --release`.

use my_kernel::{Gaussians, Image, Rules, rasterize_backward};
use splatcheck::kernel::{
    BoxError, ClampGradient, RasterGradients, RasterizeBackwardInputs, check,
};

/// The kernel on splatcheck's arrays.
fn on_inputs(inputs: &RasterizeBackwardInputs) -> Result<RasterGradients, BoxError> {
    let gaussians = Gaussians {
        means2d: &inputs.means2d,
        conics: &inputs.conics,
        opacities: &inputs.opacities,
        colors: &inputs.colors,
    };
    let image = Image {
        width: inputs.width as usize,
        height: inputs.height as usize,
        tile_size: inputs.tile_size.map(|side| side as usize),
        background: &inputs.background,
        tile_offsets: &inputs.tile_offsets,
        flatten_ids: &inputs.flatten_ids,
        transmittance: &inputs.render_transmittance,
        last_ids: &inputs.last_ids,
        v_colors: &inputs.v_render_colors,
        v_alphas: &inputs.v_render_alphas,
    };
    let rules = Rules {
        alpha_max: inputs.constants.alpha_max,
        alpha_min: inputs.constants.alpha_min,
        pixel_center: inputs.constants.pixel_center,
        clamp_stops_gradient: inputs.constants.clamp_gradient == ClampGradient::Zero,
    };
    let grads = rasterize_backward(&gaussians, &image, &rules);
    Ok(RasterGradients {
        v_means2d: grads.means2d,
        v_conics: grads.conics,
        v_opacities: grads.opacities,
        v_colors: grads.colors,
    })
}

#[test]
fn my_kernel_agrees_with_the_oracle() {
    check(on_inputs).cases(50).out(env!("CARGO_TARGET_TMPDIR")).assert();
}

/// What a gate is for: lane 31 of every warp of 32 adds nothing.
fn without_lane_31(inputs: &RasterizeBackwardInputs) -> Result<RasterGradients, BoxError> {
    let mut inputs = inputs.clone();
    let width = inputs.width as usize;
    let [across, down] = inputs.tile_size.map(|side| side as usize);
    for (pixel, last) in inputs.last_ids.iter_mut().enumerate() {
        let [x, y] = [pixel % width % across, pixel / width % down];
        if (y * across + x) % 32 == 31 {
            *last = -1;
        }
    }
    on_inputs(&inputs)
}

#[test]
#[should_panic(expected = "gate::without_lane_31 is wrong in")]
fn a_kernel_that_loses_a_lane_is_found() {
    check(without_lane_31).cases(50).out(env!("CARGO_TARGET_TMPDIR")).assert();
}
