//! Counts about those of warps, workgroups, levels and chunks of features.

use super::plan::{Plan, at, inside};
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_reference::grid::{Encoding, Interpolation};

/// Points.
const POINTS: [usize; 8] = [257, 256, 33, 31, 255, 1, 0, 32];
/// Features.
const FEATURES: [usize; 4] = [1, 8, 2, 4];

/// Kinds of cases.
pub(super) const KINDS: u64 = OF_COUNTS + 1;

/// Kinds of those counts.
const OF_COUNTS: u64 = 40;

/// Points of any order on levels that grow, of which few points have many.
pub(super) fn plan(turn: u64, _lane_width: u32, rng: &mut CaseRng) -> Plan {
    if turn % KINDS == OF_COUNTS {
        // A second block of points with four numbers each.
        let encoding = Encoding { interpolation: Interpolation::Nearest, ..Encoding::default() };
        let positions = inside(257 * 4, rng);
        return Plan::new(encoding, [4, 1], &[(2.5, 4, 61)], positions);
    }
    let points = at(&POINTS, turn);
    let levels = if points > 100 { at(&[1_u8, 2], turn / 3) } else { at(&[16, 3, 5], turn) };
    let d = if points > 100 { at(&[1_usize, 2], turn) } else { at(&[3, 2, 1], turn / 2) };
    let features = at(&FEATURES, turn / 8 + turn);
    let grown = |level: u8| (2.5 + 1.5 * f32::from(level), 4 + 2 * u32::from(level), 48);
    let levels: Vec<_> = (0..levels).map(grown).collect();
    let positions = inside(points * d, rng);
    Plan::new(Encoding::default(), [d, features], &levels, positions)
}
