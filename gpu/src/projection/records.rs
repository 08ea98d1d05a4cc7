//! The records that the projection kernels read: one [`ProjectParams`] a launch, one
//! [`super::Camera`] a camera.

use super::{ProjectConstants, ProjectInputs};

/// Threads of a block of the projection kernels.
pub const PROJECT_BLOCK: u32 = 256;

/// The settings of the projection kernels; mirrors `Params` in `project.cuh` and `projection.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct ProjectParams {
    /// Number of Gaussians N.
    pub gaussians: u32,
    /// Number of cameras C.
    pub cameras: u32,
    /// Channels D; 3 with harmonics.
    pub channels: u32,
    /// Harmonics per channel K: 1, 4, 9 or 16; 0 where colours are given directly.
    pub coefficients: u32,
    /// Contributing lanes from which a warp reduces a camera's gradient in registers.
    pub threshold: u32,
    /// 1: z <= near is culled; 0: z < near.
    pub near_inclusive: u32,
    /// 1: the field-of-view clamp carries a gradient to z; 0: a clamped coordinate is a constant.
    pub clamp_has_gradient: u32,
    /// 1: the opacity is multiplied by sqrt(det / `det_blurred`).
    pub antialiased: u32,
    /// Added to both diagonal terms of the 2D covariance, pixels^2.
    pub eps2d: f32,
    /// Near plane, scene units.
    pub near: f32,
    /// Far plane, scene units; may be infinite.
    pub far: f32,
    /// Added to the squared determinant in the gradient of the inverse covariance, pixels^8.
    pub inverse_eps: f32,
    /// Added to the homogeneous w before the division.
    pub w_eps: f32,
    /// Unused.
    pub padding: [u32; 3],
}

impl ProjectParams {
    /// The settings of one launch. The inputs must have passed [`crate::check`].
    #[must_use]
    pub fn new(inputs: &ProjectInputs, threshold: u32) -> Self {
        let ProjectConstants {
            near_inclusive,
            clamp_has_gradient,
            antialiased,
            eps2d,
            near,
            far,
            inverse_eps,
            w_eps,
        } = inputs.constants;
        Self {
            gaussians: count(inputs.len()),
            cameras: count(inputs.cameras.len()),
            channels: inputs.colors.channels(),
            coefficients: inputs.colors.coefficients(),
            threshold,
            near_inclusive: u32::from(near_inclusive),
            clamp_has_gradient: u32::from(clamp_has_gradient),
            antialiased: u32::from(antialiased),
            eps2d,
            near,
            far,
            inverse_eps,
            w_eps,
            padding: [0; 3],
        }
    }
}

/// Blocks of the stage `project`: enough for every Gaussian, and a row of them a camera.
/// `project_backward` needs one row. At least one block, because none cannot be launched.
#[must_use]
pub(crate) fn project_blocks(inputs: &ProjectInputs) -> [u32; 2] {
    [count(inputs.len()).div_ceil(PROJECT_BLOCK).max(1), count(inputs.cameras.len())]
}

/// A count that [`crate::check`] has found to be within 32 bits.
fn count(entries: usize) -> u32 {
    u32::try_from(entries).expect("crate::check bounds it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact;
    use crate::projection::Camera;
    use crate::stages::tests::assert_layout;
    use crate::stages::{PROJECT, Params};

    /// `type name` of a record's members, in order, arrays with their sizes.
    fn members<'a>(source: &'a str, record: &str) -> Vec<&'a str> {
        let body = source.split_once(&format!("struct {record} {{")).expect("it is declared").1;
        let body = body.split_once("};").expect("it ends").0;
        let lines = body.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//"));
        lines.map(|line| line.trim_end_matches(';')).collect()
    }

    #[test]
    fn records_lie_where_the_kernels_look() {
        let source = include_str!("../../kernels/cuda/project.cuh");
        let ours = "unsigned gaussians,unsigned cameras,unsigned channels,unsigned coefficients,\
                    unsigned threshold,unsigned near_inclusive,unsigned clamp_has_gradient,\
                    unsigned antialiased,float eps2d,float near_plane,float far_plane,\
                    float inverse_eps,float w_eps,unsigned padding[3]";
        assert_eq!(members(source, "Params").join(","), ours, "the order of ProjectParams");
        let ours = "float viewmat[3][4],float focal[2],float principal[2],float low[2],\
                    float high[2]";
        assert_eq!(members(source, "Camera").join(","), ours, "the order of Camera");
        let pair = include_str!("../../kernels/cuda/pair.cuh");
        let ours = "unsigned width,unsigned height,unsigned tiles_x,unsigned threshold,\
                    float alpha_max,float alpha_min,float transmittance_min,float pixel_center,\
                    unsigned stop_when_equal,unsigned clamp_stops_gradient,unsigned channels,\
                    unsigned padding,float background[MAX_CHANNELS]";
        assert_eq!(members(pair, "Params").join(","), ours, "the order of Params");
    }

    #[test]
    fn records_lie_where_the_wgsl_kernels_look() {
        assert_layout!(
            PROJECT,
            ProjectParams as Params,
            [
                gaussians,
                cameras,
                channels,
                coefficients,
                threshold,
                near_inclusive,
                clamp_has_gradient,
                antialiased,
                eps2d,
                near,
                far,
                inverse_eps,
                w_eps
            ]
        );
        assert_layout!(PROJECT, Camera as Camera, [viewmat, focal, principal, low, high]);
    }

    #[test]
    fn records_are_as_long_as_the_compiled_kernels_parameters() {
        for artifact in artifact::all() {
            let size = match artifact.stage {
                "probe" => continue,
                "rasterize" | "rasterize_backward" => size_of::<Params>(),
                _ => size_of::<ProjectParams>(),
            };
            let ptx = artifact.ptx().unwrap_or_else(|e| panic!("{e}"));
            let first = format!(".param .align 4 .b8 {}_param_0[{size}]", artifact.entry());
            assert!(ptx.contains(&first), "{}: no {first}", artifact.file());
        }
    }
}
