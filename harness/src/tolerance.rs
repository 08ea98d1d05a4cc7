//! From the oracle's bounds to the tolerance of one output element under one kernel setting.
//!
//! A gradient element is a sum of m terms. With the terms' radii and largest magnitudes
//! from the oracle, and additions of relative error u, every order of summation whose longest chain
//! has d additions satisfies (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition,
//! section 4.2, equation (4.4) applied to the chain of each term)
//!
//! |computed - exact| <= sum of radii + gamma(d) sum of magnitudes, gamma(d) = d u / (1 - d u).
//!
//! Only additions of two nonzero numbers round, so d <= m - 1 whatever the grouping. A reduction in
//! registers makes chains shorter: one tree or one leader's chain, then one addition for every
//! value that reached memory. How many values reach memory is bounded from the contributing pixels
//! of each tile, for the worst possible assignment of pixels to warps. Flushing adds at most one
//! smallest normal number for each operand and result of an addition.

use splat_gpu::{BackwardConfig, Reduction};
use splat_reference::bounds::ElementBound;
use splat_reference::scalar::ArithmeticModel;

/// Lanes of the workgroup that rasterizes a tile.
const TILE_LANES: u64 = 256;
/// One ulp of a normal f32 x is at most `ULP` |x|.
const ULP: f64 = 1.0 / 8_388_608.0;
/// Smallest normal f32.
const MIN_NORMAL: f64 = f32::MIN_POSITIVE as f64;

/// The summation of one Gaussian's gradient under one kernel setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summation {
    /// Longest chain of rounding additions.
    pub depth: u64,
    /// Number of terms.
    pub terms: u64,
}

impl Summation {
    /// Bounds the chain for a Gaussian whose tiles have `tile_counts` contributing pixels.
    #[must_use]
    pub fn new(tile_counts: &[u32], config: BackwardConfig, lane_width: u32) -> Self {
        let terms = tile_counts.iter().map(|&count| u64::from(count)).sum::<u64>();
        let any_order = terms.saturating_sub(1);
        let width = u64::from(lane_width).clamp(1, TILE_LANES);
        let in_registers = match config.reduction {
            Reduction::Atomic => return Self { depth: any_order, terms },
            Reduction::SwS => width - 1,
            Reduction::SwB => u64::from(width.next_power_of_two().ilog2()),
        };
        // Of c contributing lanes a warp sends at most 1 value if c >= threshold, else c of them:
        // never more than max(threshold - 1, 1).
        let per_warp = u64::from(config.threshold).saturating_sub(1).max(1);
        let warps = TILE_LANES.div_ceil(width);
        let sent: u64 =
            tile_counts.iter().map(|&count| u64::from(count).min(warps * per_warp)).sum();
        let depth = any_order.min(in_registers + sent.saturating_sub(1));
        Self { depth, terms }
    }

    /// The tolerance of one element. Infinite where a partial sum may overflow, although the sum
    /// itself may not: then infinity and NaN are legal results too.
    #[must_use]
    pub fn tolerance(self, element: &ElementBound, model: &ArithmeticModel) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 terms")]
        let (depth, terms) = (self.depth as f64, self.terms as f64);
        let chain = depth * model.basic_ulp * ULP;
        if chain >= 1.0 {
            return f64::INFINITY;
        }
        let gamma = chain / (1.0 - chain);
        let mut tolerance = element.radius + gamma * element.magnitude;
        if model.atomics_may_flush && self.depth > 0 {
            tolerance += 3.0 * terms * MIN_NORMAL;
        } else if model.atomics_may_flush && element.magnitude > 0.0 {
            // A single value is only stored, but an atomic addition to zero may flush it.
            tolerance += MIN_NORMAL.min(element.magnitude);
        }
        // The roundings of these lines: fewer than eight, each 2^-53.
        tolerance *= 1.0 + 8.0 * f64::EPSILON;
        let largest = element.magnitude * (1.0 + gamma);
        if largest > f64::from(f32::MAX) { f64::INFINITY } else { tolerance }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use splat_reference::scalar::{Model, Wgsl};

    fn config(reduction: Reduction, threshold: u32) -> BackwardConfig {
        BackwardConfig { reduction, threshold }
    }

    #[test]
    fn reductions_shorten_the_chain_and_thresholds_lengthen_it() {
        let full = [256, 256];
        let atomic = Summation::new(&full, config(Reduction::Atomic, 0), 32);
        assert_eq!(atomic.depth, 511, "512 terms one after another");
        let tree = Summation::new(&full, config(Reduction::SwB, 1), 32);
        assert_eq!(tree.depth, 5 + 15, "a tree of 32 lanes, then 16 warps' values");
        let serial = Summation::new(&full, config(Reduction::SwS, 1), 32);
        assert_eq!(serial.depth, 31 + 15, "a leader's chain, then 16 warps' values");
        let never = Summation::new(&full, config(Reduction::SwB, 33), 32);
        assert_eq!(never.depth, 511, "never reducing is the atomic kernel");
        let half = Summation::new(&full, config(Reduction::SwB, 16), 32);
        assert_eq!(half.depth, 5 + 2 * 8 * 15 - 1, "at most 15 values a warp");
    }

    #[test]
    fn one_term_is_not_a_sum() {
        let one = Summation::new(&[1], config(Reduction::SwS, 0), 4);
        assert_eq!(one.depth, 0, "nothing is added");
        let none = Summation::new(&[], config(Reduction::SwB, 0), 4);
        assert_eq!((none.depth, none.terms), (0, 0), "nothing is there");
        let zero = ElementBound::default();
        assert_eq!(none.tolerance(&zero, &Wgsl::TABLE).to_bits(), 0, "zero is exact");
    }

    #[test]
    fn a_partial_sum_that_may_overflow_decides_nothing() {
        let sum = Summation::new(&[2], config(Reduction::Atomic, 0), 4);
        let huge = ElementBound { value: 1.0, magnitude: 4e38, radius: 0.0 };
        assert_eq!(sum.tolerance(&huge, &Wgsl::TABLE), f64::INFINITY, "an order may overflow");
    }

    proptest! {
        /// f32 sums of exact terms in a random binary tree stay within the tolerance.
        #[test]
        fn any_order_of_additions_stays_within_the_tolerance(
            mut terms in prop::collection::vec(-1e3f32..1e3, 1..300),
            picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 300),
        ) {
            let exact: f64 = terms.iter().map(|&x| f64::from(x)).sum();
            let magnitude: f64 = terms.iter().map(|&x| f64::from(x).abs()).sum();
            let count = u32::try_from(terms.len()).expect("few terms");
            let sum = Summation::new(&[count], config(Reduction::Atomic, 0), 32);
            for (a, b) in picks {
                if terms.len() == 1 {
                    break;
                }
                let first = terms.swap_remove(a.index(terms.len()));
                let at = b.index(terms.len());
                terms[at] += first;
            }
            let element = ElementBound { value: exact, magnitude, radius: 0.0 };
            let tolerance = sum.tolerance(&element, &Wgsl::TABLE);
            let error = (f64::from(terms[0]) - exact).abs();
            prop_assert!(error <= tolerance, "error {error:e} > {tolerance:e}");
        }
    }
}
