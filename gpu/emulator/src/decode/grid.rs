//! What the driver gives the blocks of a grid to meet by.
//!
//! `grid_group::sync()` of cooperative groups counts in a few bytes of global memory, whose address a cooperative launch
//! leaves in the registers `%envreg1`, its upper half, and `%envreg2`. Here every launch is one: the bytes are a variable
//! of the module.

use super::super::ir::{Arithmetic, WordUnary};
use super::super::parse::{Operand, ParameterKind, Parsed, Source, Space, Variable};
use super::operands::Decoder;

/// The variable's name, which no source can spell.
const NAME: &str = "%envreg";

/// The count is in the second word, and the others are never read; they are as many as CUDA's.
const BYTES: u64 = 8;

/// The registers with the address, and how far its half is to be shifted.
const HALVES: [(&str, u32); 2] = [("%envreg1", 32), ("%envreg2", 0)];

fn shift(name: &str) -> Option<u32> {
    HALVES.iter().find(|(half, _)| *half == name).map(|(_, shift)| *shift)
}

/// Adds the variable to a source that reads its address.
pub(super) fn give(source: &mut Source<'_>) {
    let asks =
        |operand: &Operand<'_>| matches!(operand, Operand::Name(name) if shift(name).is_some());
    if source.operands.iter().any(asks) {
        let initial = vec![0; usize::try_from(BYTES).unwrap_or(0)];
        source.variables.push(Variable {
            name: NAME,
            space: Space::Global,
            size: BYTES,
            align: BYTES,
            kind: ParameterKind::Whole,
            dynamic: false,
            initial,
        });
    }
}

impl Decoder<'_, '_> {
    /// `mov.u32 d, %envreg1` and its like; `None` for other registers.
    pub(super) fn half_of_grid(&mut self, name: &str) -> Parsed<Option<Arithmetic>> {
        let Some((shift, symbol)) = shift(name).zip(self.scope.symbols.get(NAME)) else {
            return Ok(None);
        };
        let half = self.constant((symbol.at >> shift & 0xffff_ffff) as u32)?;
        Ok(Some(Arithmetic::WordUnary(WordUnary::Move, self.to_word(0)?, half)))
    }
}
