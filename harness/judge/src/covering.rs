//! Covering arrays: few rows in which every two values of two factors meet.
//!
//! Row by row, each begun by a pair that has not met and completed factor by factor with the value that meets
//! most of what has not, the first of several: Cohen, Dalal, Fredman, Patton, The AETG system: an approach to
//! testing based on combinatorial design, IEEE Transactions on Software Engineering 23(7), 1997, without
//! its random candidates, so that rows are the same everywhere.

/// A factor and one of its values.
pub type Choice = (usize, usize);

/// The rows: a value for each factor. `sizes` says how many values a factor has; two values that `may_meet`
/// refuses are in no row together.
pub fn rows(sizes: &[usize], may_meet: &dyn Fn(Choice, Choice) -> bool) -> Vec<Vec<usize>> {
    let mut left = Left::new(sizes, may_meet);
    let mut rows = Vec::new();
    while let Some((a, b)) = left.pairs.first().copied() {
        let mut row = vec![None; sizes.len()];
        for (factor, value) in [a, b] {
            row[factor] = Some(value);
        }
        for factor in 0..sizes.len() {
            if row[factor].is_none() {
                row[factor] = Some(left.best(&row, factor));
            }
        }
        let row: Vec<usize> = row.into_iter().map(Option::unwrap_or_default).collect();
        left.strike(&row);
        rows.push(row);
    }
    rows
}

/// The pairs that have not met.
pub struct Left<'a> {
    sizes: &'a [usize],
    may_meet: &'a dyn Fn(Choice, Choice) -> bool,
    /// In order, each with its earlier factor first.
    pairs: std::collections::BTreeSet<(Choice, Choice)>,
}

impl<'a> Left<'a> {
    /// All pairs of choices of so many sizes, but for those that may not meet.
    pub fn new(sizes: &'a [usize], may_meet: &'a dyn Fn(Choice, Choice) -> bool) -> Self {
        let of = |factor: usize| (0..sizes[factor]).map(move |value| (factor, value));
        let firsts = (0..sizes.len()).flat_map(of);
        let pairs = firsts.flat_map(|a| (a.0 + 1..sizes.len()).flat_map(of).map(move |b| (a, b)));
        let pairs = pairs.filter(|&(a, b)| may_meet(a, b)).collect();
        Self { sizes, may_meet, pairs }
    }

    /// The value of a factor that meets most of what has not met, of those that all chosen ones allow.
    pub fn best(&self, row: &[Option<usize>], factor: usize) -> usize {
        let chosen = || row.iter().enumerate().filter_map(|(f, value)| value.map(|v| (f, v)));
        let is_left =
            |one: Choice, other: Choice| self.pairs.contains(&(one.min(other), one.max(other)));
        let gain = |value: usize| chosen().filter(|&one| is_left(one, (factor, value))).count();
        let allowed = |value: &usize| chosen().all(|one| (self.may_meet)(one, (factor, *value)));
        // Of equal ones `max_by_key` takes the last.
        let values = (0..self.sizes[factor]).rev().filter(allowed);
        values.max_by_key(|&value| gain(value)).unwrap_or(0)
    }

    /// Takes the pairs of a row away: it has them.
    pub fn strike(&mut self, row: &[usize]) {
        let met = |&(a, b): &(Choice, Choice)| row[a.0] == a.1 && row[b.0] == b.1;
        self.pairs.retain(|pair| !met(pair));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_that_may_meet_does_and_no_other() {
        let sizes = [3, 2, 4, 2, 3, 8];
        let may_meet =
            |a: Choice, b: Choice| (a, b) != ((0, 0), (2, 3)) && (b, a) != ((0, 0), (2, 3));
        let rows = rows(&sizes, &may_meet);
        assert!(rows.len() <= 40, "{} rows, of 8 x 4 pairs of the two largest", rows.len());
        for a in 0..sizes.len() {
            for b in a + 1..sizes.len() {
                for x in 0..sizes[a] {
                    for y in 0..sizes[b] {
                        let met = rows.iter().any(|row| row[a] == x && row[b] == y);
                        assert_eq!(met, may_meet((a, x), (b, y)), "{x} of {a} and {y} of {b}");
                    }
                }
            }
        }
    }
}
