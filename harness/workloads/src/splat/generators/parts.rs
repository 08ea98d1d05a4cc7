//! What several generators draw.

use super::sheet::{Loss, Mark};
use proptest::prelude::*;
use splatcheck_gpu::reduction::WORKGROUP_SIZE;
use std::ops::Range;

/// How many e-folds the middle of a strip lies above the cut at 1/255.
pub(super) fn height() -> impl Strategy<Value = f32> + Clone {
    0.5f32..4.5
}

/// A strip anywhere in the tile at the origin.
pub(super) fn strip() -> impl Strategy<Value = Mark> + Clone {
    (0..WORKGROUP_SIZE, 1..=64u32, height()).prop_map(|(first, lanes, height)| {
        Mark::strip(first, lanes.min(WORKGROUP_SIZE - first), height)
    })
}

/// Some strips.
pub(super) fn strips(count: Range<usize>) -> impl Strategy<Value = Vec<Mark>> + Clone {
    prop::collection::vec(strip(), count)
}

/// A lane of the tile.
pub(super) fn lane() -> impl Strategy<Value = u32> + Clone {
    0..WORKGROUP_SIZE
}

/// A loss whose every pixel matters.
pub(super) fn random_loss() -> impl Strategy<Value = Loss> + Clone {
    (any::<u64>(), prop::sample::select(vec![1.0f32, 1.0 / 1024.0, 64.0]))
        .prop_map(|(seed, magnitude)| Loss::Random(seed, magnitude))
}

/// A round Gaussian of some pixels anywhere on an image of that size.
pub(super) fn blot(size: [u32; 2]) -> impl Strategy<Value = Mark> + Clone {
    let side = |side| 0.0..super::sheet::small(side);
    (side(size[0]), side(size[1]), 0.5f32..8.0, 0.02f32..0.9)
        .prop_map(|(x, y, deviation, opacity)| Mark::round([x, y], deviation, opacity))
}
