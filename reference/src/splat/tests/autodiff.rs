//! The projection's gradients by automatic differentiation lie inside the oracle's bounds with the
//! standard derivations: programs in f32, in f64 and in f32 with random legal perturbations, of random
//! scenes in which much is 0, equal or in line, so that terms cancel over the reals.
//!
//! `SPLATCHECK_AUTODIFF_CASES` says how many cases; without it a few thousand.

mod cases;
mod program;
mod tape;

use self::cases::{Case, draw};
use self::program::{Covariance, Inverse, OneCamera, Program, Quaternion, Screen};
use self::tape::Library;
use crate::arithmetic::{
    Bounded, CudaFast, EvaluationOrders, Ieee, Luck, Perturbed, Scalar, Tristate, Wgsl, perturb,
};
use crate::splat::backward::project::ProjectionGradients;
use crate::splat::backward::rasterize::SplatGradients;
use crate::splat::bounds::{self, Compiled, ProjectionGradientBounds};
use crate::splat::camera::Camera;
use crate::splat::convention::Convention;
use crate::splat::project::CameraParams;
use crate::splat::scene::{Colors, Gaussians};
use crate::splat::synthetic::Random;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Cases without `SPLATCHECK_AUTODIFF_CASES`.
const FEW: u64 = 4000;

/// The outputs that sums over cameras go into, with the numbers of each.
const OUTPUTS: [(&str, usize); 4] =
    [("v_means", 3), ("v_quats", 4), ("v_scales", 3), ("v_opacities", 1)];

fn one_of<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[usize::try_from(random.bits() % all.len() as u64).expect("small")]
}

fn program(random: &mut Random) -> Program {
    Program {
        inverse: one_of(random, &[Inverse::Quotients, Inverse::Adjugate, Inverse::Matrix]),
        quaternion: one_of(
            random,
            &[Quaternion::Normalized, Quaternion::Raw, Quaternion::Homogeneous],
        ),
        covariance: one_of(
            random,
            &[Covariance::Root, Covariance::World, Covariance::Squares, Covariance::Camera],
        ),
        screen: one_of(random, &[Screen::Slopes, Screen::Reciprocals, Screen::Device]),
        sloan: one_of(random, &[false, true]),
        library: one_of(random, &[Library::Torch, Library::Jax]),
    }
}

impl Case {
    fn gaussians<S: Scalar>(&self) -> Gaussians<S> {
        self.gaussians.map(S::from_f32)
    }

    /// A host program computes limits and principal points in f32.
    fn lenses<S: Scalar>(&self, spellings: EvaluationOrders) -> Vec<CameraParams<S>> {
        let lens = |camera| CameraParams::<f32>::new(camera, self.size, &self.convention);
        let lens = |camera| CameraParams { spellings, ..lens(camera) }.map(S::from_f32);
        self.cameras.iter().map(lens).collect()
    }

    fn bounds<M: Compiled>(&self, spellings: EvaluationOrders) -> ProjectionGradientBounds {
        let v: Vec<_> = self.v.iter().map(|v| v.map(Bounded::<M>::from_f32)).collect();
        let lenses = self.lenses(spellings);
        bounds::project_backward(&self.gaussians(), &lenses, &v, &self.convention)
    }

    fn differentiated<S: Scalar>(&self, program: Program) -> Vec<ProjectionGradients<S>> {
        let gaussians = self.gaussians();
        let of = |(lens, v): (&CameraParams<S>, &SplatGradients<f32>)| {
            let (size, v, convention) = (self.size, &v.map(S::from_f32), &self.convention);
            program.differentiate(OneCamera { gaussians: &gaussians, lens, size, v, convention })
        };
        self.lenses(EvaluationOrders::WRITTEN).iter().zip(&self.v).map(of).collect()
    }
}

/// What was seen of one output.
#[derive(Clone, Debug, Default)]
struct Seen {
    elements: u64,
    /// Elements that the oracle has as 0 and the program not.
    noise: u64,
    unbounded: u64,
    outside: u64,
    worst: f64,
    /// Of each finite bound that is not 0: error over bound, as a power of two.
    ratios: BTreeMap<i32, u64>,
    /// The first that was outside.
    first: Option<String>,
}

type Report = BTreeMap<&'static str, Seen>;

fn merged(mut all: Report, more: Report) -> Report {
    for (name, seen) in more {
        let sum = all.entry(name).or_default();
        sum.elements += seen.elements;
        sum.noise += seen.noise;
        sum.unbounded += seen.unbounded;
        sum.outside += seen.outside;
        sum.worst = sum.worst.max(seen.worst);
        seen.ratios.into_iter().for_each(|(power, n)| *sum.ratios.entry(power).or_default() += n);
        sum.first = sum.first.take().or(seen.first);
    }
    all
}

