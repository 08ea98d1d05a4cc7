//! f64 arithmetic: that of IEEE 754; rounded to nearest it is also Rust's. A result that is not a
//! number has the bits that devices give for an invalid operation, so that it does not depend on the
//! processor which this runs on. Source: PTX ISA 8.4, "Floating Point Instructions".

mod directed;

use super::super::ir::{Double, Rounding};

/// What an invalid operation gives.
pub(super) const NAN: u64 = 0xfff8_0000_0000_0000;

const SIGN: u64 = 1 << 63;

pub(super) fn evaluate(op: Double, rounding: Rounding, [a, b, c, _]: [u64; 4]) -> u64 {
    let [x, y, z] = [a, b, c].map(f64::from_bits);
    let value = match op {
        Double::Add => x + y,
        Double::Sub => x - y,
        Double::Mul => x * y,
        Double::Fma => x.mul_add(y, z),
        Double::Div => x / y,
        Double::Reciprocal => 1.0 / x,
        Double::GrossReciprocal => gross(a, |x| 1.0 / x),
        Double::GrossReciprocalRoot => gross(a, |x| 1.0 / x.sqrt()),
        // PTX gives it up to a bound; here it is within an ulp, and never perturbed.
        Double::ReciprocalRoot => 1.0 / x.sqrt(),
        Double::Sqrt => x.sqrt(),
        Double::Min => least(x, y),
        Double::Max => -least(-x, -y),
        // Bits, also of what is not a number.
        Double::Negate => return a ^ SIGN,
        Double::Abs => return a & !SIGN,
    };
    if value.is_nan() {
        return NAN;
    }
    let value = match rounding {
        Rounding::Nearest => value,
        Rounding::Zero | Rounding::Down | Rounding::Up => {
            directed::directed(op, [x, y, z], value, rounding)
        }
    };
    value.to_bits()
}

/// Of operand and result the upper 32 bits count (PTX ISA 8.4, "rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64"): where
/// divisions, roots and logarithms of f64 begin their iterations. Subnormals are flushed.
fn gross(a: u64, of: fn(f64) -> f64) -> f64 {
    let upper = |bits: u64| f64::from_bits(bits & !0xffff_ffff);
    let flushed = |x: f64| if x.is_subnormal() { 0.0_f64.copysign(x) } else { x };
    flushed(upper(of(flushed(upper(a))).to_bits()))
}

/// The other operand if one is not a number; -0 is less than +0.
fn least(x: f64, y: f64) -> f64 {
    match (x.is_nan(), y.is_nan()) {
        (true, _) => y,
        (_, true) => x,
        (false, false) if x == y => f64::from_bits(x.to_bits() | y.to_bits() & SIGN),
        (false, false) => {
            if x < y {
                x
            } else {
                y
            }
        }
    }
}
