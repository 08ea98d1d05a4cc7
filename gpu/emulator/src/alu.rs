//! Register-to-register instructions, 32 lanes at a time.
//!
//! Every loop is over whole arrays and free of branches, so that the compiler turns it into vector
//! instructions for the registers that [`step`](super::step) has dispatched to; the active lanes
//! are selected when the result is stored.

use super::float::approximate::{ApproximationMode, nearest, perturbed};
use super::float::{directed_fma, fma_down, integral, max, min, operand, result};
use super::ir::{
    Approximation, Arithmetic, B64Count, B64Unary, FloatBinary, FloatFlags, FloatUnary,
    IntegerBinary, Rounding, Slot, WordTernary, WordUnary,
};
use super::lanes::{Active, LANES, high, low};
use super::registers::Registers;
use super::wide::{self, map1, sign16};

/// Executes an arithmetic instruction.
#[inline(always)]
pub(super) fn execute(r: &mut Registers, on: &Active, op: &Arithmetic, mode: ApproximationMode) {
    match *op {
        Arithmetic::FloatUnary(op, flags, d, a) => float_unary(r, on, op, flags, [d, a], mode),
        Arithmetic::FloatBinary(op, flags, d, a, b) => {
            float_binary(r, on, op, flags, [d, a, b], mode)
        }
        Arithmetic::Fma(rounding, flags, d, a, b, c) => fused(r, on, rounding, flags, [d, a, b, c]),
        Arithmetic::WordUnary(op, d, a) => word_unary(r, on, op, d, a),
        Arithmetic::WordBinary(op, d, a, b) => word_binary(r, on, op, [d, a, b]),
        Arithmetic::WordTernary(op, d, a, b, c) => word_ternary(r, on, op, [d, a, b, c]),
        Arithmetic::B64Unary(op, d, a) => b64_unary(r, on, op, d, a),
        Arithmetic::B64Binary(op, d, a, b) => wide::b64_binary(r, on, op, [d, a, b]),
        Arithmetic::Setp(setp) => wide::set_predicate(r, on, &setp),
        Arithmetic::Predicate2(op, d, a, b) => wide::predicate2(r, on, op, d, a, b),
        Arithmetic::PredicateMove { d, a } => {
            r.set_predicate(d, on.bits, r.truth(a), r.truth_poison(a));
        }
        Arithmetic::MulWide { signed, d, a, b } => wide::mul_wide(r, on, signed, [d, a, b], None),
        Arithmetic::MadWide { signed, d, a, b, c } => {
            wide::mul_wide(r, on, signed, [d, a, b], Some(c))
        }
        Arithmetic::B64Mad(d, a, b, c) => wide::b64_mad(r, on, [d, a, b, c]),
        Arithmetic::SelectWord { d, a, b, p } => wide::select_word(r, on, [d, a, b], p),
        Arithmetic::SelectB64 { d, a, b, p } => wide::select_b64(r, on, [d, a, b], p),
        Arithmetic::Widen { from, d, a } => wide::widen(r, on, from, d, a),
        Arithmetic::Narrow { d, a } => wide::from_b64(r, on, d, a, low),
        Arithmetic::B64Count(B64Count::Popc, d, a) => {
            wide::from_b64(r, on, d, a, u64::count_ones);
        }
        Arithmetic::B64Count(B64Count::Clz, d, a) => {
            wide::from_b64(r, on, d, a, u64::leading_zeros);
        }
        Arithmetic::Pack { d, low, high } => wide::pack(r, on, d, low, high),
        Arithmetic::Unpack { low, high, a } => wide::unpack(r, on, low, high, a),
        Arithmetic::BitFieldInsert(slots) => wide::insert(r, on, slots),
        Arithmetic::WordToFloat { from, d, a } => wide::word_to_float(r, on, from, d, a),
        Arithmetic::B64ToFloat { signed, d, a } => wide::b64_to_float(r, on, signed, d, a),
        Arithmetic::Split16 { parts, a } => super::rare::split16(r, on, parts, a),
        Arithmetic::Carry(ref carry) => super::carry::execute(r, on, carry),
        Arithmetic::Rare(ref rare) => super::rare::execute(r, on, rare, mode),
        Arithmetic::FloatToInteger(conversion) => wide::float_to_integer(r, on, &conversion),
    }
}

/// d = f(a, b) on words.
#[inline(always)]
pub(super) fn map2(r: &mut Registers, on: &Active, s: [Slot; 3], f: impl Fn(u32, u32) -> u32) {
    let (x, y) = (r.words.get(s[1]), r.words.get(s[2]));
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = f(x[lane], y[lane]);
    }
    let poison = r.words.poison(s[1]) | r.words.poison(s[2]);
    r.words.set(s[0], on, &out, poison);
}

