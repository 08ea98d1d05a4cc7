//! The lesser or greater of numbers by their bits.
//!
//! Of two numbers whose bits are ordered as they are, the one that is taken has the derivative. Of equal ones, and of
//! those that rounding cannot tell apart, either may have it, as of the lesser or greater of floats.

use super::super::lanes::{Bits, LANES};
use super::bits::{self, Integers};
use super::journal::Journal;
use super::number::{Count, Known, Shadow, Source, UNRECORDED, Wide, Word, depends, relevant, up};
use super::registers::Gathered;
use super::wides::{self, halves};

/// One of two, of which integers decide.
#[derive(Clone, Copy, Debug)]
struct Side {
    shadow: Shadow,
    /// By which both are ordered, if both are `ordered` in the same way.
    value: f64,
    ordered: Option<Order>,
}

/// How the bits of an integer are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// They are the number.
    Number,
    /// They are a key of it: the sign turned, or all bits of negative numbers.
    Key,
}

/// What turns a source's bits, of which the highest is the sign, into others.
fn order_of(turned: u64, sign: u64) -> Option<Order> {
    match turned {
        0 => Some(Order::Number),
        _ if turned == sign || turned == sign | (sign - 1) => Some(Order::Key),
        _ => None,
    }
}

impl Side {
    /// A word that is a float, or was computed from one. `None` for others.
    fn of_word((word, bits): bits::Operand) -> Option<(Self, u32)> {
        let source = match word {
            Word::None | Word::Field(_) => Source { shadow: Shadow::single(bits), bits },
            Word::Float(shadow) => Source { shadow, bits },
            Word::Refers(source) => source,
            Word::Narrow(_) | Word::Halves(_) | Word::Count(_) | Word::Part(_) => return None,
        };
        let value = f64::from(f32::from_bits(source.bits));
        let ordered = order_of((source.bits ^ bits).into(), 1 << 31);
        Some((Self { shadow: source.shadow, value, ordered }, source.bits))
    }

    /// The same of 64 bits.
    fn of_wide((wide, bits): wides::Operand) -> Option<(Self, u64)> {
        let source = match wide {
            Wide::None => Source { shadow: Shadow::exact(f64::from_bits(bits)), bits },
            Wide::Double(shadow) => Source { shadow, bits },
            Wide::Refers(source) => source,
            Wide::Count(_) | Wide::Words(_) => return None,
        };
        let value = f64::from_bits(source.bits);
        let ordered = order_of(source.bits ^ bits, 1 << 63);
        Some((Self { shadow: source.shadow, value, ordered }, source.bits))
    }

    /// A number of units.
    fn of_count(shadow: Shadow, value: f64) -> Self {
        Self { shadow, value, ordered: Some(Order::Number) }
    }
}

/// A number whose bits are those of another: without an input it is that number.
fn equal(other: Shadow, taken: Shadow) -> Shadow {
    if depends(other.n) { other } else { Shadow { n: UNRECORDED, ..taken } }
}

impl Journal {
    /// What is beside the number that was taken.
    fn of_two(&mut self, taken: Side, other: Side) -> Shadow {
        let is_ordered = taken.ordered.is_some() && taken.ordered == other.ordered;
        if !is_ordered || taken.value.is_nan() || other.value.is_nan() {
            return taken.shadow;
        }
        let values = [taken.value, other.value];
        let greatest = taken.value >= other.value;
        self.chosen((values, greatest, false), [taken.shadow, other.shadow], false)
    }

