//! What commands share: which engines they run, and how one is started for a campaign.

use splatcheck_gpu::{Engine, Setting, Stage};

use super::exit::CliError;
use splatcheck_judge::campaign::Contender;
use splatcheck_judge::engines::{Discovery, EngineProcess, Found, Identity, Limits, Program, Team};

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

/// Starts an engine in a process of its own, with what it is granted.
pub(super) fn process(
    found: &Found,
    (program, limits): (&Program, Limits),
) -> Result<Box<dyn Engine + Send>, CliError> {
    let engine = EngineProcess::start(found.spec.clone(), program.clone(), limits)
        .map_err(|error| CliError::caused(format!("engine {}", found.spec.id()), error))?;
    Ok(Box::new(engine))
}

/// An engine that was started, for all stages.
fn for_all_stages(
    found: &Found,
    engine: Box<dyn Engine + Send>,
    settings: Vec<Setting>,
) -> Contender<'static> {
    let (id, emulation) = (found.spec.id().to_owned(), found.emulation());
    Contender { id, emulation, engine, stages: Stage::all().collect(), settings }
}

/// Starts an engine in a process of its own, for all stages, with what it is granted.
///
/// # Errors
/// Why it does not start any more, although it was found.
pub fn contender(
    found: &Found,
    granted: (&Program, Limits),
    settings: Vec<Setting>,
) -> Result<Contender<'static>, CliError> {
    Ok(for_all_stages(found, process(found, granted)?, settings))
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
        // A second process of SwiftShader, for which the others wait, gains nothing: both compile.
        Identity::Wgpu(_) | Identity::Cuda { .. } => 1,
    };
    let engine = Team::of(processes, || process(found, granted))?;
    Ok(for_all_stages(found, engine, settings))
}
