//! What a warp pays in its registers for what it does not send: the shuffles of every setting.

use std::collections::BTreeMap;

use splatcheck_gpu::Setting;
use splatcheck_gpu::reduction::{InRegisters, LaneHas, OfWorkgroup, Sends};

use super::{Counts, Steps};

/// What a warp's shuffle of one value costs, in atomic operations of one lane, where nothing else is said:
/// the time of five scenes on an H100 (docs/src/internals/measurements.md).
pub const PRICE: f64 = 0.25;

/// The modelled time of a setting, in atomic operations of one lane: operations on global memory and, at
/// that price, shuffles. `None` where workgroups add up on their own or nothing is atomic, of which the
/// model says nothing.
#[must_use]
pub fn modelled(
    setting: Setting,
    operations: u64,
    shuffles: Option<u64>,
    price: f64,
) -> Option<f64> {
    let alone = setting.reduction.row().of_workgroup == OfWorkgroup::Nothing;
    let shuffles = shuffles.filter(|_| alone)?;
    Some(operations as f64 + price * shuffles as f64)
}

/// The cheapest; of equal ones the last, which has the largest threshold.
#[must_use]
pub fn cheapest(costs: impl Iterator<Item = (Setting, f64)>) -> Option<(Setting, f64)> {
    costs.reduce(|best, next| if next.1 <= best.1 { next } else { best })
}

impl Counts {
    /// Warp-wide shuffles of values that a setting's CUDA kernel makes to add up lanes: for each value of a
    /// row `c - 1` for the chain of `sw-s` over the largest group that is added up at a step, log2 W for a
    /// butterfly or a scan. `None` where lanes are added up elsewhere: a lane per destination, or a
    /// kernel's own order.
    #[must_use]
    pub fn shuffles(&self, setting: Setting) -> Option<u64> {
        let row = setting.reduction.row();
        let of_contributors = match row.lane_has {
            LaneHas::Contributors => true,
            LaneHas::Destination => false,
        };
        let steps = self.steps(row.per_lane)?;
        let rounds = match row.sends {
            Sends::EveryLane => Some(0),
            Sends::OneOfGroup | Sends::OneOfWarp | Sends::OneOfRun => {
                Some(steps.rounds(row.sends, row.in_registers, setting.threshold))
            }
            Sends::AlwaysOne => None,
        };
        rounds.filter(|_| of_contributors).map(|rounds| rounds * u64::from(self.values))
    }

    /// Steps of warps whose lanes have one contributor each, by how many rows their lanes add to.
    #[must_use]
    pub fn steps_by_rows(&self) -> BTreeMap<usize, u64> {
        let mut all = BTreeMap::new();
        let Some(steps) = self.steps(1) else { return all };
        let alone: u64 = steps.histogram().iter().sum();
        if alone > 0 {
            all.insert(1, alone);
        }
        for (parts, &count) in &steps.parted {
            *all.entry(parts.len()).or_default() += count;
        }
        all
    }
}

impl Steps {
    /// Rounds of shuffles of one value, over all steps.
    fn rounds(&self, sends: Sends, how: InRegisters, threshold: u32) -> u64 {
        let tree = u64::from(self.lane_width.ilog2());
        // What adding up a step costs whose largest group of those that are added up has so many lanes.
        let of = |largest: u32| match how {
            InRegisters::Nothing => 0,
            InRegisters::AnyOrder | InRegisters::Tree => tree,
            InRegisters::Chain => u64::from(largest.saturating_sub(1)),
        };
        let added_up = |groups: &[u32]| {
            let largest = groups.iter().copied().filter(|&lanes| lanes >= threshold.max(1)).max();
            largest.map_or(0, of)
        };
        let over = |steps: &BTreeMap<Vec<u32>, u64>| -> u64 {
            steps.iter().map(|(groups, &steps)| steps * added_up(groups)).sum()
        };
        let alone =
            || -> u64 { (1..).zip(self.histogram()).map(|(c, n)| n * added_up(&[c])).sum() };
        match sends {
            Sends::EveryLane | Sends::AlwaysOne => 0,
            Sends::OneOfWarp => alone(),
            Sends::OneOfGroup => alone() + over(&self.parted),
            Sends::OneOfRun => over(&self.of_runs),
        }
    }
}
