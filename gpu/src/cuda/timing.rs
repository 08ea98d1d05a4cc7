//! Times of the backward stage, by the device's events.

use super::CudaEngine;
use crate::artifact;
use crate::engine::EngineError;
use crate::layout::BackwardInputs;
use crate::reduction::BackwardConfig;
use crate::timing::Timing;

impl CudaEngine {
    /// See [`crate::Engine::time_backward`]. Gradients are zeroed before each run and outside of the
    /// time.
    pub(super) fn time(
        &mut self,
        inputs: &BackwardInputs,
        configs: &[BackwardConfig],
        repeats: u32,
    ) -> Result<Timing, EngineError> {
        let mut milliseconds = Vec::with_capacity(configs.len());
        for config in configs {
            let mut job = self.prepare(inputs, artifact::spelled(config.reduction))?;
            self.launch(&mut job, config.threshold)?;
            let runs = (0..repeats).map(|_| self.launch(&mut job, config.threshold));
            milliseconds.push(runs.collect::<Result<_, _>>()?);
        }
        Ok(Timing { milliseconds, peak: self.peak })
    }
}
