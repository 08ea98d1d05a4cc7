//! The reductions of `rasterize_backward` that take two launches: `sorted` and `fixed`.
//!
//! Symbols as in [`super`]: `N` Gaussians, `D` channels, `M` (tile, Gaussian) pairs.

use super::shared::{
    BUFFERS, D, FLATTEN_IDS, GAUSSIANS, GRADIENTS, H, KERNEL, LAST_IDS, LAST_IDS_PORT, M, N, NAME,
    OFFSETS, RASTER_PARAMS, SHARED, STANDARD_INPUTS, STANDARD_TEXT, TILE_OFFSETS, TRANSMITTANCE,
    V_RENDER_ALPHAS, V_RENDER_COLORS, W, float, raster_constants, raster_inputs, tiles, values,
};
use super::{check, steps};
use crate::reduction::{Reduction, WORKGROUP_SIZE};
use crate::stage::{
    Buffer, Buffers, Dim, ExtraLaunches, Launch, LoopRun, Param, Port, Ptx, Reductions, Role,
    Sizes, StageSpec, Text, Value, Wgsl,
};
use crate::stages::per_key::starts;
use crate::tensor::{Data, Dtype, TensorError, Tensors};

/// Both.
pub(super) static ALL: &[ExtraLaunches] = &[
    ExtraLaunches {
        reduction: Reduction::Sorted,
        first: &SORTED,
        second: Some(&REDUCE_BY_KEY),
        derive: sort_by_gaussian,
        exact: None,
    },
    ExtraLaunches {
        reduction: Reduction::Fixed,
        first: &FIXED,
        second: Some(&FROM_FIXED_POINT),
        derive: |_| Ok(Tensors::new()),
        exact: None,
    },
];

/// The order of the pairs by Gaussian, as a stable sort by key gives it (`cub::DeviceRadixSort` does it
/// on a device; which library sorts is not judged): `slots` [M], the place of each entry of
/// `flatten_ids` in that order, and `slot_offsets` [N+1], where each Gaussian's places begin.
fn sort_by_gaussian(inputs: &Tensors) -> Result<Tensors, TensorError> {
    let ids = inputs.u32("flatten_ids")?;
    let gaussians = inputs.f32("opacities")?.len();
    let offsets = starts(ids, gaussians);
    let mut next = offsets.clone();
    let slot = |&id: &u32| {
        let next = next.get_mut(id as usize)?;
        *next += 1;
        Some(*next - 1)
    };
    // An entry that names no Gaussian is refused when the launch is checked.
    let slots: Vec<u32> = ids.iter().map(slot).map(Option::unwrap_or_default).collect();
    let mut derived = Tensors::new();
    derived.array("slots", &[slots.len()], Data::U32(slots))?;
    derived.array("slot_offsets", &[offsets.len()], Data::U32(offsets))?;
    Ok(derived)
}

/// Rows of the sums of each pair.
const PARTIALS: Buffer = Buffer::f32(
    "partials",
    &["partial_means2d", "partial_conics", "partial_opacities", "partial_colors"],
);

/// What each tile contributes to each of its Gaussians, sorted by Gaussian.
static SORTED: StageSpec = StageSpec {
    name: "rasterize_backward",
    workload: NAME,
    text: STANDARD_TEXT,
    inputs: raster_inputs!(
        float("render_transmittance", &[H, W]),
        LAST_IDS_PORT,
        V_RENDER_COLORS,
        V_RENDER_ALPHAS,
        Port::read("slots", Dtype::U32, &[M])
    ),
    outputs: &[
        Port::write("partial_means2d", Dtype::F32, &[M, Dim::Const(2)]),
        Port::write("partial_conics", Dtype::F32, &[M, Dim::Const(3)]),
        Port::write("partial_opacities", Dtype::F32, &[M]),
        Port::write("partial_colors", Dtype::F32, &[M, D]),
    ],
    reductions: Reductions::Only(&[Reduction::Sorted]),
    launch: Launch { workgroup_size: WORKGROUP_SIZE, workgroups: tiles },
    params: &RASTER_PARAMS,
    compiled_for: Some("D"),
    wgsl: Wgsl {
        buffers: Buffers {
            inputs: &[
                GAUSSIANS,
                // The ends of the lists, then the pairs' places: one buffer, to keep within eight.
                Buffer { name: "tile_offsets", ports: &["tile_offsets", "slots"], element: "u32" },
                FLATTEN_IDS,
                TRANSMITTANCE,
                LAST_IDS,
                Buffer::of(&["v_render_colors"], "f32"),
                Buffer::of(&["v_render_alphas"], "f32"),
            ],
            outputs: &[PARTIALS],
        },
        shared: SHARED,
        kernel: include_str!("../../../kernels/wgsl/splat/rasterize_backward_sorted.wgsl"),
        own: &[],
        constants: raster_constants,
        loop_steps: steps::rasterize_backward_sorted,
    },
    ptx: Ptx {
        buffers: Buffers {
            inputs: &[
                GAUSSIANS,
                TILE_OFFSETS,
                FLATTEN_IDS,
                TRANSMITTANCE,
                LAST_IDS,
                Buffer::of(&["v_render_colors"], "f32"),
                Buffer::of(&["v_render_alphas"], "f32"),
                Buffer::of(&["slots"], "u32"),
            ],
            outputs: &[PARTIALS],
        },
    },
    extra_launches: &[],
    check: check::backward,
};

const fn words(name: &'static str, shape: &'static [Dim]) -> Port {
    Port { name, dtype: Dtype::U32, shape, role: Role::Accumulate }
}

