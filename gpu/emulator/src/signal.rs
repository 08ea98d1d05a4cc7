//! Order by fences and flags.
//!
//! A thread that executes a fence and then a strong write *releases* what has happened before the
//! fence; a thread that reads the flag and then executes a fence *acquires* it, if what it read was
//! that write or an atomic that followed it (PTX ISA 8.4, "Memory Consistency Model": "Release and
//! Acquire Patterns", "Observation Order", "Causality Order"). Both fences and both accesses must
//! be for a scope that has both threads in it ("Morally strong operations"). An access that releases or acquires by
//! itself is access and fence in one, but for its own word alone: what it releases, no other word tells. `red` gives its thread
//! nothing to see and acquires nothing. A compare-exchange counts as a write whether it exchanges or
//! not.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fault::AccessKind;
use super::ir::{Itself, Scope};
use super::lanes::{Bits, LANES};

/// An access of some lanes of one warp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) kind: AccessKind,
    /// Absent for weak accesses.
    pub(super) strong: Option<Scope>,
    /// What it orders without a fence.
    pub(super) itself: Itself,
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

/// The lanes whose time is later, a bit each.
#[inline]
pub(super) fn later(times: &[u32; LANES], time: u32) -> u32 {
    times.iter().rev().fold(0, |lanes, &other| lanes << 1 | u32::from(other > time))
}

/// What has happened before, as far as signals tell.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    blocks: BTreeMap<u32, Known>,
}

/// What is known of a block.
#[derive(Clone, Debug, Default)]
struct Known {
    /// All of the block before this barrier.
    epoch: u32,
    /// Of a warp, what its lanes did before these times.
    warps: BTreeMap<u16, [u32; LANES]>,
}

impl Clock {
    /// What lanes of a block, epoch and warp know of the lanes of their warp.
    fn of((block, epoch, warp): (u32, u32, u16), own: &[u32; LANES]) -> Self {
        let known = Known { epoch, warps: BTreeMap::from([(warp, *own)]) };
        Self { blocks: BTreeMap::from([(block, known)]) }
    }

    pub(super) fn join(&mut self, other: &Self) {
        for (&block, theirs) in &other.blocks {
            let known = self.blocks.entry(block).or_default();
            known.epoch = known.epoch.max(theirs.epoch);
            for (&warp, times) in &theirs.warps {
                let own = known.warps.entry(warp).or_insert([0; LANES]);
                for lane in 0..LANES {
                    own[lane] = own[lane].max(times[lane]);
                }
            }
        }
    }

    /// The lanes of a record of which what they did is before this.
    fn told(&self, record: &Record) -> u32 {
        match self.blocks.get(&record.block) {
            None => 0,
            Some(known) if record.epoch < known.epoch => record.lanes,
            Some(known) => {
                let times = known.warps.get(&record.warp);
                times.map_or(0, |times| record.lanes & later(times, record.time))
            }
        }
    }
}

/// What threads that have met know together. Fences are in one order ("Fence-SC"): where all fence, meet and one of
/// them writes a flag, and others see it, meet and fence, the second fences come after the first, or the flag
/// would not have been seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Met {
    /// What happened before what they do now.
    before: Arc<Clock>,
    /// What their latest fences for the block and their latest for the device have made ready to be signalled.
    ready: [Arc<Clock>; 2],
    /// What they have seen signalled by their block and by others, and will know after a fence.
    seen: [Arc<Clock>; 2],
}

impl Met {
    pub(super) fn join(&mut self, other: &Self) {
        let own = [&mut self.before].into_iter().chain(&mut self.ready).chain(&mut self.seen);
        let others = [&other.before].into_iter().chain(&other.ready).chain(&other.seen);
        for (own, other) in own.zip(others).filter(|(own, other)| !Arc::ptr_eq(own, other)) {
            Arc::make_mut(own).join(other);
        }
    }
}

/// A word, and which memory it is in.
pub(super) type At = (usize, usize);

/// What a thread has heard and told at one word by accesses that need no fence: by its block, by all.
#[derive(Clone, Debug, Default)]
struct AtWord {
    /// What it has released there. Its later strong writes to the word tell it too.
    released: [Clock; 2],
    /// What it has seen there, and will know after an access to the word that acquires.
    seen: [Clock; 2],
}

/// The signals of the threads of a warp.
#[derive(Clone, Debug)]
pub(super) struct WarpSignals {
    /// What a thread has heard and can tell.
    lanes: [Met; LANES],
    /// The same by accesses that need no fence, of a word and a lane.
    words: BTreeMap<(At, usize), AtWord>,
}

impl WarpSignals {
    pub(super) fn new() -> Box<Self> {
        Box::new(Self { lanes: std::array::from_fn(|_| Met::default()), words: BTreeMap::new() })
    }

    /// Says of one lane after another whose access of a record happened before what it does now. Lanes that have
    /// met know the same, which is looked up once.
    pub(super) fn tellers(&self, record: &Record) -> impl FnMut(usize) -> u32 {
        let mut last: Option<(&Arc<Clock>, u32)> = None;
        move |lane| {
            let before = &self.lanes[lane].before;
            match last {
                Some((same, told)) if Arc::ptr_eq(same, before) => told,
                Some(_) | None => last.insert((before, before.told(record))).1,
            }
        }
    }

    /// The lanes of a record whose access happened before what some of `lanes` do now.
    pub(super) fn told(&self, record: &Record, lanes: u32) -> u32 {
        self.clocks(lanes).fold(0, |all, met| all | met.before.told(record))
    }

