//! Runs kernels on engines and judges every number that comes back.
//!
//! A part of `splatcheck`, whose front page says how a verdict is made. Nothing here knows a workload but
//! through the traits of [`workload`], and no stage but through the tables of `splatcheck_gpu::stages`.
#![forbid(unsafe_code)]

pub mod attribution;
pub mod campaign;
pub mod case_rng;
pub mod case_space;
pub mod coverage;
pub mod covering;
pub mod diagnosis;
pub mod engines;
pub mod gate;
pub mod interrupt;
pub mod io;
pub mod judge;
pub mod kernel_coverage;
pub mod minimize;
pub mod report;
pub mod scatter_step;
pub mod table;
pub mod threads;
pub mod traffic;
pub mod verdict;
pub mod words;
pub mod work_budget;
pub mod workload;
