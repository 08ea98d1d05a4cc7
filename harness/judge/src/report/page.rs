//! A run as one HTML file that needs nothing besides itself: no script, no request, charts as SVG,
//! pictures inside.

mod charts;
mod maps;
pub mod pictures;

use crate::coverage::Coverage;
use crate::gate::{
    EngineSummary, FindingSummary, MISUSE, MissingSummary, Misuse, NO_MISUSE, Summary, place,
};
use crate::io::Excerpt;
use crate::report::{compared, rows};
use crate::words::{count, shell_word};
use charts::ChartError;
pub use maps::float;
use maps::ratio;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use pictures::Picture;
use std::collections::BTreeMap;

const STYLE: &str = include_str!("page/style.css");

/// What a page shows.
#[derive(Clone, Debug)]
pub struct Page {
    /// The run.
    pub summary: Summary,
    /// The cells of the reductions that a campaign met, by engine id; none of a single check.
    pub coverage: BTreeMap<String, Coverage>,
    /// Of each engine's findings, what can be seen of it.
    pub pictures: Vec<Vec<Picture>>,
    /// What was counted of the traffic, if it was: a chart for each image or level.
    pub traffic: Vec<Curves>,
}

/// Lines of one chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// What they are of.
    pub title: String,
    /// Each with its name: value by threshold.
    pub lines: Vec<(String, Vec<(u32, f64)>)>,
}

/// A page that cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("a chart cannot be drawn: {0}")]
pub struct PageError(#[from] ChartError);

impl Page {
    /// The HTML text.
    ///
    /// # Errors
    /// See [`PageError`].
    pub fn html(&self) -> Result<String, PageError> {
        let Self { summary, .. } = self;
        let histograms = self.histograms()?;
        let traffic = self.traffic.iter().map(|one| charts::curves(&one.title, &one.lines));
        let traffic = traffic.collect::<Result<Vec<_>, _>>()?;
        let body = html! {
            (verdict(summary))
            @if !summary.faults().is_empty() { h2 { "What is wrong" } }
            @for all in summary.faults() { (self.fault(&all)) }
            @if summary.misuse().next().is_some() { h2 { "What was seen" } }
            @for one in summary.misuse() { (misuse(one)) }
            @if !summary.engines.is_empty() {
                h2 { "Engines" }
                (engines(summary))
                h2 { "How near errors come to their bounds" }
                p { "The largest error / bound of each setting: at most 1 agrees. Columns are balance thresholds." }
                (maps::worst(summary))
                div.charts { @for svg in &histograms { (PreEscaped(svg)) } }
            }
            @if !self.coverage.is_empty() {
                h2 { "Which warps the cases had" }
                p { "For each reduction and threshold (rows) and each number of contributing lanes (columns): \
                     the share of the cells that were met, from none (no colour) to all (full colour)." }
                @for (engine, coverage) in &self.coverage { (maps::coverage(engine, coverage)) }
            }
            @if !traffic.is_empty() {
                h2 { "Traffic by threshold" }
                p { "Operations on global memory, as a share of those of " code { "atomic" } "." }
                div.charts { @for svg in &traffic { (PreEscaped(svg)) } }
            }
            (not_exercised(summary))
            (provenance(&summary.facts()))
        };
        Ok(document(&summary.run.named(&summary.verdict), &body))
    }

    /// The first finding of a fault with its picture, and where else the fault shows.
    fn fault(&self, all: &[(&EngineSummary, &FindingSummary)]) -> Markup {
        let (engine, first) = all[0];
        let places = self.summary.engines.iter().zip(&self.pictures);
        let mut own = places.flat_map(|(engine, pictures)| engine.findings.iter().zip(pictures));
        let picture = own.find(|(found, _)| std::ptr::eq(*found, first));
        let picture = picture.map(|(_, picture)| picture);
        finding(engine, first, picture, &all[1..])
    }

    /// A histogram for each engine.
    fn histograms(&self) -> Result<Vec<String>, PageError> {
        let one = |engine: &EngineSummary| {
            let mut octaves = BTreeMap::new();
            for (&octave, &elements) in engine.rows.iter().flat_map(|row| &row.octaves) {
                *octaves.entry(octave).or_default() += elements;
            }
            charts::histogram(&format!("{}: elements", engine.id), &octaves)
        };
        Ok(self.summary.engines.iter().map(one).collect::<Result<_, _>>()?)
    }
}

/// A whole page of that title, in the style of all.
#[must_use]
pub fn document(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "splatcheck: " (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (body) } }
        }
    };
    page.into_string()
}

