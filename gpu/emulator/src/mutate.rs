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

mod change;
mod fast;
mod number;
mod operand;
mod operation;
mod statement;
mod whole;

use change::Changes;
pub use change::{Mutation, MutationKind};
use statement::Body;

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

#[cfg(test)]
mod tests;
