//! Register-to-register instructions, 32 lanes at a time.
//!
//! Every loop is over whole arrays and free of branches, so that the compiler turns it into vector
//! instructions for the registers that [`step`](super::step) has dispatched to; the active lanes
//! are selected when the result is stored.

use super::float::approximate::{ApproximationMode, nearest, perturbed};
use super::float::{directed_fma, fma_down, integral, max, min, operand, result};
use super::ir::{
    Approximation, Double1, DoubleCount, Float1, Float2, FloatFlags, Int2, Op, Rounding, Slot,
    Word1, Word3,
};
use super::registers::{Active, LANES, Registers};
use super::wide;

/// Executes an arithmetic instruction; false if `op` is of another kind.
#[inline(always)]
pub(super) fn execute(r: &mut Registers, on: &Active, op: &Op, mode: ApproximationMode) -> bool {
    match *op {
        Op::Float1(op, flags, d, a) => float1(r, on, op, flags, [d, a], mode),
        Op::Float2(op, flags, d, a, b) => float2(r, on, op, flags, [d, a, b], mode),
        Op::Fma(rounding, flags, d, a, b, c) => fused(r, on, rounding, flags, [d, a, b, c]),
        Op::Word1(op, d, a) => word1(r, on, op, d, a),
        Op::Word2(op, d, a, b) => word2(r, on, op, [d, a, b]),
        Op::Word3(op, d, a, b, c) => word3(r, on, op, [d, a, b, c]),
        Op::Double1(op, d, a) => double1(r, on, op, d, a),
        Op::Double2(op, d, a, b) => wide::double2(r, on, op, [d, a, b]),
        Op::Setp(setp) => wide::set_predicate(r, on, &setp),
        Op::Predicate2(op, d, a, b) => wide::predicate2(r, on, op, d, a, b),
        Op::PredicateMove { d, a } => {
            r.set_predicate(d, on.bits, r.truth(a), r.truth_poison(a));
        }
        Op::MulWide { signed, d, a, b } => wide::mul_wide(r, on, signed, [d, a, b], None),
        Op::MadWide { signed, d, a, b, c } => wide::mul_wide(r, on, signed, [d, a, b], Some(c)),
        Op::DoubleMad(d, a, b, c) => wide::double_mad(r, on, [d, a, b, c]),
        Op::SelectWord { d, a, b, p } => wide::select_word(r, on, [d, a, b], p),
        Op::SelectDouble { d, a, b, p } => wide::select_double(r, on, [d, a, b], p),
        Op::Widen { from, d, a } => wide::widen(r, on, from, d, a),
        Op::Narrow { d, a } => wide::from_double(r, on, d, a, wide::low),
        Op::DoubleCount(DoubleCount::Popc, d, a) => {
            wide::from_double(r, on, d, a, u64::count_ones);
        }
        Op::DoubleCount(DoubleCount::Clz, d, a) => {
            wide::from_double(r, on, d, a, u64::leading_zeros);
        }
        Op::Pack { d, low, high } => wide::pack(r, on, d, low, high),
        Op::Unpack { low, high, a } => wide::unpack(r, on, low, high, a),
        Op::BitFieldInsert(slots) => wide::insert(r, on, slots),
        Op::IntToFloat { from, d, a } => wide::int_to_float(r, on, from, d, a),
        Op::FloatToInt { to, rounding, flush, d, a } => {
            wide::float_to_int(r, on, to, rounding, flush, d, a);
        }
        _ => return false,
    }
    true
}

