//! The stage `project_backward` in each way to write it.

use super::forward::{CovarianceIn, EvaluationOrder, Step, turned};
use crate::arithmetic::{EvaluationOrders, Scalar};
use crate::splat::backward::project::compensation::{antialias_by_conic, antialias_of};
use crate::splat::backward::project::{ProjectionGradients, covariance_of, unit_quat};
use crate::splat::backward::rasterize::SplatGradients;
use crate::splat::convention::{Convention, FovClampGradient};
use crate::splat::linear::{
    M3, V3, add, dot, mul_vec, rows_mul, scale, transpose, transpose_mul_vec,
};
use crate::splat::project::{CameraParams, compensation, scaled};
use crate::splat::scene::{Colors, Gaussians};
use crate::splat::sh::{self, spelled};

/// Gradients by what leads to the 2D covariance.
struct Inner<S> {
    /// By R(q) diag(s).
    scaled: M3<S>,
    /// By J.
    on_screen: [V3<S>; 2],
    /// By `R_w`.
    rotation: M3<S>,
}

impl EvaluationOrder {
    /// -C V C for the conic C and the gradient V by it, symmetric matrices both, where the conic is a
    /// product with a reciprocal; else the oracle's.
    fn covariance_vjp<S: Scalar>(
        &self,
        step: &Step<S>,
        [va, vb, vc]: V3<S>,
        inverse_eps: f64,
    ) -> V3<S> {
        if !self.reciprocals {
            let none = EvaluationOrders::WRITTEN;
            return covariance_of(step.covariance, step.dets[1], [va, vb, vc], inverse_eps, none);
        }
        let half = S::from_f64(0.5) * vb;
        let [a, b, c] = step.conic;
        // V C, row by row.
        let [[p, q], [r, s]] =
            [[va * a + half * b, va * b + half * c], [half * a + vc * b, half * b + vc * c]];
        let v = [-(a * p + b * r), -(a * q + b * s) - (b * p + c * r), -(b * q + c * s)];
        if inverse_eps == 0.0 {
            return v;
        }
        let square = step.dets[1] * step.dets[1];
        let share = self.over(square, square + S::from_f64(inverse_eps));
        v.map(|x| x * share)
    }

    /// Through the compensation, by the conic where that is a product with a reciprocal; else the oracle's.
    fn antialias_vjp<S: Scalar>(&self, step: &Step<S>, v: S, convention: &Convention) -> V3<S> {
        let none = EvaluationOrders::WRITTEN;
        if self.reciprocals {
            let factor = compensation(step.dets, none);
            let v_ratio = v / (S::from_f64(2.0) * factor);
            return antialias_by_conic(step.conic, factor, convention.eps2d, v_ratio, none);
        }
        let sharp = [step.sharp[0], step.sharp[2]];
        antialias_of(step.dets, sharp, step.covariance, v, none)
    }

    fn inner<S: Scalar>(
        &self,
        step: &Step<S>,
        lens: &CameraParams<S>,
        [a, b, c]: V3<S>,
    ) -> Inner<S> {
        let half = S::from_f64(0.5) * b;
        // 2 V R for the rows R.
        let two = S::from_f64(2.0);
        let doubled = |rows: &[V3<S>; 2]| {
            [[a, half], [half, c]]
                .map(|[x, y]| scale(two, add(scale(x, rows[0]), scale(y, rows[1]))))
        };
        let rotation = &lens.rotation;
        match self.covariance {
            CovarianceIn::Root => {
                let jacobian = turned(&step.on_screen, lens);
                let v_root = doubled(&rows_mul(&jacobian, &step.scaled));
                let v_turned = rows_mul(&v_root, &transpose(&step.scaled));
                Inner {
                    scaled: outer(&jacobian, &v_root),
                    on_screen: v_turned.map(|row| mul_vec(rotation, row)),
                    rotation: outer(&step.on_screen, &v_turned),
                }
            }
            CovarianceIn::World => {
                let jacobian = turned(&step.on_screen, lens);
                let v = doubled(&jacobian);
                let v_turned = rows_mul(&v, &step.covariances[0]);
                let twice_world = outer(&jacobian, &v);
                Inner {
                    scaled: rows_mul(&twice_world, &step.scaled),
                    on_screen: v_turned.map(|row| mul_vec(rotation, row)),
                    rotation: outer(&step.on_screen, &v_turned),
                }
            }
            CovarianceIn::Camera => {
                let v = doubled(&step.on_screen);
                let twice_camera = outer(&step.on_screen, &v);
                let back = transpose(rotation);
                let twice_world = rows_mul(&rows_mul(&back, &twice_camera), rotation);
                Inner {
                    scaled: rows_mul(&twice_world, &step.scaled),
                    on_screen: rows_mul(&v, &step.covariances[1]),
                    rotation: rows_mul(&rows_mul(&twice_camera, rotation), &step.covariances[0]),
                }
            }
        }
    }

