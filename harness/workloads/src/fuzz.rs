//! The cases of a fuzzing campaign: a list without end, a pure function of seed and index.
//!
//! Nothing that a machine does has a part in it, neither its engines nor their speed nor the number
//! of threads; so any part of a campaign can be run again anywhere. It is steered without looking
//! back: every other case is one of the workload's steering generator, whose aims take turns until
//! every cell of [`coverage`](splatcheck_judge::coverage) was aimed at; the other generators take turns in
//! between, those with large cases one turn in 16
//! ([`Frequency`](splatcheck_judge::workload::Frequency)). Warp sizes and settings take turns
//! too.

mod draws;
mod join;
mod plan;
mod record;
mod results;
mod shard;

pub use draws::Draws;
pub use join::{JoinError, Part, folder_of, join};
pub use plan::{AimError, LANE_WIDTHS, Plan};
pub use record::{RESULT, ResultError, Results};
pub use results::REPORT;
pub use shard::{NotAShard, Shard};
