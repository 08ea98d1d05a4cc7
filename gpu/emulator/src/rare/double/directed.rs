//! f64 arithmetic that is rounded towards zero, down or up (`.rz`, `.rm`, `.rp`).
//!
//! The result rounded to nearest is one of the two numbers that the exact one lies between. Which of them it is, the
//! sign of the exact one less the nearest says. That is the sign of a sum of products of f64, which is computed
//! without an error: of x/y - r that of x - r y, turned if y is negative; of sqrt(x) - r that of x - r r.

use std::cmp::Ordering;

use super::super::super::ir::{Double, Rounding};

/// The exact result of an operation, rounded in this direction; `nearest` is what rounding to nearest gives.
pub(super) fn directed(op: Double, [x, y, z]: [f64; 3], nearest: f64, rounding: Rounding) -> f64 {
    let r = nearest;
    let (terms, turned) = match op {
        Double::Add => ([(x, 1.0), (y, 1.0), (-r, 1.0)], false),
        Double::Sub => ([(x, 1.0), (-y, 1.0), (-r, 1.0)], false),
        Double::Mul => ([(x, y), (0.0, 0.0), (-r, 1.0)], false),
        Double::Fma => ([(x, y), (z, 1.0), (-r, 1.0)], false),
        Double::Div if y != 0.0 => ([(x, 1.0), (-r, y), (0.0, 0.0)], y < 0.0),
        Double::Reciprocal if x != 0.0 => ([(1.0, 1.0), (-r, x), (0.0, 0.0)], x < 0.0),
        Double::Sqrt => ([(x, 1.0), (-r, r), (0.0, 0.0)], false),
        // These do not round, or have no directions.
        Double::Div
        | Double::Reciprocal
        | Double::GrossReciprocal
        | Double::GrossReciprocalRoot
        | Double::ReciprocalRoot
        | Double::Negate
        | Double::Abs
        | Double::Min
        | Double::Max => return r,
    };
    // Operands that an operation has not got are 0.
    if ![x, y, z].iter().all(|operand| operand.is_finite()) {
        return r;
    }
    let beyond = if r.is_infinite() {
        // Too large for an f64, and less than infinity.
        0.0.partial_cmp(&r).unwrap_or(Ordering::Equal)
    } else {
        let sign = Sum::of(&terms).sign();
        if turned { sign.reverse() } else { sign }
    };
    if beyond == Ordering::Equal && r == 0.0 {
        return zero(op, [x, y, z], rounding).unwrap_or(r);
    }
    let down = match rounding {
        Rounding::Nearest => return r,
        Rounding::Down => true,
        Rounding::Up => false,
        Rounding::Zero => r > 0.0 || r == 0.0 && beyond == Ordering::Greater,
    };
    match (down, beyond) {
        (true, Ordering::Less) => r.next_down(),
        (false, Ordering::Greater) => r.next_up(),
        _ => r,
    }
}

/// The zero that a sum of numbers which cancel is: -0 if it is rounded down, +0 otherwise (IEEE 754-2019, 6.3). `None`
/// for the sum of two zeros of one sign, and for what is no sum.
fn zero(op: Double, [x, y, z]: [f64; 3], rounding: Rounding) -> Option<f64> {
    let negative = f64::is_sign_negative;
    let signs = match op {
        Double::Add => [negative(x), negative(y)],
        Double::Sub => [negative(x), !negative(y)],
        Double::Fma => [negative(x) != negative(y), negative(z)],
        _ => return None,
    };
    (signs[0] != signs[1]).then_some(if rounding == Rounding::Down { -0.0 } else { 0.0 })
}

/// Bits of a digit.
const DIGIT: usize = 32;

/// The exponent of the lowest digit: a product of two subnormal f64 is a multiple of 2^-2148.
const LOWEST: i32 = -2176;

/// A sum of a few products of f64, without an error: digits of 32 bits, with a sign each, from 2^-2176 to beyond the
/// product of the largest two, which is below 2^2048.
struct Sum([i64; 138]);

impl Sum {
    fn of(products: &[(f64, f64)]) -> Self {
        let mut sum = Self([0; 138]);
        products.iter().for_each(|&(a, b)| sum.add(a, b));
        sum
    }

    fn add(&mut self, a: f64, b: f64) {
        let ((m, e), (n, f)) = (parts(a), parts(b));
        let product = u128::from(m) * u128::from(n);
        let shift = usize::try_from(e + f - LOWEST).expect("at least 2^-2148");
        let sign = if a.is_sign_negative() == b.is_sign_negative() { 1 } else { -1 };
        for k in 0..4 {
            let digit = u64::try_from(product >> (DIGIT * k) & 0xffff_ffff).expect("32 bits");
            let moved = digit << (shift % DIGIT);
            let at = shift / DIGIT + k;
            self.0[at] += sign * (moved & 0xffff_ffff).cast_signed();
            self.0[at + 1] += sign * (moved >> DIGIT).cast_signed();
        }
    }

    fn sign(&self) -> Ordering {
        let (mut carry, mut rest) = (0, 0);
        for digit in self.0 {
            let whole = digit + carry;
            carry = whole >> DIGIT;
            rest |= whole & 0xffff_ffff;
        }
        carry.cmp(&0).then(rest.cmp(&0))
    }
}

/// The mantissa and exponent of a finite number's magnitude.
fn parts(x: f64) -> (u64, i32) {
    let (field, fraction) = (x.to_bits() >> 52 & 0x7ff, x.to_bits() & ((1 << 52) - 1));
    match i32::try_from(field).expect("11 bits") {
        0 => (fraction, -1074),
        field => (fraction | 1 << 52, field - 1075),
    }
}
