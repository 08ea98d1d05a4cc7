//! Which renderer is meant: every published difference is a named field, never a tolerance.
//!
//! Two profiles are given, [`Convention::inria`] (3D Gaussian Splatting, Kerbl et al. 2023, and
//! DISTWAR) and [`Convention::gsplat`] (gsplat, arXiv 2409.06765). Fields may be changed one by one.

/// When the transmittance stops a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopRule {
    /// T behind a Gaussian < minimum: that Gaussian is not blended.
    Less,
    /// T behind a Gaussian <= minimum: that Gaussian is not blended.
    LessOrEqual,
    /// The Gaussian behind which T < minimum is blended, and no other one behind it (Faster-GS).
    LessAfterBlending,
    /// The Gaussian behind which T <= minimum is blended, and no other one behind it.
    LessOrEqualAfterBlending,
}

impl StopRule {
    /// The transmittance that decides whether a Gaussian is blended: that behind it. Where a pixel stops
    /// after blending it is that in front: it is the one behind the Gaussian that was blended last, and T
    /// = 1 in front of the first one stops nothing, since the minimum is below 1.
    #[inline(always)]
    pub(crate) fn deciding<T>(self, in_front: T, behind: T) -> T {
        match self {
            Self::Less | Self::LessOrEqual => behind,
            Self::LessAfterBlending | Self::LessOrEqualAfterBlending => in_front,
        }
    }

    /// Whether a transmittance that equals the minimum stops a pixel.
    #[inline(always)]
    #[must_use]
    pub fn stops_when_equal(self) -> bool {
        match self {
            Self::Less | Self::LessAfterBlending => false,
            Self::LessOrEqual | Self::LessOrEqualAfterBlending => true,
        }
    }
}

/// What happens to the gradient of a clamp where it clamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClampGradient {
    /// Passed through as if there were no clamp.
    PassThrough,
    /// Zero: the derivative of the clamped function.
    Zero,
    /// Goes on with the clamped alpha: where opacity exp(power) is above the maximum, the gradient by the
    /// power is `alpha_max` times alpha's, and that by the opacity `alpha_max / opacity` times alpha's. This
    /// is not the derivative of the image, which is 0 there, nor that without a clamp; it is that of
    /// `alpha_max (1 + ln(opacity exp(power) / alpha_max))`, which joins the unclamped alpha smoothly.
    /// Kernels have it that keep alpha alone, and no opacity before the clamp.
    Clamped,
}

/// Which depths are culled at the near plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NearRule {
    /// z <= near is culled.
    LessOrEqual,
    /// z < near is culled.
    Less,
}

/// Half-size, in pixels, of the rectangle in which a Gaussian is listed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    /// `ceil(sigmas sqrt(lambda_max))` in both axes, where `lambda_max` is the larger eigenvalue of
    /// the blurred 2D covariance with at least `root_floor` under the root of the discriminant.
    Square {
        /// Standard deviations.
        sigmas: f64,
        /// Floor of `((a + c)/2)^2 - det` under the root.
        root_floor: f64,
    },
    /// Per axis `ceil(min(max_sigmas, sqrt(2 ln(opacity / alpha_min))) sqrt(cov_ii))`.
    PerAxis {
        /// Upper limit of the number of standard deviations.
        max_sigmas: f64,
    },
}

/// How x/z and y/z are limited before the Jacobian of the projection is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldOfViewClamp {
    /// To +-`factor` tan(fov/2) about the optical axis, with `tan(fov_x/2)` = W/(2 fx).
    AboutAxis {
        /// Multiple of tan(fov/2).
        factor: f64,
    },
    /// To the image's own view plus `margin` tan(fov/2) on each side, about the principal point.
    AboutPrincipalPoint {
        /// Margin as a multiple of tan(fov/2).
        margin: f64,
    },
}

/// Units in which a renderer reports the gradient of the projected mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mean2dUnits {
    /// Normalized device coordinates: the gradient per pixel times W/2 and H/2.
    Ndc,
    /// Pixels (this project's canonical unit).
    Pixels,
}

