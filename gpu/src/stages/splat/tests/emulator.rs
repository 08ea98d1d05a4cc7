//! The CUDA kernels on the emulator.

use super::{all_settings, assert_backward, assert_forward, direct_scenes, harmonics};
use crate::artifact::Architecture;
use crate::emulator::{EmulatorEngine, EmulatorOptions};
use crate::engine::Engine;
use crate::reduction::{Reduction, Setting};

fn open(architecture: Architecture) -> EmulatorEngine {
    let options = EmulatorOptions { architecture, ..EmulatorOptions::default() };
    EmulatorEngine::open(options).expect("the artifacts are built in")
}

/// The settings of a sweep that this stage has.
fn sweep(lane_width: u32) -> Vec<Setting> {
    let mut sweep = Setting::sweep(lane_width);
    sweep.retain(|config| Reduction::ENDINGS.contains(&config.reduction));
    sweep
}

#[test]
fn every_threshold_of_every_reduction_is_exact() {
    let mut engine = open(Architecture::Compute75);
    let scenes = direct_scenes();
    assert_forward(&mut engine, &scenes);
    let settings = all_settings(engine.info().lane_width);
    assert_backward(&mut engine, &scenes, &settings);
}

#[test]
fn the_other_architecture_is_exact() {
    let mut engine = open(Architecture::Compute90);
    let scenes = direct_scenes();
    assert_forward(&mut engine, &scenes);
    let settings = sweep(engine.info().lane_width);
    assert_backward(&mut engine, &scenes, &settings);
}

#[test]
fn harmonics_of_every_degree_are_exact() {
    let mut engine = open(Architecture::Compute75);
    let scenes = harmonics::scenes();
    assert_forward(&mut engine, &scenes);
    // One lane of a warp contributes or, of those that see it, at most six.
    let settings = Reduction::ENDINGS.map(|reduction| Setting { reduction, threshold: 4 });
    assert_backward(&mut engine, &scenes, &settings);
}
