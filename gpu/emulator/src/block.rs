//! Blocks: warps, shared memory and the barriers between them.

use super::decode::SHARED_BASE;
use super::delay::{Memories, StoreBuffer};
use super::fault::launch::Defect;
use super::fault::{FaultKind, Trouble};
use super::ir::{Barrier, BarrierReduction, BarrierReductionOp, Instruction, Kernel, Orders, SINK};
use super::lanes::{Active, Bits, LANES};
use super::memory::{DeviceMemory, Segment};
use super::signal::Met;
use super::warp::{State, Undefined, Warp};

/// A warp that has arrived at a barrier by `bar.arrive` and gone on.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) number: u32,
    pub(super) count: u32,
    /// What it did before.
    pub(super) before: Met,
}

/// A block being executed.
#[derive(Debug)]
pub(super) struct Block {
    /// Linear index in the grid.
    pub(super) linear: u32,
    /// Index in x, y, z.
    pub(super) index: [u32; 3],
    pub(super) shared: Segment,
    pub(super) warps: Vec<Warp>,
    /// Stores that not everybody sees yet; empty under schedules that delay none.
    pub(super) delayed: StoreBuffer,
    /// Barriers completed.
    pub(super) epoch: u32,
    /// Who has arrived at barriers of a part of the block and gone on.
    pub(super) arrived: Vec<Arrived>,
    /// Whom the kernel may order.
    orders: Orders,
}

/// A misuse seen when a block cannot go on, with the warp and place it is told of.
pub(super) struct Stuck {
    pub(super) trouble: Box<Trouble>,
    pub(super) warp: usize,
    pub(super) pc: u32,
}

impl Block {
    /// A block of `threads` in warps of `width`, with `shared` bytes of shared memory; `followed`: whether
    /// floats are.
    pub(super) fn new(
        threads: u32,
        width: u32,
        shared: usize,
        races: bool,
        (kernel, followed): (&Kernel, bool),
    ) -> Self {
        let count = u16::try_from(threads.div_ceil(width)).unwrap_or(u16::MAX);
        let mut memory = Segment::uninitialized(shared);
        memory.first = if kernel.shared == 0 { 0 } else { SHARED_BASE };
        memory.watch(races, kernel.orders);
        memory.cells = followed.then(Box::default);
        Self {
            linear: 0,
            index: [0; 3],
            shared: memory,
            warps: (0..count)
                .map(|index| Warp::new(index, threads, width, (kernel, followed)))
                .collect(),
            delayed: StoreBuffer::default(),
            epoch: 0,
            arrived: Vec::new(),
            orders: kernel.orders,
        }
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.warps.iter().map(|warp| warp.registers.bytes()).sum()
    }

    /// Becomes block `linear`, of which nothing has run.
    pub(super) fn start(&mut self, linear: u32, index: [u32; 3]) {
        (self.linear, self.index, self.epoch) = (linear, index, 0);
        self.delayed.clear();
        self.arrived.clear();
        self.shared.reset(self.orders);
        self.warps.iter_mut().for_each(Warp::reset);
    }

    /// Lets everybody see all that the block has stored.
    pub(super) fn drain(&mut self, global: &mut DeviceMemory) {
        self.delayed.drain(&mut Memories { shared: &mut self.shared, global });
    }

    /// Lanes of a warp have exited: what they have stored by strong stores is seen.
    #[inline]
    pub(super) fn leave(&mut self, at: usize, lanes: u32, global: &mut DeviceMemory) {
        if !self.delayed.is_empty() {
            let mut memories = Memories { shared: &mut self.shared, global };
            self.delayed.leave(self.warps[at].index, lanes, &mut memories);
        }
    }

    /// Lets the block see what threads have stored that have exited: they count as arrived at its barriers.
    pub(super) fn publish_of_exited(&mut self, global: &mut DeviceMemory) {
        if !self.delayed.is_empty() {
            let mut memories = Memories { shared: &mut self.shared, global };
            for warp in &self.warps {
                self.delayed.publish(warp.index, warp.exited, &mut memories);
            }
        }
    }

