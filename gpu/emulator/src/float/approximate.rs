//! The functions that PTX gives only up to a bound.
//!
//! Exact mode gives the f64 value rounded to f32: within a hair of correctly rounded, the same bits
//! on every machine, since only +, -, *, / and sqrt are used. Perturbed mode gives one of the f32
//! values within the documented bound, chosen by a hash of seed, function and operands, so that
//! equal operands give equal results in every lane. The special values of PTX's tables (zeros,
//! infinities, NaN) are never perturbed.
//!
//! Bounds: PTX ISA 8.4, ex2 (relative 2^-22), lg2 (absolute 2^-22 for operands in 0.5..2, relative
//! 2^-22 elsewhere), rcp (1 ulp), sqrt (relative 2^-23), rsqrt (relative 2^-22.9), div.approx and
//! div.full (2 ulp), tanh (relative 2^-11).
//!
//! WGSL ("Accuracy of Concrete Floating Point Expressions"): exp2 and exp 3 + 2|x| ulp, log2 and log
//! absolute 2^-21 for operands in 0.5..2 and 3 ulp elsewhere, inverseSqrt 2 ulp, atan2 4096 ulp. Its exp is
//! ex2.wgsl(x log2(e)) and its log is lg2.wgsl(x) ln(2): in units of 2^-24 of the result, the product adds
//! 1 to what it rounds and 0.25 for the constant. That is at most 1.25 |x| for exp, which leaves 3 for
//! ex2.wgsl, and 1.25 for log, which leaves 1.7 for lg2.wgsl.

use super::super::ir::{Approximation, FloatFlags};
use super::super::mix::mix;
use super::{operand, result};

/// How approximate functions round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ApproximationMode {
    /// To the nearest f32.
    #[default]
    Nearest,
    /// To some f32 within the documented bound, by this seed.
    Perturbed(u64),
}

/// `f(a)` or `f(a, b)` in f64; operands are flushed already where asked.
#[inline(always)]
pub(in super::super) fn exact(op: Approximation, a: f32, b: f32) -> f64 {
    match op {
        Approximation::Ex2 | Approximation::Ex2Wgsl => exp2(f64::from(a)),
        Approximation::Lg2 | Approximation::Lg2Wgsl => log2(f64::from(a)),
        Approximation::Rcp => 1.0 / f64::from(a),
        Approximation::Sqrt => f64::from(a).sqrt(),
        Approximation::Rsqrt | Approximation::RsqrtWgsl => 1.0 / f64::from(a).sqrt(),
        Approximation::Div => {
            // PTX ISA, "div": for divisors in 2^126..2^128 the result is zero, or NaN for an
            // infinite dividend.
            let large = b.abs() > f32::from_bits(0x7e80_0000) && b.is_finite();
            let divisor = if large { f64::from(f32::INFINITY.copysign(b)) } else { f64::from(b) };
            f64::from(a) / divisor
        }
        Approximation::DivFull => f64::from(a) / f64::from(b),
        Approximation::Atan2Wgsl => atan2(f64::from(a), f64::from(b)),
        Approximation::Tanh => tanh(f64::from(a)),
    }
}

/// The exact value rounded to nearest.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is what is asked for")]
pub(in super::super) fn nearest(op: Approximation, a: f32, b: f32) -> f32 {
    exact(op, a, b) as f32
}

/// One of the f32 values within the documented bound, by the hash of what went in.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is what is asked for")]
pub(in super::super) fn perturbed(op: Approximation, a: f32, b: f32, seed: u64) -> f32 {
    let exact = exact(op, a, b);
    let nearest = exact as f32;
    // 2^-40: far above the error of the f64 evaluation.
    let allowed = bound(op, a, exact) - exact.abs() / (1_u64 << 40) as f64;
    let bits = u64::from(a.to_bits()) << 32 | u64::from(b.to_bits());
    let chosen = choose(exact, nearest, allowed, mix(mix(mix(seed) ^ bits) ^ op as u64));
    let chosen = if op == Approximation::Tanh { chosen.clamp(-1.0, 1.0) } else { chosen };
    // Results near the subnormals keep their bits too: their bounds are those of flushing.
    let special = a == 0.0 || !a.is_finite() || !b.is_finite() || !nearest.is_finite();
    if special || nearest.abs() < 2.0 * f32::MIN_POSITIVE { nearest } else { chosen }
}

