//! The shadows of a memory, one beside every 4 bytes, by blocks that are made at the first store.
//!
//! Each has the bits it belongs to. Where they are not those of the memory, something wrote past it, and
//! the shadow does not count (the rule of `NSan`, arXiv 2102.12782).

use std::collections::HashMap;

use super::number::{Shadow, UNRECORDED, Word, up};
use super::table::accuracy::NORMAL;

/// Words of a block.
const BLOCK: usize = 256;

/// What is beside a word of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Nothing,
    Float,
    /// In [`Cells::others`].
    Other,
}

#[derive(Debug)]
struct Block {
    x: [f64; BLOCK],
    r: [f32; BLOCK],
    c: [f32; BLOCK],
    n: [u32; BLOCK],
    bits: [u32; BLOCK],
    kinds: [Kind; BLOCK],
    sums: Option<Box<[Terms; BLOCK]>>,
}

/// What is kept of a sum: gamma(m - 1) times the magnitudes is what m terms lose in any order (Higham,
/// "Accuracy and Stability of Numerical Algorithms", 4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Terms {
    /// Terms, the first one included; 0 where nothing was added.
    pub(super) count: u32,
    /// The sum of |x| + r, rounded up.
    pub(super) magnitude: f32,
}

impl Terms {
    /// gamma(m - 1) times the magnitudes; what flushing of each partial sum may take besides.
    #[inline(always)]
    pub(super) fn rounding(self) -> f64 {
        let additions = f64::from(self.count.saturating_sub(1));
        let lost = additions / 16_777_216.0;
        let gamma = if lost < 1.0 { lost / (1.0 - lost) } else { f64::INFINITY };
        if additions == 0.0 { 0.0 } else { gamma * f64::from(self.magnitude) + additions * NORMAL }
    }
}

/// The shadows of a memory.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    blocks: Vec<Option<Box<Block>>>,
    others: HashMap<usize, Word>,
}

impl Block {
    fn new() -> Box<Self> {
        Box::new(Self {
            x: [0.0; BLOCK],
            r: [0.0; BLOCK],
            c: [0.0; BLOCK],
            n: [UNRECORDED; BLOCK],
            bits: [0; BLOCK],
            kinds: [Kind::Nothing; BLOCK],
            sums: None,
        })
    }
}

