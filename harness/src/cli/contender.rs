//! What `check`, `fuzz` and `replay` share: starting an engine for a campaign.

use splatcheck_gpu::Setting;

use super::exit::CliError;
use crate::campaign::Contender;
use crate::engines::{EngineProcess, Found, Limits, Program};
use splatcheck_gpu::Stage;

/// Starts an engine in a process of its own, for all stages, with what it is granted.
///
/// # Errors
/// Why it does not start any more, although it was found.
pub fn contender(
    found: &Found,
    (program, limits): (&Program, Limits),
    settings: Vec<Setting>,
) -> Result<Contender<'static>, CliError> {
    let engine = EngineProcess::start(found.spec.clone(), program.clone(), limits)
        .map_err(|error| CliError::caused(format!("engine {}", found.spec.id()), error))?;
    let stages = Stage::all().collect();
    Ok(Contender {
        id: found.spec.id().to_owned(),
        emulation: found.emulation(),
        engine: Box::new(engine),
        stages,
        settings,
    })
}
