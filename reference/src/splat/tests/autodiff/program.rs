//! The projection as programs write it whose gradients come from automatic differentiation.

use super::tape::{Gradients, Library, Tape, Var};
use crate::arithmetic::{Arith, Scalar, Tristate};
use crate::splat::backward::project::ProjectionGradients;
use crate::splat::backward::rasterize::SplatGradients;
use crate::splat::convention::{Convention, FovClampGradient};
use crate::splat::linear::{
    M3, V3, add, dot, mul_vec, rows_mul, scale, transpose, transpose_mul_vec,
};
use crate::splat::project::{CameraParams, culled_by_depth, scaled};
use crate::splat::scene::{Colors, Gaussians};
use crate::splat::sh::{self, spelled};

/// How the conic is differentiated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Inverse {
    /// (c/d, -b/d, a/d), on the tape.
    Quotients,
    /// The adjugate times 1/d, on the tape.
    Adjugate,
    /// A general inverse X, whose gradient is -X^T G X^T; by elimination.
    Matrix,
}

/// How a quaternion becomes a rotation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Quaternion {
    Normalized,
    /// With 2/|q|^2 instead of 2.
    Raw,
    /// Homogeneous polynomials over |q|^2.
    Homogeneous,
}

/// Where the covariance is formed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Covariance {
    Root,
    World,
    /// R diag(s^2) R^T in world axes.
    Squares,
    Camera,
}

/// How the mean is projected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Screen {
    /// f (x/w) + c, and x/z limited.
    Slopes,
    /// By reciprocals, and x limited: x/z is multiplied by z again.
    Reciprocals,
    /// Normalized device coordinates, where the principal point is in the middle.
    Device,
}

/// A program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    pub(super) inverse: Inverse,
    pub(super) quaternion: Quaternion,
    pub(super) covariance: Covariance,
    pub(super) screen: Screen,
    /// Polynomials of the harmonics in z alone.
    pub(super) sloan: bool,
    pub(super) library: Library,
}

/// Parameters on a tape.
struct Parameters<'t, S> {
    mean: V3<Var<'t, S>>,
    quat: [Var<'t, S>; 4],
    scale: V3<Var<'t, S>>,
    opacity: Var<'t, S>,
    color: Vec<Var<'t, S>>,
    rotation: M3<Var<'t, S>>,
    translation: V3<Var<'t, S>>,
}

/// What one Gaussian is on the screen.
struct Splat<'t, S> {
    mean2d: [Var<'t, S>; 2],
    covariance: V3<Var<'t, S>>,
    det: Var<'t, S>,
    opacity: Var<'t, S>,
    color: Vec<Var<'t, S>>,
}

/// One camera's stage, with its image's size.
#[derive(Clone, Copy)]
pub(super) struct OneCamera<'a, S> {
    pub(super) gaussians: &'a Gaussians<S>,
    pub(super) lens: &'a CameraParams<S>,
    pub(super) size: [u32; 2],
    pub(super) v: &'a SplatGradients<S>,
    pub(super) convention: &'a Convention,
}

impl Program {
    /// The gradients of one camera's projection.
    pub(super) fn differentiate<S: Scalar>(&self, one: OneCamera<'_, S>) -> ProjectionGradients<S> {
        let mut out = ProjectionGradients::zeros(one.gaussians);
        for id in 0..one.gaussians.len() {
            let tape = Tape::new();
            let parameters = parameters(&tape, one, id);
            let Some(splat) = self.project(&parameters, one) else { continue };
            let v = tape.gradients(&self.seeds(&splat, one, id), self.library);
            add_gradients(&mut out, id, &parameters, &v);
        }
        out
    }

