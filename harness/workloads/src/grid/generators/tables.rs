//! Level tables at which integers decide.

use super::plan::{Plan, at};
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_reference::grid::{Crowded, DenseStride, Encoding, Hash, Interpolation};

/// Dimensions, vertices of an axis, entries.
const TABLES: [(usize, u32, u32); 27] = [
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
    // Few enough entries for a block, 8 bits of which are 0, and so of their quotients by the vertices.
    (4, 1, 256),
    (2, 1, 256),
    (4, 2, 1024),
    // Dense with 2 x 3^3 vertices and not with 3^4: the first axis counts as the others do.
    (4, 2, 60),
];

/// Kinds of cases.
pub(super) const KINDS: u64 = 3 * TABLES.len() as u64;

/// Points in and around the unit cube.
pub(super) fn plan(turn: u64, _lane_width: u32, rng: &mut CaseRng) -> Plan {
    let (d, r, entries) = at(&TABLES, turn);
    let round = turn / TABLES.len() as u64;
    let encoding = Encoding {
        hash: at(Hash::ALL, turn / 2),
        crowded: at(Crowded::ALL, round),
        interpolation: at(&[Interpolation::Linear, Interpolation::Smoothstep], turn / 2),
        dense_stride: at(&[DenseStride::Resolution, DenseStride::ResolutionPlusOne], round / 2),
        ..Encoding::default()
    };
    let points = 8 + rng.below(40) as usize;
    let mut positions: Vec<f32> = (0..points * d).map(|_| 0.5 + 0.55 * rng.value()).collect();
    // The last vertex, whose right neighbour is beyond the level.
    positions[..d].fill(1.0);
    let scale = f32::from(u16::try_from(r - 1).unwrap_or(u16::MAX));
    Plan::new(encoding, [d, at(&[1, 2], turn)], &[(scale, r, entries)], positions)
}
