//! Exponents that integers take from floats, alone or with the sign.
//!
//! As a number an exponent is what its bits say: it reduces a range, and near a power of two the other one would do. What
//! it decides is a decision: where the float may lie on both sides of a power of two, an integer made of its exponent
//! may be one of several. These go along with it through masks, shifts and sums with integers that came from no float.

use super::super::float::compared;
use super::super::ir::Comparison;
use super::bits::{Integers, Operand, SIGN};
use super::journal::Journal;
use super::number::{Field, NO_FLOAT, Part, Shadow, Source, Whole, Word, relevant};
use super::wides::halves;

impl Journal {
    /// What becomes of a mask or shift that leaves nothing of a float's mantissa.
    pub(super) fn taken_field(&self, op: Integers, operands: &[Operand], result: u32) -> Word {
        let [a, b] = *operands else { return Word::None };
        match (relevant(&a), relevant(&b)) {
            (true, false) => field(&a, result, &|bits| applied(op, [bits, b.1])),
            (false, true) => field(&b, result, &|bits| applied(op, [a.1, bits])),
            (true, true) | (false, false) => Word::None,
        }
    }

    /// An operation on integers of which one is a field, and no other came from a float.
    pub(super) fn carried_field(&self, op: Integers, operands: &[Operand], result: u32) -> Word {
        let of = |field: Field, of: &dyn Fn(u32) -> Option<u32>| {
            of_ends(field.shadow, field.ends, result, of)
        };
        match *operands {
            [(Word::Field(_), _), (Word::Field(_), _)] => Word::None,
            [(Word::Field(one), _), (_, b)] => of(one, &|bits| applied(op, [bits, b])),
            [(_, a), (Word::Field(one), _)] => of(one, &|bits| applied(op, [a, bits])),
            [(Word::Field(one), _)] if op == Integers::Negate => {
                of(one, &|bits| Some(bits.wrapping_neg()))
            }
            _ => Word::None,
        }
    }
}

/// The integer that an operation makes of the bits of an f32, or of a field.
pub(super) fn field((word, bits): &Operand, result: u32, of: &dyn Fn(u32) -> Option<u32>) -> Word {
    let (shadow, ends) = match *word {
        Word::Float(shadow) => (shadow, bits_of(&shadow)),
        Word::Refers(Source { shadow, bits: had }) if had != NO_FLOAT => {
            let ends = bits_of(&shadow);
            match had ^ bits {
                turned if turned & !SIGN == 0 => (shadow, ends.map(|end| end ^ turned)),
                // Without its sign.
                _ if *bits == had << 1 => (shadow, ends.map(|end| end << 1)),
                _ => return Word::None,
            }
        }
        Word::Part(Part { of: Whole::Double(shadow), bits: had, upper: true }) => {
            let turned = halves(had)[1] ^ bits;
            if turned & !SIGN != 0 {
                return Word::None;
            }
            (shadow, upper_bits_of(&shadow).map(|end| end ^ turned))
        }
        Word::Field(field) => return of_ends(field.shadow, field.ends, result, of),
        Word::None
        | Word::Refers(_)
        | Word::Narrow(_)
        | Word::Halves(_)
        | Word::Count(_)
        | Word::Part(_) => return Word::None,
    };
    // A sign alone was a decision where it was taken.
    if of(0) == of(!SIGN) {
        return Word::None;
    }
    of_ends(shadow, ends, result, of)
}

/// Nothing is beside an integer that is the same wherever the float lies.
fn of_ends(shadow: Shadow, ends: [u32; 4], result: u32, of: &dyn Fn(u32) -> Option<u32>) -> Word {
    let [Some(a), Some(b), Some(c), Some(d)] = ends.map(of) else { return Word::None };
    let ends = [a, b, c, d];
    if ends.iter().all(|end| *end == result) {
        Word::None
    } else {
        Word::Field(Field { shadow, ends })
    }
}