    /// `None` where the Gaussian is culled.
    fn project<'t, S: Scalar>(
        &self,
        p: &Parameters<'t, S>,
        one: OneCamera<'_, S>,
    ) -> Option<Splat<'t, S>> {
        let OneCamera { lens, convention, .. } = one;
        let mean = add(mul_vec(&p.rotation, p.mean), p.translation);
        if culled_by_depth(mean[2].value, convention) == Tristate::Always {
            return None;
        }
        let constant = |x: S| mean[2].constant(x);
        let jacobian = self.jacobian(mean, lens, convention);
        let rotation = self.rotation(p.quat);
        let sharp = self.sharp(&jacobian, p, &rotation);
        let blur = mean[2].like(convention.eps2d);
        let covariance = [sharp[0] + blur, sharp[1], sharp[2] + blur];
        let [det_sharp, det] = [sharp, covariance].map(|[a, b, c]| a * c - b * b);
        if !(det.value.value() > 0.0) {
            return None;
        }
        let mut opacity = p.opacity;
        if convention.antialiased {
            let ratio = det_sharp / det;
            let positive = ratio.value.value() > 0.0;
            opacity = opacity * if positive { ratio.sqrt() } else { mean[2].like(0.0) };
        }
        let w = mean[2] + mean[2].like(convention.w_eps);
        let mean2d = [0, 1].map(|i| {
            let (f, c) = (constant(lens.focal[i]), constant(lens.principal[i]));
            let side = f64::from(one.size[i]);
            let centered = lens.principal[i].value() + (0.5 - convention.pixel_center);
            match self.screen {
                Screen::Device if (2.0 * centered).to_bits() == side.to_bits() => {
                    let scaled = constant(lens.focal[i] * S::from_f64(2.0 / side));
                    let device = (mean[i] * scaled) / w + f.like(1.0);
                    let corners =
                        device * f.like(side) - f.like(1.0 - 2.0 * convention.pixel_center);
                    corners * f.like(0.5)
                }
                Screen::Reciprocals => (f * mean[i]) * (f.like(1.0) / w) + c,
                Screen::Slopes | Screen::Device => f * (mean[i] / w) + c,
            }
        });
        Some(Splat { mean2d, covariance, det, opacity, color: self.color(p, one) })
    }

    fn jacobian<'t, S: Scalar>(
        &self,
        mean: V3<Var<'t, S>>,
        lens: &CameraParams<S>,
        convention: &Convention,
    ) -> [V3<Var<'t, S>>; 2] {
        let (z, zero) = (mean[2], mean[2].like(0.0));
        let rows = [0, 1].map(|i| {
            let [low, high] = lens.limits[i].map(|x| z.constant(x));
            let f = z.constant(lens.focal[i]);
            let slope = mean[i] / z;
            let outside = slope.value.value_less(low.value) || high.value.value_less(slope.value);
            let within = high.min(low.max(slope));
            // The limited coordinate q, and q/z.
            let (q, within) = match (outside, convention.fov_clamp_gradient) {
                (true, FovClampGradient::Constant) => {
                    let q = z.constant((within * z).value);
                    (q, q / z)
                }
                (true, FovClampGradient::Included) | (false, _) => (within * z, within),
            };
            match self.screen {
                Screen::Reciprocals => {
                    let rz = z.like(1.0) / z;
                    (f * rz, -(f * q) * (rz * rz))
                }
                Screen::Slopes => (f / z, -(f * within) / z),
                Screen::Device => (f / z, -(f * q) / (z * z)),
            }
        });
        [[rows[0].0, zero, rows[0].1], [zero, rows[1].0, rows[1].1]]
    }

    fn rotation<'t, S: Scalar>(&self, quat: [Var<'t, S>; 4]) -> M3<Var<'t, S>> {
        let square = quat.iter().skip(1).fold(quat[0] * quat[0], |sum, &q| sum + q * q);
        let (one, two) = (square.like(1.0), square.like(2.0));
        let (factor, [w, x, y, z]) = match self.quaternion {
            Quaternion::Normalized => {
                let length = square.sqrt();
                (two, quat.map(|q| q / length))
            }
            Quaternion::Raw | Quaternion::Homogeneous => (two / square, quat),
        };
        if self.quaternion == Quaternion::Homogeneous {
            let over = |x: Var<'t, S>| x / square;
            let [ww, xx, yy, zz] = quat.map(|q| q * q);
            return [
                [over(ww + xx - yy - zz), over(two * (x * y - w * z)), over(two * (x * z + w * y))],
                [over(two * (x * y + w * z)), over(ww - xx + yy - zz), over(two * (y * z - w * x))],
                [over(two * (x * z - w * y)), over(two * (y * z + w * x)), over(ww - xx - yy + zz)],
            ];
        }
        let diagonal = |a: Var<'t, S>, b: Var<'t, S>| one - factor * (a * a + b * b);
        [
            [diagonal(y, z), factor * (x * y - w * z), factor * (x * z + w * y)],
            [factor * (x * y + w * z), diagonal(x, z), factor * (y * z - w * x)],
            [factor * (x * z - w * y), factor * (y * z + w * x), diagonal(x, y)],
        ]
    }

    /// The covariance on the screen without the blur.
    fn sharp<'t, S: Scalar>(
        &self,
        jacobian: &[V3<Var<'t, S>>; 2],
        p: &Parameters<'t, S>,
        rotation: &M3<Var<'t, S>>,
    ) -> V3<Var<'t, S>> {
        let root = scaled(rotation, p.scale);
        let sandwich = |rows: &[V3<Var<'t, S>>; 2], s: &M3<Var<'t, S>>| {
            let [first, second] = rows.map(|row| mul_vec(s, row));
            [dot(rows[0], first), dot(rows[0], second), dot(rows[1], second)]
        };
        let world = || rows_mul(&root, &transpose(&root));
        match self.covariance {
            Covariance::Root => {
                let [a, b] = rows_mul(&rows_mul(jacobian, &p.rotation), &root);
                [dot(a, a), dot(a, b), dot(b, b)]
            }
            Covariance::World => sandwich(&rows_mul(jacobian, &p.rotation), &world()),
            Covariance::Squares => {
                let squares = scaled(rotation, p.scale.map(|s| s * s));
                let world = rows_mul(&squares, &transpose(rotation));
                sandwich(&rows_mul(jacobian, &p.rotation), &world)
            }
            Covariance::Camera => {
                let turned = rows_mul(&p.rotation, &world());
                sandwich(jacobian, &rows_mul(&turned, &transpose(&p.rotation)))
            }
        }
    }

    fn color<'t, S: Scalar>(
        &self,
        p: &Parameters<'t, S>,
        one: OneCamera<'_, S>,
    ) -> Vec<Var<'t, S>> {
        let Colors::Harmonics { coefficients, .. } = one.gaussians.colors else {
            return p.color.clone();
        };
        let back = transpose_mul_vec(&p.rotation, p.translation);
        let offset = add(p.mean, back);
        let length = dot(offset, offset).sqrt();
        let d = match self.screen {
            Screen::Reciprocals => scale(length.like(1.0) / length, offset),
            Screen::Slopes | Screen::Device => offset.map(|x| x / length),
        };
        let basis = match self.sloan {
            true => spelled::basis(d, coefficients),
            false => sh::basis(d, coefficients),
        };
        let zero = length.like(0.0);
        let channel = |channel: usize| {
            let terms = p.color.chunks_exact(3).zip(basis).map(|(row, b)| b * row[channel]);
            (terms.fold(zero, |sum, term| sum + term) + zero.like(0.5)).max(zero)
        };
        (0..3).map(channel).collect()
    }

    /// The results with the gradients by them.
    fn seeds<'t, S: Scalar>(
        &self,
        splat: &Splat<'t, S>,
        one: OneCamera<'_, S>,
        id: usize,
    ) -> Vec<(Var<'t, S>, S)> {
        let OneCamera { v, convention, .. } = one;
        let ([a, b, c], det) = (splat.covariance, splat.det);
        let mut v_conic = v.v_conics[id];
        if convention.inverse_eps > 0.0 {
            let square = det.value * det.value;
            let share = square / (square + S::from_f64(convention.inverse_eps));
            v_conic = v_conic.map(|v| v * share);
        }
        let of_conic = match self.inverse {
            Inverse::Quotients => [c / det, -b / det, a / det].into_iter().zip(v_conic).collect(),
            Inverse::Adjugate => {
                let inverse = a.like(1.0) / det;
                [c * inverse, -b * inverse, a * inverse].into_iter().zip(v_conic).collect()
            }
            Inverse::Matrix => {
                let v_cov = matrix_vjp([a, b, c].map(|x| x.value), v_conic);
                vec![(a, v_cov[0]), (b, v_cov[1]), (c, v_cov[2])]
            }
        };
        let mut all: Vec<_> = of_conic;
        all.extend(splat.mean2d.into_iter().zip(v.v_means2d[id]));
        all.push((splat.opacity, v.v_opacities[id]));
        let channels = splat.color.len();
        let v_color = &v.v_colors[id * channels..(id + 1) * channels];
        all.extend(splat.color.iter().copied().zip(v_color.iter().copied()));
        all
    }
}

