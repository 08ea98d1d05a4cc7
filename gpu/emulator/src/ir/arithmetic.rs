//! The operations of arithmetic, logic and comparison.

/// Unary operations on words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word1 {
    Move,
    Not,
    Negate,
    Abs,
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

/// Binary operations on words and doubles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Int2 {
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

/// Ternary operations on words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word3 {
    MadLo,
    FunnelLeftWrap,
    FunnelLeftClamp,
    FunnelRightWrap,
    FunnelRightClamp,
}

/// Unary operations on doubles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Double1 {
    Move,
    Not,
    Negate,
    Abs,
}

/// Bit counts of doubles; the result is a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DoubleCount {
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
pub(crate) enum Float1 {
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
}

/// Binary f32 operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Float2 {
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
}

/// Boolean operations on predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Boolean {
    And,
    Or,
    Xor,
}
