//! The opacity of a pixel as the sum of its weights.
//!
//! A program may return 1 - T, or the sum of the weights w = alpha T that it blends colours with. In real
//! numbers both are the same: w is what a step takes off T. In f32 they are not. Let `a_i` and `T_i` be the numbers of a
//! program, `T_0` = 1, in front of each Gaussian that it takes. Its steps round:
//!
//! - `T_(i+1)` = `T_i` (1 - `a_i`) + `d_i`. The difference and the product round, which is 2 u of `T_i` at most, and K extra
//!   roundings of both terms are K u (`T_i` + `a_i T_i`);
//! - `w_i` = `a_i T_i` + `p_i`, one product and K extra roundings, (1 + K) u of `a_i T_i`.
//!
//! So `w_i` = `T_i` - `T_(i+1)` + `d_i` + `p_i`, and the sum of all is 1 - `T_n` but for the sum of `d_i` + `p_i`, each at most
//! gamma(2 + 2 K) (`T_i` + `a_i T_i`), with gamma(k) = k u / (1 - k u), and 3 + 2 K times what an operation with a
//! subnormal result loses. What one step has off in T it has off in w too, so that radii of T and alpha come in once:
//! as that of `T_n`. Adding the n weights up in any order then loses as any sum does (`arithmetic/sum.rs`).
//!
//! The sum's roundings do not vanish with T, as those of 1 - T do.

use crate::arithmetic::{
    ArithmeticModel, Bounded, ElementBound, ExtraRoundings, Lanes, Model, SMALLEST, Scalar, ULP,
};
use crate::splat::tile::PerPixel;

/// What the steps of a pixel may have rounded: of each path, or of each lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weights<L = f64> {
    /// The sum of the largest `T_i` + `w_i`.
    pub(super) sum: L,
    /// How many steps there were.
    pub(super) terms: L,
}

impl<L: Lanes<Elem = f64>> Weights<L> {
    /// After one more step.
    #[inline(always)]
    pub(super) fn and<M: Model>(self, t: Bounded<M, L>, weight: Bounded<M, L>) -> Self {
        let sum = self.sum + (t.magnitude() + weight.magnitude());
        Self { sum, terms: self.terms + sum.like(1.0) }
    }
}

impl Weights<PerPixel<f64>> {
    /// Those of one pixel.
    pub(super) fn of(&self, lane: usize) -> Weights {
        Weights { sum: self.sum[lane], terms: self.terms[lane] }
    }
}

impl Weights {
    /// What holds of both.
    pub(super) fn or(self, other: Self) -> Self {
        Self { sum: self.sum.max(other.sum), terms: self.terms.max(other.terms) }
    }

    /// The opacity behind all steps, as 1 - T or as the sum of the weights.
    pub(super) fn opacity<M: Model>(self, t: Bounded<M>, extra: ExtraRoundings) -> Bounded<M> {
        let difference = Bounded::from_f64(1.0) - t;
        // Without a step the sum is the 0 that it began as.
        if self.terms == 0.0 { difference } else { difference.or(self.total(t, extra)) }
    }

    /// The sum of the weights in any order.
    fn total<M: Model>(self, t: Bounded<M>, extra: ExtraRoundings) -> Bounded<M> {
        let (unit, more) = (M::TABLE.basic_ulp * ULP, f64::from(extra.count()));
        let roundings = (2.0 + 2.0 * more) * unit;
        let lost = self.terms * (3.0 + 2.0 * more) * SMALLEST;
        let steps = self.sum * (roundings / (1.0 - roundings)) + lost;
        // Adding up n magnitudes rounds by n 2^-53 of their sum, and the lines here by few more.
        let steps = steps * (1.0 + (self.terms + 8.0) * f64::EPSILON);
        let value = 1.0 - t.value();
        // The difference is rounded once, by 2^-53 of at most 1.
        let radius = t.radius() + steps + f64::EPSILON;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count, below 2^53"
        )]
        let terms = self.terms as u64;
        let mut sum = ElementBound { value, magnitude: value.abs() + radius, radius };
        sum.finish(terms);
        // The sum is in registers, which flush where those of the model do.
        let registers = ArithmeticModel { atomics_may_flush: M::TABLE.may_flush, ..M::TABLE };
        Bounded::new(value, sum.tolerance(terms.saturating_sub(1), terms, &registers))
    }
}

#[cfg(test)]
mod tests {
    use super::super::alpha::BoundedAlpha;
    use super::super::forward_paths::{Pixel, finish};
    use super::*;
    use crate::arithmetic::{Ieee, Tristate};
    use crate::splat::convention::Convention;
    use proptest::prelude::*;

    type B = Bounded<Ieee>;

    fn bound(alphas: &[f32]) -> B {
        let (mut pixel, zero) = (Pixel::<Ieee>::new(0), B::from_f64(0.0));
        for (place, &alpha) in alphas.iter().enumerate() {
            let pair = BoundedAlpha {
                offset: [zero; 2],
                gauss: B::from_f64(1.0),
                alpha: B::from_f32(alpha),
                visible: Tristate::Always,
                value_visible: true,
            };
            let place = i32::try_from(place).expect("few");
            pixel.step(&pair, &[], place, &Convention::inria());
        }
        finish(pixel, &[]).alpha
    }

    /// The weights of a pixel in f32.
    fn weights(alphas: &[f32], fused: bool) -> Vec<f32> {
        let mut t = 1.0_f32;
        let step = |&alpha: &f32| {
            let weight = alpha * t;
            t = if fused { (-alpha).mul_add(t, t) } else { t * (1.0 - alpha) };
            weight
        };
        alphas.iter().map(step).collect()
    }

    /// The weights of the places in this order, added up two and two or one after another.
    fn added(weights: &[f32], order: &[usize], in_pairs: bool) -> f32 {
        let mut all: Vec<f32> = order.iter().map(|&place| weights[place]).collect();
        while in_pairs && all.len() > 1 {
            all = all.chunks(2).map(|two| two.iter().sum()).collect();
        }
        all.iter().sum()
    }

    proptest! {
        /// The sum in any order stays within the bound, and one that leaves a Gaussian out does not.
        #[test]
        fn opacities_that_are_sums_of_weights_stay_within_their_bound(
            alphas in prop::collection::vec(0.08_f32..0.12, 40),
            order in Just((0..40).collect::<Vec<usize>>()).prop_shuffle(),
            (in_pairs, fused) in (any::<bool>(), any::<bool>()),
        ) {
            let (bound, weights) = (bound(&alphas), weights(&alphas, fused));
            let error = |found: f32| (f64::from(found) - bound.value()).abs();
            let off = error(added(&weights, &order, in_pairs));
            prop_assert!(off <= bound.radius(), "{off:e} > {:e}", bound.radius());
            let off = error(added(&weights, &order[1..], in_pairs));
            prop_assert!(off > bound.radius(), "without {}: {off:e}", order[0]);
        }
    }

    /// Without a Gaussian there is none to add, and the opacity is exact.
    #[test]
    fn nothing_is_added_to_nothing() {
        assert_eq!((bound(&[]).value(), bound(&[]).radius()), (0.0, 0.0));
    }
}
