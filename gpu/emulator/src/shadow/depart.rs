//! Follows instructions at which the derivative is another on purpose.

use super::super::ir::Arithmetic;
use super::super::lanes::Bits;
use super::super::registers::Registers;
use super::conventions::{Departure, choice, result};
use super::journal::Journal;
use super::number::{Shadow, UNRECORDED, Word, depends};
use super::registers::Beside;
use super::table::Function;
use super::tape::Flags;

impl Journal {
    /// What the instruction being executed does with the derivative.
    pub(super) fn departure(&self) -> Option<Departure> {
        self.departures.get(self.pc as usize).copied().flatten()
    }

    /// The operands of a choice that hands the derivative on, before it is made.
    pub(super) fn handed(
        &mut self,
        beside: &Beside,
        on: u32,
        op: &Arithmetic,
    ) -> Vec<(usize, Shadow)> {
        let Some((_, operands)) = choice(op) else { return Vec::new() };
        let mut all = Vec::new();
        for lane in Bits(on) {
            let of = |journal: &mut Self, k: usize| {
                let (word, bits) =
                    (journal.word(beside, operands[k], lane), journal.words[k][lane]);
                match word {
                    Word::None => None,
                    word => Some(journal.float(word, bits)),
                }
            };
            let found = [of(self, 0), of(self, 1)].into_iter().flatten().find(|s| depends(s.n));
            all.extend(found.map(|shadow| (lane, shadow)));
        }
        all
    }

    /// After an instruction at which the derivative is another on purpose.
    pub(super) fn depart(
        &mut self,
        beside: &mut Beside,
        r: &Registers,
        (on, op): (u32, &Arithmetic),
        (departure, handed): (Departure, &[(usize, Shadow)]),
    ) {
        let Some(d) = result(op) else { return };
        let float = |beside: &Beside, lane: usize| match beside.word(d, lane) {
            Word::Float(shadow) => shadow,
            _ => Shadow::single(r.words.get(d)[lane]),
        };
        match departure {
            Departure::Detach => {
                for lane in Bits(on) {
                    if let Word::Float(shadow) = beside.word(d, lane) {
                        let constant = Shadow { n: UNRECORDED, ..shadow };
                        beside.set_word(d, lane, Word::Float(constant));
                    }
                }
            }
            Departure::Straight => {
                for (lane, operand) in handed {
                    let taken = float(beside, *lane);
                    if depends(taken.n) {
                        continue;
                    }
                    let number = (taken.x, taken.c);
                    let parents = [Some(operand), None, None];
                    let n = self.node(Function::Identity, parents, number, Flags::default());
                    beside.set_word(d, *lane, Word::Float(Shadow { n, ..taken }));
                }
            }
        }
    }
}
