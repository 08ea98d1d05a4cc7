//! Which of a pixel's undecided pairs its own forward pass can have taken.
//!
//! A pair whose visibility rounding leaves open is followed both ways by a backward pass, since the numbers
//! that the walk starts with are as a rule another program's: that one may have decided otherwise. Where
//! they are the forward outputs of the program that is judged, it has decided already, and a backward
//! pass that decides otherwise divides the transmittance by other factors than it was multiplied by: the
//! gradients of all that lies in front are wrong by the pair's alpha, and the transmittance may come out
//! above 1.
//!
//! # What contradicts
//!
//! Let `last` and `T` be what the forward pass stored for a pixel, and `S` the pairs that it took. Then
//!
//! 1. no pair behind `last` is in S, and `last` itself is, since it is the last *contributor*. So a walk
//!    that ends at `last` and skips it contradicts, however open its own threshold is.
//! 2. S has every pair in front of `last` that is visible whatever the roundings, and none that is not.
//! 3. The pass did not stop in front of any pair of S, so it cannot have if the transmittance that decides
//!    it is below the minimum whatever the roundings.
//! 4. `T` is the product of `1 - alpha` over S in f32. Walked over `Bounded`, that product is an interval
//!    F(S), which holds every f32 evaluation of it whatever the legal roundings (the argument of
//!    [`super::forward`]). So S contradicts if T lies outside F(S).
//!
//! Each S with none of these contradictions is a *way*. The program's own S is always one: it meets 1 to
//! 3 by what a forward pass is, and 4 by the bounds that its transmittance was judged by. A backward pass
//! that takes the same pairs so stays within the bounds, which follow every way.
//!
//! A walk from the front, which decides the stop again, takes no pair behind `last` either and stops
//! at none in front of it, by point 1 and what a stop is.
//!
//! An undecided pair has alpha near `alpha_min` as a rule, and a factor of 1 - 1/255 is thousands of
//! roundings of T: point 4 tells how many such pairs were taken. Which of several it cannot tell where
//! their alphas are alike, so ways with as many of them remain, and are all followed.
//!
//! Where the final transmittance is one minus a stored opacity, F(S) is rounded twice more on the way to
//! it: 1 - (1 - F(S)).

#[cfg(test)]
mod tests;

use super::alpha::{alpha_at, stops};
use crate::arithmetic::{Arith, Bounded, ExtraRoundings, Model, Scalar, Tristate, rounded};
use crate::splat::formulation::FinalT;
use crate::splat::reach::Footprint;
use crate::splat::view::RasterView;

/// Subsets that are told apart: each has a bit.
const MOST: usize = 64;

/// The ways of a pixel's forward pass, as bits of a number.
#[derive(Debug)]
pub(super) struct ForwardSubsets {
    /// The undecided pairs by depth, each with the ways that take it.
    pairs: Vec<(usize, u64)>,
    /// The subsets that nothing contradicts.
    all: u64,
}

/// One way on its way to the last contributor.
#[derive(Clone)]
struct Way<M> {
    t: Bounded<M>,
    /// Whether it takes each undecided pair.
    takes: Vec<bool>,
}

/// What the forward pass stored for a pixel, and as what.
#[derive(Clone, Copy)]
pub(super) struct Stored<M> {
    pub(super) t: Bounded<M>,
    pub(super) as_what: FinalT,
    pub(super) extra: ExtraRoundings,
}

impl ForwardSubsets {
    /// The ways to a pixel at `sample` whose last contributor is the last of `footprints`, which are
    /// those of its list's beginning. Where they are too many, no more is known than that they end there.
    /// `None` where each contradicts, as where the numbers are another program's.
    pub(super) fn new<'f, M: Model>(
        view: &RasterView<'_, Bounded<M>>,
        footprints: impl ExactSizeIterator<Item = &'f Footprint<Bounded<M>>>,
        sample: [Bounded<M>; 2],
        stored: Stored<M>,
    ) -> Option<Self> {
        let Stored { extra, .. } = stored;
        let mut ways = vec![Way { t: Bounded::from_f64(1.0), takes: Vec::new() }];
        let mut depths = Vec::new();
        let last = footprints.len().checked_sub(1)?;
        for (depth, footprint) in footprints.enumerate() {
            let pair = alpha_at(view, footprint, sample, extra);
            let Some(pair) = pair else {
                // Nobody's forward pass ends at a pair that it cannot have taken.
                if depth == last {
                    return None;
                }
                continue;
            };
            let mut skipping = Vec::new();
            if pair.visible == Tristate::Undecided {
                depths.push(depth);
                if depth < last {
                    skipping.clone_from(&ways);
                }
                skipping.iter_mut().for_each(|way| way.takes.push(false));
                ways.iter_mut().for_each(|way| way.takes.push(true));
            }
            ways.retain_mut(|way| {
                let in_front = way.t;
                let terms = [in_front, pair.alpha * in_front];
                way.t = rounded!(in_front * (Bounded::from_f64(1.0) - pair.alpha), extra, terms);
                stops([in_front, way.t], view.convention) != Tristate::Always
            });
            ways.append(&mut skipping);
            if ways.len() > MOST {
                return Some(Self::ending_at(last));
            }
        }
        ways.retain(|way| stored.may_be(way.t));
        Self::of(&ways, &depths)
    }

    /// Any way that takes the last contributor, whatever it does before.
    fn ending_at(last: usize) -> Self {
        Self { pairs: vec![(last, 1)], all: 1 }
    }

    fn of<M>(ways: &[Way<M>], depths: &[usize]) -> Option<Self> {
        let all = (0..ways.len()).fold(0, |bits, way| bits | 1 << way);
        let takes = |place: usize| {
            let taking = ways.iter().enumerate().filter(|(_, way)| way.takes[place]);
            taking.fold(0, |bits: u64, (way, _)| bits | 1 << way)
        };
        let pairs = depths.iter().enumerate().map(|(place, &depth)| (depth, takes(place)));
        (all != 0).then(|| Self { pairs: pairs.collect(), all })
    }

    /// The subsets that nothing contradicts.
    pub(super) fn all(&self) -> u64 {
        self.all
    }

    /// Which of the ways `left` go on where the pair at `depth` is skipped, and where it is taken.
    pub(super) fn fork(&self, left: u64, depth: usize) -> [u64; 2] {
        match self.pairs.binary_search_by_key(&depth, |&(depth, _)| depth) {
            Ok(place) => [left & !self.pairs[place].1, left & self.pairs[place].1],
            Err(_) => [left; 2],
        }
    }
}

impl<M: Model> Stored<M> {
    /// Whether a forward pass that came to `t` may have stored this. A number that is not one is what
    /// it may be.
    fn may_be(self, t: Bounded<M>) -> bool {
        let one = Bounded::from_f64(1.0);
        let found = match self.as_what {
            FinalT::Stored | FinalT::Recomputed => t,
            FinalT::OneMinusAlpha => one - (one - t),
        };
        let ([low, high], [least, most]) = (found.ends(), self.t.ends());
        !(high < least) && !(most < low)
    }
}