impl Seen {
    fn add(&mut self, value: f64, oracle: f64, bound: f64, place: &dyn Fn() -> String) {
        let error = (value - oracle).abs();
        self.elements += 1;
        self.noise += u64::from(oracle == 0.0 && value != 0.0);
        if bound == f64::INFINITY {
            self.unbounded += 1;
        } else if error <= bound {
            if bound > 0.0 {
                self.worst = self.worst.max(error / bound);
                #[expect(clippy::cast_possible_truncation, reason = "a power of two")]
                let power = if error > 0.0 { (error / bound).log2().floor() as i32 } else { -99 };
                *self.ratios.entry(power).or_default() += 1;
            }
        } else {
            self.outside += 1;
            let text = || format!("{}: {value:e}, oracle {oracle:e}, bound {bound:e}", place());
            self.first.get_or_insert_with(text);
        }
    }

    fn median(&self) -> i32 {
        let half = self.ratios.values().sum::<u64>() / 2;
        let mut below = 0;
        let powers = self.ratios.iter().find(|&(_, n)| {
            below += n;
            below > half
        });
        powers.map_or(-99, |(power, _)| *power)
    }
}

/// Compares a program's sums over cameras, and what each camera gets.
fn compare<M: Compiled, S: Scalar>(
    sums: &ProjectionGradientBounds,
    found: &[ProjectionGradients<S>],
    place: &dyn Fn(String) -> String,
    report: &mut Report,
) {
    let n = found[0].v_means.len();
    for g in 0..n {
        let numbers = |one: &ProjectionGradients<S>| {
            let stride = one.v_colors.len() / n;
            let color = &one.v_colors[g * stride..(g + 1) * stride];
            [&one.v_means[g][..], &one.v_quats[g], &one.v_scales[g], &[one.v_opacities[g]], color]
                .concat()
        };
        let mut sum = numbers(&found[0]);
        for one in &found[1..] {
            sum.iter_mut().zip(numbers(one)).for_each(|(sum, x)| *sum = *sum + x);
        }
        let names = OUTPUTS.iter().flat_map(|&(name, numbers)| (0..numbers).map(move |_| name));
        let names = names.chain(std::iter::repeat("v_colors"));
        let elements = &sums.elements[g * sums.stride..(g + 1) * sums.stride];
        let terms = sums.cameras_of(g);
        for (k, ((x, element), name)) in sum.iter().zip(elements).zip(names).enumerate() {
            let tolerance = element.tolerance(terms.saturating_sub(1), terms, &M::TABLE);
            let bound = if sums.is_open(g) { f64::INFINITY } else { tolerance };
            let place = || place(format!("Gaussian {g}, number {k}"));
            report.entry(name).or_default().add(x.value(), element.value, bound, &place);
        }
    }
    for (camera, one) in found.iter().enumerate() {
        let seen = &sums.seen[camera * n..(camera + 1) * n];
        let open = seen.contains(&Tristate::Undecided);
        let terms = seen.iter().filter(|&&s| s != Tristate::Never).count() as u64;
        let elements = &sums.viewmats[12 * camera..12 * (camera + 1)];
        for (k, (x, element)) in one.v_viewmat.as_flattened().iter().zip(elements).enumerate() {
            let tolerance = element.tolerance(terms.saturating_sub(1), terms, &M::TABLE);
            let bound = if open { f64::INFINITY } else { tolerance };
            let place = || place(format!("camera {camera}, number {k}"));
            report.entry("v_viewmats").or_default().add(x.value(), element.value, bound, &place);
        }
    }
}

fn cases() -> u64 {
    let asked = std::env::var("SPLATCHECK_AUTODIFF_CASES").ok();
    asked.map_or(FEW, |count| count.parse().expect("a number of cases"))
}

/// All cases through programs over `S`, judged by the model's bounds with these spellings.
fn run<M: Compiled, S: Scalar>(
    seed: u64,
    count: u64,
    spellings: EvaluationOrders,
    start: impl Fn(u64) + Sync,
) -> Report {
    let one = |index: u64| {
        let mut random = Random(seed ^ index.wrapping_mul(Random::STEP));
        let (case, program) = (draw(&mut random), program(&mut random));
        start(index);
        let found = case.differentiated::<S>(program);
        let mut report = Report::new();
        let bounds = case.bounds::<M>(spellings);
        let place = |which: String| format!("{which} of {program:?} on {case:?}");
        compare::<M, S>(&bounds, &found, &place, &mut report);
        report
    };
    (0..count).into_par_iter().map(one).reduce(Report::new, merged)
}

fn tell(name: &str, count: u64, report: &Report) {
    for (output, seen) in report {
        println!(
            "{name:12} {count} cases, {output:11}: {:9} elements, {:8} noise about 0, {} without \
             bound, {} outside, worst {:.3}, median 2^{}",
            seen.elements,
            seen.noise,
            seen.unbounded,
            seen.outside,
            seen.worst,
            seen.median()
        );
    }
}

