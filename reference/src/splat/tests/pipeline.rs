//! The bounds of the whole pipeline hold: random legal f32 evaluations of every operation from the
//! inputs to the last gradient, and the plain f32 pipeline, lie inside them.
//!
//! Measured here, error over bound is in the median 1e-3 for images and 1e-4 for the gradients of
//! colours and opacities, but 1e-5 for means and scales and 1e-6 for quaternions and view matrices.
//! The bounds add up worst cases: every pixel's alpha may err by what the roundings of the same
//! conic allow, while real errors of a conic move all pixels together and cancel in a sum of mixed
//! signs; and a gradient that is a small difference of large terms has the large terms' bound.

use crate::arithmetic::{
    Bounded, EvaluationOrders, Ieee, Luck, Perturbed, Scalar, Wgsl, WgslExpZero, perturb,
};
use crate::splat::bounds::{Compiled, PipelineBounds, Undecided, pipeline};
use crate::splat::convention::{Convention, StopRule};
use crate::splat::render::{Gradients, render_backward};
use crate::splat::scene::Scene;
use crate::splat::synthetic::frustum;
use crate::splat::tests::scenes::{Layout, scene};
use std::collections::BTreeMap;

/// Outputs by name, each as one list.
type Outputs<S> = [(&'static str, Vec<S>); 9];

fn outputs<S: Copy>(gradients: &Gradients<S>) -> Outputs<S> {
    let images = &gradients.rasters;
    [
        ("render_colors", images.iter().flat_map(|r| r.render_colors.clone()).collect()),
        ("render_alphas", images.iter().flat_map(|r| r.render_alphas.clone()).collect()),
        ("v_means", gradients.v_means.concat()),
        ("v_quats", gradients.v_quats.concat()),
        ("v_scales", gradients.v_scales.concat()),
        ("v_opacities", gradients.v_opacities.clone()),
        ("v_colors", gradients.v_colors.clone()),
        ("v_viewmats", gradients.v_viewmats.concat().concat()),
        ("v_backgrounds", gradients.v_backgrounds.clone()),
    ]
}

/// What was seen of one output.
#[derive(Default)]
struct Observed {
    /// Error over bound where the bound is finite and not 0.
    ratios: Vec<f64>,
    /// Bound over the output's largest value.
    relative: Vec<f64>,
    unbounded: usize,
}

type Report = BTreeMap<&'static str, Observed>;

/// Asserts that every element of a run lies within its bound about the oracle's value.
fn contain<M: Compiled, S: Scalar>(
    run: &Gradients<S>,
    oracle: &Gradients<f64>,
    bounds: &PipelineBounds<M>,
    place: &str,
    report: &mut Report,
) {
    let all = outputs(run).into_iter().zip(outputs(oracle)).zip(outputs(&bounds.gradients));
    for (((name, run), (_, oracle)), (_, bounds)) in all {
        assert_eq!((run.len(), oracle.len()), (bounds.len(), bounds.len()), "{name} {place}");
        let largest = oracle.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let observed = report.entry(name).or_default();
        for (i, ((x, &exact), bound)) in run.iter().zip(&oracle).zip(&bounds).enumerate() {
            let (error, radius) = ((x.value() - exact).abs(), bound.radius_about(exact));
            if radius == f64::INFINITY {
                observed.unbounded += 1;
                continue;
            }
            assert!(
                error <= radius,
                "{name}[{i}], {place}: {:e} is {error:e} from {exact:e}, bound {radius:e}",
                x.value()
            );
            if radius > 0.0 {
                observed.ratios.push(error / radius);
                observed.relative.push(radius / largest);
            }
        }
    }
}

fn conventions() -> [(&'static str, Convention); 5] {
    let (inria, gsplat) = (Convention::inria(), Convention::gsplat());
    let stop_rule = StopRule::LessAfterBlending;
    let late = Convention { stop_rule, transmittance_min: 0.5, ..inria };
    [
        ("inria", inria),
        ("inria with epsilons", Convention { inverse_eps: 1e-7, w_eps: 1e-7, ..inria }),
        ("gsplat", gsplat),
        ("gsplat antialiased", Convention { antialiased: true, ..gsplat }),
        ("inria, stops early and after blending", late),
    ]
}

#[expect(clippy::cast_possible_truncation, reason = "the numbers were f32 before")]
fn scenes() -> Vec<(String, Scene<f32>)> {
    let mut all = Vec::new();
    for (layout, cameras, seed) in
        [(Layout::Degree(3), 1, 1), (Layout::Direct(2), 3, 2), (Layout::Degree(1), 2, 3)]
    {
        let name = format!("{layout:?}, {cameras} cameras");
        all.push((name, scene(layout, cameras, seed).map(|x| x as f32)));
    }
    all.push(("frustum".to_owned(), frustum(120, 40, 32, 7)));
    all
}

fn bounds_of<M: Compiled>(scene: &Scene<f32>, convention: &Convention) -> PipelineBounds<M> {
    let scene = scene.map(Bounded::from_f32);
    pipeline::<M>(&scene, convention, EvaluationOrders::WRITTEN).expect("few pairs")
}

fn check<M: Compiled>(
    scene: &Scene<f32>,
    convention: &Convention,
    place: &str,
    report: &mut Report,
) -> Undecided {
    let bounds = bounds_of::<M>(scene, convention);
    let oracle = render_backward(&scene.map(f64::from), convention).expect("few pairs");
    let plain = render_backward::<f32>(scene, convention).expect("few pairs");
    contain(&plain, &oracle, &bounds, &format!("{place}, f32"), report);
    for (seed, luck) in (0..).zip([Luck::Uniform, Luck::Ends, Luck::Up, Luck::Down]) {
        perturb(seed, luck);
        let lifted = scene.map(Perturbed::<M>::from_f32);
        let run = render_backward(&lifted, convention).expect("few pairs");
        contain(&run, &oracle, &bounds, &format!("{place}, {luck:?}"), report);
    }
    bounds.undecided
}

/// Work on one thread: the draws of perturbed arithmetic belong to a thread.
fn on_one_thread(work: impl FnOnce() + Send) {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool").install(work);
}

fn containment<M: Compiled>() {
    on_one_thread(|| {
        let mut report = Report::new();
        for (name, scene) in scenes() {
            for (rules, convention) in conventions() {
                let place = format!("{} {rules}, {name}", M::TABLE.name);
                let undecided = check::<M>(&scene, &convention, &place, &mut report);
                println!("{place}: {:?}", undecided.named().map(|(_, count)| count));
            }
        }
        for (name, Observed { mut ratios, mut relative, unbounded }) in report {
            ratios.sort_by(f64::total_cmp);
            relative.sort_by(f64::total_cmp);
            let at = |all: &[f64], share: usize| all[(all.len() - 1) * share / 100];
            println!(
                "{:26} {name:14} {:7} elements, error/bound median {:.1e} 99 % {:.1e} max {:.2}; \
                 bound/largest median {:.1e} 99 % {:.1e}; {unbounded} without bound",
                M::TABLE.name,
                ratios.len(),
                at(&ratios, 50),
                at(&ratios, 99),
                at(&ratios, 100),
                at(&relative, 50),
                at(&relative, 99),
            );
            assert_eq!(unbounded, 0, "{name}: typical scenes have finite bounds");
            assert!(at(&relative, 50) < 1.0, "{name}: most bounds say nothing");
        }
    });
}

/// The Gaussians of a scene moved along the axis of its turned camera to nearly the same depth: what
/// roundings make of it decides their order, and on the near plane which of them are there.
fn wall(depth: f64, seed: u64) -> Scene<f32> {
    let mut wall = scene(Layout::Direct(2), 3, seed);
    wall.cameras.drain(..2);
    let pixels = wall.pixels();
    wall.backgrounds.drain(..4);
    wall.v_render_colors.drain(..4 * pixels);
    wall.v_render_alphas.drain(..2 * pixels);
    let [r0, r1, r2, _] = wall.cameras[0].viewmat;
    for (i, mean) in wall.gaussians.means.iter_mut().enumerate() {
        // All stay in view, some overlap, and what was far becomes as much smaller as it comes near.
        // No two share a place: perturbed arithmetic draws each depth by itself, but a program, which
        // is a function of bits, gives the same place the same depth, and the bounds count on that.
        let closer = 0.3 + i as f64 / 256.0;
        let [x, y] = [closer * mean[0] / mean[2], closer * mean[1] / mean[2]];
        let p = [x * depth - r0[3], y * depth - r1[3], depth - r2[3]];
        *mean = [0, 1, 2].map(|i| r0[i] * p[0] + r1[i] * p[1] + r2[i] * p[2]);
    }
    wall.gaussians.scales.iter_mut().flatten().for_each(|s| *s = s.min(0.4) * 0.4 * depth);
    #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the purpose")]
    wall.map(|x| x as f32)
}

#[test]
fn walls_stay_within_bounds() {
    fn check_walls<M: Compiled>() {
        let mut report = Report::new();
        let mut total = Undecided::default();
        for (depth, seed) in [(2.0, 11), (0.2, 12), (2.0, 13), (0.2, 14)] {
            for (rules, convention) in conventions() {
                let place = format!("{} {rules}, wall at {depth}", M::TABLE.name);
                let undecided = check::<M>(&wall(depth, seed), &convention, &place, &mut report);
                total.order += undecided.order;
                total.culling += undecided.culling;
                println!("{place}: {:?}", undecided.named().map(|(_, count)| count));
            }
        }
        assert!(total.order > 1000 && total.culling > 10, "{total:?}");
    }
    on_one_thread(|| {
        check_walls::<Ieee>();
        check_walls::<Wgsl>();
    });
}

#[test]
fn ieee_pipelines_stay_within_bounds() {
    containment::<Ieee>();
}

#[test]
fn wgsl_pipelines_stay_within_bounds() {
    containment::<Wgsl>();
}

#[test]
fn wgsl_pipelines_with_exp_zero_stay_within_bounds() {
    containment::<WgslExpZero>();
}
