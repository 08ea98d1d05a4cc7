//! The kernels under test and the engines that run them.
//!
//! A *stage* is one step of the renderer (`project`, `rasterize`, their backward stages); a *kernel* is a
//! program that computes a stage on a device; an *engine* is a device together with the way its
//! kernels are reached (wgpu, CUDA's driver, the PTX emulator of the crate `splatcheck-emulator`).
//! The kernels live in `kernels/<language>/<workload>/<stage>.<ext>`, what all workloads share beside
//! the folders, and carry the names the stages have in `splatcheck-reference`, but this crate does
//! not know the oracle: what is judged and what judges share only numbers.
//!
//! Vocabulary: *warp size* is the number of lanes that execute together (a warp on CUDA, a
//! subgroup in WGSL). A *reduction* is the way the lanes' contributions to one Gaussian are added
//! up before they reach memory; the *threshold* is the number of contributing lanes from which the
//! reduction in registers is used instead of one atomic per lane (DISTWAR, arXiv 2401.05345).

pub mod adapter;
pub mod archive;
pub mod artifact;
pub mod cuda;
pub mod device;
pub mod emulator;
pub mod engine;
pub mod error;
#[cfg(test)]
mod exact;
pub mod hazard;
pub mod mutation;
mod ptx_host;
pub mod reduction;
pub mod source_lines;
pub mod stage;
pub mod stages;
pub mod tensor;
pub mod timing;
#[cfg(feature = "wgpu")]
pub mod wgpu;
#[cfg(not(feature = "wgpu"))]
#[path = "without_wgpu.rs"]
pub mod wgpu;
pub mod wgsl;

pub use self::wgpu::WgpuEngine;
pub use adapter::{AdapterChoice, Options};
pub use cuda::CudaEngine;
pub use emulator::EmulatorEngine;
pub use engine::{
    Arithmetic, DeviceInfo, Engine, EngineError, EngineKind, FloatAtomics, LoopLimit, OtherBits,
    Support, Work,
};
pub use reduction::{Reduction, Setting, ThresholdError};
pub use stages::Stage;
pub use stages::splat::typed::SplatEngine;
pub use stages::splat::{
    BackwardInputs, Camera, ClampGradient, ProjectBackwardInputs, ProjectColors, ProjectConstants,
    ProjectGradients, ProjectInputs, ProjectOutputs, RasterConstants, RasterGradients,
    RasterInputs, RasterOutputs, StopRule,
};
pub use tensor::{Data, Dtype, ShapeError, Tensor, TensorError, Tensors};
pub use timing::{Peak, Timing};
