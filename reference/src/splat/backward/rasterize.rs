//! Backward rasterization: the vector-Jacobian product of [`crate::splat::rasterize`].
//!
//! Per pixel, from the last contributor to the tile's first entry: the transmittance in front of
//! a Gaussian is recovered by T = T / (1 - alpha) from the final one, the colour behind it is kept
//! as a running blend (see [`crate::splat::pair::blend_vjp`]), and each pair adds 6 + D numbers to its
//! Gaussian. That is the standard formulation; [`rasterize_as`] walks as any of them does
//! ([`crate::splat::formulated`]), from the front too.
//!
//! Determinism: a tile adds up each Gaussian's contributions in a fixed order (each place in a
//! block by itself, block by block, then a fixed tree over the eight places), and the tiles' sums
//! are added in the order of the tiles. No bit depends on the number of threads.

mod state;

use crate::arithmetic::{LaneJob, Lanes, Scalar, Vectorized};
use crate::splat::formulated::{BackwardView, Ends, beyond, in_front, unblend};
use crate::splat::formulation::{Formulation, WalkOrder};
use crate::splat::pair::{SlopeX, SlopeY, alpha_vjp_factors};
use crate::splat::rasterize::{Alpha, Constants, Splat, alpha_at};
use crate::splat::reach::{Footprint, footprints};
use crate::splat::tile::{BATCH, BLOCK, Entries, Entry, PerChannel, PerPixel, Tile};
use crate::splat::view::{LossView, RasterView};
use rayon::prelude::*;
use state::{Block, Channel, TileState};

/// Gradients of the stage's inputs, summed over the image.
#[derive(Clone, Debug, PartialEq)]
pub struct SplatGradients<S> {
    /// `[N,2]` per pixel.
    pub v_means2d: Vec<[S; 2]>,
    /// `[N,3]` with the full off-diagonal.
    pub v_conics: Vec<[S; 3]>,
    /// `[N]`.
    pub v_opacities: Vec<S>,
    /// `[N,D]`.
    pub v_colors: Vec<S>,
    /// `[D]`.
    pub v_background: Vec<S>,
}

impl<S: Copy> SplatGradients<S> {
    /// The same numbers over another scalar.
    pub fn map<R>(&self, mut f: impl FnMut(S) -> R) -> SplatGradients<R> {
        SplatGradients {
            v_means2d: self.v_means2d.iter().map(|v| v.map(&mut f)).collect(),
            v_conics: self.v_conics.iter().map(|v| v.map(&mut f)).collect(),
            v_opacities: self.v_opacities.iter().map(|&v| f(v)).collect(),
            v_colors: self.v_colors.iter().map(|&v| f(v)).collect(),
            v_background: self.v_background.iter().map(|&v| f(v)).collect(),
        }
    }
}

/// Numbers per pair besides the colour's D.
pub(crate) const GEOMETRY: usize = 6;

/// Differentiates the rasterization of the whole image in the standard formulation.
#[must_use]
pub fn rasterize<S: Vectorized>(
    view: &RasterView<'_, S>,
    loss: &LossView<'_, S>,
) -> SplatGradients<S> {
    rasterize_as(view, &BackwardView::standard(*loss))
}

/// Differentiates the rasterization of the whole image as the formulation of `inputs` does.
#[must_use]
pub fn rasterize_as<S: Vectorized>(
    view: &RasterView<'_, S>,
    inputs: &BackwardView<'_, S>,
) -> SplatGradients<S> {
    let tiles = view.lists.tile_offsets.len() - 1;
    let footprints = footprints(view);
    let partial: Vec<TileSums<S>> = (0..tiles)
        .into_par_iter()
        .map(|number| {
            let tile = Tile::new(view, number);
            S::with_lanes(TileJob::new(view, inputs, &footprints, &tile, number))
        })
        .collect();
    let mut gradients = gather(view, &partial);
    gradients.v_background = background(view, inputs);
    gradients
}

/// What one tile adds to its Gaussians.
#[derive(Debug, PartialEq)]
struct TileSums<S> {
    ids: Vec<u32>,
    /// `[ids, 6 + D]`
    sums: Vec<S>,
}

