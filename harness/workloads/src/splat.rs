//! Splat rendering: its cases, how they are drawn, read and made smaller, what goes into its stages
//! and what a conforming kernel may return.

pub mod accuracy;
pub(crate) mod camera_arrays;
pub mod case;
pub mod chained;
pub mod comparing;
pub mod computed;
pub mod contract;
pub mod contributions;
mod diagnosis;
pub mod expectation;
pub mod files;
mod fitted;
pub mod floor;
pub mod formulated;
pub mod generators;
pub mod harmonics;
mod jobs;
mod judged;
pub mod kernel_rules;
pub mod level;
pub mod minimize;
pub mod on_image;
pub mod raw;
mod scene_arrays;
pub mod skipped_gaussian;
mod space;
pub mod stage;
pub mod views;
pub mod whole;
mod workload;

pub use case::splat_case;
pub use fitted::fitted;
pub use judged::takes_all_cameras;
pub(crate) use scene_arrays::{scene_arrays, scene_symbols};
pub use workload::{CameraForms, ColorForms, Forms, Splat, has_channels, has_gaussians};
