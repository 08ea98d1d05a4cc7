//! What a kernel of a grid encoding may have got wrong: fields of the encoding, the order in which arrays lie,
//! points and levels that it leaves out.

use super::case::{LevelTable, Points};
use super::constants::with_field;
use crate::layout::axes::{read_as, read_from};
use splatcheck_gpu::stages::grid::FIELDS;
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::judge::{Expectation, OutputBound};
use splatcheck_judge::workload::left_out::left_out;

/// Orders of the dimensions of an array [N,L,F], in words and by their numbers.
const ORDERS: [(&str, [usize; 3]); 5] = [
    ("[L,N,F]", [1, 0, 2]),
    ("[L,F,N]", [1, 2, 0]),
    ("[N,F,L]", [0, 2, 1]),
    ("[F,L,N]", [2, 1, 0]),
    ("[F,N,L]", [2, 0, 1]),
];

/// The hypotheses, the simplest first; `expect` says what a right kernel of the stage returns of another case.
pub(super) fn hypotheses<'a>(
    case: &'a Points,
    lane_width: u32,
    expect: impl Fn(&Points) -> Expectation + Copy + 'a,
) -> Vec<Hypothesis<'a>> {
    let mut all = fields(case, expect);
    all.extend(arrays(case, expect));
    all.extend(levels(case, expect));
    all.extend(left_out((case.points(), "point"), lane_width, move |is_left_out| {
        let other = without(case, case.grid.levels().len() * case.grid.features(), is_left_out);
        differs(case, &other).then(|| expect(&other))
    }));
    all
}

/// That a kernel takes the case for another one; where `other` makes none that differs, the fault cannot be of it.
fn taken_for<'a>(
    (case, words): (&'a Points, impl Into<String>),
    expect: impl Fn(&Points) -> Expectation + 'a,
    other: impl Fn(&Points) -> Option<Points> + 'a,
) -> Hypothesis<'a> {
    Hypothesis::new(words, move || {
        let other = other(case)?;
        differs(case, &other).then(|| expect(&other))
    })
}

/// Whether a case has other numbers, bit for bit.
fn differs(case: &Points, other: &Points) -> bool {
    let bits = |all: &[f32]| all.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    case.grid != other.grid
        || bits(&case.positions) != bits(&other.positions)
        || bits(&case.table) != bits(&other.table)
        || bits(&case.v_features) != bits(&other.v_features)
}

/// The case with zeros for some rows, of so many numbers, of its gradients.
fn without(case: &Points, row: usize, is_left_out: &dyn Fn(usize) -> bool) -> Points {
    let mut other = case.clone();
    let rows = other.v_features.chunks_exact_mut(row.max(1)).enumerate();
    rows.filter(|(at, _)| is_left_out(*at)).for_each(|(_, row)| row.fill(0.0));
    other
}

/// Each field of the encoding with each other value.
fn fields<'a>(
    case: &'a Points,
    expect: impl Fn(&Points) -> Expectation + Copy + 'a,
) -> Vec<Hypothesis<'a>> {
    let of =
        FIELDS.iter().flat_map(|(name, values)| values.iter().map(move |value| (*name, *value)));
    let one = |(name, value): (&'static str, &'static str)| {
        let fault = format!("the encoding's field {name} is {value}");
        taken_for((case, fault), expect, move |case| with_field(case, name, value))
    };
    of.map(one).collect()
}

