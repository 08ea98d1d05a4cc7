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
//! An access is forgotten when a later one that it happened before stands for it: one by the same
//! lane, by a lane that met it since, or by its block after a barrier. Who is ordered after the later
//! one is ordered after both. In a kernel without fences nothing orders blocks, and a thread races with one of
//! two whichever it is in: one access of another block to a byte is then as good as all. If barriers are those
//! of whole blocks alone, the same holds of warps between barriers: those of two warps of the latest block are as
//! good as all.

use super::fault::{AccessKind, Race, RaceAccess};
use super::ir::{Orders, Scope, Space};
use super::lanes::{Bits, LANES};
use super::signal::{Flags, Met, Record, WarpSignals, later};

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
        let mut all = Met::default();
        if self.gather(members, &mut all) {
            self.tell(members, &all);
        }
    }

    /// What `lane` knows of the lanes of its warp, with all that it has done itself.
    fn own(&self, lane: usize) -> [u32; LANES] {
        let mut own = self.known.as_ref().map_or([0; LANES], |known| known[lane]);
        own[lane] = self.time;
        own
    }

    /// `lanes` of warp `warp` execute a fence.
    pub(super) fn fence(&mut self, scope: Scope, lanes: u32, block: u32, epoch: u32, warp: u16) {
        self.time += 1;
        for lane in Bits(lanes) {
            let own = self.own(lane);
            let signals = self.signals.get_or_insert_with(WarpSignals::new);
            signals.fence(scope, lane, (block, epoch, warp), &own);
        }
    }

    /// Adds to `all` what `lanes` of warp `warp` have done and know: they let others know of it.
    pub(super) fn release(&mut self, lanes: u32, place: (u32, u32, u16), all: &mut Met) {
        self.time += 1;
        let mut own = [0; LANES];
        for lane in Bits(lanes) {
            if let Some(known) = &self.known {
                own.iter_mut().zip(&known[lane]).for_each(|(own, &time)| *own = time.max(*own));
            }
        }
        Bits(lanes).for_each(|lane| own[lane] = self.time);
        self.signals.get_or_insert_with(WarpSignals::new).release(lanes, place, &own, all);
    }

    /// Adds to `all` what `lanes` know by signals; false if there were none.
    pub(super) fn gather(&self, lanes: u32, all: &mut Met) -> bool {
        self.signals.as_ref().map(|signals| signals.gather(lanes, all)).is_some()
    }

    /// Tells `lanes` what all know by signals.
    pub(super) fn tell(&mut self, lanes: u32, all: &Met) {
        self.signals.get_or_insert_with(WarpSignals::new).tell(lanes, all);
    }

    /// Whether everything the lanes of `earlier` did happened before what any lane of `new` does now.
    fn orders(&self, earlier: &Record, new: &Record) -> bool {
        let own = (earlier.block, earlier.warp) == (new.block, new.warp);
        let mut tellers = self.signals.as_ref().map(|signals| signals.tellers(earlier));
        Bits(new.lanes).all(|lane| {
            let met = if own { self.met(earlier, lane) } else { 0 };
            let rest = earlier.lanes & !met;
            rest == 0 || tellers.as_mut().is_some_and(|told| rest & !told(lane) == 0)
        })
    }

    /// Those lanes of an earlier access of which a signal has told some lane of a later one.
    fn told(&self, earlier: &Record, new: &Record) -> u32 {
        let signals = self.signals.as_ref();
        signals.map_or(0, |signals| signals.told(earlier, new.lanes))
    }

    /// Those lanes of an earlier access by this warp that it happened before what `lane` does now.
    #[inline]
    fn met(&self, earlier: &Record, lane: usize) -> u32 {
        let own = earlier.lanes & (1 << lane);
        match &self.known {
            Some(known) if earlier.time < self.time => {
                own | earlier.lanes & later(&known[lane], earlier.time)
            }
            Some(_) | None => own,
        }
    }
}

/// No node.
const NONE: u32 = u32::MAX;

