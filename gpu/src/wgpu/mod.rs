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
mod pipeline;
mod probe;
mod submission;

#[cfg(test)]
mod tests;

pub use adapter::{AdapterChoice, AdapterSummary, Options};

use crate::check;
use crate::engine::{DeviceInfo, Engine, EngineError, no_panic};
use crate::layout::{BackwardInputs, RasterGradients, RasterInputs, RasterOutputs};
use crate::reduction::{BackwardConfig, Reduction};
use crate::stages::{self, Params, Variant};
use device::Gpu;
use pipeline::Kernels;
use submission::{Arenas, Dispatch, Span, Submission};

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

/// The inputs of a backward job on the device, shared by all its settings.
struct Uploaded {
    spans: Vec<Span>,
    job: usize,
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

    fn variant(&self, channels: u32, reduction: Reduction) -> Variant {
        Variant { channels, reduction, atomics: self.info.float_atomics }
    }

    fn check_grid(&self, inputs: &RasterInputs) -> Result<(), EngineError> {
        let limit = self.gpu.limits.max_compute_workgroups_per_dimension;
        let [x, y] = inputs.tiles();
        if x.max(y) > limit {
            return Err(EngineError::Input(format!(
                "the image has {x}x{y} tiles, but the device dispatches at most {limit} \
                 workgroups in one dimension (max_compute_workgroups_per_dimension)"
            )));
        }
        Ok(())
    }

    fn flush(
        &mut self,
        submission: &mut Submission,
        read: impl FnMut(&Dispatch, &[u8]),
    ) -> Result<(), EngineError> {
        let full = std::mem::replace(submission, Submission::new(&self.gpu));
        self.arenas.run(&self.gpu, full, read)
    }

    fn rasterize_all(
        &mut self,
        inputs: &[&RasterInputs],
    ) -> Result<Vec<RasterOutputs>, EngineError> {
        let mut results = Vec::with_capacity(inputs.len());
        let mut submission = Submission::new(&self.gpu);
        for job in inputs {
            if !submission.has_room(forward_bytes(job), self.submission_bytes) {
                self.flush(&mut submission, |d, bytes| results.push(outputs(d, bytes)))?;
            }
            let variant = self.variant(job.channels, Reduction::Atomic);
            let kernel = self.kernels.get(&self.gpu, &stages::RASTERIZE, variant)?;
            let pixels = job.pixels();
            let mut spans = vec![submission.params(&Params::new(job, 0))];
            upload_raster(&mut submission, job, &mut spans)?;
            spans.push(submission.output("render_colors", pixels * job.channels as usize)?);
            spans.push(submission.output("render_alphas", pixels)?);
            spans.push(submission.output("render_transmittance", pixels)?);
            spans.push(submission.output("last_ids", pixels)?);
            submission.dispatch(kernel, job.tiles(), spans);
        }
        self.flush(&mut submission, |d, bytes| results.push(outputs(d, bytes)))?;
        Ok(results)
    }

    fn backward_all(
        &mut self,
        jobs: &[(&BackwardInputs, &[BackwardConfig])],
    ) -> Result<Vec<Vec<RasterGradients>>, EngineError> {
        let mut flat = Vec::new();
        let mut submission = Submission::new(&self.gpu);
        let mut uploaded: Option<Uploaded> = None;
        for (job, (inputs, configs)) in jobs.iter().enumerate() {
            let raster = &inputs.raster;
            for config in *configs {
                let fresh = uploaded.as_ref().is_none_or(|u| u.job != job);
                let upload = if fresh { backward_input_bytes(inputs) } else { 0 };
                if !submission.has_room(upload + gradient_bytes(raster), self.submission_bytes) {
                    self.flush(&mut submission, |d, bytes| flat.push(gradients(d, bytes)))?;
                    uploaded = None;
                }
                let shared = match uploaded.take() {
                    Some(shared) if shared.job == job => shared,
                    _ => Uploaded { spans: upload_backward(&mut submission, inputs)?, job },
                };
                let variant = self.variant(raster.channels, config.reduction);
                let kernel = self.kernels.get(&self.gpu, &stages::RASTERIZE_BACKWARD, variant)?;
                let mut spans = vec![submission.params(&Params::new(raster, config.threshold))];
                spans.extend_from_slice(&shared.spans);
                let row = stages::values(raster.channels) as usize;
                spans.push(submission.output("the rows of gradients", raster.len() * row)?);
                submission.dispatch(kernel, raster.tiles(), spans);
                uploaded = Some(shared);
            }
        }
        self.flush(&mut submission, |d, bytes| flat.push(gradients(d, bytes)))?;
        let mut flat = flat.into_iter();
        Ok(jobs.iter().map(|(_, configs)| flat.by_ref().take(configs.len()).collect()).collect())
    }
}

