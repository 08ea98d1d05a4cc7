//! Bounds of backward rasterization of one tile: pixels in lanes while every comparison is decided,
//! by themselves from the first that is not.

use super::alpha_at;
use super::backward::{TileSums, Walk};
use super::lanes::{self, Alpha, Cells, Constants, Splat, flags, samples};
use crate::arithmetic::ElementBound;
use crate::arithmetic::{Bounded, Decided, LaneJob, Lanes, Model, Scalar};
use crate::splat::backward::rasterize::{GEOMETRY, add_places};
use crate::splat::pair::{alpha_vjp, blend_vjp, v_minus_transmittance};
use crate::splat::reach::Footprint;
use crate::splat::tile::{BATCH, BLOCK, Entries, Entry, PerPixel, Pixel, Tile};
use crate::splat::view::{LossView, RasterView};

/// A block's pixels on the way back.
#[derive(Clone, Copy)]
struct Block {
    /// Depth in the tile's list of the last contributor plus 1; 0 for none, outside the image and
    /// where the pixel has left the lanes.
    last: PerPixel<f64>,
    t: Cells,
    t_final: Cells,
    /// See [`v_minus_transmittance`].
    through: Cells,
    /// Whether a pixel has left the lanes.
    left: bool,
}

/// One channel of a block's pixels.
#[derive(Clone, Copy)]
struct Channel {
    v_pixel: Cells,
    behind: Cells,
}

/// One tile's walk back to front.
pub(super) struct TileJob<'a, M> {
    pub(super) view: &'a RasterView<'a, Bounded<M>>,
    pub(super) loss: &'a LossView<'a, Bounded<M>>,
    pub(super) footprints: &'a [Footprint<Bounded<M>>],
    pub(super) number: usize,
}

impl<M: Model> LaneJob<f64> for TileJob<'_, M> {
    type Output = TileSums;

    #[inline(always)]
    fn run<L: Lanes<Elem = f64>>(self, lanes: L) -> TileSums {
        let state = TileState::new(&self);
        self.walk(state, lanes)
    }
}

impl<M: Model> TileJob<'_, M> {
    #[inline(always)]
    fn walk<L: Lanes<Elem = f64>>(self, mut state: TileState<'_, M>, lanes: L) -> TileSums {
        let Self { view, footprints, .. } = self;
        let constants = Constants::new(view.convention, lanes);
        let mut scratch = Scratch::new(&constants, view.splats.channels);
        let start = view.lists.range(self.number).start;
        let ids = &view.lists.flatten_ids[start..start + state.sums.counts.len()];
        let mut entries = Entries::new();
        for (batch, ids) in ids.chunks(BATCH).enumerate().rev() {
            entries.fill(&state.tile, footprints, view.splats, ids, batch * BATCH);
            for entry in entries.list.iter().rev() {
                scratch.begin(view.splats.color(entry.id), &constants);
                for lane in (0..BLOCK).step_by(L::LANES) {
                    scratch.unblend(&mut state, &entries, entry, &constants, lane);
                    scratch.store_sums(lane);
                }
                scratch.add_up(&mut state.sums, entry.depth);
                state.unblend_alone(&entries, entry);
            }
        }
        state.sums.undecided = state.walks.iter().flatten().map(|(_, walk)| walk.undecided).sum();
        state.sums
    }
}

/// A tile's pixels and what they have added up.
struct TileState<'a, M> {
    view: &'a RasterView<'a, Bounded<M>>,
    loss: &'a LossView<'a, Bounded<M>>,
    tile: Tile<Bounded<M>>,
    samples: [Vec<Cells>; 2],
    blocks: Vec<Block>,
    /// `[blocks, D]`
    channels: Vec<Channel>,
    /// `[blocks, 8]` the pixels that have left the lanes, with their `last`.
    walks: Vec<Option<(f64, Walk<'a, M>)>>,
    sums: TileSums,
}

