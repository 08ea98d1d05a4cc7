//! f32 arithmetic as PTX defines it.
//!
//! The rounding of +, -, *, /, sqrt and fma is that of IEEE 754, which is also Rust's. What differs
//! is the result that is not a number (always 0x7fffffff), flushing (`.ftz`: a subnormal operand or
//! result becomes a zero of its sign) and saturation (`.sat`: to 0..=1, not a number to +0).
//! Source: PTX ISA 8.4, "Floating Point Instructions".

pub(super) mod approximate;
pub(super) mod wave;

use super::ir::{Comparison, FloatFlags, Rounding};

/// PTX's canonical NaN.
const NAN: u32 = 0x7fff_ffff;
const SIGN: u32 = 0x8000_0000;
const EXPONENT: u32 = 0x7f80_0000;

/// A subnormal becomes a zero of its sign.
#[inline(always)]
pub(super) fn flushed(bits: u32) -> u32 {
    if bits & EXPONENT == 0 { bits & SIGN } else { bits }
}

/// An operand.
#[inline(always)]
pub(super) fn operand(bits: u32, flush: bool) -> f32 {
    f32::from_bits(if flush { flushed(bits) } else { bits })
}

/// A result.
#[inline(always)]
pub(super) fn result(value: f32, flags: FloatFlags) -> u32 {
    if flags.saturate {
        // The comparison is false for NaN, which becomes +0, as does -0.
        let above = if value > 0.0 { value } else { 0.0 };
        let clamped = if above < 1.0 { above } else { 1.0 };
        return if flags.flush { flushed(clamped.to_bits()) } else { clamped.to_bits() };
    }
    let bits = if value.is_nan() { NAN } else { value.to_bits() };
    if flags.flush { flushed(bits) } else { bits }
}

/// min: the other operand if one is not a number; -0 is less than +0.
#[inline(always)]
pub(super) fn min(a: f32, b: f32) -> f32 {
    let zeros = f32::from_bits(a.to_bits() | b.to_bits());
    let least = if a < b {
        a
    } else if a == b {
        // Equal bits or zeros of two signs: or-ing the signs gives -0.
        zeros
    } else {
        b
    };
    if a.is_nan() {
        b
    } else if b.is_nan() {
        a
    } else {
        least
    }
}

/// max, with the rules of [`min`].
#[inline(always)]
pub(super) fn max(a: f32, b: f32) -> f32 {
    let zeros = f32::from_bits(a.to_bits() & b.to_bits());
    let most = if a > b {
        a
    } else if a == b {
        zeros
    } else {
        b
    };
    if a.is_nan() {
        b
    } else if b.is_nan() {
        a
    } else {
        most
    }
}

/// a * b + c rounded down: what expf is made of, and therefore in a loop of its own.
#[inline(always)]
pub(super) fn fma_down(a: f32, b: f32, c: f32) -> f32 {
    directed_fma(a, b, c, Rounding::Down)
}

/// a * b + c, rounded once.
///
/// The product of two f32 is exact in f64 (48 bits, exponents in range); the error of the f64 sum
/// is exact too (Knuth's two-sum), so that comparing the candidate with sum and error decides the
/// direction.
#[inline(always)]
pub(super) fn directed_fma(a: f32, b: f32, c: f32, rounding: Rounding) -> f32 {
    let product = f64::from(a) * f64::from(b);
    let addend = f64::from(c);
    let sum = product + addend;
    if sum == 0.0 && (product != 0.0 || product.is_sign_negative() != addend.is_sign_negative()) {
        // x - x is -0 when rounding down, +0 otherwise.
        return if rounding == Rounding::Down { -0.0 } else { 0.0 };
    }
    let back = sum - product;
    let error = (product - (sum - back)) + (addend - back);
    #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is what is asked for")]
    let nearest = sum as f32;
    if !product.is_finite() || !addend.is_finite() || sum == 0.0 {
        return nearest;
    }
    let candidate = f64::from(nearest);
    let too_high = candidate > sum || candidate == sum && error < 0.0;
    let too_low = candidate < sum || candidate == sum && error > 0.0;
    let down = match rounding {
        Rounding::Down => true,
        Rounding::Up => false,
        Rounding::Zero => sum > 0.0,
        Rounding::Nearest => return nearest,
    };
    match (down, too_high, too_low) {
        (true, true, _) => nearest.next_down(),
        (false, _, true) => nearest.next_up(),
        (true, false, _) | (false, _, false) => nearest,
    }
}

/// To an integral value.
#[inline(always)]
pub(super) fn integral(value: f32, rounding: Rounding) -> f32 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

/// Ordered comparisons are false for NaN, unordered ones true.
#[inline(always)]
pub(super) fn compare(comparison: Comparison, a: f32, b: f32) -> bool {
    compared(comparison, a, b, a.is_nan() || b.is_nan())
}

/// The same of either width; `unordered` where one is not a number.
#[inline(always)]
pub(super) fn compared<T: PartialOrd>(comparison: Comparison, a: T, b: T, unordered: bool) -> bool {
    match comparison {
        Comparison::Eq => a == b,
        Comparison::Ne => !unordered && a != b,
        Comparison::Lt => a < b,
        Comparison::Le => a <= b,
        Comparison::Gt => a > b,
        Comparison::Ge => a >= b,
        Comparison::Equ => unordered || a == b,
        Comparison::Neu => a != b,
        Comparison::Ltu => !(a >= b),
        Comparison::Leu => !(a > b),
        Comparison::Gtu => !(a <= b),
        Comparison::Geu => !(a < b),
        Comparison::Num => !unordered,
        Comparison::Nan => unordered,
    }
}
