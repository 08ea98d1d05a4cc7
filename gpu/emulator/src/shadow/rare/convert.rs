//! cvt.

use super::super::super::ir::{Convert, NarrowFormat, Number, Rounding, Saturation};
use super::super::super::rare::value_of;
use super::super::atomics::narrow_accuracy;
use super::super::bits::Integers;
use super::super::number::{Shadow, Wide, Word, depends};
use super::super::table::Function;
use super::super::table::accuracy::Accuracy;
use super::super::wides::{DOUBLE, halves};
use super::{Any, Lane, Left, narrowed};

impl Lane<'_> {
    /// cvt.
    pub(super) fn convert(&mut self, convert: Convert) -> Left {
        match (convert.from, convert.to) {
            (Number::Integer { bits, signed }, Number::Integer { .. }) => {
                self.integer_to_integer(convert, bits, signed)
            }
            (Number::Integer { bits, signed }, _) => self.integer_to_float(convert, bits, signed),
            (_, Number::Integer { .. }) => {
                let a = self.number(convert.from);
                let result = self.whole_result(convert.to);
                let count =
                    self.journal.whole(self.beside, (self.lane, a), convert.rounding, result);
                match (count, convert.to) {
                    (Some(count), Number::Integer { bits: 64, .. }) => {
                        Left::Wide(Wide::Count(count))
                    }
                    (Some(count), _) => Left::Word(Word::Count(count)),
                    (None, _) => Left::Word(Word::None),
                }
            }
            (from, to) => {
                let a = self.number(from);
                self.float_to_float(convert, a, to)
            }
        }
    }

    /// An operand as the number of a type.
    fn number(&mut self, from: Number) -> Shadow {
        match from {
            Number::F32 | Number::Integer { .. } => self.float(0),
            Number::F64 => {
                let (wide, bits) = self.sources[0].wide();
                self.journal.double(wide, bits)
            }
            Number::F16 => self.half(0, 0, NarrowFormat::F16),
            Number::Bf16 => self.half(0, 0, NarrowFormat::Bf16),
        }
    }

    /// The whole number that the result is.
    fn whole_result(&self, to: Number) -> f64 {
        match to {
            Number::Integer { bits: 64, signed: true } => self.result.cast_signed() as f64,
            Number::Integer { bits: 64, signed: false } => self.result as f64,
            Number::Integer { signed: true, .. } => f64::from(halves(self.result)[0].cast_signed()),
            _ => f64::from(halves(self.result)[0]),
        }
    }

    fn integer_to_integer(&mut self, convert: Convert, from: u8, signed: bool) -> Left {
        // Widened, a number of units is the same number.
        let (word, bits) = self.sources[0].word();
        match (self.sources[0], convert.to) {
            (Any::Wide(wide, bits), Number::Integer { bits: 64, .. }) if from == 64 => {
                let same = bits == self.result;
                Left::Wide(if same {
                    wide
                } else {
                    self.journal.scrambled(&wide.words(bits), self.result)
                })
            }
            (Any::Wide(wide, bits), Number::Integer { bits: 32, .. }) if from == 64 => {
                Left::Word(narrowed(wide, bits, halves(self.result)[0]))
            }
            (Any::Word(Word::Count(count), _), Number::Integer { bits: 64, .. }) if from == 32 => {
                let value = if signed { f64::from(bits.cast_signed()) } else { f64::from(bits) };
                let within = (value - count.shadow.x).abs() <= f64::from(count.shadow.r);
                Left::Wide(if within { Wide::Count(count) } else { Wide::None })
            }
            _ => Left::Word(self.journal.integer(
                Integers::Other,
                &[(word, bits)],
                halves(self.result)[0],
            )),
        }
    }

    fn integer_to_float(&mut self, convert: Convert, bits: u8, signed: bool) -> Left {
        let (whole, found) = match (self.sources[0], bits) {
            (Any::Wide(wide, value), 64) => {
                let whole = if signed { value.cast_signed() as f64 } else { value as f64 };
                (whole, self.journal.converted_wide(wide, whole))
            }
            (source, _) => {
                let (word, value) = source.word();
                let value = value << (32 - u32::from(bits.min(32)));
                let shift = 32 - u32::from(bits.min(32));
                let whole = if signed {
                    f64::from(value.cast_signed() >> shift)
                } else {
                    f64::from(value >> shift)
                };
                (whole, self.journal.converted(word, source.word().1, whole))
            }
        };
        let a = found.unwrap_or(Shadow::exact(whole));
        self.float_to_float(Convert { integral: false, ..convert }, a, convert.to)
    }

    /// A number rounded to a type of floats.
    fn float_to_float(&mut self, convert: Convert, a: Shadow, to: Number) -> Left {
        let result = value_of(to, self.result);
        let plain = !depends(a.n) && a.r == 0.0 && a.c == 0.0;
        if convert.integral {
            self.journal.round(self.beside, self.lane, &a, convert.rounding);
            return Left::Word(Word::None);
        }
        let accuracy = match to {
            Number::F16 => narrow_accuracy(NarrowFormat::F16),
            Number::Bf16 => narrow_accuracy(NarrowFormat::Bf16),
            Number::F64 => DOUBLE,
            Number::F32 | Number::Integer { .. } => match (convert.from, convert.rounding) {
                (Number::F32 | Number::F16 | Number::Bf16, _) => Accuracy::EXACT,
                (_, rounding) => Accuracy::rounded(rounding),
            },
        };
        let accuracy = match convert.rounding {
            Rounding::Nearest => accuracy,
            Rounding::Zero | Rounding::Down | Rounding::Up => Accuracy {
                relative: 2.0 * accuracy.relative,
                absolute: 2.0 * accuracy.absolute,
                ..accuracy
            },
        };
        if plain && a.x == result {
            return Left::Word(Word::None);
        }
        let accuracy = accuracy.flushing(convert.flush);
        let open = self.is_open();
        let function = match convert.saturation {
            Saturation::Wraps => Function::Identity,
            Saturation::Clamps => Function::Clamped,
        };
        // Every f32 is an f64: nothing is rounded on the way up.
        let widened = to == Number::F64 && !matches!(convert.from, Number::Integer { .. });
        let accuracy = if widened {
            Accuracy { correct: false, ..Accuracy::EXACT }.flushing(convert.flush)
        } else {
            accuracy
        };
        let shadow = self.journal.scalar((function, accuracy), &[a], open, result);
        match (shadow, to) {
            (None, _) => Left::Word(Word::None),
            (Some(shadow), Number::F64) => Left::Wide(Wide::Double(shadow)),
            (Some(shadow), Number::F16 | Number::Bf16) => Left::Word(Word::Narrow(shadow)),
            (Some(shadow), _) => Left::Word(Word::Float(shadow)),
        }
    }
}
