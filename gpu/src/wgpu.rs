//! The engine that runs the WGSL kernels through wgpu, on Vulkan, Metal and Direct3D 12.
//!
//! Which drivers exist is settled by the environment before the process starts (`VK_DRIVER_FILES`
//! chooses the Vulkan drivers, `LP_NATIVE_VECTOR_WIDTH` lavapipe's warp size); the engine opens
//! what is there and measures what no specification tells (`probe`, `loop_limit`).
//!
//! A call packs its jobs into one buffer of inputs, one of settings and one of outputs, encodes all
//! dispatches into one submission and reads all outputs back at once; above [`SUBMISSION_BYTES`] it
//! is cut into several. Outputs hold a poison pattern before a kernel runs, so that what a kernel
//! leaves unwritten is seen; gradients are zeroed by the backward stage itself.
//!
//! A driver may leave a kernel's loops after so many steps; what is done about that, says `guard`.
//!
//! Faults of the device are errors, never panics: see `device`.

mod adapter;
mod clock;
mod device;
mod foreign;
mod foreign_kernels;
mod guard;
mod job;
mod loop_limit;
mod pipeline;
mod probe;
mod submission;
mod timing;

#[cfg(test)]
mod tests;

pub use adapter::AdapterSummary;

use crate::adapter::{AdapterChoice, Options};
use crate::engine::{
    Arithmetic, DeviceInfo, Engine, EngineError, EngineKind, Support, Work, no_panic,
};
use crate::reduction::Reduction;
use crate::stage::StageSpec;
use crate::stages::Stage;
use crate::tensor::Tensors;
use crate::timing::Timing;
use device::Gpu;
use guard::Guard;
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
    foreign: foreign_kernels::ForeignKernels,
    /// Where the driver leaves loops.
    guard: Option<Guard>,
    /// Where a call is cut, see [`SUBMISSION_BYTES`].
    submission_bytes: u64,
}

impl WgpuEngine {
    /// Whether this build has the drivers of wgpu.
    pub const BUILT_IN: bool = true;

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
            let loop_limit = loop_limit::measure(&opened.gpu, &mut kernels, &mut arenas)?;
            let guard = Guard::of(loop_limit);
            if guard.is_some() {
                kernels.guard();
            }
            let info = DeviceInfo {
                adapter: opened.info.name.clone(),
                driver: adapter::driver(&opened.info),
                backend: opened.info.backend.to_string(),
                kind: EngineKind::Wgpu,
                arithmetic: Arithmetic::Wgsl,
                lane_width: probed.lane_width,
                float_atomics: opened.float_atomics,
                exp_of_zero_is_one: probed.exp_of_zero_is_one,
                loop_limit,
            };
            tracing::debug!(?info, "opened");
            let submission_bytes = SUBMISSION_BYTES;
            let foreign = foreign_kernels::ForeignKernels::default();
            let gpu = opened.gpu;
            Ok(Self { gpu, info, kernels, arenas, foreign, guard, submission_bytes })
        })
    }
}

/// Whether a device that binds so many storage buffers runs a stage with so many loop guards.
fn supported(stage: &StageSpec, guards: usize, limit: u32) -> Support {
    let needed = stage.storage_buffers() + guards;
    if needed as u64 <= u64::from(limit) {
        return Support::Yes;
    }
    Support::No(format!(
        "it takes {needed} storage buffers, the device binds {limit} \
         (max_storage_buffers_per_shader_stage)"
    ))
}

impl Engine for WgpuEngine {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn supports(&self, stage: Stage, reduction: Option<Reduction>) -> Support {
        let limit = self.gpu.limits.max_storage_buffers_per_shader_stage;
        let row = stage.spec().launched(reduction);
        supported(row, usize::from(self.guard.is_some()), limit)
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        stage.spec().in_launches(work, |row, work| {
            let sizes = row.check_work(work, self.info.lane_width)?;
            no_panic("wgpu", || self.run_all(row, work, &sizes))
        })
    }

    fn time(&mut self, stage: Stage, work: Work<'_>, repeats: u32) -> Result<Timing, EngineError> {
        self.time_all(stage, work, repeats)
    }
}
