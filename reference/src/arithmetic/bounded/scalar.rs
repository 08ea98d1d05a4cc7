//! What only one bounded number does, not a vector of them: it is made of an input, compared, and read.

use super::{Bounded, Decided, INFLATE, MIN_NORMAL, SUBNORMAL_STEP, ULP, VALUE_ROUNDING};
use crate::arithmetic::elementary::{LN_ERROR, ln};
use crate::arithmetic::{Arith, Model, Scalar, Tristate};

/// What ln may err by, absolutely, for arguments in 0.5..=2: 2^-21.
const LN_NEAR_ONE: f64 = 1.0 / 2_097_152.0;

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

    #[inline(always)]
    fn computed(x: f32, radius: f64) -> Self {
        if radius == 0.0 { Self::from_f32(x) } else { Self::new(f64::from(x), radius) }
    }

    fn from_f64(x: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "an f32 program rounds its literals")]
        let literal = x as f32;
        let rounding = (f64::from(literal) - x).abs() * INFLATE;
        // A subnormal constant may be read as zero.
        let flushed = M::TABLE.may_flush && literal.is_subnormal();
        Self::new(x, if flushed { rounding.max(x.abs()) } else { rounding })
    }

    /// Where the product's radius reaches 0, the square is bounded from its root's ends instead: for
    /// x between l > 0 and h, an f32 x * x lies between l^2 (1 - u) - s and h^2 (1 + u) + s, with u
    /// the unit of one operation and s what a subnormal result may lose. Elsewhere the bound is that
    /// of the operations one by one.
    fn divides_by_square(self, numerator: Self, plus: Option<f64>) -> Self {
        let sum = |square: Self| plus.map_or(square, |plus| square + Self::from_f64(plus));
        let plain = numerator / sum(self * self);
        let [low, high] = self.ends();
        let [low, high] = if low > 0.0 { [low, high] } else { [-high, -low] };
        if plain.radius < f64::INFINITY || low.is_nan() || low <= 0.0 {
            return plain;
        }
        let ulps = M::TABLE.basic_ulp;
        // VALUE_ROUNDING covers the two roundings of each f64 expression below.
        let unit = ulps * ULP + 2.0 * VALUE_ROUNDING;
        let smallest = (Self::FLUSH + (ulps + 1.0) * SUBNORMAL_STEP) * INFLATE;
        let square = Self::between(
            low * low * (1.0 - unit) - smallest,
            high * high * (1.0 + unit) + smallest,
        );
        let bounded = numerator / sum(square);
        Self::new(plain.value, bounded.radius_about(plain.value))
    }

    fn over_positive(self, divisor: Self) -> Self {
        let is_zero = self.value == 0.0 && self.radius == 0.0;
        if is_zero { self } else { self / divisor }
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
    fn choose(holds: Tristate, yes: Self, no: Self) -> Self {
        match holds {
            Tristate::Always => yes,
            Tristate::Never => no,
            Tristate::Undecided => yes.or(no),
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
    fn less(self, other: Self) -> Tristate {
        match self.decide(other) {
            Decided { always: true, .. } => Tristate::Always,
            Decided { never: true, .. } => Tristate::Never,
            _ => Tristate::Undecided,
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
