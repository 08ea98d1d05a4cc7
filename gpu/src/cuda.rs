//! The engine that runs the CUDA kernels: the driver compiles their PTX for the device, nothing
//! else need be installed.
//!
//! Outputs hold a poison pattern before a kernel runs, so that what a kernel leaves unwritten is
//! seen; gradients are zeros, as the backward kernels expect (hazard 19). A kernel that faults makes
//! its context unusable, so an engine that gave [`EngineError::Device`] must be opened again, and a
//! kernel that hangs can only be ended with its process: whoever runs kernels that are not trusted
//! runs the engine in a child process.

mod driver;
mod failure;
mod geometry;
mod project;
mod timing;

pub use driver::{CudaDevice, devices};

use crate::artifact::{self, Architecture, Artifact};
use crate::check;
use crate::engine::{DeviceInfo, Engine, EngineError, FloatAtomics, POISON, no_panic};
use crate::layout::{BackwardInputs, RasterGradients, RasterInputs, RasterOutputs};
use crate::projection::{ProjectBackwardInputs, ProjectGradients, ProjectInputs, ProjectOutputs};
use crate::reduction::BackwardConfig;
use crate::stages::{Params, values};
use crate::timing::{Peak, Timing};
use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DeviceRepr, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use failure::{failed, refused};
use geometry::Geometry;
use std::collections::BTreeMap;
use std::sync::Arc;

// SAFETY: `Params` is repr(C) and plain data, and its layout is tested against the kernels.
unsafe impl DeviceRepr for Params {}

/// The engine of one CUDA device.
#[derive(Debug)]
pub struct CudaEngine {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    info: DeviceInfo,
    architecture: Architecture,
    fast_math: bool,
    peak: Option<Peak>,
    kernels: BTreeMap<Artifact, CudaFunction>,
}

/// What both stages read, on the device.
struct Raster {
    params: Params,
    geometry: Geometry,
    rows: CudaSlice<f32>,
    tile_offsets: CudaSlice<u32>,
    flatten_ids: CudaSlice<u32>,
}

/// What the backward stage reads besides.
struct Loss {
    render_transmittance: CudaSlice<f32>,
    last_ids: CudaSlice<i32>,
    v_render_colors: CudaSlice<f32>,
    v_render_alphas: CudaSlice<f32>,
}

fn config(geometry: Geometry) -> LaunchConfig {
    let [x, y] = geometry.grid;
    LaunchConfig { grid_dim: (x, y, 1), block_dim: (geometry.block, 1, 1), shared_mem_bytes: 0 }
}

impl CudaEngine {
    /// Opens the driver's device with this number and runs the probe on it. With `fast_math` the
    /// kernels that were compiled with `--use_fast_math` run.
    ///
    /// # Errors
    /// [`EngineError::NoDevice`] without driver or device, [`EngineError::Missing`] for a device
    /// that is too old, [`EngineError::Compile`] for a kernel that is missing, was changed or is not
    /// taken by the driver, [`EngineError::Unavailable`] for want of memory or a lost device,
    /// [`EngineError::Device`] for whatever else the driver reports.
    pub fn open(ordinal: usize, fast_math: bool) -> Result<Self, EngineError> {
        no_panic("CUDA's driver", || {
            let opened = driver::open_usable(ordinal)?;
            let mut engine = Self {
                stream: opened.context.default_stream(),
                context: opened.context,
                info: DeviceInfo {
                    adapter: opened.device.name,
                    driver: opened.driver,
                    backend: if fast_math { "cuda-fast" } else { "cuda" }.to_owned(),
                    lane_width: opened.lane_width,
                    float_atomics: FloatAtomics::Native,
                    exp_of_zero_is_one: false,
                },
                architecture: opened.architecture,
                fast_math,
                peak: opened.peak,
                kernels: BTreeMap::new(),
            };
            engine.info.exp_of_zero_is_one = engine.probe()?;
            tracing::debug!(info = ?engine.info, "opened");
            Ok(engine)
        })
    }

    /// The kernel of a stage, loaded at its first use.
    fn kernel(
        &mut self,
        stage: &'static str,
        reduction: Option<&'static str>,
        channels: Option<u32>,
    ) -> Result<CudaFunction, EngineError> {
        let channels = channels.map(artifact::channels_for);
        let (architecture, fast_math) = (self.architecture, self.fast_math);
        let artifact = Artifact { stage, reduction, channels, architecture, fast_math };
        if let Some(kernel) = self.kernels.get(&artifact) {
            return Ok(kernel.clone());
        }
        let file = artifact.file();
        let ptx = artifact
            .ptx()
            .map_err(|e| EngineError::Compile { kernel: file.clone(), message: e.to_string() })?;
        let loading = refused(&artifact, &self.info.adapter, &self.info.driver);
        let module = self.context.load_module(Ptx::from_src(ptx)).map_err(&loading)?;
        let kernel = module.load_function(&artifact.entry()).map_err(&loading)?;
        self.kernels.insert(artifact, kernel.clone());
        Ok(kernel)
    }

