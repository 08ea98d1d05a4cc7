//! Backward projection: the vector-Jacobian product of the stage `project`, spherical harmonics
//! included.

use crate::arithmetic::{Scalar, Truth};
use crate::splat::backward::rasterize::SplatGradients;
use crate::splat::convention::{Convention, FovClampGradient};
use crate::splat::linear::{
    M3, V3, add, dot, normalize_vjp, rows_mul, scale, transpose, transpose_mul_vec,
};
use crate::splat::project::{Lens, Projection, compensation, direction, project_one};
use crate::splat::scene::{Colors, Gaussians};
use crate::splat::sh;
use rayon::prelude::*;

/// Gradients of one camera's projection.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectionGradients<S> {
    /// `[N,3]`
    pub v_means: Vec<[S; 3]>,
    /// `[N,4]`, through the normalization.
    pub v_quats: Vec<[S; 4]>,
    /// `[N,3]`
    pub v_scales: Vec<[S; 3]>,
    /// `[N]`
    pub v_opacities: Vec<S>,
    /// `[N,D]` or `[N,K,3]`, as the colours were given.
    pub v_colors: Vec<S>,
    /// `[4,4]`; the last row is zero.
    pub v_viewmat: [[S; 4]; 4],
}

/// What one Gaussian gets, and its part of the camera's gradient.
pub(crate) struct Row<S> {
    pub(crate) mean: V3<S>,
    pub(crate) quat: [S; 4],
    pub(crate) scale: V3<S>,
    pub(crate) opacity: S,
    pub(crate) rotation: M3<S>,
    pub(crate) translation: V3<S>,
}

impl<S: Scalar> Row<S> {
    pub(crate) fn zero() -> Self {
        let zero = S::from_f64(0.0);
        Self {
            mean: [zero; 3],
            quat: [zero; 4],
            scale: [zero; 3],
            opacity: zero,
            rotation: [[zero; 3]; 3],
            translation: [zero; 3],
        }
    }
}

/// Gaussians that one thread differentiates together. The camera's gradient is summed within each
/// part and then over the parts in order, so that no bit depends on the number of threads.
const PART: usize = 256;

/// Differentiates the projection of every Gaussian for one camera. The projection is computed
/// again: that is cheaper than to keep it in memory.
#[must_use]
pub fn project<S: Scalar>(
    gaussians: &Gaussians<S>,
    lens: &Lens<S>,
    splats: &SplatGradients<S>,
    convention: &Convention,
) -> ProjectionGradients<S> {
    let (n, stride, zero) = (gaussians.len(), gaussians.colors.stride(), S::from_f64(0.0));
    let mut out = ProjectionGradients {
        v_means: vec![[zero; 3]; n],
        v_quats: vec![[zero; 4]; n],
        v_scales: vec![[zero; 3]; n],
        v_opacities: vec![zero; n],
        v_colors: vec![zero; n * stride],
        v_viewmat: [[zero; 4]; 4],
    };
    let cameras: Vec<[[S; 4]; 3]> = (out.v_means.par_chunks_mut(PART))
        .zip(out.v_quats.par_chunks_mut(PART))
        .zip(out.v_scales.par_chunks_mut(PART))
        .zip(out.v_opacities.par_chunks_mut(PART))
        .zip(out.v_colors.par_chunks_mut(PART * stride))
        .enumerate()
        .map(|(part, ((((means, quats), scales), opacities), colors))| {
            let mut camera = [[zero; 4]; 3];
            for (i, v_color) in colors.chunks_exact_mut(stride).enumerate() {
                let id = part * PART + i;
                let Some(p) = project_one(gaussians, id, lens, convention) else { continue };
                let row = row(gaussians, (id, &p), lens, splats, v_color, convention);
                (means[i], quats[i]) = (row.mean, row.quat);
                (scales[i], opacities[i]) = (row.scale, row.opacity);
                for (slots, (r, t)) in
                    camera.iter_mut().zip(row.rotation.iter().zip(row.translation))
                {
                    *slots = [slots[0] + r[0], slots[1] + r[1], slots[2] + r[2], slots[3] + t];
                }
            }
            camera
        })
        .collect();
    for camera in cameras {
        for (slot, &value) in out.v_viewmat.as_flattened_mut().iter_mut().zip(camera.as_flattened())
        {
            *slot = *slot + value;
        }
    }
    out
}

/// What Gaussian `id` gets; the colour's gradient goes to `v_color`.
pub(crate) fn row<S: Scalar>(
    gaussians: &Gaussians<S>,
    (id, p): (usize, &Projection<S>),
    lens: &Lens<S>,
    splats: &SplatGradients<S>,
    v_color: &mut [S],
    convention: &Convention,
) -> Row<S> {
    let mut row = geometry(gaussians, id, lens, p, splats, convention);
    color(gaussians, id, lens, splats, v_color, &mut row);
    row
}

