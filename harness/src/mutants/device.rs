//! A WGSL mutant on an engine in a child process, judged by the oracle.

use super::Catch;
use super::class::Trial;
use super::emulated::{disagrees, stage_of};
use splatcheck_gpu::Setting;
use splatcheck_gpu::Stage;
use splatcheck_gpu::artifact::Artifact;
use splatcheck_gpu::{Engine, EngineError};
use splatcheck_judge::campaign::{Runs, once, tallies};
use splatcheck_judge::engines::drivers::MUTANT;
use splatcheck_judge::engines::{EngineProcess, Found, Limits, Program};
use splatcheck_judge::verdict::Tally;
use std::path::Path;

/// Cases in one request.
const CHUNK: usize = 8;

/// How many cases were run, and what the last of them was caught by.
pub type Hunt<'t> = (u32, Option<(&'t Trial, Catch)>);

/// An engine whose kernels are those of a mutant.
#[derive(Debug)]
pub struct Device {
    engine: EngineProcess,
    stage: Stage,
    settings: Vec<Option<Setting>>,
}

impl Device {
    /// Starts the engine with a patch applied to its kernels; as they are for `None`.
    ///
    /// # Errors
    /// Why it does not start.
    pub fn start(
        found: &Found,
        program: &Program,
        patch: Option<&Path>,
        kernel: Artifact,
    ) -> Result<Self, EngineError> {
        let mut spec = found.spec.clone();
        spec.env.extend(patch.map(|patch| (MUTANT.to_owned(), patch.into())));
        // As everywhere: a kernel that is slow on a busy machine is not taken for one that hangs.
        let engine = EngineProcess::start(spec, program.clone(), Limits::default())?;
        let (stage, settings) = stage_of(&kernel, engine.info().lane_width)?;
        Ok(Self { engine, stage, settings })
    }

    /// Runs the cases that have the kernel's stage with every setting until the first catch; how
    /// many were needed, and what it was. None of them may hold a Gaussian of NaN.
    ///
    /// # Errors
    /// [`EngineError::Compile`] and what else tells of the mutant's text or of the case; that the
    /// device failed tells of the kernel and is a catch.
    pub fn hunt<'t>(&mut self, trials: &[&'t Trial]) -> Result<Hunt<'t>, EngineError> {
        let has = |trial: &&&'t Trial| trial.job(self.stage).is_some();
        let trials: Vec<_> = trials.iter().filter(has).copied().collect();
        let mut cases = 0;
        for chunk in trials.chunks(CHUNK) {
            let caught = match self.run(chunk) {
                Ok(caught) => caught,
                Err(EngineError::Device(words)) => {
                    vec![Some(Catch { by: "no result".to_owned(), words })]
                }
                // Each run says for itself whether a limit stands in its way.
                Err(error) if error.is_a_limit() => self.run_apart(chunk)?,
                Err(error) => return Err(error),
            };
            for (trial, catch) in chunk.iter().zip(caught) {
                cases += 1;
                if let Some(catch) = catch {
                    return Ok((cases, Some((*trial, catch))));
                }
            }
        }
        Ok((cases, None))
    }

    /// The first catch of each case.
    fn run(&mut self, trials: &[&Trial]) -> Result<Vec<Option<Catch>>, EngineError> {
        let jobs = trials.iter().filter_map(|trial| trial.job(self.stage));
        let runs: Vec<_> = jobs.map(|job| Runs { job, settings: self.settings.clone() }).collect();
        let tallies = tallies(&mut self.engine, self.stage, &runs)?;
        Ok(tallies.iter().map(|tallies| self.first(tallies)).collect())
    }

    /// The first catch of each case, a request a setting: runs that a limit stands in the way
    /// of are not exercised and catch nothing.
    fn run_apart(&mut self, trials: &[&Trial]) -> Result<Vec<Option<Catch>>, EngineError> {
        let mut caught = Vec::with_capacity(trials.len());
        for job in trials.iter().filter_map(|trial| trial.job(self.stage)) {
            let mut tallies = Vec::with_capacity(self.settings.len());
            for &setting in &self.settings {
                tallies.push(match once::once(&mut self.engine, job, setting) {
                    Err(error) if error.is_a_limit() => Tally::default(),
                    tally => tally?,
                });
            }
            caught.push(self.first(&tallies));
        }
        Ok(caught)
    }

    /// The first catch of a case under all settings.
    fn first(&self, tallies: &[Tally]) -> Option<Catch> {
        self.settings.iter().zip(tallies).find_map(|(setting, tally)| {
            let name =
                setting.map_or_else(|| self.stage.to_string(), |setting| setting.to_string());
            disagrees(tally, &name)
        })
    }
}
