//! What the tables of several stages of splats share: symbols, buffers, records.

use crate::reduction::WORKGROUP_SIZE;
use crate::stage::{Buffer, Dim, Param, Port, Sizes, Text, Value};
use crate::tensor::Dtype;

/// The workload's name.
pub const NAME: &str = "splat";

/// Tile side the kernels are written for, pixels.
pub const TILE_SIZE: u32 = 16;

const _: () = assert!(WORKGROUP_SIZE == TILE_SIZE * TILE_SIZE, "a lane for each pixel of a tile");

/// Largest number of channels.
pub const MAX_CHANNELS: u32 = 32;

/// Entries of a tile's list between two checkpoints.
pub const CHECKPOINT_EVERY: u32 = 32;

/// Numbers of one camera's gradient that are summed: the upper three rows of its matrix.
pub(super) const CAMERA_VALUES: u32 = 12;

/// Values in a Gaussian's row: mean (2), conic (3), opacity (1), colour (D). A stage's inputs and
/// its gradients are rows of the same layout.
#[must_use]
pub const fn values(channels: u32) -> u32 {
    6 + channels
}

pub(super) const C: Dim = Dim::Symbol("C");
pub(super) const D: Dim = Dim::Symbol("D");
pub(super) const H: Dim = Dim::Symbol("H");
pub(super) const M: Dim = Dim::Symbol("M");
pub(super) const N: Dim = Dim::Symbol("N");
pub(super) const W: Dim = Dim::Symbol("W");
/// Harmonics are `[N,K,3]`, direct colours `[N,D]`.
pub(super) const K: Dim = Dim::Optional("K");
/// One more than tiles.
pub(super) const OFFSETS: Dim = Dim::OneMore("T");

pub(super) const fn float(name: &'static str, shape: &'static [Dim]) -> Port {
    Port::read(name, Dtype::F32, shape)
}

/// What both rasterization stages read. Tile t owns `flatten_ids[tile_offsets[t]..tile_offsets[t+1]]`,
/// front to back.
macro_rules! raster_inputs {
    ($($more:expr),*) => {
        &[
            Port::size("width", "W"),
            Port::size("height", "H"),
            // The width of a tile, and its height, pixels.
            Port::built_in("tile_size", $crate::stages::splat::shared::TILE_SIZE),
            Port::built_in("tile_height", $crate::stages::splat::shared::TILE_SIZE),
            Port::constant("alpha_max", Dtype::F32),
            Port::constant("alpha_min", Dtype::F32),
            Port::constant("transmittance_min", Dtype::F32),
            // Added to a pixel's integer coordinates: its sample point.
            Port::constant("pixel_center", Dtype::F32),
            // 1: next T <= transmittance_min stops a pixel; 0: next T < transmittance_min; 3 and 2, of other
            // people's kernels alone: the same, after the Gaussian is blended.
            Port::constant("stop_when_equal", Dtype::U32),
            // 1: no gradient passes the clamp at alpha_max; 0: it passes as if there were none; 2, of other
            // people's kernels alone: it goes on with the clamped alpha.
            Port::constant("clamp_stops_gradient", Dtype::U32),
            float("means2d", &[N, Dim::Const(2)]),
            float("conics", &[N, Dim::Const(3)]),
            float("opacities", &[N]),
            float("colors", &[N, D]),
            float("background", &[D]),
            Port::read("tile_offsets", Dtype::U32, &[OFFSETS]),
            Port::read("flatten_ids", Dtype::U32, &[M]),
            $($more),*
        ]
    };
}

pub(super) use raster_inputs;

/// The record of both rasterization stages: `Params` in `pair.wgsl` and `pair.cuh`.
pub(super) static RASTER_PARAMS: [Param; 13] = [
    Param { name: "width", value: Value::Size("W") },
    Param { name: "height", value: Value::Size("H") },
    Param { name: "tiles_x", value: Value::Computed(|sizes| tiles(sizes)[0]) },
    Param { name: "threshold", value: Value::Threshold },
    Param { name: "alpha_max", value: Value::Input("alpha_max") },
    Param { name: "alpha_min", value: Value::Input("alpha_min") },
    Param { name: "transmittance_min", value: Value::Input("transmittance_min") },
    Param { name: "pixel_center", value: Value::Input("pixel_center") },
    Param { name: "stop_when_equal", value: Value::Input("stop_when_equal") },
    Param { name: "clamp_stops_gradient", value: Value::Input("clamp_stops_gradient") },
    Param { name: "channels", value: Value::Size("D") },
    Param { name: "padding", value: Value::Unused(1) },
    Param { name: "background", value: Value::Padded("background", MAX_CHANNELS as usize) },
];

