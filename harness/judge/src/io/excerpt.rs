//! The lines of a source that a finding names.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::read;
use crate::words::shown;

/// Lines that are shown before and behind the one that is named.
const AROUND: usize = 2;
/// Bytes of the largest source that is looked into, and characters of a line that are shown.
const MOST: (u64, usize) = (16 << 20, 240);

/// A line of a source and those around it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    /// The file.
    pub file: String,
    /// The line that is meant, from 1.
    pub line: usize,
    /// The lines, each with its number.
    pub lines: Vec<(usize, String)>,
}

impl Excerpt {
    /// Most places of a finding whose source is shown.
    pub const PLACES: usize = 3;

    /// `None` where the file is not to be had, or has no such line.
    #[must_use]
    pub fn of(file: &Path, line: usize) -> Option<Self> {
        let bytes = read::bytes_up_to(file, MOST.0).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let first = line.checked_sub(1)?.saturating_sub(AROUND);
        let some = text.lines().enumerate().skip(first).take(line + AROUND - first);
        let lines: Vec<_> = some.map(|(at, text)| (at + 1, shown(text, MOST.1))).collect();
        let is_there = lines.iter().any(|(at, _)| *at == line);
        is_there.then(|| Self { file: file.display().to_string(), line, lines })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_two_around_it_as_far_as_there_are_any() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("k.cu");
        std::fs::write(&file, "a\nb\nc\nd\ne\n").expect("written");
        let numbers = |line| {
            let found = Excerpt::of(&file, line)?;
            Some(found.lines.iter().map(|(at, text)| format!("{at}{text}")).collect::<String>())
        };
        assert_eq!(numbers(1).as_deref(), Some("1a2b3c"), "the first");
        assert_eq!(numbers(3).as_deref(), Some("1a2b3c4d5e"), "in the middle");
        assert_eq!(numbers(5).as_deref(), Some("3c4d5e"), "the last");
        assert_eq!(numbers(0).or(numbers(6)), None, "there are none");
        assert_eq!(Excerpt::of(&folder.path().join("other.cu"), 1), None, "no file");
    }
}
