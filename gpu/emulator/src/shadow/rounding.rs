//! What each instruction may round away.

use super::super::ir::{
    Approximation, Arithmetic, AtomicOp, Convert, Double, FloatBinary, FloatUnary, Narrow,
    NarrowFormat, NarrowOp, Number, Op, RareOp, Rounding,
};
use super::table::accuracy::Accuracy;

/// Half a unit in the last place of each format, in parts of the number.
const OF_F32: f64 = 1.0 / 16_777_216.0;
const OF_F64: f64 = f64::EPSILON / 2.0;
const OF_F16: f64 = 1.0 / 2048.0;
const OF_BF16: f64 = 1.0 / 256.0;

/// CUDA's functions in single precision are within one or two units of f32.
pub(super) const OF_LIBRARY: f64 = 4.0 * OF_F32;

/// The part of its result that an instruction may round away. A sine's error, which does not depend on its value, is
/// taken for a part of 1, the largest value.
pub(super) fn rounding(op: &Op) -> f64 {
    if let Some(atomic) = op.atomic() {
        return match atomic.op {
            AtomicOp::AddFloat if atomic.b64 => OF_F64,
            AtomicOp::AddFloat => OF_F32,
            AtomicOp::AddPair(format) | AtomicOp::AddHalf(format) => of_format(format),
            AtomicOp::Add
            | AtomicOp::Increment
            | AtomicOp::Decrement
            | AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Xor
            | AtomicOp::MinS
            | AtomicOp::MinU
            | AtomicOp::MaxS
            | AtomicOp::MaxU
            | AtomicOp::Exchange
            | AtomicOp::CompareExchange => 0.0,
        };
    }
    let Op::Arithmetic(arithmetic) = op else { return 0.0 };
    match arithmetic {
        Arithmetic::FloatUnary(FloatUnary::Reciprocal | FloatUnary::Sqrt, ..)
        | Arithmetic::Fma(..) => OF_F32,
        Arithmetic::FloatUnary(FloatUnary::Approximate(function), ..)
        | Arithmetic::FloatBinary(FloatBinary::Approximate(function), ..) => of_function(*function),
        Arithmetic::FloatBinary(
            FloatBinary::Add | FloatBinary::Sub | FloatBinary::Mul | FloatBinary::Div,
            ..,
        ) => OF_F32,
        Arithmetic::WordToFloat { .. } | Arithmetic::B64ToFloat { .. } => OF_F32,
        Arithmetic::Rare(rare) => of_rare(rare.op),
        Arithmetic::FloatUnary(
            FloatUnary::Move | FloatUnary::Negate | FloatUnary::Abs | FloatUnary::Round(_),
            ..,
        )
        | Arithmetic::FloatBinary(
            FloatBinary::Min | FloatBinary::Max | FloatBinary::MinNan | FloatBinary::MaxNan,
            ..,
        )
        | Arithmetic::WordUnary(..)
        | Arithmetic::WordBinary(..)
        | Arithmetic::WordTernary(..)
        | Arithmetic::BitFieldInsert(_)
        | Arithmetic::B64Unary(..)
        | Arithmetic::B64Binary(..)
        | Arithmetic::B64Mad(..)
        | Arithmetic::Carry(_)
        | Arithmetic::B64Count(..)
        | Arithmetic::MulWide { .. }
        | Arithmetic::MadWide { .. }
        | Arithmetic::Widen { .. }
        | Arithmetic::Narrow { .. }
        | Arithmetic::Pack { .. }
        | Arithmetic::Unpack { .. }
        | Arithmetic::FloatToInteger(_)
        | Arithmetic::Setp(_)
        | Arithmetic::SelectWord { .. }
        | Arithmetic::SelectB64 { .. }
        | Arithmetic::PredicateMove { .. }
        | Arithmetic::Predicate2(..)
        | Arithmetic::Split16 { .. } => 0.0,
    }
}

fn of_function(function: Approximation) -> f64 {
    Accuracy::approximate(function).relative
}