    /// From J and the projected mean to the mean in camera axes.
    fn mean_vjp<S: Scalar>(
        &self,
        step: &Step<S>,
        lens: &CameraParams<S>,
        v_on_screen: &[V3<S>; 2],
        v_mean2d: [S; 2],
        convention: &Convention,
    ) -> V3<S> {
        let ([x, y, z], one, two) = (step.mean, S::from_f64(1.0), S::from_f64(2.0));
        let w = z + S::from_f64(convention.w_eps);
        let (rz, rw) = (one / z, one / w);
        let (square, cube) = (rz * rz, rz * rz * rz);
        let mut v = [S::from_f64(0.0); 3];
        for (i, coordinate) in [x, y].into_iter().enumerate() {
            let (f, across, along) = (lens.focal[i], v_on_screen[i][i], v_on_screen[i][2]);
            let q = z * step.slope[i];
            let of_f = if self.reciprocals { f * square * across } else { f * across / (z * z) };
            let of_q = if self.reciprocals {
                two * f * q * cube * along
            } else {
                two * f * along * step.slope[i] / (z * z)
            };
            v[2] = v[2] - of_f + of_q;
            let through =
                if self.reciprocals { -(f * square) * along } else { -(f * along) / (z * z) };
            let of_limit = match convention.fov_clamp_gradient {
                FovClampGradient::Included => through * step.slope[i],
                FovClampGradient::Constant => S::from_f64(0.0),
            };
            v[i] = S::choose(step.limited[i], v[i], v[i] + through);
            v[2] = S::choose(step.limited[i], v[2] + of_limit, v[2]);
            let [of_mean, of_depth] = if self.reciprocals {
                [f * rw * v_mean2d[i], f * coordinate * v_mean2d[i] * (rw * rw)]
            } else {
                [f * v_mean2d[i] / w, f * v_mean2d[i] * coordinate / (w * w)]
            };
            (v[i], v[2]) = (v[i] + of_mean, v[2] - of_depth);
        }
        v
    }

    /// The gradient by the direction of view: the oracle's sum over the coefficients, or in Sloan's form
    /// one for each channel, the last coefficient first.
    fn direction_vjp<S: Scalar>(&self, sh: &[S], v: V3<S>, d: V3<S>) -> V3<S> {
        let (zero, coefficients) = ([S::from_f64(0.0); 3], sh.len() / 3);
        if !self.sloan {
            let gradient = sh::basis_gradient(d, coefficients);
            let rows = sh.chunks_exact(3).zip(gradient);
            return rows.fold(zero, |sum, (row, gradient)| {
                add(sum, scale(dot([row[0], row[1], row[2]], v), gradient))
            });
        }
        let gradient = spelled::basis_gradient(d, coefficients);
        let of_channel = |channel: usize| {
            let rows = sh.chunks_exact(3).zip(gradient).rev();
            rows.fold(zero, |sum, (row, gradient)| {
                add(sum, scale(row[channel] * v[channel], gradient))
            })
        };
        add(add(of_channel(0), of_channel(1)), of_channel(2))
    }

    /// (v - n (n . v)) times one over the length.
    fn unit_vjp<S: Scalar, const N: usize>(&self, n: [S; N], inverse: S, v: [S; N]) -> [S; N] {
        let terms = n.iter().zip(&v).map(|(&n, &v)| n * v);
        let along = terms.fold(S::from_f64(0.0), |sum, term| sum + term);
        std::array::from_fn(|i| {
            let across = v[i] - along * n[i];
            if self.rsqrt { across * inverse } else { across / (S::from_f64(1.0) / inverse) }
        })
    }
}

/// A^T B for two rows each.
fn outer<S: Scalar>(a: &[V3<S>; 2], b: &[V3<S>; 2]) -> M3<S> {
    std::array::from_fn(|i| add(scale(a[0][i], b[0]), scale(a[1][i], b[1])))
}

