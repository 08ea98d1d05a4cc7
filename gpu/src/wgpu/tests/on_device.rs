//! Tests of one driver, the one the environment names; run by [`super::drivers`].

mod clock;
mod loops;
mod machine;
mod onto;
mod project;

use super::drivers::{DRIVER, ENVIRONMENT};
use super::exact;
use super::scene::{Plan, plans};
use crate::engine::{Engine, EngineError, FloatAtomics};
use crate::exact::assert_same;
use crate::reduction::{Reduction, Setting};
use crate::stages::splat::typed::SplatEngine;
use crate::stages::splat::{
    BackwardInputs, ClampGradient, RASTERIZE_BACKWARD, RasterGradients, RasterInputs, StopRule,
};
use crate::wgpu::{AdapterChoice, Options, WgpuEngine};

/// The engine, or nothing where this machine has no driver.
fn open(force_compare_exchange: bool) -> Option<WgpuEngine> {
    match WgpuEngine::open(&AdapterChoice::First, &Options { force_compare_exchange, edit: None }) {
        Ok(engine) => {
            let info = engine.info();
            eprintln!("{info:?}");
            let is_software =
                ["llvmpipe", "SwiftShader"].iter().any(|one| info.adapter.contains(one));
            if is_software && std::env::var_os(DRIVER).is_some_and(|name| name == ENVIRONMENT) {
                eprintln!("NOT EXERCISED: {ENVIRONMENT} is one that has tests of its own");
                return None;
            }
            assert!(info.exp_of_zero_is_one, "these scenes are exact only where exp(0) is 1");
            Some(engine)
        }
        Err(EngineError::NoDevice(why)) => {
            eprintln!("NOT EXERCISED: {why}");
            None
        }
        Err(error) => panic!("the driver would not open: {error}"),
    }
}

/// The engine with the device's own atomics and, where that is another, with compare-exchange.
fn both() -> Vec<WgpuEngine> {
    let first = open(false);
    let native = first.as_ref().is_some_and(|e| e.info().float_atomics == FloatAtomics::Native);
    let second = if native { open(true) } else { None };
    first.into_iter().chain(second).collect()
}

fn assert_gradients(found: &RasterGradients, expected: &RasterGradients, context: &str) {
    let flat = |g: &RasterGradients| (g.v_means2d.concat(), g.v_conics.concat());
    let ((means, conics), (expected_means, expected_conics)) = (flat(found), flat(expected));
    assert_same("v_means2d", &means, &expected_means, context);
    assert_same("v_conics", &conics, &expected_conics, context);
    assert_same("v_opacities", &found.v_opacities, &expected.v_opacities, context);
    assert_same("v_colors", &found.v_colors, &expected.v_colors, context);
}

pub(super) fn assert_forward(engine: &mut impl Engine, inputs: &[RasterInputs], context: &str) {
    let jobs: Vec<_> = inputs.iter().collect();
    let results = engine.rasterize(&jobs).expect("the forward stage runs");
    assert_eq!(results.len(), inputs.len(), "one result a job");
    for (at, (found, job)) in results.iter().zip(inputs).enumerate() {
        let expected = exact::rasterize(job);
        let context = format!("{context} job {at}, {}x{}", job.width, job.height);
        assert_eq!(found.last_ids, expected.last_ids, "last_ids of {context}");
        assert_same("render_colors", &found.render_colors, &expected.render_colors, &context);
        assert_same("render_alphas", &found.render_alphas, &expected.render_alphas, &context);
        assert_same(
            "render_transmittance",
            &found.render_transmittance,
            &expected.render_transmittance,
            &context,
        );
    }
}

/// A list of 5 meets every cover of a Gaussian, and has every setting. A longer one takes minutes on a driver
/// in software: of a reduction's thresholds it has every fourth, in turns, so that jobs have them all.
fn settings_of(at: usize, job: &BackwardInputs, all: &[Setting]) -> Vec<Setting> {
    let its_turn = |threshold| (threshold as usize + at).is_multiple_of(4);
    let has = |setting: &&Setting| {
        job.raster.len() <= 5 || !setting.reduction.has_threshold() || its_turn(setting.threshold)
    };
    all.iter().filter(has).copied().collect()
}

pub(super) fn assert_backward(engine: &mut impl Engine, inputs: &[BackwardInputs]) {
    let mut all = Setting::all(engine.info().lane_width);
    all.retain(|setting| RASTERIZE_BACKWARD.reduces_by(setting.reduction));
    let atomics = engine.info().float_atomics;
    let settings: Vec<_> =
        inputs.iter().enumerate().map(|(at, job)| settings_of(at, job, &all)).collect();
    let jobs: Vec<_> = inputs.iter().zip(&settings).map(|(job, of)| (job, of.as_slice())).collect();
    let results = engine.rasterize_backward(&jobs).expect("the backward stage runs");
    assert_eq!(results.len(), inputs.len(), "one list of results a job");
    for (at, (found, (job, settings))) in results.iter().zip(jobs).enumerate() {
        let expected = exact::rasterize_backward(job);
        assert_eq!(found.len(), settings.len(), "one result a setting");
        for (found, config) in found.iter().zip(settings) {
            let raster = &job.raster;
            let context = format!(
                "job {at}, {}x{}, {} channels, {} Gaussians, {config}, {atomics:?}",
                raster.width,
                raster.height,
                raster.channels,
                raster.len()
            );
            assert_gradients(found, &expected, &context);
        }
    }
}

