//! What the tables of several stages of grids share: symbols, ports, buffers, sizes of launches.

use crate::reduction::WORKGROUP_SIZE;
use crate::stage::{Buffer, Dim, Port, Sizes, over};
use crate::tensor::Dtype;

/// The workload's name.
pub const NAME: &str = "grid";

/// The most numbers of a position.
pub const MOST_DIMENSIONS: usize = 4;

/// The most features of an entry.
pub const MOST_FEATURES: usize = 8;

/// The fields of an encoding: the name of the number that says it, and the names of the values that it
/// stands for, from 0 on.
pub const FIELDS: [(&str, &[&str]); 9] = [
    ("lattice", &["cubic", "simplex"]),
    ("hash", &["prime", "rolling"]),
    ("interpolation", &["nearest", "linear", "smoothstep"]),
    ("position_offset", &["half", "zero"]),
    ("right_corner", &["floor-plus-one", "ceil"]),
    ("dense_stride", &["resolution", "resolution-plus-one", "never"]),
    ("crowded", &["hash", "tiled"]),
    ("outside", &["wraps", "zero"]),
    ("skew", &["none", "simplex"]),
];

pub(super) const D: Dim = Dim::Symbol("d");
pub(super) const E: Dim = Dim::Symbol("E");
pub(super) const F: Dim = Dim::Symbol("F");
pub(super) const L: Dim = Dim::Symbol("L");
pub(super) const N: Dim = Dim::Symbol("N");

pub(super) const POSITIONS: Port = Port::read("positions", Dtype::F32, &[N, D]);
pub(super) const TABLE: Port = Port::read("table", Dtype::F32, &[E, F]);
/// What positions are multiplied by on a level.
pub(super) const SCALES: Port = Port::read("scales", Dtype::F32, &[L]);
/// Vertices of an axis.
pub(super) const RESOLUTIONS: Port = Port::read("resolutions", Dtype::U32, &[L]);
/// Level l has the entries from `offsets[l]` to `offsets[l + 1]`.
pub(super) const OFFSETS: Port = Port::read("offsets", Dtype::U32, &[Dim::OneMore("L")]);
/// What kernels compute their scales from that read none (H and S, see [`LEVELS`]): both 0 where the table is an
/// input.
pub(super) const BASE_RESOLUTION: Port = Port::may_read("base_resolution", Dtype::U32);
pub(super) const LOG2_PER_LEVEL_SCALE: Port = Port::may_read("log2_per_level_scale", Dtype::F32);
pub(super) const V_FEATURES: Port = Port::read("v_features", Dtype::F32, &[N, L, F]);

/// The encoding's field of this name: see [`FIELDS`].
pub(super) const fn field(name: &'static str) -> Port {
    Port::constant(name, Dtype::U32)
}

pub(super) const LATTICE: Port = field("lattice");
pub(super) const HASH: Port = field("hash");
pub(super) const INTERPOLATION: Port = field("interpolation");
pub(super) const POSITION_OFFSET: Port = field("position_offset");
pub(super) const RIGHT_CORNER: Port = field("right_corner");
pub(super) const DENSE_STRIDE: Port = field("dense_stride");
pub(super) const CROWDED: Port = field("crowded");
pub(super) const OUTSIDE: Port = field("outside");
pub(super) const SKEW: Port = field("skew");

pub(super) const fn float(port: &'static [&'static str; 1]) -> Buffer {
    Buffer::of(port, "f32")
}

pub(super) const fn whole(port: &'static [&'static str; 1]) -> Buffer {
    Buffer::of(port, "u32")
}

/// One workgroup for so many points, a row of them for each level.
pub(super) fn by_level(sizes: &Sizes) -> [usize; 2] {
    [by_point(sizes)[0], sizes.get("L").max(1)]
}

/// One workgroup for so many points.
pub(super) fn by_point(sizes: &Sizes) -> [usize; 2] {
    [sizes.get("N").div_ceil(WORKGROUP_SIZE as usize).max(1), 1]
}

/// Entries that a workgroup can keep sums of: `BLOCK_ROWS` in `grid_backward.cu`, which keeps four features
/// of each, the 16 KiB of workgroup memory that WebGPU guarantees.
pub(super) const BLOCK_ROWS: u32 = 1024;

/// Steps of a loop over so many things with loops within, and one more: lavapipe makes 51 for 4 corners of 8
/// features which are then written, where the loops alone ask for 50.
pub(super) fn nested(things: u64, each: u64) -> u64 {
    over(things, each).saturating_add(1)
}
