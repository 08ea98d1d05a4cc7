//! The PTX emulator (`splatcheck_emulator`) as an engine: it runs the CUDA kernels' artifacts without
//! a GPU.
//!
//! [`EmulatorEngine`] gives the emulator the artifacts and the launches of the stages; [`OwnKernel`]
//! puts a user's program in the place of an artifact.

mod engine;
mod own;

pub use engine::{EmulatorEngine, EmulatorOptions};
pub use own::{Interface, OwnKernel, OwnKernelError, Parameter};
