//! Numbers that a program holds in 16 bits, and what their roundings add to a bound.
//!
//! A program that stores x rounds it to the nearest number of the format, which changes it by at most u |x|, or
//! by half the spacing of the subnormals where it is smaller than all normal numbers (IEEE 754-2019, 3.6 and
//! 4.3.1; Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, theorem 2.2). From a number on,
//! halfway between the largest and the next that would follow, it becomes infinite: there nothing is known.

use super::model::ArithmeticModel;
use super::sum::{ElementBound, MIN_NORMAL};

/// A format of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfFormat {
    /// Largest relative change of a normal number: half of the spacing beside 1.
    unit: f64,
    /// Smallest normal number.
    min_normal: f64,
    /// Half of the spacing of subnormals.
    half_step: f64,
    /// The least number that becomes infinite.
    first_infinite: f64,
}

impl HalfFormat {
    /// IEEE 754 binary16, `__half`: 11 bits of precision, least exponent -14, largest number 65,504.
    pub const F16: Self = Self {
        unit: 1.0 / 2_048.0,
        min_normal: 1.0 / 16_384.0,
        half_step: 1.0 / 33_554_432.0,
        first_infinite: 65_520.0,
    };
    /// `__nv_bfloat16`: 8 bits of precision and the exponents of f32, so that its normal numbers end where those
    /// of f32 do, with subnormals in steps of 2^-133. The largest is (2 - 2^-7) 2^127.
    pub const BF16: Self = Self {
        unit: 1.0 / 256.0,
        min_normal: MIN_NORMAL,
        half_step: MIN_NORMAL / 256.0,
        first_infinite: (2.0 - 1.0 / 256.0) * (2.0 / MIN_NORMAL),
    };

    /// What a number of CUDA loses at least by its store. Conversions keep subnormals of the format (PTX ISA, `cvt`:
    /// `.ftz` is of single precision alone); a program that may flush those of f32 loses as much as they are.
    fn least(self, model: &ArithmeticModel) -> f64 {
        if model.may_flush { self.half_step.max(MIN_NORMAL) } else { self.half_step }
    }

    /// How much the store of a number of at most this magnitude changes it; `None` where it may become infinite.
    fn change(self, magnitude: f64, model: &ArithmeticModel) -> Option<f64> {
        let change = (self.unit * magnitude).max(self.least(model));
        (magnitude < self.first_infinite).then_some(if magnitude == 0.0 { 0.0 } else { change })
    }

    /// A value within a radius, once it is stored.
    #[must_use]
    pub fn stored(self, (value, radius): (f64, f64), model: &ArithmeticModel) -> (f64, f64) {
        match self.change(value.abs() + radius, model) {
            // The roundings of this line: fewer than eight, each 2^-53.
            Some(change) => (value, (radius + change) * (1.0 + 8.0 * f64::EPSILON)),
            None => (value, f64::INFINITY),
        }
    }

    /// A value within a radius that one lane adds up in the format, by at most so many additions that round.
    ///
    /// A term w x may round w, the product, or both: by u of it each, or by half a step of subnormals, which x
    /// multiplies in the case of w. Then the chain of additions loses gamma(additions) of the sum of magnitudes, as
    /// in [`ElementBound::added_in`].
    #[must_use]
    pub fn summed(
        self,
        (value, radius): (f64, f64),
        sum: &LaneSum,
        additions: u64,
        model: &ArithmeticModel,
    ) -> (f64, f64) {
        if sum.terms == 0 {
            return (value, radius);
        }
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 terms")]
        let (chain, count) = (additions as f64 * self.unit, sum.terms as f64);
        if chain >= 1.0 {
            return (value, f64::INFINITY);
        }
        let unit = self.unit * (2.0 + self.unit);
        let changed = unit * sum.magnitude + count * self.least(model) * (1.0 + sum.factor);
        let gamma = chain / (1.0 - chain);
        // The roundings of these lines: fewer than eight, each 2^-53.
        let inflate = 1.0 + 8.0 * f64::EPSILON;
        let radius = (radius + changed + gamma * (sum.magnitude + changed)) * inflate;
        let largest = (sum.magnitude + changed) * (1.0 + gamma) * inflate + radius;
        (value, if largest < self.first_infinite { radius } else { f64::INFINITY })
    }
}

