//! The arguments that a mutant does what the original does, or differs from it only on inputs that
//! are larger than any case, one file for each workload
//! (`tests/mutants/<workload>/equivalent.toml`).

use super::{Fate, Record};
use serde::Deserialize;
use splatcheck_emulator::POISON;
use std::path::{Path, PathBuf};

/// One argument. In the kernel, the instruction, the change and the line `*` stands for any characters, since
/// compilers number registers anew.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The kernel by its name in reports. Where [`Self::cuda`] is given, it stands for the same
    /// reduction in every formulation, since those are compiled from one text.
    pub kernel: String,
    /// The instruction as the report shows it.
    pub instruction: String,
    /// The change as the report shows it.
    pub change: String,
    /// The line of CUDA that the instruction was compiled from, without the space around it; any where
    /// there is none. It holds for every kernel that has the line.
    pub cuda: Option<String>,
    /// The number of that line in its file, where others read the same.
    pub cuda_line: Option<u32>,
    /// The number of the instruction's line of PTX, where others of the kernel read the same.
    pub ptx_line: Option<u32>,
    /// The smallest input that could show a difference, where that is legal but larger than any case:
    /// then the mutant is not equivalent, only out of sight.
    pub beyond: Option<String>,
    /// Why the kernel's outputs stay within every bound whatever its inputs, or those below
    /// [`Self::beyond`].
    pub reason: String,
}

/// All arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Argued {
    /// In the order of the file.
    #[serde(default, rename = "equivalent")]
    pub entries: Vec<Entry>,
}

/// A file of arguments that is none.
#[derive(Debug, thiserror::Error)]
pub enum EquivalentError {
    /// It cannot be read.
    #[error("cannot read {}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not TOML, or an entry lacks a key or has an unknown one.
    #[error("{}: expected entries [[equivalent]] with kernel, instruction, change, reason", file.display())]
    Parse {
        /// The file.
        file: PathBuf,
        /// Where and why.
        source: toml::de::Error,
    },
    /// An argument without words.
    #[error("{}: the entry for '{change}' of '{instruction}' gives no reason", file.display())]
    NoReason {
        /// The file.
        file: PathBuf,
        /// The entry's change.
        change: String,
        /// The entry's instruction.
        instruction: String,
    },
}

impl Argued {
    /// Reads a file; there are no arguments where there is no file.
    ///
    /// # Errors
    /// [`EquivalentError`].
    pub fn read(file: &Path) -> Result<Self, EquivalentError> {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(EquivalentError::Read { file: file.into(), source }),
        };
        let argued: Self = toml::from_str(&text)
            .map_err(|source| EquivalentError::Parse { file: file.into(), source })?;
        if let Some(entry) = argued.entries.iter().find(|entry| entry.reason.trim().is_empty()) {
            let Entry { change, instruction, .. } = entry.clone();
            return Err(EquivalentError::NoReason { file: file.into(), change, instruction });
        }
        Ok(argued)
    }

    /// Reads `NAME/equivalent.toml` below `folder` for each of these workloads, since some arguments hold
    /// for the kernels of several.
    ///
    /// # Errors
    /// [`EquivalentError`].
    pub fn read_all<'w>(
        folder: &Path,
        workloads: impl IntoIterator<Item = &'w str>,
    ) -> Result<Self, EquivalentError> {
        let mut all = Self::default();
        for workload in workloads {
            let file = folder.join(workload).join("equivalent.toml");
            all.entries.extend(Self::read(&file)?.entries);
        }
        Ok(all)
    }

    /// The arguments that hold for any kernel, a user's own among them.
    #[must_use]
    pub fn for_any_kernel(mut self) -> Self {
        self.entries.retain(|entry| entry.kernel == "*" && entry.cuda.is_none());
        self
    }

    /// The argument for a mutant, if there is one.
    #[must_use]
    pub fn entry(&self, record: &Record) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.is_for(record))
    }

    /// The entries that are for none of the mutants, in words.
    #[must_use]
    pub fn unused(&self, records: &[Record]) -> Vec<String> {
        let unused = |entry: &&Entry| !records.iter().any(|record| entry.is_for(record));
        self.entries.iter().filter(unused).map(Entry::words).collect()
    }

    /// The mutants that are argued to be equivalent, but were killed, in words. An argument is about the
    /// values that a register may hold: of one that was never written it says nothing.
    #[must_use]
    pub fn refuted(&self, records: &[Record]) -> Vec<String> {
        let refuted = records.iter().filter_map(|record| {
            let Fate::Killed { by, example } = &record.fate else { return None };
            record.equivalent.as_ref().filter(|_| by != POISON)?;
            let Record { kernel, line, change, instruction, .. } = record;
            Some(format!("{kernel} line {line}: {change} in '{instruction}' by {example}"))
        });
        refuted.collect()
    }
}

