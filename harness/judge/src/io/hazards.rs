//! The hazards that a case names, in either form of its file.

use super::error::{Problem, quoted};
use super::toml_node::{Node, Table};
use splatcheck_gpu::hazard::{Hazard, NoHazard};

/// The key of either form.
const KEY: &str = "hazards";

/// `hazards = ["early-stop", "batch-border"]`; none where there is no such key.
pub fn of_table(top: &Table<'_>) -> Result<Vec<Hazard>, Problem> {
    let Some(node) = top.get(KEY) else { return Ok(Vec::new()) };
    let hazard = |item: Node<'_>| {
        item.string()?.parse().map_err(|error: NoHazard| item.problem(error.to_string()))
    };
    node.items()?.map(hazard).collect()
}

/// `early-stop, batch-border`.
pub fn of_text(text: &str) -> Result<Vec<Hazard>, Problem> {
    Hazard::list(text).map_err(|error| Problem::new(KEY, quoted(text), error.to_string()))
}
