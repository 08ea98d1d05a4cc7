//! Data races by happens-before.
//!
//! Two accesses to the same bytes race when one of them writes, not both are atomic, they are by
//! different threads and nothing orders them. What orders threads: a block's barriers order all its
//! threads; bar.warp.sync orders its member lanes. Shuffles, votes and matches order nothing, and
//! nothing orders blocks: atomics used as flags between blocks are not understood as an order.
//! A warp's time is the number of its bar.warp.sync so far; a lane knows of each other lane up to
//! which time its accesses happened before.
//!
//! A word remembers, for each kind of access, only what a later access could still race with.
//! For another block any single access does as well as all of them: a thread races with one of two
//! blocks whatever block it is in, so that one foreign access is kept beside those of the latest
//! block. Within a block, an access is forgotten when a later one by the same lane, or one after a
//! barrier, stands for it.

use super::fault::{AccessKind, Race, RaceAccess};
use super::ir::Space;
use super::registers::{Bits, LANES};

/// An access of some lanes of one warp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) kind: AccessKind,
    /// Bytes of the word, a bit each.
    pub(super) bytes: u8,
    pub(super) warp: u16,
    pub(super) block: u32,
    /// Barriers of the block so far.
    pub(super) epoch: u32,
    /// bar.warp.sync of the warp so far.
    pub(super) time: u32,
    pub(super) lanes: u32,
    pub(super) line: u32,
}

/// What the lanes of a warp know of each other.
#[derive(Clone, Debug, Default)]
pub(super) struct WarpOrder {
    pub(super) time: u32,
    /// `known[i][j]`: accesses of lane j before this time happened before what lane i does now.
    /// Absent until the warp first synchronizes.
    known: Option<Box<[[u32; LANES]; LANES]>>,
}

impl WarpOrder {
    /// The members have met.
    pub(super) fn synchronize(&mut self, members: u32) {
        self.time += 1;
        let known = self.known.get_or_insert_with(|| Box::new([[0; LANES]; LANES]));
        let mut joined = [0; LANES];
        for member in Bits(members) {
            for (all, own) in joined.iter_mut().zip(&known[member]) {
                *all = (*all).max(*own);
            }
        }
        for member in Bits(members) {
            joined[member] = self.time;
        }
        for member in Bits(members) {
            known[member] = joined;
        }
    }

    /// Whether everything the lanes of `earlier` did happened before what `lane` does now.
    fn orders(&self, earlier: &Record, lane: usize) -> bool {
        Bits(earlier.lanes & !(1 << lane))
            .all(|other| self.known.as_ref().is_some_and(|known| earlier.time < known[lane][other]))
    }
}

/// The accesses remembered of every word of a memory.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    words: Vec<Vec<Record>>,
}

impl Shadow {
    pub(super) fn new(words: usize) -> Self {
        Self { words: vec![Vec::new(); words] }
    }

    /// Forgets everything, keeping the room.
    pub(super) fn clear(&mut self) {
        self.words.iter_mut().for_each(Vec::clear);
    }

    /// Adds an access to `word` and returns the earlier one it races with, if any.
    #[inline]
    pub(super) fn add(&mut self, word: usize, new: &Record, order: &WarpOrder) -> Option<Record> {
        if new.kind == AccessKind::Write && !new.lanes.is_power_of_two() {
            // Lanes that store to one word at once: which of them lasts is not defined.
            return Some(Record { lanes: new.lanes & (new.lanes - 1), ..*new });
        }
        let records = &mut self.words[word];
        if let Some(last) = records.last()
            && new.kind != AccessKind::Write
            && last.kind == new.kind
            && (last.block, last.epoch, last.warp) == (new.block, new.epoch, new.warp)
            && (last.time, last.bytes) == (new.time, new.bytes)
            && last.lanes & new.lanes == new.lanes
        {
            return None;
        }
        if let Some(earlier) = records.iter().find(|earlier| races(earlier, new, order)) {
            return Some(*earlier);
        }
        remember(records, new);
        None
    }
}

fn races(earlier: &Record, new: &Record, order: &WarpOrder) -> bool {
    use AccessKind::{Atomic, Read};
    if matches!((earlier.kind, new.kind), (Read, Read) | (Atomic, Atomic))
        || earlier.bytes & new.bytes == 0
    {
        return false;
    }
    if earlier.block != new.block {
        return true;
    }
    if earlier.epoch < new.epoch {
        return false;
    }
    earlier.warp != new.warp || Bits(new.lanes).any(|lane| !order.orders(earlier, lane))
}

fn remember(records: &mut Vec<Record>, new: &Record) {
    let mut foreign = false;
    records.retain_mut(|old| {
        if old.kind != new.kind || old.bytes & !new.bytes != 0 {
            return true;
        }
        if old.block != new.block {
            return !std::mem::replace(&mut foreign, true);
        }
        if old.epoch < new.epoch {
            return false;
        }
        if old.warp == new.warp {
            old.lanes &= !new.lanes;
        }
        old.lanes != 0
    });
    let joins = |old: &&mut Record| {
        (old.kind, old.bytes, old.warp, old.time, old.line)
            == (new.kind, new.bytes, new.warp, new.time, new.line)
            && (old.block, old.epoch) == (new.block, new.epoch)
    };
    match records.iter_mut().find(joins) {
        Some(old) => old.lanes |= new.lanes,
        None => records.push(*new),
    }
}

impl Record {
    fn access(&self) -> RaceAccess {
        RaceAccess {
            kind: self.kind,
            line: self.line,
            block: self.block,
            warp: u32::from(self.warp),
            lanes: self.lanes,
        }
    }

    /// The race of two accesses.
    pub(super) fn race(&self, second: &Self, space: Space, address: u64) -> Box<Race> {
        Box::new(Race { space, address, first: self.access(), second: second.access() })
    }
}
