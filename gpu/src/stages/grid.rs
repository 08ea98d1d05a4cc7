//! Grid encodings: features of points, interpolated between the entries of a table on several levels, and
//! their gradients by the table, which is a sum by key, and by the points.
//!
//! Symbols: `N` points of `d` numbers, `L` levels, `E` entries of `F` features. What the kernels compute
//! is in docs/src/grid.md; the fields in which published encodings differ are numbers ([`FIELDS`]).

mod cell;
mod check;
mod gate;
mod levels;
mod per_key;
mod shared;
#[cfg(test)]
pub(crate) mod tests;

use crate::reduction::{Reduction, WORKGROUP_SIZE};
use crate::stage::Stage;
use crate::stage::{
    Buffer, Buffers, Keyed, Launch, LoopRun, Param, Port, Ptx, Reductions, StageSpec, Text, Value,
    Wgsl, over,
};
use crate::tensor::{Dtype, TensorError};
use shared::{
    BASE_RESOLUTION, BLOCK_ROWS, CROWDED, D, DENSE_STRIDE, E, F, HASH, INTERPOLATION, L, LATTICE,
    LOG2_PER_LEVEL_SCALE, N, OFFSETS, OUTSIDE, POSITION_OFFSET, POSITIONS, RESOLUTIONS,
    RIGHT_CORNER, SCALES, SKEW, TABLE, V_FEATURES, by_level, by_point, float, nested, whole,
};

/// The features of all points.
pub const GRID_FORWARD: Stage = Stage::of(&FORWARD);
/// The gradients of the table.
pub const GRID_BACKWARD: Stage = Stage::of(&BACKWARD);
/// The gradients of the points.
pub const GRID_BACKWARD_INPUT: Stage = Stage::of(&BACKWARD_INPUT);

/// The level table that the others read.
pub const LEVELS: Stage = Stage::of(&levels::LEVELS);

/// The features behind a gate.
pub const GRID_GATE: Stage = Stage::of(&gate::FORWARD);
/// The gradients of the features before a gate, and of the gate.
pub const GRID_GATE_BACKWARD: Stage = Stage::of(&gate::BACKWARD);

pub use levels::{MOST_LEVELS, TABLE_FIELDS};
pub use shared::{FIELDS, MOST_DIMENSIONS, MOST_FEATURES, NAME};

/// Every stage.
pub static STAGES: [&StageSpec; 6] =
    [&levels::LEVELS, &FORWARD, &BACKWARD, &BACKWARD_INPUT, &gate::FORWARD, &gate::BACKWARD];

/// The stages of points, which have a level table.
pub const OF_POINTS: [Stage; 3] = [GRID_FORWARD, GRID_BACKWARD, GRID_BACKWARD_INPUT];

/// The record: `Params` in the kernels' sources.
static PARAMS: [Param; 16] = [
    Param { name: "points", value: Value::Size("N") },
    Param { name: "dimensions", value: Value::Size("d") },
    Param { name: "levels", value: Value::Size("L") },
    Param { name: "features", value: Value::Size("F") },
    Param { name: "entries", value: Value::Size("E") },
    Param { name: "lattice", value: Value::Input("lattice") },
    Param { name: "hash", value: Value::Input("hash") },
    Param { name: "interpolation", value: Value::Input("interpolation") },
    Param { name: "position_offset", value: Value::Input("position_offset") },
    Param { name: "right_corner", value: Value::Input("right_corner") },
    Param { name: "dense_stride", value: Value::Input("dense_stride") },
    Param { name: "crowded", value: Value::Input("crowded") },
    Param { name: "outside", value: Value::Input("outside") },
    Param { name: "skew", value: Value::Input("skew") },
    Param { name: "threshold", value: Value::Threshold },
    Param { name: "padding", value: Value::Unused(1) },
];

