//! The checkpoints that a walk forward leaves for a backward pass of one lane per Gaussian.

use super::view::Checkpoints;
use crate::arithmetic::{Lanes, Scalar};
use crate::splat::rasterize::{Alpha, Constants, Splat, alpha_at};
use crate::splat::reach::{Footprint, footprints};
use crate::splat::view::RasterView;

/// [`Checkpoints`] with the arrays that they refer to.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointArrays<S> {
    /// See [`Checkpoints::every`].
    pub every: u32,
    /// See [`Checkpoints::first`].
    pub first: Vec<u32>,
    /// See [`Checkpoints::states`].
    pub states: Vec<S>,
}

impl<S: Copy> CheckpointArrays<S> {
    /// As the backward stage reads them.
    #[must_use]
    pub fn view(&self) -> Checkpoints<'_, S> {
        Checkpoints { every: self.every, first: &self.first, states: &self.states }
    }

    /// The same numbers over another scalar.
    pub fn map<R>(&self, f: impl FnMut(S) -> R) -> CheckpointArrays<R> {
        CheckpointArrays {
            every: self.every,
            first: self.first.clone(),
            states: self.states.iter().copied().map(f).collect(),
        }
    }
}

/// Walks every pixel forward and notes where it is at every `every`-th entry of its tile's list, from
/// the first on.
#[must_use]
pub fn checkpoints<S: Scalar + Lanes<Elem = S, Mask = bool>>(
    view: &RasterView<'_, S>,
    every: u32,
) -> CheckpointArrays<S> {
    let every = every.max(1);
    let [across, down] = view.lists.tile_size.map(|side| side as usize);
    let (area, row) = (across * down, 1 + view.splats.channels);
    let footprints = footprints(view);
    let mut out = CheckpointArrays { every, first: vec![0], states: Vec::new() };
    let mut count = 0;
    for tile in 0..view.lists.tile_offsets.len() - 1 {
        let ids = &view.lists.flatten_ids[view.lists.range(tile)];
        let start = out.states.len();
        let more = ids.chunks(every as usize).map(|_| 1u32).sum::<u32>();
        count += more;
        out.first.push(count);
        out.states.resize(start + more as usize * area * row, S::from_f64(0.0));
        let [x0, y0, w, h] = view.tile_rect(tile);
        for place in (0..area).filter(|place| place % across < w && place / across < h) {
            let at = [x0 + place % across, y0 + place / across];
            let sample = at.map(|i| S::from_f64(view.sample(i)));
            pixel(view, &footprints, ids, sample, every as usize, |number, state| {
                let at = start + (number * area + place) * row;
                out.states[at..at + row].copy_from_slice(state);
            });
        }
    }
    out
}

/// One pixel's walk; `note` gets each checkpoint's number and state, until the pixel stops.
fn pixel<S: Scalar + Lanes<Elem = S, Mask = bool>>(
    view: &RasterView<'_, S>,
    footprints: &[Footprint<S>],
    ids: &[u32],
    sample: [S; 2],
    every: usize,
    mut note: impl FnMut(usize, &[S]),
) {
    let (zero, one) = (S::from_f64(0.0), S::from_f64(1.0));
    let constants = Constants::new(view.convention, zero);
    let mut state = vec![zero; 1 + view.splats.channels];
    state[0] = one;
    for (depth, &id) in ids.iter().enumerate() {
        if depth % every == 0 {
            note(depth / every, &state);
        }
        let splat = Splat::new(&footprints[id as usize], zero);
        let Alpha { alpha, visible, .. } = alpha_at(&splat, &constants, sample);
        if !visible {
            continue;
        }
        let next = state[0] * (one - alpha);
        if constants.stops(state[0], next) {
            return;
        }
        let weight = alpha * state[0];
        for (slot, &color) in state[1..].iter_mut().zip(view.splats.color(id as usize)) {
            *slot = color.mul_add(weight, *slot);
        }
        state[0] = next;
    }
}