/// The backward stage for one camera as `spelling` writes it.
#[must_use]
pub fn project_backward<S: Scalar>(
    spelling: &EvaluationOrder,
    gaussians: &Gaussians<S>,
    lens: &CameraParams<S>,
    splats: &SplatGradients<S>,
    convention: &Convention,
) -> ProjectionGradients<S> {
    let mut out = ProjectionGradients::zeros(gaussians);
    for id in 0..gaussians.len() {
        let Some(step) = spelling.step(gaussians, id, lens, convention) else { continue };
        let one = One { spelling, gaussians, id, lens, convention };
        let mut camera = one.geometry(&step, splats, &mut out);
        one.color(splats, &mut out, &mut camera);
        for (sum, row) in out.v_viewmat.iter_mut().zip(camera) {
            *sum = std::array::from_fn(|k| sum[k] + row[k]);
        }
    }
    out
}

/// One Gaussian and one camera.
struct One<'a, S> {
    spelling: &'a EvaluationOrder,
    gaussians: &'a Gaussians<S>,
    id: usize,
    lens: &'a CameraParams<S>,
    convention: &'a Convention,
}

impl<S: Scalar> One<'_, S> {
    /// Everything but the colour; returns the Gaussian's part of the camera's gradient.
    fn geometry(
        &self,
        step: &Step<S>,
        splats: &SplatGradients<S>,
        out: &mut ProjectionGradients<S>,
    ) -> [[S; 4]; 3] {
        let Self { spelling, gaussians, id, lens, convention } = *self;
        let none = EvaluationOrders::WRITTEN;
        let v_conic = splats.v_conics[id];
        let mut v_cov = spelling.covariance_vjp(step, v_conic, convention.inverse_eps);
        out.v_opacities[id] = splats.v_opacities[id];
        if convention.antialiased {
            let v = splats.v_opacities[id];
            out.v_opacities[id] = v * compensation(step.dets, none);
            v_cov =
                add(v_cov, spelling.antialias_vjp(step, gaussians.opacities[id] * v, convention));
        }
        let inner = spelling.inner(step, lens, v_cov);
        let column = |m: &M3<S>, k: usize| [m[0][k], m[1][k], m[2][k]];
        out.v_scales[id] =
            std::array::from_fn(|k| dot(column(&step.rotation, k), column(&inner.scaled, k)));
        let v_rotation = scaled(&inner.scaled, gaussians.scales[id]);
        let v_unit = unit_quat(step.unit_quat, &v_rotation, none);
        out.v_quats[id] = spelling.unit_vjp(step.unit_quat, step.inverse_length, v_unit);
        let v_mean2d = splats.v_means2d[id];
        let v = spelling.mean_vjp(step, lens, &inner.on_screen, v_mean2d, convention);
        out.v_means[id] = transpose_mul_vec(&lens.rotation, v);
        let mean = gaussians.means[id];
        std::array::from_fn(|i| {
            let [a, b, c] = std::array::from_fn(|k| inner.rotation[i][k] + v[i] * mean[k]);
            [a, b, c, v[i]]
        })
    }

    /// Adds what the colour has to the Gaussian's mean and to its part of the camera's gradient.
    fn color(
        &self,
        splats: &SplatGradients<S>,
        out: &mut ProjectionGradients<S>,
        camera: &mut [[S; 4]; 3],
    ) {
        let Self { spelling, gaussians, id, lens, .. } = *self;
        let (channels, stride) = (gaussians.colors.channels(), gaussians.colors.stride());
        let v = &splats.v_colors[id * channels..(id + 1) * channels];
        let v_color = &mut out.v_colors[id * stride..(id + 1) * stride];
        let Colors::Harmonics { coefficients, .. } = gaussians.colors else {
            v_color.copy_from_slice(v);
            return;
        };
        let values = &gaussians.colors.values()[id * stride..(id + 1) * stride];
        let (d, inverse) = spelling.direction(gaussians, id, lens);
        let (zero, unclamped) = (S::from_f64(0.0), spelling.unclamped(values, d));
        let v: V3<S> = std::array::from_fn(|i| S::choose(zero.less(unclamped[i]), v[i], zero));
        let basis = spelling.basis(d, coefficients);
        for (k, row) in v_color.chunks_exact_mut(3).enumerate() {
            row.iter_mut().zip(&v).for_each(|(slot, &v)| *slot = v * basis[k]);
        }
        let v_direction = spelling.direction_vjp(values, v, d);
        let v_offset = spelling.unit_vjp(d, inverse, v_direction);
        out.v_means[id] = add(out.v_means[id], v_offset);
        let turned = mul_vec(&lens.rotation, v_offset);
        for ((row, &t), &turned) in camera.iter_mut().zip(&lens.translation).zip(&turned) {
            for (slot, &v) in row.iter_mut().zip(&v_offset) {
                *slot = *slot + t * v;
            }
            row[3] = row[3] + turned;
        }
    }
}
