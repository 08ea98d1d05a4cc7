use super::*;
use crate::train::backward::{OnEngine, Oracle};
use crate::train::parameters::StageGradients;
use crate::train::picture::Picture;
use crate::train::start::start;
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::{Reduction, Setting};
use splatcheck_reference::splat::Convention;

/// A bright disc on dark ground.
fn disc(size: u32) -> Picture {
    let half = f64::from(size) / 2.0;
    let pixel = |i: u32| {
        let [x, y] = [i % size, i / size].map(|x| f64::from(x) + 0.5 - half);
        if x * x + y * y < half * half / 2.0 { [0.9, 0.6, 0.2] } else { [0.1, 0.1, 0.2] }
    };
    Picture { size: [size; 2], colors: (0..size * size).flat_map(pixel).collect() }
}

fn fit(gaussians: usize, steps: usize, loss: Loss) -> Fit {
    let target = Target::of_picture(disc(16), Convention::inria());
    let start = start(&target, gaussians, 1);
    Fit { target, start, steps, loss }
}

#[test]
fn the_oracle_learns_and_repeats_itself() {
    for loss in [Loss::L1, Loss::L2] {
        let fit = fit(40, 60, loss);
        let curve = fit.run(&mut Oracle, &|| ());
        assert_eq!((&curve.end, curve.psnr.len()), (&End::Done, 61));
        let [first, last] = [curve.psnr[0].1, curve.psnr[60].1];
        assert!(last > first + 1.0, "{loss:?}: from {first} to {last} dB");
        let again = fit.run(&mut Oracle, &|| ());
        assert_eq!(curve.psnr, again.psnr, "deterministic");
        assert_eq!(curve.farthest(&again), Some(0.0));
    }
}

/// The gradients by the trained parameters are differences of the loss, rendered by the oracle in f64.
#[test]
fn gradients_by_parameters_are_differences_of_the_loss() {
    let fit = fit(6, 1, Loss::L2);
    let mut curve = Vec::new();
    let gradients = fit.gradients(0, &fit.start, &mut Oracle, &mut curve).expect("few pairs");
    let view = &fit.target.views[0];
    let loss = |parameters: &Parameters| {
        // In f64 from the parameters on, so that differences are not those of roundings.
        let mut scene = fit.case(view, parameters.gaussians()).scene.map(f64::from);
        scene.gaussians.means = parameters.means.as_chunks().0.to_vec();
        let scales: Vec<f64> = parameters.log_scales.iter().map(|l| l.exp()).collect();
        scene.gaussians.scales = scales.as_chunks().0.to_vec();
        scene.gaussians.opacities =
            parameters.logits.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect();
        scene.gaussians.colors = scene.gaussians.colors.with_values(parameters.harmonics.clone());
        let images = splatcheck_reference::splat::render::render(&scene, &fit.target.convention);
        Loss::L2.value(&images.expect("few pairs")[0].render_colors, &view.colors)
    };
    let mut checked = 0;
    for (group, (name, values)) in gradients.groups().into_iter().enumerate() {
        for (i, &found) in values.iter().enumerate().take(6) {
            let at = |step: f64| {
                let mut other = fit.start.clone();
                other.groups_mut()[group][i] += step;
                // Quaternions are not changed in f64 above, and have no gradient where scales are equal.
                if name == "quats" { 0.0 } else { loss(&other) }
            };
            let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
            let near = 1e-4 * difference.abs() + 1e-7;
            assert!((found - difference).abs() <= near, "{name} {i}: {found}, {difference}");
            checked += usize::from(difference.abs() > 1e-5);
        }
    }
    assert!(checked >= 12, "{checked} gradients are not 0");
}

/// Returns the oracle's gradients, changed.
struct Changed(fn(&mut StageGradients));

impl Backward for Changed {
    fn gradients(
        &mut self,
        case: &Case,
        raster: &RasterStage,
    ) -> Result<StageGradients, EngineError> {
        let mut gradients = Oracle.gradients(case, raster)?;
        (self.0)(&mut gradients);
        Ok(gradients)
    }
}

/// Uphill.
fn turn(all: &mut StageGradients) {
    for group in [&mut all.means, &mut all.scales, &mut all.opacities, &mut all.colors] {
        group.iter_mut().for_each(|v| *v = -*v);
    }
}

#[test]
fn wrong_gradients_show_in_the_curve() {
    let fit = fit(40, 30, Loss::L2);
    let oracle = fit.run(&mut Oracle, &|| ());
    let turned = fit.run(&mut Changed(turn), &|| ());
    assert!(oracle.psnr[30].1 > oracle.psnr[0].1, "it learns: {oracle:?}");
    assert!(turned.psnr[30].1 < turned.psnr[0].1, "it unlearns: {turned:?}");
    let poisoned = fit.run(&mut Changed(|all| all.opacities[3] = f64::NAN), &|| ());
    assert_eq!(poisoned.end, End::NotFinite { step: 0, what: "logits" });
    assert_eq!((poisoned.psnr.len(), poisoned.farthest(&oracle)), (1, Some(0.0)));
}

#[test]
fn the_kernels_learn_what_the_oracle_learns() {
    let fit = fit(12, 10, Loss::L2);
    let oracle = fit.run(&mut Oracle, &|| ());
    let mut engine = EmulatorEngine::open(EmulatorOptions::default()).expect("always there");
    for reduction in [Reduction::Atomic, Reduction::SwB] {
        let setting = Setting { reduction, threshold: 8 };
        let curve = fit.run(&mut OnEngine { engine: &mut engine, setting }, &|| ());
        assert_eq!((&curve.end, curve.psnr.len()), (&End::Done, 11));
        let gained = (oracle.psnr[10].1 - oracle.psnr[0].1).abs();
        let apart = curve.farthest(&oracle).expect("steps in common");
        assert!(apart < gained / 100.0, "{setting}: {apart} dB apart, {gained} dB gained");
    }
}

#[test]
fn of_several_views_one_is_rendered_a_step_and_all_once_a_turn() {
    let mut fit = fit(20, 7, Loss::L2);
    let mut other = fit.target.views[0].clone();
    other.colors.iter_mut().for_each(|c| *c = 1.0 - *c);
    fit.target.views.extend([other.clone(), other]);
    let curve = fit.run(&mut Oracle, &|| ());
    let at: Vec<_> = curve.psnr.iter().map(|point| point.0).collect();
    assert_eq!(at, [0, 3, 6, 7], "each turn of three views, and the end");
    // Each step follows its own view: with the views the other way round the first step is another.
    fit.target.views.reverse();
    let reversed = fit.run(&mut Oracle, &|| ());
    assert_eq!(reversed.psnr[0].0, 0);
    assert_ne!(reversed.psnr[1], curve.psnr[1], "other steps");
}
