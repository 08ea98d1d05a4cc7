//! Every group of lanes that a warp may meet: a case has warps that each aim at a cell of the coverage map,
//! the next at every turn, and ends with a partial warp, which aims at one as well.

use crate::scatter::case::Numbers;
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_judge::coverage::{KeyedCell, Others};
use splatcheck_reference::scatter::NO_KEY;

/// Full warps of a case.
const FULL: usize = 7;

/// Frequency that meet every cell of warps of four lanes: as many as there are of partial warps.
pub(super) const KINDS: u64 = 23;

/// Rows of the sums: more than lanes.
const ROWS: u32 = 80;

/// The cells of a width, of full warps and of partial ones, those without a group too.
fn cells(width: u32) -> [Vec<KeyedCell>; 2] {
    let (partial, full) = KeyedCell::reachable(width).partition(|cell| cell.partial);
    [full, partial]
}

/// The cell whose turn it is.
fn at(cells: &[KeyedCell], turn: u64) -> KeyedCell {
    let count = cells.len() as u64;
    cells[usize::try_from(turn % count).unwrap_or(0)]
}

/// The lanes of the cell's group.
fn lanes_of(cell: KeyedCell, width: u32, rng: &mut CaseRng) -> Vec<u32> {
    let KeyedCell { lanes, leader, scattered, partial, .. } = cell;
    if !scattered {
        return (leader..leader + lanes).collect();
    }
    let mut after: Vec<u32> = (leader + 1..width - u32::from(partial)).collect();
    rng.shuffle(&mut after);
    after.truncate(lanes as usize - 1);
    after.sort_unstable();
    // Where no lane lies between, the last is the one behind it.
    if after.last() == Some(&(leader + lanes - 1)) {
        after.pop();
        after.push(leader + lanes);
    }
    [vec![leader], after].concat()
}

/// The keys of a warp that meets a cell, from three rows or more.
fn warp(cell: KeyedCell, width: u32, rows: &[u32], rng: &mut CaseRng) -> Vec<u32> {
    let group = lanes_of(cell, width, rng);
    let nothing_else = cell.others == Others::None && !cell.idle;
    let count = match (cell.partial, nothing_else) {
        (false, _) => width,
        (true, false) => width - 1,
        (true, true) => cell.lanes,
    };
    let mut keys = vec![NO_KEY; count as usize];
    for &lane in &group {
        keys[lane as usize] = rows[0];
    }
    let mut rest: Vec<u32> = (0..count).filter(|lane| !group.contains(lane)).collect();
    rng.shuffle(&mut rest);
    let others = cell.others.least();
    // First one lane of each other group and an idle one, then whatever there may be.
    for (at, &lane) in (0_u32..).zip(&rest) {
        let needed = at < others || cell.idle && at == others;
        let other = if at < others { at } else { rng.below(others.max(1)) };
        let is_idle = others == 0 || if needed { at == others } else { cell.idle && rng.coin() };
        if !is_idle {
            keys[lane as usize] = rows[1 + other as usize];
        }
    }
    keys
}

/// Warps that aim at cells. What idle elements hold is infinite or no number.
pub(super) fn draw(turn: u64, lane_width: u32, rng: &mut CaseRng) -> Numbers {
    let [full, partial] = cells(lane_width);
    let first = turn * FULL as u64;
    let mut aims: Vec<_> = (first..first + FULL as u64).map(|turn| at(&full, turn)).collect();
    aims.push(at(&partial, turn));
    let mut keys = Vec::new();
    for aim in aims {
        let rows = some_rows(rng, 3, ROWS);
        keys.extend(warp(aim, lane_width, &rows, rng));
    }
    let width = 1 + rng.below(3) as usize;
    with_values(rng, keys, width, ROWS)
}

/// `count` rows of `rows`, no two equal.
pub(super) fn some_rows(rng: &mut CaseRng, count: usize, rows: u32) -> Vec<u32> {
    let mut all: Vec<u32> = (0..rows).collect();
    rng.shuffle(&mut all);
    all.truncate(count);
    all
}

/// Elements with these keys and so many values each, for so many rows, which begin at zero or not. What
/// idle elements hold is infinite or no number.
pub(super) fn with_values(rng: &mut CaseRng, keys: Vec<u32>, width: usize, rows: u32) -> Numbers {
    let mut values = rng.values(keys.len() * width);
    for (key, values) in keys.iter().zip(values.chunks_exact_mut(width)) {
        if *key == NO_KEY {
            values.fill(if rng.coin() { f32::NAN } else { f32::INFINITY });
        }
    }
    let words = rows as usize * width;
    let initial = if rng.coin() { rng.values(words) } else { vec![0.0; words] };
    Numbers { keys, values, initial, width }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scatter::generators::find;
    use crate::scatter::steps::Steps;
    use splatcheck_gpu::{Reduction, Setting};
    use splatcheck_judge::coverage::{Coverage, Met};

    /// What so many turns leave empty.
    fn empty(width: u32, turns: u64) -> usize {
        let row = find("groups").expect("there is one");
        let setting = Setting { reduction: Reduction::SwS, threshold: 0 };
        let mut coverage = Coverage::new(width);
        for turn in 0..turns {
            let case = row.draw_for(width, turn, 3, turn);
            let steps = Steps::new(&case.numbers, width).expect("a width that there is");
            coverage.add(&Met::new(&steps), setting);
        }
        coverage.empty(setting.reduction).len()
    }

    #[test]
    fn every_cell_has_its_turn() {
        let [full, partial] = cells(4).map(|cells| cells.len() as u64);
        assert_eq!(partial.max(full.div_ceil(FULL as u64)), KINDS, "turns at a warp size of 4");
        assert_eq!(empty(4, KINDS), 0, "warp size 4");
        let [full, partial] = cells(8).map(|cells| cells.len() as u64);
        assert_eq!(empty(8, partial.max(full.div_ceil(FULL as u64))), 0, "warp size 8");
    }
}