/// Adds up the tiles' sums, each Gaussian's in the order of the tiles. Every thread takes a range
/// of Gaussians and looks through all tiles for them.
fn gather<S: Scalar>(view: &RasterView<'_, S>, partial: &[TileSums<S>]) -> SplatGradients<S> {
    let (n, channels, zero) = (view.splats.means2d.len(), view.splats.channels, S::from_f64(0.0));
    let stride = GEOMETRY + channels;
    let mut rows = vec![zero; n * stride];
    let share = n.div_ceil(rayon::current_num_threads()).max(1);
    rows.par_chunks_mut(share * stride).enumerate().for_each(|(part, rows)| {
        // Fresh memory that is read before it is written costs two page faults, not one.
        rows.fill(zero);
        for tile in partial {
            for (&id, sum) in tile.ids.iter().zip(tile.sums.chunks_exact(stride)) {
                // Gaussians of other parts are below (and wrap around) or beyond.
                let at = (id as usize).wrapping_sub(part * share);
                let Some(row) = rows.get_mut(at.saturating_mul(stride)..) else { continue };
                for (slot, &value) in row.iter_mut().zip(sum) {
                    *slot = *slot + value;
                }
            }
        }
    });
    let row = |id: usize| &rows[id * stride..(id + 1) * stride];
    SplatGradients {
        v_means2d: (0..n).map(|id| [row(id)[0], row(id)[1]]).collect(),
        v_conics: (0..n).map(|id| [row(id)[2], row(id)[3], row(id)[4]]).collect(),
        v_opacities: (0..n).map(|id| row(id)[5]).collect(),
        v_colors: (0..n).flat_map(|id| row(id)[GEOMETRY..].iter().copied()).collect(),
        v_background: Vec::new(),
    }
}

/// dL/dbackground = sum over pixels of T dL/dC.
fn background<S: Scalar>(view: &RasterView<'_, S>, inputs: &BackwardView<'_, S>) -> Vec<S> {
    let channels = view.splats.channels;
    let mut sums = vec![S::from_f64(0.0); channels];
    for (t, v) in inputs.final_transmittances(channels) {
        for (sum, &v) in sums.iter_mut().zip(v) {
            *sum = *sum + t * v;
        }
    }
    sums
}

/// One tile's walk.
struct TileJob<'a, S> {
    view: &'a RasterView<'a, S>,
    inputs: &'a BackwardView<'a, S>,
    footprints: &'a [Footprint<S>],
    tile: &'a Tile<S>,
    number: usize,
    ids: &'a [u32],
    state: TileState<S>,
}

impl<'a, S: Scalar> TileJob<'a, S> {
    fn new(
        view: &'a RasterView<'a, S>,
        inputs: &'a BackwardView<'a, S>,
        footprints: &'a [Footprint<S>],
        tile: &'a Tile<S>,
        number: usize,
    ) -> Self {
        let list = view.lists.range(number);
        let state = TileState::new(view, inputs, tile, &list);
        let ids = &view.lists.flatten_ids[list.start..list.start + state.entries];
        Self { view, inputs, footprints, tile, number, ids, state }
    }
}

impl<S: Scalar> LaneJob<S> for TileJob<'_, S> {
    type Output = TileSums<S>;

    #[inline(always)]
    fn run<L: Lanes<Elem = S>>(self, lanes: L) -> TileSums<S> {
        match self.view.splats.channels {
            3 if self.inputs.formulation() == Formulation::STANDARD => {
                self.walk::<L, [L; 3], true>(lanes)
            }
            3 => self.walk::<L, [L; 3], false>(lanes),
            _ => self.walk::<L, Vec<L>, false>(lanes),
        }
    }
}

impl<S: Scalar> TileJob<'_, S> {
    /// Walks the tile; `STANDARD` says that the formulation is [`Formulation::STANDARD`], so that the compiler
    /// knows it.
    #[inline(always)]
    fn walk<L: Lanes<Elem = S>, C: PerChannel<L>, const STANDARD: bool>(
        mut self,
        lanes: L,
    ) -> TileSums<S> {
        const { assert!(BLOCK.is_multiple_of(L::LANES), "a block is a number of registers") };
        let stated = self.inputs.formulation();
        let formulation = if STANDARD { Formulation::STANDARD } else { stated };
        let extra = formulation.extra_roundings();
        let how = How {
            constants: Constants::with_extra_roundings(self.view.convention, lanes, extra),
            formulation,
            decides_stops: !STANDARD && self.inputs.decides_stops(),
        };
        let channels = self.view.splats.channels;
        let mut scratch = Scratch::<L, C>::new(how.constants.zero, channels);
        let zero = PerPixel::all(S::from_f64(0.0));
        // `[6 + D]` over the blocks, place by place: mean, conic, opacity; colour. In memory: in registers
        // they leave too few for a pair.
        let mut sums = vec![zero; GEOMETRY + channels];
        let mut out = TileSums { ids: Vec::new(), sums: Vec::new() };
        let mut entries = Entries::new();
        let (batches, mut checkpoint) = (self.ids.len().div_ceil(BATCH), None);
        for turn in 0..batches {
            let batch = turn_of(self.inputs, turn, batches);
            if how.decides_stops && !self.state.walks_on(batch * BATCH) {
                break;
            }
            let ids = &self.ids[batch * BATCH..self.ids.len().min((batch + 1) * BATCH)];
            entries.fill(self.tile, self.footprints, self.view.splats, ids, batch * BATCH);
            for turn in 0..entries.list.len() {
                let i = turn_of(self.inputs, turn, entries.list.len());
                let entry = &entries.list[i];
                let here = self.inputs.checkpoint(entry.depth);
                if let Some(number) = here.filter(|_| here != checkpoint) {
                    checkpoint = here;
                    self.state.resume(self.view, self.inputs, self.tile, [self.number, number]);
                }
                scratch.set_color(entries.color(i, channels));
                sums.fill(zero);
                let mut touched = false;
                for lane in (0..BLOCK).step_by(L::LANES) {
                    let blocks = entries.blocks(entry);
                    touched |=
                        scratch.unblend(&mut self, entry, blocks, &how, (&mut sums[..], lane));
                }
                if touched {
                    out.ids.push(ids[entry.depth - batch * BATCH]);
                    out.sums.extend(sums.iter().map(add_places));
                }
            }
        }
        out
    }
}

