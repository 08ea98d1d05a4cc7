//! How long a reduction's chain of additions is, and what its warps send out of their registers.
//!
//! A reduction makes chains shorter by adding up in registers first, then perhaps in workgroup
//! memory, then in memory; the chain is the sum of the three. How many values leave the registers is
//! bounded from the contributing lanes of each workgroup, for the worst possible assignment of lanes
//! to warps.
//!
//! The chain of each reduction, for warp size W:
//!
//! | reduction      | in registers                           | then                              |
//! |----------------|----------------------------------------|-----------------------------------|
//! | `atomic`       | -                                      | m terms, one after another        |
//! | `sw-s`         | the leader's chain over W lanes: W - 1 | all values sent, one after another|
//! | `sw-b`         | a tree over W lanes: log2 W            | the same                          |
//! | `subgroup`     | any grouping of W lanes: W - 1         | the same                          |
//! | `segmented`    | a scan over W lanes: log2 W            | the same                          |
//! | `per-key`      | a lane's chain over all m terms: m - 1 | nothing: the lane writes the sum  |
//! | `per-gaussian` | a lane's chain over W pixels: W - 1    | the same, one value a warp        |
//! | `block`        | a tree over W lanes: log2 W            | a tile's values, then the tiles'  |
//! | `replay`       | a lane's chain over a tile's m terms: m - 1 | the tiles' values, one after another |
//! | `multi-pixel-P`| a lane's chain over P pixels and a tree over W lanes: P - 1 + log2 W | as `sw-b`, from 256 / P lanes a tile |
//! | `sorted`       | a tree over W lanes: log2 W            | a tile's warps, then the tiles    |
//! | `fixed`        | -                                      | integers, which do not round: see [`InMemory::FixedPoint`] |
//!
//! Where the lanes of a warp share a destination, the values sent are bounded by the worst assignment of
//! lanes to warps. Where each lane has a destination of its own, it is known which lanes those are, and
//! the number of values sent is exact ([`Adding`]).
//!
//! `subgroup`: WGSL promises no order for `subgroupAdd` (the WebGPU CTS tests its accuracy as
//! "implementation defined"), and of all binary trees with W leaves the chain is the deepest;
//! CUDA's, a tree of log2 W, is one of them. A compiler that reassociates a lane's own chain (WGSL
//! allows it) makes another tree with as many leaves.

use super::{Row, Setting, WORKGROUP_SIZE};

/// How a warp adds up in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InRegisters {
    /// Not at all.
    Nothing,
    /// One lane adds the values of the lanes one after another.
    Chain,
    /// A tree over all lanes, in which idle ones hold zeros.
    Tree,
    /// Any binary tree with a leaf for each lane.
    AnyOrder,
}

impl InRegisters {
    /// The longest chain of additions over a warp of `width` lanes.
    #[must_use]
    pub fn depth(self, width: u32) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Chain | Self::AnyOrder => u64::from(width) - 1,
            Self::Tree => u64::from(width.next_power_of_two().ilog2()),
        }
    }
}

/// How a workgroup adds up what its warps have for one destination, so that it sends one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfWorkgroup {
    /// Not at all: every warp sends on its own.
    Nothing,
    /// In workgroup memory, to which the warps send.
    InMemory,
    /// In the registers of one lane, which works through all contributions to its destination.
    InRegisters,
    /// In workgroup memory, where one lane adds what each warp wrote, warp after warp.
    InOrder,
}

/// How the sums that workgroups send come together in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InMemory {
    /// By atomic additions of floats, in the order in which they come.
    FloatAtomics,
    /// By atomic additions of integers, whose order changes no bit: numbers in fixed point, 64 bits in
    /// units of 2^-32 in two words each. Every term is cut off at the quantum, the sum is exact, and
    /// the two words are made floats and added, two roundings one after another. Sums from
    /// -2^31 to 2^31.
    FixedPoint,
    /// Not in memory: each is written to a place of its own, and one lane adds up those of a
    /// destination, workgroup after workgroup.
    InOrder,
    /// Not in memory: one lane has all that is added to a destination, and writes the sum.
    OneWriter,
}

