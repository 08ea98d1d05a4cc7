//! 64-bit, conversion, comparison and predicate instructions.

use super::alu::{map1, sign16};
use super::float::{compare, flushed, integral};
use super::ir::{
    Boolean, Compared, Comparison, Int2, IntType, Predicate, Rounding, SINK, Setp, Slot,
};
use super::registers::{Active, LANES, Registers};

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is asked for")]
pub(super) fn low(x: u64) -> u32 {
    x as u32
}

/// d = f(a, b) on doubles.
#[inline(always)]
fn map2(r: &mut Registers, on: &Active, s: [Slot; 3], f: impl Fn(u64, u64) -> u64) {
    let (x, y) = (r.doubles.get(s[1]), r.doubles.get(s[2]));
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = f(x[lane], y[lane]);
    }
    let poison = r.doubles.poison(s[1]) | r.doubles.poison(s[2]);
    r.doubles.set(s[0], on, &out, poison);
}

/// d = a shifted by the word b.
#[inline(always)]
fn shift(r: &mut Registers, on: &Active, s: [Slot; 3], f: impl Fn(u64, u32) -> u64) {
    let (x, y) = (r.doubles.get(s[1]), r.words.get(s[2]));
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = f(x[lane], y[lane]);
    }
    let poison = r.doubles.poison(s[1]) | r.words.poison(s[2]);
    r.doubles.set(s[0], on, &out, poison);
}

#[inline(always)]
pub(super) fn double2(r: &mut Registers, on: &Active, op: Int2, s: [Slot; 3]) {
    match op {
        Int2::Add => map2(r, on, s, u64::wrapping_add),
        Int2::Sub => map2(r, on, s, u64::wrapping_sub),
        Int2::And => map2(r, on, s, |x, y| x & y),
        Int2::Or => map2(r, on, s, |x, y| x | y),
        Int2::Xor => map2(r, on, s, |x, y| x ^ y),
        Int2::Shl => shift(r, on, s, |x, y| if y < 64 { x << (y & 63) } else { 0 }),
        Int2::ShrU => shift(r, on, s, |x, y| if y < 64 { x >> (y & 63) } else { 0 }),
        Int2::ShrS => shift(r, on, s, |x, y| (x.cast_signed() >> y.min(63)).cast_unsigned()),
        other => double2_rare(r, on, other, s),
    }
}

/// Out of the interpreter's loop, which stays small without them.
fn double2_rare(r: &mut Registers, on: &Active, op: Int2, s: [Slot; 3]) {
    let divisors = *r.doubles.get(s[2]);
    map2(r, on, s, |x, y| {
        let (signed_x, signed_y) = (x.cast_signed(), y.cast_signed());
        let divisor = if y == 0 { 1 } else { y };
        match op {
            Int2::MulLo => x.wrapping_mul(y),
            Int2::MulHiU => high_double((u128::from(x) * u128::from(y)).cast_signed()),
            Int2::MulHiS => high_double(i128::from(signed_x) * i128::from(signed_y)),
            Int2::MinS => signed_x.min(signed_y).cast_unsigned(),
            Int2::MinU => x.min(y),
            Int2::MaxS => signed_x.max(signed_y).cast_unsigned(),
            Int2::MaxU => x.max(y),
            Int2::DivS => signed_x.wrapping_div(divisor.cast_signed()).cast_unsigned(),
            Int2::DivU => x / divisor,
            Int2::RemS => signed_x.wrapping_rem(divisor.cast_signed()).cast_unsigned(),
            Int2::RemU => x % divisor,
            // The others are handled where this is called.
            _ => x,
        }
    });
    if matches!(op, Int2::DivS | Int2::DivU | Int2::RemS | Int2::RemU) {
        for lane in on.lanes().filter(|&lane| divisors[lane] == 0) {
            let value = r.doubles.get(s[0])[lane];
            r.doubles.set_lane(s[0], lane, value, true);
        }
    }
}

fn high_double(product: i128) -> u64 {
    (product >> 64) as u64
}

