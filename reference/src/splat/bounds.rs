//! Bounds: what any conforming f32 program may return, for the stages by themselves ([`project()`],
//! [`forward()`], [`backward()`], [`project_backward()`]: their inputs are exact) and for the whole
//! way from a scene to its images and gradients ([`pipeline()`]: only the scene is exact).
//!
//! The rasterization's walk is the one of [`crate::splat::rasterize`], over [`Bounded`](crate::arithmetic::Bounded), pixel by pixel. A comparison that
//! is decided whatever the roundings is followed as usual. An *undecided* one is followed both
//! ways: the pixel's walk splits into paths. The first path is always the one that the f64 oracle
//! takes; every result's value is the first path's, and its radius reaches over all paths. Nothing
//! is masked out, and no budget of mismatches exists: either choice by a kernel is accepted and
//! nothing else is.
//!
//! When a pixel has split into more than [`MAX_PATHS`] paths, the paths beside the first are merged
//! into one that covers them, which keeps the cost bounded and the radius rigorous.

mod alpha;
mod backward;
mod backward_lanes;
mod backward_paths;
mod bin;
mod camera;
mod compiled;
mod forward_lanes;
mod forward_paths;
mod forward_subsets;
mod image;
mod lanes;
mod order;
mod pair;
mod pipeline;
mod pixel_paths;
mod project;
mod radii;
#[cfg(test)]
mod tests;
mod undecided;
mod unordered;
mod weights;

pub use alpha::MAX_PATHS;
pub use backward::GradientBounds;
pub use compiled::{
    Compiled, backward, backward_as, forward, forward_rounded, pipeline, project, project_backward,
    project_on_image,
};
pub use forward_lanes::RasterBounds;
pub use pair::{PairBounds, pair};
pub use pipeline::PipelineBounds;
pub use project::{ProjectionBounds, ProjectionGradientBounds};
pub use undecided::Undecided;
