//! Order by fences and flags.
//!
//! A thread that executes a fence and then a strong write *releases* what has happened before the
//! fence; a thread that reads the flag and then executes a fence *acquires* it, if what it read was
//! that write or an atomic that followed it (PTX ISA 8.4, "Memory Consistency Model": "Release and
//! Acquire Patterns", "Observation Order", "Causality Order"). Both fences and both accesses must
//! be for a scope that has both threads in it ("Morally strong operations"). `red` gives its thread
//! nothing to see and acquires nothing. A compare-exchange counts as a write whether it exchanges or
//! not.

use std::collections::BTreeMap;

use super::ir::Scope;
use super::lanes::{Bits, LANES};
use super::race::Record;

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
    /// Of a warp and lane, what was before this time.
    lanes: BTreeMap<(u16, usize), u32>,
}

impl Clock {
    /// What a lane of a block, epoch and warp knows of the lanes of its warp.
    fn of((block, epoch, warp): (u32, u32, u16), own: &[u32; LANES]) -> Self {
        let lanes = own.iter().enumerate().map(|(lane, &time)| ((warp, lane), time)).collect();
        Self { blocks: BTreeMap::from([(block, Known { epoch, lanes })]) }
    }

    pub(super) fn join(&mut self, other: &Self) {
        for (&block, theirs) in &other.blocks {
            let known = self.blocks.entry(block).or_default();
            known.epoch = known.epoch.max(theirs.epoch);
            for (&lane, &time) in &theirs.lanes {
                let own = known.lanes.entry(lane).or_default();
                *own = time.max(*own);
            }
        }
    }

    /// Whether what `lane` of the record's warp did is before this.
    fn has(&self, record: &Record, lane: usize) -> bool {
        self.blocks.get(&record.block).is_some_and(|known| {
            let time = known.lanes.get(&(record.warp, lane));
            record.epoch < known.epoch || time.is_some_and(|&time| record.time < time)
        })
    }
}

/// What a thread has heard and can tell.
#[derive(Clone, Debug, Default)]
struct Signals {
    /// What happened before what the thread does now.
    before: Clock,
    /// What it has seen signalled by its block and by others, and will know after a fence.
    seen: [Clock; 2],
    /// What its latest fence for the block and its latest for the device have made ready to be
    /// signalled.
    ready: [Clock; 2],
}

/// The signals of the threads of a warp.
#[derive(Clone, Debug)]
pub(super) struct WarpSignals {
    lanes: [Signals; LANES],
}

impl WarpSignals {
    pub(super) fn new() -> Box<Self> {
        Box::new(Self { lanes: std::array::from_fn(|_| Signals::default()) })
    }

    /// Whether what `other` of the record's warp did happened before what `lane` does now.
    pub(super) fn order(&self, record: &Record, other: usize, lane: usize) -> bool {
        self.lanes[lane].before.has(record, other)
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
        signals.before.join(near);
        if scope == Scope::Device {
            signals.before.join(far);
        }
        let mut ready = signals.before.clone();
        ready.join(&Clock::of(place, own));
        signals.ready[0] = ready.clone();
        if scope == Scope::Device {
            signals.ready[1] = ready;
        }
    }

    /// Adds to `all` what `lane` knows, and what it and its warp have done; `own` is what it knows of
    /// the lanes of its warp.
    pub(super) fn release(
        &self,
        lane: usize,
        place: (u32, u32, u16),
        own: &[u32; LANES],
        all: &mut Clock,
    ) {
        all.join(&self.lanes[lane].before);
        all.join(&Clock::of(place, own));
    }

    /// Adds to `all` what `lanes` know.
    pub(super) fn gather(&self, lanes: u32, all: &mut Clock) {
        Bits(lanes).for_each(|lane| all.join(&self.lanes[lane].before));
    }

    /// Tells `lanes`, which have met, what all of them know.
    pub(super) fn tell(&mut self, lanes: u32, all: &Clock) {
        Bits(lanes).for_each(|lane| self.lanes[lane].before = all.clone());
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

    /// `lane` sees what is in the word.
    pub(super) fn see(
        &self,
        word: usize,
        record: &Record,
        scope: Scope,
        lane: usize,
        warp: &mut WarpSignals,
    ) {
        let Some(flag) = self.words.get(&word) else { return };
        for (&block, released) in flag {
            let [near, far] = &mut warp.lanes[lane].seen;
            if block == record.block {
                near.join(&released[0]);
            } else if scope == Scope::Device {
                far.join(&released[1]);
            }
        }
    }

    /// `lane` changes the word by a strong write.
    pub(super) fn raise(
        &mut self,
        word: usize,
        record: &Record,
        scope: Scope,
        lane: usize,
        warp: &WarpSignals,
    ) {
        let flag = self.words.entry(word).or_default().entry(record.block).or_default();
        let [near, far] = &warp.lanes[lane].ready;
        flag[0].join(near);
        if scope == Scope::Device {
            flag[1].join(far);
        }
    }
}