    /// An array on the device; an empty one holds one element, which no kernel reads.
    fn upload<T: DeviceRepr + Default>(
        &self,
        what: &str,
        values: &[T],
    ) -> Result<CudaSlice<T>, EngineError> {
        let failed = failed(what);
        if values.is_empty() {
            return self.stream.clone_htod(&[T::default()]).map_err(failed);
        }
        self.stream.clone_htod(values).map_err(failed)
    }

    /// An array of poison, to be written by a kernel.
    fn poison<T: DeviceRepr + Default + bytemuck::Pod>(
        &self,
        what: &str,
        count: usize,
    ) -> Result<CudaSlice<T>, EngineError> {
        self.upload(what, &vec![bytemuck::cast::<u32, T>(POISON); count])
    }

    fn download<T: DeviceRepr + Default + Clone>(
        &self,
        what: &str,
        from: &CudaSlice<T>,
    ) -> Result<Vec<T>, EngineError> {
        self.stream.clone_dtoh(from).map_err(failed(what))
    }

    /// Whether exp(+-0) is exactly 1.
    fn probe(&mut self) -> Result<bool, EngineError> {
        let kernel = self.kernel("probe", None, None)?;
        let arguments = self.upload("the probe's arguments", &[0.0_f32, -0.0])?;
        let mut exponentials = self.poison::<f32>("the probe's results", 2)?;
        let mut launch = self.stream.launch_builder(&kernel);
        launch.arg(&arguments).arg(&2_u32).arg(&mut exponentials);
        // SAFETY: the arguments are those of probe.cu, and both arrays have two elements.
        unsafe { launch.launch(config(Geometry { grid: [1, 1], block: 32 })) }
            .map_err(failed("launching probe"))?;
        let exponentials = self.download("the probe's results", &exponentials)?;
        Ok(exponentials.iter().all(|e| e.to_bits() == 1.0_f32.to_bits()))
    }

    fn upload_raster(&self, inputs: &RasterInputs, threshold: u32) -> Result<Raster, EngineError> {
        Ok(Raster {
            params: Params::new(inputs, threshold),
            geometry: geometry::tiles(inputs)?,
            rows: self.upload("the rows of Gaussians", &inputs.rows())?,
            tile_offsets: self.upload("tile_offsets", &inputs.tile_offsets)?,
            flatten_ids: self.upload("flatten_ids", &inputs.flatten_ids)?,
        })
    }

    fn upload_loss(&self, inputs: &BackwardInputs) -> Result<Loss, EngineError> {
        Ok(Loss {
            render_transmittance: self
                .upload("render_transmittance", &inputs.render_transmittance)?,
            last_ids: self.upload("last_ids", &inputs.last_ids)?,
            v_render_colors: self.upload("v_render_colors", &inputs.v_render_colors)?,
            v_render_alphas: self.upload("v_render_alphas", &inputs.v_render_alphas)?,
        })
    }

    fn rasterize_one(&mut self, inputs: &RasterInputs) -> Result<RasterOutputs, EngineError> {
        let kernel = self.kernel("rasterize", None, Some(inputs.channels))?;
        let raster = self.upload_raster(inputs, 0)?;
        let pixels = inputs.pixels();
        let mut colors = self.poison::<f32>("render_colors", pixels * inputs.channels as usize)?;
        let mut alphas = self.poison::<f32>("render_alphas", pixels)?;
        let mut transmittance = self.poison::<f32>("render_transmittance", pixels)?;
        let mut last = self.poison::<i32>("last_ids", pixels)?;
        let mut launch = self.stream.launch_builder(&kernel);
        launch.arg(&raster.params).arg(&raster.rows);
        launch.arg(&raster.tile_offsets).arg(&raster.flatten_ids);
        launch.arg(&mut colors).arg(&mut alphas).arg(&mut transmittance).arg(&mut last);
        // SAFETY: the arguments are those of rasterize.cu; `check::forward` has seen that no index
        // leaves its array, and the outputs have the image's size.
        unsafe { launch.launch(config(raster.geometry)) }.map_err(failed("launching rasterize"))?;
        Ok(RasterOutputs {
            render_colors: self.download("render_colors", &colors)?,
            render_alphas: self.download("render_alphas", &alphas)?,
            render_transmittance: self.download("render_transmittance", &transmittance)?,
            last_ids: self.download("last_ids", &last)?,
        })
    }
}

/// A backward kernel together with its inputs on the device.
struct Backward {
    kernel: CudaFunction,
    raster: Raster,
    loss: Loss,
    gradients: CudaSlice<f32>,
}