/// Which part of the conic's off-diagonal gradient a renderer reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OffDiagonal {
    /// Half of it; a later stage doubles it.
    Half,
    /// All of it (this project's canonical unit).
    Full,
}

/// The name of a published convention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// 3D Gaussian Splatting and DISTWAR.
    Inria,
    /// gsplat.
    Gsplat,
}

impl Profile {
    /// The name used in files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Inria => "inria",
            Self::Gsplat => "gsplat",
        }
    }
}

/// There is no convention of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProfile {
    /// What was asked for.
    pub name: String,
}

impl std::fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unknown convention '{}': expected inria or gsplat", self.name)
    }
}

impl std::error::Error for UnknownProfile {}

impl std::str::FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "inria" => Ok(Self::Inria),
            "gsplat" => Ok(Self::Gsplat),
            _ => Err(UnknownProfile { name: name.to_owned() }),
        }
    }
}

/// A renderer's conventions. Every row of the table in the design's `conventions.md` is a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convention {
    /// The profile that the fields were taken from.
    pub profile: Profile,
    /// Upper clamp of alpha.
    pub alpha_max: f64,
    /// A pair with alpha < `alpha_min` is skipped.
    pub alpha_min: f64,
    /// A pixel stops where its transmittance falls below this.
    pub transmittance_min: f64,
    /// Comparison used with `transmittance_min`.
    pub stop_rule: StopRule,
    /// Gradient where alpha is clamped.
    pub alpha_clamp_gradient: ClampGradient,
    /// Offset of a pixel's sample point from its integer coordinates, pixels. The projected mean is
    /// `f x/z + c - (0.5 - pixel_center)`, so that both conventions sample the same points.
    pub pixel_center: f64,
    /// Screen-space blur added to both diagonal terms of the 2D covariance, pixels^2.
    pub eps2d: f64,
    /// Near plane, scene units.
    pub near: f64,
    /// Comparison used with `near`.
    pub near_rule: NearRule,
    /// Far plane, scene units; z > far is culled.
    pub far: f64,
    /// Rectangle in which a Gaussian is listed.
    pub extent: Extent,
    /// Limit of x/z and y/z in the Jacobian.
    pub fov_clamp: FieldOfViewClamp,
    /// Whether the clamped x, y of the Jacobian carry a gradient to z (`Zero` here means the
    /// derivative of the clamped expression, `PassThrough` Inria's constant).
    pub fov_clamp_gradient: FovClampGradient,
    /// Units of the reported mean2d gradient; the project itself always works in pixels.
    pub mean2d_units: Mean2dUnits,
    /// Part of the off-diagonal gradient reported; the project itself always works with all of it.
    pub conic_off_diagonal: OffDiagonal,
    /// Added to the squared determinant in the gradient of the inverse covariance, pixels^8.
    pub inverse_eps: f64,
    /// Added to the homogeneous w before the division.
    pub w_eps: f64,
    /// Opacity times sqrt(det / `det_blurred`), gsplat's antialiased mode.
    pub antialiased: bool,
    /// Width and height of a tile, pixels.
    pub tile_size: [u32; 2],
}

/// A field, and taking it from another convention.
pub type ReadField = (&'static str, fn(&mut Convention, Convention));

macro_rules! read_by_kernels {
    ($($field:ident)*) => {
        impl Convention {
            /// The fields that kernels read, in their order.
            pub const READ: &[ReadField] = &[$((stringify!($field), |c, own| c.$field = own.$field)),*];
        }

        // A new field does not compile before it is listed or left out.
        const _: fn(Convention) = |Convention {
                                       $($field: _,)*
                                       profile: _,
                                       // Only the convention's own renderer reads these two, and our kernels have one
                                       // size of tiles.
                                       mean2d_units: _,
                                       conic_off_diagonal: _,
                                       tile_size: _,
                                   }| ();
    };
}

read_by_kernels! {
    alpha_max alpha_min transmittance_min stop_rule alpha_clamp_gradient pixel_center eps2d near near_rule far extent
    fov_clamp fov_clamp_gradient inverse_eps w_eps antialiased
}

/// The gradient through the clamped x/z, y/z of the Jacobian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FovClampGradient {
    /// A clamped coordinate is a constant: no gradient to x nor, through `limit * z`, to z.
    Constant,
    /// The derivative of the clamped expression.
    Included,
}

