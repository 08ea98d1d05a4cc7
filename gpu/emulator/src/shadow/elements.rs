//! The elements of a buffer: words that are f32, or halves of words that are f16 or bf16, each with what is beside
//! it.

use super::super::ir::NarrowFormat;
use super::super::memory::{FloatType, Segment};
use super::super::rare::value_of;
use super::atomics::narrow_accuracy;
use super::bits::{is_bfloat, power_of_two};
use super::cells::Cells;
use super::number::{Shadow, Word, relevant, up};

impl FloatType {
    /// Its format, if two of them are in a word.
    fn narrow(self) -> Option<NarrowFormat> {
        match self {
            Self::F32 => None,
            Self::F16 => Some(NarrowFormat::F16),
            Self::Bf16 => Some(NarrowFormat::Bf16),
        }
    }

    /// Half of the distance between a number and the next one of larger magnitude.
    #[expect(clippy::cast_possible_truncation, reason = "what is not narrow is an f32")]
    fn half_unit(self, value: f64) -> f64 {
        match self.narrow() {
            Some(format) => narrow_accuracy(format).bound(value.abs()),
            None => {
                let single = (value as f32).abs();
                0.5 * f64::from(single.next_up() - single)
            }
        }
    }
}

impl Segment {
    /// How many numbers it holds.
    pub(super) fn elements(&self) -> usize {
        match self.floats.narrow() {
            None => self.words.len(),
            Some(_) => self.byte_count() / 2,
        }
    }

    /// Where an element is: its word, and which half of it.
    fn place(&self, element: usize) -> (usize, usize) {
        match self.floats.narrow() {
            None => (element, 0),
            Some(_) => (element / 2, element % 2),
        }
    }

    /// The number that an element is.
    fn number(&self, element: usize) -> f64 {
        let (word, half) = self.place(element);
        let bits = self.words[word];
        match self.floats.narrow() {
            None => f64::from(f32::from_bits(bits)),
            Some(format) => value_of(format.number(), u64::from(bits >> (16 * half) & 0xffff)),
        }
    }

    /// The cells, made if there are none.
    pub(super) fn cells_mut(&mut self) -> &mut Cells {
        self.cells.get_or_insert_with(Box::default)
    }

    /// What is beside an element. What is no float any more, though it came from one, is uncertain without bound.
    pub(super) fn beside(&self, element: usize) -> Shadow {
        let (shadow, factor) = self.factored(element);
        let [r, c] = [shadow.r, shadow.c].map(|radius| up(f64::from(radius) * factor.abs()));
        Shadow { x: shadow.x * factor, r, c, n: shadow.n }
    }

    /// The float that an element came from, and the factor between both.
    pub(super) fn factored(&self, element: usize) -> (Shadow, f64) {
        let own = Shadow::exact(self.number(element));
        let unknown = (Shadow { c: f32::INFINITY, ..own }, 1.0);
        let (word, half) = self.place(element);
        let bits = self.words[word];
        let Some(cells) = &self.cells else { return (own, 1.0) };
        let (beside, overwritten) = cells.get(word, bits);
        if overwritten {
            return unknown;
        }
        if self.floats.narrow().is_some() {
            return match (beside.halves(), beside) {
                (Some(halves), _) => match halves[half] {
                    Some(shadow) if shadow.is_plain() => (shadow.read_as(own), 1.0),
                    shadow => (shadow.unwrap_or(own), 1.0),
                },
                // A word with nothing beside it that left an open lane.
                (None, word) if !relevant(&(word, bits)) => (word.read_as(own), 1.0),
                (None, _) => unknown,
            };
        }
        match beside {
            Word::None | Word::Field(_) => (own, 1.0),
            Word::Float(shadow) => (shadow, 1.0),
            Word::Refers(source) => {
                power_of_two(source.bits, bits).map_or(unknown, |factor| (source.shadow, factor))
            }
            word if !relevant(&(word, bits)) => (word.read_as(own), 1.0),
            Word::Halves([_, Some(high)]) if is_bfloat(bits, &high) => (high, 1.0),
            Word::Narrow(_) | Word::Halves(_) | Word::Count(_) | Word::Part(_) => unknown,
        }
    }

    /// Puts something beside an element.
    pub(super) fn put(&mut self, element: usize, shadow: Option<Shadow>) {
        let (word, half) = self.place(element);
        let bits = self.words[word];
        let narrow = self.floats.narrow().is_some();
        let cells = self.cells_mut();
        let beside = if narrow {
            let mut halves = cells.get(word, bits).0.halves().unwrap_or_default();
            halves[half] = shadow;
            Word::of_halves(halves)
        } else {
            shadow.map_or(Word::None, Word::Float)
        };
        cells.set(word, bits, beside);
    }

    /// An element was rounded from something exact that nobody knows.
    pub(super) fn put_rounded(&mut self, element: usize) {
        let own = Shadow::exact(self.number(element));
        let half_unit = up(self.floats.half_unit(own.x));
        let rounded = Shadow { r: half_unit, c: half_unit, ..own };
        self.put(element, own.x.is_finite().then_some(rounded));
    }
}
