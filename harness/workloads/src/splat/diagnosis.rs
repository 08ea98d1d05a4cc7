//! What a kernel of a splat stage may have got wrong: the oracle, computed again of a changed case or with
//! terms left out.
//!
//! Everything that a pixel adds to gradients is linear in the loss's gradients there, and everything that
//! a camera adds in those of its projection. So what a kernel returns that leaves some of them out is what
//! the oracle returns where these are 0. What depends on the step of a warp at which it is left out
//! ([`lanes`]) the oracle leaves out term by term.

mod background;
mod convention;
mod harmonics;
mod image;
mod lanes;
mod lists;
mod on_image;
mod outputs;
mod project;
mod raster;
mod whole;

pub(super) use image::of_rasterize_with_image;
pub(super) use on_image::{of_project_backward_on_image, of_project_on_image};
pub(super) use project::{of_project, of_project_backward};
pub(super) use raster::{of_rasterize, of_rasterize_backward};
pub(super) use whole::of_whole;
