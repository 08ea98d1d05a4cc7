//! What is known of every register at every instruction of a kernel, for every launch that the facts allow.
//!
//! Abstract interpretation (Cousot and Cousot, POPL 1977): blocks are visited until nothing changes, bounds
//! that grow are widened to powers of two, and two more visits narrow them again.

use std::collections::BTreeSet;

use super::super::ir::{
    Arithmetic, Base, Boolean, Control, File, Instruction, Kernel, Memory, Op, Place, Predicate,
    RareMemory, Setp, Slot, Space, Transfer,
};
use super::compared::{opposite, restricted};
use super::integers::Integers;
use super::state::{In, State};
use super::transfer::{self, Given, Known, Operands, anything};

/// Visits of a block before its bounds are widened.
const PATIENCE: u32 = 3;

/// Visits that narrow what was widened.
const NARROWING: usize = 2;

/// What is known of a kernel.
pub(super) struct Flow<'k> {
    pub(super) kernel: &'k Kernel,
    pub(super) given: Given,
    /// Where control may enter, ascending, and what is known there; `None` where it never does.
    blocks: Vec<(u32, Option<State>)>,
    /// The predicates whose definitions read a register.
    readers: Vec<(Place, Slot, u32)>,
}

impl<'k> Flow<'k> {
    pub(super) fn of(kernel: &'k Kernel, given: Given) -> Self {
        let mut flow = Self { kernel, given, blocks: Vec::new(), readers: Vec::new() };
        flow.blocks = begins(kernel).into_iter().map(|begin| (begin, None)).collect();
        for (pc, instruction) in (0_u32..).zip(&kernel.code) {
            if let Op::Arithmetic(op) = instruction.op
                && instruction.guard.is_none()
                && let Some(d) = defines(&op)
            {
                flow.readers.extend(instruction.op.reads().into_iter().map(|read| (read, d, pc)));
            }
        }
        flow.readers.sort_by_key(|(place, ..)| (place.file as u8, place.slot));
        flow.solve();
        flow
    }

    /// Visits blocks until nothing changes, then once more without widening.
    fn solve(&mut self) {
        let mut visits = vec![0_u32; self.blocks.len()];
        self.blocks[0].1 = Some(State::new(self.kernel));
        let mut waiting = BTreeSet::from([0]);
        while let Some(block) = waiting.pop_first() {
            for (next, state) in self.leave(block) {
                let known = &mut self.blocks[next].1;
                let changed = match known {
                    None => {
                        *known = Some(state);
                        true
                    }
                    Some(known) => {
                        let changed = known.join(&state, visits[next] >= PATIENCE);
                        visits[next] += u32::from(changed);
                        changed
                    }
                };
                if changed {
                    waiting.insert(next);
                }
            }
        }
        for _ in 0..NARROWING {
            self.narrow();
        }
    }

    /// Every block once more, from what is known of those before it: no less than what holds.
    fn narrow(&mut self) {
        let mut fresh: Vec<Option<State>> = vec![None; self.blocks.len()];
        fresh[0] = Some(State::new(self.kernel));
        for block in 0..self.blocks.len() {
            if self.blocks[block].1.is_none() {
                continue;
            }
            for (next, state) in self.leave(block) {
                match &mut fresh[next] {
                    None => fresh[next] = Some(state),
                    Some(known) => drop(known.join(&state, false)),
                }
            }
        }
        for ((_, known), fresh) in self.blocks.iter_mut().zip(fresh) {
            *known = fresh;
        }
    }

    fn end(&self, block: usize) -> u32 {
        let code = u32::try_from(self.kernel.code.len()).unwrap_or(u32::MAX);
        self.blocks.get(block + 1).map_or(code, |(begin, _)| *begin)
    }

    pub(super) fn block_at(&self, pc: u32) -> usize {
        self.blocks.partition_point(|(begin, _)| *begin <= pc) - 1
    }

    /// Where a block leads, and what is known there.
    fn leave(&self, block: usize) -> Vec<(usize, State)> {
        let (begin, Some(state)) = &self.blocks[block] else { return Vec::new() };
        let mut state = state.clone();
        let end = self.end(block);
        for pc in *begin..end {
            let instruction = &self.kernel.code[pc as usize];
            if let Some(target) = ends(&instruction.op) {
                return self.branch(state, instruction, target, end);
            }
            self.step(&mut state, pc);
        }
        vec![(block + 1, state)].into_iter().filter(|(next, _)| *next < self.blocks.len()).collect()
    }

