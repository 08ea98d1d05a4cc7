//! Signs and magnitudes that integers take from floats.
//!
//! A sign alone is a decision: near 0 a conforming execution may have the other one. So is the sign that another number
//! is given. What is left without its sign is an absolute value.

use super::super::ir::{Comparison, IntegerBinary, Slot};
use super::super::lanes::Bits;
use super::super::registers::Registers;
use super::bits::{Integers, Operand, SIGN};
use super::journal::Journal;
use super::number::{NO_FLOAT, Part, Shadow, Whole, Word, depends, is_near_zero, relevant};
use super::registers::Beside;
use super::table::Function;
use super::table::accuracy::Accuracy;
use super::wides::halves;

/// The number whose sign a word has as its highest bit, whatever became of the others.
fn signed_by((word, bits): &Operand) -> Option<Shadow> {
    match *word {
        _ if !relevant(&(*word, *bits)) => None,
        Word::Float(shadow) => Some(shadow),
        Word::Refers(source) if source.bits != NO_FLOAT && (source.bits ^ bits) & !SIGN == 0 => {
            Some(source.shadow)
        }
        Word::Part(Part { of: Whole::Double(shadow), bits: had, upper: true })
            if (halves(had)[1] ^ bits) & !SIGN == 0 =>
        {
            Some(shadow)
        }
        // The upper half of two alone has that bit.
        Word::Halves([_, high]) => high,
        Word::None | Word::Narrow(_) | Word::Refers(_) | Word::Count(_) | Word::Part(_) => None,
    }
}

impl Journal {
    /// The sign of a number decides something. Whether it is taken the other way, which turns these bits of the result.
    pub(super) fn take_sign(
        &mut self,
        beside: &mut Beside,
        lane: usize,
        (shadow, turns): (&Shadow, u32),
    ) -> bool {
        // What a library function decides says nothing of its result, which is that of the function.
        if beside.is_in_call(lane) {
            return false;
        }
        let tie = shadow.x == 0.0;
        let open = is_near_zero(shadow) && !tie;
        self.decide_in(beside, lane, open, tie);
        let reversed = tie && depends(shadow.n) && self.tie(Comparison::Ge, [1 << lane, 0]);
        if reversed {
            self.turns[lane] = turns;
        }
        reversed
    }

    /// Masks and shifts of words that leave a sign.
    #[inline(always)]
    pub(super) fn masked_signs(
        &mut self,
        beside: &mut Beside,
        on: u32,
        (op, [a, b]): (IntegerBinary, [Slot; 2]),
    ) {
        let turns = match op {
            IntegerBinary::And => SIGN,
            IntegerBinary::ShrS => u32::MAX,
            IntegerBinary::ShrU => 1,
            IntegerBinary::Add
            | IntegerBinary::Sub
            | IntegerBinary::MulLo
            | IntegerBinary::MulHiS
            | IntegerBinary::MulHiU
            | IntegerBinary::DivS
            | IntegerBinary::DivU
            | IntegerBinary::RemS
            | IntegerBinary::RemU
            | IntegerBinary::MinS
            | IntegerBinary::MinU
            | IntegerBinary::MaxS
            | IntegerBinary::MaxU
            | IntegerBinary::Or
            | IntegerBinary::Xor
            | IntegerBinary::Shl => return,
        };
        for lane in Bits((beside.changed(a) | beside.changed(b)) & on) {
            let [one, other] = [(a, 0), (b, 1)]
                .map(|(slot, k): (Slot, usize)| (beside.word(slot, lane), self.words[k][lane]));
            let number = match op {
                IntegerBinary::And if other.1 == SIGN && !relevant(&other) => one,
                IntegerBinary::And if one.1 == SIGN && !relevant(&one) => other,
                IntegerBinary::ShrS | IntegerBinary::ShrU if other.1 == 31 => one,
                _ => continue,
            };
            if let Some(shadow) = signed_by(&number) {
                self.take_sign(beside, lane, (&shadow, turns));
            }
        }
    }

    /// An operation each bit of whose result is one of its operands' or not, or depends on no bit of them. `None` where
    /// nothing is known but the bits.
    pub(super) fn by_bits(
        &mut self,
        beside: &mut Beside,
        lane: usize,
        (operands, mut result): (&[Operand], u32),
        of: &dyn Fn(usize, u32) -> u32,
    ) -> Word {
        // Operands of which the sign counts alone.
        let (mut signs, mut others) = (0, Vec::new());
        for (k, operand) in operands.iter().enumerate().filter(|(_, operand)| relevant(operand)) {
            let turns = of(k, 0) ^ of(k, SIGN);
            let only_sign =
                turns != 0 && of(k, 0) == of(k, !SIGN) && of(k, SIGN) == of(k, u32::MAX);
            match signed_by(operand).filter(|_| only_sign) {
                Some(shadow) => {
                    signs += 1;
                    if self.take_sign(beside, lane, (&shadow, turns)) {
                        result ^= turns;
                    }
                }
                // Of which nothing is left.
                None if of(k, 0) == of(k, u32::MAX) && turns == 0 => {}
                None => others.push((k, *operand)),
            }
        }
        match *others {
            [] if signs > 0 => Word::None,
            [(k, operand)] if of(k, 0) ^ of(k, u32::MAX) == !SIGN && of(k, 0) & !SIGN == 0 => {
                let sign = result & SIGN;
                match self.magnitude_of(operand) {
                    Some(word) if sign == 0 => word,
                    Some(Word::Float(shadow)) => Word::Float(self.scaled(&shadow, -1.0)),
                    _ => self.integer(Integers::Other, &[operand], result),
                }
            }
            [] => self.integer(Integers::Other, operands, result),
            _ => {
                let all: Vec<Operand> = others.iter().map(|(_, operand)| *operand).collect();
                self.integer(Integers::Other, &all, result)
            }
        }
    }

    /// An f32 without its sign; `None` of what is none, or not as it was.
    pub(super) fn magnitude_of(&mut self, (word, bits): Operand) -> Option<Word> {
        let shadow = match word {
            Word::Float(shadow) => shadow,
            Word::Refers(source) if source.bits == bits => source.shadow,
            Word::Refers(source) if source.bits ^ bits == SIGN => self.scaled(&source.shadow, -1.0),
            Word::None
            | Word::Narrow(_)
            | Word::Halves(_)
            | Word::Refers(_)
            | Word::Count(_)
            | Word::Part(_) => return None,
        };
        let size = f64::from(f32::from_bits(bits & !SIGN));
        self.scalar((Function::Absolute, Accuracy::EXACT), &[shadow], false, size).map(Word::Float)
    }

    /// After an operation on words: turns what signs that are taken the other way turn.
    pub(super) fn turn_signs(&self, r: &mut Registers, slot: Slot, lanes: u32) {
        turn(r, slot, lanes, |lane| self.turns[lane]);
    }
}

/// Turns these bits of lanes of a word.
pub(super) fn turn(r: &mut Registers, slot: Slot, lanes: u32, bits: impl Fn(usize) -> u32) {
    for lane in Bits(lanes) {
        let poisoned = r.words.poison(slot) >> lane & 1 == 1;
        let value = r.words.get(slot)[lane] ^ bits(lane);
        r.words.set_lane(slot, lane, value, poisoned);
    }
}
