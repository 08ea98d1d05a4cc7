//! Every group of lanes that a warp may meet, as those of sums by key: a line of cells has one for each row,
//! and idle lanes have points outside.

use super::plan::{Plan, at};
use crate::scatter::generators;
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_reference::grid::{Encoding, Interpolation, Outside, PositionOffset};
use splatcheck_reference::scatter::NO_KEY;

/// Frequency that meet every group of warps of four lanes.
pub(super) const KINDS: u64 = 23;

/// Vertices of the line: the rows of the sums, and the right end of the last cell.
const VERTICES: u32 = 81;

/// Linear cases have the same groups at each of two corners, at entries side by side.
pub(super) fn plan(turn: u64, lane_width: u32, rng: &mut CaseRng) -> Plan {
    let row = generators::find("groups").map_or(&generators::ALL[0], |row| row);
    let drawn = row.draw_for(lane_width, turn, u64::from(rng.below(u32::MAX)), turn);
    let position = |&key: &u32| match u8::try_from(key) {
        Ok(cell) => (f32::from(cell) + 0.25) / 128.0,
        // NO_KEY, the only one that is no row.
        Err(_) => -1.0,
    };
    debug_assert!(drawn.numbers.keys.iter().all(|&key| key < VERTICES || key == NO_KEY), "rows");
    let encoding = Encoding {
        interpolation: at(&[Interpolation::Nearest, Interpolation::Linear], turn),
        position_offset: PositionOffset::Zero,
        outside: Outside::Zero,
        ..Encoding::default()
    };
    let positions = drawn.numbers.keys.iter().map(position).collect();
    Plan::new(encoding, [1, at(&[1, 2], turn)], &[(128.0, VERTICES, VERTICES)], positions)
}