/// Rows of what is rasterized.
pub(super) const GAUSSIANS: Buffer =
    Buffer::f32("gaussians", &["means2d", "conics", "opacities", "colors"]);
pub(super) const TILE_OFFSETS: Buffer = Buffer::of(&["tile_offsets"], "u32");
pub(super) const FLATTEN_IDS: Buffer = Buffer::of(&["flatten_ids"], "u32");
pub(super) const TRANSMITTANCE: Buffer = Buffer::of(&["render_transmittance"], "f32");
pub(super) const LAST_IDS: Buffer = Buffer::of(&["last_ids"], "i32");

/// The tile of a pixel of an image that is `width` wide, in tiles of this width and height, pixels.
#[must_use]
pub fn tile_of(pixel: usize, width: usize, [across, down]: [usize; 2]) -> usize {
    pixel / width / down * width.div_ceil(across) + pixel % width / across
}

/// Tiles of the image in x and y.
pub(super) fn tiles(sizes: &Sizes) -> [usize; 2] {
    ["W", "H"].map(|side| sizes.get(side).div_ceil(TILE_SIZE as usize))
}

pub(super) fn raster_constants(channels: u32, batch: u32) -> Vec<(&'static str, u32)> {
    vec![
        ("TILE_SIZE", TILE_SIZE),
        ("CHANNELS", channels),
        ("VALUES", values(channels)),
        ("BATCH_SIZE", batch),
    ]
}

pub(super) const GRADIENTS: &[Buffer] =
    &[Buffer::f32("gradients", &["v_means2d", "v_conics", "v_opacities", "v_colors"])];

pub(super) const V_RENDER_COLORS: Port = float("v_render_colors", &[H, W, D]);
pub(super) const V_RENDER_ALPHAS: Port = float("v_render_alphas", &[H, W]);
pub(super) const LAST_IDS_PORT: Port = Port::read("last_ids", Dtype::I32, &[H, W]);

/// What kernels of the standard formulation read.
pub(super) const STANDARD_INPUTS: &[Port] = raster_inputs!(
    float("render_transmittance", &[H, W]),
    LAST_IDS_PORT,
    V_RENDER_COLORS,
    V_RENDER_ALPHAS
);

/// The buffers of kernels that walk back to front; `numbers` are what `FINAL_T` says.
macro_rules! backward_buffers {
    ($numbers:expr) => {
        &[
            GAUSSIANS,
            TILE_OFFSETS,
            FLATTEN_IDS,
            $numbers,
            LAST_IDS,
            Buffer::of(&["v_render_colors"], "f32"),
            Buffer::of(&["v_render_alphas"], "f32"),
        ]
    };
}

pub(super) const BUFFERS: &[Buffer] = backward_buffers!(TRANSMITTANCE);

pub(super) use backward_buffers;

/// The texts in front of every kernel's.
pub(super) const SHARED: &[&str] = &[
    include_str!("../../../kernels/wgsl/splat/pair.wgsl"),
    include_str!("../../../kernels/wgsl/splat/unblend.wgsl"),
];

pub(super) const KERNEL: &str = include_str!("../../../kernels/wgsl/splat/rasterize_backward.wgsl");

/// The constants of `unblend.cuh` and `unblend.wgsl`.
macro_rules! formulation {
    ($remainder:literal, $final_t:literal, $divide:literal, $floor:literal) => {
        &[
            ("REMAINDER", $remainder),
            ("FINAL_T", $final_t),
            ("DIVIDE", $divide),
            ("FLOOR_1_MINUS_ALPHA", $floor),
        ]
    };
}

pub(super) use formulation;

/// The text of the kernels that walk back to front, in another formulation than the standard one.
pub(super) const fn backward(constants: &'static [(&'static str, &'static str)]) -> Text {
    Text { name: "rasterize_backward", constants, formulation_of: Some("rasterize_backward") }
}

/// The text of the standard formulation.
pub(super) const STANDARD_TEXT: Text =
    Text { formulation_of: None, ..backward(formulation!("BEHIND", "STORED", "DIRECT", "0.0f")) };
