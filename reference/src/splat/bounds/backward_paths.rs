//! One pixel on its way back, along every path that undecided comparisons leave open.

use super::alpha::{BoundedAlpha, MAX_PATHS, stops, value_stops};
use super::forward_subsets::ForwardSubsets;
use crate::arithmetic::{Bounded, ExtraRoundings, Model, Scalar, Tristate};
use crate::splat::backward::rasterize::GEOMETRY;
use crate::splat::convention::ClampGradient;
use crate::splat::formulated::{BackwardView, Ends, Start, beyond, in_front, unblend};
use crate::splat::formulation::{Formulation, WalkOrder};
use crate::splat::pair::{alpha_vjp, one_term};
use crate::splat::tile::Entry;
use crate::splat::view::RasterView;

/// One way through a pixel's list.
#[derive(Clone)]
pub(super) struct Path<M> {
    /// The transmittance that the walk comes to the next Gaussian with.
    pub(super) t: Bounded<M>,
    /// What the formulation keeps of the light: see [`crate::splat::formulated`].
    pub(super) remainder: Vec<Bounded<M>>,
    /// Whether the pixel has stopped, which a walk from the front decides again.
    stopped: bool,
    /// The [`ForwardSubsets`] that it may still be; all bits where none are known.
    ways: u64,
}

impl<M> Path<M> {
    fn new(t: Bounded<M>, remainder: Vec<Bounded<M>>) -> Self {
        Self { t, remainder, stopped: false, ways: u64::MAX }
    }
}

/// A pixel on its way back.
pub(super) struct BackwardPaths<'a, M> {
    pub(super) paths: Vec<Path<M>>,
    formulation: Formulation,
    decides_stops: bool,
    /// What the program's own forward pass may have decided, where that is known.
    ways: Option<ForwardSubsets>,
    /// The depth in front of which that ended, likewise.
    end: Option<usize>,
    v_pixel: &'a [Bounded<M>],
    ends: Ends<Bounded<M>>,
    /// `[6 + D]` the terms of the last step, over all paths.
    pub(super) terms: Vec<Bounded<M>>,
    v_color: Vec<Bounded<M>>,
    pub(super) undecided: u64,
}

/// What a program may do with a pair.
#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Skips,
    Stops,
    Takes,
}

impl<'a, M: Model> BackwardPaths<'a, M> {
    /// A pixel that has come to transmittance `t` with `remainder`.
    pub(super) fn at(
        view: &RasterView<'_, Bounded<M>>,
        inputs: &BackwardView<'a, Bounded<M>>,
        pixel: usize,
        t: Bounded<M>,
        remainder: Vec<Bounded<M>>,
    ) -> Self {
        let channels = view.splats.channels;
        let mut start = vec![Bounded::from_f64(0.0); channels];
        let Start { ends, .. } = inputs.start(view.background, pixel, &mut start);
        Self {
            paths: vec![Path::new(t, remainder)],
            formulation: inputs.formulation(),
            decides_stops: inputs.decides_stops(),
            ways: None,
            end: None,
            v_pixel: inputs.v_pixel(pixel, channels),
            ends,
            terms: vec![Bounded::from_f64(0.0); GEOMETRY + channels],
            v_color: start,
            undecided: 0,
        }
    }

    /// A pixel with this final transmittance and these gradients of its colour and opacity, in the
    /// standard formulation.
    pub(super) fn from(
        view: &RasterView<'_, Bounded<M>>,
        t_final: Bounded<M>,
        v_pixel: &'a [Bounded<M>],
        v_render_alpha: Bounded<M>,
    ) -> Self {
        let (channels, formulation) = (view.splats.channels, Formulation::STANDARD);
        let mut remainder = vec![Bounded::from_f64(0.0); channels];
        let numbers = [t_final, v_render_alpha];
        let start =
            Start::new(formulation, view.background, numbers, [v_pixel, &[]], &mut remainder);
        Self {
            paths: vec![Path::new(start.t, remainder)],
            formulation,
            decides_stops: false,
            ways: None,
            end: None,
            v_pixel,
            ends: start.ends,
            terms: vec![Bounded::from_f64(0.0); GEOMETRY + channels],
            v_color: vec![Bounded::from_f64(0.0); channels],
            undecided: 0,
        }
    }

