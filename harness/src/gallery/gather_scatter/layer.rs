//! A layer with drawn numbers, and its groups of offsets.

use splatcheck_reference::sparse::{self, KernelMap, Products};
use splatcheck_reference::splat::synthetic::Random;

use super::super::sites::Case;

/// The most of a feature, in magnitude: 12 bits, more than TF32 keeps.
const FEATURE: u16 = 4095;

/// The same of a weight and of a gradient. A sum of up to 1,365 products of both is exact in f32.
const OTHER: u16 = 3;

/// Offsets of a group.
const MEMBERS: usize = 2;

/// A map with numbers.
pub(super) struct Layer<'a> {
    pub(super) map: &'a KernelMap,
    /// Channels that go in, and come out.
    pub(super) ins: usize,
    pub(super) outs: usize,
    pub(super) feats: Vec<f32>,
    pub(super) weights: Vec<f32>,
    pub(super) v_out: Vec<f32>,
    /// Pairs of offset k: begins\[k\] to begins\[k + 1\].
    pub(super) begins: Vec<i32>,
    /// All offsets, those of few pairs first.
    pub(super) order: Vec<i32>,
}

/// Offsets that follow each other in the order, and are multiplied at once.
pub(super) struct Group {
    /// The first, by its place in the order.
    pub(super) first: usize,
    pub(super) members: usize,
    /// Rows of each: the most pairs of any.
    pub(super) rows: usize,
}

impl<'a> Layer<'a> {
    /// A layer on the case's sites, whose numbers follow from the numbers of its sites and pairs.
    pub(super) fn drawn(case: &'a Case) -> Option<Self> {
        let map = case.map.as_ref()?;
        let (sites, pairs, offsets) = (case.coords.len(), map.pairs.len(), case.offsets());
        // All that a warp is not, where there is little to multiply.
        let widths: &[usize] = if pairs < 100 { &[31, 32, 33] } else { &[1, 2, 3, 4] };
        let [ins, outs] = [pairs, sites].map(|n| widths[n % widths.len()]);
        let mut random = Random(pairs as u64 ^ (sites as u64) << 32);
        let mut numbers = |count: usize, most: u16| -> Vec<f32> {
            let choices = u64::from(2 * most + 1);
            let mut draw = || {
                let drawn = u16::try_from(random.bits() % choices).unwrap_or(most);
                f32::from(drawn) - f32::from(most)
            };
            (0..count).map(|_| draw()).collect()
        };
        let feats = numbers(sites * ins, FEATURE);
        let weights = numbers(offsets * ins * outs, OTHER);
        let v_out = numbers(map.out_coords.len() * outs, OTHER);
        let begin = |k: usize| map.pairs.partition_point(|pair| (pair[0] as usize) < k);
        let whole = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let begins: Vec<i32> = (0..=offsets).map(|k| whole(begin(k))).collect();
        let mut order: Vec<usize> = (0..offsets).collect();
        order.sort_by_key(|&k| begins[k + 1] - begins[k]);
        let order = order.into_iter().map(whole).collect();
        Some(Self { map, ins, outs, feats, weights, v_out, begins, order })
    }

    /// The rows of all pairs on one side: 1 is the input's, 2 the output's.
    pub(super) fn side(&self, side: usize) -> Vec<i32> {
        let row = |pair: &[u32; 3]| i32::try_from(pair[side]).unwrap_or(i32::MAX);
        self.map.pairs.iter().map(row).collect()
    }

    /// The pairs of an offset.
    pub(super) fn pairs(&self, k: usize) -> &[[u32; 3]] {
        let [begin, end] = [k, k + 1].map(|k| usize::try_from(self.begins[k]).unwrap_or(0));
        &self.map.pairs[begin..end]
    }

    /// The offset at a place of the order.
    pub(super) fn offset(&self, rank: usize) -> usize {
        usize::try_from(self.order[rank]).unwrap_or(0)
    }

    /// The groups that have a pair.
    pub(super) fn groups(&self) -> impl Iterator<Item = Group> {
        let of = |first| {
            let members = MEMBERS.min(self.order.len() - first);
            let pairs = (first..first + members).map(|rank| self.pairs(self.offset(rank)).len());
            Group { first, members, rows: pairs.max().unwrap_or(0) }
        };
        (0..self.order.len()).step_by(MEMBERS).map(of).filter(|group| group.rows > 0)
    }

    /// Rows that the buffers have for the largest group.
    pub(super) fn most_rows(&self) -> usize {
        self.groups().map(|group| group.members * group.rows).max().unwrap_or(0)
    }

    /// The oracle's numbers.
    pub(super) fn right(&self) -> Found {
        let layer = sparse::Layer {
            map: self.map,
            offsets: self.order.len(),
            channels_in: self.ins,
            channels_out: self.outs,
            feats: &self.feats,
            weights: &self.weights,
            v_out: &self.v_out,
        };
        Found { products: layer.products(), means: self.means(|row| row) }
    }

    /// The mean of each output's sources, divided by the number of those of the row that `counted` says.
    pub(super) fn means(&self, counted: impl Fn(usize) -> usize) -> Vec<f64> {
        let outputs = self.map.out_coords.len();
        let (mut sums, mut counts) = (vec![0.0; outputs * self.ins], vec![0_u16; outputs]);
        for [_, i, o] in self.map.pairs.iter().map(|pair| pair.map(|row| row as usize)) {
            counts[o] += 1;
            for c in 0..self.ins {
                sums[o * self.ins + c] += self.feats[i * self.ins + c];
            }
        }
        let of = |(at, sum): (usize, &f32)| mean(*sum, counts[counted(at / self.ins)]);
        sums.iter().enumerate().map(of).collect()
    }
}

/// What the kernels make of a case.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::gallery) struct Found {
    pub(super) products: Products<f64>,
    /// The mean of each output's sources.
    pub(super) means: Vec<f64>,
}

impl Found {
    /// Every array by name, with the length of its rows.
    pub(super) fn arrays(&self, layer: &Layer<'_>) -> [(&'static str, usize, &[f64]); 4] {
        let Products { out, v_feats, v_weights } = &self.products;
        [
            ("out", layer.outs, out),
            ("v_feats", layer.ins, v_feats),
            ("v_weights", layer.outs, v_weights),
            ("means", layer.ins, &self.means),
        ]
    }
}

/// A mean in f32; 0 of nothing.
fn mean(sum: f32, count: u16) -> f64 {
    f64::from(if count == 0 { 0.0 } else { sum / f32::from(count) })
}