    /// The same of equal bits. `factor` is what the other's source is to be multiplied by to be the taken one's; `None`
    /// where that is not known, and nobody knows which it was.
    fn of_equals(&mut self, taken: Shadow, other: Shadow, factor: Option<f64>) -> Option<Shadow> {
        if !depends(taken.n) && !depends(other.n) {
            return Some(taken);
        }
        let other = match factor {
            _ if !depends(other.n) || taken.n == other.n => equal(other, taken),
            Some(1.0) => other,
            Some(factor) => self.scaled(&other, factor),
            None => return None,
        };
        if taken.x.is_nan() || other.x.is_nan() {
            return Some(taken);
        }
        // Which of the two is the lesser or greater in real numbers is not asked.
        let apart = (taken.x - other.x).abs();
        let chosen = self.chosen(([0.0; 2], true, false), [taken, other], false);
        Some(Shadow { c: up(f64::from(chosen.c) + apart), ..chosen })
    }

    /// The lesser or greater of two words, of which one has these bits.
    pub(super) fn extreme_word(&mut self, [a, b]: [bits::Operand; 2], result: u32) -> Word {
        match (a.1 == result, b.1 == result) {
            // Of equal ones that which has something beside it.
            (true, true) if a.0 == Word::None => self.taken_word(b, a),
            (true, _) => self.taken_word(a, b),
            (false, true) => self.taken_word(b, a),
            (false, false) => Word::garbled(Shadow::joined(a.0.source(), b.0.source())),
        }
    }

    fn taken_word(&mut self, taken: bits::Operand, other: bits::Operand) -> Word {
        let same = taken.1 == other.1;
        if let (Some((one, bits)), Some((two, other_bits))) =
            (Side::of_word(taken), Side::of_word(other))
        {
            let shadow = if same {
                let factor = bits::power_of_two(other_bits, bits);
                self.of_equals(one.shadow, two.shadow, factor)
            } else {
                Some(self.of_two(one, two))
            };
            return match (shadow, taken.0) {
                (None, _) => Word::garbled(Shadow::joined(taken.0.source(), other.0.source())),
                (Some(shadow), word) if shadow == one.shadow => word,
                (Some(shadow), Word::Refers(source)) => Word::Refers(Source { shadow, ..source }),
                (Some(shadow), _) => Word::Float(shadow),
            };
        }
        if let (Some(one), Some(two)) = (word_count(taken), word_count(other)) {
            let values = [taken, other].map(|(_, bits)| f64::from(bits.cast_signed()));
            return Word::Count(self.taken_count([one, two], values));
        }
        if let [Some(one), Some(two)] = [taken, other].map(|(word, _)| of_literal(word).halves()) {
            return self.taken_halves(taken, [one, two], other.1);
        }
        if same && taken.0 != other.0 {
            return Word::garbled(Shadow::joined(taken.0.source(), other.0.source()));
        }
        taken.0
    }

    /// Of numbers of units.
    fn taken_count(&mut self, [taken, other]: [Count; 2], [a, b]: [f64; 2]) -> Count {
        let [one, two] = [Side::of_count(taken.shadow, a), Side::of_count(other.shadow, b)];
        let shadow = self.of_two(one, two);
        if shadow == taken.shadow {
            return taken;
        }
        let summed = taken.summed || other.summed;
        Count { shadow, summed, known: taken.known.max(other.known) }
    }