impl Entry {
    fn is_for(&self, record: &Record) -> bool {
        let kernel = match self.cuda.as_deref() {
            None => matches(&self.kernel, &record.kernel),
            Some(line) => {
                let text = record.source.as_ref().and_then(|source| source.text.as_deref());
                let named = [&record.kernel, &record.standard];
                text.is_some_and(|text| matches(line, text))
                    && named.iter().any(|name| matches(&self.kernel, name))
            }
        };
        let number = record.source.as_ref().map(|source| source.line.line);
        kernel
            && (self.cuda_line.is_none() || self.cuda_line == number)
            && self.ptx_line.is_none_or(|line| line == record.line)
            && matches(&self.instruction, &record.instruction)
            && matches(&self.change, &record.change)
    }

    fn words(&self) -> String {
        format!("'{}' of '{}' in {}", self.change, self.instruction, self.kernel)
    }
}

/// Whether a text is a pattern in which `*` stands for any characters, or for none.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, mut rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    while let Some((part, after)) = rest.split_once('*') {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
        rest = after;
    }
    text.ends_with(rest)
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::*;
    use splatcheck_gpu::source_lines::SourceLine;

    fn reason<'a>(argued: &'a Argued, record: &Record) -> Option<&'a str> {
        argued.entry(record).map(|entry| entry.reason.as_str())
    }

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("mov.u32 %r*, %tid.x;", "mov.u32 %r22, %tid.x;", true),
            ("mov.u32 %r*, %tid.x;", "mov.u32 %r22, %tid.y;", false),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("ab", "abc", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} for {text}");
        }
    }

    #[test]
    fn files_are_read_and_their_mistakes_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("equivalent.toml");
        assert_eq!(Argued::read(&file).expect("no file"), Argued::default(), "no arguments");
        let entry = "[[equivalent]]\nkernel = '*'\ninstruction = 'x;'\nchange = 'y'\n";
        for (text, expected) in [
            (format!("{entry}reason = ' '\n"), "the entry for 'y' of 'x;' gives no reason"),
            (entry.to_owned(), "expected entries [[equivalent]] with kernel"),
            (format!("{entry}reason = 'z'\nwho = 'me'"), "expected entries [[equivalent]]"),
        ] {
            std::fs::write(&file, text).expect("the folder is ours");
            let error = Argued::read(&file).expect_err(expected);
            assert!(error.to_string().contains(expected), "wanted '{expected}', got '{error}'");
        }
        std::fs::write(&file, format!("{entry}reason = 'z'\n")).expect("the folder is ours");
        let argued = Argued::read(&file).expect("a file");
        let mut record = Record {
            kernel: "k".to_owned(),
            standard: "k".to_owned(),
            line: 1,
            source: None,
            kind: "operation",
            instruction: "x;".to_owned(),
            change: "y".to_owned(),
            fate: Fate::Survived { closest: None },
            reached: true,
            runs: 1,
            equivalent: None,
            beyond: None,
        };
        assert_eq!(reason(&argued, &record), Some("z"), "it is argued");
        assert!(argued.unused(std::slice::from_ref(&record)).is_empty(), "the entry is used");
        let line = SourceLine { file: "warp.cuh".to_owned(), line: 1 };
        let mut of_line = argued.clone();
        let text = line.text().map(str::to_owned);
        of_line.entries[0].cuda.clone_from(&text);
        assert_eq!(reason(&of_line, &record), None, "of no line");
        record.source = Some(Source { line, text });
        assert_eq!(reason(&of_line, &record), Some("z"), "of that line");
        for (number, expected) in [(1, Some("z")), (2, None)] {
            of_line.entries[0].cuda_line = Some(number);
            assert_eq!(reason(&of_line, &record), expected, "line {number} with that text");
        }
        of_line.entries[0].cuda_line = None;
        for (number, expected) in [(1, Some("z")), (2, None)] {
            of_line.entries[0].ptx_line = Some(number);
            assert_eq!(reason(&of_line, &record), expected, "line {number} of PTX");
        }
        of_line.entries[0].ptx_line = None;
        record.kernel = "k_buffer".to_owned();
        for (kernel, expected) in [("k", Some("z")), ("k_buffer", Some("z")), ("l", None)] {
            of_line.entries[0].kernel = kernel.to_owned();
            assert_eq!(reason(&of_line, &record), expected, "an entry of {kernel}, of one text");
        }
        let mut of_none = argued.clone();
        of_none.entries[0].kernel = "k".to_owned();
        assert_eq!(reason(&of_none, &record), None, "of no line, so of one kernel alone");
        assert_eq!(of_line.for_any_kernel().entries, [], "it is of our line");
        assert_eq!(argued.clone().for_any_kernel(), argued, "it is of any kernel");
        record.equivalent = reason(&argued, &record).map(str::to_owned);
        for (by, refuted) in [("oracle: v_means", 1), (POISON, 0)] {
            record.fate = Fate::Killed { by: by.to_owned(), example: String::new() };
            assert_eq!(argued.refuted(std::slice::from_ref(&record)).len(), refuted, "{by}");
        }
        record.change = "w".to_owned();
        assert_eq!(reason(&argued, &record), None, "another change");
        assert_eq!(argued.unused(&[record]).len(), 1, "the entry is for nothing");
    }
}
