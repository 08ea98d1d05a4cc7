//! `cvt` between any two types of numbers (PTX ISA 8.4, "cvt").
//!
//! Registers may be wider than the types ("Operand Size Exceeding Instruction-Type Size"): of a source
//! the low bits count, and a result is filled up with its sign, or with zeros if its type has none.

use super::super::ir::{Convert, Number, Rounding, Saturation};
use super::super::lanes::low;
use super::double::NAN;

/// The result, filled up to 64 bits.
pub(super) fn convert(convert: Convert, a: u64) -> u64 {
    match convert.from {
        Number::Integer { bits, signed } => from_integer(convert, integer(a, bits, signed)),
        Number::F16 | Number::Bf16 | Number::F32 | Number::F64 => {
            let value = value_of(convert.from, a);
            let small = convert.from == Number::F32 && value.abs() < f64::from(f32::MIN_POSITIVE);
            from_float(
                convert,
                if convert.flush && small { 0.0_f64.copysign(value) } else { value },
            )
        }
    }
}

fn integer(a: u64, bits: u8, signed: bool) -> i128 {
    let above = 64 - u32::from(bits);
    if signed {
        i128::from((a << above).cast_signed() >> above)
    } else {
        i128::from(a << above >> above)
    }
}

fn range(bits: u8, signed: bool) -> (i128, i128) {
    let all = 1_i128 << bits;
    if signed { (-(all >> 1), (all >> 1) - 1) } else { (0, all - 1) }
}

/// Cut to the type and filled up.
#[expect(clippy::cast_possible_truncation, reason = "the lower half is asked for")]
#[expect(clippy::cast_sign_loss, reason = "the bits are asked for")]
fn filled(value: i128, bits: u8, signed: bool) -> u64 {
    integer(value as u64, bits, signed) as u64
}

fn from_integer(convert: Convert, value: i128) -> u64 {
    match convert.to {
        Number::Integer { bits, signed } => {
            let (least, most) = range(bits, signed);
            let clamps = convert.saturation == Saturation::Clamps;
            filled(if clamps { value.clamp(least, most) } else { value }, bits, signed)
        }
        Number::F64 => directed(value, convert.rounding).to_bits(),
        // Below 2^53 exact; above, rounded to odd, which a second rounding does not notice: f64 has
        // more than two bits beyond f32 (Boldo and Melquiond 2008).
        Number::F32 | Number::F16 | Number::Bf16 => {
            bits_of(saturated(convert, to_odd(value)), convert.to, convert.rounding)
        }
    }
}

/// The f64 in a direction from an integer.
#[expect(clippy::cast_possible_truncation, reason = "an f64 made from 64 bits is an integer again")]
fn directed(value: i128, rounding: Rounding) -> f64 {
    let nearest = value as f64;
    let back = nearest as i128;
    let up = match rounding {
        Rounding::Nearest => return nearest,
        Rounding::Up => true,
        Rounding::Down => false,
        Rounding::Zero => value < 0,
    };
    if up && back < value {
        nearest.next_up()
    } else if !up && back > value {
        nearest.next_down()
    } else {
        nearest
    }
}

fn to_odd(value: i128) -> f64 {
    let toward_zero = directed(value, Rounding::Zero);
    #[expect(clippy::cast_possible_truncation, reason = "it is an integer")]
    let exact = toward_zero as i128 == value;
    if exact { toward_zero } else { f64::from_bits(toward_zero.to_bits() | 1) }
}

fn from_float(convert: Convert, value: f64) -> u64 {
    match convert.to {
        Number::Integer { bits, signed } => {
            if value.is_nan() {
                // 0, but 2^(n-1) where a type of 64 bits is involved (PTX ISA, "cvt").
                let wide = convert.from == Number::F64 || bits == 64;
                return if wide { filled(1 << (bits - 1), bits, signed) } else { 0 };
            }
            let (least, most) = range(bits, signed);
            #[expect(clippy::cast_possible_truncation, reason = "it saturates")]
            let whole = integral(value, convert.rounding) as i128;
            filled(whole.clamp(least, most), bits, signed)
        }
        Number::F16 | Number::Bf16 | Number::F32 | Number::F64 => {
            let value = if convert.integral { integral(value, convert.rounding) } else { value };
            let value = saturated(convert, value);
            let bits = bits_of(value, convert.to, convert.rounding);
            if convert.flush && convert.to == Number::F32 {
                u64::from(super::super::float::flushed(low(bits)))
            } else {
                bits
            }
        }
    }
}