    /// The lesser or greater of two f32 of which one at least is a number of units; `None` where none is.
    pub(super) fn extreme_count(
        &mut self,
        all: [bits::Operand; 2],
        (values, greatest): ([f64; 2], bool),
    ) -> Option<Word> {
        if !all.iter().any(|(word, _)| matches!(word, Word::Count(_))) {
            return None;
        }
        let [a, b] = values;
        // A number beside what is none.
        let takes_first = b.is_nan() || if greatest { a >= b } else { a <= b };
        let order = if takes_first { [0, 1] } else { [1, 0] };
        let [taken, other] = order.map(|k| all[k]);
        let [value, other_value] = order.map(|k| values[k]);
        if let [Some(one), Some(two)] = [(taken, value), (other, other_value)].map(float_count) {
            return Some(Word::Count(self.taken_count([one, two], [value, other_value])));
        }
        // One is a float that goes its own way. What may be a cell is the whole number that it was rounded to; of a
        // number of units and a float nobody knows what becomes if they may change places.
        let is_whole = |(word, _): &bits::Operand| match word {
            Word::Count(count) => !count.summed && count.known == Known::BySize,
            _ => true,
        };
        let whole = all.iter().all(is_whole);
        let reach = |(word, bits): bits::Operand| match word {
            Word::Count(_) if whole => Shadow::single(bits),
            word => word.source().unwrap_or(Shadow::single(bits)),
        };
        let [one, two] = all.map(reach);
        let chosen = self.chosen((values, greatest, false), [one, two], false);
        let own = [one, two][order[0]];
        Some(match taken.0 {
            word @ Word::Count(_) if chosen == own => word,
            _ if whole => Word::Float(chosen),
            _ if chosen == own => Word::Float(own),
            _ => Word::garbled(Shadow::joined(Some(one), Some(two))),
        })
    }

    /// Of words that hold numbers of 16 bits.
    fn taken_halves(
        &mut self,
        (word, bits): bits::Operand,
        [taken, other]: [[Option<Shadow>; 2]; 2],
        other_bits: u32,
    ) -> Word {
        // Sign and magnitude, by which numbers of either format are ordered.
        let value = |bits: u32| {
            let magnitude = f64::from(bits & 0x7fff);
            if bits & 0x8000 == 0 { magnitude } else { -magnitude }
        };
        let all = [0, 1].map(|half| {
            let [own, others] = [bits, other_bits].map(|bits| bits >> (16 * half) & 0xffff);
            // The lower halves decide only where the upper ones are equal.
            let decides = half == 1 || bits >> 16 == other_bits >> 16;
            match (taken[half], other[half]) {
                (Some(one), Some(two)) if decides => {
                    let [one, two] = [(one, own), (two, others)]
                        .map(|(shadow, bits)| Side::of_count(shadow, value(bits)));
                    Some(self.of_two(one, two))
                }
                (Some(one), None) if decides && own == others => {
                    self.of_equals(one, Shadow::exact(one.x), None)
                }
                (None, Some(two)) if decides && own == others => {
                    self.of_equals(two, Shadow::exact(two.x), None)
                }
                (one, _) => one,
            }
        });
        match (word, all) {
            (Word::Halves(_), all) => Word::of_halves(all),
            (_, [low, None]) => low.map_or(Word::None, Word::Narrow),
            (_, all) => Word::of_halves(all),
        }
    }

    /// The lesser or greater of 64 bits twice, of which one has these.
    pub(super) fn extreme_wide(&mut self, [a, b]: [wides::Operand; 2], result: u64) -> Wide {
        match (a.1 == result, b.1 == result) {
            (true, true) if a.0 == Wide::None => self.taken_wide(b, a),
            (true, _) => self.taken_wide(a, b),
            (false, true) => self.taken_wide(b, a),
            (false, false) => {
                let words = [a, b].map(|(wide, bits)| wide.words(bits));
                self.scrambled(&words.concat(), result)
            }
        }
    }

