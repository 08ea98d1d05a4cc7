//! From the oracle's bounds to the tolerance of one output element under one kernel setting.
//!
//! A gradient element is a sum of m terms, and how far it may lie from the oracle's follows from its
//! longest chain of additions ([`ElementBound::tolerance`]): m - 1 whatever the grouping. A reduction
//! makes chains shorter, by how much is derived beside its row ([`splatcheck_gpu::reduction::sum`]).
//!
//! A camera's gradient is summed in the same way: Gaussians take the place of pixels, and a workgroup
//! of 256 consecutive Gaussians that of a tile. A Gaussian's own gradients are added up over the
//! cameras by one lane; they are bounded for any order.

use splatcheck_gpu::Setting;
use splatcheck_gpu::reduction::InMemory;
use splatcheck_reference::arithmetic::ArithmeticModel;
use splatcheck_reference::arithmetic::ElementBound;

/// The summation of one Gaussian's or camera's gradient under one kernel setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summation {
    /// Longest chain of rounding additions.
    pub depth: u64,
    /// Number of terms.
    pub terms: u64,
    /// Whether one of them is what was there before.
    pub begins: bool,
    /// How they come together.
    pub in_memory: InMemory,
}

impl Summation {
    /// A sum of `terms` terms, in any order.
    #[must_use]
    pub fn in_any_order(terms: u64) -> Self {
        let depth = terms.saturating_sub(1);
        Self { depth, terms, begins: false, in_memory: InMemory::FloatAtomics }
    }

    /// One term, to which nothing is added.
    #[must_use]
    pub fn of_one_term() -> Self {
        Self::in_any_order(1)
    }

    /// Bounds the chain for a Gaussian whose tiles have `tile_counts` contributing pixels, or a
    /// camera whose workgroups have as many contributing Gaussians.
    #[must_use]
    pub fn new(tile_counts: &[u32], config: Setting, lane_width: u32) -> Self {
        let terms = tile_counts.iter().map(|&count| u64::from(count)).sum::<u64>();
        let in_memory = config.reduction.row().in_memory;
        Self { depth: config.depth(tile_counts, lane_width), terms, begins: false, in_memory }
    }

    /// Whether an element stays what it was `before`: no term is added, or none but exact zeros, since any other
    /// changes it or has a rounding, and with it a bound.
    #[must_use]
    pub fn leaves(self, before: f64, (value, bound): (f64, f64)) -> bool {
        value == before && (bound == 0.0 || self.terms == u64::from(self.begins))
    }

