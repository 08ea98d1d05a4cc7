//! Projection: from 3D Gaussians to what the rasterization reads.
//!
//! EWA splatting (Zwicker et al. 2001; Kerbl et al. 2023, equations (5) and (6)): with p = `R_w` m + t
//! the mean in camera axes, J the Jacobian of the pinhole projection at p (x/z and y/z limited by
//! the convention) and M = R(q) diag(s), the 2D covariance is A A^T + eps2d I with A = J `R_w` M. It
//! is written as A A^T, not as a triple product, so that it is positive semidefinite by construction.

use crate::bin::Listing;
use crate::camera::Camera;
use crate::convention::{Convention, FieldOfViewClamp, FovClampGradient, NearRule};
use crate::linear::{M3, V3, add, dot, mul_vec, norm, rows_mul, scale};
use crate::scalar::{Scalar, Truth};
use crate::scene::{Colors, Gaussians};
use crate::sh;
use crate::view::Splats;
use rayon::prelude::*;

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
    pub(crate) limited: [bool; 2],
    /// J `R_w`.
    pub(crate) jacobian: [V3<S>; 2],
    /// J `R_w` R(q) diag(s).
    pub(crate) root: [V3<S>; 2],
    /// 2D covariance with the blur: xx, xy, yy, pixels^2.
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
}

/// A camera ready for projection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lens<S> {
    pub(crate) rotation: M3<S>,
    pub(crate) translation: V3<S>,
    pub(crate) focal: [S; 2],
    /// Added to f x/z: the principal point in the convention's pixel coordinates.
    principal: [S; 2],
    /// Lower and upper limits of x/z and y/z.
    limits: [[S; 2]; 2],
}

impl<S: Scalar> Lens<S> {
    pub(crate) fn new(camera: &Camera<S>, size: [u32; 2], convention: &Convention) -> Self {
        let v = &camera.viewmat;
        let rotation = [0, 1, 2].map(|i| [v[i][0], v[i][1], v[i][2]]);
        let [f, c] = [[camera.fx, camera.fy], [camera.cx, camera.cy]];
        let shift = 0.5 - convention.pixel_center;
        let limits = [0, 1].map(|i| {
            let tan = 0.5 * f64::from(size[i]) / f[i];
            let [low, high] = match convention.fov_clamp {
                FieldOfViewClamp::AboutAxis { factor } => [-factor * tan, factor * tan],
                FieldOfViewClamp::AboutPrincipalPoint { margin } => [
                    -(c[i] / f[i] + margin * tan),
                    (f64::from(size[i]) - c[i]) / f[i] + margin * tan,
                ],
            };
            [S::from_f64(low), S::from_f64(high)]
        });
        Self {
            rotation,
            translation: [v[0][3], v[1][3], v[2][3]],
            focal: f.map(S::from_f64),
            principal: c.map(|c| S::from_f64(c - shift)),
            limits,
        }
    }

    /// The camera's position in the world: -R^T t.
    pub(crate) fn position(&self) -> V3<S> {
        crate::linear::transpose_mul_vec(&self.rotation, self.translation).map(|x| -x)
    }
}

/// The rotation matrix of a unit quaternion w x y z.
#[must_use]
pub fn rotation<S: Scalar>([w, x, y, z]: [S; 4]) -> M3<S> {
    let (one, two) = (S::from_f64(1.0), S::from_f64(2.0));
    [
        [one - two * (y * y + z * z), two * (x * y - w * z), two * (x * z + w * y)],
        [two * (x * y + w * z), one - two * (x * x + z * z), two * (y * z - w * x)],
        [two * (x * z - w * y), two * (y * z + w * x), one - two * (x * x + y * y)],
    ]
}

