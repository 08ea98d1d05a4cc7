//! 64-bit, conversion, comparison and predicate instructions.

use super::float::{compare, compared, integral, operand};
use super::ir::{
    Boolean, Compared, Comparison, File as In, FloatToInteger, IntegerBinary, Place, Predicate,
    SINK, Setp, Slot, WordType,
};
use super::lanes::{Active, Bits, LANES, high, low};
use super::registers::{File, Registers};

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

#[inline(always)]
pub(super) fn sign16(x: u32) -> u32 {
    ((x << 16).cast_signed() >> 16).cast_unsigned()
}

/// d = f(a, b) on 64-bit integers.
#[inline(always)]
fn map2(r: &mut Registers, on: &Active, s: [Slot; 3], f: impl Fn(u64, u64) -> u64) {
    let (x, y) = (r.b64.get(s[1]), r.b64.get(s[2]));
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = f(x[lane], y[lane]);
    }
    let poison = r.b64.poison(s[1]) | r.b64.poison(s[2]);
    r.b64.set(s[0], on, &out, poison);
}

/// d = a shifted by the word b.
#[inline(always)]
fn shift(r: &mut Registers, on: &Active, s: [Slot; 3], f: impl Fn(u64, u32) -> u64) {
    let (x, y) = (r.b64.get(s[1]), r.words.get(s[2]));
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = f(x[lane], y[lane]);
    }
    let poison = r.b64.poison(s[1]) | r.words.poison(s[2]);
    r.b64.set(s[0], on, &out, poison);
}

#[inline(always)]
pub(super) fn b64_binary(r: &mut Registers, on: &Active, op: IntegerBinary, s: [Slot; 3]) {
    match op {
        IntegerBinary::Add => map2(r, on, s, u64::wrapping_add),
        IntegerBinary::Sub => map2(r, on, s, u64::wrapping_sub),
        IntegerBinary::And => map2(r, on, s, |x, y| x & y),
        IntegerBinary::Or => map2(r, on, s, |x, y| x | y),
        IntegerBinary::Xor => map2(r, on, s, |x, y| x ^ y),
        IntegerBinary::Shl => shift(r, on, s, |x, y| if y < 64 { x << (y & 63) } else { 0 }),
        IntegerBinary::ShrU => shift(r, on, s, |x, y| if y < 64 { x >> (y & 63) } else { 0 }),
        IntegerBinary::ShrS => {
            shift(r, on, s, |x, y| (x.cast_signed() >> y.min(63)).cast_unsigned())
        }
        IntegerBinary::MulLo => rare(r, on, s, u64::wrapping_mul),
        IntegerBinary::MulHiU => {
            rare(r, on, s, |x, y| high_b64((u128::from(x) * u128::from(y)).cast_signed()));
        }
        IntegerBinary::MulHiS => rare(r, on, s, |x, y| {
            high_b64(i128::from(x.cast_signed()) * i128::from(y.cast_signed()))
        }),
        IntegerBinary::MinS => {
            rare(r, on, s, |x, y| x.cast_signed().min(y.cast_signed()).cast_unsigned());
        }
        IntegerBinary::MinU => rare(r, on, s, u64::min),
        IntegerBinary::MaxS => {
            rare(r, on, s, |x, y| x.cast_signed().max(y.cast_signed()).cast_unsigned());
        }
        IntegerBinary::MaxU => rare(r, on, s, u64::max),
        IntegerBinary::DivS => {
            divide(r, on, s, |x, y| x.cast_signed().wrapping_div(y.cast_signed()).cast_unsigned())
        }
        IntegerBinary::DivU => divide(r, on, s, |x, y| x / y),
        IntegerBinary::RemS => {
            divide(r, on, s, |x, y| x.cast_signed().wrapping_rem(y.cast_signed()).cast_unsigned())
        }
        IntegerBinary::RemU => divide(r, on, s, |x, y| x % y),
    }
}

/// d = f(a, b), out of the interpreter's loop, which stays small without it.
#[inline(never)]
fn rare(r: &mut Registers, on: &Active, s: [Slot; 3], f: fn(u64, u64) -> u64) {
    map2(r, on, s, f);
}

/// As on words: a divisor of zero gives poison, and `f` is never given one.
fn divide(r: &mut Registers, on: &Active, s: [Slot; 3], f: fn(u64, u64) -> u64) {
    let divisors = *r.b64.get(s[2]);
    map2(r, on, s, |x, y| f(x, if y == 0 { 1 } else { y }));
    for lane in on.lanes().filter(|&lane| divisors[lane] == 0) {
        let value = r.b64.get(s[0])[lane];
        r.b64.set_lane(s[0], lane, value, true);
    }
}

