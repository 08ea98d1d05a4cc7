//! The campaign as the page of a GitHub step: Markdown, appended to `$GITHUB_STEP_SUMMARY`.

use std::fmt::Write as _;

use super::summary::{EngineSummary, FindingSummary, Summary};
use super::{Misuse, place};
use crate::words::count;

/// The Markdown text: the result and what it is of, the findings, then a table of everything that ran.
#[must_use]
pub fn step_summary(summary: &Summary) -> String {
    let summary = &summary.shown();
    let mut text = String::new();
    let sign = if summary.pass { "passes" } else { "FAILS" };
    let subject = match &*summary.run.subject {
        "" => String::new(),
        subject => format!(" ({})", plain(subject)),
    };
    let _ = writeln!(text, "## splatcheck {sign}: {}{subject}\n", summary.verdict);
    for line in &summary.run.about {
        let _ = writeln!(text, "- {}", plain(line));
    }
    for (name, value) in summary.facts() {
        let _ = writeln!(text, "- {name}: {}", plain(&value));
    }
    for reason in &summary.reasons {
        let _ = writeln!(text, "- **fails**: {}", plain(reason));
    }
    for excused in &summary.excused {
        let _ = writeln!(text, "- known failure: {}", plain(excused));
    }
    for line in &summary.run.not_judged {
        let _ = writeln!(text, "- {}", plain(line));
    }
    for missing in &summary.missing {
        let (candidate, reason) = (plain(&missing.candidate), plain(&missing.reason));
        let what = if missing.asked { "not exercised" } else { "not found" };
        let _ = writeln!(text, "- {what}: {candidate}: {reason}");
    }
    for what in &summary.not_exercised {
        let what = what.trim_start_matches("NOT EXERCISED: ");
        let _ = writeln!(text, "- not exercised: {}", plain(what));
    }
    for what in &summary.not_compared {
        let _ = writeln!(text, "- not compared: {}", plain(what));
    }
    for engine in &summary.engines {
        for limited in &engine.limited {
            let place = place(&plain(&engine.id), &limited.stage, &limited.reduction);
            let (runs, reason) = (count(limited.runs, "run"), plain(&limited.reason));
            let _ = writeln!(text, "- not exercised: {place}: {runs}: {reason}");
        }
        for lacking in &engine.unsupported {
            let place = place(&plain(&engine.id), &lacking.stage, &lacking.reduction);
            let _ = writeln!(text, "- not exercised: {place}: {}", plain(&lacking.reason));
        }
        for beyond in &engine.beyond {
            let place = place(&plain(&engine.id), &beyond.stage, &beyond.reduction);
            let (runs, reason) = (count(beyond.runs, "run"), plain(&beyond.reason));
            let _ = writeln!(text, "- not in the plan: {place}: {runs}: {reason}");
        }
    }
    text.push('\n');
    for all in summary.faults() {
        text += &finding_text(&all);
    }
    for misuse in summary.misuse() {
        text += &misuse_text(misuse);
    }
    if !summary.engines.is_empty() {
        text += &table(summary);
    }
    text
}

/// What was seen where runs were only watched.
fn misuse_text(misuse: &Misuse) -> String {
    let (name, runs) = (plain(&misuse.name()), count(misuse.runs, "run"));
    let lines = misuse.lines().replace("```", "'''");
    format!(
        "<details open><summary>{}: {name} ({runs})</summary>\n\n```text\n{lines}\n```\n\n</details>\n\n",
        plain(&misuse.engine)
    )
}

/// Findings that a list names.
const LISTED: usize = 24;

/// The first finding of a fault, and a line for each other.
fn finding_text(all: &[(&EngineSummary, &FindingSummary)]) -> String {
    let (engine, finding) = all[0];
    let threshold = finding.threshold.map_or_else(String::new, |t| format!(" threshold {t}"));
    let reduction = match &*finding.reduction {
        "-" => String::new(),
        reduction => format!(", {reduction}{threshold}"),
    };
    let mut others: Vec<_> =
        all[1..].iter().take(LISTED).map(|(of, one)| one.seen(&of.id)).collect();
    if !others.is_empty() {
        others.insert(0, format!("\nthe same fault shows in {} more:", all.len() - 1));
    }
    if let more @ 1.. = (all.len() - 1).saturating_sub(LISTED) {
        others.push(format!("and {more} more"));
    }
    others.push(String::new());
    format!(
        "<details open><summary>{}: {}{reduction}, warp size {} ({})</summary>\n\n\
         ```text\n{}\ncase {}, camera {}\n{}{}```\n\n</details>\n\n",
        plain(&engine.id),
        finding.stage,
        engine.lane_width,
        count(finding.runs, "run"),
        finding.lines().replace("```", "'''"),
        finding.case.replace("```", "'''"),
        finding.camera,
        finding.again().map_or_else(String::new, |again| format!("{again}\n")),
        others.join("\n"),
    )
}

fn table(summary: &Summary) -> String {
    let mut text = String::from(
        "| engine | stage | reduction | agree | disagree | inconclusive | not exercised | elements \
         | median | max |\n|---|---|---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for engine in &summary.engines {
        for row in &engine.rows {
            let count = |verdict: &str| row.runs.get(verdict).copied().unwrap_or(0);
            let median = row.median.map_or_else(|| "-".to_owned(), |x| format!("{x:.1e}"));
            let max = match &row.max {
                serde_json::Value::Null => "-".to_owned(),
                max => max.as_f64().map_or_else(|| "inf".to_owned(), |x| format!("{x:.1e}")),
            };
            let _ = writeln!(
                text,
                "| {} | `{}` | {} | {} | {} | {} | {} | {} | {median} | {max} |",
                plain(&engine.id),
                row.stage,
                row.reduction,
                count("agree"),
                count("disagree"),
                count("inconclusive"),
                count("not exercised"),
                row.elements,
            );
        }
    }
    text + "\nmedian, max: error / bound; at most 1 agrees.\n"
}

/// A text of a driver or a file as Markdown shows it: on one line, without markup.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\r' => plain.push(' '),
            '\\' | '`' | '*' | '_' | '<' | '>' | '|' | '[' | ']' => {
                plain.push('\\');
                plain.push(c);
            }
            c => plain.push(c),
        }
    }
    plain
}
