//! Launch manifests: how a kernel with its own parameter list is launched without its host code.
//!
//! A manifest is a TOML file beside a PTX program. It names an entry point, says block, grid and
//! dynamic shared memory, and what each parameter is, in the order of the kernel's parameter list:
//! ```toml
//! kernel = "rasterize_to_pixels_bwd"        # mangled, demangled, or a part that only one name has
//! preset = "gsplat-1.5"                     # its formulation, and the constants that are built into it
//! block = [16, 16, 1]
//! grid = ["tiles_x", "tiles_y", "cameras"]
//! dynamic_shared = "256 * (4 + 8 + 12 + 12)"
//! [[parameter]]
//! u32 = "N"
//! [[parameter]]
//! tensor = "means2d"
//! [[parameter]]
//! tensor = "v_conics"
//! ```
//! Several kernels that run one after another on the same arrays are `[[launch]]` tables, each with its
//! own `kernel`, `block`, `grid`, `dynamic_shared` and `[[launch.parameter]]`, and perhaps a `file` that has it.
//! `cameras = "all"`: a rasterization of all views in one launch.
//!
//! # Stages
//! `stage = "project"` (`"rasterize"`, `"rasterize_backward"`, `"project_backward"`) says what the kernels do
//! between them; without it they are the backward rasterization. Its arrays are named below. A projection that is
//! given the size of the image is `"project_on_image"`, its gradients `"project_on_image_backward"`.
//!
//! # Parameters
//! Exactly one of these each:
//! - `tensor = NAME`: a pointer to an array by its name in gsplat, [`Tensor`]. Inputs: `means2d`, `conics`,
//!   `opacities`, `colors`, `background`, `tile_offsets`, `ranges` (`[T,2]` begin and end), `flatten_ids`,
//!   `render_transmittance`, `render_alphas`, `render_colors`, `last_ids`, `n_contrib` (counted from 1 in
//!   the tile's list, 0 for none), `v_render_colors`, `v_render_alphas`. Outputs: `v_means2d`, `v_conics`,
//!   `v_opacities`, `v_colors`, with `role = "accumulate"` (they start at zero) or `"write"` (they start
//!   unwritten, and every number must be written); without it as the stage's own kernels have them;
//! - stages of other workloads ([`KernelKind::of_stages`]) have the ports of their tables
//!   (`splatcheck_gpu::stages`), with `axes = [SYMBOL, ...]` for another order of dimensions;
//! - the other stages' arrays are those of [`Tensor::use_at`]. A name that is an input's and an output's
//!   (`opacities` of a projection) is the output's where it has a `role`;
//! - `fields = [NAME, ...]`: several tensors in one array, row by row, as `["conics", "opacities"]` for a
//!   float4. `"v_conics.1"` is one number of a row, `"pad"` a word that means nothing;
//! - `u8`, `u32`, `i32`, `u64`, `i64`, `f32`, `f64` with a number or an expression ([`Expression`]) over
//!   `W`, `H`, `N` Gaussians, `D` channels, `T` tiles, `M` (tile, Gaussian) pairs, `tiles_x`, `tiles_y`,
//!   `tile_width`, `tile_height`, `tile_size` (where they are the same), `cameras`, `stop_when_equal`,
//!   `clamp_stops_gradient`, what `[sizes]` names, and for floats the case's `alpha_max`, `alpha_min`, `transmittance_min`, `pixel_center`;
//! - `struct = [{ u32 = "W" }, { f32 = "alpha_max" }, { tensor = "background", count = 32 }]`: a structure
//!   by value, laid out as C does; without `count` a tensor is a pointer;
//! - `zeros`, `poison` (never written) `= { dtype = "f32", shape = ["N", 3] }`, or
//!   `random = { shape = ["N"], low = 0.0, high = 1.0, seed = 1 }`: an array of the launch's own;
//! - `values = { dtype = "i32", values = [0, "E"] }`, `iota = { dtype = "u32", count = "L + 1", first = 0, step = 1 }`,
//!   or `scan = { dtype = "u32", of = "ceil_div(pairs, 32)", inclusive = true }` (sums over the tiles): an array that
//!   host code would compute;
//! - `buffer = NAME`: an array that several launches share, described once as `[buffer.NAME]` with one of these
//!   six;
//! - `null = true`: a null pointer.
//!
//! `accessor = "warp"` (`"torch32"`, `"torch64"`, `"slang"`) beside one that is a pointer: it is in that framework's
//! structure with sizes and strides, `shape` where these are not the array's own.
//!
//! What differs from gsplat, beside `tensor` or `fields`: `layout = "planar"` (`[3,N]`; for images
//! also `"chw"`), `end = false` (`tile_offsets` without the end), `none = 0` (in `last_ids`, for -1),
//! `units = "ndc"` (`v_means2d`, an output or of a projection onto the image an input), `off_diagonal = "half"` (`v_conics`).
//!
//! # Programs in WGSL
//! [`Manifest::parse_wgsl`] takes `workgroups` and `overrides` in place of `block`, `grid` and
//! `dynamic_shared`, and `[[binding]]` tables with `group`, `binding` and what a parameter may be but `null`
//! in place of `[[parameter]]`. `as = "u32"` beside a tensor: the program declares its words so.
//!
//! # What is judged
//! `preset` names a project ([`splatcheck_workloads::presets`]), or a file of your own beside the manifest, which
//! says all of the following; a key that is given itself takes precedence. `formulation` names the expression of
//! the gradient as `--formulation` does, `extra_roundings` as the option. `convention` (`inria`, `gsplat`) and `[constants]` (`alpha_max`, `alpha_min`,
//! `transmittance_min`, `pixel_center`, `stop_rule`, `clamp_gradient`) say what is built into the kernel:
//! each case is judged under these. `channels = 3`: the kernel is for so many alone, other cases are left
//! out and counted. `tile_size = 8` or `[32, 16]`: width and height of a tile, for which the case's lists are
//! made; of a projection that knows the image, those by which it leaves out what none lists. `alpha_gradient = "none"`: the kernel has no gradient of the opacity
//! to start from; cases have zeros there.