/// What an instruction makes of two words; `None` of one whose result is neither a mask, a shift nor a sum.
pub(super) fn applied(op: Integers, [a, b]: [u32; 2]) -> Option<u32> {
    match op {
        Integers::Add => Some(a.wrapping_add(b)),
        Integers::Subtract => Some(a.wrapping_sub(b)),
        Integers::And => Some(a & b),
        Integers::ShiftLeft => Some(a.checked_shl(b).unwrap_or(0)),
        Integers::ShiftRight { signed: false } => Some(a.checked_shr(b).unwrap_or(0)),
        Integers::ShiftRight { signed: true } => {
            Some((a.cast_signed() >> b.min(31)).cast_unsigned())
        }
        Integers::Negate | Integers::Extreme | Integers::Other => None,
    }
}

/// The bits that an f32 may have: at both ends of where it may lie, and of what lies below a power of two that it is, since
/// a comparison with that is one of equals; near 0 those of both zeros.
#[expect(
    clippy::cast_possible_truncation,
    reason = "to an f32 at the end of where one may lie, or beside it"
)]
fn bits_of(shadow: &Shadow) -> [u32; 4] {
    let r = f64::from(shadow.r);
    let [low, high] = [shadow.x - r, shadow.x + r].map(|end| (end as f32).to_bits());
    if shadow.x.abs() <= r {
        return [low, high, 0, SIGN];
    }
    let own = (shadow.x as f32).to_bits();
    let below = if is_power_of_two(shadow.x) { own - 1 } else { own };
    [low, high, own, below]
}

/// The same of the upper word of an f64.
pub(super) fn upper_bits_of(shadow: &Shadow) -> [u32; 4] {
    let r = f64::from(shadow.r);
    let upper = |x: f64| halves(x.to_bits())[1];
    let [low, high] = [shadow.x - r, shadow.x + r].map(upper);
    if shadow.x.abs() <= r {
        return [low, high, 0, SIGN];
    }
    let own = upper(shadow.x);
    let below = if is_power_of_two(shadow.x) { own - 1 } else { own };
    [low, high, own, below]
}

fn is_power_of_two(x: f64) -> bool {
    x.to_bits() & ((1 << 52) - 1) == 0 && x != 0.0 && x.is_finite()
}

/// Whether an f32 is beside no other power of two than one that it is.
fn is_at_one(shadow: &Shadow) -> bool {
    let r = f64::from(shadow.r);
    r == 0.0 || is_power_of_two(shadow.x) && 2.0 * r < shadow.x.abs()
}

/// How integers are compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) comparison: Comparison,
    pub(super) signed: bool,
    pub(super) bits: u32,
}

impl Asked {
    /// Whether the comparison depends on which of these integers each side has.
    pub(super) fn differs(self, sides: [&[u32]; 2]) -> bool {
        let shift = 32 - self.bits;
        let value = |bits: u32| match self.signed {
            true => i64::from((bits << shift).cast_signed() >> shift),
            false => i64::from(bits << shift >> shift),
        };
        let [a, b] = sides.map(|side| side.iter().map(|&bits| value(bits)).collect::<Vec<_>>());
        if matches!(self.comparison, Comparison::Eq | Comparison::Ne) {
            // One between the ends may be equal where none of them is.
            let ends = |all: &[i64]| [all.iter().min().copied(), all.iter().max().copied()];
            let ([least, most], [other_least, other_most]) = (ends(&a), ends(&b));
            let is_one = least == most && other_least == other_most;
            return !is_one && least <= other_most && other_least <= most;
        }
        let all = || a.iter().flat_map(|&x| b.iter().map(move |&y| (x, y)));
        let holds = |(x, y)| compared(self.comparison, x, y, false);
        all().any(holds) && !all().all(holds)
    }
}

/// Whether what a field decides is one of equals, where it is open.
pub(super) fn is_tie(fields: &[Field]) -> bool {
    fields.iter().all(|field| is_at_one(&field.shadow))
}
