//! The ways to write the projection, and the stage `project` in each.

use crate::arithmetic::{Arith, EvaluationOrders, ExtraRoundings, Scalar, Tristate};
use crate::splat::convention::Convention;
use crate::splat::linear::{M3, V3, dot, mul_vec, rows_mul, transpose};
use crate::splat::project::{
    CameraParams, Projections, camera_mean, culled_by_depth, opacity, rotation, scaled,
};
use crate::splat::scene::{Colors, Gaussians};
use crate::splat::sh::{self, MAX_COEFFICIENTS, spelled};
use crate::splat::view::Splats;

/// Where a program forms the covariance before it is projected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CovarianceIn {
    /// Nowhere: the rows of J `R_w` R(q) diag(s) are multiplied, as the oracle does.
    Root,
    /// In world axes: T (M M^T) T^T with T = J `R_w` (Kerbl et al. 2023, equation 5).
    World,
    /// In camera axes: J (`R_w` (M M^T) `R_w`^T) J^T (Ye et al. 2025, gsplat, appendix).
    Camera,
}

/// A way to write the projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvaluationOrder {
    /// Its name.
    pub name: &'static str,
    /// Whether a quotient is a product with a reciprocal that is computed once.
    pub reciprocals: bool,
    /// Where the covariance is formed.
    pub covariance: CovarianceIn,
    /// Whether a vector is normalized by a product with the reciprocal of its length.
    pub rsqrt: bool,
    /// Whether the harmonics are the polynomials in z alone that equal the homogeneous ones on the unit
    /// sphere (Sloan, JCGT 2013, appendix A2).
    pub sloan: bool,
    /// The most roundings of a term on its way into an intermediate that the oracle's expression does not
    /// have, as `counted` counts them: what bounds are to count.
    pub extra_roundings: ExtraRoundings,
    /// The intermediate with that many, and what rounds.
    pub counted: &'static str,
}

/// The oracle's own.
const OURS: EvaluationOrder = EvaluationOrder {
    name: "oracle",
    reciprocals: false,
    covariance: CovarianceIn::Root,
    rsqrt: false,
    sloan: false,
    extra_roundings: ExtraRoundings::NONE,
    counted: "the expression itself",
};

/// So many roundings; more than can be counted do not compile.
pub(super) const fn counted(roundings: u8) -> ExtraRoundings {
    ExtraRoundings::new(roundings).expect("few enough to count")
}

/// What public programs write, one difference at a time, then all of gsplat's together.
///
/// A division or a root counts 5, which is what it may cost in fast CUDA in units of one rounding. A sum that
/// the oracle adds up in the same order counts nothing: its roundings are the oracle's own.
pub const KNOWN_ORDERS: [EvaluationOrder; 6] = [
    EvaluationOrder {
        name: "reciprocal",
        reciprocals: true,
        extra_roundings: counted(26),
        counted: "the gradient by the covariance: both conics 6 each, two matrix products 2 each, the \
                  share that inverse_eps leaves 9, its product 1",
        ..OURS
    },
    EvaluationOrder {
        name: "world covariance",
        covariance: CovarianceIn::World,
        extra_roundings: counted(16),
        counted: "the covariance: M M^T 3, both T 3 each, two matrix products 3 each, the blur 1",
        ..OURS
    },
    EvaluationOrder {
        name: "camera covariance",
        covariance: CovarianceIn::Camera,
        extra_roundings: counted(16),
        counted: "the covariance: M M^T 3, by R_w and by J from both sides 3 each, the blur 1",
        ..OURS
    },
    EvaluationOrder {
        name: "rsqrt",
        rsqrt: true,
        extra_roundings: counted(6),
        counted: "a unit vector: the reciprocal of its length 5, the product 1",
        ..OURS
    },
    EvaluationOrder {
        name: "sloan",
        sloan: true,
        extra_roundings: counted(36),
        counted: "the gradient by the direction of view: a derivative 5, its products 2, the sum over 16 \
                  coefficients and 3 channels 17, through the normalization 11; no less than the 24 by \
                  which |d|^2 may be off 1 and the 6 of a polynomial, or the 6 of the projection off d",
        ..OURS
    },
    EvaluationOrder {
        name: "gsplat",
        reciprocals: true,
        covariance: CovarianceIn::Camera,
        rsqrt: true,
        sloan: true,
        extra_roundings: counted(36),
        counted: "the largest of reciprocal, camera covariance, rsqrt and sloan, since they round the \
                  terms of different intermediates",
    },
];

