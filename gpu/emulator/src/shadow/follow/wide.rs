//! Follows arithmetic on registers of 64 bits.

use super::super::super::ir::{Arithmetic, B64Unary, IntegerBinary, Slot, WordType};
use super::super::super::lanes::Bits;
use super::super::super::registers::Registers;
use super::super::bits::Integers;
use super::super::journal::{Journal, Loss};
use super::super::number::{Count, Known, Part, Shadow, Whole, Wide, Word, relevant};
use super::super::rare::narrowed;
use super::super::registers::Beside;
use super::super::wides::{halves, unary};

impl Journal {
    /// Operations on registers of 64 bits.
    pub(super) fn wide_arithmetic(
        &mut self,
        beside: &mut Beside,
        r: &Registers,
        on: u32,
        op: &Arithmetic,
    ) {
        match *op {
            Arithmetic::B64Unary(op, d, a) => {
                self.each_wide(beside, on, (d, &[a]), |journal, lane, operands| {
                    let result = r.b64.get(d)[lane];
                    match op {
                        B64Unary::Move => operands[0].0,
                        op => journal.wide_integer(unary(op), operands, result),
                    }
                });
            }
            Arithmetic::B64Binary(op, d, a, b) if op.shifts() => {
                self.masked_wide_signs(beside, on, (op, [a, b]));
                let amounts = self.words[1];
                self.each_wide(beside, on, (d, &[a]), |journal, lane, operands| {
                    journal.wide_shift(op, operands[0], amounts[lane], r.b64.get(d)[lane])
                });
            }
            Arithmetic::B64Binary(op, d, a, b) => {
                self.masked_wide_signs(beside, on, (op, [a, b]));
                self.each_wide(beside, on, (d, &[a, b]), |journal, lane, operands| {
                    let result = r.b64.get(d)[lane];
                    journal.wide_integer(integers64(op), operands, result)
                });
            }
            Arithmetic::B64Mad(d, a, b, c) => {
                self.each_wide(beside, on, (d, &[a, b, c]), |journal, lane, operands| {
                    let words: Vec<Word> =
                        operands.iter().flat_map(|(wide, bits)| wide.words(*bits)).collect();
                    journal.scrambled(&words, r.b64.get(d)[lane])
                });
            }
            Arithmetic::SelectB64 { d, a, b, p } => {
                let chosen = r.predicates[usize::from(p)];
                self.each_wide(beside, on, (d, &[a, b]), |_, lane, operands| {
                    operands[usize::from(chosen >> lane & 1 == 0)].0
                });
            }
            Arithmetic::B64Count(_, d, a) => {
                // How many bits are set says nothing of a number.
                for lane in Bits(on) {
                    let words = beside.wide(a, lane).words(self.wides[0][lane]);
                    let word = self.scrambled_word(&words, r.words.get(d)[lane]);
                    beside.set_word(d, lane, word);
                }
            }
            Arithmetic::Narrow { d, a } if !beside.has_wide(a) => beside.clear(d, on),
            Arithmetic::Narrow { d, a } => {
                for lane in Bits(on) {
                    let bits = self.wides[0][lane];
                    let word = narrowed(beside.wide(a, lane), bits, halves(bits)[0]);
                    beside.set_word(d, lane, word);
                }
            }
            Arithmetic::Unpack { low, high, a } if !beside.has_wide(a) => {
                beside.clear(low, on);
                beside.clear(high, on);
            }
            Arithmetic::Unpack { low, high, a } => {
                for lane in Bits(on) {
                    let [first, second] = beside.wide(a, lane).words(self.wides[0][lane]);
                    beside.set_word(low, lane, first);
                    beside.set_word(high, lane, second);
                }
            }
            Arithmetic::B64ToFloat { signed, d, a } => {
                for lane in Bits(on) {
                    let bits = self.wides[0][lane];
                    let whole = if signed { bits.cast_signed() as f64 } else { bits as f64 };
                    let found = self.converted_wide(beside.wide(a, lane), whole);
                    let result = r.words.get(d)[lane];
                    let word = self.rounded(found, whole, (lane, beside.open), result);
                    beside.set_word(d, lane, word);
                }
            }
            Arithmetic::Widen { d, a, .. } if beside.present(a) & on == 0 => {
                beside.clear_wide(d, on);
            }
            Arithmetic::Widen { d, a, from } => {
                for lane in Bits(on) {
                    let wide = widened(beside.word(a, lane), from, r.b64.get(d)[lane]);
                    beside.set_wide(d, lane, wide);
                }
            }
            Arithmetic::Pack { d, low, high }
                if (beside.present(low) | beside.present(high)) & on == 0 =>
            {
                beside.clear_wide(d, on);
            }
            Arithmetic::Pack { d, low, high } => {
                for lane in Bits(on) {
                    let words = [low, high].map(|slot| beside.word(slot, lane));
                    beside.set_wide(d, lane, Wide::of(words, r.b64.get(d)[lane]));
                }
            }
            Arithmetic::MulWide { d, a, b, .. } => self.product(beside, r, on, (d, [a, b], None)),
            Arithmetic::MadWide { d, a, b, c, .. } => {
                self.product(beside, r, on, (d, [a, b], Some(c)));
            }
            Arithmetic::WordUnary(..)
            | Arithmetic::WordBinary(..)
            | Arithmetic::WordTernary(..)
            | Arithmetic::BitFieldInsert(_)
            | Arithmetic::FloatUnary(..)
            | Arithmetic::FloatBinary(..)
            | Arithmetic::Fma(..)
            | Arithmetic::FloatToInteger(_)
            | Arithmetic::WordToFloat { .. }
            | Arithmetic::Setp(_)
            | Arithmetic::SelectWord { .. }
            | Arithmetic::PredicateMove { .. }
            | Arithmetic::Predicate2(..)
            | Arithmetic::Split16 { .. }
            | Arithmetic::Carry(_)
            | Arithmetic::Rare(_) => {}
        }
    }

