//! The scene: Gaussians, their colours, the cameras that see them and the loss gradient.
//!
//! Names and shapes are gsplat's: N Gaussians, C cameras, H x W pixels, D channels, K spherical
//! harmonics coefficients per channel.

use crate::splat::camera::Camera;

/// The colour of every Gaussian.
#[derive(Clone, Debug, PartialEq)]
pub enum Colors<S> {
    /// `[N,D]` given directly.
    Direct {
        /// Number of channels D, 1..=32.
        channels: usize,
        /// `[N,D]`.
        values: Vec<S>,
    },
    /// `[N,K,3]` real spherical harmonics; K = 1, 4, 9 or 16 for degree 0 to 3.
    Harmonics {
        /// Coefficients per channel K.
        coefficients: usize,
        /// `[N,K,3]`.
        values: Vec<S>,
    },
}

impl<S> Colors<S> {
    /// Number of channels D.
    #[must_use]
    pub fn channels(&self) -> usize {
        match self {
            Self::Direct { channels, .. } => *channels,
            Self::Harmonics { .. } => 3,
        }
    }

    /// The numbers, in the order of the variant's shape.
    #[must_use]
    pub fn values(&self) -> &[S] {
        match self {
            Self::Direct { values, .. } | Self::Harmonics { values, .. } => values,
        }
    }

    /// Numbers per Gaussian: D or 3 K.
    #[must_use]
    pub fn stride(&self) -> usize {
        match self {
            Self::Direct { channels, .. } => *channels,
            Self::Harmonics { coefficients, .. } => 3 * coefficients,
        }
    }

    /// The same layout with other numbers.
    #[must_use]
    pub fn with_values<R>(&self, values: Vec<R>) -> Colors<R> {
        match self {
            Self::Direct { channels, .. } => Colors::Direct { channels: *channels, values },
            Self::Harmonics { coefficients, .. } => {
                Colors::Harmonics { coefficients: *coefficients, values }
            }
        }
    }
}

/// N anisotropic 3D Gaussians.
#[derive(Clone, Debug, PartialEq)]
pub struct Gaussians<S> {
    /// `[N,3]` scene units.
    pub means: Vec<[S; 3]>,
    /// `[N,4]` rotation as w x y z, not necessarily normalized.
    pub quats: Vec<[S; 4]>,
    /// `[N,3]` standard deviations, scene units (linear, not logarithms).
    pub scales: Vec<[S; 3]>,
    /// `[N]` in 0..=1 (not logits).
    pub opacities: Vec<S>,
    /// Colour.
    pub colors: Colors<S>,
}

impl<S: Copy> Gaussians<S> {
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

    /// The same Gaussians over another scalar.
    pub fn map<R>(&self, mut f: impl FnMut(S) -> R) -> Gaussians<R> {
        Gaussians {
            means: self.means.iter().map(|v| v.map(&mut f)).collect(),
            quats: self.quats.iter().map(|v| v.map(&mut f)).collect(),
            scales: self.scales.iter().map(|v| v.map(&mut f)).collect(),
            opacities: self.opacities.iter().map(|&v| f(v)).collect(),
            colors: self.colors.with_values(self.colors.values().iter().map(|&v| f(v)).collect()),
        }
    }
}

/// Everything a forward and backward pass needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene<S> {
    /// Image width W, pixels.
    pub width: u32,
    /// Image height H, pixels.
    pub height: u32,
    /// The Gaussians.
    pub gaussians: Gaussians<S>,
    /// C cameras.
    pub cameras: Vec<Camera<S>>,
    /// `[C,D]`.
    pub backgrounds: Vec<S>,
    /// `[C,H,W,D]` gradient of the loss with respect to `render_colors`.
    pub v_render_colors: Vec<S>,
    /// `[C,H,W]` gradient of the loss with respect to `render_alphas`.
    pub v_render_alphas: Vec<S>,
}

impl<S: Copy> Scene<S> {
    /// Number of channels D.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.gaussians.colors.channels()
    }

    /// Number of pixels H W of one image.
    #[must_use]
    pub fn pixels(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// The same scene over another scalar.
    pub fn map<R>(&self, mut f: impl FnMut(S) -> R) -> Scene<R> {
        Scene {
            width: self.width,
            height: self.height,
            gaussians: self.gaussians.map(&mut f),
            cameras: self.cameras.iter().map(|c| c.map(&mut f)).collect(),
            backgrounds: self.backgrounds.iter().map(|&v| f(v)).collect(),
            v_render_colors: self.v_render_colors.iter().map(|&v| f(v)).collect(),
            v_render_alphas: self.v_render_alphas.iter().map(|&v| f(v)).collect(),
        }
    }
}
