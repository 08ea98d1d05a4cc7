//! A stage that no workload has, for what none of the workloads' stages does yet: sums that start at
//! an input.

use crate::emulator::{EmulatorEngine, EmulatorOptions};
use crate::engine::{Engine, Work};
use crate::reduction::{Reduction, Setting};
use crate::stage::{
    Buffer, Buffers, Dim, Launch, Port, Ptx, Reductions, Role, StageSpec, Text, Wgsl,
};
use crate::stages::Stage;
use crate::tensor::{Data, Dtype, Tensors};

const BUFFERS: Buffers = Buffers {
    inputs: &[Buffer::of(&["addends"], "f32")],
    outputs: &[Buffer::f32("gradients", &["sums"])],
};

/// Adds two neighbouring addends onto each number of `start`.
static ONTO: StageSpec = StageSpec {
    name: "onto",
    workload: "",
    text: Text::of("onto"),
    inputs: &[
        Port::read("start", Dtype::F32, &[Dim::Const(16)]),
        Port::read("addends", Dtype::F32, &[Dim::Const(32)]),
    ],
    outputs: &[Port {
        name: "sums",
        dtype: Dtype::F32,
        shape: &[Dim::Const(16)],
        role: Role::AccumulateOnto("start"),
    }],
    reductions: Reductions::Only(&[Reduction::Atomic]),
    launch: Launch { workgroup_size: 32, workgroups: |_| [1, 1] },
    params: &[],
    compiled_for: None,
    wgsl: Wgsl {
        buffers: BUFFERS,
        // The reductions' texts read a record of settings, which this stage has not.
        shared: &["struct Settings { threshold: u32 }\nconst params = Settings(1u);\n"],
        kernel: "@compute @workgroup_size(WORKGROUP_SIZE)\n\
                 fn onto(@builtin(local_invocation_index) lane: u32) {\n\
                 \x20   add(lane / 2u, addends[lane]);\n\
                 }\n",
        own: &[],
        constants: |_, _| vec![("VALUES", 1)],
        loop_steps: |_| Ok(0),
    },
    ptx: Ptx { buffers: BUFFERS },
    extra_launches: &[],
    check: |_, _| Ok(()),
};

/// The same in PTX.
const PTX: &str = ".version 8.4\n.target sm_75\n.address_size 64\n\
    .visible .entry onto(.param .u64 addends, .param .u64 sums)\n{\n\
    .reg .f32 %f<2>;\n.reg .b32 %r<3>;\n.reg .b64 %d<7>;\n\
    ld.param.u64 %d1, [addends];\nld.param.u64 %d2, [sums];\nmov.u32 %r1, %tid.x;\n\
    mul.wide.u32 %d3, %r1, 4;\nadd.s64 %d4, %d1, %d3;\nld.global.f32 %f1, [%d4];\n\
    shr.u32 %r2, %r1, 1;\nmul.wide.u32 %d5, %r2, 4;\nadd.s64 %d6, %d2, %d5;\n\
    red.global.add.f32 [%d6], %f1;\nret;\n}\n";

/// Runs [`ONTO`] twice in one call: the first run must leave the start as it is for the second.
pub(crate) fn assert_adds_onto_the_start(engine: &mut dyn Engine) {
    let start: Vec<f32> = (0..16_u8).map(|i| 100.0 * f32::from(i)).collect();
    let addends: Vec<f32> = (0..32_u8).map(f32::from).collect();
    let expected: Vec<f32> =
        start.iter().zip(addends.chunks(2)).map(|(start, two)| start + two[0] + two[1]).collect();
    let mut inputs = Tensors::new();
    inputs.array("start", &[16], Data::F32(start)).expect("it fits");
    inputs.array("addends", &[32], Data::F32(addends)).expect("it fits");
    let setting = Some(Setting { reduction: Reduction::Atomic, threshold: 0 });
    let work = [Work { inputs: &inputs, settings: &[setting, setting] }];
    let results = engine.run(Stage::of(&ONTO), &work).expect("the stage runs");
    assert_eq!((results.len(), results[0].len()), (1, 2), "one result a setting");
    for outputs in &results[0] {
        assert_eq!(outputs.f32("sums"), Ok(&expected[..]), "start and addends");
    }
}

#[test]
fn the_emulator_adds_onto_the_start() {
    let mut engine =
        EmulatorEngine::open(EmulatorOptions::default()).expect("the artifacts are built in");
    engine.replace("onto", Some(Reduction::Atomic), PTX, "onto").expect("it is PTX");
    assert_adds_onto_the_start(&mut engine);
}