fn high_b64(product: i128) -> u64 {
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
        poison |= r.b64.poison(c);
        for (out, c) in out.iter_mut().zip(r.b64.get(c)) {
            *out = out.wrapping_add(*c);
        }
    }
    r.b64.set(s[0], on, &out, poison);
}

pub(super) fn b64_mad(r: &mut Registers, on: &Active, s: [Slot; 4]) {
    let (x, y, z) = (r.b64.get(s[1]), r.b64.get(s[2]), r.b64.get(s[3]));
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = x[lane].wrapping_mul(y[lane]).wrapping_add(z[lane]);
    }
    let poison = r.b64.poison(s[1]) | r.b64.poison(s[2]) | r.b64.poison(s[3]);
    r.b64.set(s[0], on, &out, poison);
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
pub(super) fn select_b64(r: &mut Registers, on: &Active, s: [Slot; 3], p: Slot) {
    let chosen = r.predicates[usize::from(p)];
    let (x, y) = (r.b64.get(s[1]), r.b64.get(s[2]));
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = if chosen >> lane & 1 == 1 { x[lane] } else { y[lane] };
    }
    let poison = r.b64.poison(s[1]) & chosen
        | r.b64.poison(s[2]) & !chosen
        | r.predicate_poison[usize::from(p)];
    r.b64.set(s[0], on, &out, poison);
}

#[inline(always)]
pub(super) fn widen(r: &mut Registers, on: &Active, from: WordType, d: Slot, a: Slot) {
    let x = r.words.get(a);
    let mut out = [0; LANES];
    for lane in 0..LANES {
        let word = x[lane];
        let signed = match from {
            WordType::S8 => i64::from((word << 24).cast_signed() >> 24),
            WordType::U8 => i64::from(word & 0xff),
            WordType::S16 => i64::from(sign16(word).cast_signed()),
            WordType::U16 => i64::from(word & 0xffff),
            WordType::S32 => i64::from(word.cast_signed()),
            WordType::U32 => i64::from(word),
        };
        out[lane] = signed.cast_unsigned();
    }
    let poison = r.words.poison(a);
    r.b64.set(d, on, &out, poison);
}

/// d = f(a), a word from a 64-bit integer.
#[inline(always)]
pub(super) fn from_b64(r: &mut Registers, on: &Active, d: Slot, a: Slot, f: impl Fn(u64) -> u32) {
    let x = r.b64.get(a);
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = f(x[lane]);
    }
    let poison = r.b64.poison(a);
    r.words.set(d, on, &out, poison);
}

/// The halves come from the same source, which neither can overwrite.
pub(super) fn unpack(r: &mut Registers, on: &Active, l: Slot, h: Slot, a: Slot) {
    if l != SINK {
        from_b64(r, on, l, a, low);
    }
    if h != SINK {
        from_b64(r, on, h, a, high);
    }
}

pub(super) fn pack(r: &mut Registers, on: &Active, d: Slot, low: Slot, high: Slot) {
    let (x, y) = (r.words.get(low), r.words.get(high));
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = u64::from(y[lane]) << 32 | u64::from(x[lane]);
    }
    let poison = r.words.poison(low) | r.words.poison(high);
    r.b64.set(d, on, &out, poison);
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
pub(super) fn word_to_float(r: &mut Registers, on: &Active, from: WordType, d: Slot, a: Slot) {
    match from {
        WordType::S32 => map1(r, on, d, a, |x| (x.cast_signed() as f32).to_bits()),
        WordType::U32 => map1(r, on, d, a, |x| (x as f32).to_bits()),
        WordType::S16 => map1(r, on, d, a, |x| (sign16(x).cast_signed() as f32).to_bits()),
        WordType::U16 => map1(r, on, d, a, |x| ((x & 0xffff) as f32).to_bits()),
        WordType::S8 => {
            map1(r, on, d, a, |x| (((x << 24).cast_signed() >> 24) as f32).to_bits());
        }
        WordType::U8 => map1(r, on, d, a, |x| ((x & 0xff) as f32).to_bits()),
    }
}

/// As [`word_to_float`].
#[inline(always)]
pub(super) fn b64_to_float(r: &mut Registers, on: &Active, signed: bool, d: Slot, a: Slot) {
    if signed {
        from_b64(r, on, d, a, |x| (x.cast_signed() as f32).to_bits());
    } else {
        from_b64(r, on, d, a, |x| (x as f32).to_bits());
    }
}

