//! What goes into the stages of a case.
//!
//! A device's stage gets bit for bit the inputs that the oracle's stage gets, so the bounds cover
//! that stage's own arithmetic only and stay tight. What lies before a stage is computed by the
//! oracle's f32 instance: projection and binning before the rasterization, the forward image's
//! transmittance and last contributors before its backward stage (or those of the program that is
//! judged: [`RasterStage::after`]), the rasterization's gradients before the projection's backward
//! stage.

mod formulations;
mod margins;
mod mixed;
mod on_image;
mod project;
mod raster;
mod rounded;

pub use formulations::{FORMULATED, Judged, JudgedAs, RoundedInputs, STANDARD};
pub use margins::Margins;
pub use mixed::ARRAYS as OF_VIEWS;
pub(super) use on_image::ImageStage;
pub use project::ProjectStage;
pub use raster::RasterStage;
