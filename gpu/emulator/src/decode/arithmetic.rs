//! Arithmetic, logic and comparison.

use super::super::ir::{
    Approximation, Arithmetic, B64Count, B64Unary, Boolean, Compared, Comparison, FloatBinary,
    FloatFlags, FloatUnary, InstructionClass, IntegerBinary, NarrowFormat, Op, Rounding, Setp,
    WordTernary, WordUnary,
};
use super::super::parse::{Class, Parsed};
use super::narrow::{COMPARISONS, narrow_type};
use super::operands::{Decoded, Decoder};

pub(super) const ROUNDINGS: [(&str, Rounding); 4] = [
    ("rn", Rounding::Nearest),
    ("rz", Rounding::Zero),
    ("rm", Rounding::Down),
    ("rp", Rounding::Up),
];

/// Unsigned names of ordered comparisons.
const UNSIGNED_COMPARISONS: [(&str, Comparison); 4] = [
    ("lo", Comparison::Lt),
    ("ls", Comparison::Le),
    ("hi", Comparison::Gt),
    ("hs", Comparison::Ge),
];

const BOOLEANS: [(&str, Boolean); 3] =
    [("and", Boolean::And), ("or", Boolean::Or), ("xor", Boolean::Xor)];

/// An operation and what it is counted as.
type DecodedArithmetic = Parsed<(Arithmetic, InstructionClass)>;

impl Decoder<'_, '_> {
    pub(super) fn arithmetic(&mut self) -> Decoded {
        let mut class = InstructionClass::Integer;
        let op = if self.mnemonic == "setp" {
            self.setp()?
        } else if self.carries() {
            self.carry()?
        } else {
            match self.take_type()? {
                "f32" => {
                    let (op, of_floats) = self.float()?;
                    class = of_floats;
                    op
                }
                "f64" => {
                    class = InstructionClass::Float;
                    self.double()?
                }
                "pred" => self.predicate_logic()?,
                kind => match narrow_type(kind) {
                    Some(source) => {
                        class = InstructionClass::Float;
                        self.narrow(source)?
                    }
                    None => self.integer(kind)?,
                },
            }
        };
        Ok((Op::Arithmetic(op), class))
    }

    fn integer(&mut self, kind: &str) -> Parsed<Arithmetic> {
        let (signed, wide) = match kind {
            "s32" => (true, false),
            "u32" | "b32" => (false, false),
            "s64" => (true, true),
            "u64" | "b64" => (false, true),
            // Bits do not mix in these, so that the unused half of the slot does no harm.
            "b16" if matches!(self.mnemonic, "and" | "or" | "xor" | "not") => (false, false),
            // The lower half of a word's is the half's.
            "s16" if self.mnemonic == "neg" => (true, false),
            "s16" if self.mnemonic == "abs" => {
                self.expect_operands(2)?;
                let (d, a) = (self.to_word(0)?, self.word(1)?);
                return Ok(Arithmetic::WordUnary(WordUnary::Abs16, d, a));
            }
            "s16" | "u16" | "b16" => return self.half(kind),
            _ => return Err(self.unknown()),
        };
        // Arithmetic is on numbers, logic and shifts to the left on bits.
        let bits = kind.starts_with('b');
        let logic = matches!(
            self.mnemonic,
            "and" | "or" | "xor" | "not" | "shl" | "shf" | "popc" | "clz" | "brev" | "bfi"
        );
        if bits != logic && !(bits && self.mnemonic == "shr") {
            return Err(self.unknown());
        }
        match self.operands.len() {
            2 if wide => self.b64_unary(signed),
            2 => self.word_unary(signed),
            3 => self.integer_binary(signed, wide),
            4 => self.integer_ternary(signed, wide),
            5 if self.mnemonic == "bfi" && !wide => {
                let (a, b, c, e) = (self.word(1)?, self.word(2)?, self.word(3)?, self.word(4)?);
                Ok(Arithmetic::BitFieldInsert([self.to_word(0)?, a, b, c, e]))
            }
            5 if self.mnemonic == "bfi" => self.insert64(),
            _ => Err(self.unknown()),
        }
    }

    fn word_unary(&mut self, signed: bool) -> Parsed<Arithmetic> {
        let op = match self.mnemonic {
            "not" => WordUnary::Not,
            "neg" if signed => WordUnary::Negate,
            "abs" if signed => WordUnary::Abs,
            "popc" => WordUnary::Popc,
            "clz" => WordUnary::Clz,
            "brev" => WordUnary::Brev,
            "bfind" => match (self.take("shiftamt"), signed) {
                (false, true) => WordUnary::BfindS,
                (false, false) => WordUnary::BfindU,
                (true, true) => WordUnary::BfindShiftS,
                (true, false) => WordUnary::BfindShiftU,
            },
            _ => return Err(self.unknown()),
        };
        Ok(Arithmetic::WordUnary(op, self.to_word(0)?, self.word(1)?))
    }

