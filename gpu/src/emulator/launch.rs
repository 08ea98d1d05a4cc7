//! A launch: checks, blocks, the loop that asks the schedule who goes on.

use std::collections::BTreeMap;

use pulp::Arch;

use super::block::{Block, Stuck};
use super::count::{Counters, Report};
use super::fault::{Fault, LaunchError, RunError, Trouble};
use super::float::approximate::ApproximationMode;
use super::ir::{Kernel, Module};
use super::memory::{Buffer, DeviceMemory, Segment};
use super::schedule::{Candidate, Decision, Policy, Schedule, Scheduler, Trace};
use super::step::Turn;
use super::warp::{Fragment, State};

/// Blocks that are resident at once under schedules other than lockstep.
const RESIDENT: usize = 4;

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
}

impl Default for Observers {
    fn default() -> Self {
        Self { races: true, budget: 1 << 32 }
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
    pub(super) budget: u64,
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
        Fault {
            kernel: self.kernel.name.clone(),
            line: self.kernel.code[pc as usize].line,
            block: block.index,
            warp: u32::from(block.warps[warp].index),
            lanes: trouble.lanes,
            kind: trouble.kind,
        }
    }

    fn stuck(&self, block: &Block, stuck: Stuck) -> Fault {
        self.fault(block, stuck.warp, stuck.pc, *stuck.trouble)
    }

    fn blocks(&self) -> u32 {
        self.grid.iter().product()
    }

    fn start(&self, block: &mut Block, linear: u32) {
        let [x, y, _] = self.grid;
        block.start(linear, [linear % x, linear / x % y, linear / x / y]);
    }

    fn turn(
        &mut self,
        block: &mut Block,
        warp: usize,
        fragment: usize,
        instructions: u64,
        until: u32,
    ) -> Result<(), RunError> {
        let arch = self.arch;
        let turn = Turn { machine: self, block, warp, fragment, instructions, until };
        arch.dispatch(turn).map_err(RunError::Program)
    }

    /// Runs a block to its end, lowest place of the program first.
    fn lockstep(&mut self, block: &mut Block) -> Result<(), RunError> {
        loop {
            for warp in 0..block.warps.len() {
                while let Some(lowest) = block.warps[warp].lowest_ready() {
                    let lowest = block.warps[warp].merge(lowest);
                    let others = block.warps[warp].fragments.iter().enumerate();
                    let until = others
                        .filter(|(i, f)| *i != lowest && f.state == State::Ready)
                        .map(|(_, f)| f.pc)
                        .min();
                    self.turn(block, warp, lowest, u64::MAX, until.unwrap_or(u32::MAX))?;
                }
            }
            block.check()?;
            if block.finished() {
                return Ok(());
            }
            self.release(block)?;
        }
    }

