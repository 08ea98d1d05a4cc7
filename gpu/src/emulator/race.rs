//! Data races by happens-before.
//!
//! Two accesses to the same bytes race when one of them writes, not both are strong (atomics, and
//! loads and stores that are volatile or relaxed) for a scope that has both threads in it, they are
//! by different threads and nothing orders them (PTX ISA 8.4, "Memory Consistency Model": "Conflict
//! and data-races", "Morally strong operations"). That two weak stores have the same value makes
//! them no less a race: the model gives no meaning to either.
//!
//! What orders threads ("Causality order"): a block's barriers order all its threads; bar.warp.sync
//! orders its member lanes; fences and flags order whom they reach ([`signal`](super::signal)).
//! Shuffles, votes and matches order nothing. A warp's time is the number of its bar.warp.sync and
//! fences so far; a lane knows of each other lane up to which time its accesses happened before.
//!
//! A word remembers, for each kind of access, only what a later access could still race with.
//! In a kernel without fences nothing orders blocks, and for another block any single access does
//! as well as all of them: a thread races with one of two blocks whatever block it is in, so that
//! one foreign access is kept beside those of the latest block. Within a block, an access is
//! forgotten when a later one by the same lane, or one after a barrier, stands for it.

use super::fault::{AccessKind, Race, RaceAccess};
use super::ir::{Scope, Space};
use super::registers::{Bits, LANES};
use super::signal::{Clock, Flags, WarpSignals};

/// An access of some lanes of one warp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) kind: AccessKind,
    /// Absent for weak accesses.
    pub(super) strong: Option<Scope>,
    /// Whether the thread gets to know what was there: not with `red`.
    pub(super) sees: bool,
    /// Bytes of the word, a bit each.
    pub(super) bytes: u8,
    pub(super) warp: u16,
    pub(super) block: u32,
    /// Barriers of the block so far.
    pub(super) epoch: u32,
    /// The warp's time.
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
    /// Absent until the first fence of the block.
    signals: Option<Box<WarpSignals>>,
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
        let mut all = Clock::default();
        if self.gather(members, &mut all) {
            self.tell(members, &all);
        }
    }

    /// `lanes` of warp `warp` execute a fence.
    pub(super) fn fence(&mut self, scope: Scope, lanes: u32, block: u32, epoch: u32, warp: u16) {
        self.time += 1;
        for lane in Bits(lanes) {
            let mut own = self.known.as_ref().map_or([0; LANES], |known| known[lane]);
            own[lane] = self.time;
            let signals = self.signals.get_or_insert_with(WarpSignals::new);
            signals.fence(scope, lane, (block, epoch, warp), &own);
        }
    }

    /// Adds to `all` what `lanes` know by signals; false if there were none.
    pub(super) fn gather(&self, lanes: u32, all: &mut Clock) -> bool {
        self.signals.as_ref().map(|signals| signals.gather(lanes, all)).is_some()
    }

    /// Tells `lanes` what all know by signals.
    pub(super) fn tell(&mut self, lanes: u32, all: &Clock) {
        self.signals.get_or_insert_with(WarpSignals::new).tell(lanes, all);
    }

    /// Whether everything the lanes of `earlier` did happened before what `lane` of warp `new` does
    /// now.
    fn orders(&self, earlier: &Record, new: &Record, lane: usize) -> bool {
        let own = (earlier.block, earlier.warp) == (new.block, new.warp);
        let met = |other: usize| {
            own && (other == lane
                || self.known.as_ref().is_some_and(|known| earlier.time < known[lane][other]))
        };
        let told = |other| self.signals.as_ref().is_some_and(|s| s.order(earlier, other, lane));
        Bits(earlier.lanes).all(|other| met(other) || told(other))
    }
}

/// The accesses remembered of every word of a memory.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    words: Vec<Vec<Record>>,
    flags: Flags,
    /// Whether the kernel has fences, which could order blocks.
    fences: bool,
}

