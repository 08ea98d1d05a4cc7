//! Executes the operations that few kernels have, one lane after the other.

mod bits;
mod convert;
mod double;
pub(super) mod narrow;

pub(super) use bits::{extract, logic3, permute};
pub(super) use convert::value_of;

use super::float::approximate::{ApproximationMode, power};
use super::float::wave::wave;
use super::float::{compare, operand, result};
use super::generic::space_of;
use super::ir::{
    File, FloatFlags, Half, IntegerBinary, Number, Place, Predicate, Rare, RareOp, SINK, Slot,
    Space, Test,
};
use super::lanes::{Active, Bits, LANES, high, low};
use super::registers::Registers;

/// Source operands of one lane, those of 32 bits and less in the lower bits.
type Sources = [u64; 4];

/// Executes a rare operation for the active lanes.
#[inline(never)]
pub(super) fn execute(r: &mut Registers, on: &Active, rare: &Rare, mode: ApproximationMode) {
    let mut sources = [[0; LANES]; 4];
    let mut poison = 0;
    for (values, place) in sources.iter_mut().zip(rare.sources) {
        if let Some(place) = place {
            poison |= read(r, place, values);
        }
    }
    let mut out = [0; LANES];
    let evaluate = evaluator(rare.op, mode);
    for lane in on.lanes() {
        let [a, b, c, d] = &sources;
        out[lane] = evaluate([a[lane], b[lane], c[lane], d[lane]]);
    }
    write(r, on, rare.d, &out, poison);
}

/// `mov.b32 {low, high}, a`, and of 64 bits.
#[inline(never)]
pub(super) fn split16(r: &mut Registers, on: &Active, parts: [Slot; 4], a: Place) {
    let mut all = [0; LANES];
    let poison = read(r, a, &mut all);
    for (slot, shift) in parts.into_iter().zip([0, 16, 32, 48]) {
        if slot != SINK {
            r.words.set(slot, on, &all.map(|x| low(x >> shift) & 0xffff), poison);
        }
    }
}

fn read(r: &Registers, place: Place, values: &mut [u64; LANES]) -> u32 {
    match place.file {
        File::Word => {
            for (value, word) in values.iter_mut().zip(r.words.get(place.slot)) {
                *value = u64::from(*word);
            }
            r.words.poison(place.slot)
        }
        File::B64 => {
            *values = *r.b64.get(place.slot);
            r.b64.poison(place.slot)
        }
        File::Predicate => {
            let predicate = Predicate { slot: place.slot, negated: false };
            Bits(r.truth(predicate)).for_each(|lane| values[lane] = 1);
            r.truth_poison(predicate)
        }
    }
}

fn write(r: &mut Registers, on: &Active, place: Place, out: &[u64; LANES], poison: u32) {
    match place.file {
        File::Word => {
            let words = out.map(low);
            r.words.set(place.slot, on, &words, poison);
        }
        File::B64 => r.b64.set(place.slot, on, out, poison),
        File::Predicate => {
            let bits = out.iter().rev().fold(0, |bits, &value| bits << 1 | u32::from(value != 0));
            r.set_predicate(place.slot, on.bits, bits, poison);
        }
    }
}

/// The lower half as a signed number.
fn signed(value: u64) -> i64 {
    i64::from(low(value).cast_signed())
}

