//! Every value of every field.

use super::{Plan, at};
use crate::dice::Dice;
use splatcheck_reference::grid::{
    Crowded, DenseStride, Encoding, Hash, Interpolation, Lattice, Outside, PositionOffset,
    RightCorner, Skew,
};

/// Turns after which every value of every field has been had, and most pairs.
pub(super) const KINDS: u64 = 60;

/// A value that a turn chooses. No two fields go through theirs in the same steps.
fn of<T: Copy>(all: &[T], turn: u64, steps: u64) -> T {
    at(all, turn / steps + turn)
}

/// Entries of a level with a place for each of r^d vertices, as far as they are few.
fn entries(r: u32, d: usize, most: u32) -> u32 {
    let all = (0..d).fold(1_u32, |all, _| all.saturating_mul(r));
    all.next_multiple_of(8).min(most)
}

/// Points in and around the unit cube, on a level that has entries for all of its vertices and one whose
/// entries are few, and of no round number.
pub(super) fn plan(turn: u64, _lane_width: u32, dice: &mut Dice) -> Plan {
    let encoding = Encoding {
        lattice: at(&[Lattice::Cubic, Lattice::Cubic, Lattice::Cubic, Lattice::Simplex], turn),
        hash: of(Hash::ALL, turn, 2),
        interpolation: at(Interpolation::ALL, turn),
        position_offset: of(PositionOffset::ALL, turn, 3),
        right_corner: of(RightCorner::ALL, turn, 5),
        dense_stride: of(DenseStride::ALL, turn, 3),
        crowded: of(Crowded::ALL, turn, 7),
        outside: of(Outside::ALL, turn, 4),
        // Other than the dimensions, which come again after 16 turns.
        skew: at(Skew::ALL, turn / 4 + turn / 16),
    };
    let d = at(&[3_usize, 2, 1, 4], turn / 4 + turn);
    let features = at(&[2, 4, 1, 8], turn);
    let points = at(&[40, 12, 24, 65], turn / 2);
    // One more on each axis, for strides of r + 1.
    let levels = [(1.5, 3, entries(4, d, 256)), (11.3, 13, 61)];
    let positions = (0..points * d).map(|_| 0.5 + 0.8 * dice.value()).collect();
    Plan::new(encoding, [d, features], &levels, positions)
}
