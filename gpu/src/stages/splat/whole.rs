//! The whole way from a scene to its images and gradients, as one stage: what a user's program does that
//! has no stages to look into. There are no kernels of ours of it.

use super::shared::{C, D, H, N, NAME, W};
use crate::reduction::WORKGROUP_SIZE;
use crate::stage::Stage;
use crate::stage::{Buffers, Dim, Launch, Port, Ptx, Reductions, StageSpec, Text, Wgsl};
use crate::tensor::Dtype;

/// The images of all cameras and the gradients of all that they are made from.
pub const RENDER_BACKWARD: Stage = Stage::of(&SPEC);

const NO_BUFFERS: Buffers = Buffers { inputs: &[], outputs: &[] };

/// The row of a stage that has no kernels of ours, and asks nothing of its inputs but their shapes.
pub(super) const fn without_kernels(
    name: &'static str,
    inputs: &'static [Port],
    outputs: &'static [Port],
) -> StageSpec {
    StageSpec {
        name,
        workload: NAME,
        text: Text::of(name),
        inputs,
        outputs,
        reductions: Reductions::None,
        launch: Launch { workgroup_size: WORKGROUP_SIZE, workgroups: |_| [1, 1] },
        params: &[],
        compiled_for: None,
        wgsl: Wgsl {
            buffers: NO_BUFFERS,
            shared: &[],
            kernel: "",
            own: &[],
            constants: |_, _| Vec::new(),
            loop_steps: |_| Ok(0),
        },
        ptx: Ptx { buffers: NO_BUFFERS },
        extra_launches: &[],
        check: |_, _| Ok(()),
    }
}

static SPEC: StageSpec = without_kernels(
    "render_backward",
    &[
        Port::size("width", "W"),
        Port::size("height", "H"),
        Port::size("cameras", "C"),
        Port::size("gaussians", "N"),
        Port::size("channels", "D"),
        // Harmonics per channel; 0 where colours are given directly.
        Port::size("coefficients", "K"),
        // The bytes of the case's file, four to a number: it has a multiple of four.
        Port::read("case", Dtype::U32, &[Dim::Symbol("B")]),
    ],
    // With the names and shapes that the oracle's results have in files.
    &[
        Port::may_write("render_colors", &[C, H, W, D]),
        Port::may_write("render_alphas", &[C, H, W, Dim::Const(1)]),
        Port::write("v_means", Dtype::F32, &[N, Dim::Const(3)]),
        Port::write("v_quats", Dtype::F32, &[N, Dim::Const(4)]),
        Port::write("v_scales", Dtype::F32, &[N, Dim::Const(3)]),
        Port::write("v_opacities", Dtype::F32, &[N]),
        // One of the two, as the colours are given.
        Port::may_write("v_colors", &[N, D]),
        Port::may_write("v_sh", &[N, Dim::Symbol("K"), Dim::Const(3)]),
        Port::may_write("v_viewmats", &[C, Dim::Const(4), Dim::Const(4)]),
        Port::may_write("v_backgrounds", &[C, D]),
    ],
);