/// Everything but the colour.
fn geometry<S: Scalar>(
    gaussians: &Gaussians<S>,
    id: usize,
    lens: &Lens<S>,
    p: &Projection<S>,
    splats: &SplatGradients<S>,
    convention: &Convention,
) -> Row<S> {
    let v_opacity = splats.v_opacities[id];
    let mut v_cov = covariance(p, splats.v_conics[id], convention.inverse_eps);
    let mut opacity = v_opacity;
    if convention.antialiased {
        opacity = v_opacity * compensation(p.dets);
        v_cov = add(v_cov, antialias(p, gaussians.opacities[id] * v_opacity));
    }
    // covariance = root root^T + blur
    let two = S::from_f64(2.0);
    let [first, second] = p.root;
    let v_root = [
        add(scale(two * v_cov[0], first), scale(v_cov[1], second)),
        add(scale(two * v_cov[2], second), scale(v_cov[1], first)),
    ];
    // root = jacobian M, M = R(q) diag(s)
    let s = gaussians.scales[id];
    let scaled = p.rotation.map(|row| [row[0] * s[0], row[1] * s[1], row[2] * s[2]]);
    let v_jacobian = rows_mul(&v_root, &transpose(&scaled));
    let v_scaled: M3<S> = std::array::from_fn(|i| {
        add(scale(p.jacobian[0][i], v_root[0]), scale(p.jacobian[1][i], v_root[1]))
    });
    let scale_gradient = std::array::from_fn(|k| {
        dot(
            [v_scaled[0][k], v_scaled[1][k], v_scaled[2][k]],
            [p.rotation[0][k], p.rotation[1][k], p.rotation[2][k]],
        )
    });
    let v_rotation = v_scaled.map(|row| [row[0] * s[0], row[1] * s[1], row[2] * s[2]]);
    let v_unit = unit_quat(p.unit_quat, &v_rotation);
    let (v_camera_mean, v_lens) = screen(lens, p, &v_jacobian, splats.v_means2d[id], convention);
    // camera_mean = R_w mean + t
    let mean = gaussians.means[id];
    let rotation = std::array::from_fn(|i| add(v_lens[i], scale(v_camera_mean[i], mean)));
    Row {
        mean: transpose_mul_vec(&lens.rotation, v_camera_mean),
        quat: normalize_vjp(p.unit_quat, p.quat_norm, v_unit),
        scale: scale_gradient,
        opacity,
        rotation,
        translation: v_camera_mean,
    }
}

/// From the conic (a, b, c) = (C, -B, A)/det to the covariance (A, B, C), det = AC - B^2:
/// da/dA = -C^2/det^2, da/dB = 2BC/det^2, da/dC = -B^2/det^2, db/dA = BC/det^2,
/// db/dB = -(AC + B^2)/det^2, and the rest by symmetry.
fn covariance<S: Scalar>(p: &Projection<S>, [va, vb, vc]: V3<S>, inverse_eps: f64) -> V3<S> {
    let [a, b, c] = p.covariance;
    let det = p.dets[1];
    let k = det.divides_by_square(S::from_f64(1.0), Some(inverse_eps));
    let two = S::from_f64(2.0);
    [
        k * (b * c * vb - c * c * va - b * b * vc),
        k * (two * b * c * va - (a * c + b * b) * vb + two * a * b * vc),
        k * (a * b * vb - b * b * va - a * a * vc),
    ]
}

/// From the compensation sqrt(ratio), ratio = `det/det_blurred`, to the covariance without blur:
/// d ratio/dA = (C `det_blurred` - `C_blurred` `det)/det_blurred^2`, d ratio/dB = 2B (det -
/// `det_blurred)/det_blurred^2`.
fn antialias<S: Scalar>(p: &Projection<S>, v_compensation: S) -> V3<S> {
    let factor = compensation(p.dets);
    let zero = S::from_f64(0.0);
    if zero.less(factor) == Truth::Never {
        return [zero; 3];
    }
    let [sharp, blurred] = p.dets;
    let sharp_diagonal = [dot(p.root[0], p.root[0]), dot(p.root[1], p.root[1])];
    let v_factor = v_compensation.over_positive(S::from_f64(2.0) * factor);
    let v_ratio = blurred.divides_by_square(v_factor, None);
    let [a, b, c] = p.covariance;
    [
        v_ratio * (sharp_diagonal[1] * blurred - c * sharp),
        v_ratio * (S::from_f64(2.0) * b * (sharp - blurred)),
        v_ratio * (sharp_diagonal[0] * blurred - a * sharp),
    ]
}