/// d = f(a, b, c) on words.
#[inline(always)]
fn map3(r: &mut Registers, on: &Active, s: [Slot; 4], f: impl Fn(u32, u32, u32) -> u32) {
    let (x, y, z) = (r.words.get(s[1]), r.words.get(s[2]), r.words.get(s[3]));
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = f(x[lane], y[lane], z[lane]);
    }
    let poison = r.words.poison(s[1]) | r.words.poison(s[2]) | r.words.poison(s[3]);
    r.words.set(s[0], on, &out, poison);
}

#[inline(always)]
fn word_unary(r: &mut Registers, on: &Active, op: WordUnary, d: Slot, a: Slot) {
    match op {
        WordUnary::Move => map1(r, on, d, a, |x| x),
        WordUnary::Not => map1(r, on, d, a, |x| !x),
        WordUnary::Negate => map1(r, on, d, a, u32::wrapping_neg),
        WordUnary::Abs => map1(r, on, d, a, |x| x.cast_signed().wrapping_abs().cast_unsigned()),
        WordUnary::Abs16 => {
            map1(r, on, d, a, |x| sign16(x).cast_signed().wrapping_abs().cast_unsigned() & 0xffff)
        }
        WordUnary::Popc => map1(r, on, d, a, u32::count_ones),
        WordUnary::Clz => map1(r, on, d, a, u32::leading_zeros),
        WordUnary::Brev => map1(r, on, d, a, u32::reverse_bits),
        WordUnary::Signed8 => {
            map1(r, on, d, a, |x| (x << 24).cast_signed().wrapping_shr(24).cast_unsigned())
        }
        WordUnary::Signed16 => map1(r, on, d, a, sign16),
        WordUnary::Unsigned8 => map1(r, on, d, a, |x| x & 0xff),
        WordUnary::Unsigned16 => map1(r, on, d, a, |x| x & 0xffff),
        WordUnary::BfindS => map1(r, on, d, a, |x| bfind(magnitude(x))),
        WordUnary::BfindU => map1(r, on, d, a, bfind),
        WordUnary::BfindShiftS => map1(r, on, d, a, |x| bfind_shift(magnitude(x))),
        WordUnary::BfindShiftU => map1(r, on, d, a, bfind_shift),
    }
}

/// bfind looks for the first bit that differs from the sign.
#[inline(always)]
fn magnitude(x: u32) -> u32 {
    x ^ (x.cast_signed() >> 31).cast_unsigned()
}

/// Position of the highest set bit, all ones for none.
#[inline(always)]
fn bfind(x: u32) -> u32 {
    31_u32.wrapping_sub(x.leading_zeros()) | if x == 0 { u32::MAX } else { 0 }
}

/// Shift that brings the highest set bit to the top, all ones for none.
#[inline(always)]
fn bfind_shift(x: u32) -> u32 {
    if x == 0 { u32::MAX } else { x.leading_zeros() }
}

#[inline(always)]
fn word_binary(r: &mut Registers, on: &Active, op: IntegerBinary, s: [Slot; 3]) {
    let signed = |f: fn(i32, i32) -> i32| {
        move |x: u32, y: u32| f(x.cast_signed(), y.cast_signed()).cast_unsigned()
    };
    match op {
        IntegerBinary::Add => map2(r, on, s, u32::wrapping_add),
        IntegerBinary::Sub => map2(r, on, s, u32::wrapping_sub),
        IntegerBinary::MulLo => map2(r, on, s, u32::wrapping_mul),
        IntegerBinary::MulHiU => map2(r, on, s, |x, y| high(u64::from(x) * u64::from(y))),
        IntegerBinary::MulHiS => map2(r, on, s, |x, y| {
            let product = i64::from(x.cast_signed()) * i64::from(y.cast_signed());
            high(product.cast_unsigned())
        }),
        IntegerBinary::DivS => {
            divide(r, on, s, |x, y| x.cast_signed().wrapping_div(y.cast_signed()).cast_unsigned())
        }
        IntegerBinary::DivU => divide(r, on, s, |x, y| x / y),
        IntegerBinary::RemS => {
            divide(r, on, s, |x, y| x.cast_signed().wrapping_rem(y.cast_signed()).cast_unsigned())
        }
        IntegerBinary::RemU => divide(r, on, s, |x, y| x % y),
        IntegerBinary::MinS => map2(r, on, s, signed(i32::min)),
        IntegerBinary::MinU => map2(r, on, s, u32::min),
        IntegerBinary::MaxS => map2(r, on, s, signed(i32::max)),
        IntegerBinary::MaxU => map2(r, on, s, u32::max),
        IntegerBinary::And => map2(r, on, s, |x, y| x & y),
        IntegerBinary::Or => map2(r, on, s, |x, y| x | y),
        IntegerBinary::Xor => map2(r, on, s, |x, y| x ^ y),
        IntegerBinary::Shl => map2(r, on, s, |x, y| if y < 32 { x << (y & 31) } else { 0 }),
        IntegerBinary::ShrU => map2(r, on, s, |x, y| if y < 32 { x >> (y & 31) } else { 0 }),
        IntegerBinary::ShrS => {
            map2(r, on, s, |x, y| (x.cast_signed() >> y.min(31)).cast_unsigned())
        }
    }
}

