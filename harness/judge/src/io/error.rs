//! What is wrong with an input, in one line for the person who has to mend it.
//!
//! A [`Problem`] is the fault itself (field, value, what to do); an [`InputError`] is a problem in a
//! named file, or a refusal of the operating system. Text that comes from a file is always shown
//! through [`quoted`], so that no message spans lines or carries control characters.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Characters of a foreign text that a message shows.
const SHOWN: usize = 80;

/// One fault of one field. Shown as `FIELD is VALUE: ADVICE`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}: {advice}")]
pub struct Problem {
    /// Line in a text file, counted from 1, where known.
    pub line: Option<usize>,
    /// Which field, as the file names it.
    pub field: String,
    /// What it holds.
    pub value: String,
    /// What would be accepted, or what to do.
    pub advice: String,
}

impl Problem {
    /// A problem whose line is not known.
    pub fn new(
        field: impl Into<String>,
        value: impl fmt::Display,
        advice: impl Into<String>,
    ) -> Self {
        Self { line: None, field: field.into(), value: value.to_string(), advice: advice.into() }
    }

    /// The same problem in a line of a text file.
    #[must_use]
    pub fn at_line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    /// The same problem with its file.
    #[must_use]
    pub fn in_file(self, file: &Path) -> InputError {
        InputError::Content { file: file.to_owned(), problem: self }
    }
}

/// Why a file could not be read or written. One line.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The content is not acceptable.
    #[error("{}: {problem}", place(file, problem.line))]
    Content {
        /// The file.
        file: PathBuf,
        /// What is wrong in it.
        problem: Problem,
    },
    /// The operating system refused.
    #[error("{}: cannot {action} ({source}): {advice}", place(file, None))]
    System {
        /// The file.
        file: PathBuf,
        /// What was tried, as in "cannot ...".
        action: String,
        /// The system's answer.
        source: io::Error,
        /// What to do.
        advice: String,
    },
}

/// A path with its line, in one line of text.
fn place(file: &Path, line: Option<usize>) -> String {
    let shown: String = file
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect();
    match line {
        Some(line) => format!("{shown}:{line}"),
        None => shown,
    }
}

/// A foreign text in quotes, escaped and shortened to a part of one line.
#[must_use]
pub fn quoted(text: &str) -> String {
    quoted_up_to(text, SHOWN)
}

/// The same with so many of its characters.
pub(crate) fn quoted_up_to(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).flat_map(char::escape_debug).collect();
    if text.chars().nth(most).is_some() {
        shown.push_str("...");
    }
    format!("'{shown}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_file_field_value_and_advice() {
        let problem = Problem::new("property 'opacity' of vertex 17", f32::NAN, "must be finite");
        assert_eq!(
            problem.in_file(Path::new("scene.ply")).to_string(),
            "scene.ply: property 'opacity' of vertex 17 is NaN: must be finite"
        );
    }

    #[test]
    fn names_the_line() {
        let problem = Problem::new("width", 0, "give 1 or more").at_line(3);
        assert_eq!(
            problem.in_file(Path::new("a.toml")).to_string(),
            "a.toml:3: width is 0: give 1 or more"
        );
    }

    #[test]
    fn stays_one_line_whatever_is_quoted() {
        let text = quoted(&format!("a\nb\r\u{1b}[31m{}", "x".repeat(1000)));
        assert!(!text.contains(['\n', '\r', '\u{1b}']), "{text}");
        assert!(text.len() < 120, "{text}");
        let error = Problem::new("f", 1, "a").in_file(Path::new("a\nb"));
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}
