//! The bounds hold: f32 evaluations with random legal perturbations of every operation, in every
//! arithmetic model, lie inside the radius that [`Bounded`] gives.
//!
//! A kernel may also add up a gradient's terms in any order. Each run therefore deals the pixels to
//! a random number of parts, differentiates each part by itself, and adds the parts up in a random
//! order; the terms' sum may be off by gamma(terms) times the sum of their magnitudes.

use crate::arithmetic::{
    Bounded, Cuda, CudaFast, Ieee, Luck, Perturbed, Scalar, Wgsl, WgslExpZero, exp, perturb,
};
use crate::splat::backward::rasterize::{SplatGradients, rasterize as rasterize_backward};
use crate::splat::bounds::{self, Compiled, GradientBounds, RasterBounds};
use crate::splat::convention::{ClampGradient, Convention, StopRule};
use crate::splat::rasterize::{Raster, rasterize};
use crate::splat::render::project_scene;
use crate::splat::scene::Scene;
use crate::splat::synthetic::{Random, frustum};
use crate::splat::view::{LossView, RasterView, Splats, TileLists};
use std::collections::BTreeMap;

/// Observed error over bound, by output.
pub(crate) type Ratios = BTreeMap<&'static str, Observed>;

/// What was seen of one output.
#[derive(Default)]
pub(crate) struct Observed {
    /// Error over bound where the bound is finite; 0 where both are 0.
    pub(super) ratios: Vec<f64>,
    /// Elements of which nothing is known.
    pub(super) unbounded: usize,
}

/// Inputs of the rasterization stages in f32, the same for every scalar.
pub(super) struct Case {
    convention: Convention,
    scene: Scene<f32>,
    splats: Splats<f32>,
    lists: TileLists,
    pub(super) raster: Raster<f32>,
}

/// A stage's inputs over another scalar, as owned buffers.
pub(super) struct Lifted<'a, S> {
    case: &'a Case,
    splats: Splats<S>,
    scene: Scene<S>,
    pub(super) transmittance: Vec<S>,
}

impl<S: Scalar> Lifted<'_, S> {
    pub(super) fn view(&self) -> RasterView<'_, S> {
        RasterView {
            width: self.scene.width,
            height: self.scene.height,
            convention: &self.case.convention,
            splats: &self.splats,
            lists: &self.case.lists,
            background: &self.scene.backgrounds,
        }
    }

    pub(super) fn loss(&self) -> LossView<'_, S> {
        LossView {
            transmittance: &self.transmittance,
            last_ids: &self.case.raster.last_ids,
            v_render_colors: &self.scene.v_render_colors,
            v_render_alphas: &self.scene.v_render_alphas,
        }
    }
}

impl Case {
    pub(super) fn new(convention: Convention, seed: u64) -> Self {
        let convention = convention.rounded_to_f32();
        let mut scene = frustum(160, 50, 40, seed);
        let projected = project_scene(&scene, 0, &convention).expect("few pairs");
        let mut case = Self {
            raster: rasterize::<f32>(&projected.view(&scene, 0, &convention)),
            splats: projected.splats,
            lists: projected.lists,
            convention,
            scene: scene.clone(),
        };
        edges(&mut case.splats, &convention);
        crowd(&mut case, 5, 0);
        crowd(&mut case, 6, 2);
        // Subnormal gradients, of which a flushing device loses everything.
        scene.v_render_colors.iter_mut().step_by(7).for_each(|v| *v *= 1e-38);
        case.scene = scene;
        let raster = rasterize::<f32>(&case.over::<f32>().view());
        Self { raster, ..case }
    }

    pub(super) fn over<S: Scalar>(&self) -> Lifted<'_, S> {
        Lifted {
            case: self,
            splats: self.splats.map(S::from_f32),
            scene: self.scene.map(S::from_f32),
            transmittance: self.raster.transmittance.iter().map(|&t| S::from_f32(t)).collect(),
        }
    }
}

/// Puts Gaussians at the edges of decisions and of the number format.
#[expect(clippy::cast_possible_truncation, reason = "the constants are rounded to f32 already")]
fn edges(splats: &mut Splats<f32>, convention: &Convention) {
    let center = convention.pixel_center as f32;
    let (least, most) = (convention.alpha_min as f32, convention.alpha_max as f32);
    let on_the_edge =
        [least, least.next_up(), least.next_down(), most, most.next_up(), most.next_down(), most];
    for id in 0..splats.means2d.len() {
        match id % 10 {
            // Power 0 at one pixel: alpha is the opacity exactly.
            0 => {
                splats.means2d[id] = splats.means2d[id].map(|x| (x - center).round() + center);
                splats.opacities[id] = on_the_edge[id / 10 % on_the_edge.len()];
            }
            1 => splats.colors[3 * id..3 * id + 3].copy_from_slice(&[1e-40, -3e-39, 1e-45]),
            2 => splats.conics[id][1] = 1e-41,
            // Long and thin, nearly degenerate.
            3 => splats.conics[id] = [30.0, 0.5, 0.0084],
            4 => splats.opacities[id] = 1e-39,
            5 => splats.opacities[id] = 1.0,
            _ => {}
        }
    }
}