    fn branch(
        &self,
        state: State,
        instruction: &Instruction,
        target: Option<u32>,
        end: u32,
    ) -> Vec<(usize, State)> {
        let mut ways = Vec::new();
        let mut way = |holds: bool, to: Option<u32>| {
            let Some(to) = to.filter(|to| (*to as usize) < self.kernel.code.len()) else { return };
            let mut state = state.clone();
            let possible = match instruction.guard {
                None => holds,
                Some(guard) => self.assume(&mut state, guard, holds).is_some(),
            };
            if possible {
                ways.push((self.block_at(to), state));
            }
        };
        way(true, target);
        way(false, Some(end));
        ways
    }

    /// What is known in front of an instruction; `None` where control never arrives.
    pub(super) fn before(&self, pc: u32) -> Option<State> {
        let (begin, state) = &self.blocks[self.block_at(pc)];
        let mut state = state.clone()?;
        (*begin..pc).for_each(|pc| self.step(&mut state, pc));
        Some(state)
    }

    /// Whether control may go from one block to another, as far as is known.
    pub(super) fn successors(&self) -> Vec<Vec<usize>> {
        let of = |block| self.leave(block).into_iter().map(|(next, _)| next).collect();
        (0..self.blocks.len()).map(of).collect()
    }

    /// The instructions of a block, if control arrives at it.
    pub(super) fn range(&self, block: usize) -> Option<std::ops::Range<u32>> {
        let (begin, state) = &self.blocks[block];
        state.as_ref().map(|_| *begin..self.end(block))
    }

    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// What is known behind an instruction that goes on to the next.
    pub(super) fn step(&self, state: &mut State, pc: u32) {
        let instruction = &self.kernel.code[pc as usize];
        let of = In { kernel: self.kernel, state };
        let guard = instruction.guard.map_or(Some(true), |guard| of.predicate(guard));
        if guard == Some(false) {
            return;
        }
        for (place, known) in results(instruction, of, &self.given) {
            self.forget(state, place);
            state.write(place, known, guard == Some(true));
        }
        if let Op::Arithmetic(op) = &instruction.op
            && instruction.guard.is_none()
            && let Some(d) = defines(op)
        {
            // Also by a second predicate that it writes.
            let reads = instruction.op.reads();
            let is_read = |place: &Place| place.file == File::Predicate && reads.contains(place);
            let reads_itself = instruction.op.writes().iter().any(is_read);
            state.definitions[usize::from(d)] = (!reads_itself).then_some(pc);
        }
    }

    /// The definitions that a register was part of, or was, are no more.
    fn forget(&self, state: &mut State, place: Place) {
        if place.file == File::Predicate {
            state.definitions[usize::from(place.slot)] = None;
        }
        let key = |place: &Place| (place.file as u8, place.slot);
        let from = self.readers.partition_point(|(read, ..)| key(read) < key(&place));
        for (_, d, pc) in self.readers[from..].iter().take_while(|(read, ..)| *read == place) {
            let definition = &mut state.definitions[usize::from(*d)];
            if *definition == Some(*pc) {
                *definition = None;
            }
        }
    }

    /// Takes a predicate for granted, with what follows for what it was made of; `None` where it cannot be.
    fn assume(&self, state: &mut State, predicate: Predicate, holds: bool) -> Option<()> {
        let known = In { kernel: self.kernel, state }.predicate(predicate);
        if known.is_some() {
            return (known == Some(holds)).then_some(());
        }
        let at = usize::from(predicate.slot);
        let holds = holds != predicate.negated;
        state.predicates[at] = Some(holds);
        let Some(pc) = state.definitions[at] else { return Some(()) };
        let Op::Arithmetic(op) = self.kernel.code[pc as usize].op else { return Some(()) };
        match op {
            Arithmetic::Setp(setp) => self.assume_comparison(state, &setp, holds),
            Arithmetic::PredicateMove { a, .. } => self.assume(state, a, holds),
            Arithmetic::Predicate2(boolean, _, a, b) => {
                if holds == (boolean == Boolean::And) && boolean != Boolean::Xor {
                    self.assume(state, a, holds)?;
                    self.assume(state, b, holds)?;
                }
                Some(())
            }
            _ => Some(()),
        }
    }