mod bind;
mod check;
mod contents;
mod judged;
mod kept;
mod program;
mod text;
mod types;
mod values;
mod views;
mod wgsl;

pub use bind::BindError;
pub(crate) use bind::{all_filled, entries, entry, filled, of_another_kind};
pub use kept::{Keeping, Kept};
pub use program::{Evaluated, ManifestKernel};
pub use splatcheck_workloads::layout::{
    Array, Expression, ExpressionError, Field, Function, KernelKind, Layout, Meaning, Operator,
    Rows, Symbols, Tensor, Width,
};
pub use types::{
    Argument, Bits, Contents, Fill, Language, Launch, Manifest, Number, Parameter, Presets, Scalar,
    Shape, Slot, Start,
};
pub use wgsl::{Given, LoweredWgsl, Unfit, WgslBindError, WgslEngine, WgslKernel, WgslMachine};

use std::sync::Arc;

use splatcheck_judge::io::Problem;
use splatcheck_workloads::presets::{self, Preset};

/// One of splatcheck's own presets.
fn built_in(name: &str) -> Result<Arc<Preset>, String> {
    Preset::named(name).map(Arc::new).map_err(|_| format!("expected one of {}", presets::names()))
}

impl Manifest {
    /// Reads a manifest's text.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        check::manifest(text, Language::Ptx, &built_in)
    }

    /// The same where `preset` may be a file of the user's, which `presets` reads.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_with(text: &str, presets: Presets<'_>) -> Result<Self, Problem> {
        check::manifest(text, Language::Ptx, presets)
    }

    /// Reads the text of a manifest for a program in WGSL.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_wgsl(text: &str) -> Result<Self, Problem> {
        check::manifest(text, Language::Wgsl, &built_in)
    }
}

#[cfg(test)]
mod tests;
