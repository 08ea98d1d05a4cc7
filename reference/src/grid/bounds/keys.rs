//! Which entries the corners of the points' cells are: the rows that a program adds to.

use super::possible::{Undecided, see};
use crate::arithmetic::{Model, Tristate};
use crate::grid::cell::corners_of_cell;
use crate::grid::stages::{points, with_size};
use crate::grid::table::Grid;

/// The entries of all corners of all points' cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// Corners of a point.
    pub corners: usize,
    /// `[L, corners, N]`: the entry that the oracle has, of the whole table; [`Keys::NONE`] where the point
    /// is outside or has no cell.
    pub own: Vec<u32>,
    /// What a program may have instead, where roundings decide: the place in `own`, and the entry.
    pub others: Vec<(usize, u32)>,
}

impl Keys {
    /// No entry.
    pub const NONE: u32 = u32::MAX;
}

/// What [`super::keys()`] gives.
pub(super) fn of_corners<M: Model>(grid: &Grid, positions: &[f32]) -> Keys {
    let grid = &*grid.under::<M>();
    let corners = corners_of_cell(grid.encoding(), grid.dimensions());
    let count = points(grid, positions) * corners * grid.levels().len();
    let mut keys = Keys { corners, own: vec![Keys::NONE; count], others: Vec::new() };
    with_size!(grid.dimensions(), D in [1 2 3 4] => {
        keys.find::<M, D>(grid, positions.as_chunks::<D>().0);
    });
    keys.others.sort_unstable();
    keys
}

impl Keys {
    fn find<M: Model, const D: usize>(&mut self, grid: &Grid, positions: &[[f32; D]]) {
        let encoding = grid.encoding();
        for (l, level) in grid.levels().iter().enumerate() {
            for (point, &position) in positions.iter().enumerate() {
                let mut counted = Undecided::default();
                let Some(seen) = see::<M, D>(position, level, encoding, &mut counted) else {
                    continue;
                };
                let is_outside = seen.outside == Tristate::Undecided && seen.value_outside;
                for (number, cell) in seen.cells.iter().flatten().enumerate() {
                    for corner in 0..self.corners {
                        let entry = level.entry(cell.vertex(corner, encoding));
                        let place = (l * self.corners + corner) * positions.len() + point;
                        if number == 0 && !is_outside {
                            self.own[place] = entry;
                        } else if self.own[place] != entry {
                            self.others.push((place, entry));
                        }
                    }
                }
            }
        }
    }
}
