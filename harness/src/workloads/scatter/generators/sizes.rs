//! Counts about those of warps, workgroups and chunks of values.

use super::Dice;
use crate::workloads::scatter::case::Numbers;
use splatcheck_reference::scatter::NO_KEY;

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

/// Kinds of cases.
pub(super) const KINDS: u64 = (WIDE.len() + REGULAR + LAST.len()) as u64;

/// Rows: odd numbers, so that the last row is an even one.
const ROWS: [u32; 8] = [3, 5, 7, 9, 17, 31, 129, 255];

/// Elements that add to the first row, the last, and some between; every other row is never touched
/// and must stay what it was. No row starts from zero.
pub(super) fn draw(turn: u64, _lane_width: u32, dice: &mut Dice) -> Numbers {
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
        Some(_) => 2 * (150 + dice.below(4)) + 1,
        None => ROWS[dice.below(8) as usize],
    };
    let mut keys: Vec<u32> = (0..count)
        .map(|_| if dice.below(8) == 0 { NO_KEY } else { 2 * dice.below(rows.div_ceil(2)) })
        .collect();
    if let Some(first) = keys.first_mut() {
        *first = 0;
    }
    if let Some(last) = keys.last_mut() {
        *last = rows - 1;
    }
    let values = dice.values(count * width);
    let initial = dice.values(rows as usize * width);
    Numbers { keys, values, initial, width }
}
