//! Counting the steps of many workgroups at once.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use splatcheck_gpu::reduction::{WORKGROUP_SIZE, runs};

use crate::scatter_step::{Destination, Scatter, ScatterStep};

/// Counts that many workgroups add to. They are whole numbers, so that the order does not matter.
pub(super) struct Tally {
    lane_width: u32,
    /// See [`super::Counts`].
    alone: Vec<AtomicU32>,
    /// There from the first step with several rows on.
    beside: OnceLock<Vec<AtomicU32>>,
    /// See [`super::Counts`]; `None` where runs are not asked for.
    runs: Option<Vec<AtomicU32>>,
    workgroups: Vec<AtomicU32>,
}

fn counters(count: usize) -> Vec<AtomicU32> {
    std::iter::repeat_with(|| AtomicU32::new(0)).take(count).collect()
}

impl Tally {
    pub(super) fn new(rows: usize, lane_width: u32, runs: bool) -> Self {
        let of_lanes = || counters(rows * lane_width as usize);
        Self {
            lane_width,
            alone: of_lanes(),
            runs: runs.then(of_lanes),
            beside: OnceLock::new(),
            workgroups: counters(rows),
        }
    }

    /// Counts one workgroup for each of the `tallies`, which are by the contributors of a lane; returns
    /// its parts of what is no row's.
    pub(super) fn workgroup(
        tallies: &[(u32, Self)],
        scatter: &dyn Scatter,
        workgroup: u32,
    ) -> Vec<Workgroup> {
        let mut found = Workgroup::none(tallies.len(), scatter.lane_width());
        let mut slots: Vec<_> = tallies.iter().map(|_| Slots::default()).collect();
        scatter.workgroup(workgroup, &mut |step| {
            let parts = tallies.iter().zip(&mut found).zip(&mut slots);
            for (((per_lane, tally), found), slots) in parts {
                if *per_lane == step.per_lane {
                    tally.step(step, found, slots);
                }
            }
        });
        for (found, slots) in found.iter_mut().zip(&slots) {
            slots.count_passes(scatter.lane_width(), &mut found.passes);
        }
        found
    }

    fn step(&self, step: &ScatterStep<'_>, found: &mut Workgroup, slots: &mut Slots) {
        match step.destinations {
            [] => {}
            [one] => self.count(&self.alone, one.row, one.lanes.count_ones()),
            several => {
                let beside = self.beside.get_or_init(|| counters(self.alone.len()));
                for one in several {
                    self.count(beside, one.row, one.lanes.count_ones());
                }
                *found.parted.entry(parts(several)).or_default() += 1;
            }
        }
        if let Some(counts) = self.runs.as_ref().filter(|_| !step.destinations.is_empty()) {
            let mut of_step = Vec::new();
            for &Destination { row, lanes, .. } in step.destinations {
                for run in runs(lanes) {
                    self.count(counts, row, run);
                    of_step.push(run);
                }
            }
            of_step.sort_unstable();
            *found.of_runs.entry(of_step).or_default() += 1;
        }
        for destination in step.destinations {
            if slots.touch(destination.slot) {
                self.workgroups[destination.row as usize].fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn count(&self, steps: &[AtomicU32], row: u32, lanes: u32) {
        let first = row as usize * self.lane_width as usize;
        steps[first + lanes as usize - 1].fetch_add(1, Ordering::Relaxed);
    }

    /// The counts of the rows: steps with one row, steps with several, runs, workgroups.
    pub(super) fn finish(self) -> [Vec<u32>; 4] {
        let beside = self.beside.into_inner().unwrap_or_default();
        [self.alone, beside, self.runs.unwrap_or_default(), self.workgroups]
            .map(|counts| counts.into_iter().map(AtomicU32::into_inner).collect())
    }
}

/// How many lanes add to each row of a step, in ascending order.
fn parts(destinations: &[Destination]) -> Vec<u32> {
    let mut parts: Vec<_> = destinations.iter().map(|one| one.lanes.count_ones()).collect();
    parts.sort_unstable();
    parts
}

/// What is counted of one workgroup, or of several, and is no row's.
pub(super) struct Workgroup {
    /// See [`super::Counts`].
    pub(super) parted: BTreeMap<Vec<u32>, u64>,
    /// See [`super::Counts`].
    pub(super) of_runs: BTreeMap<Vec<u32>, u64>,
    /// See [`super::Counts`].
    pub(super) passes: Vec<u64>,
}

impl Workgroup {
    /// Nothing yet, for so many tallies.
    pub(super) fn none(tallies: usize, lane_width: u32) -> Vec<Self> {
        let passes = || vec![0; lane_width as usize + 1];
        let none = || Self { parted: BTreeMap::new(), of_runs: BTreeMap::new(), passes: passes() };
        std::iter::repeat_with(none).take(tallies).collect()
    }

    /// Those of some workgroups and those of others, tally by tally.
    pub(super) fn all_joined(some: Vec<Self>, others: Vec<Self>) -> Vec<Self> {
        some.into_iter().zip(others).map(|(one, other)| one.joined(other)).collect()
    }

    fn joined(mut self, other: Self) -> Self {
        for (all, other) in [(&mut self.parted, other.parted), (&mut self.of_runs, other.of_runs)] {
            for (parts, steps) in other {
                *all.entry(parts).or_default() += steps;
            }
        }
        self.passes = added(self.passes, other.passes);
        self
    }
}

/// The slots of a workgroup that hold a sum: slot s is a bit of word s / 64.
#[derive(Default)]
struct Slots(Vec<u64>);

impl Slots {
    /// Notes that this slot has a sum; whether it had none before.
    fn touch(&mut self, slot: u32) -> bool {
        let (word, bit) = ((slot / u64::BITS) as usize, 1 << (slot % u64::BITS));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    /// Counts the warps of the passes that send the sums, by the slots with one.
    fn count_passes(&self, lane_width: u32, passes: &mut [u64]) {
        // A pass of the CUDA kernels ends with a batch of this size, which all warp sizes divide.
        const { assert!(WORKGROUP_SIZE.is_multiple_of(u64::BITS), "batches end at words' borders") };
        let words_of_warp = (lane_width / u64::BITS).max(1);
        let all = u64::MAX >> u64::BITS.saturating_sub(lane_width);
        for words in self.0.chunks(words_of_warp as usize) {
            for first in (0..u64::BITS).step_by(lane_width as usize) {
                let lanes: u32 = words.iter().map(|word| (word >> first & all).count_ones()).sum();
                if lanes != 0 {
                    passes[lanes as usize] += 1;
                }
            }
        }
    }
}

/// Element by element.
pub(super) fn added(mut one: Vec<u64>, other: Vec<u64>) -> Vec<u64> {
    one.iter_mut().zip(other).for_each(|(one, other)| *one += other);
    one
}
