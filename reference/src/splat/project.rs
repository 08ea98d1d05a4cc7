//! Projection: from 3D Gaussians to what the rasterization reads.
//!
//! EWA splatting (Zwicker et al. 2001; Kerbl et al. 2023, equations (5) and (6)): with p = `R_w` m + t
//! the mean in camera axes, J the Jacobian of the pinhole projection at p (x/z and y/z limited by
//! the convention) and M = R(q) diag(s), the 2D covariance is A A^T + eps2d I with A = J `R_w` M. It
//! is written as A A^T, not as a triple product, so that it is positive semidefinite by construction.
//!
//! Public programs spell these expressions otherwise: by reciprocals, with the covariance in world or
//! camera axes first, with other polynomials of the harmonics. With [`CameraParams::spellings`] the bounds hold
//! those as well, as `arithmetic/extra.rs` derives: the radius of each intermediate that has a name grows
//! by K u times the magnitudes of its terms, with K counted over the standard derivations (see
//! `splat/backward/project.rs`). Names have the mean in camera axes, the quaternion's length, the unit quaternion, R(q), x/z and y/z, J, the
//! 2D covariance, its determinants, the conic, the projected mean, the compensation, the direction of
//! view with its length, each of the harmonics, and the colour. What another program need not form, J
//! `R_w` and A, counts by the magnitudes of its own terms ([`Spread`]).

mod lens;
pub(crate) mod on_image;
mod spread;

use crate::arithmetic::{Arith, EvaluationOrders, Scalar, Tristate, rounded};
use crate::splat::convention::{Convention, FovClampGradient, NearRule};
use crate::splat::linear::{M3, V3, add, dot, dot_again, each, mul_vec, rows_mul, scale};
use crate::splat::pair::one_term;
use crate::splat::scene::{Colors, Gaussians};
use crate::splat::sh;
use crate::splat::view::Splats;
pub use lens::CameraParams;
pub(crate) use lens::Eye;
use rayon::prelude::*;
pub(crate) use spread::{Spread, product};

/// One Gaussian as one camera sees it, with what the backward stage needs again.
#[derive(Clone, Copy, Debug)]
pub struct Projection<S> {
    /// Mean in camera axes.
    pub(crate) camera_mean: V3<S>,
    /// Unit quaternion w x y z and the length it was divided by.
    pub(crate) unit_quat: [S; 4],
    pub(crate) quat_norm: S,
    /// R(q).
    pub(crate) rotation: M3<S>,
    /// x/z and y/z as limited for the Jacobian.
    pub(crate) slope: [S; 2],
    /// Whether each was limited.
    pub(crate) limited: [Tristate; 2],
    /// J `R_w`.
    pub(crate) jacobian: [V3<S>; 2],
    /// J `R_w` R(q) diag(s).
    pub(crate) root: [V3<S>; 2],
    /// 2D covariance without the blur: xx, xy, yy, pixels^2.
    pub(crate) sharp: V3<S>,
    /// The same with the blur.
    pub covariance: V3<S>,
    /// Determinants of the 2D covariance without and with the blur.
    pub(crate) dets: [S; 2],
    /// Projected mean, pixels.
    pub mean2d: [S; 2],
    /// Inverse of `covariance`, upper triangle.
    pub conic: V3<S>,
    /// Opacity, antialiased where the convention says so.
    pub opacity: S,
    /// Depth along the optical axis, scene units.
    pub depth: S,
    /// Whether the Gaussian is neither culled nor without area: [`Tristate::Undecided`] where a
    /// conforming program may also leave it out.
    pub(crate) seen: Tristate,
    /// What the values alone decide about that.
    pub(crate) value_seen: bool,
}

/// The rotation matrix of a unit quaternion w x y z.
#[must_use]
pub fn rotation<S: Scalar>(quat: [S; 4]) -> M3<S> {
    rotation_again(quat, EvaluationOrders::WRITTEN)
}

/// The same as other programs spell it, some of them from a quaternion that has not the length 1: with
/// 2/|q|^2 for the factor 2, or by homogeneous polynomials over |q|^2.
fn rotation_again<S: Scalar>([w, x, y, z]: [S; 4], spellings: EvaluationOrders) -> M3<S> {
    let (one, two, extra) = (S::from_f64(1.0), S::from_f64(2.0), spellings.at(9, 2));
    let diagonal = |[a, b]: [S; 2]| {
        rounded!(one - two * (a * a + b * b), extra, [one, two * (a * a), two * (b * b)])
    };
    let sum = |a: S, b: S| rounded!(two * (a + b), extra, [two * a, two * b]);
    let difference = |a: S, b: S| rounded!(two * (a - b), extra, [two * a, two * b]);
    [
        [diagonal([y, z]), difference(x * y, w * z), sum(x * z, w * y)],
        [sum(x * y, w * z), diagonal([x, z]), difference(y * z, w * x)],
        [difference(x * z, w * y), sum(y * z, w * x), diagonal([x, y])],
    ]
}

