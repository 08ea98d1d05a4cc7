//! What every case file of the workload begins with, whatever its kind and form: purpose, hazards, notes.

use super::NAME;
use crate::io::error::{Problem, quoted};
use crate::io::hazards;
use crate::io::toml_node::Table;
use crate::workload::{NOTE_PREFIX, WORKLOAD_KEY};
use splatcheck_gpu::hazard::Hazard;
use splatcheck_reference::grid::Profile;
use std::collections::BTreeMap;

/// Keys beside those of the fields.
pub(super) const KEYS: [&str; 5] = [WORKLOAD_KEY, "name", "purpose", "hazards", Profile::FIELD];

/// That all keys are those of notes.
pub(super) fn check_notes(notes: &BTreeMap<String, String>) -> Result<(), Problem> {
    let Some(key) = notes.keys().find(|key| !key.starts_with(NOTE_PREFIX)) else { return Ok(()) };
    let advice = format!("the keys of notes start with {NOTE_PREFIX}");
    Err(Problem::new("the key", quoted(key), advice))
}

/// The purpose and the hazards of a case of this workload.
pub(super) fn head(top: &Table<'_>) -> Result<(String, Vec<Hazard>), Problem> {
    let workload = top.need(WORKLOAD_KEY)?;
    if workload.string()? != NAME {
        return Err(workload.problem(format!("this is read as a case of '{NAME}'")));
    }
    let purpose = top.need("purpose")?;
    if purpose.string()?.trim().is_empty() {
        return Err(purpose.problem("say in one line what the case is there to catch"));
    }
    Ok((purpose.string()?.to_owned(), hazards::of_table(top)?))
}
