//! What every engine must return exactly: see [`oracle`].

mod dual;
mod emulator;
mod harmonics;
pub(crate) mod inputs;
mod oracle;
mod scene;

use super::typed::SplatEngine;
use super::{ProjectBackwardInputs, ProjectGradients, ProjectInputs, ProjectOutputs};
use crate::engine::Engine;
use crate::exact::assert_same;
use crate::reduction::{Reduction, Setting};

/// The scenes whose colours are given directly.
fn direct_scenes() -> Vec<ProjectBackwardInputs> {
    scene::plans().into_iter().map(|plan| plan.backward()).collect()
}

/// Every scene.
pub(crate) fn scenes() -> Vec<ProjectBackwardInputs> {
    direct_scenes().into_iter().chain(harmonics::scenes()).collect()
}

/// Every output and gradient is met with a value that is not zero, and Gaussians that are seen
/// with some that are not.
#[test]
fn scenes_meet_what_they_are_made_for() {
    let mut met = [false; 12];
    let mut seen = [0; 2];
    for scene in direct_scenes() {
        for visible in oracle::project(&scene.project).visible {
            seen[visible as usize] += 1;
        }
        let gradients = oracle::project_backward(&scene);
        for viewmat in gradients.v_viewmats {
            for (met, &value) in met.iter_mut().zip(viewmat.as_flattened()) {
                *met |= value != 0.0;
            }
        }
        if scene.project.len() > 100 {
            for (name, values) in [
                ("v_means", gradients.v_means.as_flattened()),
                ("v_quats", gradients.v_quats.as_flattened()),
                ("v_scales", gradients.v_scales.as_flattened()),
                ("v_opacities", &gradients.v_opacities),
                ("v_colors", &gradients.v_colors),
            ] {
                let nonzero = values.iter().filter(|&&v| v != 0.0).count();
                assert!(20 * nonzero > values.len(), "{name}: {nonzero} of {}", values.len());
            }
        }
    }
    assert_eq!(met, [true; 12], "a number of the camera's gradient is always zero");
    assert!(seen[0] > 100 && seen[1] > 100, "culled and seen: {seen:?}");
    let turning = harmonics::scenes().into_iter().filter(|scene| {
        let v_means = oracle::project_backward(scene).v_means;
        v_means.as_flattened().iter().any(|&v| v != 0.0)
    });
    // The first function is constant; along the axes the gradients of 6 and 8 are radial or zero,
    // those of 10 all zero.
    assert_eq!(turning.count(), 3 + 6 + 12, "colours whose gradient reaches the mean");
}

/// Every reduction of `project_backward` with every threshold.
pub(crate) fn all_settings(lane_width: u32) -> Vec<Setting> {
    let mut all = Setting::all(lane_width);
    all.retain(|setting| Reduction::ENDINGS.contains(&setting.reduction));
    all
}

fn describe(inputs: &ProjectInputs) -> String {
    format!(
        "{} Gaussians, {} cameras, {} channels, {} harmonics, {:?}",
        inputs.len(),
        inputs.cameras.len(),
        inputs.colors.channels(),
        inputs.colors.coefficients(),
        inputs.constants
    )
}

fn assert_outputs(found: &ProjectOutputs, expected: &ProjectOutputs, context: &str) {
    assert_eq!(found.visible, expected.visible, "visible of {context}");
    let same = |name, found: &[f32], expected: &[f32]| assert_same(name, found, expected, context);
    same("means2d", found.means2d.as_flattened(), expected.means2d.as_flattened());
    same("conics", found.conics.as_flattened(), expected.conics.as_flattened());
    same("opacities", &found.opacities, &expected.opacities);
    same("colors", &found.colors, &expected.colors);
    same("covars2d", found.covars2d.as_flattened(), expected.covars2d.as_flattened());
    same("depths", &found.depths, &expected.depths);
}

fn assert_gradients(found: &ProjectGradients, expected: &ProjectGradients, context: &str) {
    let same = |name, found: &[f32], expected: &[f32]| assert_same(name, found, expected, context);
    same("v_means", found.v_means.as_flattened(), expected.v_means.as_flattened());
    same("v_quats", found.v_quats.as_flattened(), expected.v_quats.as_flattened());
    same("v_scales", found.v_scales.as_flattened(), expected.v_scales.as_flattened());
    same("v_opacities", &found.v_opacities, &expected.v_opacities);
    same("v_colors", &found.v_colors, &expected.v_colors);
    let flat = |g: &ProjectGradients| g.v_viewmats.as_flattened().as_flattened().to_vec();
    same("v_viewmats", &flat(found), &flat(expected));
}

/// Runs the forward stage on scenes in one call.
pub(crate) fn assert_forward(engine: &mut dyn Engine, scenes: &[ProjectBackwardInputs]) {
    let jobs: Vec<_> = scenes.iter().map(|scene| &scene.project).collect();
    let results = engine.project(&jobs).expect("the forward stage runs");
    assert_eq!(results.len(), jobs.len(), "one result a job");
    for (found, job) in results.iter().zip(jobs) {
        assert_outputs(found, &oracle::project(job), &describe(job));
    }
}

/// Runs the backward stage on scenes with settings in one call.
pub(crate) fn assert_backward(
    engine: &mut dyn Engine,
    scenes: &[ProjectBackwardInputs],
    settings: &[Setting],
) {
    let jobs: Vec<_> = scenes.iter().map(|scene| (scene, settings)).collect();
    let results = engine.project_backward(&jobs).expect("the backward stage runs");
    assert_eq!(results.len(), scenes.len(), "one list of results a job");
    for (found, scene) in results.iter().zip(scenes) {
        let expected = oracle::project_backward(scene);
        assert_eq!(found.len(), settings.len(), "one result a setting");
        for (found, config) in found.iter().zip(settings) {
            let context = format!("{}, {config}", describe(&scene.project));
            assert_gradients(found, &expected, &context);
        }
    }
}
