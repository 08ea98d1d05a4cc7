//! A tile's pixels on their walk back, in lanes and by themselves.

use crate::arithmetic::{Bounded, ElementBound, Lanes, Model, Scalar};
use crate::splat::backward::rasterize::GEOMETRY;
use crate::splat::bounds::alpha::alpha_at;
use crate::splat::bounds::backward_paths::BackwardPaths;
use crate::splat::bounds::forward_subsets::{ForwardSubsets, Stored};
use crate::splat::bounds::lanes::{Cells, samples};
use crate::splat::formulated::{BackwardView, Start, light_behind};
use crate::splat::reach::Footprint;
use crate::splat::tile::{BLOCK, Entries, Entry, PerPixel, Pixel, Tile};
use crate::splat::view::RasterView;

/// A block's pixels on the way back.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// Depth in the tile's list at which the walk ends: that of the last contributor plus 1; 0 for
    /// none, outside the image and where the pixel has stopped or left the lanes.
    pub(super) last: PerPixel<f64>,
    pub(super) t: Cells,
    pub(super) t_final: Cells,
    /// See [`parts`](crate::splat::formulated::Ends::parts).
    pub(super) parts: [Cells; 2],
    /// Whether a pixel has left the lanes.
    pub(super) left: bool,
}

/// One channel of a block's pixels.
#[derive(Clone, Copy)]
pub(super) struct Channel {
    pub(super) v_pixel: Cells,
    pub(super) remainder: Cells,
}

/// One tile's walk.
pub(in crate::splat::bounds) struct TileJob<'a, M> {
    pub(in crate::splat::bounds) view: &'a RasterView<'a, Bounded<M>>,
    pub(in crate::splat::bounds) inputs: &'a BackwardView<'a, Bounded<M>>,
    pub(in crate::splat::bounds) footprints: &'a [Footprint<Bounded<M>>],
    pub(in crate::splat::bounds) number: usize,
}

/// What one tile adds up: `[entries, stride]` and the pixels counted per entry.
#[derive(Debug, PartialEq)]
pub(in crate::splat::bounds) struct TileSums {
    pub(in crate::splat::bounds) elements: Vec<ElementBound>,
    pub(in crate::splat::bounds) counts: Vec<u32>,
    pub(in crate::splat::bounds) undecided: u64,
}

/// A tile's pixels and what they have added up.
pub(super) struct TileState<'a, M> {
    pub(super) view: &'a RasterView<'a, Bounded<M>>,
    pub(super) inputs: &'a BackwardView<'a, Bounded<M>>,
    footprints: &'a [Footprint<Bounded<M>>],
    /// Where the tile's list begins.
    list: usize,
    /// Entries that may be walked.
    pub(super) length: usize,
    pub(super) tile: Tile<Bounded<M>>,
    pub(super) samples: [Vec<Cells>; 2],
    pub(super) blocks: Vec<Block>,
    /// `[blocks, D]`
    pub(super) channels: Vec<Channel>,
    /// `[blocks, D]` the remainders at the start of the walks, where these begin at checkpoints; else
    /// empty.
    starts: Vec<Cells>,
    /// `[blocks, 8]` the pixels that have left the lanes, with their `last`.
    pub(super) walks: Vec<Option<(f64, BackwardPaths<'a, M>)>>,
    /// Whether there is one.
    any_left: bool,
    pub(super) sums: TileSums,
    /// Where terms of the entry at hand are left out: above 0 for each pixel of each block whose term is
    /// not. Empty where none is left out.
    pub(super) kept: Vec<PerPixel<f64>>,
}

