//! Bounds of backward rasterization, element by element, before the terms are summed.
//!
//! A Gaussian's gradient is a sum over pixels in an order that nobody fixes. What the summation
//! itself may lose depends on the kernel's reduction, which this crate does not know; so it returns
//! for every element what any such bound needs: the value, the sum of the terms' magnitudes, the
//! sum of the terms' radii, and how many terms each tile adds.

use super::backward_lanes::TileJob;
use super::{BoundedAlpha, MAX_PATHS};
use crate::arithmetic::ElementBound;
use crate::arithmetic::{Bounded, Model, Scalar, Truth, dispatch};
use crate::splat::backward::rasterize::GEOMETRY;
use crate::splat::convention::ClampGradient;
use crate::splat::pair::{alpha_vjp, blend_vjp, v_minus_transmittance};
use crate::splat::reach::footprints;
use crate::splat::tile::Entry;
use crate::splat::view::{LossView, RasterView};
use rayon::prelude::*;

/// Bounds of every element of the stage's output.
#[derive(Clone, Debug)]
pub struct GradientBounds {
    /// Numbers per Gaussian: 6 + D.
    pub stride: usize,
    /// [N, 6 + D]: mean2d x, y; conic a, b, c; opacity; colour.
    pub elements: Vec<ElementBound>,
    /// Gaussian g has the counts `counts[count_offsets[g]..count_offsets[g + 1]]`.
    pub count_offsets: Vec<usize>,
    /// Per (Gaussian, tile) pair with any: the number of pixels that contribute or may.
    pub counts: Vec<u32>,
    /// Comparisons that were followed both ways.
    pub undecided: u64,
}

impl GradientBounds {
    /// Numbers of contributing pixels of Gaussian `g`, tile by tile.
    #[must_use]
    pub fn tile_counts(&self, g: usize) -> &[u32] {
        &self.counts[self.count_offsets[g]..self.count_offsets[g + 1]]
    }

    /// Number of terms of each sum of Gaussian `g`.
    #[must_use]
    pub fn terms(&self, g: usize) -> u64 {
        self.tile_counts(g).iter().map(|&count| u64::from(count)).sum()
    }
}

/// One way back through a pixel's list.
#[derive(Clone)]
pub(super) struct Path<M> {
    pub(super) t: Bounded<M>,
    pub(super) behind: Vec<Bounded<M>>,
}

/// What one tile adds up: `[entries, stride]` and the pixels counted per entry.
#[derive(Debug, PartialEq)]
pub(super) struct TileSums {
    pub(super) elements: Vec<ElementBound>,
    pub(super) counts: Vec<u32>,
    pub(super) undecided: u64,
}

/// Bounds of the whole image.
#[must_use]
pub fn backward<M: Model>(
    view: &RasterView<'_, Bounded<M>>,
    loss: &LossView<'_, Bounded<M>>,
) -> GradientBounds {
    let tiles = view.lists.tile_offsets.len() - 1;
    let footprints = footprints(view);
    let sums: Vec<TileSums> = (0..tiles)
        .into_par_iter()
        .map(|number| dispatch(TileJob { view, loss, footprints: &footprints, number }))
        .collect();
    gather(view, &sums)
}

