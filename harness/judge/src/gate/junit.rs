//! The campaign as JUnit XML, the form that most CI systems show: a suite for every engine, a test
//! case for every stage and reduction of it, and a suite `gate` with every reason to fail. The suites'
//! names begin with what was judged, so that those of two kernels in one build are not mixed up.

use std::collections::BTreeSet;

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use super::summary::{EngineSummary, FindingSummary, LimitedSummary, RowSummary, Summary};
use super::{Misuse, NO_MISUSE};
use crate::verdict::Verdict;
use crate::words::count;

/// The XML text. A known failure and what was not exercised are skipped test cases with the reason.
///
/// # Panics
/// Never: the serializer writes to memory and drops characters that XML has not.
#[must_use]
pub fn junit(summary: &Summary) -> String {
    let summary = &summary.shown();
    let mut report = Report::new("splatcheck");
    report.add_test_suites(summary.engines.iter().map(|engine| engine_suite(summary, engine)));
    if summary.misuse().next().is_some() {
        report.add_test_suite(misuse_suite(summary));
    }
    for asked in [true, false] {
        let suite = absent_suite(summary, asked);
        if !suite.test_cases.is_empty() {
            report.add_test_suite(suite);
        }
    }
    report.add_test_suite(gate_suite(summary));
    xml(&report)
}

/// A report's XML.
///
/// # Panics
/// Never: as [`junit`].
#[must_use]
pub fn xml(report: &Report) -> String {
    let text = report.to_string().expect("memory takes it");
    // XML 1.0, section 2.2: of what is left these two are no characters.
    text.replace(['\u{FFFE}', '\u{FFFF}'], "\u{FFFD}")
}

/// A suite with what the report is of.
fn suite(summary: &Summary, name: &str) -> TestSuite {
    let mut suite = TestSuite::new(summary.run.named(name));
    for (name, value) in summary.facts() {
        suite.add_property(Property::new(name, value));
    }
    suite
}

fn engine_suite(summary: &Summary, engine: &EngineSummary) -> TestSuite {
    let mut suite = suite(summary, &engine.id);
    for (name, value) in [
        ("adapter", engine.adapter.as_str()),
        ("driver", &engine.driver),
        ("backend", &engine.backend),
        ("warp size", &engine.lane_width.to_string()),
        ("loop limit", &engine.loop_limit),
        ("chain", &engine.chain),
    ] {
        suite.add_property(Property::new(name, value));
    }
    for row in &engine.rows {
        let findings = engine.findings.iter();
        let findings: Vec<_> = findings
            .filter(|finding| finding.stage == row.stage && finding.reduction == row.reduction)
            .collect();
        let name = match &*row.reduction {
            "-" => row.stage.clone(),
            reduction => format!("{} {reduction}", row.stage),
        };
        let same = |limited: &&LimitedSummary| {
            limited.stage == row.stage && limited.reduction == row.reduction
        };
        let limited = engine.limited.iter().find(same);
        let lacking = engine.unsupported.iter();
        let lacking = lacking
            .filter(|one| one.stage == row.stage && one.reduction == row.reduction)
            .map(|one| format!("not exercised: {}", one.reason))
            .next();
        let why_nothing = limited.map(limited_text).or(lacking);
        let why_nothing =
            why_nothing.unwrap_or_else(|| "not exercised: nothing was compared".to_owned());
        let mut case = TestCase::new(name, status(row, &findings, why_nothing));
        case.set_classname(suite.name.clone());
        if let Some(formulation) = &row.formulation {
            case.add_property(Property::new("formulation", formulation.as_str()));
        }
        if let Some(limited) = limited {
            case.set_system_out(limited_text(limited));
        }
        suite.add_test_case(case);
    }
    suite
}

/// How many runs a limit stood in the way of, and which.
fn limited_text(limited: &LimitedSummary) -> String {
    let LimitedSummary { runs, reason, .. } = limited;
    format!("not exercised in {}: {reason}", count(*runs, "run"))
}

