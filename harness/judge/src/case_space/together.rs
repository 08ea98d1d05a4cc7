//! Which values of axes were met together by one view.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What one view of a case has: axes with their values.
pub type Traits = BTreeSet<(String, String)>;

/// Two values of two axes, each with its axis.
pub type Pair<'a> = [(&'a str, &'a str); 2];

/// Bits of a word.
const BITS: usize = 64;

/// The pairs of values that some view had.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub(super) struct Together {
    /// The number of each value, by axis and name, in the order in which they were met.
    numbers: BTreeMap<(String, String), usize>,
    /// Of each value the set of those that it was met with.
    with: Vec<Vec<u64>>,
}

/// The same in an order of its own: each value, with the places of those after it that it was met with.
#[derive(PartialEq, Serialize, Deserialize)]
struct Written(Vec<((String, String), Vec<usize>)>);

impl Together {
    /// Adds what one view had.
    pub(super) fn add(&mut self, traits: &Traits) {
        let numbers: Vec<_> = traits.iter().map(|value| self.number(value)).collect();
        for &a in &numbers {
            numbers.iter().filter(|&&b| b != a).for_each(|&b| self.set(a, b));
        }
    }

    /// Adds what another part of a run had.
    pub(super) fn merge(&mut self, other: &Self) {
        let numbers = other.numbers.iter().map(|(value, &theirs)| (theirs, self.number(value)));
        let own: BTreeMap<usize, usize> = numbers.collect();
        for (theirs, &a) in &own {
            let met = own.iter().filter(|(second, _)| other.is_set(*theirs, **second));
            met.for_each(|(_, &b)| self.set(a, b));
        }
    }

    /// Whether some view had both.
    pub(super) fn has(&self, pair: Pair<'_>) -> bool {
        let [a, b] = pair
            .map(|(axis, value)| self.numbers.get(&(axis.to_owned(), value.to_owned())).copied());
        a.zip(b).is_some_and(|(a, b)| self.is_set(a, b))
    }

    fn number(&mut self, value: &(String, String)) -> usize {
        if let Some(&number) = self.numbers.get(value) {
            return number;
        }
        let number = self.with.len();
        self.numbers.insert(value.clone(), number);
        self.with.push(Vec::new());
        number
    }

    fn set(&mut self, a: usize, b: usize) {
        let row = &mut self.with[a];
        if row.len() <= b / BITS {
            row.resize(b / BITS + 1, 0);
        }
        row[b / BITS] |= 1 << (b % BITS);
    }

    fn is_set(&self, a: usize, b: usize) -> bool {
        self.with[a].get(b / BITS).is_some_and(|word| word >> (b % BITS) & 1 == 1)
    }

    fn written(&self) -> Written {
        let all: Vec<_> = self.numbers.iter().collect();
        let row = |(place, &(value, &number)): (usize, &(&(String, String), &usize))| {
            let later = all.iter().enumerate().skip(place + 1);
            let met = later.filter(|(_, (_, other))| self.is_set(number, **other));
            (value.clone(), met.map(|(place, _)| place).collect())
        };
        Written(all.iter().enumerate().map(row).collect())
    }
}

impl PartialEq for Together {
    fn eq(&self, other: &Self) -> bool {
        self.written() == other.written()
    }
}

impl Eq for Together {}

impl From<Together> for Written {
    fn from(together: Together) -> Self {
        together.written()
    }
}

impl From<Written> for Together {
    fn from(Written(rows): Written) -> Self {
        let mut together = Self::default();
        for (value, _) in &rows {
            together.number(value);
        }
        // Fewer than rows, and a place beyond them, only in a file that was changed by hand.
        let count = together.with.len();
        for (a, (_, met)) in rows.into_iter().enumerate().take(count) {
            for b in met.into_iter().filter(|&b| b < count) {
                together.set(a, b);
                together.set(b, a);
            }
        }
        together
    }
}
