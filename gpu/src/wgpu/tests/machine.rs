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

/// The scene of so many pixels in a row, with a list of 5, which meets every cover of a Gaussian.
fn scene(width: u32) -> Plan {
    let wanted = |plan: &Plan| (plan.width, plan.length) == (width, 5);
    plans().into_iter().find(wanted).expect("there is one")
}

/// One pixel has every setting at the widths that have most thresholds.
#[test]
fn the_emulator_is_exact_at_every_width() {
    for (width, pixels) in [(4, 17), (8, 17), (16, 1), (32, 1), (64, 1), (128, 1)] {
        let mut machine = machine(width);
        let forward = [17, 31, 1].map(|pixels| scene(pixels).raster());
        assert_forward(&mut machine, &forward, "the emulator");
        assert_backward(&mut machine, &[scene(pixels).backward()]);
    }
}
