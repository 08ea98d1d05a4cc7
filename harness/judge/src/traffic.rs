//! The atomic traffic of a stage that accumulates: what every reduction and threshold sends to memory.
//!
//! Atomics issued, lanes per atomic and the longest chain of additions to one address need no GPU:
//! they follow from the steps of the stage's warps ([`crate::scatter_step`]), the reduction and the
//! threshold. With V the values of a row, a warp issues V atomics wherever it issues any: one
//! instruction has the lanes of all rows of a step. With c the lanes that add to one row at a step,
//! the steps with c > 0 come to:
//!
//! | reduction | issued by a step / V | lanes of each, for every row | chain of a row's values |
//! |---|---|---|---|
//! | `atomic` | 1 | c | sum of c over its steps |
//! | `sw-s` | 1 | c below the threshold, else 1 | sum of those |
//! | `sw-b`, `subgroup` | 1 | c below the threshold or beside other rows, else 1 | sum of those |
//! | `segmented` | 1 | for every run of neighbours: its lanes below the threshold, else 1 | sum of those |
//! | `block` | none | | its workgroups: one addition for each |
//! | `per-key` | none: sums are written | | none |
//! | `per-gaussian` | 1 | 1 | its steps |
//! | `multi-pixel-P` | as `sw-b`, with c the lanes that have a pixel which contributes | | |
//! | `fixed` | 2: both words of an integer | c | sum of c over its steps, at either word |
//! | `sorted` | none: sums are written | | none |
//!
//! `block` adds to shared memory what `sw-b` adds to global memory, and ends a batch with one pass
//! over its slots, neighbouring threads at neighbouring slots: a warp of it issues V atomics with as
//! many lanes as its slots have sums. A kernel may issue atomics in shared memory beside these
//! ([`Scatter::shared_of_kernel`]).
//!
//! The counts are those of the CUDA kernels, in lockstep, and equal the emulator's. Two things are
//! left to a device: comparisons that rounding leaves open, and `block`'s sums that come out as
//! exactly zero, which are not sent; its global atomics are therefore an upper bound.

pub mod cost;
mod tally;

use std::collections::BTreeMap;

use rayon::prelude::*;
use splatcheck_gpu::reduction::{Group, InMemory, OfWorkgroup};
use splatcheck_gpu::{Reduction, Setting, ThresholdError};

use crate::scatter_step::Scatter;
use tally::{Tally, Workgroup, added};

/// Atomic instructions by the number of lanes that take part, `[0..=W]`. Each lane's part is one
/// operation on one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atomics {
    /// Instructions issued.
    pub lanes: Vec<u64>,
}

impl Atomics {
    fn none(lane_width: u32) -> Self {
        Self { lanes: vec![0; lane_width as usize + 1] }
    }

    fn add(&mut self, lanes: usize, instructions: u64) {
        self.lanes[lanes] += instructions;
    }

    /// Instructions.
    #[must_use]
    pub fn issued(&self) -> u64 {
        self.lanes.iter().sum()
    }

    /// Words changed.
    #[must_use]
    pub fn operations(&self) -> u64 {
        (0..).zip(&self.lanes).map(|(lanes, issued): (u64, _)| lanes * issued).sum()
    }
}

/// What one setting sends to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// The setting.
    pub setting: Setting,
    /// Atomics on global memory; where workgroups add up on their own at most these.
    pub global: Atomics,
    /// Atomics on shared memory.
    pub shared: Atomics,
    /// Per row: additions to each of its values, which all go to one address. 0 for a row to which
    /// nothing is sent.
    pub chains: Vec<u32>,
    /// Numbers in memory for a row: its values, in fixed point two words each.
    pub values: u32,
}

impl Traffic {
    /// Additions to the address with the most, which the memory system does one after the other.
    #[must_use]
    pub fn longest_chain(&self) -> u32 {
        self.chains.iter().copied().max().unwrap_or(0)
    }

    /// Additions per address, over those with any; 0 where there is none.
    #[must_use]
    pub fn mean_chain(&self) -> f64 {
        let touched = self.chains.iter().filter(|&&chain| chain > 0).count();
        let total: u64 = self.chains.iter().map(|&chain| u64::from(chain)).sum();
        ratio(total, touched as u64)
    }