/// The function of one lane.
fn evaluator(op: RareOp, mode: ApproximationMode) -> Box<dyn Fn(Sources) -> u64> {
    match op {
        RareOp::Convert(convert) => Box::new(move |[a, ..]| convert::convert(convert, a)),
        RareOp::Double(op, rounding) => {
            Box::new(move |sources| double::evaluate(op, rounding, sources))
        }
        RareOp::Half(half) => Box::new(move |sources| half_operation(half, sources)),
        RareOp::Narrow(op) => Box::new(move |sources| narrow::evaluate(op, sources)),
        RareOp::SetNarrow { to, comparison, flush, format, packed } => {
            let one = format.set(to, packed);
            let set =
                move |sources| narrow::set((format, packed), (comparison, flush), one, sources);
            Box::new(set)
        }
        RareOp::ConvertPair { format, rounding } => {
            Box::new(move |[a, b, ..]| narrow::pair(format, rounding, a, b))
        }
        RareOp::MulWideHalf { signed } => Box::new(move |[a, b, ..]| mul_wide_half(signed, a, b)),
        RareOp::Permute(mode) => {
            Box::new(move |[a, b, c, _]| permute(mode, low(a), low(b), low(c)).into())
        }
        RareOp::Extract(extract) => Box::new(move |[a, b, c, _]| bits::extract(extract, a, b, c)),
        RareOp::Insert64 => Box::new(bits::insert64),
        RareOp::Find64 { signed, shift } => {
            Box::new(move |[a, ..]| bits::find64(a, signed, shift).into())
        }
        RareOp::MaskBits { wraps } => {
            Box::new(move |[a, b, ..]| bits::mask(wraps, low(a), low(b)).into())
        }
        RareOp::Widen { signed, wraps } => {
            Box::new(move |[a, b, ..]| bits::widen(signed, wraps, low(a), low(b)).into())
        }
        RareOp::FindNth => {
            Box::new(|[a, b, c, _]| bits::find_nth(low(a), low(b), low(c).cast_signed()).into())
        }
        RareOp::Reverse64 => Box::new(|[a, ..]| a.reverse_bits()),
        RareOp::SelectBySign { float, flush } => {
            Box::new(move |[a, b, c, _]| if takes_first(low(c), float, flush) { a } else { b })
        }
        RareOp::CopySign { double } => {
            let sign = if double { 1_u64 << 63 } else { 1 << 31 };
            Box::new(move |[a, b, ..]| a & sign | b & !sign)
        }
        RareOp::DotBytes { a: x, b: y } => {
            Box::new(move |[a, b, c, _]| bits::dot_bytes((x, y), low(a), low(b), low(c)).into())
        }
        RareOp::DotHalves { a: x, b: y, high } => Box::new(move |[a, b, c, _]| {
            bits::dot_halves((x, y), high, low(a), low(b), low(c)).into()
        }),
        RareOp::Logic3(table) => {
            Box::new(move |[a, b, c, _]| logic3(table, low(a), low(b), low(c)).into())
        }
        RareOp::MadHigh { signed } => {
            Box::new(move |[a, b, c, _]| mad_high(signed, low(a), low(b), low(c)).into())
        }
        RareOp::Mul24 { signed } => {
            Box::new(move |[a, b, c, _]| mul24(signed, a, b).wrapping_add(c))
        }
        RareOp::Sad { signed } => Box::new(move |[a, b, c, _]| sad(signed, a, b).wrapping_add(c)),
        RareOp::Pack16 => {
            let half = |x: u64, shift: u32| (x & 0xffff) << shift;
            Box::new(move |[a, b, c, d]| half(a, 0) | half(b, 16) | half(c, 32) | half(d, 48))
        }
        RareOp::Set { comparison, flush, float } => {
            let one = if float { u64::from(1.0_f32.to_bits()) } else { 0xffff_ffff };
            let value = move |x| operand(low(x), flush);
            Box::new(
                move |[a, b, ..]| {
                    if compare(comparison, value(a), value(b)) { one } else { 0 }
                },
            )
        }
        RareOp::IsIn(space) => Box::new(move |[a, ..]| u64::from(is_in(space, a))),
        RareOp::Test { test, double } => Box::new(move |[a, ..]| u64::from(has(test, double, a))),
        RareOp::Wave { op, flush } => Box::new(move |[a, ..]| {
            let flags = FloatFlags { flush, saturate: false };
            u64::from(result(wave(op, operand(low(a), flush), mode), flags))
        }),
        RareOp::PowerWgsl { flush } => Box::new(move |[a, b, ..]| {
            let flags = FloatFlags { flush, saturate: false };
            u64::from(power(operand(low(a), flush), operand(low(b), flush), flags, mode))
        }),
    }
}

