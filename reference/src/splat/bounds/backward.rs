//! Bounds of backward rasterization, element by element, before the terms are summed.
//!
//! A Gaussian's gradient is a sum over pixels in an order that nobody fixes. What the summation
//! itself may lose depends on the kernel's reduction, which this crate does not know; so it returns
//! for every element what any such bound needs: the value, the sum of the terms' magnitudes, the
//! sum of the terms' radii, and how many terms each tile adds.

use super::backward_lanes::{TileJob, TileSums};
use crate::arithmetic::ElementBound;
use crate::arithmetic::{Bounded, Model, dispatch};
use crate::splat::backward::rasterize::GEOMETRY;
use crate::splat::formulated::BackwardView;
use crate::splat::formulation::TermFormat;
use crate::splat::reach::footprints;
use crate::splat::view::RasterView;
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

/// What [`super::backward_as`] gives.
pub(super) fn in_terms<M: Model>(
    view: &RasterView<'_, Bounded<M>>,
    inputs: &BackwardView<'_, Bounded<M>>,
) -> GradientBounds {
    let bounds = in_tiles(view, inputs);
    match inputs.formulation().terms() {
        TermFormat::F32 => bounds,
        TermFormat::F16 => bounds.of_half_terms::<M>(),
    }
}

impl GradientBounds {
    /// With every term rounded to binary16 before it is added.
    fn of_half_terms<M: Model>(mut self) -> Self {
        for g in 0..self.count_offsets.len() - 1 {
            let terms = self.terms(g);
            let elements = &mut self.elements[g * self.stride..(g + 1) * self.stride];
            for element in elements {
                *element = element.of_half_terms(terms, &M::TABLE);
            }
        }
        self
    }
}

fn in_tiles<M: Model>(
    view: &RasterView<'_, Bounded<M>>,
    inputs: &BackwardView<'_, Bounded<M>>,
) -> GradientBounds {
    let tiles = view.lists.tile_offsets.len() - 1;
    let footprints = footprints(view);
    let sums: Vec<TileSums> = (0..tiles)
        .into_par_iter()
        .map(|number| dispatch(TileJob { view, inputs, footprints: &footprints, number }))
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
