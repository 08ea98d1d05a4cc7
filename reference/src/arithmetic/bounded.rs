//! A value in f64 and a rigorous radius.
//!
//! Invariant: if every f32 input of an operation lies within its operand's radius of its operand's
//! value, the f32 result of any conforming implementation of the operation under the model lies
//! within the result's radius of the result's value. Radii compose, so the same holds for every
//! expression. A radius of 0 means that the f32 result is exactly the value.
//!
//! Nothing is dropped to first order: products of radii are kept. What remains is the rounding of
//! the radius' own f64 computation: each radius is the result of at most eight f64 operations on
//! non-negative terms, so its relative error is below 8 2^-53 / (1 - 8 2^-53) < 2^-49, and the
//! final factor [`INFLATE`] = 1 + 2^-48 covers it (its own rounding included: (1 - 2^-49)
//! (1 + 2^-48)(1 - 2^-53) > 1). The f64 value's own rounding, at most 2^-53 |v|, is part of the
//! radius by [`VALUE_ROUNDING`] = 2^-52 |v|, which also absorbs that the rounding unit is applied
//! to the computed and not to the exact value.

mod grown;
mod scalar;

use super::elementary::EXP_ERROR;
use super::extra::Roundings;
use super::model::{Model, ULP};
use super::numbers::{Arith, Lanes, Scalar};
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Sub};

const INFLATE: f64 = 1.0 + 1.0 / 281_474_976_710_656.0;
const VALUE_ROUNDING: f64 = f64::EPSILON;
/// Smallest normal f32, 2^-126.
const MIN_NORMAL: f64 = 1.175_494_350_822_287_5e-38;
/// The spacing of subnormals, 2^-149: one ulp there.
const SUBNORMAL_STEP: f64 = 1.401_298_464_324_817e-45;
/// The f64 after the largest f32.
const BEYOND_MAX: f64 = f64::from_bits(0x47ef_ffff_e000_0001);
/// The f64 after zero.
const LEAST: f64 = f64::from_bits(1);
/// Adding and subtracting 1.5 2^-97 rounds a small f64 to a multiple of 2^-149.
const SUBNORMAL_ROUND: f64 = f64::from_bits(0x39e8_0000_0000_0000);

/// A value and the radius that every conforming f32 evaluation stays within: one number, or as many
/// as the lanes `L` hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounded<M, L = f64> {
    value: L,
    radius: L,
    model: PhantomData<M>,
}

impl<M: Model> Bounded<M> {
    /// Relative error of one addition or multiplication.
    #[cfg(test)]
    pub(crate) const UNIT: f64 = M::TABLE.basic_ulp * ULP;

    /// A value with a radius; an invalid radius (NaN, or a value that is not finite) is infinite.
    #[must_use]
    pub fn new(value: f64, radius: f64) -> Self {
        let known = value.is_finite() && radius >= 0.0;
        Self::with(value, if known { radius } else { f64::INFINITY })
    }

    /// A number of which only its ends are known.
    #[must_use]
    pub fn between(low: f64, high: f64) -> Self {
        let value = 0.5 * low + 0.5 * high;
        // Each difference is rounded once.
        Self::new(value, (high - value).max(value - low) * INFLATE)
    }

    /// The smallest and the largest number within the radius; infinite where nothing is known.
    #[must_use]
    pub fn ends(self) -> [f64; 2] {
        if self.radius < f64::INFINITY {
            // One rounding each, at most 2^-53 of the result.
            let [low, high] = [self.value - self.radius, self.value + self.radius];
            [low - low.abs() * f64::EPSILON, high + high.abs() * f64::EPSILON]
        } else {
            [f64::NEG_INFINITY, f64::INFINITY]
        }
    }

    /// The radius about another value that covers everything within this one's: how far a
    /// conforming evaluation may lie from `value`.
    #[must_use]
    pub fn radius_about(self, value: f64) -> f64 {
        Self::new(value, 0.0).or(self).radius
    }
}

/// A comparison in every lane: where it holds and where it fails whatever the roundings; elsewhere
/// it is undecided.
pub(crate) struct Decided<K> {
    pub(crate) always: K,
    pub(crate) never: K,
}

