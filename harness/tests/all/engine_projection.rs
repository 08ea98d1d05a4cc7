//! Every engine of this machine, the PTX emulator included, on the projection stages: several
//! cameras, more than one workgroup, every reduction at every threshold.

use super::workload::{agreed, on_every_engine};
use splatcheck_gpu::hazard::Hazard;
use splatcheck_gpu::stages::splat::{PROJECT, PROJECT_BACKWARD};
use splatcheck_gpu::{Setting, Stage};
use splatcheck_judge::campaign::{Contender, EngineReport, Hooks, as_it_is, run};
use splatcheck_judge::engines::{EngineProcess, Found};
use splatcheck_judge::workload::AnyCase;
use splatcheck_reference::splat::Colors;
use splatcheck_reference::splat::convention::Convention;
use splatcheck_reference::splat::synthetic::frustum;
use splatcheck_workloads::splat::case::Case;
use std::sync::Arc;

const STAGES: [Stage; 2] = [PROJECT, PROJECT_BACKWARD];

/// 300 Gaussians (a full workgroup and a part of one) that three cameras see: along the axis,
/// turned and off-centre, and from behind some of them.
fn case(name: &str, convention: Convention, channels: Option<usize>) -> Case {
    let mut scene = frustum(300, 40, 32, 5);
    let first = scene.cameras[0];
    let mut second = first;
    second.viewmat[0] = [0.96, 0.0, 0.28, -0.4];
    second.viewmat[2] = [-0.28, 0.0, 0.96, 0.3];
    (second.fx, second.fy, second.cx, second.cy) = (33.0, 41.0, 18.25, 15.5);
    let mut third = first;
    third.viewmat[2][3] -= 4.0;
    scene.cameras = vec![first, second, third];
    if let Some(channels) = channels {
        let values = scene.gaussians.colors.values().iter().copied();
        let values = values.take(300 * channels).collect();
        scene.gaussians.colors = Colors::Direct { channels, values };
    }
    let (channels, pixels) = (scene.channels(), 3 * scene.pixels());
    // A loss of both signs; 7 and 5 share no factor with the image's sides or channels.
    let loss = |i: usize, n: u16| f32::from(u16::try_from(i % 7).unwrap_or(0) % n) - 1.5;
    scene.backgrounds = vec![0.25; 3 * channels];
    scene.v_render_colors = (0..pixels * channels).map(|i| loss(i, 5)).collect();
    scene.v_render_alphas = (0..pixels).map(|i| loss(i, 4)).collect();
    Case {
        name: name.to_owned(),
        id: None,
        purpose: "every threshold".to_owned(),
        hazards: vec![Hazard::ChannelCount, Hazard::ReductionMissing, Hazard::CameraSums],
        convention,
        scene,
    }
}

fn judge(
    (found, engine): (&Found, Box<EngineProcess>),
    cases: Vec<Case>,
    settings: Vec<Setting>,
) -> EngineReport {
    let contender = Contender {
        id: found.spec.id().to_owned(),
        emulation: found.emulation(),
        engine,
        stages: STAGES.to_vec(),
        settings,
    };
    let cases = cases.into_iter().map(|case| (Arc::new(case) as AnyCase, 0));
    let mut reports =
        run(cases, vec![contender], Hooks::new(&as_it_is)).expect("the cases are legal");
    reports.pop().expect("one engine, one report")
}

#[test]
fn every_engine_agrees_on_the_projection_at_every_threshold() {
    on_every_engine(|found, engine| {
        let lanes = found.info.lane_width;
        // WGSL's kernels are met at every threshold on the drivers; on the emulator, where a kernel takes
        // several times as long, at those that matter.
        let settings =
            if found.emulates_wgsl() { Setting::sweep(lanes) } else { Setting::all(lanes) };
        let gsplat = Convention::gsplat();
        let cases = vec![
            case("harmonics-inria", Convention::inria(), None),
            case("five-channels-gsplat", Convention { antialiased: true, ..gsplat }, Some(5)),
        ];
        let report = judge((found, engine), cases, settings.clone());
        agreed(&report);
        let of_backward = PROJECT_BACKWARD.settings(&settings).len() as u64;
        let runs: u64 = report.rows.values().flat_map(|row| row.runs.values()).sum();
        assert_eq!(runs, 2 * (1 + of_backward), "{}: a run is missing", found.spec.id());
        report
    });
}
