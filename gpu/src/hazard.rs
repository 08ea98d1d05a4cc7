//! What goes wrong in public kernels that add up gradients, by name: each is what cases aim at, and what
//! mutants stand for. `corpora/README.md` lists them.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// The enum, the list of its values and their names from one text.
macro_rules! hazards {
    ($($(#[$doc:meta])* $value:ident = $name:literal,)+) => {
        /// A hazard.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Hazard { $($(#[$doc])* $value),+ }

        impl Hazard {
            /// All of them.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// Its name in files and tables.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$value => $name),+ }
            }
        }
    };
}

hazards! {
    /// The lanes that happen to be active taken for those of the algorithm's set.
    ActiveMaskAsSet = "active-mask-as-set",
    /// The count for the threshold taken at one point and the group at another.
    CountApartFromGroup = "count-apart-from-group",
    /// Lane 0, or the leader, does not contribute itself.
    LeaderNotLaneZero = "leader-not-lane-zero",
    /// A shuffle reads a lane that takes no part in it.
    ShuffleFromInactiveLane = "shuffle-from-inactive-lane",
    /// `value * mask` in place of a selection: an inactive lane's infinity or NaN poisons the sum.
    MaskByProduct = "mask-by-product",
    /// Masks of another width than the warp, a shift of 31 of a signed integer, negative floats as unsigned.
    MaskWidth = "mask-width",
    /// A number of channels that is written into the kernel.
    ChannelCount = "channel-count",
    /// The balance threshold off by one, 0, or above the warp's size.
    ThresholdEdge = "threshold-edge",
    /// No reduction at all: one lane's or one camera's value counts, or the last writer's.
    ReductionMissing = "reduction-missing",
    /// Lists and walks that end on a batch's border.
    BatchBorder = "batch-border",
    /// Tiles and warps that are partly or wholly outside the image.
    PartialTile = "partial-tile",
    /// Pixels of a warp that end at different times, or exactly at the stop.
    EarlyStop = "early-stop",
    /// Transmittance by division with alpha at the clamp.
    DivisionNearClamp = "division-near-clamp",
    /// The gradient of an alpha that is clamped.
    ClampGradient = "clamp-gradient",
    /// Sums that overflow, cancel, underflow or hold -0, and atomics that treat them otherwise.
    ExtremeSums = "extreme-sums",
    /// Forward and backward pass round differently, and so decide a cut differently.
    ForwardBackwardRounding = "forward-backward-rounding",
    /// Barriers in divergent control flow, or missing ones.
    MissingBarrier = "missing-barrier",
    /// Inputs that are not finite.
    NonFinite = "non-finite",
    /// Outputs that nobody writes.
    UnwrittenOutput = "unwritten-output",
    /// The second contended sum: the camera's, or several cameras' into one Gaussian.
    CameraSums = "camera-sums",
}

/// How much of another name is shown.
const SHOWN: usize = 40;

/// Not the name of a hazard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no hazard, expected one of {names}", names = Hazard::ALL.map(Hazard::name).join(", "))]
pub struct NoHazard(String);

impl Hazard {
    /// Names between commas, as files have them; none in an empty text.
    ///
    /// # Errors
    /// [`NoHazard`] for the first that is none.
    pub fn list(text: &str) -> Result<Vec<Self>, NoHazard> {
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::parse).collect()
    }

    /// These as [`Self::list`] reads them.
    #[must_use]
    pub fn joined(hazards: &[Self]) -> String {
        hazards.iter().map(|hazard| hazard.name()).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Hazard {
    type Err = NoHazard;

    fn from_str(text: &str) -> Result<Self, NoHazard> {
        let found = Self::ALL.into_iter().find(|hazard| hazard.name() == text);
        found.ok_or_else(|| NoHazard(text.chars().take(SHOWN).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        assert_eq!(Hazard::list(&Hazard::joined(&Hazard::ALL)), Ok(Hazard::ALL.to_vec()), "all");
        assert_eq!(Hazard::list(" "), Ok(Vec::new()), "none");
        let error = Hazard::list("mask-width, 3").expect_err("a number").to_string();
        let expected = "'3' is no hazard, expected one of active-mask-as-set,";
        assert!(error.starts_with(expected), "{error}");
        let long = Hazard::list(&"x".repeat(1 << 20)).expect_err("no name").to_string();
        assert!(long.len() < 1000, "{} bytes", long.len());
    }
}