    fn b64_unary(&mut self, signed: bool) -> Parsed<Arithmetic> {
        let op = match self.mnemonic {
            "not" => B64Unary::Not,
            "neg" if signed => B64Unary::Negate,
            "abs" if signed => B64Unary::Abs,
            "popc" => {
                return Ok(Arithmetic::B64Count(B64Count::Popc, self.to_word(0)?, self.b64(1)?));
            }
            "clz" => {
                return Ok(Arithmetic::B64Count(B64Count::Clz, self.to_word(0)?, self.b64(1)?));
            }
            "brev" | "bfind" => return self.find64(signed),
            _ => return Err(self.unknown()),
        };
        Ok(Arithmetic::B64Unary(op, self.to_b64(0)?, self.b64(1)?))
    }

    fn integer_binary(&mut self, signed: bool, wide: bool) -> Parsed<Arithmetic> {
        if self.mnemonic == "mul" && self.take("wide") {
            if wide {
                return Err(self.unknown());
            }
            let (d, a, b) = (self.to_b64(0)?, self.word(1)?, self.word(2)?);
            return Ok(Arithmetic::MulWide { signed, d, a, b });
        }
        let pick = |if_signed, if_unsigned| if signed { if_signed } else { if_unsigned };
        let mnemonic = self.mnemonic;
        let op = match mnemonic {
            "add" => IntegerBinary::Add,
            "sub" => IntegerBinary::Sub,
            "mul" if self.take("lo") => IntegerBinary::MulLo,
            "mul" if self.take("hi") => pick(IntegerBinary::MulHiS, IntegerBinary::MulHiU),
            "div" => pick(IntegerBinary::DivS, IntegerBinary::DivU),
            "rem" => pick(IntegerBinary::RemS, IntegerBinary::RemU),
            "min" => pick(IntegerBinary::MinS, IntegerBinary::MinU),
            "max" => pick(IntegerBinary::MaxS, IntegerBinary::MaxU),
            "and" => IntegerBinary::And,
            "or" => IntegerBinary::Or,
            "xor" => IntegerBinary::Xor,
            "shl" => IntegerBinary::Shl,
            "shr" => pick(IntegerBinary::ShrS, IntegerBinary::ShrU),
            _ => return Err(self.unknown()),
        };
        if wide {
            let b = if op.shifts() { self.word(2)? } else { self.b64(2)? };
            return Ok(Arithmetic::B64Binary(op, self.to_b64(0)?, self.b64(1)?, b));
        }
        Ok(Arithmetic::WordBinary(op, self.to_word(0)?, self.word(1)?, self.word(2)?))
    }

    fn integer_ternary(&mut self, signed: bool, wide: bool) -> Parsed<Arithmetic> {
        if self.mnemonic == "mad" && !wide && self.take("wide") {
            let (d, a, b) = (self.to_b64(0)?, self.word(1)?, self.word(2)?);
            return Ok(Arithmetic::MadWide { signed, d, a, b, c: self.b64(3)? });
        }
        if self.mnemonic == "mad" && wide && self.take("lo") {
            let (a, b, c) = (self.b64(1)?, self.b64(2)?, self.b64(3)?);
            return Ok(Arithmetic::B64Mad(self.to_b64(0)?, a, b, c));
        }
        if self.mnemonic == "mad" && !wide && self.take("hi") {
            return self.mad_high(signed);
        }
        let mnemonic = self.mnemonic;
        let op = match mnemonic {
            "mad" if !wide && self.take("lo") => WordTernary::MadLo,
            "shf" if !wide => match (self.take("l"), self.take("r"), self.take("wrap")) {
                (true, false, true) => WordTernary::FunnelLeftWrap,
                (false, true, true) => WordTernary::FunnelRightWrap,
                (true, false, false) if self.take("clamp") => WordTernary::FunnelLeftClamp,
                (false, true, false) if self.take("clamp") => WordTernary::FunnelRightClamp,
                _ => return Err(self.unknown()),
            },
            _ => return Err(self.unknown()),
        };
        let (a, b, c) = (self.word(1)?, self.word(2)?, self.word(3)?);
        Ok(Arithmetic::WordTernary(op, self.to_word(0)?, a, b, c))
    }

