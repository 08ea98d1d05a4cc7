//! The gradient through antialiasing's compensation c = sqrt(ratio), ratio = `det/det_blurred`, to the
//! covariance (A, B, C) without the blur.
//!
//! # Standard derivations
//!
//! * By the ratio: v/(2 c), or v/(2 (c + 1e-6)), as gsplat has it (`add_blur_vjp`), so that nothing is divided
//!   by 0. Over the reals the second is c/(c + 1e-6) times the first. Where another program is judged, the bound
//!   holds both divisors, and what lies between them: it is wider by 1e-6/c of the gradient, less than 2^-17
//!   from c = 0.14 on. Where c may be 0 nothing bounds the quotient, and no program is judged on it.
//! * By the covariance: the quotient rule, as in [`antialias_of`]; or by the conic, as in [`antialias_by_conic`].
//!   Over the reals they are the same. Each is evaluated with its own bounds, and what holds both is taken,
//!   so that no cancellation of one stands for that of the other: 1 - c^2 cancels for a Gaussian that is
//!   wide beside the blur, the difference of the determinants for one that is narrow.

use crate::arithmetic::{EvaluationOrders, Scalar, Tristate, rounded};
use crate::splat::linear::V3;
use crate::splat::pair::one_term;
use crate::splat::project::{Projection, compensation};

/// What gsplat adds to the compensation before it divides by it.
const FLOOR: f64 = 1e-6;

/// The gradient by the covariance, from that by the compensation.
pub(super) fn antialias<S: Scalar>(
    p: &Projection<S>,
    eps2d: f64,
    v_compensation: S,
    spellings: EvaluationOrders,
) -> V3<S> {
    let [sharp_a, _, sharp_c] = p.sharp;
    let own = antialias_of(p.dets, [sharp_a, sharp_c], p.covariance, v_compensation, spellings);
    if spellings.is_written() {
        return own;
    }
    let factor = compensation(p.dets, spellings);
    let v_ratio = one_term(by_ratio(factor, v_compensation, spellings), spellings.at(2, 2));
    let other = antialias_by_conic(p.conic, factor, eps2d, v_ratio, spellings);
    std::array::from_fn(|i| either(other[i], own[i]))
}

/// What covers both; the second where numbers have no bounds.
fn either<S: Scalar>(one: S, other: S) -> S {
    S::choose(Tristate::Undecided, one, other)
}

/// The gradient by the ratio.
fn by_ratio<S: Scalar>(factor: S, v_compensation: S, spellings: EvaluationOrders) -> S {
    let two = S::from_f64(2.0);
    let plain = two * factor;
    if spellings.is_written() {
        return v_compensation.over_positive(plain);
    }
    v_compensation.over_positive(either(two * (factor + S::from_f64(FLOOR)), plain))
}

/// From the determinants, the diagonal without blur and the covariance with it: d ratio/dA = (C `det_blurred` -
/// `C_blurred` `det)/det_blurred^2`, d ratio/dB = 2B (det - `det_blurred)/det_blurred^2`. Here a compensation of 0
/// has no gradient.
pub(crate) fn antialias_of<S: Scalar>(
    dets: [S; 2],
    [sharp_a, sharp_c]: [S; 2],
    [a, b, c]: V3<S>,
    v_compensation: S,
    spellings: EvaluationOrders,
) -> V3<S> {
    let (factor, extra) = (compensation(dets, spellings), spellings.at(8, 4));
    let zero = S::from_f64(0.0);
    if spellings.is_written() && zero.less(factor) == Tristate::Never {
        return [zero; 3];
    }
    let [sharp, blurred] = dets;
    let two = S::from_f64(2.0);
    let v_factor = by_ratio(factor, v_compensation, spellings);
    let v_ratio = one_term(blurred.divides_by_square(v_factor, None), spellings.at(4, 6));
    let [first, second, third] = [
        v_ratio * (sharp_c * blurred - c * sharp),
        v_ratio * (two * b * (sharp - blurred)),
        v_ratio * (sharp_a * blurred - a * sharp),
    ];
    [
        rounded!(first, extra, [v_ratio * sharp_c * blurred, v_ratio * c * sharp]),
        rounded!(second, extra, [v_ratio * two * b * sharp, v_ratio * two * b * blurred]),
        rounded!(third, extra, [v_ratio * sharp_a * blurred, v_ratio * a * sharp]),
    ]
}

/// From the conic (a, b, c) = (C, -B, A)/`det_blurred` of the covariance with the blur, whose determinant is
/// 1/`det_blurred`: since C without the blur is C - eps2d, d ratio/dA = (1 - ratio) a - eps2d/`det_blurred`, and
/// d ratio/dB = 2 (1 - ratio) b.
pub(crate) fn antialias_by_conic<S: Scalar>(
    [a, b, c]: V3<S>,
    factor: S,
    eps2d: f64,
    v_ratio: S,
    spellings: EvaluationOrders,
) -> V3<S> {
    let (one, two, eps) = (S::from_f64(1.0), S::from_f64(2.0), S::from_f64(eps2d));
    let square = factor * factor;
    // A program may have the ratio as a quotient, and the determinant as a reciprocal.
    let rest = rounded!(one - square, spellings.at(2, 2), [one, square]);
    let det = rounded!(a * c - b * b, spellings.at(3, 2), [a * c, b * b]);
    let extra = spellings.at(4, 0);
    let own = |x: S| {
        let terms = [v_ratio * rest * x, v_ratio * eps * det];
        rounded!(v_ratio * (rest * x - eps * det), extra, terms)
    };
    [own(a), rounded!(v_ratio * (two * rest * b), extra, [v_ratio * two * rest * b]), own(c)]
}

#[cfg(test)]
mod tests;
