//! The interpreter: runs one fragment until it parts, waits, exits or has had its turn.

use pulp::{Simd, WithSimd};

use super::access;
use super::alu;
use super::atomic;
use super::block::Block;
use super::delay::{Memories, View};
use super::fault::{Fault, FaultKind, Trouble};
use super::ir::{
    Arithmetic, Control, Instruction, Itself, Memory, Op, RareControl, RareMemory, SINK, Scope,
    Slot, SpecialRegister, SyncKind, Synchronization,
};
use super::lanes::{Active, Bits, LANES, high, low};
use super::machine::Machine;
use super::mix::mix;
use super::part_barrier;
use super::partly;
use super::rare_memory::{self, Accessing};
use super::shadow::follow::{after, before, leave};
use super::sync;
use super::warp::{Fragment, State, Warp};

/// A fragment's turn. Dispatched by pulp, so that all that is inlined into it uses the widest
/// registers the processor has; results do not depend on which (the arithmetic is exact or IEEE).
pub(super) struct Turn<'t, 'm> {
    pub(super) machine: &'t mut Machine<'m>,
    pub(super) block: &'t mut Block,
    pub(super) warp: usize,
    pub(super) fragment: usize,
    pub(super) limits: Limits,
}

/// How a turn ends, and what memory does meanwhile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Instructions at most.
    pub(super) instructions: u64,
    /// Stop as soon as the program counter is here or later: another fragment waits there.
    pub(super) until: u32,
    /// See [`Decision::memory`](super::schedule::Decision).
    pub(super) memory: u32,
}

impl Limits {
    /// As far as the fragment gets, with memory as one expects it.
    pub(super) const NONE: Self = Self { instructions: u64::MAX, until: u32::MAX, memory: 0 };
}

/// A fragment that is being run.
struct Running {
    pc: u32,
    lanes: u32,
    /// What the schedule makes of the instruction's accesses: 0 for nothing special, else a hash.
    moment: u64,
}

/// What follows an instruction.
enum Next {
    /// The next instruction, or the one after so many that were executed together.
    Advance(u32),
    /// The fragment has changed its place itself.
    Jumped,
    /// The fragment has been put down: it parted, waits or exited.
    Down,
}

impl WithSimd for Turn<'_, '_> {
    type Output = Result<(), Box<Fault>>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let Self { machine, block, warp: at, fragment, limits } = self;
        let Limits { mut instructions, until, memory } = limits;
        let warp = &mut block.warps[at];
        let Fragment { mut pc, lanes, .. } = warp.fragments.swap_remove(fragment);
        if let Some(journal) = &mut machine.journal {
            journal.turn(block.index, at);
        }
        let mut running = Running { pc, lanes, moment: 0 };
        loop {
            let warp = &mut block.warps[at];
            if instructions == 0 || running.pc >= until {
                warp.fragments.push(Fragment {
                    pc: running.pc,
                    lanes: running.lanes,
                    state: State::Ready,
                });
                return Ok(());
            }
            instructions -= 1;
            pc = running.pc;
            if memory != 0 {
                running.moment = mix(u64::from(memory) << 32 ^ instructions);
            }
            let most = u32::try_from(instructions).unwrap_or(u32::MAX).min(until - pc - 1);
            match instruction(machine, block, at, &mut running, most) {
                Ok(Next::Advance(executed)) => {
                    running.pc = pc + executed;
                    instructions -= u64::from(executed - 1);
                }
                Ok(Next::Jumped) => {}
                Ok(Next::Down) => return Ok(()),
                Err(trouble) => return Err(Box::new(machine.fault(block, at, pc, *trouble))),
            }
        }
    }
}