/// Whether the convention culls a Gaussian at this depth.
pub(crate) fn culled_by_depth<S: Scalar>(depth: S, convention: &Convention) -> Tristate {
    let near = S::from_f64(convention.near);
    let in_front = match convention.near_rule {
        NearRule::Less => depth.less(near),
        NearRule::LessOrEqual => !near.less(depth),
    };
    if convention.far.is_finite() {
        in_front | S::from_f64(convention.far).less(depth)
    } else {
        in_front
    }
}

/// The mean in camera axes.
pub(crate) fn camera_mean<S: Scalar>(
    gaussians: &Gaussians<S>,
    id: usize,
    lens: &CameraParams<S>,
) -> V3<S> {
    // Four, and four where the projection to the screen is one matrix, rounded itself.
    let (mean, extra) = (gaussians.means[id], lens.spellings.at(8, 0));
    let sum = add(mul_vec(&lens.rotation, mean), lens.translation);
    std::array::from_fn(|i| {
        let ([x, y, z], t) = (lens.rotation[i], lens.translation[i]);
        rounded!(sum[i], extra, [x * mean[0], y * mean[1], z * mean[2], t])
    })
}

/// The length of a quaternion and the unit quaternion.
fn normalized<S: Scalar>(quat: [S; 4], spellings: EvaluationOrders) -> (S, [S; 4]) {
    let square = quat[0] * quat[0] + quat[1] * quat[1] + quat[2] * quat[2] + quat[3] * quat[3];
    let square = rounded!(square, spellings.at(4, 0), quat.map(|q| q * q));
    let length = one_term(square.sqrt(), spellings.at(0, 2));
    (length, each(quat, |q| one_term(q / length, spellings.at(1, 3))))
}

/// A A^T for the rows of A, of whose terms `spread` are the magnitudes.
fn gram<S: Scalar>(root: &[V3<S>; 2], spread: &Spread<S>, spellings: EvaluationOrders) -> V3<S> {
    each([[0, 0], [0, 1], [1, 1]], |[a, b]: [usize; 2]| {
        let terms = || std::array::from_fn::<_, 3, _>(|k| spread.root[a][k] * spread.root[b][k]);
        dot(root[a], root[b]).rounded_again(spellings.at(18, 0), terms)
    })
}

/// Projects Gaussian `id`; `None` where it is certainly culled by depth or without area.
#[must_use]
pub(crate) fn project_one<S: Scalar>(
    gaussians: &Gaussians<S>,
    id: usize,
    lens: &CameraParams<S>,
    convention: &Convention,
) -> Option<Projection<S>> {
    let camera_mean = camera_mean(gaussians, id, lens);
    let [x, y, z] = camera_mean;
    let culled = culled_by_depth(z, convention);
    if culled == Tristate::Always {
        return None;
    }
    let spellings = lens.spellings;
    let (quat_norm, unit_quat) = normalized(gaussians.quats[id], spellings);
    let rotation = rotation_again(unit_quat, spellings);
    let scaled = scaled(&rotation, gaussians.scales[id]);
    let (slope, limited) = limited_slopes([x, y], z, lens, convention.fov_clamp_gradient);
    let [fx, fy] = lens.focal;
    let zero = S::from_f64(0.0);
    let on_screen = lens.on_screen(slope, z);
    let jacobian = rows_mul(&on_screen, &lens.rotation);
    let root = rows_mul(&jacobian, &scaled);
    let sharp = gram(&root, &Spread::new(&on_screen, lens, &scaled), spellings);
    let blur = S::from_f64(convention.eps2d);
    let blurred = |x: S| rounded!(x + blur, spellings.at(1, 0), [x, blur]);
    let covariance = [blurred(sharp[0]), sharp[1], blurred(sharp[2])];
    let det = |[a, b, c]: V3<S>| rounded!(a * c - b * b, spellings.at(3, 2), [a * c, b * b]);
    let dets = [det(sharp), det(covariance)];
    let left_out = culled | !zero.less(dets[1]);
    if left_out == Tristate::Always {
        return None;
    }
    let value_seen =
        culled != Tristate::Undecided || culled_by_depth(z.value(), convention) == Tristate::Never;
    let w = z + S::from_f64(convention.w_eps);
    // Through normalized device coordinates the center is added before the width is multiplied, and the sample
    // point is taken off last: what is rounded is then that much larger than the center that remains.
    let shift = S::from_f64(0.5 - convention.pixel_center);
    let pixel = |f: S, x: S, center: S| {
        rounded!(f * (x / w) + center, spellings.at(6, 3), [f * (x / w), center, shift])
    };
    Some(Projection {
        camera_mean,
        unit_quat,
        quat_norm,
        rotation,
        slope,
        limited,
        jacobian,
        root,
        sharp,
        covariance,
        dets,
        mean2d: [pixel(fx, x, lens.principal[0]), pixel(fy, y, lens.principal[1])],
        conic: conic(covariance, dets[1], convention.inverse_eps, spellings),
        opacity: opacity(gaussians.opacities[id], dets, convention, spellings),
        depth: z,
        seen: !left_out,
        value_seen: value_seen && dets[1].value() > 0.0,
    })
}