/// WGSL's pow: `exp2(y * log2(x))`, whose accuracy it inherits, with each of the three as `mode` rounds. That is 0 at
/// x = 0 for every y > 0, and no number for y = 0.
pub(in super::super) fn power(x: f32, y: f32, flags: FloatFlags, mode: ApproximationMode) -> u32 {
    let function = |op, a| match mode {
        ApproximationMode::Nearest => nearest(op, a, 0.0),
        ApproximationMode::Perturbed(seed) => perturbed(op, a, 0.0, seed),
    };
    let log = result(function(Approximation::Lg2Wgsl, x), flags);
    let product = result(y * operand(log, flags.flush), flags);
    result(function(Approximation::Ex2Wgsl, operand(product, flags.flush)), flags)
}

/// 2^-24: no more than a unit in the last place, relative to the number.
const RELATIVE_24: f64 = RELATIVE_22 / 4.0;
/// 2^-22.
const RELATIVE_22: f64 = 1.0 / (1 << 22) as f64;
/// 2^-22.9, rounded down.
const RSQRT_RELATIVE: f64 = 1.277_6e-7;

/// 2^-11.
const TANH_RELATIVE: f64 = 1.0 / 2048.0;

/// How far the result may be from the exact value.
#[inline(always)]
fn bound(op: Approximation, a: f32, exact: f64) -> f64 {
    let magnitude = exact.abs();
    // Of the binade that holds the exact value.
    let ulp = f64::from_bits(magnitude.to_bits() & (0x7ff << 52)) / 8_388_608.0;
    match op {
        Approximation::Ex2 => magnitude * RELATIVE_22,
        Approximation::Ex2Wgsl => magnitude * (3.0 * RELATIVE_24),
        Approximation::RsqrtWgsl => magnitude * (2.0 * RELATIVE_24),
        Approximation::Lg2Wgsl => {
            if a > 0.5 && a < 2.0 {
                RELATIVE_22
            } else {
                magnitude * (1.7 * RELATIVE_24)
            }
        }
        Approximation::Lg2 => {
            if a > 0.5 && a < 2.0 {
                RELATIVE_22
            } else {
                magnitude * RELATIVE_22
            }
        }
        Approximation::Rcp => ulp,
        Approximation::Sqrt => magnitude * (RELATIVE_22 * 0.5),
        Approximation::Rsqrt => magnitude * RSQRT_RELATIVE,
        Approximation::Div | Approximation::DivFull => 2.0 * ulp,
        Approximation::Atan2Wgsl => 4096.0 * ulp,
        Approximation::Tanh => magnitude * TANH_RELATIVE,
    }
}

/// One of the f32 values no further than `allowed` from `exact` and no more than 4 places from
/// `nearest`, a normal number above the least two binades.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the place is below 9")]
pub(super) fn choose(exact: f64, nearest: f32, allowed: f64, hash: u64) -> f32 {
    // The neighbours in magnitude; infinities and NaN are never within.
    let neighbour = |step: u32| f32::from_bits(nearest.to_bits().wrapping_add(step));
    let within = |step| u64::from((f64::from(neighbour(step)) - exact).abs() <= allowed);
    // What is nearer is within if what is further is.
    let (mut below, mut above) = (0, 0);
    for step in 1..=4 {
        below += within(0_u32.wrapping_sub(step));
        above += within(step);
    }
    let place = ((hash >> 32) * (below + above + 1)) >> 32;
    neighbour((place as u32).wrapping_sub(below as u32))
}