#[inline(always)]
pub(super) fn mul_wide(
    r: &mut Registers,
    on: &Active,
    signed: bool,
    s: [Slot; 3],
    add: Option<Slot>,
) {
    let (x, y) = (r.words.get(s[1]), r.words.get(s[2]));
    let mut poison = r.words.poison(s[1]) | r.words.poison(s[2]);
    let mut out = [0; LANES];
    if signed {
        for lane in 0..LANES {
            let (x, y) = (i64::from(x[lane].cast_signed()), i64::from(y[lane].cast_signed()));
            out[lane] = (x * y).cast_unsigned();
        }
    } else {
        for lane in 0..LANES {
            out[lane] = u64::from(x[lane]) * u64::from(y[lane]);
        }
    }
    if let Some(c) = add {
        poison |= r.doubles.poison(c);
        for (out, c) in out.iter_mut().zip(r.doubles.get(c)) {
            *out = out.wrapping_add(*c);
        }
    }
    r.doubles.set(s[0], on, &out, poison);
}

pub(super) fn double_mad(r: &mut Registers, on: &Active, s: [Slot; 4]) {
    let (x, y, z) = (r.doubles.get(s[1]), r.doubles.get(s[2]), r.doubles.get(s[3]));
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = x[lane].wrapping_mul(y[lane]).wrapping_add(z[lane]);
    }
    let poison = r.doubles.poison(s[1]) | r.doubles.poison(s[2]) | r.doubles.poison(s[3]);
    r.doubles.set(s[0], on, &out, poison);
}

#[inline(always)]
pub(super) fn select_word(r: &mut Registers, on: &Active, s: [Slot; 3], p: Slot) {
    let chosen = Active::new(r.predicates[usize::from(p)]);
    let (x, y) = (r.words.get(s[1]), r.words.get(s[2]));
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = x[lane] & chosen.mask[lane] | y[lane] & !chosen.mask[lane];
    }
    let poison = r.words.poison(s[1]) & chosen.bits
        | r.words.poison(s[2]) & !chosen.bits
        | r.predicate_poison[usize::from(p)];
    r.words.set(s[0], on, &out, poison);
}

#[inline(always)]
pub(super) fn select_double(r: &mut Registers, on: &Active, s: [Slot; 3], p: Slot) {
    let chosen = r.predicates[usize::from(p)];
    let (x, y) = (r.doubles.get(s[1]), r.doubles.get(s[2]));
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = if chosen >> lane & 1 == 1 { x[lane] } else { y[lane] };
    }
    let poison = r.doubles.poison(s[1]) & chosen
        | r.doubles.poison(s[2]) & !chosen
        | r.predicate_poison[usize::from(p)];
    r.doubles.set(s[0], on, &out, poison);
}

#[inline(always)]
pub(super) fn widen(r: &mut Registers, on: &Active, from: IntType, d: Slot, a: Slot) {
    let x = r.words.get(a);
    let mut out = [0; LANES];
    for lane in 0..LANES {
        let word = x[lane];
        let signed = match from {
            IntType::S8 => i64::from((word << 24).cast_signed() >> 24),
            IntType::U8 => i64::from(word & 0xff),
            IntType::S16 => i64::from(sign16(word).cast_signed()),
            IntType::U16 => i64::from(word & 0xffff),
            IntType::S32 => i64::from(word.cast_signed()),
            _ => i64::from(word),
        };
        out[lane] = signed.cast_unsigned();
    }
    let poison = r.words.poison(a);
    r.doubles.set(d, on, &out, poison);
}

/// d = f(a), a word from a double.
#[inline(always)]
pub(super) fn from_double(
    r: &mut Registers,
    on: &Active,
    d: Slot,
    a: Slot,
    f: impl Fn(u64) -> u32,
) {
    let x = r.doubles.get(a);
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = f(x[lane]);
    }
    let poison = r.doubles.poison(a);
    r.words.set(d, on, &out, poison);
}

/// The halves come from the same source, which neither can overwrite.
pub(super) fn unpack(r: &mut Registers, on: &Active, l: Slot, h: Slot, a: Slot) {
    if l != SINK {
        from_double(r, on, l, a, low);
    }
    if h != SINK {
        from_double(r, on, h, a, super::alu::high);
    }
}

pub(super) fn pack(r: &mut Registers, on: &Active, d: Slot, low: Slot, high: Slot) {
    let (x, y) = (r.words.get(low), r.words.get(high));
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = u64::from(y[lane]) << 32 | u64::from(x[lane]);
    }
    let poison = r.words.poison(low) | r.words.poison(high);
    r.doubles.set(d, on, &out, poison);
}

