//! Arithmetic on f16 and bf16 (PTX ISA 8.4, "Half Precision Floating Point Instructions"): the exact
//! result, rounded once, to nearest. Subnormals are numbers unless `.ftz` flushes them, and a result
//! that is not a number is the canonical one, 0x7fff.
//!
//! f64 holds every number of both types and every product of two (22 bits, exponents from -266 to
//! 255), so that a product is exact. A sum is rounded to odd in f64, which a second rounding to at
//! most 11 bits does not notice (Boldo and Melquiond 2008: two bits more are enough, here are 42).

use super::super::ir::{Comparison, Narrow, NarrowClamp, NarrowFormat, NarrowOp, Number, Rounding};
use super::super::lanes::low;
use super::convert::{bits_of, value_of};

const SIGN: u64 = 0x8000;

/// All numbers of a register: one, or two in its halves.
pub(super) fn evaluate(narrow: Narrow, sources: [u64; 4]) -> u64 {
    by_halves(narrow.packed, sources, |[a, b, c, _]| element(narrow, a, b, c))
}

/// `set`: `one` where the comparison holds, 0 elsewhere.
pub(super) fn set(
    (format, packed): (NarrowFormat, bool),
    (comparison, flush): (Comparison, bool),
    one: u64,
    sources: [u64; 4],
) -> u64 {
    by_halves(packed, sources, |[a, b, ..]| {
        let [a, b] = [a, b].map(|x| single(format, flush, x));
        if super::super::float::compare(comparison, a, b) { one } else { 0 }
    })
}

/// Two f32 rounded to the halves of a word, `a` to the upper one (PTX ISA 8.4, "cvt").
pub(super) fn pair(format: NarrowFormat, rounding: Rounding, a: u64, b: u64) -> u64 {
    let half = |x| bits_of(value_of(Number::F32, x), format.number(), rounding);
    half(a) << 16 | half(b)
}

/// The halves of a word by those of another, each added by itself: what `atom.add.noftz` does.
pub(crate) fn add_pairs(format: NarrowFormat, old: u32, operand: u32) -> u32 {
    let add = Narrow { op: NarrowOp::Add, format, packed: true, flush: false, clamp: None };
    low(evaluate(add, [u64::from(old), u64::from(operand), 0, 0]))
}

/// One number by another, as they lie in the lower halves.
pub(crate) fn add_one(format: NarrowFormat, old: u32, operand: u32) -> u32 {
    let add = Narrow { op: NarrowOp::Add, format, packed: false, flush: false, clamp: None };
    low(evaluate(add, [u64::from(old), u64::from(operand), 0, 0]))
}

/// A number as an f32, which is exact.
pub(crate) fn single(format: NarrowFormat, flush: bool, bits: u64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "f32 holds all of both types")]
    let value = value_of(format.number(), operand(format, flush, bits)) as f32;
    value
}

fn by_halves(packed: bool, sources: [u64; 4], one: impl Fn([u64; 4]) -> u64) -> u64 {
    let low = one(sources.map(|source| source & 0xffff));
    if !packed {
        return low;
    }
    one(sources.map(|source| source >> 16 & 0xffff)) << 16 | low
}

/// A source, a subnormal one as a zero of its sign where it is flushed.
fn operand(format: NarrowFormat, flush: bool, bits: u64) -> u64 {
    if flush && bits & format.exponent() == 0 { bits & SIGN } else { bits }
}

fn element(narrow: Narrow, a: u64, b: u64, c: u64) -> u64 {
    let Narrow { op, format, flush, .. } = narrow;
    let [a, b, c] = [a, b, c].map(|x| operand(format, flush, x));
    let number = format.number();
    let [x, y, z] = [a, b, c].map(|bits| value_of(number, bits));
    let value = match op {
        NarrowOp::Add => sum_to_odd(x, y),
        NarrowOp::Sub => sum_to_odd(x, -y),
        NarrowOp::Mul => x * y,
        NarrowOp::Fma => sum_to_odd(x * y, z),
        // Bits, also of what is not a number.
        NarrowOp::Negate => return a ^ SIGN,
        NarrowOp::Abs => return a & !SIGN,
        NarrowOp::Min { nan } => return extreme(format, nan, a, b, false),
        NarrowOp::Max { nan } => return extreme(format, nan, a, b, true),
    };
    let rounded = bits_of(value, number, Rounding::Nearest);
    clamped(narrow, operand(format, flush, rounded))
}

