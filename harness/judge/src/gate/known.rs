//! Known failures: defects of a driver, as data with a reason, that expire.
//!
//! ```toml
//! [[failure]]
//! adapter = "llvmpipe (LLVM 15.0.6, 256 bits)"   # as `splatcheck devices` prints it
//! driver = "llvmpipe Mesa 22.3.6"                # name and version
//! stage = "rasterize_backward"
//! reduction = "block"                            # left out: a stage without one
//! reason = "the driver drops a barrier in a loop: https://..."
//! ```
//!
//! An entry holds for exactly that adapter and driver version. One whose stage ran and did not fail
//! any more fails the run: it must be deleted.

use serde::{Deserialize, Serialize};
use splatcheck_gpu::{Reduction, Stage};

use super::{place, reduction_of};
use crate::campaign::{EngineReport, Finding};
use crate::io::{Problem, toml_node};
use crate::verdict::Verdict;
use std::collections::BTreeSet;

/// A failure that does not stop the build.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KnownFailure {
    /// The adapter's own name.
    pub adapter: String,
    /// Driver name and version.
    pub driver: String,
    /// Name of the stage.
    pub stage: String,
    /// Name of the reduction; "-" for a stage without one.
    #[serde(default = "no_reduction")]
    pub reduction: String,
    /// Why it fails, and where that is reported.
    pub reason: String,
}

fn no_reduction() -> String {
    "-".to_owned()
}

/// A file of known failures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KnownFailures {
    /// The entries.
    #[serde(default, rename = "failure")]
    pub failures: Vec<KnownFailure>,
}

/// What is wrong with a file of known failures.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum KnownFailuresError {
    /// It is no TOML, or has other fields.
    #[error("{0}")]
    Toml(#[from] Problem),
    /// An entry does not say why it fails.
    #[error("failure {number}: the reason is empty: say why it fails")]
    NoReason {
        /// Which entry, from 1.
        number: usize,
    },
    /// An entry is of what does not exist, so that it would never expire.
    #[error("failure {number}: {what}")]
    Unknown {
        /// Which entry, from 1.
        number: usize,
        /// What there is no such of, and what there is.
        what: String,
    },
    /// Two entries cover the same findings.
    #[error("failure {number} stands twice: delete one")]
    Twice {
        /// The second of them, from 1.
        number: usize,
    },
}

impl KnownFailures {
    /// Reads a file's text.
    ///
    /// # Errors
    /// What is wrong and in which line; also an entry without a reason, one of no stage or reduction, and one that
    /// stands twice.
    pub fn parse(text: &str) -> Result<Self, KnownFailuresError> {
        let known: Self = toml_node::read("the file of known failures", text)?;
        let mut places = BTreeSet::new();
        for (i, failure) in known.failures.iter().enumerate() {
            let number = i + 1;
            if failure.reason.trim().is_empty() {
                return Err(KnownFailuresError::NoReason { number });
            }
            if let Some(what) = failure.unknown() {
                return Err(KnownFailuresError::Unknown { number, what });
            }
            if !places.insert(failure.place()) {
                return Err(KnownFailuresError::Twice { number });
            }
        }
        Ok(known)
    }

    /// The entry that a finding falls under.
    #[must_use]
    pub fn excuse(&self, report: &EngineReport, finding: &Finding) -> Option<&KnownFailure> {
        self.failures.iter().find(|known| {
            known.is_of(report)
                && known.stage == finding.stage.name
                && known.reduction == reduction_of(finding)
        })
    }

    /// A sentence for every entry whose stage ran and did not fail.
    #[must_use]
    pub fn passing_again(&self, reports: &[EngineReport]) -> Vec<String> {
        let mut sentences = Vec::new();
        for known in &self.failures {
            for report in reports.iter().filter(|report| known.is_of(report)) {
                let rows = report.named_rows().filter(|&(stage, reduction, _)| {
                    known.stage == stage && known.reduction == reduction
                });
                for (_, _, row) in rows {
                    if row.count(Verdict::Agree) > 0 && row.count(Verdict::Disagree) == 0 {
                        let place = place(&report.id, &known.stage, &known.reduction);
                        let reason = &known.reason;
                        sentences.push(format!(
                            "{place} passes again: delete the known failure ({reason})"
                        ));
                    }
                }
            }
        }
        sentences
    }
}

impl KnownFailure {
    fn is_of(&self, report: &EngineReport) -> bool {
        self.adapter == report.info.adapter && self.driver == report.info.driver
    }

    /// The stage or the reduction, where there is none of that name.
    fn unknown(&self) -> Option<String> {
        let stage = self.stage.parse::<Stage>().err().map(|error| error.to_string());
        let reduction = || match self.reduction.as_str() {
            "-" => None,
            name => name.parse::<Reduction>().err().map(|error| error.to_string()),
        };
        stage.or_else(reduction)
    }

    /// What it covers: no two entries cover the same.
    fn place(&self) -> [&str; 4] {
        [&self.adapter, &self.driver, &self.stage, &self.reduction]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = "[[failure]]\nadapter = \"a\"\ndriver = \"d 1\"\nstage = \"rasterize\"\n";

    #[test]
    fn an_entry_is_read_and_a_wrong_one_refused_by_name() {
        let known = KnownFailures::parse(&format!("{ENTRY}reason = \"r\"\n")).expect("it is right");
        assert_eq!(known.failures[0].reduction, "-", "no reduction");
        assert_eq!(KnownFailures::parse("").expect("none"), KnownFailures::default(), "empty");
        let twice = format!("{ENTRY}reason = \"r\"\n{ENTRY}reason = \"s\"\n");
        for (text, words) in [
            (ENTRY.to_owned(), "reason"),
            (format!("{ENTRY}reason = \" \"\n"), "failure 1: the reason is empty"),
            (format!("{ENTRY}reason = \"r\"\nreductoin = \"sw-b\"\n"), "reductoin"),
            (
                format!("{ENTRY}reason = \"r\"\nreduction = \"swb\"\n"),
                "failure 1: unknown reduction 'swb': expected one of atomic",
            ),
            (
                format!("{ENTRY}reason = \"r\"\n").replace("rasterize", "rasterise"),
                "failure 1: unknown stage 'rasterise': expected one of project",
            ),
            (twice, "failure 2 stands twice"),
            ("failure = 3".to_owned(), "failure"),
        ] {
            let message = KnownFailures::parse(&text).expect_err("it is wrong").to_string();
            assert!(message.contains(words), "no '{words}' in: {message}");
        }
    }
}