/// The low `length` bits of a go into b at `position`; what would go beyond bit 31 is lost.
pub(super) fn insert(r: &mut Registers, on: &Active, [d, a, b, position, length]: [Slot; 5]) {
    let mut out = [0; LANES];
    for (lane, out) in out.iter_mut().enumerate() {
        let position = r.words.get(position)[lane] & 0xff;
        let length = r.words.get(length)[lane] & 0xff;
        let ones = u32::MAX.checked_shr(32 - length.min(32)).unwrap_or(0);
        let mask = ones.checked_shl(position).unwrap_or(0);
        let shifted = r.words.get(a)[lane].checked_shl(position).unwrap_or(0);
        *out = shifted & mask | r.words.get(b)[lane] & !mask;
    }
    let poison = [a, b, position, length].iter().fold(0, |all, &s| all | r.words.poison(s));
    r.words.set(d, on, &out, poison);
}

/// Rust's conversions round to nearest, ties to even, as `.rn` does.
#[inline(always)]
pub(super) fn int_to_float(r: &mut Registers, on: &Active, from: IntType, d: Slot, a: Slot) {
    match from {
        IntType::S32 => map1(r, on, d, a, |x| (x.cast_signed() as f32).to_bits()),
        IntType::U32 => map1(r, on, d, a, |x| (x as f32).to_bits()),
        IntType::S16 => map1(r, on, d, a, |x| (sign16(x).cast_signed() as f32).to_bits()),
        IntType::U16 => map1(r, on, d, a, |x| ((x & 0xffff) as f32).to_bits()),
        IntType::S8 => {
            map1(r, on, d, a, |x| (((x << 24).cast_signed() >> 24) as f32).to_bits());
        }
        IntType::U8 => map1(r, on, d, a, |x| ((x & 0xff) as f32).to_bits()),
        IntType::S64 => from_double(r, on, d, a, |x| (x.cast_signed() as f32).to_bits()),
        IntType::U64 => from_double(r, on, d, a, |x| (x as f32).to_bits()),
    }
}

/// Saturates; NaN becomes 0 in 32 bits and 2^63 in 64 (PTX ISA, "cvt").
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "Rust's conversion saturates, as PTX's does")]
#[expect(clippy::cast_sign_loss, reason = "Rust's conversion saturates, as PTX's does")]
pub(super) fn float_to_int(
    r: &mut Registers,
    on: &Active,
    to: IntType,
    rounding: Rounding,
    flush: bool,
    d: Slot,
    a: Slot,
) {
    let arg = |x| integral(f32::from_bits(if flush { flushed(x) } else { x }), rounding);
    let nan = |x: f32, value: u64| if x.is_nan() { 1 << 63 } else { value };
    match to {
        IntType::S32 => map1(r, on, d, a, |x| (arg(x) as i32).cast_unsigned()),
        IntType::U32 => map1(r, on, d, a, |x| arg(x) as u32),
        to => {
            let x = *r.words.get(a);
            let mut out = [0; LANES];
            for lane in 0..LANES {
                let x = arg(x[lane]);
                let value = if to == IntType::S64 { (x as i64).cast_unsigned() } else { x as u64 };
                out[lane] = nan(x, value);
            }
            let poison = r.words.poison(a);
            r.doubles.set(d, on, &out, poison);
        }
    }
}

/// A lane's bit where `f` holds.
#[inline(always)]
fn bits_where(f: impl Fn(usize) -> bool) -> u32 {
    let mut bits = 0;
    for lane in 0..LANES {
        bits |= u32::from(f(lane)) << lane;
    }
    bits
}

#[inline(always)]
fn ordered<T: Copy, U: Ord>(
    x: &[T; LANES],
    y: &[T; LANES],
    arg: impl Fn(T) -> U,
    comparison: Comparison,
) -> u32 {
    match comparison {
        Comparison::Eq => bits_where(|i| arg(x[i]) == arg(y[i])),
        Comparison::Ne => bits_where(|i| arg(x[i]) != arg(y[i])),
        Comparison::Lt => bits_where(|i| arg(x[i]) < arg(y[i])),
        Comparison::Le => bits_where(|i| arg(x[i]) <= arg(y[i])),
        Comparison::Gt => bits_where(|i| arg(x[i]) > arg(y[i])),
        // The decoder lets only the six ordered comparisons reach integers.
        _ => bits_where(|i| arg(x[i]) >= arg(y[i])),
    }
}

