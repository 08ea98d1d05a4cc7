//! Bounds of backward rasterization of one tile: pixels in lanes while every comparison is decided,
//! by themselves from the first that is not.

mod state;

use super::lanes::{self, Along, AlongSlopes, Alpha, Constants, Splat, flags};
use crate::arithmetic::{Bounded, Decided, LaneJob, Lanes, Model};
use crate::splat::backward::rasterize::{GEOMETRY, add_places, turn_of};
use crate::splat::formulated::{Ends, beyond, in_front, unblend};
use crate::splat::formulation::Formulation;
use crate::splat::pair::alpha_vjp_along;
use crate::splat::tile::{BATCH, BLOCK, Entries, Entry, PerPixel};
use state::{Block, Channel, TileState};
pub(super) use state::{TileJob, TileSums};

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
        let Self { view, inputs, footprints, .. } = self;
        let extra = inputs.formulation().extra_roundings();
        let constants = Constants::new(view.convention, lanes, extra);
        let mut scratch = Scratch::new(&constants, view.splats.channels);
        let start = view.lists.range(self.number).start;
        let ids = &view.lists.flatten_ids[start..start + state.length];
        let mut entries = Entries::new();
        let (batches, mut checkpoint) = (ids.len().div_ceil(BATCH), None);
        for turn in 0..batches {
            let batch = turn_of(inputs, turn, batches);
            if inputs.decides_stops() && !state.walks_on(batch * BATCH) {
                break;
            }
            let ids = &ids[batch * BATCH..ids.len().min((batch + 1) * BATCH)];
            state.make_room(batch * BATCH + ids.len());
            entries.fill(&state.tile, footprints, view.splats, ids, batch * BATCH);
            for turn in 0..entries.list.len() {
                let entry = &entries.list[turn_of(inputs, turn, entries.list.len())];
                let here = inputs.checkpoint(entry.depth);
                if let Some(number) = here.filter(|_| here != checkpoint) {
                    checkpoint = here;
                    state.resume([self.number, number], entry.depth, lanes);
                }
                scratch.begin(view.splats.color(entry.id), &constants);
                let omitted = inputs.omitted().and_then(|all| all.at(self.number, entry.depth));
                state.keep(omitted);
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
    along: Along<M, L>,
    slopes: AlongSlopes<M, L>,
    color: Vec<Bounded<M, L>>,
    v_pixel: Vec<Bounded<M, L>>,
    remainder: Vec<Bounded<M, L>>,
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
        let place = PerPixel::all(0.0);
        let place = Sum { value: place, magnitude: place, radius: place };
        Self {
            along: Along::new(),
            slopes: AlongSlopes::new(),
            color: vec![zeros; channels],
            v_pixel: vec![zeros; channels],
            remainder: vec![zeros; channels],
            v_color: vec![zeros; channels],
            sums: vec![sum; GEOMETRY + channels],
            places: vec![place; GEOMETRY + channels],
            count: zero,
            counts: PerPixel::all(0.0),
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
        let extent = entries.extent(entry, &state.tile);
        lanes.apart(
            #[inline(always)]
            || {
                self.along.fill(&splat, &state.samples, extent, lane);
                self.slopes.fill(&splat, &self.along);
            },
        );
        self.sums.fill(Sum { value: lanes, magnitude: lanes, radius: lanes });
        self.count = lanes;
        let d = self.color.len();
        for at in entries.blocks(entry) {
            let [column, row] = state.tile.places[at];
            let block = &mut state.blocks[at];
            let active = depth.lt(lanes.load(&block.last[lane..]));
            if !lanes.any(active) {
                continue;
            }
            let place = self.along.at(column, row);
            let alpha = lanes.apart(
                #[inline(always)]
                || lanes::alpha_at(&splat, constants, place, active),
            );
            let Some(alpha) = alpha else { continue };
            let takes = lanes.and(active, alpha.visible);
            let kept = match state.kept.get(at) {
                Some(kept) => lanes.lt(lanes.load(&kept[lane..])),
                None => takes,
            };
            let seen = lanes.and(active, lanes.not(alpha.skipped));
            let mut settled = takes;
            if lanes.any(takes) {
                let channels = &mut state.channels[at * d..(at + 1) * d];
                let walk = (state.inputs.formulation(), state.inputs.decides_stops());
                let open = self.step(
                    &splat,
                    &alpha,
                    [column, row],
                    walk,
                    [takes, kept],
                    constants,
                    block,
                    channels,
                    lane,
                );
                settled = lanes.and(takes, lanes.not(open));
            }
            let leaves = lanes.and(seen, lanes.not(settled));
            if lanes.any(leaves) {
                state.leave(flags(lanes, leaves, lane), at);
            }
        }
    }

    /// The vector-Jacobian product of one Gaussian's blending into some pixels of a block, of which those
    /// that are `kept` are added up; gives those of them whose stop is undecided, of which nothing has
    /// changed.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "the state of a block is in two arrays")]
    fn step(
        &mut self,
        splat: &Splat<M, L>,
        alpha: &Alpha<M, L>,
        [column, row]: [usize; 2],
        (formulation, decides_stops): (Formulation, bool),
        [takes, kept]: [L::Mask; 2],
        constants: &Constants<M, L>,
        block: &mut Block,
        channels: &mut [Channel],
        lane: usize,
    ) -> L::Mask {
        let (lanes, zero) = (constants.zero.center(), constants.zero);
        let t_before: Bounded<M, L> = block.t.load(lanes, lane);
        let [t, t_after] = lanes.apart(
            #[inline(always)]
            || {
                let t = in_front(formulation, alpha.alpha, t_before);
                [t, beyond(formulation, alpha.alpha, t)]
            },
        );
        let (mut takes, mut open) = (takes, lanes.and(takes, lanes.not(takes)));
        if decides_stops {
            let stop = constants.stops(t, t_after);
            let stops = lanes.and(takes, stop.always);
            lanes.or_else(stops, lanes.load(&block.last[lane..])).store(&mut block.last[lane..]);
            open = lanes.and(takes, lanes.and(lanes.not(stop.always), lanes.not(stop.never)));
            takes = lanes.and(takes, stop.never);
        }
        let counted = lanes.and(takes, kept);
        let pixel = self.v_pixel.iter_mut().zip(&mut self.remainder);
        for ((v, remainder), channel) in pixel.zip(channels.iter()) {
            *v = channel.v_pixel.load(lanes, lane);
            *remainder = channel.remainder.load(lanes, lane);
        }
        let Self { along, slopes, color, v_pixel, remainder, v_color, sums, count, .. } = self;
        let ends = Ends {
            t_final: block.t_final.load(lanes, lane),
            parts: [block.parts[0].load(lanes, lane), block.parts[1].load(lanes, lane)],
        };
        let (at, extra) = ([alpha.alpha, t], formulation.extra_roundings());
        let v_alpha = lanes.apart(
            #[inline(always)]
            || unblend(formulation, at, ends, color, v_pixel, remainder, v_color),
        );
        let gauss = constants.gauss_of_gradient(alpha.gauss, [splat.opacity, alpha.raw]);
        let of_alpha = [splat.opacity, gauss, v_alpha];
        let slopes = slopes.at(along, column, row);
        let gradient = lanes.apart(
            #[inline(always)]
            || alpha_vjp_along(slopes, of_alpha, extra).to_array(),
        );
        let clamps = constants.clamps(alpha.raw);
        let value_clamps = constants.alpha_max.center().lt(alpha.raw.center());
        for (i, (sum, &term)) in sums.iter_mut().zip(gradient.iter().chain(&*v_color)).enumerate() {
            let term = match &clamps {
                Some(clamps) if i < GEOMETRY => cut(term, clamps, value_clamps, zero),
                _ => term,
            };
            sum.add(term, counted, lanes);
        }
        *count = *count + lanes.like(1.0).or_else(counted, lanes);
        block.t.store(lane, t_after.or_else(takes, t_before));
        for (&after, channel) in remainder.iter().zip(channels) {
            let before = channel.remainder.load(lanes, lane);
            channel.remainder.store(lane, after.or_else(takes, before));
        }
        open
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
    use crate::arithmetic::{Wgsl, dispatch};
    use crate::splat::bounds::tests::views::TestView;
    use crate::splat::bounds::{GradientBounds, backward_as};
    use crate::splat::formulated::{BackwardView, Omitted};
    use crate::splat::formulation::WalkOrder;
    use crate::splat::reach::footprints;

    #[test]
    fn pixels_in_lanes_add_up_as_pixels_by_themselves() {
        for test in TestView::all() {
            let image = test.image();
            let noted = test.checkpoints(32);
            for formulation in Formulation::practised() {
                let front = formulation.walk() == WalkOrder::Front;
                for noted in [None, front.then(|| noted.view())] {
                    let inputs = BackwardView::new(formulation, test.loss(), Some(&image), noted);
                    let inputs = inputs.expect("everything is there");
                    let undecided = compare(&test, &inputs);
                    let few = if test.has_edges() { 300 } else { 0 };
                    assert!(undecided >= few, "{formulation}: {undecided} undecided comparisons");
                }
            }
        }
    }

    /// Half of the places are left out, then the other half: between them they make up all terms, whether
    /// a pixel walks in lanes or by itself.
    #[test]
    fn terms_that_are_left_out_are_those_that_are_missing() {
        for test in TestView::all() {
            let (view, inputs) = (test.view(), BackwardView::standard(test.loss()));
            let whole = backward_as(&view, &inputs);
            let lengths = (0..view.lists.tile_offsets.len() - 1).map(|t| view.lists.range(t).len());
            let halves = [0x3333_3333_3333_3333, 0xcccc_cccc_cccc_cccc_u64].map(|word| {
                let places = lengths.clone().map(|length| vec![[word; 4]; length]).collect();
                backward_as(&view, &inputs.without(Some(&Omitted { places })))
            });
            let n = view.splats.means2d.len();
            let terms = |of: &GradientBounds| (0..n).map(|g| of.terms(g)).collect::<Vec<_>>();
            let [a, b] = [0, 1].map(|half| terms(&halves[half]));
            let sums: Vec<_> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
            assert_eq!(sums, terms(&whole), "every term is in one of them");
            assert!(a.iter().sum::<u64>() > 0 && b.iter().sum::<u64>() > 0, "and each has some");
            let stride = whole.elements.len() / n.max(1);
            for (i, all) in whole.elements.iter().enumerate() {
                let [a, b] = [0, 1].map(|half| halves[half].elements[i]);
                // Three sums of at most so many terms, each addition off by 2^-53 of the sum of magnitudes.
                let additions = 3.0 * whole.terms(i / stride) as f64;
                let slack = additions * 0.5 * f64::EPSILON * all.magnitude;
                let near = |x: f64, y: f64| (x - y).abs() <= slack;
                assert!(
                    near(a.value + b.value, all.value)
                        && near(a.magnitude + b.magnitude, all.magnitude),
                    "element {i}: {a:?} and {b:?} are not {all:?}"
                );
            }
        }
    }

    /// Compares every tile; gives its undecided comparisons.
    fn compare(test: &TestView, inputs: &BackwardView<'_, Bounded<Wgsl>>) -> u64 {
        let (view, mut undecided) = (test.view(), 0);
        let footprints = footprints(&view);
        let formulation = inputs.formulation();
        for number in 0..view.lists.tile_offsets.len() - 1 {
            let job = || TileJob { view: &view, inputs, footprints: &footprints, number };
            let (wide, single) = (dispatch(job()), job().run(0.0));
            assert_eq!(wide, single, "{formulation}, tile {number}: lanes of another width");
            let mut alone = TileState::new(&job());
            for block in 0..alone.tile.len() {
                let flags = alone.blocks[block].last.map(|last| last.min(1.0));
                alone.leave(PerPixel(flags), block);
            }
            let alone = job().walk(alone, 0.0);
            assert_eq!(wide.counts, alone.counts, "{formulation}, tile {number}: all pixels alone");
            assert_eq!(wide.undecided, alone.undecided, "{formulation}, tile {number}: all alone");
            let stride = GEOMETRY + view.splats.channels;
            for (i, (a, b)) in wide.elements.iter().zip(&alone.elements).enumerate() {
                // The same terms in another order: n terms, each sum off by n 2^-53 of the
                // sum of magnitudes.
                let slack = f64::from(wide.counts[i / stride]) * f64::EPSILON * a.magnitude;
                let same = |a: f64, b: f64| (a - b).abs() <= slack || a.to_bits() == b.to_bits();
                assert!(
                    same(a.value, b.value)
                        && same(a.magnitude, b.magnitude)
                        && same(a.radius, b.radius),
                    "{formulation}, tile {number}, element {i}: {a:?} in lanes, {b:?} alone"
                );
            }
            undecided += wide.undecided;
        }
        undecided
    }
}
