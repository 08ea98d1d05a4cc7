//! Backward rasterization: the vector-Jacobian product of [`crate::splat::rasterize`].
//!
//! Per pixel, from the last contributor to the tile's first entry: the transmittance in front of
//! a Gaussian is recovered by T = T / (1 - alpha) from the final one, the colour behind it is kept
//! as a running blend (see [`crate::splat::pair::blend_vjp`]), and each pair adds 6 + D numbers to its
//! Gaussian.
//!
//! Determinism: a tile adds up each Gaussian's contributions in a fixed order (each place in a
//! block by itself, block by block, then a fixed tree over the eight places), and the tiles' sums
//! are added in the order of the tiles. No bit depends on the number of threads.

use crate::arithmetic::{LaneJob, Lanes, Scalar, Walk};
use crate::splat::pair::{alpha_vjp, blend_vjp, v_minus_transmittance};
use crate::splat::rasterize::{Alpha, Constants, Splat, alpha_at};
use crate::splat::reach::{Footprint, footprints};
use crate::splat::tile::{BATCH, BLOCK, Entries, Entry, PerChannel, PerPixel, Pixel, Tile};
use crate::splat::view::{LossView, RasterView};
use rayon::prelude::*;
use std::ops::Range;

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

/// Numbers per pair besides the colour's D.
pub(crate) const GEOMETRY: usize = 6;

/// Differentiates the rasterization of the whole image.
#[must_use]
pub fn rasterize<S: Walk>(view: &RasterView<'_, S>, loss: &LossView<'_, S>) -> SplatGradients<S> {
    let tiles = view.lists.tile_offsets.len() - 1;
    let footprints = footprints(view);
    let partial: Vec<TileSums<S>> = (0..tiles)
        .into_par_iter()
        .map(|number| {
            let tile = Tile::new(view, number);
            let start = view.lists.range(number).start;
            let state = TileState::new(view, loss, &tile, start);
            let ids = &view.lists.flatten_ids[start..start + state.entries];
            S::with_lanes(TileJob { view, footprints: &footprints, tile: &tile, ids, state })
        })
        .collect();
    let mut gradients = gather(view, &partial);
    gradients.v_background = background(view, loss);
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
fn background<S: Scalar>(view: &RasterView<'_, S>, loss: &LossView<'_, S>) -> Vec<S> {
    let channels = view.splats.channels;
    let mut sums = vec![S::from_f64(0.0); channels];
    for (&t, v) in loss.transmittance.iter().zip(loss.v_render_colors.chunks_exact(channels)) {
        for (sum, &v) in sums.iter_mut().zip(v) {
            *sum = *sum + t * v;
        }
    }
    sums
}

/// A block's pixels on the way back; zero outside the image.
#[derive(Clone, Copy)]
struct Block<S> {
    /// Depth in the tile's list of the last contributor plus 1, 0 for none.
    last: PerPixel<S>,
    transmittance: PerPixel<S>,
    final_transmittance: PerPixel<S>,
    /// See [`v_minus_transmittance`].
    through: PerPixel<S>,
}

/// One channel of a block's pixels.
#[derive(Clone, Copy)]
struct Channel<S> {
    v_pixel: PerPixel<S>,
    behind: PerPixel<S>,
}

/// A tile's pixels on the way back.
struct TileState<S> {
    blocks: Vec<Block<S>>,
    /// `[blocks, D]`
    channels: Vec<Channel<S>>,
    /// Entries to walk: the largest `last`.
    entries: usize,
}

impl<S: Scalar> TileState<S> {
    /// `start` is the position of the tile's first entry in `flatten_ids`.
    fn new(view: &RasterView<'_, S>, loss: &LossView<'_, S>, tile: &Tile<S>, start: usize) -> Self {
        let (channels, zero) = (view.splats.channels, [S::from_f64(0.0); BLOCK]);
        let block = Block {
            last: zero,
            transmittance: [S::from_f64(1.0); BLOCK],
            final_transmittance: zero,
            through: zero,
        };
        let channel = Channel { v_pixel: zero, behind: zero };
        let mut state = Self {
            blocks: vec![block; tile.len()],
            channels: vec![channel; channels * tile.len()],
            entries: 0,
        };
        for Pixel { index, block, lane } in tile.pixels(view.width as usize) {
            let Ok(last) = usize::try_from(loss.last_ids[index]) else { continue };
            let depth = last + 1 - start;
            state.entries = state.entries.max(depth);
            let v = &loss.v_render_colors[index * channels..(index + 1) * channels];
            for (channel, &v) in state.channels[block * channels..].iter_mut().zip(v) {
                channel.v_pixel[lane] = v;
            }
            let block = &mut state.blocks[block];
            block.last[lane] = S::from_f64(depth as f64);
            block.transmittance[lane] = loss.transmittance[index];
            block.final_transmittance[lane] = loss.transmittance[index];
            block.through[lane] =
                v_minus_transmittance(view.background, v, loss.v_render_alphas[index]);
        }
        state
    }
}

/// One tile's walk back to front.
struct TileJob<'a, S> {
    view: &'a RasterView<'a, S>,
    footprints: &'a [Footprint<S>],
    tile: &'a Tile<S>,
    ids: &'a [u32],
    state: TileState<S>,
}

