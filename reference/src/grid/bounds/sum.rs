//! A sum of numbers in any order, and what a program may lose that makes it otherwise.

use super::super::cell::{Cell, corners_of_cell};
use super::super::encoding::Encoding;
use crate::arithmetic::{ArithmeticModel, Bounded, ElementBound, LaneSum, Model, Scalar};

/// A sum of numbers in any order, by one lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub(super) element: ElementBound,
    /// Terms other than 0.
    pub(super) terms: u64,
    /// The most products on the way of a term that are exact here and may round in another order.
    pub(super) uncounted: u64,
    /// What a program may lose that goes along one axis after another.
    pub(super) along_axes: Otherwise,
    /// What a program may lose that subtracts products, where this is a sum of products of differences.
    pub(super) subtracted: Otherwise,
}

/// What a program may lose that does not make a number as a sum of products of weights and entries, or of their
/// differences: a magnitude, and how many roundings of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Otherwise {
    pub(super) roundings: u64,
    pub(super) magnitude: f64,
}

impl Otherwise {
    const NONE: Self = Self { roundings: 0, magnitude: 0.0 };

    /// Along the axes, or all but one, each time as a + t (b - a), or for t >= 1/2 as b - (1 - t)(b - a).
    ///
    /// With m the largest magnitude of the corners' entries, |b - a| <= 2 m, so a step rounds that difference and
    /// its product, 2 u 2 m, and the sum, u m: 5 u m, and passes the errors of a and b on with weights that add up
    /// to 1; for t = 0 it is a. That is 5 u m for each other axis, also where the weights of large entries are
    /// small, while the sum of weighted entries loses in proportion to what is left of them. A slope is a
    /// difference of two such numbers, times the gradient, the scale and S'(t).
    pub(super) fn along_axes<M: Model, const D: usize>(
        encoding: &Encoding,
        cell: &Cell<Bounded<M>, D>,
        but: Option<usize>,
    ) -> Self {
        if corners_of_cell(encoding, D) < 1 << D {
            return Self::NONE;
        }
        let rounds = |t: &Bounded<M>| t.value() != 0.0 || t.radius() != 0.0;
        let fractions = cell.fractions().iter().enumerate();
        let steps = fractions.filter(|(axis, t)| Some(*axis) != but && rounds(t)).count();
        Self { roundings: 5 * steps as u64, magnitude: 0.0 }
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self {
            roundings: self.roundings.max(other.roundings),
            magnitude: self.magnitude.max(other.magnitude),
        }
    }

    fn and(self, other: Self) -> Self {
        Self { magnitude: self.magnitude + other.magnitude, ..self.or(other) }
    }

    /// The radius of an element that is off by `radius` already, with `more` roundings.
    fn radius(
        self,
        more: u64,
        element: &ElementBound,
        radius: f64,
        model: &ArithmeticModel,
    ) -> f64 {
        if self.roundings == 0 || self.magnitude == 0.0 {
            return radius;
        }
        let depth = self.roundings + more;
        // As many operations as there are roundings may lose a subnormal number each.
        let own = ElementBound { magnitude: self.magnitude, radius, ..*element };
        own.tolerance(depth, depth, model)
    }
}

impl Sum {
    /// Nothing is known of it.
    pub(super) const UNKNOWN: Self = Self {
        element: ElementBound { value: f64::NAN, magnitude: f64::INFINITY, radius: f64::INFINITY },
        terms: 1,
        uncounted: 0,
        along_axes: Otherwise::NONE,
        subtracted: Otherwise::NONE,
    };

    /// Of weighted entries: what a lane adds up.
    pub(super) fn of_lane(&self) -> LaneSum {
        let magnitude = self.element.magnitude;
        LaneSum { terms: self.terms, magnitude, factor: self.along_axes.magnitude }
    }

    pub(super) fn add<M: Model>(&mut self, term: Bounded<M>) {
        self.terms += u64::from(term.magnitude() != 0.0);
        self.element.add(term);
    }

    /// Adds a term that a program may multiply in another order, of which `exact` products round nothing here.
    pub(super) fn add_product<M: Model>(&mut self, term: Bounded<M>, exact: u64) {
        self.add(term);
        self.uncounted = self.uncounted.max(exact);
    }

    pub(super) fn add_sum(&mut self, other: &Self) {
        self.terms += other.terms;
        self.uncounted = self.uncounted.max(other.uncounted);
        self.along_axes = self.along_axes.and(other.along_axes);
        self.subtracted = self.subtracted.and(other.subtracted);
        self.element.add_sum(&other.element);
    }

    /// This sum, or the other.
    pub(super) fn or(self, other: Self) -> Self {
        let [a, b] = [self.element, other.element];
        // The difference of two f64 and the sum are rounded, by 2^-53 each.
        let reach = ((a.value - b.value).abs() + b.radius) * (1.0 + 4.0 * f64::EPSILON);
        let radius = if reach.is_nan() { f64::INFINITY } else { a.radius.max(reach) };
        Self {
            element: ElementBound { magnitude: a.magnitude.max(b.magnitude), radius, ..a },
            terms: self.terms.max(other.terms),
            uncounted: self.uncounted.max(other.uncounted),
            along_axes: self.along_axes.or(other.along_axes),
            subtracted: self.subtracted.or(other.subtracted),
        }
    }

    /// What a lane may have, whose registers flush only where the model's do, of a sum of weighted entries.
    pub(super) fn total<M: Model>(self) -> Bounded<M> {
        let (element, registers) = (self.element, Self::registers::<M>());
        let axes = self.along_axes.radius(0, &element, element.radius, &registers);
        self.weighted::<M>(|radius| radius.max(axes))
    }

    /// The same of a sum of products of differences on so many levels.
    pub(super) fn total_of_slopes<M: Model>(self, levels: u64) -> Bounded<M> {
        let (element, registers) = (self.element, Self::registers::<M>());
        let subtracted = self.subtracted.radius(levels, &element, element.radius, &registers);
        self.weighted::<M>(|radius| {
            // The sides of a difference are off besides what its products and sums lose.
            self.along_axes.radius(0, &element, radius, &registers).max(subtracted)
        })
    }

    fn registers<M: Model>() -> ArithmeticModel {
        ArithmeticModel { atomics_may_flush: M::TABLE.may_flush, ..M::TABLE }
    }

    /// The sum, with what another program may lose for its own radius.
    fn weighted<M: Model>(mut self, otherwise: impl Fn(f64) -> f64) -> Bounded<M> {
        let alone = self.terms <= 1;
        // Nothing is added up; and of a product that is exact, so is every product of some of its factors.
        if alone && (self.uncounted == 0 || self.element.radius == 0.0) {
            return Bounded::new(self.element.value, otherwise(self.element.radius));
        }
        self.element.finish(self.terms);
        // Each product is one more rounding on the way of a term, as an addition is.
        let depth = self.terms.saturating_sub(1) + self.uncounted;
        let radius = self.element.tolerance(depth, self.terms, &Self::registers::<M>());
        Bounded::new(self.element.value, otherwise(radius))
    }
}
