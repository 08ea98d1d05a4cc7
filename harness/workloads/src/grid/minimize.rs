//! Making a failing case small enough to read.

use super::case::{LevelTable, Points};
use splatcheck_judge::minimize::leave_out;
use std::ops::Range;

/// Shrinks a case for as long as it `fails`: no gate, fewer points, fewer levels, one feature.
pub fn smaller(case: &Points, fails: &mut dyn FnMut(&Points) -> bool) -> Points {
    let ungated = Some(Points { gate: None, ..case.clone() }).filter(|_| case.gate.is_some());
    let open = ungated.filter(|case| fails(case));
    let best = open.as_ref().unwrap_or(case);
    let best = leave_out(best, Points::points, without_points, fails);
    let best = leave_out(&best, |case| case.grid.levels().len(), without_levels, fails);
    let mut features = (0..best.grid.features()).filter(|_| best.grid.features() > 1);
    let found = features.find_map(|f| Some(only_feature(&best, f)).filter(|case| fails(case)));
    found.unwrap_or(best)
}

/// The case without some of its points.
fn without_points(case: &Points, cut: Range<usize>) -> Points {
    let mut fewer = case.clone();
    let row = case.grid.levels().len() * case.grid.features();
    let d = case.grid.dimensions();
    fewer.positions.drain(cut.start * d..cut.end * d);
    fewer.v_features.drain(cut.start * row..cut.end * row);
    fewer
}

/// The case without some of its levels; the case itself where none would be left, or where a level's scale follows
/// from its number and others come after those.
fn without_levels(case: &Points, cut: Range<usize>) -> Points {
    let (levels, features) = (case.grid.levels(), case.grid.features());
    if case.grid.computed_scales().is_some() && cut.end < levels.len() {
        return case.clone();
    }
    let mut kept = LevelTable::default();
    let mut table = Vec::new();
    for (_, level) in levels.iter().enumerate().filter(|(l, _)| !cut.contains(l)) {
        kept.add(level.scale, level.resolution, level.entries);
        let own = level.offset as usize * features..;
        table.extend_from_slice(&case.table[own][..level.entries as usize * features]);
    }
    let sizes = [case.grid.dimensions(), features];
    let grid = kept.grid_like(&case.grid, *case.grid.encoding(), sizes);
    let Ok(grid) = grid else { return case.clone() };
    let of_levels = case.v_features.chunks_exact(features).enumerate();
    let kept = of_levels.filter(|(place, _)| !cut.contains(&(place % levels.len())));
    let v_features = kept.flat_map(|(_, features)| features).copied().collect();
    Points { grid, table, v_features, ..case.clone() }
}

/// One of several features.
fn only_feature(case: &Points, f: usize) -> Points {
    let features = case.grid.features();
    let cut = |all: &[f32]| all.iter().skip(f).step_by(features).copied().collect();
    let levels = LevelTable::of(&case.grid);
    let sizes = [case.grid.dimensions(), 1];
    let Ok(grid) = levels.grid_like(&case.grid, *case.grid.encoding(), sizes) else {
        return case.clone();
    };
    Points { grid, table: cut(&case.table), v_features: cut(&case.v_features), ..case.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::generators::find;
    use splatcheck_judge::workload::named::Numbers as _;

    #[test]
    fn only_what_matters_is_left() {
        let case = find("fields").expect("there is one").draw(1, 3, 44).numbers;
        assert!(case.points() > 2 && case.grid.levels().len() > 1 && case.grid.features() > 1);
        let wanted = case.v_features[case.grid.features() - 1];
        let small = smaller(&case, &mut |case| case.v_features.contains(&wanted));
        assert_eq!(small.v_features, [wanted], "one point, one level, one feature");
        assert_eq!(small.validate(), Ok(()), "it is a case");
        let level = &case.grid.levels()[0];
        assert_eq!(small.grid.levels(), &[*level], "the first level");
        let column = case.table[..level.entries as usize * case.grid.features()].iter();
        let column = column.skip(case.grid.features() - 1).step_by(case.grid.features());
        assert!(small.table.iter().eq(column), "its entries");
    }

    #[test]
    fn a_case_that_cannot_be_smaller_stays() {
        let case = find("fields").expect("there is one").draw(2, 3, 5).numbers;
        assert_eq!(smaller(&case, &mut |_| false), case, "as it was");
    }
}
