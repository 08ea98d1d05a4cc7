//! The local memory of a warp's threads (PTX ISA, "Local State Space"): what a thread keeps in it no
//! other thread can reach, so that there is nothing to order. It holds nothing until written.

use super::access::{Outcome, addresses, deliver, is_uniform, pieces};
use super::decode::LOCAL_BASE;
use super::fault::{FaultKind, Trouble};
use super::ir::{SINK, Slot, Space, Transfer};
use super::lanes::{Active, LANES};
use super::registers::Registers;
use super::shadow::access::stored as store_beside;
use super::shadow::cells::Cells;
use super::shadow::number::Word;
use super::shadow::registers::Beside;

/// Local memory, the words of all lanes side by side.
#[derive(Debug, Default)]
pub(super) struct LocalMemory {
    words: Vec<[u32; LANES]>,
    /// The lanes that never wrote a byte, for each of the four bytes of a word.
    poison: Vec<[u32; 4]>,
    bytes: u64,
    /// What is beside the words, where floats are followed: those of a word's lanes in a row.
    cells: Option<Box<Cells>>,
}

impl LocalMemory {
    /// `bytes` for each lane that were never written; `followed`: whether floats are.
    pub(super) fn new(bytes: u32, followed: bool) -> Self {
        let words = bytes.div_ceil(4) as usize;
        Self {
            words: vec![[0; LANES]; words],
            poison: vec![[u32::MAX; 4]; words],
            bytes: bytes.into(),
            cells: followed.then(Box::default),
        }
    }

    /// Back to memory that nobody has written.
    pub(super) fn reset(&mut self) {
        self.poison.fill([u32::MAX; 4]);
        if let Some(cells) = &mut self.cells {
            cells.clear();
        }
    }

    /// For some lanes the bytes from `begin` to `end` hold nothing any more.
    pub(super) fn forget(&mut self, on: &Active, begin: u32, end: u32) {
        let (begin, end) = (begin as usize / 4, (end as usize).div_ceil(4));
        let words = self.poison.get_mut(begin..end).unwrap_or_default();
        for word in words {
            word.iter_mut().for_each(|byte| *byte |= on.bits);
        }
    }

    /// The word that holds the first of `width` bytes at an address.
    fn locate(&self, address: u64, width: u32, lane: usize) -> Result<usize, Box<Trouble>> {
        let space = Space::Local;
        if !address.is_multiple_of(width.into()) {
            let kind = FaultKind::Misaligned { space, address, width };
            return Err(Trouble::new(kind, 1 << lane));
        }
        let offset = address.checked_sub(LOCAL_BASE);
        let inside = |&at: &u64| at.checked_add(width.into()).is_some_and(|end| end <= self.bytes);
        let word = offset.filter(inside).and_then(|at| usize::try_from(at / 4).ok());
        let outside = FaultKind::OutOfBounds { space, address, width };
        word.ok_or_else(|| Trouble::new(outside, 1 << lane))
    }

    /// The bytes of a lane's word that were never written, a bit each.
    fn poison_of(&self, word: usize, lane: usize) -> u8 {
        let bit = |byte: usize| ((self.poison[word][byte] >> lane & 1) as u8) << byte;
        bit(0) | bit(1) | bit(2) | bit(3)
    }

    fn set_poison(&mut self, word: usize, lane: usize, bytes: u8) {
        for (byte, lanes) in self.poison[word].iter_mut().enumerate() {
            *lanes = *lanes & !(1 << lane) | u32::from(bytes >> byte & 1) << lane;
        }
    }

    /// The first word of an access that moves whole rows: words of one place in all lanes, with nothing beside
    /// them. A kernel's own arrays are nearly always indexed by what all lanes agree on.
    fn row(
        &self,
        on: &Active,
        t: &Transfer,
        all: &[u64; LANES],
    ) -> Result<Option<usize>, Box<Trouble>> {
        if t.width != 4 || t.b64 || self.cells.is_some() || !is_uniform(on, all) {
            return Ok(None);
        }
        let lane = on.bits.trailing_zeros() as usize & 31;
        self.locate(all[lane], 4 * u32::from(t.count), lane).map(Some)
    }

    /// Whether of each of these words all bytes of a lane are poison, or none.
    fn is_whole(&self, words: std::ops::Range<usize>) -> bool {
        self.poison[words].iter().all(|bytes| bytes.iter().all(|byte| *byte == bytes[0]))
    }

    /// `ld.local`.
    pub(super) fn load(&self, r: &mut Registers, on: &Active, t: &Transfer) -> Outcome {
        let all = addresses(r, on, t.address)?;
        if let Some(first) = self.row(on, t, &all)?
            && self.is_whole(first..first + usize::from(t.count))
        {
            for (&slot, word) in t.slots[..usize::from(t.count)].iter().zip(first..) {
                if slot != SINK {
                    r.words.give(slot, on, &self.words[word], self.poison[word][0]);
                }
            }
            return Ok(());
        }
        let total = u32::from(t.width) * u32::from(t.count);
        let words = (total as usize).div_ceil(4);
        for lane in on.lanes() {
            let word = self.locate(all[lane], total, lane)?;
            let (mut values, mut poison) = ([0; 4], [0; 4]);
            for at in 0..words {
                values[at] = self.words[word + at][lane];
                poison[at] = self.poison_of(word + at, lane);
            }
            deliver(r, t, 1 << lane, all[lane], &values, &poison);
            if let Some(cells) = &self.cells {
                let mut found = [Word::None; 4];
                for at in 0..words {
                    found[at] = cells.get((word + at) * LANES + lane, values[at]).0;
                }
                Beside::loaded(r, t, (lane, all[lane]), &found);
            }
        }
        Ok(())
    }

    /// `st.local`.
    pub(super) fn store(&mut self, r: &Registers, on: &Active, t: &Transfer) -> Outcome {
        let all = addresses(r, on, t.address)?;
        let is_whole = |&slot: &Slot| r.words.poison(slot) & on.bits == 0 || r.words.is_whole(slot);
        if let Some(first) = self.row(on, t, &all)?
            && t.slots[..usize::from(t.count)].iter().all(is_whole)
        {
            for (&slot, word) in t.slots[..usize::from(t.count)].iter().zip(first..) {
                on.put(&mut self.words[word], r.words.get(slot));
                let poison = r.words.poison(slot) & on.bits;
                self.poison[word].iter_mut().for_each(|byte| *byte = *byte & !on.bits | poison);
            }
            return Ok(());
        }
        let total = u32::from(t.width) * u32::from(t.count);
        let words = (total as usize).div_ceil(4);
        for lane in on.lanes() {
            let word = self.locate(all[lane], total, lane)?;
            let pieces = pieces(r, t, all[lane], lane);
            for (at, piece) in pieces[..words].iter().enumerate() {
                let word = word + at;
                let (value, poison) =
                    piece.over(self.words[word][lane], self.poison_of(word, lane));
                self.words[word][lane] = value;
                self.set_poison(word, lane, poison);
            }
            if let (Some(cells), Some(beside)) = (&mut self.cells, &r.beside) {
                let cell = |at: usize| (word + at) * LANES + lane;
                let old = |at| cells.unchecked(cell(at));
                let stored = store_beside(beside, r, t, (lane, all[lane]), old);
                for (at, stored) in stored[..words].iter().enumerate() {
                    cells.set(cell(at), self.words[word + at][lane], *stored);
                }
            }
        }
        Ok(())
    }
}
