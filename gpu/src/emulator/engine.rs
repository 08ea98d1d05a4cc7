//! The engine that runs the CUDA kernels' PTX without a GPU.

mod project;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use bytemuck::Pod;

use splatcheck_emulator::{
    Argument, Buffer, DeviceMemory, Fault, Launch, Module, Observers, Report, RunError, Schedule,
    Trace, WARP, run_traced,
};

use crate::artifact::{self, Architecture, Artifact};
use crate::check;
use crate::engine::{DeviceInfo, Engine, EngineError, FloatAtomics};
use crate::layout::{BackwardInputs, RasterGradients, RasterInputs, RasterOutputs};
use crate::projection::{ProjectBackwardInputs, ProjectGradients, ProjectInputs, ProjectOutputs};
use crate::reduction::{BackwardConfig, Reduction};
use crate::stages::{Params, WORKGROUP_SIZE, values};

/// Which artifacts run, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatorOptions {
    /// What the kernels were compiled for.
    pub architecture: Architecture,
    /// The kernels that were compiled with `--use_fast_math`.
    pub fast_math: bool,
    /// Order of execution and rounding of approximate instructions.
    pub schedule: Schedule,
    /// What is watched.
    pub observers: Observers,
    /// Lanes of a warp: a power of two up to 64, see [`Module::with_lane_width`].
    pub lane_width: u32,
}

impl Default for EmulatorOptions {
    fn default() -> Self {
        Self {
            architecture: Architecture::Compute75,
            fast_math: false,
            schedule: Schedule::lockstep(),
            observers: Observers::default(),
            lane_width: WARP,
        }
    }
}

/// The emulator as an engine. A kernel that misuses the machine is [`EngineError::Device`] with the
/// fault's words; [`EmulatorEngine::trace`] then replays it.
#[derive(Debug)]
pub struct EmulatorEngine {
    info: DeviceInfo,
    options: EmulatorOptions,
    modules: BTreeMap<Artifact, Module>,
    replaced: BTreeMap<Replaced, Replacement>,
    report: Report,
    trace: Trace,
    fault: Option<Box<Fault>>,
    /// Whether the latest launch left an output unwritten.
    unwritten: bool,
}

/// Stage and reduction of the artifacts that are not run.
type Replaced = (&'static str, Option<&'static str>);

/// A program that runs in an artifact's place.
#[derive(Debug)]
struct Replacement {
    module: Module,
    entry: String,
}

/// Buffers of what both stages read, and their settings.
struct Raster {
    params: Argument,
    rows: Buffer,
    tile_offsets: Buffer,
    flatten_ids: Buffer,
    grid: [u32; 3],
}

impl EmulatorEngine {
    /// Opens the emulator and runs the probe on it.
    ///
    /// # Errors
    /// [`EngineError::Compile`] for an artifact that is missing, was changed or does not parse;
    /// [`EngineError::Input`] for a lane width that no machine has.
    pub fn open(options: EmulatorOptions) -> Result<Self, EngineError> {
        let backend = if options.fast_math { "emulator-fast" } else { "emulator" };
        let mut engine = Self {
            info: DeviceInfo {
                adapter: format!("PTX emulator, {}", options.architecture.name()),
                driver: format!("splatcheck-gpu {}", env!("CARGO_PKG_VERSION")),
                backend: backend.to_owned(),
                lane_width: options.lane_width,
                float_atomics: FloatAtomics::Native,
                exp_of_zero_is_one: false,
            },
            options,
            modules: BTreeMap::new(),
            replaced: BTreeMap::new(),
            report: Report::default(),
            trace: Trace::new(),
            fault: None,
            unwritten: false,
        };
        engine.info.exp_of_zero_is_one = engine.probe()?;
        Ok(engine)
    }

    /// Chooses how the next launches are scheduled.
    pub fn set_schedule(&mut self, schedule: Schedule) {
        self.options.schedule = schedule;
    }

    /// Runs the entry point of another program in place of the artifacts of a stage and reduction
    /// (as [`artifact::REDUCTIONS`] spells them), for every number of channels. It must take the
    /// artifacts' parameters; a difference in their number or sizes is an error of the launch.
    ///
    /// # Errors
    /// [`EngineError::Compile`] where the program does not parse or has no such entry point.
    pub fn replace(
        &mut self,
        stage: &'static str,
        reduction: Option<&'static str>,
        ptx: &str,
        entry: &str,
    ) -> Result<(), EngineError> {
        let failed = |message| EngineError::Compile { kernel: entry.to_owned(), message };
        let module = Module::parse(ptx).map_err(|e| failed(e.to_string()))?;
        if !module.kernels().any(|kernel| kernel == entry) {
            return Err(failed(format!("the program has no entry point {entry}")));
        }
        let module = on_machine(module, self.options.lane_width)?;
        let kernel = Replacement { module, entry: entry.to_owned() };
        self.replaced.insert((stage, reduction), kernel);
        Ok(())
    }

