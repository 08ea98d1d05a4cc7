//! Arithmetic on f16 and bf16, which are numbers in halves of words.

use super::super::super::ir::{Narrow, NarrowClamp, NarrowFormat, NarrowOp};
use super::super::super::rare::value_of;
use super::super::atomics::narrow_accuracy;
use super::super::number::{Shadow, Word, up};
use super::super::table::Function;
use super::super::table::accuracy::Accuracy;
use super::{Lane, halves};

impl Lane<'_> {
    /// An operand's number in a half of its word.
    pub(super) fn half(&mut self, k: usize, half: usize, format: NarrowFormat) -> Shadow {
        let (word, bits) = self.sources[k].word();
        let own = u64::from(bits >> (16 * half) & 0xffff);
        self.journal.half(word, half, value_of(format.number(), own))
    }

    pub(super) fn narrow_operation(&mut self, narrow: Narrow) -> Word {
        let is_exact = match narrow.op {
            NarrowOp::Negate | NarrowOp::Abs | NarrowOp::Min { .. } | NarrowOp::Max { .. } => {
                narrow.clamp.is_none()
            }
            NarrowOp::Add | NarrowOp::Sub | NarrowOp::Mul | NarrowOp::Fma => false,
        };
        // Numbers that are what their bits say give another such number, if nothing is rounded.
        if is_exact && self.sources.iter().all(|source| source.is_none()) {
            return Word::None;
        }
        let low = self.narrow_half(narrow, 0);
        if narrow.packed {
            return Word::of_halves([low, self.narrow_half(narrow, 1)]);
        }
        low.map_or(Word::None, Word::Narrow)
    }

    fn narrow_half(&mut self, narrow: Narrow, half: usize) -> Option<Shadow> {
        let Narrow { op, format, flush, .. } = narrow;
        /// The least normal f16: only f16 has `.ftz`.
        const NORMAL: f64 = 1.0 / 16_384.0;
        let operands = [0, 1, 2].map(|k| {
            let operand = self.half(k, half, format);
            let [x, r] = [operand.x.abs(), f64::from(operand.r)];
            // What is subnormal may be taken for zero.
            let flushed = flush && x - r < NORMAL;
            Shadow { r: if flushed { up(x + 2.0 * r) } else { operand.r }, ..operand }
        });
        let result =
            value_of(format.number(), u64::from(halves(self.result)[0] >> (16 * half) & 0xffff));
        let rounded = narrow_accuracy(format);
        let (function, accuracy, count) = match op {
            NarrowOp::Add => (Function::Sum, rounded, 2),
            NarrowOp::Sub => (Function::Difference, rounded, 2),
            NarrowOp::Mul => (Function::Product, rounded, 2),
            NarrowOp::Fma => (Function::Fused, rounded, 3),
            NarrowOp::Negate => (Function::Negate, Accuracy::EXACT, 1),
            NarrowOp::Abs => (Function::Absolute, Accuracy::EXACT, 1),
            NarrowOp::Min { .. } | NarrowOp::Max { .. } => {
                if result.is_nan() {
                    return None;
                }
                let greatest = matches!(op, NarrowOp::Max { .. });
                return Some(self.chosen_of([operands[0], operands[1]], greatest));
            }
        };
        let least = if flush { NORMAL } else { 0.0 };
        let accuracy = Accuracy { absolute: accuracy.absolute + least, ..accuracy };
        let open = self.is_open();
        match narrow.clamp {
            None => self.journal.scalar((function, accuracy), &operands[..count], open, result),
            Some(clamp) => {
                // The clamped result says nothing of what was clamped.
                let x = [0, 1, 2].map(|k| operands[k].x);
                let y = super::super::table::value(function, x);
                let whole =
                    self.journal.scalar((function, accuracy), &operands[..count], open, y)?;
                let whole = Shadow { r: whole.r.max(narrow_radius(format, y)), ..whole };
                match clamp {
                    NarrowClamp::Saturate => {
                        let kind = (Function::Clamped, Accuracy::EXACT);
                        self.journal.scalar(kind, &[whole], open, result)
                    }
                    NarrowClamp::Relu => Some(self.chosen_of([whole, Shadow::exact(0.0)], true)),
                }
            }
        }
    }

    /// The lesser or greater, by the numbers themselves: both have 16 bits.
    fn chosen_of(&mut self, operands: [Shadow; 2], greatest: bool) -> Shadow {
        let values = operands.map(|shadow| shadow.x);
        let open = self.is_open();
        self.journal.chosen((values, greatest, false), operands, open)
    }

    /// cvt of two f32 to the halves of a word, the first to the upper one.
    pub(super) fn convert_pair(&mut self, format: NarrowFormat) -> Word {
        let accuracy = narrow_accuracy(format);
        // In whichever direction it rounds.
        let accuracy = Accuracy {
            relative: 2.0 * accuracy.relative,
            absolute: 2.0 * accuracy.absolute,
            ..accuracy
        };
        let open = self.is_open();
        let halves = [(1, 0), (0, 1)].map(|(k, half)| {
            let a = self.float(k);
            let bits = u64::from(halves(self.result)[0] >> (16 * half) & 0xffff);
            let result = value_of(format.number(), bits);
            self.journal.scalar((Function::Identity, accuracy), &[a], open, result)
        });
        Word::Halves(halves)
    }
}

/// Half a unit in the last place of a number of 16 bits, rounded up.
fn narrow_radius(format: NarrowFormat, x: f64) -> f32 {
    up(narrow_accuracy(format).bound(x.abs()))
}
