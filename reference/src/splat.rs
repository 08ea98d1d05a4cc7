//! Splat rendering and its gradients.
//!
//! A *stage* is one step of the renderer: projection (with spherical harmonics), binning into
//! tiles, rasterization. Every stage is one file, written once over the scalar; the files under
//! [`backward`] carry the same names and hold the hand-written vector-Jacobian products. [`bounds`]
//! follows every comparison that rounding could turn both ways.

pub mod backward;
mod bin;
pub mod bounds;
pub mod camera;
pub mod convention;
pub mod decisions;
pub mod formulated;
pub mod formulation;
pub mod harmonics;
mod linear;
pub mod pair;
mod project;
pub mod rasterize;
mod reach;
pub mod render;
pub mod scene;
pub mod sh;
pub mod spelled;
pub mod synthetic;
#[cfg(test)]
mod tests;
mod tile;
pub mod view;

pub use bin::TooManyPairs;
pub use camera::Camera;
pub use convention::Convention;
pub use formulation::Formulation;
pub use project::on_image::{Border, Culling, OnImage, project_on_image};
pub use project::{CameraParams, Projection, Projections, project_splats, rotation};
pub use scene::{Colors, Gaussians, Scene};
