//! Bounds of forward rasterization, tile by tile: pixels in lanes while every comparison is decided,
//! by themselves from the first that is not.

use super::alpha::alpha_at;
use super::forward_paths::{Outcome, Pixel, finish};
use super::lanes::{self, Along, Cells, Constants, Place, Splat, flags, samples};
use super::weights::Weights;
use crate::arithmetic::{
    Arith, Bounded, ExtraRoundings, LaneJob, Lanes, Model, Scalar, dispatch, rounded,
};
use crate::splat::pair::one_term;
use crate::splat::rasterize::last_id;
use crate::splat::reach::{Footprint, footprints};
use crate::splat::tile::{BATCH, BLOCK, Entries, Entry, PerPixel, Tile};
use crate::splat::view::RasterView;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The image with what a conforming kernel may return for it.
#[derive(Clone, Debug)]
pub struct RasterBounds<M> {
    /// `[H,W,D]`, background included.
    pub render_colors: Vec<Bounded<M>>,
    /// `[H,W]`
    pub render_alphas: Vec<Bounded<M>>,
    /// `[H,W]`
    pub transmittance: Vec<Bounded<M>>,
    /// `[H,W]` the oracle's last contributor, -1 for none.
    pub last_ids: Vec<i32>,
    /// Further last contributors that a conforming kernel may report, by pixel.
    pub other_last_ids: BTreeMap<usize, Vec<i32>>,
    /// Comparisons that were followed both ways.
    pub undecided: u64,
}

/// What [`super::forward_rounded`] gives.
pub(super) fn in_tiles<M: Model>(
    view: &RasterView<'_, Bounded<M>>,
    extra: ExtraRoundings,
) -> RasterBounds<M> {
    let (width, height) = (view.width as usize, view.height as usize);
    let (pixels, channels) = (width * height, view.splats.channels);
    let zero = Bounded::from_f64(0.0);
    let mut out = RasterBounds {
        render_colors: vec![zero; pixels * channels],
        render_alphas: vec![zero; pixels],
        transmittance: vec![zero; pixels],
        last_ids: vec![-1; pixels],
        other_last_ids: BTreeMap::new(),
        undecided: 0,
    };
    let tiles = view.lists.tile_offsets.len() - 1;
    let footprints = footprints(view);
    let outcomes: Vec<Vec<(usize, Outcome<M>)>> = (0..tiles)
        .into_par_iter()
        .map(|number| dispatch(TileJob { view, footprints: &footprints, number, extra }))
        .collect();
    for (at, outcome) in outcomes.into_iter().flatten() {
        out.render_colors[at * channels..(at + 1) * channels].copy_from_slice(&outcome.colors);
        out.render_alphas[at] = outcome.alpha;
        out.transmittance[at] = outcome.t;
        out.last_ids[at] = outcome.last;
        out.undecided += outcome.undecided;
        if !outcome.other_last.is_empty() {
            out.other_last_ids.insert(at, outcome.other_last);
        }
    }
    out
}

/// The state of a block's pixels, the colours apart.
#[derive(Clone, Copy)]
struct Block {
    t: Cells,
    weights: Weights<PerPixel<f64>>,
    /// 1 where a pixel has stopped, has left the lanes or lies outside the image, else 0.
    stopped: PerPixel<f64>,
    /// Depth in the tile's list of the last contributor plus 1, 0 for none.
    last: PerPixel<f64>,
    /// Whether a pixel has left the lanes.
    left: bool,
}

/// One tile's walk front to back; gives the outcome of every pixel inside the image, with its index
/// there.
pub(super) struct TileJob<'a, M> {
    pub(super) view: &'a RasterView<'a, Bounded<M>>,
    pub(super) footprints: &'a [Footprint<Bounded<M>>],
    pub(super) number: usize,
    pub(super) extra: ExtraRoundings,
}

impl<M: Model> LaneJob<f64> for TileJob<'_, M> {
    type Output = Vec<(usize, Outcome<M>)>;

    #[inline(always)]
    fn run<L: Lanes<Elem = f64>>(self, lanes: L) -> Self::Output {
        let mut walk = Walk::new(self.view, self.number);
        self.walk(&mut walk, lanes);
        walk.finish(self.extra)
    }
}

impl<M: Model> TileJob<'_, M> {
    #[inline(always)]
    fn walk<L: Lanes<Elem = f64>>(&self, walk: &mut Walk<'_, M>, lanes: L) {
        let Self { view, footprints, number, extra } = *self;
        let list = view.lists.range(number);
        let constants = Constants::new(view.convention, lanes, extra);
        let (mut entries, mut along) = (Entries::new(), Along::new());
        for (batch, ids) in view.lists.flatten_ids[list].chunks(BATCH).enumerate() {
            if walk.alive == 0 {
                break;
            }
            entries.fill(&walk.tile, footprints, view.splats, ids, batch * BATCH);
            for entry in &entries.list {
                walk.blend(&entries, entry, &constants, &mut along);
            }
        }
    }
}

