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
}

impl MutationKind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
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
        }
    }
}

impl fmt::Display for MutationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One instruction changed.
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
    /// What stands on the line instead.
    pub replacement: String,
}

impl Mutation {
    /// Whether the instruction orders or exchanges what threads do (barriers, fences, atomics,
    /// shuffles, votes): a mistake in one may show under some schedules only.
    #[must_use]
    pub fn synchronizes(&self) -> bool {
        let opcode = self.instruction.split(' ').find(|word| !word.starts_with('@'));
        opcode.is_some_and(statement::synchronizes)
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
        operation::change(&mut changes, &body);
        operand::change(&mut changes, &body, index);
        whole::change(&mut changes, &body);
    }
    Ok(all)
}

/// The PTX with the instruction changed. All other lines stay where they are.
#[must_use]
pub fn apply(ptx: &str, mutation: &Mutation) -> String {
    let mut text = String::with_capacity(ptx.len() + mutation.replacement.len());
    for (line, number) in ptx.split_inclusive('\n').zip(1_u32..) {
        if number == mutation.line {
            text.push('\t');
            text.push_str(&mutation.replacement);
            text.push('\n');
        } else {
            text.push_str(line);
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
        let Statement { line, .. } = *self.statement;
        let instruction = self.statement.to_string();
        let of_line = self.all.iter().rev().take_while(|mutation| mutation.line == line);
        let known = of_line.map(|mutation| &mutation.replacement).any(|r| *r == replacement);
        if replacement != instruction && !known {
            self.all.push(Mutation { line, kind, instruction, what, replacement });
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
