//! What all blocks of a launch share.

use pulp::Arch;

use super::block::{Block, Stuck};
use super::count::Counters;
use super::fault::{Fault, FaultKind, Trouble, UndefinedShuffle};
use super::float::approximate::ApproximationMode;
use super::ir::{Kernel, Op};
use super::memory::{DeviceMemory, Segment};
use super::mix::mix;
use super::shadow::journal::Journal;
use super::time_limit::TimeLimit;

/// Instructions between two looks at the clock: a fence takes microseconds.
const LOOK: u64 = 1 << 12;

/// How long a launch may go on.
#[derive(Debug)]
pub(super) struct Limited {
    /// The number of instructions after which somebody has to look whether it is too long.
    pub(super) next: u64,
    budget: u64,
    time: Option<TimeLimit>,
}

impl Limited {
    /// So many instructions, and perhaps until a time.
    pub(super) fn new(budget: u64, time: Option<TimeLimit>) -> Self {
        Self { next: if time.is_some() { LOOK.min(budget) } else { budget }, budget, time }
    }

    /// After so many instructions, more than `next`: what ends the launch, if anything does.
    #[cold]
    pub(super) fn look(&mut self, executed: u64) -> Option<FaultKind> {
        if executed > self.budget {
            return Some(FaultKind::Budget { instructions: self.budget });
        }
        self.next = executed.saturating_add(LOOK).min(self.budget);
        let limit = self.time.filter(|time| time.is_over())?.limit();
        Some(FaultKind::Time { limit, instructions: executed })
    }
}

/// How many instructions a warp may run in lockstep before others go on that it may be waiting for: many at first,
/// since most loops wait for nobody, and few once a warp has been seen to run for so long.
#[derive(Debug)]
pub(super) struct Patience {
    of_warp: u64,
    of_lanes: u64,
}

impl Patience {
    /// The least of lanes: enough for those that hold a lock to do something.
    const LEAST: u64 = 1 << 8;

    pub(super) fn new() -> Self {
        Self { of_warp: 1 << 21, of_lanes: 1 << 16 }
    }

    /// A warp had its turn and goes on.
    pub(super) fn lose(&mut self) {
        self.of_warp = 1 << 13;
    }

    /// Lanes had theirs: those of a kernel whose threads take a lock in turn wait once for every thread.
    pub(super) fn lose_of_lanes(&mut self) {
        self.of_lanes = (self.of_lanes / 4).max(Self::LEAST);
    }

    pub(super) fn of_warp(&self) -> u64 {
        self.of_warp
    }

    /// At most half of the warp's, so that those who wait have a turn and those they wait for.
    pub(super) fn of_lanes(&self) -> u64 {
        (self.of_warp / 2).min(self.of_lanes)
    }
}

/// Numbers below a count in an order that a seed gives: of one seed in four their own.
pub(super) fn permuted(seed: u64, count: u32) -> Vec<u32> {
    let mut state = mix(seed ^ u64::from(count));
    if state & 3 == 0 {
        return Vec::new();
    }
    let mut all: Vec<u32> = (0..count).collect();
    // Fisher and Yates.
    for last in (1..all.len()).rev() {
        state = mix(state);
        let other = usize::try_from(state % (last as u64 + 1)).unwrap_or(last);
        all.swap(last, other);
    }
    all
}

/// What all blocks of a launch share.
pub(super) struct Machine<'m> {
    pub(super) kernel: &'m Kernel,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    /// Which thread each lane of a block is, warp after warp; in the order of their index where this is empty.
    pub(super) permutation: Vec<u32>,
    pub(super) memory: &'m mut DeviceMemory,
    pub(super) params: Segment,
    pub(super) counters: Counters,
    pub(super) mode: ApproximationMode,
    pub(super) limits: Limited,
    /// What warps and blocks that wait for others get of a turn.
    pub(super) patience: Patience,
    /// Where floats are followed. It belongs to the memory, which gets it back.
    pub(super) journal: Option<Box<Journal>>,
    /// Whether somebody observes arithmetic.
    pub(super) watched: bool,
    /// How many instructions from each place on are arithmetic without a guard, which neither fails nor
    /// waits nor jumps: they are executed together. Empty where somebody observes arithmetic.
    pub(super) straight: Vec<u32>,
    /// Lanes that are issued together.
    pub(super) width: u32,
    pub(super) arch: Arch,
}

/// [`Machine::straight`] of a kernel.
pub(super) fn straight(kernel: &Kernel) -> Vec<u32> {
    let mut straight = vec![0; kernel.code.len()];
    let mut behind = 0;
    for (length, instruction) in straight.iter_mut().zip(&kernel.code).rev() {
        let alone = !matches!(instruction.op, Op::Arithmetic(_)) || instruction.guard.is_some();
        behind = if alone { 0 } else { behind + 1 };
        *length = behind;
    }
    straight
}

impl Machine<'_> {
    /// How many instructions behind the one at `pc`, `most` at most, are executed together with it, counted as
    /// executed by the active lanes. A look at the limits comes no later for them.
    #[inline(always)]
    pub(super) fn more(&mut self, pc: u32, active: u32, most: u32) -> u32 {
        let Some(straight) = self.straight.get(pc as usize) else { return 0 };
        let before_look = self.limits.next.saturating_sub(self.counters.total);
        let before_look = u32::try_from(before_look).unwrap_or(u32::MAX);
        let more = straight.saturating_sub(1).min(most).min(before_look);
        if more > 0 {
            self.counters.together(pc + 1, more, active);
        }
        more
    }

    /// Index in x, y, z of the thread that a lane of a block is; lanes are counted warp after warp.
    pub(super) fn thread(&self, lane: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        let linear = self.permutation.get(lane as usize).copied().unwrap_or(lane);
        [linear % x, linear / x % y, linear / x / y]
    }

    /// Where `trouble` happened.
    pub(super) fn fault(&self, block: &Block, warp: usize, pc: u32, trouble: Trouble) -> Fault {
        let line = |pc: u32| self.kernel.code[pc as usize].line;
        let undefined = block.undefined(warp).filter(|_| trouble.kind.is_poison());
        let undefined = undefined.map(|shuffle| UndefinedShuffle {
            line: line(shuffle.pc),
            sources: shuffle.sources,
            exited: shuffle.exited,
            members: shuffle.members,
        });
        Fault {
            kernel: self.kernel.name.clone(),
            line: line(pc),
            block: block.index,
            warp: u32::from(block.warps[warp].index),
            lanes: trouble.lanes,
            kind: trouble.kind,
            undefined,
        }
    }

    pub(super) fn stuck(&self, block: &Block, stuck: Stuck) -> Fault {
        self.fault(block, stuck.warp, stuck.pc, *stuck.trouble)
    }

    pub(super) fn blocks(&self) -> u32 {
        self.grid.iter().product()
    }

    pub(super) fn start(&self, block: &mut Block, linear: u32) {
        let [x, y, _] = self.grid;
        block.start(linear, [linear % x, linear / x % y, linear / x / y]);
    }
}
