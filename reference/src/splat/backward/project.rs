//! Backward projection: the vector-Jacobian product of the stage `project`, spherical harmonics
//! included.
//!
//! With [`CameraParams::spellings`] each intermediate that has a name grows as those of the stage do (see
//! `splat/project.rs`): the gradients by the covariance, by R(q) diag(s), R(q), the scales, both
//! quaternions, J, the mean in camera axes, the camera, the mean, the direction of view and the
//! harmonics. What a program that forms the covariance in other axes never has, the gradients by the
//! covariance's root and by J `R_w`, counts by the magnitudes of its own terms.
//!
//! # Standard derivations
//!
//! Over the reals each is the same gradient; in f32 their terms differ, and terms that cancel over the
//! reals leave roundings behind. An intermediate names the terms of all of them:
//!
//! * The conic: the quotients' derivatives multiplied out, as here; -S^-1 G S^-1 (Giles 2008, section 2.2.3),
//!   with the inverse by the adjugate or by elimination; and by automatic differentiation, in reverse, of
//!   (c/d, -b/d, a/d) or of the adjugate times 1/d. These first have the gradient by the determinant,
//!   `v_d = -(c v_a - b v_b + a v_c)/d^2`, and by the quotient rule add `c v_d` to `v_c/d`: the terms
//!   `a c v_c/d^2` and `v_c/d` of that sum are not among those of `-b^2 v_c/d^2`, which it equals.
//! * The compensation: see `compensation.rs`.
//! * The covariance: as the product of its root, or formed in world or camera axes, from M or from
//!   R(q) diag(s^2) R(q)^T.
//! * The quaternion: normalized before R(q) or not, when the gradient by |q|^2 takes the place of the
//!   projection off q; R(q) by 1 - 2 (y^2 + z^2) and the like, or by w^2 + x^2 - y^2 - z^2.
//! * The mean: x/z limited and multiplied by z again; by reciprocals; through the projection matrix and
//!   normalized device coordinates.
//! * The harmonics: any polynomials that are the same on the unit sphere.
//!
//! Each `at(steps, quotients)` is the number of roundings on a term's longest way in any of them. In
//! reverse, automatic differentiation adds to a variable's gradient once for each use, in any order, so a
//! term passes through as many additions as there are uses besides.

pub(crate) mod compensation;
pub(crate) mod harmonics;

use self::compensation::antialias;
use self::harmonics::harmonics_vjp;
use crate::arithmetic::{EvaluationOrders, Scalar, rounded};
use crate::splat::backward::rasterize::SplatGradients;
use crate::splat::convention::{Convention, FovClampGradient};
use crate::splat::linear::{
    M3, V3, add, dot_again, each, mul_vec, mul_vec_again, normalize_vjp, rows_mul, scale, transpose,
};
use crate::splat::pair::one_term;
use crate::splat::project::{
    CameraParams, Projection, Spread, compensation, direction, eliminated, product, project_one,
    scaled,
};
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

impl<S: Scalar> ProjectionGradients<S> {
    pub(crate) fn zeros(gaussians: &Gaussians<S>) -> Self {
        let (n, zero) = (gaussians.len(), S::from_f64(0.0));
        Self {
            v_means: vec![[zero; 3]; n],
            v_quats: vec![[zero; 4]; n],
            v_scales: vec![[zero; 3]; n],
            v_opacities: vec![zero; n],
            v_colors: vec![zero; n * gaussians.colors.stride()],
            v_viewmat: [[zero; 4]; 4],
        }
    }
}

