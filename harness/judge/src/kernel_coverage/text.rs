//! Coverage in words: a row for each artifact, then the holes, those of one line of CUDA together.

use super::holes::{ArtifactCoverage, Coverage, Hole, Kind};
use crate::table::table;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The whole report, ended.
#[must_use]
pub fn text(coverage: &Coverage) -> String {
    let mut text = conclusion(coverage) + "\n";
    for artifact in &coverage.never_ran {
        let _ = writeln!(text, "NEVER RAN: {artifact}");
    }
    text += &holes(&coverage.artifacts);
    for argument in &coverage.refuted {
        let line = argument.cuda.as_ref().or(argument.ptx.first()).map_or("", String::as_str);
        let _ = writeln!(
            text,
            "ARGUED UNREACHABLE BUT EXERCISED: {}: {line} ({}): delete the entry",
            argument.kernel, argument.reason
        );
    }
    text + "\n" + &artifacts(coverage)
}

/// A row for each artifact that ran.
fn artifacts(coverage: &Coverage) -> String {
    let head = ["artifact", "executed", "branches", "guards", "predicates", "holes", "argued"];
    let row = |artifact: &ArtifactCoverage| {
        let argued = artifact.holes.iter().filter(|hole| hole.unreachable.is_some()).count();
        vec![
            artifact.artifact.clone(),
            artifact.instructions.to_string(),
            artifact.branches.to_string(),
            artifact.guards.to_string(),
            artifact.predicates.to_string(),
            (artifact.holes.len() - argued).to_string(),
            argued.to_string(),
        ]
    };
    let head = head.map(str::to_owned).to_vec();
    table(&[head].into_iter().chain(coverage.artifacts.iter().map(row)).collect::<Vec<_>>())
}

/// The holes that nobody argued away: what went one way only, then what was never executed, which
/// mostly follows from it.
fn holes(artifacts: &[ArtifactCoverage]) -> String {
    let mut one_way: BTreeMap<(String, Kind), Places<'_>> = BTreeMap::new();
    let mut never: BTreeMap<String, Places<'_>> = BTreeMap::new();
    for artifact in artifacts {
        for hole in artifact.holes.iter().filter(|hole| hole.unreachable.is_none()) {
            let places = match hole.kind {
                Kind::NeverExecuted => never.entry(place(hole, false)).or_default(),
                Kind::NeverTaken
                | Kind::AlwaysTaken
                | Kind::GuardNeverTrue
                | Kind::GuardAlwaysTrue
                | Kind::NeverTrue
                | Kind::AlwaysTrue => one_way.entry((place(hole, true), hole.kind)).or_default(),
            };
            places.push((&artifact.artifact, hole));
        }
    }
    let mut text = String::new();
    if !one_way.is_empty() {
        let _ = writeln!(text, "\nWent one way only:");
    }
    for ((line, kind), places) in one_way {
        let _ = writeln!(text, "  {line}\n    {kind}, {}", examples(&places));
    }
    if !never.is_empty() {
        let _ = writeln!(text, "\nNever executed:");
    }
    for (line, places) in never {
        let _ = writeln!(text, "  {line}\n    {}", examples(&places));
    }
    text
}

/// Holes with the artifacts that they are in.
type Places<'c> = Vec<(&'c str, &'c Hole)>;

/// The line of CUDA of a hole, `with` the line that it was inlined into or without.
fn place(hole: &Hole, with: bool) -> String {
    let Some(cuda) = &hole.cuda else { return "no line of CUDA".to_owned() };
    let inlined = hole.inlined_at.as_ref().filter(|_| with);
    let from = inlined.map(|at| format!("\n    from {}  {}", at.place, at.text));
    format!("{}  {}{}", cuda.place, cuda.text, from.unwrap_or_default())
}

/// The first place, and how many there are.
fn examples(places: &Places<'_>) -> String {
    let Some((artifact, hole)) = places.first() else { return String::new() };
    let artifacts: BTreeSet<_> = places.iter().map(|(artifact, _)| artifact).collect();
    let first = format!("{}  ({artifact}:{})", hole.ptx.replace('\t', " "), hole.line);
    match (places.len(), artifacts.len()) {
        (1, _) => first,
        (all, 1) => format!("{first}; {all} instructions of it"),
        (all, artifacts) => format!("{first}; {all} instructions of {artifacts} artifacts"),
    }
}

/// The last line.
fn conclusion(coverage: &Coverage) -> String {
    let all: usize = coverage.artifacts.iter().map(|artifact| artifact.holes.len()).sum();
    let unexplained = coverage.unexplained();
    let argued = all + coverage.never_ran.len() - unexplained;
    let instructions: [usize; 2] = coverage.artifacts.iter().fold([0; 2], |[seen, all], one| {
        [seen + one.instructions.seen, all + one.instructions.all]
    });
    format!(
        "{} artifacts ran: {} of {} instructions executed; {unexplained} holes, and {argued} more \
         argued unreachable\n",
        coverage.artifacts.len(),
        instructions[0],
        instructions[1],
    )
}