/// Adds up the tiles in their order.
pub(super) fn gather<M: Model>(
    view: &RasterView<'_, Bounded<M>>,
    sums: &[TileSums],
) -> GradientBounds {
    let n = view.splats.means2d.len();
    let stride = GEOMETRY + view.splats.channels;
    let mut out = GradientBounds {
        stride,
        elements: vec![ElementBound::default(); n * stride],
        count_offsets: vec![0; n + 1],
        counts: Vec::new(),
        undecided: sums.iter().map(|s| s.undecided).sum(),
    };
    let listed = |tile: usize| {
        let ids = &view.lists.flatten_ids[view.lists.range(tile)];
        ids.iter().take(sums[tile].counts.len()).map(|&id| id as usize).enumerate()
    };
    for (tile, sum) in sums.iter().enumerate() {
        for (depth, id) in listed(tile).filter(|&(depth, _)| sum.counts[depth] > 0) {
            out.count_offsets[id + 1] += 1;
            let from = &sum.elements[depth * stride..(depth + 1) * stride];
            for (to, from) in out.elements[id * stride..].iter_mut().zip(from) {
                to.add_sum(from);
            }
        }
    }
    for g in 0..n {
        out.count_offsets[g + 1] += out.count_offsets[g];
    }
    let mut next = out.count_offsets.clone();
    out.counts = vec![0; out.count_offsets[n]];
    for (tile, sum) in sums.iter().enumerate() {
        for (depth, id) in listed(tile).filter(|&(depth, _)| sum.counts[depth] > 0) {
            out.counts[next[id]] = sum.counts[depth];
            next[id] += 1;
        }
    }
    for g in 0..n {
        let terms = out.terms(g);
        let elements = &mut out.elements[g * stride..(g + 1) * stride];
        elements.iter_mut().for_each(|element| element.finish(terms));
    }
    out
}

/// A pixel on its way back.
pub(super) struct Walk<'a, M> {
    pub(super) paths: Vec<Path<M>>,
    v_pixel: &'a [Bounded<M>],
    /// Final transmittance, and [`v_minus_transmittance`].
    t_final: Bounded<M>,
    through: Bounded<M>,
    /// `[6 + D]` the terms of the last step, over all paths.
    pub(super) terms: Vec<Bounded<M>>,
    v_color: Vec<Bounded<M>>,
    pub(super) undecided: u64,
}

impl<'a, M: Model> Walk<'a, M> {
    /// A pixel that has come back to transmittance `t` in front of what lies `behind`.
    pub(super) fn at(
        view: &RasterView<'_, Bounded<M>>,
        loss: &LossView<'a, Bounded<M>>,
        pixel: usize,
        t: Bounded<M>,
        behind: Vec<Bounded<M>>,
    ) -> Self {
        let channels = view.splats.channels;
        let v_pixel = &loss.v_render_colors[pixel * channels..(pixel + 1) * channels];
        let t_final = loss.transmittance[pixel];
        let walk = Self::from(view, t_final, v_pixel, loss.v_render_alphas[pixel]);
        Self { paths: vec![Path { t, behind }], ..walk }
    }

    /// A pixel with this final transmittance and these gradients of its colour and opacity.
    pub(super) fn from(
        view: &RasterView<'_, Bounded<M>>,
        t_final: Bounded<M>,
        v_pixel: &'a [Bounded<M>],
        v_render_alpha: Bounded<M>,
    ) -> Self {
        let (channels, zero) = (view.splats.channels, Bounded::from_f64(0.0));
        Self {
            paths: vec![Path { t: t_final, behind: vec![zero; channels] }],
            v_pixel,
            t_final,
            through: v_minus_transmittance(view.background, v_pixel, v_render_alpha),
            terms: vec![zero; GEOMETRY + channels],
            v_color: vec![zero; channels],
            undecided: 0,
        }
    }

    /// Differentiates one pair along every path; `terms` then covers all of them.
    pub(super) fn step(
        &mut self,
        view: &RasterView<'_, Bounded<M>>,
        entry: &Entry<Bounded<M>>,
        pair: &BoundedAlpha<M>,
    ) {
        if pair.visible == Truth::Always {
            for i in 0..self.paths.len() {
                self.take(view, entry, pair, i, i > 0);
            }
            return;
        }
        self.undecided += 1;
        // Skipping: the paths as they are, and zero terms.
        let skipping = self.paths.clone();
        for i in 0..self.paths.len() {
            self.take(view, entry, pair, i, i > 0);
        }
        let zero = Bounded::from_f64(0.0);
        if pair.value_visible {
            self.terms.iter_mut().for_each(|term| *term = term.or(zero));
            self.paths.extend(skipping);
        } else {
            self.terms.iter_mut().for_each(|term| *term = zero.or(*term));
            let taken = std::mem::replace(&mut self.paths, skipping);
            self.paths.extend(taken);
        }
        if self.paths.len() > MAX_PATHS {
            self.merge();
        }
    }