/// d = f(a) on words.
#[inline(always)]
pub(super) fn map1(r: &mut Registers, on: &Active, d: Slot, a: Slot, f: impl Fn(u32) -> u32) {
    let x = r.words.get(a);
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = f(x[lane]);
    }
    let poison = r.words.poison(a);
    r.words.set(d, on, &out, poison);
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
fn word1(r: &mut Registers, on: &Active, op: Word1, d: Slot, a: Slot) {
    match op {
        Word1::Move => map1(r, on, d, a, |x| x),
        Word1::Not => map1(r, on, d, a, |x| !x),
        Word1::Negate => map1(r, on, d, a, u32::wrapping_neg),
        Word1::Abs => map1(r, on, d, a, |x| x.cast_signed().wrapping_abs().cast_unsigned()),
        Word1::Popc => map1(r, on, d, a, u32::count_ones),
        Word1::Clz => map1(r, on, d, a, u32::leading_zeros),
        Word1::Brev => map1(r, on, d, a, u32::reverse_bits),
        Word1::Signed8 => {
            map1(r, on, d, a, |x| (x << 24).cast_signed().wrapping_shr(24).cast_unsigned())
        }
        Word1::Signed16 => map1(r, on, d, a, sign16),
        Word1::Unsigned8 => map1(r, on, d, a, |x| x & 0xff),
        Word1::Unsigned16 => map1(r, on, d, a, |x| x & 0xffff),
        Word1::BfindS => map1(r, on, d, a, |x| bfind(magnitude(x))),
        Word1::BfindU => map1(r, on, d, a, bfind),
        Word1::BfindShiftS => map1(r, on, d, a, |x| bfind_shift(magnitude(x))),
        Word1::BfindShiftU => map1(r, on, d, a, bfind_shift),
    }
}

#[inline(always)]
pub(super) fn sign16(x: u32) -> u32 {
    ((x << 16).cast_signed() >> 16).cast_unsigned()
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
fn word2(r: &mut Registers, on: &Active, op: Int2, s: [Slot; 3]) {
    let signed = |f: fn(i32, i32) -> i32| {
        move |x: u32, y: u32| f(x.cast_signed(), y.cast_signed()).cast_unsigned()
    };
    match op {
        Int2::Add => map2(r, on, s, u32::wrapping_add),
        Int2::Sub => map2(r, on, s, u32::wrapping_sub),
        Int2::MulLo => map2(r, on, s, u32::wrapping_mul),
        Int2::MulHiU => map2(r, on, s, |x, y| high(u64::from(x) * u64::from(y))),
        Int2::MulHiS => map2(r, on, s, |x, y| {
            let product = i64::from(x.cast_signed()) * i64::from(y.cast_signed());
            high(product.cast_unsigned())
        }),
        Int2::DivS | Int2::DivU | Int2::RemS | Int2::RemU => divide(r, on, op, s),
        Int2::MinS => map2(r, on, s, signed(i32::min)),
        Int2::MinU => map2(r, on, s, u32::min),
        Int2::MaxS => map2(r, on, s, signed(i32::max)),
        Int2::MaxU => map2(r, on, s, u32::max),
        Int2::And => map2(r, on, s, |x, y| x & y),
        Int2::Or => map2(r, on, s, |x, y| x | y),
        Int2::Xor => map2(r, on, s, |x, y| x ^ y),
        Int2::Shl => map2(r, on, s, |x, y| if y < 32 { x << (y & 31) } else { 0 }),
        Int2::ShrU => map2(r, on, s, |x, y| if y < 32 { x >> (y & 31) } else { 0 }),
        Int2::ShrS => map2(r, on, s, |x, y| (x.cast_signed() >> y.min(31)).cast_unsigned()),
    }
}

#[inline(always)]
pub(super) fn high(product: u64) -> u32 {
    (product >> 32) as u32
}

/// Division by zero is unspecified (PTX ISA, "div"): the lane's result is poison.
fn divide(r: &mut Registers, on: &Active, op: Int2, s: [Slot; 3]) {
    let divisors = *r.words.get(s[2]);
    map2(r, on, s, |x, y| {
        let y = if y == 0 { 1 } else { y };
        let (signed_x, signed_y) = (x.cast_signed(), y.cast_signed());
        match op {
            Int2::DivS => signed_x.wrapping_div(signed_y).cast_unsigned(),
            Int2::DivU => x / y,
            Int2::RemS => signed_x.wrapping_rem(signed_y).cast_unsigned(),
            _ => x % y,
        }
    });
    for lane in on.lanes().filter(|&lane| divisors[lane] == 0) {
        let value = r.words.get(s[0])[lane];
        r.words.set_lane(s[0], lane, value, true);
    }
}

#[inline(always)]
fn word3(r: &mut Registers, on: &Active, op: Word3, s: [Slot; 4]) {
    let pair = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is asked for")]
    let low = |x: u64| x as u32;
    match op {
        Word3::MadLo => map3(r, on, s, |x, y, z| x.wrapping_mul(y).wrapping_add(z)),
        Word3::FunnelLeftWrap => map3(r, on, s, |x, y, z| high(pair(x, y) << (z & 31))),
        Word3::FunnelLeftClamp => map3(r, on, s, |x, y, z| high(pair(x, y) << z.min(32))),
        Word3::FunnelRightWrap => map3(r, on, s, |x, y, z| low(pair(x, y) >> (z & 31))),
        Word3::FunnelRightClamp => map3(r, on, s, |x, y, z| low(pair(x, y) >> z.min(32))),
    }
}

#[inline(always)]
fn double1(r: &mut Registers, on: &Active, op: Double1, d: Slot, a: Slot) {
    let x = r.doubles.get(a);
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = match op {
            Double1::Move => x[lane],
            Double1::Not => !x[lane],
            Double1::Negate => x[lane].wrapping_neg(),
            Double1::Abs => x[lane].cast_signed().wrapping_abs().cast_unsigned(),
        };
    }
    let poison = r.doubles.poison(a);
    r.doubles.set(d, on, &out, poison);
}

