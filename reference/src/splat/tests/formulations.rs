//! Every formulation is the same gradient: in f64 they agree to the roundings of f64, and random legal
//! f32 evaluations of each lie inside its own bounds.

use super::containment::{Case, Lifted, Ratios, check_backward, conclude, rows};
use super::roundoff::FROM_F32;
use super::scenes::{Layout, scene};
use crate::arithmetic::{
    Bounded, Cuda, CudaFast, Ieee, Luck, Model, Perturbed, Scalar, Wgsl, WgslExpZero, perturb,
};
use crate::splat::backward::rasterize::{SplatGradients, rasterize_as};
use crate::splat::bounds::{self, Compiled, GradientBounds};
use crate::splat::convention::Convention;
use crate::splat::formulated::{BackwardView, CheckpointArrays, checkpoints, one_minus_alpha};
use crate::splat::formulation::{FinalT, Formulation, WalkOrder};
use crate::splat::rasterize::rasterize;
use crate::splat::render::project_scene;
use crate::splat::scene::Scene;
use crate::splat::synthetic::{Random, frustum};
use crate::splat::view::LossView;

type B = Bounded<Ieee>;

/// Every formulation; those that walk from the front with checkpoints as well.
pub(super) fn with_and_without_checkpoints() -> impl Iterator<Item = (Formulation, bool)> {
    Formulation::all().flat_map(|formulation| {
        let also = formulation.walk() == WalkOrder::Front;
        [false, true].into_iter().take(1 + usize::from(also)).map(move |noted| (formulation, noted))
    })
}

/// The gradients of a scene's first camera in f64, `[N, 6 + D]`.
fn in_f64(
    scene: &Scene<f64>,
    convention: &Convention,
    (formulation, noted): (Formulation, bool),
) -> Vec<f64> {
    let projected = project_scene(scene, 0, convention).expect("few pairs");
    let view = projected.view(scene, 0, convention);
    let raster = rasterize::<f64>(&view);
    let transmittance: Vec<f64> = match formulation.final_t() {
        FinalT::Stored | FinalT::Recomputed => raster.transmittance.clone(),
        FinalT::OneMinusAlpha => raster.render_alphas.iter().map(|alpha| 1.0 - alpha).collect(),
    };
    let slices = scene.camera_slices(0);
    let loss = LossView { transmittance: &transmittance, ..slices.loss(&raster) };
    let noted = noted.then(|| checkpoints::<f64>(&view, 4));
    let noted = noted.as_ref().map(CheckpointArrays::view);
    let image = Some(&raster.render_colors[..]);
    let inputs = BackwardView::new(formulation, loss, image, noted).expect("all inputs");
    rows(&rasterize_as(&view, &inputs))
}

/// How far each of them may lie from the exact gradient by the roundings of f64, those of the walk
/// forward included.
fn radii(scene: &Scene<f64>, convention: &Convention, formulation: Formulation) -> Vec<f64> {
    let scene = scene.map(B::from_f64);
    let projected = project_scene(&scene, 0, convention).expect("few pairs");
    let view = projected.view(&scene, 0, convention);
    let image = bounds::forward(&view);
    let one = B::from_f64(1.0);
    let transmittance: Vec<B> = match formulation.final_t() {
        FinalT::Stored | FinalT::Recomputed => image.transmittance.clone(),
        FinalT::OneMinusAlpha => image.render_alphas.iter().map(|&alpha| one - alpha).collect(),
    };
    let slices = scene.camera_slices(0);
    let loss = LossView {
        transmittance: &transmittance,
        last_ids: &image.last_ids,
        v_render_colors: slices.v_render_colors,
        v_render_alphas: slices.v_render_alphas,
    };
    let colors = Some(&image.render_colors[..]);
    let inputs = BackwardView::new(formulation, loss, colors, None).expect("all inputs");
    let bounds = bounds::backward_as(&view, &inputs);
    let terms = |i: usize| bounds.terms(i / bounds.stride);
    let radius = |(i, element): (usize, &crate::arithmetic::ElementBound)| {
        element.tolerance(terms(i), terms(i), &Ieee::TABLE) * FROM_F32
    };
    bounds.elements.iter().enumerate().map(radius).collect()
}

/// One value: a formulation with another value would not be one.
#[test]
fn all_formulations_agree_in_f64_to_its_roundings() {
    let gsplat = Convention::gsplat();
    for convention in [Convention::inria(), gsplat, Convention { alpha_max: 0.999, ..gsplat }] {
        for (layout, seed) in
            [(Layout::Direct(3), 41), (Layout::Direct(2), 42), (Layout::Degree(2), 43)]
        {
            let scene = scene(layout, 1, seed);
            let standard = in_f64(&scene, &convention, (Formulation::STANDARD, false));
            let standard_radii = radii(&scene, &convention, Formulation::STANDARD);
            let largest = standard.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            for (formulation, noted) in with_and_without_checkpoints() {
                let other = in_f64(&scene, &convention, (formulation, noted));
                let radii = radii(&scene, &convention, formulation);
                let widest = radii.iter().fold(0.0f64, |m, &x| m.max(x));
                assert!(
                    widest < 1e-5 * largest,
                    "{formulation}: {widest:e} in {largest:e} is blunt"
                );
                for (i, (got, wanted)) in other.iter().zip(&standard).enumerate() {
                    let (error, tolerance) = ((got - wanted).abs(), radii[i] + standard_radii[i]);
                    assert!(
                        error <= tolerance,
                        "{formulation}, checkpoints {noted}: element {i} is {got:e}, not {wanted:e} +- {tolerance:e}"
                    );
                }
            }
        }
    }
}

