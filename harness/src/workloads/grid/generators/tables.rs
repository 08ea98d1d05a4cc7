//! Level tables at which integers decide.

use super::{Plan, at};
use crate::dice::Dice;
use splatcheck_reference::grid::{
    Crowded, DenseStride, Encoding, Hash, Interpolation, Lattice, Skew,
};

/// Dimensions, vertices of an axis, entries.
const TABLES: [(usize, u32, u32); 23] = [
    // As many entries as vertices, one more, one less.
    (2, 4, 16),
    (2, 4, 17),
    (2, 4, 15),
    (3, 3, 27),
    (3, 3, 28),
    (3, 3, 26),
    // Everything collides; every corner of a cell is one entry.
    (3, 5, 8),
    (2, 9, 1),
    (3, 17, 2),
    // One cell; two vertices.
    (2, 1, 1),
    (3, 2, 8),
    // The number of vertices in 32 bits wraps; it is 0.
    (2, 65_536, 64),
    (2, 65_535, 64),
    (3, 1626, 64),
    (3, 1625, 64),
    (4, 256, 100),
    (4, 257, 64),
    // As many entries as vertices in four dimensions, one more, one less, and few more than in three.
    (4, 2, 16),
    (4, 2, 17),
    (4, 2, 15),
    (4, 3, 81),
    (4, 3, 30),
    // With one vertex more the stride is 2^32.
    (4, u32::MAX, 64),
];

/// Kinds of cases with those tables.
const OF_TABLES: u64 = 3 * TABLES.len() as u64;

/// Dimensions, scale and vertices of levels of simplices far from the origin, where a part of 2^-11 of the skew
/// is a part of a cell, or one rounding of it another order of the axes.
const FAR: [(usize, f32, u32); 4] =
    [(1, 3001.0, 3003), (2, 3001.0, 3003), (4, 3001.0, 3003), (4, 1_000_003.0, 1_000_005)];

/// Kinds of cases.
pub(super) const KINDS: u64 = OF_TABLES + FAR.len() as u64;

/// Points in and around the unit cube.
pub(super) fn plan(turn: u64, _lane_width: u32, dice: &mut Dice) -> Plan {
    if let Some(kind) = (turn % KINDS).checked_sub(OF_TABLES) {
        return far(at(&FAR, kind), dice);
    }
    let (d, r, entries) = at(&TABLES, turn);
    let round = turn / TABLES.len() as u64;
    let encoding = Encoding {
        hash: at(Hash::ALL, turn / 2),
        crowded: at(Crowded::ALL, round),
        interpolation: at(&[Interpolation::Linear, Interpolation::Smoothstep], turn / 2),
        dense_stride: at(&[DenseStride::Resolution, DenseStride::ResolutionPlusOne], round / 2),
        ..Encoding::default()
    };
    let points = 8 + dice.below(40) as usize;
    let mut positions: Vec<f32> = (0..points * d).map(|_| 0.5 + 0.55 * dice.value()).collect();
    // The last vertex, whose right neighbour is beyond the level.
    positions[..d].fill(1.0);
    let scale = f32::from(u16::try_from(r - 1).unwrap_or(u16::MAX));
    Plan::new(encoding, [d, at(&[1, 2], turn)], &[(scale, r, entries)], positions)
}

/// A level far from the origin; of the nearer ones beside it one whose stride is 1, which the bounds of the
/// farthest, where the order of the axes is open, would hide.
fn far((d, scale, vertices): (usize, f32, u32), dice: &mut Dice) -> Plan {
    let encoding =
        Encoding { lattice: Lattice::Simplex, skew: Skew::Simplex, ..Encoding::default() };
    let positions = (0..64 * d).map(|_| 0.5 + 0.5 * dice.value()).collect();
    let levels = [(scale, vertices, 509), (1.0, 1, 61)];
    let count = if vertices > 1 << 16 { 1 } else { levels.len() };
    Plan::new(encoding, [d, 1], &levels[..count], positions)
}
