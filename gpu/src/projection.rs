//! The arrays that go into and come out of the projection stages, as every engine sees them.
//!
//! Shapes: `N` Gaussians, `C` cameras, `D` channels, `K` harmonics per channel. All arrays are
//! row-major and contiguous; `[C,N,...]` holds camera after camera. `project` runs a thread per
//! camera and Gaussian; `project_backward` a thread per Gaussian, which walks all cameras, so that
//! only the cameras' own gradients are contended: every Gaussian adds to the same twelve numbers,
//! through a [`crate::Reduction`].

mod records;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use records::project_blocks;
pub use records::{PROJECT_BLOCK, ProjectParams};

use crate::layout::{join_rows, split_rows};

/// One camera; mirrors `Camera` in `project.cuh` and `projection.wgsl`.
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

/// The constants of the projection stages, as an f32 program spells them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProjectConstants {
    /// Whether a Gaussian at exactly the near plane is culled.
    pub near_inclusive: bool,
    /// Whether the field-of-view clamp carries a gradient to z; if not, a clamped coordinate is a
    /// constant.
    pub clamp_has_gradient: bool,
    /// Whether the opacity is multiplied by `sqrt(det / det_blurred)`.
    pub antialiased: bool,
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
}

/// How colours are given.
#[derive(Clone, Debug, PartialEq)]
pub enum ProjectColors {
    /// Directly, the same from everywhere.
    Direct {
        /// Channels D, 1..=32.
        channels: u32,
        /// `[N,D]`.
        values: Vec<f32>,
    },
    /// As spherical harmonics of three channels; the colour is max(0, sum + 0.5).
    Harmonics {
        /// Harmonics per channel K: 1, 4, 9 or 16.
        coefficients: u32,
        /// `[N,K,3]`.
        values: Vec<f32>,
    },
}

impl ProjectColors {
    /// Channels D of the colours that come out.
    #[must_use]
    pub fn channels(&self) -> u32 {
        match *self {
            Self::Direct { channels, .. } => channels,
            Self::Harmonics { .. } => 3,
        }
    }

    /// Harmonics per channel; 0 where colours are given directly.
    #[must_use]
    pub fn coefficients(&self) -> u32 {
        match *self {
            Self::Direct { .. } => 0,
            Self::Harmonics { coefficients, .. } => coefficients,
        }
    }

    /// The numbers as they are given, and gradients come back.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        match self {
            Self::Direct { values, .. } | Self::Harmonics { values, .. } => values,
        }
    }

    /// Numbers of one Gaussian.
    #[must_use]
    pub fn stride(&self) -> u32 {
        match *self {
            Self::Direct { channels, .. } => channels,
            Self::Harmonics { coefficients, .. } => 3 * coefficients,
        }
    }
}

/// Inputs of the stage `project`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectInputs {
    /// `[N,3]` in the world, scene units.
    pub means: Vec<[f32; 3]>,
    /// `[N,4]` w x y z, of any length but 0.
    pub quats: Vec<[f32; 4]>,
    /// `[N,3]` scene units.
    pub scales: Vec<[f32; 3]>,
    /// `[N]` in 0..=1.
    pub opacities: Vec<f32>,
    /// `[N,D]` or `[N,K,3]`.
    pub colors: ProjectColors,
    /// `[C]`, at least one.
    pub cameras: Vec<Camera>,
    /// Constants of the convention.
    pub constants: ProjectConstants,
}

impl ProjectInputs {
    /// Number of Gaussians N.
    #[must_use]
    pub fn len(&self) -> usize {
        self.means.len()
    }

    /// Whether there is no Gaussian.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.means.is_empty()
    }

    /// Rows of the arrays `[C,N,...]`.
    #[must_use]
    pub fn projections(&self) -> usize {
        self.cameras.len() * self.len()
    }
}

/// Outputs of the stage `project`; zeros where a Gaussian is culled.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectOutputs {
    /// `[C,N,2]` pixels.
    pub means2d: Vec<[f32; 2]>,
    /// `[C,N,3]` upper triangle of the inverse 2D covariance, 1/pixels^2.
    pub conics: Vec<[f32; 3]>,
    /// `[C,N]`, antialiased where the convention says so.
    pub opacities: Vec<f32>,
    /// `[C,N,D]`.
    pub colors: Vec<f32>,
    /// `[C,N,3]` upper triangle of the 2D covariance with the blur, pixels^2.
    pub covars2d: Vec<[f32; 3]>,
    /// `[C,N]` z in the camera's axes, scene units.
    pub depths: Vec<f32>,
    /// `[C,N]`: 1 where the Gaussian is projected, 0 where it is culled. What else a kernel may
    /// leave there is kept, so that it can be judged.
    pub visible: Vec<u32>,
}

/// Inputs of the stage `project_backward`: gradients of the loss with respect to the outputs of
/// `project`. Those of a Gaussian that a camera culls are not read.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectBackwardInputs {
    /// What the forward stage got.
    pub project: ProjectInputs,
    /// `[C,N,2]` per pixel.
    pub v_means2d: Vec<[f32; 2]>,
    /// `[C,N,3]` with the full off-diagonal.
    pub v_conics: Vec<[f32; 3]>,
    /// `[C,N]`.
    pub v_opacities: Vec<f32>,
    /// `[C,N,D]`.
    pub v_colors: Vec<f32>,
}

impl ProjectBackwardInputs {
    /// The gradients as the kernels read them: `[C,N,6+D]`, rows of [`crate::stages::values`].
    #[must_use]
    pub fn rows(&self) -> Vec<f32> {
        let Self { v_means2d, v_conics, v_opacities, v_colors, .. } = self;
        join_rows(v_means2d, v_conics, v_opacities, v_colors, self.project.colors.channels())
    }
}

/// Outputs of the stage `project_backward`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectGradients {
    /// `[N,3]`.
    pub v_means: Vec<[f32; 3]>,
    /// `[N,4]`, through the normalization.
    pub v_quats: Vec<[f32; 4]>,
    /// `[N,3]`.
    pub v_scales: Vec<[f32; 3]>,
    /// `[N]`.
    pub v_opacities: Vec<f32>,
    /// `[N,D]` or `[N,K,3]`, as the colours were given.
    pub v_colors: Vec<f32>,
    /// `[C,4,4]`; the last row is zero.
    pub v_viewmats: Vec<[[f32; 4]; 4]>,
}

impl ProjectOutputs {
    /// Takes the kernels' arrays apart: rows `[C,N,6+D]`, covariances, depths and visibilities.
    pub(crate) fn new(
        rows: &[f32],
        channels: u32,
        covars2d: Vec<[f32; 3]>,
        depths: Vec<f32>,
        visible: Vec<u32>,
    ) -> Self {
        let (means2d, conics, opacities, colors) = split_rows(rows, channels);
        Self { means2d, conics, opacities, colors, covars2d, depths, visible }
    }
}