/// From the on-screen Jacobian and the projected mean to the mean in camera axes, and from
/// `jacobian` = on-screen Jacobian x `R_w` to `R_w`.
fn screen<S: Scalar>(
    lens: &Lens<S>,
    p: &Projection<S>,
    v_jacobian: &[V3<S>; 2],
    v_mean2d: [S; 2],
    convention: &Convention,
) -> (V3<S>, M3<S>) {
    let [x, y, z] = p.camera_mean;
    let zero = S::from_f64(0.0);
    let inverse = S::from_f64(1.0) / z;
    let w = z + S::from_f64(convention.w_eps);
    let mut v = [zero; 3];
    let mut v_rotation = [[zero; 3]; 3];
    for i in 0..2 {
        let f = lens.focal[i];
        // Row i of the on-screen Jacobian is f/z at column i and -f slope/z at column 2, with
        // slope = q/z and q the limited coordinate.
        let v_row = crate::splat::linear::mul_vec(&lens.rotation, v_jacobian[i]);
        v_rotation[i] = add(v_rotation[i], scale(f * inverse, v_jacobian[i]));
        v_rotation[2] = add(v_rotation[2], scale(-(f * p.slope[i]) * inverse, v_jacobian[i]));
        let per_depth = f * inverse * inverse;
        v[2] = v[2] - v_row[i] * per_depth + v_row[2] * (S::from_f64(2.0) * per_depth * p.slope[i]);
        let v_limited = -(v_row[2] * per_depth);
        v[i] = S::choose(p.limited[i], v[i], v[i] + v_limited);
        if convention.fov_clamp_gradient == FovClampGradient::Included {
            // The limited coordinate is limit z.
            v[2] = S::choose(p.limited[i], v[2] + v_limited * p.slope[i], v[2]);
        }
        // mean2d = f (q/w) + c with the coordinate as it is
        let coordinate = if i == 0 { x } else { y };
        v[i] = v[i] + v_mean2d[i] * (f / w);
        v[2] = v[2] - v_mean2d[i] * (f * (coordinate / (w * w)));
    }
    (v, v_rotation)
}

/// From the rotation matrix to the unit quaternion, by differentiating its entries.
fn unit_quat<S: Scalar>([w, x, y, z]: [S; 4], v: &M3<S>) -> [S; 4] {
    let two = S::from_f64(2.0);
    let four = S::from_f64(4.0);
    let (d21, d02, d10) = (v[2][1] - v[1][2], v[0][2] - v[2][0], v[1][0] - v[0][1]);
    let (s01, s02, s12) = (v[0][1] + v[1][0], v[0][2] + v[2][0], v[1][2] + v[2][1]);
    [
        two * (x * d21 + y * d02 + z * d10),
        two * (w * d21 + y * s01 + z * s02) - four * (x * (v[1][1] + v[2][2])),
        two * (w * d02 + x * s01 + z * s12) - four * (y * (v[0][0] + v[2][2])),
        two * (w * d10 + x * s02 + y * s12) - four * (z * (v[0][0] + v[1][1])),
    ]
}

/// The colour's gradient: to `v_color` as the colours were given, and through the direction of
/// view to the mean and to the camera, whose position is -`R_w^T` t.
fn color<S: Scalar>(
    gaussians: &Gaussians<S>,
    id: usize,
    lens: &Lens<S>,
    splats: &SplatGradients<S>,
    v_color: &mut [S],
    row: &mut Row<S>,
) {
    let channels = gaussians.colors.channels();
    let v = &splats.v_colors[id * channels..(id + 1) * channels];
    let Colors::Harmonics { coefficients, .. } = gaussians.colors else {
        v_color.copy_from_slice(v);
        return;
    };
    let stride = gaussians.colors.stride();
    let values = &gaussians.colors.values()[id * stride..(id + 1) * stride];
    let (d, length) = direction(gaussians, id, lens.position());
    let zero = S::from_f64(0.0);
    let unclamped = sh::unclamped(values, d);
    // max(0, .): zero gradient where clamped.
    let v: V3<S> = std::array::from_fn(|i| S::choose(zero.less(unclamped[i]), v[i], zero));
    let basis = sh::basis(d, coefficients);
    let gradient = sh::basis_gradient(d, coefficients);
    let mut v_direction = [zero; 3];
    for (k, (sh, out)) in values.chunks_exact(3).zip(v_color.chunks_exact_mut(3)).enumerate() {
        for (out, &v) in out.iter_mut().zip(&v) {
            *out = basis[k] * v;
        }
        let along = dot([sh[0], sh[1], sh[2]], v);
        v_direction = add(v_direction, scale(along, gradient[k]));
    }
    let v_offset = normalize_vjp(d, length, v_direction);
    row.mean = add(row.mean, v_offset);
    // offset = mean + R_w^T t, so R_w[i][j] gets t[i] v[j] and t gets R_w v.
    let turned = crate::splat::linear::mul_vec(&lens.rotation, v_offset);
    row.translation = add(row.translation, turned);
    for (target, &t) in row.rotation.iter_mut().zip(&lens.translation) {
        *target = add(*target, scale(t, v_offset));
    }
}
