//! Who goes on next.
//!
//! `lockstep` runs block after block, warp after warp, always the fragment at the lowest place of
//! the program, and merges fragments that meet: what a machine does that reconverges as early as
//! it can. The other schedules make decisions, which are recorded: a [`Trace`] replays them, and a
//! trace with decisions taken out is still a schedule, so that a failure can be shrunk.

use super::float::approximate::ApproximationMode;
use super::lanes::high;
use super::mix::mix;

/// One decision: which lanes run, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    /// Linear index of the block.
    pub block: u32,
    /// Warp in the block.
    pub warp: u32,
    /// Lanes; those of them run that are ready at one place of the program.
    pub lanes: u32,
    /// Warp instructions at most.
    pub instructions: u32,
    /// Whether to merge with other lanes of the warp that stand at the same place, and to stop
    /// where the next of them stand.
    pub merge: bool,
    /// What memory does meanwhile. 0: stores are seen at once, as are those of the warp that were
    /// held back, and the lanes of an atomic go in ascending order. Otherwise the seed of which
    /// stores are held back, which of those of the warp become visible, and in which order the
    /// lanes of an atomic go.
    pub memory: u32,
}

/// The decisions of a run, in order.
pub type Trace = Vec<Decision>;

/// How warps are scheduled and approximate instructions rounded.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Schedule {
    /// Order of execution.
    pub policy: Policy,
    /// Rounding of approximate instructions.
    pub approximation: ApproximationMode,
    /// The seed by which the threads of a block become the lanes of its warps, where the language leaves that
    /// open, as WGSL does (`.pragma "uniform"`); without it, and in CUDA, in the order of their index.
    pub permutation: Option<u64>,
}

/// Order of execution.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Policy {
    /// Lowest place of the program first; fast, and the counts are exact.
    #[default]
    Lockstep,
    /// Any ready fragment of any resident block, for a random number of instructions.
    Random(u64),
    /// Parts warps, starves and races warps and blocks ahead, in episodes of different habits;
    /// begins blocks and adds up the lanes of an atomic in any order; lets other threads see
    /// stores as late as the PTX memory model permits.
    Adversarial(u64),
    /// These decisions, as far as they are possible, then lockstep.
    Replay(Trace),
}

impl Schedule {
    /// The fast schedule with exact rounding.
    #[must_use]
    pub fn lockstep() -> Self {
        Self::default()
    }

    /// A random order; approximate instructions are perturbed by the same seed, and WGSL's invocations are any
    /// lanes.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        let approximation = ApproximationMode::Perturbed(seed);
        Self { policy: Policy::Random(seed), approximation, permutation: Some(seed) }
    }

    /// An adversarial order; approximate instructions are perturbed by the same seed, and WGSL's invocations
    /// are any lanes.
    #[must_use]
    pub fn adversarial(seed: u64) -> Self {
        let approximation = ApproximationMode::Perturbed(seed);
        Self { policy: Policy::Adversarial(seed), approximation, permutation: Some(seed) }
    }

    /// The run that left `trace`, if this was its schedule.
    #[must_use]
    pub fn replay(&self, trace: Trace) -> Self {
        Self { policy: Policy::Replay(trace), ..self.clone() }
    }
}

/// A fragment that could go on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) block: u32,
    pub(super) warp: u32,
    pub(super) lanes: u32,
}

/// Makes decisions from a seed.
#[derive(Debug)]
pub(super) struct Scheduler {
    state: u64,
    adversarial: bool,
    habit: Habit,
    /// Whether memory does as it likes meanwhile.
    wild: bool,
    /// Decisions until the habit changes.
    left: u32,
}

/// What an adversary keeps doing for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    /// Any fragment, any length.
    Wander,
    /// The fragments listed first run as far as they can: others starve.
    First,
    /// The same from the other end: late blocks, warps and lanes first.
    Last,
    /// Single lanes, in any order.
    Shatter,
    /// Everybody in turn, one instruction each.
    Shuffle,
}

impl Scheduler {
    pub(super) fn new(seed: u64, adversarial: bool) -> Self {
        Self { state: mix(seed), adversarial, habit: Habit::Wander, wild: false, left: 0 }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(1);
        mix(self.state)
    }

    /// A number below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap_or(0)
    }

    fn short(&mut self, longest: usize) -> u32 {
        // Lengths spread over magnitudes: most switches are close together, some far apart.
        let bits = self.below(longest.ilog2() as usize + 1);
        u32::try_from(1 + self.below(1 << bits)).unwrap_or(1)
    }

    /// The next decision, for one of so many candidates by its index; `None` without any.
    pub(super) fn decide(
        &mut self,
        candidates: usize,
        candidate: impl FnOnce(usize) -> Option<Candidate>,
    ) -> Option<Decision> {
        let last = candidates.checked_sub(1)?;
        if self.adversarial {
            self.change_habit();
        }
        let index = match self.habit {
            Habit::First => 0,
            Habit::Last => last,
            Habit::Wander | Habit::Shatter | Habit::Shuffle => self.below(candidates),
        };
        let chosen = candidate(index)?;
        let instructions = match self.habit {
            Habit::First | Habit::Last => self.short(4096),
            Habit::Wander => self.short(256),
            Habit::Shatter => self.short(16),
            Habit::Shuffle => 1,
        };
        let merge = self.habit != Habit::Shatter && self.next() & 3 != 0;
        let random_lanes = u32::try_from(self.next() >> 32).unwrap_or(0);
        let habit = self.habit;
        let parts = match habit {
            Habit::Shatter => 1_u32 << (random_lanes & 31),
            Habit::First | Habit::Last | Habit::Wander | Habit::Shuffle => {
                if self.next().is_multiple_of(16) { random_lanes } else { u32::MAX }
            }
        };
        let lanes = if chosen.lanes & parts == 0 { chosen.lanes } else { chosen.lanes & parts };
        // A fragment that is not parted may take in others that stand beside it.
        let merge = merge && lanes == chosen.lanes;
        let memory = if self.wild { high(self.next()).max(1) } else { 0 };
        let Candidate { block, warp, .. } = chosen;
        Some(Decision { block, warp, lanes, instructions, merge, memory })
    }

    /// Which of the blocks that wait begins; they are in descending order, `waiting` is not 0.
    pub(super) fn choose_block(&mut self, waiting: usize) -> usize {
        if self.adversarial { self.below(waiting) } else { waiting - 1 }
    }

    fn change_habit(&mut self) {
        if self.left > 0 {
            self.left -= 1;
            return;
        }
        self.habit = [Habit::Wander, Habit::First, Habit::Last, Habit::Shatter, Habit::Shuffle]
            [self.below(5)];
        self.wild = self.next() & 1 == 1;
        self.left = self.short(128);
    }
}
