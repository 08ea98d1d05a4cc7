//! Making a failing case small enough to read.

use super::case::{Case, Numbers};
use splatcheck_reference::scatter::NO_KEY;

/// Attempts granted to one finding.
const ATTEMPTS: u32 = 400;

/// A case with the predicate that it satisfies, and the attempts that are left.
struct Search<'a> {
    best: Case,
    fails: &'a mut dyn FnMut(&Case) -> bool,
    attempts: u32,
}

impl Search<'_> {
    /// Takes other numbers where they fail too; whether they do.
    fn take(&mut self, numbers: Numbers) -> bool {
        let Some(left) = self.attempts.checked_sub(1) else { return false };
        self.attempts = left;
        let case = Case { numbers, ..self.best.clone() };
        let fails = (self.fails)(&case);
        if fails {
            self.best = case;
        }
        fails
    }

    /// Leaves out elements: halves first, then quarters, down to single ones (Zeller and
    /// Hildebrandt, Simplifying and Isolating Failure-Inducing Input, TSE 2002).
    fn drop_elements(&mut self) {
        let mut size = self.best.numbers.len().div_ceil(2);
        while size > 0 && self.attempts > 0 {
            let mut start = 0;
            while start < self.best.numbers.len() && self.attempts > 0 {
                if !self.take(without(&self.best.numbers, start, size)) {
                    start += size;
                }
            }
            size = if size == 1 { 0 } else { size.div_ceil(2) };
        }
    }

    /// Keeps one of several values.
    fn keep_one_value(&mut self) {
        let width = self.best.numbers.width;
        if width > 1 {
            let _ = (0..width).any(|column| {
                let numbers = only_value(&self.best.numbers, column);
                self.take(numbers)
            });
        }
    }

    /// Leaves out the rows after the last that a key names, but for one that none does.
    fn drop_rows(&mut self) {
        let Numbers { keys, width, .. } = &self.best.numbers;
        let named = keys.iter().filter(|&&key| key != NO_KEY).max();
        let rows = named.map_or(1, |&row| row as usize + 1);
        let words = rows * width;
        if words < self.best.numbers.initial.len() {
            let mut numbers = self.best.numbers.clone();
            numbers.initial.truncate(words);
            self.take(numbers);
        }
    }

    /// Starts from zeros.
    fn clear(&mut self) {
        if self.best.numbers.initial.iter().any(|&x| x.to_bits() != 0) {
            let mut numbers = self.best.numbers.clone();
            numbers.initial.fill(0.0);
            self.take(numbers);
        }
    }
}

/// Shrinks a case for as long as it `fails`: fewer elements, one value, fewer rows, zeros to begin
/// with.
pub fn smaller(case: &Case, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    let mut search = Search { best: case.clone(), fails, attempts: ATTEMPTS };
    search.drop_elements();
    search.keep_one_value();
    search.drop_rows();
    search.clear();
    search.best
}

/// The numbers without `count` elements from `start` on.
fn without(numbers: &Numbers, start: usize, count: usize) -> Numbers {
    let end = (start + count).min(numbers.len());
    let mut fewer = numbers.clone();
    fewer.keys.drain(start..end);
    fewer.values.drain(start * numbers.width..end * numbers.width);
    fewer
}

/// The numbers with one value of each element.
fn only_value(numbers: &Numbers, column: usize) -> Numbers {
    let cut = |all: &[f32]| all.iter().skip(column).step_by(numbers.width).copied().collect();
    Numbers {
        keys: numbers.keys.clone(),
        values: cut(&numbers.values),
        initial: cut(&numbers.initial),
        width: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::scatter::generators::ALL;

    #[test]
    fn only_what_matters_is_left() {
        let case = ALL[1].draw(3, 44);
        assert!(
            case.numbers.len() > 30 && case.numbers.width > 1,
            "there is something to leave out"
        );
        // Two elements of row 0 are needed.
        let of_row = |case: &Case| case.numbers.keys.iter().filter(|&&key| key == 0).count();
        assert!(of_row(&case) > 2, "more of them than are needed");
        let small = smaller(&case, &mut |case| of_row(case) >= 2);
        assert_eq!(small.numbers.keys, [0, 0], "no element too many");
        assert_eq!((small.numbers.width, small.numbers.rows()), (1, 1), "one value of one row");
        assert_eq!(small.numbers.initial, [0.0], "from zero");
        assert_eq!(small.name, case.name, "it is still the same case");
    }

    #[test]
    fn a_case_that_cannot_be_smaller_stays() {
        let case = ALL[0].draw(3, 5);
        let same = smaller(&case, &mut |_| false);
        let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(same.numbers.keys, case.numbers.keys, "as it was");
        assert_eq!(bits(&same.numbers.values), bits(&case.numbers.values), "as they were");
    }
}
