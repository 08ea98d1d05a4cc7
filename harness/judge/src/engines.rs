//! Engines as the harness sees them: found, started and asked in a process of their own.
//!
//! The warp size of Mesa's lavapipe and the Vulkan driver itself are chosen by environment
//! variables that are read once per process, and a kernel or a driver may crash or hang. So every
//! engine runs in a child process (`splatcheck engine`), and the parent, which holds the oracle,
//! only exchanges [`protocol`] frames with it:
//!
//! ```text
//! discover --- probes candidates ---> EngineSpec + DeviceInfo
//! EngineProcess (parent) -- request frame, stdin --> serve (child) --> splatcheck_gpu::Engine
//!               <--------- response frame, stdout --
//! ```
//!
//! A *candidate* is a driver file with an environment that might give an engine; a *spec* is one
//! that did. A child that ends, hangs or answers nonsense costs the request it was working on, and
//! the next request starts a fresh child.
//!
//! A user's program ([`command`]) is an engine too: a process that is asked by files.

pub mod batch;
mod child;
mod child_guard;
pub mod command;
pub mod discover;
pub mod drivers;
pub mod emulation;
mod lent;
mod memory;
pub mod parted;
mod patience;
pub mod process;
pub mod program;
pub mod protocol;
pub mod repeated;
pub mod serve;
pub mod spec;
mod tail;
mod team;

pub use discover::{Discovery, Found, NotSelected, discover};
pub use drivers::Missing;
pub use emulation::{EMULATOR, EMULATOR_FAST, Emulation, EmulationError, Order, WGSL_EMULATOR};
pub use lent::Lent;
pub use process::{EngineProcess, Limits};
pub use program::{NoProgram, Program};
pub use spec::{CUDA, CUDA_FAST, Driver, ENGINE, EngineSpec, Identity, UnknownIdentity};
pub use team::Team;