/// -X^T G X^T for X the inverse of [[a, b], [b, c]] by elimination with the larger pivot, where its upper
/// triangle is read: a, the sum of both places of b, and c.
fn matrix_vjp<S: Scalar>([a, b, c]: V3<S>, [va, vb, vc]: V3<S>) -> V3<S> {
    let (one, zero) = (S::from_f64(1.0), S::from_f64(0.0));
    let swap = a.value().abs() < b.value().abs();
    let [[p, q], [r, s]] = if swap { [[b, c], [a, b]] } else { [[a, b], [b, c]] };
    let factor = r / p;
    let schur = s - factor * q;
    // The columns of the inverse, of the unit vectors as the pivots have them.
    let solve = |[y0, y1]: [S; 2]| {
        let x1 = (y1 - factor * y0) / schur;
        [(y0 - q * x1) / p, x1]
    };
    let units = if swap { [[zero, one], [one, zero]] } else { [[one, zero], [zero, one]] };
    let [[x00, x10], [x01, x11]] = units.map(solve);
    // G X^T, then X^T times that.
    let [g00, g01] = [va * x00 + vb * x01, va * x10 + vb * x11];
    let [g10, g11] = [vc * x01, vc * x11];
    let v = [
        [x00 * g00 + x10 * g10, x00 * g01 + x10 * g11],
        [x01 * g00 + x11 * g10, x01 * g01 + x11 * g11],
    ];
    [-v[0][0], -v[0][1] + -v[1][0], -v[1][1]]
}

