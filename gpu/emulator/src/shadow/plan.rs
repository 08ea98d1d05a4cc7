//! What is known of an instruction before the kernel runs: which of its operands must be kept for after it,
//! and, of an operation on f32, its row of the table.

use super::super::ir::{
    Approximation, Arithmetic, Boolean, Compared, File, FloatBinary, FloatFlags, FloatToInteger,
    FloatUnary, Kernel, Op, Place, Predicate, Rounding, SINK, Slot, WordUnary,
};
use super::table::accuracy::Accuracy;
use super::table::{Function, Library};

/// No operand.
const NONE: Place = Place { file: File::Predicate, slot: 0 };

/// When the bits of operands are kept, which the result may be written over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// What follows it does not look at them.
    Never,
    /// Those that have not a float beside them in all lanes.
    NoFloats,
    /// All, if something is beside one of them.
    Beside,
    Always,
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// The registers that it reads, but for addresses, amounts that nobody follows, and predicates.
    pub(super) sources: [Place; 4],
    pub(super) keep: Keep,
    pub(super) operation: Option<Operation>,
    /// The predicate that a comparison is combined with, which its result may be written over.
    pub(super) combine: Option<(Boolean, Predicate)>,
}

impl Plan {
    const NOTHING: Self =
        Self { sources: [NONE; 4], keep: Keep::Never, operation: None, combine: None };

    /// Of each instruction of a kernel.
    pub(super) fn all(kernel: &Kernel) -> Vec<Self> {
        let of = |op: &Op| match op {
            Op::Arithmetic(op) => {
                let combine = match op {
                    Arithmetic::Setp(setp) => setp.combine,
                    _ => None,
                };
                Self { sources: sources(op), keep: keep(op), operation: Operation::of(op), combine }
            }
            Op::Memory(_) | Op::Synchronization(_) | Op::Control(_) => Self::NOTHING,
        };
        kernel.code.iter().map(|instruction| of(&instruction.op)).collect()
    }

    /// The same where the derivative of some instructions is another on purpose: these look at the operands.
    pub(super) fn departing(self) -> Self {
        Self { keep: Keep::Always, ..self }
    }
}

/// An instruction that gives an f32 by the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub(super) function: Function,
    pub(super) accuracy: Accuracy,
    /// `.sat`.
    pub(super) saturate: bool,
    pub(super) d: Slot,
    slots: [Slot; 3],
    count: u8,
}

impl Operation {
    /// The registers of its operands.
    #[inline(always)]
    pub(super) fn operands(&self) -> &[Slot] {
        &self.slots[..usize::from(self.count & 3)]
    }

    /// Of a sum, which of its operands are added: a b + c adds c.
    #[inline(always)]
    pub(super) fn addends(&self) -> &[Slot] {
        match self.function {
            Function::Sum | Function::Difference => &self.slots[..2],
            Function::Fused => &self.slots[2..],
            _ => &[],
        }
    }

    /// That of an instruction; `None` for one that moves, chooses, decides, or has no f32 as its result.
    fn of(op: &Arithmetic) -> Option<Self> {
        let (function, accuracy, flags, d, slots) = match *op {
            Arithmetic::FloatUnary(op, flags, d, a) => {
                let (function, accuracy) = unary(op, flags)?;
                (function, accuracy, flags, d, [a, 0, 0])
            }
            Arithmetic::FloatBinary(op, flags, d, a, b) => {
                let (function, accuracy) = binary(op)?;
                (function, accuracy, flags, d, [a, b, 0])
            }
            Arithmetic::Fma(rounding, flags, d, a, b, c) => {
                (Function::Fused, Accuracy::rounded(rounding), flags, d, [a, b, c])
            }
            _ => return None,
        };
        let accuracy = accuracy.flushing(flags.flush);
        let count = u8::try_from(function.operands()).unwrap_or(3);
        Some(Self { function, accuracy, saturate: flags.saturate, d, slots, count })
    }
}

fn unary(op: FloatUnary, flags: FloatFlags) -> Option<(Function, Accuracy)> {
    let FloatFlags { flush, saturate } = flags;
    Some(match op {
        FloatUnary::Move if !saturate && !flush => return None,
        FloatUnary::Round(_) => return None,
        FloatUnary::Move => (Function::Identity, Accuracy::EXACT),
        FloatUnary::Negate => (Function::Negate, Accuracy::EXACT),
        FloatUnary::Abs => (Function::Absolute, Accuracy::EXACT),
        FloatUnary::Reciprocal => (Function::Reciprocal, Accuracy::rounded(Rounding::Nearest)),
        FloatUnary::Sqrt => (Function::Root, Accuracy::rounded(Rounding::Nearest)),
        FloatUnary::Approximate(f) => (approximated(f), Accuracy::approximate(f)),
    })
}

fn binary(op: FloatBinary) -> Option<(Function, Accuracy)> {
    let rounded = Accuracy::rounded(Rounding::Nearest);
    Some(match op {
        FloatBinary::Add => (Function::Sum, rounded),
        FloatBinary::Sub => (Function::Difference, rounded),
        FloatBinary::Mul => (Function::Product, rounded),
        FloatBinary::Div => (Function::Quotient, rounded),
        FloatBinary::Min | FloatBinary::Max | FloatBinary::MinNan | FloatBinary::MaxNan => {
            return None;
        }
        FloatBinary::Approximate(f) => (approximated(f), Accuracy::approximate(f)),
    })
}

