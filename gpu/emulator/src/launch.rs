//! A launch: checks, blocks, the loop that asks the schedule who goes on.

use pulp::Arch;

use super::block::Block;
use super::count::{Counters, Report};
use super::decided::{Source, decided};
use super::fault::launch::{LaunchError, MOST_SHARED, RunError};
use super::ir::{Kernel, Module};
use super::machine::{Limited, Machine, Patience, permuted, straight};
use super::memory::{Buffer, DeviceMemory, Segment};
use super::schedule::{Policy, Schedule, Scheduler, Trace};
use super::shadow::Shadowing;
use super::time_limit::TimeLimit;
use super::turns::Queue;
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
    /// End a run at an access of global memory out of bounds. Otherwise a read there gives what was never
    /// written, and a write is lost.
    pub bounds: bool,
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
        Self {
            races: true,
            bounds: true,
            budget: 1 << 32,
            time: None,
            coverage: false,
            shadow: Shadowing::Off,
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
    memory.load(module.number, &module.variables);
    memory.begin(observers.races, kernel.orders);
    memory.forgive(!observers.bounds);
    let journal = memory.begin_following(kernel, observers.shadow)?;
    let watched = observers.coverage || journal.is_some();
    let threads = launch.block.iter().product();
    let seed = schedule.permutation.filter(|_| kernel.uniform);
    let mut machine = Machine {
        kernel,
        grid: launch.grid,
        block: launch.block,
        permutation: seed.map_or_else(Vec::new, |seed| permuted(seed, threads)),
        memory,
        params: parameters(kernel, &launch.arguments),
        counters: Counters::new(kernel, observers.coverage),
        mode: schedule.approximation,
        limits: Limited::new(observers.budget, observers.time),
        patience: Patience::new(),
        watched,
        straight: if watched { Vec::new() } else { straight(kernel) },
        journal,
        width: width::issued(module.lane_width),
        arch: Arch::new(),
    };
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
            let mut queue = Queue::new(fresh);
            for linear in 0..machine.blocks() {
                if machine.journal.as_ref().is_some_and(|journal| journal.is_full()) {
                    break;
                }
                queue.run(machine, linear)?;
            }
            queue.finish(machine)
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
        Some("no blocks, which CUDA refuses: write max(1, ...)".to_owned())
    } else {
        let limit = kernel.max_threads.map_or(u128::MAX, product);
        (threads > limit).then(|| format!("the kernel allows {limit} threads a block"))
    };
    if let Some(reason) = reason {
        return Err(LaunchError::Shape { grid: launch.grid, block: launch.block, reason });
    }
    let shared = u64::from(kernel.shared) + u64::from(launch.dynamic_shared);
    match usize::try_from(shared) {
        Ok(bytes) if shared <= MOST_SHARED => Ok(bytes),
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
