//! A lock for which the lanes of a warp contend: since `sm_70` every thread goes on in time (CUDA C++ Programming Guide,
//! "Independent Thread Scheduling"), though in lockstep the lanes that wait for the lock stand before the one that has it.

use splatcheck_emulator::{Argument, DeviceMemory, Launch, Module, Observers, Schedule, run};

const LOCK: &str = ".version 8.4\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\
    .reg .pred %p<2>;\n.reg .b32 %r<6>;\n.reg .b64 %d<4>;\nld.param.u64 %d1, [out];\n\
    take:\natom.global.cas.b32 %r1, [%d1], 0, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra take;\n\
    membar.gl;\nld.volatile.global.u32 %r2, [%d1+4];\nadd.u32 %r2, %r2, 1;\nst.volatile.global.u32 [%d1+4], %r2;\n\
    membar.gl;\natom.global.exch.b32 %r3, [%d1], 0;\nret;\n}\n";

#[test]
fn lanes_that_contend_for_a_lock_all_have_it_once() {
    let module = Module::parse(LOCK).expect("it is PTX");
    for schedule in [Schedule::lockstep(), Schedule::random(1)] {
        let mut memory = DeviceMemory::new();
        let buffer = memory.upload(&[0; 8]);
        let arguments = vec![Argument::from(buffer)];
        let launch = Launch { grid: [2, 1, 1], block: [16, 1, 1], arguments, ..Launch::default() };
        let ran = run(&module, "k", &launch, &mut memory, &schedule, Observers::default());
        ran.unwrap_or_else(|error| panic!("{schedule:?}: {error}"));
        let words = memory.read(buffer).expect("it was written");
        assert_eq!(words[..], [0, 0, 0, 0, 32, 0, 0, 0], "{schedule:?}: free, and 32 times taken");
    }
}
