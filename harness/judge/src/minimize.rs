//! Making a failing case small enough to read: what all workloads share.
//!
//! A case that was drawn is shrunk by its generator ([`shrink`]); what a case consists of is left out
//! part by part ([`leave_out`]). How a case looks without a part is its workload's to say.

use crate::workload::{AnyCase, CaseTree};
use std::ops::Range;

/// Attempts granted to one way of making a case smaller. What they may cost together is the campaign's to
/// say: it knows what a run takes.
const ATTEMPTS: u32 = 400;

/// What is left of the grant.
#[derive(Debug)]
pub struct Budget {
    attempts: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { attempts: ATTEMPTS }
    }
}

impl Budget {
    /// Takes one attempt from the grant; whether there was one.
    pub fn spend(&mut self) -> bool {
        self.attempts = self.attempts.saturating_sub(1);
        self.attempts > 0
    }
}

/// Shrinks a drawn case with proptest, as its generator can: fewer elements, simpler numbers.
/// `fails` is called with every candidate and says whether it still fails.
pub fn shrink(mut tree: CaseTree, fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
    let mut budget = Budget::default();
    let mut best = tree.current();
    let mut moved = tree.simplify();
    while moved && budget.spend() {
        let case = tree.current();
        moved = if fails(&case) {
            best = case;
            tree.simplify()
        } else {
            tree.complicate()
        };
    }
    best
}

/// Leaves out parts of a case for as long as what is left `fails`: halves first, then quarters, down
/// to single parts (Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, TSE
/// 2002). `count` says how many parts a case has, `without` how it looks without some of them.
pub fn leave_out<C: Clone>(
    case: &C,
    count: fn(&C) -> usize,
    without: fn(&C, Range<usize>) -> C,
    fails: &mut dyn FnMut(&C) -> bool,
) -> C {
    let mut budget = Budget::default();
    let mut best = case.clone();
    let mut size = count(&best).div_ceil(2);
    while size > 0 {
        let mut start = 0;
        while start < count(&best) {
            if !budget.spend() {
                return best;
            }
            let smaller = without(&best, start..count(&best).min(start + size));
            if fails(&smaller) {
                best = smaller;
            } else {
                start += size;
            }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_parts_that_matter_are_left() {
        let all: Vec<u32> = (0..100).collect();
        let without = |parts: &Vec<u32>, cut: Range<usize>| {
            let mut rest = parts.clone();
            rest.drain(cut);
            rest
        };
        let needed = [3, 17, 99];
        let mut fails = |parts: &Vec<u32>| needed.iter().all(|part| parts.contains(part));
        assert_eq!(leave_out(&all, Vec::len, without, &mut fails), needed, "and nothing else");
        assert_eq!(leave_out(&all, Vec::len, without, &mut |_| false), all, "all of it matters");
        assert!(leave_out(&all, Vec::len, without, &mut |_| true).is_empty(), "nothing matters");
    }

    #[test]
    fn attempts_are_limited() {
        let all: Vec<u32> = (0..100_000).collect();
        let mut asked = 0;
        let without = |parts: &Vec<u32>, _: Range<usize>| parts.clone();
        let same = leave_out(&all, Vec::len, without, &mut |_| {
            asked += 1;
            false
        });
        assert_eq!(same.len(), all.len(), "nothing was left out");
        assert!(asked < ATTEMPTS, "{asked} attempts");
    }
}
