//! The CUDA kernels on the emulator: no misuse under any schedule, exact counts, replay, and
//! planted mistakes that a schedule or an observer brings to light.

mod features;
mod planted;
mod project;
mod robust;
mod wgsl;
mod width;

use splatcheck_emulator::{Report, Schedule};
use splatcheck_filetests::users;
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_gpu::{
    BackwardInputs, ClampGradient, EngineError, RasterConstants, RasterGradients, RasterInputs,
    Reduction, Setting, SplatEngine, StopRule,
};
use std::sync::LazyLock;

/// `tests/kernels/features.cu` as NVRTC compiles it: calls, local memory and all that the artifacts do not have.
static FEATURES: LazyLock<String> =
    LazyLock::new(|| users().remove("features.ptx").expect("it is in the archive"));

fn engine(fast_math: bool, schedule: Schedule) -> EmulatorEngine {
    let options = EmulatorOptions { fast_math, schedule, ..Default::default() };
    EmulatorEngine::open(options).expect("the artifacts are built in")
}

/// Two tiles, the second partial; `count` Gaussians on a line, each in both tiles' lists.
fn inputs(engine: &mut EmulatorEngine, channels: u32, count: u32) -> BackwardInputs {
    let step = |k: u32| 21.0 * (k as f32 + 0.5) / count as f32;
    let d = channels as usize;
    let raster = RasterInputs {
        width: 21,
        height: 9,
        tile_size: [16, 16],
        channels,
        constants: RasterConstants {
            alpha_max: 0.99,
            alpha_min: 1.0 / 255.0,
            transmittance_min: 1e-4,
            stop_rule: StopRule::Less,
            clamp_gradient: ClampGradient::Zero,
            pixel_center: 0.5,
        },
        means2d: (0..count).map(|k| [step(k), 9.0 - 0.4 * step(k)]).collect(),
        conics: (0..count).map(|k| [0.2, 0.01 * (k % 5) as f32, 0.3]).collect(),
        opacities: (0..count).map(|k| 0.2 + 0.7 * (k % 3) as f32 / 2.0).collect(),
        colors: (0..d * count as usize).map(|k| (k % 7) as f32 / 7.0).collect(),
        background: vec![0.25; d],
        tile_offsets: vec![0, count, 2 * count],
        flatten_ids: (0..2 * count).map(|k| k % count).collect(),
    };
    let forward = engine.rasterize(&[&raster]).expect("the forward kernel is correct").remove(0);
    let pixels = raster.pixels();
    BackwardInputs {
        raster,
        render_transmittance: forward.render_transmittance,
        last_ids: forward.last_ids,
        v_render_colors: (0..d * pixels).map(|k| (k % 11) as f32 / 11.0 - 0.5).collect(),
        v_render_alphas: (0..pixels).map(|k| (k % 5) as f32 / 5.0 - 0.5).collect(),
    }
}

#[test]
fn no_kernel_misuses_the_machine_under_any_schedule() {
    for fast_math in [false, true] {
        let mut engine = engine(fast_math, Schedule::lockstep());
        for (channels, count) in [(3, 40), (3, 0), (5, 9)] {
            let mut schedules = vec![Schedule::lockstep()];
            for seed in 0..2 {
                schedules.extend([Schedule::random(seed), Schedule::adversarial(seed)]);
            }
            for schedule in schedules {
                engine.set_schedule(schedule.clone());
                let inputs = inputs(&mut engine, channels, count);
                for reduction in RASTERIZE_BACKWARD.reductions() {
                    for threshold in [0, 2, 33] {
                        let result = try_backward(&mut engine, &inputs, reduction, threshold);
                        if let Err(error) = result {
                            panic!("{reduction} {threshold} {:?}: {error}", schedule.policy);
                        }
                    }
                }
            }
        }
    }
}

