//! Inputs, a device and an engine for the tests of this folder.

use splatcheck_gpu::{
    BackwardConfig, BackwardInputs, Camera, ClampGradient, DeviceInfo, Engine, EngineError,
    FloatAtomics, ProjectBackwardInputs, ProjectColors, ProjectConstants, ProjectGradients,
    ProjectInputs, ProjectOutputs, RasterConstants, RasterGradients, RasterInputs, RasterOutputs,
    StopRule,
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

fn odd_rows<const K: usize>(count: usize) -> Vec<[f32; K]> {
    odd(K * count).as_chunks().0.to_vec()
}

/// `n` Gaussians; with harmonics of degree 1 and one camera if `n` is odd, else with two channels
/// and two cameras.
pub(crate) fn project_inputs(n: u32) -> ProjectInputs {
    let (count, harmonics) = (n as usize, !n.is_multiple_of(2));
    let camera = Camera {
        viewmat: odd_rows(3).try_into().expect("three rows"),
        focal: [f32::from_bits(0x7fc0_0123), 2.0],
        principal: [-0.0, 1.0],
        low: [-1.0; 2],
        high: [f32::from_bits(1); 2],
    };
    ProjectInputs {
        means: odd_rows(count),
        quats: odd_rows(count),
        scales: odd_rows(count),
        opacities: odd(count),
        colors: if harmonics {
            ProjectColors::Harmonics { coefficients: 4, values: odd(12 * count) }
        } else {
            ProjectColors::Direct { channels: 2, values: odd(2 * count) }
        },
        cameras: vec![camera; if harmonics { 1 } else { 2 }],
        constants: ProjectConstants {
            near_inclusive: harmonics,
            clamp_has_gradient: !harmonics,
            antialiased: harmonics,
            eps2d: 0.3,
            near: f32::from_bits(0x7f80_0001),
            far: f32::INFINITY,
            inverse_eps: -0.0,
            w_eps: 1e-7,
        },
    }
}

/// [`project_inputs`] with what the backward stage adds.
pub(crate) fn project_backward_inputs(n: u32) -> ProjectBackwardInputs {
    let project = project_inputs(n);
    let rows = project.projections();
    ProjectBackwardInputs {
        v_means2d: odd_rows(rows),
        v_conics: odd_rows(rows),
        v_opacities: odd(rows),
        v_colors: odd(rows * project.colors.channels() as usize),
        project,
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

    fn project(&mut self, inputs: &[&ProjectInputs]) -> Result<Vec<ProjectOutputs>, EngineError> {
        let one = |inputs: &&ProjectInputs| {
            let rows = inputs.projections();
            ProjectOutputs {
                means2d: odd_rows(rows),
                conics: odd_rows(rows),
                opacities: odd(rows),
                colors: odd(rows * inputs.colors.channels() as usize),
                covars2d: odd_rows(rows),
                depths: odd(rows),
                visible: (0..).take(rows).collect(),
            }
        };
        Ok(inputs.iter().map(one).collect())
    }

    fn project_backward(
        &mut self,
        jobs: &[(&ProjectBackwardInputs, &[BackwardConfig])],
    ) -> Result<Vec<Vec<ProjectGradients>>, EngineError> {
        let one = |inputs: &ProjectInputs| ProjectGradients {
            v_means: inputs.means.clone(),
            v_quats: inputs.quats.clone(),
            v_scales: inputs.scales.clone(),
            v_opacities: inputs.opacities.clone(),
            v_colors: inputs.colors.values().to_vec(),
            v_viewmats: vec![[[-0.0; 4]; 4]; inputs.cameras.len()],
        };
        let of_job = |(inputs, settings): &(&ProjectBackwardInputs, &[BackwardConfig])| {
            settings.iter().map(|_| one(&inputs.project)).collect()
        };
        Ok(jobs.iter().map(of_job).collect())
    }
}
