//! The atomic traffic of the backward stage: what every reduction and threshold sends to memory.
//!
//! Atomics issued, lanes per atomic and the longest chain of additions to one address need no GPU:
//! they follow from the scene, the reduction and the threshold. With c the contributing lanes of a
//! step (a warp at a Gaussian, see [`crate::workloads::splat::contributions`]) and V = 6 + D the values of a pair, a
//! warp issues V atomics wherever it issues any, and the steps with c > 0 come to:
//!
//! | reduction | issued by a step / V | lanes of each | chain of a Gaussian's values |
//! |---|---|---|---|
//! | `atomic` | 1 | c | sum of c over its steps |
//! | `sw-s`, `sw-b`, `subgroup` | 1 | c below the threshold, else 1 | sum of those |
//! | `block` | none | | its tiles: one addition for each |
//! | `per-gaussian` | 1 | 1 | its steps |
//!
//! `block` adds to shared memory what `sw-b` adds to global memory, and ends a batch with one pass
//! over its rows, neighbouring threads at neighbouring rows: a warp of it issues V atomics with as
//! many lanes as its rows have sums. All reductions but `per-gaussian` also find the end of a tile's
//! walk by one atomic maximum in shared memory for each warp.
//!
//! The counts are those of the CUDA kernels, in lockstep, and equal the emulator's. Two things are
//! left to a device: comparisons that rounding leaves open, and `block`'s sums that come out as
//! exactly zero, which are not sent; its global atomics are therefore an upper bound.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rayon::prelude::*;
use splatcheck_gpu::stages::{WORKGROUP_SIZE, values};
use splatcheck_gpu::{BackwardConfig, EngineError, Reduction, ThresholdError};

use crate::workloads::splat::contributions::{Contributions, Step};
use crate::workloads::splat::stage::Stage;

pub mod floor;

pub use floor::{Floor, Work};

/// Gaussians of a batch of the CUDA kernels.
const BATCH: u32 = WORKGROUP_SIZE;

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
    pub setting: BackwardConfig,
    /// Atomics on global memory; for [`Reduction::Block`] at most these.
    pub global: Atomics,
    /// Atomics on shared memory.
    pub shared: Atomics,
    /// Per Gaussian: additions to each of its values, which all go to one address. 0 for a
    /// Gaussian to which nothing is sent.
    pub chains: Vec<u32>,
    /// Values of a Gaussian: 6 + D.
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
    /// `[N,W]`: steps of the Gaussian with 1, 2, ... W contributing lanes.
    steps: Vec<u32>,
    /// `[N]`: tiles in which some pixel contributes.
    tiles: Vec<u32>,
    /// `[0..=W]`: warps of [`Reduction::Block`]'s passes over a batch, by the rows with a sum.
    passes: Vec<u64>,
    /// Warps of all tiles.
    warps: u64,
    /// What the stage has to compute and to move.
    pub work: Work,
}

impl Counts {
    /// Walks the stage with warps of `lane_width` lanes.
    ///
    /// # Errors
    /// See [`Contributions::new`].
    pub fn new(stage: &Stage, lane_width: u32) -> Result<Self, EngineError> {
        let contributions = Contributions::new(stage, lane_width)?;
        let tally = Tally::new(stage.inputs.raster.len(), lane_width);
        let tiles = contributions.tiles();
        let passes = (0..tiles)
            .into_par_iter()
            .map(|tile| tally.tile(&contributions, tile))
            .reduce(|| vec![0; lane_width as usize + 1], added);
        let plain = |counts: Vec<AtomicU32>| counts.into_iter().map(AtomicU32::into_inner);
        let (steps, tiles_of) = (plain(tally.steps).collect::<Vec<_>>(), plain(tally.tiles));
        let contributing =
            steps.iter().zip((1..=lane_width).cycle()).map(|(&n, c)| u64::from(n) * u64::from(c));
        let walked = tally.walked.iter().filter(|walked| walked.load(Ordering::Relaxed)).count();
        let tiles_of: Vec<u32> = tiles_of.collect();
        let touched = tiles_of.iter().filter(|&&tiles| tiles > 0).count();
        let work = Work::new(stage, contributing.sum(), [walked as u64, touched as u64]);
        Ok(Self {
            lane_width,
            values: values(stage.inputs.raster.channels),
            steps,
            tiles: tiles_of,
            passes,
            warps: u64::from(tiles * (WORKGROUP_SIZE / lane_width)),
            work,
        })
    }

    /// The lane width that was counted for.
    #[must_use]
    pub fn lane_width(&self) -> u32 {
        self.lane_width
    }

