//! What the reductions `per-key` share: a lane for each row walks the list of what is added to it. The host
//! makes the lists; which library sorts is not judged.

use crate::reduction::WORKGROUP_SIZE;
use crate::stage::{Launch, over};

/// A lane for each of `E` rows.
pub(super) const LAUNCH: Launch = Launch {
    workgroup_size: WORKGROUP_SIZE,
    workgroups: |sizes| [sizes.get("E").div_ceil(WORKGROUP_SIZE as usize).max(1), 1],
};

/// Entries by row, as a stable sort gives them: where each row's list begins, one more than rows, and the
/// entries list after list. What names no row is in no list.
pub(super) fn lists(rows_of_entries: &[u32], rows: usize) -> (Vec<u32>, Vec<u32>) {
    let offsets = starts(rows_of_entries, rows);
    let mut next = offsets.clone();
    let mut order = vec![0; offsets.last().map_or(0, |&end| end as usize)];
    for (entry, &row) in (0_u32..).zip(rows_of_entries) {
        if let Some(place) = next[..rows].get_mut(row as usize) {
            order[*place as usize] = entry;
            *place += 1;
        }
    }
    (offsets, order)
}

/// How many loop steps a lane makes at most: for each value the entries of the longest list, and one step
/// more: lavapipe makes 304 for a list of 300 elements of one value, where the loops alone ask for 303.
pub(super) fn loop_steps(values: u64, offsets: &[u32]) -> u64 {
    let longest = offsets.windows(2).map(|ends| ends[1].saturating_sub(ends[0])).max();
    over(values, over(u64::from(longest.unwrap_or(0)), 0).saturating_add(1))
}

/// Where the entries of each row begin if they are sorted by row, one more than rows: what names no row
/// is left out.
pub(super) fn starts(rows_of_entries: &[u32], rows: usize) -> Vec<u32> {
    let mut starts = vec![0_u32; rows + 1];
    for &row in rows_of_entries {
        if let Some(count) = starts.get_mut((row as usize).saturating_add(1)) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    starts
}