impl Convention {
    /// 3D Gaussian Splatting and DISTWAR.
    #[must_use]
    pub const fn inria() -> Self {
        Self {
            profile: Profile::Inria,
            alpha_max: 0.99,
            alpha_min: 1.0 / 255.0,
            transmittance_min: 1e-4,
            stop_rule: StopRule::Less,
            alpha_clamp_gradient: ClampGradient::PassThrough,
            pixel_center: 0.0,
            eps2d: 0.3,
            near: 0.2,
            near_rule: NearRule::LessOrEqual,
            far: f64::INFINITY,
            extent: Extent::Square { sigmas: 3.0, root_floor: 0.1 },
            fov_clamp: FieldOfViewClamp::AboutAxis { factor: 1.3 },
            fov_clamp_gradient: FovClampGradient::Constant,
            mean2d_units: Mean2dUnits::Ndc,
            conic_off_diagonal: OffDiagonal::Half,
            inverse_eps: 0.0,
            w_eps: 0.0,
            antialiased: false,
            tile_size: [16, 16],
        }
    }

    /// gsplat 1.5.
    #[must_use]
    pub const fn gsplat() -> Self {
        Self {
            profile: Profile::Gsplat,
            stop_rule: StopRule::LessOrEqual,
            alpha_clamp_gradient: ClampGradient::Zero,
            pixel_center: 0.5,
            near: 0.01,
            near_rule: NearRule::Less,
            far: 1e10,
            extent: Extent::PerAxis { max_sigmas: 3.33 },
            fov_clamp: FieldOfViewClamp::AboutPrincipalPoint { margin: 0.3 },
            fov_clamp_gradient: FovClampGradient::Included,
            mean2d_units: Mean2dUnits::Pixels,
            conic_off_diagonal: OffDiagonal::Full,
            ..Self::inria()
        }
    }

    /// The profile of that name.
    #[must_use]
    pub const fn of(profile: Profile) -> Self {
        match profile {
            Profile::Inria => Self::inria(),
            Profile::Gsplat => Self::gsplat(),
        }
    }

    /// Tiles in x and y of an image of this size, pixels.
    #[must_use]
    pub fn tiles(&self, [width, height]: [u32; 2]) -> [u32; 2] {
        let [across, down] = self.tile_size;
        [width.div_ceil(across), height.div_ceil(down)]
    }

    /// The same convention with every constant as an f32 program spells it. Kernels in f32 are
    /// judged by this one: then the literals are exact, and knife edges at them are decided.
    #[must_use]
    pub fn rounded_to_f32(&self) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the purpose")]
        let round = |x: f64| f64::from(x as f32);
        Self {
            alpha_max: round(self.alpha_max),
            alpha_min: round(self.alpha_min),
            transmittance_min: round(self.transmittance_min),
            pixel_center: round(self.pixel_center),
            eps2d: round(self.eps2d),
            near: round(self.near),
            far: round(self.far),
            extent: match self.extent {
                Extent::Square { sigmas, root_floor } => {
                    Extent::Square { sigmas: round(sigmas), root_floor: round(root_floor) }
                }
                Extent::PerAxis { max_sigmas } => Extent::PerAxis { max_sigmas: round(max_sigmas) },
            },
            fov_clamp: match self.fov_clamp {
                FieldOfViewClamp::AboutAxis { factor } => {
                    FieldOfViewClamp::AboutAxis { factor: round(factor) }
                }
                FieldOfViewClamp::AboutPrincipalPoint { margin } => {
                    FieldOfViewClamp::AboutPrincipalPoint { margin: round(margin) }
                }
            },
            inverse_eps: round(self.inverse_eps),
            w_eps: round(self.w_eps),
            ..*self
        }
    }
}