/// Executes an instruction, and behind arithmetic `most` more of it.
#[inline(always)]
fn instruction(
    machine: &mut Machine<'_>,
    block: &mut Block,
    at: usize,
    running: &mut Running,
    most: u32,
) -> Result<Next, Box<Trouble>> {
    let instruction = &machine.kernel.code[running.pc as usize];
    let warp = &mut block.warps[at];
    let active = guarded(warp, instruction, running.lanes)?;
    if let (Some(_), Some(outcomes)) = (instruction.guard, &mut machine.counters.outcomes) {
        outcomes.guard(running.pc, active, running.lanes & !active);
    }
    if active == 0 {
        return Ok(Next::Advance(1));
    }
    if active != warp.on.bits {
        warp.on = Active::new(active);
    }
    machine.counters.instruction(running.pc, active);
    if machine.counters.total > machine.limits.next
        && let Some(kind) = machine.limits.look(machine.counters.total)
    {
        return Err(Trouble::new(kind, active));
    }
    match &instruction.op {
        Op::Arithmetic(op) => {
            if let Some(journal) = &mut machine.journal {
                before(journal, &warp.registers, running.pc);
            }
            let executed = 1 + machine.more(running.pc, active, most);
            let begin = running.pc as usize;
            for instruction in &machine.kernel.code[begin..begin + executed as usize] {
                if let Op::Arithmetic(op) = &instruction.op {
                    alu::execute(&mut warp.registers, &warp.on, op, machine.mode);
                    if warp.registers.has_new_poison() {
                        partly::refine(&mut warp.registers, &warp.on, op, machine.mode);
                    }
                }
            }
            if machine.watched {
                watch(machine, warp, running.pc, op);
            }
            Ok(Next::Advance(executed))
        }
        Op::Memory(op) => {
            if let Some(journal) = &mut machine.journal {
                leave(journal, &mut warp.registers, running.pc, &instruction.op);
            }
            memory(machine, block, at, running, op)?;
            Ok(Next::Advance(1))
        }
        Op::Synchronization(op) => {
            if let Some(journal) = &mut machine.journal {
                leave(journal, &mut warp.registers, running.pc, &instruction.op);
            }
            synchronize(machine, block, at, running, op)
        }
        Op::Control(Control::Branch { target, uniform }) => {
            branch(machine, warp, running, *target, *uniform)
        }
        Op::Control(Control::Special(register, d)) => {
            special(machine, block, at, *register, *d);
            Ok(Next::Advance(1))
        }
        Op::Control(Control::Rare(op)) => {
            rare_control(warp, op, machine.counters.total)?;
            Ok(Next::Advance(1))
        }
        Op::Control(Control::Exit) => {
            put_down(warp, running, active);
            warp.exited |= active;
            let others = !warp.fragments.is_empty();
            block.leave(at, active, machine.memory);
            if others {
                exited(machine, block, at)?;
            }
            Ok(Next::Down)
        }
    }
}

/// Lanes have exited, and others of the warp have not: those that waited for them alone go on.
fn exited(machine: &mut Machine<'_>, block: &mut Block, at: usize) -> Result<(), Box<Trouble>> {
    let warp = &block.warps[at];
    if warp.fragments.iter().any(|fragment| fragment.state != State::Ready) {
        let lanes = warp.exited;
        order(machine, block, at, lanes, Scope::Block);
        sync::exit(&mut block.warps[at], machine.kernel, machine.journal.as_deref_mut())?;
        part_barrier::settle(block, at, &machine.kernel.code)?;
    }
    Ok(())
}

/// `executed`: instructions so far.
#[inline(never)]
fn rare_control(warp: &mut Warp, op: &RareControl, executed: u64) -> Result<(), Box<Trouble>> {
    match op {
        RareControl::Nothing => Ok(()),
        RareControl::Trap { assertion } => {
            Err(Trouble::new(FaultKind::Trap { assertion: *assertion }, warp.on.bits))
        }
        RareControl::Index { index, count } => beyond(warp, *index, *count),
        RareControl::Counter(d) => {
            warp.registers.b64.give(*d, &warp.on, &[executed; LANES], 0);
            if let Some(beside) = &mut warp.registers.beside {
                beside.forget_wide(*d, warp.on.bits);
            }
            Ok(())
        }
    }
}

/// Whether an active lane has an index that is not below a count.
fn beyond(warp: &Warp, index: Slot, count: u32) -> Result<(), Box<Trouble>> {
    let poison = warp.registers.words.poison(index) & warp.on.bits;
    if poison != 0 {
        return Err(Trouble::new(FaultKind::PoisonAddress, poison));
    }
    let indices = warp.registers.words.get(index);
    let above = |lane: &usize| indices[*lane] >= count;
    let Some(first) = Bits(warp.on.bits).find(above) else { return Ok(()) };
    let lanes = Bits(warp.on.bits).filter(above).fold(0, |all, lane| all | 1 << lane);
    Err(Trouble::new(FaultKind::Index { index: indices[first], count }, lanes))
}

