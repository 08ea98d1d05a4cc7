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

use super::elementary::{EXP_ERROR, LN_ERROR, exp, ln};
use super::{Arith, Model, Scalar, Truth};
use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Sub};

const INFLATE: f64 = 1.0 + 1.0 / 281_474_976_710_656.0;
const VALUE_ROUNDING: f64 = f64::EPSILON;
/// One ulp of a normal f32 x is at most `ULP` |x|.
const ULP: f64 = 1.0 / 8_388_608.0;
/// Smallest normal f32, 2^-126.
const MIN_NORMAL: f64 = 1.175_494_350_822_287_5e-38;
/// The spacing of subnormals, 2^-149: one ulp there.
const SUBNORMAL_STEP: f64 = 1.401_298_464_324_817e-45;
/// What ln may err by, absolutely, for arguments in 0.5..=2: 2^-21.
const LN_NEAR_ONE: f64 = 1.0 / 2_097_152.0;
const MAX: f64 = 3.402_823_466_385_288_6e38;

/// A value and the radius that every conforming f32 evaluation stays within.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounded<M> {
    value: f64,
    radius: f64,
    model: PhantomData<M>,
}

impl<M: Model> Bounded<M> {
    /// Relative error of one addition or multiplication.
    pub const UNIT: f64 = M::TABLE.basic_ulp * ULP;

    /// A value with a radius; an invalid radius (NaN, or a value that is not finite) is infinite.
    #[must_use]
    pub fn new(value: f64, radius: f64) -> Self {
        let known = value.is_finite() && radius >= 0.0;
        let radius = if known { radius } else { f64::INFINITY };
        Self { value, radius, model: PhantomData }
    }

    #[inline(always)]
    fn exact(value: f64) -> Self {
        Self { value, radius: 0.0, model: PhantomData }
    }

    /// The radius.
    #[must_use]
    #[inline]
    pub fn radius(self) -> f64 {
        self.radius
    }

    /// The largest magnitude within the radius.
    #[must_use]
    #[inline]
    pub fn magnitude(self) -> f64 {
        // The value may be NaN where nothing is known.
        if self.radius < f64::INFINITY {
            (self.value.abs() + self.radius) * INFLATE
        } else {
            f64::INFINITY
        }
    }

    /// The same value with a radius that also covers all of `other`: what remains known of a
    /// number that one branch leaves at `self` and another at `other`.
    #[must_use]
    #[inline]
    pub fn or(self, other: Self) -> Self {
        let reach = ((other.value - self.value).abs() + other.radius) * INFLATE;
        // A reach of NaN (`other` is unknown, its value NaN) is not covered by any radius.
        Self::new(self.value, if reach <= self.radius { self.radius } else { reach })
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

    /// What flushing may take from a subnormal result. Added to every result, because it is
    /// nothing beside a normal one.
    const FLUSH: f64 = if M::TABLE.may_flush { MIN_NORMAL } else { 0.0 };

    /// The result of an operation: value `v`, `inherited` radius of the operands, `ulps` of
    /// rounding, of which a subnormal result keeps the absolute size.
    #[inline(always)]
    fn rounded(v: f64, inherited: f64, ulps: f64) -> Self {
        let unit = ulps * ULP + VALUE_ROUNDING;
        let smallest = Self::FLUSH + (ulps + 1.0) * SUBNORMAL_STEP;
        let radius = (inherited + (v.abs() + inherited) * unit + smallest) * INFLATE;
        // The result may overflow, or is NaN: then nothing is known.
        let known = v.abs() + radius <= MAX;
        Self::exact(v).with_radius(if known { radius } else { f64::INFINITY })
    }

    #[inline(always)]
    fn with_radius(self, radius: f64) -> Self {
        Self { radius, ..self }
    }

    /// Whether `v`, computed from exact operands without an f64 rounding, is an f32 that no
    /// flushing changes.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the round trip is the test")]
    fn representable(v: f64) -> bool {
        f64::from(v as f32) == v && (v == 0.0 || v.abs() >= MIN_NORMAL || !M::TABLE.may_flush)
    }
}

impl<M: Model> Add for Bounded<M> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let v = self.value + other.value;
        let inherited = self.radius + other.radius;
        if inherited == 0.0 {
            // Both operands are f32, so f64 may still round the sum; Knuth's two-sum tells.
            let back = v - self.value;
            let error = (self.value - (v - back)) + (other.value - back);
            if error == 0.0 && Self::representable(v) {
                return Self::exact(v);
            }
        }
        Self::rounded(v, inherited, M::TABLE.basic_ulp)
    }
}