/// A tile on its way.
struct Walk<'a, M> {
    view: &'a RasterView<'a, Bounded<M>>,
    tile: Tile<Bounded<M>>,
    samples: [Vec<Cells>; 2],
    /// Position of the tile's first entry in `flatten_ids`.
    start: usize,
    blocks: Vec<Block>,
    /// `[blocks, D]`
    colors: Vec<Cells>,
    /// `[blocks, 8]` the pixels that have left the lanes.
    pixels: Vec<Option<Pixel<M>>>,
    /// Whether there is one.
    any_left: bool,
    /// Pixels that have not stopped.
    alive: usize,
}

impl<'a, M: Model> Walk<'a, M> {
    fn new(view: &'a RasterView<'a, Bounded<M>>, number: usize) -> Self {
        let tile = Tile::new(view, number);
        let (zero, one) = (Bounded::<M>::from_f64(0.0), Bounded::<M>::from_f64(1.0));
        let block = Block {
            t: Cells::all(one),
            weights: Weights { sum: PerPixel::all(0.0), terms: PerPixel::all(0.0) },
            stopped: PerPixel::all(1.0),
            last: PerPixel::all(0.0),
            left: false,
        };
        let mut blocks = vec![block; tile.len()];
        for pixel in tile.pixels(0) {
            blocks[pixel.block].stopped[pixel.lane] = 0.0;
        }
        Self {
            view,
            samples: samples(&tile),
            start: view.lists.range(number).start,
            blocks,
            colors: vec![Cells::all(zero); tile.len() * view.splats.channels],
            pixels: (0..tile.len() * BLOCK).map(|_| None).collect(),
            any_left: false,
            alive: tile.size[0] * tile.size[1],
            tile,
        }
    }

    /// Blends one Gaussian into the tile.
    #[inline(always)]
    fn blend<L: Lanes<Elem = f64>>(
        &mut self,
        entries: &Entries<Bounded<M>>,
        entry: &Entry<Bounded<M>>,
        constants: &Constants<M, L>,
        along: &mut Along<M, L>,
    ) {
        let splat = Splat::new(&entry.footprint, constants.one.center());
        for lane in (0..BLOCK).step_by(L::LANES) {
            along.fill(&splat, &self.samples, entries.extent(entry, &self.tile), lane);
            for block in entries.blocks(entry) {
                let [column, row] = self.tile.places[block];
                let place = along.at(column, row);
                let leaves = self.step(&splat, entry, constants, place, [block, lane]);
                if let Some(leaves) = leaves {
                    self.leave(leaves, block, constants.extra);
                }
            }
        }
        self.blend_alone(entries, entry);
    }

    /// Blends one Gaussian into the pixels that have left the lanes.
    #[inline(always)]
    fn blend_alone(&mut self, entries: &Entries<Bounded<M>>, entry: &Entry<Bounded<M>>) {
        if !self.any_left {
            return;
        }
        for at in entries.blocks(entry) {
            if self.blocks[at].left {
                self.step_alone(entry, at);
            }
        }
    }

    /// Blends one Gaussian into the pixels of a block from `lane` on whose comparisons are all
    /// decided; gives those that have to leave.
    #[inline(always)]
    fn step<L: Lanes<Elem = f64>>(
        &mut self,
        splat: &Splat<M, L>,
        entry: &Entry<Bounded<M>>,
        constants: &Constants<M, L>,
        place: Place<'_, M, L>,
        [at, lane]: [usize; 2],
    ) -> Option<PerPixel<f64>> {
        let lanes = constants.one.center();
        let block = &mut self.blocks[at];
        let one = lanes.like(1.0);
        let stopped = lanes.load(&block.stopped[lane..]);
        let running = stopped.lt(one);
        if !lanes.any(running) {
            return None;
        }
        let alpha = lanes::alpha_at(splat, constants, place, running)?;
        let t = block.t.load(lanes, lane);
        let next =
            rounded!(t * (constants.one - alpha.alpha), constants.extra, [t, alpha.alpha * t]);
        let stops = constants.stops(t, next);
        let visible = lanes.and(running, alpha.visible);
        let takes = lanes.and(visible, stops.never);
        let stop = lanes.and(visible, stops.always);
        let settled = lanes.and(lanes.not(takes), lanes.not(stop));
        let leaves = lanes.and(lanes.and(running, lanes.not(alpha.skipped)), settled);
        let weight = one_term(alpha.alpha * t, constants.extra);
        let channels = self.view.splats.channels;
        let colors = &mut self.colors[at * channels..(at + 1) * channels];
        for (cells, &color) in colors.iter_mut().zip(self.view.splats.color(entry.id)) {
            let before: Bounded<M, L> = cells.load(lanes, lane);
            let after = Bounded::splat(lanes, color).mul_add(weight, before);
            cells.store(lane, after.or_else(takes, before));
        }
        let before = Weights {
            sum: lanes.load(&block.weights.sum[lane..]),
            terms: lanes.load(&block.weights.terms[lane..]),
        };
        let after = before.and(t, weight);
        after.sum.or_else(takes, before.sum).store(&mut block.weights.sum[lane..]);
        after.terms.or_else(takes, before.terms).store(&mut block.weights.terms[lane..]);
        block.t.store(lane, next.or_else(takes, t));
        let mark = lanes.like((entry.depth + 1) as f64);
        mark.or_else(takes, lanes.load(&block.last[lane..])).store(&mut block.last[lane..]);
        let still = stopped.or_else(lanes.not(stop), one);
        still.or_else(lanes.not(leaves), one).store(&mut block.stopped[lane..]);
        if lanes.any(stop) {
            self.alive -= flags(lanes, stop, lane).iter().filter(|&&flag| flag > 0.0).count();
        }
        lanes.any(leaves).then(
            #[inline(always)]
            || flags(lanes, leaves, lane),
        )
    }

