//! What a case is drawn for.

use splatcheck_reference::splat::convention::Profile;

/// What a case is drawn for: [`workload::Draw`](splatcheck_judge::workload::Draw) with the convention's profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The convention, where the generator does not change it.
    pub profile: Profile,
    /// The warp size whose warps are aimed at, a power of two up to 128.
    pub lane_width: u32,
    /// How often the generator was used before: which of its kinds of cases comes.
    pub turn: u64,
}
