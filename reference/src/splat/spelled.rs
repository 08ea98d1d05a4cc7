//! The projection and a (pixel, Gaussian) pair as public programs spell them: the same mathematics, other
//! roundings.
//!
//! Each [`EvaluationOrder`] is a small program of the stages `project` and `project_backward` that shares no
//! expression of a matrix, a quotient or a polynomial that it spells otherwise with the oracle's. In f64
//! it gives the oracle's numbers but for roundings; in f32 it lies inside the oracle's bounds with as many
//! extra roundings as it states ([`CameraParams::spellings`]), and not inside those without any.

mod backward;
mod forward;
mod pair;

pub use backward::project_backward;
pub use forward::project;
pub use pair::{PRACTISED_PAIRS, Pair, PairInOrder, PairSpelling, PowerAs};

use crate::arithmetic::{Arith, ExtraRoundings, Scalar};
use crate::splat::linear::{M3, V3, dot, mul_vec, rows_mul, transpose};
use crate::splat::project::CameraParams;

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
const fn counted(roundings: u8) -> ExtraRoundings {
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
    fn over<A: Arith>(&self, a: A, b: A) -> A {
        if self.reciprocals { a * (b.like(1.0) / b) } else { a / b }
    }

    /// A vector of length |v| and what it is divided by: the unit vector, and 1/|v|.
    fn normalized<A: Arith, const N: usize>(&self, v: [A; N]) -> ([A; N], A) {
        let square = v.iter().skip(1).fold(v[0] * v[0], |sum, &x| sum + x * x);
        let (length, one) = (square.sqrt(), square.like(1.0));
        let inverse = one / length;
        let unit = if self.rsqrt { v.map(|x| x * inverse) } else { v.map(|x| x / length) };
        (unit, inverse)
    }
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
fn turned<S: Scalar>(on_screen: &[V3<S>; 2], lens: &CameraParams<S>) -> [V3<S>; 2] {
    rows_mul(on_screen, &lens.rotation)
}