/// What one Gaussian gets, and its part of the camera's gradient.
pub(crate) struct Row<S> {
    pub(crate) mean: V3<S>,
    pub(crate) quat: [S; 4],
    pub(crate) scale: V3<S>,
    pub(crate) opacity: S,
    pub(crate) rotation: M3<S>,
    pub(crate) translation: V3<S>,
    /// By the direction of view, as the colour's harmonics have it: a part of the three before it and of the mean.
    pub(crate) direction: V3<S>,
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
            direction: [zero; 3],
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
    lens: &CameraParams<S>,
    splats: &SplatGradients<S>,
    convention: &Convention,
) -> ProjectionGradients<S> {
    let (stride, zero) = (gaussians.colors.stride(), S::from_f64(0.0));
    let mut out = ProjectionGradients::zeros(gaussians);
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
    lens: &CameraParams<S>,
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
    lens: &CameraParams<S>,
    p: &Projection<S>,
    splats: &SplatGradients<S>,
    convention: &Convention,
) -> Row<S> {
    let spellings = lens.spellings;
    let v_opacity = splats.v_opacities[id];
    let v_conic = splats.v_conics[id];
    let mut v_cov =
        covariance_of(p.covariance, p.dets[1], v_conic, convention.inverse_eps, spellings);
    let mut opacity = v_opacity;
    if convention.antialiased {
        opacity = one_term(v_opacity * compensation(p.dets, spellings), spellings.at(1, 0));
        let v = gaussians.opacities[id] * v_opacity;
        let through = antialias(p, convention.eps2d, v, spellings);
        let sum = add(v_cov, through);
        let extra = spellings.at(2, 0);
        v_cov = std::array::from_fn(|i| rounded!(sum[i], extra, [v_cov[i], through[i]]));
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
    let scaled_rotation = scaled(&p.rotation, s);
    let spread = GradientSpread::new(lens, p, &scaled_rotation, v_cov);
    let v_jacobian = rows_mul(&v_root, &transpose(&scaled_rotation));
    let v_scaled: M3<S> = std::array::from_fn(|i| {
        let v = add(scale(p.jacobian[0][i], v_root[0]), scale(p.jacobian[1][i], v_root[1]));
        std::array::from_fn(|k| {
            let terms = [0, 1].map(|a| spread.jacobian[a][i] * spread.v_root[a][k]);
            rounded!(v[k], spellings.at(16, 0), terms)
        })
    });
    let column = |m: &M3<S>, k: usize| [m[0][k], m[1][k], m[2][k]];
    let scale_gradient = std::array::from_fn(|k| {
        dot_again(column(&v_scaled, k), column(&p.rotation, k), spellings.at(5, 0))
    });
    let v_rotation =
        each(scaled(&v_scaled, s), |row| each(row, |x| one_term(x, spellings.at(2, 0))));
    let v_unit = unit_quat(p.unit_quat, &v_rotation, spellings);
    let v_jacobian = (&v_jacobian, &spread.v_jacobian);
    let (v_camera_mean, v_lens) = screen(lens, p, v_jacobian, splats.v_means2d[id], convention);
    // camera_mean = R_w mean + t
    let mean = gaussians.means[id];
    let rotation = std::array::from_fn(|i| {
        let sum = add(v_lens[i], scale(v_camera_mean[i], mean));
        let term = |k: usize| v_camera_mean[i] * mean[k];
        std::array::from_fn(|k| rounded!(sum[k], spellings.at(8, 0), [v_lens[i][k], term(k)]))
    });
    let spread_of_unit = unit_quat_spread(p.unit_quat, &v_rotation, spellings);
    Row {
        mean: mul_vec_again(&transpose(&lens.rotation), v_camera_mean, spellings.at(8, 0)),
        // By 2/|q|^2 = s: s^2 has 10 and a quotient, its gradient 11, the gradient by q 2 and 11 additions.
        quat: normalize_vjp(
            p.unit_quat,
            p.quat_norm,
            v_unit,
            (spread_of_unit, spellings.at(34, 2)),
        ),
        scale: scale_gradient,
        opacity,
        rotation,
        translation: v_camera_mean,
        direction: [S::from_f64(0.0); 3],
    }
}

/// The magnitudes of the terms of what not every program forms; zeros where no other spelling is held.
struct GradientSpread<S> {
    /// Of J `R_w`.
    jacobian: [V3<S>; 2],
    /// Of the gradient by the covariance's root.
    v_root: [V3<S>; 2],
    /// Of the gradient by J `R_w`.
    v_jacobian: [V3<S>; 2],
}

impl<S: Scalar> GradientSpread<S> {
    fn new(lens: &CameraParams<S>, p: &Projection<S>, scaled: &M3<S>, v_cov: V3<S>) -> Self {
        if lens.spellings.is_written() {
            let zero = [[S::from_f64(0.0); 3]; 2];
            return Self { jacobian: zero, v_root: zero, v_jacobian: zero };
        }
        let Spread { jacobian, root } =
            Spread::new(&lens.on_screen(p.slope, p.depth), lens, scaled);
        let two = S::from_f64(2.0);
        let v_root = [(v_cov[0], 0), (v_cov[2], 1)].map(|(own, a)| {
            std::array::from_fn(|k| own.spread([two * own * root[a][k], v_cov[1] * root[1 - a][k]]))
        });
        Self { jacobian, v_root, v_jacobian: v_root.map(|row| product(row, &transpose(scaled))) }
    }
}

/// From the conic (a, b, c) = (C, -B, A)/det to the covariance (A, B, C), det = AC - B^2:
/// da/dA = -C^2/det^2, da/dB = 2BC/det^2, da/dC = -B^2/det^2, db/dA = BC/det^2,
/// db/dB = -(AC + B^2)/det^2, and the rest by symmetry.
///
/// By the quotient rule the gradient by A is `vc/det` - C (C va - B vb + A vc)/det^2, whose terms with vc
/// cancel but for B^2; and so for the others.
pub(crate) fn covariance_of<S: Scalar>(
    [a, b, c]: V3<S>,
    det: S,
    [va, vb, vc]: V3<S>,
    inverse_eps: f64,
    spellings: EvaluationOrders,
) -> V3<S> {
    // By elimination each inverse has 5 and 3 quotients, the products with both 4.
    let extra = spellings.at(14, 6);
    let k = det.divides_by_square(S::from_f64(1.0), Some(inverse_eps));
    let k = one_term(k, spellings.at(2, 2));
    let two = S::from_f64(2.0);
    let first = k * (b * c * vb - c * c * va - b * b * vc);
    let second = k * (two * b * c * va - (a * c + b * b) * vb + two * a * b * vc);
    let third = k * (a * b * vb - b * b * va - a * a * vc);
    // v/det.
    let over = |v: S| k * det * v;
    let own = |x: S, vx: S, v: S| {
        let e = eliminated([a, b, c]);
        let [p, q, r] = [k * x * b * vb, k * x * x * vx, k * b * b * v];
        [p, q, r, k * a * c * v, over(v), k * x * e * vb, k * two * b * e * v]
    };
    let crossed = || {
        let [p, q, r] = [c * va, b * vb, a * vc].map(|x| k * two * x);
        let e = eliminated([a, b, c]);
        [p * b, q * b, r * b, k * a * c * vb, over(vb), p * e, q * e, r * e]
    };
    [
        rounded!(first, extra, own(c, va, vc)),
        rounded!(second, extra, crossed()),
        rounded!(third, extra, own(a, vc, va)),
    ]
}

/// From the on-screen Jacobian and the projected mean to the mean in camera axes, and from
/// `jacobian` = on-screen Jacobian x `R_w` to `R_w`. With the gradient by `jacobian` come the magnitudes
/// of its terms.
fn screen<S: Scalar>(
    lens: &CameraParams<S>,
    p: &Projection<S>,
    (v_jacobian, spread): (&[V3<S>; 2], &[V3<S>; 2]),
    v_mean2d: [S; 2],
    convention: &Convention,
) -> (V3<S>, M3<S>) {
    let [x, y, z] = p.camera_mean;
    let (zero, two, spellings) = (S::from_f64(0.0), S::from_f64(2.0), lens.spellings);
    // Quotients by z up to three, and as many additions as z has uses.
    let extra = spellings.at(18, 5);
    let inverse = S::from_f64(1.0) / z;
    let w = z + S::from_f64(convention.w_eps);
    let mut v = [zero; 3];
    let mut v_rotation = [[zero; 3]; 3];
    for i in 0..2 {
        let f = lens.focal[i];
        // Row i of the on-screen Jacobian is f/z at column i and -f slope/z at column 2, with
        // slope = q/z and q the limited coordinate.
        let v_row = mul_vec(&lens.rotation, v_jacobian[i]);
        let v_row: V3<S> = std::array::from_fn(|k| {
            let ([a, b, c], s) = (lens.rotation[k], spread[i]);
            rounded!(v_row[k], spellings.at(18, 0), [a * s[0], b * s[1], c * s[2]])
        });
        let across = f * inverse;
        let along = -(f * p.slope[i]) * inverse;
        for (row, by) in [(i, across), (2, along)] {
            let sum = add(v_rotation[row], scale(by, v_jacobian[i]));
            v_rotation[row] =
                std::array::from_fn(|k| rounded!(sum[k], spellings.at(18, 0), [by * spread[i][k]]));
        }
        let per_depth = one_term(f * inverse * inverse, spellings.at(3, 3));
        let of_slope = v_row[2] * (two * per_depth * p.slope[i]);
        v[2] = v[2] - v_row[i] * per_depth + of_slope;
        v[2] = rounded!(v[2], extra, [v_row[i] * per_depth, of_slope]);
        let v_limited = -(v_row[2] * per_depth);
        let passed = rounded!(v[i] + v_limited, extra, [v_limited]);
        v[i] = S::choose(p.limited[i], v[i], passed);
        if convention.fov_clamp_gradient == FovClampGradient::Included {
            // The limited coordinate is limit z.
            let of_limit = v_limited * p.slope[i];
            let passed = rounded!(v[2] + of_limit, extra, [of_limit]);
            v[2] = S::choose(p.limited[i], passed, v[2]);
        }
        // mean2d = f (q/w) + c with the coordinate as it is
        let coordinate = if i == 0 { x } else { y };
        let of_mean = v_mean2d[i] * (f / w);
        v[i] = rounded!(v[i] + of_mean, extra, [of_mean]);
        let of_depth = v_mean2d[i] * (f * (coordinate / (w * w)));
        v[2] = rounded!(v[2] - of_depth, extra, [of_depth]);
    }
    (v, v_rotation)
}

/// From the rotation matrix to the unit quaternion, by differentiating its entries.
pub(crate) fn unit_quat<S: Scalar>(
    [w, x, y, z]: [S; 4],
    v: &M3<S>,
    spellings: EvaluationOrders,
) -> [S; 4] {
    let two = S::from_f64(2.0);
    let four = S::from_f64(4.0);
    let (d21, d02, d10) = (v[2][1] - v[1][2], v[0][2] - v[2][0], v[1][0] - v[0][1]);
    let (s01, s02, s12) = (v[0][1] + v[1][0], v[0][2] + v[2][0], v[1][2] + v[2][1]);
    let sums = [
        two * (x * d21 + y * d02 + z * d10),
        two * (w * d21 + y * s01 + z * s02) - four * (x * (v[1][1] + v[2][2])),
        two * (w * d02 + x * s01 + z * s12) - four * (y * (v[0][0] + v[2][2])),
        two * (w * d10 + x * s02 + y * s12) - four * (z * (v[0][0] + v[1][1])),
    ];
    let spread = unit_quat_spread([w, x, y, z], v, spellings);
    std::array::from_fn(|i| rounded!(sums[i], spellings.at(14, 0), [spread[i]]))
}

/// The magnitudes of the terms of [`unit_quat`]; zeros where no other spelling is held. The homogeneous
/// polynomials have a term for each entry of the diagonal, which the projection off q takes out again.
fn unit_quat_spread<S: Scalar>(
    [w, x, y, z]: [S; 4],
    v: &M3<S>,
    spellings: EvaluationOrders,
) -> [S; 4] {
    let zero = S::from_f64(0.0);
    if spellings.is_written() {
        return [zero; 4];
    }
    let (two, four) = (S::from_f64(2.0), S::from_f64(4.0));
    let trace = zero.spread([v[0][0], v[1][1], v[2][2]]);
    // The factor of each entry off the diagonal, whatever its sign, then that of the diagonal.
    let others = [[x, y, z], [w, y, z], [w, x, z], [w, x, y]];
    let pairs = [
        [[2, 1], [0, 2], [1, 0]],
        [[2, 1], [0, 1], [0, 2]],
        [[0, 2], [0, 1], [1, 2]],
        [[1, 0], [0, 2], [1, 2]],
    ];
    let own = [two * w, four * x, four * y, four * z];
    std::array::from_fn(|i| {
        let size = |k: usize| {
            let [a, b] = pairs[i][k];
            two * others[i][k] * zero.spread([v[a][b], v[b][a]])
        };
        zero.spread([size(0), size(1), size(2), own[i] * trace])
    })
}

/// The colour's gradient: to `v_color` as the colours were given, and through the direction of
/// view to the mean and to the camera, whose position is -`R_w^T` t.
fn color<S: Scalar>(
    gaussians: &Gaussians<S>,
    id: usize,
    lens: &CameraParams<S>,
    splats: &SplatGradients<S>,
    v_color: &mut [S],
    row: &mut Row<S>,
) {
    let channels = gaussians.colors.channels();
    let v = &splats.v_colors[id * channels..(id + 1) * channels];
    let Colors::Harmonics { .. } = gaussians.colors else {
        v_color.copy_from_slice(v);
        return;
    };
    let stride = gaussians.colors.stride();
    let values = &gaussians.colors.values()[id * stride..(id + 1) * stride];
    let spellings = lens.spellings;
    let (d, length) = direction(gaussians, id, lens.eye());
    let zero = S::from_f64(0.0);
    let unclamped = sh::unclamped_again(values, d, spellings);
    // max(0, .): zero gradient where clamped.
    let v: V3<S> = std::array::from_fn(|i| S::choose(zero.less(unclamped[i]), v[i], zero));
    let v_offset = harmonics_vjp(values, (d, length), v, v_color, spellings);
    row.direction = v_offset;
    let both = |sum: S, term: S| rounded!(sum + term, spellings.at(8, 0), [sum, term]);
    row.mean = std::array::from_fn(|i| both(row.mean[i], v_offset[i]));
    // offset = mean + R_w^T t, so R_w[i][j] gets t[i] v[j] and t gets R_w v.
    let turned = mul_vec_again(&lens.rotation, v_offset, spellings.at(3, 0));
    row.translation = std::array::from_fn(|i| both(row.translation[i], turned[i]));
    for (target, &t) in row.rotation.iter_mut().zip(&lens.translation) {
        *target = std::array::from_fn(|k| both(target[k], t * v_offset[k]));
    }
}
