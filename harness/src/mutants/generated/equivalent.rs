//! Which mutants do what the original does: those of which that is proved, and those of which it is argued.
//!
//! A proof ([`splatcheck_emulator::equivalence`]) rests on what every launch of a kernel has in common, the
//! *facts*. An argument is for what no proof reaches yet: for changes of a line of CUDA, in words. Both stand
//! in `tests/mutants/<workload>/equivalent.toml`.

use super::{Fate, Record};
use serde::Deserialize;
use splatcheck_emulator::POISON;
use splatcheck_emulator::equivalence::{About, Fact};
use splatcheck_judge::io::{InputError, Problem, read, toml_node};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// What every launch of some kernels has in common. Kernels are named as in reports, without their number of
/// channels; `*` stands for any characters.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchFact {
    /// Of which kernels.
    pub kernels: Vec<String>,
    /// What it is about, for people.
    pub name: String,
    /// The word of the kernel's first parameter, by its byte; or
    pub offset: Option<u32>,
    /// `blockIdx` along x, y or z, as 0, 1 or 2.
    pub block: Option<u8>,
    /// Every number that it can be, each of which is looked at by itself; or
    #[serde(default)]
    pub values: Vec<u32>,
    /// the least and the largest.
    pub between: Option<[u32; 2]>,
}

impl LaunchFact {
    fn fact(&self) -> Option<Fact> {
        let about = match (self.offset, self.block) {
            (Some(offset), None) => About::Parameter { number: 0, offset },
            (None, Some(axis @ 0..3)) => About::Block(axis),
            _ => return None,
        };
        let values: Vec<RangeInclusive<u32>> = match (self.values.as_slice(), self.between) {
            ([], Some([least, largest])) if least <= largest => vec![least..=largest],
            ([_, ..], None) => self.values.iter().map(|value| *value..=*value).collect(),
            _ => return None,
        };
        Some(Fact { about, values })
    }
}

/// Why mutants need not be killed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Why {
    /// The outputs stay within every bound whatever the inputs.
    Equivalent(String),
    /// They do below the smallest input that could show a difference, which is legal but larger than any case:
    /// such a mutant is not equivalent, only out of sight.
    Beyond {
        /// That input.
        beyond: String,
        /// Why not below.
        reason: String,
    },
}

impl Why {
    fn reason(&self) -> &str {
        match self {
            Self::Equivalent(reason) | Self::Beyond { reason, .. } => reason,
        }
    }
}

/// Changes of the instructions that a line of CUDA was compiled to: `OPCODE #N | CHANGE`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    /// Of instructions with this opcode, or any.
    opcode: Option<String>,
    /// Of the first, second, ... of the kernel's instructions with that opcode and line, from 1; or any.
    number: Option<usize>,
    /// A change as reports name it, but for registers: `operand 2` is any other register in its place
    /// ([`Mutation::label`](splatcheck_emulator::mutate::Mutation::label)). Or a kind of changes, or `*`.
    what: String,
}

impl Change {
    fn read(text: &str) -> Option<Self> {
        let (place, what) = match text.split_once(" | ") {
            Some((place, what)) => (Some(place), what),
            None => (None, text),
        };
        let (opcode, number) = match place.map(|place| (place, place.split_once(" #"))) {
            None => (None, None),
            Some((_, Some((opcode, number)))) => (Some(opcode), Some(number.parse().ok()?)),
            Some((opcode, None)) => (Some(opcode), None),
        };
        let is_one = |text: &str| !text.trim().is_empty() && text == text.trim();
        let whole = is_one(what) && opcode.is_none_or(is_one) && number != Some(0);
        whole.then(|| Self { opcode: opcode.map(str::to_owned), number, what: what.to_owned() })
    }

    fn is_for(&self, record: &Record) -> bool {
        let what = &self.what;
        let by = record.label.strip_prefix(what.as_str());
        let named = by.is_some_and(|rest| rest.is_empty() || rest.starts_with(" by "));
        (named || what == "*" || what == record.kind)
            && self.opcode.as_ref().is_none_or(|opcode| *opcode == record.opcode())
            && self.number.is_none_or(|number| number == record.number)
    }
}

/// An argument: for changes of a line of CUDA, in these kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Argument {
    /// The line without the space around it; nothing for instructions of no line.
    line: String,
    changes: Vec<Change>,
    /// Any, where none is named.
    kernels: Vec<String>,
    why: Why,
}

impl Argument {
    /// `CHANGE; CHANGE @ KERNEL, KERNEL`.
    fn read(line: &str, key: &str, why: &Why) -> Option<Self> {
        let (changes, kernels) = match key.split_once(" @ ") {
            Some((changes, kernels)) => (changes, kernels.split(", ").map(str::to_owned).collect()),
            None => (key, Vec::new()),
        };
        let changes = changes.split("; ").map(Change::read).collect::<Option<Vec<_>>>()?;
        Some(Self { line: line.to_owned(), changes, kernels, why: why.clone() })
    }

