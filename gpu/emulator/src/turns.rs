//! Whose turn it is: a warp's, or in lockstep each of a block until it ends.

use std::collections::VecDeque;

use super::block::Block;
use super::fault::launch::RunError;
use super::machine::Machine;
use super::step::{Limits, Turn};
use super::warp::State;

/// Blocks that a scheduler has resident at once.
pub(super) const RESIDENT: usize = 4;

/// Bytes of the blocks that recorded decisions, or blocks that wait for each other, may make resident at once: a
/// scheduler's are few, a shortened record leaves some unfinished, and one that somebody wrote could name them all.
pub(super) const MOST_BYTES: usize = 1 << 30;

/// Blocks in lockstep, in the order in which they are begun. One that only waits, for all that it tells, is set
/// aside until others have run: a kernel whose blocks wait for later ones ends where all of them are resident.
pub(super) struct Queue<F> {
    fresh: F,
    /// Blocks that have ended, for their room.
    idle: Vec<Block>,
    waiting: VecDeque<Block>,
}

impl<F: Fn() -> Block> Queue<F> {
    pub(super) fn new(fresh: F) -> Self {
        Self::with(fresh, Vec::new())
    }

    pub(super) fn with(fresh: F, idle: Vec<Block>) -> Self {
        Self { fresh, idle, waiting: VecDeque::new() }
    }

    /// Begins a block, and runs it to its end or until it only waits.
    pub(super) fn run(&mut self, machine: &mut Machine<'_>, linear: u32) -> Result<(), RunError> {
        let bytes = self.waiting.front().map_or(0, Block::bytes);
        while self.waiting.len() >= RESIDENT && self.waiting.len() * bytes >= MOST_BYTES {
            self.next(machine)?;
        }
        let mut block = self.idle.pop().unwrap_or_else(&self.fresh);
        machine.start(&mut block, linear);
        self.go_on(machine, block)
    }

    /// Runs a block to its end or until it only waits.
    pub(super) fn go_on(
        &mut self,
        machine: &mut Machine<'_>,
        mut block: Block,
    ) -> Result<(), RunError> {
        match machine.lockstep(&mut block)? {
            Turned::Ended => self.idle.push(block),
            Turned::Waits => self.waiting.push_back(block),
        }
        Ok(())
    }

    fn next(&mut self, machine: &mut Machine<'_>) -> Result<(), RunError> {
        let Some(block) = self.waiting.pop_front() else { return Ok(()) };
        self.go_on(machine, block)
    }

    /// Runs all that wait to their ends.
    pub(super) fn finish(mut self, machine: &mut Machine<'_>) -> Result<(), RunError> {
        while !self.waiting.is_empty() {
            self.next(machine)?;
        }
        Ok(())
    }
}

/// How a turn of a block or of a warp ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turned {
    /// The block's threads have exited; none of the warp's lanes is ready.
    Ended,
    /// It has run for so long that it may be waiting for others.
    Waits,
}

impl Machine<'_> {
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

    /// Runs a block, lowest place of the program first, to its end or until each warp that is ready has run for so
    /// long that it may be waiting for another block.
    pub(super) fn lockstep(&mut self, block: &mut Block) -> Result<Turned, RunError> {
        loop {
            let (mut moved, mut waits) = (false, false);
            for warp in 0..block.warps.len() {
                let was_ready = block.warps[warp].lowest_ready().is_some();
                match self.lockstep_warp(block, warp)? {
                    Turned::Ended => moved |= was_ready,
                    Turned::Waits => waits = true,
                }
            }
            block.check()?;
            if block.finished() {
                return Ok(Turned::Ended);
            }
            if waits && !moved {
                return Ok(Turned::Waits);
            }
            // A barrier of a part of the block may have let go a warp that had its turn.
            if block.warps.iter().all(|warp| warp.lowest_ready().is_none()) {
                self.release(block)?;
            }
        }
    }

    /// Runs a warp until no lanes of it are ready, or for so long that they may be waiting for other warps. Lanes
    /// for which others wait so long that they may be waiting for them, as for a lock, go on meanwhile.
    fn lockstep_warp(&mut self, block: &mut Block, warp: usize) -> Result<Turned, RunError> {
        let start = self.counters.total;
        let (mut waits, mut since) = (None, start);
        while let Some(lowest) = block.warps[warp].lowest_ready() {
            if self.counters.total - start >= self.patience.of_warp() {
                self.patience.lose();
                return Ok(Turned::Waits);
            }
            let lowest = block.warps[warp].merge(lowest);
            let others = || {
                let all = block.warps[warp].fragments.iter().enumerate();
                all.filter(|(i, f)| *i != lowest && f.state == State::Ready)
            };
            let until = others().map(|(_, f)| f.pc).min().unwrap_or(u32::MAX);
            let furthest = others().max_by_key(|(_, f)| f.pc);
            let now = furthest.map(|(_, f)| (f.pc, f.lanes));
            if now != waits {
                (waits, since) = (now, self.counters.total);
            }
            let patience = self.patience.of_lanes();
            let left = (since + patience).saturating_sub(self.counters.total);
            match furthest {
                None => {
                    let instructions = self.patience.of_warp();
                    let limits = Limits { instructions, ..Limits::NONE };
                    self.turn(block, warp, lowest, limits)?;
                }
                Some((other, _)) if left == 0 => {
                    let limits = Limits { instructions: patience, ..Limits::NONE };
                    self.turn(block, warp, other, limits)?;
                    self.patience.lose_of_lanes();
                    waits = None;
                }
                Some(_) => {
                    let limits = Limits { instructions: left, until, ..Limits::NONE };
                    self.turn(block, warp, lowest, limits)?;
                }
            }
        }
        Ok(Turned::Ended)
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
