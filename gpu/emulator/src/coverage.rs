//! What launches execute of a kernel, instruction by instruction: the lines that nothing reaches and
//! the predicates that only ever go one way are where a wrong kernel passes unseen.
//!
//! Only counted when [`Observers::coverage`](super::Observers) asks for it. A launch that ends with a
//! fault gives no counts.

use super::ir::{Arithmetic, Control, File, Instruction, Kernel, Op, Place, Rare, SINK, Slot};
use super::registers::Registers;

/// Executions of some instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Executed {
    /// By a warp or part of one.
    pub warps: u64,
    /// By lanes.
    pub lanes: u64,
}

impl Executed {
    /// By one warp, or part of one: by these lanes.
    #[inline(always)]
    pub(super) fn once(lanes: u32) -> Self {
        Self { warps: 1, lanes: u64::from(lanes.count_ones()) }
    }

    /// Modulo 2^64: what ends takes away again what began.
    #[inline(always)]
    pub(super) fn add(&mut self, Self { warps, lanes }: Self) {
        self.warps = self.warps.wrapping_add(warps);
        self.lanes = self.lanes.wrapping_add(lanes);
    }

    /// What takes it away again.
    #[inline(always)]
    pub(super) fn negated(self) -> Self {
        Self { warps: self.warps.wrapping_neg(), lanes: self.lanes.wrapping_neg() }
    }
}

/// On how many lanes a predicate was true and on how many it was false.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Outcomes {
    /// Lanes on which it was true.
    pub holds: u64,
    /// Lanes on which it was false.
    pub fails: u64,
}

impl Outcomes {
    /// Whether both were seen.
    #[must_use]
    pub fn both(self) -> bool {
        self.holds > 0 && self.fails > 0
    }

    fn add(&mut self, holds: u32, fails: u32) {
        self.merge(Self {
            holds: u64::from(holds.count_ones()),
            fails: u64::from(fails.count_ones()),
        });
    }

    fn merge(&mut self, other: Self) {
        self.holds += other.holds;
        self.fails += other.fails;
    }
}

/// What launches did with one instruction of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionCoverage {
    /// Its line in the PTX source, from 1.
    pub line: u32,
    /// Whether it is a branch: its guard then says whether the branch is taken.
    pub branch: bool,
    /// How often it was executed, by warps (or parts of one) and by lanes in all.
    pub executed: Executed,
    /// Its guard (`@p` or `@!p`) on the lanes that came to it: `holds` counts those that executed
    /// it. `None` for an instruction without a guard.
    pub guard: Option<Outcomes>,
    /// The predicate that it computes (`setp`, and logic on predicates). `None` for other
    /// instructions; copies, votes and barriers show in the guards that use their results.
    pub predicate: Option<Outcomes>,
}

/// What launches did with each instruction of a kernel, in the order of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCoverage {
    /// The instructions. That a body may end without `ret` adds none.
    pub instructions: Vec<InstructionCoverage>,
}

/// Counts of two kernels cannot be added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("counts of kernels with {mine} and {theirs} instructions: they are not the same kernel")]
pub struct OtherKernel {
    /// Instructions of the one.
    pub mine: usize,
    /// Instructions of the other.
    pub theirs: usize,
}

impl KernelCoverage {
    /// Adds another's counts, which must be of the same kernel.
    ///
    /// # Errors
    /// [`OtherKernel`] where they have different instructions; nothing is then added.
    pub fn merge(&mut self, other: &Self) -> Result<(), OtherKernel> {
        fn lines(one: &KernelCoverage) -> impl Iterator<Item = u32> {
            one.instructions.iter().map(|i| i.line)
        }
        if !lines(self).eq(lines(other)) {
            let (mine, theirs) = (self.instructions.len(), other.instructions.len());
            return Err(OtherKernel { mine, theirs });
        }
        for (mine, theirs) in self.instructions.iter_mut().zip(&other.instructions) {
            mine.executed.add(theirs.executed);
            for (mine, theirs) in
                [(&mut mine.guard, theirs.guard), (&mut mine.predicate, theirs.predicate)]
            {
                if let (Some(mine), Some(theirs)) = (mine, theirs) {
                    mine.merge(theirs);
                }
            }
        }
        Ok(())
    }
}

/// The outcomes of a running launch, by instruction.
#[derive(Debug)]
pub(super) struct Outcome {
    guards: Vec<Outcomes>,
    predicates: Vec<Outcomes>,
}

impl Outcome {
    pub(super) fn new(kernel: &Kernel) -> Self {
        let none = vec![Outcomes::default(); kernel.code.len()];
        Self { guards: none.clone(), predicates: none }
    }

    /// Lanes came to an instruction with a guard.
    #[cold]
    pub(super) fn guard(&mut self, pc: u32, holds: u32, fails: u32) {
        self.guards[pc as usize].add(holds, fails);
    }

    /// The active lanes executed an instruction of arithmetic.
    #[cold]
    pub(super) fn result(&mut self, pc: u32, op: &Arithmetic, registers: &Registers, active: u32) {
        if let Some(slot) = computed(op) {
            let bits = registers.predicates[usize::from(slot)];
            let known = active & !registers.predicate_poison[usize::from(slot)];
            self.predicates[pc as usize].add(bits & known, !bits & known);
        }
    }

    /// The coverage of a finished launch.
    pub(super) fn coverage(&self, kernel: &Kernel, executed: &[Executed]) -> KernelCoverage {
        let one = |(pc, instruction): (usize, &Instruction)| InstructionCoverage {
            line: instruction.line,
            branch: matches!(instruction.op, Op::Control(Control::Branch { .. })),
            executed: executed[pc],
            guard: instruction.guard.map(|_| self.guards[pc]),
            predicate: match &instruction.op {
                Op::Arithmetic(op) => computed(op).map(|_| self.predicates[pc]),
                Op::Memory(_) | Op::Synchronization(_) | Op::Control(_) => None,
            },
        };
        // The last is the exit that decoding adds.
        let written = kernel.code.len().saturating_sub(1);
        KernelCoverage {
            instructions: kernel.code[..written].iter().enumerate().map(one).collect(),
        }
    }
}

/// The predicate that an instruction computes.
fn computed(op: &Arithmetic) -> Option<Slot> {
    let slot = match op {
        Arithmetic::Setp(setp) => setp.d,
        Arithmetic::Rare(Rare { d: Place { file: File::Predicate, slot }, .. }) => *slot,
        Arithmetic::Predicate2(_, d, _, _) => *d,
        Arithmetic::Rare(_)
        | Arithmetic::Split16 { .. }
        | Arithmetic::PredicateMove { .. }
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
        | Arithmetic::FloatUnary(..)
        | Arithmetic::FloatBinary(..)
        | Arithmetic::Fma(..)
        | Arithmetic::FloatToInteger(_)
        | Arithmetic::WordToFloat { .. }
        | Arithmetic::B64ToFloat { .. }
        | Arithmetic::SelectWord { .. }
        | Arithmetic::SelectB64 { .. } => return None,
    };
    (slot != SINK).then_some(slot)
}

#[cfg(test)]
mod tests;
