//! What commands share: which engines they run, and how one is started for a campaign.

use splatcheck_gpu::Setting;

use super::exit::CliError;
use crate::campaign::Contender;
use crate::engines::{Discovery, EngineProcess, Found, Limits, Program};
use splatcheck_gpu::Stage;

/// The engines that were named; without a name one, a device rather than a driver in software.
///
/// # Errors
/// A name that no engine answers to.
pub(super) fn named_or_one(
    names: &[String],
    discovery: &Discovery,
) -> Result<Vec<Found>, CliError> {
    let mut engines = discovery.select(names).map_err(CliError::of)?;
    if names.is_empty() {
        engines.sort_by_key(Found::is_software);
        engines.truncate(1);
    }
    Ok(engines)
}

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
