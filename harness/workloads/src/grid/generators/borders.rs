//! Points on the borders of cells, and one f32 beside them.

use super::plan::{Plan, at};
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_reference::grid::{
    Encoding, Interpolation, Lattice, Outside, PositionOffset, RightCorner,
};

/// A scale that makes positions exact, one of which the last vertex is at 1, and any.
const SCALES: [f32; 3] = [4.0, 15.0, 2.7];

/// Kinds of cases: scales, fields and dimensions.
pub(super) const KINDS: u64 = 36;

/// Coordinates at which a program may decide wrongly.
fn coordinate(scale: f32, offset: f32, rng: &mut CaseRng) -> f32 {
    let vertex = f32::from(u8::try_from(rng.below(5)).unwrap_or(0));
    let border = (vertex - offset) / scale;
    let special = [
        border,
        border.next_up(),
        border.next_down(),
        0.0,
        -0.0,
        1.0,
        1.0_f32.next_down(),
        1.0_f32.next_up(),
        2.0,
        -1.0,
        -0.3,
        0.0_f32.next_up(),
    ];
    special[rng.below(12) as usize]
}

/// Each coordinate of every other point is on a border of its own; of the points between them one coordinate
/// is, so that this alone decides, or all are equal, so that no axis comes first.
pub(super) fn plan(turn: u64, _lane_width: u32, rng: &mut CaseRng) -> Plan {
    let scale = at(&SCALES, turn);
    let position_offset = at(PositionOffset::ALL, turn / 3);
    let encoding = Encoding {
        position_offset,
        interpolation: at(Interpolation::ALL, turn / 2),
        right_corner: at(RightCorner::ALL, turn / 3 + turn),
        // Simplices of four dimensions meet every scale.
        lattice: at(&[Lattice::Cubic, Lattice::Cubic, Lattice::Simplex], turn / 4 + turn / 12),
        outside: at(Outside::ALL, turn / 6),
        ..Encoding::default()
    };
    let d = at(&[1_usize, 2, 3, 4], turn);
    let offset = match position_offset {
        PositionOffset::Half => 0.5,
        PositionOffset::Zero => 0.0,
    };
    let mut positions = Vec::new();
    for point in 0..48 {
        let inside = 0.5 + 0.4 * rng.value();
        for axis in 0..d {
            positions.push(match point % 4 {
                0 | 2 => coordinate(scale, offset, rng),
                1 if point / 4 % d == axis => coordinate(scale, offset, rng),
                1 => 0.5 + 0.4 * rng.value(),
                _ => inside,
            });
        }
    }
    let r = if scale > 10.0 { 16 } else { 5 };
    let entries = if d < 3 { r * r } else { 150 };
    Plan::new(encoding, [d, at(&[2, 1], turn)], &[(scale, r, entries)], positions)
}
