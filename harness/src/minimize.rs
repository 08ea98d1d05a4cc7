//! Making a failing case small enough to read.

use crate::case::Case;
use crate::generators::CaseTree;
use splat_reference::{Colors, Gaussians};
use std::time::{Duration, Instant};

/// Time and attempts granted to one finding.
const TIME: Duration = Duration::from_secs(10);
const ATTEMPTS: u32 = 400;

/// What is left of the grant.
struct Budget {
    until: Instant,
    attempts: u32,
}

impl Budget {
    fn new() -> Self {
        Self { until: Instant::now() + TIME, attempts: ATTEMPTS }
    }

    fn spend(&mut self) -> bool {
        self.attempts = self.attempts.saturating_sub(1);
        self.attempts > 0 && Instant::now() < self.until
    }
}

/// Shrinks a drawn case with proptest: fewer Gaussians, a smaller image, simpler numbers.
/// `fails` is called with every candidate and says whether it still fails.
pub fn shrink(mut tree: CaseTree, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    let mut budget = Budget::new();
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

/// Shrinks any case by leaving out Gaussians: halves first, then quarters, down to single ones
/// (Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, TSE 2002).
pub fn drop_gaussians(case: &Case, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    let mut budget = Budget::new();
    let mut best = case.clone();
    let mut size = best.scene.gaussians.len().div_ceil(2);
    while size > 0 {
        let mut start = 0;
        while start < best.scene.gaussians.len() {
            if !budget.spend() {
                return best;
            }
            let smaller = without(&best, start, size);
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

/// The case without `count` Gaussians from `start` on.
fn without(case: &Case, start: usize, count: usize) -> Case {
    let cut = start..start + count;
    let kept: Vec<usize> = (0..case.scene.gaussians.len()).filter(|id| !cut.contains(id)).collect();
    let mut smaller = case.clone();
    smaller.scene.gaussians = only(&case.scene.gaussians, &kept);
    smaller
}

/// The Gaussians with these numbers, in that order.
///
/// # Panics
/// For a number that is not there.
#[must_use]
pub fn only(gaussians: &Gaussians<f32>, ids: &[usize]) -> Gaussians<f32> {
    let Gaussians { means, quats, scales, opacities, colors } = gaussians;
    let stride = colors.stride();
    let values: Vec<f32> = ids
        .iter()
        .flat_map(|&id| colors.values()[id * stride..(id + 1) * stride].iter().copied())
        .collect();
    let colors: Colors<f32> = colors.with_values(values);
    Gaussians {
        means: ids.iter().map(|&id| means[id]).collect(),
        quats: ids.iter().map(|&id| quats[id]).collect(),
        scales: ids.iter().map(|&id| scales[id]).collect(),
        opacities: ids.iter().map(|&id| opacities[id]).collect(),
        colors,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generators::draw;
    use splat_reference::convention::Profile;

    #[test]
    fn only_the_gaussians_that_matter_are_left() {
        let case = (0..)
            .map(|index| draw(Profile::Inria, 5, index).current())
            .find(|case| case.scene.gaussians.len() > 20)
            .expect("some scene is large");
        let (first, second) = (case.scene.gaussians.means[3], case.scene.gaussians.means[17]);
        let small = drop_gaussians(&case, &mut |case| {
            let means = &case.scene.gaussians.means;
            means.contains(&first) && means.contains(&second)
        });
        assert_eq!(small.scene.gaussians.means, [first, second], "more or less than needed");
        let stride = small.scene.gaussians.colors.stride();
        assert_eq!(small.scene.gaussians.colors.values().len(), 2 * stride, "colours follow");
    }
}