impl Shadow {
    pub(super) fn new(words: usize) -> Self {
        Self { words: vec![Vec::new(); words], ..Self::default() }
    }

    /// Forgets everything, keeping the room.
    pub(super) fn clear(&mut self, fences: bool) {
        self.words.iter_mut().for_each(Vec::clear);
        self.flags.clear();
        self.fences = fences;
    }

    /// Lets an access that [`Shadow::add`] took give and take signals.
    #[cold]
    fn signal(&mut self, word: usize, new: &Record, order: &mut WarpOrder) {
        let Some(scope) = new.strong else {
            if new.kind == AccessKind::Write {
                self.flags.overwrite(word);
            }
            return;
        };
        let signals = order.signals.get_or_insert_with(WarpSignals::new);
        if new.kind == AccessKind::Write {
            self.flags.overwrite(word);
        }
        for lane in Bits(new.lanes) {
            if new.kind != AccessKind::Write && new.sees {
                self.flags.see(word, new, scope, lane, signals);
            }
            if new.kind != AccessKind::Read {
                self.flags.raise(word, new, scope, lane, signals);
            }
        }
    }

    /// Adds an access to `word` and returns the earlier one it races with, if any.
    #[inline]
    pub(super) fn add(
        &mut self,
        word: usize,
        new: &Record,
        order: &mut WarpOrder,
    ) -> Option<Record> {
        if self.fences {
            let earlier = self.compare(word, new, order);
            if earlier.is_none() {
                self.signal(word, new, order);
            }
            return earlier;
        }
        self.compare(word, new, order)
    }

    #[inline]
    fn compare(&mut self, word: usize, new: &Record, order: &WarpOrder) -> Option<Record> {
        if new.kind == AccessKind::Write && new.strong.is_none() && !new.lanes.is_power_of_two() {
            // Lanes that store to one word at once: which of them lasts is not defined.
            return Some(Record { lanes: new.lanes & (new.lanes - 1), ..*new });
        }
        let records = &mut self.words[word];
        if let Some(last) = records.last()
            && new.kind != AccessKind::Write
            && (last.kind, last.strong) == (new.kind, new.strong)
            && (last.block, last.epoch, last.warp) == (new.block, new.epoch, new.warp)
            && (last.time, last.bytes) == (new.time, new.bytes)
            && last.lanes & new.lanes == new.lanes
        {
            return None;
        }
        if let Some(earlier) = records.iter().find(|earlier| races(earlier, new, order)) {
            return Some(*earlier);
        }
        remember(records, new, self.fences);
        None
    }
}

fn races(earlier: &Record, new: &Record, order: &WarpOrder) -> bool {
    let reads = (earlier.kind, new.kind) == (AccessKind::Read, AccessKind::Read);
    if reads || earlier.bytes & new.bytes == 0 || morally_strong(earlier, new) {
        return false;
    }
    if earlier.block == new.block && earlier.epoch < new.epoch {
        return false;
    }
    Bits(new.lanes).any(|lane| !order.orders(earlier, new, lane))
}

/// Whether both are strong and each is for a scope in which the other thread is.
fn morally_strong(a: &Record, b: &Record) -> bool {
    match (a.strong, b.strong) {
        (Some(Scope::Device), Some(Scope::Device)) => true,
        (Some(_), Some(_)) => a.block == b.block,
        _ => false,
    }
}

/// `blocks`: a later access may be ordered after one block and not after another.
fn remember(records: &mut Vec<Record>, new: &Record, blocks: bool) {
    let mut foreign = false;
    records.retain_mut(|old| {
        let another = (old.kind, old.strong) != (new.kind, new.strong);
        if another || old.bytes & !new.bytes != 0 {
            return true;
        }
        if old.block != new.block {
            return blocks || !std::mem::replace(&mut foreign, true);
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
        (old.kind, old.strong, old.bytes, old.warp, old.time, old.line)
            == (new.kind, new.strong, new.bytes, new.warp, new.time, new.line)
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