impl<'a, M: Model> TileState<'a, M> {
    pub(super) fn new(job: &TileJob<'a, M>) -> Self {
        let (view, inputs) = (job.view, job.inputs);
        let (tile, list) = (Tile::new(view, job.number), view.lists.range(job.number));
        let (d, zero) = (view.splats.channels, Cells::all(Bounded::<M>::from_f64(0.0)));
        let one = Cells::all(Bounded::<M>::from_f64(1.0));
        let block = Block {
            last: PerPixel::all(0.0),
            t: one,
            t_final: zero,
            parts: [zero; 2],
            left: false,
        };
        let mut blocks = vec![block; tile.len()];
        let mut channels = vec![Channel { v_pixel: zero, remainder: zero }; d * tile.len()];
        let mut length = 0;
        let mut remainder = vec![Bounded::from_f64(0.0); d];
        for Pixel { index, block, lane, .. } in tile.pixels(view.width as usize) {
            let Some(end) = inputs.end(index, &list) else { continue };
            length = length.max(end);
            let Start { t, ends } = inputs.start(view.background, index, &mut remainder);
            let numbers = inputs.v_pixel(index, d).iter().zip(&remainder);
            for (channel, (&v, &rest)) in channels[block * d..].iter_mut().zip(numbers) {
                channel.v_pixel.set(lane, v);
                channel.remainder.set(lane, rest);
            }
            let block = &mut blocks[block];
            block.last[lane] = end as f64;
            block.t.set(lane, t);
            block.t_final.set(lane, ends.t_final);
            block.parts.iter_mut().zip(ends.parts).for_each(|(cells, part)| cells.set(lane, part));
        }
        let starts = match inputs.checkpoint(0) {
            Some(_) => channels.iter().map(|channel| channel.remainder).collect(),
            None => Vec::new(),
        };
        let sums = TileSums { elements: Vec::new(), counts: Vec::new(), undecided: 0 };
        let walks = (0..tile.len() * BLOCK).map(|_| None).collect();
        let samples = samples(&tile);
        let (footprints, list) = (job.footprints, list.start);
        Self {
            view,
            inputs,
            footprints,
            list,
            length,
            tile,
            samples,
            blocks,
            channels,
            starts,
            walks,
            any_left: false,
            sums,
            kept: Vec::new(),
        }
    }

    /// Goes on to an entry of which the terms of these places of the tile are left out.
    #[inline(always)]
    pub(super) fn keep(&mut self, omitted: Option<[u64; 4]>) {
        match omitted {
            None => self.kept.clear(),
            Some(places) => self.leave_out(places),
        }
    }