impl Cells {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
        self.others.clear();
    }

    #[inline(always)]
    fn block(&self, word: usize) -> Option<(&Block, usize)> {
        self.blocks.get(word / BLOCK)?.as_deref().map(|block| (block, word % BLOCK))
    }

    fn block_mut(&mut self, word: usize) -> (&mut Block, usize) {
        let at = word / BLOCK;
        if self.blocks.len() <= at {
            self.blocks.resize_with(at + 1, || None);
        }
        (self.blocks[at].get_or_insert_with(Block::new), word % BLOCK)
    }

    /// What is beside a word that holds `bits`, and whether there was something that belongs to others.
    #[inline(always)]
    pub(crate) fn get(&self, word: usize, bits: u32) -> (Word, bool) {
        let Some((block, at)) = self.block(word) else { return (Word::None, false) };
        match block.kinds[at] {
            Kind::Nothing => (Word::None, false),
            _ if block.bits[at] != bits => (Word::None, true),
            Kind::Float => (Word::Float(self.float(block, at)), false),
            Kind::Other => (self.others.get(&word).copied().unwrap_or_default(), false),
        }
    }

    #[inline(always)]
    fn float(&self, block: &Block, at: usize) -> Shadow {
        let mut shadow = Shadow { x: block.x[at], r: block.r[at], c: block.c[at], n: block.n[at] };
        if let Some(sums) = &block.sums
            && sums[at].count > 1
        {
            shadow.r = up(f64::from(shadow.r) + sums[at].rounding());
        }
        shadow
    }

    /// What was put beside a word, whatever bits it holds.
    pub(crate) fn unchecked(&self, word: usize) -> Word {
        let bits = self.block(word).map_or(0, |(block, at)| block.bits[at]);
        self.get(word, bits).0
    }

    /// Puts something beside a word that now holds `bits`.
    #[inline(always)]
    pub(crate) fn set(&mut self, word: usize, bits: u32, beside: Word) {
        if beside == Word::None {
            if let Some(block) = self.blocks.get_mut(word / BLOCK).and_then(Option::as_mut) {
                block.kinds[word % BLOCK] = Kind::Nothing;
            }
            return;
        }
        let (block, at) = self.block_mut(word);
        block.bits[at] = bits;
        if let Some(sums) = &mut block.sums {
            sums[at] = Terms::default();
        }
        if let Word::Float(Shadow { x, r, c, n }) = beside {
            (block.x[at], block.r[at], block.c[at], block.n[at]) = (x, r, c, n);
            block.kinds[at] = Kind::Float;
        } else {
            block.kinds[at] = Kind::Other;
            self.others.insert(word, beside);
        }
    }

    /// Sets a sum, with what is kept of its terms. Its radius is that of the terms alone.
    pub(crate) fn set_sum(&mut self, word: usize, bits: u32, sum: Shadow, terms: Terms) {
        self.set(word, bits, Word::Float(sum));
        let (block, at) = self.block_mut(word);
        block.sums.get_or_insert_with(|| Box::new([Terms::default(); BLOCK]))[at] = terms;
    }

    /// A sum with the radius of its terms alone, and what is kept of them; `None` where the word is
    /// none, or holds other bits.
    pub(crate) fn sum(&self, word: usize, bits: u32) -> Option<(Shadow, Terms)> {
        let (block, at) = self.block(word)?;
        if block.kinds[at] != Kind::Float || block.bits[at] != bits {
            return None;
        }
        let terms = block.sums.as_ref().map_or(Terms::default(), |sums| sums[at]);
        let shadow = Shadow { x: block.x[at], r: block.r[at], c: block.c[at], n: block.n[at] };
        Some((shadow, terms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOAT: Shadow = Shadow { x: 0.1, r: 1e-9, c: 0.0, n: 3 };

    #[test]
    fn a_shadow_belongs_to_its_bits() {
        let mut cells = Cells::default();
        assert_eq!(cells.get(1000, 7), (Word::None, false), "nothing was stored");
        cells.set(1000, 7, Word::Float(FLOAT));
        assert_eq!(cells.get(1000, 7), (Word::Float(FLOAT), false), "what was stored");
        assert_eq!(cells.get(1000, 8), (Word::None, true), "something wrote past it");
        cells.set(1000, 7, Word::Narrow(FLOAT));
        assert_eq!(cells.get(1000, 7), (Word::Narrow(FLOAT), false), "another kind");
        cells.set(1000, 7, Word::None);
        assert_eq!(cells.get(1000, 7), (Word::None, false), "an integer was stored");
    }

    #[test]
    fn a_sum_has_the_rounding_of_any_order() {
        let mut cells = Cells::default();
        cells.set_sum(5, 1, FLOAT, Terms { count: 1001, magnitude: 50.0 });
        let (Word::Float(read), false) = cells.get(5, 1) else { panic!("a float") };
        let gamma = 1000.0 / 16_777_216.0 / (1.0 - 1000.0 / 16_777_216.0);
        let expected = 1e-9 + 50.0 * gamma;
        assert!((f64::from(read.r) / expected - 1.0).abs() < 1e-6, "{} not {expected}", read.r);
        assert_eq!(cells.sum(5, 1).map(|(sum, _)| sum), Some(FLOAT), "of its terms alone");
        cells.set(5, 1, Word::Float(FLOAT));
        assert_eq!(cells.get(5, 1), (Word::Float(FLOAT), false), "a store begins anew");
    }
}