    fn predicate_logic(&mut self) -> Parsed<Arithmetic> {
        let d = self.to_predicate(0)?;
        if self.mnemonic == "not" {
            self.expect_operands(2)?;
            let mut a = self.predicate(1)?;
            a.negated = !a.negated;
            return Ok(Arithmetic::PredicateMove { d, a });
        }
        self.expect_operands(3)?;
        let op = BOOLEANS.iter().find(|(name, _)| *name == self.mnemonic);
        let &(_, op) = op.ok_or_else(|| self.unknown())?;
        Ok(Arithmetic::Predicate2(op, d, self.predicate(1)?, self.predicate(2)?))
    }

    /// `.ftz` and `.sat` of an f32 instruction.
    pub(super) fn float_flags(&mut self) -> FloatFlags {
        FloatFlags { flush: self.take("ftz"), saturate: self.take("sat") }
    }

    fn float(&mut self) -> DecodedArithmetic {
        let flags = self.float_flags();
        let approximate = self.take("approx");
        let full = self.take("full");
        let rounding = self.take_one(&ROUNDINGS);
        match self.operands.len() {
            2 if !full => self.float_unary(flags, approximate, rounding),
            3 if !matches!(rounding, None | Some(Rounding::Nearest)) && !approximate && !full => {
                self.directed(flags, rounding)
            }
            3 => self.float_binary(flags, approximate, full, rounding),
            4 if !approximate && !full => {
                // fma has no default rounding; mad.f32 has its meaning since sm_20.
                let rounding = rounding.filter(|_| matches!(self.mnemonic, "fma" | "mad"));
                let rounding = rounding.ok_or_else(|| self.unknown())?;
                let (a, b, c) = (self.word(1)?, self.word(2)?, self.word(3)?);
                let op = Arithmetic::Fma(rounding, flags, self.to_word(0)?, a, b, c);
                Ok((op, InstructionClass::Float))
            }
            _ => Err(self.unknown()),
        }
    }

    /// add, sub and mul with a direction, as the fma that rounds the same value once.
    fn directed(&mut self, flags: FloatFlags, rounding: Option<Rounding>) -> DecodedArithmetic {
        let rounding = rounding.ok_or_else(|| self.unknown())?;
        let (d, a, b) = (self.to_word(0)?, self.word(1)?, self.word(2)?);
        let sources = match self.mnemonic {
            "add" => [a, self.constant(1.0_f32.to_bits())?, b],
            "sub" => [b, self.constant((-1.0_f32).to_bits())?, a],
            "mul" => {
                // The zero that leaves the sign of a product of 0 alone: the sum of zeros of two signs
                // is -0 when rounding down and +0 otherwise.
                let zero = if rounding == Rounding::Down { 0.0_f32 } else { -0.0 };
                [a, b, self.constant(zero.to_bits())?]
            }
            _ => return Err(self.unknown()),
        };
        let [x, y, z] = sources;
        Ok((Arithmetic::Fma(rounding, flags, d, x, y, z), InstructionClass::Float))
    }

    fn float_unary(
        &mut self,
        flags: FloatFlags,
        approximate: bool,
        rounding: Option<Rounding>,
    ) -> DecodedArithmetic {
        use Approximation::{Ex2, Ex2Wgsl, Lg2, Lg2Wgsl, Rcp, Rsqrt, RsqrtWgsl, Sqrt, Tanh};
        let wgsl = !approximate && rounding.is_none() && self.take("wgsl");
        let op = match (self.mnemonic, approximate, rounding) {
            ("ex2", false, None) if wgsl => FloatUnary::Approximate(Ex2Wgsl),
            ("lg2", false, None) if wgsl => FloatUnary::Approximate(Lg2Wgsl),
            ("rsqrt", false, None) if wgsl => FloatUnary::Approximate(RsqrtWgsl),
            ("neg", false, None) => FloatUnary::Negate,
            ("abs", false, None) => FloatUnary::Abs,
            ("ex2", true, None) => FloatUnary::Approximate(Ex2),
            ("lg2", true, None) => FloatUnary::Approximate(Lg2),
            ("rcp", true, None) => FloatUnary::Approximate(Rcp),
            ("sqrt", true, None) => FloatUnary::Approximate(Sqrt),
            ("rsqrt", true, None) => FloatUnary::Approximate(Rsqrt),
            ("tanh", true, None) if !flags.flush => FloatUnary::Approximate(Tanh),
            ("rcp", false, Some(Rounding::Nearest)) => FloatUnary::Reciprocal,
            ("sqrt", false, Some(Rounding::Nearest)) => FloatUnary::Sqrt,
            _ => return Err(self.unknown()),
        };
        if flags.saturate {
            return Err(self.unknown());
        }
        let class = match op {
            FloatUnary::Move | FloatUnary::Negate | FloatUnary::Abs | FloatUnary::Round(_) => {
                InstructionClass::Float
            }
            FloatUnary::Reciprocal | FloatUnary::Sqrt | FloatUnary::Approximate(_) => {
                InstructionClass::Special
            }
        };
        Ok((Arithmetic::FloatUnary(op, flags, self.to_word(0)?, self.word(1)?), class))
    }

