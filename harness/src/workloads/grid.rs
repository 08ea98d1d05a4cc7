//! Grid encodings: their cases and what the oracle makes of them, as files. There are no kernels yet,
//! so that they are no [`Workload`](crate::workload::Workload): `splatcheck oracle` alone takes them.

pub mod case_file;
pub mod result_file;

/// The workload's name in files.
pub const NAME: &str = "grid";
