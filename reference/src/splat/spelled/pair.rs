//! One (pixel, Gaussian) pair as public programs spell it: the power, and the gradient of the mean.
//!
//! The power of a pair is -sigma, sigma = (a dx^2 + c dy^2)/2 + b dx dy. For a conic of positive
//! determinant b^2/a is below c, so that the terms into which another form splits sigma are no larger than
//! the three of the oracle's, and its roundings can be counted on those.

use super::forward::counted;
use crate::arithmetic::{Arith, ExtraRoundings, Scalar, exp};
use crate::splat::pair::{PairGradient, alpha_vjp, sigma};

/// What a pair is made of: all that the stages `rasterize` and `rasterize_backward` know of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair<A> {
    /// pixels
    pub mean2d: [A; 2],
    /// The pixel's sample point, pixels.
    pub sample: [A; 2],
    /// (a, b, c), 1/pixels^2
    pub conic: [A; 3],
    /// Of the Gaussian.
    pub opacity: A,
    /// Gradient of the pair's alpha.
    pub v_alpha: A,
}

impl Pair<f32> {
    /// The same in other arithmetic.
    #[must_use]
    pub fn lifted<S: Scalar>(&self) -> Pair<S> {
        let of = S::from_f32;
        Pair {
            mean2d: self.mean2d.map(of),
            sample: self.sample.map(of),
            conic: self.conic.map(of),
            opacity: of(self.opacity),
            v_alpha: of(self.v_alpha),
        }
    }
}

impl<A: Arith> Pair<A> {
    /// (dx, dy) = mean2d - sample point, pixels.
    #[must_use]
    pub fn offset(&self) -> [A; 2] {
        [self.mean2d[0] - self.sample[0], self.mean2d[1] - self.sample[1]]
    }
}

/// How a program writes sigma.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerAs {
    /// As the oracle does.
    Conic,
    /// a (dx + b/a dy)^2/2 + (c - b^2/a) dy^2/2
    CompletedSquares,
    /// |L^T (dx, dy)|^2/2 with the conic's Cholesky factor L.
    Factor,
    /// The conic times log2 e, for 2 to the power.
    BaseTwo,
}

/// A way to write a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairSpelling {
    /// Its name.
    pub name: &'static str,
    /// How sigma is written.
    pub power: PowerAs,
    /// Whether the gradient of the mean multiplies each offset by the Gaussian's value first:
    /// -(G dx a + G dy b), the sum times the gradient of G.
    pub mean_by_parts: bool,
    /// As of [`EvaluationOrder`](super::EvaluationOrder).
    pub extra_roundings: ExtraRoundings,
    /// The intermediate with that many, and what rounds.
    pub counted: &'static str,
}

const OURS: PairSpelling = PairSpelling {
    name: "oracle",
    power: PowerAs::Conic,
    mean_by_parts: false,
    extra_roundings: ExtraRoundings::NONE,
    counted: "the expression itself",
};

/// What public programs write.
///
/// Counted on the terms a dx^2/2, c dy^2/2 and b dx dy of sigma; a division or a root counts 5. The error of
/// a square is twice its root's: with p = b/a (5), p dy (6) and e = dx + p dy (1 more of each), a e^2/2 has
/// 2 a |e| |error of e|/2 <= (|dx| + |p dy|) (|dx| + 7 |p dy|) a, which is 2, 8 and 14 of the terms, and the
/// products have 2 more of each.
pub const PRACTISED_PAIRS: [PairSpelling; 4] = [
    PairSpelling {
        name: "completed squares",
        power: PowerAs::CompletedSquares,
        extra_roundings: counted(26),
        counted: "the power, of the term c dy^2/2: 16 by the first square, c - b^2/a 7, its products 2, \
                  the sum 1",
        ..OURS
    },
    PairSpelling {
        name: "Cholesky factor",
        power: PowerAs::Factor,
        extra_roundings: counted(61),
        counted: "the power, of the term c dy^2/2: 25 by the first square (the factors 5 and 10, products \
                  and sum 2), c - (b/l)^2 22, its root, product and square 13, the sum 1",
        ..OURS
    },
    PairSpelling {
        name: "base two",
        power: PowerAs::BaseTwo,
        extra_roundings: counted(4),
        counted: "the power: log2 e and its product with the conic 1 each, and both products with the \
                  offset, which round where the oracle's are exact (a conic of powers of two)",
        ..OURS
    },
    PairSpelling {
        name: "mean by parts",
        mean_by_parts: true,
        extra_roundings: counted(1),
        counted: "the gradient of the mean: the product of G and the offset, which both terms have for \
                  themselves",
        ..OURS
    },
];

/// What a program makes of a pair.
#[derive(Clone, Copy, Debug)]
pub struct PairInOrder<A> {
    /// -sigma, or that times log2 e.
    pub power: A,
    /// What the power is to be multiplied by to be -sigma.
    pub unit: f64,
    /// e to the power -sigma, rounded once.
    pub gauss: A,
    /// What the pair passes back to its Gaussian.
    pub gradient: PairGradient<A>,
}

impl PairSpelling {
    /// Evaluates a pair, the decisions apart.
    #[must_use]
    pub fn evaluate<S: Scalar>(&self, pair: &Pair<S>) -> PairInOrder<S> {
        let Pair { conic, opacity, v_alpha, .. } = *pair;
        let [dx, dy] = pair.offset();
        let (power, unit) = self.power(conic, dx, dy);
        let gauss = S::from_f64(exp(power.value() * unit));
        let offset = [dx, dy];
        let mut gradient = alpha_vjp(conic, offset, opacity, gauss, v_alpha, ExtraRoundings::NONE);
        if self.mean_by_parts {
            let ([a, b, c], v_gauss) = (conic, opacity * v_alpha);
            let (gx, gy) = (gauss * dx, gauss * dy);
            gradient.mean2d = [v_gauss * (-(gx * a) - gy * b), v_gauss * (-(gy * c) - gx * b)];
        }
        PairInOrder { power, unit, gauss, gradient }
    }

    fn power<S: Scalar>(&self, [a, b, c]: [S; 3], dx: S, dy: S) -> (S, f64) {
        let half = a.like(0.5);
        match self.power {
            PowerAs::Conic => (-sigma([a, b, c], dx, dy), 1.0),
            PowerAs::CompletedSquares => {
                let slope = b / a;
                let (across, rest) = (dx + slope * dy, c - b * slope);
                (-(half * ((a * across) * across + (rest * dy) * dy)), 1.0)
            }
            PowerAs::Factor => {
                let first = a.sqrt();
                let below = b / first;
                // A needle's difference may round to less than 0.
                let second = (c - below * below).max(a.like(0.0)).sqrt();
                let (x, y) = (first * dx + below * dy, second * dy);
                (-(half * (x * x + y * y)), 1.0)
            }
            PowerAs::BaseTwo => {
                let log2_e = a.like(std::f64::consts::LOG2_E);
                (-sigma([a * log2_e, b * log2_e, c * log2_e], dx, dy), std::f64::consts::LN_2)
            }
        }
    }
}