impl<M: Model, L: Lanes<Elem = f64>> Bounded<M, L> {
    /// What flushing may take from a subnormal result. Added to every result, because it is
    /// nothing beside a normal one.
    const FLUSH: f64 = if M::TABLE.may_flush { MIN_NORMAL } else { 0.0 };

    #[inline(always)]
    pub(crate) fn with(value: L, radius: L) -> Self {
        Self { value, radius, model: PhantomData }
    }

    /// The value.
    #[inline(always)]
    pub(crate) fn center(self) -> L {
        self.value
    }

    /// The radius.
    #[must_use]
    #[inline(always)]
    pub fn radius(self) -> L {
        self.radius
    }

    /// The largest magnitude within the radius.
    #[must_use]
    #[inline(always)]
    pub fn magnitude(self) -> L {
        let (value, radius) = (self.value, self.radius);
        // The value may be NaN where nothing is known.
        let unknown = value.like(f64::INFINITY);
        let magnitude = (value.abs() + radius) * value.like(INFLATE);
        magnitude.or_else(radius.lt(unknown), unknown)
    }

    /// The same value with a radius that also covers all of `other`: what remains known of a
    /// number that one branch leaves at `self` and another at `other`.
    #[must_use]
    #[inline(always)]
    pub fn or(self, other: Self) -> Self {
        let c = self.value;
        let reach = ((other.value - c).abs() + other.radius) * c.like(INFLATE);
        // NaN where `other` or the value is unknown.
        let unknown = c.like(f64::INFINITY);
        let known = reach.lt(unknown);
        let radius = reach.or_else(self.radius.lt(reach), self.radius);
        Self::with(c, radius.or_else(known, unknown))
    }

    /// `x` in every lane.
    #[inline(always)]
    pub(crate) fn splat(lanes: L, x: Bounded<M>) -> Self {
        Self::with(lanes.splat(x.value), lanes.splat(x.radius))
    }

    /// `self` where the mask holds, else `other`.
    #[inline(always)]
    pub(crate) fn or_else(self, mask: L::Mask, other: Self) -> Self {
        Self::with(self.value.or_else(mask, other.value), self.radius.or_else(mask, other.radius))
    }

    /// Whether `self < other`.
    #[inline(always)]
    pub(crate) fn decide(self, other: Self) -> Decided<L::Mask> {
        let c = self.value;
        let gap = other.value - self.value;
        // The difference of two f64 has the right sign and a relative error of 2^-53.
        let radius = (self.radius + other.radius) * c.like(INFLATE * INFLATE);
        // An unknown operand decides nothing, even where its value, and so the gap, is infinite.
        let known = radius.lt(c.like(f64::INFINITY));
        let never = gap.and(known, gap.not((-gap).lt(radius)));
        Decided { always: radius.lt(gap), never }
    }

    /// The result of an operation: value `v`, `inherited` radius of the operands, `ulps` of
    /// rounding, of which a subnormal result keeps the absolute size.
    #[inline(always)]
    fn rounded(v: L, inherited: L, ulps: f64) -> Self {
        let unit = ulps * ULP + VALUE_ROUNDING;
        let smallest = Self::FLUSH + (ulps + 1.0) * SUBNORMAL_STEP;
        // (inherited + (|v| + inherited) unit + smallest) INFLATE
        let radius = inherited * v.like((1.0 + unit) * INFLATE)
            + (v.abs() * v.like(unit * INFLATE) + v.like(smallest * INFLATE));
        Self::known(v, radius)
    }

    /// As it is, or unknown where the result may overflow or is NaN.
    #[inline(always)]
    fn known(v: L, radius: L) -> Self {
        let known = (v.abs() + radius).lt(v.like(BEYOND_MAX));
        Self::with(v, radius.or_else(known, v.like(f64::INFINITY)))
    }

    /// Where a number that is not negative is zero.
    #[inline(always)]
    fn is_zero(x: L) -> L::Mask {
        x.lt(x.like(LEAST))
    }

