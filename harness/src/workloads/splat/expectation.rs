//! What a conforming kernel may return for each stage: the oracle's bounds as the judge reads them.

mod project;
mod raster;

pub use project::{project, project_backward};
pub use raster::{IMAGE, image, rasterize, rasterize_backward, rasterize_backward_without};