/// `.sat`: to 0..=1, what is not a number to +0.
fn saturated(convert: Convert, value: f64) -> f64 {
    match convert.saturation {
        Saturation::Wraps => value,
        Saturation::Clamps if value > 0.0 => value.min(1.0),
        Saturation::Clamps => 0.0,
    }
}

fn integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

/// Bits of precision and the least exponent of a normal number.
fn format(number: Number) -> (i32, i32) {
    match number {
        Number::F16 => (11, -14),
        Number::Bf16 => (8, -126),
        Number::F32 => (24, -126),
        Number::F64 | Number::Integer { .. } => (53, -1022),
    }
}

/// The number that bits are: exact, since f64 holds all of the others.
pub(in super::super) fn value_of(number: Number, bits: u64) -> f64 {
    match number {
        Number::F64 | Number::Integer { .. } => f64::from_bits(bits),
        Number::F32 => f64::from(f32::from_bits(low(bits))),
        Number::Bf16 => f64::from(f32::from_bits(low(bits << 16))),
        Number::F16 => {
            let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
            let (exponent, fraction) = (bits >> 10 & 0x1f, (bits & 0x3ff) as f64 / 1024.0);
            let power = |exponent: u64| 2.0_f64.powi(i32::try_from(exponent).unwrap_or(0) - 15);
            sign * match exponent {
                0 => fraction * power(1),
                0x1f if fraction == 0.0 => f64::INFINITY,
                0x1f => f64::NAN,
                _ => (1.0 + fraction) * power(exponent),
            }
        }
    }
}

/// A number rounded once to a type, as its bits.
pub(super) fn bits_of(value: f64, number: Number, rounding: Rounding) -> u64 {
    let (precision, least) = format(number);
    if number == Number::F64 {
        return if value.is_nan() { NAN } else { value.to_bits() };
    }
    let width = number.bits();
    let sign = u64::from(value.is_sign_negative()) << (width - 1);
    if value.is_nan() {
        // The canonical one, all ones but the sign.
        return (1 << (width - 1)) - 1;
    }
    let infinite = ((1_u64 << (width - 1)) - 1) >> (precision - 1) << (precision - 1);
    let magnitude = value.abs();
    if magnitude.is_infinite() {
        return sign | infinite;
    }
    let exponent = (i32::try_from(magnitude.to_bits() >> 52).unwrap_or(0) - 1023).max(least);
    let quantum = 2.0_f64.powi(exponent - (precision - 1));
    // Powers of two: the quotient is exact, and the rounding the only one.
    let places = integral(value / quantum, rounding).abs();
    // The fraction's carry is the exponent's next: bits of magnitudes are in their order.
    let hidden = 2.0_f64.powi(precision - 1);
    let steps = u64::try_from(exponent - least).unwrap_or(0);
    #[expect(clippy::cast_possible_truncation, reason = "at most 2^24")]
    #[expect(clippy::cast_sign_loss, reason = "it is a magnitude")]
    let places = places as u64;
    #[expect(clippy::cast_possible_truncation, reason = "at most 2^23")]
    #[expect(clippy::cast_sign_loss, reason = "it is a power of two")]
    let bits = steps * hidden as u64 + places;
    if bits < infinite {
        return sign | bits;
    }
    let to_infinity = match rounding {
        Rounding::Nearest => true,
        Rounding::Zero => false,
        Rounding::Down => value < 0.0,
        Rounding::Up => value > 0.0,
    };
    sign | if to_infinity { infinite } else { infinite - 1 }
}