fn status(row: &RowSummary, findings: &[&FindingSummary], why_nothing: String) -> TestCaseStatus {
    let mut new = findings.iter().filter(|finding| finding.known.is_none()).peekable();
    if let Some(first) = new.peek() {
        let kind =
            if first.element.is_some() { NonSuccessKind::Failure } else { NonSuccessKind::Error };
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(first.headline());
        status.set_type("disagree");
        status.set_description(texts(new));
        return status;
    }
    if let Some(reason) = findings.first().and_then(|finding| finding.known.as_ref()) {
        return skipped(format!("known failure: {reason}"));
    }
    if row.elements == 0 {
        return skipped(why_nothing);
    }
    if row.runs.contains_key(&Verdict::Inconclusive.to_string())
        && !row.runs.contains_key(&Verdict::Agree.to_string())
    {
        let why = "inconclusive: in every run some bound is infinite, and the kernel may return anything there";
        return skipped(why.to_owned());
    }
    if row.blind >= row.elements {
        let why = "not exercised: a kernel that does nothing would agree with every element";
        return skipped(why.to_owned());
    }
    TestCaseStatus::success()
}

fn skipped(why: String) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(why);
    status
}

/// The findings of a row: the first of each fault in full.
fn texts<'f>(findings: impl Iterator<Item = &'f &'f FindingSummary>) -> String {
    let (mut told, mut texts) = (BTreeSet::new(), Vec::new());
    for finding in findings {
        let is_first = finding.fault.is_empty() || told.insert(&finding.fault);
        texts.push(if is_first { finding_text(finding) } else { in_short(finding) });
    }
    texts.join("\n")
}

/// One more finding of a fault.
fn in_short(finding: &FindingSummary) -> String {
    let threshold = finding.threshold.map_or_else(String::new, |t| format!("threshold {t}: "));
    let again = finding.again().unwrap_or_default();
    format!("the same fault: {threshold}{}, case {}\n{again}", finding.what, finding.case)
}

fn finding_text(finding: &FindingSummary) -> String {
    let threshold = finding.threshold.map_or_else(String::new, |t| format!("threshold {t}: "));
    format!(
        "{threshold}{}\ncase {}, camera {}, {}\n{}",
        finding.lines(),
        finding.case,
        finding.camera,
        count(finding.runs, "run"),
        finding.again().unwrap_or_default()
    )
}

/// What was asked for and not judged beside the stages of the engines, and what the text report says besides;
/// or the engines that nobody asked for and that were not found.
fn absent_suite(summary: &Summary, asked: bool) -> TestSuite {
    let mut suite = suite(summary, if asked { "not exercised" } else { "not found" });
    let mut add = |name: &str, why: &str| {
        let mut case = TestCase::new(name, skipped(why.to_owned()));
        case.set_classname(suite.name.clone());
        suite.add_test_case(case);
    };
    for missing in summary.missing.iter().filter(|missing| missing.asked == asked) {
        add(&missing.candidate, &missing.reason);
    }
    let beside = summary.not_exercised.iter().chain(&summary.not_compared);
    for line in beside.chain(&summary.run.not_judged).filter(|_| asked) {
        add(line.trim_start_matches("NOT EXERCISED: "), line);
    }
    suite
}

/// A test case for each fault that was seen where runs were only watched.
fn misuse_suite(summary: &Summary) -> TestSuite {
    let mut suite = suite(summary, "misuse");
    let case = |misuse: &Misuse| {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(misuse.what.as_str());
        status.set_type(misuse.kind.as_str());
        status.set_description(misuse.lines());
        TestCase::new(misuse.name(), status)
    };
    for mut case in summary.misuse().map(case) {
        case.set_classname(suite.name.clone());
        suite.add_test_case(case);
    }
    suite
}

fn gate_suite(summary: &Summary) -> TestSuite {
    let mut suite = suite(summary, "gate");
    let classname = suite.name.clone();
    let mut add = |name: &str, status| {
        let mut case = TestCase::new(name, status);
        case.set_classname(classname.clone());
        suite.add_test_case(case);
    };
    if summary.pass {
        // What was only watched is no agreement, and the name of the test case says so.
        let name = if summary.verdict == NO_MISUSE { NO_MISUSE } else { "pass" };
        add(name, TestCaseStatus::success());
    }
    for reason in &summary.reasons {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(reason.as_str());
        add(reason, status);
    }
    suite
}
