//! The engine that runs the WGSL kernels through wgpu, on Vulkan, Metal and Direct3D 12.
//!
//! Which drivers exist is settled by the environment before the process starts (`VK_DRIVER_FILES`
//! chooses the Vulkan drivers, `LP_NATIVE_VECTOR_WIDTH` lavapipe's lane width); the engine opens
//! what is there and measures what no specification tells (`probe`).
//!
//! A call packs its jobs into one buffer of inputs, one of settings and one of outputs, encodes all
//! dispatches into one submission and reads all outputs back at once; above [`SUBMISSION_BYTES`] it
//! is cut into several. Outputs hold a poison pattern before a kernel runs, so that what a kernel
//! leaves unwritten is seen; gradients are zeroed by the backward stage itself (hazard 19).
//!
//! Faults of the device are errors, never panics: see `device`.

mod adapter;
mod device;
mod job;
mod pipeline;
mod probe;
mod project;
mod raster;
mod submission;

#[cfg(test)]
mod tests;

pub use adapter::{AdapterChoice, AdapterSummary, Options};

use crate::check;
use crate::engine::{DeviceInfo, Engine, EngineError, no_panic};
use crate::layout::{BackwardInputs, RasterGradients, RasterInputs, RasterOutputs};
use crate::projection::{ProjectBackwardInputs, ProjectGradients, ProjectInputs, ProjectOutputs};
use crate::reduction::{BackwardConfig, Reduction};
use device::Gpu;
use job::Job;
use pipeline::Kernels;
use submission::Arenas;

/// Bytes of inputs, settings and outputs from which a call is cut into several submissions.
pub const SUBMISSION_BYTES: u64 = 256 << 20;

/// The engine of one adapter.
#[derive(Debug)]
pub struct WgpuEngine {
    gpu: Gpu,
    info: DeviceInfo,
    kernels: Kernels,
    arenas: Arenas,
    /// Where a call is cut, see [`SUBMISSION_BYTES`].
    submission_bytes: u64,
}

impl WgpuEngine {
    /// Every adapter the environment offers, usable or not, in the order of
    /// [`AdapterChoice::Index`].
    #[must_use]
    pub fn enumerate() -> Vec<AdapterSummary> {
        adapter::enumerate()
    }

    /// Opens an adapter and measures it.
    ///
    /// # Errors
    /// [`EngineError::NoDevice`] if no adapter fits the choice, [`EngineError::Missing`] if it
    /// lacks what the kernels need, [`EngineError::Compile`] or [`EngineError::Device`] if it
    /// fails on the probe.
    pub fn open(choice: &AdapterChoice, options: &Options) -> Result<Self, EngineError> {
        no_panic("wgpu", || {
            let opened = adapter::open(choice, options)?;
            let mut kernels = Kernels::new(options.edit.clone());
            let mut arenas = Arenas::default();
            let probed = probe::probe(&opened.gpu, &mut kernels, &mut arenas, &opened.info)?;
            let info = DeviceInfo {
                adapter: opened.info.name.clone(),
                driver: adapter::driver(&opened.info),
                backend: opened.info.backend.to_string(),
                lane_width: probed.lane_width,
                float_atomics: opened.float_atomics,
                exp_of_zero_is_one: probed.exp_of_zero_is_one,
            };
            tracing::debug!(?info, "opened");
            let submission_bytes = SUBMISSION_BYTES;
            Ok(Self { gpu: opened.gpu, info, kernels, arenas, submission_bytes })
        })
    }

    /// Runs the jobs of a stage that has no settings.
    fn run_each<J: Job>(&mut self, jobs: &[&J]) -> Result<Vec<J::Results>, EngineError> {
        // Such a stage ignores it.
        let config = [BackwardConfig { reduction: Reduction::Atomic, threshold: 0 }];
        let jobs: Vec<_> = jobs.iter().map(|&job| (job, &config[..])).collect();
        no_panic("wgpu", || Ok(self.run_all(&jobs)?.into_iter().flatten().collect()))
    }
}

impl Engine for WgpuEngine {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn rasterize(&mut self, inputs: &[&RasterInputs]) -> Result<Vec<RasterOutputs>, EngineError> {
        for job in inputs {
            check::forward(job)?;
            self.check_groups(*job)?;
        }
        self.run_each(inputs)
    }

    fn rasterize_backward(
        &mut self,
        jobs: &[(&BackwardInputs, &[BackwardConfig])],
    ) -> Result<Vec<Vec<RasterGradients>>, EngineError> {
        for (inputs, configs) in jobs {
            check::backward_job(inputs, configs, self.info.lane_width)?;
            self.check_groups(*inputs)?;
        }
        no_panic("wgpu", || self.run_all(jobs))
    }

    fn project(&mut self, inputs: &[&ProjectInputs]) -> Result<Vec<ProjectOutputs>, EngineError> {
        for job in inputs {
            check::project(job)?;
            self.check_groups(*job)?;
        }
        self.run_each(inputs)
    }

    fn project_backward(
        &mut self,
        jobs: &[(&ProjectBackwardInputs, &[BackwardConfig])],
    ) -> Result<Vec<Vec<ProjectGradients>>, EngineError> {
        for (inputs, configs) in jobs {
            check::project_backward_job(inputs, configs, self.info.lane_width)?;
            self.check_groups(*inputs)?;
        }
        no_panic("wgpu", || self.run_all(jobs))
    }
}
