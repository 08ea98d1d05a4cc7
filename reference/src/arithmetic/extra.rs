//! Roundings beside those of an expression: how the bounds of one expression hold programs that
//! spell its intermediates otherwise.
//!
//! An intermediate is a sum of terms, each a product or quotient of numbers that have a name
//! themselves. Say a program's own way from these numbers to the intermediate rounds no term more than
//! K times, whatever the grouping of its sums and products. With u the unit of one operation, each
//! rounding multiplies what it rounds by 1 + d with |d| <= u, so the program has the sum of
//! t (1 + theta), |theta| <= (1 + u)^K - 1 <= K u / (1 - K u) (Higham 2002, lemma 3.1): it is off by at
//! most that times the sum of |t|. The expression's own radius covers what the terms bring with them,
//! so the radius and that sum together cover the program, even where the expression is exact: where
//! its terms cancel structurally, the sum of their magnitudes is the floor that another grouping needs.
//!
//! So K is counted in a program's source: the most roundings on a term's way into an intermediate. A
//! division counts as what the model gives it, in units of u, as does exp where a program takes it of
//! another argument. What K does not hold: intermediates of the program that overflow or underflow
//! where the expression's do not.

use super::model::ArithmeticModel;
use std::fmt;
use std::str::FromStr;

/// The most roundings on a term's way into any intermediate of a program; 0 for the expression as it
/// is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExtraRoundings(u8);

/// A number of roundings that no program has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "extra roundings: '{written}' is not a whole number from 0 to {}: count the roundings on a term's way into an intermediate in the program's source",
    ExtraRoundings::MOST
)]
pub struct NoRoundings {
    /// What was asked for.
    pub written: String,
}

impl ExtraRoundings {
    /// The expression as it is written.
    pub const NONE: Self = Self(0);

    /// The most that can be counted. Of all intermediates alpha's gradient has the most terms, two for
    /// each of at most 32 channels; in a sum of 64 terms, whatever its order, each passes through 63
    /// additions at most. It also is where K u is still small: 2^-17 at most, so that a bound that grows
    /// by it keeps five digits, and well inside what the reach of a Gaussian allows for
    /// ([`Scalar::SLACK`](super::Scalar::SLACK), 3,088 u where alpha grows by 2 K u).
    pub const MOST: u8 = 64;

    /// That many; `None` above [`Self::MOST`].
    #[must_use]
    pub const fn new(count: u8) -> Option<Self> {
        if count <= Self::MOST { Some(Self(count)) } else { None }
    }

    /// How many.
    #[must_use]
    #[inline(always)]
    pub const fn count(self) -> u8 {
        self.0
    }

    /// Whether there are none.
    #[must_use]
    #[inline(always)]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for ExtraRoundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ExtraRoundings {
    type Err = NoRoundings;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let count = text.parse().ok().and_then(Self::new);
        count.ok_or_else(|| NoRoundings { written: text.to_owned() })
    }
}

/// The most roundings of a term on its way into one intermediate: so many that were counted in a program's
/// source, or so many additions, products and quotients of the standard derivations, whichever is more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roundings {
    counted: ExtraRoundings,
    steps: u8,
    quotients: u8,
}

impl Roundings {
    /// Whether there are none.
    #[must_use]
    #[inline(always)]
    pub const fn is_none(self) -> bool {
        self.most() == 0
    }

    /// What they may cost, in ulp: an addition or a product what the model gives one, a quotient what it
    /// gives a division.
    #[inline(always)]
    pub(super) fn ulps(self, table: &ArithmeticModel) -> f64 {
        let counted = f64::from(self.counted.count()) * table.basic_ulp;
        let standard =
            f64::from(self.steps) * table.basic_ulp + f64::from(self.quotients) * table.div_ulp;
        counted.max(standard)
    }

    /// How many operations there are.
    #[inline(always)]
    pub(super) const fn most(self) -> u8 {
        let standard = self.steps + self.quotients;
        if self.counted.0 > standard { self.counted.0 } else { standard }
    }
}

impl From<ExtraRoundings> for Roundings {
    #[inline(always)]
    fn from(counted: ExtraRoundings) -> Self {
        Self { counted, steps: 0, quotients: 0 }
    }
}

/// Which programs the bounds of a stage hold that do not spell its intermediates as the oracle does.
///
/// A standard derivation is one that public programs have or that automatic differentiation makes of them:
/// `splat/backward/project.rs` lists those of the projection. Each intermediate says how many roundings a
/// term has on its way into it, so that where an expression is exact the bound is no wider than what the
/// longest of them rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvaluationOrders {
    counted: ExtraRoundings,
    standard: bool,
}

