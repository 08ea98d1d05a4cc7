//! The kernels on machines whose warps have not 32 lanes.

use splatcheck_emulator::Schedule;
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::{BackwardInputs, Engine, Reduction};

use super::{inputs, try_backward};

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

#[test]
fn masks_of_32_bits_are_refused_with_64_lanes() {
    let mut wide = engine(64, Schedule::lockstep());
    let inputs = same(&mut wide);
    for reduction in [Reduction::Atomic, Reduction::SwB, Reduction::SwS] {
        let error = try_backward(&mut wide, &inputs, reduction, 8);
        let error = error.expect_err("it shuffles").to_string();
        let says = "32-bit masks and lane numbers on a machine with warps of 64 lanes";
        assert!(error.contains(says), "{reduction}: {error}");
    }
    let error = try_backward(&mut wide, &inputs, Reduction::SwB, 65);
    let error = error.expect_err("it votes").to_string();
    assert!(error.contains("64 lanes"), "the threshold fits the width: {error}");
}

#[test]
fn a_butterfly_of_32_lanes_is_misuse_with_fewer() {
    for width in [8, 16] {
        let mut narrow = engine(width, Schedule::lockstep());
        let inputs = same(&mut narrow);
        let error = try_backward(&mut narrow, &inputs, Reduction::SwB, 2);
        let error = error.expect_err("it shuffles").to_string();
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
