//! Whether the inputs of a stage agree with each other, checked before anything reaches a device.
//!
//! Values are not judged (NaN, infinities and degenerate conics are legitimate test inputs); only
//! what would make a kernel read or write outside an array, or mean something else than the
//! caller thinks.

mod projection;

pub(crate) use projection::project_backward_job;
pub use projection::{project, project_backward};

use crate::engine::EngineError;
use crate::layout::{BackwardInputs, RasterInputs};
use crate::reduction::BackwardConfig;
use crate::stages::{MAX_CHANNELS, TILE_SIZE};

fn fail<T>(message: String) -> Result<T, EngineError> {
    Err(EngineError::Input(message))
}

fn length(field: &str, found: usize, expected: usize, shape: &str) -> Result<(), EngineError> {
    if found == expected {
        Ok(())
    } else {
        fail(format!("{field} has {found} entries, expected {expected} = {shape}"))
    }
}

/// Checks the inputs of the forward stage.
///
/// # Errors
/// [`EngineError::Input`] naming the field, what was found and what was expected.
pub fn forward(inputs: &RasterInputs) -> Result<(), EngineError> {
    image(inputs)?;
    let n = inputs.len();
    let d = inputs.channels as usize;
    length("conics", inputs.conics.len(), n, "N, the length of means2d")?;
    length("opacities", inputs.opacities.len(), n, "N, the length of means2d")?;
    length("colors", inputs.colors.len(), n * d, "N * channels")?;
    length("background", inputs.background.len(), d, "channels")?;
    lists(inputs)
}

fn image(inputs: &RasterInputs) -> Result<(), EngineError> {
    let RasterInputs { width, height, tile_size, channels, .. } = *inputs;
    if width == 0 || height == 0 {
        return fail(format!("the image is {width}x{height}: both sides must be at least 1"));
    }
    if tile_size != TILE_SIZE {
        return fail(format!("tile_size is {tile_size}: the kernels are written for {TILE_SIZE}"));
    }
    if !(1..=MAX_CHANNELS).contains(&channels) {
        return fail(format!("channels is {channels}, expected 1..={MAX_CHANNELS}"));
    }
    Ok(())
}

fn lists(inputs: &RasterInputs) -> Result<(), EngineError> {
    let [tiles_x, tiles_y] = inputs.tiles();
    let offsets = &inputs.tile_offsets;
    let m = inputs.flatten_ids.len();
    let tiles = tiles_x as usize * tiles_y as usize;
    length("tile_offsets", offsets.len(), tiles + 1, "tiles + 1")?;
    if offsets[0] != 0 {
        return fail(format!("tile_offsets[0] is {}, expected 0", offsets[0]));
    }
    if let Some(t) = (0..tiles).find(|&t| offsets[t] > offsets[t + 1]) {
        let (a, b) = (offsets[t], offsets[t + 1]);
        return fail(format!("tile_offsets[{t}] is {a}, above the next, {b}: must not decrease"));
    }
    let end = offsets[tiles];
    if end as usize != m {
        return fail(format!(
            "tile_offsets ends at {end}, expected {m}, the entries of flatten_ids"
        ));
    }
    if i32::try_from(m).is_err() {
        return fail(format!("flatten_ids has {m} entries, more than last_ids (i32) can name"));
    }
    let n = inputs.len();
    match inputs.flatten_ids.iter().position(|&id| id as usize >= n) {
        Some(at) => {
            let id = inputs.flatten_ids[at];
            fail(format!("flatten_ids[{at}] is {id}, but there are only {n} Gaussians"))
        }
        None => Ok(()),
    }
}

/// Checks the inputs of the backward stage.
///
/// # Errors
/// [`EngineError::Input`] naming the field, what was found and what was expected.
pub fn backward(inputs: &BackwardInputs) -> Result<(), EngineError> {
    let raster = &inputs.raster;
    forward(raster)?;
    let pixels = raster.pixels();
    let values = pixels * raster.channels as usize;
    length("render_transmittance", inputs.render_transmittance.len(), pixels, "height * width")?;
    length("last_ids", inputs.last_ids.len(), pixels, "height * width")?;
    let shape = "height * width * channels";
    length("v_render_colors", inputs.v_render_colors.len(), values, shape)?;
    length("v_render_alphas", inputs.v_render_alphas.len(), pixels, "height * width")?;
    last_ids(inputs)
}