/// None outside, and among them elements of which the oracle has 0 and the program has not.
fn conclude(name: &str, count: u64, report: &Report) {
    tell(name, count, report);
    let mut noise = 0;
    for (output, seen) in report {
        assert!(
            seen.outside == 0,
            "{name}, {output}: {} of {} elements are outside, the first: {}",
            seen.outside,
            seen.elements,
            seen.first.as_deref().unwrap_or_default()
        );
        assert!(10 * seen.unbounded < seen.elements, "{name}, {output}: most have no bound");
        noise += seen.noise;
    }
    assert!(noise > count / 100, "{name}: {noise} elements are noise about 0: too few");
}

#[test]
fn programs_in_f32_lie_within_the_bounds() {
    let count = cases();
    let report = run::<Ieee, f32>(1, count, EvaluationOrders::STANDARD, |_| {});
    conclude("f32", count, &report);
}

#[test]
fn programs_in_f64_lie_within_the_bounds_for_f32() {
    let count = cases();
    let report = run::<Ieee, f64>(2, count, EvaluationOrders::STANDARD, |_| {});
    conclude("f64", count, &report);
}

/// The draws of perturbed arithmetic belong to a thread, which starts anew with each case.
fn perturbed<M: Compiled>(seed: u64) {
    let luck = [Luck::Uniform, Luck::Ends, Luck::Up, Luck::Down];
    let start = |index: u64| perturb(index, luck[(index % 4) as usize]);
    let count = cases() / 2;
    let report = run::<M, Perturbed<M>>(seed, count, EvaluationOrders::STANDARD, start);
    conclude(M::TABLE.name, count, &report);
}

#[test]
fn perturbed_programs_lie_within_the_bounds_of_wgsl() {
    perturbed::<Wgsl>(3);
}

#[test]
fn perturbed_programs_lie_within_the_bounds_of_fast_cuda() {
    perturbed::<CudaFast>(4);
}

/// The bounds of the oracle's own expressions do not hold these programs: so the tests above can fail.
#[test]
fn the_bounds_of_one_expression_do_not_hold_programs_of_others() {
    let report = run::<Ieee, f32>(1, FEW, EvaluationOrders::WRITTEN, |_| {});
    tell("written", FEW, &report);
    for output in ["v_scales", "v_quats", "v_means"] {
        assert!(report[output].outside > 0, "{output}: nothing is outside");
    }
}

/// An image one pixel wide with Gaussians in its middle: the gradient by the conic's last number alone is
/// not 0. Over the reals nothing of it reaches the scale across, and the oracle's expression has exactly
/// nothing; the quotient rule's two terms leave their roundings.
#[test]
fn an_image_one_pixel_wide_leaves_roundings_across() {
    let scales = [0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6];
    let case = Case {
        gaussians: Gaussians {
            means: scales.map(|s| [0.0, 0.3 * s, 2.0]).to_vec(),
            quats: vec![[1.0, 0.0, 0.0, 0.0]; 8],
            scales: scales.map(|s| [s, 0.7, 0.2]).to_vec(),
            opacities: vec![0.5; 8],
            colors: Colors::Direct { channels: 1, values: vec![1.0; 8] },
        },
        cameras: vec![Camera {
            viewmat: [
                [1.0, 0.0, 0.0, 0.0],
                [0.0, 1.0, 0.0, 0.0],
                [0.0, 0.0, 1.0, 0.0],
                [0.0, 0.0, 0.0, 1.0],
            ],
            fx: 16.0,
            fy: 16.0,
            cx: 0.5,
            cy: 8.0,
        }],
        size: [1, 16],
        v: vec![SplatGradients {
            v_means2d: vec![[0.0; 2]; 8],
            v_conics: vec![[0.0, 0.0, 0.37]; 8],
            v_opacities: vec![0.0; 8],
            v_colors: vec![0.0; 8],
            v_background: Vec::new(),
        }],
        convention: Convention::gsplat().rounded_to_f32(),
    };
    let (written, standard) = (
        case.bounds::<Ieee>(EvaluationOrders::WRITTEN),
        case.bounds::<Ieee>(EvaluationOrders::STANDARD),
    );
    let mut noise = 0;
    for inverse in [Inverse::Quotients, Inverse::Adjugate] {
        let program = Program {
            inverse,
            quaternion: Quaternion::Normalized,
            covariance: Covariance::Root,
            screen: Screen::Slopes,
            sloan: false,
            library: Library::Torch,
        };
        let found = case.differentiated::<f32>(program);
        for (g, v_scale) in found[0].v_scales.iter().enumerate() {
            let at = g * written.stride + 7;
            assert_eq!((written.elements[at].value, written.elements[at].radius), (0.0, 0.0));
            let (error, bound) = (f64::from(v_scale[0].abs()), standard.elements[at].radius);
            assert!(error <= bound, "{inverse:?}, {g}: {error:e} > {bound:e}");
            // A right bound is no wider than a few roundings of the terms that cancel.
            let other = f64::from(v_scale[1].abs());
            assert!(bound < 1e-4 * other, "{inverse:?}, {g}: {bound:e} of {other:e} is too wide");
            noise += usize::from(error > 0.0);
        }
    }
    assert!(noise > 0, "no program leaves roundings");
}