/// The hyperbolic tangent, whose relative error is below 2^-36: near 0 the first terms of its series, of which the
/// next is below 62/2835 x^8 of it, else (1 - e^-2|x|) / (1 + e^-2|x|).
fn tanh(x: f64) -> f64 {
    let (size, square) = (x.abs(), x * x);
    if x.is_nan() {
        return x;
    }
    if size < 0.02 {
        return x * (1.0 - square * (1.0 / 3.0 - square * (2.0 / 15.0 - square * (17.0 / 315.0))));
    }
    let less = exp2(-2.0 * std::f64::consts::LOG2_E * size.min(64.0));
    ((1.0 - less) / (1.0 + less)).copysign(x)
}

/// The angle of (x, y), whose relative error is below 2^-44: that of y/x or x/y, whichever is at most 1.
fn atan2(y: f64, x: f64) -> f64 {
    use std::f64::consts::{FRAC_PI_2, PI};
    let (rise, run) = (y.abs(), x.abs());
    let steep = rise > run;
    let (less, more) = if steep { (run, rise) } else { (rise, run) };
    // Two zeros have the angle of PTX's and C's library; two infinities that of the diagonal.
    let ratio = if less == more { if more == 0.0 { 0.0 } else { 1.0 } } else { less / more };
    let angle = atan(ratio);
    let angle = if steep { FRAC_PI_2 - angle } else { angle };
    let angle = if x.is_sign_negative() { PI - angle } else { angle };
    if x.is_nan() || y.is_nan() { f64::NAN } else { angle.copysign(y) }
}

/// The angle whose tangent is t, in 0..=1: four times that of a tangent of at most 0.2, by its Taylor
/// polynomial of degree 19, whose remainder is below 0.2^21/21 = 1e-16.
fn atan(t: f64) -> f64 {
    let half = |t: f64| t / (1.0 + (1.0 + t * t).sqrt());
    let t = half(half(t));
    let square = -t * t;
    let sum = (1..=9).rev().fold(1.0 / 19.0, |sum, k| sum * square + 1.0 / f64::from(2 * k - 1));
    4.0 * t * sum
}

/// 2^x for the x that matter to an f32 result; relative error below 2^-50.
///
/// x = n + r with |r| <= 1/2; 2^r = e^(r ln 2) by its Taylor polynomial of degree 13, whose
/// remainder is below 0.347^14/14! = 4e-18.
#[inline(always)]
pub(in super::super) fn exp2(x: f64) -> f64 {
    // Beyond these, f32 has only zero and infinity. NaN passes through both comparisons.
    let x = if x < -200.0 { -200.0 } else { x };
    let x = if x > 200.0 { 200.0 } else { x };
    /// Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    let shifted = x + SHIFT;
    let n = shifted.to_bits().wrapping_sub(SHIFT.to_bits());
    let t = (x - (shifted - SHIFT)) * std::f64::consts::LN_2;
    let mut sum = 1.0 / 6_227_020_800.0;
    for inverse in [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        sum = sum * t + inverse;
    }
    sum * f64::from_bits(n.wrapping_add(1023) << 52)
}

