//! One camera's image and the sums over its pixels, of Gaussians of which nothing is exact.

use super::backward::{GradientBounds, gather};
use super::backward_lanes::TileSums;
use super::bin::Candidates;
use super::forward_paths::Outcome;
use super::order::{Key, groups};
use super::pixel_paths::TileList;
use super::undecided::Undecided;
use crate::arithmetic::sum::ElementBound;
use crate::arithmetic::{Bounded, Model, Scalar};
use crate::splat::backward::rasterize::GEOMETRY;
use crate::splat::rasterize::Raster;
use crate::splat::reach::{Footprint, footprints};
use crate::splat::scene::Scene;
use crate::splat::tile::Entry;
use crate::splat::view::RasterView;
use rayon::prelude::*;

/// One camera's image and the sums over its pixels.
pub(super) struct Image<M> {
    pub(super) raster: Raster<Bounded<M>>,
    pub(super) gradients: GradientBounds,
    pub(super) v_background: Vec<Bounded<M>>,
    pub(super) undecided: Undecided,
}

/// One tile of it.
struct Tile<M> {
    pixels: Vec<Outcome<M>>,
    sums: TileSums,
    v_background: Vec<ElementBound>,
    undecided: Undecided,
}

impl<M: Model> Image<M> {
    /// Walks every tile of a camera's image; `view` has the lists of the candidates.
    pub(super) fn new(
        scene: &Scene<Bounded<M>>,
        camera: usize,
        view: &RasterView<'_, Bounded<M>>,
        candidates: &Candidates<M>,
    ) -> Self {
        let footprints = footprints(view);
        let tiles: Vec<Tile<M>> = (0..view.lists.tile_offsets.len() - 1)
            .into_par_iter()
            .map(|tile| Tile::new(scene, camera, view, candidates, &footprints, tile))
            .collect();
        let (pixels, channels) = (scene.pixels(), view.splats.channels);
        let zero = Bounded::from_f64(0.0);
        let mut raster = Raster {
            render_colors: vec![zero; pixels * channels],
            render_alphas: vec![zero; pixels],
            transmittance: vec![zero; pixels],
            last_ids: Vec::new(),
        };
        let mut undecided = Undecided::default();
        let mut background = vec![ElementBound::default(); channels];
        let mut sums = Vec::new();
        for (tile, one) in tiles.into_iter().enumerate() {
            let [x0, y0, w, _] = view.tile_rect(tile);
            for (i, outcome) in one.pixels.into_iter().enumerate() {
                let at = (y0 + i / w) * view.width as usize + x0 + i % w;
                raster.render_colors[at * channels..(at + 1) * channels]
                    .copy_from_slice(&outcome.colors);
                (raster.render_alphas[at], raster.transmittance[at]) = (outcome.alpha, outcome.t);
            }
            background.iter_mut().zip(&one.v_background).for_each(|(to, from)| to.add_sum(from));
            undecided.add(&one.undecided);
            sums.push(one.sums);
        }
        let terms = pixels as u64;
        background.iter_mut().for_each(|sum| sum.finish(terms));
        Self {
            raster,
            gradients: gather(view, &sums),
            v_background: background.iter().map(|sum| sum.in_any_order(terms)).collect(),
            undecided,
        }
    }
}

impl<M: Model> Tile<M> {
    fn new(
        scene: &Scene<Bounded<M>>,
        camera: usize,
        view: &RasterView<'_, Bounded<M>>,
        candidates: &Candidates<M>,
        footprints: &[Footprint<Bounded<M>>],
        tile: usize,
    ) -> Self {
        let (rect, channels) = (view.tile_rect(tile), view.splats.channels);
        let stride = GEOMETRY + channels;
        let list = tile_list(scene, candidates, footprints, tile);
        let mut this = Self {
            pixels: Vec::with_capacity(rect[2] * rect[3]),
            sums: TileSums {
                elements: vec![ElementBound::default(); list.entries.len() * stride],
                counts: vec![0; list.entries.len()],
                undecided: 0,
            },
            v_background: vec![ElementBound::default(); channels],
            undecided: Undecided::default(),
        };
        let (loss, mut terms) = (scene.camera_slices(camera), Vec::new());
        for i in 0..rect[2] * rect[3] {
            let [x, y] = [i % rect[2], i / rect[2]];
            let at = [rect[0] + x, rect[1] + y];
            let sample = at.map(|i| Bounded::from_f64(view.sample(i)));
            let forward = list.forward(view, sample, &mut this.undecided);
            let pixel = at[1] * view.width as usize + at[0];
            let v_pixel = &loss.v_render_colors[pixel * channels..(pixel + 1) * channels];
            let v_alpha = loss.v_render_alphas[pixel];
            list.backward(view, &forward, (v_pixel, v_alpha), &mut terms);
            for (visit, terms) in forward.visits.iter().zip(terms.chunks_exact(stride)) {
                this.sums.counts[visit.slot] += 1;
                let slots = &mut this.sums.elements[visit.slot * stride..];
                slots.iter_mut().zip(terms).for_each(|(slot, &term)| slot.add(term));
            }
            for (sum, &v) in this.v_background.iter_mut().zip(v_pixel) {
                sum.add(forward.outcome.t * v);
            }
            this.pixels.push(forward.outcome);
        }
        this
    }
}

fn tile_list<M: Model>(
    scene: &Scene<Bounded<M>>,
    candidates: &Candidates<M>,
    footprints: &[Footprint<Bounded<M>>],
    tile: usize,
) -> TileList<M> {
    let means = &scene.gaussians.means;
    let entry = |(slot, id): (usize, u32)| {
        let id = id as usize;
        Entry::alone(id, slot, footprints[id])
    };
    let keys: Vec<_> = candidates.of_tile(tile).map(|(c, ..)| Key::new(c, means)).collect();
    TileList {
        entries: candidates.of_tile(tile).map(|(c, ..)| c.id).enumerate().map(entry).collect(),
        listed: candidates.of_tile(tile).map(|(_, listed, nominal)| (listed, nominal)).collect(),
        groups: groups(&keys),
        keys,
    }
}
