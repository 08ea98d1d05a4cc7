//! Rasterizations of a view that are given an array of another view.

use super::raster::RasterStage;

/// The arrays that may be another view's, and what they are called where there are several.
pub const ARRAYS: [&str; 8] = [
    "means2d",
    "conics",
    "opacities",
    "colors",
    "background",
    IMAGE,
    "v_render_colors",
    "v_render_alphas",
];

/// What the forward pass left in front of the background, under either name.
const IMAGE: &str = "render_alphas (or render_transmittance)";

impl RasterStage {
    /// The stage with one array of another's; `None` where both have the same numbers, or another size.
    #[must_use]
    pub fn with_array_of(&self, other: &Self, array: &str) -> Option<Self> {
        let mut all = self.clone();
        let (own, theirs) = (&mut all.inputs, &other.inputs);
        let changed = match array {
            "means2d" => taken(&mut own.raster.means2d, &theirs.raster.means2d),
            "conics" => taken(&mut own.raster.conics, &theirs.raster.conics),
            "opacities" => taken(&mut own.raster.opacities, &theirs.raster.opacities),
            "colors" => taken(&mut own.raster.colors, &theirs.raster.colors),
            "background" => taken(&mut own.raster.background, &theirs.raster.background),
            IMAGE => taken(&mut own.render_transmittance, &theirs.render_transmittance),
            "v_render_colors" => taken(&mut own.v_render_colors, &theirs.v_render_colors),
            "v_render_alphas" => taken(&mut own.v_render_alphas, &theirs.v_render_alphas),
            _ => false,
        };
        changed.then_some(all)
    }
}

/// Whether numbers became others of the same count.
fn taken<T: Clone + PartialEq>(own: &mut Vec<T>, other: &[T]) -> bool {
    let changes = own.len() == other.len() && *own != other;
    if changes {
        own.clone_from_slice(other);
    }
    changes
}
