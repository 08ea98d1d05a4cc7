//! The three sums over the pairs of a map, their terms added in the order of the pairs, then of the channels.

use super::map::KernelMap;
use crate::arithmetic::{Bounded, ElementBound, Model, Scalar};

/// A layer with its numbers.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'a> {
    /// The map.
    pub map: &'a KernelMap,
    /// K: offsets of the kernel.
    pub offsets: usize,
    /// Ci, at least 1.
    pub channels_in: usize,
    /// Co, at least 1.
    pub channels_out: usize,
    /// `[N,Ci]`.
    pub feats: &'a [f32],
    /// `[K,Ci,Co]`.
    pub weights: &'a [f32],
    /// `[M,Co]`: the gradient of the output.
    pub v_out: &'a [f32],
}

/// The output and both gradients.
#[derive(Clone, Debug, PartialEq)]
pub struct Products<T> {
    /// `[M,Co]`.
    pub out: Vec<T>,
    /// `[N,Ci]`.
    pub v_feats: Vec<T>,
    /// `[K,Ci,Co]`.
    pub v_weights: Vec<T>,
}

impl Layer<'_> {
    /// In the scalar `S`: f64 is the oracle's value, f32 what one order of additions gives.
    #[must_use]
    pub fn products<S: Scalar>(&self) -> Products<S> {
        self.accumulate(S::from_f32(0.0), |sum, a, b| {
            *sum = *sum + S::from_f32(a) * S::from_f32(b);
        })
    }

    /// How far an f32 program that conforms to the model `M` may lie from each number in f64, whatever the order in
    /// which it adds.
    #[must_use]
    pub fn radii<M: Model>(&self) -> Products<f64> {
        let sums = self.accumulate((ElementBound::default(), 0), |(sum, terms), a, b| {
            sum.add(Bounded::<M>::from_f32(a) * Bounded::from_f32(b));
            *terms += 1;
        });
        let radius = |(mut sum, terms): (ElementBound, u64)| {
            // A sum of one number is that number: nothing is rounded.
            if terms > 1 {
                sum.finish(terms);
            }
            sum.tolerance(terms.saturating_sub(1), terms, &M::TABLE)
        };
        let of = |sums: Vec<_>| sums.into_iter().map(radius).collect();
        Products { out: of(sums.out), v_feats: of(sums.v_feats), v_weights: of(sums.v_weights) }
    }

    /// Adds up all products by `add`.
    fn accumulate<T: Copy>(&self, zero: T, add: impl Fn(&mut T, f32, f32)) -> Products<T> {
        let (inputs, outputs) = (self.channels_in, self.channels_out);
        let mut sums = Products {
            out: vec![zero; self.map.out_coords.len() * outputs],
            v_feats: vec![zero; self.feats.len()],
            v_weights: vec![zero; self.offsets * inputs * outputs],
        };
        for pair in &self.map.pairs {
            let [k, i, o] = pair.map(|row| row as usize);
            let v_out = &self.v_out[o * outputs..][..outputs];
            let out = &mut sums.out[o * outputs..][..outputs];
            for channel in 0..inputs {
                let row = (k * inputs + channel) * outputs;
                let weights = &self.weights[row..][..outputs];
                let v_weights = &mut sums.v_weights[row..][..outputs];
                let feature = self.feats[i * inputs + channel];
                let v_feature = &mut sums.v_feats[i * inputs + channel];
                for j in 0..outputs {
                    add(&mut out[j], feature, weights[j]);
                    add(v_feature, v_out[j], weights[j]);
                    add(&mut v_weights[j], feature, v_out[j]);
                }
            }
        }
        sums
    }
}