impl<M: Model> Neg for Bounded<M> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self { value: -self.value, ..self }
    }
}

impl<M: Model> Sub for Bounded<M> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl<M: Model> Mul for Bounded<M> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        // 24 + 24 bits: the f64 product of two f32 is exact.
        let v = self.value * other.value;
        let inherited = self.value.abs() * other.radius
            + other.value.abs() * self.radius
            + self.radius * other.radius;
        if inherited == 0.0 && Self::representable(v) {
            return Self::exact(v);
        }
        Self::rounded(v, inherited, M::TABLE.basic_ulp)
    }
}

impl<M: Model> Div for Bounded<M> {
    type Output = Self;

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let v = self.value / other.value;
        let least = other.value.abs() - other.radius;
        let most = other.value.abs() + other.radius;
        // 2^-126 <= |y| <= 2^126 for every y that may occur (2^126 = 1/MIN_NORMAL).
        if !(least >= MIN_NORMAL && most * MIN_NORMAL <= 1.0) {
            return Self::new(v, f64::INFINITY);
        }
        if self.radius == 0.0 && self.value == 0.0 {
            return Self::exact(0.0);
        }
        // |x'/y' - x/y| = |x' - x + (x/y)(y - y')| / |y'|
        let inherited = (self.radius + v.abs() * other.radius) / least;
        Self::rounded(v, inherited, M::TABLE.div_ulp)
    }
}

impl<M: Model> Arith for Bounded<M> {
    #[inline(always)]
    fn like(self, c: f64) -> Self {
        Self::from_f64(c)
    }

    #[inline(always)]
    fn exp(self) -> Self {
        let v = exp(self.value);
        if self.value == 0.0 && self.radius == 0.0 && M::TABLE.exp_of_zero_is_one {
            return Self::exact(1.0);
        }
        // Everything that may occur is below e^-100 (1 + 3.4e-5) < 4e-44: zero or subnormal.
        if self.value + self.radius <= -100.0 {
            return Self::new(v, 2.0 * MIN_NORMAL);
        }
        // e^(x+d) - e^x = e^x (e^d - 1), and e^d - 1 <= d + d^2 for 0 <= d <= 1 (from the series:
        // the terms after the first sum to d^2 (1/2 + 1/6 + ...) = d^2 (e - 2) at most). Beyond
        // that e^d itself will do.
        let growth = if self.radius <= 1.0 {
            self.radius + self.radius * self.radius
        } else {
            exp(self.radius) * (1.0 + 2.0 * EXP_ERROR)
        };
        let inherited = v * growth + v * EXP_ERROR;
        let reach = self.value.abs() + self.radius;
        Self::rounded(v, inherited, M::TABLE.exp_ulp + M::TABLE.exp_ulp_per_x * reach)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        let v = self.value.sqrt();
        if self.radius == 0.0
            && v * v == self.value
            && Self::representable(v)
            && M::TABLE.sqrt_ulp <= 0.5
        {
            return Self::exact(v);
        }
        if self.radius == 0.0 && self.value == 0.0 {
            return Self::exact(0.0);
        }
        let least = self.value - self.radius;
        if !(least >= MIN_NORMAL) {
            return Self::new(v, f64::INFINITY);
        }
        // |sqrt(x') - sqrt(x)| = |x' - x| / (sqrt(x') + sqrt(x))
        let inherited = self.radius / (least.sqrt() + v);
        Self::rounded(v, inherited, M::TABLE.sqrt_ulp)
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        match self.less(other) {
            Truth::Always => self,
            Truth::Never => other,
            // min is 1-Lipschitz in the larger of its arguments' distances. A device that flushes
            // may compare two subnormals as zeros and return the larger, which is less than twice
            // the smallest normal from the other.
            Truth::Undecided => {
                let radius = (self.radius.max(other.radius) + 2.0 * Self::FLUSH) * INFLATE;
                Self::new(self.value.min(other.value), radius)
            }
        }
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        -((-self).min(-other))
    }
}

