//! f16 and bf16: arithmetic, comparisons, and two f32 rounded to the halves of a word.

use super::super::ir::{
    Arithmetic, Comparison, File, Narrow, NarrowClamp, NarrowFormat, NarrowOp, Number, RareOp,
    Rounding,
};
use super::super::parse::Parsed;
use super::operands::Decoder;

use File::Word;

/// Comparisons by name.
pub(super) const COMPARISONS: [(&str, Comparison); 14] = [
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

/// A type of floats of 16 bits, and whether a word holds two of them.
pub(super) fn narrow_type(kind: &str) -> Option<(NarrowFormat, bool)> {
    match kind {
        "f16" => Some((NarrowFormat::F16, false)),
        "f16x2" => Some((NarrowFormat::F16, true)),
        "bf16" => Some((NarrowFormat::Bf16, false)),
        "bf16x2" => Some((NarrowFormat::Bf16, true)),
        _ => None,
    }
}

impl Decoder<'_, '_> {
    /// `.ftz`, which f16 alone has.
    fn narrow_flush(&mut self, format: NarrowFormat) -> bool {
        format == NarrowFormat::F16 && self.take("ftz")
    }

    /// Arithmetic on one number or two (PTX ISA 8.4, "Half Precision Floating Point Instructions").
    pub(super) fn narrow(&mut self, (format, packed): (NarrowFormat, bool)) -> Parsed<Arithmetic> {
        let flush = self.narrow_flush(format);
        let nearest = self.take("rn");
        let (op, operands) = match (self.mnemonic, nearest) {
            ("add", _) => (NarrowOp::Add, 3),
            ("sub", _) => (NarrowOp::Sub, 3),
            ("mul", _) => (NarrowOp::Mul, 3),
            ("fma", true) => (NarrowOp::Fma, 4),
            ("neg", false) => (NarrowOp::Negate, 2),
            ("abs", false) => (NarrowOp::Abs, 2),
            ("min", false) => (NarrowOp::Min { nan: self.take("NaN") }, 3),
            ("max", false) => (NarrowOp::Max { nan: self.take("NaN") }, 3),
            _ => return Err(self.unknown()),
        };
        let clamp = match op {
            NarrowOp::Add | NarrowOp::Sub | NarrowOp::Mul | NarrowOp::Fma
                if format == NarrowFormat::F16 && self.take("sat") =>
            {
                Some(NarrowClamp::Saturate)
            }
            NarrowOp::Fma if self.take("relu") => Some(NarrowClamp::Relu),
            NarrowOp::Add
            | NarrowOp::Sub
            | NarrowOp::Mul
            | NarrowOp::Fma
            | NarrowOp::Negate
            | NarrowOp::Abs
            | NarrowOp::Min { .. }
            | NarrowOp::Max { .. } => None,
        };
        let op = RareOp::Narrow(Narrow { op, format, packed, flush, clamp });
        self.rare_op(op, &[Word; 4][..operands])
    }

    /// `set.cmp.type.type`: 1.0 or all ones where the comparison holds.
    pub(super) fn set_narrow(&mut self, source: (NarrowFormat, bool)) -> Parsed<Arithmetic> {
        let (format, packed) = source;
        let to = match self.take_type()? {
            "u32" => Number::Integer { bits: 32, signed: false },
            "s32" => Number::Integer { bits: 32, signed: true },
            "u16" if !packed => Number::Integer { bits: 16, signed: false },
            "s16" if !packed => Number::Integer { bits: 16, signed: true },
            kind if narrow_type(kind) == Some(source) => format.number(),
            _ => return Err(self.unknown()),
        };
        let flush = self.narrow_flush(format);
        let comparison = self.take_one(&COMPARISONS).ok_or_else(|| self.unknown())?;
        self.rare_op(RareOp::SetNarrow { to, comparison, flush, format, packed }, &[Word; 3])
    }

    /// `cvt.rnd.f16x2.f32 d, a, b`
    pub(super) fn convert_pair(&mut self, format: NarrowFormat) -> Parsed<Arithmetic> {
        let rounding = self.take_one(&[("rn", Rounding::Nearest), ("rz", Rounding::Zero)]);
        let rounding = rounding.ok_or_else(|| self.unknown())?;
        self.rare_op(RareOp::ConvertPair { format, rounding }, &[Word; 3])
    }
}
