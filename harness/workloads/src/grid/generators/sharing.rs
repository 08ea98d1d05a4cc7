//! Points that share cells and vertices.

use super::plan::{Plan, at};
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_reference::grid::{Encoding, Outside};

/// Which cell each point has, of up to four on an axis.
const SHAPES: [fn(usize, &mut CaseRng) -> u32; 6] = [
    // One for all.
    |_, _| 1,
    // Two, in turn.
    |point, _| if point.is_multiple_of(2) { 0 } else { 3 },
    // Each for a run of seven.
    |point, _| u32::try_from(point / 7 % 4).unwrap_or(0),
    // Two runs of one with another between.
    |point, _| u32::from((5..9).contains(&(point % 16))),
    // Neighbours in neighbouring ones, as along a ray.
    |point, _| u32::try_from(point % 4).unwrap_or(0),
    // Any.
    |_, rng| rng.below(4),
];

/// Where in its cell a point is, in eighths.
const PLACES: [fn(&mut CaseRng) -> u32; 3] = [
    // Anywhere.
    |rng| rng.below(8),
    // On the vertex: all other weights are 0.
    |_| 0,
    // In the middle.
    |_| 4,
];

/// Which points are outside and add nothing.
const IDLE: [fn(usize, &mut CaseRng) -> bool; 3] =
    [|_, _| false, |point, _| point % 32 < 5, |_, rng| rng.coin()];

/// Kinds of cases.
pub(super) const KINDS: u64 = (SHAPES.len() * PLACES.len() * IDLE.len()) as u64;

/// On a level of four cells an axis every position, weight and product is exact: the sharpest cases.
pub(super) fn plan(turn: u64, _lane_width: u32, rng: &mut CaseRng) -> Plan {
    let shapes = SHAPES.len() as u64;
    let shape = at(&SHAPES, turn);
    let place = at(&PLACES, turn / shapes);
    let idle = at(&IDLE, turn / shapes / PLACES.len() as u64);
    let d = at(&[2_usize, 1, 3], turn / 2);
    let points = 60 + rng.below(12) as usize;
    let mut positions = Vec::new();
    for point in 0..points {
        let cell = shape(point, rng);
        let is_idle = idle(point, rng);
        for _ in 0..d {
            let eighths = 8 * cell + place(rng);
            let inside = f32::from(u8::try_from(eighths).unwrap_or(0)) / 32.0;
            positions.push(if is_idle { inside - 2.0 } else { inside });
        }
    }
    let outside = Outside::Zero;
    let offset = splatcheck_reference::grid::PositionOffset::Zero;
    let encoding = Encoding { outside, position_offset: offset, ..Encoding::default() };
    let levels = [(4.0, 5, at(&[125, 8, 61], turn)), (1.0, 2, 8)];
    Plan::new(encoding, [d, at(&[2, 1, 4], turn)], &levels, positions)
}
