//! f64, 16-bit integers, bytes and bit fields, asynchronous copies.

use super::super::ir::{
    Address, Arithmetic, AsyncCopy, Base, Double, Extract, File, Half, InstructionClass,
    IntegerBinary, Memory, Op, Permutation, Place, Rare, RareMemory, RareOp, Rounding, SINK, Space,
    Test, Wave,
};
use super::super::parse::{Class, Operand, Parsed};
use super::arithmetic::ROUNDINGS;
use super::narrow::{COMPARISONS, narrow_type};
use super::operands::{Decoded, Decoder};

/// Operand widths, of the destination first.
type Widths<'w> = &'w [File];

use File::{B64, Predicate, Word};

impl<'a> Decoder<'_, 'a> {
    /// An operation whose operands are of these widths.
    pub(super) fn rare_op(&mut self, op: RareOp, widths: Widths<'_>) -> Parsed<Arithmetic> {
        self.expect_operands(widths.len())?;
        let slot = match widths[0] {
            Word => self.to_word(0)?,
            B64 => self.to_b64(0)?,
            Predicate => self.to_predicate(0)?,
        };
        let d = Place { file: widths[0], slot };
        let mut sources = [None; 4];
        for (index, (source, &file)) in sources.iter_mut().zip(&widths[1..]).enumerate() {
            let slot = match file {
                Word => self.word(index + 1)?,
                B64 => self.b64(index + 1)?,
                Predicate => self.predicate(index + 1)?.slot,
            };
            *source = Some(Place { file, slot });
        }
        Ok(Arithmetic::Rare(Rare { op, d, sources }))
    }

    pub(super) fn rare(&mut self) -> Decoded {
        if self.mnemonic == "cp" {
            return Ok((Op::Memory(Memory::Rare(self.copy_async()?)), InstructionClass::Memory));
        }
        let mut class = InstructionClass::Integer;
        let kind = if self.mnemonic == "isspacep" { "" } else { self.take_type()? };
        let op = match (self.mnemonic, kind) {
            ("prmt", mode) => {
                let (mode, kind) = match mode {
                    "b32" => (Permutation::General, "b32"),
                    mode => (permutation(mode).ok_or_else(|| self.unknown())?, self.take_type()?),
                };
                if kind != "b32" {
                    return Err(self.unknown());
                }
                self.rare_op(RareOp::Permute(mode), &[Word; 4])
            }
            ("bfe", kind) => self.extract(kind),
            ("bmsk", "b32") => {
                let wraps = self.wraps()?;
                self.rare_op(RareOp::MaskBits { wraps }, &[Word; 3])
            }
            ("szext", "s32" | "u32") => {
                let (signed, wraps) = (kind == "s32", self.wraps()?);
                self.rare_op(RareOp::Widen { signed, wraps }, &[Word; 3])
            }
            ("fns", "b32") => self.rare_op(RareOp::FindNth, &[Word; 4]),
            ("slct", "s32" | "f32") => self.select_by_sign(kind == "f32"),
            ("copysign", "f32") => self.rare_op(RareOp::CopySign { double: false }, &[Word; 3]),
            ("copysign", "f64") => self.rare_op(RareOp::CopySign { double: true }, &[B64; 3]),
            ("dp4a" | "dp2a", b) => self.dot(b),
            ("lop3", "b32") => self.logic3(),
            ("mul24" | "mad24", "s32" | "u32") if self.take("lo") => {
                let op = RareOp::Mul24 { signed: kind == "s32" };
                let adds = self.mnemonic == "mad24";
                self.rare_op(op, if adds { &[Word; 4] } else { &[Word; 3] })
            }
            ("sad", "s32" | "u32") => {
                self.rare_op(RareOp::Sad { signed: kind == "s32" }, &[Word; 4])
            }
            ("sin" | "cos", "f32") if self.take("approx") => {
                class = InstructionClass::Special;
                let op = if self.mnemonic == "sin" { Wave::Sin } else { Wave::Cos };
                let flush = self.take("ftz");
                self.rare_op(RareOp::Wave { op, flush }, &[Word; 2])
            }
            ("pow", "f32") if self.take("wgsl") => {
                class = InstructionClass::Special;
                let flush = self.take("ftz");
                self.rare_op(RareOp::PowerWgsl { flush }, &[Word; 3])
            }
            ("set", "f32") => self.set(),
            ("set", kind) => match narrow_type(kind) {
                Some(source) => self.set_narrow(source),
                None => Err(self.unknown()),
            },
            ("testp", "f32" | "f64") => self.test(kind == "f64"),
            ("isspacep", _) => {
                let space = self.take_space().ok_or_else(|| self.unknown())?;
                self.rare_op(RareOp::IsIn(space), &[Predicate, B64])
            }
            _ => Err(self.unknown()),
        };
        Ok((Op::Arithmetic(op?), class))
    }

    /// What becomes of a place or length above 31.
    fn wraps(&mut self) -> Parsed<bool> {
        let wraps = self.take_one(&[("clamp", false), ("wrap", true)]);
        wraps.ok_or_else(|| self.unknown())
    }

    fn extract(&mut self, kind: &str) -> Parsed<Arithmetic> {
        let (signed, wide) = match kind {
            "s32" => (true, false),
            "u32" => (false, false),
            "s64" => (true, true),
            "u64" => (false, true),
            _ => return Err(self.unknown()),
        };
        let file = if wide { B64 } else { Word };
        self.rare_op(RareOp::Extract(Extract { signed, wide }), &[file, file, Word, Word])
    }

    /// `slct.type.s32 d, a, b, c`
    fn select_by_sign(&mut self, float: bool) -> Parsed<Arithmetic> {
        let flush = self.take("ftz") && float;
        let file = match self.take_type()? {
            "b32" | "u32" | "s32" | "f32" => Word,
            "b64" | "u64" | "s64" | "f64" => B64,
            _ => return Err(self.unknown()),
        };
        self.rare_op(RareOp::SelectBySign { float, flush }, &[file, file, file, Word])
    }

    fn dot(&mut self, b: &str) -> Parsed<Arithmetic> {
        let a = self.take_type()?;
        let signed = |kind: &str| match kind {
            "s32" => Some(true),
            "u32" => Some(false),
            _ => None,
        };
        let (Some(a), Some(b)) = (signed(a), signed(b)) else { return Err(self.unknown()) };
        let op = if self.mnemonic == "dp4a" {
            RareOp::DotBytes { a, b }
        } else {
            let high = self.take_one(&[("lo", false), ("hi", true)]);
            RareOp::DotHalves { a, b, high: high.ok_or_else(|| self.unknown())? }
        };
        self.rare_op(op, &[Word; 4])
    }

    /// `lop3.b32 d, a, b, c, table`
    fn logic3(&mut self) -> Parsed<Arithmetic> {
        let table = match self.operands.split_last() {
            Some((Operand::Integer(table), rest)) => {
                self.operands = rest;
                u8::try_from(*table).ok()
            }
            _ => None,
        };
        let table = table.ok_or_else(|| self.error("expected a table of 0 to 255 as the last"))?;
        self.rare_op(RareOp::Logic3(table), &[Word; 4])
    }

    /// `set.cmp.type.f32`: all ones or 1.0 where the comparison holds.
    fn set(&mut self) -> Parsed<Arithmetic> {
        let float = match self.take_type()? {
            "f32" => true,
            "u32" | "s32" => false,
            _ => return Err(self.unknown()),
        };
        let flush = self.take("ftz");
        let comparison = self.take_one(&COMPARISONS).ok_or_else(|| self.unknown())?;
        self.rare_op(RareOp::Set { comparison, flush, float }, &[Word; 3])
    }

    fn test(&mut self, double: bool) -> Parsed<Arithmetic> {
        let test = self.take_one(&[
            ("finite", Test::Finite),
            ("infinite", Test::Infinite),
            ("number", Test::Number),
            ("notanumber", Test::NotANumber),
            ("normal", Test::Normal),
            ("subnormal", Test::Subnormal),
        ]);
        let test = test.ok_or_else(|| self.unknown())?;
        let source = if double { B64 } else { Word };
        self.rare_op(RareOp::Test { test, double }, &[Predicate, source])
    }

    /// Arithmetic on f64.
    pub(super) fn double(&mut self) -> Parsed<Arithmetic> {
        let rounding = self.take_one(&ROUNDINGS);
        let op = match (self.mnemonic, rounding.is_some()) {
            ("add", _) => Double::Add,
            ("sub", _) => Double::Sub,
            ("mul", _) => Double::Mul,
            ("fma" | "mad", true) => Double::Fma,
            ("div", true) => Double::Div,
            ("rcp", true) => Double::Reciprocal,
            ("rcp", false) if self.take("approx") && self.take("ftz") => Double::GrossReciprocal,
            ("rsqrt", false) if self.take("approx") => match self.take("ftz") {
                true => Double::GrossReciprocalRoot,
                false => Double::ReciprocalRoot,
            },
            ("sqrt", true) => Double::Sqrt,
            ("neg", false) => Double::Negate,
            ("abs", false) => Double::Abs,
            ("min", false) => Double::Min,
            ("max", false) => Double::Max,
            _ => return Err(self.unknown()),
        };
        let widths: Widths<'_> = match op {
            Double::Fma => &[B64; 4],
            Double::Reciprocal
            | Double::GrossReciprocal
            | Double::GrossReciprocalRoot
            | Double::ReciprocalRoot
            | Double::Sqrt
            | Double::Negate
            | Double::Abs => &[B64; 2],
            Double::Add | Double::Sub | Double::Mul | Double::Div | Double::Min | Double::Max => {
                &[B64; 3]
            }
        };
        self.rare_op(RareOp::Double(op, rounding.unwrap_or(Rounding::Nearest)), widths)
    }

    /// Arithmetic on 16-bit integers, which registers of 16 bits hold, or words in their lower half.
    pub(super) fn half(&mut self, kind: &str) -> Parsed<Arithmetic> {
        let signed = kind == "s16";
        if matches!(self.mnemonic, "mul" | "mad") && self.take("wide") {
            if self.mnemonic == "mad" {
                return Err(self.unknown());
            }
            return self.rare_op(RareOp::MulWideHalf { signed }, &[Word; 3]);
        }
        let pick = |if_signed, if_unsigned| if signed { if_signed } else { if_unsigned };
        let mut adds = false;
        let op = match (self.mnemonic, kind) {
            ("shl", "b16") => IntegerBinary::Shl,
            ("shr", _) => pick(IntegerBinary::ShrS, IntegerBinary::ShrU),
            (_, "b16") => return Err(self.unknown()),
            ("add", _) => IntegerBinary::Add,
            ("sub", _) => IntegerBinary::Sub,
            ("mul", _) if self.take("lo") => IntegerBinary::MulLo,
            ("mul", _) if self.take("hi") => pick(IntegerBinary::MulHiS, IntegerBinary::MulHiU),
            ("mad", _) if self.take("lo") => {
                adds = true;
                IntegerBinary::MulLo
            }
            ("div", _) => pick(IntegerBinary::DivS, IntegerBinary::DivU),
            ("rem", _) => pick(IntegerBinary::RemS, IntegerBinary::RemU),
            ("min", _) => pick(IntegerBinary::MinS, IntegerBinary::MinU),
            ("max", _) => pick(IntegerBinary::MaxS, IntegerBinary::MaxU),
            _ => return Err(self.unknown()),
        };
        let op = RareOp::Half(Half { op, signed, adds });
        self.rare_op(op, if adds { &[Word; 4] } else { &[Word; 3] })
    }

    pub(super) fn insert64(&mut self) -> Parsed<Arithmetic> {
        self.rare_op(RareOp::Insert64, &[B64, B64, B64, Word, Word])
    }

    /// brev.b64, and bfind of 64 bits.
    pub(super) fn find64(&mut self, signed: bool) -> Parsed<Arithmetic> {
        if self.mnemonic == "brev" {
            return self.rare_op(RareOp::Reverse64, &[B64; 2]);
        }
        let shift = self.take("shiftamt");
        self.rare_op(RareOp::Find64 { signed, shift }, &[Word, B64])
    }

    pub(super) fn mad_high(&mut self, signed: bool) -> Parsed<Arithmetic> {
        self.rare_op(RareOp::MadHigh { signed }, &[Word; 4])
    }

    /// `mov.b32 d, {low, high}`, or `mov.b64` of four.
    pub(super) fn pack16(&mut self, parts: &[Operand<'a>]) -> Parsed<Arithmetic> {
        let d = match parts.len() {
            2 => Place { file: Word, slot: self.to_word(0)? },
            _ => Place { file: B64, slot: self.to_b64(0)? },
        };
        let mut sources = [None; 4];
        for (source, part) in sources.iter_mut().zip(parts) {
            *source = Some(Place { file: Word, slot: self.word_of(part)? });
        }
        Ok(Arithmetic::Rare(Rare { op: RareOp::Pack16, d, sources }))
    }

    /// `mov.b32 {low, high}, a`, or `mov.b64` to four.
    pub(super) fn unpack16(&mut self, parts: &[Operand<'a>]) -> Parsed<Arithmetic> {
        let mut slots = [SINK; 4];
        for (slot, part) in slots.iter_mut().zip(parts) {
            *slot = match part {
                Operand::Name("_") => SINK,
                part => self.destination_of(part, &[Class::Half])?,
            };
        }
        let a = match parts.len() {
            2 => Place { file: Word, slot: self.word(1)? },
            _ => Place { file: B64, slot: self.b64(1)? },
        };
        Ok(Arithmetic::Split16 { parts: slots, a })
    }

    /// cp.async and what waits for it; copies by other engines are not in the subset.
    fn copy_async(&mut self) -> Parsed<RareMemory> {
        if !self.take("async") {
            return Err(self.unknown());
        }
        if self.take("commit_group") {
            self.expect_operands(0)?;
            return Ok(RareMemory::CommitCopies);
        }
        if self.take("wait_all") {
            self.expect_operands(0)?;
            return Ok(RareMemory::WaitForAllCopies);
        }
        if self.take("wait_group") {
            self.expect_operands(1)?;
            return match self.operand(0)? {
                Operand::Integer(groups) if (0..=255).contains(groups) => {
                    Ok(RareMemory::WaitForCopies(u32::try_from(*groups).unwrap_or(0)))
                }
                operand => Err(self.wrong(operand, "a number of groups")),
            };
        }
        let all = self.take("ca");
        if !(all || self.take("cg")) || !(self.take("shared") || self.take("shared::cta")) {
            return Err(self.unknown());
        }
        if !self.take("global") {
            return Err(self.unknown());
        }
        self.drop_cache_hints();
        let bytes = match self.operand(2)? {
            Operand::Integer(bytes @ (4 | 8 | 16)) if all || *bytes == 16 => {
                u8::try_from(*bytes).unwrap_or(16)
            }
            operand => return Err(self.wrong(operand, "4, 8 or 16 bytes (16 for .cg)")),
        };
        let read = match self.operands.len() {
            3 => SINK,
            4 => self.word(3)?,
            _ => return Err(self.unknown()),
        };
        let to = self.address(0, Space::Shared)?;
        let from: Address = self.address(1, Space::Global)?;
        debug_assert!(!matches!(from.base, Base::Word(SINK)), "registers have slots");
        Ok(RareMemory::Copy(AsyncCopy { to, from, bytes, read }))
    }
}

fn permutation(mode: &str) -> Option<Permutation> {
    Some(match mode {
        "f4e" => Permutation::Forward4,
        "b4e" => Permutation::Backward4,
        "rc8" => Permutation::Replicate8,
        "ecl" => Permutation::EdgeLeft,
        "ecr" => Permutation::EdgeRight,
        "rc16" => Permutation::Replicate16,
        _ => return None,
    })
}