    /// Each lane of an operation from 64 bits to 64 bits; nothing is done where nothing is beside them.
    fn each_wide(
        &mut self,
        beside: &mut Beside,
        on: u32,
        (d, from): (Slot, &[Slot]),
        mut f: impl FnMut(&mut Self, usize, &[(Wide, u64)]) -> Wide,
    ) {
        if !from.iter().any(|&slot| beside.has_wide(slot)) {
            return beside.clear_wide(d, on);
        }
        for lane in Bits(on) {
            let mut operands = [(Wide::None, 0); 3];
            for (k, &slot) in from.iter().enumerate() {
                operands[k] = (beside.wide(slot, lane), self.wides[k][lane]);
            }
            let wide = f(self, lane, &operands[..from.len()]);
            beside.set_wide(d, lane, wide);
        }
    }

    /// mul.wide and mad.wide: the bits of a product are nobody's.
    fn product(
        &mut self,
        beside: &mut Beside,
        r: &Registers,
        on: u32,
        (d, factors, add): (Slot, [Slot; 2], Option<Slot>),
    ) {
        let present = factors.iter().fold(0, |all, &slot| all | beside.present(slot)) & on;
        let wide = add.is_some_and(|slot| beside.has_wide(slot));
        if present == 0 && !wide {
            return beside.clear_wide(d, on);
        }
        for lane in Bits(on) {
            let mut words = vec![beside.word(factors[0], lane), beside.word(factors[1], lane)];
            if let Some(slot) = add {
                words.extend(beside.wide(slot, lane).words(self.wides[2][lane]));
            }
            let wide = self.scrambled(&words, r.b64.get(d)[lane]);
            beside.set_wide(d, lane, wide);
        }
    }

    /// A whole number of 64 bits that is converted to a float; `None` if its bits say all.
    pub(in super::super) fn converted_wide(&mut self, wide: Wide, whole: f64) -> Option<Shadow> {
        match wide {
            Wide::None | Wide::Count(Count { summed: false, .. }) => None,
            Wide::Count(Count { shadow, known: Known::Unsure, .. }) => {
                Some(self.begin_anew(whole, &[Some(shadow)], Loss::Count))
            }
            Wide::Count(Count { shadow, .. }) => Some(shadow),
            Wide::Words([low, high]) => {
                let cell =
                    |part: Part| matches!(part.of, Whole::Count(Count { summed: false, .. }));
                let harmless = |word: Word| match word {
                    word if !relevant(&(word, 0)) => true,
                    Word::None | Word::Field(_) | Word::Count(Count { summed: false, .. }) => true,
                    Word::Float(_) => false,
                    Word::Part(part) => cell(part),
                    Word::Narrow(_) | Word::Halves(_) | Word::Refers(_) | Word::Count(_) => false,
                };
                if harmless(low) && harmless(high) {
                    return None;
                }
                Some(self.begin_anew(whole, &[low.source(), high.source()], Loss::Bits))
            }
            Wide::Double(shadow) if shadow.is_plain() => None,
            Wide::Double(_) | Wide::Refers(_) => {
                Some(self.begin_anew(whole, &[wide.source()], Loss::Bits))
            }
        }
    }
}

fn integers64(op: IntegerBinary) -> Integers {
    match Integers::of(op) {
        // Amounts of shifts are words; shifts do not come here.
        Integers::ShiftLeft | Integers::ShiftRight { .. } => Integers::Other,
        op => op,
    }
}

/// A word that becomes 64 bits.
fn widened(word: Word, from: WordType, result: u64) -> Wide {
    match word {
        Word::None | Word::Field(_) => Wide::None,
        Word::Count(count) if from == WordType::S32 || from == WordType::U32 => {
            let whole = result.cast_signed() as f64;
            let within = (whole - count.shadow.x).abs() <= f64::from(count.shadow.r);
            if within { Wide::Count(count) } else { Wide::None }
        }
        // The upper word is filled up.
        word => Wide::of([word, Word::None], result),
    }
}
