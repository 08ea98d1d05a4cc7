//! What is measured on a device before it is trusted with a stage.

use crate::reduction::WORKGROUP_SIZE;
use crate::stage::{Buffer, Buffers, Dim, Launch, Port, Ptx, Reductions, StageSpec, Wgsl};
use crate::tensor::Dtype;

/// Lane width and lanes present of every lane of a workgroup, and exp at the arguments. The PTX
/// kernel measures exp alone; its entry point has a parameter list of its own.
pub static PROBE: StageSpec = StageSpec {
    name: "probe",
    workload: "",
    inputs: &[Port::read("arguments", Dtype::F32, &[Dim::Symbol("A")])],
    outputs: &[
        Port::write(
            "lane_widths",
            Dtype::U32,
            &[Dim::Const(WORKGROUP_SIZE as usize), Dim::Const(2)],
        ),
        Port::write("exponentials", Dtype::F32, &[Dim::Symbol("A")]),
    ],
    reductions: Reductions::None,
    launch: Launch { workgroup_size: WORKGROUP_SIZE, workgroups: |_| [1, 1] },
    params: &[],
    compiled_for: None,
    wgsl: Wgsl {
        buffers: Buffers {
            inputs: &[Buffer::of(&["arguments"], "f32")],
            outputs: &[Buffer::of(&["lane_widths"], "u32"), Buffer::of(&["exponentials"], "f32")],
        },
        shared: &[],
        kernel: include_str!("../../kernels/wgsl/probe.wgsl"),
        own: &[],
        constants: |_, _| Vec::new(),
    },
    ptx: Ptx { buffers: Buffers { inputs: &[], outputs: &[] } },
    check: |_, _| Ok(()),
};
