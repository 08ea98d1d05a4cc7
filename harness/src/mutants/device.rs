//! A WGSL mutant on an engine in a child process, judged by the oracle.

use super::Catch;
use super::class::Trial;
use super::emulated::{disagrees, settings_of};
use crate::engines::drivers::MUTANT;
use crate::engines::{EngineProcess, Found, Limits, Program};
use splat_gpu::artifact::Artifact;
use splat_gpu::{BackwardConfig, DeviceInfo, Engine, EngineError};
use std::path::Path;
use std::time::Duration;

/// Cases in one request.
const CHUNK: usize = 8;

/// How many cases were run, and what the last of them was caught by.
pub type Hunt<'t> = (u32, Option<(&'t Trial, Catch)>);

/// An engine whose kernels are those of a mutant.
#[derive(Debug)]
pub struct Device {
    engine: EngineProcess,
    settings: Vec<BackwardConfig>,
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
        let limits = Limits { request: Duration::from_secs(60), ..Limits::default() };
        let engine = EngineProcess::start(spec, program.clone(), limits)?;
        let settings = settings_of(&kernel, engine.info().lane_width);
        Ok(Self { engine, settings })
    }

    /// Runs cases with every setting until the first catch; how many were needed, and what it was.
    ///
    /// # Errors
    /// [`EngineError::Compile`] and what else tells of the mutant's text or of the case; that the
    /// device failed tells of the kernel and is a catch.
    pub fn hunt<'t>(&mut self, trials: &[&'t Trial]) -> Result<Hunt<'t>, EngineError> {
        let mut cases = 0;
        for chunk in trials.chunks(CHUNK) {
            let caught = match self.run(chunk) {
                Ok(caught) => caught,
                Err(EngineError::Device(words)) => {
                    vec![Some(Catch { by: "no result".to_owned(), words })]
                }
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
        let info = self.engine.info().clone();
        if self.settings.is_empty() {
            let inputs: Vec<_> = trials.iter().map(|trial| &trial.inputs().raster).collect();
            let outputs = self.engine.rasterize(&inputs)?;
            let judge = |(trial, outputs): (&&Trial, _)| {
                disagrees(&trial.judge_forward(outputs, &info), "rasterize")
            };
            return Ok(trials.iter().zip(outputs).map(judge).collect());
        }
        let settings = self.settings.as_slice();
        let jobs: Vec<_> = trials.iter().map(|trial| (trial.inputs(), settings)).collect();
        let gradients = self.engine.rasterize_backward(&jobs)?;
        let all = trials.iter().zip(gradients);
        Ok(all.map(|(trial, gradients)| first(trial, settings, gradients, &info)).collect())
    }
}

fn first(
    trial: &Trial,
    settings: &[BackwardConfig],
    gradients: Vec<splat_gpu::RasterGradients>,
    info: &DeviceInfo,
) -> Option<Catch> {
    settings.iter().zip(gradients).find_map(|(&setting, gradients)| {
        disagrees(&trial.judge_backward(gradients, setting, info), &setting.to_string())
    })
}
