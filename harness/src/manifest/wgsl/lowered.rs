//! A program in WGSL with a manifest of one dispatch, lowered for the emulator: a text that can be changed, as
//! mutants are.

use std::collections::HashMap;
use std::sync::Arc;

use splatcheck_emulator::{Launch, Module, WARP};
use splatcheck_gpu::emulator::{ForeignDevice, ForeignProgram};
use splatcheck_gpu::wgsl::lower::{PtxKernel, SourceFile, Target, lower};
use splatcheck_gpu::{EngineError, Tensors};

use super::WgslKernel;
use super::plan::Plan;

/// A dispatch of a program, lowered with the constants of a case.
#[derive(Debug)]
pub struct LoweredWgsl {
    kernel: Arc<WgslKernel>,
    entry: String,
    lanes: u32,
    /// The values of overridable constants, which are built into the text.
    overrides: Vec<(String, f64)>,
    text: PtxKernel,
    module: Module,
}

impl LoweredWgsl {
    /// Lowers the entry point of the first dispatch for subgroups of so many lanes, with the constants that it has
    /// on these inputs.
    ///
    /// # Errors
    /// [`EngineError::NotLaunched`] where the manifest has no values on them, [`EngineError::Compile`] where the
    /// program needs what the emulator does not have.
    pub fn new(
        kernel: &Arc<WgslKernel>,
        lanes: u32,
        inputs: &Tensors,
    ) -> Result<Self, EngineError> {
        let entry = kernel.entry().to_owned();
        let failed = |message| EngineError::Compile { kernel: entry.clone(), message };
        let overrides = overrides(kernel, inputs)?;
        let constants: HashMap<String, f64> = overrides.iter().cloned().collect();
        let files = [SourceFile { name: kernel.file().to_owned(), first: 1 }];
        let text = lower(kernel.source(), &files, &entry, &constants, Target::of_user(lanes));
        let text = text.map_err(|error| failed(error.to_string()))?;
        let module = machine(&text.ptx, lanes).map_err(failed)?;
        Ok(Self { kernel: Arc::clone(kernel), entry, lanes, overrides, text, module })
    }

    /// The same with a changed text.
    ///
    /// # Errors
    /// [`EngineError::Compile`] where it does not parse.
    pub fn changed(&self, ptx: &str) -> Result<Self, EngineError> {
        let failed = |message| EngineError::Compile { kernel: self.entry.clone(), message };
        Ok(Self {
            kernel: Arc::clone(&self.kernel),
            entry: self.entry.clone(),
            lanes: self.lanes,
            overrides: self.overrides.clone(),
            text: PtxKernel { ptx: ptx.to_owned(), ..self.text.clone() },
            module: machine(ptx, self.lanes).map_err(failed)?,
        })
    }

    /// The text.
    #[must_use]
    pub fn ptx(&self) -> &str {
        &self.text.ptx
    }

    /// Whether the text is that of these inputs: whether the constants have the same values.
    #[must_use]
    pub fn is_for(&self, inputs: &Tensors) -> bool {
        overrides(&self.kernel, inputs).is_ok_and(|own| own == self.overrides)
    }
}

/// The values of overridable constants on these inputs.
fn overrides(kernel: &WgslKernel, inputs: &Tensors) -> Result<Vec<(String, f64)>, EngineError> {
    let symbols = kernel.manifest().symbols(inputs)?;
    let plan = Plan::new(kernel, &symbols, inputs)?;
    Ok(plan.run.dispatches.into_iter().next().map(|first| first.overrides).unwrap_or_default())
}

/// A text on the machine whose warps subgroups of so many lanes are made of.
fn machine(ptx: &str, lanes: u32) -> Result<Module, String> {
    let module = Module::parse(ptx).map_err(|error| error.to_string())?;
    module.with_lane_width(lanes.min(WARP)).map_err(|error| error.to_string())
}

impl ForeignProgram for LoweredWgsl {
    fn run(
        &self,
        device: &mut ForeignDevice<'_>,
        inputs: &Tensors,
    ) -> Result<Tensors, EngineError> {
        self.kernel.planned(inputs, true, |plan| {
            let upload = |words: &Vec<u32>| device.upload(bytemuck::cast_slice(words));
            let buffers: Vec<_> = plan.run.buffers.iter().map(upload).collect();
            for dispatch in &plan.run.dispatches {
                let own = dispatch.bound(&self.text.buffers, &buffers);
                let nothing =
                    |name| EngineError::NotLaunched(format!("nothing is bound as '{name}'"));
                let own = own.map_err(nothing)?;
                let arguments = device.arguments(&self.text.buffers, &own);
                let (grid, block) = (dispatch.workgroups, self.text.workgroup);
                // A dispatch of no workgroups does nothing in WebGPU.
                if !grid.contains(&0) {
                    device.launch(
                        &self.module,
                        &self.entry,
                        &Launch { grid, block, dynamic_shared: 0, arguments },
                    )?;
                }
            }
            let read = |&number: &usize| {
                let bytes = device.read("a buffer", buffers[number])?;
                Ok(bytemuck::pod_collect_to_vec(&bytes))
            };
            plan.run.read.iter().map(read).collect()
        })
    }
}
