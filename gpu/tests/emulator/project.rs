//! The projection kernels on the emulator.

use splatcheck_emulator::Schedule;
use splatcheck_gpu::{
    Camera, ProjectBackwardInputs, ProjectColors, ProjectConstants, ProjectInputs, Reduction,
    Setting, SplatEngine,
};

use super::engine;

/// A Gaussian on the axis of one camera, and one behind it.
fn inputs() -> ProjectInputs {
    ProjectInputs {
        means: vec![[0.0, 0.0, 2.0], [0.0, 0.0, -2.0]],
        quats: vec![[2.0, 0.0, 0.0, 0.0]; 2],
        scales: vec![[1.0; 3]; 2],
        opacities: vec![0.5, 0.25],
        colors: ProjectColors::Direct { channels: 2, values: vec![1.0, 2.0, 3.0, 4.0] },
        cameras: vec![Camera {
            viewmat: [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
            focal: [4.0; 2],
            principal: [8.0, 9.0],
            low: [-2.0; 2],
            high: [2.0; 2],
        }],
        constants: ProjectConstants {
            near_inclusive: false,
            clamp_has_gradient: true,
            antialiased: false,
            eps2d: 4.0,
            near: 0.25,
            far: f32::INFINITY,
            inverse_eps: 0.0,
            w_eps: 0.0,
        },
    }
}

#[test]
fn a_gaussian_on_the_axis() {
    let mut engine = engine(false, Schedule::lockstep());
    let inputs = inputs();
    let out = engine.project(&[&inputs]).expect("a correct kernel").remove(0);
    assert_eq!(out.visible, [1, 0], "the second is behind the camera");
    assert_eq!(out.means2d, [[8.0, 9.0], [0.0; 2]], "the axis meets the principal point");
    assert_eq!(out.covars2d, [[8.0, 0.0, 8.0], [0.0; 3]], "(f s/z)^2 + eps2d");
    assert_eq!(out.conics, [[0.125, 0.0, 0.125], [0.0; 3]], "its inverse");
    assert_eq!(out.depths, [2.0, 0.0], "z");
    assert_eq!(out.opacities, [0.5, 0.0], "as given");
    assert_eq!(out.colors, [1.0, 2.0, 0.0, 0.0], "as given");
    let backward = ProjectBackwardInputs {
        project: inputs,
        v_means2d: vec![[1.0, 2.0]; 2],
        v_conics: vec![[0.0; 3]; 2],
        v_opacities: vec![3.0; 2],
        v_colors: vec![1.0, 2.0, 3.0, 4.0],
    };
    let configs = Reduction::ENDINGS.map(|reduction| Setting { reduction, threshold: 1 });
    let all = engine.project_backward(&[(&backward, &configs)]).expect("correct kernels");
    for (found, config) in all[0].iter().zip(configs) {
        assert_eq!(found.v_means, [[2.0, 4.0, 0.0], [0.0; 3]], "{config}: f/z");
        assert_eq!(found.v_opacities, [3.0, 0.0], "{config}: the second is not seen");
        assert_eq!(found.v_colors, [1.0, 2.0, 0.0, 0.0], "{config}: passed on");
        let rows = [[0.0, 0.0, 4.0, 2.0], [0.0, 0.0, 8.0, 4.0], [0.0; 4], [0.0; 4]];
        assert_eq!(found.v_viewmats, [rows], "{config}: v_mean times (mean, 1)");
    }
}

/// `count` Gaussians on a line through what three cameras see, one of which is behind them.
fn line(count: u16, colors: ProjectColors) -> ProjectBackwardInputs {
    let mut project = inputs();
    let places = (0..count).map(|k| f32::from(k) / 16.0 - 1.0);
    let n = usize::from(count);
    project.means = places.clone().map(|x| [x, -0.5 * x, 1.5 - x]).collect();
    project.quats = places.clone().map(|x| [1.0, x, -0.25, 0.5 * x]).collect();
    project.scales = places.map(|x| [0.25, 0.5 + 0.1 * x.abs(), 0.125]).collect();
    project.opacities = vec![0.5; n];
    project.colors = colors;
    let mut behind = project.cameras[0];
    behind.viewmat[2][2] = -1.0;
    let mut aside = project.cameras[0];
    aside.viewmat[0][3] = 0.75;
    project.cameras.extend([behind, aside]);
    project.constants.antialiased = true;
    let rows = project.projections();
    let channels = project.colors.channels() as usize;
    ProjectBackwardInputs {
        v_means2d: vec![[0.5, -0.25]; rows],
        v_conics: vec![[0.1, 0.2, -0.3]; rows],
        v_opacities: vec![1.0; rows],
        v_colors: vec![0.3; rows * channels],
        project,
    }
}

#[test]
fn no_projection_kernel_misuses_the_machine_under_any_schedule() {
    let configs: Vec<_> = Reduction::ENDINGS
        .into_iter()
        .flat_map(|reduction| [0, 2, 33].map(|threshold| Setting { reduction, threshold }))
        .collect();
    let harmonics = |n: usize| ProjectColors::Harmonics {
        coefficients: 16,
        values: (0..48 * n).map(|k| 0.1 * ((k % 7) as f32 - 3.0)).collect(),
    };
    let direct = |n: usize| ProjectColors::Direct { channels: 5, values: vec![0.5; 5 * n] };
    let scenes = [line(40, harmonics(40)), line(0, direct(0)), line(300, direct(300))];
    for fast_math in [false, true] {
        let mut engine = engine(fast_math, Schedule::lockstep());
        for schedule in [Schedule::lockstep(), Schedule::random(1), Schedule::adversarial(2)] {
            engine.set_schedule(schedule.clone());
            for scene in &scenes {
                let name = schedule.policy.clone();
                let found = engine.project(&[&scene.project]);
                let seen = found.unwrap_or_else(|e| panic!("{name:?}: {e}")).remove(0).visible;
                let some = seen.contains(&1) && seen.contains(&0);
                assert!(some || seen.is_empty(), "cameras see all or nothing: {seen:?}");
                let jobs = [(scene, configs.as_slice())];
                let found = engine.project_backward(&jobs);
                found.unwrap_or_else(|e| panic!("{name:?}: {e}"));
            }
        }
    }
}
