//! The SIMT emulator: executes PTX on the CPU, deterministically, under schedules no device can be
//! asked for, and reports what real hardware hides. It knows no kernel and no engine: it depends on
//! no other crate of the workspace.
//!
//! # What is executed
//! [`Module::parse`] turns PTX text into typed instructions. Nothing is skipped: a kernel that uses an
//! instruction, modifier or directive outside the subset, or calls a function that does, is refused
//! with all of them and their lines ([`Module::refusal`]), and the other kernels of its module run.
//! [`run`] launches a kernel of the module on buffers of a [`DeviceMemory`]. The subset: integers of
//! 16, 32 and 64 bits, f32 and f64, conversions between all types of numbers, bytes and bit fields;
//! global, constant, shared, parameter and local memory, also by generic addresses; `.func` and direct
//! calls (`vprintf` prints nothing); atomics of 32 and 64 bits; `cp.async`; barriers of the block or of
//! a number of threads; shuffles, votes, matches, reductions and fences ([`MNEMONICS`]). PTX is not the machine's code: the driver compiles it
//! again, may fuse no more than PTX says but schedules, predicates and reconverges as it likes. A
//! clean run here is a statement about the PTX.
//!
//! # Warps
//! Reconvergence is promised by nobody, so that a warp is a set of *fragments*: a program counter
//! and the lanes that stand there. Instructions with `.sync` wait until the lanes that their mask
//! names have arrived at one of the same kind with the same mask, wherever that stands; `bar.sync`
//! waits for the block. Registers are arrays of 32 lanes, one per slot, and every arithmetic
//! instruction is a loop over them without branches. Threads that have exited are waited for by nobody:
//! they count as arrived, with what they did, wherever a mask names them or a barrier is for their block
//! (PTX ISA, "shfl.sync", "vote.sync", "match.sync", "redux.sync": "non-exited threads in membermask"; "exit").
//!
//! # Schedules
//! Under [`Schedule::lockstep`] blocks run one after the other and the fragment at the lowest place
//! goes first; counts of atomics and instructions are exact and repeatable. Under
//! [`Schedule::random`] and [`Schedule::adversarial`] a seed decides who runs for how long, parts
//! warps and merges them, and perturbs approximate instructions within their documented bounds. The
//! adversary also begins blocks and takes the lanes of an atomic in any order, and holds stores
//! back from other threads for as long as the PTX memory model lets it: what only a race detector
//! would object to otherwise then gives wrong results. Decisions are values: a [`Trace`] replays a
//! run exactly, and [`shrink`] makes it smaller.
//!
//! # What is observed
//! The first misuse ends the run as a [`Fault`] with kernel, line, block, warp and lanes:
//! - data races in shared and global memory, by happens-before over barriers, `bar.warp.sync` and
//!   signals by fences and flags, atomics understood, with both accesses ([`Observers::races`]).
//!   Stores of equal values race too: PTX makes no exception for them;
//! - barriers that some threads of the block miss or that a warp reaches at two places;
//! - `.sync` masks without the executing lane; deadlock; a budget of instructions exceeded;
//! - *poison*: registers, shared memory and buffers hold nothing until written, and a shuffle from a
//!   lane that does not take part gives nothing. Poison spreads
//!   through arithmetic and shuffles, and is reported where it decides an address, a branch, a
//!   mask, or reaches global memory. A buffer read back with poison left is an error;
//! - writes to a buffer that is an input ([`DeviceMemory::upload_input`]);
//! - accesses out of bounds, and indices beyond an array (every buffer is alone in a window of addresses) or misaligned;
//! - asynchronous copies that are read before their thread has waited for them;
//! - `trap`, and assertions that do not hold.
//!
//! What was executed of a kernel, and which predicates were seen both true and false, is counted if
//! [`Observers::coverage`] asks for it ([`KernelCoverage`]).
//!
//! Floats are followed in real arithmetic if [`Observers::shadow`] asks for it: values, how far rounding
//! may take them, and gradients ([`DeviceMemory::exact`], [`DeviceMemory::gradient`]).
//!
//! A fault of the kernel, a launch that does not fit and a defect of the emulator are different
//! types: [`RunError`].
//!
//! # Beside PTX
//! Kernels lowered from WGSL say what PTX cannot: `trap.index.u32 a, count` ends a run where `a` is not below
//! `count`; `ex2.wgsl.f32`, `lg2.wgsl.f32`, `rsqrt.wgsl.f32`, `atan2.wgsl.f32 d, y, x` and `pow.wgsl.f32 d, x, y` have
//! WGSL's bounds;
//! in a module with `.pragma "uniform"` every thread must reach a barrier, and every lane what a warp executes together, at one
//! place and before any has exited.
//!
//! # What is not modelled
//! Recursion and indirect calls, textures, tensor cores, functions of f16, clusters, accesses that
//! acquire or release by themselves; time (clocks count the launch's instructions); loads that are satisfied
//! early. A module is loaded once into a [`DeviceMemory`]: its variables keep what a launch leaves in them.

mod access;
mod alu;
mod async_copy;
mod atomic;
mod atomic16;
mod block;
mod carry;
mod count;
mod coverage;
mod decided;
mod decode;
mod delay;
pub mod equivalence;
mod fault;
mod float;
mod generic;
mod ir;
mod lanes;
mod launch;
mod lex;
mod local;
mod machine;
mod memory;
mod mix;
pub mod mutate;
mod parse;
mod part_barrier;
mod partly;
mod race;
mod rare;
mod rare_memory;
mod registers;
mod schedule;
mod shadow;
mod shrink;
mod signal;
mod step;
mod sync;
mod time_limit;
mod turns;
mod unfilled;
mod warp;
mod wide;
mod width;

pub use count::{Atomics, Report};
pub use coverage::{Executed, InstructionCoverage, KernelCoverage, OtherKernel, Outcomes};
pub use decode::MNEMONICS;
pub use fault::launch::{Defect, LaunchError, RunError};
pub use fault::{
    AccessKind, BUDGET, Fault, FaultKind, POISON, Race, RaceAccess, TIME_LIMIT, UndefinedShuffle,
    observer_of,
};
pub use float::approximate::ApproximationMode;
pub use ir::{InstructionClass, Module, ParameterKind, Space};
pub use lanes::{LANES, WARP};
pub use launch::{Argument, Launch, Observers, run, run_traced};
pub use memory::{Buffer, DeviceMemory, FloatType, NeverWritten, Touched};
pub use mix::mix;
pub use parse::ParseError;
pub use schedule::{Decision, Policy, Schedule, Trace};
pub use shadow::{
    Contribution, Conventions, Decided, Derivative, Exact, Gradient, Loss, Lost, MARKERS, Place,
    Reversed, Seed, ShadowError, Shadowing, Share, Site, UNKNOWN_FUNCTION, Which,
};
pub use shrink::shrink;
pub use time_limit::TimeLimit;