/// Value and bounds of the standard formulation have the bits of the functions that name none.
#[test]
fn the_standard_formulation_is_the_stage_without_one() {
    let scene = frustum(300, 50, 40, 9);
    for convention in [Convention::inria(), Convention::gsplat()] {
        let case = Case::new(convention, 9);
        let lifted = case.over::<Bounded<Wgsl>>();
        let plain = bounds::backward(&lifted.view(), &lifted.loss());
        let inputs = BackwardView::new(Formulation::STANDARD, lifted.loss(), None, None);
        let named = bounds::backward_as(&lifted.view(), &inputs.expect("nothing else is read"));
        assert_eq!(plain.elements, named.elements, "the bounds change with the name");
        let scene = scene.map(f64::from);
        let projected = project_scene(&scene, 0, &convention).expect("few pairs");
        let view = projected.view(&scene, 0, &convention);
        let raster = rasterize::<f64>(&view);
        let loss = scene.camera_slices(0).loss(&raster);
        let plain = crate::splat::backward::rasterize::rasterize(&view, &loss);
        let named = rasterize_as(&view, &BackwardView::standard(loss));
        assert_eq!(plain, named, "the value changes with the name");
    }
}

/// A formulation's inputs over one scalar.
pub(super) struct Inputs<S> {
    image: Vec<S>,
    noted: Option<CheckpointArrays<S>>,
}

impl<S: Scalar> Inputs<S> {
    pub(super) fn new(case: &Case, noted: bool) -> Self {
        let noted = noted.then(|| checkpoints::<f32>(&case.over::<f32>().view(), 32));
        Self {
            image: case.raster.render_colors.iter().map(|&x| S::from_f32(x)).collect(),
            noted: noted.map(|noted| noted.map(S::from_f32)),
        }
    }

    fn of<'a>(
        &'a self,
        formulation: Formulation,
        lifted: &'a Lifted<'_, S>,
    ) -> BackwardView<'a, S> {
        let noted = self.noted.as_ref().map(CheckpointArrays::view);
        BackwardView::new(formulation, lifted.loss(), Some(&self.image), noted).expect("all inputs")
    }
}

impl<M: Compiled> Inputs<Perturbed<M>> {
    /// The backward stage as a device may compute it, from the inputs that its formulation reads.
    pub(super) fn differentiate(
        &self,
        case: &Case,
        formulation: Formulation,
        lifted: &Lifted<'_, Perturbed<M>>,
    ) -> SplatGradients<Perturbed<M>> {
        if formulation.final_t() != FinalT::OneMinusAlpha {
            return rasterize_as(&lifted.view(), &self.of(formulation, lifted));
        }
        let one = Perturbed::from_f32(1.0);
        let alphas = case.raster.render_alphas.iter();
        let t: Vec<_> = alphas.map(|&alpha| one - Perturbed::from_f32(alpha)).collect();
        let noted = self.noted.as_ref().map(CheckpointArrays::view);
        let loss = LossView { transmittance: &t, ..lifted.loss() };
        let inputs = BackwardView::new(formulation, loss, Some(&self.image), noted);
        rasterize_as(&lifted.view(), &inputs.expect("all inputs"))
    }
}

pub(super) fn bounds_of<M: Compiled>(
    case: &Case,
    formulation: Formulation,
    noted: bool,
) -> GradientBounds {
    let mut lifted = case.over::<Bounded<M>>();
    if formulation.final_t() == FinalT::OneMinusAlpha {
        let alphas = case.raster.render_alphas.iter();
        lifted.transmittance = alphas.map(|&alpha| one_minus_alpha(alpha)).collect();
    }
    let inputs = Inputs::new(case, noted);
    bounds::backward_as(&lifted.view(), &inputs.of(formulation, &lifted))
}

/// One model: every formulation, conventions and luck in turn; prints how much of the bounds is used.
fn containment<M: Compiled>() {
    const LUCK: [Luck; 4] = [Luck::Uniform, Luck::Ends, Luck::Up, Luck::Down];
    let mut ratios = Ratios::new();
    // The draws belong to a thread, so all work stays on one.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    pool.install(|| {
        let cases = [Convention::inria(), Convention::gsplat()].map(|c| Case::new(c, 3));
        for (turn, (formulation, noted)) in with_and_without_checkpoints().enumerate() {
            let case = &cases[(turn / 2) % 2];
            let bounds = bounds_of::<M>(case, formulation, noted);
            assert!(bounds.undecided > 2 * 4, "{}: no path was merged", bounds.undecided);
            let inputs = Inputs::new(case, noted);
            let (luck, name) = (LUCK[(turn + turn / 4) % 4], M::TABLE.name);
            let place = format!("{formulation}, checkpoints {noted}, {name}, {luck:?}");
            let mut random = Random(turn as u64);
            perturb(random.bits(), luck);
            check_backward::<M>(case, &bounds, &place, &mut random, &mut ratios, &|lifted| {
                inputs.differentiate(case, formulation, lifted)
            });
        }
    });
    conclude::<M>(ratios);
}

#[test]
fn perturbed_ieee_formulations_stay_within_their_bounds() {
    containment::<Ieee>();
}

#[test]
fn perturbed_wgsl_formulations_stay_within_their_bounds() {
    containment::<Wgsl>();
}

#[test]
fn perturbed_wgsl_formulations_with_exp_zero_stay_within_their_bounds() {
    containment::<WgslExpZero>();
}

#[test]
fn perturbed_cuda_formulations_stay_within_their_bounds() {
    containment::<Cuda>();
}

#[test]
fn perturbed_fast_cuda_formulations_stay_within_their_bounds() {
    containment::<CudaFast>();
}