impl Engine for WgpuEngine {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn rasterize(&mut self, inputs: &[&RasterInputs]) -> Result<Vec<RasterOutputs>, EngineError> {
        for job in inputs {
            check::forward(job)?;
            self.check_grid(job)?;
        }
        no_panic("wgpu", || self.rasterize_all(inputs))
    }

    fn rasterize_backward(
        &mut self,
        jobs: &[(&BackwardInputs, &[BackwardConfig])],
    ) -> Result<Vec<Vec<RasterGradients>>, EngineError> {
        for (inputs, configs) in jobs {
            check::backward(inputs)?;
            self.check_grid(&inputs.raster)?;
            check::settings(configs, self.info.lane_width)?;
        }
        no_panic("wgpu", || self.backward_all(jobs))
    }
}

/// Uploads what both stages read, in the order of their tables.
fn upload_raster(
    submission: &mut Submission,
    inputs: &RasterInputs,
    spans: &mut Vec<Span>,
) -> Result<(), EngineError> {
    spans.push(submission.input("the rows of Gaussians", &inputs.rows())?);
    spans.push(submission.input("tile_offsets", &inputs.tile_offsets)?);
    spans.push(submission.input("flatten_ids", &inputs.flatten_ids)?);
    Ok(())
}

fn upload_backward(
    submission: &mut Submission,
    inputs: &BackwardInputs,
) -> Result<Vec<Span>, EngineError> {
    let mut spans = Vec::new();
    upload_raster(submission, &inputs.raster, &mut spans)?;
    spans.push(submission.input("render_transmittance", &inputs.render_transmittance)?);
    spans.push(submission.input("last_ids", &inputs.last_ids)?);
    spans.push(submission.input("v_render_colors", &inputs.v_render_colors)?);
    spans.push(submission.input("v_render_alphas", &inputs.v_render_alphas)?);
    Ok(spans)
}

fn raster_bytes(inputs: &RasterInputs) -> u64 {
    let words = inputs.len() * (6 + inputs.channels as usize)
        + inputs.tile_offsets.len()
        + inputs.flatten_ids.len();
    words as u64 * 4
}

fn image_bytes(inputs: &RasterInputs) -> u64 {
    (inputs.pixels() * (3 + inputs.channels as usize)) as u64 * 4
}

fn forward_bytes(inputs: &RasterInputs) -> u64 {
    raster_bytes(inputs) + image_bytes(inputs)
}

fn backward_input_bytes(inputs: &BackwardInputs) -> u64 {
    raster_bytes(&inputs.raster) + image_bytes(&inputs.raster)
}

fn gradient_bytes(inputs: &RasterInputs) -> u64 {
    inputs.len() as u64 * u64::from(stages::values(inputs.channels)) * 4
}

fn outputs(dispatch: &Dispatch, bytes: &[u8]) -> RasterOutputs {
    let [colors, alphas, transmittance, last] = dispatch.outputs();
    RasterOutputs {
        render_colors: colors.read(bytes),
        render_alphas: alphas.read(bytes),
        render_transmittance: transmittance.read(bytes),
        last_ids: last.read(bytes),
    }
}

fn gradients(dispatch: &Dispatch, bytes: &[u8]) -> RasterGradients {
    let [span] = dispatch.outputs();
    let rows: Vec<f32> = span.read(bytes);
    RasterGradients::from_rows(&rows, dispatch.kernel.variant.channels)
}