impl<S: Scalar> LaneJob<S> for TileJob<'_, S> {
    type Output = TileSums<S>;

    #[inline(always)]
    fn run<L: Lanes<Elem = S>>(self, lanes: L) -> TileSums<S> {
        match self.view.splats.channels {
            3 => self.walk::<L, [L; 3]>(lanes),
            _ => self.walk::<L, Vec<L>>(lanes),
        }
    }
}

impl<S: Scalar> TileJob<'_, S> {
    #[inline(always)]
    fn walk<L: Lanes<Elem = S>, C: PerChannel<L>>(mut self, lanes: L) -> TileSums<S> {
        const { assert!(BLOCK.is_multiple_of(L::LANES), "a block is a number of registers") };
        let zero = [S::from_f64(0.0); BLOCK];
        let constants = Constants::new(self.view.convention, lanes);
        let mut scratch = Scratch::<L, C>::new(constants.zero, self.view.splats.channels);
        let mut out = TileSums { ids: Vec::new(), sums: Vec::new() };
        let mut places = vec![zero; GEOMETRY + self.view.splats.channels];
        let mut entries = Entries::new();
        for (batch, ids) in self.ids.chunks(BATCH).enumerate().rev() {
            entries.fill(self.tile, self.footprints, self.view.splats, ids, batch * BATCH);
            for (i, entry) in entries.list.iter().enumerate().rev() {
                scratch.set_color(entries.color(i, self.view.splats.channels));
                let mut touched = false;
                for lane in (0..BLOCK).step_by(L::LANES) {
                    let rows = entries.rows(entry);
                    touched |= scratch.unblend(&mut self, entry, rows, &constants, lane);
                    scratch.store_sums(&mut places, lane);
                }
                if touched {
                    out.ids.push(ids[entry.depth - batch * BATCH]);
                    out.sums.extend(places.iter().map(add_places));
                }
            }
        }
        out
    }
}

/// The fixed tree that adds up the eight places of a block.
#[inline(always)]
pub(crate) fn add_places<S: Scalar>(r: &PerPixel<S>) -> S {
    ((r[0] + r[4]) + (r[2] + r[6])) + ((r[1] + r[5]) + (r[3] + r[7]))
}

/// What a Gaussian's walk over a tile's blocks needs besides the pixels' own state.
struct Scratch<L, C> {
    color: C,
    v_pixel: C,
    behind: C,
    v_color: C,
    /// The sums over the blocks: mean, conic, opacity; colour.
    geometry: [L; GEOMETRY],
    colors: C,
}

impl<L: Lanes, C: PerChannel<L>> Scratch<L, C> {
    #[inline(always)]
    fn new(zero: L, channels: usize) -> Self {
        Self {
            color: C::all(zero, channels),
            v_pixel: C::all(zero, channels),
            behind: C::all(zero, channels),
            v_color: C::all(zero, channels),
            geometry: [zero; GEOMETRY],
            colors: C::all(zero, channels),
        }
    }

    #[inline(always)]
    fn set_color(&mut self, color: &[L::Elem]) {
        for (slot, &color) in self.color.as_mut().iter_mut().zip(color) {
            *slot = slot.splat(color);
        }
    }