/// The accesses remembered of every word of a memory: a list per word, the latest first.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    /// The first node of each word.
    first: Vec<u32>,
    nodes: Vec<Node>,
    /// Nodes that are in no list, as a list.
    free: u32,
    flags: Flags,
    /// Whom the kernel may order.
    orders: Orders,
}

#[derive(Debug)]
struct Node {
    record: Record,
    next: u32,
}

impl Shadow {
    pub(super) fn new(words: usize) -> Self {
        Self { first: vec![NONE; words], free: NONE, ..Self::default() }
    }

    /// Forgets everything, keeping the room.
    pub(super) fn clear(&mut self, orders: Orders) {
        if !self.nodes.is_empty() {
            self.first.fill(NONE);
            self.nodes.clear();
        }
        self.free = NONE;
        self.flags.clear();
        self.orders = orders;
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
        if new.kind == AccessKind::Write {
            self.flags.overwrite(word);
        }
        order.time += u32::from(new.itself.releases);
        // Where the list of its words lies tells one memory from another.
        let at = (self.first.as_ptr().addr(), word);
        let kept = (self.orders == Orders::AtWords).then_some(at);
        let place = (new.block, new.epoch, new.warp);
        for lane in Bits(new.lanes) {
            let own = new.itself.releases.then(|| order.own(lane));
            let signals = order.signals.get_or_insert_with(WarpSignals::new);
            if new.kind != AccessKind::Write && new.sees {
                self.flags.see(word, new, scope, (lane, kept), signals);
            }
            if new.itself.acquires {
                signals.acquire(at, scope, lane);
            }
            if let Some(own) = own {
                signals.release_at(at, scope, lane, (place, &own));
            }
            if new.kind != AccessKind::Read {
                self.flags.raise(word, new, scope, (lane, kept), signals);
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
        if self.orders >= Orders::Any {
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
        let first = self.first[word];
        if let Some(Node { record: last, .. }) = self.nodes.get(first as usize)
            && new.kind != AccessKind::Write
            && (last.kind, last.strong) == (new.kind, new.strong)
            && (last.block, last.epoch, last.warp) == (new.block, new.epoch, new.warp)
            && (last.time, last.bytes) == (new.time, new.bytes)
            && last.lanes & new.lanes == new.lanes
        {
            return None;
        }
        self.walk(word, new, order)
    }

    /// Compares an access with those remembered, forgets what it stands for and remembers it.
    fn walk(&mut self, word: usize, new: &Record, order: &WarpOrder) -> Option<Record> {
        // Whether something orders single warps of a block.
        let warps = self.orders > Orders::WholeBlocks;
        // The bytes that accesses of other blocks in the list have.
        let mut foreign = 0;
        // Up to two other warps of the block that the list has.
        let mut others = [None; 2];
        let mut joined = false;
        let (mut before, mut at) = (NONE, self.first[word]);
        while let Some(node) = self.nodes.get_mut(at as usize) {
            let old = &mut node.record;
            if races(old, new, order) {
                return Some(*old);
            }
            let mut stays = true;
            if new.kind == AccessKind::Atomic
                && new.sees
                && old.kind == AccessKind::Atomic
                && old.bytes & !new.bytes == 0
                && morally_strong(old, new)
            {
                // Atomics on a word are in one order ("Coherence Order"). Whatever comes after this one comes
                // after those that it has seen, as a plain store by which the last block sets its ticket back.
                stays = false;
            } else if (old.kind, old.strong) == (new.kind, new.strong)
                && old.bytes & !new.bytes == 0
            {
                if old.block == new.block && old.epoch < new.epoch {
                    stays = false;
                } else if old.block != new.block && self.orders < Orders::Any {
                    stays = old.bytes & !foreign != 0;
                    foreign |= old.bytes;
                } else if warps && (old.block, old.warp) != (new.block, new.warp) {
                    old.lanes &= !order.told(old, new);
                    stays = old.lanes != 0;
                } else if old.warp != new.warp {
                    let warp = Some(old.warp);
                    if old.bytes == new.bytes && others[0] != warp {
                        others[usize::from(others[0].is_some())] = warp;
                    }
                } else if (old.bytes, old.time, old.line) == (new.bytes, new.time, new.line) {
                    old.lanes |= new.lanes;
                    joined = true;
                } else {
                    old.lanes &= !Bits(new.lanes).fold(0, |met, lane| met | order.met(old, lane));
                    if warps {
                        old.lanes &= !order.told(old, new);
                    }
                    stays = old.lanes != 0;
                }
            }
            let next = node.next;
            if stays {
                before = at;
            } else {
                node.next = self.free;
                self.free = at;
                match self.nodes.get_mut(before as usize) {
                    Some(before) => before.next = next,
                    None => self.first[word] = next,
                }
            }
            at = next;
        }
        if !joined && (others[1].is_none() || warps) {
            self.push(word, *new);
        }
        None
    }

    fn push(&mut self, word: usize, record: Record) {
        let node = Node { record, next: self.first[word] };
        let at = self.free;
        self.first[word] = if let Some(free) = self.nodes.get_mut(at as usize) {
            self.free = free.next;
            *free = node;
            at
        } else {
            self.nodes.push(node);
            u32::try_from(self.nodes.len() - 1).unwrap_or(NONE)
        };
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
    !order.orders(earlier, new)
}

/// Whether both are strong and each is for a scope in which the other thread is.
fn morally_strong(a: &Record, b: &Record) -> bool {
    match (a.strong, b.strong) {
        (Some(Scope::Device), Some(Scope::Device)) => true,
        (Some(_), Some(_)) => a.block == b.block,
        (None, _) | (_, None) => false,
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

#[cfg(test)]
mod tests {
    use super::super::ir::Itself;
    use super::*;

    fn access(kind: AccessKind, warp: u16, lanes: u32, line: u32, order: &WarpOrder) -> Record {
        Record {
            kind,
            strong: None,
            itself: Itself::default(),
            sees: true,
            bytes: 0xf,
            warp,
            block: 0,
            epoch: 0,
            time: order.time,
            lanes,
            line,
        }
    }

    /// Two accesses of one warp are not those of two warps: the reader in another warp is remembered.
    #[test]
    fn a_warp_that_reads_twice_does_not_hide_another_warp() {
        let mut shadow = Shadow::new(1);
        shadow.clear(Orders::WholeBlocks);
        let mut orders = [WarpOrder::default(), WarpOrder::default()];
        for (warp, lanes, line) in [(0, 1, 10), (0, 2, 11), (1, 1, 12)] {
            let order = &mut orders[usize::from(warp)];
            let read = access(AccessKind::Read, warp, lanes, line, order);
            assert!(shadow.add(0, &read, order).is_none(), "reads do not race");
        }
        orders[0].synchronize(u32::MAX);
        let write = access(AccessKind::Write, 0, 1, 13, &orders[0]);
        let earlier = shadow.add(0, &write, &mut orders[0]).map(|earlier| earlier.line);
        assert_eq!(earlier, Some(12), "the read by warp 1 races with the write");
    }

    /// An access of another block stands for those bytes that it has.
    #[test]
    fn a_byte_that_another_block_reads_does_not_hide_the_word_that_a_third_reads() {
        let mut shadow = Shadow::new(1);
        shadow.clear(Orders::WholeBlocks);
        let mut orders: [WarpOrder; 3] = Default::default();
        for (block, bytes) in [(0, 0xf), (1, 1), (2, 0xf)] {
            let order = &mut orders[block as usize];
            let read = Record { block, bytes, ..access(AccessKind::Read, 0, 1, 10 + block, order) };
            assert!(shadow.add(0, &read, order).is_none(), "reads do not race");
        }
        let write = access(AccessKind::Write, 0, 1, 20, &orders[2]);
        let write = Record { block: 2, bytes: 8, ..write };
        let earlier = shadow.add(0, &write, &mut orders[2]).map(|earlier| earlier.line);
        assert_eq!(earlier, Some(10), "the word that block 0 reads");
    }

    /// Warps that meet again and again at a barrier of their own, as those of a subgroup of 64 lanes: what was
    /// before the last meeting is forgotten, and a warp that did not come is not.
    #[test]
    fn what_was_before_a_meeting_of_warps_is_forgotten() {
        let mut shadow = Shadow::new(1);
        shadow.clear(Orders::Warps);
        let mut orders: [WarpOrder; 3] = Default::default();
        let alone = access(AccessKind::Read, 2, 1, 9, &orders[2]);
        assert!(shadow.add(0, &alone, &mut orders[2]).is_none(), "the first");
        for line in 10..60 {
            for (warp, order) in (0..2).zip(&mut orders) {
                let read = access(AccessKind::Read, warp, u32::MAX, line, order);
                assert!(shadow.add(0, &read, order).is_none(), "reads do not race");
            }
            let mut all = Met::default();
            for (warp, order) in (0..2).zip(&mut orders) {
                order.release(u32::MAX, (0, 0, warp), &mut all);
            }
            orders[..2].iter_mut().for_each(|order| order.tell(u32::MAX, &all));
        }
        assert!(shadow.nodes.len() < 6, "{} accesses are kept", shadow.nodes.len());
        let write = access(AccessKind::Write, 0, 1, 70, &orders[0]);
        let earlier = shadow.add(0, &write, &mut orders[0]).map(|earlier| earlier.line);
        assert_eq!(earlier, Some(9), "the warp that met nobody");
    }

    /// Where barriers of a part of a block order its warps, one access of another block is as good as all: sums
    /// that every block adds to have no list of all of them. All warps of the latest block stay, of which each
    /// may be ordered before what comes.
    #[test]
    fn one_access_of_another_block_stands_for_all() {
        let mut shadow = Shadow::new(1);
        shadow.clear(Orders::Warps);
        let mut order = WarpOrder::default();
        for block in 0..50 {
            for warp in 0..4 {
                let read = access(AccessKind::Read, warp, u32::MAX, 10, &order);
                let read = Record { block, ..read };
                assert!(shadow.add(0, &read, &mut order).is_none(), "reads do not race");
            }
        }
        assert!(shadow.nodes.len() <= 9, "{} accesses are kept", shadow.nodes.len());
        let mut all = Met::default();
        let mut orders: [WarpOrder; 4] = Default::default();
        for (warp, order) in (0..4).zip(&mut orders) {
            order.release(u32::MAX, (49, 0, warp), &mut all);
        }
        orders.iter_mut().for_each(|order| order.tell(u32::MAX, &all));
        for block in [49, 50] {
            let write = access(AccessKind::Write, 2, 1, 20, &orders[2]);
            let write = Record { block, ..write };
            let earlier = shadow.add(0, &write, &mut orders[2]).expect("other blocks have read");
            assert_ne!(earlier.block, block, "block 49 has met, and those before it have not");
        }
    }

    /// Lanes that take turns, each after a meeting of all, leave one access; without the meeting
    /// of all, what the others did not see stays.
    #[test]
    fn what_happened_before_a_later_access_is_forgotten() {
        let mut shadow = Shadow::new(1);
        shadow.clear(Orders::WholeBlocks);
        let mut order = WarpOrder::default();
        for lane in 0..32 {
            let read = access(AccessKind::Read, 0, 1 << lane, 10, &order);
            assert!(shadow.add(0, &read, &mut order).is_none(), "reads do not race");
            assert_eq!(shadow.nodes.len(), 1, "the latest stands for all");
            order.synchronize(u32::MAX);
        }
        let read = access(AccessKind::Read, 0, 1, 11, &order);
        assert!(shadow.add(0, &read, &mut order).is_none(), "reads do not race");
        order.synchronize(0b110);
        let read = access(AccessKind::Read, 0, 2, 12, &order);
        assert!(shadow.add(0, &read, &mut order).is_none(), "reads do not race");
        order.synchronize(0b110);
        let write = access(AccessKind::Write, 0, 4, 13, &order);
        let earlier = shadow.add(0, &write, &mut order).map(|earlier| earlier.line);
        assert_eq!(earlier, Some(11), "lane 0 did not meet lane 2");
    }
}
