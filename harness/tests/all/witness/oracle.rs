//! The oracle beside the sweep over a forward kernel: two ways to the same derivatives that share no line.

use super::{backwards, classes_of, engine};
use rayon::prelude::*;
use splatcheck::gradcheck::forward_of;
use splatcheck_emulator::{Conventions, Schedule};
use splatcheck_gpu::emulator::Pair;
use splatcheck_gpu::{EngineError, Stage};
use splatcheck_judge::campaign::Item;
use splatcheck_judge::judge::{Arithmetic, OutputBound};
use splatcheck_judge::workload::{AnyCase, Job};
use splatcheck_reference::arithmetic::ElementBound;
use splatcheck_reference::splat::convention::{ClampGradient, FovClampGradient};
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::splat_case;
use std::sync::Arc;

/// The case with the convention that departs nowhere from the derivative.
fn differentiable(case: &AnyCase) -> AnyCase {
    let Some(splats) = splat_case(case) else { return Arc::clone(case) };
    let mut convention = splats.convention;
    convention.alpha_clamp_gradient = ClampGradient::Zero;
    convention.fov_clamp_gradient = FovClampGradient::Included;
    convention.inverse_eps = 0.0;
    Arc::new(Case { convention, ..splats.clone() })
}

/// How far the oracle may be off itself, as parts of a bound on an f32 kernel: of its radius, and of its magnitude.
///
/// A radius counts roundings, which are 2^29 times as large in f32 as in f64. A rasterization's backward pass is given
/// the transmittance behind each pixel's last contributor, in f32 and as the forward pass rounds it, and every term is
/// a multiple of it: a term is off by the same part of itself as the transmittance, and by a kernel's roundings of it.
fn parts_of_bound(backward: Stage, forward: &Job) -> [f64; 2] {
    let outputs = forward.expectation(Arithmetic::Cuda).outputs();
    let given = outputs.filter(|output| output.name == "render_transmittance");
    let part = given.map(|output| match &output.bound {
        OutputBound::Interval(bounds) => {
            bounds.iter().map(|(value, radius)| radius / value.abs()).fold(0.0, f64::max)
        }
        OutputBound::Sum(_) | OutputBound::OneOf(_) | OutputBound::DerivedFrom(_) => f64::INFINITY,
    });
    match backward.name.starts_with("rasterize") {
        true => [1.0, part.fold(0.0, f64::max)],
        false => [1.0 / f64::from(1 << 29), 0.0],
    }
}

/// Elements that were compared, those that cannot be, and the first that differs.
fn compared(case: &AnyCase, backward: Stage) -> Option<([usize; 2], Option<String>)> {
    let forward = forward_of(backward)?;
    let case = differentiable(case);
    let item = Item::of(case, 0, &|stage| stage == forward || stage == backward).ok()?;
    let (first, job) = (item.job(forward)?, item.job(backward)?);
    let setting = backward.settings(&splatcheck_gpu::Setting::sweep(splatcheck_emulator::WARP))[0];
    let conventions = &Conventions::default();
    let stages = [(forward, &first.inputs), (backward, &job.inputs)];
    let pair = Pair { forward: stages[0], backward: stages[1], setting, conventions };
    let mut engine = engine(Schedule::lockstep());
    let (decided_by_rounding, sweep) = match engine.sweep(pair) {
        Ok((memory, sweep)) => {
            (memory.decisions().iter().any(|(_, decided)| decided.open > 0), sweep)
        }
        Err(EngineError::Input(why)) if why.contains("the tape is full") => return None,
        Err(error) => panic!("{}: {error}", item.case.name()),
    };
    let [of_radius, of_magnitude] = parts_of_bound(backward, first);
    let ([mut all, mut open], mut differs) = ([0; 2], None);
    for output in job.expectation(Arithmetic::Cuda).outputs() {
        let gradient = sweep.gradients.iter().find(|gradient| gradient.name == output.name);
        let Some(gradient) = gradient else { continue };
        let oracle: Vec<(f64, f64)> = match &output.bound {
            OutputBound::Interval(bounds) => {
                bounds.iter().map(|(value, radius)| (*value, of_radius * radius)).collect()
            }
            OutputBound::Sum(all) => {
                let off =
                    |one: &ElementBound| of_radius * one.radius + of_magnitude * one.magnitude;
                all.iter().map(|one| (one.value, off(one))).collect()
            }
            OutputBound::OneOf(_) | OutputBound::DerivedFrom(_) => continue,
        };
        assert_eq!(oracle.len(), gradient.expected.len(), "{backward}: {}", output.name);
        for (at, ((value, off), (swept, own))) in oracle.iter().zip(&gradient.expected).enumerate()
        {
            let allowed = own + off;
            let distance = (value - swept).abs();
            // Of a scene in which rounding decides, as on what is culled, each may have decided otherwise.
            let is_same = distance <= allowed;
            let is_open = !allowed.is_finite() || (!is_same && decided_by_rounding);
            all += usize::from(!is_open);
            open += usize::from(is_open);
            if !is_open && !is_same && differs.is_none() {
                differs = Some(format!(
                    "{backward}, {}: {}[{at}] is {value:e} by the oracle and {swept:e} by the sweep, \
                     {distance:e} apart, within {allowed:e}",
                    item.case.name(),
                    output.name
                ));
            }
        }
    }
    Some(([all, open], differs))
}

/// On every scene of the corpora: of a projection and a grid within what the sweep is uncertain by, of a rasterization
/// within the bound of its kernels. The other formulations of a rasterization are given rounded images besides, and
/// divide by them, so that their numbers may be far from the derivative.
#[test]
fn the_oracle_and_the_sweep_have_the_same_derivatives() {
    for workload in super::WORKLOADS {
        let classes = classes_of(workload, 1);
        let is_formulation = |stage: &Stage| stage.name.starts_with("rasterize_backward_");
        for backward in backwards(workload).into_iter().filter(|stage| !is_formulation(stage)) {
            let trials = classes[0].trials.par_iter();
            let found: Vec<_> =
                trials.filter_map(|trial| compared(&trial.item.case, backward)).collect();
            let differs: Vec<_> = found.iter().filter_map(|(_, one)| one.as_deref()).collect();
            let sum = |at: usize| found.iter().map(|(counts, _)| counts[at]).sum::<usize>();
            let (all, open) = (sum(0), sum(1));
            println!("{backward}: {} scenes, {all} compared, {open} open", found.len());
            assert!(differs.is_empty(), "{}", differs.join("\n"));
            assert!(all > 10 * open, "{backward}: {all} compared, {open} open");
        }
    }
}
