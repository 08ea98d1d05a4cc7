//! Which lanes add to which entry: a lane has a point on a level, and at each step its warp is at one corner
//! of its points' cells.

use super::case::Points;
use splatcheck_gpu::reduction::WORKGROUP_SIZE;
use splatcheck_gpu::stages::grid::GRID_BACKWARD;
use splatcheck_gpu::{EngineError, Reduction};
use splatcheck_judge::scatter_step::{Scatter, ScatterStep, check_lane_width, keyed_steps};
use splatcheck_reference::arithmetic::Ieee;
use splatcheck_reference::grid::Grid;
use splatcheck_reference::grid::bounds::{Keys, keys};

/// Where the lanes of each step are among those of all steps: a level's corners one after another, of each
/// as many workgroups as its points fill.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    points: usize,
    /// Levels times corners.
    steps: usize,
}

impl Places {
    /// The steps of a case's points.
    pub(super) fn of(case: &Points) -> Self {
        Self::new(&case.grid, case.points())
    }

    fn new(grid: &Grid, points: usize) -> Self {
        let corners = keys::<Ieee>(grid, &[]).corners;
        Self { points, steps: grid.levels().len() * corners }
    }

    /// Workgroups of a step.
    fn workgroups(&self) -> usize {
        self.points.div_ceil(WORKGROUP_SIZE as usize).max(1)
    }

    /// Lanes of all steps.
    pub(super) fn lanes(&self) -> usize {
        self.steps * self.workgroups() * WORKGROUP_SIZE as usize
    }

    /// The lane of a place in [`Keys::own`].
    pub(super) fn lane(&self, place: usize) -> usize {
        let [step, point] = [place / self.points, place % self.points];
        step * self.workgroups() * WORKGROUP_SIZE as usize + point
    }
}

/// The steps of a case on warps of one width, with the entries that the oracle has. What a workgroup has at
/// a corner is shown as one by itself.
#[derive(Debug)]
pub(super) struct Steps<'a> {
    grid: &'a Grid,
    keys: Vec<u32>,
    rows: usize,
    places: Places,
    lane_width: u32,
}

impl<'a> Steps<'a> {
    /// The steps of points `[N,d]`.
    ///
    /// # Errors
    /// [`EngineError::Input`] for a warp size that is no power of two up to 128.
    pub(super) fn new(
        grid: &'a Grid,
        positions: &[f32],
        lane_width: u32,
    ) -> Result<Self, EngineError> {
        let lane_width = check_lane_width(lane_width)?;
        let keys = keys::<Ieee>(grid, positions).own;
        let places = Places::new(grid, positions.len() / grid.dimensions());
        Ok(Self { grid, keys, rows: grid.entries(), places, lane_width })
    }

    /// The same with the entries alone that something is added to, in their order.
    pub(super) fn of_touched(mut self) -> Self {
        let mut touched: Vec<u32> = Vec::with_capacity(self.keys.len());
        touched.extend(self.keys.iter().filter(|&&key| key != Keys::NONE));
        touched.sort_unstable();
        touched.dedup();
        let there = self.keys.iter_mut().filter(|key| **key != Keys::NONE);
        // Entries have numbers of 32 bits.
        there.for_each(|key| {
            let row = touched.partition_point(|&entry| entry < *key);
            *key = u32::try_from(row).unwrap_or(Keys::NONE);
        });
        self.rows = touched.len();
        self
    }
}

impl Scatter for Steps<'_> {
    fn lane_width(&self) -> u32 {
        self.lane_width
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn values(&self) -> u32 {
        u32::try_from(self.grid.features()).unwrap_or(u32::MAX)
    }

    fn workgroups(&self) -> u32 {
        u32::try_from(self.places.steps * self.places.workgroups()).unwrap_or(u32::MAX)
    }

    fn is_keyed(&self) -> bool {
        GRID_BACKWARD.is_keyed()
    }

    fn shared_of_kernel(&self, _: Reduction) -> u64 {
        0
    }

    /// Lanes beyond the last point have stopped; those whose point is outside are idle.
    fn workgroup(&self, workgroup: u32, visit: &mut dyn FnMut(&ScatterStep<'_>)) {
        let Places { points, .. } = self.places;
        let of_step = u32::try_from(self.places.workgroups()).unwrap_or(u32::MAX);
        let [step, group] = [workgroup / of_step, workgroup % of_step];
        let keys = &self.keys[step as usize * points..][..points];
        keyed_steps(keys, Keys::NONE, [group, self.lane_width], visit);
    }
}
