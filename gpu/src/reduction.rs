//! The table of reductions: everything that the harness knows of each stands in one row.
//!
//! A *reduction* is how the lanes' contributions to one destination row (a Gaussian's gradients, a
//! camera's) are added up. The kernels, the bounds of sums, the atomic traffic, the coverage map,
//! the artifacts and the command line all read the row, so that a new reduction is one row and its
//! kernels. The chain of rounding additions that a row leads to is derived in [`sum`].

mod setting;
mod steps;
pub mod sum;

pub use setting::{Setting, ThresholdError};
pub use sum::{Adding, Group, InMemory, InRegisters, Lanes, OfWorkgroup, Sends, runs};

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Lanes of a workgroup that reduces, and the destinations that most reductions take up at a time.
pub const WORKGROUP_SIZE: u32 = 256;

/// Destinations of a batch of [`Reduction::Block`], which keeps a row of sums for each: as many as
/// keep every kernel within the 16 KiB of workgroup memory that WebGPU guarantees
/// (`maxComputeWorkgroupStorageSize`).
pub const BLOCK_BATCH_SIZE: u32 = 32;

/// How a warp adds up at a step and sends: the end of a kernel that accumulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Its text in WGSL.
    pub wgsl: &'static str,
    /// Its header in CUDA.
    pub cuda: &'static str,
}

/// Where the kernels of a reduction are, for stages whose warps are at one destination at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// It ends a kernel that accumulates: the kernel's text and this text are one program. Any kernel,
    /// unless a second launch must follow, which not every stage has.
    Any(Ending),
    /// There are none: where a warp is at one destination, its groups are those of another reduction.
    OnlyKeyed,
    /// It is a kernel of its own, which not every stage that accumulates has.
    Own {
        /// What its file is called after the stage's.
        file: &'static str,
        /// How it ends, where its warps add up as those of another reduction do.
        ending: Option<Ending>,
    },
}

impl Kernel {
    /// How a warp adds up and sends, where that is a text that kernels share.
    #[must_use]
    pub const fn ending(self) -> Option<Ending> {
        match self {
            Self::Any(ending) => Some(ending),
            Self::OnlyKeyed => None,
            Self::Own { ending, .. } => ending,
        }
    }
}

/// What a lane of a kernel goes through the walk with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneHas {
    /// Contributors (pixels): all lanes of a warp are at the same destination.
    Contributors,
    /// A destination (a Gaussian), through which contributors are streamed.
    Destination,
}

/// DISTWAR's butterfly, which several rows end with.
const BUTTERFLY: Ending =
    Ending { wgsl: include_str!("../kernels/wgsl/reduce_sw_b.wgsl"), cuda: "reduce_sw_b.cuh" };

/// The texts of a reduction for stages whose lanes have a destination each: `keyed_NAME` in both
/// languages, in WGSL after texts that several of them share.
macro_rules! keyed {
    ($spelling:literal $(, after $($shared:literal),+)?) => {
        Some(Ending {
            wgsl: concat!(
                $($(include_str!(concat!("../kernels/wgsl/", $shared)), "\n",)+)?
                include_str!(concat!("../kernels/wgsl/keyed_", $spelling, ".wgsl"))
            ),
            cuda: concat!("keyed_", $spelling, ".cuh"),
        })
    };
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name used on the command line, in reports and in files.
    pub name: &'static str,
    /// The name in entry points and names of artifacts.
    pub spelling: &'static str,
    /// Where its kernels are, for stages whose warps are at one destination at a time.
    pub kernel: Kernel,
    /// The end of its kernels for stages whose lanes have a destination each
    /// ([`Reductions::Keyed`](crate::stage::Reductions::Keyed)); `None` where it has no such kernel.
    pub keyed: Option<Ending>,
    /// Destinations that a workgroup takes up at a time.
    pub batch_size: u32,
    /// What a lane has.
    pub lane_has: LaneHas,
    /// Contributors (pixels) that a lane has at a step: it adds up what they contribute before the
    /// warp adds up its lanes, and a workgroup has so many times fewer lanes.
    pub per_lane: u32,
    /// How a warp adds up in registers.
    pub in_registers: InRegisters,
    /// What a warp sends out of its registers.
    pub sends: Sends,
    /// Whether and where a workgroup adds up what its warps have.
    pub of_workgroup: OfWorkgroup,
    /// How sums come together in memory.
    pub in_memory: InMemory,
    /// Whether it is one of the two that DISTWAR proposes (arXiv 2401.05345).
    pub of_distwar: bool,
}

