//! Follows sums and products that take or leave a carry.

use super::super::super::ir::{Carry, SINK};
use super::super::super::lanes::Bits;
use super::super::super::registers::Registers;
use super::super::journal::Journal;
use super::super::number::Word;
use super::super::registers::Beside;

impl Journal {
    /// The bits of such a number are nobody's: neither those of the result nor the carry, which says something of all
    /// bits below.
    pub(super) fn carried(&mut self, beside: &mut Beside, r: &Registers, on: u32, carry: &Carry) {
        let Carry { wide, d, to, sources, from, .. } = *carry;
        let sources = || sources.into_iter().filter(|slot| *slot != SINK);
        let has = |slot| match wide {
            true => beside.has_wide(slot),
            false => beside.present(slot) & on != 0,
        };
        if beside.present(from) & on == 0 && !sources().any(has) {
            match wide {
                true => beside.clear_wide(d, on),
                false => beside.clear(d, on),
            }
            if to != SINK {
                beside.clear(to, on);
            }
            return;
        }
        for lane in Bits(on) {
            let mut words: Vec<Word> = vec![beside.word(from, lane)];
            for (k, slot) in sources().enumerate() {
                match wide {
                    true => words.extend(beside.wide(slot, lane).words(self.wides[k][lane])),
                    false => words.push(beside.word(slot, lane)),
                }
            }
            if wide {
                let found = self.scrambled(&words, r.b64.get(d)[lane]);
                beside.set_wide(d, lane, found);
            } else {
                let found = self.scrambled_word(&words, r.words.get(d)[lane]);
                beside.set_word(d, lane, found);
            }
            if to != SINK {
                let found = self.scrambled_word(&words, r.words.get(to)[lane]);
                beside.set_word(to, lane, found);
            }
        }
    }
}
