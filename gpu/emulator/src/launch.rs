//! A launch: checks, blocks, the loop that asks the schedule who goes on.

use pulp::Arch;

use super::block::{Block, Stuck};
use super::count::{Counters, Report};
use super::decided::{Source, decided};
use super::fault::{Fault, FaultKind, LaunchError, RunError, Trouble, UndefinedShuffle};
use super::float::approximate::ApproximationMode;
use super::ir::{Kernel, Module};
use super::memory::{Buffer, DeviceMemory, Segment};
use super::schedule::{Policy, Schedule, Scheduler, Trace};
use super::shadow::{Journal, Shadowing};
use super::step::{Limits, Turn};
use super::time_limit::TimeLimit;
use super::warp::State;
use super::width;

/// Shape and arguments of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Launch {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of `extern __shared__` memory.
    pub dynamic_shared: u32,
    /// One for each parameter, in order.
    pub arguments: Vec<Argument>,
}

/// The bytes of a kernel argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument(Vec<u8>);

impl Argument {
    /// A structure passed by value.
    #[must_use]
    pub fn bytes(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl From<Buffer> for Argument {
    fn from(buffer: Buffer) -> Self {
        buffer.address().into()
    }
}

impl From<u64> for Argument {
    fn from(value: u64) -> Self {
        Self(value.to_le_bytes().to_vec())
    }
}

impl From<u32> for Argument {
    fn from(value: u32) -> Self {
        Self(value.to_le_bytes().to_vec())
    }
}

impl From<i32> for Argument {
    fn from(value: i32) -> Self {
        Self(value.to_le_bytes().to_vec())
    }
}

impl From<f32> for Argument {
    fn from(value: f32) -> Self {
        Self(value.to_le_bytes().to_vec())
    }
}

/// What is watched beyond that which is always: bounds, alignment, poison, masks and barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observers {
    /// Look for data races.
    pub races: bool,
    /// Warp instructions a launch may execute.
    pub budget: u64,
    /// How long a launch may go on, perhaps after others under the same limit. The budget ends a run at the
    /// same instruction everywhere; this ends one whose instructions are dear, such as fences, when the
    /// machine says so.
    pub time: Option<TimeLimit>,
    /// Count what is executed of the kernel, for [`Report::coverage`].
    pub coverage: bool,
    /// Follow floats in real arithmetic ([`DeviceMemory::exact`], [`DeviceMemory::gradient`]).
    pub shadow: Shadowing,
}

impl Default for Observers {
    fn default() -> Self {
        Self { races: true, budget: 1 << 32, time: None, coverage: false, shadow: Shadowing::Off }
    }
}

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
    fn new(observers: Observers) -> Self {
        let Observers { budget, time, .. } = observers;
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

/// What all blocks of a launch share.
pub(super) struct Machine<'m> {
    pub(super) kernel: &'m Kernel,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) memory: &'m mut DeviceMemory,
    pub(super) params: Segment,
    pub(super) counters: Counters,
    pub(super) mode: ApproximationMode,
    pub(super) limits: Limited,
    /// Where floats are followed. It belongs to the memory, which gets it back.
    pub(super) journal: Option<Box<Journal>>,
    /// Whether somebody observes arithmetic.
    pub(super) watched: bool,
    /// Lanes that are issued together.
    pub(super) width: u32,
    arch: Arch,
}

impl Machine<'_> {
    /// Index in x, y, z of a thread of a block.
    pub(super) fn thread(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
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

    fn stuck(&self, block: &Block, stuck: Stuck) -> Fault {
        self.fault(block, stuck.warp, stuck.pc, *stuck.trouble)
    }

    pub(super) fn blocks(&self) -> u32 {
        self.grid.iter().product()
    }

    pub(super) fn start(&self, block: &mut Block, linear: u32) {
        let [x, y, _] = self.grid;
        block.start(linear, [linear % x, linear / x % y, linear / x / y]);
    }

    pub(super) fn turn(
        &mut self,
        block: &mut Block,
        warp: usize,
        fragment: usize,
        limits: Limits,
    ) -> Result<(), RunError> {
        let arch = self.arch;
        let turn = Turn { machine: self, block, warp, fragment, limits };
        arch.dispatch(turn).map_err(RunError::Program)
    }

    /// Runs a block to its end, lowest place of the program first.
    pub(super) fn lockstep(&mut self, block: &mut Block) -> Result<(), RunError> {
        loop {
            for warp in 0..block.warps.len() {
                while let Some(lowest) = block.warps[warp].lowest_ready() {
                    let lowest = block.warps[warp].merge(lowest);
                    let others = block.warps[warp].fragments.iter().enumerate();
                    let until = others
                        .filter(|(i, f)| *i != lowest && f.state == State::Ready)
                        .map(|(_, f)| f.pc)
                        .min();
                    let until = until.unwrap_or(u32::MAX);
                    self.turn(block, warp, lowest, Limits { until, ..Limits::NONE })?;
                }
            }
            block.check()?;
            if block.finished() {
                return Ok(());
            }
            // A barrier of a part of the block may have let go a warp that had its turn.
            if block.warps.iter().all(|warp| warp.lowest_ready().is_none()) {
                self.release(block)?;
            }
        }
    }

    /// Nobody of the block is ready: completes its barrier or reports why it cannot.
    pub(super) fn release(&mut self, block: &mut Block) -> Result<(), RunError> {
        block.publish_of_exited(self.memory);
        let code = &self.kernel.code;
        match block.release(self.kernel) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.stuck(block, block.deadlock(code)).into()),
            Err(stuck) => Err(self.stuck(block, stuck).into()),
        }
    }
}

