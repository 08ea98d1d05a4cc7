//! Places in WGSL: file, line and column of what naga names by bytes.

use std::fmt::Write as _;

use naga::Span;

use super::code::At;

/// A file that a program was put together from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its name.
    pub name: String,
    /// The line of the program, from 1, that its first line is.
    pub first: u32,
}

/// The lines of a program.
pub(super) struct Lines {
    /// The byte that each begins with.
    starts: Vec<usize>,
    files: Vec<SourceFile>,
}

impl Lines {
    /// Of a program and its files in order, of which there is at least one.
    pub(super) fn of(source: &str, files: &[SourceFile]) -> Self {
        let ends = source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Self { starts, files: files.to_vec() }
    }

    /// Where a span begins.
    pub(super) fn at(&self, span: Span) -> Option<At> {
        let start = span.to_range()?.start;
        let number = self.starts.partition_point(|&first| first <= start);
        let column = start - self.starts.get(number.checked_sub(1)?)? + 1;
        let [line, column] = [number, column].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let file = self.files.partition_point(|file| file.first <= line).checked_sub(1)?;
        Some((file, line - self.files[file].first + 1, column))
    }

    /// A place in words.
    pub(super) fn place(&self, at: Option<At>) -> String {
        match at {
            Some((file, line, column)) => format!("{}:{line}:{column}", self.files[file].name),
            None => self.files.first().map_or_else(String::new, |file| file.name.clone()),
        }
    }

    /// How every module begins.
    pub(super) fn header(&self) -> String {
        let mut text =
            ".version 8.4\n.target sm_75\n.address_size 64\n.pragma \"uniform\";\n".to_owned();
        for (number, file) in (1..).zip(&self.files) {
            // Quotation marks end a name in PTX. Writing to a text does not fail.
            let name = file.name.replace(['"', '\n'], "_");
            let _ = writeln!(text, ".file {number} \"{name}\"");
        }
        text
    }
}
