//! Bounds of several pixels at once: the common case, in which every comparison is decided.
//!
//! The arithmetic is that of [`Bounded`] in vector registers, so that it has the same bits. A pixel
//! that meets an undecided comparison leaves the lanes and goes on by itself.

use crate::arithmetic::{Arith, Bounded, Decided, ExtraRoundings, Lanes, Model, Scalar, rounded};
use crate::splat::convention::{ClampGradient, Convention, StopRule};
use crate::splat::pair::{
    AlongX, AlongY, SlopeX, SlopeY, one_term, sigma_along, sigma_terms_along,
};
use crate::splat::reach::Footprint;
use crate::splat::tile::{PerPixel, Tile};
use std::ops::Range;

/// A bounded number for each pixel of a block.
#[derive(Clone, Copy)]
pub(super) struct Cells {
    values: PerPixel<f64>,
    radii: PerPixel<f64>,
}

impl Cells {
    pub(super) fn all<M: Model>(x: Bounded<M>) -> Self {
        Self { values: PerPixel::all(x.value()), radii: PerPixel::all(x.radius()) }
    }

    pub(super) fn get<M: Model>(&self, lane: usize) -> Bounded<M> {
        Bounded::with(self.values[lane], self.radii[lane])
    }

    pub(super) fn set<M: Model>(&mut self, lane: usize, x: Bounded<M>) {
        (self.values[lane], self.radii[lane]) = (x.value(), x.radius());
    }

    #[inline(always)]
    pub(super) fn load<M: Model, L: Lanes<Elem = f64>>(
        &self,
        lanes: L,
        lane: usize,
    ) -> Bounded<M, L> {
        Bounded::with(lanes.load(&self.values[lane..]), lanes.load(&self.radii[lane..]))
    }

    #[inline(always)]
    pub(super) fn store<M: Model, L: Lanes<Elem = f64>>(&mut self, lane: usize, x: Bounded<M, L>) {
        x.center().store(&mut self.values[lane..]);
        x.radius().store(&mut self.radii[lane..]);
    }
}

/// Sample points of a tile's columns and rows of blocks.
pub(super) fn samples<M: Model>(tile: &Tile<Bounded<M>>) -> [Vec<Cells>; 2] {
    [0, 1].map(|axis| {
        let cells = tile.samples[axis].iter().map(|samples| Cells {
            values: PerPixel(samples.map(Scalar::value)),
            radii: PerPixel(samples.map(Bounded::radius)),
        });
        cells.collect()
    })
}

/// The convention's constants in every lane.
pub(super) struct Constants<M, L> {
    pub(super) zero: Bounded<M, L>,
    pub(super) one: Bounded<M, L>,
    pub(super) alpha_max: Bounded<M, L>,
    alpha_min: Bounded<M, L>,
    transmittance_min: Bounded<M, L>,
    stop_rule: StopRule,
    clamp_gradient: ClampGradient,
    /// Of the power, alpha and, forward, the transmittance and the weights.
    pub(super) extra: ExtraRoundings,
}

impl<M: Model, L: Lanes<Elem = f64>> Constants<M, L> {
    #[inline(always)]
    pub(super) fn new(convention: &Convention, lanes: L, extra: ExtraRoundings) -> Self {
        let zero = Bounded::splat(lanes, Bounded::from_f64(0.0));
        Self {
            zero,
            one: zero.like(1.0),
            alpha_max: zero.like(convention.alpha_max),
            alpha_min: zero.like(convention.alpha_min),
            transmittance_min: zero.like(convention.transmittance_min),
            stop_rule: convention.stop_rule,
            clamp_gradient: convention.alpha_clamp_gradient,
            extra,
        }
    }