/// Puts the front of a tile's list at one of its pixels, with an alpha there that lies at the edge
/// of being skipped, and then `opaque` ones, two of which bring the transmittance to the edge of
/// stopping: more undecided comparisons at one pixel than paths are kept apart.
#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the purpose")]
fn crowd(case: &mut Case, tile: usize, opaque: usize) {
    const AT_THE_EDGE: usize = 9;
    let ids = &case.lists.flatten_ids[case.lists.range(tile)];
    assert!(ids.len() > AT_THE_EDGE + 4, "tile {tile} lists too few Gaussians");
    let across = case.lists.tiles[0] as usize;
    let pixel = [tile % across, tile / across].map(|i| (16 * i + 4) as f64);
    for (i, &id) in ids[..AT_THE_EDGE + opaque].iter().enumerate() {
        let id = id as usize;
        let offset = 1.0 / 64.0 + i as f64 / 1024.0;
        let x = case.convention.pixel_center + offset;
        case.splats.means2d[id] = pixel.map(|p| (p + x) as f32);
        case.splats.conics[id] = [0.125, 0.03125, 0.25];
        let sigma = (0.5 * (0.125 + 0.25) + 0.03125) * offset * offset;
        let edge = if i < AT_THE_EDGE { case.convention.alpha_min } else { 0.99 };
        case.splats.opacities[id] = (edge * exp(sigma)) as f32;
    }
}

/// n u/(1 - n u)
fn gamma<M: Compiled>(terms: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 terms")]
    let nu = terms as f64 * Bounded::<M>::UNIT;
    nu / (1.0 - nu)
}

/// Asserts that an error stays within its bound, and keeps their ratio.
pub(crate) fn contain(
    ratios: &mut Ratios,
    output: &'static str,
    error: f64,
    bound: f64,
    place: &str,
) {
    let observed = ratios.entry(output).or_default();
    if bound == f64::INFINITY {
        observed.unbounded += 1;
        return;
    }
    assert!(error <= bound, "{output} {place}: error {error:e} escapes the bound {bound:e}");
    observed.ratios.push(if error > 0.0 { error / bound } else { 0.0 });
}

/// Asserts that an evaluation's image lies within the bounds.
pub(super) fn check_forward<S: Scalar, M: Compiled>(
    raster: &Raster<S>,
    bounds: &RasterBounds<M>,
    place: &str,
    ratios: &mut Ratios,
) {
    let outputs = [
        ("render_colors", &raster.render_colors, &bounds.render_colors),
        ("render_alphas", &raster.render_alphas, &bounds.render_alphas),
        ("transmittance", &raster.transmittance, &bounds.transmittance),
    ];
    for (output, values, bounds) in outputs {
        for (i, (value, bound)) in values.iter().zip(bounds).enumerate() {
            let error = (value.value() - bound.value()).abs();
            contain(ratios, output, error, bound.radius(), &format!("{i}, {place}"));
        }
    }
    for (pixel, &last) in raster.last_ids.iter().enumerate() {
        let other = bounds.other_last_ids.get(&pixel);
        let known = last == bounds.last_ids[pixel] || other.is_some_and(|ids| ids.contains(&last));
        assert!(known, "pixel {pixel}, {place}: the last contributor {last} is not expected");
    }
}

/// The stage's gradients as [N, 6 + D].
pub(crate) fn rows<S: Scalar>(g: &SplatGradients<S>) -> Vec<S> {
    let colors = g.v_colors.chunks(g.v_colors.len() / g.v_opacities.len());
    let rows = g.v_means2d.iter().zip(&g.v_conics).zip(&g.v_opacities).zip(colors);
    rows.flat_map(|(((mean, conic), &opacity), color)| {
        [&mean[..], conic, &[opacity], color].concat()
    })
    .collect()
}

/// Gradients of the pixels dealt to `parts` parts, added up in a random order.
fn in_parts<M: Compiled>(
    case: &Case,
    parts: u64,
    random: &mut Random,
    gradients: &Differentiate<'_, M>,
) -> Vec<Perturbed<M>> {
    let owner: Vec<u64> = (0..case.scene.pixels()).map(|_| random.bits() % parts).collect();
    let mut sum: Option<Vec<Perturbed<M>>> = None;
    for part in 0..parts {
        let mut lifted = case.over::<Perturbed<M>>();
        for pixel in (0..owner.len()).filter(|&pixel| owner[pixel] != part) {
            lifted.scene.v_render_alphas[pixel] = Perturbed::default();
            lifted.scene.v_render_colors[3 * pixel..3 * pixel + 3].fill(Perturbed::default());
        }
        let one = rows(&gradients(&lifted));
        sum = Some(match sum {
            None => one,
            Some(sum) => sum.into_iter().zip(one).map(|(a, b)| a + b).collect(),
        });
    }
    sum.expect("at least one part")
}

