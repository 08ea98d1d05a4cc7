//! What a conforming kernel may return for each stage: the oracle's bounds as the judge reads them.

mod on_image;
mod project;
mod raster;

pub(super) use on_image::{project_backward_on_image, project_on_image};
pub use project::{project, project_backward};
pub use raster::{IMAGE, image, rasterize, rasterize_backward, rasterize_backward_without};