fn of_format(format: NarrowFormat) -> f64 {
    match format {
        NarrowFormat::F16 => OF_F16,
        NarrowFormat::Bf16 => OF_BF16,
    }
}

fn of_rare(op: RareOp) -> f64 {
    match op {
        RareOp::Convert(Convert { from, to, .. }) => match (from, to) {
            (Number::F32 | Number::F64 | Number::Bf16, Number::F16) => OF_F16,
            (Number::F32 | Number::F64 | Number::F16, Number::Bf16) => OF_BF16,
            (Number::F64 | Number::Integer { .. }, Number::F32) => OF_F32,
            (Number::Integer { .. }, Number::F64) => OF_F64,
            (Number::Integer { .. }, Number::F16) => OF_F16,
            (Number::Integer { .. }, Number::Bf16) => OF_BF16,
            // To a format that holds all numbers of the other, or to a whole number.
            (Number::F16, Number::F16)
            | (Number::Bf16, Number::Bf16)
            | (Number::F16 | Number::Bf16 | Number::F32, Number::F32)
            | (Number::F16 | Number::Bf16 | Number::F32 | Number::F64, Number::F64)
            | (_, Number::Integer { .. }) => 0.0,
        },
        RareOp::ConvertPair { format, .. } => of_format(format),
        RareOp::Double(Double::Negate | Double::Abs | Double::Min | Double::Max, _) => 0.0,
        RareOp::Double(_, Rounding::Nearest) => OF_F64,
        RareOp::Double(..) => 2.0 * OF_F64,
        RareOp::Narrow(Narrow { op, format, .. }) => match op {
            NarrowOp::Add | NarrowOp::Sub | NarrowOp::Mul | NarrowOp::Fma => of_format(format),
            NarrowOp::Negate | NarrowOp::Abs | NarrowOp::Min { .. } | NarrowOp::Max { .. } => 0.0,
        },
        // Of an operand below 2 pi.
        RareOp::Wave { .. } => Accuracy::wave(0.0).absolute,
        // Of 1 to the power of 1.
        RareOp::PowerWgsl { .. } => Accuracy::power([1.0; 2], [0.0; 2]).relative,
        RareOp::Half(_)
        | RareOp::SetNarrow { .. }
        | RareOp::MulWideHalf { .. }
        | RareOp::Permute(_)
        | RareOp::Extract(_)
        | RareOp::Insert64
        | RareOp::Find64 { .. }
        | RareOp::MaskBits { .. }
        | RareOp::Widen { .. }
        | RareOp::FindNth
        | RareOp::Reverse64
        | RareOp::SelectBySign { .. }
        | RareOp::CopySign { .. }
        | RareOp::DotBytes { .. }
        | RareOp::DotHalves { .. }
        | RareOp::Logic3(_)
        | RareOp::MadHigh { .. }
        | RareOp::Mul24 { .. }
        | RareOp::Sad { .. }
        | RareOp::Pack16
        | RareOp::Set { .. }
        | RareOp::IsIn(_)
        | RareOp::Test { .. } => 0.0,
    }
}

/// 1.5 times 2^22, 2^23 and 2^24: the last place of a sum with them is a half, 1 or 2.
pub(super) const ROUND: [f64; 3] = [6_291_456.0, 12_582_912.0, 25_165_824.0];

/// The bias of an f32's exponent, which a function may add to such a number: CUDA's expf takes 1.5 * 2^23 + 127, so that
/// the sum's lower bits are those of a power of two.
const BIAS: f64 = 128.0;

/// Whether a literal is far above what it is added to, to round it to a whole number: 1 or 1.5 times 2^22, 2^23 or 2^24,
/// perhaps with the bias of an exponent. Others of that size, such as a radius of 6378137 metres, are numbers.
pub(super) fn rounds(x: f64) -> bool {
    let is_near = |magic: f64| (x.abs() - magic).abs() <= BIAS;
    x.fract() == 0.0 && ROUND.iter().any(|&magic| is_near(magic) || is_near(magic / 1.5))
}