/// The opacity to blend with: antialiased mode multiplies it by `sqrt(det/det_blurred)`, which keeps
/// the integral of a splat narrower than the blur (Yu et al. 2024, Mip-Splatting).
pub(crate) fn opacity<S: Scalar>(
    opacity: S,
    dets: [S; 2],
    convention: &Convention,
    spellings: EvaluationOrders,
) -> S {
    if convention.antialiased { opacity * compensation(dets, spellings) } else { opacity }
}

/// sqrt(max(0, `det/det_blurred`)).
pub(crate) fn compensation<S: Scalar>([sharp, blurred]: [S; 2], spellings: EvaluationOrders) -> S {
    let root = (sharp / blurred).root_above(0.0);
    one_term(root, spellings.at(1, 4))
}

/// R(q) diag(s)
pub(crate) fn scaled<A: Arith>(rotation: &M3<A>, s: V3<A>) -> M3<A> {
    each(*rotation, |row| [row[0] * s[0], row[1] * s[1], row[2] * s[2]])
}

/// The inverse of the covariance with determinant `det`; a program may also eliminate, which divides three
/// times (Higham 2002, theorem 9.3 and section 14.1: an entry's error is one of |S^-1| |L| |U| |S^-1|, which
/// the determinant's terms and [`eliminated`] have). Its gradient is by convention the
/// derivative times det^2/(det^2 + `inverse_eps`).
fn conic<S: Scalar>(
    [a, b, c]: V3<S>,
    det: S,
    inverse_eps: f64,
    spellings: EvaluationOrders,
) -> V3<S> {
    let square = det * det;
    let factor = square / (square + S::from_f64(inverse_eps));
    let factor = factor.with_gradient_of(S::from_f64(0.0));
    let extra = spellings.at(5, 3);
    let [first, second, third] =
        each([c / det, -b / det, a / det], |x| one_term(x.with_gradient_of(x * factor), extra));
    [first, rounded!(second, extra, [eliminated([a, b, c]) / det]), third]
}

/// With a pivot of b, which it takes where |b| > a, elimination has the inverse's entry off the diagonal as
/// (1 - a c/det)/b: what a c/det loses there, times det; 0 where the pivot is a.
pub(crate) fn eliminated<S: Scalar>([a, b, c]: V3<S>) -> S {
    if (b.less(a), (-b).less(a)) == (Tristate::Always, Tristate::Always) {
        return S::from_f64(0.0);
    }
    a * c / b
}

/// x/z and y/z within the lens' limits, and whether each was changed.
///
/// A coordinate that was changed is limit z. Its gradient is the derivative of that, or by Inria's
/// convention that of a constant.
fn limited_slopes<S: Scalar>(
    mean: [S; 2],
    z: S,
    lens: &CameraParams<S>,
    gradient: FovClampGradient,
) -> ([S; 2], [Tristate; 2]) {
    let mut limited = [Tristate::Never; 2];
    let slope = std::array::from_fn(|i| {
        let [low, high] = lens.limits[i];
        let slope = one_term(mean[i] / z, lens.spellings.at(1, 2));
        limited[i] = slope.less(low) | high.less(slope);
        let within = high.min(low.max(slope));
        if limited[i] == Tristate::Always && gradient == FovClampGradient::Constant {
            let coordinate = (within * z).with_gradient_of(S::from_f64(0.0));
            within.with_gradient_of(coordinate / z)
        } else {
            within
        }
    });
    (slope, limited)
}

