//! `splatcheck replay`: runs a reproducer again.

use std::collections::BTreeMap;
use std::io::Write;
use std::str::FromStr;

use splat_gpu::{BackwardConfig, Reduction};

use super::args::ReplayPlan;
use super::exit::{CliError, Outcome};
use super::judged::{contender, outcome};
use crate::campaign::{FORWARD, run as run_campaign};
use crate::engines::{Found, Program};
use crate::io::case_file::{self, CaseFile};
use crate::report::report;

/// What a reproducer recorded besides the case.
#[derive(Debug, PartialEq)]
struct Recorded {
    engine: Option<String>,
    camera: usize,
    /// `None` for the forward stage, and where nothing was recorded.
    setting: Option<BackwardConfig>,
    /// Whether the file names a stage: a plain case names none and is swept.
    plain: bool,
}

impl Recorded {
    fn new(extra: &BTreeMap<String, String>) -> Result<Self, CliError> {
        fn parse<T: FromStr>(
            extra: &BTreeMap<String, String>,
            key: &str,
        ) -> Result<Option<T>, CliError>
        where
            T::Err: std::fmt::Display,
        {
            let Some(text) = extra.get(&format!("splatcheck.{key}")) else { return Ok(None) };
            let value = text.parse().map_err(|error| {
                CliError::new(format!("metadata splatcheck.{key} = '{text}': {error}"))
            })?;
            Ok(Some(value))
        }
        let stage: Option<String> = parse(extra, "stage")?;
        let reduction: Option<Reduction> = parse(extra, "reduction")?;
        let threshold = parse(extra, "threshold")?.unwrap_or(0);
        let forward = stage.as_deref() == Some(FORWARD);
        Ok(Self {
            engine: parse(extra, "engine")?,
            camera: parse(extra, "camera")?.unwrap_or(0),
            setting: reduction
                .filter(|_| !forward)
                .map(|reduction| BackwardConfig { reduction, threshold }),
            plain: stage.is_none(),
        })
    }

    /// The engines to run on: those that were named, else the recorded one, else all.
    fn engines(&self, plan: &ReplayPlan) -> Result<Vec<Found>, CliError> {
        if let Some(engines) = &plan.engines {
            return Ok(engines.clone());
        }
        let names: Vec<String> = self.engine.iter().cloned().collect();
        plan.discovery.select(&names).map_err(|error| {
            CliError::new(format!(
                "the reproducer's engine is not here: {error}; --engine names another"
            ))
        })
    }
}

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`].
pub fn run(plan: &ReplayPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let CaseFile { case, notes } = case_file::read_case(&plan.file)
        .map_err(|error| CliError::caused("cannot read the reproducer", error))?;
    let recorded = Recorded::new(&notes)?;
    if recorded.camera >= case.scene.cameras.len() {
        return Err(CliError::new(format!(
            "{}: splatcheck.camera is {} but the case has {} camera(s)",
            plan.file.display(),
            recorded.camera,
            case.scene.cameras.len()
        )));
    }
    let program = Program::find().map_err(CliError::new)?;
    let contenders = recorded
        .engines(plan)?
        .iter()
        .map(|found| contender(found, &program, recorded.settings(found)?))
        .collect::<Result<Vec<_>, _>>()?;
    if contenders.is_empty() {
        return Err(CliError::new("no engine on this machine: 'splatcheck devices' says why"));
    }
    let camera = recorded.camera;
    let keep = |item: &crate::campaign::Item, _: &mut dyn FnMut(&crate::case::Case) -> bool| {
        item.case.clone()
    };
    let reports = run_campaign([Ok((case, camera))].into_iter(), contenders, &keep, &|_: u64| ())
        .map_err(CliError::new)?;
    let file = plan.file.display().to_string();
    let files: Vec<_> = reports.iter().map(|r| vec![file.clone(); r.findings.len()]).collect();
    out.write_all(report(&reports, &[], &files).as_bytes())?;
    out.flush()?;
    outcome(&reports)
}

impl Recorded {
    /// The setting to run on an engine: the recorded one, none for the forward stage, the sweep for
    /// a case that records nothing.
    fn settings(&self, found: &Found) -> Result<Vec<BackwardConfig>, CliError> {
        let width = found.info.lane_width;
        match self.setting {
            Some(setting) => {
                let setting = setting
                    .check(width)
                    .map_err(|error| CliError::new(format!("engine {}: {error}", found.spec.id)))?;
                Ok(vec![setting])
            }
            None if self.plain => Ok(BackwardConfig::sweep(width)),
            None => Ok(Vec::new()),
        }
    }
}