    /// What the latest launch did.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The misuse that ended the latest launch, if one did.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_deref()
    }

    /// What noticed the misuse for which the latest run gave no result (see
    /// [`FaultKind::observer`](splatcheck_emulator::FaultKind::observer)); `None` where there was none, or
    /// where the launch or the emulator itself was at fault.
    #[must_use]
    pub fn misuse(&self) -> Option<&'static str> {
        let fault = self.fault().map(|fault| fault.kind.observer());
        fault.or(self.unwritten.then_some("output not written"))
    }

    /// The decisions of the latest launch, also if it failed.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    fn launch(
        &mut self,
        artifact: Artifact,
        grid: [u32; 3],
        block: u32,
        arguments: Vec<Argument>,
        memory: &mut DeviceMemory,
    ) -> Result<(), EngineError> {
        let own;
        let (module, entry) = match self.replaced.get(&(artifact.stage, artifact.reduction)) {
            Some(kernel) => (&kernel.module, &kernel.entry),
            None => {
                own = artifact.entry();
                (loaded(&mut self.modules, &artifact, self.options.lane_width)?, &own)
            }
        };
        let launch = Launch { grid, block: [block, 1, 1], dynamic_shared: 0, arguments };
        let EmulatorOptions { schedule, observers, .. } = &self.options;
        let trace = &mut self.trace;
        self.fault = None;
        self.unwritten = false;
        let result = run_traced(module, entry, &launch, memory, schedule, *observers, trace);
        self.report = result.map_err(|error| {
            let text = error.to_string();
            match error {
                RunError::Launch(_) => return EngineError::Input(text),
                RunError::Program(fault) => self.fault = Some(fault),
                RunError::Emulator(_) => {}
            }
            EngineError::Device(text)
        })?;
        Ok(())
    }

    /// Notes that the latest launch left an output unwritten, if it could not be read.
    fn noted<T>(&mut self, outputs: Result<T, EngineError>) -> Result<T, EngineError> {
        self.unwritten = outputs.is_err();
        outputs
    }

    fn artifact(
        &self,
        stage: &'static str,
        reduction: Option<&'static str>,
        channels: Option<u32>,
    ) -> Artifact {
        let EmulatorOptions { architecture, fast_math, .. } = self.options;
        let channels = channels.map(artifact::channels_for);
        Artifact { stage, reduction, channels, architecture, fast_math }
    }

    /// Whether exp(+-0) is exactly 1.
    fn probe(&mut self) -> Result<bool, EngineError> {
        let mut memory = DeviceMemory::new();
        let arguments = upload(&mut memory, &[0.0_f32, -0.0]);
        let exponentials = memory.allocate(8);
        let arguments = vec![arguments.into(), 2_u32.into(), exponentials.into()];
        let artifact = self.artifact("probe", None, None);
        self.launch(artifact, [1, 1, 1], WARP, arguments, &mut memory)?;
        let exponentials = download::<f32>(&memory, "exponentials", exponentials)?;
        Ok(exponentials.iter().all(|e| e.to_bits() == 1.0_f32.to_bits()))
    }

    fn rasterize_one(&mut self, inputs: &RasterInputs) -> Result<RasterOutputs, EngineError> {
        let mut memory = DeviceMemory::new();
        let raster = Raster::upload(&mut memory, inputs, 0);
        let pixels = inputs.pixels();
        let colors = memory.allocate(4 * pixels * inputs.channels as usize);
        let [alphas, transmittance, last] = [4 * pixels; 3].map(|bytes| memory.allocate(bytes));
        let mut arguments = raster.arguments();
        arguments.extend([colors, alphas, transmittance, last].map(Argument::from));
        let artifact = self.artifact("rasterize", None, Some(inputs.channels));
        self.launch(artifact, raster.grid, WORKGROUP_SIZE, arguments, &mut memory)?;
        let outputs = || {
            Ok(RasterOutputs {
                render_colors: download(&memory, "render_colors", colors)?,
                render_alphas: download(&memory, "render_alphas", alphas)?,
                render_transmittance: download(&memory, "render_transmittance", transmittance)?,
                last_ids: download(&memory, "last_ids", last)?,
            })
        };
        self.noted(outputs())
    }

    /// Runs the backward stage with any of [`artifact::REDUCTIONS`] and a threshold, which those
    /// without one ignore.
    ///
    /// # Errors
    /// Any [`EngineError`]; [`EngineError::Compile`] for a reduction that is none.
    pub fn backward_by(
        &mut self,
        inputs: &BackwardInputs,
        reduction: &'static str,
        threshold: u32,
    ) -> Result<RasterGradients, EngineError> {
        check::backward(inputs)?;
        BackwardConfig { reduction: Reduction::SwB, threshold }.check(self.info.lane_width)?;
        self.backward_one(inputs, reduction, threshold)
    }

    /// As [`Self::backward_by`], of inputs that were checked.
    fn backward_one(
        &mut self,
        inputs: &BackwardInputs,
        reduction: &'static str,
        threshold: u32,
    ) -> Result<RasterGradients, EngineError> {
        let raster = &inputs.raster;
        let mut memory = DeviceMemory::new();
        let uploaded = Raster::upload(&mut memory, raster, threshold);
        let zeros = vec![0.0_f32; raster.len() * values(raster.channels) as usize];
        let mut arguments = uploaded.arguments();
        let transmittance = upload(&mut memory, &inputs.render_transmittance);
        let last = upload(&mut memory, &inputs.last_ids);
        let v_colors = upload(&mut memory, &inputs.v_render_colors);
        let v_alphas = upload(&mut memory, &inputs.v_render_alphas);
        let gradients = upload(&mut memory, &zeros);
        let buffers = [transmittance, last, v_colors, v_alphas, gradients];
        arguments.extend(buffers.map(Argument::from));
        let artifact = self.artifact("rasterize_backward", Some(reduction), Some(raster.channels));
        self.launch(artifact, uploaded.grid, WORKGROUP_SIZE, arguments, &mut memory)?;
        let rows = self.noted(download(&memory, "gradients", gradients))?;
        Ok(RasterGradients::from_rows(&rows, raster.channels))
    }
}

