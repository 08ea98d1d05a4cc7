//! The signs of numbers of 64 bits.

use super::super::super::ir::{IntegerBinary, Slot};
use super::super::super::lanes::Bits;
use super::super::bits::Integers;
use super::super::journal::Journal;
use super::super::number::{Shadow, Wide};
use super::super::registers::Beside;
use super::super::wides::{Operand, halves};
use super::{SIGN, Signs};

/// The bit of an f64 that is its sign.
const WIDE_SIGN: u64 = 1 << 63;

/// The number whose sign 64 bits have as their highest, whatever became of the others.
fn signed_by((wide, bits): &Operand) -> Option<Shadow> {
    match wide {
        Wide::Double(shadow) if !shadow.is_plain() => Some(*shadow),
        Wide::Refers(source) if (source.bits ^ bits) & !WIDE_SIGN == 0 => Some(source.shadow),
        Wide::Words([_, high]) => {
            let signs = Signs::of(&(*high, halves(*bits)[1]));
            let highest = signs.each.into_iter().flatten().find(|(_, sign)| *sign == SIGN);
            highest.map(|(shadow, _)| shadow)
        }
        Wide::None | Wide::Double(_) | Wide::Refers(_) | Wide::Count(_) => None,
    }
}

/// Whether an operation takes the sign of a number and nothing else.
fn is_sign(operand: &Operand, of: &dyn Fn(u64) -> u64) -> bool {
    let is_alone = of(0) == of(!WIDE_SIGN) && of(WIDE_SIGN) == of(u64::MAX);
    is_alone && of(0) != of(WIDE_SIGN) && signed_by(operand).is_some()
}

/// What an instruction makes of 64 bits and an amount or a mask. `None` of one that leaves no sign alone.
fn apply(op: Integers) -> Option<fn(u64, u64) -> u64> {
    match op {
        Integers::And => Some(|bits, mask| bits & mask),
        Integers::ShiftRight { signed: false } => {
            Some(|bits, by| if by < 64 { bits >> by } else { 0 })
        }
        Integers::ShiftRight { signed: true } => {
            Some(|bits, by| (bits.cast_signed() >> by.min(63)).cast_unsigned())
        }
        Integers::Add
        | Integers::Subtract
        | Integers::Negate
        | Integers::ShiftLeft
        | Integers::Extreme
        | Integers::Other => None,
    }
}

impl Journal {
    /// Whether a mask, or a shift by so much, leaves nothing but the sign of a number.
    pub(in super::super) fn leaves_wide_sign(
        &self,
        op: Integers,
        operand: &Operand,
        other: u64,
    ) -> bool {
        apply(op).is_some_and(|apply| is_sign(operand, &|bits| apply(bits, other)))
    }

    /// An operation on one number of 64 bits that may be nothing but its sign. Whether it is.
    pub(in super::super) fn takes_wide_sign(
        &mut self,
        beside: &mut Beside,
        lane: usize,
        operand: &Operand,
        of: &dyn Fn(u64) -> u64,
    ) -> bool {
        let Some(shadow) = signed_by(operand).filter(|_| is_sign(operand, of)) else {
            return false;
        };
        let reversed = self.take_sign(beside, lane, &shadow);
        self.turns[lane] = if reversed { of(0) ^ of(WIDE_SIGN) } else { 0 };
        true
    }

    /// Masks and shifts of 64 bits that leave a sign.
    pub(in super::super) fn masked_wide_signs(
        &mut self,
        beside: &mut Beside,
        on: u32,
        (op, [a, b]): (IntegerBinary, [Slot; 2]),
    ) {
        let Some(apply) = apply(Integers::of(op)) else { return };
        let shifts = op.shifts();
        if !beside.has_wide(a) && (shifts || !beside.has_wide(b)) {
            return;
        }
        for lane in Bits(on) {
            let number = (beside.wide(a, lane), self.wides[0][lane]);
            let other = match shifts {
                true => (Wide::None, self.words[1][lane].into()),
                false => (beside.wide(b, lane), self.wides[1][lane]),
            };
            match (is_plain(&number), is_plain(&other)) {
                (false, true) => {
                    self.takes_wide_sign(beside, lane, &number, &|bits| apply(bits, other.1))
                }
                (true, false) => {
                    self.takes_wide_sign(beside, lane, &other, &|bits| apply(number.1, bits))
                }
                (true, true) | (false, false) => false,
            };
        }
    }
}

/// Whether the bits say all.
fn is_plain((wide, _): &Operand) -> bool {
    match wide {
        Wide::None => true,
        Wide::Double(shadow) => shadow.is_plain(),
        Wide::Refers(_) | Wide::Count(_) | Wide::Words(_) => false,
    }
}