fn parameters<'t, S: Scalar>(
    tape: &'t Tape<S>,
    one: OneCamera<'_, S>,
    id: usize,
) -> Parameters<'t, S> {
    let (g, stride) = (one.gaussians, one.gaussians.colors.stride());
    let color = &g.colors.values()[id * stride..(id + 1) * stride];
    Parameters {
        mean: g.means[id].map(|x| tape.leaf(x)),
        quat: g.quats[id].map(|x| tape.leaf(x)),
        scale: g.scales[id].map(|x| tape.leaf(x)),
        opacity: tape.leaf(g.opacities[id]),
        color: color.iter().map(|&x| tape.leaf(x)).collect(),
        rotation: one.lens.rotation.map(|row| row.map(|x| tape.leaf(x))),
        translation: one.lens.translation.map(|x| tape.leaf(x)),
    }
}

fn add_gradients<S: Scalar>(
    out: &mut ProjectionGradients<S>,
    id: usize,
    p: &Parameters<'_, S>,
    v: &Gradients<S>,
) {
    let stride = p.color.len();
    out.v_means[id] = p.mean.map(|x| v.by(x));
    out.v_quats[id] = p.quat.map(|x| v.by(x));
    out.v_scales[id] = p.scale.map(|x| v.by(x));
    out.v_opacities[id] = v.by(p.opacity);
    let colors = &mut out.v_colors[id * stride..(id + 1) * stride];
    colors.iter_mut().zip(&p.color).for_each(|(slot, &x)| *slot = v.by(x));
    for (slots, (row, &t)) in out.v_viewmat.iter_mut().zip(p.rotation.iter().zip(&p.translation)) {
        let [a, b, c] = row.map(|x| v.by(x));
        *slots = [slots[0] + a, slots[1] + b, slots[2] + c, slots[3] + v.by(t)];
    }
}