impl<'a, M: Model> TileState<'a, M> {
    fn new(job: &TileJob<'a, M>) -> Self {
        let (view, loss) = (job.view, job.loss);
        let (tile, start) = (Tile::new(view, job.number), view.lists.range(job.number).start);
        let (d, zero) = (view.splats.channels, Cells::all(Bounded::<M>::from_f64(0.0)));
        let one = Cells::all(Bounded::<M>::from_f64(1.0));
        let block = Block { last: [0.0; BLOCK], t: one, t_final: zero, through: zero, left: false };
        let mut blocks = vec![block; tile.len()];
        let mut channels = vec![Channel { v_pixel: zero, behind: zero }; d * tile.len()];
        let mut length = 0;
        for Pixel { index, block, lane } in tile.pixels(view.width as usize) {
            let Ok(last) = usize::try_from(loss.last_ids[index]) else { continue };
            let end = last + 1 - start;
            length = length.max(end);
            let v = &loss.v_render_colors[index * d..(index + 1) * d];
            for (channel, &v) in channels[block * d..].iter_mut().zip(v) {
                channel.v_pixel.set(lane, v);
            }
            let block = &mut blocks[block];
            block.last[lane] = end as f64;
            block.t.set(lane, loss.transmittance[index]);
            block.t_final.set(lane, loss.transmittance[index]);
            let through = v_minus_transmittance(view.background, v, loss.v_render_alphas[index]);
            block.through.set(lane, through);
        }
        let sums = TileSums {
            elements: vec![ElementBound::default(); length * (GEOMETRY + d)],
            counts: vec![0; length],
            undecided: 0,
        };
        let walks = (0..tile.len() * BLOCK).map(|_| None).collect();
        let samples = samples(&tile);
        Self { view, loss, tile, samples, blocks, channels, walks, sums }
    }

    /// Lets pixels go on by themselves.
    #[cold]
    fn leave(&mut self, flags: PerPixel<f64>, at: usize) {
        let (d, width) = (self.view.splats.channels, self.view.width as usize);
        self.blocks[at].left = true;
        for pixel in self.tile.pixels(width).filter(|p| p.block == at && flags[p.lane] > 0.0) {
            let channels = &self.channels[at * d..(at + 1) * d];
            let behind = channels.iter().map(|channel| channel.behind.get(pixel.lane)).collect();
            let block = &mut self.blocks[at];
            let (t, end) = (block.t.get(pixel.lane), block.last[pixel.lane]);
            let walk = Walk::at(self.view, self.loss, pixel.index, t, behind);
            self.walks[at * BLOCK + pixel.lane] = Some((end, walk));
            block.last[pixel.lane] = 0.0;
        }
    }

    /// Differentiates one Gaussian's blending into the pixels that have left the lanes.
    #[inline(always)]
    fn unblend_alone(&mut self, entries: &Entries<Bounded<M>>, entry: &Entry<Bounded<M>>) {
        for (row, columns) in entries.rows(entry) {
            for column in columns {
                if self.blocks[row * self.tile.blocks[0] + column].left {
                    self.unblend_block(entry, row, column);
                }
            }
        }
    }

    #[cold]
    fn unblend_block(&mut self, entry: &Entry<Bounded<M>>, row: usize, column: usize) {
        let at = row * self.tile.blocks[0] + column;
        for lane in 0..BLOCK {
            let Some((end, walk)) = &mut self.walks[at * BLOCK + lane] else { continue };
            if entry.depth as f64 >= *end {
                continue;
            }
            let sample = [self.tile.samples[0][column][lane], self.tile.samples[1][row][lane]];
            let Some(pair) = alpha_at(self.view, &entry.footprint, sample) else { continue };
            walk.step(self.view, entry, &pair);
            self.sums.counts[entry.depth] += 1;
            let slots = &mut self.sums.elements[entry.depth * walk.terms.len()..];
            slots.iter_mut().zip(&walk.terms).for_each(|(slot, &term)| slot.add(term));
        }
    }
}

/// The sum of a term over the blocks, place by place.
#[derive(Clone, Copy)]
struct Sum<L> {
    value: L,
    magnitude: L,
    radius: L,
}

impl<L: Lanes<Elem = f64>> Sum<L> {
    #[inline(always)]
    fn add<M: Model>(&mut self, term: Bounded<M, L>, mask: L::Mask, zero: L) {
        let (value, radius) = (term.center(), term.radius());
        self.value = self.value + value.or_else(mask, zero);
        self.magnitude = self.magnitude + term.magnitude().or_else(mask, zero);
        self.radius = self.radius + radius.or_else(mask, zero);
    }
}

/// What a Gaussian's walk over a tile's blocks needs besides the pixels' own state.
struct Scratch<M, L> {
    color: Vec<Bounded<M, L>>,
    v_pixel: Vec<Bounded<M, L>>,
    behind: Vec<Bounded<M, L>>,
    v_color: Vec<Bounded<M, L>>,
    /// `[6 + D]`, in registers and for all places of a block.
    sums: Vec<Sum<L>>,
    places: Vec<Sum<PerPixel<f64>>>,
    /// Pixels that contribute, likewise.
    count: L,
    counts: PerPixel<f64>,
}

