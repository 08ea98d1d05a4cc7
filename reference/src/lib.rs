//! The oracle: a deterministic CPU implementation of the judged workloads and their gradients.
//!
//! A *workload* is a family of stages that belong together, and a module here: [`splat`], [`scatter`], [`grid`],
//! [`sparse`]. Every stage is written once over the scalar, which decides what a run means (see [`arithmetic`]):
//! `f32` mirrors a device, `f64` is the oracle's value, [`arithmetic::Bounded`] adds the radius that
//! a conforming f32 implementation stays within, and [`arithmetic::Dual`] differentiates.
//!
//! No bit of any result depends on the number of threads: parts are independent, and partial sums
//! are combined in a fixed order. There is no I/O, no unsafe code, and no platform function.
//!
//! A gradient can be computed by several expressions that are equal over the reals and round
//! differently: [`splat::formulation`] names them, and each has bounds of its own.
//!
//! Vocabulary: *undecided* is a comparison whose outcome depends on roundings that the arithmetic
//! model leaves open; *bound* is a radius computed, never typed.
#![forbid(unsafe_code)]

pub mod arithmetic;
pub mod grid;
pub mod scatter;
pub mod sparse;
pub mod splat;