/// x + y rounded to odd: the sum and its rounding error (Knuth, TAOCP 4.2.2, theorem B), and where
/// that is not 0 the neighbour whose last bit is 1. What is not finite is as in f64.
fn sum_to_odd(x: f64, y: f64) -> f64 {
    let sum = x + y;
    let part = sum - x;
    let error = (x - (sum - part)) + (y - part);
    if !sum.is_finite() || error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    if error > 0.0 { sum.next_up() } else { sum.next_down() }
}

/// Of two numbers the lesser or greater; -0 is less than +0. Of a number and what is none the number,
/// or with `.NaN` what is none.
fn extreme(format: NarrowFormat, nan: bool, a: u64, b: u64, greatest: bool) -> u64 {
    let is_nan = |x: u64| x & !SIGN > format.exponent();
    match (is_nan(a), is_nan(b)) {
        (true, true) => 0x7fff,
        (true, false) | (false, true) if nan => 0x7fff,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            // Bits of magnitudes are in their order; those of negative numbers in the reverse.
            let place = |x: u64| if x & SIGN == 0 { x | SIGN } else { !x & 0xffff };
            if (place(a) < place(b)) == greatest { b } else { a }
        }
    }
}

/// `.sat` and `.relu`.
fn clamped(narrow: Narrow, bits: u64) -> u64 {
    let exponent = narrow.format.exponent();
    let is_nan = bits & !SIGN > exponent;
    match narrow.clamp {
        None => bits,
        Some(NarrowClamp::Saturate) if is_nan || bits & SIGN != 0 => 0,
        Some(NarrowClamp::Saturate) => bits.min(narrow.format.one()),
        Some(NarrowClamp::Relu) if !is_nan && bits & SIGN != 0 => 0,
        Some(NarrowClamp::Relu) => bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: [NarrowFormat; 2] = [NarrowFormat::F16, NarrowFormat::Bf16];

    fn plain(op: NarrowOp, format: NarrowFormat) -> Narrow {
        Narrow { op, format, packed: false, flush: false, clamp: None }
    }

    /// The number as a whole multiple of 2^-266, the least product of two subnormals of bf16: digits
    /// of base 2^64, the least first. Independent of the floating point of this machine.
    fn whole(format: NarrowFormat, bits: u64) -> (bool, u64, i64) {
        let (fraction, bias) = match format {
            NarrowFormat::F16 => (10, 15),
            NarrowFormat::Bf16 => (7, 127),
        };
        let field = (bits & !SIGN) >> fraction;
        let part = bits & ((1 << fraction) - 1);
        let digits = if field == 0 { part } else { part | 1 << fraction };
        (bits & SIGN != 0, digits, field.max(1).cast_signed() - bias - fraction)
    }

    /// Whether `rounded` is a nearest number to a * b + c, by integers of 128 bits; `None` where the
    /// exponents are too far apart for these.
    fn is_nearest(format: NarrowFormat, [a, b, c]: [u64; 3], rounded: u64) -> Option<bool> {
        let [(sa, da, ea), (sb, db, eb), (sc, dc, ec)] = [a, b, c].map(|x| whole(format, x));
        let least = (ea + eb).min(ec);
        let shifted = |negative: bool, digits: u64, exponent: i64| {
            let shift = u32::try_from(exponent - least).ok().filter(|&shift| shift < 90)?;
            let value = i128::from(digits) << shift;
            Some(if negative { -value } else { value })
        };
        let exact = shifted(sa != sb, da * db, ea + eb)? + shifted(sc, dc, ec)?;
        let at = |bits: u64| {
            let (sign, digits, exponent) = whole(format, bits);
            let digits = i128::from(digits);
            // In half units of `least`, so that what lies below them is compared too.
            let value = match exponent - least {
                shift @ 0..90 => Some(digits << shift),
                shift @ -60..0 if digits % (1 << -shift) == 0 => Some(digits >> -shift),
                _ => None,
            }?;
            Some(if sign { -value } else { value })
        };
        let distance = (exact - at(rounded)?).abs();
        let neighbours = [rounded.wrapping_add(1), rounded.wrapping_sub(1)];
        let odd = rounded & 1 == 1;
        Some(neighbours.into_iter().filter(|n| n & !SIGN < format.exponent()).all(|neighbour| {
            at(neighbour).is_none_or(|other| {
                let other = (exact - other).abs();
                distance < other || distance == other && !odd
            })
        }))
    }

    /// Numbers of every exponent with few and many bits, and of both signs.
    fn numbers(format: NarrowFormat) -> Vec<u64> {
        let all = (0..0x8000).filter(|bits| bits & format.exponent() != format.exponent());
        let step =
            |bits: &u64| bits.is_multiple_of(173) || bits % 1021 == 1 || (*bits).count_ones() < 2;
        all.filter(step).flat_map(|bits| [bits, bits | SIGN]).collect()
    }

    #[test]
    fn a_fused_product_and_sum_is_rounded_once() {
        for format in FORMATS {
            let (numbers, mut judged) = (numbers(format), 0_u32);
            for (i, &a) in numbers.iter().enumerate() {
                for &b in numbers.iter().skip(i % 3).step_by(3) {
                    for &c in numbers.iter().skip((i + 1) % 7).step_by(7) {
                        let r = evaluate(plain(NarrowOp::Fma, format), [a, b, c, 0]);
                        if r & !SIGN >= format.exponent() {
                            continue;
                        }
                        match is_nearest(format, [a, b, c], r) {
                            Some(right) => {
                                assert!(right, "{format:?} {a:x} * {b:x} + {c:x} = {r:x}")
                            }
                            None => continue,
                        }
                        judged += 1;
                    }
                }
            }
            assert!(judged > 100_000, "{format:?}: {judged} judged");
        }
    }

    #[test]
    fn rounding_twice_would_be_another_number() {
        // (1 + 2^-10)^2 - (1 + 2^-9) is 2^-20, which the product rounded first has lost.
        let format = NarrowFormat::F16;
        let fused = evaluate(plain(NarrowOp::Fma, format), [0x3c01, 0x3c01, 0xbc02, 0]);
        let product = evaluate(plain(NarrowOp::Mul, format), [0x3c01, 0x3c01, 0, 0]);
        let twice = evaluate(plain(NarrowOp::Add, format), [product, 0xbc02, 0, 0]);
        assert_eq!((fused, twice), (0x0010, 0), "2^-20, and nothing");
    }

    #[test]
    fn sums_and_products_are_the_fused_ones() {
        for format in FORMATS {
            let numbers = numbers(format);
            for &a in &numbers {
                for &b in &numbers {
                    let fma = |x, y, z| evaluate(plain(NarrowOp::Fma, format), [x, y, z, 0]);
                    let two = |op| evaluate(plain(op, format), [a, b, 0, 0]);
                    assert_eq!(two(NarrowOp::Add), fma(a, format.one(), b), "{a:x} + {b:x}");
                    assert_eq!(two(NarrowOp::Sub), fma(a, format.one(), b ^ SIGN), "{a:x} - {b:x}");
                    // A zero of the product's sign leaves it alone.
                    let zero = (a ^ b) & SIGN;
                    assert_eq!(two(NarrowOp::Mul), fma(a, b, zero), "{a:x} * {b:x}");
                }
            }
        }
    }

    #[test]
    fn extremes_order_zeros_and_pass_over_what_is_no_number() {
        for format in FORMATS {
            let least = |nan, a, b| evaluate(plain(NarrowOp::Min { nan }, format), [a, b, 0, 0]);
            let most = |nan, a, b| evaluate(plain(NarrowOp::Max { nan }, format), [a, b, 0, 0]);
            assert_eq!((least(false, 0, SIGN), most(false, SIGN, 0)), (SIGN, 0), "zeros");
            assert_eq!((least(false, 0x7fff, 3), most(true, 0x7fff, 3)), (3, 0x7fff), "NaN");
            let infinity = format.exponent();
            assert_eq!(most(false, infinity | SIGN, 0x8001), 0x8001, "negative ones");
            assert_eq!(least(false, infinity | SIGN, 0x8001), infinity | SIGN, "negative ones");
            for bits in numbers(format) {
                let value = f64::from(single(format, false, bits));
                assert_eq!(bits_of(value, format.number(), Rounding::Nearest), bits, "{bits:x}");
            }
        }
    }
}
