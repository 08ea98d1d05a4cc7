//! Generators of cases: every field of an encoding, what the lanes of a warp may share, points on the borders
//! of cells, level tables about which integers wrap, and numbers that are hard to add up.

mod borders;
mod fields;
mod gates;
mod groups;
mod lost;
mod numbers;
mod plan;
mod profiles;
mod sharing;
mod simplices;
mod sizes;
mod strides;
mod tables;
#[cfg(test)]
mod tests;
mod wide;

use super::case::Points;
use splatcheck_gpu::hazard::Hazard;
use splatcheck_judge::workload::rows::{self, Row, often};
use splatcheck_judge::workload::{Frequency, Generator, Promise};

/// The points of a module's plan.
macro_rules! of {
    ($generator:ident) => {
        |turn, lane_width, rng| $generator::plan(turn, lane_width, rng).points(rng)
    };
}

/// Every generator. The order is that of a campaign's turns.
pub const ALL: &[Row<Points>] = &[
    often(
        "fields",
        &[Hazard::MaskWidth, Hazard::ChannelCount],
        "every value of every field of an encoding, with dense and crowded levels",
        fields::KINDS,
        of!(fields),
    ),
    often(
        "sharing",
        &[
            Hazard::ActiveMaskAsSet,
            Hazard::CountApartFromGroup,
            Hazard::LeaderNotLaneZero,
            Hazard::MaskByProduct,
        ],
        "points that share a cell or a vertex, in every order that lanes may meet them in",
        sharing::KINDS,
        of!(sharing),
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
            purpose: "every group of lanes that a warp may meet, by turn: points on a line of cells",
            promise: Promise::Every,
            turns: Frequency::Steering,
            needs: &[],
        },
        kinds: groups::KINDS,
        numbers: of!(groups),
    },
    often(
        "borders",
        &[Hazard::MaskWidth],
        "points on faces, edges and corners of cells and one f32 beside them, at 0, 1, 2 and below 0",
        borders::KINDS,
        of!(borders),
    ),
    often(
        "tables",
        &[Hazard::MaskWidth, Hazard::ExtremeSums],
        "levels at the border of dense and hashed, of a single entry, and of more vertices than 32 bits count",
        tables::KINDS,
        of!(tables),
    ),
    often(
        "profiles",
        &[Hazard::ChannelCount],
        "the encodings of tiny-cuda-nn, torch-ngp, nerfstudio and Dr.Jit with the level tables that they make",
        profiles::KINDS,
        of!(profiles),
    ),
    often(
        "sizes",
        &[Hazard::ChannelCount, Hazard::PartialTile, Hazard::MissingBarrier],
        "counts of points about those of warps and workgroups, of levels and of features",
        sizes::KINDS,
        of!(sizes),
    ),
    often(
        "numbers",
        &[Hazard::ReductionMissing, Hazard::ExtremeSums],
        "entries and gradients that are subnormal, large, cancel, or are zero but for one point",
        numbers::KINDS,
        of!(numbers),
    ),
    often(
        "gates",
        &[
            Hazard::ActiveMaskAsSet,
            Hazard::CountApartFromGroup,
            Hazard::MaskByProduct,
            Hazard::ChannelCount,
        ],
        "features behind a mask: a coarse grid whose entries all points share",
        gates::KINDS,
        of!(gates),
    ),
    often(
        "simplices",
        &[Hazard::MaskWidth],
        "points in simplices: far from the origin, below it, in few entries, on the planes between them",
        simplices::KINDS,
        of!(simplices),
    ),
    often(
        "strides",
        &[Hazard::ActiveMaskAsSet, Hazard::ThresholdEdge, Hazard::PartialTile],
        "groups of lanes that one stride of a reduction alone brings together, and sums of 0, 1 and -1",
        strides::KINDS,
        of!(strides),
    ),
    Row {
        generator: Generator {
            name: "wide",
            hazards: &[Hazard::ChannelCount, Hazard::MissingBarrier],
            purpose: "more than 65,536 points, vertices, entries, features and terms of one entry",
            promise: Promise::Every,
            turns: Frequency::Seldom,
            needs: &[],
        },
        kinds: wide::KINDS,
        numbers: of!(wide),
    },
    Row {
        generator: Generator {
            name: "lost",
            hazards: &[Hazard::MaskWidth],
            purpose: "positions that are not finite or beyond all cells: nothing is promised but that no \
                      other memory is touched",
            promise: Promise::Nothing,
            turns: Frequency::Often,
            needs: &[],
        },
        kinds: lost::KINDS,
        numbers: of!(lost),
    },
];

/// The row of that generator.
#[must_use]
pub fn find(name: &str) -> Option<&'static Row<Points>> {
    rows::find(ALL, name)
}

/// Whether the cases of a row are promised and cheap enough for the main job.
pub(super) fn is_quick(row: &Row<Points>) -> bool {
    let Generator { promise, turns, .. } = row.generator;
    promise != Promise::Nothing && turns != Frequency::Seldom
}
