//! What a report did not judge, and why: all of it, or grouped by reason.

use crate::campaign::{EngineReport, Unsupported};
use crate::engines::Missing;
use crate::gate::place;
use crate::words::{count, count_of};
use splatcheck_gpu::{Reduction, Stage};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Reasons in a short report.
const REASONS: usize = 3;
/// Names for a reason in a short report.
const NAMES: usize = 3;

/// Something that was not judged.
struct LeftOut {
    kind: Kind,
    /// The engine, perhaps with stage and reduction.
    name: String,
    why: String,
    /// How many elements, where that is the point.
    elements: u64,
}

/// What became of it, the most important first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The engine failed again and again.
    GivenUp,
    /// The engine is there, and died, hung or answered nonsense before it ran anything.
    Lost,
    /// The command promises it, and no engine runs it.
    Promised,
    /// Elements without a finite bound.
    Inconclusive,
    /// A limit of the device stood in the way.
    Unsupported,
    /// The engine has no such kernel.
    NoKernel,
    /// Elements that rounding may leave out.
    NotCompared,
    /// No engine can run it, by the reduction's own limit.
    Beyond,
    /// The machine does not have the engine, which nobody asked for.
    NotFound,
}

impl Kind {
    fn heading(self) -> &'static str {
        match self {
            Self::GivenUp => "NOT EXERCISED further",
            Self::Lost => "LOST",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::NotCompared => "NOT COMPARED",
            Self::Promised | Self::Unsupported | Self::NoKernel => "NOT EXERCISED",
            Self::Beyond => "NOT IN THE PLAN",
            Self::NotFound => "NOT FOUND",
        }
    }

    /// Whether even a short report says it in full: a verdict hangs on it.
    fn is_always_said(self) -> bool {
        match self {
            Self::GivenUp | Self::Lost | Self::Promised | Self::Inconclusive => true,
            Self::Unsupported
            | Self::NoKernel
            | Self::NotCompared
            | Self::Beyond
            | Self::NotFound => false,
        }
    }
}

/// A line for each.
pub(super) fn all(reports: &[EngineReport], missing: &[Missing]) -> String {
    let line = |LeftOut { kind, name, why, elements }: LeftOut| {
        let elements = match elements {
            0 => String::new(),
            elements => format!("{}: ", count(elements, "element")),
        };
        format!("{}: {name}: {elements}{why}\n", kind.heading())
    };
    list(reports, missing).into_iter().map(line).collect()
}

/// A line for each reason, at most [`REASONS`] beside those that a verdict hangs on, and how many there
/// are besides.
pub(super) fn grouped(reports: &[EngineReport], missing: &[Missing]) -> String {
    let mut groups: Vec<Vec<LeftOut>> = Vec::new();
    for one in list(reports, missing) {
        let same = |group: &&mut Vec<LeftOut>| group[0].kind == one.kind && group[0].why == one.why;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let mut text = String::new();
    let (mut said, mut more) = (0, 0);
    for group in groups {
        let LeftOut { kind, why, .. } = &group[0];
        if !kind.is_always_said() {
            if said == REASONS {
                more += group.len();
                continue;
            }
            said += 1;
        }
        let elements: u64 = group.iter().map(|one| one.elements).sum();
        let subject = match elements {
            0 => listed(&group),
            elements => count(elements, "element"),
        };
        let _ = writeln!(text, "{}: {subject}: {why}", kind.heading());
    }
    if more > 0 {
        let _ = writeln!(text, "{more} more were left out or not found: --verbose lists them");
    }
    text
}

/// The first names, and how many there are besides.
fn listed(group: &[LeftOut]) -> String {
    let names: Vec<_> = group.iter().take(NAMES).map(|one| one.name.as_str()).collect();
    match group.len() - names.len() {
        0 => names.join("; "),
        more => format!("{}; and {more} more", names.join("; ")),
    }
}

/// All of it, by kind.
fn list(reports: &[EngineReport], missing: &[Missing]) -> Vec<LeftOut> {
    let mut all: Vec<LeftOut> = reports.iter().flat_map(of_engine).collect();
    all.extend(beyond(reports));
    all.extend(missing.iter().map(|missing| {
        let advice = missing.advice.as_ref().map(|advice| format!(" ({advice})"));
        let why = format!("{}{}", missing.reason, advice.unwrap_or_default());
        let kind = match (missing.lost, missing.promised) {
            (true, _) => Kind::Lost,
            (false, true) => Kind::Promised,
            (false, false) => Kind::NotFound,
        };
        LeftOut { kind, name: missing.candidate.clone(), why, elements: 0 }
    }));
    all.sort_by_key(|one| one.kind);
    all
}

/// What no engine can run, once for all of them: the runs of the engine that has the most.
fn beyond(reports: &[EngineReport]) -> Vec<LeftOut> {
    let mut all: BTreeMap<(Stage, Option<Reduction>), &Unsupported> = BTreeMap::new();
    for (&key, limited) in reports.iter().flat_map(|report| &report.beyond) {
        let known = all.entry(key).or_insert(limited);
        if known.runs < limited.runs {
            *known = limited;
        }
    }
    let left_out = |((stage, reduction), limited): ((Stage, Option<Reduction>), &Unsupported)| {
        let by = reduction.map_or_else(String::new, |reduction| format!(", {reduction}"));
        let why = format!("{limited}, which no engine can run");
        LeftOut { kind: Kind::Beyond, name: format!("{}{by}", stage.name), why, elements: 0 }
    };
    all.into_iter().map(left_out).collect()
}

/// What one engine left out.
fn of_engine(report: &EngineReport) -> Vec<LeftOut> {
    let id = &report.id;
    let mut all = Vec::new();
    let mut add =
        |kind, name: String, why: String| all.push(LeftOut { kind, name, why, elements: 0 });
    if let Some(reason) = &report.given_up {
        add(Kind::GivenUp, format!("{id} was given up"), reason.clone());
    }
    let at = |&(stage, reduction): &(Stage, Option<Reduction>)| {
        place(id, stage.name, reduction.map_or("-", Reduction::name))
    };
    for (key, reason) in &report.unsupported {
        add(Kind::NoKernel, at(key), reason.clone());
    }
    for (key, limited) in &report.limited {
        add(Kind::Unsupported, at(key), limited.to_string());
    }
    for (key, row) in &report.rows {
        if let Some(element) = &row.tally.without_bound {
            let elements = row.tally.inconclusive;
            let have = count_of(elements, "element has", "elements have");
            let why = format!("{have} no finite bound, such as {}", element.place());
            add(Kind::Inconclusive, at(key), why);
        }
    }
    let unbounded = report.rows.iter().filter(|(_, row)| row.tally.unbounded > 0);
    all.extend(unbounded.map(|(key, row)| LeftOut {
        kind: Kind::NotCompared,
        name: at(key),
        why: "rounding decides whether the kernel computes them: either is accepted".to_owned(),
        elements: row.tally.unbounded,
    }));
    all
}
