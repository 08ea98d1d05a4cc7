//! The SIMT emulator.

mod access;
mod alu;
mod block;
mod count;
mod decode;
mod engine;
mod fault;
mod float;
mod ir;
mod launch;
mod lex;
mod memory;
mod parse;
mod race;
mod registers;
mod schedule;
mod step;
mod sync;
mod warp;
mod wide;

pub use count::{Atomics, Executed, Report};
pub use decode::MNEMONICS;
pub use engine::{EmulatorEngine, EmulatorOptions};
pub use fault::{AccessKind, Defect, Fault, FaultKind, LaunchError, Race, RaceAccess, RunError};
pub use float::approximate::ApproximationMode;
pub use ir::{InstructionClass, Module, Space};
pub use launch::{Argument, Launch, Observers, run, run_traced};
pub use memory::{Buffer, DeviceMemory, NeverWritten};
pub use parse::ParseError;
pub use registers::LANES;
pub use schedule::{Decision, Policy, Schedule, Trace};
