//! The page of `gradcheck`, `compare` and `accuracy`: what a person looks at when CI is red.

use std::path::Path;

use maud::{Markup, html};
use splatcheck_judge::io::Excerpt;
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::report::page::{document, provenance, source};
use splatcheck_judge::words::count;

use super::gate::{explained_at, how_many};
use super::options::Plan;
use super::question::Question;
use super::ran::{Found, Ran};
use super::report::{AGAIN, departures, notes, on_purpose, rows, setting, worst};
use crate::cli::exit::CliError;
use crate::gradcheck::Judged;
use crate::misuse::element_of;

/// Wrong elements that are shown of an array.
const LISTED: usize = 12;

/// Writes the page; `again` says how a finding is run again.
pub(super) fn write(plan: &Plan, ran: &Ran, again: &[String], file: &Path) -> Result<(), CliError> {
    write_file(file, html_of(plan, ran, again).as_bytes()).map_err(CliError::of)
}

fn html_of(plan: &Plan, ran: &Ran, again: &[String]) -> String {
    let (verdict, arrays) = (ran.verdict(), ran.arrays());
    let compared: usize = arrays.values().map(|judged| judged.compared).sum();
    let wrong = ran.all.iter().filter(|(_, checked)| checked.is_wrong()).count();
    let runs = count(ran.all.len(), "run");
    let lines = notes(ran) + &departures(&ran.conventions);
    let mut table = rows(ran.question, arrays);
    let head = table.remove(0);
    let body = html! {
        header {
            h1 class=(verdict.replace(' ', "-")) { (verdict) }
            p { strong { (plan.run.subject) } }
            p.soft {
                @if wrong > 0 { (wrong) " of " }
                (runs) ", " (count(compared, ran.question.element())) " compared"
            }
            @if let Some(why) = ran.not_judged() { p { (why) } }
            @if let Some(what) = &ran.not_sought { p { (what) } }
        }
        @if let Some(found) = &ran.found {
            h2 { "What is wrong" }
            (finding(plan, ran, found, again))
        }
        h2 { "Arrays" }
        p { (columns(ran.question)) }
        div.wide tabindex="0" { table {
            thead { tr { @for name in &head { th { (name) } } } }
            tbody { @for row in &table { tr { @for cell in row { td { (cell) } } } } }
        } }
        @if !lines.is_empty() {
            h2 { "Notes" }
            ul { @for line in lines.lines() { li { (line) } } }
        }
        (provenance(&plan.dated().facts(env!("CARGO_PKG_VERSION"))))
    };
    document(&plan.run.named(verdict), &body)
}

/// What the last columns of the table are.
fn columns(question: Question) -> &'static str {
    match question {
        Question::Gradient | Question::Equal => {
            "Distance: from a value in real arithmetic to what it must be. f32 error: from the float to that value, as a \
             part of what rounding may do."
        }
        Question::Accuracy => {
            "f32 error: from the float to its value in real arithmetic, as a part of what rounding may do. A float has \
             24 bits."
        }
    }
}

fn finding(plan: &Plan, ran: &Ran, found: &Found, again: &[String]) -> Markup {
    let explained = found.checked.explained.as_ref();
    let excerpt = explained_at(plan, found);
    let excerpt = excerpt.and_then(|(file, line)| Excerpt::of(&file, line as usize));
    html! {
        section.finding {
            h3 { (setting(found)) }
            @if let Some(why) = &found.checked.fault { p { strong { "no result: " (why) } } }
            @if let Some(explained) = explained { p { strong { "looks like: " (explained.words) } } }
            @if let Some(excerpt) = excerpt { (source(&excerpt)) }
            @if let Some(purpose) = &found.purpose { p { (on_purpose(purpose)) } }
            @for line in ran.swept.lines() { p { (line) } }
            @for judged in &found.checked.arrays {
                @if !judged.wrong.is_empty() { (elements(judged)) }
            }
            @for (when, command) in AGAIN.iter().zip(again) {
                p { (when) ":" }
                pre tabindex="0" { code { (command) } }
            }
        }
    }
}

/// The wrong elements of an array, the worst first.
fn elements(judged: &Judged) -> Markup {
    html! {
        p { (judged.name) ": " (how_many(judged)) }
        div.wide tabindex="0" { table {
            thead { tr {
                @for name in ["element", "in real arithmetic", "must be", "distance", "uncertainty", "f32"] {
                    th { (name) }
                }
            } }
            tbody { @for element in worst(judged, LISTED) { tr {
                td { (element_of(&judged.name, &judged.shape, element.index)) }
                td { (format!("{:e}", element.found)) }
                td { (format!("{:e}", element.expected)) }
                td { (format!("{:.3e}", (element.found - element.expected).abs())) }
                td { (format!("{:.1e}", element.uncertainty)) }
                td { (format!("{:e}", element.float)) }
            } } }
        } }
        @if judged.wrong.len() > LISTED { p.soft { "and " (judged.wrong.len() - LISTED) " more" } }
    }
}
