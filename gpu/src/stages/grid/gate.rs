//! The stages of a gate: features times one number of their point, the mask at the point, and the gradients of
//! both. The mask is a grid of one level and one feature, whose own stages are those of any grid: its
//! entries' gradient is a `grid_backward` whose `v_features` are this stage's `v_gates`.

use super::shared::{F, L, N, NAME, V_FEATURES, by_level, by_point, float, nested};
use crate::error::EngineError;
use crate::reduction::WORKGROUP_SIZE;
use crate::stage::{
    Buffers, Launch, Param, Port, Ptx, Reductions, Sizes, StageSpec, Text, Value, Wgsl, over,
};
use crate::tensor::{Dtype, Tensors};

/// The record: `Params` in the kernels' sources.
static PARAMS: [Param; 4] = [
    Param { name: "points", value: Value::Size("N") },
    Param { name: "levels", value: Value::Size("L") },
    Param { name: "features", value: Value::Size("F") },
    Param { name: "padding", value: Value::Unused(1) },
];

/// Text in front of both kernels.
const SHARED: &[&str] = &[include_str!("../../../kernels/wgsl/grid/gate.wgsl")];

/// The mask at the points.
const GATES: Port = Port::read("gates", Dtype::F32, &[N]);
const FEATURES: Port = Port::read("features", Dtype::F32, &[N, L, F]);

const FORWARD_BUFFERS: Buffers =
    Buffers { inputs: &[float(&["gates"]), float(&["features"])], outputs: &[float(&["gated"])] };

/// The features behind the gates.
pub(super) static FORWARD: StageSpec = StageSpec {
    name: "grid_gate",
    workload: NAME,
    text: Text::of("grid_gate"),
    inputs: &[GATES, FEATURES],
    outputs: &[Port::write("gated", Dtype::F32, &[N, L, F])],
    reductions: Reductions::None,
    launch: Launch { workgroup_size: WORKGROUP_SIZE, workgroups: by_level },
    params: &PARAMS,
    compiled_for: None,
    wgsl: Wgsl {
        buffers: FORWARD_BUFFERS,
        shared: SHARED,
        kernel: include_str!("../../../kernels/wgsl/grid/grid_gate.wgsl"),
        own: &[],
        constants: |_, _| Vec::new(),
        loop_steps: |run| Ok(over(run.size("F"), 0)),
    },
    ptx: Ptx { buffers: FORWARD_BUFFERS },
    extra_launches: &[],
    check,
};

const BACKWARD_BUFFERS: Buffers = Buffers {
    inputs: &[float(&["gates"]), float(&["features"]), float(&["v_gated"])],
    outputs: &[float(&["v_features"]), float(&["v_gates"])],
};

/// The gradients of features and gates. No other lane adds to a point, so that nothing is atomic.
pub(super) static BACKWARD: StageSpec = StageSpec {
    name: "grid_gate_backward",
    workload: NAME,
    text: Text::of("grid_gate_backward"),
    inputs: &[GATES, FEATURES, Port::read("v_gated", Dtype::F32, &[N, L, F])],
    outputs: &[
        Port::write(V_FEATURES.name, Dtype::F32, &[N, L, F]),
        Port::write("v_gates", Dtype::F32, &[N]),
    ],
    reductions: Reductions::None,
    launch: Launch { workgroup_size: WORKGROUP_SIZE, workgroups: by_point },
    params: &PARAMS,
    compiled_for: None,
    wgsl: Wgsl {
        buffers: BACKWARD_BUFFERS,
        shared: SHARED,
        kernel: include_str!("../../../kernels/wgsl/grid/grid_gate_backward.wgsl"),
        own: &[],
        constants: |_, _| Vec::new(),
        loop_steps: |run| Ok(nested(run.size("L"), over(run.size("F"), 0))),
    },
    ptx: Ptx { buffers: BACKWARD_BUFFERS },
    extra_launches: &[],
    check,
};

/// Shapes say the rest: any numbers are multiplied.
fn check(_: &Tensors, sizes: &Sizes) -> Result<(), EngineError> {
    for (symbol, what) in [("L", "levels"), ("F", "features")] {
        if sizes.get(symbol) == 0 {
            return Err(EngineError::Input(format!("there are no {what}, expected at least one")));
        }
    }
    Ok(())
}