/// Roundings on the way from a sum in fixed point to a float: of a word, and of the words' sum.
const OF_FIXED_POINT: u64 = 2;

/// Lanes of a warp that add to one destination at one step: all that do, or a run of neighbours, which
/// is what [`Sends::OneOfRun`] asks for ([`Sends::adds_up_runs`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Group {
    /// How many they are.
    pub lanes: u32,
    /// Whether no other lane of the warp adds to another destination at this step.
    pub alone: bool,
}

/// What a warp sends out of its registers for a group of c lanes; nothing where c is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sends {
    /// c values.
    EveryLane,
    /// One value if c >= threshold, else c: each group is added up on its own.
    OneOfGroup,
    /// One value if c >= threshold, else c, of a run of neighbouring lanes: each run is added up on its
    /// own, though another of the warp be of the same destination.
    OneOfRun,
    /// One value if c >= threshold and the group is alone, else c: the warp is added up as a whole,
    /// which is wrong where its lanes have different destinations.
    OneOfWarp,
    /// One value.
    AlwaysOne,
}

impl Sends {
    /// Whether the threshold changes what is sent.
    #[must_use]
    pub const fn has_threshold(self) -> bool {
        match self {
            Self::EveryLane | Self::AlwaysOne => false,
            Self::OneOfGroup | Self::OneOfRun | Self::OneOfWarp => true,
        }
    }

    /// Whether it is asked of runs of neighbouring lanes, not of all that add to one destination.
    #[must_use]
    pub const fn adds_up_runs(self) -> bool {
        match self {
            Self::OneOfRun => true,
            Self::EveryLane | Self::AlwaysOne | Self::OneOfGroup | Self::OneOfWarp => false,
        }
    }

    /// The lanes that send for a group: each issues one atomic for each value.
    #[must_use]
    pub fn lanes(self, group: Group, threshold: u32) -> u32 {
        let Group { lanes, alone } = group;
        let one_if = |reduces| if reduces { lanes.min(1) } else { lanes };
        match self {
            Self::EveryLane => lanes,
            Self::OneOfGroup | Self::OneOfRun => one_if(lanes >= threshold),
            Self::OneOfWarp => one_if(alone && lanes >= threshold),
            Self::AlwaysOne => lanes.min(1),
        }
    }

    /// The most that a warp sends to one destination at one step, where groups are alone: of c
    /// lanes 1 if c >= threshold, else c of them, so never more than max(threshold - 1, 1). `None`
    /// where that is whatever contributes.
    #[must_use]
    pub fn most(self, threshold: u32) -> Option<u32> {
        match self {
            Self::EveryLane => None,
            Self::OneOfGroup | Self::OneOfWarp => Some(threshold.saturating_sub(1).max(1)),
            // Between the runs lie other lanes.
            Self::OneOfRun => None,
            Self::AlwaysOne => Some(1),
        }
    }
}

/// What is added to one destination, over the workgroups that add to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adding {
    /// Lanes that contribute.
    lanes: u64,
    /// The same of the workgroup that has the most.
    most_lanes: u64,
    /// Values that leave the registers.
    sent: u64,
    /// The same of the workgroup that has the most.
    most_sent: u64,
    /// Workgroups with a lane that contributes.
    workgroups: u64,
}

impl Adding {
    /// One more workgroup, with so many contributing lanes, whose warps send at most so many values out of
    /// their registers.
    pub fn workgroup(&mut self, lanes: u64, sent: u64) {
        self.lanes += lanes;
        self.most_lanes = self.most_lanes.max(lanes);
        self.sent += sent;
        self.most_sent = self.most_sent.max(sent);
        self.workgroups += lanes.min(1);
    }

    /// Lanes that contribute.
    #[must_use]
    pub fn lanes(&self) -> u64 {
        self.lanes
    }
}