/// The verdict in a line, what it rests on, and why the build stops.
fn verdict(summary: &Summary) -> Markup {
    let runs: u64 = summary.engines.iter().map(EngineSummary::runs).sum();
    let rows = summary.engines.iter().flat_map(|engine| &engine.rows);
    let (elements, zeros) = rows.fold((0_u64, 0_u64), |(elements, zeros), row| {
        (elements + row.elements, zeros + row.zeros)
    });
    let engines = summary.engines.len();
    let counted = match &summary.observed {
        Some(observation) => observation.counted(),
        None => {
            let engines = format!("{}, {}", count(engines, "engine"), count(runs, "run"));
            format!("{engines}, {}", compared(elements, zeros))
        }
    };
    html! {
        header {
            h1 class=(class_of(&summary.verdict)) { (summary.verdict) }
            @if !summary.run.subject.is_empty() { p { strong { (summary.run.subject) } } }
            p.soft { (counted) }
            @for line in &summary.run.about { p.soft { (line) } }
            @for what in &summary.not_compared { p { "not compared: " (what) } }
            @if !summary.reasons.is_empty() {
                ul { @for reason in &summary.reasons { li { strong.disagree { "fails: " } (reason) } } }
            }
            @if !summary.excused.is_empty() {
                ul { @for excused in &summary.excused { li { "known failure: " (excused) } } }
            }
        }
    }
}

/// How a verdict looks: nothing is green but what agrees.
fn class_of(verdict: &str) -> &'static str {
    match verdict {
        "agree" => "agree",
        other if other.contains("disagree") => "disagree",
        other if other.contains(MISUSE) && !other.contains(NO_MISUSE) => "disagree",
        "inconclusive" => "inconclusive",
        "not exercised" => "not-exercised",
        _ => "not-judged",
    }
}

/// What was seen where runs were only watched, where, and how to see it again.
fn misuse(misuse: &Misuse) -> Markup {
    html! {
        section.finding {
            h3 { (misuse.engine) ": " (misuse.name()) }
            p { (misuse.what) }
            @for note in &misuse.notes { p { (note) } }
            p.soft { (count(misuse.runs, "run")) " failed in this way (the first: " (misuse.case) ")" }
            @for excerpt in &misuse.source { (source(excerpt)) }
            p { "run it again with:" }
            pre tabindex="0" { code { (misuse.again) } }
        }
    }
}

/// What was wrong, what it looks like, where, how to run it again, and where else the same fault shows.
fn finding(
    engine: &EngineSummary,
    finding: &FindingSummary,
    picture: Option<&Picture>,
    others: &[(&EngineSummary, &FindingSummary)],
) -> Markup {
    let FindingSummary { stage, reduction, threshold, .. } = finding;
    html! {
        section.finding {
            h3 {
                (engine.id) ": " (stage)
                @if reduction != "-" { ", " (reduction) }
                @if let Some(threshold) = threshold { ", threshold " (threshold) }
                @if let Some(known) = &finding.known { " (known: " (known) ")" }
            }
            @if let Some((best, others)) = finding.diagnosis.split_first() {
                p { strong { (best) } }
                @if !others.is_empty() { ul { @for other in others { li { (other) } } } }
            }
            p { (finding.what) }
            @for note in &finding.notes { p { (note) } }
            p.soft {
                (count(finding.runs, "run")) " failed in this way; the smallest case is "
                (finding.case) ", camera " (finding.camera)
            }
            @for excerpt in &finding.source { (source(excerpt)) }
            (outside(finding))
            @if let Some(picture) = picture { (picture.html()) }
            @if !finding.reproducer.is_empty() {
                p { "run it again:" }
                pre tabindex="0" { code { "splatcheck replay " (shell_word(&finding.reproducer)) } }
            }
            @if !others.is_empty() {
                details {
                    summary { "The same fault shows in " (others.len()) " more" }
                    ul { @for (engine, one) in others {
                        li {
                            (one.seen(&engine.id))
                            @if let Some(again) = one.again() { ": " code { (again) } }
                        }
                    } }
                }
            }
        }
    }
}

