//! Sums whose order nobody fixes.
//!
//! For additions of relative error u, every order of summation whose longest chain has d additions
//! satisfies (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 4.2,
//! equation (4.4) applied to the chain of each term)
//!
//! |computed - exact| <= sum of radii + gamma(d) sum of magnitudes, gamma(d) = d u / (1 - d u).
//!
//! Only additions of two nonzero numbers round, so d <= m - 1 for m terms, whatever the grouping.
//! Flushing adds at most one smallest normal number for each operand and result of an addition.

use crate::arithmetic::{ArithmeticModel, Bounded, Model, Scalar};

/// One ulp of a normal f32 x is at most `ULP` |x|.
const ULP: f64 = 1.0 / 8_388_608.0;
/// Smallest normal f32.
const MIN_NORMAL: f64 = f32::MIN_POSITIVE as f64;

/// One element of a gradient, summed over its terms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ElementBound {
    /// The sum of the terms, in f64.
    pub value: f64,
    /// The sum of the largest magnitudes that the terms may have.
    pub magnitude: f64,
    /// The sum of the terms' radii, and of the rounding of `value`.
    pub radius: f64,
}

impl ElementBound {
    /// Adds one term.
    pub(crate) fn add<M: Model>(&mut self, term: Bounded<M>) {
        self.value += term.value();
        self.magnitude += term.magnitude();
        self.radius += term.radius();
    }

    /// Adds the sums of other terms.
    pub(crate) fn add_sum(&mut self, other: &Self) {
        self.value += other.value;
        self.magnitude += other.magnitude;
        self.radius += other.radius;
    }

    /// Accounts for the roundings of the sums themselves, once all `terms` are there: n terms added
    /// in f64 leave each of value, magnitude and radius off by at most n 2^-53 of the sum of
    /// magnitudes; 2^-51 covers all three.
    pub(crate) fn finish(&mut self, terms: u64) {
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 terms")]
        let rounding = terms as f64 * 2.0 * f64::EPSILON;
        self.magnitude *= 1.0 + rounding;
        self.radius += self.radius * rounding + self.magnitude * rounding;
    }

    /// How far an f32 sum of the `terms` may lie from `value` if its longest chain has `depth`
    /// rounding additions. Infinite where a partial sum may overflow, although the sum itself may
    /// not: then infinity and NaN are legal results too.
    #[must_use]
    pub fn tolerance(&self, depth: u64, terms: u64, model: &ArithmeticModel) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 terms")]
        let (chain, terms) = (depth as f64 * model.basic_ulp * ULP, terms as f64);
        if chain >= 1.0 {
            return f64::INFINITY;
        }
        let gamma = chain / (1.0 - chain);
        let mut tolerance = self.radius + gamma * self.magnitude;
        if model.atomics_may_flush && depth > 0 {
            tolerance += 3.0 * terms * MIN_NORMAL;
        } else if model.atomics_may_flush && self.magnitude > 0.0 {
            // A single value is only stored, but an atomic addition to zero may flush it.
            tolerance += MIN_NORMAL.min(self.magnitude);
        }
        // The roundings of these lines: fewer than eight, each 2^-53.
        tolerance *= 1.0 + 8.0 * f64::EPSILON;
        let largest = self.magnitude * (1.0 + gamma);
        if largest > f64::from(f32::MAX) { f64::INFINITY } else { tolerance }
    }

    /// The f32 sum of the `terms` in any order and grouping.
    pub(crate) fn in_any_order<M: Model>(&self, terms: u64) -> Bounded<M> {
        Bounded::new(self.value, self.tolerance(terms.saturating_sub(1), terms, &M::TABLE))
    }
}

/// The f32 sum of a few terms in any order and grouping.
pub(crate) fn in_any_order<M: Model>(terms: &[Bounded<M>]) -> Bounded<M> {
    let mut sum = ElementBound::default();
    terms.iter().for_each(|&term| sum.add(term));
    sum.finish(terms.len() as u64);
    sum.in_any_order(terms.len() as u64)
}
