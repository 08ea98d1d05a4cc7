//! Fields of bits, and integers of 16 bits.

use super::super::super::ir::{Extract, Half};
use super::super::super::lanes::low;
use super::super::super::rare::{extract, half_operation};
use super::super::bits::Integers;
use super::super::fields::field;
use super::super::number::Word;
use super::{Any, Lane, Left, halves};

impl Lane<'_> {
    /// bfe. A sign alone is a decision. What lies above the mantissa is sign and exponent.
    pub(super) fn extracted(&mut self, op: Extract) -> Left {
        let none = Left::Word(Word::None);
        let [start, length] = [1, 2].map(|k| u64::from(self.sources[k].word().1 & 0xff));
        if let Any::Wide(wide, bits) = self.sources[0] {
            let of = |bits: u64| extract(op, bits, start, length);
            let is_sign = self.journal.takes_wide_sign(self.beside, self.lane, &(wide, bits), &of);
            return if is_sign || start >= 52 { none } else { self.scrambled() };
        }
        let operand = self.sources[0].word();
        let of = |bits: u32| low(extract(op, bits.into(), start, length));
        if self.journal.takes_signs(self.beside, self.lane, &operand, &of) {
            return none;
        }
        let half = |half: Option<_>| Left::Word(half.map_or(Word::None, Word::Narrow));
        match operand.0 {
            Word::Halves([low, _]) if (start, length) == (0, 16) => half(low),
            Word::Halves([_, high]) if (start, length) == (16, 16) => half(high),
            Word::Narrow(_) | Word::Halves(_) | Word::Part(_) => self.scrambled(),
            Word::None | Word::Count(_) | Word::Float(_) | Word::Refers(_) if start < 23 => {
                self.scrambled()
            }
            Word::None | Word::Count(_) => none,
            Word::Float(_) | Word::Refers(_) | Word::Field(_) => {
                Left::Word(field(&operand, halves(self.result)[0], &|bits| Some(of(bits))))
            }
        }
    }

    /// Integers of 16 bits, which may be the bits of a number: its sign may change.
    pub(super) fn half_integer(&mut self, half: Half) -> Word {
        let operands = [0, 1].map(|k| self.sources[k].word());
        let result = halves(self.result)[0];
        let amount = operands[1].1;
        let of = |bits: u32| low(half_operation(half, [bits.into(), amount.into(), 0, 0]));
        let op = half.op;
        if op.shifts() && self.journal.takes_signs(self.beside, self.lane, &operands[0], &of) {
            return Word::None;
        }
        if Integers::of(op) == Integers::Extreme {
            let low = |(word, bits): (Word, u32)| (word, bits & 0xffff);
            return self.journal.integer(Integers::Extreme, &operands.map(low), result & 0xffff);
        }
        for (word, bits) in operands {
            if let Word::Narrow(shadow) = word {
                if (bits ^ result) & 0xffff == 0 {
                    return word;
                }
                if (bits ^ result) & 0xffff == 0x8000 {
                    return Word::Narrow(self.journal.scaled(&shadow, -1.0));
                }
            }
        }
        match Integers::of(op) {
            op @ (Integers::Add | Integers::Subtract) => self.integer(op, 2),
            _ => self.integer(Integers::Other, 2),
        }
    }
}
