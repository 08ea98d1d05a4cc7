//! Inputs, a device and an engine for the tests of this folder.

use splat_gpu::{
    BackwardConfig, BackwardInputs, ClampGradient, DeviceInfo, Engine, EngineError, FloatAtomics,
    RasterConstants, RasterGradients, RasterInputs, RasterOutputs, StopRule,
};

/// A device.
pub(crate) fn info() -> DeviceInfo {
    DeviceInfo {
        adapter: "fake (\"quoted\", 128 bits)".into(),
        driver: "none 1.0".into(),
        backend: "vulkan".into(),
        lane_width: 8,
        float_atomics: FloatAtomics::CompareExchange,
        exp_of_zero_is_one: false,
    }
}

/// Bits that do not survive arithmetic: signalling NaN, NaN payloads, -0, subnormals.
const ODD_BITS: [u32; 6] =
    [0x7f80_0001, 0xffc1_2345, 0x8000_0000, 0x0000_0001, 0x7f80_0000, 0x3f80_0000];

fn odd(count: usize) -> Vec<f32> {
    ODD_BITS.iter().cycle().take(count).map(|&bits| f32::from_bits(bits)).collect()
}

/// `n` Gaussians on an image of `n + 1` by 2 pixels in tiles of 2, 3 channels.
pub(crate) fn raster_inputs(n: u32) -> RasterInputs {
    let count = n as usize;
    let width = n + 1;
    let tiles = width.div_ceil(2);
    RasterInputs {
        width,
        height: 2,
        tile_size: 2,
        channels: 3,
        constants: RasterConstants {
            alpha_max: f32::from_bits(0x7fc0_0123),
            alpha_min: 1.0 / 255.0,
            transmittance_min: 1e-4,
            stop_rule: if n.is_multiple_of(2) { StopRule::Less } else { StopRule::LessOrEqual },
            clamp_gradient: if n.is_multiple_of(3) {
                ClampGradient::PassThrough
            } else {
                ClampGradient::Zero
            },
            pixel_center: -0.0,
        },
        means2d: odd(2 * count).chunks(2).map(|c| [c[0], c[1]]).collect(),
        conics: odd(3 * count).chunks(3).map(|c| [c[0], c[1], c[2]]).collect(),
        opacities: odd(count),
        colors: odd(3 * count),
        background: odd(3),
        tile_offsets: (0..=tiles).map(|t| t * n).collect(),
        flatten_ids: (0..tiles).flat_map(|_| 0..n).chain([u32::MAX]).collect(),
    }
}

/// [`raster_inputs`] with what the backward stage adds.
pub(crate) fn backward_inputs(n: u32) -> BackwardInputs {
    let raster = raster_inputs(n);
    let pixels = raster.pixels();
    BackwardInputs {
        render_transmittance: odd(pixels),
        last_ids: (-1..).take(pixels).collect(),
        v_render_colors: odd(3 * pixels),
        v_render_alphas: odd(pixels),
        raster,
    }
}

/// An engine that answers with odd bits of the right shapes, and refuses images 5 pixels wide.
#[derive(Debug)]
pub(crate) struct FakeEngine(DeviceInfo);

impl Default for FakeEngine {
    fn default() -> Self {
        Self(info())
    }
}

impl Engine for FakeEngine {
    fn info(&self) -> &DeviceInfo {
        &self.0
    }

    fn rasterize(&mut self, inputs: &[&RasterInputs]) -> Result<Vec<RasterOutputs>, EngineError> {
        let one = |inputs: &&RasterInputs| {
            if inputs.width == 5 {
                return Err(EngineError::Input("width 5".into()));
            }
            Ok(RasterOutputs {
                render_colors: odd(3 * inputs.pixels()),
                render_alphas: odd(inputs.pixels()),
                render_transmittance: odd(inputs.pixels()),
                last_ids: (-1..).take(inputs.pixels()).collect(),
            })
        };
        inputs.iter().map(one).collect()
    }

    fn rasterize_backward(
        &mut self,
        jobs: &[(&BackwardInputs, &[BackwardConfig])],
    ) -> Result<Vec<Vec<RasterGradients>>, EngineError> {
        let one = |inputs: &RasterInputs| RasterGradients {
            v_means2d: inputs.means2d.clone(),
            v_conics: inputs.conics.clone(),
            v_opacities: inputs.opacities.clone(),
            v_colors: inputs.colors.clone(),
        };
        Ok(jobs.iter().map(|(inputs, s)| s.iter().map(|_| one(&inputs.raster)).collect()).collect())
    }
}