/// The active lanes wait for others, ask about them or order their memory.
#[inline(always)]
fn synchronize(
    machine: &mut Machine<'_>,
    block: &mut Block,
    at: usize,
    running: &Running,
    op: &Synchronization,
) -> Result<Next, Box<Trouble>> {
    let active = block.warps[at].on.bits;
    match op {
        Synchronization::Warp(sync) => {
            if sync.kind == SyncKind::Barrier {
                order(machine, block, at, active | block.warps[at].exited, Scope::Block);
            }
            let warp = &mut block.warps[at];
            let observed = (machine.kernel.uniform, machine.journal.as_deref_mut());
            if active == running.lanes && sync::at_once(warp, sync, running.pc, observed)? {
                return Ok(Next::Advance(1));
            }
            put_down(warp, running, active);
            let observed = (machine.kernel, machine.journal.as_deref_mut());
            sync::arrive(warp, active, running.pc, sync, observed)?;
            Ok(Next::Down)
        }
        Synchronization::ActiveMask(d) => {
            let warp = &mut block.warps[at];
            warp.registers.words.give(*d, &warp.on, &[active; LANES], 0);
            forget(warp, *d);
            Ok(Next::Advance(1))
        }
        Synchronization::Barrier(barrier) => {
            order(machine, block, at, active | block.warps[at].exited, Scope::Block);
            let warp = &mut block.warps[at];
            put_down(warp, running, active);
            let state = State::AtBarrier;
            warp.fragments.push(Fragment { pc: running.pc, lanes: active, state });
            if barrier.count != SINK {
                part_barrier::come(block, at, barrier, &machine.kernel.code)?;
            }
            Ok(Next::Down)
        }
        Synchronization::Fence(scope) => {
            order(machine, block, at, active, *scope);
            if block.shared.shadow.is_some() {
                let warp = &mut block.warps[at];
                warp.order.fence(*scope, active, block.linear, block.epoch, warp.index);
            }
            Ok(Next::Advance(1))
        }
    }
}

/// `lanes` order their stores before what follows, for the threads of `scope`.
#[inline(always)]
fn order(machine: &mut Machine<'_>, block: &mut Block, at: usize, lanes: u32, scope: Scope) {
    if block.delayed.is_empty() {
        return;
    }
    let warp = block.warps[at].index;
    let mut memories = Memories { shared: &mut block.shared, global: machine.memory };
    block.delayed.publish(warp, lanes, &mut memories);
    if scope == Scope::Device {
        block.delayed.flush(&mut memories);
    }
}

/// The lanes whose guard lets them execute.
#[inline(always)]
fn guarded(warp: &Warp, instruction: &Instruction, lanes: u32) -> Result<u32, Box<Trouble>> {
    let Some(guard) = instruction.guard else { return Ok(lanes) };
    let poison = warp.registers.truth_poison(guard) & lanes;
    if poison != 0 {
        return Err(Trouble::new(FaultKind::PoisonBranch, poison));
    }
    Ok(lanes & warp.registers.truth(guard))
}

/// Lanes that do not execute an instruction at which others wait continue after it.
fn put_down(warp: &mut Warp, running: &Running, active: u32) {
    let others = running.lanes & !active;
    if others != 0 {
        let pc = running.pc + 1;
        warp.fragments.push(Fragment { pc, lanes: others, state: State::Ready });
    }
}

#[inline(always)]
fn branch(
    machine: &mut Machine<'_>,
    warp: &mut Warp,
    running: &mut Running,
    target: u32,
    uniform: bool,
) -> Result<Next, Box<Trouble>> {
    let taken = warp.on.bits;
    if taken == running.lanes {
        running.pc = target;
        return Ok(Next::Jumped);
    }
    if uniform {
        return Err(Trouble::new(FaultKind::UniformBranchDiverged, taken));
    }
    machine.counters.divergent += 1;
    put_down(warp, running, taken);
    warp.fragments.push(Fragment { pc: target, lanes: taken, state: State::Ready });
    Ok(Next::Down)
}

