//! The gate: what a campaign came to, for a build that must stop on it.
//!
//! [`Gate::conclude`] weighs the engines' reports against what the caller wants to fail on and
//! against the failures that are known ([`KnownFailures`]); the [`Conclusion`] holds every reason to fail.
//! [`Summary`] is the same as data, and the one source of the three files that others read:
//! JSON, JUnit XML ([`junit()`]) and the page of a GitHub step ([`step_summary()`]).
//!
//! There are no retries: a kernel that is wrong once is wrong.

mod junit;
pub mod known;
mod step_summary;
mod summary;

pub use junit::junit;
pub use known::{KnownFailure, KnownFailures};
pub use step_summary::step_summary;
pub use summary::{EngineSummary, FindingSummary, MissingSummary, RowSummary, Summary};

use crate::campaign::{EngineReport, Fault, Finding};
use crate::engines::Missing;
use crate::verdict::Verdict;
use crate::workloads::splat::stage::StageName;
use std::collections::BTreeSet;

/// A verdict that stops the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailOn {
    /// A kernel disagrees, or gave no result; always fails.
    Disagree,
    /// A run had an infinite bound: its kernel could have returned anything there.
    Inconclusive,
    /// An engine is missing or was given up, or a stage was not run on it or had nothing to compare.
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

/// What a campaign came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conclusion {
    /// Every reason to fail, each a sentence; none passes.
    pub reasons: Vec<String>,
    /// Findings that are the machine's: nothing was judged there. Errors, where nothing disagrees.
    pub faults: Vec<String>,
    /// Findings that are known failures: engine, stage and reduction, and why they are known.
    pub excused: Vec<String>,
}

impl Gate {
    /// Weighs the reports of a campaign; `missing` are the engines that were asked for in vain.
    #[must_use]
    pub fn conclude(&self, reports: &[EngineReport], missing: &[Missing]) -> Conclusion {
        let mut conclusion = Conclusion::default();
        for report in reports {
            for finding in &report.findings {
                let what = place(&report.id, finding.stage.name(), reduction_of(finding));
                match self.known.excuse(report, finding) {
                    Some(known) => conclusion.excused.push(format!("{what}: {}", known.reason)),
                    None => match &finding.fault {
                        Fault::Engine(error) if error.is_of_the_machine() => {
                            conclusion.faults.push(format!("{what}: {error}"));
                        }
                        _ => conclusion.reasons.push(format!("{what} disagrees")),
                    },
                }
            }
        }
        keep_first(&mut conclusion.reasons);
        keep_first(&mut conclusion.excused);
        conclusion.reasons.extend(self.known.passing_again(reports));
        if self.fail_on.contains(&FailOn::Inconclusive) {
            conclusion.reasons.extend(inconclusive(reports));
        }
        if self.fail_on.contains(&FailOn::NotExercised) {
            conclusion.reasons.extend(not_exercised(reports, missing));
        }
        conclusion
    }
}

/// Every sentence once, where it came first: findings of one place need not be next to each other.
fn keep_first(sentences: &mut Vec<String>) {
    let mut before = BTreeSet::new();
    sentences.retain(|sentence| before.insert(sentence.clone()));
}

/// The reduction of a finding; "-" for a stage without one.
fn reduction_of(finding: &Finding) -> &'static str {
    finding.setting.map_or("-", |setting| setting.reduction.name())
}

/// Engine, stage and reduction in words.
fn place(engine: &str, stage: &str, reduction: &str) -> String {
    match reduction {
        "-" => format!("{engine}: {stage}"),
        reduction => format!("{engine}: {stage}, {reduction}"),
    }
}

fn inconclusive(reports: &[EngineReport]) -> Vec<String> {
    let rows = reports.iter().flat_map(|r| r.named_rows().map(move |row| (r, row)));
    rows.filter(|(_, (_, _, row))| row.count(Verdict::Inconclusive) > 0)
        .map(|(report, (stage, reduction, row))| {
            let runs = row.count(Verdict::Inconclusive);
            format!("{} is inconclusive in {runs} runs", place(&report.id, stage, reduction))
        })
        .collect()
}

fn not_exercised(reports: &[EngineReport], missing: &[Missing]) -> Vec<String> {
    let mut reasons: Vec<_> = missing
        .iter()
        .map(|m| format!("{} was not exercised: {}", m.candidate, m.reason))
        .collect();
    for report in reports {
        if let Some(why) = &report.given_up {
            reasons.push(format!("{} was given up: {why}", report.id));
        }
        for (stage, reduction, row) in report.named_rows() {
            if row.tally.elements() == 0 && row.count(Verdict::Disagree) == 0 {
                let place = place(&report.id, stage, reduction);
                reasons.push(format!("{place} was not exercised: nothing was compared"));
            }
        }
        for stage in StageName::ALL {
            if report.rows.keys().all(|&(ran, _)| ran != stage) {
                reasons.push(format!("{}: {stage} was not exercised: it was not run", report.id));
            }
        }
    }
    reasons
}
