//! Generators of cases: what lanes may have for keys, how many there may be of everything, and
//! numbers that are hard to add up.

mod groups;
mod numbers;
mod partitions;
mod sizes;

use super::case::Numbers;
use splatcheck_gpu::hazard::Hazard;
use splatcheck_judge::workload::rows::{self, Row, often};
use splatcheck_judge::workload::{Frequency, Generator, Promise};

/// Every generator. The order is that of a campaign's turns.
pub const ALL: &[Row<Numbers>] = &[
    often(
        "partitions",
        &[
            Hazard::ActiveMaskAsSet,
            Hazard::CountApartFromGroup,
            Hazard::LeaderNotLaneZero,
            Hazard::MaskByProduct,
        ],
        "every way in which the lanes of a warp may share rows, with and without idle lanes",
        partitions::KINDS,
        partitions::draw,
    ),
    Row {
        generator: Generator {
            name: "groups",
            hazards: &[
                Hazard::ActiveMaskAsSet,
                Hazard::CountApartFromGroup,
                Hazard::LeaderNotLaneZero,
                Hazard::MaskByProduct,
                Hazard::ThresholdEdge,
                Hazard::PartialTile,
            ],
            purpose: "every group of lanes that a warp may meet, by turn: its lanes, what is beside it, and the end",
            promise: Promise::Every,
            turns: Frequency::Steering,
            needs: &[],
        },
        kinds: groups::KINDS,
        numbers: groups::draw,
    },
    often(
        "sizes",
        &[
            Hazard::ChannelCount,
            Hazard::PartialTile,
            Hazard::MissingBarrier,
            Hazard::UnwrittenOutput,
        ],
        "counts of elements and values about those of warps, workgroups and chunks",
        sizes::KINDS,
        sizes::draw,
    ),
    often(
        "numbers",
        &[Hazard::ReductionMissing, Hazard::ExtremeSums],
        "values that cancel, of all magnitudes, subnormal or tied; keys that are nearly equal",
        numbers::KINDS,
        numbers::draw,
    ),
];

/// The row of that generator.
#[must_use]
pub fn find(name: &str) -> Option<&'static Row<Numbers>> {
    rows::find(ALL, name)
}

#[cfg(test)]
mod tests;