/// Runs a kernel.
///
/// # Errors
/// [`RunError::Launch`] if the launch does not fit the kernel, [`RunError::Program`] for the first
/// misuse seen. Memory then holds what was written until then.
pub fn run(
    module: &Module,
    kernel: &str,
    launch: &Launch,
    memory: &mut DeviceMemory,
    schedule: &Schedule,
    observers: Observers,
) -> Result<Report, RunError> {
    run_traced(module, kernel, launch, memory, schedule, observers, &mut Trace::new())
}

/// Runs a kernel and leaves the decisions of the schedule in `trace`, also if it fails.
///
/// # Errors
/// See [`run`].
pub fn run_traced(
    module: &Module,
    kernel: &str,
    launch: &Launch,
    memory: &mut DeviceMemory,
    schedule: &Schedule,
    observers: Observers,
    trace: &mut Trace,
) -> Result<Report, RunError> {
    let absent = || match module.refused.get(kernel) {
        Some(refusal) => LaunchError::Refused(refusal.clone()),
        None => LaunchError::UnknownKernel(kernel.to_owned()),
    };
    let kernel = module.kernels.get(kernel).ok_or_else(absent)?;
    let shared = check(kernel, launch)?;
    width::check(kernel, module.lane_width)?;
    memory.begin(&module.variables, observers.races, kernel.fences);
    let journal = memory.begin_following(kernel, observers.shadow)?;
    let mut machine = Machine {
        kernel,
        grid: launch.grid,
        block: launch.block,
        memory,
        params: parameters(kernel, &launch.arguments),
        counters: Counters::new(kernel, observers.coverage),
        mode: schedule.approximation,
        limits: Limited::new(observers),
        watched: observers.coverage || journal.is_some(),
        journal,
        width: width::issued(module.lane_width),
        arch: Arch::new(),
    };
    let threads = launch.block.iter().product();
    let width = machine.width;
    let followed = machine.journal.is_some();
    let fresh = || Block::new(threads, width, shared, observers.races, (kernel, followed));
    trace.clear();
    let result = blocks(&mut machine, fresh, &schedule.policy, trace);
    let journal = machine.journal.take();
    if machine.memory.end_following(journal) {
        return Err(LaunchError::Tape { bytes: observers.shadow.bytes() }.into());
    }
    result?;
    Ok(machine.counters.report(kernel, machine.memory, trace.clone()))
}

/// Runs all blocks as the policy says.
fn blocks(
    machine: &mut Machine<'_>,
    fresh: impl Fn() -> Block,
    policy: &Policy,
    trace: &mut Trace,
) -> Result<(), RunError> {
    match policy {
        Policy::Lockstep => {
            let mut block = fresh();
            for linear in 0..machine.blocks() {
                if machine.journal.as_ref().is_some_and(|journal| journal.is_full()) {
                    break;
                }
                machine.start(&mut block, linear);
                machine.lockstep(&mut block)?;
            }
            Ok(())
        }
        Policy::Random(seed) => {
            decided(machine, fresh, Source::Seeded(Scheduler::new(*seed, false)), trace)
        }
        Policy::Adversarial(seed) => {
            decided(machine, fresh, Source::Seeded(Scheduler::new(*seed, true)), trace)
        }
        Policy::Replay(decisions) => {
            decided(machine, fresh, Source::Recorded(decisions.iter()), trace)
        }
    }
}

/// Checks a launch and returns the bytes of shared memory of a block.
fn check(kernel: &Kernel, launch: &Launch) -> Result<usize, LaunchError> {
    let found: Vec<u32> =
        launch.arguments.iter().map(|a| u32::try_from(a.0.len()).unwrap_or(u32::MAX)).collect();
    let expected: Vec<u32> = kernel.params.iter().map(|p| p.size).collect();
    if found != expected {
        let kernel = kernel.name.clone();
        return Err(LaunchError::Arguments { kernel, expected, found });
    }
    let product = |sizes: [u32; 3]| sizes.iter().map(|&n| u128::from(n)).product::<u128>();
    let (threads, blocks) = (product(launch.block), product(launch.grid));
    let reason = if threads == 0 || threads > 1024 {
        Some(format!("{threads} threads a block, expected 1..=1024"))
    } else if blocks > 1 << 31 {
        Some(format!("{blocks} blocks, expected at most 2^31"))
    } else if blocks == 0 {
        Some("no blocks".to_owned())
    } else {
        let limit = kernel.max_threads.map_or(u128::MAX, product);
        (threads > limit).then(|| format!("the kernel allows {limit} threads a block"))
    };
    if let Some(reason) = reason {
        return Err(LaunchError::Shape { grid: launch.grid, block: launch.block, reason });
    }
    let shared = u64::from(kernel.shared) + u64::from(launch.dynamic_shared);
    match usize::try_from(shared) {
        Ok(bytes) if shared <= 1 << 18 => Ok(bytes),
        Ok(_) | Err(_) => Err(LaunchError::Shared(shared)),
    }
}

fn parameters(kernel: &Kernel, arguments: &[Argument]) -> Segment {
    let end = kernel.params.last().map_or(0, |last| last.offset + last.size);
    let mut bytes = vec![0; end as usize];
    for (parameter, argument) in kernel.params.iter().zip(arguments) {
        let at = parameter.offset as usize;
        bytes[at..at + argument.0.len()].copy_from_slice(&argument.0);
    }
    Segment::of(&bytes)
}