impl<M: Model, L: Lanes<Elem = f64>> Scratch<M, L> {
    #[inline(always)]
    fn new(constants: &Constants<M, L>, channels: usize) -> Self {
        let (zeros, zero) = (constants.zero, constants.zero.center());
        let sum = Sum { value: zero, magnitude: zero, radius: zero };
        let place = [0.0; BLOCK];
        let place = Sum { value: place, magnitude: place, radius: place };
        Self {
            color: vec![zeros; channels],
            v_pixel: vec![zeros; channels],
            behind: vec![zeros; channels],
            v_color: vec![zeros; channels],
            sums: vec![sum; GEOMETRY + channels],
            places: vec![place; GEOMETRY + channels],
            count: zero,
            counts: [0.0; BLOCK],
        }
    }

    #[inline(always)]
    fn begin(&mut self, color: &[Bounded<M>], constants: &Constants<M, L>) {
        let zero = constants.zero.center();
        for (slot, &color) in self.color.iter_mut().zip(color) {
            *slot = Bounded::splat(zero, color);
        }
    }

    /// Differentiates one Gaussian's blending into the pixels from `lane` on of all its blocks.
    #[inline(always)]
    fn unblend(
        &mut self,
        state: &mut TileState<'_, M>,
        entries: &Entries<Bounded<M>>,
        entry: &Entry<Bounded<M>>,
        constants: &Constants<M, L>,
        lane: usize,
    ) {
        let lanes = constants.zero.center();
        let splat = Splat::new(&entry.footprint, lanes);
        let depth = lanes.like(entry.depth as f64);
        self.sums.fill(Sum { value: lanes, magnitude: lanes, radius: lanes });
        self.count = lanes;
        let d = self.color.len();
        for (row, columns) in entries.rows(entry) {
            for column in columns {
                let at = row * state.tile.blocks[0] + column;
                let block = &mut state.blocks[at];
                let active = depth.lt(lanes.load(&block.last[lane..]));
                if !lanes.any(active) {
                    continue;
                }
                let sample = [
                    state.samples[0][column].load(lanes, lane),
                    state.samples[1][row].load(lanes, lane),
                ];
                let Some(alpha) = lanes::alpha_at(&splat, constants, sample, active) else {
                    continue;
                };
                let takes = lanes.and(active, alpha.visible);
                let leaves = lanes.and(active, lanes.not(alpha.skipped));
                let leaves = lanes.and(leaves, lanes.not(takes));
                if lanes.any(takes) {
                    let channels = &mut state.channels[at * d..(at + 1) * d];
                    self.step(&splat, &alpha, takes, constants, block, channels, lane);
                }
                if lanes.any(leaves) {
                    state.leave(flags(lanes, leaves, lane), at);
                }
            }
        }
    }

    /// The vector-Jacobian product of one Gaussian's blending into some pixels of a block.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "the state of a block is in two arrays")]
    fn step(
        &mut self,
        splat: &Splat<M, L>,
        alpha: &Alpha<M, L>,
        takes: L::Mask,
        constants: &Constants<M, L>,
        block: &mut Block,
        channels: &mut [Channel],
        lane: usize,
    ) {
        let (lanes, zero) = (constants.zero.center(), constants.zero);
        let one_minus = constants.one - alpha.alpha;
        let t_before: Bounded<M, L> = block.t.load(lanes, lane);
        let t = t_before / one_minus;
        let pixel = self.v_pixel.iter_mut().zip(&mut self.behind);
        for ((v, behind), channel) in pixel.zip(channels.iter()) {
            *v = channel.v_pixel.load(lanes, lane);
            *behind = channel.behind.load(lanes, lane);
        }
        let Self { color, v_pixel, behind, v_color, sums, count, .. } = self;
        let (color, v_pixel, behind) = (color, v_pixel, behind);
        let blended = blend_vjp(alpha.alpha, t, color, v_pixel, behind, v_color);
        let t_final: Bounded<M, L> = block.t_final.load(lanes, lane);
        let v_alpha = blended + (t_final / one_minus) * block.through.load(lanes, lane);
        let gradient =
            alpha_vjp(splat.conic, alpha.offset, splat.opacity, alpha.gauss, v_alpha).to_array();
        let clamps = constants.clamps(alpha.raw);
        let value_clamps = constants.alpha_max.center().lt(alpha.raw.center());
        for (i, (sum, &term)) in sums.iter_mut().zip(gradient.iter().chain(&*v_color)).enumerate() {
            let term = match &clamps {
                Some(clamps) if i < GEOMETRY => cut(term, clamps, value_clamps, zero),
                _ => term,
            };
            sum.add(term, takes, lanes);
        }
        *count = *count + lanes.like(1.0).or_else(takes, lanes);
        block.t.store(lane, t.or_else(takes, t_before));
        for (&after, channel) in behind.iter().zip(channels) {
            let before = channel.behind.load(lanes, lane);
            channel.behind.store(lane, after.or_else(takes, before));
        }
    }

