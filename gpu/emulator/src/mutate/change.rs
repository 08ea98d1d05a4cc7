//! What a mutation is, and how those of a statement are gathered.

use super::statement::{Statement, joined, synchronizes};
use std::fmt;

/// What a mutation changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MutationKind {
    /// The operation by its neighbour: add and sub, mul and div, min and max, lt and le, ...
    Operation,
    /// The direction of rounding.
    Rounding,
    /// A register that is read by another one of its type that was written above, or two sources
    /// exchanged.
    Operand,
    /// A constant, or the offset of an address.
    Immediate,
    /// The predicate of a guarded instruction: negated, ignored, or never true.
    Guard,
    /// A store, an atomic or a barrier left out.
    Omission,
    /// An atomic by a load, the operation and a store.
    PlainAtomic,
    /// A shuffle left out, or other lanes as its members.
    Warp,
    /// A special register by another: lanes, threads and blocks exchanged.
    Special,
    /// An integer result cut to 16 or 8 bits.
    Width,
    /// An f32 result cut to the 10 fraction bits of an f16. The 13 low bits are masked: a stand-in for
    /// a conversion to f16 and back, which rounds to nearest and has a smaller range.
    HalfPrecision,
    /// An f32 instruction as `--use_fast_math` compiles it: approximate. Or all of them at once,
    /// approximate or flushing subnormals.
    FastInstruction,
}

impl MutationKind {
    /// Every kind.
    pub const ALL: [Self; 12] = [
        Self::Operation,
        Self::Rounding,
        Self::Operand,
        Self::Immediate,
        Self::Guard,
        Self::Omission,
        Self::PlainAtomic,
        Self::Warp,
        Self::Special,
        Self::Width,
        Self::HalfPrecision,
        Self::FastInstruction,
    ];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Operation => "operation",
            Self::Rounding => "rounding",
            Self::Operand => "operand",
            Self::Immediate => "immediate",
            Self::Guard => "guard",
            Self::Omission => "omission",
            Self::PlainAtomic => "plain atomic",
            Self::Warp => "warp",
            Self::Special => "special register",
            Self::Width => "width",
            Self::HalfPrecision => "half precision",
            Self::FastInstruction => "fast instruction",
        }
    }
}

impl fmt::Display for MutationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One instruction changed, or many alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// Line of the source, from 1.
    pub line: u32,
    /// What is changed.
    pub kind: MutationKind,
    /// The instruction as it was, with single spaces.
    pub instruction: String,
    /// The change in a few words, such as `add -> sub` or `%f3 -> %f1 in operand 2`.
    pub what: String,
    /// The same without the names of registers, which are another compiler's own: `operand 2 by the last` for
    /// the register of its type that was written last before, `operand 2 by another`.
    pub label: String,
    /// What stands on the line instead.
    pub replacement: String,
    /// What changes with it on other lines, in their order: nothing, unless the mistake is one of the
    /// whole kernel.
    pub also: Vec<(u32, String)>,
}

impl Mutation {
    /// Whether the instruction orders or exchanges what threads do (barriers, fences, atomics,
    /// shuffles, votes): a mistake in one may show under some schedules only.
    #[must_use]
    pub fn synchronizes(&self) -> bool {
        let opcode = self.instruction.split(' ').find(|word| !word.starts_with('@'));
        opcode.is_some_and(synchronizes)
    }

    /// Whether many instructions change at once, as by another option of the compiler.
    #[must_use]
    pub fn is_of_whole_kernel(&self) -> bool {
        !self.also.is_empty()
    }

    /// The lines that change, in order.
    pub fn lines(&self) -> impl Iterator<Item = u32> {
        std::iter::once(self.line).chain(self.also.iter().map(|(line, _)| *line))
    }

    /// Whether an instruction that rounds to nearest was made an approximate one: its mistake shows
    /// only where the emulator perturbs approximate results
    /// ([`ApproximationMode::Perturbed`](crate::ApproximationMode::Perturbed)).
    #[must_use]
    pub fn approximates(&self) -> bool {
        let is = |text: &str| [".approx", ".full"].iter().any(|part| text.contains(part));
        is(&self.replacement) && !is(&self.instruction)
    }
}

/// The mutations of one statement, as they are found.
pub(super) struct Changes<'m, 's, 'a> {
    pub(super) statement: &'s Statement<'a>,
    pub(super) all: &'m mut Vec<Mutation>,
}

impl Changes<'_, '_, '_> {
    /// Adds a mutation, unless it is the statement itself or the line has it already.
    pub(super) fn push(&mut self, kind: MutationKind, what: String, replacement: String) {
        self.push_labelled(kind, what.clone(), what, replacement);
    }

    /// The same with a label of its own.
    pub(super) fn push_labelled(
        &mut self,
        kind: MutationKind,
        what: String,
        label: String,
        replacement: String,
    ) {
        let Statement { line, .. } = *self.statement;
        let instruction = self.statement.to_string();
        let of_line = self.all.iter().rev().take_while(|mutation| mutation.line == line);
        let known = of_line.map(|mutation| &mutation.replacement).any(|r| *r == replacement);
        if replacement != instruction && !known {
            let also = Vec::new();
            self.all.push(Mutation { line, kind, instruction, what, label, replacement, also });
        }
    }

    /// Adds the statement with another opcode and operands, its guard kept.
    pub(super) fn replace(
        &mut self,
        kind: MutationKind,
        what: String,
        opcode: &str,
        operands: &[&str],
    ) {
        let replacement = format!("{}{}", self.statement.guard_text(), joined(opcode, operands));
        self.push(kind, what, replacement);
    }
}
