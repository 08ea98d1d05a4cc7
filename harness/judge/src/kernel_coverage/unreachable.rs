//! Holes, and arguments that no input can reach a line of a kernel, as data with a reason.
//!
//! ```toml
//! [[unreachable]]
//! kernel = "*"                        # an entry point or a stage, each with its formulations, a file
//!                                     # of kernels/ptx, or all of them
//! cuda = "if (sum != 0.0f) {"         # the whole line of CUDA, without the space around it
//! ptx = ["setp.eq.f32 %p, %f, 0f"]    # part of the PTX line, any of these; registers without their
//!                                     # numbers, words one space apart. Or without this, or cuda
//! kinds = ["never-true"]              # what is missing there; left out: anything
//! reason = "why no input gets there"
//! ```
//!
//! An argument covers every instruction that fits it: it should be as narrow as its reason. What only
//! a branch leads to that is argued to go one way needs no argument of its own. An argument that
//! explains no hole, though a kernel with its line ran, is reported: it is wrong or not needed.

use crate::io::{Problem, toml_node};
use serde::{Deserialize, Serialize};
use splatcheck_gpu::artifact::Artifact;
use std::fmt;

/// What is missing at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// No lane came to it.
    NeverExecuted,
    /// A branch that no lane took.
    NeverTaken,
    /// A branch that every lane took.
    AlwaysTaken,
    /// An instruction whose guard was false on every lane.
    GuardNeverTrue,
    /// An instruction whose guard was true on every lane.
    GuardAlwaysTrue,
    /// A predicate that was computed as false on every lane.
    NeverTrue,
    /// A predicate that was computed as true on every lane.
    AlwaysTrue,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NeverExecuted => "never executed",
            Self::NeverTaken => "never taken",
            Self::AlwaysTaken => "always taken",
            Self::GuardNeverTrue => "guard never true",
            Self::GuardAlwaysTrue => "guard always true",
            Self::NeverTrue => "never true",
            Self::AlwaysTrue => "always true",
        })
    }
}

/// A line of CUDA.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Source {
    /// `FILE:LINE`, from `kernels/cuda`.
    pub place: String,
    /// The line.
    pub text: String,
}

/// Something that was not exercised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hole {
    /// What is missing.
    pub kind: Kind,
    /// Line of the PTX, from 1.
    pub line: u32,
    /// That line, without the space around it.
    pub ptx: String,
    /// The line of CUDA that it was compiled from, where the compiler names one. Of a predicate that
    /// decides a branch, the branch's.
    pub cuda: Option<Source>,
    /// The line that calls the function of `cuda`, where that was inlined.
    pub inlined_at: Option<Source>,
    /// Why no input can reach it, if that is argued.
    pub unreachable: Option<String>,
}

/// Why some holes need not be closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Argument {
    /// Which kernels: the name of an entry point or a stage, each with its formulations, or of a file; or
    /// `*`.
    pub kernel: String,
    /// The line of CUDA, its own or the one that it was inlined into.
    #[serde(default)]
    pub cuda: Option<String>,
    /// Part of the line of PTX, any of these; any line where this is empty.
    #[serde(default)]
    pub ptx: Vec<String>,
    /// What is missing there; anything where this is empty.
    #[serde(default)]
    pub kinds: Vec<Kind>,
    /// Why no input can reach it.
    pub reason: String,
}

/// A file of arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unreachable {
    /// The entries.
    #[serde(default, rename = "unreachable")]
    pub arguments: Vec<Argument>,
}

/// What is wrong with a file of arguments.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UnreachableError {
    /// It is no TOML, or has other fields.
    #[error("{0}")]
    Toml(#[from] Problem),
    /// An entry gives no reason.
    #[error("unreachable {number}: the reason is empty: say why no input gets there")]
    NoReason {
        /// Which entry, from 1.
        number: usize,
    },
    /// An entry names no line.
    #[error("unreachable {number}: give the line, as cuda = \"...\" or ptx = [\"...\"] or both")]
    NoLine {
        /// Which entry, from 1.
        number: usize,
    },
}

impl Unreachable {
    /// Reads a file's text.
    ///
    /// # Errors
    /// What is wrong, and in which entry.
    pub fn parse(text: &str) -> Result<Self, UnreachableError> {
        let all: Self = toml_node::read("the file of arguments", text)?;
        for (number, argument) in (1..).zip(&all.arguments) {
            if argument.reason.trim().is_empty() {
                return Err(UnreachableError::NoReason { number });
            }
            let blank = |text: &String| text.trim().is_empty();
            let named = argument.cuda.is_some() || !argument.ptx.is_empty();
            if !named || argument.cuda.iter().chain(&argument.ptx).any(blank) {
                return Err(UnreachableError::NoLine { number });
            }
        }
        Ok(all)
    }
}

impl Argument {
    /// Whether it is about the line of a hole, whatever is missing there.
    #[must_use]
    pub fn is_about(&self, artifact: &Artifact, hole: &Hole) -> bool {
        let kernel = self.kernel == "*"
            || self.kernel == artifact.entry()
            || self.kernel == artifact.file()
            || self.kernel == artifact.standard_stage()
            || self.kernel == artifact.standard_entry();
        let is = |source: &Option<Source>, text: &str| {
            source.as_ref().is_some_and(|source| source.text == text)
        };
        let cuda = self.cuda.as_deref();
        let ptx = unnumbered(&hole.ptx);
        kernel
            && (self.ptx.is_empty() || self.ptx.iter().any(|part| ptx.contains(part)))
            && cuda.is_none_or(|text| is(&hole.cuda, text) || is(&hole.inlined_at, text))
    }

    /// Whether it says why a hole is one.
    #[must_use]
    pub fn explains(&self, artifact: &Artifact, hole: &Hole) -> bool {
        let kind = self.kinds.is_empty() || self.kinds.contains(&hole.kind);
        kind && self.is_about(artifact, hole)
    }
}

/// A line of PTX with its registers' numbers left out and words one space apart: what stays the same
/// when the compiler numbers registers in another way.
fn unnumbered(ptx: &str) -> String {
    let mut text = String::with_capacity(ptx.len());
    let mut in_register = false;
    for c in ptx.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        in_register = c == '%' || in_register && c.is_ascii_alphanumeric();
        if !(in_register && c.is_ascii_digit()) {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_file_is_refused_by_name() {
        let entry = "[[unreachable]]\nkernel = \"*\"\n";
        for (text, words) in [
            (format!("{entry}cuda = \"x\"\n"), "reason"),
            (format!("{entry}cuda = \"x\"\nreason = \" \"\n"), "unreachable 1: the reason"),
            (format!("{entry}reason = \"r\"\n"), "unreachable 1: give the line"),
            (format!("{entry}ptx = [\"\"]\nreason = \"r\"\n"), "unreachable 1: give the line"),
            (format!("{entry}ptx = [\"x\"]\nreason = \"r\"\nkinds = [\"never\"]\n"), "never"),
            (format!("{entry}line = 3\nreason = \"r\"\n"), "line"),
        ] {
            let error = Unreachable::parse(&text).expect_err("it is wrong").to_string();
            assert!(error.contains(words), "no '{words}' in: {error}");
        }
        assert_eq!(Unreachable::parse("").expect("none"), Unreachable::default(), "empty");
    }

    #[test]
    fn registers_have_no_numbers() {
        let text = unnumbered("@%p92 setp.lt.u32 \t%p3, %rd11, 2;");
        assert_eq!(text, "@%p setp.lt.u32 %p, %rd, 2;", "numbers of the program stay");
    }
}
