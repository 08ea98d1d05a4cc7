//! Machines whose warps have not 32 lanes.

use splatcheck_emulator::{DeviceMemory, Launch, Module, Observers, Schedule, run};

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