#[inline(always)]
pub(super) fn set_predicate(r: &mut Registers, on: &Active, setp: &Setp) {
    let words = || (r.words.get(setp.a), r.words.get(setp.b));
    let doubles = || (r.doubles.get(setp.a), r.doubles.get(setp.b));
    let comparison = setp.comparison;
    let holds = match setp.compared {
        Compared::Float { flush } => {
            let (x, y) = words();
            if flush {
                float_bits(comparison, x, y, |x| f32::from_bits(flushed(x)))
            } else {
                float_bits(comparison, x, y, f32::from_bits)
            }
        }
        Compared::Unsigned => ordered(words().0, words().1, |x| x, comparison),
        Compared::Signed => {
            let (x, y) = words();
            ordered(x, y, u32::cast_signed, comparison)
        }
        Compared::Unsigned16 => {
            let (x, y) = words();
            ordered(x, y, |x| x & 0xffff, comparison)
        }
        Compared::Signed16 => {
            let (x, y) = words();
            ordered(x, y, |x| sign16(x).cast_signed(), comparison)
        }
        Compared::Unsigned64 => ordered(doubles().0, doubles().1, |x| x, comparison),
        Compared::Signed64 => {
            let (x, y) = doubles();
            ordered(x, y, u64::cast_signed, comparison)
        }
    };
    let mut poison = match setp.compared {
        Compared::Unsigned64 | Compared::Signed64 => {
            r.doubles.poison(setp.a) | r.doubles.poison(setp.b)
        }
        _ => r.words.poison(setp.a) | r.words.poison(setp.b),
    };
    let (mut d, mut q) = (holds, !holds);
    if let Some((op, c)) = setp.combine {
        (d, q) = (boolean(op, d, r.truth(c)), boolean(op, q, r.truth(c)));
        poison |= r.truth_poison(c);
    }
    if setp.d != SINK {
        r.set_predicate(setp.d, on.bits, d, poison);
    }
    if setp.q != SINK {
        r.set_predicate(setp.q, on.bits, q, poison);
    }
}

/// The comparison is matched once, not per lane. An unordered one is what its ordered opposite is not.
#[inline(always)]
fn float_bits(
    comparison: Comparison,
    x: &[u32; LANES],
    y: &[u32; LANES],
    arg: impl Fn(u32) -> f32,
) -> u32 {
    let each = |comparison| bits_where(|i| compare(comparison, arg(x[i]), arg(y[i])));
    match comparison {
        Comparison::Eq => each(Comparison::Eq),
        Comparison::Neu => !each(Comparison::Eq),
        Comparison::Lt => each(Comparison::Lt),
        Comparison::Geu => !each(Comparison::Lt),
        Comparison::Le => each(Comparison::Le),
        Comparison::Gtu => !each(Comparison::Le),
        Comparison::Gt => each(Comparison::Gt),
        Comparison::Leu => !each(Comparison::Gt),
        Comparison::Ge => each(Comparison::Ge),
        Comparison::Ltu => !each(Comparison::Ge),
        Comparison::Ne => each(Comparison::Ne),
        Comparison::Equ => !each(Comparison::Ne),
        Comparison::Nan => each(Comparison::Nan),
        Comparison::Num => !each(Comparison::Nan),
    }
}

#[inline(always)]
fn boolean(op: Boolean, a: u32, b: u32) -> u32 {
    match op {
        Boolean::And => a & b,
        Boolean::Or => a | b,
        Boolean::Xor => a ^ b,
    }
}

/// A defined false decides `and`, a defined true decides `or`, whatever the other side holds.
#[inline(always)]
pub(super) fn predicate2(
    r: &mut Registers,
    on: &Active,
    op: Boolean,
    d: Slot,
    a: Predicate,
    b: Predicate,
) {
    let (x, y) = (r.truth(a), r.truth(b));
    let (poison_x, poison_y) = (r.truth_poison(a), r.truth_poison(b));
    let decided = match op {
        Boolean::And => !x & !poison_x | !y & !poison_y,
        Boolean::Or => x & !poison_x | y & !poison_y,
        Boolean::Xor => 0,
    };
    r.set_predicate(d, on.bits, boolean(op, x, y), (poison_x | poison_y) & !decided);
}