    /// Writes the sums to their places in a block.
    #[inline(always)]
    fn store_sums(&mut self, lane: usize) {
        for (places, sum) in self.places.iter_mut().zip(&self.sums) {
            sum.value.store(&mut places.value[lane..]);
            sum.magnitude.store(&mut places.magnitude[lane..]);
            sum.radius.store(&mut places.radius[lane..]);
        }
        self.count.store(&mut self.counts[lane..]);
    }

    /// Adds the sums over the blocks to the entry's.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of pixels of a tile"
    )]
    fn add_up(&self, to: &mut TileSums, depth: usize) {
        to.counts[depth] += add_places(&self.counts) as u32;
        let slots = to.elements[depth * self.sums.len()..].iter_mut();
        for (slot, places) in slots.zip(&self.places) {
            slot.value += add_places(&places.value);
            slot.magnitude += add_places(&places.magnitude);
            slot.radius += add_places(&places.radius);
        }
    }
}

/// A term as it passes the clamp at `alpha_max`, where the convention cuts it off: `clamps` says
/// whether the opacity before the clamp is above it.
#[inline(always)]
fn cut<M: Model, L: Lanes<Elem = f64>>(
    term: Bounded<M, L>,
    clamps: &Decided<L::Mask>,
    value_clamps: L::Mask,
    zero: Bounded<M, L>,
) -> Bounded<M, L> {
    let lanes = zero.center();
    let decided = zero.or_else(clamps.always, term);
    let open = lanes.and(lanes.not(clamps.always), lanes.not(clamps.never));
    if !lanes.any(open) {
        return decided;
    }
    zero.or(term).or_else(value_clamps, term.or(zero)).or_else(open, decided)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::dispatch;
    use crate::splat::bounds::tests::views::TestView;
    use crate::splat::reach::footprints;

    #[test]
    fn pixels_in_lanes_add_up_as_pixels_by_themselves() {
        let mut undecided = 0;
        for test in TestView::all() {
            let view = test.view();
            let loss = test.loss();
            let footprints = footprints(&view);
            for number in 0..view.lists.tile_offsets.len() - 1 {
                let job = || TileJob { view: &view, loss: &loss, footprints: &footprints, number };
                let (wide, single) = (dispatch(job()), job().run(0.0));
                assert_eq!(wide, single, "tile {number}: lanes of another width");
                let mut alone = TileState::new(&job());
                for block in 0..alone.tile.len() {
                    alone.leave(alone.blocks[block].last.map(|last| last.min(1.0)), block);
                }
                let alone = job().walk(alone, 0.0);
                assert_eq!(wide.counts, alone.counts, "tile {number}: all pixels alone");
                assert_eq!(wide.undecided, alone.undecided, "tile {number}: all pixels alone");
                let stride = GEOMETRY + view.splats.channels;
                for (i, (a, b)) in wide.elements.iter().zip(&alone.elements).enumerate() {
                    // The same terms in another order: n terms, each sum off by n 2^-53 of the
                    // sum of magnitudes.
                    let slack = f64::from(wide.counts[i / stride]) * f64::EPSILON * a.magnitude;
                    let same =
                        |a: f64, b: f64| (a - b).abs() <= slack || a.to_bits() == b.to_bits();
                    assert!(
                        same(a.value, b.value)
                            && same(a.magnitude, b.magnitude)
                            && same(a.radius, b.radius),
                        "tile {number}, element {i}: {a:?} in lanes, {b:?} alone"
                    );
                }
                undecided += wide.undecided;
            }
        }
        assert!(undecided > 1000, "only {undecided} undecided comparisons");
    }
}