    fn assume_comparison(&self, state: &mut State, setp: &Setp, holds: bool) -> Option<()> {
        if let Some((boolean, other)) = setp.combine {
            if holds != (boolean == Boolean::And) || boolean == Boolean::Xor {
                return Some(());
            }
            self.assume(state, other, holds)?;
        }
        let of = In { kernel: self.kernel, state };
        let Some((signed, a, b)) = transfer::sides(setp, &of) else { return Some(()) };
        let comparison = if holds { Some(setp.comparison) } else { opposite(setp.comparison) };
        let Some(comparison) = comparison else { return Some(()) };
        let (a, b) = restricted(comparison, signed, a, b)?;
        let registers = if a.width == 64 { &mut state.b64 } else { &mut state.words };
        for (slot, known) in [(setp.a, a), (setp.b, b)] {
            // Constants are behind the registers.
            if let Some(register) = registers.get_mut(usize::from(slot)) {
                *register = known;
            }
        }
        Some(())
    }
}

/// What an instruction writes, and what is known of it.
fn results(instruction: &Instruction, of: In<'_>, given: &Given) -> Vec<(Place, Known)> {
    let of_place = |place: Place| {
        let known = match &instruction.op {
            Op::Arithmetic(op) => match place.file {
                // The other result of setp is not looked at.
                File::Predicate if defines(op) == Some(place.slot) => {
                    Some(Known::Predicate(transfer::predicate(op, &of)))
                }
                File::Predicate => None,
                File::Word | File::B64 => transfer::integer(op, &of).map(Known::Integer),
            },
            op @ (Op::Memory(_) | Op::Synchronization(_) | Op::Control(_)) => {
                given_by(op, place, given).map(Known::Integer)
            }
        };
        (place, known.unwrap_or(anything(place.file)))
    };
    instruction.op.writes().into_iter().map(of_place).collect()
}

/// What is known of what an operation that is not arithmetic puts into a register.
pub(super) fn given_by(op: &Op, place: Place, given: &Given) -> Option<Integers> {
    match op {
        Op::Memory(
            Memory::Load(t) | Memory::Rare(RareMemory::LoadLocal(t) | RareMemory::GenericLoad(t)),
        ) => Some(load(t, place, given)),
        op => transfer::elsewhere(op, given),
    }
}

fn load(transfer: &Transfer, place: Place, given: &Given) -> Integers {
    let any = transfer::loaded(transfer);
    if transfer.space != Space::Param || transfer.address.base != Base::None {
        return any;
    }
    let element = transfer.slots.iter().position(|slot| *slot == place.slot).unwrap_or(0) as u64;
    let at = transfer.address.offset.cast_unsigned() + element * u64::from(transfer.width);
    let fact = given.parameters.iter().find(|(offset, _)| *offset == at);
    match fact {
        Some((_, fact)) if fact.width == 8 * u32::from(transfer.width) => {
            any.and_of(fact.widened(any.width)).unwrap_or(any)
        }
        _ => any,
    }
}

/// The predicate that an operation gives and whose operands say something where it is known.
fn defines(op: &Arithmetic) -> Option<Slot> {
    match *op {
        Arithmetic::Setp(setp) => Some(setp.d),
        Arithmetic::PredicateMove { d, .. } | Arithmetic::Predicate2(_, d, ..) => Some(d),
        _ => None,
    }
    .filter(|slot| *slot != super::super::ir::SINK)
}

/// Where an instruction may lead beside the next: the inner option is nowhere.
fn ends(op: &Op) -> Option<Option<u32>> {
    match op {
        Op::Control(Control::Branch { target, .. }) => Some(Some(*target)),
        Op::Control(Control::Exit) => Some(None),
        Op::Control(Control::Special(..) | Control::Rare(_))
        | Op::Arithmetic(_)
        | Op::Memory(_)
        | Op::Synchronization(_) => None,
    }
}

/// Where control may enter.
fn begins(kernel: &Kernel) -> Vec<u32> {
    let mut all = BTreeSet::from([0]);
    for (next, instruction) in (1_u32..).zip(&kernel.code) {
        if let Some(target) = ends(&instruction.op) {
            all.extend(target);
            all.insert(next);
        }
    }
    all.retain(|begin| (*begin as usize) < kernel.code.len());
    all.into_iter().collect()
}
