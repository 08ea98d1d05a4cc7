//! Fitting Gaussians to pictures with any kernel's gradients: whether what a kernel returns also trains.
//!
//! All runs of a fit begin with the same Gaussians and differ in the backward pass alone: the forward
//! pass is the oracle's f32 instance, and [`adam`] computes in f64. What a curve lacks to the oracle's
//! is therefore the kernels' doing.
//!
//! ```text
//! parameters -- activated, f32 --> forward pass (oracle, f32) --> image, loss, PSNR
//!     ^                                                                |
//!     +---- Adam <-- chain rule <-- backward pass: oracle (f64) or engine (rasterize_backward,
//!                                                                      project_backward)
//! ```
//!
//! Nothing here judges: a curve shows what the bounds of `splatcheck check` mean for training.

pub mod adam;
pub mod backward;
pub mod fit;
pub mod loss;
pub mod parameters;
pub mod picture;
pub mod plot;
pub mod start;
pub mod target;
