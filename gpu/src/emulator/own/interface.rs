//! Which parameters a user's own kernel has: the arrays of the stage that it stands in for.
//!
//! Formulations that read other arrays are stages of their own, so that a kernel's formulation decides
//! its interface.

use std::fmt::Write as _;

use crate::stages::Stage;
use crate::stages::splat::{
    RASTERIZE_BACKWARD, RASTERIZE_BACKWARD_IMAGE, RASTERIZE_BACKWARD_IMAGE_DIRECT,
    RASTERIZE_BACKWARD_REPLAY,
};

/// Bytes of a pointer.
const POINTER: u32 = 8;

/// A parameter as CUDA C++ declares it, and its shape: N Gaussians, D channels, T tiles of 16x16 pixels,
/// M (tile, Gaussian) pairs, S checkpoints, an image of H x W pixels.
pub type Parameter = (&'static str, &'static str);

/// The parameters of a user's kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// Those of `rasterize_backward`: kernels that walk from the last contributor to the front.
    Standard,
    /// Those of `rasterize_backward_image`: kernels that walk from the front again and are given the
    /// rendered image.
    Image,
    /// Those of `rasterize_backward_replay`: kernels that begin at checkpoints of the forward walk.
    Checkpoints,
}

const PARAMS: Parameter = ("Params params", "by value, 176 bytes: see the struct");
const GAUSSIANS: Parameter =
    ("const float* gaussians", "[N,6+D] rows: mean (2), conic (3), opacity, colour (D)");
const TILE_OFFSETS: Parameter =
    ("const unsigned* tile_offsets", "[T+1] tile t owns flatten_ids[offsets[t]..offsets[t+1]]");
const FLATTEN_IDS: Parameter =
    ("const unsigned* flatten_ids", "[M] Gaussians of each tile, front to back");
const LAST_IDS: Parameter =
    ("const int* last_ids", "[H,W] place in flatten_ids of the last contributor, -1 for none");
const V_IMAGE: Parameter =
    ("const float* v_image", "[H,W,1+D] rows: gradients of the opacity and of the colour");
const GRADIENTS: Parameter =
    ("float* gradients", "[N,6+D] rows as in gaussians: zeros, to be added to");

const STANDARD: &[Parameter] = &[
    PARAMS,
    GAUSSIANS,
    TILE_OFFSETS,
    FLATTEN_IDS,
    ("const float* render_transmittance", "[H,W] after the last contributor"),
    LAST_IDS,
    ("const float* v_render_colors", "[H,W,D]"),
    ("const float* v_render_alphas", "[H,W]"),
    GRADIENTS,
];

const IMAGE: &[Parameter] = &[
    PARAMS,
    GAUSSIANS,
    TILE_OFFSETS,
    FLATTEN_IDS,
    ("const float* image", "[H,W,1+D] rows: rendered opacity, rendered colour"),
    V_IMAGE,
    GRADIENTS,
];

const CHECKPOINTS: &[Parameter] = &[
    PARAMS,
    GAUSSIANS,
    (
        "const unsigned* tile_offsets",
        "[2(T+1)] as ever, then: tile t owns checkpoints[offsets[t]..offsets[t+1]]",
    ),
    FLATTEN_IDS,
    ("const float* image", "[H,W,1+D] rows: transmittance after the last contributor, colour"),
    LAST_IDS,
    V_IMAGE,
    (
        "const float* checkpoints",
        "[S,256,1+D] one for every 32 entries of a tile: each pixel's transmittance and colour",
    ),
    GRADIENTS,
];

impl Interface {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Standard, Self::Image, Self::Checkpoints];

    /// That of a stage's kernels; `None` where nobody's own kernel can stand in for them.
    #[must_use]
    pub fn of(stage: Stage) -> Option<Self> {
        Self::ALL.into_iter().find(|interface| interface.stages().contains(&stage))
    }

    /// The stages that give a kernel these parameters, the one that it is named after first.
    #[must_use]
    pub fn stages(self) -> &'static [Stage] {
        match self {
            Self::Standard => &[RASTERIZE_BACKWARD],
            Self::Image => &[RASTERIZE_BACKWARD_IMAGE, RASTERIZE_BACKWARD_IMAGE_DIRECT],
            Self::Checkpoints => &[RASTERIZE_BACKWARD_REPLAY],
        }
    }

    /// The parameters, in order.
    #[must_use]
    pub fn parameters(self) -> &'static [Parameter] {
        match self {
            Self::Standard => STANDARD,
            Self::Image => IMAGE,
            Self::Checkpoints => CHECKPOINTS,
        }
    }

    /// The bytes that a kernel takes for each parameter.
    pub(super) fn sizes(self) -> Vec<u32> {
        let mut sizes = vec![POINTER; self.parameters().len()];
        let record = self.stages()[0].record_words();
        sizes[0] = u32::try_from(4 * record).unwrap_or(u32::MAX);
        sizes
    }

    /// The interface in words, a line for each parameter.
    pub(super) fn described(self) -> String {
        let mut text = String::new();
        for ((declaration, shape), size) in self.parameters().iter().zip(self.sizes()) {
            // Writing to a text does not fail.
            let _ = write!(text, "\n  {declaration} ({size} bytes): {shape};");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_has_the_size_that_is_told() {
        for interface in Interface::ALL {
            let size = format!("{} bytes", interface.sizes()[0]);
            assert!(interface.parameters()[0].1.contains(&size), "{interface:?}: its words");
        }
    }

    /// What is told is what a launch hands over.
    #[test]
    fn the_parameters_are_the_buffers_of_the_stage() {
        for interface in Interface::ALL {
            for stage in interface.stages() {
                let buffers = stage.ptx.buffers;
                let names = buffers.inputs.iter().chain(buffers.outputs).map(|b| b.name);
                // The rendered opacities go in place of the transmittances, by another name.
                let told = interface.parameters()[1..].iter();
                let told = told.map(|(declaration, _)| declaration.rsplit(' ').next());
                assert!(told.eq(names.map(Some)), "{stage}");
                assert_eq!(Interface::of(*stage), Some(interface), "{stage}");
            }
        }
    }
}
