//! A pixel on its way front to back: every path that roundings leave open.

use super::alpha::{BoundedAlpha, MAX_PATHS, stops, value_stops};
use super::weights::Weights;
use crate::arithmetic::{Arith, Bounded, ExtraRoundings, Model, Scalar, Tristate, rounded};
use crate::splat::convention::Convention;
use crate::splat::pair::one_term;

/// One way through a pixel's list.
#[derive(Clone)]
pub(super) struct Path<M> {
    pub(super) t: Bounded<M>,
    pub(super) weights: Weights,
    pub(super) colors: Vec<Bounded<M>>,
    pub(super) last: i32,
    /// Other last contributors, of paths merged into this one.
    pub(super) other_last: Vec<i32>,
    pub(super) stopped: bool,
}

impl<M: Model> Path<M> {
    /// Widens this path so that it also covers `other`.
    fn cover(&mut self, other: &Self) {
        self.t = self.t.or(other.t);
        self.weights = self.weights.or(other.weights);
        for (mine, &theirs) in self.colors.iter_mut().zip(&other.colors) {
            *mine = mine.or(theirs);
        }
        self.other_last.push(other.last);
        self.other_last.extend(&other.other_last);
    }

    fn blend(&mut self, [weight, next]: [Bounded<M>; 2], color: &[Bounded<M>], position: i32) {
        for (slot, &color) in self.colors.iter_mut().zip(color) {
            *slot = color.mul_add(weight, *slot);
        }
        self.weights = self.weights.and(self.t, weight);
        self.t = next;
        self.last = position;
        self.other_last.clear();
    }
}

/// All ways through a pixel's list; the first is the f64 oracle's.
pub(super) struct Pixel<M> {
    pub(super) paths: Vec<Path<M>>,
    /// Comparisons that were followed both ways, and those of them that may stop the pixel.
    pub(super) undecided: u64,
    pub(super) undecided_stops: u64,
    /// Of alpha, the transmittance and the weights.
    pub(super) extra: ExtraRoundings,
}

impl<M: Model> Pixel<M> {
    /// A pixel at its start.
    pub(super) fn new(channels: usize) -> Self {
        let (zero, one) = (Bounded::from_f64(0.0), Bounded::from_f64(1.0));
        Self::at(one, Weights::default(), vec![zero; channels], -1)
    }

    /// A pixel that has come so far along one path.
    pub(super) fn at(t: Bounded<M>, weights: Weights, colors: Vec<Bounded<M>>, last: i32) -> Self {
        let other_last = Vec::new();
        Self::on(vec![Path { t, weights, colors, last, other_last, stopped: false }])
    }

    /// A pixel on its way along these paths.
    pub(super) fn on(paths: Vec<Path<M>>) -> Self {
        Self { paths, undecided: 0, undecided_stops: 0, extra: ExtraRoundings::NONE }
    }

    /// The same for a program that rounds so often besides.
    pub(super) fn rounding(self, extra: ExtraRoundings) -> Self {
        Self { extra, ..self }
    }

    /// Takes one visible or perhaps visible Gaussian along every path.
    pub(super) fn step(
        &mut self,
        pair: &BoundedAlpha<M>,
        color: &[Bounded<M>],
        position: i32,
        convention: &Convention,
    ) {
        for i in 0..self.paths.len() {
            if self.paths[i].stopped {
                continue;
            }
            let mut taken = i;
            if pair.visible == Tristate::Undecided {
                self.undecided += 1;
                let copy = self.paths[i].clone();
                self.paths.push(copy);
                if !(i == 0 && pair.value_visible) {
                    taken = self.paths.len() - 1;
                }
            }
            self.take(taken, pair.alpha, color, position, convention);
        }
        if self.paths.len() > MAX_PATHS {
            self.merge();
        }
    }

    /// Blends along path `i`, or stops it.
    fn take(
        &mut self,
        i: usize,
        alpha: Bounded<M>,
        color: &[Bounded<M>],
        position: i32,
        convention: &Convention,
    ) {
        let t = self.paths[i].t;
        let next = rounded!(t * (Bounded::from_f64(1.0) - alpha), self.extra, [t, alpha * t]);
        let taken = [one_term(alpha * t, self.extra), next];
        match stops([t, next], convention) {
            Tristate::Always => self.paths[i].stopped = true,
            Tristate::Never => self.paths[i].blend(taken, color, position),
            Tristate::Undecided => {
                self.undecided += 1;
                self.undecided_stops += 1;
                let mut copy = self.paths[i].clone();
                if i == 0 && value_stops([t, next], convention) {
                    self.paths[0].stopped = true;
                    copy.blend(taken, color, position);
                } else {
                    copy.stopped = true;
                    self.paths[i].blend(taken, color, position);
                }
                self.paths.push(copy);
            }
        }
    }

    /// Leaves the first path, one for all others that go on and one for all others that stopped.
    pub(super) fn merge(&mut self) {
        let rest = self.paths.split_off(1);
        for stopped in [false, true] {
            let mut same = rest.iter().filter(|path| path.stopped == stopped);
            if let Some(first) = same.next() {
                let mut merged = first.clone();
                same.for_each(|path| merged.cover(path));
                self.paths.push(merged);
            }
        }
    }

    pub(super) fn live(&self) -> bool {
        self.paths.iter().any(|path| !path.stopped)
    }
}

/// One pixel's results.
pub(super) struct Outcome<M> {
    pub(super) colors: Vec<Bounded<M>>,
    pub(super) alpha: Bounded<M>,
    pub(super) t: Bounded<M>,
    pub(super) last: i32,
    pub(super) other_last: Vec<i32>,
    pub(super) undecided: u64,
}

/// What remains known of a pixel over all its paths, in front of the background.
pub(super) fn finish<M: Model>(pixel: Pixel<M>, background: &[Bounded<M>]) -> Outcome<M> {
    // Each path is finished by itself: what hangs together on a path stays together.
    let extra = pixel.extra;
    let mut finished = pixel.paths.into_iter().map(|path| {
        let colors = path.colors.iter().zip(background).map(|(&c, &b)| c + path.t * b);
        let alpha = path.weights.opacity(path.t, extra);
        (colors.collect::<Vec<_>>(), alpha, path.t, path.last, path.other_last)
    });
    let Some((mut colors, mut alpha, mut t, last, mut other_last)) = finished.next() else {
        unreachable!("a pixel has at least the oracle's own path")
    };
    for (c, a, transmittance, l, others) in finished {
        for (mine, &theirs) in colors.iter_mut().zip(&c) {
            *mine = mine.or(theirs);
        }
        (alpha, t) = (alpha.or(a), t.or(transmittance));
        other_last.push(l);
        other_last.extend(others);
    }
    other_last.retain(|&id| id != last);
    other_last.sort_unstable();
    other_last.dedup();
    Outcome { colors, alpha, t, last, other_last, undecided: pixel.undecided }
}
