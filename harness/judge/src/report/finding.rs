//! The findings of a report in words: one fault once, however many engines, reductions and outputs show it.

use crate::campaign::{EngineReport, Fault, Finding, FindingPlace, findings_by_fault};
use crate::diagnosis::Diagnosis;
use crate::words::{count, count_of, shell_word};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// All findings for a person, fault by fault: the first of each, and where else it shows. `files` are their
/// reproducers; one that could not be written has no name.
#[must_use]
pub fn findings_text(reports: &[EngineReport], files: &[Vec<String>]) -> String {
    let file = |[engine, number]: FindingPlace| {
        files.get(engine).and_then(|files| files.get(number)).map_or("", String::as_str)
    };
    let mut text = String::new();
    for group in findings_by_fault(reports) {
        let Some((&first, others)) = group.split_first() else { continue };
        text += &finding_words(&reports[first[0]].findings[first[1]]);
        if !file(first).is_empty() {
            let again = shell_word(file(first));
            let _ = writeln!(text, "  run it again: splatcheck replay {again}");
        }
        text += &shown_by(reports, others);
        let files = others.iter().map(|&place| file(place)).filter(|file| !file.is_empty());
        text += &reproducers(&files.collect::<Vec<_>>());
    }
    text
}

/// A finding for a person, but for how to run it again.
#[must_use]
pub fn finding_words(finding: &Finding) -> String {
    let mut text = String::new();
    let setting = finding.setting.map_or_else(String::new, |setting| format!(", {setting}"));
    let _ = writeln!(
        text,
        "\n{} {}: {}{setting}, warp size {} ({} failed in this way)",
        if finding.is_of_the_machine() { "NO RESULT" } else { "DISAGREE" },
        finding.engine,
        finding.stage,
        finding.lane_width,
        count(finding.runs, "run"),
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

/// Findings of an engine and a reduction that are named.
const NAMED: usize = 4;

/// What else shows the same fault: a line for each engine and reduction.
fn shown_by(reports: &[EngineReport], others: &[FindingPlace]) -> String {
    let mut by: BTreeMap<(usize, &str), Vec<&Finding>> = BTreeMap::new();
    for &[engine, number] in others {
        let finding = &reports[engine].findings[number];
        let reduction = finding.setting.map_or("", |setting| setting.reduction.name());
        by.entry((engine, reduction)).or_default().push(finding);
    }
    let all: u64 = by.values().flatten().map(|finding| finding.runs).sum();
    let mut text = match others.len() {
        0 => return String::new(),
        more => {
            let findings = count_of(more as u64, "more finding", "more findings");
            format!("  the same fault shows in {findings} ({}):\n", count(all, "run"))
        }
    };
    for ((engine, reduction), findings) in by {
        let comma = if reduction.is_empty() { "" } else { ", " };
        let of: u64 = findings.iter().map(|finding| finding.runs).sum();
        let mut shown: Vec<_> = findings.iter().take(NAMED).map(|one| place(one)).collect();
        if let more @ 1.. = findings.len().saturating_sub(NAMED) {
            shown.push(format!("and {more} more"));
        }
        let (id, runs, shown) = (&reports[engine].id, count(of, "run"), shown.join(", "));
        let _ = writeln!(text, "    {id}{comma}{reduction}: {runs}: {shown}");
    }
    text
}

/// Where a finding was seen first: its output, threshold and case.
fn place(finding: &Finding) -> String {
    let what = match &finding.fault {
        Fault::Difference(difference) => difference.output.to_string(),
        Fault::Engine(_) => finding.stage.to_string(),
    };
    let threshold = finding.setting.filter(|setting| setting.reduction.has_threshold());
    let threshold =
        threshold.map_or_else(String::new, |at| format!(" at threshold {}", at.threshold));
    format!("{what}{threshold} in {}", finding.case.name())
}

/// Where the reproducers of the others are.
fn reproducers(files: &[&str]) -> String {
    let again = |file: &str| format!("splatcheck replay {}", shell_word(file));
    match files {
        [] => String::new(),
        [one] => format!("    run it there: {}\n", again(one)),
        [first, more @ ..] => {
            let more = more.len();
            format!("    run it there: {}, and {more} more beside it\n", again(first))
        }
    }
}