/// The unit vector from the camera to Gaussian `id`, and the distance.
pub(crate) fn direction<S: Scalar>(
    gaussians: &Gaussians<S>,
    id: usize,
    Eye { position, spellings }: Eye<S>,
) -> (V3<S>, S) {
    let mean = gaussians.means[id];
    let offset = add(mean, each(position, |x| -x));
    let offset =
        std::array::from_fn(|i| rounded!(offset[i], spellings.at(1, 0), [mean[i], position[i]]));
    unit_vector(offset, spellings)
}

/// The unit vector along another one, and that one's length.
pub(crate) fn unit_vector<S: Scalar>(offset: V3<S>, spellings: EvaluationOrders) -> (V3<S>, S) {
    let square = dot_again(offset, offset, spellings.at(3, 0));
    let length = one_term(square.sqrt(), spellings.at(0, 2));
    let unit = scale(S::from_f64(1.0) / length, offset);
    (each(unit, |x| one_term(x, spellings.at(1, 3))), length)
}

/// What the stage gives for one camera; zeros for the Gaussians that are certainly left out.
#[derive(Clone, Debug)]
pub struct Projections<S> {
    /// What is rasterized.
    pub splats: Splats<S>,
    /// `[N,3]` 2D covariances with the blur: xx, xy, yy, pixels^2.
    pub covars2d: Vec<[S; 3]>,
    /// `[N]` depths along the optical axis, scene units.
    pub depths: Vec<S>,
    /// `[N]` whether a Gaussian is projected: neither culled nor without area.
    pub visible: Vec<Tristate>,
}

/// The stage for one camera.
#[must_use]
pub fn project_splats<S: Scalar>(
    gaussians: &Gaussians<S>,
    lens: &CameraParams<S>,
    convention: &Convention,
) -> Projections<S> {
    Projections::new(gaussians, lens, &project_all(gaussians, lens, convention))
}

impl<S: Scalar> Projections<S> {
    /// From what [`project_all`] gives.
    pub(crate) fn new(
        gaussians: &Gaussians<S>,
        lens: &CameraParams<S>,
        all: &[Option<Projection<S>>],
    ) -> Self {
        let zero = S::from_f64(0.0);
        let of =
            |p: &Option<Projection<S>>| p.map_or(([zero; 3], zero), |p| (p.covariance, p.depth));
        let (covars2d, depths) = all.iter().map(of).unzip();
        Self {
            splats: splats(gaussians, lens, all),
            covars2d,
            depths,
            visible: all.iter().map(|p| p.map_or(Tristate::Never, |p| p.seen)).collect(),
        }
    }
}

/// [`project_one`] for every Gaussian.
pub(crate) fn project_all<S: Scalar>(
    gaussians: &Gaussians<S>,
    lens: &CameraParams<S>,
    convention: &Convention,
) -> Vec<Option<Projection<S>>> {
    let ids = (0..gaussians.len()).into_par_iter();
    ids.map(|id| project_one(gaussians, id, lens, convention)).collect()
}

/// The rasterization's inputs; certainly culled Gaussians hold zeros.
pub(crate) fn splats<S: Scalar>(
    gaussians: &Gaussians<S>,
    lens: &CameraParams<S>,
    projections: &[Option<Projection<S>>],
) -> Splats<S> {
    let (eye, channels) = (lens.eye(), gaussians.colors.channels());
    let mut splats = Splats::zeros(gaussians.len(), channels);
    for (id, p) in projections.iter().enumerate() {
        let Some(p) = p else { continue };
        (splats.means2d[id], splats.conics[id]) = (p.mean2d, p.conic);
        splats.opacities[id] = p.opacity;
        let color = &mut splats.colors[id * channels..(id + 1) * channels];
        write_color(gaussians, id, eye, color);
    }
    splats
}

/// The colour of one Gaussian as it is seen: given directly, or max(0, harmonics + 0.5).
pub(crate) fn write_color<S: Scalar>(
    gaussians: &Gaussians<S>,
    id: usize,
    eye: Eye<S>,
    out: &mut [S],
) {
    let stride = gaussians.colors.stride();
    let values = &gaussians.colors.values()[id * stride..(id + 1) * stride];
    match gaussians.colors {
        Colors::Direct { .. } => out.copy_from_slice(values),
        Colors::Harmonics { .. } => {
            let (d, _) = direction(gaussians, id, eye);
            let zero = S::from_f64(0.0);
            out.copy_from_slice(&each(sh::unclamped_again(values, d, eye.spellings), |c| {
                c.max(zero)
            }));
        }
    }
}
