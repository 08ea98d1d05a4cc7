//! The matrix in words: a summary, all cells, and what is wrong with them.

use super::matrix::{Cell, Order, UNCHANGED};
use super::{BY_COUNTS, Mutant};
use splatcheck_gpu::hazard::Hazard;
use splatcheck_judge::table::table;
use std::collections::{BTreeMap, BTreeSet};

/// Share of the seeds that must kill a mutant which one seed kills: else it was luck.
const RELIABLE: (u32, u32) = (19, 20);

/// What the matrix comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Mutants, without repetitions for their kernels.
    pub mutants: usize,
    /// Mutated kernels with the engine on which nothing killed them, though they are not equivalent.
    pub survivors: Vec<String>,
    /// Kernels that no kind of schedule shows in at least 19 of 20 seeds.
    pub luck: Vec<String>,
    /// Right kernels that were accused.
    pub false_alarms: Vec<String>,
    /// Kernels that nothing but the count of atomics kills: their values agree.
    pub by_counts: Vec<String>,
    /// Cases to kill of every kernel on every engine that killed it, by the quickest kind of
    /// schedule and class, sorted.
    pub cases_to_kill: Vec<u32>,
}

impl Summary {
    /// What is wrong with the harness, a sentence each: mutants that survived, and false alarms. A
    /// mutant caught by luck was caught.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let survivors = self.survivors.iter().map(|kernel| format!("{kernel} survives"));
        let alarms = self.false_alarms.iter().map(|alarm| format!("false alarm: {alarm}"));
        survivors.chain(alarms).collect()
    }
}

/// The cells of one kernel on one engine.
type Group<'c> = BTreeMap<(String, String, String), Vec<&'c Cell>>;

fn groups(cells: &[Cell]) -> Group<'_> {
    let mut groups = Group::new();
    for cell in cells {
        let key = (cell.mutant.clone(), cell.kernel.clone(), cell.engine.clone());
        groups.entry(key).or_default().push(cell);
    }
    groups
}

/// Whether a mutant of that name is argued to do what the right kernel does.
fn is_equivalent(mutants: &[Mutant], name: &str) -> bool {
    let mut named = mutants.iter().filter(|mutant| mutant.mutation.name == name);
    named.any(|mutant| mutant.mutation.equivalent.is_some())
}

fn reliable(cell: &Cell) -> bool {
    cell.killed * RELIABLE.1 >= cell.runs * RELIABLE.0 && cell.killed > 0
}

/// Draws the conclusions.
#[must_use]
pub fn summary(mutants: &[Mutant], cells: &[Cell]) -> Summary {
    let wrong = cells.iter().filter(|cell| cell.mutant != UNCHANGED);
    let names: BTreeSet<_> =
        wrong.map(|cell| (&cell.mutant, cell.order == Order::Device)).collect();
    let mut summary = Summary { mutants: names.len(), ..Summary::default() };
    for ((mutant, kernel, engine), cells) in groups(cells) {
        let label = format!("{mutant} ({kernel} on {engine})");
        let killed = cells.iter().any(|cell| cell.killed > 0);
        if mutant == UNCHANGED {
            let accused = cells.iter().filter_map(|cell| cell.example.as_ref());
            let alarm = |example: &String| format!("{label}: {example}");
            summary.false_alarms.extend(accused.map(alarm));
        } else if !killed && !is_equivalent(mutants, &mutant) {
            summary.survivors.push(label);
        } else if killed && !cells.iter().any(|cell| reliable(cell)) {
            summary.luck.push(label);
        }
        let mut by = cells.iter().flat_map(|cell| cell.caught_by.keys()).peekable();
        if mutant != UNCHANGED && by.peek().is_some() && by.all(|by| by == BY_COUNTS) {
            summary.by_counts.push(format!("{mutant} ({kernel} on {engine})"));
        }
        if mutant != UNCHANGED {
            let quickest = cells.iter().filter(|cell| reliable(cell)).filter_map(|c| c.median());
            summary.cases_to_kill.extend(quickest.min());
        }
    }
    summary.cases_to_kill.sort_unstable();
    summary
}

/// How often and how quickly: `20/20 in 3`.
fn pace(cell: &Cell) -> String {
    let rate = match cell.order {
        Order::Lockstep | Order::Device => String::new(),
        Order::Random | Order::Adversarial => format!("{}/{} ", cell.killed, cell.runs),
    };
    match cell.median() {
        Some(cases) => format!("{rate}in {cases}"),
        None => format!("{rate}no"),
    }
}

/// The best of the classes under one kind of schedule.
fn best<'c>(cells: &[&'c Cell], order: Order) -> Option<&'c Cell> {
    let of = cells.iter().filter(|cell| cell.order == order);
    of.max_by_key(|cell| (cell.killed, std::cmp::Reverse(cell.median()))).copied()
}

/// What killed it in any run, most often first.
fn caught_by(cells: &[&Cell]) -> String {
    let mut by: BTreeMap<&str, u32> = BTreeMap::new();
    for (who, runs) in cells.iter().flat_map(|cell| &cell.caught_by) {
        *by.entry(who).or_default() += runs;
    }
    let mut by: Vec<_> = by.into_iter().collect();
    by.sort_by_key(|&(_, runs)| std::cmp::Reverse(runs));
    let names: Vec<_> = by.into_iter().map(|(who, _)| who).collect();
    if names.is_empty() { "nobody".to_owned() } else { names.join(", ") }
}

