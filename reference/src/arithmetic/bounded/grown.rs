//! How a radius grows by extra roundings (see `arithmetic/extra.rs`).

use super::{Bounded, INFLATE, SUBNORMAL_STEP, ULP};
use crate::arithmetic::{Lanes, Model, Roundings};

impl<M: Model, L: Lanes<Elem = f64>> Bounded<M, L> {
    /// With K u for what all the roundings may cost: (1 + u)^K - 1 <= K u / (1 - K u) <= K u (1 + 2 K u)
    /// while K u <= 1/2, times the sum of the terms' magnitudes; and a subnormal result loses at most what one operation may, each time.
    /// Where all terms are 0 there is nothing to round.
    #[inline(always)]
    pub(super) fn grown<const N: usize>(self, extra: Roundings, terms: [Self; N]) -> Self {
        let (v, times) = (self.value, f64::from(extra.most()));
        let ku = extra.ulps(&M::TABLE) * ULP;
        let smallest = times * (Self::FLUSH + (M::TABLE.basic_ulp + 1.0) * SUBNORMAL_STEP);
        let zero = v.like(0.0);
        let sum = Self::sum_of_magnitudes(zero, terms);
        let grown = sum * v.like(ku * (1.0 + 2.0 * ku)) + v.like(smallest);
        let grown = zero.or_else(Self::is_zero(sum), grown);
        Self::known(v, (self.radius + grown) * v.like(INFLATE))
    }

    /// The sum of the terms' magnitudes, as a number that is known exactly.
    #[inline(always)]
    pub(super) fn magnitudes<const N: usize>(terms: [Self; N]) -> Self {
        let zero = terms[0].value.like(0.0);
        Self::with(Self::sum_of_magnitudes(zero, terms), zero)
    }

    /// N magnitudes are added in f64: each rounding is 2^-53 of the sum, and INFLATE, 2^-48, has room
    /// for the few terms of an intermediate.
    #[inline(always)]
    fn sum_of_magnitudes<const N: usize>(zero: L, terms: [Self; N]) -> L {
        let mut sum = zero;
        for term in terms {
            sum = sum + term.magnitude();
        }
        sum * zero.like(INFLATE)
    }
}