    /// Moves path `i` in front of the pair; its terms replace `terms` or widen them.
    fn take(
        &mut self,
        view: &RasterView<'_, Bounded<M>>,
        entry: &Entry<Bounded<M>>,
        pair: &BoundedAlpha<M>,
        i: usize,
        widen: bool,
    ) {
        let Path { t, behind } = &mut self.paths[i];
        let one_minus = Bounded::from_f64(1.0) - pair.alpha;
        *t = *t / one_minus;
        let t = *t;
        let mut behind = std::mem::take(behind);
        self.differentiate(view, entry, pair, t, &mut behind, widen);
        self.paths[i].behind = behind;
    }

    /// The terms of a pair with transmittance `t` in front of it and what lies `behind`, which is
    /// then seen with the pair's Gaussian in front of it. They replace `terms` or widen them.
    pub(super) fn differentiate(
        &mut self,
        view: &RasterView<'_, Bounded<M>>,
        entry: &Entry<Bounded<M>>,
        pair: &BoundedAlpha<M>,
        t: Bounded<M>,
        behind: &mut [Bounded<M>],
        widen: bool,
    ) {
        let one_minus = Bounded::from_f64(1.0) - pair.alpha;
        let color = view.splats.color(entry.id);
        let blended = blend_vjp(pair.alpha, t, color, self.v_pixel, behind, &mut self.v_color);
        let v_alpha = blended + (self.t_final / one_minus) * self.through;
        let splat = &entry.footprint;
        let gradient = alpha_vjp(splat.conic, pair.offset, splat.opacity, pair.gauss, v_alpha);
        let flows = gradient_flows(view, entry, pair);
        let geometry = gradient.to_array().map(|term| through_clamp(term, flows));
        for (slot, &term) in self.terms.iter_mut().zip(geometry.iter().chain(&self.v_color)) {
            *slot = if widen { slot.or(term) } else { term };
        }
    }

    /// Leaves the oracle's path and one that covers all others.
    pub(super) fn merge(&mut self) {
        let rest = self.paths.split_off(1);
        let mut rest = rest.into_iter();
        let Some(mut merged) = rest.next() else { return };
        for path in rest {
            merged.t = merged.t.or(path.t);
            for (mine, theirs) in merged.behind.iter_mut().zip(path.behind) {
                *mine = mine.or(theirs);
            }
        }
        self.paths.push(merged);
    }
}

/// Whether alpha's gradient passes the clamp at `alpha_max`, and what the f64 oracle decides.
pub(super) fn gradient_flows<M: Model>(
    view: &RasterView<'_, Bounded<M>>,
    entry: &Entry<Bounded<M>>,
    pair: &BoundedAlpha<M>,
) -> (Truth, bool) {
    match view.convention.alpha_clamp_gradient {
        ClampGradient::PassThrough => (Truth::Always, true),
        ClampGradient::Zero => {
            let raw = entry.footprint.opacity * pair.gauss;
            let alpha_max = Bounded::from_f64(view.convention.alpha_max);
            (!alpha_max.less(raw), !alpha_max.value_less(raw))
        }
    }
}

fn through_clamp<M: Model>(term: Bounded<M>, (flows, value_flows): (Truth, bool)) -> Bounded<M> {
    let zero = Bounded::from_f64(0.0);
    match flows {
        Truth::Always => term,
        Truth::Never => zero,
        Truth::Undecided if value_flows => term.or(zero),
        Truth::Undecided => zero.or(term),
    }
}
