//! The operations of arithmetic, logic and comparison.

use super::{Place, Predicate, Rare, Slot};

/// Every operation from registers to registers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Arithmetic {
    WordUnary(WordUnary, Slot, Slot),
    WordBinary(IntegerBinary, Slot, Slot, Slot),
    WordTernary(WordTernary, Slot, Slot, Slot, Slot),
    /// bfi d, a, b, position, length.
    BitFieldInsert([Slot; 5]),
    B64Unary(B64Unary, Slot, Slot),
    B64Binary(IntegerBinary, Slot, Slot, Slot),
    /// mad.lo on 64-bit integers.
    B64Mad(Slot, Slot, Slot, Slot),
    B64Count(B64Count, Slot, Slot),
    /// mul.wide; signed or not.
    MulWide {
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    /// mad.wide.
    MadWide {
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    /// A word to a 64-bit integer.
    Widen {
        from: WordType,
        d: Slot,
        a: Slot,
    },
    /// Low word of a 64-bit integer.
    Narrow {
        d: Slot,
        a: Slot,
    },
    /// `mov.b64 d, {low, high}`.
    Pack {
        d: Slot,
        low: Slot,
        high: Slot,
    },
    /// `mov.b64 {low, high}, a`.
    Unpack {
        low: Slot,
        high: Slot,
        a: Slot,
    },
    FloatUnary(FloatUnary, FloatFlags, Slot, Slot),
    FloatBinary(FloatBinary, FloatFlags, Slot, Slot, Slot),
    Fma(Rounding, FloatFlags, Slot, Slot, Slot, Slot),
    FloatToInteger(FloatToInteger),
    /// Rounded to nearest.
    WordToFloat {
        from: WordType,
        d: Slot,
        a: Slot,
    },
    /// Rounded to nearest.
    B64ToFloat {
        signed: bool,
        d: Slot,
        a: Slot,
    },
    Setp(Setp),
    SelectWord {
        d: Slot,
        a: Slot,
        b: Slot,
        p: Slot,
    },
    SelectB64 {
        d: Slot,
        a: Slot,
        b: Slot,
        p: Slot,
    },
    PredicateMove {
        d: Slot,
        a: Predicate,
    },
    Predicate2(Boolean, Slot, Predicate, Predicate),
    /// `mov.b32 {low, high}, a`, and `mov.b64` to four.
    Split16 {
        /// The lowest first; [`SINK`](super::SINK) behind two.
        parts: [Slot; 4],
        a: Place,
    },
    /// Sums and products of numbers wider than registers.
    Carry(Carry),
    /// What few kernels do.
    Rare(Rare),
}

/// `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc` and `madc`. The flag CC.CF is a word of the kernel's, which is 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carry {
    pub(crate) op: CarryOp,
    /// Of 64 bits.
    pub(crate) wide: bool,
    pub(crate) d: Slot,
    /// The word that the carry or borrow goes to; [`SINK`](super::SINK) where it is not kept.
    pub(crate) to: Slot,
    /// A sum's are two, and the third is [`SINK`](super::SINK).
    pub(crate) sources: [Slot; 3],
    /// The word that the carry or borrow comes from: a constant 0 where none does.
    pub(crate) from: Slot,
}

/// What a carry goes into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CarryOp {
    Add,
    Sub,
    /// The lower half of a product, and a sum.
    MadLo,
    /// The upper half.
    MadHi {
        signed: bool,
    },
}

/// The integer types that a word holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordType {
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
}

/// `cvt` from f32 to an integer of 32 or 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloatToInteger {
    pub(crate) b64: bool,
    pub(crate) signed: bool,
    pub(crate) rounding: Rounding,
    /// `.ftz`.
    pub(crate) flush: bool,
    pub(crate) d: Slot,
    pub(crate) a: Slot,
}

/// `setp`: `d = (a cmp b) bool c` and, if asked for, `q = !(a cmp b) bool c`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Setp {
    pub(crate) comparison: Comparison,
    pub(crate) compared: Compared,
    pub(crate) d: Slot,
    pub(crate) q: Slot,
    pub(crate) a: Slot,
    pub(crate) b: Slot,
    pub(crate) combine: Option<(Boolean, Predicate)>,
}

/// Unary operations on words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordUnary {
    Move,
    Not,
    Negate,
    Abs,
    /// Of the lower half; the upper half is 0.
    Abs16,
    Popc,
    Clz,
    Brev,
    /// Sign-extension from 8 or 16 bits.
    Signed8,
    Signed16,
    Unsigned8,
    Unsigned16,
    BfindS,
    BfindU,
    BfindShiftS,
    BfindShiftU,
}

/// Binary operations on words and 64-bit integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntegerBinary {
    Add,
    Sub,
    MulLo,
    MulHiS,
    MulHiU,
    DivS,
    DivU,
    RemS,
    RemU,
    MinS,
    MinU,
    MaxS,
    MaxU,
    And,
    Or,
    Xor,
    /// The amount is a word and clamps at the width.
    Shl,
    ShrS,
    ShrU,
}

impl IntegerBinary {
    /// Whether the second operand is how far the first is shifted: a word, whatever is shifted.
    pub(crate) fn shifts(self) -> bool {
        matches!(self, Self::Shl | Self::ShrS | Self::ShrU)
    }
}

/// Ternary operations on words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordTernary {
    MadLo,
    FunnelLeftWrap,
    FunnelLeftClamp,
    FunnelRightWrap,
    FunnelRightClamp,
}

/// Unary operations on 64-bit integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum B64Unary {
    Move,
    Not,
    Negate,
    Abs,
}

/// Bit counts of 64-bit integers; the result is a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum B64Count {
    Popc,
    Clz,
}

/// How an inexact result is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

/// Unary f32 operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatUnary {
    Move,
    Negate,
    Abs,
    /// To an integral value.
    Round(Rounding),
    /// rcp.rn and sqrt.rn.
    Reciprocal,
    Sqrt,
    Approximate(Approximation),
}

/// Functions whose result PTX gives up to a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approximation {
    Ex2,
    Lg2,
    Rcp,
    Sqrt,
    Rsqrt,
    /// Binary.
    Div,
    DivFull,
    // Behind the others, whose numbers decide how they are perturbed.
    /// As WGSL bounds them.
    Ex2Wgsl,
    Lg2Wgsl,
    RsqrtWgsl,
    /// Binary.
    Atan2Wgsl,
    Tanh,
}

/// Binary f32 operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatBinary {
    Add,
    Sub,
    Mul,
    Min,
    Max,
    /// `.NaN`: a NaN operand gives NaN.
    MinNan,
    MaxNan,
    Div,
    Approximate(Approximation),
}

/// `.ftz` and `.sat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct FloatFlags {
    pub(crate) flush: bool,
    pub(crate) saturate: bool,
}

/// Comparisons; the last eight on floats only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    Unsigned,
    Signed,
    /// The lower halves of words.
    Unsigned16,
    Signed16,
    Unsigned64,
    Signed64,
    Float {
        flush: bool,
    },
    /// f64.
    Double,
    /// f16 or bf16, in the lower halves of words.
    Narrow {
        format: NarrowFormat,
        flush: bool,
    },
}

/// The two types of floats of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NarrowFormat {
    F16,
    Bf16,
}

/// Boolean operations on predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Boolean {
    And,
    Or,
    Xor,
}