#[inline(always)]
fn memory(
    machine: &mut Machine<'_>,
    block: &mut Block,
    at: usize,
    running: &Running,
    op: &Memory,
) -> Result<(), Box<Trouble>> {
    if !block.delayed.is_empty()
        && let (Itself { releases: true, .. }, scope) = op.itself()
    {
        let lanes = block.warps[at].on.bits;
        order(machine, block, at, lanes, scope);
    }
    match op {
        Memory::Load(t) => {
            let (warp, mut view) = reach(machine, block, at, running);
            access::load(warp.registers, warp.on, t, &mut view)
        }
        Memory::Store(t) => {
            let (warp, mut view) = reach(machine, block, at, running);
            access::store(warp.registers, warp.on, t, &mut view)
        }
        Memory::Atomic(a) => {
            machine.counters.atomic(running.pc, block.warps[at].on.bits);
            let (warp, mut view) = reach(machine, block, at, running);
            atomic::atomic(warp.registers, warp.on, a, &mut view)
        }
        Memory::Rare(op) => {
            if let RareMemory::GenericAtomic(_) = op {
                machine.counters.atomic(running.pc, block.warps[at].on.bits);
            }
            let (warp, mut view) = reach(machine, block, at, running);
            rare_memory::execute(warp, op, &mut view)
        }
    }
}

/// A warp, and the memories that it reaches.
#[inline(always)]
fn reach<'b>(
    machine: &'b mut Machine<'_>,
    block: &'b mut Block,
    at: usize,
    running: &Running,
) -> (Accessing<'b>, View<'b>) {
    let &Running { pc, moment, .. } = running;
    let line = machine.kernel.code[pc as usize].line;
    let warp = &mut block.warps[at];
    let view = View {
        params: &machine.params,
        memories: Memories { shared: &mut block.shared, global: machine.memory },
        delayed: &mut block.delayed,
        moment,
        block: block.linear,
        epoch: block.epoch,
        warp: warp.index,
        order: &mut warp.order,
        line,
        journal: match machine.journal.as_deref_mut() {
            Some(journal) => {
                journal.at(pc);
                Some(journal)
            }
            None => None,
        },
    };
    let Warp { registers, on, rare, .. } = warp;
    (Accessing { registers, on, rare }, view)
}

/// The observers of arithmetic, after it. One look at one place says whether there are any.
#[cold]
#[inline(never)]
fn watch(machine: &mut Machine<'_>, warp: &mut Warp, pc: u32, op: &Arithmetic) {
    if let Some(journal) = &mut machine.journal {
        after(journal, &mut warp.registers, &warp.on, op);
    }
    if let Some(outcomes) = &mut machine.counters.outcomes {
        outcomes.result(pc, op, &warp.registers, warp.on.bits);
    }
}

/// An integer that came from no float was written.
#[inline(always)]
fn forget(warp: &mut Warp, d: Slot) {
    if let Some(beside) = &mut warp.registers.beside {
        beside.forget(d, warp.on.bits);
    }
}

fn special(
    machine: &Machine<'_>,
    block: &mut Block,
    at: usize,
    register: SpecialRegister,
    d: Slot,
) {
    let index = block.index;
    let warps = u32::try_from(block.warps.len()).unwrap_or(u32::MAX);
    let warp = &mut block.warps[at];
    let first = u32::from(warp.index) * machine.width;
    let mut values = [0; LANES];
    for (lane, value) in (0_u32..).zip(&mut values) {
        let bit = 1 << lane;
        *value = match register {
            SpecialRegister::Tid(axis) => machine.thread(first + lane)[usize::from(axis)],
            SpecialRegister::Ntid(axis) => machine.block[usize::from(axis)],
            SpecialRegister::Ctaid(axis) => index[usize::from(axis)],
            SpecialRegister::Nctaid(axis) => machine.grid[usize::from(axis)],
            SpecialRegister::LaneId => lane,
            SpecialRegister::LaneMaskEq => bit,
            SpecialRegister::LaneMaskLt => bit - 1,
            SpecialRegister::LaneMaskLe => bit | (bit - 1),
            SpecialRegister::LaneMaskGt => !(bit | (bit - 1)),
            SpecialRegister::LaneMaskGe => !(bit - 1),
            SpecialRegister::WarpId => u32::from(warp.index),
            SpecialRegister::WarpCount => warps,
            SpecialRegister::CounterLow => low(machine.counters.total),
            SpecialRegister::CounterHigh => high(machine.counters.total),
        };
    }
    warp.registers.words.give(d, &warp.on, &values, 0);
    forget(warp, d);
}