    /// Lanes that an atomic of global memory has on average; 0 where there is none.
    #[must_use]
    pub fn lanes_per_atomic(&self) -> f64 {
        ratio(self.global.operations(), self.global.issued())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a mean for people")]
fn ratio(total: u64, count: u64) -> f64 {
    total as f64 / count.max(1) as f64
}

/// The counts of a stage from which the traffic of every setting follows.
#[derive(Clone, Debug)]
pub struct Counts {
    lane_width: u32,
    values: u32,
    /// By the contributors that a lane has ([`Scatter::per_lane`]).
    steps: Vec<(u32, Steps)>,
    /// By reduction: see [`Scatter::shared_of_kernel`].
    shared_of_kernel: [u64; Reduction::ALL.len()],
}

/// The counts of warps whose lanes have the same number of contributors.
#[derive(Clone, Debug)]
struct Steps {
    lane_width: u32,
    /// `[R,W]`: steps in which 1, 2, ... W lanes add to the row and none to another.
    alone: Vec<u32>,
    /// `[R,W]`: the same for steps in which other lanes add to other rows; empty if there is none.
    beside: Vec<u32>,
    /// Steps with several rows, by how many lanes add to each, in ascending order.
    parted: BTreeMap<Vec<u32>, u64>,
    /// `[R,W]`: runs of 1, 2, ... W neighbouring lanes that add to the row; empty where no kernel of the
    /// stage adds up runs.
    runs: Vec<u32>,
    /// Steps by the lengths of all their runs, in ascending order; likewise.
    of_runs: BTreeMap<Vec<u32>, u64>,
    /// `[R]`: workgroups that add to the row.
    workgroups: Vec<u32>,
    /// `[0..=W]`: warps of the passes over a workgroup's sums, by the slots with a sum.
    passes: Vec<u64>,
}

impl Counts {
    /// Walks the stage.
    #[must_use]
    pub fn new(scatter: &dyn Scatter) -> Self {
        let lane_width = scatter.lane_width();
        let runs = scatter.is_keyed();
        let tally = |per_lane| (per_lane, Tally::new(scatter.rows(), lane_width, runs));
        let tallies: Vec<_> = scatter.per_lane().into_iter().map(tally).collect();
        let all = (0..scatter.workgroups())
            .into_par_iter()
            .map(|workgroup| Tally::workgroup(&tallies, scatter, workgroup))
            .reduce(|| Workgroup::none(tallies.len(), lane_width), Workgroup::all_joined);
        let steps = tallies.into_iter().zip(all).map(|((per_lane, tally), all)| {
            let Workgroup { parted, of_runs, passes } = all;
            let [alone, beside, runs, workgroups] = tally.finish();
            let steps =
                Steps { lane_width, alone, beside, parted, runs, of_runs, workgroups, passes };
            (per_lane, steps)
        });
        Self {
            lane_width,
            values: scatter.values(),
            steps: steps.collect(),
            shared_of_kernel: Reduction::ALL.map(|reduction| scatter.shared_of_kernel(reduction)),
        }
    }

    /// The steps of warps whose lanes have so many contributors; `None` where the stage has no kernel
    /// with such lanes.
    fn steps(&self, per_lane: u32) -> Option<&Steps> {
        self.steps.iter().find(|(there, _)| *there == per_lane).map(|(_, steps)| steps)
    }

    /// The warp size that was counted for.
    #[must_use]
    pub fn lane_width(&self) -> u32 {
        self.lane_width
    }

    /// Contributions: lanes with one contributor each that add to a row, over all steps.
    #[must_use]
    pub fn contributing(&self) -> u64 {
        let Some(steps) = self.steps(1) else { return 0 };
        let of = |steps: &[u32]| -> u64 {
            let lanes = (1..=self.lane_width).cycle();
            steps.iter().zip(lanes).map(|(&steps, c)| u64::from(steps) * u64::from(c)).sum()
        };
        of(&steps.alone) + of(&steps.beside)
    }

    /// Rows that something is added to.
    #[must_use]
    pub fn touched(&self) -> u64 {
        let workgroups = self.steps(1).map_or(&[][..], |steps| &steps.workgroups);
        workgroups.iter().filter(|&&workgroups| workgroups > 0).count() as u64
    }

    /// The traffic of one setting: none where the stage has no kernel with such lanes.
    ///
    /// # Errors
    /// A threshold that is out of range, where the reduction has one.
    pub fn traffic(&self, setting: Setting) -> Result<Traffic, ThresholdError> {
        if setting.reduction.has_threshold() {
            setting.check(self.lane_width)?;
        }
        let mut shared = Atomics::none(self.lane_width);
        shared.add(1, self.shared_of_kernel[setting.reduction as usize]);
        let row = setting.reduction.row();
        let values = match row.in_memory {
            InMemory::FloatAtomics | InMemory::InOrder | InMemory::OneWriter => self.values,
            InMemory::FixedPoint => 2 * self.values,
        };
        let none = || (Atomics::none(self.lane_width), Vec::new());
        let Some(steps) = self.steps(row.per_lane) else {
            let (global, chains) = none();
            return Ok(Traffic { setting, global, shared, chains, values });
        };
        let of_warps = steps.of_warps(setting, values);
        // One value a workgroup, which a warp's lanes send for neighbouring destinations.
        let of_workgroups = || {
            let issued = steps.passes.iter().map(|warps| warps * u64::from(values));
            (Atomics { lanes: issued.collect() }, steps.workgroups.clone())
        };
        let (global, chains) = match row.of_workgroup {
            _ if row.in_memory == InMemory::OneWriter => none(),
            OfWorkgroup::Nothing => (of_warps, steps.chains(setting)),
            OfWorkgroup::InMemory => {
                shared.lanes = added(shared.lanes, of_warps.lanes);
                of_workgroups()
            }
            OfWorkgroup::InRegisters => of_workgroups(),
            OfWorkgroup::InOrder => none(),
        };
        Ok(Traffic { setting, global, shared, chains, values })
    }
}

impl Steps {
    /// The number of steps with one row, by its lanes.
    fn histogram(&self) -> Vec<u64> {
        let mut all = vec![0; self.lane_width as usize];
        for row in self.alone.chunks_exact(self.lane_width as usize) {
            all.iter_mut().zip(row).for_each(|(all, &steps)| *all += u64::from(steps));
        }
        all
    }

    /// What warps issue: the lanes of all rows of a step take part in one instruction.
    fn of_warps(&self, setting: Setting, values: u32) -> Atomics {
        let mut atomics = Atomics::none(self.lane_width);
        let mut add = |lanes: u32, steps| {
            atomics.add(lanes as usize, steps * u64::from(values));
        };
        if setting.reduction.row().sends.adds_up_runs() {
            for (runs, &steps) in &self.of_runs {
                let sent = runs.iter().map(|&lanes| setting.sends(Group { lanes, alone: false }));
                add(sent.sum(), steps);
            }
            return atomics;
        }
        for (lanes, steps) in (1..).zip(self.histogram()) {
            add(setting.sends(Group { lanes, alone: true }), steps);
        }
        for (parts, &steps) in &self.parted {
            let sent = parts.iter().map(|&lanes| setting.sends(Group { lanes, alone: false }));
            add(sent.sum(), steps);
        }
        atomics
    }

    /// Per row: the lanes that send, added up over its steps.
    fn chains(&self, setting: Setting) -> Vec<u32> {
        let width = self.lane_width as usize;
        let sent = |alone| -> Vec<u32> {
            (1..=self.lane_width).map(|lanes| setting.sends(Group { lanes, alone })).collect()
        };
        let chains = |steps: &[u32], sent: &[u32]| -> Vec<u32> {
            let chain = |row: &[u32]| row.iter().zip(sent).map(|(steps, sent)| steps * sent).sum();
            steps.chunks_exact(width).map(chain).collect()
        };
        if setting.reduction.row().sends.adds_up_runs() {
            return chains(&self.runs, &sent(false));
        }
        let mut all = chains(&self.alone, &sent(true));
        let beside = chains(&self.beside, &sent(false));
        all.iter_mut().zip(beside).for_each(|(all, beside)| *all += beside);
        all
    }
}

#[cfg(test)]
pub(crate) mod tests;