    fn taken_wide(&mut self, taken: wides::Operand, other: wides::Operand) -> Wide {
        if let (Some((one, bits)), Some((two, other_bits))) =
            (Side::of_wide(taken), Side::of_wide(other))
        {
            let shadow = if taken.1 == other.1 {
                let factor = wides::power_of_two(other_bits, bits);
                self.of_equals(one.shadow, two.shadow, factor)
            } else {
                Some(self.of_two(one, two))
            };
            return match (shadow, taken.0) {
                (None, _) => {
                    let words = [taken, other].map(|(wide, bits)| wide.words(bits));
                    self.scrambled(&words.concat(), taken.1)
                }
                (Some(shadow), wide) if shadow == one.shadow => wide,
                (Some(shadow), Wide::Refers(source)) => Wide::Refers(Source { shadow, ..source }),
                (Some(shadow), _) => Wide::Double(shadow),
            };
        }
        if let (Some(one), Some(two)) = (wides::as_count(&taken), wides::as_count(&other)) {
            let values = [taken, other].map(|(_, bits)| bits.cast_signed() as f64);
            return Wide::Count(self.taken_count([one, two], values));
        }
        // Keys of two words: the lower ones decide where the upper ones are equal.
        let [[low, high], [other_low, other_high]] =
            [taken, other].map(|(wide, bits)| wide.words(bits));
        let [bits, other_bits] = [taken, other].map(|(_, bits)| halves(bits));
        let upper = [(high, bits[1]), (other_high, other_bits[1])];
        let upper = self.extreme_word(upper, bits[1]);
        let lower = if bits[1] == other_bits[1] {
            self.extreme_word([(low, bits[0]), (other_low, other_bits[0])], bits[0])
        } else {
            low
        };
        Wide::of([lower, upper], taken.1)
    }

    /// What is beside the lesser or greater of the words of lanes, of which `combine` takes one of two.
    pub(crate) fn least_or_greatest(
        &mut self,
        words: &Gathered,
        (values, all): (&[u32; LANES], u32),
        combine: impl Fn(u32, u32) -> u32,
    ) -> Word {
        let each = Bits(all).map(|lane| (words.get(lane), values[lane]));
        let of_two = |one: bits::Operand, two: bits::Operand| {
            let result = combine(one.1, two.1);
            (self.integer(Integers::Extreme, &[one, two], result), result)
        };
        each.reduce(of_two).map_or(Word::None, |(word, _)| word)
    }

    /// The result of a reduction of bits: one lane's word, or nobody's.
    pub(crate) fn one_of(
        &mut self,
        words: &Gathered,
        (values, all): (&[u32; LANES], u32),
        total: u32,
    ) -> Word {
        let each = || Bits(all).map(|lane| (words.get(lane), values[lane]));
        let relevant = |operand: &bits::Operand| relevant(operand);
        let those = each().filter(|operand| operand.1 == total).filter(relevant);
        let same =
            |one: bits::Operand, two: bits::Operand| (self.extreme_word([one, two], total), total);
        match those.reduce(same) {
            Some((word, _)) => word,
            None => {
                let sources = each().filter(relevant).map(|(word, _)| word.source());
                Word::garbled(sources.fold(None, Shadow::joined))
            }
        }
    }
}

/// Of a literal, which may be no float, its bits say all.
fn of_literal(word: Word) -> Word {
    match word {
        Word::Float(shadow) if shadow.is_plain() => Word::None,
        Word::Field(_) => Word::None,
        word => word,
    }
}

/// An f32 as a number of units: it is one, or a constant.
fn float_count(((word, bits), value): (bits::Operand, f64)) -> Option<Count> {
    match word {
        Word::Count(count) => Some(count),
        Word::Float(shadow) if shadow.is_plain() => Some(plain_count(value)),
        Word::None | Word::Field(_) => Some(plain_count(value)).filter(|_| !value.is_nan()),
        Word::Float(_) | Word::Narrow(_) | Word::Halves(_) | Word::Refers(_) | Word::Part(_) => {
            None
        }
    }
    .filter(|_| f32::from_bits(bits).is_finite())
}

fn plain_count(value: f64) -> Count {
    Count { shadow: Shadow::exact(value), summed: false, known: Known::BySize }
}

/// A word as a number of units: it is one, or a whole number.
fn word_count((word, bits): bits::Operand) -> Option<Count> {
    match of_literal(word) {
        Word::Count(count) => Some(count),
        Word::None | Word::Field(_) => Some(plain_count(f64::from(bits.cast_signed()))),
        Word::Float(_) | Word::Narrow(_) | Word::Halves(_) | Word::Refers(_) | Word::Part(_) => {
            None
        }
    }
}
