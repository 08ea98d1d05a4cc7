//! Hand-written vector-Jacobian products, one file for each forward stage, under its name.

pub mod project;
pub mod rasterize;
