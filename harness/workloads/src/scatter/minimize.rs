//! Making a failing case small enough to read.

use super::case::Numbers;
use splatcheck_judge::minimize::leave_out;
use splatcheck_reference::scatter::NO_KEY;
use std::ops::Range;

/// Shrinks elements for as long as they `fail`: fewer elements, one value, fewer rows, zeros to begin
/// with.
pub fn smaller(numbers: &Numbers, fails: &mut dyn FnMut(&Numbers) -> bool) -> Numbers {
    let mut best = leave_out(numbers, Numbers::len, without, fails);
    for way in [one_value, fewer_rows, from_zeros] {
        let smaller = way(&best).into_iter().find(|numbers| fails(numbers));
        best = smaller.unwrap_or(best);
    }
    best
}

/// The same without some of the elements.
fn without(numbers: &Numbers, cut: Range<usize>) -> Numbers {
    let mut fewer = numbers.clone();
    let Numbers { keys, values, width, .. } = &mut fewer;
    keys.drain(cut.clone());
    values.drain(cut.start * *width..cut.end * *width);
    fewer
}

/// One of several values of each element.
fn one_value(numbers: &Numbers) -> Vec<Numbers> {
    let Numbers { keys, values, initial, width } = numbers;
    let only = |column: usize| {
        let cut = |all: &[f32]| all.iter().skip(column).step_by(*width).copied().collect();
        Numbers { keys: keys.clone(), values: cut(values), initial: cut(initial), width: 1 }
    };
    if *width > 1 { (0..*width).map(only).collect() } else { Vec::new() }
}

/// Without the rows after the last that a key names, but for one that none does.
fn fewer_rows(numbers: &Numbers) -> Vec<Numbers> {
    let named = numbers.keys.iter().filter(|&&key| key != NO_KEY).max();
    let words = named.map_or(1, |&row| row as usize + 1) * numbers.width;
    let mut fewer = numbers.clone();
    fewer.initial.truncate(words);
    if words < numbers.initial.len() { vec![fewer] } else { Vec::new() }
}

/// Zeros to begin with.
fn from_zeros(numbers: &Numbers) -> Vec<Numbers> {
    let initial = vec![0.0; numbers.initial.len()];
    let starts_elsewhere = numbers.initial.iter().any(|x| x.to_bits() != 0);
    if starts_elsewhere { vec![Numbers { initial, ..numbers.clone() }] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scatter::generators::{ALL, find};

    #[test]
    fn only_what_matters_is_left() {
        let numbers = find("sizes").expect("there is one").draw(18, 3, 44).numbers;
        assert!(numbers.len() > 30 && numbers.width > 1, "there is something to leave out");
        // Two elements of row 0 are needed.
        let of_row = |numbers: &Numbers| numbers.keys.iter().filter(|&&key| key == 0).count();
        assert!(of_row(&numbers) > 2, "more of them than are needed");
        let small = smaller(&numbers, &mut |numbers| of_row(numbers) >= 2);
        assert_eq!(small.keys, [0, 0], "no element too many");
        assert_eq!((small.width, small.rows()), (1, 1), "one value of one row");
        assert_eq!(small.initial, [0.0], "from zero");
    }

    #[test]
    fn a_case_that_cannot_be_smaller_stays() {
        let numbers = ALL[0].draw(5, 3, 5).numbers;
        let same = smaller(&numbers, &mut |_| false);
        let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(same.keys, numbers.keys, "as it was");
        assert_eq!(bits(&same.values), bits(&numbers.values), "as they were");
    }
}