impl EvaluationOrder {
    /// a / b
    pub(super) fn over<A: Arith>(&self, a: A, b: A) -> A {
        if self.reciprocals { a * (b.like(1.0) / b) } else { a / b }
    }

    /// A vector of length |v| and what it is divided by: the unit vector, and 1/|v|.
    pub(super) fn normalized<A: Arith, const N: usize>(&self, v: [A; N]) -> ([A; N], A) {
        let square = v.iter().skip(1).fold(v[0] * v[0], |sum, &x| sum + x * x);
        let (length, one) = (square.sqrt(), square.like(1.0));
        let inverse = one / length;
        let unit = if self.rsqrt { v.map(|x| x * inverse) } else { v.map(|x| x / length) };
        (unit, inverse)
    }
}

/// What a program keeps of one Gaussian and one camera.
pub(super) struct Step<S> {
    pub(super) mean: V3<S>,
    pub(super) unit_quat: [S; 4],
    /// 1/|q|
    pub(super) inverse_length: S,
    pub(super) rotation: M3<S>,
    /// R(q) diag(s)
    pub(super) scaled: M3<S>,
    pub(super) slope: [S; 2],
    pub(super) limited: [Tristate; 2],
    pub(super) on_screen: [V3<S>; 2],
    /// M M^T, in world and in camera axes.
    pub(super) covariances: [M3<S>; 2],
    /// The 2D covariance without the blur and with it.
    pub(super) sharp: V3<S>,
    pub(super) covariance: V3<S>,
    pub(super) dets: [S; 2],
    pub(super) conic: V3<S>,
    pub(super) mean2d: [S; 2],
}

impl EvaluationOrder {
    /// One Gaussian; `None` where it is culled.
    pub(super) fn step<S: Scalar>(
        &self,
        gaussians: &Gaussians<S>,
        id: usize,
        lens: &CameraParams<S>,
        convention: &Convention,
    ) -> Option<Step<S>> {
        let mean = camera_mean(gaussians, id, lens);
        let z = mean[2];
        if culled_by_depth(z, convention) == Tristate::Always {
            return None;
        }
        let (unit_quat, inverse_length) = self.normalized(gaussians.quats[id]);
        let rotation = rotation(unit_quat);
        let scaled = scaled(&rotation, gaussians.scales[id]);
        let (slope, limited) = self.slopes(mean, lens);
        let on_screen = self.jacobian(slope, z, lens);
        let covariances = covariances(&lens.rotation, &scaled);
        let sharp = match self.covariance {
            CovarianceIn::Root => {
                let root = rows_mul(&turned(&on_screen, lens), &scaled);
                [dot(root[0], root[0]), dot(root[0], root[1]), dot(root[1], root[1])]
            }
            CovarianceIn::World => sandwich(&turned(&on_screen, lens), &covariances[0]),
            CovarianceIn::Camera => sandwich(&on_screen, &covariances[1]),
        };
        let blur = S::from_f64(convention.eps2d);
        let covariance = [sharp[0] + blur, sharp[1], sharp[2] + blur];
        let dets = [sharp, covariance].map(|[a, b, c]| a * c - b * b);
        if S::from_f64(0.0).less(dets[1]) == Tristate::Never {
            return None;
        }
        let [a, b, c] = covariance;
        let w = z + S::from_f64(convention.w_eps);
        let pixel = |i: usize| {
            let f = lens.focal[i];
            if self.reciprocals {
                f * mean[i] * (S::from_f64(1.0) / w) + lens.principal[i]
            } else {
                f * (mean[i] / w) + lens.principal[i]
            }
        };
        Some(Step {
            mean,
            unit_quat,
            inverse_length,
            rotation,
            scaled,
            slope,
            limited,
            on_screen,
            covariances,
            sharp,
            covariance,
            dets,
            conic: [c, -b, a].map(|x| self.over(x, dets[1])),
            mean2d: [pixel(0), pixel(1)],
        })
    }

    fn slopes<S: Scalar>(&self, mean: V3<S>, lens: &CameraParams<S>) -> ([S; 2], [Tristate; 2]) {
        let slopes = [0, 1].map(|i| self.over(mean[i], mean[2]));
        let limited =
            [0, 1].map(|i| slopes[i].less(lens.limits[i][0]) | lens.limits[i][1].less(slopes[i]));
        ([0, 1].map(|i| lens.limits[i][1].min(lens.limits[i][0].max(slopes[i]))), limited)
    }

