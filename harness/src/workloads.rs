//! The judged workloads: a folder each.

pub mod splat;
