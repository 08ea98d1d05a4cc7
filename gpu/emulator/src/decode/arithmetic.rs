//! Arithmetic, logic and comparison.

use super::super::ir::{
    Approximation, Boolean, Compared, Comparison, Double1, DoubleCount, Float1, Float2, FloatFlags,
    InstructionClass, Int2, Op, Rounding, Setp, Word1, Word3,
};
use super::super::parse::{Class, Parsed};
use super::operands::{Decoded, Decoder};

const ROUNDINGS: [(&str, Rounding); 4] = [
    ("rn", Rounding::Nearest),
    ("rz", Rounding::Zero),
    ("rm", Rounding::Down),
    ("rp", Rounding::Up),
];

const COMPARISONS: [(&str, Comparison); 14] = [
    ("eq", Comparison::Eq),
    ("ne", Comparison::Ne),
    ("lt", Comparison::Lt),
    ("le", Comparison::Le),
    ("gt", Comparison::Gt),
    ("ge", Comparison::Ge),
    ("equ", Comparison::Equ),
    ("neu", Comparison::Neu),
    ("ltu", Comparison::Ltu),
    ("leu", Comparison::Leu),
    ("gtu", Comparison::Gtu),
    ("geu", Comparison::Geu),
    ("num", Comparison::Num),
    ("nan", Comparison::Nan),
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

impl Decoder<'_, '_> {
    pub(super) fn arithmetic(&mut self) -> Decoded {
        if self.mnemonic == "setp" {
            return Ok((self.setp()?, InstructionClass::Integer));
        }
        match self.take_type()? {
            "f32" => self.float(),
            "pred" => Ok((self.predicate_logic()?, InstructionClass::Integer)),
            kind => Ok((self.integer(kind)?, InstructionClass::Integer)),
        }
    }

    fn integer(&mut self, kind: &str) -> Parsed<Op> {
        let (signed, wide) = match kind {
            "s32" => (true, false),
            "u32" | "b32" => (false, false),
            "s64" => (true, true),
            "u64" | "b64" => (false, true),
            // Bits do not mix in these, so that the unused half of the slot does no harm.
            "b16" if matches!(self.mnemonic, "and" | "or" | "xor" | "not") => (false, false),
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
            2 if wide => self.double1(signed),
            2 => self.word1(signed),
            3 => self.int2(signed, wide),
            4 => self.int3(signed, wide),
            5 if self.mnemonic == "bfi" && !wide => {
                let (a, b, c, e) = (self.word(1)?, self.word(2)?, self.word(3)?, self.word(4)?);
                Ok(Op::BitFieldInsert([self.to_word(0)?, a, b, c, e]))
            }
            _ => Err(self.unknown()),
        }
    }

    fn word1(&mut self, signed: bool) -> Parsed<Op> {
        let op = match self.mnemonic {
            "not" => Word1::Not,
            "neg" if signed => Word1::Negate,
            "abs" if signed => Word1::Abs,
            "popc" => Word1::Popc,
            "clz" => Word1::Clz,
            "brev" => Word1::Brev,
            "bfind" => match (self.take("shiftamt"), signed) {
                (false, true) => Word1::BfindS,
                (false, false) => Word1::BfindU,
                (true, true) => Word1::BfindShiftS,
                (true, false) => Word1::BfindShiftU,
            },
            _ => return Err(self.unknown()),
        };
        Ok(Op::Word1(op, self.to_word(0)?, self.word(1)?))
    }

    fn double1(&mut self, signed: bool) -> Parsed<Op> {
        let op = match self.mnemonic {
            "not" => Double1::Not,
            "neg" if signed => Double1::Negate,
            "abs" if signed => Double1::Abs,
            "popc" => {
                return Ok(Op::DoubleCount(DoubleCount::Popc, self.to_word(0)?, self.double(1)?));
            }
            "clz" => {
                return Ok(Op::DoubleCount(DoubleCount::Clz, self.to_word(0)?, self.double(1)?));
            }
            _ => return Err(self.unknown()),
        };
        Ok(Op::Double1(op, self.to_double(0)?, self.double(1)?))
    }

    fn int2(&mut self, signed: bool, wide: bool) -> Parsed<Op> {
        if self.mnemonic == "mul" && self.take("wide") {
            if wide {
                return Err(self.unknown());
            }
            let (d, a, b) = (self.to_double(0)?, self.word(1)?, self.word(2)?);
            return Ok(Op::MulWide { signed, d, a, b });
        }
        let pick = |if_signed, if_unsigned| if signed { if_signed } else { if_unsigned };
        let mnemonic = self.mnemonic;
        let op = match mnemonic {
            "add" => Int2::Add,
            "sub" => Int2::Sub,
            "mul" if self.take("lo") => Int2::MulLo,
            "mul" if self.take("hi") => pick(Int2::MulHiS, Int2::MulHiU),
            "div" => pick(Int2::DivS, Int2::DivU),
            "rem" => pick(Int2::RemS, Int2::RemU),
            "min" => pick(Int2::MinS, Int2::MinU),
            "max" => pick(Int2::MaxS, Int2::MaxU),
            "and" => Int2::And,
            "or" => Int2::Or,
            "xor" => Int2::Xor,
            "shl" => Int2::Shl,
            "shr" => pick(Int2::ShrS, Int2::ShrU),
            _ => return Err(self.unknown()),
        };
        if wide {
            let shift = matches!(op, Int2::Shl | Int2::ShrS | Int2::ShrU);
            let b = if shift { self.word(2)? } else { self.double(2)? };
            return Ok(Op::Double2(op, self.to_double(0)?, self.double(1)?, b));
        }
        Ok(Op::Word2(op, self.to_word(0)?, self.word(1)?, self.word(2)?))
    }

    fn int3(&mut self, signed: bool, wide: bool) -> Parsed<Op> {
        if self.mnemonic == "mad" && !wide && self.take("wide") {
            let (d, a, b) = (self.to_double(0)?, self.word(1)?, self.word(2)?);
            return Ok(Op::MadWide { signed, d, a, b, c: self.double(3)? });
        }
        if self.mnemonic == "mad" && wide && self.take("lo") {
            let (a, b, c) = (self.double(1)?, self.double(2)?, self.double(3)?);
            return Ok(Op::DoubleMad(self.to_double(0)?, a, b, c));
        }
        let mnemonic = self.mnemonic;
        let op = match mnemonic {
            "mad" if !wide && self.take("lo") => Word3::MadLo,
            "shf" if !wide => match (self.take("l"), self.take("r"), self.take("wrap")) {
                (true, false, true) => Word3::FunnelLeftWrap,
                (false, true, true) => Word3::FunnelRightWrap,
                (true, false, false) if self.take("clamp") => Word3::FunnelLeftClamp,
                (false, true, false) if self.take("clamp") => Word3::FunnelRightClamp,
                _ => return Err(self.unknown()),
            },
            _ => return Err(self.unknown()),
        };
        let (a, b, c) = (self.word(1)?, self.word(2)?, self.word(3)?);
        Ok(Op::Word3(op, self.to_word(0)?, a, b, c))
    }

    fn predicate_logic(&mut self) -> Parsed<Op> {
        let d = self.to_predicate(0)?;
        if self.mnemonic == "not" {
            self.expect_operands(2)?;
            let mut a = self.predicate(1)?;
            a.negated = !a.negated;
            return Ok(Op::PredicateMove { d, a });
        }
        self.expect_operands(3)?;
        let op = BOOLEANS.iter().find(|(name, _)| *name == self.mnemonic);
        let &(_, op) = op.ok_or_else(|| self.unknown())?;
        Ok(Op::Predicate2(op, d, self.predicate(1)?, self.predicate(2)?))
    }

    /// `.ftz` and `.sat` of an f32 instruction.
    pub(super) fn float_flags(&mut self) -> FloatFlags {
        FloatFlags { flush: self.take("ftz"), saturate: self.take("sat") }
    }

    fn float(&mut self) -> Decoded {
        let flags = self.float_flags();
        let approximate = self.take("approx");
        let full = self.take("full");
        let rounding = self.take_one(&ROUNDINGS);
        match self.operands.len() {
            2 if !full => self.float1(flags, approximate, rounding),
            3 => self.float2(flags, approximate, full, rounding),
            4 if !approximate && !full => {
                // fma has no default rounding; mad.f32 has its meaning since sm_20.
                let rounding = rounding.filter(|_| matches!(self.mnemonic, "fma" | "mad"));
                let rounding = rounding.ok_or_else(|| self.unknown())?;
                let (a, b, c) = (self.word(1)?, self.word(2)?, self.word(3)?);
                let op = Op::Fma(rounding, flags, self.to_word(0)?, a, b, c);
                Ok((op, InstructionClass::Float))
            }
            _ => Err(self.unknown()),
        }
    }

    fn float1(
        &mut self,
        flags: FloatFlags,
        approximate: bool,
        rounding: Option<Rounding>,
    ) -> Decoded {
        use Approximation::{Ex2, Lg2, Rcp, Rsqrt, Sqrt};
        let op = match (self.mnemonic, approximate, rounding) {
            ("neg", false, None) => Float1::Negate,
            ("abs", false, None) => Float1::Abs,
            ("ex2", true, None) => Float1::Approximate(Ex2),
            ("lg2", true, None) => Float1::Approximate(Lg2),
            ("rcp", true, None) => Float1::Approximate(Rcp),
            ("sqrt", true, None) => Float1::Approximate(Sqrt),
            ("rsqrt", true, None) => Float1::Approximate(Rsqrt),
            ("rcp", false, Some(Rounding::Nearest)) => Float1::Reciprocal,
            ("sqrt", false, Some(Rounding::Nearest)) => Float1::Sqrt,
            _ => return Err(self.unknown()),
        };
        if flags.saturate {
            return Err(self.unknown());
        }
        let class = match op {
            Float1::Negate | Float1::Abs => InstructionClass::Float,
            _ => InstructionClass::Special,
        };
        Ok((Op::Float1(op, flags, self.to_word(0)?, self.word(1)?), class))
    }

    fn float2(
        &mut self,
        flags: FloatFlags,
        approximate: bool,
        full: bool,
        rounding: Option<Rounding>,
    ) -> Decoded {
        let nearest = matches!(rounding, None | Some(Rounding::Nearest));
        let op = match self.mnemonic {
            "add" if nearest => Float2::Add,
            "sub" if nearest => Float2::Sub,
            "mul" if nearest => Float2::Mul,
            "min" if rounding.is_none() => match self.take("NaN") {
                true => Float2::MinNan,
                false => Float2::Min,
            },
            "max" if rounding.is_none() => match self.take("NaN") {
                true => Float2::MaxNan,
                false => Float2::Max,
            },
            "div" => match (approximate, full, rounding) {
                (true, false, None) => Float2::Approximate(Approximation::Div),
                (false, true, None) => Float2::Approximate(Approximation::DivFull),
                (false, false, Some(Rounding::Nearest)) => Float2::Div,
                _ => return Err(self.unknown()),
            },
            _ => return Err(self.unknown()),
        };
        let division = self.mnemonic == "div";
        let may_saturate = matches!(op, Float2::Add | Float2::Sub | Float2::Mul);
        if (approximate || full) && !division || flags.saturate && !may_saturate {
            return Err(self.unknown());
        }
        let class = if division { InstructionClass::Special } else { InstructionClass::Float };
        Ok((Op::Float2(op, flags, self.to_word(0)?, self.word(1)?, self.word(2)?), class))
    }

    /// `setp.cmp.type d|q, a, b;` or `setp.cmp.bool.type d|q, a, b, c;`
    fn setp(&mut self) -> Parsed<Op> {
        let kind = self.take_type()?;
        let flush = self.take("ftz");
        let compared = match kind {
            "f32" => Compared::Float { flush },
            "s16" => Compared::Signed16,
            "u16" | "b16" => Compared::Unsigned16,
            "s32" => Compared::Signed,
            "u32" | "b32" => Compared::Unsigned,
            "s64" => Compared::Signed64,
            "u64" | "b64" => Compared::Unsigned64,
            _ => return Err(self.unknown()),
        };
        let float = kind == "f32";
        let mut comparison = self.take_one(&COMPARISONS);
        if comparison.is_none() && kind.starts_with('u') {
            comparison = self.take_one(&UNSIGNED_COMPARISONS);
        }
        let comparison = comparison.ok_or_else(|| self.unknown())?;
        let ordered = (comparison as u8) < Comparison::Equ as u8;
        let equality = matches!(comparison, Comparison::Eq | Comparison::Ne);
        if (flush || !ordered) && !float || kind.starts_with('b') && !equality {
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
        let wide = matches!(compared, Compared::Signed64 | Compared::Unsigned64);
        let (a, b) =
            if wide { (self.double(1)?, self.double(2)?) } else { (self.word(1)?, self.word(2)?) };
        Ok(Op::Setp(Setp { comparison, compared, d, q, a, b, combine }))
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
