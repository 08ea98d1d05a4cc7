//! How much the lanes of a warp have in common on each level: what the reductions of the table's gradient
//! can save.

use super::steps::Steps;
use splatcheck_gpu::EngineError;
use splatcheck_judge::interrupt;
use splatcheck_judge::traffic::Counts;
use splatcheck_reference::grid::{Grid, GridError, Level};
use thiserror::Error;

/// Why a level's warps cannot be counted.
#[derive(Debug, Error)]
pub enum LocalityError {
    /// A warp size that no warp has.
    #[error(transparent)]
    Width(#[from] EngineError),
    /// A level that is no table by itself.
    #[error(transparent)]
    Level(#[from] GridError),
}

/// Counts each level by itself, the coarsest first, and shows it; Ctrl-C ends it after the level that is counted then.
///
/// `positions` `[N,d]` are in the order of the kernel's lanes.
///
/// # Errors
/// [`LocalityError`].
pub fn levels(
    grid: &Grid,
    positions: &[f32],
    lane_width: u32,
    mut show: impl FnMut(usize, &Level, &Counts),
) -> Result<(), LocalityError> {
    let sizes = [grid.dimensions(), grid.features()];
    let levels = grid.levels().iter().enumerate();
    for (number, level) in levels.take_while(|_| !interrupt::is_asked()) {
        let ends = [0, level.entries];
        let alone = Grid::new(*grid.encoding(), sizes, &[level.scale], &[level.resolution], &ends)?;
        let counts = Counts::new(&Steps::new(&alone, positions, lane_width)?.of_touched());
        show(number, level, &counts);
    }
    Ok(())
}
