//! The campaign as JUnit XML, the form that most CI systems show: a suite for every engine, a test
//! case for every stage and reduction of it, and a suite `gate` with every reason to fail.

use std::collections::BTreeSet;

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use super::summary::{EngineSummary, FindingSummary, LimitedSummary, RowSummary, Summary};

/// The XML text. A known failure and what was not exercised are skipped test cases with the reason.
///
/// # Panics
/// Never: the serializer writes to memory and drops characters that XML has not.
#[must_use]
pub fn junit(summary: &Summary) -> String {
    let mut report = Report::new("splatcheck");
    report.add_test_suites(summary.engines.iter().map(engine_suite));
    if !summary.missing.is_empty() {
        report.add_test_suite(missing_suite(summary));
    }
    report.add_test_suite(gate_suite(summary));
    report.to_string().expect("memory takes it")
}

fn engine_suite(engine: &EngineSummary) -> TestSuite {
    let mut suite = TestSuite::new(engine.id.as_str());
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
        let mut case = TestCase::new(name, status(row, &findings, limited));
        case.set_classname(engine.id.as_str());
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
    format!("not exercised in {runs} run{}: {reason}", if *runs == 1 { "" } else { "s" })
}

fn status(
    row: &RowSummary,
    findings: &[&FindingSummary],
    limited: Option<&LimitedSummary>,
) -> TestCaseStatus {
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
        let mut status = TestCaseStatus::skipped();
        status.set_message(format!("known failure: {reason}"));
        return status;
    }
    if row.elements == 0 {
        let mut status = TestCaseStatus::skipped();
        let nothing = "not exercised: nothing was compared".to_owned();
        status.set_message(limited.map_or(nothing, limited_text));
        return status;
    }
    TestCaseStatus::success()
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
        "{threshold}{}\ncase {}, camera {}, {} runs\n{}",
        finding.lines(),
        finding.case,
        finding.camera,
        finding.runs,
        finding.again().unwrap_or_default()
    )
}

fn missing_suite(summary: &Summary) -> TestSuite {
    let mut suite = TestSuite::new("not exercised");
    for missing in &summary.missing {
        let mut status = TestCaseStatus::skipped();
        status.set_message(missing.reason.as_str());
        suite.add_test_case(TestCase::new(missing.candidate.as_str(), status));
    }
    suite
}

fn gate_suite(summary: &Summary) -> TestSuite {
    let mut suite = TestSuite::new("gate");
    if summary.pass {
        suite.add_test_case(TestCase::new("pass", TestCaseStatus::success()));
    }
    for reason in &summary.reasons {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(reason.as_str());
        suite.add_test_case(TestCase::new(reason.as_str(), status));
    }
    suite
}