/// The enum, its list and its rows from one text, so that none can lack what another has.
macro_rules! reductions {
    ($($(#[$doc:meta])* $identity:ident: $row:expr,)*) => {
        /// How the contributions of a tile's pixels to one Gaussian, or of Gaussians to one camera,
        /// are added up: the identity of a row of the table.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum Reduction {
            $($(#[$doc])* $identity,)*
        }

        impl Reduction {
            /// Every reduction, in the order of reports.
            pub const ALL: [Self; [$(stringify!($identity)),*].len()] = [$(Self::$identity),*];

            /// What is known of it.
            #[must_use]
            pub const fn row(self) -> &'static Row {
                match self {
                    $(Self::$identity => const { &$row },)*
                }
            }
        }
    };
}

reductions! {
    /// One atomic addition per contributing lane and value: the baseline.
    Atomic: Row {
        name: "atomic",
        spelling: "atomic",
        kernel: Kernel::Any(Ending {
            wgsl: include_str!("../kernels/wgsl/reduce_atomic.wgsl"),
            cuda: "reduce_atomic.cuh",
        }),
        keyed: keyed!("atomic"),
        batch_size: WORKGROUP_SIZE,
        lane_has: LaneHas::Contributors,
        per_lane: 1,
        in_registers: InRegisters::Nothing,
        sends: Sends::EveryLane,
        of_workgroup: OfWorkgroup::Nothing,
        in_memory: InMemory::FloatAtomics,
        of_distwar: false,
    },
    /// DISTWAR's serialized reduction: the lowest lane of the group that matches on the Gaussian's
    /// id pulls the other lanes' values in turn and issues one atomic per value.
    SwS: Row {
        name: "sw-s",
        spelling: "sw_s",
        kernel: Kernel::Any(Ending {
            wgsl: include_str!("../kernels/wgsl/reduce_sw_s.wgsl"),
            cuda: "reduce_sw_s.cuh",
        }),
        keyed: keyed!("sw_s"),
        batch_size: WORKGROUP_SIZE,
        lane_has: LaneHas::Contributors,
        per_lane: 1,
        in_registers: InRegisters::Chain,
        sends: Sends::OneOfGroup,
        of_workgroup: OfWorkgroup::Nothing,
        in_memory: InMemory::FloatAtomics,
        of_distwar: true,
    },
    /// DISTWAR's butterfly: a shuffle tree over the whole warp, in which lanes that do not
    /// contribute hold exact zeros; lane 0 issues one atomic per value.
    SwB: Row {
        name: "sw-b",
        spelling: "sw_b",
        kernel: Kernel::Any(BUTTERFLY),
        keyed: keyed!("sw_b", after "keyed_warp.wgsl", "keyed_tree.wgsl"),
        batch_size: WORKGROUP_SIZE,
        lane_has: LaneHas::Contributors,
        per_lane: 1,
        in_registers: InRegisters::Tree,
        sends: Sends::OneOfWarp,
        of_workgroup: OfWorkgroup::Nothing,
        in_memory: InMemory::FloatAtomics,
        of_distwar: true,
    },
    /// What the language offers for adding up a warp (`subgroupAdd`), in whatever order it adds;
    /// lane 0 issues one atomic per value.
    Subgroup: Row {
        name: "subgroup",
        spelling: "subgroup",
        kernel: Kernel::Any(Ending {
            wgsl: include_str!("../kernels/wgsl/reduce_subgroup.wgsl"),
            cuda: "reduce_subgroup.cuh",
        }),
        keyed: keyed!("subgroup", after "keyed_warp.wgsl"),
        batch_size: WORKGROUP_SIZE,
        lane_has: LaneHas::Contributors,
        per_lane: 1,
        in_registers: InRegisters::AnyOrder,
        sends: Sends::OneOfWarp,
        of_workgroup: OfWorkgroup::Nothing,
        in_memory: InMemory::FloatAtomics,
        of_distwar: false,
    },
    /// Each warp adds up in registers, the warps of a tile in workgroup memory; one atomic per
    /// tile, Gaussian and value.
    Block: Row {
        name: "block",
        spelling: "block",
        kernel: Kernel::Any(Ending {
            wgsl: include_str!("../kernels/wgsl/reduce_block.wgsl"),
            cuda: "reduce_block.cuh",
        }),
        keyed: keyed!("block", after "keyed_warp.wgsl", "keyed_tree.wgsl"),
        batch_size: BLOCK_BATCH_SIZE,
        lane_has: LaneHas::Contributors,
        per_lane: 1,
        in_registers: InRegisters::Tree,
        sends: Sends::OneOfWarp,
        of_workgroup: OfWorkgroup::InMemory,
        in_memory: InMemory::FloatAtomics,
        of_distwar: false,
    },
    /// Neighbouring lanes with one destination are a run, which a segmented scan adds up; its last lane
    /// issues one atomic per value. Two runs of one destination send apart.
    Segmented: Row {
        name: "segmented",
        spelling: "segmented",
        kernel: Kernel::OnlyKeyed,
        keyed: keyed!("segmented"),
        batch_size: WORKGROUP_SIZE,
        lane_has: LaneHas::Contributors,
        per_lane: 1,
        in_registers: InRegisters::Tree,
        sends: Sends::OneOfRun,
        of_workgroup: OfWorkgroup::Nothing,
        in_memory: InMemory::FloatAtomics,
        of_distwar: false,
    },
    /// A kernel of its own without atomics: one lane per destination, which walks the list of those that
    /// add to it and writes the sum.
    PerKey: Row {
        name: "per-key",
        spelling: "per_key",
        kernel: Kernel::Own { file: "per_key", ending: None },
        keyed: None,
        batch_size: WORKGROUP_SIZE,
        lane_has: LaneHas::Destination,
        per_lane: 1,
        in_registers: InRegisters::Chain,
        sends: Sends::AlwaysOne,
        of_workgroup: OfWorkgroup::InRegisters,
        in_memory: InMemory::OneWriter,
        of_distwar: false,
    },
    /// A kernel of its own: one lane per Gaussian, through which the pixels of the warp are
    /// streamed; each lane adds up in registers and issues one atomic per value.
    PerGaussian: Row {
        name: "per-gaussian",
        spelling: "per_gaussian",
        kernel: Kernel::Own { file: "per_gaussian", ending: None },
        keyed: None,
        batch_size: WORKGROUP_SIZE,
        lane_has: LaneHas::Destination,
        per_lane: 1,
        in_registers: InRegisters::Chain,
        sends: Sends::AlwaysOne,
        of_workgroup: OfWorkgroup::Nothing,
        in_memory: InMemory::FloatAtomics,
        of_distwar: false,
    },
    /// A kernel of its own: one lane per Gaussian, through which all pixels of the tile are streamed,
    /// front to back from checkpoints; each lane adds up in registers and issues one atomic per value.
    Replay: Row {
        name: "replay",
        spelling: "replay",
        kernel: Kernel::Own { file: "replay", ending: None },
        keyed: None,
        batch_size: WORKGROUP_SIZE,
        lane_has: LaneHas::Destination,
        per_lane: 1,
        in_registers: InRegisters::Chain,
        sends: Sends::AlwaysOne,
        of_workgroup: OfWorkgroup::InRegisters,
        in_memory: InMemory::FloatAtomics,
        of_distwar: false,
    },
    /// A kernel of its own: a lane has two neighbouring pixels and adds up what they contribute; then
    /// the butterfly of `sw-b`, whose threshold counts the lanes that have something to add.
    #[serde(rename = "multi-pixel-2")]
    MultiPixel2: multi_pixel("multi-pixel-2", "multi_pixel_2", 2),
    /// The same with four pixels a lane.
    #[serde(rename = "multi-pixel-4")]
    MultiPixel4: multi_pixel("multi-pixel-4", "multi_pixel_4", 4),
    /// A kernel of its own without float atomics: a workgroup adds up what its tile contributes to a
    /// Gaussian in a fixed order, and writes the sum to a row of its own; the rows lie sorted by
    /// Gaussian, and a second launch adds up those of each. The same bits under every schedule.
    Sorted: Row {
        name: "sorted",
        spelling: "sorted",
        kernel: Kernel::Own { file: "sorted", ending: None },
        keyed: None,
        batch_size: WORKGROUP_SIZE,
        lane_has: LaneHas::Contributors,
        per_lane: 1,
        in_registers: InRegisters::Tree,
        sends: Sends::AlwaysOne,
        of_workgroup: OfWorkgroup::InOrder,
        in_memory: InMemory::InOrder,
        of_distwar: false,
    },
    /// Every contributing lane adds to integers in fixed point, of which a second launch makes floats.
    /// Integer additions do not round, so that their order changes no bit; what is below the quantum is
    /// lost.
    Fixed: Row {
        name: "fixed",
        spelling: "fixed",
        kernel: Kernel::Any(Ending {
            wgsl: include_str!("../kernels/wgsl/reduce_atomic.wgsl"),
            cuda: "reduce_fixed.cuh",
        }),
        keyed: None,
        batch_size: WORKGROUP_SIZE,
        lane_has: LaneHas::Contributors,
        per_lane: 1,
        in_registers: InRegisters::Nothing,
        sends: Sends::EveryLane,
        of_workgroup: OfWorkgroup::Nothing,
        in_memory: InMemory::FixedPoint,
        of_distwar: false,
    },
}

/// A row of `multi-pixel`. A batch has a Gaussian for each lane that loads one.
const fn multi_pixel(name: &'static str, spelling: &'static str, pixels: u32) -> Row {
    Row {
        name,
        spelling,
        kernel: Kernel::Own { file: "multi_pixel", ending: Some(BUTTERFLY) },
        keyed: None,
        batch_size: WORKGROUP_SIZE / pixels,
        lane_has: LaneHas::Contributors,
        per_lane: pixels,
        in_registers: InRegisters::Tree,
        sends: Sends::OneOfWarp,
        of_workgroup: OfWorkgroup::Nothing,
        in_memory: InMemory::FloatAtomics,
        of_distwar: false,
    }
}

impl Reduction {
    /// What all others are compared with, and what has the longest chain of additions.
    pub const BASELINE: Self = Self::Atomic;

    /// The reductions that end any kernel which accumulates.
    pub const ENDINGS: [Self; endings()] = {
        let mut chosen = [Self::BASELINE; endings()];
        let (mut from, mut to) = (0, 0);
        while from < Self::ALL.len() {
            if Self::ALL[from].ends_any_kernel() {
                chosen[to] = Self::ALL[from];
                to += 1;
            }
            from += 1;
        }
        chosen
    };

    /// The name used on the command line, in reports and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Rows of sums that a workgroup works on at a time.
    #[must_use]
    pub fn batch_size(self) -> u32 {
        self.row().batch_size
    }

    /// Whether the balance threshold changes what the kernel does: not where lanes never share a
    /// sum in registers, and not where they always do.
    #[must_use]
    pub fn has_threshold(self) -> bool {
        self.row().sends.has_threshold()
    }

    /// Whether it ends any kernel that accumulates: it is no kernel of its own and no second launch
    /// follows.
    #[must_use]
    pub const fn ends_any_kernel(self) -> bool {
        matches!(self.row().kernel, Kernel::Any(_)) && !self.launches_twice()
    }

    /// Whether a second launch makes the outputs of what the first has added up.
    #[must_use]
    pub const fn launches_twice(self) -> bool {
        match self.row().in_memory {
            InMemory::FloatAtomics | InMemory::OneWriter => false,
            InMemory::FixedPoint | InMemory::InOrder => true,
        }
    }

    /// Lanes of a workgroup that has so many without it: each takes as many contributors as it has.
    #[must_use]
    pub const fn lanes(self, without: u32) -> u32 {
        without / self.row().per_lane
    }
}

/// Number of the reductions that end any kernel.
const fn endings() -> usize {
    let (mut at, mut count) = (0, 0);
    while at < Reduction::ALL.len() {
        count += Reduction::ALL[at].ends_any_kernel() as usize;
        at += 1;
    }
    count
}

impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// There is no reduction of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown reduction '{name}': expected one of {}",
    Reduction::ALL.map(Reduction::name).join(", ")
)]
pub struct UnknownReduction {
    /// What was asked for.
    pub name: String,
}

impl FromStr for Reduction {
    type Err = UnknownReduction;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|reduction| reduction.name() == name);
        found.ok_or_else(|| UnknownReduction { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests;
