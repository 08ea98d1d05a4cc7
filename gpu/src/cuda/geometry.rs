//! Launch geometry, and what 32-bit indices in the kernels can reach.

use crate::engine::EngineError;
use crate::layout::RasterInputs;
use crate::projection::{PROJECT_BLOCK, ProjectInputs, project_blocks};
use crate::stages::{WORKGROUP_SIZE, values};

/// Blocks in y and z of a grid (CUDA C++ Programming Guide, table of technical specifications).
const MOST_ROWS: u32 = 65_535;

/// Blocks of a launch and threads of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    pub(super) grid: [u32; 2],
    pub(super) block: u32,
}

/// A block a tile.
pub(super) fn tiles(inputs: &RasterInputs) -> Result<Geometry, EngineError> {
    let [x, y] = inputs.tiles();
    if y > MOST_ROWS {
        return Err(EngineError::Input(format!(
            "the image has {y} rows of tiles, but CUDA launches at most {MOST_ROWS} rows of blocks"
        )));
    }
    let row = u64::from(values(inputs.channels));
    let pixels = u64::from(inputs.width) * u64::from(inputs.height);
    let reached = [
        ("rows of Gaussians", inputs.len() as u64 * row),
        ("the image", pixels * u64::from(inputs.channels)),
    ];
    for (what, floats) in reached {
        if floats > u64::from(u32::MAX) {
            return Err(EngineError::Input(format!(
                "{what} hold {floats} floats, more than the kernels' 32-bit indices reach"
            )));
        }
    }
    Ok(Geometry { grid: [x, y], block: WORKGROUP_SIZE })
}

/// Of `project`: a row of blocks a camera, a thread a Gaussian.
pub(super) fn cameras(inputs: &ProjectInputs) -> Result<Geometry, EngineError> {
    let [x, y] = project_blocks(inputs);
    if y > MOST_ROWS {
        return Err(EngineError::Input(format!(
            "there are {y} cameras, but CUDA launches at most {MOST_ROWS} rows of blocks"
        )));
    }
    Ok(Geometry { grid: [x, y], block: PROJECT_BLOCK })
}

/// Of `project_backward`: a thread a Gaussian.
pub(super) fn gaussians(inputs: &ProjectInputs) -> Geometry {
    let [x, _] = project_blocks(inputs);
    Geometry { grid: [x, 1], block: PROJECT_BLOCK }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{ClampGradient, RasterConstants, StopRule};
    use crate::projection::tests::inputs;

    fn image(width: u32, height: u32, channels: u32) -> RasterInputs {
        RasterInputs {
            width,
            height,
            tile_size: 16,
            channels,
            constants: RasterConstants {
                alpha_max: 0.99,
                alpha_min: 1.0 / 255.0,
                transmittance_min: 1e-4,
                stop_rule: StopRule::Less,
                clamp_gradient: ClampGradient::Zero,
                pixel_center: 0.5,
            },
            means2d: Vec::new(),
            conics: Vec::new(),
            opacities: Vec::new(),
            colors: Vec::new(),
            background: Vec::new(),
            tile_offsets: Vec::new(),
            flatten_ids: Vec::new(),
        }
    }

    #[test]
    fn a_block_a_tile() {
        let geometry = tiles(&image(1920, 1080, 3)).expect("it fits");
        assert_eq!(geometry, Geometry { grid: [120, 68], block: 256 }, "1080 is 67.5 tiles");
        let one = tiles(&image(1, 1, 32)).expect("it fits");
        assert_eq!(one.grid, [1, 1], "a part of a tile is a tile");
    }

    #[test]
    fn what_cannot_be_launched_or_reached_is_an_error() {
        let tall = tiles(&image(1, 16 * 65_536, 1)).expect_err("too many rows").to_string();
        assert!(tall.contains("65536 rows of tiles"), "unhelpful: {tall}");
        let large = tiles(&image(65_536, 65_536, 1)).expect_err("too many pixels").to_string();
        assert!(large.contains("the image hold 4294967296 floats"), "unhelpful: {large}");
    }

    #[test]
    fn a_thread_a_gaussian_and_a_row_a_camera() {
        for (n, blocks) in [(0, 1), (1, 1), (256, 1), (257, 2), (100_000, 391)] {
            let inputs = inputs::gaussians(n, 3);
            let forward = cameras(&inputs).expect("it fits");
            assert_eq!(forward, Geometry { grid: [blocks, 3], block: 256 }, "{n} Gaussians");
            let backward = gaussians(&inputs);
            assert_eq!(backward, Geometry { grid: [blocks, 1], block: 256 }, "{n} Gaussians");
        }
        let many = inputs::gaussians(1, 65_536);
        let error = cameras(&many).expect_err("too many cameras").to_string();
        assert!(error.contains("there are 65536 cameras"), "unhelpful: {error}");
    }
}
