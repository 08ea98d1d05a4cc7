//! Wrong kernels made from right ones: PTX text with one instruction changed.
//!
//! Tests of a kernel are as good as the wrong kernels that they tell from it. [`mutations`] lists,
//! instruction by instruction, the small mistakes that a kernel could hold ([`MutationKind`]), and
//! [`apply`] makes one. Both are functions of the text alone, so that a mutation is the same one on
//! every machine. Nothing here executes anything, and a mutation may be refused by
//! [`Module::parse`](crate::Module::parse) (an operation without a neighbour in the emulated subset):
//! who runs mutations counts those.
//!
//! Changes that cannot make a difference, whatever the data, are left out where the text alone shows it:
//! a shuffle's members that are all lanes already, a register by another that holds the same constant.
//!
//! Statements are read line by line, as compilers write them: a line that holds several statements,
//! or a part of one, is left alone.

mod fast;
mod number;
mod operand;
mod operation;
mod statement;
mod whole;

use statement::{Body, Statement};
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
        opcode.is_some_and(statement::synchronizes)
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

/// There is no kernel of that name to mutate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the PTX has no kernel '{0}' with a body of its own")]
pub struct NoSuchKernel(pub String);

/// Every mutation of a kernel, in the order of its lines.
///
/// # Errors
/// [`NoSuchKernel`].
pub fn mutations(ptx: &str, kernel: &str) -> Result<Vec<Mutation>, NoSuchKernel> {
    let body = Body::find(ptx, kernel).ok_or_else(|| NoSuchKernel(kernel.to_owned()))?;
    let mut all = Vec::new();
    for (index, statement) in body.statements.iter().enumerate() {
        let mut changes = Changes { statement, all: &mut all };
        operation::change(&mut changes, &body, index);
        fast::change(&mut changes);
        operand::change(&mut changes, &body, index);
        whole::change(&mut changes, &body, index);
    }
    fast::change_all(&mut all, &body);
    Ok(all)
}

/// The PTX with the instruction changed. All other lines stay where they are.
#[must_use]
pub fn apply(ptx: &str, mutation: &Mutation) -> String {
    let mut text = String::with_capacity(ptx.len() + mutation.replacement.len());
    let first = (mutation.line, &mutation.replacement);
    let mut changed =
        std::iter::once(first).chain(mutation.also.iter().map(|(line, t)| (*line, t))).peekable();
    for (line, number) in ptx.split_inclusive('\n').zip(1_u32..) {
        match changed.next_if(|(changed, _)| *changed == number) {
            Some((_, replacement)) => {
                text.push('\t');
                text.push_str(replacement);
                text.push('\n');
            }
            None => text.push_str(line),
        }
    }
    text
}

/// The mutations of one statement, as they are found.
struct Changes<'m, 's, 'a> {
    statement: &'s Statement<'a>,
    all: &'m mut Vec<Mutation>,
}

impl Changes<'_, '_, '_> {
    /// Adds a mutation, unless it is the statement itself or the line has it already.
    fn push(&mut self, kind: MutationKind, what: String, replacement: String) {
        self.push_labelled(kind, what.clone(), what, replacement);
    }

    /// The same with a label of its own.
    fn push_labelled(
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
    fn replace(&mut self, kind: MutationKind, what: String, opcode: &str, operands: &[&str]) {
        let replacement = format!("{}{}", self.statement.guard_text(), joined(opcode, operands));
        self.push(kind, what, replacement);
    }
}

/// `opcode a, b, c;`
fn joined(opcode: &str, operands: &[&str]) -> String {
    if operands.is_empty() {
        return format!("{opcode};");
    }
    format!("{opcode} {};", operands.join(", "))
}

#[cfg(test)]
mod tests;
