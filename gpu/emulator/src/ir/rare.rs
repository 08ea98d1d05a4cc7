//! Operations from registers to registers that few kernels have: f64, 16-bit integers, bytes and bit
//! fields, and conversions of every kind. They are executed one lane after the other, out of the loop
//! that the others are in.

use super::{Comparison, IntegerBinary, NarrowFormat, Rounding, Slot, Space};

/// Registers of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum File {
    Predicate,
    Word,
    B64,
}

/// A register or constant of whichever width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) file: File,
    pub(crate) slot: Slot,
}

/// A rare operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rare {
    pub(crate) op: RareOp,
    pub(crate) d: Place,
    /// `None` where there are fewer.
    pub(crate) sources: [Option<Place>; 4],
}

/// Which rare operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RareOp {
    Convert(Convert),
    Double(Double, Rounding),
    Half(Half),
    Narrow(Narrow),
    /// `set.cmp.type.type` of f16, bf16 or pairs of them.
    SetNarrow {
        /// That of the operands, or a whole number, whose bits are a mask.
        to: Number,
        comparison: Comparison,
        flush: bool,
        format: NarrowFormat,
        packed: bool,
    },
    /// cvt of two f32 to the halves of a word.
    ConvertPair {
        format: NarrowFormat,
        rounding: Rounding,
    },
    /// mul.wide.s16 and mul.wide.u16.
    MulWideHalf {
        signed: bool,
    },
    /// prmt.b32.
    Permute(Permutation),
    Extract(Extract),
    /// bfi.b64.
    Insert64,
    /// bfind, brev of 64 bits.
    Find64 {
        signed: bool,
        shift: bool,
    },
    Reverse64,
    /// bmsk.b32: whether a place or length above 31 wraps, or is clamped to 32.
    MaskBits {
        wraps: bool,
    },
    /// szext: the same of its length.
    Widen {
        signed: bool,
        wraps: bool,
    },
    /// fns.b32.
    FindNth,
    /// `slct`: a where c is not negative, else b; c is an s32, or an f32.
    SelectBySign {
        float: bool,
        flush: bool,
    },
    /// The sign of the first, the magnitude of the second.
    CopySign {
        double: bool,
    },
    /// dp4a; whether a and b are signed.
    DotBytes {
        a: bool,
        b: bool,
    },
    /// dp2a: halves of a by two bytes of b.
    DotHalves {
        a: bool,
        b: bool,
        high: bool,
    },
    /// lop3.b32, by its table.
    Logic3(u8),
    /// mad.hi.
    MadHigh {
        signed: bool,
    },
    /// mul24.lo, mad24.lo.
    Mul24 {
        signed: bool,
    },
    /// sad: c + |a - b|.
    Sad {
        signed: bool,
    },
    /// `mov.b32 d, {low, high}` of 16 bits each, and `mov.b64` of four.
    Pack16,
    /// set.cmp.u32.type and set.cmp.f32.type of f32 operands.
    Set {
        comparison: Comparison,
        flush: bool,
        float: bool,
    },
    /// isspacep.
    IsIn(Space),
    /// testp.
    Test {
        test: Test,
        double: bool,
    },
    /// sin.approx and cos.approx.
    Wave {
        op: Wave,
        flush: bool,
    },
    /// WGSL's pow.
    PowerWgsl {
        flush: bool,
    },
}

/// Trigonometric functions that PTX gives up to a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wave {
    Sin,
    Cos,
}

/// Operations on f64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Double {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Reciprocal,
    /// rcp.approx.ftz.f64.
    GrossReciprocal,
    /// rsqrt.approx.ftz: of operand and result the upper halves count.
    GrossReciprocalRoot,
    /// rsqrt.approx.f64.
    ReciprocalRoot,
    Sqrt,
    Negate,
    Abs,
    Min,
    Max,
}

/// Arithmetic on f16 and bf16, rounded to nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Narrow {
    pub(crate) op: NarrowOp,
    pub(crate) format: NarrowFormat,
    /// Two numbers in the halves of a word.
    pub(crate) packed: bool,
    pub(crate) flush: bool,
    pub(crate) clamp: Option<NarrowClamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NarrowOp {
    Add,
    Sub,
    Mul,
    Fma,
    Negate,
    Abs,
    /// Whether what is not a number is passed on (`.NaN`).
    Min {
        nan: bool,
    },
    Max {
        nan: bool,
    },
}

/// What becomes of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NarrowClamp {
    /// To 0..=1, what is not a number to 0.
    Saturate,
    /// Negative ones to 0.
    Relu,
}

/// Operations on 16-bit integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Half {
    pub(crate) op: IntegerBinary,
    pub(crate) signed: bool,
    /// mad.lo: the third operand is added.
    pub(crate) adds: bool,
}

/// The modes of prmt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permutation {
    General,
    Forward4,
    Backward4,
    Replicate8,
    EdgeLeft,
    EdgeRight,
    Replicate16,
}

/// bfe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extract {
    pub(crate) signed: bool,
    pub(crate) wide: bool,
}

/// A type of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Integer { bits: u8, signed: bool },
    F16,
    Bf16,
    F32,
    F64,
}

impl NarrowFormat {
    pub(crate) fn number(self) -> Number {
        match self {
            Self::F16 => Number::F16,
            Self::Bf16 => Number::Bf16,
        }
    }

    /// The bits of the exponent, which are those of infinity.
    pub(crate) fn exponent(self) -> u64 {
        match self {
            Self::F16 => 0x7c00,
            Self::Bf16 => 0x7f80,
        }
    }

    /// What `set` gives for one number whose comparison holds: 1, or all bits of a mask.
    pub(crate) fn set(self, to: Number, packed: bool) -> u64 {
        match to {
            Number::Integer { bits, .. } if !packed => u64::MAX >> (64 - u32::from(bits)),
            Number::Integer { .. } => 0xffff,
            Number::F16 | Number::Bf16 | Number::F32 | Number::F64 => self.one(),
        }
    }

    /// The bits of 1.
    pub(crate) fn one(self) -> u64 {
        match self {
            Self::F16 => 0x3c00,
            Self::Bf16 => 0x3f80,
        }
    }
}

impl Number {
    /// Bits of the type.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::Integer { bits, .. } => u32::from(bits),
            Self::F16 | Self::Bf16 => 16,
            Self::F32 => 32,
            Self::F64 => 64,
        }
    }
}

/// What becomes of values outside the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saturation {
    Wraps,
    /// To the range of an integer type, or to 0..=1.
    Clamps,
}

/// cvt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Convert {
    pub(crate) from: Number,
    pub(crate) to: Number,
    /// Of the last place, or to an integral value.
    pub(crate) rounding: Rounding,
    /// Between floats: to an integral value.
    pub(crate) integral: bool,
    pub(crate) flush: bool,
    pub(crate) saturation: Saturation,
}

/// The properties of testp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}
