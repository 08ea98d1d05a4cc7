//! Whose turn it is: a warp's, or in lockstep each of a block until it ends.

use super::block::Block;
use super::fault::launch::RunError;
use super::machine::Machine;
use super::step::{Limits, Turn};
use super::warp::State;

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