impl Row {
    /// The most that workgroups with `counts` contributing lanes send, for warps of `width` lanes which
    /// hold one destination at a time, wherever the lanes lie.
    fn most_sent(&self, counts: &[u32], threshold: u32, width: u32) -> Adding {
        let lanes = WORKGROUP_SIZE / self.per_lane;
        let warps = u64::from(lanes.div_ceil(width.clamp(1, lanes)));
        let most = self.sends.most(threshold).map_or(u64::MAX, |most| warps * u64::from(most));
        let mut adding = Adding::default();
        for &count in counts {
            adding.workgroup(u64::from(count), u64::from(count).min(most));
        }
        adding
    }

    /// Bounds the longest chain of rounding additions to a destination, for warps of `width` lanes.
    fn depth(&self, adding: &Adding, width: u32) -> u64 {
        let Adding { lanes, most_lanes, sent, most_sent, workgroups } = *adding;
        // Whatever the grouping: m terms take m - 1 additions.
        let any_order = lanes.saturating_sub(1);
        match self.in_memory {
            InMemory::FloatAtomics | InMemory::InOrder => {}
            InMemory::OneWriter => return any_order,
            InMemory::FixedPoint => return if lanes > 0 { OF_FIXED_POINT } else { 0 },
        }
        let width = width.clamp(1, WORKGROUP_SIZE / self.per_lane);
        // Each lane adds up its own contributors, one after another, then the warp its lanes.
        let of_lane = u64::from(self.per_lane) - 1;
        let of_warp = |width| of_lane + self.in_registers.depth(width);
        let chain = match self.of_workgroup {
            OfWorkgroup::Nothing => of_warp(width) + sent.saturating_sub(1),
            OfWorkgroup::InMemory | OfWorkgroup::InOrder => {
                of_warp(width) + most_sent.saturating_sub(1) + workgroups.saturating_sub(1)
            }
            OfWorkgroup::InRegisters => {
                let most = u32::try_from(most_lanes).unwrap_or(u32::MAX).min(WORKGROUP_SIZE);
                of_warp(most.max(1)) + workgroups.saturating_sub(1)
            }
        };
        any_order.min(chain)
    }
}

impl Setting {
    /// Bounds the longest chain of rounding additions to one destination (a Gaussian, a camera) whose
    /// workgroups have `counts` contributing lanes, for warps of `width` lanes which hold one
    /// destination at a time.
    #[must_use]
    pub fn depth(self, counts: &[u32], width: u32) -> u64 {
        let row = self.reduction.row();
        row.depth(&row.most_sent(counts, self.threshold, width), width)
    }

    /// The same where it is known what leaves the registers.
    #[must_use]
    pub fn depth_of(self, adding: &Adding, width: u32) -> u64 {
        self.reduction.row().depth(adding, width)
    }

    /// The lanes that send for a group: each issues one atomic for each value.
    #[must_use]
    pub fn sends(self, group: Group) -> u32 {
        self.reduction.row().sends.lanes(group, self.threshold)
    }

    /// The lanes that send for those lanes of a warp that add to one destination.
    #[must_use]
    pub fn sends_of_lanes(self, lanes: Lanes, alone: bool) -> u32 {
        if self.reduction.row().sends.adds_up_runs() {
            runs(lanes).map(|lanes| self.sends(Group { lanes, alone })).sum()
        } else {
            self.sends(Group { lanes: lanes.count_ones(), alone })
        }
    }
}

/// A set of a warp's lanes: lane l is bit l. WebGPU allows 128.
pub type Lanes = u128;

/// The lengths of the runs of neighbours in a set of lanes, from the lowest on.
pub fn runs(lanes: Lanes) -> impl Iterator<Item = u32> {
    let mut rest = lanes;
    std::iter::from_fn(move || {
        rest = rest.checked_shr(rest.trailing_zeros())?;
        let run = rest.trailing_ones();
        rest = rest.checked_shr(run).unwrap_or(0);
        Some(run)
    })
}