/// The backward stage over perturbed numbers.
pub(super) type Differentiate<'a, M> =
    dyn Fn(&Lifted<'_, Perturbed<M>>) -> SplatGradients<Perturbed<M>> + 'a;

/// Asserts that a perturbed evaluation, its pixels added up in random parts, lies within the bounds.
pub(super) fn check_backward<M: Compiled>(
    case: &Case,
    bounds: &GradientBounds,
    place: &str,
    random: &mut Random,
    ratios: &mut Ratios,
    gradients: &Differentiate<'_, M>,
) {
    const OUTPUTS: [&str; 9] = [
        "v_means2d",
        "v_means2d",
        "v_conics",
        "v_conics",
        "v_conics",
        "v_opacities",
        "v_colors",
        "v_colors",
        "v_colors",
    ];
    let parts = 1 + random.bits() % 3;
    let values = in_parts::<M>(case, parts, random, gradients);
    // Flushing takes at most one smallest normal from a partial sum and from a term it reads.
    let flush = if M::TABLE.atomics_may_flush { 2.0 * f64::from(f32::MIN_POSITIVE) } else { 0.0 };
    for (i, (value, bound)) in values.iter().zip(&bounds.elements).enumerate() {
        let terms = bounds.terms(i / bounds.stride);
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 terms")]
        let lost = gamma::<M>(terms) * bound.magnitude + terms as f64 * flush;
        let error = (value.value() - bound.value).abs();
        let output = OUTPUTS[i % bounds.stride];
        contain(ratios, output, error, bound.radius + lost, &format!("{i}, {place}"));
    }
}

/// Both stages of one convention under one model, with every kind of luck.
fn check_model<M: Compiled>(convention: Convention, ratios: &mut Ratios) {
    for seed in [3, 4] {
        let case = Case::new(convention, seed);
        let lifted = case.over::<Bounded<M>>();
        let forward = bounds::forward(&lifted.view());
        let backward = bounds::backward(&lifted.view(), &lifted.loss());
        // Four undecided comparisons at a pixel make 16 paths, more than are kept apart; going
        // forward they are counted on each path, 1 + 2 + 4 + 8 times.
        let undecided = (forward.undecided, backward.undecided);
        assert!(undecided.0 > 2 * 15 && undecided.1 > 2 * 4, "{undecided:?}: no path was merged");
        for luck in [Luck::Uniform, Luck::Ends, Luck::Up, Luck::Down] {
            let name = convention.profile.name();
            let place = format!("{name}, model {}, {luck:?}, seed {seed}", M::TABLE.name);
            let mut random = Random(seed);
            perturb(random.bits(), luck);
            let raster = rasterize(&case.over::<Perturbed<M>>().view());
            check_forward(&raster, &forward, &place, ratios);
            check_backward::<M>(&case, &backward, &place, &mut random, ratios, &|lifted| {
                rasterize_backward(&lifted.view(), &lifted.loss())
            });
        }
    }
}

/// One model, both conventions; prints how much of the bounds is used.
fn containment<M: Compiled>() {
    let mut ratios = Ratios::new();
    // The draws belong to a thread, so all work stays on one.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    pool.install(|| {
        let gsplat = Convention::gsplat();
        let clamped = Convention { alpha_clamp_gradient: ClampGradient::Clamped, ..gsplat };
        let late = Convention { stop_rule: StopRule::LessAfterBlending, ..Convention::inria() };
        for convention in [Convention::inria(), gsplat, clamped, late] {
            check_model::<M>(convention, &mut ratios);
        }
    });
    conclude::<M>(ratios);
}

/// Asserts that enough was compared; prints how much of the bounds is used.
pub(crate) fn conclude<M: Compiled>(ratios: Ratios) {
    let checked: usize = ratios.values().map(|observed| observed.ratios.len()).sum();
    assert!(checked >= 50_000, "only {checked} elements were compared");
    for (output, Observed { mut ratios, unbounded }) in ratios {
        ratios.sort_by(f64::total_cmp);
        let at = |share: usize| ratios[(ratios.len() - 1) * share / 100];
        println!(
            "{:25} {output:14} {:6} elements, error/bound: median {:.1e}, 99 % {:.2}, max {:.2}; \
             {unbounded} without bound",
            M::TABLE.name,
            ratios.len(),
            at(50),
            at(99),
            at(100)
        );
        assert!(20 * unbounded <= ratios.len(), "{output}: most elements have no bound");
    }
}

#[test]
fn perturbed_ieee_evaluations_stay_within_bounds() {
    containment::<Ieee>();
}

#[test]
pub(crate) fn perturbed_wgsl_evaluations_stay_within_bounds() {
    containment::<Wgsl>();
}

#[test]
fn perturbed_wgsl_evaluations_with_exp_zero_stay_within_bounds() {
    containment::<WgslExpZero>();
}

#[test]
fn perturbed_cuda_evaluations_stay_within_bounds() {
    containment::<Cuda>();
}

#[test]
fn perturbed_fast_cuda_evaluations_stay_within_bounds() {
    containment::<CudaFast>();
}