/// The lines of a source around one of them.
#[must_use]
pub fn source(excerpt: &Excerpt) -> Markup {
    html! {
        p.soft { (excerpt.file) ":" (excerpt.line) }
        pre tabindex="0" { code {
            @for (at, line) in &excerpt.lines {
                @if *at == excerpt.line { strong { (format!("{at:5}  {line}\n")) } }
                @else { (format!("{at:5}  {line}\n")) }
            }
        } }
    }
}

/// Elements in a table.
const LISTED: usize = 12;

/// The elements outside their bounds.
fn outside(finding: &FindingSummary) -> Markup {
    let all = finding.outside.len();
    html! {
        @if all > 0 {
            div.wide tabindex="0" {
                table {
                    thead { tr { th { "element" } th { "kernel" } th { "oracle" } th { "bound" } th { "error / bound" } } }
                    tbody {
                        @for one in finding.outside.iter().take(LISTED) {
                            tr {
                                td { (one.place()) }
                                @for number in [&one.value, &one.oracle, &one.bound, &one.ratio] {
                                    td { (maps::number(number)) }
                                }
                            }
                        }
                    }
                }
            }
            @if all > LISTED { p.soft { "and " (all - LISTED) " more" } }
        }
    }
}

/// A line for each engine.
fn engines(summary: &Summary) -> Markup {
    html! {
        div.wide tabindex="0" {
            table {
                thead { tr {
                    @for head in ["engine", "device", "lanes", "runs", "agree", "disagree", "inconclusive", "not exercised", "error / bound: 99 %", "worst"] {
                        th { (head) }
                    }
                } }
                tbody {
                    @for engine in &summary.engines {
                        @let count = |verdict: &str| -> u64 {
                            engine.rows.iter().filter_map(|row| row.runs.get(verdict)).sum()
                        };
                        tr {
                            td { (engine.id) }
                            td { (engine.adapter) }
                            td { (engine.lane_width) }
                            td { (engine.runs()) }
                            @for verdict in ["agree", "disagree", "inconclusive", "not exercised"] {
                                td { (count(verdict)) }
                            }
                            td { (engine.p99.map_or_else(|| "-".to_owned(), ratio)) }
                            td { (maps::worst_of(engine).map_or_else(|| "-".to_owned(), ratio)) }
                        }
                    }
                }
            }
        }
        @for died in summary.engines.iter().filter_map(|e| rows::died(&e.id, e.deaths)) {
            p { (died) }
        }
    }
}

/// An engine that is not there.
fn absent(missing: &MissingSummary) -> String {
    let advice = missing.advice.as_ref().map_or_else(String::new, |words| format!(" ({words})"));
    format!("{}: {}{advice}", missing.candidate, missing.reason)
}

/// What was not judged, and why.
fn not_exercised(summary: &Summary) -> Markup {
    let mut lines: Vec<String> = Vec::new();
    for engine in &summary.engines {
        let id = &engine.id;
        lines.extend(engine.given_up.iter().map(|why| format!("{id} was given up: {why}")));
        lines.extend(engine.limited.iter().map(|one| {
            let place = place(id, &one.stage, &one.reduction);
            format!("{place}: {}: {}", count(one.runs, "run"), one.reason)
        }));
        lines.extend(
            engine
                .unsupported
                .iter()
                .map(|one| format!("{}: {}", place(id, &one.stage, &one.reduction), one.reason)),
        );
    }
    let missing = |asked| summary.missing.iter().filter(move |missing| missing.asked == asked);
    lines.extend(missing(true).map(absent));
    let notes = summary.not_exercised.iter().chain(&summary.run.not_judged);
    lines.extend(notes.map(|line| line.trim_start_matches("NOT EXERCISED: ").to_owned()));
    let others: Vec<_> = missing(false).map(absent).collect();
    html! {
        @for (title, lines) in [("Not exercised", lines), ("Not found", others)] {
            @if !lines.is_empty() {
                h2 { (title) }
                ul { @for line in lines { li { (line) } } }
            }
        }
    }
}

/// What was judged, with which options, by which version, when.
#[must_use]
pub fn provenance(facts: &[(String, String)]) -> Markup {
    html! {
        h2 { "What was judged" }
        div.wide tabindex="0" {
            table.facts { tbody {
                @for (name, value) in facts { tr { th { (name) } td { (value) } } }
            } }
        }
    }
}
