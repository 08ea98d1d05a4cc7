//! exp and ln in f64 from the four operations alone.

use super::numbers::Lanes;

/// High part of ln 2: its last 21 bits are zero, so that k * `LN2_HI` is exact for |k| < 2^21.
const LN2_HI: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
/// ln 2 - `LN2_HI`, rounded.
const LN2_LO: f64 = 1.908_214_929_270_587_7e-10;
/// Coefficients of q with exp(r) ~ 1 + r + r^2 q(r) on |r| <= ln(2)/2 (1 + 1e-7): interpolation of
/// (exp(r) - 1 - r)/r^2 at the ten Chebyshev nodes, computed with 300 bits and rounded to f64.
/// The largest relative error of the rounded polynomial is 1.6e-17 (2^-55.8).
const Q: [f64; 10] = [
    f64::from_bits(0x3fe0_0000_0000_0001),
    f64::from_bits(0x3fc5_5555_5555_5556),
    f64::from_bits(0x3fa5_5555_5555_3d68),
    f64::from_bits(0x3f81_1111_1111_09b5),
    f64::from_bits(0x3f56_c16c_1788_9ef9),
    f64::from_bits(0x3f2a_01a0_1a7c_2f03),
    f64::from_bits(0x3efa_019b_9149_85a9),
    f64::from_bits(0x3ec7_1de0_db2f_585e),
    f64::from_bits(0x3e92_8917_c8be_7ad6),
    f64::from_bits(0x3e5a_f389_ed28_db09),
];
/// Adding and subtracting 1.5 2^52 rounds to the nearest integer, which is then in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// Least argument of a positive [`exp`].
const LOWEST: f64 = -708.0;
/// Largest relative error of [`exp`] on [-708, 709]: 2^-52.
pub(crate) const EXP_ERROR: f64 = f64::EPSILON;

/// e^x with a relative error of at most 2^-52 for x in [-708, 709]; 0 below, +inf above, NaN for
/// NaN.
///
/// x = k ln 2 + r with |r| <= ln(2)/2: k is an integer below 2^11, k `LN2_HI` is exact, and the
/// difference to it is exact by Sterbenz's lemma or has a result below 1, so r carries an absolute
/// error below 2^-53 + 2^-55, all products being fused with the sums they go into. The polynomial adds
/// 2^-55.8, its evaluation less than one rounding of the final sum (the tail r^2 q(r) is below 0.07), the
/// scaling by 2^k none.
///
/// Source of the method: Cody and Waite, Software Manual for the Elementary Functions, 1980.
#[must_use]
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    exp_lanes(x)
}

/// Rows of f64 whose exponents can be moved.
pub(super) trait Exponent: Lanes<Elem = f64> {
    /// Adds the low eleven bits of `by`'s bit pattern to the exponent of `self`.
    fn shift_exponent(self, by: Self) -> Self;
}

impl Exponent for f64 {
    #[inline(always)]
    fn shift_exponent(self, by: Self) -> Self {
        Self::from_bits(self.to_bits().wrapping_add(by.to_bits() << 52))
    }
}

/// [`exp`] of every lane.
#[inline(always)]
pub(super) fn exp_lanes<L: Exponent>(x: L) -> L {
    let c = |value| x.splat(value);
    let scaled = exp_within(x);
    let low = c(0.0).or_else(x.lt(c(LOWEST)), scaled);
    let high = c(f64::INFINITY).or_else(c(709.0).lt(x), low);
    // Every number but NaN is below 1 or above 0.
    let nan = x.and(x.not(x.lt(c(1.0))), x.not(c(0.0).lt(x)));
    x.or_else(nan, high)
}

/// [`exp`] of every lane that is 0 or less, but for e^-708 below -708; any number in a lane above 0. NaN gives NaN,
/// but for one whose lowest twelve bits are not all 0, which no operation makes.
#[inline(always)]
pub(super) fn exp_of_power<L: Exponent>(x: L) -> L {
    exp_within(x.splat(LOWEST).max(x))
}