    /// Where `v`, computed from exact operands without an f64 rounding, is an f32 that no flushing
    /// changes.
    ///
    /// Veltkamp's splitting rounds to 24 bits. Subnormal f32 are the multiples of 2^-149, which
    /// adding and subtracting 1.5 2^-97 rounds to.
    #[inline(always)]
    fn representable(v: L) -> L::Mask {
        let scaled = v * v.like(536_870_913.0);
        let rounded = scaled + (v - scaled);
        let fits = Self::is_zero((rounded - v).abs());
        let fits = v.and(fits, v.abs().lt(v.like(BEYOND_MAX)));
        let subnormal = v.and(v.abs().lt(v.like(MIN_NORMAL)), v.not(Self::is_zero(v.abs())));
        let whole = (v + v.like(SUBNORMAL_ROUND)) - v.like(SUBNORMAL_ROUND);
        let lost = if M::TABLE.may_flush {
            subnormal
        } else {
            v.and(subnormal, v.not(Self::is_zero((whole - v).abs())))
        };
        v.and(fits, v.not(lost))
    }

    /// The same with radius 0 where the mask holds.
    #[inline(always)]
    fn exact_where(self, mask: L::Mask) -> Self {
        let zero = self.value.like(0.0);
        Self::with(self.value, zero.or_else(mask, self.radius))
    }

    /// The same with an infinite radius where the mask does not hold.
    #[inline(always)]
    fn unknown_unless(self, mask: L::Mask) -> Self {
        let unknown = self.value.like(f64::INFINITY);
        Self::with(self.value, self.radius.or_else(mask, unknown))
    }
}

impl<M: Model, L: Lanes<Elem = f64>> Add for Bounded<M, L> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let v = self.value + other.value;
        let inherited = self.radius + other.radius;
        let sum = Self::rounded(v, inherited, M::TABLE.basic_ulp);
        let exact = Self::is_zero(inherited);
        if !v.any(exact) {
            return sum;
        }
        // Both operands are f32, so f64 may still round the sum; Knuth's two-sum tells.
        let back = v - self.value;
        let error = (self.value - (v - back)) + (other.value - back);
        let exact = v.and(exact, Self::is_zero(error.abs()));
        sum.exact_where(v.and(exact, Self::representable(v)))
    }
}

impl<M: Model, L: Lanes<Elem = f64>> Neg for Bounded<M, L> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self { value: -self.value, ..self }
    }
}

impl<M: Model, L: Lanes<Elem = f64>> Sub for Bounded<M, L> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl<M: Model, L: Lanes<Elem = f64>> Mul for Bounded<M, L> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        // 24 + 24 bits: the f64 product of two f32 is exact.
        let v = self.value * other.value;
        let inherited =
            self.value.abs() * other.radius + (other.value.abs() + other.radius) * self.radius;
        let product = Self::rounded(v, inherited, M::TABLE.basic_ulp);
        let exact = Self::is_zero(inherited);
        if !v.any(exact) {
            return product;
        }
        product.exact_where(v.and(exact, Self::representable(v)))
    }
}

impl<M: Model, L: Lanes<Elem = f64>> Div for Bounded<M, L> {
    type Output = Self;

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let v = self.value / other.value;
        let least = other.value.abs() - other.radius;
        let most = other.value.abs() + other.radius;
        // 2^-126 <= |y| <= 2^126 for every y that may occur (2^126 = 1/MIN_NORMAL).
        let small = least.lt(v.like(MIN_NORMAL));
        let large = v.like(1.0 / MIN_NORMAL).lt(most);
        let valid = v.and(v.and(v.not(small), v.not(large)), most.lt(v.like(f64::INFINITY)));
        // |x'/y' - x/y| = |x' - x + (x/y)(y - y')| / |y'|
        let inherited = (self.radius + v.abs() * other.radius) / least;
        let quotient = Self::rounded(v, inherited, M::TABLE.div_ulp).unknown_unless(valid);
        let zero = Self::is_zero(self.radius + self.value.abs());
        quotient.exact_where(v.and(valid, zero))
    }
}

impl<M: Model, L: Lanes<Elem = f64>> Arith for Bounded<M, L> {
    #[inline(always)]
    fn like(self, c: f64) -> Self {
        Self::splat(self.value, Bounded::from_f64(c))
    }

