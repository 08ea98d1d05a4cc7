//! Sums that are roundings to a whole number: one addend is so large that nothing below a half, 1 or 2 is left.

use super::super::ir::{Double, Slot};
use super::super::lanes::{Bits, LANES};
use super::journal::Journal;
use super::number::{Shadow, Word};
use super::plan::Operation;
use super::registers::Beside;
use super::rounding::{ROUND, rounds};

impl Journal {
    /// Whether a sum is a rounding to a whole number: one of its addends is a literal that [`rounds`]. The f32
    /// result then is a whole number.
    #[inline(always)]
    pub(super) fn rounds_on_purpose(
        &self,
        beside: &Beside,
        on: u32,
        operation: &Operation,
    ) -> bool {
        let literal = |&slot: &Slot| match slot.checked_sub(self.registers) {
            Some(at) => self.rounding[usize::from(at)],
            None => beside.entry(slot).is_some_and(|entry| {
                entry.literals & on == on
                    && rounds(entry.lanes.x[on.trailing_zeros() as usize & 31])
            }),
        };
        let magic = |&slot: &Slot| {
            literal(&slot) || slot < self.registers && self.is_magic(beside, on, slot, operation)
        };
        match operation.addends().iter().copied().find(magic) {
            Some(slot) => self.is_below(beside, on, (slot, operation.operands())),
            None => false,
        }
    }

    /// Whether an addend is 1.5 times a power of two by which people round, in all lanes: a literal that went through
    /// memory, or a parameter.
    #[inline(always)]
    fn is_magic(&self, beside: &Beside, on: u32, slot: Slot, operation: &Operation) -> bool {
        let Some(k) = operation.operands().iter().position(|operand| *operand == slot) else {
            return false;
        };
        let plain = |lane: usize| match beside.word(slot, lane) {
            Word::Float(shadow) if !shadow.is_plain() => 0.0,
            word => self.size(word, (k, lane)),
        };
        let size = plain(on.trailing_zeros() as usize & 31);
        ROUND.contains(&size) && Bits(on).all(|lane| plain(lane) == size)
    }

    /// How large an operand is in a lane.
    #[inline(always)]
    fn size(&self, word: Word, (k, lane): (usize, usize)) -> f64 {
        match word {
            Word::Float(shadow) => shadow.x.abs(),
            _ => f64::from(f32::from_bits(self.words[k][lane])).abs(),
        }
    }

    /// Whether what is added to a literal is less than half of it, in all lanes: of a b + c the product, of a + b
    /// the other one.
    #[inline(always)]
    fn is_below(&self, beside: &Beside, on: u32, (at, operands): (Slot, &[Slot])) -> bool {
        let lane = on.trailing_zeros() as usize & 31;
        let place = operands.iter().position(|operand| *operand == at).unwrap_or(0);
        let size = self.size(self.word(beside, at, lane), (place, lane));
        let mut rest = [1.0; LANES];
        for (k, &slot) in operands.iter().enumerate().take(2).filter(|(_, slot)| **slot != at) {
            let entry = beside.entry(slot);
            let (x, floats) = match slot.checked_sub(self.registers) {
                Some(at) => (&self.literals[usize::from(at)].x, u32::MAX),
                None => entry.map_or((&[0.0; LANES], 0), |entry| (&entry.lanes.x, entry.floats)),
            };
            for lane in 0..LANES {
                let own = f64::from(f32::from_bits(self.words[k][lane]));
                rest[lane] *= if floats >> lane & 1 == 1 { x[lane] } else { own };
            }
        }
        let mut small = 0;
        for (lane, rest) in rest.iter().enumerate() {
            small |= u32::from(rest.abs() < 0.5 * size.abs()) << lane;
        }
        small & on == on
    }
}

/// The same of f64: whether a sum is a rounding to a whole number: one of its addends is a number such as 1.5 * 2^52, whose last place
/// is a half, 1 or 2, and what is added to it is less than a half of it. So CUDA's exp reduces its range. The result
/// is a whole number, of which the bits say all.
pub(super) fn rounds_doubles(op: Double, operands: &[Shadow; 3]) -> bool {
    let [a, b, c] = operands;
    let rounds = |magic: &Shadow, rest: f64| {
        let size = magic.x.abs();
        magic.is_plain()
            && magic.c == 0.0
            && [1.0, 1.5]
                .iter()
                .any(|&start| (51..=53).any(|power| size == start * 2.0_f64.powi(power)))
            && rest.abs() < size / 2.0
    };
    match op {
        Double::Add => rounds(b, a.x) || rounds(a, b.x),
        Double::Sub => rounds(b, a.x),
        Double::Fma => rounds(c, a.x * b.x),
        _ => false,
    }
}