/// The function of an approximate instruction.
pub(super) fn approximated(f: Approximation) -> Function {
    match f {
        Approximation::Ex2 | Approximation::Ex2Wgsl => Function::Exp2,
        Approximation::Lg2 | Approximation::Lg2Wgsl => Function::Log2,
        Approximation::Tanh => Function::Library(Library::Tanh),
        Approximation::Rcp => Function::Reciprocal,
        Approximation::Sqrt => Function::Root,
        Approximation::Rsqrt | Approximation::RsqrtWgsl => Function::ReciprocalRoot,
        Approximation::Div | Approximation::DivFull => Function::Quotient,
        Approximation::Atan2Wgsl => Function::Library(Library::Atan2),
    }
}

fn keep(op: &Arithmetic) -> Keep {
    match op {
        // Moves, and what predicates decide, which is followed as it was taken.
        Arithmetic::WordUnary(WordUnary::Move, ..)
        | Arithmetic::SelectWord { .. }
        | Arithmetic::PredicateMove { .. }
        | Arithmetic::Predicate2(..) => Keep::Never,
        Arithmetic::Fma(..) | Arithmetic::FloatUnary(..) | Arithmetic::FloatToInteger(_) => {
            Keep::NoFloats
        }
        Arithmetic::FloatBinary(op, ..) => match op {
            FloatBinary::Add
            | FloatBinary::Sub
            | FloatBinary::Mul
            | FloatBinary::Div
            | FloatBinary::Approximate(_) => Keep::NoFloats,
            FloatBinary::Min | FloatBinary::Max | FloatBinary::MinNan | FloatBinary::MaxNan => {
                Keep::Always
            }
        },
        Arithmetic::Setp(setp) => match setp.compared {
            Compared::Float { .. } => Keep::NoFloats,
            Compared::Double | Compared::Narrow { .. } => Keep::Always,
            Compared::Unsigned
            | Compared::Signed
            | Compared::Unsigned16
            | Compared::Signed16
            | Compared::Unsigned64
            | Compared::Signed64 => Keep::Beside,
        },
        Arithmetic::WordUnary(..)
        | Arithmetic::WordBinary(..)
        | Arithmetic::WordTernary(..)
        | Arithmetic::BitFieldInsert(_)
        | Arithmetic::Split16 { .. }
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
        | Arithmetic::SelectB64 { .. } => Keep::Beside,
        Arithmetic::WordToFloat { .. } | Arithmetic::B64ToFloat { .. } | Arithmetic::Rare(_) => {
            Keep::Always
        }
    }
}

/// [`Plan::sources`].
fn sources(op: &Arithmetic) -> [Place; 4] {
    let word = |slot| Place { file: File::Word, slot };
    let wide = |slot| Place { file: File::B64, slot };
    match *op {
        Arithmetic::WordUnary(_, _, a)
        | Arithmetic::FloatUnary(_, _, _, a)
        | Arithmetic::WordToFloat { a, .. }
        | Arithmetic::Widen { a, .. }
        | Arithmetic::FloatToInteger(FloatToInteger { a, .. }) => [word(a), NONE, NONE, NONE],
        Arithmetic::Split16 { a, .. } => [a, NONE, NONE, NONE],
        Arithmetic::WordBinary(_, _, a, b)
        | Arithmetic::FloatBinary(_, _, _, a, b)
        | Arithmetic::MulWide { a, b, .. }
        | Arithmetic::SelectWord { a, b, .. } => [word(a), word(b), NONE, NONE],
        Arithmetic::Pack { low, high, .. } => [word(low), word(high), NONE, NONE],
        Arithmetic::WordTernary(_, _, a, b, c) | Arithmetic::Fma(_, _, _, a, b, c) => {
            [word(a), word(b), word(c), NONE]
        }
        Arithmetic::BitFieldInsert([_, a, b, c, d]) => [word(a), word(b), word(c), word(d)],
        Arithmetic::B64Unary(_, _, a)
        | Arithmetic::B64Count(_, _, a)
        | Arithmetic::Narrow { a, .. }
        | Arithmetic::Unpack { a, .. }
        | Arithmetic::B64ToFloat { a, .. } => [wide(a), NONE, NONE, NONE],
        Arithmetic::B64Binary(op, _, a, b) => {
            [wide(a), if op.shifts() { word(b) } else { wide(b) }, NONE, NONE]
        }
        Arithmetic::SelectB64 { a, b, .. } => [wide(a), wide(b), NONE, NONE],
        Arithmetic::B64Mad(_, a, b, c) => [wide(a), wide(b), wide(c), NONE],
        Arithmetic::MadWide { a, b, c, .. } => [word(a), word(b), wide(c), NONE],
        Arithmetic::Setp(setp) => match setp.compared {
            Compared::Unsigned64 | Compared::Signed64 | Compared::Double => {
                [wide(setp.a), wide(setp.b), NONE, NONE]
            }
            Compared::Unsigned
            | Compared::Signed
            | Compared::Unsigned16
            | Compared::Signed16
            | Compared::Float { .. }
            | Compared::Narrow { .. } => [word(setp.a), word(setp.b), NONE, NONE],
        },
        Arithmetic::PredicateMove { .. } | Arithmetic::Predicate2(..) => [NONE; 4],
        Arithmetic::Carry(carry) => {
            let [a, b, c] = carry.sources.map(|slot| match (slot, carry.wide) {
                (SINK, _) => NONE,
                (slot, true) => wide(slot),
                (slot, false) => word(slot),
            });
            [a, b, c, word(carry.from)]
        }
        Arithmetic::Rare(rare) => rare.sources.map(|source| source.unwrap_or(NONE)),
    }
}