#[inline(always)]
fn float1(
    r: &mut Registers,
    on: &Active,
    op: Float1,
    flags: FloatFlags,
    [d, a]: [Slot; 2],
    mode: ApproximationMode,
) {
    let s = [d, a, a];
    match op {
        Float1::Move => floats(r, on, s, flags, |x, _| x),
        Float1::Negate => floats(r, on, s, flags, |x, _| -x),
        Float1::Abs => floats(r, on, s, flags, |x, _| x.abs()),
        Float1::Round(rounding) => floats(r, on, s, flags, |x, _| integral(x, rounding)),
        Float1::Reciprocal => floats(r, on, s, flags, |x, _| 1.0 / x),
        Float1::Sqrt => floats(r, on, s, flags, |x, _| x.sqrt()),
        Float1::Approximate(f) => approximate(r, on, s, flags, f, mode),
    }
}

#[inline(always)]
fn float2(
    r: &mut Registers,
    on: &Active,
    op: Float2,
    flags: FloatFlags,
    s: [Slot; 3],
    mode: ApproximationMode,
) {
    let unordered = |x: f32, y: f32| x.is_nan() || y.is_nan();
    match op {
        Float2::Add => floats(r, on, s, flags, |x, y| x + y),
        Float2::Sub => floats(r, on, s, flags, |x, y| x - y),
        Float2::Mul => floats(r, on, s, flags, |x, y| x * y),
        Float2::Div => floats(r, on, s, flags, |x, y| x / y),
        Float2::Min => floats(r, on, s, flags, min),
        Float2::Max => floats(r, on, s, flags, max),
        Float2::MinNan => {
            floats(r, on, s, flags, |x, y| if unordered(x, y) { f32::NAN } else { min(x, y) });
        }
        Float2::MaxNan => {
            floats(r, on, s, flags, |x, y| if unordered(x, y) { f32::NAN } else { max(x, y) });
        }
        Float2::Approximate(f) => approximate(r, on, s, flags, f, mode),
    }
}

#[inline(always)]
fn fused(r: &mut Registers, on: &Active, rounding: Rounding, flags: FloatFlags, s: [Slot; 4]) {
    match rounding {
        Rounding::Nearest => floats3(r, on, s, flags, f32::mul_add),
        Rounding::Down => floats3(r, on, s, flags, fma_down),
        rounding => floats3(r, on, s, flags, |x, y, z| directed_fma(x, y, z, rounding)),
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
        _ => map2(r, on, s, |x, y| apply(&f, [x, y], flags)),
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
    let each = |flags: FloatFlags| {
        let arg = move |x| operand(x, flags.flush);
        let f = &f;
        move |x, y, z| result(f(arg(x), arg(y), arg(z)), flags)
    };
    match (flags.flush, flags.saturate) {
        (false, false) => map3(r, on, s, each(IEEE)),
        (true, false) => map3(r, on, s, each(FLUSHING)),
        _ => map3(r, on, s, each(flags)),
    }
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
    use Approximation::{Div, DivFull, Ex2, Lg2, Rcp, Rsqrt, Sqrt};
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
    lanes!(Ex2(none) Lg2(none) Rcp(none) Sqrt(none) Rsqrt(none) Div(divisor) DivFull(divisor));
    let poison = r.words.poison(s[1]) | r.words.poison(s[2]);
    r.words.set(s[0], on, &out, poison);
}
