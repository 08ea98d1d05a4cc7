//! Positions without a cell.

use super::plan::{Plan, at};
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_reference::grid::{Encoding, Outside};

const POSITIONS: [f32; 7] =
    [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30, 3e9, f32::MAX];

/// Kinds of cases.
pub(super) const KINDS: u64 = 2 * POSITIONS.len() as u64;

/// One coordinate in four is no number, infinite, or beyond what an integer holds.
pub(super) fn plan(turn: u64, _lane_width: u32, rng: &mut CaseRng) -> Plan {
    let wrong = at(&POSITIONS, turn);
    let outside = at(Outside::ALL, turn / POSITIONS.len() as u64);
    let d = at(&[1_usize, 2, 3, 4], turn);
    let position =
        |rng: &mut CaseRng| if rng.below(4) == 0 { wrong } else { 0.5 + 0.5 * rng.value() };
    let positions = (0..40 * d).map(|_| position(rng)).collect();
    let encoding = Encoding { outside, ..Encoding::default() };
    Plan::new(encoding, [d, 2], &[(3.0, 4, 16), (15.0, 16, 61)], positions)
}