/// Whether the convention culls a Gaussian at this depth.
pub(crate) fn culled_by_depth<S: Scalar>(depth: S, convention: &Convention) -> Truth {
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

/// Projects Gaussian `id`; `None` where it is culled by depth or has no area.
#[must_use]
pub(crate) fn project_one<S: Scalar>(
    gaussians: &Gaussians<S>,
    id: usize,
    lens: &Lens<S>,
    convention: &Convention,
) -> Option<Projection<S>> {
    let camera_mean = add(mul_vec(&lens.rotation, gaussians.means[id]), lens.translation);
    let [x, y, z] = camera_mean;
    let culled = match culled_by_depth(z, convention) {
        Truth::Always => true,
        Truth::Never => false,
        Truth::Undecided => culled_by_depth(z.value(), convention) == Truth::Always,
    };
    if culled {
        return None;
    }
    let quat = gaussians.quats[id];
    let quat_norm =
        (quat[0] * quat[0] + quat[1] * quat[1] + quat[2] * quat[2] + quat[3] * quat[3]).sqrt();
    let unit_quat = quat.map(|q| q / quat_norm);
    let rotation = rotation(unit_quat);
    let scaled = rotation.map(|row| {
        let s = gaussians.scales[id];
        [row[0] * s[0], row[1] * s[1], row[2] * s[2]]
    });
    let (slope, limited) = limited_slopes([x, y], z, lens, convention.fov_clamp_gradient);
    let [fx, fy] = lens.focal;
    let zero = S::from_f64(0.0);
    let on_screen = [[fx / z, zero, -(fx * slope[0]) / z], [zero, fy / z, -(fy * slope[1]) / z]];
    let jacobian = rows_mul(&on_screen, &lens.rotation);
    let root = rows_mul(&jacobian, &scaled);
    let sharp = [dot(root[0], root[0]), dot(root[0], root[1]), dot(root[1], root[1])];
    let blur = S::from_f64(convention.eps2d);
    let covariance = [sharp[0] + blur, sharp[1], sharp[2] + blur];
    let det = |[a, b, c]: V3<S>| a * c - b * b;
    let dets = [det(sharp), det(covariance)];
    if !(dets[1].value() > 0.0) {
        return None;
    }
    let w = z + S::from_f64(convention.w_eps);
    Some(Projection {
        camera_mean,
        unit_quat,
        quat_norm,
        rotation,
        slope,
        limited,
        jacobian,
        root,
        covariance,
        dets,
        mean2d: [fx * (x / w) + lens.principal[0], fy * (y / w) + lens.principal[1]],
        conic: conic(covariance, dets[1], convention.inverse_eps),
        opacity: opacity(gaussians.opacities[id], dets, convention),
        depth: z,
    })
}

/// The opacity to blend with: antialiased mode multiplies it by `sqrt(det/det_blurred)`, which keeps
/// the integral of a splat narrower than the blur (Yu et al. 2024, Mip-Splatting).
fn opacity<S: Scalar>(opacity: S, dets: [S; 2], convention: &Convention) -> S {
    if convention.antialiased { opacity * compensation(dets) } else { opacity }
}

/// sqrt(max(0, `det/det_blurred`)).
pub(crate) fn compensation<S: Scalar>([sharp, blurred]: [S; 2]) -> S {
    let zero = S::from_f64(0.0);
    let ratio = sharp / blurred;
    if ratio.value() > 0.0 { ratio.sqrt() } else { zero }
}

/// The inverse of the covariance with determinant `det`. Its gradient is by convention the
/// derivative times det^2/(det^2 + `inverse_eps`).
fn conic<S: Scalar>([a, b, c]: V3<S>, det: S, inverse_eps: f64) -> V3<S> {
    let square = det * det;
    let factor = square / (square + S::from_f64(inverse_eps));
    let factor = factor.with_gradient_of(S::from_f64(0.0));
    [c / det, -b / det, a / det].map(|x| x.with_gradient_of(x * factor))
}

/// x/z and y/z within the lens' limits, and whether each was changed.
///
/// A coordinate that was changed is limit z. Its gradient is the derivative of that, or by Inria's
/// convention that of a constant.
fn limited_slopes<S: Scalar>(
    mean: [S; 2],
    z: S,
    lens: &Lens<S>,
    gradient: FovClampGradient,
) -> ([S; 2], [bool; 2]) {
    let mut limited = [false; 2];
    let slope = std::array::from_fn(|i| {
        let [low, high] = lens.limits[i];
        let slope = mean[i] / z;
        limited[i] = slope.value_less(low) || high.value_less(slope);
        let within = high.min(low.max(slope));
        if limited[i] && gradient == FovClampGradient::Constant {
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
    position: V3<S>,
) -> (V3<S>, S) {
    let offset = add(gaussians.means[id], position.map(|x| -x));
    let length = norm(offset);
    (scale(S::from_f64(1.0) / length, offset), length)
}

/// Gaussians that one thread projects together.
const PART: usize = 256;

/// Projects every Gaussian for one camera: the rasterization's inputs, and where each Gaussian is
/// listed. Culled ones hold zeros and are listed nowhere.
pub(crate) fn project<S: Scalar>(
    gaussians: &Gaussians<S>,
    lens: &Lens<S>,
    convention: &Convention,
    tiles: [u32; 2],
) -> (Splats<S>, Vec<Option<Listing>>) {
    let (zero, n, channels) = (S::from_f64(0.0), gaussians.len(), gaussians.colors.channels());
    let mut splats = Splats {
        means2d: vec![[zero; 2]; n],
        conics: vec![[zero; 3]; n],
        opacities: vec![zero; n],
        channels,
        colors: vec![zero; n * channels],
    };
    let mut listings = vec![None; n];
    let position = lens.position();
    (splats.means2d.par_chunks_mut(PART))
        .zip(splats.conics.par_chunks_mut(PART))
        .zip(splats.opacities.par_chunks_mut(PART))
        .zip(splats.colors.par_chunks_mut(PART * channels))
        .zip(listings.par_chunks_mut(PART))
        .enumerate()
        .for_each(|(part, ((((means2d, conics), opacities), colors), listings))| {
            for (i, color) in colors.chunks_exact_mut(channels).enumerate() {
                let id = part * PART + i;
                let Some(p) = project_one(gaussians, id, lens, convention) else { continue };
                (means2d[i], conics[i], opacities[i]) = (p.mean2d, p.conic, p.opacity);
                write_color(gaussians, id, position, color);
                listings[i] = Some(Listing::new(&p, convention, tiles));
            }
        });
    (splats, listings)
}

/// The colour of one Gaussian seen from `position`: given directly, or max(0, harmonics + 0.5).
fn write_color<S: Scalar>(gaussians: &Gaussians<S>, id: usize, position: V3<S>, out: &mut [S]) {
    let stride = gaussians.colors.stride();
    let values = &gaussians.colors.values()[id * stride..(id + 1) * stride];
    match gaussians.colors {
        Colors::Direct { .. } => out.copy_from_slice(values),
        Colors::Harmonics { .. } => {
            let (d, _) = direction(gaussians, id, position);
            let zero = S::from_f64(0.0);
            out.copy_from_slice(&sh::unclamped(values, d).map(|c| c.max(zero)));
        }
    }
}