    /// With what the program's own forward pass may have decided, which ended in front of depth `end`.
    pub(super) fn along(mut self, ways: Option<ForwardSubsets>, end: usize) -> Self {
        self.end = Some(end);
        if let Some(ways) = &ways {
            self.paths.iter_mut().for_each(|path| path.ways = ways.all());
        }
        self.ways = ways;
        self
    }

    /// Goes on from a checkpoint, whatever the paths were: it is the same for all of them.
    pub(super) fn resume(&mut self, t: Bounded<M>, remainder: Vec<Bounded<M>>) {
        self.paths = vec![Path::new(t, remainder)];
    }

    /// Whether any path goes on.
    pub(super) fn live(&self) -> bool {
        self.paths.iter().any(|path| !path.stopped)
    }

    /// Differentiates one pair along every path; `terms` then covers all of them. Gives whether the
    /// pair is taken on any path: whether the terms may be other than 0.
    pub(super) fn step(
        &mut self,
        view: &RasterView<'_, Bounded<M>>,
        entry: &Entry<Bounded<M>>,
        pair: &BoundedAlpha<M>,
    ) -> bool {
        let taken = match self.formulation.walk() {
            WalkOrder::Back if pair.visible == Tristate::Always => {
                for i in 0..self.paths.len() {
                    self.take(view, entry, pair, i, i > 0);
                }
                true
            }
            WalkOrder::Back if self.ways.is_some() => self.step_along(view, entry, pair),
            WalkOrder::Back => {
                self.step_back(view, entry, pair);
                true
            }
            WalkOrder::Front => self.step_on(view, entry, pair),
        };
        if self.paths.len() > MAX_PATHS {
            self.merge();
        }
        taken
    }

    /// An undecided pair, skipped and taken along every path.
    fn step_back(
        &mut self,
        view: &RasterView<'_, Bounded<M>>,
        entry: &Entry<Bounded<M>>,
        pair: &BoundedAlpha<M>,
    ) {
        self.undecided += 1;
        // Skipping: the paths as they are, and zero terms.
        let skipping = self.paths.clone();
        for i in 0..self.paths.len() {
            self.take(view, entry, pair, i, i > 0);
        }
        let zero = Bounded::from_f64(0.0);
        if pair.value_visible {
            self.terms.iter_mut().for_each(|term| *term = term.or(zero));
            self.paths.extend(skipping);
        } else {
            self.terms.iter_mut().for_each(|term| *term = zero.or(*term));
            let taken = std::mem::replace(&mut self.paths, skipping);
            self.paths.extend(taken);
        }
    }

    /// An undecided pair, skipped and taken as far as the forward pass may have skipped or taken it. What
    /// f64 does comes first where it is possible, and the first path's terms are the values.
    fn step_along(
        &mut self,
        view: &RasterView<'_, Bounded<M>>,
        entry: &Entry<Bounded<M>>,
        pair: &BoundedAlpha<M>,
    ) -> bool {
        self.undecided += 1;
        let (before, mut taken) = (std::mem::take(&mut self.paths), false);
        for takes in [pair.value_visible, !pair.value_visible] {
            for path in &before {
                let fork =
                    |ways: &ForwardSubsets| ways.fork(path.ways, entry.depth)[usize::from(takes)];
                let ways = self.ways.as_ref().map_or(path.ways, fork);
                if ways == 0 {
                    continue;
                }
                self.paths.push(Path { ways, ..path.clone() });
                let (i, widen) = (self.paths.len() - 1, self.paths.len() > 1);
                if takes {
                    self.take(view, entry, pair, i, widen);
                    taken = true;
                } else {
                    self.nothing(widen);
                }
            }
        }
        taken
    }