/// Whether `slct` takes its first operand, by the bits of the third. Of -0 and of what is not a number: -0 >= 0 holds,
/// an unordered comparison does not.
pub(super) fn takes_first(c: u32, float: bool, flush: bool) -> bool {
    if float { operand(c, flush) >= 0.0 } else { c.cast_signed() >= 0 }
}

/// The upper half of a product, and a sum.
fn mad_high(signed: bool, a: u32, b: u32, c: u32) -> u32 {
    let product = if signed {
        (i64::from(a.cast_signed()) * i64::from(b.cast_signed())).cast_unsigned()
    } else {
        u64::from(a) * u64::from(b)
    };
    high(product).wrapping_add(c)
}

/// The distance of two words.
fn sad(is_signed: bool, a: u64, b: u64) -> u64 {
    if is_signed { signed(a).abs_diff(signed(b)) } else { a.abs_diff(b) }
}

/// The product of the lower 16 bits.
fn mul_wide_half(signed: bool, a: u64, b: u64) -> u64 {
    if signed { (half(a) * half(b)).cast_unsigned() } else { (a & 0xffff) * (b & 0xffff) }
}

/// The product of the lower 24 bits.
fn mul24(signed: bool, a: u64, b: u64) -> u64 {
    let extend = |x: u64| {
        let top = low(x << 8);
        if signed { i64::from(top.cast_signed() >> 8) } else { i64::from(top >> 8) }
    };
    (extend(a) * extend(b)).cast_unsigned()
}

/// Constant memory is a part of the global window here, so that what is in one is in the other.
fn is_in(space: Space, address: u64) -> bool {
    let global = |space| matches!(space, Space::Global | Space::Const);
    let found = space_of(address);
    found == space || global(found) && global(space)
}

/// The lower 16 bits as a signed number.
fn half(value: u64) -> i64 {
    i64::from(low(value << 16).cast_signed() >> 16)
}

/// The lower 16 bits of the result count; a shift's amount is a word and clamps at 16.
pub(super) fn half_operation(Half { op, signed, adds }: Half, [a, b, c, _]: Sources) -> u64 {
    let extend = |x: u64| if signed { half(x) } else { (x & 0xffff).cast_signed() };
    let (x, y) = (extend(a), extend(b));
    let amount = low(b).min(16);
    let value = match op {
        IntegerBinary::Add => x + y,
        IntegerBinary::Sub => x - y,
        IntegerBinary::MulLo => x * y,
        IntegerBinary::MulHiS | IntegerBinary::MulHiU => (x * y) >> 16,
        // Division by zero is unspecified (PTX ISA, "div").
        IntegerBinary::DivS | IntegerBinary::DivU => x.checked_div(y).unwrap_or(-1),
        IntegerBinary::RemS | IntegerBinary::RemU => x.checked_rem(y).unwrap_or(x),
        IntegerBinary::MinS | IntegerBinary::MinU => x.min(y),
        IntegerBinary::MaxS | IntegerBinary::MaxU => x.max(y),
        IntegerBinary::And => x & y,
        IntegerBinary::Or => x | y,
        IntegerBinary::Xor => x ^ y,
        IntegerBinary::Shl => x << amount,
        IntegerBinary::ShrS | IntegerBinary::ShrU => x >> amount,
    };
    let value = if adds { value + extend(c) } else { value };
    value.cast_unsigned() & 0xffff
}

fn has(test: Test, double: bool, bits: u64) -> bool {
    let from = if double { Number::F64 } else { Number::F32 };
    let value = value_of(from, bits);
    let subnormal = if double {
        value.is_subnormal()
    } else {
        value != 0.0 && value.abs() < f64::from(f32::MIN_POSITIVE)
    };
    match test {
        Test::Finite => value.is_finite(),
        Test::Infinite => value.is_infinite(),
        Test::Number => !value.is_nan(),
        Test::NotANumber => value.is_nan(),
        // Zeros are among them (PTX ISA, "testp").
        Test::Normal => value.is_finite() && !subnormal,
        Test::Subnormal => subnormal,
    }
}
