//! Conversions between numbers.

use super::super::ir::{
    Arithmetic, B64Unary, Convert, File, FloatFlags, FloatToInteger, FloatUnary, Number, Place,
    Rare, RareOp, Rounding, Saturation, WordType, WordUnary,
};
use super::super::parse::{Class, Operand, Parsed, Register};
use super::arithmetic::ROUNDINGS;
use super::narrow::narrow_type;
use super::operands::Decoder;

fn number(name: &str) -> Option<Number> {
    let integer = |bits, signed| Some(Number::Integer { bits, signed });
    match name {
        "s8" => integer(8, true),
        "u8" => integer(8, false),
        "s16" => integer(16, true),
        "u16" => integer(16, false),
        "s32" => integer(32, true),
        "u32" => integer(32, false),
        "s64" => integer(64, true),
        "u64" => integer(64, false),
        "f16" => Some(Number::F16),
        "bf16" => Some(Number::Bf16),
        "f32" => Some(Number::F32),
        "f64" => Some(Number::F64),
        _ => None,
    }
}

/// The type of a word's integer; `None` for 64 bits and floats.
fn word_type(number: Number) -> Option<WordType> {
    match number {
        Number::Integer { bits: 8, signed: true } => Some(WordType::S8),
        Number::Integer { bits: 8, signed: false } => Some(WordType::U8),
        Number::Integer { bits: 16, signed: true } => Some(WordType::S16),
        Number::Integer { bits: 16, signed: false } => Some(WordType::U16),
        Number::Integer { bits: 32, signed: true } => Some(WordType::S32),
        Number::Integer { bits: 32, signed: false } => Some(WordType::U32),
        Number::Integer { .. } | Number::F16 | Number::Bf16 | Number::F32 | Number::F64 => None,
    }
}

/// How an opcode of `cvt` asks to round.
#[derive(Clone, Copy)]
struct Rounds {
    integral: Option<Rounding>,
    last_place: Option<Rounding>,
    flags: FloatFlags,
}

impl Decoder<'_, '_> {
    /// What has an instruction of its own in the interpreter's loop gets it; all else is [`Convert`].
    pub(super) fn cvt(&mut self) -> Parsed<Arithmetic> {
        let [from, to] = [self.take_type()?, self.take_type()?];
        if let (Some((format, true)), "f32") = (narrow_type(to), from) {
            return self.convert_pair(format);
        }
        self.expect_operands(2)?;
        let (Some(from), Some(to)) = (number(from), number(to)) else { return Err(self.unknown()) };
        let (flags, integral) = (self.float_flags(), self.integral_rounding());
        let rounds = Rounds { integral, last_place: self.take_one(&ROUNDINGS), flags };
        if !allowed(from, to, rounds) {
            return Err(self.unknown());
        }
        if self.is_as_wide(0, to)?
            && self.is_as_wide(1, from)?
            && let Some(usual) = self.usual(from, to, rounds)?
        {
            return Ok(usual);
        }
        self.convert(from, to, rounds)
    }

    /// Whether a register is of the width that holds the type and nothing more.
    fn is_as_wide(&self, index: usize, number: Number) -> Parsed<bool> {
        Ok(match self.operand(index)? {
            Operand::Register(Register { class, .. }) => match class {
                Class::Predicate => true,
                // A word of 16 bits means nothing in its upper half.
                Class::Half => number.bits() <= 16,
                Class::Word => number.bits() <= 32,
                Class::B64 => number.bits() == 64,
            },
            _ => true,
        })
    }

    fn usual(&mut self, from: Number, to: Number, rounds: Rounds) -> Parsed<Option<Arithmetic>> {
        let Rounds { integral, last_place, flags } = rounds;
        let plain = !flags.flush && !flags.saturate;
        Ok(Some(match (to, from) {
            (Number::F32, Number::F32) => {
                let op = integral.map_or(FloatUnary::Move, FloatUnary::Round);
                Arithmetic::FloatUnary(op, flags, self.to_word(0)?, self.word(1)?)
            }
            (Number::F32, Number::Integer { bits, signed })
                if plain && last_place == Some(Rounding::Nearest) =>
            {
                match word_type(from) {
                    Some(from) => {
                        let a = self.word(1)?;
                        Arithmetic::WordToFloat { from, d: self.to_word(0)?, a }
                    }
                    None => {
                        debug_assert_eq!(bits, 64, "others are words");
                        let a = self.b64(1)?;
                        Arithmetic::B64ToFloat { signed, d: self.to_word(0)?, a }
                    }
                }
            }
            (Number::Integer { bits: bits @ (32 | 64), signed }, Number::F32)
                if !flags.saturate =>
            {
                let Some(rounding) = integral else { return Ok(None) };
                let b64 = bits == 64;
                let d = if b64 { self.to_b64(0)? } else { self.to_word(0)? };
                let (flush, a) = (flags.flush, self.word(1)?);
                let conversion = FloatToInteger { b64, signed, rounding, flush, d, a };
                Arithmetic::FloatToInteger(conversion)
            }
            (Number::Integer { .. }, Number::Integer { .. }) if plain => {
                return self.usual_integer(from, to);
            }
            _ => return Ok(None),
        }))
    }

