//! The program as its users start it: engines in processes, and every kernel of ours on the emulator.

mod engine_process;
mod engine_projection;
mod fake_cuda;
mod grid;
mod scatter;
mod witness;
mod workload;
