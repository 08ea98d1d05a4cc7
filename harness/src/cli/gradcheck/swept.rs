//! At which values of what is swept something was wrong.

use std::collections::BTreeMap;

use crate::gradcheck::{Case, Manifest};

/// By the name of what is swept and each of its values, whether a run was wrong.
#[derive(Debug, Default)]
pub struct Swept(BTreeMap<String, BTreeMap<i64, bool>>);

impl Swept {
    /// Another run.
    pub(super) fn count(&mut self, manifest: &Manifest, case: &Case, wrong: bool) {
        for name in manifest.sweep.keys() {
            let values = self.0.entry(name.clone()).or_default();
            *values.entry(case.sizes[name]).or_default() |= wrong;
        }
    }

    /// A line for each of what is swept: where something was wrong and where nothing.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |(name, values): (&String, &BTreeMap<i64, bool>)| {
            let those =
                |wrong: bool| ranges(values.iter().filter(|(_, w)| **w == wrong).map(|(v, _)| *v));
            match (those(true), those(false)) {
                (wrong, right) if right.is_empty() => format!("wrong at {name} = {wrong}: at all"),
                (wrong, right) => format!("wrong at {name} = {wrong}, not at {right}"),
            }
        };
        self.0.iter().map(line).collect()
    }
}

/// Ascending numbers, those in a row as the first and the last.
fn ranges(values: impl Iterator<Item = i64>) -> String {
    let mut all: Vec<(i64, i64)> = Vec::new();
    for value in values {
        match all.last_mut() {
            Some((_, last)) if *last + 1 == value => *last = value,
            _ => all.push((value, value)),
        }
    }
    let one = |(first, last): (i64, i64)| match first == last {
        true => first.to_string(),
        false => format!("{first} to {last}"),
    };
    all.into_iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_a_row_are_shown_by_their_ends() {
        let says = |values: &[i64]| ranges(values.iter().copied());
        assert_eq!(says(&[0, 1, 2, 5, 7, 8]), "0 to 2, 5, 7 to 8", "in order");
        assert_eq!(says(&[]), "", "none");
    }
}
