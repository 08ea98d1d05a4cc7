//! The settings of the rasterization kernels.

use super::MAX_CHANNELS;
use crate::layout::{ClampGradient, RasterConstants, RasterInputs, StopRule};

/// The settings of both rasterization kernels; mirrors `Params` in `pair.wgsl` and `pair.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Params {
    /// Image width, pixels.
    pub width: u32,
    /// Image height, pixels.
    pub height: u32,
    /// Tiles in a row.
    pub tiles_x: u32,
    /// Contributing lanes from which a subgroup reduces in registers.
    pub threshold: u32,
    /// See [`RasterConstants`].
    pub alpha_max: f32,
    /// See [`RasterConstants`].
    pub alpha_min: f32,
    /// See [`RasterConstants`].
    pub transmittance_min: f32,
    /// See [`RasterConstants`].
    pub pixel_center: f32,
    /// 1 for [`StopRule::LessOrEqual`], else 0.
    pub stop_when_equal: u32,
    /// 1 for [`ClampGradient::Zero`], else 0.
    pub clamp_stops_gradient: u32,
    /// Channels D, for kernels that are not compiled for one number of them.
    pub channels: u32,
    /// Unused.
    pub padding: u32,
    /// Background, the first D entries are used.
    pub background: [f32; MAX_CHANNELS as usize],
}

impl Params {
    /// The settings of one dispatch. The inputs must have passed [`crate::check`].
    #[must_use]
    pub fn new(inputs: &RasterInputs, threshold: u32) -> Self {
        let RasterConstants {
            alpha_max,
            alpha_min,
            transmittance_min,
            stop_rule,
            clamp_gradient,
            pixel_center,
        } = inputs.constants;
        let mut background = [0.0; MAX_CHANNELS as usize];
        background[..inputs.background.len()].copy_from_slice(&inputs.background);
        Self {
            width: inputs.width,
            height: inputs.height,
            tiles_x: inputs.tiles()[0],
            threshold,
            alpha_max,
            alpha_min,
            transmittance_min,
            pixel_center,
            stop_when_equal: u32::from(stop_rule == StopRule::LessOrEqual),
            clamp_stops_gradient: u32::from(clamp_gradient == ClampGradient::Zero),
            channels: inputs.channels,
            padding: 0,
            background,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::RASTERIZE;
    use crate::stages::tests::assert_layout;

    #[test]
    fn params_lie_where_the_kernels_look() {
        assert_layout!(
            RASTERIZE,
            Params as Params,
            [
                width,
                height,
                tiles_x,
                threshold,
                alpha_max,
                alpha_min,
                transmittance_min,
                pixel_center,
                stop_when_equal,
                clamp_stops_gradient,
                channels,
                padding,
                background
            ]
        );
    }
}
