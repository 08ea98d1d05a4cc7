//! The gate of a case: a mask over the same points, whose value at a point multiplies all features of the
//! encoding ([`splatcheck_reference::grid::gate`]).
//!
//! The mask is a grid of its own. So the stages of any grid have a second view of such a case, in which
//! the mask is the encoding.

use splatcheck_judge::io::error::Problem;
use splatcheck_reference::grid::{Encoding, Grid, GridError};

/// A mask with its level.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// One level of one feature.
    pub grid: Grid,
    /// Its entries.
    pub mask: Vec<f32>,
}

impl Gate {
    /// The grid of a mask over positions with so many dimensions.
    ///
    /// # Errors
    /// [`GridError`] names the field, its value and the rule it breaks.
    pub fn grid(
        encoding: Encoding,
        dimensions: usize,
        (scale, resolution, entries): (f32, u32, u32),
    ) -> Result<Grid, GridError> {
        Grid::new(encoding, [dimensions, 1], &[scale], &[resolution], &[0, entries])
    }

    /// That there is a number for each entry.
    pub(super) fn validate(&self) -> Result<(), Problem> {
        let (found, expected) = (self.mask.len(), self.grid.entries());
        let rule = || format!("expected {expected}, one for each entry");
        (found == expected)
            .then_some(())
            .ok_or_else(|| Problem::new("the number of values of mask", found, rule()))
    }
}