    /// Differentiates one Gaussian's blending into the pixels from `lane` on of all its blocks,
    /// and adds up what they contribute; returns whether any did.
    #[inline(always)]
    fn unblend(
        &mut self,
        job: &mut TileJob<'_, L::Elem>,
        entry: &Entry<L::Elem>,
        rows: impl Iterator<Item = (usize, Range<usize>)>,
        constants: &Constants<L>,
        lane: usize,
    ) -> bool {
        let (zero, tile) = (constants.zero, job.tile);
        let splat = Splat::new(&entry.footprint, zero);
        let mark = zero.like(entry.depth as f64);
        self.geometry = [zero; GEOMETRY];
        self.colors.as_mut().fill(zero);
        let channels = self.color.as_ref().len();
        let mut touched = false;
        for (row, columns) in rows {
            for column in columns {
                let at = row * tile.blocks[0] + column;
                let block = &mut job.state.blocks[at];
                let active = mark.lt(zero.load(&block.last[lane..]));
                if !zero.any(active) {
                    continue;
                }
                let samples = [&tile.samples[0][column], &tile.samples[1][row]];
                let sample = samples.map(
                    #[inline(always)]
                    |s| zero.load(&s[lane..]),
                );
                let alpha = alpha_at(&splat, constants, sample);
                let active = zero.and(active, alpha.visible);
                if !zero.any(active) {
                    continue;
                }
                let channels = &mut job.state.channels[at * channels..(at + 1) * channels];
                let pair = Pair { splat: &splat, alpha, active };
                self.step(&pair, constants, block, channels, lane);
                touched = true;
            }
        }
        touched
    }

    /// The vector-Jacobian product of one Gaussian's blending into some pixels of a block.
    #[inline(always)]
    fn step(
        &mut self,
        pair: &Pair<'_, L>,
        constants: &Constants<L>,
        block: &mut Block<L::Elem>,
        channels: &mut [Channel<L::Elem>],
        lane: usize,
    ) {
        let Pair { splat, alpha: Alpha { offset, gauss, alpha, .. }, active } = *pair;
        let zero = constants.zero;
        let one_minus = constants.one - alpha;
        let t_before = zero.load(&block.transmittance[lane..]);
        let t = t_before / one_minus;
        let pixel = self.v_pixel.as_mut().iter_mut().zip(self.behind.as_mut());
        for ((v, behind), channel) in pixel.zip(channels.iter()) {
            *v = zero.load(&channel.v_pixel[lane..]);
            *behind = zero.load(&channel.behind[lane..]);
        }
        let blended = blend_vjp(
            alpha,
            t,
            self.color.as_ref(),
            self.v_pixel.as_ref(),
            self.behind.as_mut(),
            self.v_color.as_mut(),
        );
        let t_final = zero.load(&block.final_transmittance[lane..]);
        let v_alpha = blended + (t_final / one_minus) * zero.load(&block.through[lane..]);
        let gradient = alpha_vjp(splat.conic, offset, splat.opacity, gauss, v_alpha);
        let flows = constants.gradient_flows(active, splat.opacity * gauss);
        for (sum, value) in self.geometry.iter_mut().zip(gradient.to_array()) {
            *sum = *sum + value.or_else(flows, zero);
        }
        for (sum, &value) in self.colors.as_mut().iter_mut().zip(self.v_color.as_ref()) {
            *sum = *sum + value.or_else(active, zero);
        }
        t.or_else(active, t_before).store(&mut block.transmittance[lane..]);
        for (&behind, channel) in self.behind.as_ref().iter().zip(channels) {
            let slot = &mut channel.behind[lane..];
            behind.or_else(active, zero.load(slot)).store(slot);
        }
    }

    /// Writes the sums to their places in a block.
    #[inline(always)]
    fn store_sums(&self, places: &mut [PerPixel<L::Elem>], lane: usize) {
        let sums = self.geometry.iter().chain(self.colors.as_ref());
        for (place, sum) in places.iter_mut().zip(sums) {
            sum.store(&mut place[lane..]);
        }
    }
}

/// A Gaussian at some pixels, and where it contributes.
struct Pair<'a, L: Lanes> {
    splat: &'a Splat<L>,
    alpha: Alpha<L>,
    active: L::Mask,
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::splat::convention::Convention;
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
            for number in 0..view.lists.tile_offsets.len() - 1 {
                let tile = Tile::new(&view, number);
                let start = view.lists.range(number).start;
                let job = || {
                    let state = TileState::new(&view, &loss, &tile, start);
                    let ids = &view.lists.flatten_ids[start..start + state.entries];
                    TileJob { view: &view, footprints: &footprints, tile: &tile, ids, state }
                };
                let bits = |sums: TileSums<f64>| {
                    (sums.ids, sums.sums.into_iter().map(f64::to_bits).collect::<Vec<_>>())
                };
                assert!(
                    bits(f64::with_lanes(job())) == bits(job().run(0.0)),
                    "tile {number} depends on the width of a row"
                );
            }
        }
    }
}
