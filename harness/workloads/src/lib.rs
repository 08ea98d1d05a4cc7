//! The judged workloads: a folder each, and a line in [`all`].
//!
//! A part of `splatcheck`, whose front page says how a verdict is made. Beside the workloads stand what
//! names them all: the arrays of users' kernels ([`layout`], [`presets`]), campaigns of drawn cases
//! ([`fuzz`]), and what gradients do in training ([`train`]).
#![forbid(unsafe_code)]

pub mod floats;
pub mod fuzz;
pub mod grid;
pub mod halves;
pub mod layout;
mod ndc;
pub mod presets;
pub mod rounded_cases;
pub mod scatter;
pub mod sparse;
pub mod splat;
pub mod train;

use splatcheck_judge::io::error::quoted;
use splatcheck_judge::io::{InputError, Problem, container, read};
use splatcheck_judge::workload::named::workload_of_text;
use splatcheck_judge::workload::{CaseFile, WORKLOAD_KEY, Workload};
use std::path::Path;
use std::sync::Arc;

/// Every workload, none of its conventions named; first the one that is meant where none is named.
#[must_use]
pub fn all() -> Vec<Arc<dyn Workload>> {
    vec![Arc::new(splat::Splat::default()), Arc::new(scatter::Scatter), Arc::new(grid::Grids)]
}

/// There is no workload of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no workload '{name}': expected {}", names())]
pub struct UnknownWorkload {
    /// The name.
    pub name: String,
}

fn names() -> String {
    all().iter().map(|workload| workload.name()).collect::<Vec<_>>().join(" or ")
}

/// The workload of that name, none of its conventions named.
///
/// # Errors
/// [`UnknownWorkload`].
pub fn find(name: &str) -> Result<Arc<dyn Workload>, UnknownWorkload> {
    let found = all().into_iter().find(|workload| workload.name() == name);
    found.ok_or_else(|| UnknownWorkload { name: name.to_owned() })
}

/// Reads a case of any workload. A `.safetensors` may name the workload in its metadata, a `.toml` by a
/// key; one that does not is a case of splats.
///
/// # Errors
/// Names the field, its value and the rule it breaks.
pub fn read_case(file: &Path) -> Result<CaseFile, InputError> {
    workload_of(file)?.read(file)
}

/// The workload that a case's file names; `None` where it names none.
///
/// # Errors
/// Where the file is not readable, or no `.safetensors` although its name says so.
pub fn name_in(file: &Path) -> Result<Option<String>, InputError> {
    let bytes = read::bytes(file)?;
    if read::is_text(file) {
        // What is no text is refused by whoever reads it.
        return Ok(read::utf8(&bytes).ok().and_then(workload_of_text));
    }
    let container = container::parse(&bytes).map_err(|problem| problem.in_file(file))?;
    Ok(container.text(WORKLOAD_KEY).map(str::to_owned))
}

fn workload_of(file: &Path) -> Result<Arc<dyn Workload>, InputError> {
    let Some(name) = name_in(file)? else { return Ok(Arc::clone(&all()[0])) };
    find(&name).map_err(|_| {
        let advice = match name.as_str() {
            sparse::NAME => "'splatcheck oracle' alone reads such a case".to_owned(),
            _ => format!("expected {}", names()),
        };
        Problem::new(WORKLOAD_KEY, quoted(&name), advice).in_file(file)
    })
}

#[cfg(test)]
mod tests;