fn last_ids(inputs: &BackwardInputs) -> Result<(), EngineError> {
    let raster = &inputs.raster;
    let tiles_x = raster.tiles()[0] as usize;
    let width = raster.width as usize;
    for (pixel, &last) in inputs.last_ids.iter().enumerate() {
        let (x, y) = (pixel % width, pixel / width);
        let tile = (y / TILE_SIZE as usize) * tiles_x + x / TILE_SIZE as usize;
        let (begin, end) = (raster.tile_offsets[tile], raster.tile_offsets[tile + 1]);
        let in_list = u32::try_from(last).is_ok_and(|l| (begin..end).contains(&l));
        if last != -1 && !in_list {
            return fail(format!(
                "last_ids of pixel ({x}, {y}) is {last}, outside its tile's list {begin}..{end} \
                 and not -1"
            ));
        }
    }
    Ok(())
}

/// Checks the inputs of the backward stage and the settings to run them with.
pub(crate) fn backward_job(
    inputs: &BackwardInputs,
    configs: &[BackwardConfig],
    lane_width: u32,
) -> Result<(), EngineError> {
    backward(inputs)?;
    settings(configs, lane_width)
}

/// The thresholds of every setting that has one.
fn settings(configs: &[BackwardConfig], lane_width: u32) -> Result<(), EngineError> {
    for config in configs.iter().filter(|c| c.reduction.has_threshold()) {
        config.check(lane_width)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{ClampGradient, RasterConstants, StopRule};

    /// Two tiles side by side, three Gaussians, two channels.
    fn valid() -> BackwardInputs {
        let raster = RasterInputs {
            width: 17,
            height: 2,
            tile_size: 16,
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
        assert_eq!(backward(&valid()), Ok(()), "nothing is wrong with these");
        let mut empty = valid().raster;
        empty.means2d.clear();
        empty.conics.clear();
        empty.opacities.clear();
        empty.colors.clear();
        empty.flatten_ids.clear();
        empty.tile_offsets = vec![0; 3];
        assert_eq!(forward(&empty), Ok(()), "no Gaussian is no error");
    }

    #[test]
    fn every_contradiction_names_its_field() {
        type Edit = fn(&mut BackwardInputs);
        let cases: &[(&str, Edit)] = &[
            ("the image is 0x2", |i| i.raster.width = 0),
            ("the image is 17x0", |i| i.raster.height = 0),
            ("tile_size is 8", |i| i.raster.tile_size = 8),
            ("tile_size is 0", |i| i.raster.tile_size = 0),
            ("channels is 0", |i| i.raster.channels = 0),
            ("channels is 33", |i| i.raster.channels = 33),
            ("conics has 2", |i| i.raster.conics.truncate(2)),
            ("opacities has 4", |i| i.raster.opacities.push(0.0)),
            ("colors has 5", |i| i.raster.colors.truncate(5)),
            ("background has 3", |i| i.raster.background.push(0.0)),
            ("tile_offsets has 2", |i| i.raster.tile_offsets.truncate(2)),
            ("tile_offsets[0] is 1", |i| i.raster.tile_offsets[0] = 1),
            ("tile_offsets[1] is 5", |i| i.raster.tile_offsets[1] = 5),
            ("tile_offsets ends at 3", |i| i.raster.tile_offsets[2] = 3),
            ("flatten_ids[2] is 3", |i| i.raster.flatten_ids[2] = 3),
            ("render_transmittance has 33", |i| i.render_transmittance.truncate(33)),
            ("last_ids has 33", |i| i.last_ids.truncate(33)),
            ("v_render_colors has 67", |i| i.v_render_colors.truncate(67)),
            ("v_render_alphas has 35", |i| i.v_render_alphas.push(0.0)),
            ("last_ids of pixel (0, 0) is 2", |i| i.last_ids[0] = 2),
            ("last_ids of pixel (16, 1) is 1", |i| i.last_ids[33] = 1),
            ("last_ids of pixel (1, 0) is -2", |i| i.last_ids[1] = -2),
            // What an output that was never written holds.
            ("last_ids of pixel (1, 0) is 2143", |i| i.last_ids[1] = 0x7fc0_dead),
        ];
        for (expected, edit) in cases {
            let mut inputs = valid();
            edit(&mut inputs);
            let message = backward(&inputs).expect_err(expected).to_string();
            assert!(message.contains(expected), "wanted '{expected}', got '{message}'");
        }
    }
}
