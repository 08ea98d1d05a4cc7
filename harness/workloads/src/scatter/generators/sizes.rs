//! Counts about those of warps, workgroups and chunks of values.

use crate::scatter::case::Numbers;
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_judge::covering;
use splatcheck_reference::scatter::NO_KEY;
use std::sync::OnceLock;

/// Elements.
const ELEMENTS: [usize; 8] = [0, 1, 31, 32, 33, 255, 256, 257];
/// Values of an element.
const VALUES: [usize; 7] = [1, 2, 3, 8, 31, 32, 33];

/// Elements and values of the first kinds: neither 8 bits hold both numbers, nor 16 the number of elements;
/// more elements than 2^10.
const WIDE: [[usize; 2]; 3] = [[300, 257], [65_537, 1], [1025, 2]];

/// Kinds of which every pair of regular counts has one.
const REGULAR: usize = ELEMENTS.len() * VALUES.len();

/// Elements and values of the last kinds: a number of values that 16 bits do not hold; as many elements as
/// 2^10, and as 2^16.
const LAST: [[usize; 2]; 3] = [[2, 65_537], [1024, 3], [65_536, 1]];

/// Kinds of those sizes.
pub(super) const OF_SIZES: u64 = (WIDE.len() + REGULAR + LAST.len()) as u64;
/// Kinds in which every two of elements, values, rows, idle lanes and first values meet.
const MEETINGS: u64 = 48;
/// Kinds of cases.
pub(super) const KINDS: u64 = OF_SIZES + MEETINGS;

/// Rows: odd numbers, so that the last row is an even one.
const ROWS: [u32; 8] = [3, 5, 7, 9, 17, 31, 129, 255];

/// Elements that add to the first row, the last, and some between; every other row is never touched
/// and must stay what it was. No row starts from zero.
pub(super) fn draw(turn: u64, _lane_width: u32, rng: &mut CaseRng) -> Numbers {
    if let Some(meeting) = (turn % KINDS).checked_sub(OF_SIZES) {
        return met(meeting, rng);
    }
    let kind = usize::try_from(turn % KINDS).unwrap_or(0);
    // No number divides both lengths, so that all pairs have their turn, and soon all of either.
    let regular = |kind: usize| [ELEMENTS[kind % ELEMENTS.len()], VALUES[kind % VALUES.len()]];
    let wide = WIDE.get(kind);
    let [count, width] = match (wide, kind.saturating_sub(WIDE.len())) {
        (Some(&wide), _) => wide,
        (None, kind) if kind < REGULAR => regular(kind),
        (None, kind) => LAST[(kind - REGULAR) % LAST.len()],
    };
    let rows = match wide {
        Some(_) => 2 * (150 + rng.below(4)) + 1,
        None => ROWS[rng.below(8) as usize],
    };
    let mut keys: Vec<u32> = (0..count)
        .map(|_| if rng.below(8) == 0 { NO_KEY } else { 2 * rng.below(rows.div_ceil(2)) })
        .collect();
    if let Some(first) = keys.first_mut() {
        *first = 0;
    }
    if let Some(last) = keys.last_mut() {
        *last = rows - 1;
    }
    let values = rng.values(count * width);
    let initial = rng.values(rows as usize * width);
    Numbers { keys, values, initial, width }
}

/// Elements, rows, which lanes are idle, and whether rows hold something before.
const MET_ELEMENTS: [usize; 6] = [0, 12, 24, 40, 200, 300];
const MET_ROWS: [u32; 5] = [12, 20, 200, 300, 1024];
const MET: [usize; 5] = [MET_ELEMENTS.len(), VALUES.len(), MET_ROWS.len(), 3, 2];

/// Without elements none of them is idle.
fn may_meet(a: covering::Choice, b: covering::Choice) -> bool {
    let of_none = |a: covering::Choice, b: covering::Choice| a == (0, 0) && b.0 == 3 && b.1 != 0;
    !of_none(a, b) && !of_none(b, a)
}

/// The rows of a covering array. Elements go from the last row on towards the first.
fn met(turn: u64, rng: &mut CaseRng) -> Numbers {
    static ROWS: OnceLock<Vec<Vec<usize>>> = OnceLock::new();
    let all = ROWS.get_or_init(|| covering::rows(&MET, &may_meet));
    let [elements, values, rows, idle, starts] =
        all[usize::try_from(turn).unwrap_or(0) % all.len()][..]
    else {
        unreachable!("a row has a value for each")
    };
    let [count, width, rows] = [MET_ELEMENTS[elements], VALUES[values], MET_ROWS[rows] as usize];
    let key = |element: usize, rng: &mut CaseRng| match idle {
        1 if element % 5 == 3 || rng.below(8) == 0 => NO_KEY,
        2 => NO_KEY,
        _ => u32::try_from(rows - 1 - element % rows).unwrap_or(NO_KEY),
    };
    let keys: Vec<u32> = (0..count).map(|element| key(element, rng)).collect();
    let values = rng.values(count * width);
    let first = if starts == 1 { rng.values(rows * width) } else { vec![0.0; rows * width] };
    Numbers { keys, values, initial: first, width }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_turn_for_each_row() {
        let rows = covering::rows(&MET, &may_meet);
        assert!(rows.len() as u64 <= MEETINGS, "{} rows", rows.len());
    }
}
