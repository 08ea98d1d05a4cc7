//! Generators of cases: what lanes may have for keys, how many there may be of everything, and
//! numbers that are hard to add up.

mod groups;
mod numbers;
mod partitions;
mod sizes;

use super::case::Numbers;
use splatcheck_gpu::hazard::Hazard;
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_judge::workload::rows::{self, Row, often};
use splatcheck_judge::workload::{Frequency, Generator, Promise};
use splatcheck_reference::scatter::NO_KEY;

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

/// `count` rows of `rows`, no two equal.
fn some_rows(rng: &mut CaseRng, count: usize, rows: u32) -> Vec<u32> {
    let mut all: Vec<u32> = (0..rows).collect();
    rng.shuffle(&mut all);
    all.truncate(count);
    all
}

/// Elements with these keys and so many values each, for so many rows, which begin at zero or not. What
/// idle elements hold is infinite or no number.
fn with_values(rng: &mut CaseRng, keys: Vec<u32>, width: usize, rows: u32) -> Numbers {
    let mut values = rng.values(keys.len() * width);
    for (key, values) in keys.iter().zip(values.chunks_exact_mut(width)) {
        if *key == NO_KEY {
            values.fill(if rng.coin() { f32::NAN } else { f32::INFINITY });
        }
    }
    let words = rows as usize * width;
    let initial = if rng.coin() { rng.values(words) } else { vec![0.0; words] };
    Numbers { keys, values, initial, width }
}

#[cfg(test)]
mod tests;
