//! The PTX emulator (`splatcheck_emulator`) as an engine: it runs the CUDA kernels' artifacts without
//! a GPU.
//!
//! [`EmulatorEngine`] gives the emulator the artifacts and the launches of the stages; [`OwnKernel`]
//! puts a user's program in place of an artifact, [`ForeignProgram`] one with parameters and launches
//! of its own.

mod engine;
mod foreign;
mod noted;
mod own;
mod pair;

pub use engine::{EmulatorEngine, EmulatorOptions};
pub use foreign::{ForeignDevice, ForeignProgram};
pub use noted::Noted;
pub use own::{Interface, OwnKernel, OwnKernelError, Parameter};
pub use pair::{
    Pair, PairRun, Returned, Sweep, SweptGradient, as_clamped, differentiable, forward_of,
};