/// What one lane adds up: a sum of terms w x with weights w.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaneSum {
    /// Terms other than 0.
    pub terms: u64,
    /// The sum of their magnitudes.
    pub magnitude: f64,
    /// The largest magnitude of an x.
    pub factor: f64,
}

impl ElementBound {
    /// The same sum with each of its `terms` rounded to the nearest binary16 before it is added in f32.
    ///
    /// A program that may flush subnormals, as WGSL's, loses up to the smallest normal number of each.
    #[must_use]
    pub fn of_half_terms(&self, terms: u64, model: &ArithmeticModel) -> Self {
        let format = HalfFormat::F16;
        let least = if model.may_flush { format.min_normal } else { format.half_step };
        self.of_terms_in(format, terms, least)
    }

    /// No term is larger than the sum of all magnitudes, so that none is infinite where that is not.
    fn of_terms_in(&self, format: HalfFormat, terms: u64, least: f64) -> Self {
        if self.magnitude >= format.first_infinite {
            return self.unknown();
        }
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 terms")]
        let lost = if self.magnitude > 0.0 { terms as f64 * least } else { 0.0 };
        // The roundings of these lines: fewer than eight, each 2^-53.
        let changed = (self.magnitude * format.unit + lost) * (1.0 + 8.0 * f64::EPSILON);
        Self {
            value: self.value,
            magnitude: self.magnitude + changed,
            radius: (self.radius + changed) * (1.0 + f64::EPSILON),
        }
    }

    /// The same sum, added up in f32 by chains of at most `depth` additions and stored once.
    ///
    /// What is stored is at most |value| and the f32 sum's tolerance.
    #[must_use]
    pub fn stored_in(
        &self,
        format: HalfFormat,
        (depth, terms): (u64, u64),
        model: &ArithmeticModel,
    ) -> Self {
        if self.magnitude == 0.0 {
            return *self;
        }
        let (_, radius) = format.stored((self.value, self.tolerance(depth, terms, model)), model);
        if !radius.is_finite() {
            return self.unknown();
        }
        let change = format.change(self.value.abs() + radius, model).unwrap_or(f64::INFINITY);
        Self { radius: (self.radius + change) * (1.0 + f64::EPSILON), ..*self }
    }

