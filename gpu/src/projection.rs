//! The records that the projection kernels read: one [`ProjectParams`] a launch, one [`Camera`] a
//! camera. The kernels are the stages `project` and `project_backward` of [`crate::artifact`].
//!
//! `project` takes the settings, `[C]` cameras, means `[N,3]`, quats `[N,4]`, scales `[N,3]`,
//! opacities `[N]` and colours `[N,D]` or harmonics `[N,K,3]`, and writes rows `[C,N,6+D]`, 2D
//! covariances `[C,N,3]`, depths `[C,N]` and whether each Gaussian is visible `[C,N]`; one row of
//! blocks a camera, one thread a Gaussian. `project_backward` takes the same inputs and the rows of
//! gradients `[C,N,6+D]`, writes the gradients of its inputs, and adds to `v_viewmats` `[C,4,4]`,
//! which must hold zeros; one thread a Gaussian.

/// Threads of a block of the projection kernels.
pub const PROJECT_BLOCK: u32 = 256;

/// The settings of the projection kernels; mirrors `Params` in `project.cuh`.
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

/// One camera; mirrors `Camera` in `project.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Camera {
    /// World to camera, the upper three rows.
    pub viewmat: [[f32; 4]; 3],
    /// Focal lengths, pixels.
    pub focal: [f32; 2],
    /// Added to f x/z: the principal point in the convention's pixel coordinates.
    pub principal: [f32; 2],
    /// Lower limits of x/z and y/z before the Jacobian is taken.
    pub low: [f32; 2],
    /// Upper limits.
    pub high: [f32; 2],
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact;
    use crate::stages::Params;

    /// `type name` of a record's members, in order, arrays with their sizes.
    fn members<'a>(source: &'a str, record: &str) -> Vec<&'a str> {
        let body = source.split_once(&format!("struct {record} {{")).expect("it is declared").1;
        let body = body.split_once("};").expect("it ends").0;
        let lines = body.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//"));
        lines.map(|line| line.trim_end_matches(';')).collect()
    }

    #[test]
    fn records_lie_where_the_kernels_look() {
        let source = include_str!("../kernels/cuda/project.cuh");
        let ours = "unsigned gaussians,unsigned cameras,unsigned channels,unsigned coefficients,\
                    unsigned threshold,unsigned near_inclusive,unsigned clamp_has_gradient,\
                    unsigned antialiased,float eps2d,float near_plane,float far_plane,\
                    float inverse_eps,float w_eps,unsigned padding[3]";
        assert_eq!(members(source, "Params").join(","), ours, "the order of ProjectParams");
        let ours = "float viewmat[3][4],float focal[2],float principal[2],float low[2],\
                    float high[2]";
        assert_eq!(members(source, "Camera").join(","), ours, "the order of Camera");
        let pair = include_str!("../kernels/cuda/pair.cuh");
        let ours = "unsigned width,unsigned height,unsigned tiles_x,unsigned threshold,\
                    float alpha_max,float alpha_min,float transmittance_min,float pixel_center,\
                    unsigned stop_when_equal,unsigned clamp_stops_gradient,unsigned channels,\
                    unsigned padding,float background[MAX_CHANNELS]";
        assert_eq!(members(pair, "Params").join(","), ours, "the order of Params");
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