/// Saturates; NaN becomes 0 in 32 bits and 2^63 in 64 (PTX ISA, "cvt").
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "Rust's conversion saturates, as PTX's does")]
#[expect(clippy::cast_sign_loss, reason = "Rust's conversion saturates, as PTX's does")]
pub(super) fn float_to_integer(r: &mut Registers, on: &Active, conversion: &FloatToInteger) {
    let &FloatToInteger { b64, signed, rounding, flush, d, a } = conversion;
    let arg = |x| integral(operand(x, flush), rounding);
    match (b64, signed) {
        (false, true) => map1(r, on, d, a, |x| (arg(x) as i32).cast_unsigned()),
        (false, false) => map1(r, on, d, a, |x| arg(x) as u32),
        (true, _) => {
            let x = *r.words.get(a);
            let mut out = [0; LANES];
            for lane in 0..LANES {
                let x = arg(x[lane]);
                let value = if signed { (x as i64).cast_unsigned() } else { x as u64 };
                out[lane] = if x.is_nan() { 1 << 63 } else { value };
            }
            let poison = r.words.poison(a);
            r.b64.set(d, on, &out, poison);
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
    [x, y]: [&[T; LANES]; 2],
    arg: impl Fn(T) -> U,
    comparison: Comparison,
) -> u32 {
    // No pair of integers is unordered, so that those comparisons which also hold of unordered
    // operands are the same as the others.
    match comparison {
        Comparison::Eq | Comparison::Equ => bits_where(|i| arg(x[i]) == arg(y[i])),
        Comparison::Ne | Comparison::Neu => bits_where(|i| arg(x[i]) != arg(y[i])),
        Comparison::Lt | Comparison::Ltu => bits_where(|i| arg(x[i]) < arg(y[i])),
        Comparison::Le | Comparison::Leu => bits_where(|i| arg(x[i]) <= arg(y[i])),
        Comparison::Gt | Comparison::Gtu => bits_where(|i| arg(x[i]) > arg(y[i])),
        Comparison::Ge | Comparison::Geu => bits_where(|i| arg(x[i]) >= arg(y[i])),
        Comparison::Num => u32::MAX,
        Comparison::Nan => 0,
    }
}

/// Two operands of a width, and the lanes where one of them is poison.
#[inline(always)]
fn pair<'f, T: Copy + Default>(file: &'f File<T>, setp: &Setp) -> ([&'f [T; LANES]; 2], u32) {
    ([file.get(setp.a), file.get(setp.b)], file.poison(setp.a) | file.poison(setp.b))
}

#[inline(always)]
pub(super) fn set_predicate(r: &mut Registers, on: &Active, setp: &Setp) {
    let comparison = setp.comparison;
    let (holds, mut poison) = match setp.compared {
        Compared::Float { flush: false } => {
            let (words, poison) = pair(&r.words, setp);
            (float_bits(comparison, words, false), poison)
        }
        Compared::Float { flush: true } => {
            let (words, poison) = pair(&r.words, setp);
            (float_bits(comparison, words, true), poison)
        }
        Compared::Narrow { format, flush } => {
            let (words, poison) = pair(&r.words, setp);
            let single = |x: u32| super::rare::narrow::single(format, flush, x.into()).to_bits();
            let [a, b] = words.map(|all| all.map(single));
            (float_bits(comparison, [&a, &b], false), poison)
        }
        Compared::Unsigned => {
            let (words, poison) = pair(&r.words, setp);
            (ordered(words, |x| x, comparison), poison)
        }
        Compared::Signed => {
            let (words, poison) = pair(&r.words, setp);
            (ordered(words, u32::cast_signed, comparison), poison)
        }
        Compared::Unsigned16 => {
            let (words, poison) = pair(&r.words, setp);
            (ordered(words, |x| x & 0xffff, comparison), poison)
        }
        Compared::Signed16 => {
            let (words, poison) = pair(&r.words, setp);
            (ordered(words, |x| sign16(x).cast_signed(), comparison), poison)
        }
        Compared::Double => {
            let (b64, poison) = pair(&r.b64, setp);
            (double_bits(comparison, b64), poison)
        }
        Compared::Unsigned64 => {
            let (b64, poison) = pair(&r.b64, setp);
            (ordered(b64, |x| x, comparison), poison)
        }
        Compared::Signed64 => {
            let (b64, poison) = pair(&r.b64, setp);
            (ordered(b64, u64::cast_signed, comparison), poison)
        }
    };
    if poison & on.bits != 0 {
        poison = undecided(r, setp, poison);
    }
    let (mut d, mut q) = ((holds, poison), (!holds, poison));
    if let Some((op, c)) = setp.combine {
        let c = (r.truth(c), r.truth_poison(c));
        (d, q) = (combined(op, d, c), combined(op, q, c));
    }
    if setp.d != SINK {
        r.set_predicate(setp.d, on.bits, d.0, d.1);
    }
    if setp.q != SINK {
        r.set_predicate(setp.q, on.bits, q.0, q.1);
    }
}

/// The lanes whose comparison uses bits that were never written.
#[cold]
#[inline(never)]
fn undecided(r: &Registers, setp: &Setp, poison: u32) -> u32 {
    let lowest = match setp.compared {
        Compared::Narrow { .. } | Compared::Unsigned16 | Compared::Signed16 => 0xffff,
        Compared::Unsigned
        | Compared::Signed
        | Compared::Float { .. }
        | Compared::Double
        | Compared::Unsigned64
        | Compared::Signed64 => return poison,
    };
    let sources = [setp.a, setp.b].map(|slot| r.undefined(Place { file: In::Word, slot }));
    let uses = |lane: &usize| sources.iter().any(|masks| masks[*lane] & lowest != 0);
    Bits(poison).filter(uses).fold(0, |lanes, lane| lanes | 1 << lane)
}

/// The comparison is matched once, not per lane. An unordered one is what its ordered opposite is not.
#[inline(always)]
fn float_bits(comparison: Comparison, words: [&[u32; LANES]; 2], flush: bool) -> u32 {
    match comparison {
        Comparison::Eq => each(Comparison::Eq, words, flush),
        Comparison::Neu => !each(Comparison::Eq, words, flush),
        Comparison::Lt => each(Comparison::Lt, words, flush),
        Comparison::Geu => !each(Comparison::Lt, words, flush),
        Comparison::Le => each(Comparison::Le, words, flush),
        Comparison::Gtu => !each(Comparison::Le, words, flush),
        Comparison::Gt => each(Comparison::Gt, words, flush),
        Comparison::Leu => !each(Comparison::Gt, words, flush),
        Comparison::Ge => each(Comparison::Ge, words, flush),
        Comparison::Ltu => !each(Comparison::Ge, words, flush),
        Comparison::Ne => each(Comparison::Ne, words, flush),
        Comparison::Equ => !each(Comparison::Ne, words, flush),
        Comparison::Nan => each(Comparison::Nan, words, flush),
        Comparison::Num => !each(Comparison::Nan, words, flush),
    }
}

/// A lane's bit where the comparison holds. No closures: the compiler took them for functions of
/// their own, lane by lane, which cost a twentieth of all time.
#[inline(always)]
fn each(comparison: Comparison, [x, y]: [&[u32; LANES]; 2], flush: bool) -> u32 {
    let mut bits = 0;
    for lane in 0..LANES {
        let holds = compare(comparison, operand(x[lane], flush), operand(y[lane], flush));
        bits |= u32::from(holds) << lane;
    }
    bits
}

/// Of f64, out of the interpreter's loop.
#[inline(never)]
fn double_bits(comparison: Comparison, [x, y]: [&[u64; LANES]; 2]) -> u32 {
    bits_where(|lane| {
        let (a, b) = (f64::from_bits(x[lane]), f64::from_bits(y[lane]));
        compared(comparison, a, b, a.is_nan() || b.is_nan())
    })
}

#[inline(always)]
fn boolean(op: Boolean, a: u32, b: u32) -> u32 {
    match op {
        Boolean::And => a & b,
        Boolean::Or => a | b,
        Boolean::Xor => a ^ b,
    }
}

/// A predicate of two, each with the lanes that are poison. A defined false decides `and`, a defined true decides `or`,
/// whatever the other side holds.
#[inline(always)]
fn combined(op: Boolean, (x, poison_x): (u32, u32), (y, poison_y): (u32, u32)) -> (u32, u32) {
    let decided = match op {
        Boolean::And => !x & !poison_x | !y & !poison_y,
        Boolean::Or => x & !poison_x | y & !poison_y,
        Boolean::Xor => 0,
    };
    (boolean(op, x, y), (poison_x | poison_y) & !decided)
}

#[inline(always)]
pub(super) fn predicate2(
    r: &mut Registers,
    on: &Active,
    op: Boolean,
    d: Slot,
    a: Predicate,
    b: Predicate,
) {
    let [a, b] = [a, b].map(|one| (r.truth(one), r.truth_poison(one)));
    let (bits, poison) = combined(op, a, b);
    r.set_predicate(d, on.bits, bits, poison);
}
