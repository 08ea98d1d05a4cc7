//! The projection stages.

use super::{both, open};
use crate::engine::{Engine, EngineError};
use crate::reduction::{Reduction, Setting};
use crate::stages::splat::tests::inputs::{gaussians, with_gradients};
use crate::stages::splat::tests::{all_settings, assert_backward, assert_forward, scenes};
use crate::stages::splat::typed::SplatEngine;

#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn projection_is_exact() {
    let Some(mut engine) = open(false) else { return };
    assert_forward(&mut engine, &scenes());
}

#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn projection_backward_is_exact_with_every_reduction_and_threshold() {
    let scenes = scenes();
    for mut engine in both() {
        let settings = all_settings(engine.info().lane_width);
        assert_backward(&mut engine, &scenes, &settings);
    }
}

/// A call cut into many submissions, over buffers that still hold the previous results.
#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn small_submissions_of_projections_give_the_same_results() {
    let Some(mut engine) = open(false) else { return };
    engine.submission_bytes = 20_000;
    let scenes = scenes();
    assert_forward(&mut engine, &scenes);
    let width = engine.info().lane_width;
    let settings = Reduction::ENDINGS.map(|reduction| Setting { reduction, threshold: width / 2 });
    assert_backward(&mut engine, &scenes, &settings);
}

#[test]
#[ignore = "run by tests::drivers with one driver in the environment"]
fn wrong_projections_are_refused_and_do_no_harm() {
    let Some(mut engine) = open(false) else { return };
    let good = with_gradients(3, 2);
    let width = engine.info().lane_width;
    let beyond = [Setting { reduction: Reduction::SwB, threshold: width + 2 }];
    let error = engine.project_backward(&[(&good, &beyond)]).expect_err("out of range");
    assert!(matches!(error, EngineError::Threshold(_)), "unexpected: {error}");
    let other = [Setting { reduction: Reduction::PerGaussian, threshold: 0 }];
    let error = engine.project_backward(&[(&good, &other)]).expect_err("it has no kernel");
    assert!(error.to_string().contains("no reduction per-gaussian"), "unhelpful: {error}");
    let mut bad = good.clone();
    bad.v_opacities.pop();
    let settings = [Setting { reduction: Reduction::SwB, threshold: 1 }];
    let error = engine.project_backward(&[(&bad, &settings)]).expect_err("a row is missing");
    assert!(error.to_string().contains("v_opacities has 5"), "unhelpful: {error}");
    let cameras = engine.gpu.limits.max_compute_workgroups_per_dimension as usize + 1;
    if cameras < 1 << 20 {
        let error = engine.project(&[&gaussians(1, cameras)]).expect_err("too many cameras");
        assert!(error.to_string().contains("max_compute_workgroups"), "unhelpful: {error}");
    }
    assert_eq!(engine.project(&[]).expect("nothing to do"), [], "no job, no result");
    engine.project_backward(&[(&good, &settings)]).expect("nothing is wrong with it");
}
