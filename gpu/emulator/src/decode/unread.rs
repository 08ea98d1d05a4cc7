//! Results of atomics that nobody reads.

use super::super::ir::{Instruction, SINK};
use super::super::parse::{Class, Operand, Register, RegisterCounts};

/// An `atom` whose result nobody reads is a reduction, whichever way the compiler spelt it. `code` is
/// that of a function with so many registers, which begin at `base`, and with these operands.
pub(super) fn discard_unread(
    code: &mut [Instruction],
    operands: &[Operand<'_>],
    (own, base): (RegisterCounts, RegisterCounts),
) {
    if !code.iter().filter_map(|i| i.op.atomic()).any(|a| a.results != [SINK; 4]) {
        return;
    }
    let [words, b64] = [own.words, own.b64].map(|count| vec![0_u32; usize::from(count)]);
    let mut mentions = Mentions { words, b64 };
    operands.iter().for_each(|operand| mentions.count(operand));
    for instruction in code {
        if let Some(atomic) = instruction.op.atomic_mut() {
            let (mentions, base) = match atomic.b64 {
                true => (&mentions.b64, base.b64),
                false => (&mentions.words, base.words),
            };
            for result in &mut atomic.results {
                let own = result.checked_sub(base).filter(|_| *result != SINK);
                if own.and_then(|slot| mentions.get(usize::from(slot))) == Some(&1) {
                    *result = SINK;
                }
            }
        }
    }
}

/// How often operands name each register.
struct Mentions {
    words: Vec<u32>,
    b64: Vec<u32>,
}

impl Mentions {
    fn count(&mut self, operand: &Operand<'_>) {
        match operand {
            Operand::Register(Register { class, slot }) => {
                let of_class = match class {
                    Class::Word | Class::Half => &mut self.words,
                    Class::B64 => &mut self.b64,
                    Class::Predicate => return,
                };
                if let Some(count) = of_class.get_mut(usize::from(*slot)) {
                    *count += 1;
                }
            }
            Operand::Pair(pair) => pair.iter().for_each(|operand| self.count(operand)),
            Operand::Vector(all) | Operand::List(all) => {
                all.iter().for_each(|operand| self.count(operand));
            }
            Operand::Address(base, _) => self.count(base),
            Operand::Name(_)
            | Operand::Label(_)
            | Operand::Not(_)
            | Operand::Integer(_)
            | Operand::Float(_)
            | Operand::Double(_) => {}
        }
    }
}