/// The item of `count` that comes at `turn` of a walk.
#[inline(always)]
pub(crate) fn turn_of<S: Scalar>(inputs: &BackwardView<'_, S>, turn: usize, count: usize) -> usize {
    match inputs.formulation().walk() {
        WalkOrder::Back => count - 1 - turn,
        WalkOrder::Front => turn,
    }
}

/// The fixed tree that adds up the eight places of a block.
#[inline(always)]
pub(crate) fn add_places<S: Scalar>(r: &PerPixel<S>) -> S {
    ((r[0] + r[4]) + (r[2] + r[6])) + ((r[1] + r[5]) + (r[3] + r[7]))
}

/// What a Gaussian's walk over a tile's blocks needs besides the pixels' own state.
struct Scratch<L, C> {
    zero: L,
    color: C,
    v_pixel: C,
    remainder: C,
    v_color: C,
}

impl<L: Lanes, C: PerChannel<L>> Scratch<L, C> {
    #[inline(always)]
    fn new(zero: L, channels: usize) -> Self {
        Self {
            zero,
            color: C::all(zero, channels),
            v_pixel: C::all(zero, channels),
            remainder: C::all(zero, channels),
            v_color: C::all(zero, channels),
        }
    }

    #[inline(always)]
    fn set_color(&mut self, color: &[L::Elem]) {
        for (slot, &color) in self.color.as_mut().iter_mut().zip(color) {
            *slot = self.zero.splat(color);
        }
    }

    /// Differentiates one Gaussian's blending into the pixels from `lane` on of all its blocks,
    /// and adds up what they contribute; returns whether any did.
    #[inline(always)]
    fn unblend(
        &mut self,
        job: &mut TileJob<'_, L::Elem>,
        entry: &Entry<L::Elem>,
        blocks: impl Iterator<Item = usize>,
        how: &How<L>,
        (sums, lane): (&mut [PerPixel<L::Elem>], usize),
    ) -> bool {
        let (zero, tile) = (how.constants.zero, job.tile);
        let splat = Splat::new(&entry.footprint, zero);
        let mark = zero.like(entry.depth as f64);
        let channels = self.color.as_ref().len();
        let mut touched = false;
        for at in blocks {
            let block = &mut job.state.blocks[at];
            let active = mark.lt(zero.load(&block.last[lane..]));
            if !zero.any(active) {
                continue;
            }
            let [column, row] = tile.places[at];
            let samples = [&tile.samples[0][column], &tile.samples[1][row]];
            let sample = samples.map(
                #[inline(always)]
                |s| zero.load(&s[lane..]),
            );
            let alpha = alpha_at(&splat, &how.constants, sample);
            let active = zero.and(active, alpha.visible);
            if !zero.any(active) {
                continue;
            }
            let channels = &mut job.state.channels[at * channels..][..channels];
            let pair = Pair { splat: &splat, alpha, active };
            self.step(&pair, how, block, channels, (&mut *sums, lane));
            touched = true;
        }
        touched
    }

