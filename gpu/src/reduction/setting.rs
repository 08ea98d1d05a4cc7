//! A reduction with its balance threshold: one way to run a stage that accumulates.

use super::Reduction;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A threshold outside `0..=W+1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error(
    "threshold {threshold} is out of range for warp size {lane_width}: expected 0..={}, where 0 \
     and 1 mean always and {} means never reduce",
    lane_width + 1,
    lane_width + 1
)]
pub struct ThresholdError {
    /// The threshold asked for.
    pub threshold: u32,
    /// The device's warp size.
    pub lane_width: u32,
}

/// A reduction and its threshold: what a stage that adds up is run with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setting {
    /// The reduction.
    pub reduction: Reduction,
    /// Contributing lanes from which a warp reduces in registers; 0 and 1 mean always,
    /// warp size + 1 means never. Ignored where [`Reduction::has_threshold`] is false.
    pub threshold: u32,
}

impl Setting {
    /// Checks the threshold against the device's warp size.
    ///
    /// # Errors
    /// [`ThresholdError`] if the threshold is above `lane_width + 1`.
    pub fn check(self, lane_width: u32) -> Result<Self, ThresholdError> {
        if self.threshold <= lane_width + 1 {
            Ok(self)
        } else {
            Err(ThresholdError { threshold: self.threshold, lane_width })
        }
    }

    /// The settings of a sweep, reduction by reduction: one for each of the thresholds
    /// {0, 1, 2, W/4, W/2, W-1, W, W+1}, sorted and without repetitions, or one where there is no
    /// threshold.
    #[must_use]
    pub fn sweep(lane_width: u32) -> Vec<Self> {
        let w = lane_width;
        let mut thresholds = vec![0, 1, 2, w / 4, w / 2, w - 1, w, w + 1];
        thresholds.sort_unstable();
        thresholds.dedup();
        let mut all = Vec::new();
        for reduction in Reduction::ALL {
            if reduction.has_threshold() {
                all.extend(thresholds.iter().map(|&threshold| Self { reduction, threshold }));
            } else {
                all.push(Self { reduction, threshold: 0 });
            }
        }
        all
    }

    /// Every setting of a warp size, reduction by reduction: one for each of the thresholds 0 to
    /// W+1, or one where there is no threshold. What a kernel does under a threshold that the sweep
    /// leaves out is only known from these.
    #[must_use]
    pub fn all(lane_width: u32) -> Vec<Self> {
        let thresholds = |reduction: Reduction| {
            let last = if reduction.has_threshold() { lane_width + 1 } else { 0 };
            (0..=last).map(move |threshold| Self { reduction, threshold })
        };
        Reduction::ALL.into_iter().flat_map(thresholds).collect()
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.reduction.has_threshold() {
            write!(f, "{} threshold {}", self.reduction, self.threshold)
        } else {
            write!(f, "{}", self.reduction)
        }
    }
}