    fn float_binary(
        &mut self,
        flags: FloatFlags,
        approximate: bool,
        full: bool,
        rounding: Option<Rounding>,
    ) -> DecodedArithmetic {
        let nearest = matches!(rounding, None | Some(Rounding::Nearest));
        let op = match self.mnemonic {
            "add" if nearest => FloatBinary::Add,
            "sub" if nearest => FloatBinary::Sub,
            "mul" if nearest => FloatBinary::Mul,
            "min" if rounding.is_none() => match self.take("NaN") {
                true => FloatBinary::MinNan,
                false => FloatBinary::Min,
            },
            "max" if rounding.is_none() => match self.take("NaN") {
                true => FloatBinary::MaxNan,
                false => FloatBinary::Max,
            },
            "div" => match (approximate, full, rounding) {
                (true, false, None) => FloatBinary::Approximate(Approximation::Div),
                (false, true, None) => FloatBinary::Approximate(Approximation::DivFull),
                (false, false, Some(Rounding::Nearest)) => FloatBinary::Div,
                _ => return Err(self.unknown()),
            },
            "atan2" if rounding.is_none() => match self.take("wgsl") {
                true => FloatBinary::Approximate(Approximation::Atan2Wgsl),
                false => return Err(self.unknown()),
            },
            _ => return Err(self.unknown()),
        };
        let division = self.mnemonic == "div";
        let may_saturate = matches!(op, FloatBinary::Add | FloatBinary::Sub | FloatBinary::Mul);
        if (approximate || full) && !division || flags.saturate && !may_saturate {
            return Err(self.unknown());
        }
        let special = matches!(op, FloatBinary::Div | FloatBinary::Approximate(_));
        let class = if special { InstructionClass::Special } else { InstructionClass::Float };
        Ok((
            Arithmetic::FloatBinary(op, flags, self.to_word(0)?, self.word(1)?, self.word(2)?),
            class,
        ))
    }

    /// `setp.cmp.type d|q, a, b;` or `setp.cmp.bool.type d|q, a, b, c;`
    fn setp(&mut self) -> Parsed<Arithmetic> {
        let kind = self.take_type()?;
        let flush = self.take("ftz");
        let compared = match kind {
            "f32" => Compared::Float { flush },
            "f64" => Compared::Double,
            "f16" => Compared::Narrow { format: NarrowFormat::F16, flush },
            "bf16" => Compared::Narrow { format: NarrowFormat::Bf16, flush },
            "s16" => Compared::Signed16,
            "u16" | "b16" => Compared::Unsigned16,
            "s32" => Compared::Signed,
            "u32" | "b32" => Compared::Unsigned,
            "s64" => Compared::Signed64,
            "u64" | "b64" => Compared::Unsigned64,
            _ => return Err(self.unknown()),
        };
        let float = matches!(kind, "f32" | "f64" | "f16" | "bf16");
        let mut comparison = self.take_one(&COMPARISONS);
        if comparison.is_none() && kind.starts_with('u') {
            comparison = self.take_one(&UNSIGNED_COMPARISONS);
        }
        let comparison = comparison.ok_or_else(|| self.unknown())?;
        let ordered = (comparison as u8) < Comparison::Equ as u8;
        let equality = matches!(comparison, Comparison::Eq | Comparison::Ne);
        if (flush && !matches!(kind, "f32" | "f16"))
            || !ordered && !float
            || !float && kind.starts_with('b') && !equality
        {
            return Err(self.unknown());
        }
        let combine = match self.take_one(&BOOLEANS) {
            Some(boolean) => {
                self.expect_operands(4)?;
                Some((boolean, self.predicate(3)?))
            }
            None => {
                self.expect_operands(3)?;
                None
            }
        };
        let [d, q] = self.with_predicate(0, Class::Predicate)?;
        let wide = matches!(compared, Compared::Signed64 | Compared::Unsigned64 | Compared::Double);
        let (a, b) =
            if wide { (self.b64(1)?, self.b64(2)?) } else { (self.word(1)?, self.word(2)?) };
        Ok(Arithmetic::Setp(Setp { comparison, compared, d, q, a, b, combine }))
    }

    /// Rounding to an integral value (`.rni` and its like), as conversions spell it.
    pub(super) fn integral_rounding(&mut self) -> Option<Rounding> {
        self.take_one(&[
            ("rni", Rounding::Nearest),
            ("rzi", Rounding::Zero),
            ("rmi", Rounding::Down),
            ("rpi", Rounding::Up),
        ])
    }
}
