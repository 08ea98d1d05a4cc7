//! The tables of a report: an engine a line, or every stage and reduction of it.

use crate::campaign::{EngineReport, Row};
use crate::table::table;
use crate::verdict::{Tally, Verdict};
use std::fmt::Write as _;
use std::time::Duration;

/// One row for every engine: its runs, what is wrong, how near its errors came to their bounds, and, where
/// it was measured, its time.
pub(super) fn engines(reports: &[EngineReport]) -> String {
    let timed = reports.iter().any(|report| report.busy > Duration::ZERO);
    let mut head = vec!["engine", "runs", "disagree", "inconclusive"];
    head.extend(["error / bound: 99 %", "worst"]);
    head.extend(timed.then_some("time"));
    let mut rows = vec![head.into_iter().map(str::to_owned).collect()];
    for report in reports {
        let count = |verdict| -> u64 { report.rows.values().map(|row| row.count(verdict)).sum() };
        let largest = report.rows.values().filter_map(Row::largest).reduce(f64::max);
        let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "-".to_owned(), ratio_text);
        let mut cells = vec![
            report.id.clone(),
            report.runs().to_string(),
            count(Verdict::Disagree).to_string(),
            count(Verdict::Inconclusive).to_string(),
            ratio(report.sharpness().quantile(0.99)),
            ratio(largest),
        ];
        cells.extend(timed.then(|| format!("{:.1} s", report.busy.as_secs_f64())));
        rows.push(cells);
    }
    table(&rows)
}

/// A line for every engine whose process did not last.
pub(super) fn deaths(reports: &[EngineReport]) -> String {
    let line = |report: &EngineReport| Some(died(&report.id, report.deaths)? + "\n");
    reports.iter().filter_map(line).collect()
}

/// How often an engine's process died, where it did.
pub(super) fn died(id: &str, deaths: u64) -> Option<String> {
    let times = match deaths {
        0 => return None,
        1 => "once".to_owned(),
        _ => format!("{deaths} times"),
    };
    Some(format!(
        "{id}: its process ended {times} in the middle of a request and was started again"
    ))
}

/// Error / bound as people read it: two digits near 1, powers of ten beside it.
pub fn ratio_text(ratio: f64) -> String {
    if (0.01..1000.0).contains(&ratio) { format!("{ratio:.2}") } else { format!("{ratio:.1e}") }
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
             blind: elements on which a kernel that does nothing would agree.\n";
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
    cells.push(ratio(row.largest()));
    cells
}

/// For every reduction that disagrees: at which thresholds it does and does not.
pub(super) fn by_threshold(reports: &[EngineReport]) -> String {
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