    /// Whether every thread has exited.
    pub(super) fn finished(&self) -> bool {
        self.warps.iter().all(|warp| warp.live() == 0)
    }

    /// Every lane that has not exited is in exactly one fragment of its warp: the emulator's own
    /// invariant, whatever the kernel does.
    pub(super) fn check(&self) -> Result<(), Defect> {
        self.warps.iter().try_for_each(|warp| self.check_warp(warp))
    }

    /// The same of one warp of the block.
    pub(super) fn check_warp(&self, warp: &Warp) -> Result<(), Defect> {
        let all = warp.fragments.iter().fold(0, |all, f| all | f.lanes);
        let count: u32 = warp.fragments.iter().map(|f| f.lanes.count_ones()).sum();
        if all == warp.live() && count == all.count_ones() {
            return Ok(());
        }
        Err(Defect(format!(
            "block {}, warp {}: live lanes {:#010x} in fragments {:?}",
            self.linear,
            warp.index,
            warp.live(),
            warp.fragments
        )))
    }

    /// The latest shuffle of a warp, or else of another one, that read lanes which do not take part.
    pub(super) fn undefined(&self, warp: usize) -> Option<Undefined> {
        let own = self.warps[warp].rare.undefined;
        own.or_else(|| self.warps.iter().find_map(|warp| warp.rare.undefined))
    }

    fn waiting(&self) -> impl Iterator<Item = (usize, &super::warp::Fragment)> {
        let warps = self.warps.iter().enumerate();
        warps.flat_map(|(w, warp)| warp.fragments.iter().map(move |f| (w, f)))
    }

    /// Completes the barrier if every thread that has not exited waits at one. False if some
    /// thread is elsewhere.
    pub(super) fn release(&mut self, kernel: &Kernel) -> Result<bool, Stuck> {
        let code = &kernel.code;
        let part = |pc: u32| code[pc as usize].op.barrier().is_some_and(|b| b.count != SINK);
        let elsewhere = |f: &super::warp::Fragment| f.state != State::AtBarrier || part(f.pc);
        if self.finished() || self.waiting().any(|(_, f)| elsewhere(f)) {
            return Ok(false);
        }
        let exited: u32 = self.warps.iter().map(|warp| warp.exited.count_ones()).sum();
        if kernel.uniform
            && exited > 0
            && let Some((warp, fragment)) = self.waiting().next()
        {
            let kind = FaultKind::MissedBarrier { exited };
            let trouble = Trouble::new(kind, fragment.lanes);
            return Err(Stuck { trouble, warp, pc: fragment.pc });
        }
        let barrier = self.agreed(code)?;
        let result = barrier.reduction.map(|reduction| {
            let truth = |warp: &Warp| {
                let predicate = |f: &super::warp::Fragment| reduction_at(code, f.pc).map(|b| b.a);
                warp.fragments.iter().fold(0, |all, f| {
                    all | predicate(f).map_or(0, |a| warp.registers.truth(a)) & f.lanes
                })
            };
            let count: u32 = self.warps.iter().map(|warp| truth(warp).count_ones()).sum();
            let threads: u32 = self.warps.iter().map(|warp| warp.live().count_ones()).sum();
            match reduction.op {
                BarrierReductionOp::Popc => count,
                BarrierReductionOp::And => u32::from(count == threads).wrapping_neg(),
                BarrierReductionOp::Or => u32::from(count > 0).wrapping_neg(),
            }
        });
        for warp in &mut self.warps {
            for fragment in &mut warp.fragments {
                if let (Some(value), Some(reduction)) = (result, reduction_at(code, fragment.pc)) {
                    let registers = &mut warp.registers;
                    if reduction.op == BarrierReductionOp::Popc {
                        let on = Active::new(fragment.lanes);
                        registers.words.give(reduction.d, &on, &[value; LANES], 0);
                        if let Some(beside) = &mut registers.beside {
                            beside.forget(reduction.d, fragment.lanes);
                        }
                    } else {
                        registers.set_predicate(reduction.d, fragment.lanes, value, 0);
                    }
                }
                fragment.pc += 1;
                fragment.state = State::Ready;
            }
        }
        self.epoch += 1;
        self.tell();
        Ok(true)
    }