impl Raster {
    fn upload(memory: &mut DeviceMemory, inputs: &RasterInputs, threshold: u32) -> Self {
        let [x, y] = inputs.tiles();
        Self {
            params: Argument::bytes(bytemuck::bytes_of(&Params::new(inputs, threshold))),
            rows: upload(memory, &inputs.rows()),
            tile_offsets: upload(memory, &inputs.tile_offsets),
            flatten_ids: upload(memory, &inputs.flatten_ids),
            grid: [x, y, 1],
        }
    }

    fn arguments(&self) -> Vec<Argument> {
        let buffers = [self.rows, self.tile_offsets, self.flatten_ids];
        let mut arguments = vec![self.params.clone()];
        arguments.extend(buffers.map(Argument::from));
        arguments
    }
}

fn loaded<'a>(
    modules: &'a mut BTreeMap<Artifact, Module>,
    artifact: &Artifact,
    lane_width: u32,
) -> Result<&'a Module, EngineError> {
    match modules.entry(*artifact) {
        Entry::Occupied(loaded) => Ok(loaded.into_mut()),
        Entry::Vacant(place) => Ok(place.insert(on_machine(load(artifact)?, lane_width)?)),
    }
}

fn on_machine(module: Module, lane_width: u32) -> Result<Module, EngineError> {
    module.with_lane_width(lane_width).map_err(|e| EngineError::Input(e.to_string()))
}

fn load(artifact: &Artifact) -> Result<Module, EngineError> {
    let failed = |message| EngineError::Compile { kernel: artifact.file(), message };
    let ptx = artifact.ptx().map_err(|e| failed(e.to_string()))?;
    Module::parse(ptx).map_err(|e| failed(e.to_string()))
}

fn upload<T: Pod>(memory: &mut DeviceMemory, values: &[T]) -> Buffer {
    memory.upload(bytemuck::cast_slice(values))
}

fn download<T: Pod>(
    memory: &DeviceMemory,
    what: &str,
    buffer: Buffer,
) -> Result<Vec<T>, EngineError> {
    let bytes = memory.read(buffer).map_err(|e| EngineError::Device(format!("{what}: {e}")))?;
    Ok(bytemuck::pod_collect_to_vec(&bytes))
}

impl Engine for EmulatorEngine {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn rasterize(&mut self, inputs: &[&RasterInputs]) -> Result<Vec<RasterOutputs>, EngineError> {
        inputs.iter().try_for_each(|job| check::forward(job))?;
        inputs.iter().map(|job| self.rasterize_one(job)).collect()
    }

    fn rasterize_backward(
        &mut self,
        jobs: &[(&BackwardInputs, &[BackwardConfig])],
    ) -> Result<Vec<Vec<RasterGradients>>, EngineError> {
        for (inputs, configs) in jobs {
            check::backward_job(inputs, configs, self.info.lane_width)?;
        }
        let mut results = Vec::with_capacity(jobs.len());
        for (inputs, configs) in jobs {
            let run = |config: &BackwardConfig| {
                // The reductions without a threshold ignore it, whatever it is.
                let threshold = config.threshold.min(self.info.lane_width + 1);
                self.backward_one(inputs, artifact::spelled(config.reduction), threshold)
            };
            results.push(configs.iter().map(run).collect::<Result<_, _>>()?);
        }
        Ok(results)
    }

    fn project(&mut self, inputs: &[&ProjectInputs]) -> Result<Vec<ProjectOutputs>, EngineError> {
        inputs.iter().try_for_each(|job| check::project(job))?;
        inputs.iter().map(|job| self.project_one(job)).collect()
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
        jobs.iter().map(|(inputs, configs)| run(inputs, configs)).collect()
    }
}
