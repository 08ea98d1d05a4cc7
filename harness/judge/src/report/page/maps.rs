//! Tables whose cells have colours.

use crate::coverage::Coverage;
use crate::gate::{EngineSummary, RowSummary, Summary};
use maud::{Markup, html};
use serde_json::Value;
use splatcheck_gpu::Reduction;
use std::collections::{BTreeMap, BTreeSet};

/// A number of the JSON file: one that JSON cannot write is a text there.
#[must_use]
pub fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A number for people.
pub(super) fn number(value: &Value) -> String {
    match float(value) {
        None => "-".to_owned(),
        Some(0.0) => "0".to_owned(),
        Some(x) => format!("{x:.6e}"),
    }
}

/// An error / bound for people: two digits, powers of ten far from 1.
pub(super) fn ratio(ratio: f64) -> String {
    match ratio {
        0.0 => "0".to_owned(),
        ratio if (0.01..1000.0).contains(&ratio) => format!("{ratio:.2}"),
        ratio => format!("{ratio:.0e}"),
    }
}

/// The largest error / bound of an engine.
pub(super) fn worst_of(engine: &EngineSummary) -> Option<f64> {
    engine.rows.iter().filter_map(|row| float(&row.max)).reduce(f64::max)
}

/// The colour of an error / bound.
fn class(ratio: f64) -> &'static str {
    match ratio {
        r if r <= 1.0 / 256.0 => "h0",
        r if r <= 1.0 / 32.0 => "h1",
        r if r <= 0.125 => "h2",
        r if r <= 0.5 => "h3",
        r if r <= 0.9 => "h4",
        r if r <= 1.0 => "h5",
        _ => "bad",
    }
}

/// The worst error / bound of every engine, reduction and threshold, a table for each stage.
pub(super) fn worst(summary: &Summary) -> Markup {
    let mut stages: Vec<(&str, Vec<(&EngineSummary, &RowSummary)>)> = Vec::new();
    for engine in &summary.engines {
        for row in engine.rows.iter().filter(|row| float(&row.max).is_some()) {
            match stages.iter_mut().find(|(stage, _)| *stage == row.stage) {
                Some((_, rows)) => rows.push((engine, row)),
                None => stages.push((&row.stage, vec![(engine, row)])),
            }
        }
    }
    html! { @for (stage, rows) in stages { (stage_map(stage, &rows)) } }
}

fn stage_map(stage: &str, rows: &[(&EngineSummary, &RowSummary)]) -> Markup {
    let thresholds: BTreeSet<u32> =
        rows.iter().flat_map(|(_, row)| row.max_at.keys().copied()).collect();
    html! {
        div.wide tabindex="0" {
            table.map {
                caption { code { (stage) } }
                thead { tr {
                    th { "engine" } th { "reduction" } th { "all" }
                    @for threshold in &thresholds { th { (threshold) } }
                } }
                tbody {
                    @for (engine, row) in rows {
                        tr {
                            td { (engine.id) }
                            td { (row.reduction) }
                            (cell(float(&row.max)))
                            @for threshold in &thresholds {
                                (cell(row.max_at.get(threshold).and_then(float)))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cell(value: Option<f64>) -> Markup {
    match value {
        Some(value) => html! {
            td class=(format!("cell {}", class(value))) title=(format!("{value:e}")) { (ratio(value)) }
        },
        None => html! { td.none { "·" } },
    }
}

/// Columns of a map of lanes that share a number above them.
const GROUP: usize = 8;

/// The longest row of a map.
fn widest(rows: &[(u32, String)]) -> usize {
    rows.iter().map(|(_, tenths)| tenths.chars().count()).max().unwrap_or(0)
}

/// The cells that were met, a table for each reduction.
pub(super) fn coverage(engine: &str, coverage: &Coverage) -> Markup {
    let [met, all] = coverage.count();
    let maps: BTreeMap<&str, Vec<(u32, String)>> = Reduction::ALL
        .into_iter()
        .map(|reduction| (reduction.name(), coverage.rows(reduction)))
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    html! {
        h3 { (engine) ": " (met) " of " (all) " cells" }
        div.charts {
            @for (reduction, rows) in maps {
                div.wide tabindex="0" {
                    table.cover {
                        caption { code { (reduction) } }
                        thead { tr {
                            th { "lanes" }
                            @let all = widest(&rows);
                            @for first in (0..all).step_by(GROUP) {
                                th colspan=(GROUP.min(all - first)) { (first) }
                            }
                        } }
                        tbody { @for (threshold, tenths) in rows {
                            tr {
                                th { (threshold) }
                                @for (lanes, tenth) in tenths.chars().enumerate() {
                                    td.cell style=(shade(tenth)) title=(format!("{lanes} lanes")) {}
                                }
                            }
                        } }
                    }
                }
            }
        }
    }
}

/// The background of a share: a character of [`Coverage::rows`].
fn shade(tenth: char) -> String {
    let share = match tenth {
        '#' => 100,
        '.' => 0,
        digit => digit.to_digit(10).map_or(0, |digit| 10 * digit + 5),
    };
    format!("background:hsl(145 45% 40% / {share}%)")
}