/// [`exp`] of every lane in [-708, 709]; elsewhere any number.
#[inline(always)]
fn exp_within<L: Exponent>(x: L) -> L {
    let c = |value| x.splat(value);
    let shifted = x.mul_add(c(std::f64::consts::LOG2_E), c(ROUND));
    let k = shifted - c(ROUND);
    let r = k.mul_add(c(-LN2_LO), k.mul_add(c(-LN2_HI), x));
    // Estrin's scheme: the longest chain is half of Horner's.
    let pair = |i: usize| c(Q[i + 1]).mul_add(r, c(Q[i]));
    let (r2, r4) = (r * r, (r * r) * (r * r));
    let four = |i: usize| pair(i + 2).mul_add(r2, pair(i));
    let q = pair(8).mul_add(r4, four(4)).mul_add(r4, four(0));
    let m = c(1.0) + r2.mul_add(q, r);
    // The low bits of `shifted` hold k in two's complement; k is added to the exponent. m is in
    // [0.7, 1.42], so for x in the domain the exponent stays that of a normal number.
    m.shift_exponent(shifted)
}

/// Largest relative error of [`ln`]: 2^-50, where the result is not near zero; see there.
pub(crate) const LN_ERROR: f64 = 4.0 * f64::EPSILON;

/// ln x for normal x > 0, with an error of at most 2^-50 |ln x| (the factor m - 1 is exact, so this
/// holds near 1 too); -inf for 0 and subnormals, NaN below 0, +inf for +inf.
///
/// x = 2^k m with m in [sqrt(1/2), sqrt(2)), s = (m - 1)/(m + 1), ln m = 2 artanh s = 2 (s + s^3/3 +
/// ...), cut after s^23: |s| <= 0.1716, so what is left out is below 2 s^25/25/(1 - s^2) < 1e-19 |s|.
#[must_use]
pub fn ln(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x < f64::MIN_POSITIVE {
        return f64::NEG_INFINITY;
    }
    if x == f64::INFINITY {
        return x;
    }
    let bits = x.to_bits();
    let (mut k, mut m) = (
        ((bits >> 52) & 0x7ff) as i32 - 1023,
        f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000),
    );
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        k += 1;
    }
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let mut tail = 0.0;
    for n in (1..=11).rev() {
        tail = (tail + 1.0 / f64::from(2 * n + 1)) * square;
    }
    let ln_m = 2.0 * s + 2.0 * s * tail;
    let k = f64::from(k);
    k * LN2_HI + (k * LN2_LO + ln_m)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A sum of two f64 with about 106 bits: enough to see errors of 2^-60.
    #[derive(Clone, Copy)]
    struct Double(f64, f64);

    impl Double {
        fn add(self, other: Self) -> Self {
            let sum = self.0 + other.0;
            let back = sum - self.0;
            let error = (self.0 - (sum - back)) + (other.0 - back);
            Self::quick(sum, error + self.1 + other.1)
        }

        fn quick(high: f64, low: f64) -> Self {
            let sum = high + low;
            Self(sum, low - (sum - high))
        }

        fn mul(self, other: Self) -> Self {
            let high = self.0 * other.0;
            let error = f64::mul_add(self.0, other.0, -high);
            Self::quick(high, error + self.0 * other.1 + self.1 * other.0)
        }

        fn div(self, divisor: f64) -> Self {
            let high = self.0 / divisor;
            let error = f64::mul_add(-high, divisor, self.0);
            Self::quick(high, (error + self.1) / divisor)
        }
    }

    /// exp by its series after halving the argument 20 times, in double-double arithmetic.
    fn exp_reference(x: f64) -> Double {
        let small = Double(x * 2f64.powi(-20), 0.0);
        let mut term = Double(1.0, 0.0);
        // expm1 is squared up: (1 + e)^2 - 1 = 2 e + e^2 keeps the relative accuracy of e.
        let mut e = Double(0.0, 0.0);
        for n in 1..=12 {
            term = term.mul(small).div(f64::from(n));
            e = e.add(term);
        }
        for _ in 0..20 {
            e = e.add(e).add(e.mul(e));
        }
        e.add(Double(1.0, 0.0))
    }

    /// Relative error of `computed` against e^x. For x < 0 it is computed e^-x - 1, because the
    /// reference has a small relative error only above 1.
    fn exp_error(computed: f64, x: f64) -> f64 {
        let reference = exp_reference(x.abs());
        if x >= 0.0 {
            return ((computed - reference.0) - reference.1).abs() / reference.0;
        }
        let product = reference.mul(Double(computed, 0.0));
        ((product.0 - 1.0) + product.1).abs()
    }

    #[test]
    fn exp_stays_within_its_bound() {
        let mut worst = 0.0f64;
        for i in 0..400_000 {
            let x = -708.0 + f64::from(i) * (1417.0 / 400_000.0);
            worst = worst.max(exp_error(exp(x), x));
            let near = -6.0 + f64::from(i) * (7.0 / 400_000.0);
            worst = worst.max(exp_error(exp(near), near));
        }
        assert!(worst <= EXP_ERROR, "relative error {worst:e} exceeds {EXP_ERROR:e}");
        assert!(worst > EXP_ERROR / 8.0, "the bound is loose: worst {worst:e}");
    }

    #[test]
    fn exp_at_the_ends_of_its_domain() {
        for zero in [0.0, -0.0] {
            assert_eq!(exp(zero).to_bits(), 1.0f64.to_bits(), "exp(0) is not 1");
        }
        assert_eq!(exp(-708.1).to_bits(), 0, "no flush below the domain");
        assert_eq!(exp(709.1), f64::INFINITY, "no overflow above the domain");
        assert_eq!(exp(f64::NEG_INFINITY).to_bits(), 0, "exp(-inf) is not 0");
        assert!(exp(f64::NAN).is_nan(), "NaN is lost");
    }

    #[test]
    fn exp_of_power_is_exp_where_that_matters() {
        let bits = |x: f64| (exp_of_power(x).to_bits(), exp(x).to_bits());
        for i in 0..100_000 {
            for x in [-708.0 * f64::from(i) / 100_000.0, -1.0 / f64::from(i + 1)] {
                let (of_power, exp) = bits(x);
                assert_eq!(of_power, exp, "x = {x:e}");
            }
        }
        for below in [-709.0, -1e300, f64::NEG_INFINITY] {
            assert_eq!(bits(below).0, exp(-708.0).to_bits(), "x = {below:e}");
        }
        assert!(exp_of_power(f64::NAN).is_nan() && exp_of_power(-f64::NAN).is_nan(), "NaN is lost");
    }

    #[test]
    fn ln_at_the_ends_of_its_domain() {
        assert_eq!(ln(1.0).to_bits(), 0, "ln 1 is not 0");
        assert_eq!(ln(0.0), f64::NEG_INFINITY, "ln 0");
        assert_eq!(ln(f64::INFINITY), f64::INFINITY, "ln inf");
        assert!(ln(-1.0).is_nan() && ln(f64::NAN).is_nan(), "ln outside its domain");
    }

    proptest! {
        /// One Newton step of exp(y) = x in double-double arithmetic shows the error of y = ln x:
        /// with e = exp(y)/x - 1 and |e| < 1e-10, ln x = y - e + O(e^2).
        #[test]
        fn ln_stays_within_its_bound(x in prop_oneof![1e-300f64..1e300, 0.5f64..2.0]) {
            let y = ln(x);
            prop_assume!(y.abs() < 700.0);
            let error = exp_error(x, y);
            prop_assert!(error <= LN_ERROR * y.abs(), "x {x:e}: error {error:e}");
        }
    }
}
