//! The gate: what a command came to, and whether a build must stop on it.
//!
//! [`Gate::conclude`] weighs what a command found ([`Evidence`]) against what the caller wants to
//! fail on and against the failures that are known ([`KnownFailures`]); the [`Conclusion`] holds every
//! reason to fail and decides the exit code, for every command alike.
//! [`Summary`] is the same as data, and the one source of the four files that others read:
//! JSON, JUnit XML ([`junit()`]), SARIF ([`sarif`]) and the page of a GitHub step ([`step_summary()`]).
//!
//! There are no retries: a kernel that is wrong once is wrong.

mod conclusion;
mod junit;
pub mod known;
mod observed;
mod provenance;
pub mod sarif;
mod step_summary;
mod summary;

pub use conclusion::{Conclusion, Evidence, Inconclusive, Outcome};
pub use junit::{junit, xml};
pub use known::{KnownFailure, KnownFailures, KnownFailuresError};
pub use observed::{MISUSE, Misuse, NO_MISUSE, Observation};
pub use provenance::{Provenance, Role, SourceFile};
pub use step_summary::step_summary;
pub use summary::{
    ElementSummary, EngineSummary, FindingSummary, LimitedSummary, MissingSummary, RowSummary,
    Summary, UnsupportedSummary,
};

use crate::campaign::Finding;
use std::collections::BTreeSet;

/// A verdict that stops the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailOn {
    /// A kernel disagrees, or gave no result; always fails.
    Disagree,
    /// A run had an infinite bound: its kernel could have returned anything there.
    Inconclusive,
    /// Something was asked for and did not run: a class of engines, an engine that was given up, a stage that
    /// it was asked for, a run that a limit of the device stood in the way of, a view that sees nothing.
    NotExercised,
}

/// What stops the build.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gate {
    /// Verdicts beside [`FailOn::Disagree`].
    pub fail_on: BTreeSet<FailOn>,
    /// Failures that do not.
    pub known: KnownFailures,
}

/// The reduction of a finding; "-" for a stage without one.
fn reduction_of(finding: &Finding) -> &'static str {
    finding.setting.map_or("-", |setting| setting.reduction.name())
}

/// Engine, stage and reduction in words.
pub(crate) fn place(engine: &str, stage: &str, reduction: &str) -> String {
    match reduction {
        "-" => format!("{engine}: {stage}"),
        reduction => format!("{engine}: {stage}, {reduction}"),
    }
}
