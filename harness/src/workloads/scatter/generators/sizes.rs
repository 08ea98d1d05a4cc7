//! Counts about those of warps, workgroups and chunks of values.

use super::Dice;
use crate::workloads::scatter::case::Numbers;
use splatcheck_reference::scatter::NO_KEY;

/// Elements.
const ELEMENTS: [usize; 8] = [0, 1, 31, 32, 33, 255, 256, 257];
/// Values of an element.
const VALUES: [usize; 7] = [1, 2, 3, 8, 31, 32, 33];

/// Kinds of cases.
pub(super) const KINDS: u64 = (ELEMENTS.len() * VALUES.len()) as u64;

/// Elements that add to the first row, the last, and some between; every other row is never touched
/// and must stay what it was. No row starts from zero.
pub(super) fn draw(kind: u64, dice: &mut Dice) -> Numbers {
    let kind = usize::try_from(kind).unwrap_or(0);
    let count = ELEMENTS[kind % ELEMENTS.len()];
    let width = VALUES[kind / ELEMENTS.len() % VALUES.len()];
    // An odd number, so that the last row is an even one.
    let rows = 2 * (1 + dice.below(4)) + 1;
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