    /// A step of a walk from the front: each path skips the pair, stops at it or takes it, as far as
    /// each is possible. What f64 does comes first, so the oracle's path stays the first, and the
    /// terms' values are its own.
    fn step_on(
        &mut self,
        view: &RasterView<'_, Bounded<M>>,
        entry: &Entry<Bounded<M>>,
        pair: &BoundedAlpha<M>,
    ) -> bool {
        let (before, mut taken) = (std::mem::take(&mut self.paths), false);
        self.undecided += u64::from(pair.visible == Tristate::Undecided);
        for path in before {
            if path.stopped {
                self.nothing(!self.paths.is_empty());
                self.paths.push(path);
                continue;
            }
            let around = [path.t, beyond(self.formulation, pair.alpha, path.t)];
            let stop =
                if self.decides_stops { stops(around, view.convention) } else { Tristate::Never };
            self.undecided += u64::from(stop == Tristate::Undecided);
            let oracle = if !pair.value_visible {
                Outcome::Skips
            } else if self.decides_stops && value_stops(around, view.convention) {
                Outcome::Stops
            } else {
                Outcome::Takes
            };
            let may = |outcome| match outcome {
                Outcome::Skips => pair.visible != Tristate::Always,
                Outcome::Stops => stop != Tristate::Never,
                Outcome::Takes => stop != Tristate::Always,
            };
            let others = [Outcome::Skips, Outcome::Stops, Outcome::Takes].into_iter();
            let others = others.filter(|&outcome| outcome != oracle && may(outcome));
            let mut possible: Vec<_> = std::iter::once(oracle).chain(others).collect();
            let as_before =
                |&outcome: &Outcome| self.as_before(path.ways, outcome, entry.depth) != 0;
            if possible.iter().any(as_before) {
                possible.retain(as_before);
            }
            for outcome in possible {
                let ways = match self.as_before(path.ways, outcome, entry.depth) {
                    0 => path.ways,
                    ways => ways,
                };
                self.paths.push(Path { ways, ..path.clone() });
                let (i, widen) = (self.paths.len() - 1, self.paths.len() > 1);
                match outcome {
                    Outcome::Skips => self.nothing(widen),
                    Outcome::Stops => {
                        self.nothing(widen);
                        self.paths[i].stopped = true;
                    }
                    Outcome::Takes => {
                        self.take(view, entry, pair, i, widen);
                        taken = true;
                    }
                }
            }
        }
        taken
    }

    /// Which of the ways `left` the program's own forward pass may have gone that did this with the pair at
    /// `depth`: it took none from its end on, and did not stop before. All of them where it is not known.
    fn as_before(&self, left: u64, outcome: Outcome, depth: usize) -> u64 {
        let [skips, takes] = self.ways.as_ref().map_or([left; 2], |ways| ways.fork(left, depth));
        match (outcome, self.end) {
            (_, None) => left,
            (Outcome::Skips, Some(_)) => skips,
            (Outcome::Takes, Some(end)) if depth < end => takes,
            (Outcome::Stops, Some(end)) if depth >= end => left,
            (Outcome::Takes | Outcome::Stops, Some(_)) => 0,
        }
    }

    /// Terms of 0, which replace `terms` or widen them.
    fn nothing(&mut self, widen: bool) {
        let zero = Bounded::from_f64(0.0);
        for term in &mut self.terms {
            *term = if widen { term.or(zero) } else { zero };
        }
    }

    /// Moves path `i` past the pair; its terms replace `terms` or widen them.
    fn take(
        &mut self,
        view: &RasterView<'_, Bounded<M>>,
        entry: &Entry<Bounded<M>>,
        pair: &BoundedAlpha<M>,
        i: usize,
        widen: bool,
    ) {
        let Path { t, remainder, .. } = &mut self.paths[i];
        let before = in_front(self.formulation, pair.alpha, *t);
        *t = beyond(self.formulation, pair.alpha, before);
        let mut remainder = std::mem::take(remainder);
        self.differentiate(view, entry, pair, before, &mut remainder, widen);
        self.paths[i].remainder = remainder;
    }

