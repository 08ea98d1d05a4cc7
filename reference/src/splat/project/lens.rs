//! A camera as the projection needs it.

use crate::arithmetic::{EvaluationOrders, Scalar, rounded};
use crate::splat::camera::Camera;
use crate::splat::convention::{Convention, FieldOfViewClamp};
use crate::splat::linear::{V3, each, transpose, transpose_mul_vec};
use crate::splat::pair::one_term;

/// A camera ready for projection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CameraParams<S> {
    /// World to camera: the rotation's rows.
    pub rotation: [[S; 3]; 3],
    /// World to camera: the translation, scene units.
    pub translation: [S; 3],
    /// Focal lengths, pixels.
    pub focal: [S; 2],
    /// Added to f x/z: the principal point in the convention's pixel coordinates.
    pub principal: [S; 2],
    /// Lower and upper limits of x/z, then of y/z, for the Jacobian.
    pub limits: [[S; 2]; 2],
    /// Which programs the bounds hold: nothing but [`Bounded`](crate::arithmetic::Bounded) reads it.
    pub spellings: EvaluationOrders,
}

impl<S: Copy> CameraParams<S> {
    /// The same numbers over another scalar.
    pub fn map<R>(&self, mut f: impl FnMut(S) -> R) -> CameraParams<R> {
        CameraParams {
            rotation: self.rotation.map(|row| row.map(&mut f)),
            translation: self.translation.map(&mut f),
            focal: self.focal.map(&mut f),
            principal: self.principal.map(&mut f),
            limits: self.limits.map(|pair| pair.map(&mut f)),
            spellings: self.spellings,
        }
    }
}

impl<S: Scalar> CameraParams<S> {
    /// A camera that takes images of `size` = width and height, pixels.
    #[must_use]
    pub fn new(camera: &Camera<S>, size: [u32; 2], convention: &Convention) -> Self {
        let v = &camera.viewmat;
        let rotation = [0, 1, 2].map(|i| [v[i][0], v[i][1], v[i][2]]);
        let f = [camera.fx, camera.fy].map(S::from_f64);
        let c = [camera.cx, camera.cy].map(S::from_f64);
        let size = size.map(|pixels| S::from_f64(f64::from(pixels)));
        let shift = S::from_f64(0.5 - convention.pixel_center);
        let limits = [0, 1].map(|i| {
            let tan = S::from_f64(0.5) * size[i] / f[i];
            match convention.fov_clamp {
                FieldOfViewClamp::AboutAxis { factor } => {
                    let limit = S::from_f64(factor) * tan;
                    [-limit, limit]
                }
                FieldOfViewClamp::AboutPrincipalPoint { margin } => {
                    let margin = S::from_f64(margin) * tan;
                    [-(c[i] / f[i] + margin), (size[i] - c[i]) / f[i] + margin]
                }
            }
        });
        Self {
            rotation,
            translation: [v[0][3], v[1][3], v[2][3]],
            focal: f,
            principal: c.map(|c| c - shift),
            limits,
            spellings: EvaluationOrders::WRITTEN,
        }
    }

    /// What the Gaussians are seen from.
    pub(crate) fn eye(&self) -> Eye<S> {
        let (t, spellings) = (self.translation, self.spellings);
        let back = each(transpose_mul_vec(&self.rotation, t), |x| -x);
        let columns = transpose(&self.rotation);
        let position = std::array::from_fn(|i| {
            let column = columns[i];
            let terms = [column[0] * t[0], column[1] * t[1], column[2] * t[2]];
            rounded!(back[i], spellings.at(3, 0), terms)
        });
        Eye { position, spellings }
    }

    /// The Jacobian of the projection at depth z, with x/z and y/z as they are limited for it: a row for
    /// each axis of the image.
    pub(crate) fn on_screen(&self, slope: [S; 2], z: S) -> [V3<S>; 2] {
        let ([fx, fy], zero) = (self.focal, S::from_f64(0.0));
        let one = |x: S| one_term(x, self.spellings.at(4, 4));
        [
            [one(fx / z), zero, one(-(fx * slope[0]) / z)],
            [zero, one(fy / z), one(-(fy * slope[1]) / z)],
        ]
    }
}

/// The camera's position in the world, -R^T t, and which programs the bounds of what is seen hold.
#[derive(Clone, Copy)]
pub(crate) struct Eye<S> {
    pub(crate) position: V3<S>,
    pub(crate) spellings: EvaluationOrders,
}