    fn is_for(&self, record: &Record) -> bool {
        let line = record.source.as_ref().and_then(|source| source.text.as_deref());
        line.unwrap_or_default() == self.line
            && (self.kernels.is_empty() || names(&self.kernels, &record.kernel))
            && self.changes.iter().any(|change| change.is_for(record))
    }

    fn words(&self) -> String {
        let changes: Vec<_> = self.changes.iter().map(|change| change.what.as_str()).collect();
        format!("'{}' of '{}' ({})", changes.join("; "), self.line, self.why.reason())
    }
}

/// Whether one of the patterns is for a kernel.
fn names(patterns: &[String], kernel: &str) -> bool {
    let kernel = kernel.split('.').next().unwrap_or(kernel);
    patterns.iter().any(|pattern| matches(pattern, kernel))
}

/// One file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    facts: Vec<LaunchFact>,
    /// By the line of CUDA and the changes.
    #[serde(default)]
    lines: BTreeMap<String, BTreeMap<String, Why>>,
}

/// All facts and arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Argued {
    facts: Vec<LaunchFact>,
    arguments: Vec<Argument>,
}

/// A file of facts and arguments that is none.
#[derive(Debug, thiserror::Error)]
pub enum EquivalentError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] InputError),
    /// It is not TOML, or lacks a key or has an unknown one.
    #[error(
        "{}: expected facts with kernels, name, offset or block, values or between; and lines by their \
         text, with changes = 'reason'",
        file.display()
    )]
    Parse {
        /// The file.
        file: PathBuf,
        /// Where and why.
        source: Problem,
    },
    /// A fact about nothing, or that leaves nothing; changes that cannot be read; an argument without words.
    #[error("{}: {what}", file.display())]
    Content {
        /// The file.
        file: PathBuf,
        /// What is wrong in it.
        what: String,
    },
}

impl Argued {
    /// Reads a file; there are no arguments where there is no file.
    ///
    /// # Errors
    /// [`EquivalentError`].
    pub fn read(file: &Path) -> Result<Self, EquivalentError> {
        let text = if file.exists() { read::text(file)? } else { String::new() };
        let File { facts, lines } = toml_node::read("the file", &text)
            .map_err(|source| EquivalentError::Parse { file: file.into(), source })?;
        let wrong = |what| Err(EquivalentError::Content { file: file.into(), what });
        if let Some(fact) = facts.iter().find(|fact| fact.fact().is_none()) {
            return wrong(format!(
                "the fact '{}' needs either an offset or a block of 0, 1 or 2, and either values or between = [least, \
                 largest]",
                fact.name
            ));
        }
        let mut arguments = Vec::new();
        for (line, changes) in lines {
            for (key, why) in changes {
                let of = format!("'{key}' of '{line}'");
                let Some(argument) = Argument::read(&line, &key, &why) else {
                    let form = "'CHANGE; OPCODE #N | CHANGE @ KERNEL, KERNEL'";
                    return wrong(format!("{of} is not {form}"));
                };
                if why.reason().trim().is_empty() {
                    return wrong(format!("{of} gives no reason"));
                }
                arguments.push(argument);
            }
        }
        Ok(Self { facts, arguments })
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
            let one = Self::read(&folder.join(workload).join("equivalent.toml"))?;
            all.facts.extend(one.facts);
            all.arguments.extend(one.arguments);
        }
        Ok(all)
    }

    /// What every launch of a kernel has in common.
    #[must_use]
    pub fn facts(&self, kernel: &str) -> Vec<Fact> {
        let of_kernel = self.facts.iter().filter(|fact| names(&fact.kernels, kernel));
        of_kernel.filter_map(LaunchFact::fact).collect()
    }

    /// Puts down what is argued of a mutant, if anything is.
    pub fn argue(&self, record: &mut Record) {
        let Some(argument) = self.arguments.iter().find(|argument| argument.is_for(record)) else {
            return;
        };
        record.equivalent = Some(argument.why.reason().to_owned());
        if let Why::Beyond { beyond, .. } = &argument.why {
            record.beyond = Some(beyond.clone());
        }
    }

    /// The arguments that are for none of the mutants, in words: of none that is not proved either.
    #[must_use]
    pub fn unused(&self, records: &[Record]) -> Vec<String> {
        let open: Vec<_> = records.iter().filter(|r| !r.is_proved()).collect();
        let unused = |a: &&Argument| !open.iter().any(|record| a.is_for(record));
        self.arguments.iter().filter(unused).map(Argument::words).collect()
    }

    /// The mutants that are proved or argued to be equivalent, but were killed, in words. An argument is about
    /// the values that a register may hold: of one that was never written it says nothing.
    #[must_use]
    pub fn refuted(records: &[Record]) -> Vec<String> {
        let refuted = records.iter().filter_map(|record| {
            let Fate::Killed { by, example } = &record.fate else { return None };
            record.equivalent.as_ref().filter(|_| by != POISON)?;
            let Record { kernel, line, change, instruction, .. } = record;
            Some(format!("{kernel} line {line}: {change} in '{instruction}' by {example}"))
        });
        refuted.collect()
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
mod tests;
