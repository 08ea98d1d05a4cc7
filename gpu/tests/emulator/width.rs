//! Machines whose warps have not 32 lanes.

use splatcheck_gpu::emulator::{
    DeviceMemory, EmulatorEngine, EmulatorOptions, Launch, Module, Observers, Schedule, run,
};
use splatcheck_gpu::{BackwardConfig, BackwardInputs, Engine, Reduction};

use super::inputs;

fn engine(lane_width: u32, schedule: Schedule) -> EmulatorEngine {
    let options = EmulatorOptions { lane_width, schedule, ..Default::default() };
    EmulatorEngine::open(options).expect("the artifacts are built in")
}

fn same(engine: &mut EmulatorEngine) -> BackwardInputs {
    inputs(engine, 3, 40)
}

#[test]
fn kernels_without_warp_instructions_do_not_depend_on_the_width() {
    let expected = same(&mut engine(32, Schedule::lockstep()));
    for width in [1, 2, 4, 8, 16, 64] {
        for schedule in [Schedule::lockstep(), Schedule::adversarial(1)] {
            let exact = Schedule { approximation: Default::default(), ..schedule };
            let mut other = engine(width, exact);
            assert_eq!(other.info().lane_width, width, "the engine says so");
            assert_eq!(same(&mut other), expected, "rasterize with {width} lanes");
        }
    }
}

/// Every thread adds its number's reciprocal to one sum.
const SUM: &str = ".version 8.4\n.target sm_75\n.address_size 64\n\
    .visible .entry k(.param .u64 out)\n{\n.reg .f32 %f<4>;\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n\
    ld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\nadd.u32 %r1, %r1, 1;\n\
    cvt.rn.f32.u32 %f1, %r1;\nrcp.rn.f32 %f2, %f1;\nred.global.add.f32 [%d1], %f2;\nret;\n}\n";

#[test]
fn lanes_add_in_the_same_order_in_any_width() {
    let sum = |width: u32| {
        let module = Module::parse(SUM).expect("it is PTX").with_lane_width(width);
        let mut memory = DeviceMemory::new();
        let out = memory.upload(&[0; 4]);
        let arguments = vec![out.into()];
        let launch = Launch { grid: [1, 1, 1], block: [80, 1, 1], dynamic_shared: 0, arguments };
        let (schedule, observers) = (Schedule::lockstep(), Observers::default());
        let module = module.expect("a width that exists");
        let report = run(&module, "k", &launch, &mut memory, &schedule, observers);
        let atomics = report.expect("a correct kernel").global_atomics;
        let issued = if width == 64 { 3 } else { 80_u64.div_ceil(width.into()) };
        assert_eq!(atomics.issued, issued, "{width} lanes at once, of 64 each half");
        memory.read(out).expect("it was zeroed")
    };
    let usual = sum(32);
    for width in [1, 2, 4, 8, 16, 64] {
        assert_eq!(sum(width), usual, "{width} lanes");
    }
}

#[test]
fn masks_of_32_bits_are_refused_with_64_lanes() {
    let mut wide = engine(64, Schedule::lockstep());
    let inputs = same(&mut wide);
    for reduction in ["atomic", "sw_b", "sw_s"] {
        let error = wide.backward_by(&inputs, reduction, 8).expect_err("it shuffles").to_string();
        let says = "32-bit masks and lane numbers on a machine with warps of 64 lanes";
        assert!(error.contains(says), "{reduction}: {error}");
    }
    let above = BackwardConfig { reduction: Reduction::SwB, threshold: 65 };
    let error = wide.rasterize_backward(&[(&inputs, &[above])]).expect_err("it votes").to_string();
    assert!(error.contains("64 lanes"), "the threshold fits the width: {error}");
}

#[test]
fn a_butterfly_of_32_lanes_is_misuse_with_fewer() {
    for width in [8, 16] {
        let mut narrow = engine(width, Schedule::lockstep());
        let inputs = same(&mut narrow);
        let error = narrow.backward_by(&inputs, "sw_b", 2).expect_err("it shuffles").to_string();
        assert!(error.contains("which are not among the members"), "{width} lanes: {error}");
    }
}

#[test]
fn odd_widths_are_refused() {
    for width in [0, 3, 48, 128, u32::MAX] {
        let options = EmulatorOptions { lane_width: width, ..Default::default() };
        let error = EmulatorEngine::open(options).expect_err("no machine has it").to_string();
        assert!(error.contains("expected a power of two up to 64"), "{width}: {error}");
    }
}
