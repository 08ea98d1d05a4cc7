//! Which line of CUDA C++ each line of an artifact's PTX was compiled from.
//!
//! The artifacts hold no `.loc`: their bytes must not depend on the folder that they were compiled in.
//! `kernels/lines.tar.zst` holds what `-lineinfo` adds, a text for each artifact: the SHA-256 of the
//! artifact's text up to its last brace, the sources by number, and for each place in the PTX from
//! which another line of CUDA follows `PTX-LINE FILE:LINE`, with the line into which that was inlined
//! after it, if it was, or `PTX-LINE -` for what the compiler names no line of. The test `ptx` derives
//! the files anew, and checks that `-lineinfo` changes nothing else in the artifact.

use crate::archive::Archive;
use crate::artifact::{Artifact, sha256};
use include_dir::{Dir, include_dir};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

static LINES: LazyLock<Option<Archive>> =
    LazyLock::new(|| Archive::read(include_bytes!("../kernels/lines.tar.zst")).ok());
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
    /// The only line of a file that has this text, the space around it left out.
    #[must_use]
    pub fn find(file: &str, text: &str) -> Option<Self> {
        let source = SOURCES.get_file(file)?.contents_utf8()?;
        let mut lines = source.lines().zip(1..).filter(|(line, _)| line.trim() == text);
        let (_, line) = lines.next()?;
        lines.next().is_none().then(|| Self { file: file.to_owned(), line })
    }

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
        "kernels/lines.tar.zst has no lines of {0} as it is: derive them (SPLAT_PTX=write cargo test -p \
         splatcheck-gpu --release --test ptx)"
    )]
    Missing(String),
    /// The file is not of the form above.
    #[error("line {line} of a text in kernels/lines.tar.zst: expected {expected}")]
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
        let text = LINES.as_ref().and_then(|lines| lines.get(&format!("{file}.lines")));
        let lines = Self::parse(text.ok_or_else(missing)?)?;
        let ptx = artifact.ptx().map_err(|_| missing())?;
        if sha256(ptx.trim_end().as_bytes()) == lines.sha256 { Ok(lines) } else { Err(missing()) }
    }

    /// Reads a text of `kernels/lines.tar.zst`.
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

    /// The lines that the `.loc` and `.file` of a module with line information (`-lineinfo`) name, with
    /// the sources' paths as the compiler wrote them. None where there are no `.loc`, or none can be
    /// read: they mean nothing to an execution, so that a wrong one is no error.
    #[must_use]
    pub fn in_text(ptx: &str) -> Self {
        let files: BTreeMap<&str, &str> = ptx.lines().filter_map(file).collect();
        let source = |place: &str| {
            let mut words = place.split_whitespace();
            let file = (*files.get(words.next()?)?).to_owned();
            let line = words.next()?.parse().ok().filter(|line| *line > 0)?;
            Some(SourceLine { file, line })
        };
        let mut lines = Self::default();
        for (text, number) in ptx.lines().zip(1_u32..) {
            let text = text.trim();
            if let Some(place) = text.strip_prefix(".loc").filter(|rest| is_space(rest)) {
                let (at, call) = match place.split_once(", inlined_at ") {
                    Some((at, call)) => (at.split(',').next().unwrap_or_default(), source(call)),
                    None => (place, None),
                };
                let origin = source(at).map(|at| Origin { at, inlined_at: call });
                lines.origins.push((number, origin));
            } else if text.split_whitespace().any(|word| word == ".entry" || word == ".func") {
                lines.origins.push((number, None));
            }
        }
        lines
    }

    /// Where the instruction on a line of the PTX comes from; `None` before the first, and where the
    /// compiler does not say.
    #[must_use]
    pub fn at(&self, ptx_line: u32) -> Option<&Origin> {
        let after = self.origins.partition_point(|(first, _)| *first <= ptx_line);
        self.origins[..after].last().and_then(|(_, origin)| origin.as_ref())
    }
}

/// The number and the path in `.file 1 "/home/me/kernel.cu"`, with a date and a size or without.
fn file(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim().strip_prefix(".file").filter(|rest| is_space(rest))?;
    let (number, path) = rest.trim_start().split_once(char::is_whitespace)?;
    Some((number, path.trim_start().strip_prefix('"')?.split('"').next()?))
}

fn is_space(text: &str) -> bool {
    text.starts_with(char::is_whitespace)
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
    fn a_module_with_line_information_names_its_lines() {
        let ptx = ".version 8.4\n.visible .entry k()\n{\n\t.loc\t1 27 0\nmov.u32 %r1, 1;\n\
                   \t.loc\t2 86 5, function_name $L__info_string0, inlined_at 1 55 5\n\
                   mov.u32 %r2, 1;\n\t.loc\t1 0 5\nret;\n\t.loc\t3 9 1\nret;\n}\n\
                   .visible .entry other()\n{\nret;\n}\n\
                   \t.file\t1 \"/home/me/my kernel.cu\"\n\t.file\t2 \"/usr/add.h\", 17, 4\n";
        let lines = SourceLines::in_text(ptx);
        let line = |file: &str, line| SourceLine { file: file.to_owned(), line };
        let own = |number| line("/home/me/my kernel.cu", number);
        assert_eq!(lines.at(3), None, "before the first");
        assert_eq!(lines.at(5), Some(&Origin { at: own(27), inlined_at: None }), "its line");
        let inlined = Origin { at: line("/usr/add.h", 86), inlined_at: Some(own(55)) };
        assert_eq!(lines.at(7), Some(&inlined), "inlined, until the next");
        assert_eq!([lines.at(9), lines.at(11)], [None; 2], "line 0 and a file without a name");
        assert_eq!(lines.at(15), None, "of another kernel");
        assert_eq!(SourceLines::in_text("ret;").at(1), None, "no line information");
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
