//! Whose turn it is: a warp's, or in lockstep each of a block until it ends.

use super::block::Block;
use super::fault::launch::RunError;
use super::machine::Machine;
use super::step::{Limits, Turn};
use super::warp::State;

/// Instructions for which lanes of a warp wait for others that stand before them in the program.
const PATIENCE: u64 = 1 << 16;

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

    /// Runs a block to its end, lowest place of the program first.
    pub(super) fn lockstep(&mut self, block: &mut Block) -> Result<(), RunError> {
        loop {
            for warp in 0..block.warps.len() {
                self.lockstep_warp(block, warp)?;
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

    /// Runs a warp until no lanes of it are ready. Lanes that wait for so long that the others may be waiting for
    /// them, as for a lock, go on themselves.
    fn lockstep_warp(&mut self, block: &mut Block, warp: usize) -> Result<(), RunError> {
        let (mut waits, mut since) = (None, self.counters.total);
        while let Some(lowest) = block.warps[warp].lowest_ready() {
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
            let left = (since + PATIENCE).saturating_sub(self.counters.total);
            match furthest {
                None => self.turn(block, warp, lowest, Limits::NONE)?,
                Some((other, _)) if left == 0 => {
                    let limits = Limits { instructions: PATIENCE, ..Limits::NONE };
                    self.turn(block, warp, other, limits)?;
                    waits = None;
                }
                Some(_) => {
                    let limits = Limits { instructions: left, until, ..Limits::NONE };
                    self.turn(block, warp, lowest, limits)?;
                }
            }
        }
        Ok(())
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
