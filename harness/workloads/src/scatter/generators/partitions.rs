//! Every way in which the lanes of a warp may share rows.

use super::groups::{some_rows, with_values};
use crate::scatter::case::Numbers;
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_reference::scatter::NO_KEY;

/// How the lanes of a warp share rows.
const SHAPES: [fn(usize, &mut CaseRng) -> Vec<usize>; 6] = [
    // One group.
    |width, _| vec![0; width],
    // Two groups, interleaved.
    |width, _| (0..width).map(|lane| lane % 2).collect(),
    // Pairs of neighbours.
    |width, _| (0..width).map(|lane| lane / 2).collect(),
    // No two lanes share a row.
    |width, _| (0..width).collect(),
    // One run of any length from any lane on; no two others share a row.
    |width, rng| {
        let [begin, end] = cuts(width, rng);
        let group = |lane: usize| if (begin..end).contains(&lane) { width } else { lane };
        (0..width).map(group).collect()
    },
    // Two runs of one row, and a run of another between.
    |width, rng| {
        let [begin, end] = cuts(width, rng);
        (0..width).map(|lane| usize::from((begin..end).contains(&lane))).collect()
    },
];

/// Which lanes of a warp are idle.
const IDLE: [fn(usize, usize, &mut CaseRng) -> bool; 6] = [
    |_, _, _| false,
    // The lower end.
    |lane, width, _| lane < width / 4,
    // The upper end.
    |lane, width, _| lane >= width - width / 4,
    // Both ends.
    |lane, width, _| lane < width / 4 || lane >= width - width / 4,
    // Anywhere.
    |_, _, rng| rng.coin(),
    // All.
    |_, _, _| true,
];

/// Lanes of the warps that are aimed at: CUDA's, and those of software drivers.
const WIDTHS: [usize; 3] = [32, 8, 4];

/// Kinds of cases.
pub(super) const KINDS: u64 = (SHAPES.len() * IDLE.len() * WIDTHS.len()) as u64;

/// Rows of the sums: more than lanes.
const ROWS: u32 = 80;

/// A run that is neither empty nor everything: its first lane, and the lane after its last.
fn cuts(width: usize, rng: &mut CaseRng) -> [usize; 2] {
    let width = u32::try_from(width).unwrap_or(u32::MAX);
    let begin = 1 + rng.below(width - 2);
    let end = begin + 1 + rng.below(width - begin - 1);
    [begin, end].map(|lane| lane as usize)
}

/// A few warps of one kind, the last of which may be partial; every warp has rows of its own choice.
/// What idle elements hold is infinite or no number.
pub(super) fn draw(turn: u64, _lane_width: u32, rng: &mut CaseRng) -> Numbers {
    let kind = usize::try_from(turn % KINDS).unwrap_or(0);
    let shape = SHAPES[kind % SHAPES.len()];
    let idle = IDLE[kind / SHAPES.len() % IDLE.len()];
    let lanes = WIDTHS[kind / (SHAPES.len() * IDLE.len()) % WIDTHS.len()];
    let width = 1 + rng.below(5) as usize;
    let warps = 2 + rng.below(10) as usize;
    let mut keys = Vec::with_capacity(warps * lanes);
    for _ in 0..warps {
        let groups = shape(lanes, rng);
        let rows = some_rows(rng, lanes + 1, ROWS);
        for (lane, &group) in groups.iter().enumerate() {
            keys.push(if idle(lane, lanes, rng) { NO_KEY } else { rows[group] });
        }
    }
    if rng.coin() {
        keys.truncate(keys.len() - rng.below(4) as usize);
    }
    with_values(rng, keys, width, ROWS)
}
