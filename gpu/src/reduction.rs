//! The reductions of the backward stages and their balance threshold.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How the contributions of a tile's pixels to one Gaussian, or of Gaussians to one camera, are
/// added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// One atomic addition per contributing lane and value: the baseline.
    Atomic,
    /// DISTWAR's serialized reduction: the lowest lane of the group that matches on the Gaussian's
    /// id pulls the other lanes' values in turn and issues one atomic per value.
    SwS,
    /// DISTWAR's butterfly: a shuffle tree over the whole warp, in which lanes that do not
    /// contribute hold exact zeros; lane 0 issues one atomic per value.
    SwB,
    /// What the language offers for adding up a warp (`subgroupAdd`), in whatever order it adds;
    /// lane 0 issues one atomic per value.
    Subgroup,
    /// Each warp adds up in registers, the warps of a tile in workgroup memory; one atomic per
    /// tile, Gaussian and value.
    Block,
    /// A kernel of its own: one lane per Gaussian, through which the pixels of the warp are
    /// streamed; each lane adds up in registers and issues one atomic per value.
    PerGaussian,
}

impl Reduction {
    /// Every reduction, in the order of reports.
    pub const ALL: [Self; 6] =
        [Self::Atomic, Self::SwS, Self::SwB, Self::Subgroup, Self::Block, Self::PerGaussian];

    /// The reductions of the camera's gradient in `project_backward`: all but the one that is a
    /// kernel of its own, since a lane holds a Gaussian there anyway.
    pub const OF_PROJECT_BACKWARD: [Self; 5] =
        [Self::Atomic, Self::SwS, Self::SwB, Self::Subgroup, Self::Block];

    /// The name used on the command line, in reports and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Atomic => "atomic",
            Self::SwS => "sw-s",
            Self::SwB => "sw-b",
            Self::Subgroup => "subgroup",
            Self::Block => "block",
            Self::PerGaussian => "per-gaussian",
        }
    }

    /// Whether the balance threshold changes what the kernel does: not where lanes never share a
    /// sum in registers.
    #[must_use]
    pub fn has_threshold(self) -> bool {
        match self {
            Self::Atomic | Self::PerGaussian => false,
            Self::SwS | Self::SwB | Self::Subgroup | Self::Block => true,
        }
    }
}

impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Reduction {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|r| r.name() == name).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|r| r.name()).collect();
            format!("unknown reduction '{name}': expected one of {}", known.join(", "))
        })
    }
}

/// A threshold outside `0..=W+1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error(
    "threshold {threshold} is out of range for lane width {lane_width}: expected 0..={}, where 0 \
     and 1 mean always and {} means never reduce",
    lane_width + 1,
    lane_width + 1
)]
pub struct ThresholdError {
    /// The threshold asked for.
    pub threshold: u32,
    /// The device's lane width.
    pub lane_width: u32,
}

/// One setting of the rasterization backward kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BackwardConfig {
    /// The reduction.
    pub reduction: Reduction,
    /// Contributing lanes from which a warp reduces in registers; 0 and 1 mean always,
    /// lane width + 1 means never. Ignored where [`Reduction::has_threshold`] is false.
    pub threshold: u32,
}

impl BackwardConfig {
    /// Checks the threshold against the device's lane width.
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
}

impl fmt::Display for BackwardConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.reduction.has_threshold() {
            write!(f, "{} threshold {}", self.reduction, self.threshold)
        } else {
            write!(f, "{}", self.reduction)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweep_has_the_ends_and_no_repetition() {
        for w in [4, 8, 16, 32, 64] {
            let sweep = BackwardConfig::sweep(w);
            let mut unique = sweep.clone();
            unique.dedup();
            assert_eq!(unique, sweep, "a setting is repeated at lane width {w}");
            for threshold in [0, 1, 2, w / 4, w / 2, w - 1, w, w + 1] {
                for reduction in Reduction::ALL.into_iter().filter(|r| r.has_threshold()) {
                    let wanted = BackwardConfig { reduction, threshold };
                    assert!(sweep.contains(&wanted), "{wanted} is missing at lane width {w}");
                }
            }
            for reduction in [Reduction::Atomic, Reduction::PerGaussian] {
                let settings = sweep.iter().filter(|c| c.reduction == reduction).count();
                assert_eq!(settings, 1, "{reduction} has no threshold to sweep");
            }
            assert!(sweep.iter().all(|c| c.check(w).is_ok()), "a setting is out of range");
        }
    }

    #[test]
    fn a_threshold_above_the_range_is_named() {
        let config = BackwardConfig { reduction: Reduction::SwB, threshold: 34 };
        let error = config.check(32).expect_err("34 is out of range for 32 lanes");
        assert!(error.to_string().contains("expected 0..=33"), "unhelpful: {error}");
    }

    #[test]
    fn names_round_trip() {
        for reduction in Reduction::ALL {
            assert_eq!(reduction.name().parse(), Ok(reduction), "{reduction} does not parse back");
        }
        let error = "butterfly".parse::<Reduction>().expect_err("no such reduction");
        assert!(
            error.contains("atomic, sw-s, sw-b, subgroup, block, per-gaussian"),
            "unhelpful: {error}"
        );
    }
}