    /// Nobody of the block is ready: completes its barrier or reports why it cannot.
    fn release(&self, block: &mut Block) -> Result<(), RunError> {
        let code = &self.kernel.code;
        match block.release(code) {
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
    let unknown = || LaunchError::UnknownKernel(kernel.to_owned());
    let kernel = module.kernels.get(kernel).ok_or_else(unknown)?;
    let shared = check(kernel, launch)?;
    memory.begin(&module.variables, observers.races);
    let mut machine = Machine {
        kernel,
        grid: launch.grid,
        block: launch.block,
        memory,
        params: parameters(kernel, &launch.arguments),
        counters: Counters::new(kernel),
        mode: schedule.approximation,
        budget: observers.budget,
        arch: Arch::new(),
    };
    let threads = launch.block.iter().product();
    let fresh = || Block::new(threads, shared, observers.races, kernel);
    trace.clear();
    match &schedule.policy {
        Policy::Lockstep => {
            let mut block = fresh();
            for linear in 0..machine.blocks() {
                machine.start(&mut block, linear);
                machine.lockstep(&mut block)?;
            }
        }
        Policy::Random(seed) => decided(&mut machine, fresh, Source::seed(*seed, false), trace)?,
        Policy::Adversarial(seed) => {
            decided(&mut machine, fresh, Source::seed(*seed, true), trace)?
        }
        Policy::Replay(decisions) => {
            decided(&mut machine, fresh, Source::Recorded(decisions.iter()), trace)?;
        }
    }
    Ok(machine.counters.report(kernel, machine.memory, trace.clone()))
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
        _ => Err(LaunchError::Shared(shared)),
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

/// Where decisions come from.
enum Source<'s> {
    Seeded { scheduler: Scheduler },
    Recorded(std::slice::Iter<'s, Decision>),
}

impl Source<'_> {
    fn seed(seed: u64, adversarial: bool) -> Self {
        Self::Seeded { scheduler: Scheduler::new(seed, adversarial) }
    }
}

/// Runs all blocks by decisions.
fn decided(
    machine: &mut Machine<'_>,
    fresh: impl Fn() -> Block,
    mut source: Source<'_>,
    trace: &mut Trace,
) -> Result<(), RunError> {
    let mut resident: BTreeMap<u32, Block> = BTreeMap::new();
    let mut idle: Vec<Block> = Vec::new();
    let mut waiting: Vec<u32> = (0..machine.blocks()).rev().collect();
    let mut candidates = Vec::new();
    loop {
        while resident.len() < RESIDENT
            && let Some(linear) = waiting.pop()
        {
            let mut block = idle.pop().unwrap_or_else(&fresh);
            machine.start(&mut block, linear);
            resident.insert(linear, block);
        }
        candidates.clear();
        for (&linear, block) in &mut resident {
            if !collect(&mut candidates, linear, block) {
                machine.release(block)?;
                collect(&mut candidates, linear, block);
            }
        }
        if candidates.is_empty() {
            return Ok(());
        }
        let decision = match &mut source {
            Source::Seeded { scheduler } => scheduler.decide(&candidates),
            Source::Recorded(decisions) => match decisions.next() {
                Some(&decision) => decision,
                None => break,
            },
        };
        if let Some(block) = resident.get_mut(&decision.block) {
            trace.push(decision);
            obey(machine, block, decision)?;
            block.check()?;
            if block.finished() {
                idle.extend(resident.remove(&decision.block));
            }
        }
    }
    // A trace that has ended is followed by lockstep.
    for block in resident.values_mut() {
        machine.lockstep(block)?;
    }
    while let Some(linear) = waiting.pop() {
        let mut block = idle.pop().unwrap_or_else(&fresh);
        machine.start(&mut block, linear);
        machine.lockstep(&mut block)?;
        idle.push(block);
    }
    Ok(())
}

/// Adds the ready fragments of a block; false if there are none.
fn collect(candidates: &mut Vec<Candidate>, linear: u32, block: &Block) -> bool {
    let before = candidates.len();
    for warp in &block.warps {
        for fragment in warp.fragments.iter().filter(|f| f.state == State::Ready) {
            let warp = u32::from(warp.index);
            candidates.push(Candidate { block: linear, warp, lanes: fragment.lanes });
        }
    }
    candidates.len() > before
}

/// Runs what a decision names, if it is there and ready.
fn obey(machine: &mut Machine<'_>, block: &mut Block, decision: Decision) -> Result<(), RunError> {
    let warp = decision.warp as usize;
    let Some(chosen) = block.warps.get_mut(warp) else { return Ok(()) };
    let Some(mut fragment) = chosen.part(decision.lanes) else { return Ok(()) };
    let mut until = u32::MAX;
    if decision.merge {
        fragment = chosen.merge(fragment);
        // Lanes that may merge stop where they would, or warps once parted stay so for ever.
        let ahead = |f: &&Fragment| f.state == State::Ready && f.pc > chosen.fragments[fragment].pc;
        until = chosen.fragments.iter().filter(ahead).map(|f| f.pc).min().unwrap_or(u32::MAX);
    }
    machine.turn(block, warp, fragment, u64::from(decision.instructions), until)
}