    /// Whether a pixel stops in front of a Gaussian with these transmittances in front of it and behind.
    #[inline(always)]
    pub(super) fn stops(&self, in_front: Bounded<M, L>, behind: Bounded<M, L>) -> Decided<L::Mask> {
        let t = self.stop_rule.deciding(in_front, behind);
        if !self.stop_rule.stops_when_equal() {
            return t.decide(self.transmittance_min);
        }
        let Decided { always, never } = self.transmittance_min.decide(t);
        Decided { always: never, never: always }
    }

    /// Whether alpha's gradient is cut off at the clamp, if the convention does that.
    #[inline(always)]
    pub(super) fn clamps(&self, raw: Bounded<M, L>) -> Option<Decided<L::Mask>> {
        match self.clamp_gradient {
            ClampGradient::PassThrough | ClampGradient::Clamped => None,
            ClampGradient::Zero => Some(self.alpha_max.decide(raw)),
        }
    }

    /// exp(power) as alpha's gradient goes on with it; both ways where it is undecided whether alpha is
    /// clamped.
    #[inline(always)]
    pub(super) fn gauss_of_gradient(
        &self,
        gauss: Bounded<M, L>,
        [opacity, raw]: [Bounded<M, L>; 2],
    ) -> Bounded<M, L> {
        match self.clamp_gradient {
            ClampGradient::PassThrough | ClampGradient::Zero => gauss,
            ClampGradient::Clamped => {
                let (clamps, of_clamped) = (self.alpha_max.decide(raw), self.alpha_max / opacity);
                let lanes = self.zero.center();
                let decided = of_clamped.or_else(clamps.always, gauss);
                let open = lanes.and(lanes.not(clamps.always), lanes.not(clamps.never));
                if !lanes.any(open) {
                    return decided;
                }
                let value_clamps = self.alpha_max.center().lt(raw.center());
                let both = of_clamped.or(gauss).or_else(value_clamps, gauss.or(of_clamped));
                both.or_else(open, decided)
            }
        }
    }
}

/// One Gaussian in every lane.
pub(super) struct Splat<M, L> {
    mean2d: [Bounded<M, L>; 2],
    pub(super) conic: [Bounded<M, L>; 3],
    pub(super) opacity: Bounded<M, L>,
}

impl<M: Model, L: Lanes<Elem = f64>> Splat<M, L> {
    #[inline(always)]
    pub(super) fn new(footprint: &Footprint<Bounded<M>>, lanes: L) -> Self {
        let ([x, y], [a, b, c]) = (footprint.mean2d, footprint.conic);
        Self {
            mean2d: [Bounded::splat(lanes, x), Bounded::splat(lanes, y)],
            conic: [Bounded::splat(lanes, a), Bounded::splat(lanes, b), Bounded::splat(lanes, c)],
            opacity: Bounded::splat(lanes, footprint.opacity),
        }
    }
}

/// A column and a row of blocks: what the power of one Gaussian needs of each.
pub(super) type Place<'a, M, L> = (&'a AlongX<Bounded<M, L>>, &'a AlongY<Bounded<M, L>>);

/// What the power of one Gaussian needs of the columns and rows of a tile's blocks that it may reach.
pub(super) struct Along<M, L> {
    columns: Vec<AlongX<Bounded<M, L>>>,
    rows: Vec<AlongY<Bounded<M, L>>>,
    /// The first column and row.
    first: [usize; 2],
}

impl<M: Model, L: Lanes<Elem = f64>> Along<M, L> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { columns: Vec::new(), rows: Vec::new(), first: [0; 2] }
    }

    /// Goes on to a Gaussian that may reach these columns and rows, for the pixels from `lane` on.
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        splat: &Splat<M, L>,
        samples: &[Vec<Cells>; 2],
        [columns, rows]: [Range<usize>; 2],
        lane: usize,
    ) {
        let lanes = splat.opacity.center();
        self.first = [columns.start, rows.start];
        self.columns.clear();
        for cells in &samples[0][columns] {
            let dx = splat.mean2d[0] - cells.load(lanes, lane);
            self.columns.push(AlongX::new(splat.conic, dx));
        }
        self.rows.clear();
        for cells in &samples[1][rows] {
            let dy = splat.mean2d[1] - cells.load(lanes, lane);
            self.rows.push(AlongY::new(splat.conic, dy));
        }
    }

    /// Where a column and a row meet.
    #[inline(always)]
    pub(super) fn at(&self, column: usize, row: usize) -> Place<'_, M, L> {
        (&self.columns[column - self.first[0]], &self.rows[row - self.first[1]])
    }
}

