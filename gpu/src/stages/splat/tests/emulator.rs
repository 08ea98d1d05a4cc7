//! The CUDA kernels on the emulator.

use super::{all_settings, assert_backward, assert_forward, direct_scenes, harmonics};
use crate::emulator::{EmulatorEngine, EmulatorOptions};
use crate::engine::Engine;
use crate::reduction::{Reduction, Setting};

fn open() -> EmulatorEngine {
    EmulatorEngine::open(EmulatorOptions::default()).expect("the artifacts are built in")
}

/// The settings of a sweep that this stage has.
fn sweep(lane_width: u32) -> Vec<Setting> {
    let mut sweep = Setting::sweep(lane_width);
    sweep.retain(|config| Reduction::ENDINGS.contains(&config.reduction));
    sweep
}

#[test]
fn every_threshold_of_every_reduction_is_exact() {
    let mut engine = open();
    let scenes = direct_scenes();
    assert_forward(&mut engine, &scenes);
    let settings = all_settings(engine.info().lane_width);
    assert_backward(&mut engine, &scenes, &settings);
}

#[test]
fn fast_math_is_exact() {
    let options = EmulatorOptions { fast_math: true, ..EmulatorOptions::default() };
    let mut engine = EmulatorEngine::open(options).expect("the artifacts are built in");
    let scenes = direct_scenes();
    assert_forward(&mut engine, &scenes);
    let settings = sweep(engine.info().lane_width);
    assert_backward(&mut engine, &scenes, &settings);
}

#[test]
fn harmonics_of_every_degree_are_exact() {
    let mut engine = open();
    let scenes = harmonics::scenes();
    assert_forward(&mut engine, &scenes);
    // One lane of a warp contributes or, of those that see it, at most six.
    let settings = Reduction::ENDINGS.map(|reduction| Setting { reduction, threshold: 4 });
    assert_backward(&mut engine, &scenes, &settings);
}