    /// The terms of a pair with transmittance `t` in front of it and a `remainder`, which then is that
    /// beyond the pair. They replace `terms` or widen them.
    pub(super) fn differentiate(
        &mut self,
        view: &RasterView<'_, Bounded<M>>,
        entry: &Entry<Bounded<M>>,
        pair: &BoundedAlpha<M>,
        t: Bounded<M>,
        remainder: &mut [Bounded<M>],
        widen: bool,
    ) {
        let color = view.splats.color(entry.id);
        let (pixel, v_color) = (self.v_pixel, &mut self.v_color);
        let at = [pair.alpha, t];
        let v_alpha = unblend(self.formulation, at, self.ends, color, pixel, remainder, v_color);
        let splat = &entry.footprint;
        let extra = self.formulation.extra_roundings();
        let (flows, gauss) = through_the_clamp(view, entry, pair, extra);
        let gradient = alpha_vjp(splat.conic, pair.offset, splat.opacity, gauss, v_alpha, extra);
        let geometry = gradient.to_array().map(|term| cut_off(term, flows));
        for (slot, &term) in self.terms.iter_mut().zip(geometry.iter().chain(&self.v_color)) {
            *slot = if widen { slot.or(term) } else { term };
        }
    }

    /// Leaves the oracle's path, one that covers all others that go on and one that covers all others
    /// that have stopped.
    pub(super) fn merge(&mut self) {
        let rest = self.paths.split_off(1);
        for stopped in [false, true] {
            let mut same = rest.iter().filter(|path| path.stopped == stopped);
            let Some(first) = same.next() else { continue };
            let mut merged = first.clone();
            for path in same {
                merged.t = merged.t.or(path.t);
                merged.ways |= path.ways;
                for (mine, &theirs) in merged.remainder.iter_mut().zip(&path.remainder) {
                    *mine = mine.or(theirs);
                }
            }
            self.paths.push(merged);
        }
    }
}

/// Whether alpha's gradient is that without a clamp, and what the f64 oracle decides.
pub(super) fn gradient_flows<M: Model>(
    view: &RasterView<'_, Bounded<M>>,
    entry: &Entry<Bounded<M>>,
    pair: &BoundedAlpha<M>,
    extra: ExtraRoundings,
) -> (Tristate, bool) {
    match view.convention.alpha_clamp_gradient {
        ClampGradient::PassThrough => (Tristate::Always, true),
        ClampGradient::Zero | ClampGradient::Clamped => {
            let raw = one_term(entry.footprint.opacity * pair.gauss, extra);
            let alpha_max = Bounded::from_f64(view.convention.alpha_max);
            (!alpha_max.less(raw), !alpha_max.value_less(raw))
        }
    }
}

/// Whether alpha's gradient passes the clamp at `alpha_max`, what the f64 oracle decides, and exp(power) as
/// the gradient goes on with it.
fn through_the_clamp<M: Model>(
    view: &RasterView<'_, Bounded<M>>,
    entry: &Entry<Bounded<M>>,
    pair: &BoundedAlpha<M>,
    extra: ExtraRoundings,
) -> ((Tristate, bool), Bounded<M>) {
    let flows = gradient_flows(view, entry, pair, extra);
    match view.convention.alpha_clamp_gradient {
        ClampGradient::PassThrough | ClampGradient::Zero => (flows, pair.gauss),
        ClampGradient::Clamped => {
            let of_clamped = Bounded::from_f64(view.convention.alpha_max) / entry.footprint.opacity;
            let gauss = match flows {
                (Tristate::Always, _) => pair.gauss,
                (Tristate::Never, _) => of_clamped,
                (Tristate::Undecided, true) => pair.gauss.or(of_clamped),
                (Tristate::Undecided, false) => of_clamped.or(pair.gauss),
            };
            ((Tristate::Always, true), gauss)
        }
    }
}

fn cut_off<M: Model>(term: Bounded<M>, (flows, value_flows): (Tristate, bool)) -> Bounded<M> {
    let zero = Bounded::from_f64(0.0);
    match flows {
        Tristate::Always => term,
        Tristate::Never => zero,
        Tristate::Undecided if value_flows => term.or(zero),
        Tristate::Undecided => zero.or(term),
    }
}