/// A column and a row of blocks: what the gradient of alpha needs of each.
pub(super) type Slopes<'a, M, L> = (&'a SlopeX<Bounded<M, L>>, &'a SlopeY<Bounded<M, L>>);

/// What the gradient of one Gaussian's alpha needs of the columns and rows.
pub(super) struct AlongSlopes<M, L> {
    columns: Vec<SlopeX<Bounded<M, L>>>,
    rows: Vec<SlopeY<Bounded<M, L>>>,
}

impl<M: Model, L: Lanes<Elem = f64>> AlongSlopes<M, L> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { columns: Vec::new(), rows: Vec::new() }
    }

    /// Goes on to the Gaussian that `along` is at.
    #[inline(always)]
    pub(super) fn fill(&mut self, splat: &Splat<M, L>, along: &Along<M, L>) {
        self.columns.clear();
        for x in &along.columns {
            self.columns.push(SlopeX::beside(x));
        }
        self.rows.clear();
        for y in &along.rows {
            self.rows.push(SlopeY::beside(splat.conic, y));
        }
    }

    /// Where a column and a row of `along` meet.
    #[inline(always)]
    pub(super) fn at(&self, along: &Along<M, L>, column: usize, row: usize) -> Slopes<'_, M, L> {
        (&self.columns[column - along.first[0]], &self.rows[row - along.first[1]])
    }
}

/// alpha of some pixels, and where the pair counts or may count.
pub(super) struct Alpha<M, L: Lanes> {
    pub(super) gauss: Bounded<M, L>,
    /// Before the clamp.
    pub(super) raw: Bounded<M, L>,
    pub(super) alpha: Bounded<M, L>,
    /// Visible whatever the roundings.
    pub(super) visible: L::Mask,
    /// Skipped whatever the roundings.
    pub(super) skipped: L::Mask,
}

/// Evaluates a Gaussian at the pixels where a column and a row meet; nothing where all `wanted` pixels
/// skip it.
#[inline(always)]
pub(super) fn alpha_at<M: Model, L: Lanes<Elem = f64>>(
    splat: &Splat<M, L>,
    constants: &Constants<M, L>,
    (x, y): Place<'_, M, L>,
    wanted: L::Mask,
) -> Option<Alpha<M, L>> {
    let lanes = splat.opacity.center();
    let power = rounded!(-sigma_along(x, y), constants.extra, sigma_terms_along(x, y));
    let gauss = power.exp();
    let raw = one_term(splat.opacity * gauss, constants.extra);
    let alpha = constants.alpha_max.min(raw);
    let above = constants.zero.decide(power);
    let below = alpha.decide(constants.alpha_min);
    // Not skipped: neither certainly above nor certainly below.
    let open = lanes.and(lanes.not(above.always), lanes.not(below.always));
    let visible = lanes.and(above.never, below.never);
    lanes.any(lanes.and(wanted, open)).then_some(Alpha {
        gauss,
        raw,
        alpha,
        visible,
        skipped: lanes.not(open),
    })
}

/// The lanes in which a mask holds, as 1 and 0.
#[inline(always)]
pub(super) fn flags<L: Lanes<Elem = f64>>(lanes: L, mask: L::Mask, lane: usize) -> PerPixel<f64> {
    let mut flags = PerPixel::all(0.0);
    lanes.like(1.0).or_else(mask, lanes.like(0.0)).store(&mut flags[lane..]);
    flags
}
