//! What every case file of the workload begins with, whatever its kind and form: purpose, hazards, notes.

use super::NAME;
use crate::io::error::{Problem, quoted};
use crate::io::toml_node::{Node, Table};
use crate::workload::{NOTE_PREFIX, WORKLOAD_KEY};
use splatcheck_reference::grid::Profile;
use std::collections::BTreeMap;

/// Keys beside those of the fields.
pub(super) const KEYS: [&str; 5] = [WORKLOAD_KEY, "name", "purpose", "hazards", Profile::FIELD];

/// Numbers of hazards, as in `3,5`.
pub(super) fn hazards(text: &str) -> Result<Vec<u8>, Problem> {
    let numbers = text.split(',').map(str::trim).filter(|number| !number.is_empty());
    let parsed = numbers.map(|number| {
        number.parse().ok().filter(|number| (1..=20).contains(number)).ok_or_else(|| {
            Problem::new("hazards", quoted(text), "give numbers from 1 to 20, as in 3,5")
        })
    });
    parsed.collect()
}

/// That all keys are those of notes.
pub(super) fn check_notes(notes: &BTreeMap<String, String>) -> Result<(), Problem> {
    let Some(key) = notes.keys().find(|key| !key.starts_with(NOTE_PREFIX)) else { return Ok(()) };
    let advice = format!("the keys of notes start with {NOTE_PREFIX}");
    Err(Problem::new("the key", quoted(key), advice))
}

/// The same numbers as text.
pub(super) fn joined(hazards: &[u8]) -> String {
    let numbers: Vec<String> = hazards.iter().map(u8::to_string).collect();
    numbers.join(",")
}

/// The purpose and the hazards of a case of this workload.
pub(super) fn head(top: &Table<'_>) -> Result<(String, Vec<u8>), Problem> {
    let workload = top.need(WORKLOAD_KEY)?;
    if workload.string()? != NAME {
        return Err(workload.problem(format!("this is read as a case of '{NAME}'")));
    }
    let purpose = top.need("purpose")?;
    if purpose.string()?.trim().is_empty() {
        return Err(purpose.problem("say in one line what the case is there to catch"));
    }
    let hazards = match top.get("hazards") {
        Some(node) => node.items()?.map(|item| hazard(&item)).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    Ok((purpose.string()?.to_owned(), hazards))
}

fn hazard(node: &Node<'_>) -> Result<u8, Problem> {
    let number: u8 = node.whole()?;
    let known = (1..=20).contains(&number);
    known.then_some(number).ok_or_else(|| node.problem("give numbers from 1 to 20"))
}