    /// Threads that have met know of one another's signals.
    pub(super) fn tell(&mut self) {
        let mut all = Met::default();
        let gathered = |warp: &Warp, all: &mut Met| warp.order.gather(warp.existing, all);
        if self.warps.iter().fold(false, |any, warp| gathered(warp, &mut all) | any) {
            self.warps.iter_mut().for_each(|warp| warp.order.tell(warp.existing, &all));
        }
    }

    /// The barrier at which all threads wait, if it is one.
    fn agreed(&self, code: &[Instruction]) -> Result<Barrier, Stuck> {
        let mut first: Option<(Barrier, u32)> = None;
        for (w, fragment) in self.waiting() {
            let pc = fragment.pc;
            let stuck = |kind, lanes| Stuck { trouble: Trouble::new(kind, lanes), warp: w, pc };
            let Some(&barrier) = code[pc as usize].op.barrier() else { continue };
            let warp = &self.warps[w];
            let other = warp.fragments.iter().find(|f| f.pc != pc);
            if let (Some(other), true) = (other, barrier.aligned) {
                let other_line = Some(code[other.pc as usize].line);
                return Err(stuck(FaultKind::DivergentBarrier { other_line }, fragment.lanes));
            }
            let numbers = warp.registers.words.get(barrier.number);
            let poison = warp.registers.words.poison(barrier.number) & fragment.lanes;
            let predicate = barrier.reduction.map_or(0, |b| warp.registers.truth_poison(b.a));
            if (poison | predicate) & fragment.lanes != 0 {
                return Err(stuck(FaultKind::PoisonControl, (poison | predicate) & fragment.lanes));
            }
            for lane in Bits(fragment.lanes) {
                let number = numbers[lane];
                if number > 15 {
                    return Err(stuck(FaultKind::BarrierNumber { number }, 1 << lane));
                }
                match &first {
                    Some((_, agreed)) if *agreed != number => {
                        return Err(self.deadlock(code));
                    }
                    Some((agreed, _)) if !compatible(agreed, &barrier) => {
                        let kind = FaultKind::DivergentBarrier { other_line: None };
                        return Err(stuck(kind, fragment.lanes));
                    }
                    Some(_) => {}
                    None => first = Some((barrier, number)),
                }
            }
        }
        first.map(|(barrier, _)| barrier).ok_or_else(|| self.deadlock(code))
    }

    /// Nobody of the block can go on: why.
    pub(super) fn deadlock(&self, code: &[Instruction]) -> Stuck {
        let at_barrier = |warp: &Warp| warp.fragments.iter().any(|f| f.state == State::AtBarrier);
        for (w, warp) in self.warps.iter().enumerate() {
            let elsewhere = warp.fragments.iter().find(|f| f.state != State::AtBarrier);
            let fragment = warp.fragments.iter().find(|f| f.state == State::AtBarrier);
            if let (true, Some(_), Some(fragment)) = (at_barrier(warp), elsewhere, fragment) {
                let kind = FaultKind::DivergentBarrier { other_line: None };
                let trouble = Trouble::new(kind, fragment.lanes);
                return Stuck { trouble, warp: w, pc: fragment.pc };
            }
        }
        let mut waiting: Vec<u32> = self.waiting().map(|(_, f)| code[f.pc as usize].line).collect();
        waiting.sort_unstable();
        waiting.dedup();
        let (warp, pc, lanes) =
            self.waiting().next().map_or((0, 0, 0), |(w, f)| (w, f.pc, f.lanes));
        Stuck { trouble: Trouble::new(FaultKind::Deadlock { waiting }, lanes), warp, pc }
    }
}

fn reduction_at(code: &[Instruction], pc: u32) -> Option<BarrierReduction> {
    code[pc as usize].op.barrier()?.reduction
}

/// Barriers may meet at different places of the program, but not with different reductions.
fn compatible(a: &Barrier, b: &Barrier) -> bool {
    a.reduction.map(|r| r.op) == b.reduction.map(|r| r.op)
}
