//! The judged workloads: a folder each.

pub mod scatter;
pub mod splat;
