//! A manifest together with a program in WGSL: on a case its buffers are made, its dispatches run one after
//! another on an engine of wgpu or on the emulator, and its outputs come back as the stage's.

mod bind;
mod lowered;
mod plan;

pub use bind::{Given, Unfit, WgslBindError};
pub use lowered::LoweredWgsl;

use std::sync::Arc;

use splatcheck_gpu::wgsl::program::Program;
use splatcheck_gpu::{
    Data, DeviceInfo, EmulatorEngine, Engine, EngineError, Reduction, Stage, Support, Tensors,
    WgpuEngine, Work,
};

use super::values::outputs;
use crate::manifest::types::Manifest;
use plan::Plan;

/// A manifest whose entry points are there and use what it binds.
#[derive(Debug)]
pub struct WgslKernel {
    manifest: Manifest,
    program: Program,
}

/// All that it does follows from the two texts.
impl PartialEq for WgslKernel {
    fn eq(&self, other: &Self) -> bool {
        (self.manifest.text(), self.source()) == (other.manifest.text(), other.source())
    }
}

impl Eq for WgslKernel {}

impl WgslKernel {
    /// Finds the entry points of a manifest in a program and checks their bindings. `file` is the program's name in
    /// findings.
    ///
    /// # Errors
    /// [`WgslBindError`].
    pub fn new(manifest: Manifest, file: &str, source: &str) -> Result<Arc<Self>, WgslBindError> {
        let program = Program::parse(file, source)?;
        bind::check(&manifest, &program)?;
        Ok(Arc::new(Self { manifest, program }))
    }

    /// The manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The name of the program's file in findings.
    #[must_use]
    pub fn file(&self) -> &str {
        self.program.file()
    }

    /// The program's text.
    #[must_use]
    pub fn source(&self) -> &str {
        self.program.source()
    }

    /// Whether every expression has a value on a case, and rows lie as the program declares them.
    ///
    /// # Errors
    /// [`EngineError::NotLaunched`] with the line of the manifest.
    pub fn check_case(&self, inputs: &Tensors) -> Result<(), EngineError> {
        let symbols = self.manifest.symbols(inputs)?;
        Plan::new(self, &symbols, inputs).map(drop)
    }

    /// Runs on the inputs of a job.
    fn run(
        &self,
        machine: &mut WgslMachine,
        guard_inputs: bool,
        inputs: &Tensors,
    ) -> Result<Tensors, EngineError> {
        self.planned(inputs, guard_inputs, |plan| match machine {
            WgslMachine::Wgpu(engine) => engine.run_foreign(&self.program, &plan.run),
            WgslMachine::Emulator(engine) => engine.run_wgsl(&self.program, &plan.run),
        })
    }

    /// The entry point of the first dispatch.
    fn entry(&self) -> &str {
        self.manifest.launches.first().map_or("", |launch| &launch.kernel)
    }

    /// Runs what is planned for the inputs of a job; `run` gives the buffers that are read back. With
    /// `guard_inputs` those of inputs must be as they were.
    fn planned(
        &self,
        inputs: &Tensors,
        guard_inputs: bool,
        run: impl FnOnce(&Plan<'_>) -> Result<Vec<Vec<u32>>, EngineError>,
    ) -> Result<Tensors, EngineError> {
        let symbols = self.manifest.symbols(inputs)?;
        let plan = Plan::new(self, &symbols, inputs)?;
        let read = run(&plan)?;
        let mut held = Vec::new();
        for (words, (array, number)) in read.into_iter().zip(&plan.held) {
            if array.is_written() {
                held.push((*array, words));
            } else if guard_inputs && words != plan.run.buffers[*number] {
                let name = array.name();
                return Err(EngineError::Refused(format!("the kernel changed its input {name}")));
            }
        }
        outputs(self.manifest.kind, &held, &symbols, inputs)
    }
}

/// What runs programs in WGSL.
#[derive(Debug)]
pub enum WgslMachine {
    /// A driver.
    Wgpu(Box<WgpuEngine>),
    /// The emulator.
    Emulator(Box<EmulatorEngine>),
}

/// An engine with a user's program in place of its own kernels.
#[derive(Debug)]
pub struct WgslEngine {
    machine: WgslMachine,
    kernel: Arc<WgslKernel>,
    /// Whether a run that changes an input fails.
    guard_inputs: bool,
}

impl WgslEngine {
    /// The engine with a program, of which a run that changes an input fails, if that is guarded.
    #[must_use]
    pub fn new(machine: WgslMachine, kernel: Arc<WgslKernel>, guard_inputs: bool) -> Self {
        Self { machine, kernel, guard_inputs }
    }
}

impl Engine for WgslEngine {
    fn info(&self) -> &DeviceInfo {
        match &self.machine {
            WgslMachine::Wgpu(engine) => engine.info(),
            WgslMachine::Emulator(engine) => engine.info(),
        }
    }

    fn supports(&self, _: Stage, _: Option<Reduction>) -> Support {
        Support::Yes
    }

    /// However it adds up.
    fn reduces_by(&self, stage: Stage, _: Reduction) -> bool {
        stage.accumulates()
    }

    /// An engine has all outputs of a stage: those that the kernel does not return are zeros, which nobody
    /// may compare.
    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let Self { machine, kernel, guard_inputs } = self;
        let mut one = |job: &Work<'_>| -> Result<Tensors, EngineError> {
            let mut outputs = kernel.run(machine, *guard_inputs, job.inputs)?;
            let sizes = stage.sizes(job.inputs)?;
            for port in stage.spec().outputs {
                if outputs.find(port.name).is_none() {
                    let zeros = Data::from_words(port.dtype, &vec![0; port.words(&sizes)]);
                    let fits = outputs.array(port.name, &port.shape_for(&sizes), zeros);
                    fits.map_err(|error| EngineError::Device(error.to_string()))?;
                }
            }
            Ok(outputs)
        };
        let mut of_job = |job: &Work<'_>| job.settings.iter().map(|_| one(job)).collect();
        work.iter().map(&mut of_job).collect()
    }
}

#[cfg(test)]
mod tests;