/// Division by zero is unspecified (PTX ISA, "div"): the lane's result is poison. `f` is never given
/// a divisor of zero. One function for all divisions keeps the interpreter's loop small.
fn divide(r: &mut Registers, on: &Active, s: [Slot; 3], f: fn(u32, u32) -> u32) {
    let divisors = *r.words.get(s[2]);
    map2(r, on, s, |x, y| f(x, if y == 0 { 1 } else { y }));
    for lane in on.lanes().filter(|&lane| divisors[lane] == 0) {
        let value = r.words.get(s[0])[lane];
        r.words.set_lane(s[0], lane, value, true);
    }
}

#[inline(always)]
fn word_ternary(r: &mut Registers, on: &Active, op: WordTernary, s: [Slot; 4]) {
    let pair = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is asked for")]
    let low = |x: u64| x as u32;
    match op {
        WordTernary::MadLo => map3(r, on, s, |x, y, z| x.wrapping_mul(y).wrapping_add(z)),
        WordTernary::FunnelLeftWrap => map3(r, on, s, |x, y, z| high(pair(x, y) << (z & 31))),
        WordTernary::FunnelLeftClamp => map3(r, on, s, |x, y, z| high(pair(x, y) << z.min(32))),
        WordTernary::FunnelRightWrap => map3(r, on, s, |x, y, z| low(pair(x, y) >> (z & 31))),
        WordTernary::FunnelRightClamp => map3(r, on, s, |x, y, z| low(pair(x, y) >> z.min(32))),
    }
}

#[inline(always)]
fn b64_unary(r: &mut Registers, on: &Active, op: B64Unary, d: Slot, a: Slot) {
    let x = r.b64.get(a);
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = match op {
            B64Unary::Move => x[lane],
            B64Unary::Not => !x[lane],
            B64Unary::Negate => x[lane].wrapping_neg(),
            B64Unary::Abs => x[lane].cast_signed().wrapping_abs().cast_unsigned(),
        };
    }
    let poison = r.b64.poison(a);
    r.b64.set(d, on, &out, poison);
}

#[inline(always)]
fn float_unary(
    r: &mut Registers,
    on: &Active,
    op: FloatUnary,
    flags: FloatFlags,
    [d, a]: [Slot; 2],
    mode: ApproximationMode,
) {
    let s = [d, a, a];
    match op {
        FloatUnary::Move => floats(r, on, s, flags, |x, _| x),
        FloatUnary::Negate => floats(r, on, s, flags, |x, _| -x),
        FloatUnary::Abs => floats(r, on, s, flags, |x, _| x.abs()),
        FloatUnary::Round(rounding) => floats(r, on, s, flags, |x, _| integral(x, rounding)),
        FloatUnary::Reciprocal => floats(r, on, s, flags, |x, _| 1.0 / x),
        FloatUnary::Sqrt => floats(r, on, s, flags, |x, _| x.sqrt()),
        FloatUnary::Approximate(f) => approximate(r, on, s, flags, f, mode),
    }
}

#[inline(always)]
fn float_binary(
    r: &mut Registers,
    on: &Active,
    op: FloatBinary,
    flags: FloatFlags,
    s: [Slot; 3],
    mode: ApproximationMode,
) {
    let unordered = |x: f32, y: f32| x.is_nan() || y.is_nan();
    match op {
        FloatBinary::Add => floats(r, on, s, flags, |x, y| x + y),
        FloatBinary::Sub => floats(r, on, s, flags, |x, y| x - y),
        FloatBinary::Mul => floats(r, on, s, flags, |x, y| x * y),
        FloatBinary::Div => floats(r, on, s, flags, |x, y| x / y),
        FloatBinary::Min => floats(r, on, s, flags, min),
        FloatBinary::Max => floats(r, on, s, flags, max),
        FloatBinary::MinNan => {
            floats(r, on, s, flags, |x, y| if unordered(x, y) { f32::NAN } else { min(x, y) });
        }
        FloatBinary::MaxNan => {
            floats(r, on, s, flags, |x, y| if unordered(x, y) { f32::NAN } else { max(x, y) });
        }
        FloatBinary::Approximate(f) => approximate(r, on, s, flags, f, mode),
    }
}