/// Arrays that are taken for what lies otherwise.
fn arrays<'a>(
    case: &'a Points,
    expect: impl Fn(&Points) -> Expectation + Copy + 'a,
) -> Vec<Hypothesis<'a>> {
    let changed = move |words: String, change: Box<dyn Fn(&mut Points)>| {
        taken_for((case, words), expect, move |case| {
            let mut other = case.clone();
            change(&mut other);
            Some(other)
        })
    };
    let (d, levels, features) =
        (case.grid.dimensions(), case.grid.levels().len(), case.grid.features());
    let sides = [case.points(), levels, features];
    let mut all = vec![
        changed(
            "positions are read as [d,N]".to_owned(),
            Box::new(|all| {
                let sides = [all.points(), all.grid.dimensions()];
                all.positions = read_as(&all.positions, &sides, &[1, 0]);
            }),
        ),
        changed(
            "the numbers of a position are read from the last to the first".to_owned(),
            Box::new(move |all| all.positions.chunks_exact_mut(d).for_each(<[f32]>::reverse)),
        ),
        changed(
            "positions are limited to 0 to 1".to_owned(),
            Box::new(|all| all.positions.iter_mut().for_each(|x| *x = x.clamp(0.0, 1.0))),
        ),
        changed(
            "the table is read as [F,E]".to_owned(),
            Box::new(|all| {
                let sides = [all.grid.entries(), all.grid.features()];
                all.table = read_as(&all.table, &sides, &[1, 0]);
            }),
        ),
    ];
    for (words, order) in ORDERS {
        all.push(changed(
            format!("v_features are read as {words}"),
            Box::new(move |all| all.v_features = read_as(&all.v_features, &sides, &order)),
        ));
        all.push(changed(
            format!("v_features lie as {words} and are read as [N,L,F]"),
            Box::new(move |all| all.v_features = read_from(&all.v_features, &sides, &order)),
        ));
        all.push(
            Hypothesis::new(format!("features are written as {words}"), move || {
                Some(written_as(expect(case), &sides, &order))
            })
            .of_outputs(&["features"]),
        );
    }
    all
}

/// An expectation of features that lie in another order.
fn written_as(mut expectation: Expectation, sides: &[usize], order: &[usize]) -> Expectation {
    for rows in &mut expectation.rows {
        rows.lane_sums = read_from(&rows.lane_sums, sides, order);
        for output in &mut rows.outputs {
            let OutputBound::Interval(bounds) = &mut output.bound else { continue };
            *bounds = read_from(bounds, sides, order);
        }
    }
    expectation
}

/// Levels that are left out, or taken for others.
fn levels<'a>(
    case: &'a Points,
    expect: impl Fn(&Points) -> Expectation + Copy + 'a,
) -> Vec<Hypothesis<'a>> {
    let (levels, features) = (case.grid.levels().len(), case.grid.features());
    let lost = move |words: &str, is_left_out: Box<dyn Fn(usize) -> bool>| {
        taken_for((case, words), expect, move |case| {
            Some(without(case, features, &|at| is_left_out(at % levels)))
        })
    };
    let scaled = move |words: &str, change: fn(f32) -> f32| {
        taken_for((case, words), expect, move |case| {
            let mut table = LevelTable::of(&case.grid);
            table.scales.iter_mut().for_each(|scale| *scale = change(*scale));
            let sizes = [case.grid.dimensions(), features];
            let grid = table.grid(*case.grid.encoding(), sizes).ok()?;
            Some(Points { grid, ..case.clone() })
        })
    };
    vec![
        lost("the first level is left out", Box::new(|level| level == 0)),
        lost("the last level is left out", Box::new(move |level| level + 1 == levels)),
        scaled("a level's scale is taken for one more", |scale| scale + 1.0),
        scaled("a level's scale is taken for one less", |scale| (scale - 1.0).max(0.0)),
    ]
}

#[cfg(test)]
mod tests {
    use crate::grid::generators::find;
    use splatcheck_judge::workload::Case as _;
    use splatcheck_judge::workload::left_out::assert_all_live;

    #[test]
    fn every_fault_is_one_of_some_case() {
        let rows = ["fields", "sizes", "borders"].map(|name| find(name).expect("there is one"));
        let cases =
            rows.into_iter().flat_map(|row| (0..30).map(move |turn| row.draw(turn, 0, turn)));
        assert_all_live(cases.flat_map(|case| case.jobs(0).expect("jobs")));
    }
}
