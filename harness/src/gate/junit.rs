//! The campaign as JUnit XML, the form that most CI systems show: a suite for every engine, a test
//! case for every stage and reduction of it, and a suite `gate` with every reason to fail.

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use super::NO_MISUSE;
use super::summary::{EngineSummary, FindingSummary, LimitedSummary, RowSummary, Summary};

/// The XML text. A known failure and what was not exercised are skipped test cases with the reason.
///
/// # Panics
/// Never: the serializer writes to memory and drops characters that XML has not.
#[must_use]
pub fn junit(summary: &Summary) -> String {
    let mut report = Report::new("splatcheck");
    report.add_test_suites(summary.engines.iter().map(engine_suite));
    let beside = summary.not_exercised.iter().chain(&summary.not_compared);
    for (name, asked) in [("not exercised", true), ("not found", false)] {
        let missing = summary.missing.iter().filter(|missing| missing.asked == asked);
        let missing = missing.map(|missing| skipped(&missing.candidate, &missing.reason));
        let beside = beside.clone().filter(|_| asked).map(|what| skipped(what, what));
        let cases: Vec<_> = missing.chain(beside).collect();
        if !cases.is_empty() {
            let mut suite = TestSuite::new(name);
            suite.add_test_cases(cases);
            report.add_test_suite(suite);
        }
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
    let lines = |findings: &mut dyn Iterator<Item = &&FindingSummary>| -> String {
        let texts: Vec<_> = findings.map(|finding| finding_text(finding)).collect();
        texts.join("\n")
    };
    let mut new = findings.iter().filter(|finding| finding.known.is_none()).peekable();
    if let Some(first) = new.peek() {
        let kind =
            if first.element.is_some() { NonSuccessKind::Failure } else { NonSuccessKind::Error };
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(first.headline());
        status.set_type("disagree");
        status.set_description(lines(&mut new));
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

fn finding_text(finding: &FindingSummary) -> String {
    let threshold = finding.threshold.map_or_else(String::new, |t| format!("threshold {t}: "));
    format!(
        "{threshold}{}\ncase {}, camera {}, {} runs\nsplatcheck replay {}",
        finding.lines(),
        finding.case,
        finding.camera,
        finding.runs,
        finding.reproducer
    )
}

/// A test case that did not run.
fn skipped(name: &str, why: &str) -> TestCase {
    let mut status = TestCaseStatus::skipped();
    status.set_message(why);
    TestCase::new(name, status)
}

fn gate_suite(summary: &Summary) -> TestSuite {
    let mut suite = TestSuite::new("gate");
    if summary.pass {
        // What was only watched is no agreement, and the name of the test case says so.
        let name = if summary.verdict == NO_MISUSE { NO_MISUSE } else { "pass" };
        suite.add_test_case(TestCase::new(name, TestCaseStatus::success()));
    }
    for reason in &summary.reasons {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(reason.as_str());
        suite.add_test_case(TestCase::new(reason.as_str(), status));
    }
    suite
}
