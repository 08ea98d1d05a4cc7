//! Where kernels depart from the derivative on purpose: a clamp that lets the gradient pass, a number that is
//! taken as a constant.

use std::collections::{BTreeMap, BTreeSet};

use super::super::ir::{
    Arithmetic, FloatBinary, FloatToInteger, FloatUnary, Instruction, Kernel, Op, Slot,
};

/// Lines of CUDA (`file.cu:81`) at which the derivative is another on purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conventions {
    /// A selection, minimum, maximum or clamp there hands the derivative on to the operand that depends on
    /// inputs, also where it took the other; a rounding to a whole number hands it on to what was rounded.
    pub straight_through: BTreeSet<String>,
    /// What is computed there is a constant.
    pub detach: BTreeSet<String>,
}

/// What an instruction does with the derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Departure {
    Straight,
    Detach,
}

impl Conventions {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.straight_through.is_empty() && self.detach.is_empty()
    }

    /// Those of each instruction of a kernel; nothing where there are none at all.
    pub(super) fn of(&self, kernel: &Kernel) -> Vec<Option<Departure>> {
        if self.is_empty() {
            return Vec::new();
        }
        let of = |instruction: &Instruction| {
            let line = kernel.origins.get(&instruction.line)?;
            match (self.straight_through.contains(line), self.detach.contains(line)) {
                (_, true) => Some(Departure::Detach),
                (true, false) => Some(Departure::Straight),
                (false, false) => None,
            }
        };
        kernel.code.iter().map(of).collect()
    }
}

/// The operand of a rounding to a whole number.
pub(super) fn rounded(op: &Arithmetic) -> Option<Slot> {
    match *op {
        Arithmetic::FloatUnary(FloatUnary::Round(_), _, _, a)
        | Arithmetic::FloatToInteger(FloatToInteger { a, .. }) => Some(a),
        _ => None,
    }
}

/// The result and the two operands of an instruction that takes one of them.
pub(super) fn choice(op: &Arithmetic) -> Option<(Slot, [Slot; 2])> {
    match (op, result(op)?) {
        (&Arithmetic::SelectWord { a, b, .. }, d) => Some((d, [a, b])),
        (
            &Arithmetic::FloatBinary(
                FloatBinary::Min | FloatBinary::Max | FloatBinary::MinNan | FloatBinary::MaxNan,
                _,
                _,
                a,
                b,
            ),
            d,
        ) => Some((d, [a, b])),
        _ => None,
    }
}

/// Where an instruction leaves an f32; `None` for those that leave none.
pub(super) fn result(op: &Arithmetic) -> Option<Slot> {
    match *op {
        Arithmetic::FloatUnary(_, _, d, _)
        | Arithmetic::FloatBinary(_, _, d, _, _)
        | Arithmetic::Fma(_, _, d, _, _, _)
        | Arithmetic::WordUnary(_, d, _)
        | Arithmetic::WordToFloat { d, .. }
        | Arithmetic::B64ToFloat { d, .. }
        | Arithmetic::SelectWord { d, .. } => Some(d),
        Arithmetic::WordBinary(..)
        | Arithmetic::WordTernary(..)
        | Arithmetic::BitFieldInsert(_)
        | Arithmetic::Setp(_)
        | Arithmetic::PredicateMove { .. }
        | Arithmetic::Predicate2(..)
        | Arithmetic::FloatToInteger(_)
        | Arithmetic::Split16 { .. }
        | Arithmetic::Rare(_)
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
        | Arithmetic::SelectB64 { .. } => None,
    }
}

/// Whether an instruction's end is a clamp from 0 to 1 (`.sat`).
fn saturates(op: &Arithmetic) -> bool {
    match op {
        Arithmetic::FloatUnary(_, flags, ..)
        | Arithmetic::FloatBinary(_, flags, ..)
        | Arithmetic::Fma(_, flags, ..) => flags.saturate,
        _ => false,
    }
}

impl Kernel {
    /// Lines of CUDA at which something is computed in f32, each with whether an operand is chosen, or a
    /// number clamped or rounded there.
    pub(crate) fn departures(&self) -> BTreeMap<String, bool> {
        let mut all = BTreeMap::new();
        for instruction in &self.code {
            let Op::Arithmetic(op) = &instruction.op else { continue };
            let Some(line) = self.origins.get(&instruction.line) else { continue };
            let rounds = rounded(op).is_some();
            if !line.is_empty() && (rounds || result(op).is_some()) {
                let chooses = rounds || choice(op).is_some() || saturates(op);
                *all.entry(line.clone()).or_insert(false) |= chooses;
            }
        }
        all
    }
}
