//! What is measured on a device before it is trusted with a stage.

use crate::reduction::WORKGROUP_SIZE;
use crate::stage::{Buffer, Buffers, Dim, Launch, Port, Ptx, Reductions, StageSpec, Text, Wgsl};
use crate::tensor::Dtype;

/// Warp size and lanes present of every lane of a workgroup, and exp at the arguments. The PTX
/// kernel measures exp alone; its entry point has a parameter list of its own.
pub static PROBE: StageSpec = StageSpec {
    name: "probe",
    workload: "",
    text: Text::of("probe"),
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
        loop_steps: |_| Ok(0),
    },
    ptx: Ptx { buffers: Buffers { inputs: &[], outputs: &[] } },
    extra_launches: &[],
    check: |_, _| Ok(()),
};

/// How many steps the loops of a kernel make: those of one loop, and of a loop within a loop, which
/// are asked to make so many ([`LOOP_STEPS`] numbers come back).
pub static LOOPS: StageSpec = StageSpec {
    name: "loops",
    workload: "",
    text: Text::of("loops"),
    inputs: &[Port::read("arguments", Dtype::U32, &[Dim::Const(LOOP_ARGUMENTS)])],
    outputs: &[Port::write("steps", Dtype::U32, &[Dim::Const(LOOP_STEPS)])],
    reductions: Reductions::None,
    launch: Launch { workgroup_size: WORKGROUP_SIZE, workgroups: |_| [1, 1] },
    params: &[],
    compiled_for: None,
    wgsl: Wgsl {
        buffers: Buffers {
            inputs: &[Buffer::of(&["arguments"], "u32")],
            outputs: &[Buffer::of(&["steps"], "u32")],
        },
        shared: &[],
        kernel: include_str!("../../kernels/wgsl/loops.wgsl"),
        own: &[],
        constants: |_, _| Vec::new(),
        loop_steps: |_| Ok(0),
    },
    ptx: Ptx { buffers: Buffers { inputs: &[], outputs: &[] } },
    extra_launches: &[],
    check: |_, _| Ok(()),
};

/// Steps of the loop alone, of the outer and of the inner one.
pub const LOOP_ARGUMENTS: usize = 3;
/// Steps that were made of the loop alone, of the outer one, of the inner one in all, and the state
/// that all of them mixed.
pub const LOOP_STEPS: usize = 4;
