//! The clamp of alpha, through which the gradient passes in 3DGS and DISTWAR: there the sweep over the forward
//! kernel lets it pass too, by the line of its source.

use super::{Sum, accused, classes_of, engine, on_jobs};
use rayon::prelude::*;
use splatcheck::gradcheck::{check_stages_as_clamped, forward_of};
use splatcheck::mutants::class::Trial;
use splatcheck_emulator::{Conventions, Schedule, WARP};
use splatcheck_gpu::Setting;
use splatcheck_gpu::emulator::{Pair, as_clamped, differentiable};
use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;

/// Elements that the backward kernel returns otherwise than the derivative is, without the convention.
fn departing(trial: &Trial, setting: Option<Setting>) -> usize {
    let forward = forward_of(RASTERIZE_BACKWARD).expect("it has one");
    let jobs =
        [trial.job(forward), trial.job(RASTERIZE_BACKWARD)].map(|job| job.expect("it has both"));
    let inputs = differentiable(&jobs[0].inputs);
    let (given, _) = as_clamped(&jobs[1].inputs).expect("the line is there");
    let none = Conventions::default();
    let pair = Pair {
        forward: (forward, &inputs),
        backward: (RASTERIZE_BACKWARD, &given),
        setting,
        conventions: &none,
    };
    let mut engine = engine(Schedule::lockstep());
    let Ok(run) = engine.differentiate(pair) else { return 0 };
    let each = run.sweep.gradients.iter().zip(&run.returned);
    let each = each.flat_map(|(of, returned)| of.expected.iter().zip(&returned.found));
    each.filter(|((value, own), found)| (found.value - value).abs() > own + found.uncertainty)
        .count()
}

#[test]
fn a_clamp_that_lets_the_gradient_pass_does_so_in_the_sweep() {
    let setting = RASTERIZE_BACKWARD.settings(&Setting::sweep(WARP))[0];
    let classes = classes_of("splat", 3);
    let passes = |trial: &&Trial| {
        let job = trial.job(RASTERIZE_BACKWARD).filter(|job| job.is_beyond(setting).is_none());
        let clamp = job.and_then(|job| job.inputs.u32("clamp_stops_gradient").ok().map(|c| c[0]));
        clamp == Some(0)
    };
    let trials: Vec<&Trial> =
        classes.iter().flat_map(|class| &class.trials).filter(passes).collect();
    assert!(trials.len() >= 30, "{} cases let it pass", trials.len());
    let all: Vec<(Sum, Option<String>, bool)> = trials
        .par_iter()
        .filter_map(|trial| {
            let mut engine = engine(Schedule::lockstep());
            let jobs =
                (trial.job(forward_of(RASTERIZE_BACKWARD)?)?, trial.job(RASTERIZE_BACKWARD)?);
            let checked = on_jobs(trial.name(), jobs, &[setting], |forward, backward| {
                check_stages_as_clamped(&mut engine, forward, backward, setting)
            })?;
            let mut sum = Sum::default();
            sum.add(&checked);
            let wrong = accused(RASTERIZE_BACKWARD.name, trial.name(), &checked);
            Some((sum, wrong, departing(trial, setting) > 0))
        })
        .collect();
    let wrong: Vec<_> = all.iter().filter_map(|(_, wrong, _)| wrong.as_deref()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let compared: usize = all.iter().map(|(sum, ..)| sum.compared).sum();
    let departing = all.iter().filter(|(.., departs)| *departs).count();
    println!("{} cases, {compared} compared, {departing} depart from the derivative", all.len());
    assert!(compared > 10_000 && departing >= 3, "{compared} compared, {departing} depart");
}
