//! A kernel written in Rust, judged by its own tests: splatcheck is a development dependency, and
//! `cargo test` the gate.
//!
//! ```no_run
//! use splatcheck::kernel::{BoxError, RasterGradients, RasterizeBackwardInputs, check};
//!
//! fn rasterize_backward(inputs: &RasterizeBackwardInputs) -> Result<RasterGradients, BoxError> {
//!     let v_means2d = vec![[0.0; 2]; inputs.means2d.len()];
//!     // ...
//! #   Err("".into())
//! }
//!
//! #[test]
//! fn my_kernel_agrees_with_the_oracle() {
//!     check(rasterize_backward).cases(200).assert();
//! }
//! ```
//! A kernel is a function or a closure from the arrays of a level to its outputs, or a value that keeps
//! a state (a device, buffers) and has [`Kernel`]. The type of what it reads is the level:
//!
//! | inputs | outputs | level |
//! |---|---|---|
//! | [`RasterizeBackwardInputs`] | [`RasterGradients`], or with an image [`RasterizeBackwardOutputs`] | raster: the gradients of what is rasterized, for one camera |
//! | [`ProjectInputs`] | [`ProjectOutputs`] | project: all Gaussians by all cameras |
//! | [`ProjectBackwardInputs`] | [`ProjectGradients`] | project-backward |
//! | [`RenderBackwardInputs`] | [`RenderGradients`] | full: a scene's images and gradients |
//! | [`StageInputs`]`<`[`ScatterSums`]`>` and others | arrays of floats by name | a stage of another workload |
//!
//! Every element is judged within its derived bound, by the campaign that judges programs and engines. A
//! kernel that panics, returns an error, arrays of other sizes or NaN, or other bits when it is called
//! again is a finding, and not the end of the test. What ends the process (an abort, an endless loop) is
//! the test runner's to report; `splatcheck check --command` judges a program in a process of its own.

mod cases;
mod check;
mod in_process;
mod inputs;
mod report;
mod stage;

pub use check::{Check, CheckError};
pub use in_process::{BoxError, Kernel};
pub use inputs::{
    Inputs, RasterizeBackwardInputs, RasterizeBackwardOutputs, RenderBackwardInputs,
    RenderGradients, WrongInputs,
};
pub use report::Report;
pub use stage::{
    GridBackward, GridBackwardInput, GridForward, OfStage, ScatterSums, SphericalHarmonics,
    SphericalHarmonicsBackward, StageInputs,
};

pub use splatcheck_gpu::{
    Camera, ClampGradient, ProjectBackwardInputs, ProjectColors, ProjectConstants,
    ProjectGradients, ProjectInputs, ProjectOutputs, RasterConstants, RasterGradients, StopRule,
};
pub use splatcheck_judge::judge::Arithmetic;
pub use splatcheck_reference::splat::convention::Profile;
pub use splatcheck_reference::splat::{Colors, Convention, Formulation, Gaussians, Scene};
pub use splatcheck_workloads::splat::kernel_rules::KernelRules;

/// The check of a kernel, on the corpus and on 100 drawn cases where nothing else is said.
pub fn check<I: Inputs, K: Kernel<I>>(kernel: K) -> Check<I, K> {
    Check::new(kernel)
}
