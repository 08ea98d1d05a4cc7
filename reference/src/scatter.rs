//! Sums by key: every element adds its values to the row that its key names. The keyed reduction by
//! itself; it is `index_add`, a segment sum, a histogram with weights.
//!
//! sums\[e, v\] = initial\[e, v\] + the sum of values\[i, v\] over all i with keys\[i\] = e.
//!
//! Inputs are exact, so that all that a conforming kernel may differ in is the order of its additions
//! and, where its arithmetic allows that, the flushing of subnormal numbers.

use crate::arithmetic::{Bounded, ElementBound, Model, Scalar};

/// The key of an element that is added to no row.
pub const NO_KEY: u32 = u32::MAX;

/// Elements with their keys, and what is added to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elements<'a> {
    /// `[N]`: a row, or [`NO_KEY`].
    pub keys: &'a [u32],
    /// `[N,V]`.
    pub values: &'a [f32],
    /// `[E,V]`: what the rows hold before the first addition.
    pub initial: &'a [f32],
    /// V, at least 1.
    pub width: usize,
}

/// What the sums of all rows may be.
#[derive(Clone, Debug, PartialEq)]
pub struct SumBounds {
    /// `[E,V]`.
    pub elements: Vec<ElementBound>,
    /// `[E]`: how many numbers are added up in a row. What the row holds before counts as one, unless
    /// it is zeros: adding to zero does not round.
    pub terms: Vec<u64>,
}

/// The numbers that a row adds up, in f64: added in the order of the elements, so that the same
/// elements give the same bits everywhere.
///
/// # Panics
/// For elements that contradict each other: a key beyond the rows, arrays that do not fit.
#[must_use]
pub fn sums<M: Model>(elements: &Elements<'_>) -> SumBounds {
    let Elements { keys, values, initial, width } = *elements;
    assert_eq!(values.len(), keys.len() * width, "an element has {width} values");
    let mut bounds = SumBounds {
        elements: vec![ElementBound::default(); initial.len()],
        terms: Vec::with_capacity(initial.len() / width),
    };
    for (row, sums) in initial.chunks_exact(width).zip(bounds.elements.chunks_exact_mut(width)) {
        bounds.terms.push(u64::from(row.iter().any(|&x| x != 0.0)));
        add::<M>(sums, row);
    }
    for (&key, values) in keys.iter().zip(values.chunks_exact(width)) {
        if key != NO_KEY {
            let row = key as usize;
            bounds.terms[row] += 1;
            add::<M>(&mut bounds.elements[row * width..][..width], values);
        }
    }
    for (sums, &terms) in bounds.elements.chunks_exact_mut(width).zip(&bounds.terms) {
        // A sum of one number is that number: nothing is rounded.
        if terms > 1 {
            sums.iter_mut().for_each(|sum| sum.finish(terms));
        }
    }
    bounds
}

fn add<M: Model>(sums: &mut [ElementBound], values: &[f32]) {
    for (sum, &value) in sums.iter_mut().zip(values) {
        sum.add(Bounded::<M>::from_f32(value));
    }
}

#[cfg(test)]
mod tests;
