//! Which orders of depth a conforming program may find.
//!
//! Depths are sorted as f32, ties by index. Gaussian a comes before b in every program if its depth
//! is certainly smaller, or if it is certainly not larger and a's index is smaller. Two Gaussians with
//! the same mean have the same depth whatever the roundings, since a program computes the depth from
//! the mean's bits: their order is that of their indices.

use super::bin::Candidate;
use crate::arithmetic::{Bounded, Model, Scalar, Tristate};
use std::ops::Range;

/// Orders that are followed one by one; more are covered by a hull.
const MAX_ORDERS: usize = 6;

/// What decides the place of one Gaussian among others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key<M> {
    id: u32,
    depth: Bounded<M>,
    mean: [Bounded<M>; 3],
}

impl<M: Model> Key<M> {
    pub(super) fn new(candidate: &Candidate<M>, means: &[[Bounded<M>; 3]]) -> Self {
        let Candidate { id, depth, .. } = *candidate;
        Self { id, depth, mean: means[id as usize] }
    }

    /// Whether `self` comes before `other` in every program.
    fn is_before(&self, other: &Self) -> bool {
        let not_larger = other.depth.less(self.depth) == Tristate::Never || self.mean == other.mean;
        self.depth.less(other.depth) == Tristate::Always || (not_larger && self.id < other.id)
    }
}

/// Cuts a list, sorted by the values, where everything in front comes before everything behind by
/// the ends of the depths alone: the groups within which alone the order may be undecided.
pub(super) fn groups<M: Model>(keys: &[Key<M>]) -> Vec<Range<usize>> {
    let mut least_behind = vec![f64::INFINITY; keys.len() + 1];
    for (i, key) in keys.iter().enumerate().rev() {
        least_behind[i] = least_behind[i + 1].min(key.depth.ends()[0]);
    }
    let mut most = f64::NEG_INFINITY;
    let last_ones = keys.iter().enumerate().filter(|(i, key)| {
        most = most.max(key.depth.ends()[1]);
        most < least_behind[i + 1] || i + 1 == keys.len()
    });
    let mut start = 0;
    last_ones.map(|(i, _)| std::mem::replace(&mut start, i + 1)..i + 1).collect()
}

/// Cuts a few Gaussians where everything in front comes before everything behind.
pub(super) fn decided_parts<M: Model>(keys: &[&Key<M>]) -> Vec<Range<usize>> {
    let mut start = 0;
    let ends = (1..=keys.len()).filter(|&end| {
        keys[end..].iter().all(|behind| keys[..end].iter().all(|key| key.is_before(behind)))
    });
    ends.map(|end| std::mem::replace(&mut start, end)..end).collect()
}

/// All orders that a program may find, the values' own first; `None` if they are too many.
pub(super) fn orders<M: Model>(keys: &[&Key<M>]) -> Option<Vec<Vec<usize>>> {
    let mut found = Vec::new();
    extend(keys, &mut Vec::new(), &mut found);
    (found.len() <= MAX_ORDERS).then_some(found)
}

/// Completes the order that begins with `chosen` in every way, until there are too many.
fn extend<M: Model>(keys: &[&Key<M>], chosen: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    if chosen.len() == keys.len() {
        found.push(chosen.clone());
        return;
    }
    let rest: Vec<usize> = (0..keys.len()).filter(|i| !chosen.contains(i)).collect();
    for &next in &rest {
        let blocked = rest.iter().any(|&i| i != next && keys[i].is_before(keys[next]));
        if !blocked && found.len() <= MAX_ORDERS {
            chosen.push(next);
            extend(keys, chosen, found);
            chosen.pop();
        }
    }
}
