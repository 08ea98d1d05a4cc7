//! What a kernel of sums by key may have got wrong: elements that it leaves out, keys and arrays that it takes for
//! others.

use super::case::Numbers;
use crate::layout::axes::read_as;
use splatcheck_judge::diagnosis::Hypothesis;
use splatcheck_judge::judge::Expectation;
use splatcheck_judge::workload::left_out::left_out;
use splatcheck_reference::scatter::NO_KEY;

/// The hypotheses, the simplest first; `expect` says what a right kernel returns of other numbers.
pub(super) fn hypotheses<'a>(
    numbers: &'a Numbers,
    lane_width: u32,
    expect: impl Fn(&Numbers) -> Expectation + Copy + 'a,
) -> Vec<Hypothesis<'a>> {
    let changed = move |words: &str, change: fn(&mut Numbers)| {
        Hypothesis::new(words, move || {
            let mut other = numbers.clone();
            change(&mut other);
            (other != *numbers).then(|| expect(&other))
        })
    };
    let mut all = vec![
        changed("what the rows held before is lost", |all| all.initial.fill(0.0)),
        changed("what the rows held before counts twice", |all| {
            all.initial.iter_mut().for_each(|x| *x *= 2.0);
        }),
        changed("values are read as [V,N]", |all| {
            all.values = read_as(&all.values, &[all.len(), all.width], &[1, 0]);
        }),
        changed("elements without a row are added to the last one", |all| {
            let last = all.rows().checked_sub(1).and_then(|last| u32::try_from(last).ok());
            rekeyed(all, |key| if key == NO_KEY { last.unwrap_or(NO_KEY) } else { key });
        }),
        changed("elements without a row are added to the first one", |all| {
            rekeyed(all, |key| if key == NO_KEY { 0 } else { key });
        }),
        changed("elements of row 0 are left out", |all| {
            rekeyed(all, |key| if key == 0 { NO_KEY } else { key });
        }),
        changed("keys are counted from 1: each element is added to the row before", |all| {
            rekeyed(all, |key| if key == NO_KEY { key } else { key.wrapping_sub(1) });
        }),
    ];
    let width = if numbers.width > 1 { numbers.width } else { 0 };
    let columns = (0..width).filter(move |column| *column < COLUMNS || column + 1 == width);
    all.extend(columns.map(move |column| {
        let words = format!("column {column} of the values is left out");
        Hypothesis::new(words, move || {
            let mut other = numbers.clone();
            other.values.iter_mut().skip(column).step_by(width).for_each(|value| *value = 0.0);
            (other != *numbers).then(|| expect(&other))
        })
    }));
    all.extend(left_out((numbers.len(), "element"), lane_width, move |is_left_out| {
        let mut other = numbers.clone();
        for (at, key) in other.keys.iter_mut().enumerate() {
            if is_left_out(at) {
                *key = NO_KEY;
            }
        }
        (other.keys != numbers.keys).then(|| expect(&other))
    }));
    all
}

/// So many columns are tried by themselves, and the last.
const COLUMNS: usize = 8;

/// Gives every element another key; one that no row has is none.
fn rekeyed(all: &mut Numbers, other: impl Fn(u32) -> u32) {
    let rows = all.rows();
    for key in &mut all.keys {
        let other = other(*key);
        *key = if (other as usize) < rows { other } else { NO_KEY };
    }
}

#[cfg(test)]
mod tests {
    use crate::scatter::generators::ALL;
    use splatcheck_judge::workload::Case as _;
    use splatcheck_judge::workload::left_out::assert_all_live;

    #[test]
    fn every_fault_is_one_of_some_case() {
        let cases = ALL.iter().flat_map(|row| (0..24).map(move |turn| row.draw(turn, 0, turn)));
        assert_all_live(cases.flat_map(|case| case.jobs(0).expect("jobs")));
    }
}