impl CudaEngine {
    fn prepare(
        &mut self,
        inputs: &BackwardInputs,
        reduction: &'static str,
    ) -> Result<Backward, EngineError> {
        let raster = &inputs.raster;
        let floats = raster.len() * values(raster.channels) as usize;
        Ok(Backward {
            kernel: self.kernel("rasterize_backward", Some(reduction), Some(raster.channels))?,
            raster: self.upload_raster(raster, 0)?,
            loss: self.upload_loss(inputs)?,
            gradients: self.stream.alloc_zeros(floats.max(1)).map_err(failed("gradients"))?,
        })
    }

    /// Zeroes the gradients and launches; the time is that of the kernel by the device's events.
    fn launch(&self, job: &mut Backward, threshold: u32) -> Result<f32, EngineError> {
        self.stream.memset_zeros(&mut job.gradients).map_err(failed("gradients"))?;
        job.raster.params.threshold = threshold;
        let Backward { kernel, raster, loss, gradients } = job;
        let mut launch = self.stream.launch_builder(kernel);
        launch.record_kernel_launch(CUevent_flags::CU_EVENT_DEFAULT);
        launch.arg(&raster.params).arg(&raster.rows);
        launch.arg(&raster.tile_offsets).arg(&raster.flatten_ids);
        launch.arg(&loss.render_transmittance).arg(&loss.last_ids);
        launch.arg(&loss.v_render_colors).arg(&loss.v_render_alphas);
        launch.arg(gradients);
        let failed = failed("rasterize_backward");
        // SAFETY: the arguments are those of rasterize_backward.cu; `check::backward` has seen that
        // no index leaves its array, and the gradients have a row for every Gaussian.
        let events = unsafe { launch.launch(config(raster.geometry)) }.map_err(&failed)?;
        let (start, end) = events.ok_or_else(|| {
            EngineError::Device("rasterize_backward: no events were recorded".to_owned())
        })?;
        start.elapsed_ms(&end).map_err(&failed)
    }

    fn gradients(
        &self,
        inputs: &BackwardInputs,
        job: &Backward,
    ) -> Result<RasterGradients, EngineError> {
        let rows = self.download("gradients", &job.gradients)?;
        let floats = inputs.raster.len() * values(inputs.raster.channels) as usize;
        Ok(RasterGradients::from_rows(&rows[..floats], inputs.raster.channels))
    }

    fn backward_all(
        &mut self,
        inputs: &BackwardInputs,
        configs: &[BackwardConfig],
    ) -> Result<Vec<RasterGradients>, EngineError> {
        let run = |config: &BackwardConfig| {
            let mut job = self.prepare(inputs, artifact::spelled(config.reduction))?;
            self.launch(&mut job, config.threshold)?;
            self.gradients(inputs, &job)
        };
        configs.iter().map(run).collect()
    }
}

impl Engine for CudaEngine {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn rasterize(&mut self, inputs: &[&RasterInputs]) -> Result<Vec<RasterOutputs>, EngineError> {
        inputs.iter().try_for_each(|job| check::forward(job))?;
        no_panic("CUDA's driver", || inputs.iter().map(|job| self.rasterize_one(job)).collect())
    }

    fn rasterize_backward(
        &mut self,
        jobs: &[(&BackwardInputs, &[BackwardConfig])],
    ) -> Result<Vec<Vec<RasterGradients>>, EngineError> {
        for (inputs, configs) in jobs {
            check::backward_job(inputs, configs, self.info.lane_width)?;
        }
        no_panic("CUDA's driver", || {
            jobs.iter().map(|(inputs, configs)| self.backward_all(inputs, configs)).collect()
        })
    }

    fn time_backward(
        &mut self,
        inputs: &BackwardInputs,
        configs: &[BackwardConfig],
        repeats: u32,
    ) -> Result<Timing, EngineError> {
        check::backward_job(inputs, configs, self.info.lane_width)?;
        no_panic("CUDA's driver", || self.time(inputs, configs, repeats))
    }

    fn project(&mut self, inputs: &[&ProjectInputs]) -> Result<Vec<ProjectOutputs>, EngineError> {
        inputs.iter().try_for_each(|job| check::project(job))?;
        no_panic("CUDA's driver", || inputs.iter().map(|job| self.project_one(job)).collect())
    }

    fn project_backward(
        &mut self,
        jobs: &[(&ProjectBackwardInputs, &[BackwardConfig])],
    ) -> Result<Vec<Vec<ProjectGradients>>, EngineError> {
        for (inputs, configs) in jobs {
            check::project_backward_job(inputs, configs, self.info.lane_width)?;
        }
        let mut run = |inputs: &ProjectBackwardInputs, configs: &[BackwardConfig]| {
            configs.iter().map(|&config| self.project_backward_one(inputs, config)).collect()
        };
        no_panic("CUDA's driver", || {
            jobs.iter().map(|(inputs, configs)| run(inputs, configs)).collect()
        })
    }
}