#[inline(always)]
fn fused(r: &mut Registers, on: &Active, rounding: Rounding, flags: FloatFlags, s: [Slot; 4]) {
    match rounding {
        Rounding::Nearest => floats3(r, on, s, flags, f32::mul_add),
        Rounding::Down => floats3(r, on, s, flags, fma_down),
        Rounding::Zero | Rounding::Up => {
            floats3(r, on, s, flags, |x, y, z| directed_fma(x, y, z, rounding));
        }
    }
}

/// d = f(a, b) on f32; unary functions get their operand twice. The two usual settings have loops
/// of their own, without a choice in them.
#[inline(always)]
fn floats(
    r: &mut Registers,
    on: &Active,
    s: [Slot; 3],
    flags: FloatFlags,
    f: impl Fn(f32, f32) -> f32,
) {
    match (flags.flush, flags.saturate) {
        (false, false) => map2(r, on, s, |x, y| apply(&f, [x, y], IEEE)),
        (true, false) => map2(r, on, s, |x, y| apply(&f, [x, y], FLUSHING)),
        (_, true) => map2(r, on, s, |x, y| apply(&f, [x, y], flags)),
    }
}

#[inline(always)]
fn apply(f: impl Fn(f32, f32) -> f32, [x, y]: [u32; 2], flags: FloatFlags) -> u32 {
    result(f(operand(x, flags.flush), operand(y, flags.flush)), flags)
}

/// d = f(a, b, c) on f32, as [`floats`].
#[inline(always)]
fn floats3(
    r: &mut Registers,
    on: &Active,
    s: [Slot; 4],
    flags: FloatFlags,
    f: impl Fn(f32, f32, f32) -> f32,
) {
    match (flags.flush, flags.saturate) {
        (false, false) => map3(r, on, s, |x, y, z| apply3(&f, [x, y, z], IEEE)),
        (true, false) => map3(r, on, s, |x, y, z| apply3(&f, [x, y, z], FLUSHING)),
        (_, true) => map3(r, on, s, |x, y, z| apply3(&f, [x, y, z], flags)),
    }
}

#[inline(always)]
fn apply3(f: impl Fn(f32, f32, f32) -> f32, [x, y, z]: [u32; 3], flags: FloatFlags) -> u32 {
    let flush = flags.flush;
    result(f(operand(x, flush), operand(y, flush), operand(z, flush)), flags)
}

const IEEE: FloatFlags = FloatFlags { flush: false, saturate: false };
const FLUSHING: FloatFlags = FloatFlags { flush: true, saturate: false };

/// d = op(a, b) as `mode` rounds, each function in a loop of its own. No closures: the compiler takes
/// one of this size for a function of its own, lane by lane and without the wide registers.
#[inline(always)]
fn approximate(
    r: &mut Registers,
    on: &Active,
    s: [Slot; 3],
    flags: FloatFlags,
    op: Approximation,
    mode: ApproximationMode,
) {
    use Approximation::{
        Atan2Wgsl, Div, DivFull, Ex2, Ex2Wgsl, Lg2, Lg2Wgsl, Rcp, Rsqrt, RsqrtWgsl, Sqrt, Tanh,
    };
    let (x, y) = (r.words.get(s[1]), r.words.get(s[2]));
    let mut out = [0; LANES];
    macro_rules! lanes {
        ($($op:ident($b:ident))*) => {
            match (op, mode) {
                $(($op, ApproximationMode::Nearest) => for lane in 0..LANES {
                    let a = operand(x[lane], flags.flush);
                    out[lane] = result(nearest($op, a, $b(lane)), flags);
                },
                ($op, ApproximationMode::Perturbed(seed)) => for lane in 0..LANES {
                    let a = operand(x[lane], flags.flush);
                    out[lane] = result(perturbed($op, a, $b(lane), seed), flags);
                },)*
            }
        };
    }
    let none = |_| 0.0;
    let divisor = |lane: usize| operand(y[lane], flags.flush);
    lanes!(Ex2(none) Lg2(none) Rcp(none) Sqrt(none) Rsqrt(none) Div(divisor) DivFull(divisor)
        Ex2Wgsl(none) Lg2Wgsl(none) RsqrtWgsl(none) Atan2Wgsl(divisor) Tanh(none));
    let poison = r.words.poison(s[1]) | r.words.poison(s[2]);
    r.words.set(s[0], on, &out, poison);
}