    /// `lane` of warp `warp` executes a fence; `own` is what it knows of the lanes of its warp.
    pub(super) fn fence(
        &mut self,
        scope: Scope,
        lane: usize,
        place: (u32, u32, u16),
        own: &[u32; LANES],
    ) {
        let signals = &mut self.lanes[lane];
        let [near, far] = &signals.seen;
        let before = Arc::make_mut(&mut signals.before);
        before.join(near);
        if scope == Scope::Device {
            before.join(far);
        }
        let mut ready = before.clone();
        ready.join(&Clock::of(place, own));
        let [near, far] = &mut signals.ready;
        *near = Arc::new(ready);
        if scope == Scope::Device {
            *far = Arc::clone(near);
        }
    }

    /// `lane` acquires what it has seen at a word.
    pub(super) fn acquire(&mut self, at: At, scope: Scope, lane: usize) {
        let Some(AtWord { seen: [near, far], .. }) = self.words.get(&(at, lane)) else { return };
        let before = Arc::make_mut(&mut self.lanes[lane].before);
        before.join(near);
        if scope == Scope::Device {
            before.join(far);
        }
    }

    /// `lane` of warp `warp` releases what it knows and has done, at a word alone; `own` is what it knows of the lanes
    /// of its warp.
    pub(super) fn release_at(
        &mut self,
        at: At,
        scope: Scope,
        lane: usize,
        (place, own): ((u32, u32, u16), &[u32; LANES]),
    ) {
        let mut all = (*self.lanes[lane].before).clone();
        all.join(&Clock::of(place, own));
        let [near, far] = &mut self.words.entry((at, lane)).or_default().released;
        near.join(&all);
        if scope == Scope::Device {
            far.join(&all);
        }
    }

    /// Adds to `all` what `lanes` know and what they have done; `own` is what they know of the lanes of their
    /// warp.
    pub(super) fn release(
        &self,
        lanes: u32,
        place: (u32, u32, u16),
        own: &[u32; LANES],
        all: &mut Met,
    ) {
        self.gather(lanes, all);
        Arc::make_mut(&mut all.before).join(&Clock::of(place, own));
    }

    /// Adds to `all` what `lanes` know.
    pub(super) fn gather(&self, lanes: u32, all: &mut Met) {
        self.clocks(lanes).for_each(|met| all.join(met));
    }

    /// What `lanes` know: once, where neighbours share it.
    fn clocks(&self, lanes: u32) -> impl Iterator<Item = &Met> {
        let mut last: Option<&Met> = None;
        let alike = |one: &Met, other: &Met| {
            Arc::ptr_eq(&one.before, &other.before)
                && (one.ready.iter().chain(&one.seen))
                    .zip(other.ready.iter().chain(&other.seen))
                    .all(|(one, other)| Arc::ptr_eq(one, other))
        };
        Bits(lanes).filter_map(move |lane| {
            let own = &self.lanes[lane];
            let earlier = last.replace(own);
            earlier.is_none_or(|earlier| !alike(earlier, own)).then_some(own)
        })
    }

    /// Tells `lanes`, which have met, what all of them know.
    pub(super) fn tell(&mut self, lanes: u32, all: &Met) {
        Bits(lanes).for_each(|lane| self.lanes[lane] = all.clone());
    }
}

/// What those released that have written to a word, by their block: for the block, for all.
#[derive(Debug, Default)]
pub(super) struct Flags {
    words: BTreeMap<usize, BTreeMap<u32, [Clock; 2]>>,
}

impl Flags {
    pub(super) fn clear(&mut self) {
        self.words.clear();
    }

    /// A store that releases nothing: who reads it acquires nothing.
    pub(super) fn overwrite(&mut self, word: usize) {
        self.words.remove(&word);
    }

    /// `lane` sees what is in the word; `kept`: where, if a later access may acquire it without a fence.
    pub(super) fn see(
        &self,
        word: usize,
        record: &Record,
        scope: Scope,
        (lane, kept): (usize, Option<At>),
        warp: &mut WarpSignals,
    ) {
        let Some(flag) = self.words.get(&word) else { return };
        let WarpSignals { lanes, words } = warp;
        let mut at_word = kept.map(|at| &mut words.entry((at, lane)).or_default().seen);
        for (&block, released) in flag {
            let near = block == record.block;
            if near || scope == Scope::Device {
                let (which, told) = (usize::from(!near), &released[usize::from(!near)]);
                Arc::make_mut(&mut lanes[lane].seen[which]).join(told);
                if let Some(seen) = &mut at_word {
                    seen[which].join(told);
                }
            }
        }
    }

    /// `lane` changes the word by a strong write; `kept`: where, if it may have released something there without a
    /// fence.
    pub(super) fn raise(
        &mut self,
        word: usize,
        record: &Record,
        scope: Scope,
        (lane, kept): (usize, Option<At>),
        warp: &WarpSignals,
    ) {
        let flag = self.words.entry(word).or_default().entry(record.block).or_default();
        let [near, far] = &warp.lanes[lane].ready;
        flag[0].join(near);
        if scope == Scope::Device {
            flag[1].join(far);
        }
        let at_word = kept.and_then(|at| warp.words.get(&(at, lane)));
        if let Some(AtWord { released: [near, far], .. }) = at_word {
            flag[0].join(near);
            if scope == Scope::Device {
                flag[1].join(far);
            }
        }
    }
}
