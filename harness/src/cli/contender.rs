//! What commands share: which engines they run, and how one is started for a campaign.

use splatcheck_gpu::Setting;

use super::exit::CliError;
use crate::campaign::Contender;
use crate::engines::{Discovery, Driver, EngineProcess, Found, Identity, Limits, Program, Team};
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

/// As [`contender`], in several processes where one leaves cores idle, of which there are so many.
///
/// # Errors
/// As [`contender`].
pub(super) fn team(
    found: &Found,
    granted: (&Program, Limits),
    settings: Vec<Setting>,
    cores: usize,
) -> Result<Contender<'static>, CliError> {
    let processes = match found.spec.identity() {
        Identity::Emulator(_) => cores,
        // Most cases have fewer workgroups than it has threads, and it compiles with one: the other
        // engines would wait for it. A third process would compile once more for little.
        Identity::Wgpu(Driver::SwiftShader) => cores.min(2),
        Identity::Wgpu(Driver::Lavapipe { .. } | Driver::Other { .. }) | Identity::Cuda { .. } => 1,
    };
    let first = contender(found, granted, settings)?;
    let others = (1..processes)
        .map(|_| Ok(contender(found, granted, Vec::new())?.engine))
        .collect::<Result<Vec<_>, CliError>>()?;
    if others.is_empty() {
        return Ok(first);
    }
    Ok(Contender { engine: Box::new(Team::new(first.engine, others)), ..first })
}
