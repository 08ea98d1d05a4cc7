//! The oracle: a deterministic CPU implementation of splat rendering and its gradients.
//!
//! A *stage* is one step of the renderer: projection (with spherical harmonics), binning into
//! tiles, rasterization. Every stage is one file, written once over the scalar; the files under
//! [`backward`] carry the same names and hold the hand-written vector-Jacobian products.
//!
//! The scalar decides what a run means (see [`scalar`]): `f32` mirrors a device, `f64` is the
//! oracle's value, [`scalar::Bounded`] adds the radius that a conforming f32 implementation stays
//! within, and [`scalar::Dual`] differentiates. [`bounds`] follows every comparison that rounding
//! could turn both ways.
//!
//! No bit of any result depends on the number of threads: tiles are independent, and partial sums
//! are combined in a fixed order. There is no I/O, no unsafe code, and no platform function.
//!
//! Vocabulary: *undecided* is a comparison whose outcome depends on roundings that the arithmetic
//! model leaves open; *bound* is a radius computed, never typed.
#![forbid(unsafe_code)]

pub mod backward;
mod bin;
pub mod bounds;
pub mod camera;
#[cfg(test)]
mod containment_tests;
pub mod convention;
#[cfg(test)]
mod coverage_tests;
#[cfg(test)]
mod derivative_tests;
#[cfg(test)]
mod finite_difference_tests;
#[cfg(test)]
mod identity_tests;
mod linear;
pub mod pair;
#[cfg(test)]
mod pipeline_tests;
#[cfg(test)]
mod planted_tests;
mod project;
#[cfg(test)]
mod projection_containment_tests;
pub mod rasterize;
mod reach;
pub mod render;
#[cfg(test)]
mod roundoff;
pub mod scalar;
pub mod scene;
pub mod sh;
pub mod synthetic;
#[cfg(test)]
mod test_scenes;
mod tile;
pub mod view;

pub use bin::TooManyPairs;
pub use camera::Camera;
pub use convention::Convention;
pub use project::{Lens, Projection, Projections, project_splats, rotation};
pub use scene::{Colors, Gaussians, Scene};
