//! Runs the blocks of a launch by decisions, made or recorded.

use std::collections::BTreeMap;

use super::block::Block;
use super::delay::{Memories, StoreBuffer};
use super::fault::launch::RunError;
use super::machine::Machine;
use super::memory::Segment;
use super::mix::mix;
use super::schedule::{Candidate, Decision, Scheduler, Trace};
use super::step::Limits;
use super::turns::{MOST_BYTES, Queue, RESIDENT};
use super::warp::{Fragment, State};

/// Where decisions come from.
pub(super) enum Source<'s> {
    Seeded(Scheduler),
    Recorded(std::slice::Iter<'s, Decision>),
}

/// A block that has begun, and its fragments that could go on.
struct Resident {
    block: Block,
    ready: Vec<Candidate>,
}

impl Resident {
    /// Finds out who could go on. Only what the block does itself changes that.
    fn look(&mut self, machine: &mut Machine<'_>) -> Result<(), RunError> {
        self.collect();
        if self.ready.is_empty() {
            machine.release(&mut self.block)?;
            self.collect();
        }
        Ok(())
    }

    fn collect(&mut self) {
        self.ready.clear();
        let block = self.block.linear;
        for warp in &self.block.warps {
            for fragment in warp.fragments.iter().filter(|f| f.state == State::Ready) {
                let warp = u32::from(warp.index);
                self.ready.push(Candidate { block, warp, lanes: fragment.lanes });
            }
        }
    }
}

/// The blocks of a launch.
struct Blocks<F> {
    fresh: F,
    resident: BTreeMap<u32, Resident>,
    /// Blocks that have finished, for their room.
    idle: Vec<Block>,
    /// Those that have not begun, descending.
    waiting: Vec<u32>,
    /// What finished blocks have stored that other blocks may not see before the kernel ends.
    late: Vec<StoreBuffer>,
}

impl<F: Fn() -> Block> Blocks<F> {
    /// Begins the block at `place` of those that wait.
    fn begin(&mut self, place: usize, machine: &Machine<'_>) {
        let linear = self.waiting.remove(place);
        let mut block = self.idle.pop().unwrap_or_else(&self.fresh);
        machine.start(&mut block, linear);
        let mut resident = Resident { block, ready: Vec::new() };
        resident.collect();
        self.resident.insert(linear, resident);
    }

    /// How many fragments could go on.
    fn ready(&self) -> usize {
        self.resident.values().map(|resident| resident.ready.len()).sum()
    }

    /// The fragment of that index among them, by block, warp and fragment.
    fn candidate(&self, mut index: usize) -> Option<Candidate> {
        for Resident { ready, .. } in self.resident.values() {
            match ready.get(index) {
                Some(candidate) => return Some(*candidate),
                None => index -= ready.len(),
            }
        }
        None
    }

    /// Whether one more block may be resident.
    fn has_room(&self) -> bool {
        let bytes = self.resident.values().next().map_or(0, |first| first.block.bytes());
        self.resident.len() < RESIDENT || self.resident.len() < MOST_BYTES / bytes.max(1)
    }

    /// Makes room if all threads of a block have exited.
    fn end(&mut self, linear: u32) {
        if let Some(Resident { mut block, .. }) = self.resident.remove(&linear) {
            self.late.push(std::mem::take(&mut block.delayed));
            self.idle.push(block);
        }
    }

    /// Lockstep, in ascending order, for what is left.
    fn finish(mut self, machine: &mut Machine<'_>) -> Result<(), RunError> {
        // The shared memory of these blocks is gone.
        let mut shared = Segment::default();
        for late in &mut self.late {
            late.drain(&mut Memories { shared: &mut shared, global: machine.memory });
        }
        let mut queue = Queue::with(self.fresh, self.idle);
        for mut block in self.resident.into_values().map(|resident| resident.block) {
            block.drain(machine.memory);
            queue.go_on(machine, block)?;
        }
        while let Some(linear) = self.waiting.pop() {
            queue.run(machine, linear)?;
        }
        queue.finish(machine)
    }
}

/// Decisions after which resident blocks, of which none ends, may wait for one that is not resident yet.
const PATIENCE: u32 = 1 << 13;

/// Runs all blocks by decisions. A block begins when a scheduler has room for it, and in a replay
/// when a decision names it, which nobody could tell apart.
pub(super) fn decided(
    machine: &mut Machine<'_>,
    fresh: impl Fn() -> Block,
    mut source: Source<'_>,
    trace: &mut Trace,
) -> Result<(), RunError> {
    let mut blocks = Blocks {
        fresh,
        resident: BTreeMap::new(),
        idle: Vec::new(),
        waiting: (0..machine.blocks()).rev().collect(),
        late: Vec::new(),
    };
    // Decisions since a block began or ended.
    let mut still = 0_u32;
    loop {
        if let Source::Seeded(scheduler) = &mut source {
            // Blocks that wait for a later one go on when it is resident, as on a device.
            let mut one_more = still > PATIENCE && blocks.has_room();
            while (blocks.resident.len() < RESIDENT || one_more) && !blocks.waiting.is_empty() {
                blocks.begin(scheduler.choose_block(blocks.waiting.len()), machine);
                (still, one_more) = (0, false);
            }
        }
        still = still.saturating_add(1);
        let decision = match &mut source {
            Source::Seeded(scheduler) => {
                scheduler.decide(blocks.ready(), |index| blocks.candidate(index))
            }
            Source::Recorded(decisions) => decisions.next().copied(),
        };
        let Some(decision) = decision else { return blocks.finish(machine) };
        if let Ok(place) = blocks.waiting.binary_search_by(|b| decision.block.cmp(b))
            && blocks.has_room()
        {
            blocks.begin(place, machine);
        }
        if let Some(resident) = blocks.resident.get_mut(&decision.block) {
            trace.push(decision);
            obey(machine, &mut resident.block, decision)?;
            let block = &resident.block;
            if let Some(warp) = block.warps.get(decision.warp as usize) {
                block.check_warp(warp)?;
            }
            if block.finished() {
                still = 0;
                blocks.end(decision.block);
            } else {
                resident.look(machine)?;
            }
        }
    }
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
    if !block.delayed.is_empty() {
        let memory = decision.memory;
        let chosen = |address| memory == 0 || mix(u64::from(memory) ^ address).is_multiple_of(4);
        let mut memories = Memories { shared: &mut block.shared, global: machine.memory };
        block.delayed.trickle(block.warps[warp].index, &mut memories, chosen);
    }
    let instructions = u64::from(decision.instructions);
    let limits = Limits { instructions, until, memory: decision.memory };
    machine.turn(block, warp, fragment, limits)
}