    /// The traffic of one setting.
    ///
    /// # Errors
    /// A threshold that is out of range, where the reduction has one.
    pub fn traffic(&self, setting: BackwardConfig) -> Result<Traffic, ThresholdError> {
        // From so many contributing lanes on, a warp adds up in registers.
        let reduces_from = match setting.reduction {
            Reduction::Atomic => self.lane_width + 1,
            Reduction::PerGaussian => 0,
            _ => setting.check(self.lane_width)?.threshold,
        };
        let sent = |lanes: u32| if lanes >= reduces_from { 1 } else { lanes };
        let of_warps = self.of_warps(sent);
        let mut shared = Atomics::none(self.lane_width);
        if setting.reduction != Reduction::PerGaussian {
            shared.add(1, self.warps);
        }
        let (global, chains) = if setting.reduction == Reduction::Block {
            shared.lanes = added(shared.lanes, of_warps.lanes);
            let issued = self.passes.iter().map(|warps| warps * u64::from(self.values));
            (Atomics { lanes: issued.collect() }, self.tiles.clone())
        } else {
            (of_warps, self.chains(sent))
        };
        Ok(Traffic { setting, global, shared, chains, values: self.values })
    }

    /// The number of steps with each number of contributing lanes.
    fn histogram(&self) -> Vec<u64> {
        let mut all = vec![0; self.lane_width as usize];
        for row in self.steps.chunks_exact(self.lane_width as usize) {
            all.iter_mut().zip(row).for_each(|(all, &steps)| *all += u64::from(steps));
        }
        all
    }

    /// What warps issue whose steps with c contributing lanes send from `sent(c)` of them.
    fn of_warps(&self, sent: impl Fn(u32) -> u32) -> Atomics {
        let mut atomics = Atomics::none(self.lane_width);
        for (lanes, steps) in (1..).zip(self.histogram()) {
            atomics.add(sent(lanes) as usize, steps * u64::from(self.values));
        }
        atomics
    }

    /// Per Gaussian: the lanes that send, added up over its steps.
    fn chains(&self, sent: impl Fn(u32) -> u32) -> Vec<u32> {
        let chain = |row: &[u32]| (1..).zip(row).map(|(lanes, steps)| sent(lanes) * steps).sum();
        self.steps.chunks_exact(self.lane_width as usize).map(chain).collect()
    }
}

fn added(mut one: Vec<u64>, other: Vec<u64>) -> Vec<u64> {
    one.iter_mut().zip(other).for_each(|(one, other)| *one += other);
    one
}

/// Counts that many tiles add to. They are whole numbers, so that the order does not matter.
struct Tally {
    lane_width: u32,
    steps: Vec<AtomicU32>,
    tiles: Vec<AtomicU32>,
    /// `[N]`: whether some walk passes the Gaussian.
    walked: Vec<AtomicBool>,
}

impl Tally {
    fn new(gaussians: usize, lane_width: u32) -> Self {
        let counters = |count| std::iter::repeat_with(|| AtomicU32::new(0)).take(count).collect();
        Self {
            lane_width,
            steps: counters(gaussians * lane_width as usize),
            tiles: counters(gaussians),
            walked: (0..gaussians).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Counts one tile; returns its part of [`Counts::passes`].
    fn tile(&self, contributions: &Contributions<'_>, tile: u32) -> Vec<u64> {
        let mut rows = Rows::new(self.lane_width);
        contributions.tile(tile, |step| {
            let Step { gaussian, contributing, walked, .. } = *step;
            let id = gaussian as usize;
            if step.warp == 0 {
                self.walked[id].store(true, Ordering::Relaxed);
            }
            let lanes = contributing.count_ones() as usize;
            if lanes > 0 {
                let row = id * self.lane_width as usize;
                self.steps[row + lanes - 1].fetch_add(1, Ordering::Relaxed);
                if rows.touch(walked) {
                    self.tiles[id].fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        rows.finish()
    }
}

/// The rows of a tile's batches that hold a sum, warp by warp of the pass that sends them.
struct Rows {
    lane_width: u32,
    passes: Vec<u64>,
    /// The latest row that was touched, as steps of the walk.
    latest: Option<u32>,
    /// Rows touched of the warp that `latest` is in.
    in_warp: usize,
}

impl Rows {
    fn new(lane_width: u32) -> Self {
        Self { lane_width, passes: vec![0; lane_width as usize + 1], latest: None, in_warp: 0 }
    }

    /// Notes that the row at this place of the walk has a sum; whether it had none before.
    fn touch(&mut self, walked: u32) -> bool {
        if self.latest == Some(walked) {
            return false;
        }
        // Batches begin at warps' borders: a lane width divides them.
        const { assert!(BATCH.is_power_of_two(), "so does every lane width") };
        if self.latest.is_some_and(|latest| latest / self.lane_width != walked / self.lane_width) {
            self.passes[std::mem::take(&mut self.in_warp)] += 1;
        }
        self.in_warp += 1;
        self.latest = Some(walked);
        true
    }

    fn finish(mut self) -> Vec<u64> {
        if self.in_warp > 0 {
            self.passes[self.in_warp] += 1;
        }
        self.passes
    }
}

#[cfg(test)]
mod floor_tests;
#[cfg(test)]
mod tests;