impl EvaluationOrders {
    /// The expressions as they are written here, which are those of this repository's kernels.
    pub const WRITTEN: Self = Self { counted: ExtraRoundings::NONE, standard: false };

    /// Every standard derivation.
    pub const STANDARD: Self = Self { counted: ExtraRoundings::NONE, standard: true };

    /// A program that rounds no term more often than that.
    #[must_use]
    pub const fn counted(counted: ExtraRoundings) -> Self {
        Self { counted, ..Self::WRITTEN }
    }

    /// Every standard derivation, and a program that rounds no term more often than that.
    #[must_use]
    pub const fn standard_and(counted: ExtraRoundings) -> Self {
        Self { counted, ..Self::STANDARD }
    }

    /// Whether there is none but the one that is written here.
    #[must_use]
    #[inline(always)]
    pub const fn is_written(self) -> bool {
        self.counted.is_none() && !self.standard
    }

    /// The roundings of an intermediate, of which the standard derivations have no more than so many
    /// additions and products, and so many quotients. A square root is two quotients, which is what it
    /// may cost in WGSL; a reciprocal and a product by it are a quotient and a step.
    #[inline(always)]
    pub(crate) const fn at(self, steps: u8, quotients: u8) -> Roundings {
        let (steps, quotients) = if self.standard { (steps, quotients) } else { (0, 0) };
        Roundings { counted: self.counted, steps, quotients }
    }
}

/// [`Arith::rounded_again`](super::Arith::rounded_again) with terms that nothing computes where nothing
/// reads them, in the registers of the walk that names them.
macro_rules! rounded {
    ($sum:expr, $extra:expr, $terms:expr) => {
        $sum.rounded_again(
            $extra.into(),
            #[inline(always)]
            || $terms,
        )
    };
}

pub(crate) use rounded;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::{Arith, Bounded, Cuda, Model, Scalar, Wgsl};

    #[test]
    fn only_what_can_be_counted_is_read() {
        for (text, count) in [("0", 0), ("7", 7), ("64", 64)] {
            assert_eq!(text.parse().map(ExtraRoundings::count), Ok(count), "{text}");
        }
        for text in ["-1", "65", "1000000", "1.5", "", "three"] {
            let error = text.parse::<ExtraRoundings>().expect_err(text).to_string();
            let reason = format!("extra roundings: '{text}' is not a whole number from 0 to 64");
            assert!(error.starts_with(&reason), "{error}");
        }
    }

    /// Without them nothing grows; with K the radius grows by K u times the magnitudes, the radii of
    /// the terms included, and by nothing where all terms are 0.
    #[test]
    fn a_radius_grows_by_what_was_counted() {
        fn grown<M: Model>(count: u8, terms: [f32; 2]) -> f64 {
            let extra = ExtraRoundings::new(count).expect("few");
            let terms = terms.map(Bounded::<M>::from_f32);
            let sum = terms[0] + terms[1];
            sum.rounded_again(extra.into(), || terms).radius() - sum.radius()
        }
        let (u, terms) = (f64::powi(2.0, -24), [1.0, -1.0]);
        assert_eq!(grown::<Cuda>(0, terms), 0.0, "none");
        let floor = grown::<Cuda>(3, terms);
        assert!((6.0 * u..6.001 * u).contains(&floor), "{floor:e}: 3 u (1 + 1)");
        let wgsl = grown::<Wgsl>(3, terms);
        assert!((12.0 * u..12.001 * u).contains(&wgsl), "{wgsl:e}: its unit is twice that");
        assert_eq!(grown::<Wgsl>(3, [0.0, 0.0]), 0.0, "nothing is rounded to nothing");
        let wide = Bounded::<Cuda>::new(1.0, 1.0);
        let grown = wide.rounded_again(ExtraRoundings(1).into(), || [wide]).radius() - 1.0;
        assert!((2.0 * u..2.001 * u).contains(&grown), "{grown:e}: the term may be 2");
        let unknown = Bounded::<Cuda>::new(1.0, f64::INFINITY);
        let sum = wide.rounded_again(ExtraRoundings(1).into(), || [unknown]);
        assert_eq!(sum.radius(), f64::INFINITY, "an unknown term leaves nothing known");
    }
}