/// Sums in fixed point, two words each.
const FIXED_SUMS: &[Port] = &[
    words("fixed_means2d", &[N, Dim::Const(2), Dim::Const(2)]),
    words("fixed_conics", &[N, Dim::Const(3), Dim::Const(2)]),
    words("fixed_opacities", &[N, Dim::Const(2)]),
    words("fixed_colors", &[N, D, Dim::Const(2)]),
];

/// Rows of them.
const SUMS: Buffer = Buffer {
    name: "sums",
    ports: &["fixed_means2d", "fixed_conics", "fixed_opacities", "fixed_colors"],
    element: "u32",
};

const FIXED_BUFFERS: Buffers = Buffers { inputs: BUFFERS, outputs: &[SUMS] };

/// What all pixels contribute to each Gaussian, in fixed point.
static FIXED: StageSpec = StageSpec {
    name: "rasterize_backward",
    workload: NAME,
    text: STANDARD_TEXT,
    inputs: STANDARD_INPUTS,
    outputs: FIXED_SUMS,
    reductions: Reductions::Only(&[Reduction::Fixed]),
    launch: Launch { workgroup_size: WORKGROUP_SIZE, workgroups: tiles },
    params: &RASTER_PARAMS,
    compiled_for: Some("D"),
    wgsl: Wgsl {
        buffers: FIXED_BUFFERS,
        shared: SHARED,
        kernel: KERNEL,
        own: &[],
        constants: raster_constants,
        loop_steps: steps::rasterize_backward,
    },
    ptx: Ptx { buffers: FIXED_BUFFERS },
    extra_launches: &[],
    check: check::backward,
};

/// The record of the second launches: `Params` in `sums.wgsl` and `sums.cuh`.
static SECOND_PARAMS: [Param; 3] = [
    Param { name: "gaussians", value: Value::Size("N") },
    Param { name: "values", value: Value::Computed(row) },
    Param { name: "padding", value: Value::Unused(2) },
];

/// Values in a Gaussian's row.
fn row(sizes: &Sizes) -> usize {
    values(u32::try_from(sizes.get("D")).unwrap_or(u32::MAX)) as usize
}

/// Workgroups that have a lane for each value of each Gaussian.
fn value_groups(sizes: &Sizes) -> [usize; 2] {
    let lanes = sizes.get("N").saturating_mul(row(sizes));
    [lanes.div_ceil(WORKGROUP_SIZE as usize).max(1), 1]
}

const SECOND_OUTPUTS: &[Port] = &[
    Port::write("v_means2d", Dtype::F32, &[N, Dim::Const(2)]),
    Port::write("v_conics", Dtype::F32, &[N, Dim::Const(3)]),
    Port::write("v_opacities", Dtype::F32, &[N]),
    Port::write("v_colors", Dtype::F32, &[N, D]),
];

/// A second launch.
struct Second {
    name: &'static str,
    inputs: &'static [Port],
    buffers: &'static [Buffer],
    shared: &'static [&'static str],
    kernel: &'static str,
    loop_steps: fn(&LoopRun<'_>) -> Result<u64, TensorError>,
}

impl Second {
    const fn spec(self) -> StageSpec {
        let Self { name, inputs, buffers, shared, kernel, loop_steps } = self;
        let buffers = Buffers { inputs: buffers, outputs: GRADIENTS };
        StageSpec {
            name,
            workload: NAME,
            text: Text::of(name),
            inputs,
            outputs: SECOND_OUTPUTS,
            reductions: Reductions::None,
            launch: Launch { workgroup_size: WORKGROUP_SIZE, workgroups: value_groups },
            params: &SECOND_PARAMS,
            compiled_for: None,
            wgsl: Wgsl {
                buffers,
                shared,
                kernel,
                own: &[],
                constants: |_, _| Vec::new(),
                loop_steps,
            },
            ptx: Ptx { buffers },
            extra_launches: &[],
            check: |_, _| Ok(()),
        }
    }
}

const SECOND_RECORD: &str = include_str!("../../../kernels/wgsl/splat/sums.wgsl");

/// The sum of each Gaussian's rows.
static REDUCE_BY_KEY: StageSpec = Second {
    name: "reduce_by_key",
    inputs: &[
        Port::read("slot_offsets", Dtype::U32, &[Dim::OneMore("N")]),
        float("partial_means2d", &[M, Dim::Const(2)]),
        float("partial_conics", &[M, Dim::Const(3)]),
        float("partial_opacities", &[M]),
        float("partial_colors", &[M, D]),
    ],
    buffers: &[Buffer::of(&["slot_offsets"], "u32"), PARTIALS],
    shared: &[SECOND_RECORD],
    kernel: include_str!("../../../kernels/wgsl/splat/reduce_by_key.wgsl"),
    loop_steps: steps::reduce_by_key,
}
.spec();

/// The floats of sums in fixed point.
static FROM_FIXED_POINT: StageSpec = Second {
    name: "from_fixed_point",
    inputs: FIXED_SUMS,
    buffers: &[SUMS],
    shared: &[include_str!("../../../kernels/wgsl/fixed_point.wgsl"), SECOND_RECORD],
    kernel: include_str!("../../../kernels/wgsl/splat/from_fixed_point.wgsl"),
    loop_steps: |_| Ok(0),
}
.spec();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_sorted_by_gaussian_and_stay_in_order_among_themselves() {
        let mut inputs = Tensors::new();
        inputs.array("flatten_ids", &[5], Data::U32(vec![2, 0, 2, 3, 0])).expect("five");
        inputs.array("opacities", &[4], Data::F32(vec![1.0; 4])).expect("four");
        let derived = sort_by_gaussian(&inputs).expect("both are there");
        assert_eq!(derived.u32("slots"), Ok(&[2, 0, 3, 4, 1][..]), "0 0 2 2 3");
        assert_eq!(derived.u32("slot_offsets"), Ok(&[0, 2, 2, 4, 5][..]), "none of Gaussian 1");
    }
}