    /// Rows (f/z, 0, -f q/z^2) with q = z times the slope, by reciprocals; else the oracle's.
    fn jacobian<S: Scalar>(&self, slope: [S; 2], z: S, lens: &CameraParams<S>) -> [V3<S>; 2] {
        if !self.reciprocals {
            return lens.on_screen(slope, z);
        }
        let (zero, rz) = (S::from_f64(0.0), S::from_f64(1.0) / z);
        let ([fx, fy], square) = (lens.focal, rz * rz);
        let along = |f: S, slope: S| -(f * (z * slope)) * square;
        [[fx * rz, zero, along(fx, slope[0])], [zero, fy * rz, along(fy, slope[1])]]
    }

    /// The direction of view, and one over the distance.
    pub(super) fn direction<S: Scalar>(
        &self,
        gaussians: &Gaussians<S>,
        id: usize,
        lens: &CameraParams<S>,
    ) -> (V3<S>, S) {
        let position = lens.eye().position;
        self.normalized(std::array::from_fn(|i| gaussians.means[id][i] - position[i]))
    }

    /// The harmonics at a direction.
    pub(super) fn basis<S: Scalar>(&self, d: V3<S>, coefficients: usize) -> [S; MAX_COEFFICIENTS] {
        if self.sloan { spelled::basis(d, coefficients) } else { sh::basis(d, coefficients) }
    }

    /// The colour before its clamp, in Sloan's form the constant first.
    pub(super) fn unclamped<S: Scalar>(&self, sh: &[S], d: V3<S>) -> V3<S> {
        if !self.sloan {
            return sh::unclamped(sh, d);
        }
        let basis = self.basis(d, sh.len() / 3);
        std::array::from_fn(|channel| {
            let terms = sh.chunks_exact(3).zip(&basis).map(|(row, &b)| b * row[channel]);
            terms.fold(S::from_f64(0.5), |sum, term| sum + term)
        })
    }
}

/// The stage for one camera as `spelling` writes it.
#[must_use]
pub fn project<S: Scalar>(
    spelling: &EvaluationOrder,
    gaussians: &Gaussians<S>,
    lens: &CameraParams<S>,
    convention: &Convention,
) -> Projections<S> {
    let (n, channels, zero) = (gaussians.len(), gaussians.colors.channels(), S::from_f64(0.0));
    let mut out = Projections {
        splats: Splats::zeros(n, channels),
        covars2d: vec![[zero; 3]; n],
        depths: vec![zero; n],
        visible: vec![Tristate::Never; n],
    };
    let stride = gaussians.colors.stride();
    for id in 0..n {
        let Some(step) = spelling.step(gaussians, id, lens, convention) else { continue };
        let opacity =
            opacity(gaussians.opacities[id], step.dets, convention, EvaluationOrders::WRITTEN);
        (out.splats.means2d[id], out.splats.conics[id]) = (step.mean2d, step.conic);
        (out.splats.opacities[id], out.covars2d[id]) = (opacity, step.covariance);
        (out.depths[id], out.visible[id]) = (step.mean[2], Tristate::Always);
        let values = &gaussians.colors.values()[id * stride..(id + 1) * stride];
        let color = &mut out.splats.colors[id * channels..(id + 1) * channels];
        match gaussians.colors {
            Colors::Direct { .. } => color.copy_from_slice(values),
            Colors::Harmonics { .. } => {
                let (d, _) = spelling.direction(gaussians, id, lens);
                color.copy_from_slice(&spelling.unclamped(values, d).map(|c| c.max(zero)));
            }
        }
    }
    out
}

/// R S R^T for two rows of R and a symmetric S: xx, xy, yy.
fn sandwich<A: Arith>(rows: &[V3<A>; 2], s: &M3<A>) -> V3<A> {
    let [first, second] = rows.map(|row| mul_vec(s, row));
    [dot(rows[0], first), dot(rows[1], first), dot(rows[1], second)]
}

/// What a lens makes of a Gaussian's M: the covariance in world and in camera axes.
fn covariances<A: Arith>(rotation: &M3<A>, scaled: &M3<A>) -> [M3<A>; 2] {
    let world = rows_mul(scaled, &transpose(scaled));
    [world, rows_mul(&rows_mul(rotation, &world), &transpose(rotation))]
}

/// J `R_w`
pub(super) fn turned<S: Scalar>(on_screen: &[V3<S>; 2], lens: &CameraParams<S>) -> [V3<S>; 2] {
    rows_mul(on_screen, &lens.rotation)
}
