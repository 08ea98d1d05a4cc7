//! How many loop steps the reductions' WGSL texts make at most, for one subgroup: `reduce.wgsl`,
//! `reduce_NAME.wgsl`, `sums_PLACE.wgsl` and `group.wgsl`. What a step is says [`crate::stage`].

use super::{InMemory, InRegisters, OfWorkgroup, Row, Sends, Setting, WORKGROUP_SIZE};
use crate::stage::{LoopRun, over};

impl InRegisters {
    /// `add_lanes` of rows with so many values.
    fn steps(self, values: u64, width: u64) -> u64 {
        match self {
            // `reduce_atomic.wgsl`
            Self::Nothing => 0,
            // `reduce_subgroup.wgsl`: for every value.
            Self::AnyOrder => over(values, 0),
            // `add_tree`: for every stride W/2, ..., 1, for every value.
            Self::Tree => over(u64::from(width.max(1).ilog2()), over(values, 0)),
            // `reduce_sw_s.wgsl`: for every lane but the leader, for every value.
            Self::Chain => over(width.saturating_sub(1), over(values, 0)),
        }
    }

    /// `add_lanes` where no lane takes the branch: a turn of each loop.
    fn idle(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::AnyOrder => 1,
            Self::Tree | Self::Chain => 2,
        }
    }
}

impl Row {
    /// `deliver` of `senders` lanes at once. Lanes of a subgroup send at the same step: of exchanges
    /// on one sum in workgroup memory one succeeds a turn. Subgroups of a workgroup are taken to run one
    /// after another between barriers, as lavapipe runs them, so that no other's comes between.
    fn deliver(&self, run: &LoopRun<'_>, values: u64, senders: u64) -> u64 {
        let turns = match self.of_workgroup {
            OfWorkgroup::InMemory => senders,
            OfWorkgroup::Nothing | OfWorkgroup::InRegisters | OfWorkgroup::InOrder => {
                match self.in_memory {
                    InMemory::FloatAtomics => run.add(),
                    // `atomic_fixed.wgsl`, `write_sum.wgsl`
                    InMemory::FixedPoint | InMemory::InOrder | InMemory::OneWriter => 0,
                }
            }
        };
        over(values, turns)
    }
}

impl Setting {
    /// `add_up`: one row of so many values.
    pub(crate) fn add_up_steps(self, run: &LoopRun<'_>, values: u64) -> u64 {
        let row = self.reduction.row();
        let (width, threshold) = (u64::from(run.lane_width), u64::from(self.threshold));
        let sums_in_registers = row.in_registers != InRegisters::Nothing;
        // From the threshold on, the lanes are added up and one sends.
        let reduced = sums_in_registers && threshold <= width;
        let reduced = reduced.then(|| {
            row.in_registers.steps(values, width).saturating_add(row.deliver(run, values, 1))
        });
        // Below it, each lane that contributes sends.
        let most = if sums_in_registers { width.min(threshold.saturating_sub(1)) } else { width };
        let apart = (most > 0)
            .then(|| row.in_registers.idle().saturating_add(row.deliver(run, values, most)));
        reduced.max(apart).unwrap_or(0)
    }

    /// `match_lanes` of a keyed stage: by ballots, a turn for each group.
    pub(crate) fn match_steps(self, run: &LoopRun<'_>) -> u64 {
        match self.reduction.row().sends {
            Sends::OneOfGroup => over(u64::from(run.lane_width), 0),
            Sends::EveryLane | Sends::OneOfRun | Sends::OneOfWarp | Sends::AlwaysOne => 0,
        }
    }

    /// `add_lanes` and `deliver` of a keyed stage: each lane has a row of so many values, and up to all
    /// of them send.
    pub(crate) fn keyed_steps(self, run: &LoopRun<'_>, values: u64) -> u64 {
        let row = self.reduction.row();
        let width = u64::from(run.lane_width);
        let in_registers =
            row.in_registers.steps(values, width).saturating_add(row.in_registers.idle());
        in_registers.saturating_add(row.deliver(run, values, width))
    }

    /// `begin_batch` and `end_batch`: a batch of so many rows.
    pub(crate) fn batch_steps(self, run: &LoopRun<'_>, rows: u64, values: u64) -> u64 {
        let row = self.reduction.row();
        match row.of_workgroup {
            OfWorkgroup::Nothing | OfWorkgroup::InRegisters | OfWorkgroup::InOrder => return 0,
            OfWorkgroup::InMemory => {}
        }
        let sums = |rows: u64| rows.saturating_mul(values).div_ceil(u64::from(WORKGROUP_SIZE));
        // All sums of the batch are cleared, those in use are sent.
        over(sums(rows), 0).saturating_add(over(sums(rows), run.add()))
    }
}
