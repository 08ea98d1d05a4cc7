//! Sparse convolution: its cases, read from files, and what the oracle makes of them. No kernel here is judged by
//! them: `splatcheck oracle` writes the results for programs of others.

pub mod case;
pub mod cost;
pub mod result_file;

/// The workload's name in files.
pub const NAME: &str = "sparse";