    /// The tolerance of one element.
    #[must_use]
    pub fn tolerance(self, element: &ElementBound, model: &ArithmeticModel) -> f64 {
        let Self { depth, terms, begins: _, in_memory } = self;
        match in_memory {
            InMemory::FloatAtomics | InMemory::InOrder | InMemory::OneWriter => {
                element.tolerance(depth, terms, model)
            }
            InMemory::FixedPoint => {
                element.of_fixed_point_terms(terms).tolerance(depth, terms, model)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::TestRng;
    use splatcheck_gpu::Reduction;
    use splatcheck_gpu::reduction::{InRegisters, OfWorkgroup};
    use splatcheck_reference::arithmetic::{Model, Wgsl};

    fn config(reduction: Reduction, threshold: u32) -> Setting {
        Setting { reduction, threshold }
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
        let built_in = Summation::new(&full, config(Reduction::Subgroup, 1), 32);
        assert_eq!(built_in.depth, 31 + 15, "any order of 32 lanes, then 16 warps' values");
        let streamed = Summation::new(&full, config(Reduction::PerGaussian, 33), 32);
        assert_eq!(streamed.depth, 31 + 15, "32 pixels, then 16 warps' values; no threshold");
        let block = Summation::new(&full, config(Reduction::Block, 1), 32);
        assert_eq!(block.depth, 5 + 7 + 1, "a tree, then 8 warps' values, then 2 tiles'");
        let four_pixels = Summation::new(&full, config(Reduction::MultiPixel4, 1), 32);
        assert_eq!(four_pixels.depth, 3 + 5 + 3, "a lane's pixels, a tree, then 4 warps' values");
        let four_never = Summation::new(&full, config(Reduction::MultiPixel4, 33), 32);
        assert_eq!(four_never.depth, 3 + 5 + 127, "64 lanes of each tile send");
        let sorted = Summation::new(&full, config(Reduction::Sorted, 0), 32);
        assert_eq!(sorted.depth, 5 + 7 + 1, "a tree, then 8 warps' values, then 2 tiles'");
        let fixed = Summation::new(&full, config(Reduction::Fixed, 0), 32);
        assert_eq!(fixed.depth, 2, "integers do not round; their two words do");
        let lane_by_lane = Summation::new(&[256, 0, 256], config(Reduction::Block, 33), 32);
        assert_eq!(lane_by_lane.depth, 5 + 255 + 1, "256 values of a tile, then 2 tiles'");
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

    /// A partial sum with the longest chain of rounding additions in it; nothing is an exact zero.
    type Partial = Option<(f32, u64)>;

    fn plus(a: Partial, b: Partial) -> Partial {
        match (a, b) {
            (Some((x, m)), Some((y, n))) => Some((x + y, m.max(n) + 1)),
            (a, b) => a.or(b),
        }
    }

    fn pick(rng: &mut TestRng, below: usize) -> usize {
        rng.next_u32() as usize % below
    }

    /// Additions to one place in memory: one after another, in any order.
    fn in_memory(mut values: Vec<Partial>, rng: &mut TestRng) -> Partial {
        let mut sum = None;
        while !values.is_empty() {
            sum = plus(sum, values.swap_remove(pick(rng, values.len())));
        }
        sum
    }

    /// A warp's sum in registers, as the kernels add it up; none where they do not.
    fn in_registers(lanes: &[Partial], how: InRegisters, rng: &mut TestRng) -> Partial {
        let mut lanes = lanes.to_vec();
        match how {
            InRegisters::Nothing => None,
            InRegisters::Chain => lanes.into_iter().fold(None, plus),
            InRegisters::Tree => {
                let mut stride = lanes.len() / 2;
                while stride > 0 {
                    lanes = (0..lanes.len()).map(|l| plus(lanes[l], lanes[l ^ stride])).collect();
                    stride /= 2;
                }
                lanes[0]
            }
            InRegisters::AnyOrder => {
                while lanes.len() > 1 {
                    let one = lanes.swap_remove(pick(rng, lanes.len()));
                    let at = pick(rng, lanes.len());
                    lanes[at] = plus(lanes[at], one);
                }
                lanes[0]
            }
        }
    }

    /// The sum of terms that are whole numbers, in fixed point: exact, then the words as floats.
    fn in_fixed_point(tiles: &[Vec<Partial>]) -> Partial {
        #[expect(clippy::cast_possible_truncation, reason = "whole numbers below 2^22")]
        let whole = |x: f32| x as i64;
        let terms = || tiles.iter().flatten().flatten();
        let sum: i64 = terms().map(|&(x, _)| whole(x) << 32).fold(0, i64::wrapping_add);
        terms().next().map(|_| ((sum >> 32) as f32, 2))
    }

    /// The whole sum of one Gaussian, over tiles of 256 pixels.
    fn sum(tiles: &[Vec<Partial>], config: Setting, width: usize, rng: &mut TestRng) -> Partial {
        let reduction = config.reduction;
        if reduction.row().in_memory == InMemory::FixedPoint {
            return in_fixed_point(tiles);
        }
        let how = reduction.row().in_registers;
        let mut sent = Vec::new();
        for tile in tiles {
            let mut values = Vec::new();
            let pixels = tile.chunks(reduction.row().per_lane as usize);
            let own: Vec<_> = pixels.map(|own| own.iter().copied().fold(None, plus)).collect();
            for warp in own.chunks(width) {
                let lanes = warp.iter().flatten().count();
                let reduces = how != InRegisters::Nothing
                    && (!reduction.has_threshold() || lanes >= config.threshold as usize);
                if reduces && lanes > 0 {
                    values.push(in_registers(warp, how, rng));
                } else {
                    values.extend(warp.iter().filter(|lane| lane.is_some()));
                }
            }
            if reduction.row().of_workgroup != OfWorkgroup::Nothing {
                values = vec![in_memory(values, rng)];
            }
            sent.extend(values);
        }
        in_memory(sent, rng)
    }

    proptest! {
        /// Every reduction, on random lanes of up to three tiles: neither the chain nor the error is
        /// larger than what the bound says.
        #[test]
        fn the_kernels_ways_of_adding_up_stay_within_the_tolerance(
            counts in prop::collection::vec(0u32..=256, 1..4),
            log_width in 0u32..7,
            share in 0f64..=1.0,
            mut rng in Just(()).prop_perturb(|(), rng| rng),
        ) {
            let width = 1u32 << log_width;
            let tiles: Vec<Vec<Partial>> = counts
                .iter()
                .map(|&count| {
                    let mut lanes: Vec<Partial> = (0..256)
                        .map(|lane| (lane < count).then(|| (((rng.next_u32() >> 10) as f32 - 2e6).round(), 0)))
                        .collect();
                    // Half of the time the lanes that contribute are scattered.
                    if rng.next_u32() % 2 == 0 {
                        (0..256).for_each(|lane| lanes.swap(lane, pick(&mut rng, 256)));
                    }
                    lanes
                })
                .collect();
            let terms = || tiles.iter().flatten().flatten().map(|&(x, _)| f64::from(x));
            let element = ElementBound {
                value: terms().sum(),
                magnitude: terms().map(f64::abs).sum(),
                radius: 0.0,
            };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
            let threshold = (share * f64::from(width + 1)).round() as u32;
            for reduction in Reduction::ALL {
                let config = config(reduction, threshold);
                let bound = Summation::new(&counts, config, width);
                let found = sum(&tiles, config, width as usize, &mut rng);
                let (found, chain) = found.unwrap_or((0.0, 0));
                prop_assert!(chain <= bound.depth, "{config}: {chain} > {}", bound.depth);
                let tolerance = bound.tolerance(&element, &Wgsl::TABLE);
                let error = (f64::from(found) - element.value).abs();
                prop_assert!(error <= tolerance, "{config}: error {error:e} > {tolerance:e}");
            }
        }

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
