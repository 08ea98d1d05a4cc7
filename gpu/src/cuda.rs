//! The engine that runs the CUDA kernels: the driver compiles their PTX for the device, nothing
//! else need be installed.
//!
//! Outputs hold a poison pattern before a kernel runs, so that what a kernel leaves unwritten is
//! seen; gradients are zeros, as the backward kernels expect. A kernel that faults makes
//! its context unusable, so an engine that gave [`EngineError::Device`] must be opened again, and a
//! kernel that hangs can only be ended with its process: whoever runs kernels that are not trusted
//! runs the engine in a child process.

mod driver;
mod failure;
mod timing;

pub use driver::{CudaDevice, devices};

use crate::artifact::{Artifact, Build};
use crate::engine::{
    Arithmetic, DeviceInfo, Engine, EngineError, EngineKind, FloatAtomics, LoopLimit, POISON, Work,
    no_panic,
};
use crate::ptx_host::{Geometry, Prepared, PtxDevice, PtxJob};
use crate::reduction::Setting;
use crate::stages::Stage;
use crate::tensor::Tensors;
use crate::timing::{Peak, Timing};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DeviceRepr, LaunchArgs, LaunchConfig,
    PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use failure::{failed, refused};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Words that a record of settings may have: more than any stage's. The driver copies as many as the
/// kernel's parameter has.
const RECORD_WORDS: usize = 64;

/// A record of settings as the launch takes it.
#[repr(C, align(16))]
struct Record([u32; RECORD_WORDS]);

// SAFETY: it is repr(C) and plain words.
unsafe impl DeviceRepr for Record {}

impl Record {
    fn new(words: &[u32]) -> Self {
        let mut record = [0; RECORD_WORDS];
        record[..words.len()].copy_from_slice(words);
        Self(record)
    }
}

/// The engine of one CUDA device.
#[derive(Debug)]
pub struct CudaEngine {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    info: DeviceInfo,
    fast_math: bool,
    peak: Option<Peak>,
    kernels: BTreeMap<Artifact, CudaFunction>,
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
                    kind: EngineKind::Cuda,
                    arithmetic: if fast_math { Arithmetic::CudaFast } else { Arithmetic::Cuda },
                    lane_width: opened.lane_width,
                    float_atomics: FloatAtomics::Native,
                    exp_of_zero_is_one: false,
                    loop_limit: LoopLimit::NotMeasured,
                },
                fast_math,
                peak: opened.peak,
                kernels: BTreeMap::new(),
            };
            engine.info.exp_of_zero_is_one = engine.probe()?;
            tracing::debug!(info = ?engine.info, "opened");
            Ok(engine)
        })
    }

    /// A kernel, loaded at its first use.
    fn kernel(&mut self, artifact: Artifact) -> Result<CudaFunction, EngineError> {
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

    /// Whether exp(+-0) is exactly 1. The probe's entry point takes the arguments, their number and
    /// the results.
    fn probe(&mut self) -> Result<bool, EngineError> {
        let Build { fast_math } = self.build();
        let artifact = Artifact { stage: "probe", reduction: None, channels: None, fast_math };
        let kernel = self.kernel(artifact)?;
        let arguments = self.upload("the probe's arguments", &[0, 1 << 31])?;
        let mut exponentials = self.poison("the probe's results", 2)?;
        let mut launch = self.stream.launch_builder(&kernel);
        launch.arg(&arguments).arg(&2_u32).arg(&mut exponentials);
        // SAFETY: the arguments are those of probe.cu, and both arrays have two elements.
        unsafe { launch.launch(config(Geometry { grid: [1, 1], block: 32 })) }
            .map_err(failed("launching probe"))?;
        let exponentials = self.download("the probe's results", &exponentials, 2)?;
        Ok(exponentials.iter().all(|&bits| bits == 1.0_f32.to_bits()))
    }
}

/// Hands a kernel its arguments.
fn arguments<'a>(
    launch: &mut LaunchArgs<'a>,
    record: &'a Record,
    job: &'a mut Prepared<CudaSlice<u32>>,
) {
    if !job.record.is_empty() {
        launch.arg(record);
    }
    for array in &job.inputs {
        launch.arg(array);
    }
    for array in &mut job.outputs {
        launch.arg(array);
    }
}

impl PtxDevice for CudaEngine {
    type Array = CudaSlice<u32>;

    fn build(&self) -> Build {
        Build { fast_math: self.fast_math }
    }

    fn upload(&mut self, what: &str, words: &[u32]) -> Result<CudaSlice<u32>, EngineError> {
        // An empty array holds one word, which no kernel reads.
        let words = if words.is_empty() { &[0] } else { words };
        self.stream.clone_htod(words).map_err(failed(what))
    }

    fn poison(&mut self, what: &str, words: usize) -> Result<CudaSlice<u32>, EngineError> {
        self.upload(what, &vec![POISON; words])
    }

    fn launch(&mut self, job: &mut Prepared<CudaSlice<u32>>) -> Result<(), EngineError> {
        let stage = job.artifact.stage;
        let kernel = self.kernel(job.artifact)?;
        let (record, config) = (Record::new(&job.record), config(job.geometry));
        let mut launch = self.stream.launch_builder(&kernel);
        arguments(&mut launch, &record, job);
        // SAFETY: the arguments are those of the stage's table, which a test compares with the
        // kernel's parameters; `StageSpec::check_work` has seen that no index leaves its array.
        unsafe { launch.launch(config) }.map_err(failed(&format!("launching {stage}")))?;
        Ok(())
    }

    fn download(
        &mut self,
        what: &str,
        from: &CudaSlice<u32>,
        words: usize,
    ) -> Result<Vec<u32>, EngineError> {
        let mut all = self.stream.clone_dtoh(from).map_err(failed(what))?;
        all.truncate(words);
        Ok(all)
    }
}

impl Engine for CudaEngine {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        stage.spec().in_launches(work, |stage, work| {
            let sizes = stage.check_work(work, self.info.lane_width)?;
            no_panic("CUDA's driver", || {
                let mut results = Vec::with_capacity(work.len());
                for (&Work { inputs, settings }, sizes) in work.iter().zip(&sizes) {
                    let run = |&setting: &Option<Setting>| {
                        PtxJob { stage, inputs, sizes, setting }.run(self)
                    };
                    results.push(settings.iter().map(run).collect::<Result<_, _>>()?);
                }
                Ok(results)
            })
        })
    }

    fn time(&mut self, stage: Stage, work: Work<'_>, repeats: u32) -> Result<Timing, EngineError> {
        let sizes = stage.check_work(&[work], self.info.lane_width)?;
        no_panic("CUDA's driver", || self.time_all(stage, work, &sizes[0], repeats))
    }
}
