//! The stage `levels`: the level table of a grid from the few numbers that it follows from.

use super::shared::{
    DENSE_STRIDE, L, MOST_DIMENSIONS, MOST_FEATURES, NAME, field, float, nested, whole,
};
use crate::error::EngineError;
use crate::reduction::WORKGROUP_SIZE;
use crate::stage::{
    Buffers, Dim, Launch, Param, Port, Ptx, Reductions, Sizes, StageSpec, Text, Value, Wgsl, over,
};
use crate::tensor::{Dtype, Tensors};

/// The fields of a level table's rules, as [`FIELDS`](super::shared::FIELDS).
pub const TABLE_FIELDS: [(&str, &[&str]); 3] = [
    ("dense_stride", &["resolution", "resolution-plus-one", "never"]),
    ("scale_rule", &["minus-one", "floor"]),
    ("entries_rule", &["round-then-cap", "cap-then-round", "round-to-features"]),
];

/// The most levels of a table.
pub const MOST_LEVELS: usize = 255;
/// The largest `N_min`: beyond it an f32 does not hold each.
const MOST_COARSEST: u32 = 1 << 24;
/// The most vertices of an axis, about which integers of 32 bits still have room.
const MOST_VERTICES: f64 = 1_073_741_824.0;
/// A level's entries are a multiple of this, where they are rounded up after all.
const ALIGNMENT: u64 = 8;
/// The rule by which they are.
const CAP_THEN_ROUND: u32 = 1;

/// The record: `Params` in the kernels' sources.
static PARAMS: [Param; 10] = [
    Param { name: "levels", value: Value::Size("L") },
    Param { name: "dimensions", value: Value::Input("dimensions") },
    Param { name: "features", value: Value::Input("features") },
    Param { name: "dense_stride", value: Value::Input("dense_stride") },
    Param { name: "scale_rule", value: Value::Input("scale_rule") },
    Param { name: "entries_rule", value: Value::Input("entries_rule") },
    Param { name: "coarsest", value: Value::Input("coarsest") },
    Param { name: "ratio", value: Value::Input("ratio") },
    Param { name: "most_entries", value: Value::Input("most_entries") },
    Param { name: "padding", value: Value::Unused(3) },
];

const BUFFERS: Buffers = Buffers {
    inputs: &[],
    outputs: &[
        float(&["scales"]),
        whole(&["resolutions"]),
        whole(&["entries"]),
        whole(&["offsets"]),
    ],
};

/// The row of the stage.
pub(super) static LEVELS: StageSpec = StageSpec {
    name: "levels",
    workload: NAME,
    text: Text::of("levels"),
    inputs: &[
        Port::size("levels", "L"),
        field("dimensions"),
        field("features"),
        DENSE_STRIDE,
        field("scale_rule"),
        field("entries_rule"),
        field("coarsest"),
        Port::constant("ratio", Dtype::F32),
        field("most_entries"),
    ],
    outputs: &[
        Port::write("scales", Dtype::F32, &[L]),
        Port::write("resolutions", Dtype::U32, &[L]),
        Port::write("entries", Dtype::U32, &[L]),
        Port::write("offsets", Dtype::U32, &[Dim::OneMore("L")]),
    ],
    reductions: Reductions::None,
    // One lane makes the table: an offset follows from all entries before it.
    launch: Launch { workgroup_size: WORKGROUP_SIZE, workgroups: |_| [1, 1] },
    params: &PARAMS,
    compiled_for: None,
    wgsl: Wgsl {
        buffers: BUFFERS,
        shared: &[],
        kernel: include_str!("../../../kernels/wgsl/grid/levels.wgsl"),
        own: &[],
        constants: |_, _| Vec::new(),
        loop_steps: |run| {
            let axes = over(u64::from(run.inputs.u32("dimensions")?[0]), 0);
            Ok(nested(run.size("L"), axes))
        },
    },
    ptx: Ptx { buffers: BUFFERS },
    extra_launches: &[],
    check,
};

fn within(what: &str, found: u64, most: u64) -> Result<(), EngineError> {
    if (1..=most).contains(&found) {
        return Ok(());
    }
    Err(EngineError::Input(format!("{what} is {found}, expected 1 to {most}")))
}

/// What a table of 32-bit integers cannot be made from.
fn check(inputs: &Tensors, sizes: &Sizes) -> Result<(), EngineError> {
    let number = |name: &str| -> Result<u32, EngineError> { Ok(inputs.u32(name)?[0]) };
    let levels = sizes.get("L");
    within("levels", levels as u64, MOST_LEVELS as u64)?;
    within("dimensions", number("dimensions")?.into(), MOST_DIMENSIONS as u64)?;
    within("features", number("features")?.into(), MOST_FEATURES as u64)?;
    within("coarsest", number("coarsest")?.into(), MOST_COARSEST.into())?;
    super::check::fields(inputs, &TABLE_FIELDS)?;
    let ratio = inputs.f32("ratio")?[0];
    if !(ratio.is_finite() && ratio >= 1.0) {
        return Err(EngineError::Input(format!("ratio is {ratio}, expected 1 or more")));
    }
    let coarsest = f64::from(number("coarsest")?);
    let finest = (1..levels).fold(coarsest, |vertices, _| vertices * f64::from(ratio));
    if finest > MOST_VERTICES {
        let text = format!("coarsest x ratio^(levels - 1) is {finest}: expected 2^30 at most");
        return Err(EngineError::Input(text));
    }
    let most = u64::from(number("most_entries")?);
    within("most_entries", most, u32::MAX.into())?;
    let rounded = number("entries_rule")? == CAP_THEN_ROUND;
    let all = if rounded { most.next_multiple_of(ALIGNMENT) } else { most } * levels as u64;
    if all > u64::from(u32::MAX) {
        let text = format!("levels x most_entries may come to {all}: offsets have 32 bits");
        return Err(EngineError::Input(text));
    }
    Ok(())
}
