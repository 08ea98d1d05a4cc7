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

use super::bounded::Bounded;
use super::model::{ArithmeticModel, Model, ULP};
use super::numbers::Scalar;
/// Smallest normal f32.
pub(super) const MIN_NORMAL: f64 = f32::MIN_POSITIVE as f64;
/// The spacing of subnormals, 2^-149.
const SUBNORMAL_STEP: f64 = MIN_NORMAL / 8_388_608.0;

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
    /// Where the numbers in fixed point end ([`Self::of_fixed_point_terms`]): with 64 bits in units of
    /// 2^-32 at 2^31.
    pub const FIXED_POINT_END: f64 = 2_147_483_648.0;

    /// Adds one term.
    pub(crate) fn add<M: Model>(&mut self, term: Bounded<M>) {
        self.value += term.value();
        self.magnitude += term.magnitude();
        self.radius += term.radius();
    }

    /// The sum of both sums' terms.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.add_sum(other);
        self
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

    /// The same sum with each of its terms multiplied by a power of 2, which rounds nothing.
    #[must_use]
    pub fn scaled(&self, power: f64) -> Self {
        let Self { value, magnitude, radius } = *self;
        let size = power.abs();
        Self { value: power * value, magnitude: size * magnitude, radius: size * radius }
    }

    /// The same sum of terms in fixed point: integers of 64 bits in units of 2^-32.
    ///
    /// A term is cut off towards zero, which changes it by less than a unit (flushing a subnormal changes
    /// it by less still); integers then add up exactly. No term and no sum is larger than the sum of all
    /// magnitudes, so that below 2^31 all of them are such integers; from it on, nothing is known.
    #[must_use]
    pub fn of_fixed_point_terms(&self, terms: u64) -> Self {
        const UNIT: f64 = 1.0 / 4_294_967_296.0;
        if !self.is_in_fixed_point() {
            return Self { magnitude: f64::INFINITY, radius: f64::INFINITY, ..*self };
        }
        if self.magnitude == 0.0 {
            return *self;
        }
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 terms")]
        let changed = terms as f64 * UNIT;
        // Each sum is rounded once.
        Self {
            value: self.value,
            magnitude: (self.magnitude + changed) * (1.0 + f64::EPSILON),
            radius: (self.radius + changed) * (1.0 + f64::EPSILON),
        }
    }

    /// The same sum by the logit of an `opacity` o, which is its sigmoid.
    ///
    /// do/dx = o (1 - o), so each term g v of the gradient by o, with g = exp(power), becomes (o g)(1 - o) v.
    /// A program rounds at most three times more on the way: o g, which is alpha, 1 - o, and one more
    /// product. So a term is off by what g v is off by, times o (1 - o), and by 3 u / (1 - 3 u) of itself
    /// (Higham 2002, lemma 3.1); and the last product may be subnormal, or flushed, where g v is not. The
    /// same holds a program that adds up g v and multiplies the sum.
    #[must_use]
    pub fn by_logit(&self, opacity: f32, terms: u64, model: &ArithmeticModel) -> Self {
        let opacity = f64::from(opacity);
        let factor = opacity * (1.0 - opacity);
        if factor == 0.0 || self.magnitude == 0.0 {
            return Self::default();
        }
        let three = 3.0 * model.basic_ulp * ULP;
        let least = if model.may_flush { MIN_NORMAL } else { SUBNORMAL_STEP };
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 terms")]
        let lost = terms as f64 * least;
        // Fewer than eight roundings in each line, of 2^-53 each; the value's own is of the radius.
        let inflate = 1.0 + 8.0 * f64::EPSILON;
        let off = self.radius + self.magnitude * (three / (1.0 - three) + 4.0 * f64::EPSILON);
        Self {
            value: self.value * factor,
            magnitude: (self.magnitude + off) * factor * inflate,
            radius: (off * factor + lost) * inflate,
        }
    }

    /// The sum of the terms' magnitudes, as densification takes it (Ye et al. 2024, `AbsGS`).
    ///
    /// The magnitude of a term is off by no more than the term is, because ||a| - |b|| <= |a - b|. Of every term
    /// `magnitude` has |value| + radius, so that without the radii it is the sum of |value|. Each was inflated
    /// by 2^-48 (`arithmetic/bounded.rs`), and n terms added in f64 twice, with what `finish` adds, leave
    /// both off by at most 8 n 2^-52 of the magnitude.
    #[must_use]
    pub fn of_magnitudes(&self, terms: u64) -> Self {
        if !self.magnitude.is_finite() || !self.radius.is_finite() {
            return Self { value: 0.0, magnitude: f64::INFINITY, radius: f64::INFINITY };
        }
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 terms")]
        let lost = 8.0 * terms as f64 * f64::EPSILON + 2.0 * f64::powi(2.0, -48);
        let value = (self.magnitude - self.radius).max(0.0);
        Self { value, radius: self.radius + lost * self.magnitude, ..*self }
    }

    /// Whether every term and every sum of terms is a number in fixed point.
    #[must_use]
    pub fn is_in_fixed_point(&self) -> bool {
        self.magnitude < Self::FIXED_POINT_END
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::Ieee;
    use proptest::prelude::*;

    fn bound(terms: &[f32]) -> ElementBound {
        let mut sum = ElementBound::default();
        terms.iter().for_each(|&t| sum.add(Bounded::<Ieee>::new(f64::from(t), 0.0)));
        sum.finish(terms.len() as u64);
        sum
    }

    proptest! {
        /// Terms of a logit, spelled in three ways, lie within their bound.
        #[test]
        fn sums_by_a_logit_stay_within_their_bound(
            pairs in prop::collection::vec((0.004_f32..=1.0, -1f32..1.0, -140i32..20), 1..40),
            opacity in 0.004_f32..1.0,
            way in 0..3,
        ) {
            let pairs: Vec<_> = pairs.into_iter().map(|(g, v, e)| (g, v * 2f32.powi(e))).collect();
            let mut sum = ElementBound::default();
            for &(g, v) in &pairs {
                sum.add(Bounded::<Ieee>::from_f32(g) * Bounded::from_f32(v));
            }
            let terms = pairs.len() as u64;
            sum.finish(terms);
            let bound = sum.by_logit(opacity, terms, &Ieee::TABLE);
            let exact: f64 = pairs.iter().map(|&(g, v)| f64::from(g) * f64::from(v)).sum();
            let exact = exact * f64::from(opacity) * (1.0 - f64::from(opacity));
            let found: f32 = match way {
                0 => pairs.iter().map(|(g, v)| (opacity * g) * (1.0 - opacity) * v).sum(),
                1 => pairs.iter().map(|(g, v)| ((g * v) * opacity) * (1.0 - opacity)).sum(),
                _ => pairs.iter().map(|(g, v)| g * v).sum::<f32>() * (opacity * (1.0 - opacity)),
            };
            let radius = bound.tolerance(terms - 1, terms, &Ieee::TABLE);
            let error = (f64::from(found) - exact).abs();
            prop_assert!(error <= radius, "{error:e} > {radius:e}");
            let close = (bound.value - exact).abs();
            prop_assert!(close <= radius, "{} is not {exact}", bound.value);
        }
    }

    proptest! {
        /// Magnitudes of products, whose signs cancel or not, lie within their bound, which is close.
        #[test]
        fn sums_of_magnitudes_stay_within_their_bound(
            pairs in prop::collection::vec((-1f32..1.0, -1f32..1.0, -60i32..20), 1..60),
        ) {
            let pairs: Vec<_> = pairs.into_iter().map(|(a, b, e)| (a, b * 2f32.powi(e))).collect();
            let mut sum = ElementBound::default();
            pairs.iter().for_each(|&(a, b)| {
                sum.add(Bounded::<Ieee>::from_f32(a) * Bounded::from_f32(b));
            });
            let terms = pairs.len() as u64;
            sum.finish(terms);
            let bound = sum.of_magnitudes(terms);
            let exact: f64 = pairs.iter().map(|&(a, b)| (f64::from(a) * f64::from(b)).abs()).sum();
            let found: f32 = pairs.iter().map(|(a, b)| (a * b).abs()).sum();
            let radius = bound.tolerance(terms - 1, terms, &Ieee::TABLE);
            let error = (f64::from(found) - exact).abs();
            prop_assert!(error <= radius, "{error:e} > {radius:e}");
            prop_assert!((bound.value - exact).abs() <= bound.radius, "{} {exact}", bound.value);
            prop_assert!(bound.radius <= 1e-6 * exact + 1e-30, "{:e} of {exact:e}", bound.radius);
        }
    }

    /// What the kernels compute: `fixed_point.cuh`, `fixed_point.wgsl`.
    fn fixed_point_sum(terms: &[f32]) -> f32 {
        #[expect(clippy::cast_possible_truncation, reason = "cut off, as the kernels do")]
        let words = |t: f32| {
            let (whole, fraction) = (t.abs().trunc(), t.abs().fract());
            let integer = ((whole as i64) << 32) + (fraction * 2f32.powi(32)) as i64;
            if t < 0.0 { -integer } else { integer }
        };
        let sum = terms.iter().fold(0i64, |sum, &t| sum.wrapping_add(words(t)));
        let [whole, part] = [sum.unsigned_abs() >> 32, sum.unsigned_abs() & 0xffff_ffff];
        let magnitude = whole as f32 + part as f32 * 2f32.powi(-32);
        if sum < 0 { -magnitude } else { magnitude }
    }

    proptest! {
        /// Terms of every size that matters beside the unit: their sum lies within the bound, and has the
        /// same bits in any order.
        #[test]
        fn sums_in_fixed_point_stay_within_their_bound(
            terms in prop::collection::vec((-1f32..1.0, -40i32..25), 1..40),
        ) {
            let mut terms: Vec<f32> = terms.into_iter().map(|(t, e)| t * 2f32.powi(e)).collect();
            let sum = fixed_point_sum(&terms);
            let count = terms.len() as u64;
            let bound = bound(&terms).of_fixed_point_terms(count);
            let tolerance = bound.tolerance(2, count, &Ieee::TABLE);
            let error = (f64::from(sum) - bound.value).abs();
            prop_assert!(error <= tolerance, "{error:e} is beyond {tolerance:e}");
            terms.reverse();
            prop_assert_eq!(fixed_point_sum(&terms).to_bits(), sum.to_bits(), "another order");
        }
    }

    /// Below the unit nothing is left of a term; at the top of the range all of it is.
    #[test]
    fn the_bound_in_fixed_point_is_the_unit_and_ends_with_the_range() {
        let lost = 0.999 * 2f32.powi(-32);
        assert_eq!(fixed_point_sum(&[lost]).to_bits(), 0, "it is cut off");
        let tolerance = bound(&[lost]).of_fixed_point_terms(1).tolerance(2, 1, &Ieee::TABLE);
        let unit = 2f64.powi(-32);
        assert!(f64::from(lost) <= tolerance && tolerance < 1.01 * unit, "{tolerance:e}");
        let largest = bound(&[2_147_483_500.0]).of_fixed_point_terms(1);
        assert!(largest.tolerance(2, 1, &Ieee::TABLE).is_finite(), "it is in the range");
        for beyond in [2f32.powi(31), f32::INFINITY, f32::NAN] {
            let beyond = bound(&[beyond]).of_fixed_point_terms(1);
            let tolerance = beyond.tolerance(2, 1, &Ieee::TABLE);
            assert_eq!(tolerance, f64::INFINITY, "there is no such number");
        }
        let nothing = ElementBound::default().of_fixed_point_terms(0);
        assert_eq!(nothing, ElementBound::default(), "zero is exact");
    }
}