    /// The value is rounded once, the radius is that of two roundings: a program may do either. It holds for
    /// the value too, since it counts 2^-52 of the product and of the sum, where the value errs by 2^-53 of
    /// itself.
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        let sum = self * factor + term;
        Self { value: self.value.mul_add(factor.value, term.value), ..sum }
    }

    #[inline(always)]
    fn exp(self) -> Self {
        let (v, one) = (self.value.exp(), self.value.like(1.0));
        // e^(x+d) - e^x = e^x (e^d - 1), and e^d - 1 <= d + d^2 for 0 <= d <= 1 (from the series:
        // the terms after the first sum to d^2 (1/2 + 1/6 + ...) = d^2 (e - 2) at most). Beyond
        // that e^d itself will do.
        let mut growth = self.radius + self.radius * self.radius;
        let wide = one.lt(self.radius);
        if v.any(wide) {
            growth = (self.radius.exp() * v.like(1.0 + 2.0 * EXP_ERROR)).or_else(wide, growth);
        }
        let inherited = v * (growth + v.like(EXP_ERROR));
        let reach = self.value.abs() + self.radius;
        let ulps = v.like(M::TABLE.exp_ulp) + v.like(M::TABLE.exp_ulp_per_x) * reach;
        let unit = ulps * v.like(ULP) + v.like(VALUE_ROUNDING);
        let smallest = v.like(Self::FLUSH) + (ulps + one) * v.like(SUBNORMAL_STEP);
        let radius = (inherited + (v + inherited) * unit + smallest) * v.like(INFLATE);
        let mut result = Self::known(v, radius);
        // Everything that may occur is below e^-100 (1 + 3.4e-5) < 4e-44: zero or subnormal.
        let tiny = (self.value + self.radius).lt(v.like(-100.0));
        result.radius = v.like(2.0 * MIN_NORMAL).or_else(tiny, result.radius);
        if M::TABLE.exp_of_zero_is_one {
            result = result.exact_where(Self::is_zero(reach));
        }
        result
    }

    #[inline(always)]
    fn apart<R>(self, part: impl FnOnce() -> R) -> R {
        self.value.apart(part)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        let v = self.value.sqrt();
        let least = self.value - self.radius;
        let valid = v.not(least.lt(v.like(MIN_NORMAL)));
        // |sqrt(x') - sqrt(x)| = |x' - x| / (sqrt(x') + sqrt(x))
        let inherited = self.radius / (least.sqrt() + v);
        let mut root = Self::rounded(v, inherited, M::TABLE.sqrt_ulp).unknown_unless(valid);
        let exact = Self::is_zero(self.radius);
        if M::TABLE.sqrt_ulp <= 0.5 {
            let square = Self::is_zero((v * v - self.value).abs());
            root = root.exact_where(v.and(v.and(exact, square), Self::representable(v)));
        }
        root.exact_where(v.and(exact, Self::is_zero(self.value.abs())))
    }

    #[inline(always)]
    fn rounded_again<const N: usize>(
        self,
        extra: Roundings,
        terms: impl FnOnce() -> [Self; N],
    ) -> Self {
        if extra.is_none() { self } else { self.grown(extra, terms()) }
    }

    #[inline(always)]
    fn also(self, other: impl FnOnce() -> Self) -> Self {
        self.or(other())
    }

    #[inline(always)]
    fn spread<const N: usize>(self, terms: [Self; N]) -> Self {
        Self::magnitudes(terms)
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        let Decided { always, never } = self.decide(other);
        // min is 1-Lipschitz in the larger of its arguments' distances. A device that flushes may
        // compare two subnormals as zeros and return the larger, which is less than twice the
        // smallest normal from the other.
        let largest = self.radius.max(other.radius);
        let radius = (largest + largest.like(2.0 * Self::FLUSH)) * largest.like(INFLATE);
        let either = Self::known(self.value.min(other.value), radius);
        self.or_else(always, other.or_else(never, either))
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        -((-self).min(-other))
    }
}

#[cfg(test)]
mod tests;