    fn usual_integer(&mut self, from: Number, to: Number) -> Parsed<Option<Arithmetic>> {
        Ok(Some(match (word_type(to), word_type(from)) {
            (None, None) => Arithmetic::B64Unary(B64Unary::Move, self.to_b64(0)?, self.b64(1)?),
            (None, Some(from)) => Arithmetic::Widen { from, d: self.to_b64(0)?, a: self.word(1)? },
            (Some(WordType::S32 | WordType::U32), None) => {
                Arithmetic::Narrow { d: self.to_word(0)?, a: self.b64(1)? }
            }
            (Some(WordType::S8 | WordType::U8 | WordType::S16 | WordType::U16), None) => {
                return Ok(None);
            }
            // Signed up to 16 bits, and with zeros from there on.
            (Some(WordType::U16), Some(WordType::S8)) => return Ok(None),
            (Some(into), Some(out_of)) => {
                let op = match if to.bits() <= from.bits() { into } else { out_of } {
                    WordType::S8 => WordUnary::Signed8,
                    WordType::U8 => WordUnary::Unsigned8,
                    WordType::S16 => WordUnary::Signed16,
                    WordType::U16 => WordUnary::Unsigned16,
                    WordType::S32 | WordType::U32 => WordUnary::Move,
                };
                Arithmetic::WordUnary(op, self.to_word(0)?, self.word(1)?)
            }
        }))
    }

    /// Any other conversion, between registers at least as wide as the types.
    fn convert(&mut self, from: Number, to: Number, rounds: Rounds) -> Parsed<Arithmetic> {
        let Rounds { integral, last_place, flags } = rounds;
        let d = self.holds(0, to, true)?;
        let a = self.holds(1, from, false)?;
        let saturation = if flags.saturate { Saturation::Clamps } else { Saturation::Wraps };
        let rounding = integral.or(last_place).unwrap_or(Rounding::Nearest);
        let integral = integral.is_some();
        let convert = Convert { from, to, rounding, integral, flush: flags.flush, saturation };
        let sources = [Some(a), None, None, None];
        Ok(Arithmetic::Rare(Rare { op: RareOp::Convert(convert), d, sources }))
    }

    /// A register that can hold a type: floats take one of their own width (PTX ISA, "Operand Size
    /// Exceeding Instruction-Type Size").
    fn holds(&mut self, index: usize, number: Number, written: bool) -> Parsed<Place> {
        let operand = self.operand(index)?;
        let float = !matches!(number, Number::Integer { .. });
        match operand {
            Operand::Register(register) => {
                let slot = self.scope.slot(*register);
                let (file, bits) = match register.class {
                    Class::Predicate => return Err(self.wrong(operand, "a number's register")),
                    Class::Half => (File::Word, 16),
                    Class::Word => (File::Word, 32),
                    Class::B64 => (File::B64, 64),
                };
                // f16 in a register of 32 bits is how some compilers keep it.
                let fits =
                    if float { bits == number.bits().max(16) } else { bits >= number.bits() };
                if fits || number.bits() == 16 && bits == 32 {
                    return Ok(Place { file, slot });
                }
                Err(self.wrong(operand, &format!("a register of {} bits", number.bits())))
            }
            _ if written => Err(self.wrong(operand, "a register")),
            _ if number.bits() == 64 => Ok(Place { file: File::B64, slot: self.b64(index)? }),
            _ => Ok(Place { file: File::Word, slot: self.word(index)? }),
        }
    }
}

/// Which modifiers a pair of types takes (PTX ISA, "cvt").
fn allowed(from: Number, to: Number, rounds: Rounds) -> bool {
    let Rounds { integral, last_place, flags } = rounds;
    let integer = |number| matches!(number, Number::Integer { .. });
    let half = |number| matches!(number, Number::F16 | Number::Bf16);
    let single = from == Number::F32 || to == Number::F32;
    if flags.flush && !single {
        return false;
    }
    match (integer(to), integer(from)) {
        (true, true) => integral.is_none() && last_place.is_none(),
        (true, false) => integral.is_some() && last_place.is_none(),
        (false, true) => integral.is_none() && last_place.is_some(),
        (false, false) if to.bits() < from.bits() => integral.is_none() && last_place.is_some(),
        (false, false) if half(to) && half(from) => to == from && last_place.is_none(),
        (false, false) => last_place.is_none() && (integral.is_none() || to == from),
    }
}