    /// The vector-Jacobian product of one Gaussian's blending into some pixels of a block.
    #[inline(always)]
    fn step(
        &mut self,
        pair: &Pair<'_, L>,
        how: &How<L>,
        block: &mut Block<L::Elem>,
        channels: &mut [Channel<L::Elem>],
        (sums, lane): (&mut [PerPixel<L::Elem>], usize),
    ) {
        let Pair { splat, alpha: Alpha { along, gauss, alpha, .. }, .. } = *pair;
        let How { constants, formulation, decides_stops } = how;
        let (zero, formulation) = (constants.zero, *formulation);
        let t_before = zero.load(&block.transmittance[lane..]);
        let t = in_front(formulation, alpha, t_before);
        let t_after = beyond(formulation, alpha, t);
        let active = if *decides_stops {
            stop(pair.active, [t, t_after], constants, &mut block.last[lane..])
        } else {
            pair.active
        };
        let pixel = self.v_pixel.as_mut().iter_mut().zip(self.remainder.as_mut());
        for ((v, remainder), channel) in pixel.zip(channels.iter()) {
            *v = zero.load(&channel.v_pixel[lane..]);
            *remainder = zero.load(&channel.remainder[lane..]);
        }
        let ends = Ends {
            t_final: zero.load(&block.final_transmittance[lane..]),
            parts: [zero.load(&block.parts[0][lane..]), zero.load(&block.parts[1][lane..])],
        };
        let v_alpha = unblend(
            formulation,
            [alpha, t],
            ends,
            self.color.as_ref(),
            self.v_pixel.as_ref(),
            self.remainder.as_mut(),
            self.v_color.as_mut(),
        );
        let raw = splat.opacity * gauss;
        let gauss = constants.gauss_of_gradient(gauss, [splat.opacity, raw]);
        let flows = constants.gradient_flows(active, raw);
        let slopes = (&SlopeX::beside(&along.0), &SlopeY::beside(splat.conic, &along.1));
        let of_alpha = [splat.opacity, gauss, v_alpha];
        let factors = alpha_vjp_factors(slopes, of_alpha, formulation.extra_roundings());
        let (geometry, colors) = sums.split_at_mut(GEOMETRY);
        let colors = &mut colors[..self.v_color.as_ref().len()];
        for (sum, [a, b]) in geometry.iter_mut().zip(factors) {
            let before = zero.load(&sum[lane..]);
            a.mul_add(b, before).or_else(flows, before).store(&mut sum[lane..]);
        }
        for (sum, &value) in colors.iter_mut().zip(self.v_color.as_ref()) {
            let before = zero.load(&sum[lane..]);
            (before + value).or_else(active, before).store(&mut sum[lane..]);
        }
        t_after.or_else(active, t_before).store(&mut block.transmittance[lane..]);
        for (&remainder, channel) in self.remainder.as_ref().iter().zip(channels) {
            let slot = &mut channel.remainder[lane..];
            remainder.or_else(active, zero.load(slot)).store(slot);
        }
    }
}

/// A Gaussian at some pixels, and where it contributes.
struct Pair<'a, L: Lanes> {
    splat: &'a Splat<L>,
    alpha: Alpha<L>,
    active: L::Mask,
}

/// What the walk of a tile computes, and with which constants.
struct How<L> {
    constants: Constants<L>,
    formulation: Formulation,
    decides_stops: bool,
}

/// Ends the walk of the `active` pixels that stop in front of a Gaussian with these transmittances in front of
/// it and behind; gives the others.
#[inline(always)]
fn stop<L: Lanes>(
    active: L::Mask,
    [in_front, behind]: [L; 2],
    constants: &Constants<L>,
    last: &mut [L::Elem],
) -> L::Mask {
    let stops = behind.and(active, constants.stops(in_front, behind));
    if behind.any(stops) {
        constants.zero.or_else(stops, behind.load(last)).store(last);
    }
    behind.and(active, behind.not(stops))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splat::convention::Convention;
    use crate::splat::formulated::checkpoints;
    use crate::splat::rasterize;
    use crate::splat::render::project_scene;
    use crate::splat::synthetic::frustum;

    #[test]
    fn vector_rows_give_the_bits_of_single_pixels() {
        let scene = frustum(600, 75, 50, 5).map(f64::from);
        for convention in [Convention::inria(), Convention::gsplat()] {
            let projected = project_scene(&scene, 0, &convention).expect("few pairs");
            let view = projected.view(&scene, 0, &convention);
            let raster = rasterize::rasterize::<f64>(&view);
            let loss = scene.camera_slices(0).loss(&raster);
            let footprints = footprints(&view);
            let noted = checkpoints::<f64>(&view, 32);
            for formulation in Formulation::practised() {
                let front = formulation.walk() == WalkOrder::Front;
                for noted in [None, front.then(|| noted.view())] {
                    let image = Some(&raster.render_colors[..]);
                    let inputs = BackwardView::new(formulation, loss, image, noted);
                    let inputs = inputs.expect("everything is there");
                    for number in 0..view.lists.tile_offsets.len() - 1 {
                        let tile = Tile::new(&view, number);
                        let job = || TileJob::new(&view, &inputs, &footprints, &tile, number);
                        let bits = |sums: TileSums<f64>| {
                            (sums.ids, sums.sums.into_iter().map(f64::to_bits).collect::<Vec<_>>())
                        };
                        assert!(
                            bits(f64::with_lanes(job())) == bits(job().run(0.0)),
                            "{formulation}: tile {number} depends on the width of a row"
                        );
                    }
                }
            }
        }
    }
}
