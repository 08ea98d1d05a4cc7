//! The projection as public programs spell it: the same mathematics, other roundings.
//!
//! Each [`Spelling`] is a small program of the stages `project` and `project_backward` that shares no
//! expression of a matrix, a quotient or a polynomial that it spells otherwise with the oracle's. In f64
//! it gives the oracle's numbers but for roundings; in f32 it lies inside the oracle's bounds with as many
//! extra roundings as it states ([`Lens::extra_roundings`]), and not inside those without any.

mod backward;
mod forward;

pub use backward::project_backward;
pub use forward::project;

use crate::arithmetic::{Arith, ExtraRoundings};
use crate::splat::linear::{M3, V3, dot, mul_vec, transpose};
use crate::splat::project::Lens;

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
pub struct Spelling {
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
    /// have, as `counted` counts them.
    pub roundings: u8,
    /// The intermediate with that many, and what rounds.
    pub counted: &'static str,
}

/// The oracle's own.
const OURS: Spelling = Spelling {
    name: "oracle",
    reciprocals: false,
    covariance: CovarianceIn::Root,
    rsqrt: false,
    sloan: false,
    roundings: 0,
    counted: "the expression itself",
};

/// What public programs write, one difference at a time, then all of gsplat's together.
pub const PRACTISED: [Spelling; 6] = [
    Spelling {
        name: "reciprocal",
        reciprocals: true,
        roundings: 12,
        counted: "v_z by J: 2 f q rz^3 v with rz = 1/z: z times the slope 1, rz 3, its powers 2, \
                  products 4, sums 2",
        ..OURS
    },
    Spelling {
        name: "world covariance",
        covariance: CovarianceIn::World,
        roundings: 16,
        counted: "the covariance: M M^T 3, both T 2 each, two matrix products 3 each, the blur 1, and \
                  where it is symmetric by name only, the sum of both halves 2",
        ..OURS
    },
    Spelling {
        name: "camera covariance",
        covariance: CovarianceIn::Camera,
        roundings: 18,
        counted: "v_R_w by the covariance: M M^T 3, J^T v J 6, two matrix products 3 each, the factor 2 \
                  and the sum with v of the mean 3",
        ..OURS
    },
    Spelling {
        name: "rsqrt",
        rsqrt: true,
        roundings: 6,
        counted: "the unit quaternion: the squares' sum 4, halved by the root to 2, the root 1, its \
                  reciprocal 1, the product 1, one where a model's root errs by two units",
        ..OURS
    },
    Spelling {
        name: "sloan",
        sloan: true,
        roundings: 16,
        counted: "the harmonics: |d|^2 is 1 but for twice d's 5, and 6 of the polynomial",
        ..OURS
    },
    Spelling {
        name: "gsplat",
        reciprocals: true,
        covariance: CovarianceIn::Camera,
        rsqrt: true,
        sloan: true,
        roundings: 18,
        counted: "the largest of reciprocal, camera covariance, rsqrt and sloan, since they round the \
                  terms of different intermediates",
    },
];

impl Spelling {
    /// [`Self::roundings`] as bounds count them.
    #[must_use]
    pub fn extra_roundings(&self) -> ExtraRoundings {
        ExtraRoundings::new(self.roundings).unwrap_or_default()
    }

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

/// A B
fn product<A: Arith>(a: &M3<A>, b: &M3<A>) -> M3<A> {
    let columns = transpose(b);
    a.map(|row| columns.map(|column| dot(row, column)))
}

/// A A^T
fn square<A: Arith>(a: &M3<A>) -> M3<A> {
    product(a, &transpose(a))
}

/// R S R^T for two rows of R and a symmetric S: xx, xy, yy.
fn sandwich<A: Arith>(rows: &[V3<A>; 2], s: &M3<A>) -> V3<A> {
    let [first, second] = rows.map(|row| mul_vec(s, row));
    [dot(rows[0], first), dot(rows[1], first), dot(rows[1], second)]
}

/// What a lens makes of a Gaussian's M: the covariance in world and in camera axes.
fn covariances<A: Arith>(rotation: &M3<A>, scaled: &M3<A>) -> [M3<A>; 2] {
    let world = square(scaled);
    [world, product(&product(rotation, &world), &transpose(rotation))]
}

/// J `R_w`
fn turned<S: crate::arithmetic::Scalar>(on_screen: &[V3<S>; 2], lens: &Lens<S>) -> [V3<S>; 2] {
    crate::splat::linear::rows_mul(on_screen, &lens.rotation)
}
