//! What `check` and `replay` share: starting an engine for a campaign, and the campaign's outcome.

use splatcheck_gpu::BackwardConfig;

use super::exit::{CliError, Outcome};
use crate::campaign::{Contender, EngineReport, Fault, Finding};
use crate::engines::{EngineProcess, Found, Limits, Program};
use crate::verdict::Verdict;
use crate::workloads::splat::stage::StageName;

/// Starts an engine in a process of its own, for all stages.
///
/// # Errors
/// Why it does not start any more, although it was found.
pub fn contender(
    found: &Found,
    program: &Program,
    settings: Vec<BackwardConfig>,
) -> Result<Contender<'static>, CliError> {
    let engine = EngineProcess::start(found.spec.clone(), program.clone(), Limits::default())
        .map_err(|error| CliError::caused(format!("engine {}", found.spec.id), error))?;
    let stages = StageName::ALL.to_vec();
    Ok(Contender { id: found.spec.id.clone(), engine: Box::new(engine), stages, settings })
}

/// The exit code's side of a campaign.
///
/// # Errors
/// That nothing was judged, or that a machine failed where no kernel did: neither must look like a
/// pass.
pub fn outcome(reports: &[EngineReport]) -> Result<Outcome, CliError> {
    let findings = || reports.iter().flat_map(|report| &report.findings);
    let fault = findings().find(|finding| finding.is_of_the_machine());
    match fault {
        Some(Finding { engine, fault: Fault::Engine(error), .. })
            if findings().all(Finding::is_of_the_machine) =>
        {
            Err(CliError::new(format!("engine {engine}: {error}")))
        }
        _ => judged(reports),
    }
}

/// The verdict's side of it.
///
/// # Errors
/// That nothing was judged.
pub fn judged(reports: &[EngineReport]) -> Result<Outcome, CliError> {
    let verdict = reports.iter().map(EngineReport::verdict).max();
    match verdict.unwrap_or(Verdict::NotExercised) {
        Verdict::Disagree => Ok(Outcome::Disagree),
        Verdict::Agree | Verdict::Inconclusive => Ok(Outcome::Agree),
        Verdict::NotExercised => Err(CliError::new("nothing was judged")),
    }
}