/// log2(x) for f32 operands; relative error below 2^-48.
///
/// x = 2^e m with m in sqrt(1/2)..sqrt(2); ln m = 2 atanh((m - 1)/(m + 1)) by its series to s^23,
/// whose remainder is below 0.172^24.
#[inline(always)]
pub(in super::super) fn log2(x: f64) -> f64 {
    const HALF_SQRT: u64 = 0x3fe6_a09e_667f_3bcd;
    let offset = x.to_bits().wrapping_sub(HALF_SQRT);
    let exponent = offset.cast_signed() >> 52;
    let m = f64::from_bits((offset & ((1 << 52) - 1)).wrapping_add(HALF_SQRT));
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for odd in [23.0, 21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        sum = sum * square + 1.0 / odd;
    }
    let value = exponent as f64 + sum * s * (2.0 / std::f64::consts::LN_2);
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x == f64::INFINITY {
        x
    } else if x > 0.0 {
        value
    } else {
        f64::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Approximation; 12] = [
        Approximation::Atan2Wgsl,
        Approximation::Ex2Wgsl,
        Approximation::Lg2Wgsl,
        Approximation::RsqrtWgsl,
        Approximation::Ex2,
        Approximation::Lg2,
        Approximation::Rcp,
        Approximation::Sqrt,
        Approximation::Rsqrt,
        Approximation::Div,
        Approximation::DivFull,
        Approximation::Tanh,
    ];

    /// Operands between 2^-40 and 2^40, for ex2 between -80 and 80.
    fn operands(op: Approximation, sample: u64) -> [f32; 2] {
        let bits = mix(sample);
        let fraction = |bits: u64| 1.0 + (bits & 0xffff) as f32 / 65536.0;
        let power = |bits: u64| f32::powi(2.0, i32::try_from(bits % 80).unwrap_or(0) - 40);
        if matches!(op, Approximation::Ex2 | Approximation::Ex2Wgsl) {
            return [160.0 * (bits & 0xff_ffff) as f32 / 16_777_216.0 - 80.0, 0.0];
        }
        [fraction(bits) * power(bits >> 16), fraction(bits >> 32) * power(bits >> 48)]
    }

    /// The platform's function, and the bound of the PTX ISA.
    fn documented(op: Approximation, [a, b]: [f32; 2]) -> (f64, f64) {
        let (x, y) = (f64::from(a), f64::from(b));
        let ulp = |value: f64| (value.abs().log2().floor() - 23.0).exp2();
        let relative = |value: f64, exponent: f64| (value, value.abs() * exponent.exp2());
        match op {
            Approximation::Ex2 => relative(x.exp2(), -22.0),
            Approximation::Lg2 if x > 0.5 && x < 2.0 => (x.log2(), (-22.0_f64).exp2()),
            Approximation::Lg2 => relative(x.log2(), -22.0),
            Approximation::Rcp => (1.0 / x, ulp(1.0 / x)),
            Approximation::Sqrt => relative(x.sqrt(), -23.0),
            Approximation::Rsqrt => relative(1.0 / x.sqrt(), -22.9),
            Approximation::Ex2Wgsl => (x.exp2(), 3.0 * ulp(x.exp2())),
            Approximation::Lg2Wgsl if x > 0.5 && x < 2.0 => (x.log2(), (-22.0_f64).exp2()),
            Approximation::Lg2Wgsl => (x.log2(), 3.0 * ulp(x.log2())),
            Approximation::RsqrtWgsl => (1.0 / x.sqrt(), 2.0 * ulp(1.0 / x.sqrt())),
            Approximation::Atan2Wgsl => (x.atan2(y), 4096.0 * ulp(x.atan2(y))),
            Approximation::Tanh => relative(x.tanh(), -11.0),
            Approximation::Div | Approximation::DivFull => (x / y, 2.0 * ulp(x / y)),
        }
    }

    #[test]
    fn exact_and_perturbed_results_are_within_the_documented_bounds() {
        for op in ALL {
            let mut moved = 0;
            for sample in 0..20_000 {
                let [a, b] = operands(op, sample);
                let (value, bound) = documented(op, [a, b]);
                let exact = nearest(op, a, b);
                let other = perturbed(op, a, b, sample % 7);
                assert_eq!(other, perturbed(op, a, b, sample % 7), "{op:?} is no function");
                for result in [exact, other] {
                    let error = (f64::from(result) - value).abs();
                    assert!(error <= bound, "{op:?}({a:e}, {b:e}): {error:e} above {bound:e}");
                }
                moved += u32::from(other != exact);
            }
            assert!(moved > 1000, "{op:?} was perturbed {moved} times only");
        }
    }

    #[test]
    fn special_values_are_never_perturbed() {
        for seed in 0..100 {
            assert_eq!(perturbed(Approximation::Ex2, 0.0, 0.0, seed), 1.0, "ex2(0)");
            assert_eq!(perturbed(Approximation::Ex2, -0.0, 0.0, seed), 1.0, "ex2(-0)");
            let infinite = perturbed(Approximation::Rcp, 0.0, 0.0, seed);
            assert_eq!(infinite, f32::INFINITY, "rcp(0)");
        }
    }
}
