//! The arrays of the projection stages as records with a field each: how programs in Rust make and
//! read the [`Tensors`] of the table.

use super::raster::{count, floats, number, read_rows, rows};
use crate::tensor::{Data, ShapeError, TensorError, Tensors};

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

    /// `[N,D]`, or `[N,K,3]`.
    fn shape(&self, gaussians: usize) -> Vec<usize> {
        match *self {
            Self::Direct { channels, .. } => vec![gaussians, channels as usize],
            Self::Harmonics { coefficients, .. } => vec![gaussians, coefficients as usize, 3],
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

    /// The stage's inputs by name.
    ///
    /// # Errors
    /// [`ShapeError`] where the colours do not fill their shape.
    pub fn tensors(&self) -> Result<Tensors, ShapeError> {
        let mut all = Tensors::new();
        let ProjectConstants {
            near_inclusive,
            clamp_has_gradient,
            antialiased,
            eps2d,
            near,
            far,
            inverse_eps,
            w_eps,
        } = self.constants;
        all.scalar("coefficients", self.colors.coefficients());
        all.scalar("near_inclusive", near_inclusive);
        all.scalar("clamp_has_gradient", clamp_has_gradient);
        all.scalar("antialiased", antialiased);
        let floats_by_name = [
            ("eps2d", eps2d),
            ("near", near),
            ("far", far),
            ("inverse_eps", inverse_eps),
            ("w_eps", w_eps),
        ];
        floats_by_name.into_iter().for_each(|(name, value)| all.scalar(name, value));
        let cameras = &self.cameras;
        let viewmats: Vec<f32> = cameras.iter().flat_map(|c| c.viewmat.concat()).collect();
        floats(&mut all, "viewmats", &[cameras.len(), 3, 4], &viewmats)?;
        let pairs = |of: fn(&Camera) -> [f32; 2]| cameras.iter().map(of).collect::<Vec<_>>();
        rows(&mut all, "focals", &pairs(|camera| camera.focal))?;
        rows(&mut all, "principals", &pairs(|camera| camera.principal))?;
        rows(&mut all, "limits_low", &pairs(|camera| camera.low))?;
        rows(&mut all, "limits_high", &pairs(|camera| camera.high))?;
        rows(&mut all, "means", &self.means)?;
        rows(&mut all, "quats", &self.quats)?;
        rows(&mut all, "scales", &self.scales)?;
        floats(&mut all, "opacities", &[self.opacities.len()], &self.opacities)?;
        floats(&mut all, "colors", &self.colors.shape(self.len()), self.colors.values())?;
        Ok(all)
    }

    /// Rows of the arrays `[C,N,...]`.
    #[must_use]
    pub fn projections(&self) -> usize {
        self.cameras.len() * self.len()
    }
}

impl ProjectInputs {
    /// From the stage's inputs by name.
    ///
    /// # Errors
    /// [`TensorError`] for one that is missing or of another type.
    pub fn from_tensors(all: &Tensors) -> Result<Self, TensorError> {
        let values = all.f32("colors")?.to_vec();
        let colors = match count(all, "coefficients")? {
            0 => {
                let channels = all.get("colors")?.shape().last().copied().unwrap_or(0);
                let channels = u32::try_from(channels).unwrap_or(u32::MAX);
                ProjectColors::Direct { channels, values }
            }
            coefficients => ProjectColors::Harmonics { coefficients, values },
        };
        Ok(Self {
            means: read_rows(all, "means")?,
            quats: read_rows(all, "quats")?,
            scales: read_rows(all, "scales")?,
            opacities: all.f32("opacities")?.to_vec(),
            colors,
            cameras: cameras(all)?,
            constants: ProjectConstants {
                near_inclusive: count(all, "near_inclusive")? != 0,
                clamp_has_gradient: count(all, "clamp_has_gradient")? != 0,
                antialiased: count(all, "antialiased")? != 0,
                eps2d: number(all, "eps2d")?,
                near: number(all, "near")?,
                far: number(all, "far")?,
                inverse_eps: number(all, "inverse_eps")?,
                w_eps: number(all, "w_eps")?,
            },
        })
    }
}

fn cameras(all: &Tensors) -> Result<Vec<Camera>, TensorError> {
    let viewmats: Vec<[f32; 4]> = read_rows(all, "viewmats")?;
    let pairs = |name| read_rows::<2>(all, name);
    let (focals, principals) = (pairs("focals")?, pairs("principals")?);
    let limits = pairs("limits_low")?.into_iter().zip(pairs("limits_high")?);
    let intrinsics = focals.into_iter().zip(principals).zip(limits);
    let camera = |(&viewmat, ((focal, principal), (low, high)))| Camera {
        viewmat,
        focal,
        principal,
        low,
        high,
    };
    Ok(viewmats.as_chunks::<3>().0.iter().zip(intrinsics).map(camera).collect())
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
    /// The stage's inputs by name.
    ///
    /// # Errors
    /// [`ShapeError`] where an array does not fill `[C,N,...]`.
    pub fn tensors(&self) -> Result<Tensors, ShapeError> {
        let mut all = self.project.tensors()?;
        let [c, n] = [self.project.cameras.len(), self.project.len()];
        let channels = self.project.colors.channels() as usize;
        floats(&mut all, "v_means2d", &[c, n, 2], self.v_means2d.as_flattened())?;
        floats(&mut all, "v_conics", &[c, n, 3], self.v_conics.as_flattened())?;
        floats(&mut all, "v_opacities", &[c, n], &self.v_opacities)?;
        floats(&mut all, "v_colors", &[c, n, channels], &self.v_colors)?;
        Ok(all)
    }
}

impl ProjectBackwardInputs {
    /// From the stage's inputs by name.
    ///
    /// # Errors
    /// [`TensorError`] for one that is missing or of another type.
    pub fn from_tensors(all: &Tensors) -> Result<Self, TensorError> {
        Ok(Self {
            project: ProjectInputs::from_tensors(all)?,
            v_means2d: read_rows(all, "v_means2d")?,
            v_conics: read_rows(all, "v_conics")?,
            v_opacities: all.f32("v_opacities")?.to_vec(),
            v_colors: all.f32("v_colors")?.to_vec(),
        })
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
    /// The outputs by name, for so many cameras.
    ///
    /// # Errors
    /// [`ShapeError`] where an array does not fill `[C,N,...]`.
    pub fn tensors(&self, cameras: usize, channels: usize) -> Result<Tensors, ShapeError> {
        let mut all = Tensors::new();
        let [c, n] = [cameras, self.visible.len().checked_div(cameras).unwrap_or(0)];
        floats(&mut all, "means2d", &[c, n, 2], self.means2d.as_flattened())?;
        floats(&mut all, "conics", &[c, n, 3], self.conics.as_flattened())?;
        floats(&mut all, "opacities", &[c, n], &self.opacities)?;
        floats(&mut all, "colors", &[c, n, channels], &self.colors)?;
        floats(&mut all, "covars2d", &[c, n, 3], self.covars2d.as_flattened())?;
        floats(&mut all, "depths", &[c, n], &self.depths)?;
        all.array("visible", &[c, n], Data::U32(self.visible.clone()))?;
        Ok(all)
    }

    /// From the outputs by name.
    ///
    /// # Errors
    /// [`TensorError`] for one that is missing or of another type.
    pub fn from_tensors(all: &Tensors) -> Result<Self, TensorError> {
        Ok(Self {
            means2d: read_rows(all, "means2d")?,
            conics: read_rows(all, "conics")?,
            opacities: all.f32("opacities")?.to_vec(),
            colors: all.f32("colors")?.to_vec(),
            covars2d: read_rows(all, "covars2d")?,
            depths: all.f32("depths")?.to_vec(),
            visible: all.u32("visible")?.to_vec(),
        })
    }
}

impl ProjectGradients {
    /// The outputs by name, `colors` with the shape of the inputs'.
    ///
    /// # Errors
    /// [`ShapeError`] where the colours do not fill their shape.
    pub fn tensors(&self, colors: &ProjectColors) -> Result<Tensors, ShapeError> {
        let mut all = Tensors::new();
        let n = self.v_opacities.len();
        rows(&mut all, "v_means", &self.v_means)?;
        rows(&mut all, "v_quats", &self.v_quats)?;
        rows(&mut all, "v_scales", &self.v_scales)?;
        floats(&mut all, "v_opacities", &[n], &self.v_opacities)?;
        floats(&mut all, "v_colors", &colors.shape(n), &self.v_colors)?;
        let viewmats = self.v_viewmats.as_flattened().as_flattened();
        floats(&mut all, "v_viewmats", &[self.v_viewmats.len(), 4, 4], viewmats)?;
        Ok(all)
    }

    /// From the outputs by name.
    ///
    /// # Errors
    /// [`TensorError`] for one that is missing or of another type.
    pub fn from_tensors(all: &Tensors) -> Result<Self, TensorError> {
        let viewmats: Vec<[f32; 4]> = read_rows(all, "v_viewmats")?;
        Ok(Self {
            v_means: read_rows(all, "v_means")?,
            v_quats: read_rows(all, "v_quats")?,
            v_scales: read_rows(all, "v_scales")?,
            v_opacities: all.f32("v_opacities")?.to_vec(),
            v_colors: all.f32("v_colors")?.to_vec(),
            v_viewmats: viewmats.as_chunks::<4>().0.to_vec(),
        })
    }
}
