//! What a launch did, counted.
//!
//! The counts of atomics and instructions are properties of kernel and data only under the
//! lockstep schedule; other schedules split warps and count more instructions of fewer lanes.

use std::collections::BTreeMap;

use super::coverage::{Executed, KernelCoverage, Outcome};
use super::ir::{Instruction, InstructionClass, Kernel, SINK, Space};
use super::lanes::LANES;
use super::memory::DeviceMemory;
use super::schedule::Trace;

/// What a launch did.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Report {
    /// Instructions by class.
    pub instructions: BTreeMap<InstructionClass, Executed>,
    /// Atomics on global memory.
    pub global_atomics: Atomics,
    /// Atomics on shared memory.
    pub shared_atomics: Atomics,
    /// Operations on each word of global memory that atomics touched, by address. The largest is
    /// the longest chain that the memory system has to serialize.
    pub chains: BTreeMap<u64, u32>,
    /// Branches at which the lanes of a warp parted.
    pub divergent_branches: u64,
    /// The decisions of the schedule, for replay; empty under lockstep.
    pub trace: Trace,
    /// What was executed of the kernel, if [`Observers::coverage`](super::Observers) asked for it.
    pub coverage: Option<KernelCoverage>,
}

impl Report {
    /// A model of the time that global atomics take, in steps of one atomic unit: the memory
    /// system has `units` of them, each does one operation a step, and operations on one word
    /// follow one another. The time is then the longest chain, or all operations spread evenly,
    /// whichever is more. Caches, latency and the merging of operations before the units are left
    /// out: the model ranks settings of one scene, it predicts no milliseconds. It has not been
    /// compared with a GPU: that its ranking is a device's is an assumption.
    #[must_use]
    pub fn atomic_unit_steps(&self, units: u32) -> u64 {
        let longest = self.chains.values().copied().max().unwrap_or(0);
        self.global_atomics.operations.div_ceil(u64::from(units.max(1))).max(u64::from(longest))
    }
}

/// Atomic instructions and operations.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Atomics {
    /// Instructions issued, each by up to 32 lanes.
    pub issued: u64,
    /// Of these, those whose result nobody reads: reductions.
    pub reductions: u64,
    /// Words changed: lanes times elements.
    pub operations: u64,
    /// Instructions by the number of lanes that took part, `[0..=32]`.
    pub lanes: Vec<u64>,
}

/// Counters of a running launch.
#[derive(Debug)]
pub(super) struct Counters {
    /// Per instruction of the kernel.
    executed: Vec<Executed>,
    /// Of instructions that were executed together: what each of them adds to the one before it. Their end
    /// takes away again.
    together: Vec<Executed>,
    /// Per atomic instruction and number of lanes.
    lanes: Vec<[u64; LANES + 1]>,
    /// The index in `lanes` of every instruction.
    atomics: Vec<u32>,
    /// See [`Report::coverage`].
    pub(super) outcomes: Option<Box<Outcome>>,
    pub(super) divergent: u64,
    pub(super) total: u64,
}

impl Counters {
    pub(super) fn new(kernel: &Kernel, coverage: bool) -> Self {
        let mut count = 0;
        let number = |instruction: &Instruction| {
            let number = count;
            count += u32::from(instruction.op.atomic().is_some());
            number
        };
        let atomics = kernel.code.iter().map(number).collect();
        Self {
            executed: vec![Executed::default(); kernel.code.len()],
            together: vec![Executed::default(); kernel.code.len() + 1],
            lanes: vec![[0; LANES + 1]; count as usize],
            atomics,
            outcomes: coverage.then(|| Box::new(Outcome::new(kernel))),
            divergent: 0,
            total: 0,
        }
    }

    #[inline(always)]
    pub(super) fn instruction(&mut self, pc: u32, lanes: u32) {
        self.executed[pc as usize].add(Executed::once(lanes));
        self.total += 1;
    }

    /// So many instructions from `pc` on, each by the same lanes.
    #[inline(always)]
    pub(super) fn together(&mut self, pc: u32, instructions: u32, lanes: u32) {
        let once = Executed::once(lanes);
        self.together[pc as usize].add(once);
        self.together[(pc + instructions) as usize].add(once.negated());
        self.total += u64::from(instructions);
    }

    /// Adds what was executed together to each instruction's count.
    fn settle(&mut self) {
        let mut sum = Executed::default();
        for (executed, change) in self.executed.iter_mut().zip(&self.together) {
            sum.add(*change);
            executed.add(sum);
        }
    }

    pub(super) fn atomic(&mut self, pc: u32, lanes: u32) {
        let by_lanes = &mut self.lanes[self.atomics[pc as usize] as usize];
        by_lanes[lanes.count_ones() as usize] += 1;
    }

    /// The report of a finished launch.
    pub(super) fn report(mut self, kernel: &Kernel, memory: &DeviceMemory, trace: Trace) -> Report {
        self.settle();
        let mut report = Report {
            chains: memory.atomics().collect(),
            divergent_branches: self.divergent,
            trace,
            coverage: self.outcomes.map(|outcomes| outcomes.coverage(kernel, &self.executed)),
            ..Report::default()
        };
        for (instruction, executed) in kernel.code.iter().zip(&self.executed) {
            report.instructions.entry(instruction.class).or_default().add(*executed);
        }
        report.instructions.retain(|_, executed| executed.warps > 0);
        let atomics = kernel.code.iter().filter_map(|instruction| instruction.op.atomic());
        for (atomic, by_lanes) in atomics.zip(&self.lanes) {
            if by_lanes.iter().all(|&issued| issued == 0) {
                continue;
            }
            let into = match atomic.space {
                Space::Shared => &mut report.shared_atomics,
                Space::Global | Space::Const | Space::Param | Space::Local => {
                    &mut report.global_atomics
                }
            };
            into.lanes.resize(LANES + 1, 0);
            for (lanes, &issued) in by_lanes.iter().enumerate() {
                into.lanes[lanes] += issued;
                into.issued += issued;
                into.operations += issued * lanes as u64 * u64::from(atomic.count);
                if atomic.results == [SINK; 4] {
                    into.reductions += issued;
                }
            }
        }
        report
    }
}