impl<M: Model> Scalar for Bounded<M> {
    /// 16 2^-23 (15 + 2 |power|) with |power| < 89: the model's exp is the least accurate step.
    const SLACK: f64 = 16.0 * ULP * 193.0;

    fn from_f32(x: f32) -> Self {
        let value = f64::from(x);
        // A subnormal input may be read as zero.
        if M::TABLE.may_flush && value.abs() < MIN_NORMAL {
            return Self::new(value, value.abs());
        }
        Self::new(value, 0.0)
    }

    fn from_f64(x: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "an f32 program rounds its literals")]
        let literal = x as f32;
        let rounding = (f64::from(literal) - x).abs() * INFLATE;
        // A subnormal constant may be read as zero.
        let flushed = M::TABLE.may_flush && literal.is_subnormal();
        Self::new(x, if flushed { rounding.max(x.abs()) } else { rounding })
    }

    #[inline(always)]
    fn value(self) -> f64 {
        self.value
    }

    #[inline(always)]
    fn uncertainty(self) -> f64 {
        self.radius
    }

    #[inline(always)]
    fn choose(holds: Truth, yes: Self, no: Self) -> Self {
        match holds {
            Truth::Always => yes,
            Truth::Never => no,
            Truth::Undecided => yes.or(no),
        }
    }

    /// The square root of an interval that reaches below zero is unknown, but of its part above
    /// `floor` it is not: the root is monotone, so the roots of the ends are the ends.
    fn root_above(self, floor: f64) -> Self {
        let least = Self::from_f64(floor);
        let ([low, high], [floor_low, floor_high]) = (self.ends(), least.ends());
        if low > floor_high && low >= MIN_NORMAL {
            return self.sqrt();
        }
        if high < floor_low {
            return if floor == 0.0 { least } else { least.sqrt() };
        }
        let v = self.value.max(floor).sqrt();
        if !(high < f64::INFINITY) {
            return Self::new(v, f64::INFINITY);
        }
        let [low, high] = [low.max(floor_low).max(0.0).sqrt(), high.max(floor_high).sqrt()];
        // Three f64 roundings. The root of a subnormal number, which may also be read as zero, is
        // below 2^-63.
        let tiny = if low * low < 2.0 * MIN_NORMAL { MIN_NORMAL.sqrt() } else { 0.0 };
        let inherited = (high - v).max(v - low).max(0.0) + 4.0 * f64::EPSILON * high + tiny;
        Self::rounded(v, inherited, M::TABLE.sqrt_ulp)
    }

    #[inline(always)]
    fn less(self, other: Self) -> Truth {
        let gap = other.value - self.value;
        // The difference of two f64 has the right sign and a relative error of 2^-53.
        let radius = (self.radius + other.radius) * (INFLATE * INFLATE);
        // An unknown operand decides nothing, even where its value, and so the gap, is infinite.
        let known = radius < f64::INFINITY;
        match gap.partial_cmp(&0.0) {
            Some(Ordering::Greater) if gap > radius => Truth::Always,
            Some(Ordering::Less | Ordering::Equal) if known && -gap >= radius => Truth::Never,
            _ => Truth::Undecided,
        }
    }

    fn ln(self) -> Self {
        let v = ln(self.value);
        let least = self.value - self.radius;
        if !(least >= MIN_NORMAL) {
            return Self::new(v, f64::INFINITY);
        }
        // |ln x' - ln x| <= |x' - x| / min(x, x')
        let inherited = self.radius / least + v.abs() * LN_ERROR;
        // Near 1, where the result is near 0, WGSL promises an absolute error of 2^-21 only; the
        // single use of ln, the extent of a Gaussian, needs no sharper one in other models.
        let near_one = least <= 2.0 && self.value + self.radius >= 0.5;
        let inherited = if near_one { inherited + LN_NEAR_ONE } else { inherited };
        Self::rounded(v, inherited, M::TABLE.ln_ulp)
    }
}
