//! A module is loaded once: its variables keep what a launch leaves in them.

use splatcheck_emulator::{
    DeviceMemory, Launch, Module, Observers, ParameterKind, RunError, Schedule, run,
};

/// A kernel that adds 1 to a variable, which begins with this value, and stores what it was.
fn text(first: u32) -> String {
    format!(
        ".version 8.4\n.target sm_75\n.address_size 64\n.global .align 4 .u32 count = {first};\n\
         .visible .entry counts(.param .u64 out)\n{{\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\n\
         ld.param.u64 %rd1, [out];\natom.global.add.u32 %r1, [count], 1;\n\
         st.global.u32 [%rd1], %r1;\nret;\n}}\n"
    )
}

fn module(first: u32) -> Module {
    Module::parse(&text(first)).expect("it is PTX")
}

fn launched(module: &Module, memory: &mut DeviceMemory) -> Result<u32, RunError> {
    let out = memory.allocate(4);
    let arguments = vec![out.into()];
    let launch = Launch { grid: [1; 3], block: [1; 3], arguments, ..Launch::default() };
    let (schedule, observers) = (Schedule::lockstep(), Observers::default());
    run(module, "counts", &launch, memory, &schedule, observers)?;
    let bytes = memory.read(out).expect("it is written");
    Ok(u32::from_le_bytes(bytes.try_into().expect("a word")))
}

#[test]
fn variables_keep_their_values_from_launch_to_launch() {
    let (one, other) = (module(5), module(9));
    let mut memory = DeviceMemory::new();
    assert!(!memory.has_changed_variables(), "nothing is loaded");
    assert_eq!(launched(&one, &mut memory), Ok(5), "as it is loaded");
    assert!(memory.has_changed_variables(), "6");
    assert_eq!(launched(&one, &mut memory), Ok(6), "as the launch before left it");
    memory.free_buffers();
    assert_eq!(launched(&one, &mut memory), Ok(7), "the module stays loaded");
    assert_eq!(launched(&other, &mut memory), Ok(9), "another module is loaded anew");
    assert_eq!(launched(&one, &mut DeviceMemory::new()), Ok(5), "another process");
}

#[test]
fn modules_that_run_by_turns_have_variables_of_their_own() {
    let (one, like_it) = (module(5).numbered(1), module(5).numbered(2));
    let mut memory = DeviceMemory::new();
    assert_eq!(launched(&one, &mut memory), Ok(5), "as it is loaded");
    assert_eq!(launched(&like_it, &mut memory), Ok(5), "not as the other left its own");
    assert_eq!(launched(&one, &mut memory), Ok(6), "as it was left");
    assert_eq!(launched(&like_it, &mut memory), Ok(6), "the other too");
    let plain = Module::parse(&text(0).replace("[count], 1", "[count], 0")).expect("it is PTX");
    let mut memory = DeviceMemory::new();
    assert_eq!(launched(&one, &mut memory), Ok(5));
    assert_eq!(launched(&plain, &mut memory), Ok(0), "it changes nothing");
    assert!(memory.has_changed_variables(), "those of the module before it");
}

#[test]
fn a_parameter_may_say_what_it_points_to() {
    for pointee in [".ptr", ".ptr .align 1", ".ptr .global .align 16"] {
        let text = text(5).replace(".param .u64 out", &format!(".param .u64 {pointee} out"));
        let module = Module::parse(&text).expect(pointee);
        assert_eq!(module.parameter_sizes("counts"), Some(vec![8]), "{pointee}: a pointer");
        assert_eq!(launched(&module, &mut DeviceMemory::new()), Ok(5), "{pointee}");
    }
    let wrong = text(5).replace(".param .u64 out", ".param .u64 .ptr .align out");
    assert!(Module::parse(&wrong).is_err(), "an alignment without a number");
}

#[test]
fn a_parameter_is_of_the_kind_that_it_is_declared_as() {
    let text = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 a, .param .f32 b, \
                .param .b32 c, .param .align 8 .b8 d[16], .param .s8 e, .param .f64 f)\n{\nret;\n}\n";
    let module = Module::parse(text).expect("it is PTX");
    let [whole, float, bits] = [ParameterKind::Whole, ParameterKind::Float, ParameterKind::Bits];
    assert_eq!(module.parameter_kinds("k"), Some(vec![whole, float, bits, bits, whole, float]));
    assert_eq!(module.parameter_kinds("l"), None, "there is none");
    let warp = Module::parse(&format!("{text}\0")).expect("as C ends a text");
    assert_eq!(warp.parameter_sizes("k"), module.parameter_sizes("k"), "the NUL is no part of it");
}

/// A kernel that reads behind its array, stores there, and then one of both in it.
fn beyond(stored: &str) -> Module {
    let text = format!(
        ".version 8.4\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 a)\n{{\n.reg .b32 %r<3>;\n\
         .reg .b64 %rd<2>;\nld.param.u64 %rd1, [a];\nld.global.u32 %r1, [%rd1+4];\nmov.u32 %r2, 7;\n\
         st.global.u32 [%rd1+400000], %r2;\nred.global.add.u32 [%rd1+16], %r2;\n\
         st.global.u32 [%rd1], {stored};\nret;\n}}\n"
    );
    Module::parse(&text).expect("it is PTX")
}

#[test]
fn accesses_out_of_bounds_are_forgiven_where_that_was_asked_for() {
    let went = |module: &Module, bounds: bool| {
        let mut memory = DeviceMemory::new();
        let all = memory.upload(&[0; 4]);
        let arguments = vec![all.into()];
        let launch = Launch { grid: [1; 3], block: [1; 3], dynamic_shared: 0, arguments };
        let observers = Observers { bounds, ..Observers::default() };
        let result = run(module, "k", &launch, &mut memory, &Schedule::lockstep(), observers);
        (result.map(drop).map_err(|error| error.to_string()), memory.read(all).expect("written"))
    };
    let (good, bad) = (beyond("%r2"), beyond("%r1"));
    let said = went(&good, true).0.expect_err("it is looked for");
    assert!(said.contains("out of bounds"), "{said}");
    assert_eq!(went(&good, false), (Ok(()), vec![7, 0, 0, 0]), "what is in it is stored");
    let said = went(&bad, false).0.expect_err("it was never written");
    assert!(!said.contains("out of bounds") && said.contains("never written"), "{said}");
}
