//! The WGSL kernels on the emulator, held to what the drivers are held to: no driver is needed for it.

use super::on_device::{assert_backward, assert_forward};
use super::scene::{Plan, plans};
use crate::emulator::{EmulatorEngine, EmulatorOptions};
use crate::stage::Language;

/// The emulator with the kernels in WGSL, and so many lanes a subgroup.
pub(super) fn machine(lane_width: u32) -> EmulatorEngine {
    let language = Language::Wgsl;
    let options = EmulatorOptions { language, lane_width, ..EmulatorOptions::default() };
    EmulatorEngine::open(options).expect("it is always there")
}

/// Scenes with short lists, and one that goes through several batches. Those of 32 channels take longest.
fn scenes() -> Vec<Plan> {
    let short = |plan: &Plan| matches!(plan.length, 1 | 5) && plan.channels < 32;
    let wanted = |plan: &Plan| short(plan) || (plan.length, plan.width) == (257, 1);
    plans().into_iter().filter(wanted).collect()
}

#[test]
fn the_emulator_is_exact_at_every_width() {
    let (scenes, mut turn) = (scenes(), 0);
    assert!(scenes.iter().any(|plan| plan.length == 257), "one is long");
    for width in [4, 8, 16, 32, 64] {
        let mut machine = machine(width);
        let forward: Vec<_> = scenes.iter().map(Plan::raster).collect();
        assert_forward(&mut machine, &forward, "the emulator");
        // Each width has scenes of its own, under every setting.
        for _ in 0..2 {
            assert_backward(&mut machine, &[scenes[turn % scenes.len()].backward()]);
            turn += 1;
        }
    }
}
