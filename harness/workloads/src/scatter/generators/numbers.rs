//! Numbers that are hard to add up, and keys that are hard to tell apart.

use crate::scatter::case::Numbers;
use splatcheck_judge::case_rng::CaseRng;

/// What the values of a row are, and what it holds before; `at` counts the elements of the row.
struct Row {
    value: fn(usize, &mut CaseRng) -> f32,
    start: fn(&mut CaseRng) -> f32,
}

/// Kinds of values.
const ROWS: [Row; 4] = [
    // They cancel but for 2^-20 of one.
    Row {
        value: |at, _| match at % 3 {
            0 => 1.0,
            1 => -1.0,
            _ => 1.0 / 1_048_576.0,
        },
        start: |_| 0.5,
    },
    // 1e-38 beside 1e38. Only three of a row are large: no order of them overflows.
    Row {
        value: |at, rng| {
            let large = if at < 2 { 1e38 } else { 1e-38 };
            large * rng.value()
        },
        start: |rng| 1e38 * rng.value(),
    },
    // Subnormal numbers of both signs, whose sums may be normal, and -0.
    Row {
        value: |at, rng| {
            let bits = rng.below(1 << 23);
            let tiny = f32::from_bits(if at.is_multiple_of(5) { 0 } else { bits });
            if rng.coin() { -tiny } else { tiny }
        },
        start: |rng| f32::MIN_POSITIVE * rng.value(),
    },
    // Exactly between two floats: an odd number of halves of the sum's last place.
    Row { value: |_, rng| if rng.coin() { 1.0 } else { 3.0 }, start: |_| 16_777_216.0 },
];

/// Rows of the sums where keys are nearly equal: beyond 16 bits.
const MANY_ROWS: u32 = 70_000;

/// Kinds of cases: every kind of values, with few rows and with many.
pub(super) const KINDS: u64 = 2 * ROWS.len() as u64;

/// Keys of few rows, or those that agree in their low 16 bits or in all but one bit.
fn rows(many: bool, rng: &mut CaseRng) -> (Vec<u32>, u32) {
    if !many {
        return ((0..6).collect(), 6);
    }
    let low = rng.below(MANY_ROWS - (1 << 16));
    let keys = [low, low + (1 << 16), low ^ 1, low ^ (1 << 8), 0, MANY_ROWS - 1];
    (keys.to_vec(), MANY_ROWS)
}

/// A few elements of each row, in any order.
pub(super) fn draw(turn: u64, _lane_width: u32, rng: &mut CaseRng) -> Numbers {
    let kind = usize::try_from(turn % KINDS).unwrap_or(0);
    let row = &ROWS[kind % ROWS.len()];
    let (mut keys, rows) = rows(kind / ROWS.len() % 2 == 1, rng);
    keys.sort_unstable();
    keys.dedup();
    let of_each = 3 + rng.below(40) as usize;
    let mut elements = Vec::new();
    for &key in &keys {
        elements.extend((0..of_each).map(|at| (key, (row.value)(at, rng))));
    }
    rng.shuffle(&mut elements);
    let (element_keys, values) = elements.into_iter().unzip();
    let mut initial = vec![0.0; rows as usize];
    for &key in &keys {
        initial[key as usize] = (row.start)(rng);
    }
    Numbers { keys: element_keys, values, initial, width: 1 }
}