    /// Lets pixels go on by themselves.
    #[cold]
    fn leave(&mut self, flags: PerPixel<f64>, at: usize, extra: ExtraRoundings) {
        let (channels, block) = (self.view.splats.channels, &mut self.blocks[at]);
        (self.any_left, block.left) = (true, true);
        for (lane, _) in flags.iter().enumerate().filter(|&(_, &flag)| flag > 0.0) {
            let colors = &self.colors[at * channels..(at + 1) * channels];
            let colors = colors.iter().map(|cells| cells.get(lane)).collect();
            let last = last_id(block.last[lane], self.start);
            let pixel = Pixel::at(block.t.get(lane), block.weights.of(lane), colors, last);
            self.pixels[at * BLOCK + lane] = Some(pixel.rounding(extra));
        }
    }

    /// Blends one Gaussian into the pixels of a block that have left the lanes.
    #[cold]
    fn step_alone(&mut self, entry: &Entry<Bounded<M>>, at: usize) {
        let [column, row] = self.tile.places[at];
        let position = i32::try_from(self.start + entry.depth).unwrap_or(i32::MAX);
        let color = self.view.splats.color(entry.id);
        for lane in 0..BLOCK {
            let Some(pixel) = &mut self.pixels[at * BLOCK + lane] else { continue };
            if !pixel.live() {
                continue;
            }
            let sample = [self.tile.samples[0][column][lane], self.tile.samples[1][row][lane]];
            if let Some(pair) = alpha_at(self.view, &entry.footprint, sample, pixel.extra) {
                pixel.step(&pair, color, position, self.view.convention);
                if !pixel.live() {
                    self.alive -= 1;
                }
            }
        }
    }

    /// Puts every pixel over the background.
    fn finish(mut self, extra: ExtraRoundings) -> Vec<(usize, Outcome<M>)> {
        let (channels, background) = (self.view.splats.channels, self.view.background);
        let pixels = self.tile.pixels(self.view.width as usize);
        pixels
            .map(|at| {
                let pixel = self.pixels[at.block * BLOCK + at.lane].take().unwrap_or_else(|| {
                    let block = &self.blocks[at.block];
                    let colors = &self.colors[at.block * channels..(at.block + 1) * channels];
                    let colors = colors.iter().map(|cells| cells.get(at.lane)).collect();
                    let last = last_id(block.last[at.lane], self.start);
                    let weights = block.weights.of(at.lane);
                    Pixel::at(block.t.get(at.lane), weights, colors, last).rounding(extra)
                });
                (at.index, finish(pixel, background))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::dispatch;
    use crate::splat::bounds::tests::views::{TestView, bits};
    use crate::splat::reach::footprints;

    #[test]
    fn pixels_in_lanes_have_the_bits_of_pixels_by_themselves() {
        let (mut undecided, extra) = (0, ExtraRoundings::NONE);
        for test in TestView::all() {
            let view = test.view();
            let footprints = footprints(&view);
            for number in 0..view.lists.tile_offsets.len() - 1 {
                let job = || TileJob { view: &view, footprints: &footprints, number, extra };
                let mut alone = Walk::new(&view, number);
                for block in 0..alone.tile.len() {
                    let flags = alone.blocks[block].stopped.map(|stopped| 1.0 - stopped);
                    alone.leave(PerPixel(flags), block, extra);
                    alone.blocks[block].stopped = PerPixel::all(1.0);
                }
                job().walk(&mut alone, 0.0);
                let all = |outcomes: Vec<(usize, Outcome<_>)>| {
                    let all = outcomes.into_iter().map(|(at, outcome)| {
                        let Outcome { mut colors, alpha, t, last, other_last, .. } = outcome;
                        colors.extend([alpha, t]);
                        (at, bits(&colors), last, other_last)
                    });
                    all.collect::<Vec<_>>()
                };
                let wide = dispatch(job());
                undecided += wide.iter().map(|(_, outcome)| outcome.undecided).sum::<u64>();
                let wide = all(wide);
                assert_eq!(wide, all(job().run(0.0)), "tile {number}: lanes of another width");
                assert_eq!(wide, all(alone.finish(extra)), "tile {number}: all pixels alone");
            }
        }
        assert!(undecided > 1000, "only {undecided} undecided comparisons");
    }
}
