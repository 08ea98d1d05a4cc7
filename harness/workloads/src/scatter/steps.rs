//! Which lanes add to which row: lane i of the grid has element i, and a warp makes one step.

use splatcheck_gpu::reduction::WORKGROUP_SIZE;
use splatcheck_gpu::stages::scatter::SCATTER;
use splatcheck_gpu::{EngineError, Reduction};
use splatcheck_reference::scatter::NO_KEY;

use super::case::Numbers;
use splatcheck_judge::scatter_step::{Scatter, ScatterStep, check_lane_width, keyed_steps};

/// The steps of some elements on warps of one width.
#[derive(Debug)]
pub(super) struct Steps<'a> {
    numbers: &'a Numbers,
    lane_width: u32,
}

impl<'a> Steps<'a> {
    /// # Errors
    /// [`EngineError::Input`] for a warp size that is no power of two up to 128.
    pub(super) fn new(numbers: &'a Numbers, lane_width: u32) -> Result<Self, EngineError> {
        Ok(Self { numbers, lane_width: check_lane_width(lane_width)? })
    }
}

impl Scatter for Steps<'_> {
    fn lane_width(&self) -> u32 {
        self.lane_width
    }

    fn rows(&self) -> usize {
        self.numbers.rows()
    }

    /// Shapes are checked to fit the kernels' 32-bit indices before a job is made.
    fn values(&self) -> u32 {
        u32::try_from(self.numbers.width).unwrap_or(u32::MAX)
    }

    fn workgroups(&self) -> u32 {
        let groups = self.numbers.len().div_ceil(WORKGROUP_SIZE as usize).max(1);
        u32::try_from(groups).unwrap_or(u32::MAX)
    }

    fn is_keyed(&self) -> bool {
        SCATTER.is_keyed()
    }

    fn shared_of_kernel(&self, _: Reduction) -> u64 {
        0
    }

    /// Lanes beyond the last element have stopped; those whose element has no key are idle.
    fn workgroup(&self, workgroup: u32, visit: &mut dyn FnMut(&ScatterStep<'_>)) {
        keyed_steps(&self.numbers.keys, NO_KEY, [workgroup, self.lane_width], visit);
    }
}

#[cfg(test)]
mod tests;