/// One line for every kernel on every engine: what killed it, and for each kind of schedule the rate
/// and the median of cases on the class that shows it best.
#[must_use]
pub fn summary_table(mutants: &[Mutant], cells: &[Cell]) -> String {
    let hazards: BTreeMap<&str, String> = mutants
        .iter()
        .map(|mutant| (mutant.mutation.name.as_str(), Hazard::joined(&mutant.mutation.hazards)))
        .collect();
    let head = ["mutant", "hazard", "kernel", "engine", "lockstep / run", "random", "adversarial"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows[0].push("caught by".to_owned());
    for ((mutant, kernel, engine), cells) in groups(cells) {
        let pace = |orders: &[Order]| {
            let cell = orders.iter().find_map(|&order| best(&cells, order));
            cell.map_or_else(|| "-".to_owned(), pace)
        };
        let hazard = hazards.get(mutant.as_str()).cloned().unwrap_or_default();
        rows.push(vec![
            mutant,
            hazard,
            kernel,
            engine,
            pace(&[Order::Lockstep, Order::Device]),
            pace(&[Order::Random]),
            pace(&[Order::Adversarial]),
            caught_by(&cells),
        ]);
    }
    table(&rows)
}

/// What each class of cases shows, as Markdown: the kernels that it kills, of those that it was run
/// on, and the cases to the kill in their median; on the emulator in lockstep. Neither right
/// kernels nor equivalent mutants are counted.
#[must_use]
pub fn class_table(mutants: &[Mutant], cells: &[Cell]) -> String {
    let wrong = |cell: &&Cell| cell.mutant != UNCHANGED && !is_equivalent(mutants, &cell.mutant);
    let once = |cell: &&Cell| matches!(cell.order, Order::Lockstep | Order::Device);
    let cells: Vec<_> = cells.iter().filter(wrong).filter(once).collect();
    let engines: BTreeSet<_> = cells.iter().map(|cell| cell.engine.as_str()).collect();
    let mut classes: Vec<_> = cells.iter().map(|cell| cell.class).collect();
    let mut before = BTreeSet::new();
    classes.retain(|class| before.insert(*class));
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let head = std::iter::once("class").chain(engines.iter().copied());
    let mut text = line(head.map(str::to_owned).collect());
    text += &line(vec!["---".to_owned(); engines.len() + 1]);
    for class in classes {
        let of = |engine: &&str| {
            share(cells.iter().filter(|cell| cell.class == class && cell.engine == *engine))
        };
        text += &line(std::iter::once(class.to_owned()).chain(engines.iter().map(of)).collect());
    }
    text
}

/// How many of these cells killed, and the median of the cases: `50/54 in 1`.
fn share<'c>(cells: impl Iterator<Item = &'c &'c Cell>) -> String {
    let medians: Vec<_> = cells.map(|cell| cell.median()).collect();
    let mut killed: Vec<_> = medians.iter().flatten().collect();
    killed.sort_unstable();
    match (killed.get(killed.len() / 2), medians.len()) {
        (_, 0) => "-".to_owned(),
        (None, all) => format!("0/{all}"),
        (Some(cases), all) => format!("{}/{all} in {cases}", killed.len()),
    }
}

/// The conclusions in words.
#[must_use]
pub fn conclusion(summary: &Summary) -> String {
    let list = |what: &str, names: &[String]| match names {
        [] => format!("{what}: none\n"),
        names => format!("{what}: {}\n  {}\n", names.len(), names.join("\n  ")),
    };
    let cases = &summary.cases_to_kill;
    let at = |index: usize| cases.get(index).map_or_else(|| "-".to_owned(), u32::to_string);
    format!(
        "{} mutants; cases to kill: median {}, most {}\n{}{}{}{}",
        summary.mutants,
        at(cases.len() / 2),
        at(cases.len().saturating_sub(1)),
        list("survivors", &summary.survivors),
        list("caught by luck only (fewer than 19 of 20 seeds)", &summary.luck),
        list("killed by counts alone: their values agree", &summary.by_counts),
        list("false alarms", &summary.false_alarms),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_counted_on_every_engine_in_the_order_of_the_matrix() {
        let cell = |mutant: &str, engine: &str, class, cases: &[u32]| Cell {
            mutant: mutant.to_owned(),
            kernel: "rasterize".to_owned(),
            engine: engine.to_owned(),
            order: Order::Device,
            class,
            runs: 1,
            killed: u32::from(!cases.is_empty()),
            cases_to_kill: cases.to_vec(),
            cases: 9,
            seconds: 0.0,
            caught_by: BTreeMap::new(),
            example: None,
        };
        let cells = [
            cell(UNCHANGED, "a", "lanes", &[]),
            cell("x", "a", "lanes", &[3]),
            cell("y", "a", "lanes", &[]),
            cell("x", "b", "lanes", &[]),
            cell("x", "a", "cut", &[1]),
        ];
        let expected = "| class | a | b |\n| --- | --- | --- |\n| lanes | 1/2 in 3 | 0/1 |\n\
                        | cut | 1/1 in 1 | - |\n";
        assert_eq!(class_table(&[], &cells), expected);
    }
}
