//! How the projection's f32 numbers, as public programs spell it, lie against the oracle's bounds.

use super::ProjectStage;
use crate::splat::stage::margins::Margins;
use splatcheck_reference::arithmetic::{
    Bounded, ElementBound, EvaluationOrders, Ieee, Model, Scalar, Tristate,
};
use splatcheck_reference::splat::backward::project::ProjectionGradients;
use splatcheck_reference::splat::backward::rasterize::SplatGradients;
use splatcheck_reference::splat::bounds::Compiled;
use splatcheck_reference::splat::spelled::{self, EvaluationOrder};
use splatcheck_reference::splat::{CameraParams, Gaussians, Projections, bounds};

/// What a program gives: each camera's forward and backward stage.
type Found = Vec<(Projections<f32>, ProjectionGradients<f32>)>;

/// The bounds of one model: of each camera's forward stage, and of the sums.
struct Bounds<M> {
    forward: Vec<bounds::ProjectionBounds<M>>,
    backward: bounds::ProjectionGradientBounds,
}

impl ProjectStage {
    /// Runs each spelling in f32 and judges it by IEEE's bounds.
    #[must_use]
    pub fn spelled(&self, spellings: &[EvaluationOrder]) -> Vec<Margins> {
        let without = self.bounds::<Ieee>(EvaluationOrders::WRITTEN);
        let margins = |spelling: &EvaluationOrder| {
            let found = self.found(spelling);
            let counted = EvaluationOrders::counted(spelling.extra_roundings);
            let with = self.bounds::<Ieee>(counted).errors(&found);
            let mut margins = Margins::default();
            for (with, without) in with.into_iter().zip(without.errors(&found)) {
                margins.add(with, without);
            }
            margins
        };
        spellings.iter().map(margins).collect()
    }

    fn found(&self, spelling: &EvaluationOrder) -> Found {
        let gaussians = self.gaussians::<f32>();
        let one = |(lens, v): (&CameraParams<f32>, &SplatGradients<f32>)| {
            let (g, convention) = (&gaussians, &self.convention);
            let forward = spelled::project(spelling, g, lens, convention);
            (forward, spelled::project_backward(spelling, g, lens, v, convention))
        };
        self.lenses().iter().zip(&self.gradients()).map(one).collect()
    }

    fn bounds<M: Compiled>(&self, spellings: EvaluationOrders) -> Bounds<M> {
        let gaussians: Gaussians<Bounded<M>> = self.gaussians();
        let counted = |lens| CameraParams { spellings, ..lens };
        let lenses: Vec<_> = self.lenses::<Bounded<M>>().into_iter().map(counted).collect();
        let (g, v, convention) = (&gaussians, self.gradients(), &self.convention);
        Bounds {
            forward: lenses.iter().map(|lens| bounds::project(g, lens, convention)).collect(),
            backward: bounds::project_backward(g, &lenses, &v, convention),
        }
    }
}

impl<M: Model> Bounds<M> {
    /// Error and bound of every element, in one order for all models.
    fn errors(&self, found: &Found) -> Vec<[f64; 2]> {
        let forward = self.forward.iter().zip(found);
        let mut all: Vec<_> =
            forward.flat_map(|(bounds, (found, _))| forward_errors(bounds, found)).collect();
        let Self { backward: sums, .. } = self;
        let gaussians = sums.elements.len() / sums.stride;
        let of_sum = |x: f32, element: &ElementBound, terms: u64| {
            let tolerance = element.tolerance(terms.saturating_sub(1), terms, &M::TABLE);
            [(f64::from(x) - element.value).abs(), tolerance]
        };
        for g in 0..gaussians {
            let terms = sums.cameras_of(g);
            let mut values = vec![0.0_f32; sums.stride];
            for (_, one) in found {
                values.iter_mut().zip(numbers(one, g)).for_each(|(sum, x)| *sum += x);
            }
            let elements = &sums.elements[g * sums.stride..(g + 1) * sums.stride];
            all.extend(values.iter().zip(elements).map(|(&x, element)| {
                let [error, bound] = of_sum(x, element, terms);
                [error, if sums.is_open(g) { f64::INFINITY } else { bound }]
            }));
        }
        for (camera, (_, one)) in found.iter().enumerate() {
            let seen = &sums.seen[camera * gaussians..(camera + 1) * gaussians];
            let terms = seen.iter().filter(|&&seen| seen != Tristate::Never).count() as u64;
            let elements = sums.viewmats.chunks_exact(12).nth(camera).unwrap_or_default();
            let numbers = one.v_viewmat.as_flattened().iter().zip(elements);
            all.extend(numbers.map(|(&x, element)| of_sum(x, element, terms)));
        }
        all
    }
}

/// One camera's; of a Gaussian that roundings may cull nothing is known.
fn forward_errors<M: Model>(
    bounds: &bounds::ProjectionBounds<M>,
    found: &Projections<f32>,
) -> Vec<[f64; 2]> {
    let known = &bounds.projections;
    let mut all = Vec::new();
    for (g, &visible) in known.visible.iter().enumerate() {
        let radius = |bound: Bounded<M>| match visible {
            Tristate::Undecided => f64::INFINITY,
            Tristate::Always | Tristate::Never => bound.radius(),
        };
        let all_of = |x: &[f32], bounds: &[Bounded<M>]| -> Vec<[f64; 2]> {
            let pairs = x.iter().zip(bounds);
            pairs
                .map(|(&x, &bound)| [(f64::from(x) - bound.value()).abs(), radius(bound)])
                .collect()
        };
        let (ours, theirs) = (&found.splats, &known.splats);
        all.extend(all_of(&ours.means2d[g], &theirs.means2d[g]));
        all.extend(all_of(&ours.conics[g], &theirs.conics[g]));
        all.extend(all_of(&[ours.opacities[g]], &[theirs.opacities[g]]));
        all.extend(all_of(ours.color(g), theirs.color(g)));
        all.extend(all_of(&found.covars2d[g], &known.covars2d[g]));
        all.extend(all_of(&[found.depths[g]], &[known.depths[g]]));
    }
    all
}

/// A Gaussian's gradients in the order of [`bounds::ProjectionGradientBounds::elements`].
fn numbers(one: &ProjectionGradients<f32>, g: usize) -> Vec<f32> {
    let stride = one.v_colors.len() / one.v_means.len();
    let color = &one.v_colors[g * stride..(g + 1) * stride];
    [&one.v_means[g][..], &one.v_quats[g], &one.v_scales[g], &[one.v_opacities[g]], color].concat()
}