/// Runs the backward rasterization once.
fn try_backward(
    engine: &mut EmulatorEngine,
    inputs: &BackwardInputs,
    reduction: Reduction,
    threshold: u32,
) -> Result<RasterGradients, EngineError> {
    let setting = Setting { reduction, threshold };
    let mut results = engine.rasterize_backward(&[(inputs, &[setting])])?;
    Ok(results.remove(0).remove(0))
}

fn backward(
    engine: &mut EmulatorEngine,
    inputs: &BackwardInputs,
    reduction: Reduction,
    threshold: u32,
) -> (RasterGradients, Report) {
    let gradients = try_backward(engine, inputs, reduction, threshold);
    let gradients = gradients.expect("a correct kernel");
    (gradients, engine.report().clone())
}

#[test]
fn counts_are_those_of_the_threshold() {
    let mut engine = engine(false, Schedule::lockstep());
    let inputs = inputs(&mut engine, 3, 40);
    let (_, atomic) = backward(&mut engine, &inputs, Reduction::Atomic, 0);
    let plain = &atomic.global_atomics;
    assert_eq!(plain.reductions, plain.issued, "no result of an atomic is read");
    assert_eq!(
        atomic.chains.values().map(|&n| u64::from(n)).sum::<u64>(),
        plain.operations,
        "every operation is in a chain"
    );
    let by_lanes: u64 = (0..=32).map(|n| n as u64 * plain.lanes[n]).sum();
    assert_eq!(by_lanes, plain.operations, "every operation is a lane's");
    for reduction in [Reduction::SwB, Reduction::SwS] {
        let (_, never) = backward(&mut engine, &inputs, reduction, 33);
        assert_eq!(never.chains, atomic.chains, "{reduction} 33 never reduces");
        let (_, always) = backward(&mut engine, &inputs, reduction, 0);
        let always = &always.global_atomics;
        assert_eq!(always.operations, always.issued, "{reduction} 0: one lane an instruction");
        assert_eq!(always.issued, plain.issued, "{reduction} 0 sends once where lanes sent");
        let mut last = always.operations;
        for threshold in 2..=33 {
            let (_, report) = backward(&mut engine, &inputs, reduction, threshold);
            let now = report.global_atomics.operations;
            assert!(now >= last, "{reduction} {threshold}: {now} operations, before {last}");
            last = now;
        }
    }
    let long = *atomic.chains.values().max().expect("there are atomics");
    assert_eq!(atomic.atomic_unit_steps(u32::MAX), u64::from(long), "the longest chain bounds");
    assert_eq!(atomic.atomic_unit_steps(1), plain.operations, "one unit does all operations");
}

#[test]
fn a_seed_gives_the_same_bits_and_its_trace_replays_them() {
    for schedule in [Schedule::random(3), Schedule::adversarial(4)] {
        let mut engine = engine(false, Schedule::lockstep());
        let inputs = inputs(&mut engine, 3, 40);
        engine.set_schedule(schedule.clone());
        let (first, _) = backward(&mut engine, &inputs, Reduction::SwB, 8);
        let trace = engine.trace().clone();
        assert!(!trace.is_empty(), "{:?} makes decisions", schedule.policy);
        let (second, _) = backward(&mut engine, &inputs, Reduction::SwB, 8);
        assert_eq!(first, second, "{:?} is a function of its seed", schedule.policy);
        engine.set_schedule(schedule.replay(trace));
        let (replayed, _) = backward(&mut engine, &inputs, Reduction::SwB, 8);
        assert_eq!(first, replayed, "the trace of {:?} replays", schedule.policy);
    }
}

#[test]
fn schedules_change_the_order_of_additions() {
    let mut engine = engine(false, Schedule::lockstep());
    let inputs = inputs(&mut engine, 3, 40);
    let (lockstep, _) = backward(&mut engine, &inputs, Reduction::Atomic, 0);
    let differ = (0..8).filter(|&seed| {
        let exact = Schedule { approximation: Default::default(), ..Schedule::adversarial(seed) };
        engine.set_schedule(exact);
        backward(&mut engine, &inputs, Reduction::Atomic, 0).0 != lockstep
    });
    assert!(differ.count() > 0, "no seed adds in another order");
}
