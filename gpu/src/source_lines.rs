//! Which line of CUDA C++ each line of an artifact's PTX was compiled from.
//!
//! The artifacts hold no `.loc`: their bytes must not depend on the folder that they were compiled in.
//! `kernels/lines` holds what `-lineinfo` adds, a file for each artifact: the SHA-256 of the
//! artifact's text up to its last brace, the sources by number, and for each place in the PTX from
//! which another line of CUDA follows `PTX-LINE FILE:LINE`, with the line into which that was inlined
//! after it, if it was, or `PTX-LINE -` for what the compiler names no line of. The test `ptx` derives
//! the files anew, and that what `-lineinfo` gives is otherwise the artifact.

use crate::artifact::{Artifact, sha256};
use include_dir::{Dir, include_dir};
use std::fmt;

static LINES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/kernels/lines");
static SOURCES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/kernels/cuda");

/// A line of a source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLine {
    /// Path from `kernels/cuda`.
    pub file: String,
    /// From 1.
    pub line: u32,
}

impl SourceLine {
    /// The line's text without the space around it; `None` where this program was built from sources
    /// that have no such line.
    #[must_use]
    pub fn text(&self) -> Option<&'static str> {
        let text = SOURCES.get_file(&self.file)?.contents_utf8()?;
        text.lines().nth((self.line as usize).checked_sub(1)?).map(str::trim)
    }
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Where an instruction comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The line itself.
    pub at: SourceLine,
    /// The line that calls the function that `at` is in, where that was inlined.
    pub inlined_at: Option<SourceLine>,
}

/// The origins of an artifact's instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLines {
    /// SHA-256 of the PTX.
    sha256: String,
    /// By the first line of PTX; each holds until the next. `None` for what is of no line.
    origins: Vec<(u32, Option<Origin>)>,
}

/// Why nothing is known of an artifact's source lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceLinesError {
    /// There is no file, or it is of another PTX.
    #[error(
        "kernels/lines has no lines of {0} as it is: derive them (SPLAT_PTX=write cargo test -p \
         splatcheck-gpu --release --test ptx)"
    )]
    Missing(String),
    /// The file is not of the form above.
    #[error("line {line} of a file in kernels/lines: expected {expected}")]
    Form {
        /// From 1.
        line: usize,
        /// What should stand there.
        expected: &'static str,
    },
}

impl SourceLines {
    /// The lines of an artifact.
    ///
    /// # Errors
    /// There are none for the PTX that this program has.
    pub fn of(artifact: &Artifact) -> Result<Self, SourceLinesError> {
        let file = artifact.path();
        let missing = || SourceLinesError::Missing(file.clone());
        let text = LINES.get_file(format!("{file}.lines")).and_then(|f| f.contents_utf8());
        let lines = Self::parse(text.ok_or_else(missing)?)?;
        let ptx = artifact.ptx().map_err(|_| missing())?;
        if sha256(ptx.trim_end().as_bytes()) == lines.sha256 { Ok(lines) } else { Err(missing()) }
    }

    /// Reads a file of `kernels/lines`.
    ///
    /// # Errors
    /// [`SourceLinesError::Form`].
    pub fn parse(text: &str) -> Result<Self, SourceLinesError> {
        let mut lines = Self::default();
        let mut files: Vec<&str> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let wrong = |expected| SourceLinesError::Form { line: index + 1, expected };
            let (first, rest) = line.split_once(' ').ok_or_else(|| wrong("two words"))?;
            match first {
                "sha256" => lines.sha256 = rest.to_owned(),
                "file" => files.push(rest),
                ptx => {
                    let ptx = ptx.parse().map_err(|_| wrong("a number of a PTX line"))?;
                    if rest == "-" {
                        lines.origins.push((ptx, None));
                        continue;
                    }
                    let mut places = rest.split(' ').map(|word| place(word, &files));
                    let mut next = || places.next().map(|p| p.ok_or_else(|| wrong("FILE:LINE")));
                    let at = next().ok_or_else(|| wrong("FILE:LINE"))??;
                    let inlined_at = next().transpose()?;
                    lines.origins.push((ptx, Some(Origin { at, inlined_at })));
                }
            }
        }
        Ok(lines)
    }

    /// Where the instruction on a line of the PTX comes from; `None` before the first, and where the
    /// compiler does not say.
    #[must_use]
    pub fn at(&self, ptx_line: u32) -> Option<&Origin> {
        let after = self.origins.partition_point(|(first, _)| *first <= ptx_line);
        self.origins[..after].last().and_then(|(_, origin)| origin.as_ref())
    }
}

/// `FILE:LINE` with the number of a file.
fn place(word: &str, files: &[&str]) -> Option<SourceLine> {
    let (file, line) = word.split_once(':')?;
    let file = files.get(file.parse::<usize>().ok()?.checked_sub(1)?)?;
    Some(SourceLine { file: (*file).to_owned(), line: line.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::all;

    #[test]
    fn a_line_of_ptx_has_the_nearest_origin_before_it() {
        let text = "sha256 00\nfile a.cu\nfile b.cuh\n5 1:10\n8 2:3 1:11\n20 -\n";
        let lines = SourceLines::parse(text).expect("the form");
        let line = |file: &str, line| SourceLine { file: file.to_owned(), line };
        assert_eq!(lines.at(4), None, "before the first");
        let first = Origin { at: line("a.cu", 10), inlined_at: None };
        assert_eq!([lines.at(5), lines.at(7)], [Some(&first); 2], "until the next");
        let inlined = Origin { at: line("b.cuh", 3), inlined_at: Some(line("a.cu", 11)) };
        assert_eq!(lines.at(19), Some(&inlined), "inlined");
        assert_eq!(lines.at(99), None, "the compiler names none");
        for (text, words) in [
            ("5", "two words"),
            ("x 1:1", "a number of a PTX line"),
            ("file a\n5 2:1", "FILE:LINE"),
            ("file a\n5 1:x", "FILE:LINE"),
        ] {
            let error = SourceLines::parse(text).expect_err("it is wrong").to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn every_artifact_has_lines_that_exist() {
        for artifact in all() {
            let lines = SourceLines::of(&artifact).unwrap_or_else(|e| panic!("{e}"));
            let first = lines.origins.first().and_then(|(_, origin)| origin.as_ref());
            let first = first.expect("kernels have instructions");
            assert_eq!(first.at.file, artifact.source(), "the entry point's file");
            for Origin { at, inlined_at } in lines.origins.iter().filter_map(|(_, o)| o.as_ref()) {
                assert!(at.text().is_some(), "{}: there is no {at}", artifact.file());
                let inlined = inlined_at.as_ref().map(|line| (line, line.text()));
                assert_ne!(inlined.map(|(_, text)| text), Some(None), "{}", artifact.file());
            }
        }
    }
}
