//! One bad apple: what could not be read, or not be started, of many things that a run judges. It is named and
//! counted, all others are judged, and the run is no pass.

use crate::words::{MOST_SHOWN, list, shown};

/// How many lines a report has of them; the others are counted.
const NAMED: usize = 20;

/// What could not be taken of many, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// A sentence each, with the name of the file.
    why: Vec<String>,
    /// How many there are, these among them.
    of: usize,
}

/// What is counted of a folder of cases.
pub const OF_CORPUS: &str = "files of the corpus";

impl Unread {
    /// What is good of many; of all others it is noted why they are not.
    pub fn sort<T, E: std::fmt::Display>(
        all: impl Iterator<Item = Result<T, E>>,
    ) -> (Vec<T>, Self) {
        let (mut good, mut unread) = (Vec::new(), Self::default());
        for one in all {
            unread.of += 1;
            match one {
                Ok(one) => good.push(one),
                Err(error) => unread.why.push(error.to_string()),
            }
        }
        (good, unread)
    }

    /// One more of them, which could not be taken.
    pub fn add(&mut self, why: impl std::fmt::Display) {
        self.of += 1;
        self.why.push(why.to_string());
    }

    /// Those of another folder too.
    pub fn extend(&mut self, other: Self) {
        self.why.extend(other.why);
        self.of += other.of;
    }

    /// The lines of a report.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let named = self.why.iter().take(NAMED);
        let line = |why: &String| format!("NOT JUDGED: {}", shown(why, MOST_SHOWN / 4));
        let more = self.why.len().saturating_sub(NAMED);
        let more = (more > 0).then(|| format!("NOT JUDGED: {more} more, for reasons of their own"));
        named.map(line).chain(more).collect()
    }

    /// Why a run of the others is no pass, in a sentence; `None` where all could be taken. `what` is what
    /// there is one of each, in the plural.
    #[must_use]
    pub fn gap(&self, what: &str) -> Option<String> {
        let (bad, of) = (self.why.len(), self.of);
        let why: Vec<_> = self.why.iter().map(|why| shown(why, 500)).collect();
        (bad > 0).then(|| format!("{bad} of {of} {what} could not be used: {}", list(&why)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bad_are_named_and_counted_and_the_good_are_kept() {
        let all = [Ok(1), Err("a.toml: bad"), Ok(2), Err("b.toml: bad too")];
        let (good, mut unread) = Unread::sort(all.into_iter());
        assert_eq!(good, [1, 2], "in their order");
        let gap = "2 of 4 cases could not be used: a.toml: bad and b.toml: bad too";
        assert_eq!(unread.gap("cases").as_deref(), Some(gap), "why it is no pass");
        assert_eq!(unread.lines()[1], "NOT JUDGED: b.toml: bad too", "a line each");
        for _ in 0..100 {
            unread.add("x".repeat(1 << 20));
        }
        assert_eq!(unread.lines().len(), NAMED + 1, "and no more lines than people read");
        assert!(unread.gap("cases").is_some_and(|gap| gap.len() < 4000), "nor characters");
        let (none, unread) = Unread::sort([Ok::<u8, String>(1)].into_iter());
        assert_eq!((none.len(), unread.gap("cases"), unread.lines()), (1, None, vec![]), "all");
    }
}