    /// The same sum where a number in memory is of the format: terms, or f32 sums of some of them, are rounded to it
    /// once and then added by chains of at most `additions` roundings, each of relative error u.
    ///
    /// Rounding a part p of the sum changes it by at most u |p|, so that of all parts together it is what rounding
    /// each term is, at most. Sums of numbers of the format that are subnormal are exact. So the chains add
    /// gamma(additions) = additions u / (1 - additions u) of the sum of magnitudes, as in f32
    /// (Higham, section 4.2), and the f32 chains of [`Self::tolerance`] that part too.
    #[must_use]
    pub fn added_in(
        &self,
        format: HalfFormat,
        additions: u64,
        (depth, terms): (u64, u64),
        model: &ArithmeticModel,
    ) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 terms")]
        let (chain, count) = (additions as f64 * format.unit, terms as f64);
        let rounded = self.of_terms_in(format, terms, format.least(model));
        if chain >= 1.0 || !rounded.radius.is_finite() {
            return self.unknown();
        }
        let gamma = chain / (1.0 - chain);
        // What f32 parts lose by flushing is rounded, and goes through the chain, as well.
        let flushed = if self.magnitude > 0.0 { 3.0 * count * MIN_NORMAL } else { 0.0 };
        // The roundings of these lines: fewer than eight, each 2^-53.
        let inflate = 1.0 + 8.0 * f64::EPSILON;
        let sum = Self {
            value: self.value,
            magnitude: rounded.magnitude * (1.0 + gamma) * inflate,
            radius: (rounded.radius + gamma * (rounded.magnitude + 2.0 * flushed)) * inflate,
        };
        let largest = sum.magnitude + sum.tolerance(depth, terms, model);
        if largest < format.first_infinite { sum } else { self.unknown() }
    }

    /// The same sum of which nothing is known.
    fn unknown(&self) -> Self {
        Self { magnitude: f64::INFINITY, radius: f64::INFINITY, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::{Bounded, Cuda, CudaFast, Ieee, Model};
    use proptest::prelude::*;

    const FORMATS: [(HalfFormat, i32, i32); 2] =
        [(HalfFormat::F16, 10, -14), (HalfFormat::BF16, 7, -126)];

    /// The nearest number of a format with so many bits behind the point and that least exponent, ties to even.
    fn nearest((format, bits, least): (HalfFormat, i32, i32), x: f64) -> f64 {
        if x == 0.0 {
            return x;
        }
        let exponent = (x.abs().to_bits() >> 52) as i32 - 1023;
        // The spacing of the numbers around x; subnormals have that of the least exponent.
        let spacing = 2f64.powi(exponent.max(least) - bits);
        let rounded = (x / spacing).round_ties_even() * spacing;
        if rounded.abs() < format.first_infinite { rounded } else { f64::INFINITY.copysign(x) }
    }

    #[expect(clippy::cast_possible_truncation, reason = "it is a number of f32")]
    fn single(x: f64) -> f32 {
        x as f32
    }

    fn bound(terms: &[f32]) -> ElementBound {
        let mut sum = ElementBound::default();
        terms.iter().for_each(|&t| sum.add(Bounded::<Ieee>::new(f64::from(t), 0.0)));
        sum.finish(terms.len() as u64);
        sum
    }

    fn scaled(terms: Vec<(f32, i32)>) -> Vec<f32> {
        terms.into_iter().map(|(t, e)| t * 2f32.powi(e)).collect()
    }

    proptest! {
        /// Terms of every size that binary16 has, subnormals too: their f32 sum lies within the bound.
        #[test]
        fn sums_of_half_terms_stay_within_their_bound(
            terms in prop::collection::vec((-1f32..1.0, -26i32..9), 1..40),
        ) {
            let terms = scaled(terms);
            let half = |x: f32| single(nearest(FORMATS[0], x.into()));
            let sum = terms.iter().fold(0f32, |sum, &t| sum + half(t));
            let count = terms.len() as u64;
            let bound = bound(&terms).of_half_terms(count, &Ieee::TABLE);
            let tolerance = bound.tolerance(count - 1, count, &Ieee::TABLE);
            let error = (f64::from(sum) - bound.value).abs();
            prop_assert!(error <= tolerance, "{error:e} is beyond {tolerance:e}");
        }

        /// A sum in f32 that is stored once, and one that is rounded at every addition, of either format.
        #[test]
        fn sums_in_a_format_stay_within_their_bound(
            terms in prop::collection::vec((-1f32..1.0, -26i32..9), 1..40),
            which in 0..2_usize,
            together in 1..5_usize,
        ) {
            let (terms, format) = (scaled(terms), FORMATS[which]);
            let count = terms.len() as u64;
            let how = (count - 1, count);
            let tolerance = |bound: &ElementBound| bound.tolerance(how.0, how.1, &Ieee::TABLE);
            let plain = bound(&terms);
            let once = nearest(format, terms.iter().sum::<f32>().into());
            let radius = tolerance(&plain.stored_in(format.0, how, &Ieee::TABLE));
            let error = (once - plain.value).abs();
            prop_assert!(error <= radius, "once: {error:e} is beyond {radius:e}");
            // Some are added in f32 first, as the lanes of a warp are.
            let parts = terms.chunks(together).map(|part| part.iter().sum::<f32>());
            let add = |sum: f64, part: f32| nearest(format, sum + nearest(format, part.into()));
            let sum = parts.fold(0.0, add);
            let radius = tolerance(&plain.added_in(format.0, count, how, &Ieee::TABLE));
            let error = (sum - plain.value).abs();
            prop_assert!(error <= radius, "each time: {error:e} is beyond {radius:e}");
        }

        /// A lane that rounds its weights, its products and its sums to either format, with or without an fma.
        #[test]
        fn sums_of_a_lane_stay_within_their_bound(
            terms in prop::collection::vec(((0f32..1.0, -30i32..0), (-1f32..1.0, -26i32..9)), 1..16),
            which in 0..2_usize,
            fused in any::<bool>(),
        ) {
            let terms: Vec<(f64, f64)> = terms
                .into_iter()
                .map(|((w, e), (x, f))| (f64::from(w * 2f32.powi(e)), f64::from(x * 2f32.powi(f))))
                .collect();
            let round = |x: f64| nearest(FORMATS[which], x);
            let sum = terms.iter().fold(0.0, |sum, &(w, x)| {
                let product = round(w) * x;
                round(sum + if fused { product } else { round(product) })
            });
            let of = LaneSum {
                terms: terms.len() as u64,
                magnitude: terms.iter().map(|(w, x)| (w * x).abs()).sum(),
                factor: terms.iter().fold(0.0, |most, (_, x)| x.abs().max(most)),
            };
            let exact: f64 = terms.iter().map(|(w, x)| w * x).sum();
            let (value, radius) = FORMATS[which].0.summed((exact, 0.0), &of, of.terms, &Ieee::TABLE);
            let error = (sum - value).abs();
            prop_assert!(error <= radius, "{error:e} is beyond {radius:e}");
            let once = FORMATS[which].0.summed((exact, 0.0), &of, 0, &Ieee::TABLE).1;
            prop_assert!(once <= radius, "{once:e} without a rounding sum, {radius:e} with {}", of.terms);
        }

        /// Any number that is stored lies within the interval.
        #[test]
        fn stored_numbers_stay_within_their_interval(x in -1f64..1.0, e in -150i32..127, which in 0..2_usize) {
            let (x, format) = (x * 2f64.powi(e), FORMATS[which]);
            let (value, radius) = format.0.stored((x, 0.0), &Ieee::TABLE);
            let error = (nearest(format, x) - value).abs();
            prop_assert!(error <= radius, "{error:e} is beyond {radius:e}");
        }
    }

    /// The bound is reached: halfway between two numbers, at the top of a binade's first step and among
    /// the subnormals; a bound of f32 terms holds neither.
    #[test]
    fn the_bound_of_a_rounding_is_sharp() {
        for format in FORMATS {
            let (_, bits, least) = format;
            for t in [1.0 + 2f32.powi(-bits - 1), single(2f64.powi(least - bits - 1))] {
                let error = (nearest(format, t.into()) - f64::from(t)).abs();
                let (_, radius) = format.0.stored((t.into(), 0.0), &Ieee::TABLE);
                assert!(error <= radius && radius < 1.01 * error, "{t}: {error:e} of {radius:e}");
                let of_single = bound(&[t]).tolerance(0, 1, &Ieee::TABLE);
                assert!(error > of_single, "{t}: an f32 number has no such error");
            }
        }
        for t in [1.0 + 2f32.powi(-11), 2f32.powi(-25)] {
            let error = (nearest(FORMATS[0], t.into()) - f64::from(t)).abs();
            let of_term = bound(&[t]).of_half_terms(1, &Ieee::TABLE).tolerance(0, 1, &Ieee::TABLE);
            assert!(error <= of_term && of_term < 1.01 * error, "{t}: {error:e} of {of_term:e}");
        }
    }

    #[test]
    fn what_may_be_infinite_decides_nothing() {
        let of = |t: f32| bound(&[t]).of_half_terms(1, &Cuda::TABLE).tolerance(0, 1, &Cuda::TABLE);
        assert!(of(65_519.0).is_finite(), "it rounds to 65,504");
        assert_eq!(of(65_520.0), f64::INFINITY, "it rounds to infinity");
        let stored = |x: f64| HalfFormat::F16.stored((x, 0.0), &Cuda::TABLE).1;
        assert!(stored(65_519.9).is_finite() && stored(-65_520.0).is_infinite(), "the same");
        let big = bound(&[40_000.0, 40_000.0, -40_000.0]);
        let once = big.stored_in(HalfFormat::F16, (2, 3), &Cuda::TABLE);
        assert!(once.radius < 20.0, "40,000 is a number: {once:?}");
        let each = big.added_in(HalfFormat::F16, 3, (2, 3), &Cuda::TABLE);
        assert!(each.radius.is_infinite(), "80,000 on the way is none: {each:?}");
        let many = bound(&[1.0; 3]).added_in(HalfFormat::BF16, 256, (2, 3), &Cuda::TABLE);
        assert!(many.radius.is_infinite(), "256 roundings of 2^-8 leave nothing: {many:?}");
    }

    #[test]
    fn zero_is_exact_and_what_may_be_flushed_is_lost() {
        for (format, ..) in FORMATS {
            let zero = ElementBound::default();
            assert_eq!(zero.stored_in(format, (0, 0), &CudaFast::TABLE), zero, "stored");
            assert_eq!(zero.added_in(format, 7, (0, 0), &CudaFast::TABLE), zero, "added");
            assert_eq!(format.stored((0.0, 0.0), &CudaFast::TABLE), (0.0, 0.0), "by itself");
        }
        let (_, radius) = HalfFormat::BF16.stored((1e-39, 0.0), &CudaFast::TABLE);
        assert!(radius >= 1e-39, "a subnormal of f32 may become zero: {radius:e}");
    }
}
