//! The workloads, as typed.

use std::sync::Arc;

use super::convention::ConventionName;
use crate::cli::exit::CliError;
use splatcheck_judge::workload::Workload;
use splatcheck_workloads::UnknownWorkload;

/// A workload by its name.
pub(in crate::cli) fn parse_workload(name: &str) -> Result<Arc<dyn Workload>, UnknownWorkload> {
    splatcheck_workloads::find(name)
}

/// Some of the workloads.
#[derive(Clone, Debug)]
pub struct Workloads(pub(in crate::cli) Vec<Arc<dyn Workload>>);

impl Workloads {
    /// The workloads: at least one.
    pub(in crate::cli) fn list(&self) -> &[Arc<dyn Workload>] {
        &self.0
    }

    /// The names of the workloads.
    pub(in crate::cli) fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|workload| workload.name()).collect()
    }
}

/// There is no workload of that name, nor does it mean all of them.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}, or {ALL}")]
pub(in crate::cli) struct UnknownWorkloads(UnknownWorkload);

/// A workload by its name, or all of them.
pub(in crate::cli) fn parse_workloads(name: &str) -> Result<Workloads, UnknownWorkloads> {
    if name == ALL {
        return Ok(Workloads(splatcheck_workloads::all()));
    }
    Ok(Workloads(vec![splatcheck_workloads::find(name).map_err(UnknownWorkloads)?]))
}

/// The name of all workloads together.
const ALL: &str = "all";

/// A workload under the convention that was named, if one was.
///
/// # Errors
/// The workload has no such convention.
pub(in crate::cli) fn under(
    workload: Arc<dyn Workload>,
    convention: Option<ConventionName>,
) -> Result<Arc<dyn Workload>, CliError> {
    let Some(convention) = convention else { return Ok(workload) };
    let name = convention.profile().name();
    workload.under(name).ok_or_else(|| {
        let workload = workload.name();
        CliError::new(format!("--convention {name}: workload {workload} has none of that name"))
    })
}
