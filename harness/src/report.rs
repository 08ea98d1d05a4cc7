//! The text report: what was judged, what was found, and what was not exercised.

pub mod devices;
pub mod reproducer;

use crate::campaign::{EngineReport, Finding, Row};
use crate::diagnosis::Diagnosis;
use crate::engines::Missing;
use crate::table::table;
use crate::verdict::{Tally, Verdict};
use std::fmt::Write as _;
use std::path::Path;

/// The whole report; `files` are the findings' reproducers, engine by engine.
#[must_use]
pub fn report(reports: &[EngineReport], missing: &[Missing], files: &[Vec<String>]) -> String {
    let mut text = String::new();
    text += &verdicts(reports);
    text += &by_threshold(reports);
    text += &exercised(reports, missing);
    for (report, files) in reports.iter().zip(files) {
        for (finding, file) in report.findings.iter().zip(files) {
            text += &finding_text(finding, file);
        }
    }
    text += &last_line(reports);
    text
}

/// One row for every engine, stage and reduction.
#[must_use]
pub fn verdicts(reports: &[EngineReport]) -> String {
    let head = [
        "engine",
        "stage",
        "reduction",
        "runs",
        "agree",
        "disagree",
        "inconclusive",
        "not exercised",
        "elements",
        "undecided",
        "blind",
        "median",
        "99 %",
        "max",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for report in reports {
        for (stage, reduction, row) in report.named_rows() {
            rows.push(verdict_row(&report.id, stage, reduction, row));
        }
    }
    let mut text = table(&rows);
    text += "median, 99 %, max: error / bound over the elements that are not exact; at most 1 \
             agrees.\nundecided: comparisons that rounding leaves open, followed both ways. \
             blind: elements whose bound would also accept 0.\n";
    text
}

fn verdict_row(engine: &str, stage: &str, reduction: &str, row: &Row) -> Vec<String> {
    let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "-".to_owned(), |r| format!("{r:.1e}"));
    let Tally { sharpness, undecided, blind, .. } = &row.tally;
    let counts = [
        row.runs.values().sum(),
        row.count(Verdict::Agree),
        row.count(Verdict::Disagree),
        row.count(Verdict::Inconclusive),
        row.count(Verdict::NotExercised),
        row.tally.elements(),
        *undecided,
        *blind,
    ];
    let mut cells = vec![engine.to_owned(), stage.to_owned(), reduction.to_owned()];
    cells.extend(counts.map(|count: u64| count.to_string()));
    cells.push(ratio(sharpness.quantile(0.5)));
    cells.push(ratio(sharpness.quantile(0.99)));
    cells.push(ratio(row.furthest.or(sharpness.quantile(1.0))));
    cells
}

/// For every reduction that disagrees: at which thresholds it does and does not.
fn by_threshold(reports: &[EngineReport]) -> String {
    let list = |thresholds: Vec<u32>| {
        let texts: Vec<String> = thresholds.iter().map(ToString::to_string).collect();
        if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
    };
    let mut text = String::new();
    for report in reports {
        for (stage, reduction, row) in report.named_rows() {
            if row.disagree_at.values().all(|&runs| runs == 0) {
                continue;
            }
            let (bad, good): (Vec<u32>, Vec<u32>) =
                row.disagree_at.keys().partition(|threshold| row.disagree_at[threshold] > 0);
            let _ = writeln!(
                text,
                "{} {stage} {reduction}: disagrees at threshold {}; agrees at {}",
                report.id,
                list(bad),
                list(good)
            );
        }
    }
    text
}

/// What was not exercised, loudly: engines that are missing or were given up.
fn exercised(reports: &[EngineReport], missing: &[Missing]) -> String {
    let mut text = String::new();
    for report in reports {
        if let Some(reason) = &report.given_up {
            let _ = writeln!(text, "NOT EXERCISED further: {} was given up: {reason}", report.id);
        }
        for ((stage, reduction), reason) in &report.unsupported {
            let reduction =
                reduction.map_or_else(String::new, |reduction| format!(", {reduction}"));
            let _ = writeln!(text, "NOT EXERCISED: {}: {stage}{reduction}: {reason}", report.id);
        }
        for ((stage, reduction), limited) in &report.limited {
            let reduction =
                reduction.map_or_else(String::new, |reduction| format!(", {reduction}"));
            let _ = writeln!(text, "NOT EXERCISED: {}: {stage}{reduction}: {limited}", report.id);
        }
    }
    for report in reports {
        for (stage, reduction, row) in report.named_rows() {
            let Some(element) = &row.tally.without_bound else { continue };
            let _ = writeln!(
                text,
                "INCONCLUSIVE: {} {stage} {reduction}: {} elements have no finite bound, such as {}",
                report.id,
                row.tally.inconclusive,
                element.place()
            );
        }
        for (stage, reduction, row) in report.named_rows().filter(|(.., r)| r.tally.unbounded > 0) {
            let _ = writeln!(
                text,
                "NOT COMPARED: {} {stage} {reduction}: {} elements of what rounding may leave out",
                report.id, row.tally.unbounded
            );
        }
    }
    for missing in missing {
        let _ = write!(text, "NOT EXERCISED: {}: {}", missing.candidate, missing.reason);
        if let Some(advice) = &missing.advice {
            let _ = write!(text, " ({advice})");
        }
        text.push('\n');
    }
    text
}

/// A finding for a person: what failed, where, by how much, and how to run it again.
#[must_use]
pub fn finding_text(finding: &Finding, file: &str) -> String {
    let again = format!("  run it again: splatcheck replay {}\n", shell_word(file));
    finding_words(finding) + &again
}

/// A finding for a person, but for how to run it again.
#[must_use]
pub fn finding_words(finding: &Finding) -> String {
    let mut text = String::new();
    let setting = finding.setting.map_or_else(String::new, |setting| format!(", {setting}"));
    let _ = writeln!(
        text,
        "\n{} {}: {}{setting}, lane width {} ({} run{} failed in this way)",
        if finding.is_of_the_machine() { "NO RESULT" } else { "DISAGREE" },
        finding.engine,
        finding.stage,
        finding.lane_width,
        finding.runs,
        if finding.runs == 1 { "" } else { "s" },
    );
    for line in finding.diagnosis.iter().flat_map(Diagnosis::lines) {
        let _ = writeln!(text, "  {line}");
    }
    let _ = writeln!(text, "  {}", finding.fault);
    for note in &finding.notes {
        let _ = writeln!(text, "  {note}");
    }
    let size = finding.case.describe(finding.stage, finding.view);
    let _ = writeln!(text, "  case {}: {size}", finding.case.name());
    text
}

/// The path as a shell reads it.
pub(crate) fn shell_word(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

/// One line with the worst verdict.
fn last_line(reports: &[EngineReport]) -> String {
    let verdict = EngineReport::worst(reports);
    let runs: u64 =
        reports.iter().flat_map(|r| r.rows.values()).flat_map(|r| r.runs.values()).sum();
    let elements: u64 =
        reports.iter().flat_map(|r| r.rows.values()).map(|row| row.tally.elements()).sum();
    format!(
        "\n{verdict}: {} engine{}, {runs} runs, {elements} elements compared\n",
        reports.len(),
        if reports.len() == 1 { "" } else { "s" }
    )
}

/// The path of a finding's reproducer in `folder`.
#[must_use]
pub fn reproducer_path(folder: &Path, finding: &Finding) -> std::path::PathBuf {
    folder.join(format!("{}.safetensors", finding.file_stem()))
}