    #[cold]
    fn leave_out(&mut self, places: [u64; 4]) {
        let (width, size) = (self.view.width as usize, self.view.lists.tile_size);
        self.kept = vec![PerPixel::all(1.0); self.blocks.len()];
        for pixel in self.tile.pixels(width) {
            let place = pixel.place(size);
            if places.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1) {
                self.kept[pixel.block][pixel.lane] = 0.0;
            }
        }
    }

    /// Makes room for the sums of the first `length` entries: a walk from the front may end early.
    pub(super) fn make_room(&mut self, length: usize) {
        let length = length.max(self.sums.counts.len());
        let stride = GEOMETRY + self.view.splats.channels;
        self.sums.counts.resize(length, 0);
        self.sums.elements.resize(length * stride, ElementBound::default());
    }

    /// Whether any pixel walks on at this depth.
    pub(super) fn walks_on(&self, depth: usize) -> bool {
        let further = |&last: &f64| last > depth as f64;
        self.blocks.iter().any(|block| block.last.iter().any(further))
            || self.walks.iter().flatten().any(|(last, _)| further(last))
    }

    /// Puts every pixel that walks on at this depth to checkpoint `number` of tile `at`.
    #[inline(always)]
    pub(super) fn resume<L: Lanes<Elem = f64>>(
        &mut self,
        [at, number]: [usize; 2],
        depth: usize,
        lanes: L,
    ) {
        self.gather([at, number], depth);
        let extra = self.inputs.formulation().extra_roundings();
        for (channel, start) in self.channels.iter_mut().zip(&self.starts) {
            for lane in (0..BLOCK).step_by(L::LANES) {
                let all: Bounded<M, L> = start.load(lanes, lane);
                let in_front = channel.remainder.load(lanes, lane);
                channel.remainder.store(lane, light_behind(all, in_front, extra));
            }
        }
        if self.any_left {
            self.resume_alone();
        }
    }

    /// Copies what the checkpoint holds of every pixel that walks on: its transmittance, and in place of
    /// the remainder the light in front.
    #[cold]
    fn gather(&mut self, [at, number]: [usize; 2], depth: usize) {
        let (d, width) = (self.view.splats.channels, self.view.width as usize);
        let size = self.view.lists.tile_size;
        for pixel in self.tile.pixels(width) {
            let Pixel { block, lane, .. } = pixel;
            let walk = self.any_left.then(|| self.walks[block * BLOCK + lane].as_ref()).flatten();
            let end = walk.map_or(self.blocks[block].last[lane], |&(end, _)| end);
            if end <= depth as f64 {
                continue;
            }
            let noted = self.inputs.noted([at, number, pixel.place(size)], size, d);
            self.blocks[block].t.set(lane, noted[0]);
            for (channel, &in_front) in self.channels[block * d..].iter_mut().zip(&noted[1..]) {
                channel.remainder.set(lane, in_front);
            }
        }
    }

    /// Hands the state of pixels that have left the lanes to their walks.
    fn resume_alone(&mut self) {
        let d = self.view.splats.channels;
        for (i, walk) in self.walks.iter_mut().enumerate() {
            let Some((_, walk)) = walk else { continue };
            let (block, lane) = (i / BLOCK, i % BLOCK);
            let channels = &self.channels[block * d..(block + 1) * d];
            let rest = channels.iter().map(|channel| channel.remainder.get(lane)).collect();
            walk.resume(self.blocks[block].t.get(lane), rest);
        }
    }

    /// Lets pixels go on by themselves.
    #[cold]
    pub(super) fn leave(&mut self, flags: PerPixel<f64>, at: usize) {
        let (d, width) = (self.view.splats.channels, self.view.width as usize);
        (self.any_left, self.blocks[at].left) = (true, true);
        for pixel in self.tile.pixels(width).filter(|p| p.block == at && flags[p.lane] > 0.0) {
            let channels = &self.channels[at * d..(at + 1) * d];
            let rest = channels.iter().map(|channel| channel.remainder.get(pixel.lane)).collect();
            let block = &self.blocks[at];
            let (t, end) = (block.t.get(pixel.lane), block.last[pixel.lane]);
            let mut walk = BackwardPaths::at(self.view, self.inputs, pixel.index, t, rest);
            if let Some(end) = self.inputs.own_end(pixel.index, self.list) {
                walk = walk.along(self.ways(&pixel, end, at), end);
            }
            self.walks[at * BLOCK + pixel.lane] = Some((end, walk));
            self.blocks[at].last[pixel.lane] = 0.0;
        }
    }

    /// What the pixel's own forward pass may have decided, which ended in front of depth `end`.
    fn ways(&self, pixel: &Pixel, end: usize, at: usize) -> Option<ForwardSubsets> {
        let [row, column] = [at / self.tile.blocks[0], at % self.tile.blocks[0]];
        let [x, y] = &self.tile.samples;
        let sample = [x[column][pixel.lane], y[row][pixel.lane]];
        let ids = &self.view.lists.flatten_ids[self.list..self.list + end];
        let footprints = ids.iter().map(|&id| &self.footprints[id as usize]);
        let formulation = self.inputs.formulation();
        let stored = Stored {
            t: self.blocks[at].t_final.get(pixel.lane),
            as_what: formulation.final_t(),
            extra: formulation.extra_roundings(),
        };
        ForwardSubsets::new(self.view, footprints, sample, stored)
    }

    /// Differentiates one Gaussian's blending into the pixels that have left the lanes.
    #[inline(always)]
    pub(super) fn unblend_alone(
        &mut self,
        entries: &Entries<Bounded<M>>,
        entry: &Entry<Bounded<M>>,
    ) {
        if !self.any_left {
            return;
        }
        for at in entries.blocks(entry) {
            if self.blocks[at].left {
                self.unblend_block(entry, at);
            }
        }
    }

    #[cold]
    fn unblend_block(&mut self, entry: &Entry<Bounded<M>>, at: usize) {
        let [column, row] = self.tile.places[at];
        for lane in 0..BLOCK {
            let Some((end, walk)) = &mut self.walks[at * BLOCK + lane] else { continue };
            if entry.depth as f64 >= *end {
                continue;
            }
            let sample = [self.tile.samples[0][column][lane], self.tile.samples[1][row][lane]];
            let extra = self.inputs.formulation().extra_roundings();
            let Some(pair) = alpha_at(self.view, &entry.footprint, sample, extra) else { continue };
            let kept = self.kept.get(at).is_none_or(|kept| kept[lane] > 0.0);
            if walk.step(self.view, entry, &pair) && kept {
                self.sums.counts[entry.depth] += 1;
                let slots = &mut self.sums.elements[entry.depth * walk.terms.len()..];
                slots.iter_mut().zip(&walk.terms).for_each(|(slot, &term)| slot.add(term));
            }
            if !walk.live() {
                *end = 0.0;
            }
        }
    }
}