/// The kernels in WGSL, of which all have the cell's text in front.
const fn wgsl(
    buffers: Buffers,
    kernel: &'static str,
    constants: fn(u32, u32) -> Vec<(&'static str, u32)>,
    loop_steps: fn(&LoopRun<'_>) -> Result<u64, TensorError>,
) -> Wgsl {
    const CELL: &[&str] = &[include_str!("../../kernels/wgsl/grid/cell.wgsl")];
    Wgsl { buffers, shared: CELL, kernel, own: &[], constants, loop_steps }
}

/// What a stage of points reads: the encoding's fields and what kernels compute their scales from, and then its
/// arrays.
macro_rules! encoded {
    ([$($before:expr)?] $($array:expr),+) => {
        &[
            $($before,)?
            LATTICE,
            HASH,
            INTERPOLATION,
            POSITION_OFFSET,
            RIGHT_CORNER,
            DENSE_STRIDE,
            CROWDED,
            OUTSIDE,
            SKEW,
            BASE_RESOLUTION,
            LOG2_PER_LEVEL_SCALE,
            $($array),+
        ]
    };
}

const FORWARD_BUFFERS: Buffers = Buffers {
    inputs: &[
        float(&["positions"]),
        float(&["table"]),
        float(&["scales"]),
        whole(&["resolutions"]),
        whole(&["offsets"]),
    ],
    outputs: &[float(&["features"])],
};

static FORWARD: StageSpec = StageSpec {
    name: "grid_forward",
    workload: NAME,
    text: Text::of("grid_forward"),
    inputs: encoded!([] POSITIONS, TABLE, SCALES, RESOLUTIONS, OFFSETS),
    outputs: &[Port::write("features", Dtype::F32, &[N, L, F])],
    reductions: Reductions::None,
    launch: Launch { workgroup_size: WORKGROUP_SIZE, workgroups: by_level },
    params: &PARAMS,
    compiled_for: None,
    wgsl: wgsl(
        FORWARD_BUFFERS,
        include_str!("../../kernels/wgsl/grid/grid_forward.wgsl"),
        |_, _| Vec::new(),
        forward_steps,
    ),
    ptx: Ptx { buffers: FORWARD_BUFFERS },
    extra_launches: &[],
    check: check::check,
};

const BACKWARD_BUFFERS: Buffers = Buffers {
    inputs: &[
        float(&["positions"]),
        float(&["scales"]),
        whole(&["resolutions"]),
        whole(&["offsets"]),
        float(&["v_features"]),
    ],
    outputs: &[Buffer::f32("gradients", &["v_table"])],
};

/// Features that a lane of the WGSL kernel takes up at a time: all of a chunk are sent, so that only 1
/// divides every F.
const WGSL_VALUES: u32 = 1;

static BACKWARD: StageSpec = StageSpec {
    name: "grid_backward",
    workload: NAME,
    text: Text::of("grid_backward"),
    inputs: encoded!([Port::size("entries", "E")] POSITIONS, SCALES, RESOLUTIONS, OFFSETS, V_FEATURES),
    outputs: &[Port::accumulate("v_table", &[E, F])],
    reductions: Reductions::Keyed(Keyed {
        reductions: &[
            Reduction::Atomic,
            Reduction::SwS,
            Reduction::SwB,
            Reduction::Segmented,
            Reduction::Subgroup,
            Reduction::Block,
            Reduction::PerKey,
        ],
        rows: "E",
        rows_of_workgroup: BLOCK_ROWS as usize,
    }),
    launch: Launch { workgroup_size: WORKGROUP_SIZE, workgroups: by_level },
    params: &PARAMS,
    compiled_for: None,
    wgsl: wgsl(
        BACKWARD_BUFFERS,
        include_str!("../../kernels/wgsl/grid/grid_backward.wgsl"),
        |_, _| vec![("VALUES", WGSL_VALUES), ("BATCH_SIZE", BLOCK_ROWS)],
        backward_steps,
    ),
    ptx: Ptx { buffers: BACKWARD_BUFFERS },
    extra_launches: &[per_key::LAUNCHES],
    check: check::check,
};

const BACKWARD_INPUT_BUFFERS: Buffers = Buffers {
    inputs: &[
        float(&["positions"]),
        float(&["table"]),
        float(&["scales"]),
        whole(&["resolutions"]),
        whole(&["offsets"]),
        float(&["v_features"]),
    ],
    outputs: &[float(&["v_positions"])],
};

static BACKWARD_INPUT: StageSpec = StageSpec {
    name: "grid_backward_input",
    workload: NAME,
    text: Text::of("grid_backward_input"),
    inputs: encoded!([] POSITIONS, TABLE, SCALES, RESOLUTIONS, OFFSETS, V_FEATURES),
    outputs: &[Port::write("v_positions", Dtype::F32, &[N, D])],
    reductions: Reductions::None,
    launch: Launch { workgroup_size: WORKGROUP_SIZE, workgroups: by_point },
    params: &PARAMS,
    compiled_for: None,
    wgsl: wgsl(
        BACKWARD_INPUT_BUFFERS,
        include_str!("../../kernels/wgsl/grid/grid_backward_input.wgsl"),
        |_, _| Vec::new(),
        backward_input_steps,
    ),
    ptx: Ptx { buffers: BACKWARD_INPUT_BUFFERS },
    extra_launches: &[],
    check: check::check,
};

/// The most corners that a point is interpolated between: those of a cube, which are no fewer than a
/// simplex has.
fn corners(run: &LoopRun<'_>) -> u64 {
    1 << run.size("d").min(MOST_DIMENSIONS as u64)
}

/// How many loop steps `grid_forward.wgsl` makes at most.
fn forward_steps(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    let features = over(run.size("F"), 0);
    Ok(nested(corners(run), features).saturating_add(features))
}

/// The same of `grid_backward_input.wgsl`.
fn backward_input_steps(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    let of_corner = nested(run.size("d"), over(run.size("F"), 0));
    let of_levels = nested(run.size("L"), nested(corners(run), of_corner));
    Ok(of_levels.saturating_add(over(run.size("d"), 0)))
}

/// How many loop steps `grid_backward.wgsl` makes at most: at each corner those that find the groups, then
/// the chunks of features, in each its values and the reduction.
///
/// An exchange fails only where another lane's addition to the same number came between. That happens at
/// most once for each addition of the level to any number, of which there are N for each corner and
/// feature: so many for each of a subgroup's own additions.
fn backward_steps(run: &LoopRun<'_>) -> Result<u64, TensorError> {
    let run = &LoopRun { lanes: run.size("N"), ..*run };
    let Some(setting) = run.setting else { return Ok(0) };
    if setting.reduction == Reduction::PerKey {
        return per_key::loop_steps_of_points(run);
    }
    let values = u64::from(WGSL_VALUES);
    let each = over(values, 0)
        .saturating_add(setting.keyed_steps(run, values))
        .saturating_add(setting.batch_steps(run, u64::from(BLOCK_ROWS), values));
    let of_corner =
        setting.match_steps(run).saturating_add(over(run.size("F").div_ceil(values), each));
    Ok(over(corners(run), of_corner))
}