/// Below a threshold, at it and above: each is met with long lists too.
#[test]
fn every_setting_has_its_turn_with_long_lists() {
    let all = Setting::all(16);
    let long = plans().into_iter().map(|plan| plan.backward()).enumerate();
    let mut met: Vec<_> = long
        .filter(|(_, job)| job.raster.len() > 256 && job.raster.width > 16)
        .flat_map(|(at, job)| settings_of(at, &job, &all))
        .collect();
    met.retain(|setting| setting.reduction.has_threshold());
    for setting in all.iter().filter(|setting| setting.reduction.has_threshold()) {
        let times = met.iter().filter(|found| *found == setting).count();
        assert!(times >= 2, "{setting} has {times} long lists");
    }
}

#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn what_is_measured_is_plausible() {
    for engine in both() {
        let info = engine.info();
        assert!(info.lane_width.is_power_of_two(), "warp size {}", info.lane_width);
        let driver = std::env::var("SPLAT_GPU_TEST_DRIVER").unwrap_or_default();
        for width in [4, 8, 16] {
            if driver.ends_with(&format!(", {width} lanes")) {
                assert_eq!(info.lane_width, width, "{driver}");
            }
        }
        assert!(WgpuEngine::enumerate().iter().any(|a| a.name == info.adapter), "not listed");
    }
}

#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn forward_is_exact() {
    let Some(mut engine) = open(false) else { return };
    let inputs: Vec<_> = plans().iter().map(Plan::raster).collect();
    assert_forward(&mut engine, &inputs, "plans");
}

#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn backward_is_exact_with_every_reduction_and_threshold() {
    let inputs: Vec<_> = plans().iter().map(Plan::backward).collect();
    for mut engine in both() {
        assert_backward(&mut engine, &inputs);
    }
}

/// Transmittance is exactly at the stop after two of these Gaussians.
#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn the_stop_rules_differ_at_the_stop() {
    let Some(mut engine) = open(false) else { return };
    let plan = Plan {
        width: 17,
        height: 2,
        channels: 3,
        length: 0,
        pixel_center: 0.5,
        clamp_gradient: ClampGradient::Zero,
    };
    let mut inputs = plan.raster();
    inputs.means2d = vec![[0.0; 2]; 3];
    inputs.conics = vec![[0.0; 3]; 3];
    inputs.opacities = vec![0.5; 3];
    inputs.colors = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
    inputs.flatten_ids = vec![0, 1, 2, 2, 1, 0];
    inputs.tile_offsets = vec![0, 3, 6];
    inputs.constants.transmittance_min = 0.25;
    let mut equal = inputs.clone();
    equal.constants.stop_rule = StopRule::LessOrEqual;
    let results = engine.rasterize(&[&inputs, &equal]).expect("the forward stage runs");
    let ends: Vec<_> = results.iter().map(|r| (r.render_transmittance[0], r.last_ids[0])).collect();
    assert_eq!(ends, [(0.25, 1), (0.5, 0)], "the rules differ where next T = minimum");
    assert_forward(&mut engine, &[inputs, equal], "stop rules");
}

/// A call cut into many submissions, over buffers that still hold the previous results.
#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn small_submissions_give_the_same_results() {
    let Some(mut engine) = open(false) else { return };
    engine.submission_bytes = 40_000;
    let plans: Vec<_> = plans().into_iter().filter(|p| p.length < 300).collect();
    let forward: Vec<_> = plans.iter().map(Plan::raster).collect();
    assert_forward(&mut engine, &forward, "small submissions");
    let backward: Vec<_> = plans.iter().map(Plan::backward).collect();
    assert_backward(&mut engine, &backward);
}

#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn wrong_calls_are_refused_and_do_no_harm() {
    let Some(mut engine) = open(false) else { return };
    let good = plans()[9].backward();
    let width = engine.info().lane_width;

    let beyond = [Setting { reduction: Reduction::SwS, threshold: width + 2 }];
    let error = engine.rasterize_backward(&[(&good, &beyond)]).expect_err("out of range");
    assert!(matches!(error, EngineError::Threshold(_)), "unexpected: {error}");

    let mut bad = good.clone();
    bad.raster.colors.pop();
    let error = engine.rasterize(&[&bad.raster]).expect_err("a color is missing");
    assert!(error.to_string().contains("colors has"), "unhelpful: {error}");

    // An output of one binding that no device of wgpu's offers: refused before it is allocated.
    let mut huge = good.raster.clone();
    huge.height = 0x4000_0000 / huge.width;
    // One channel: more would be beyond the kernels' 32-bit indices, which is refused before.
    huge.channels = 1;
    huge.colors.truncate(huge.len());
    huge.background.truncate(1);
    let tiles = huge.tiles()[0] as usize * huge.tiles()[1] as usize;
    if huge.tiles()[1] > engine.gpu.limits.max_compute_workgroups_per_dimension {
        huge.tile_offsets = vec![0; tiles + 1];
        huge.flatten_ids.clear();
        let error = engine.rasterize(&[&huge]).expect_err("too many tiles");
        assert!(error.to_string().contains("max_compute_workgroups"), "unhelpful: {error}");
    }
    let limit = engine.gpu.limits.max_storage_buffer_binding_size;
    let mut wide = plans()[0].raster();
    (wide.width, wide.channels) = (65_536, 32);
    wide.background = vec![0.0; 32];
    wide.height = u32::try_from(limit / (65_536 * 128) + 1).expect("the limit is no larger");
    wide.tile_offsets = vec![0; wide.tiles()[0] as usize * wide.tiles()[1] as usize + 1];
    let error = engine.rasterize(&[&wide]).expect_err("too large for one binding");
    assert!(error.to_string().contains("render_colors takes"), "unhelpful: {error}");

    assert_backward(&mut engine, &[good]);
    assert_eq!(engine.rasterize(&[]).expect("nothing to do"), [], "no job, no result");
    let none = engine.rasterize_backward(&[]).expect("nothing to do");
    assert!(none.is_empty(), "no job, no result");
}
