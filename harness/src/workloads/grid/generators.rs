//! Generators of cases: every field of an encoding, what the lanes of a warp may share, points on the borders
//! of cells, level tables about which integers wrap, and numbers that are hard to add up.

mod borders;
mod fields;
mod gates;
mod groups;
mod lost;
mod numbers;
mod profiles;
mod sharing;
mod simplices;
mod sizes;
mod strides;
mod tables;
#[cfg(test)]
mod tests;
mod wide;

use super::case::{LevelTable, Points};
use super::gate::Gate;
use crate::dice::Dice;
use crate::workload::rows::{self, Row, often};
use crate::workload::{Generator, Promise, Turns};
use splatcheck_gpu::hazard::Hazard;
use splatcheck_reference::grid::{Crowded, DenseStride, Encoding};
use splatcheck_reference::grid::{Interpolation, Lattice, RightCorner, Skew};

/// The points of a module's plan.
macro_rules! of {
    ($generator:ident) => {
        |turn, lane_width, dice| $generator::plan(turn, lane_width, dice).points(dice)
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
            turns: Turns::Steering,
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
            turns: Turns::Seldom,
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
            turns: Turns::Often,
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
    promise != Promise::Nothing && turns != Turns::Seldom
}

/// What a generator draws.
struct Plan {
    encoding: Encoding,
    dimensions: usize,
    features: usize,
    levels: LevelTable,
    /// `[N,d]`.
    positions: Vec<f32>,
    /// Of an entry, by its number.
    entry: fn(usize, &mut Dice) -> f32,
    /// Of a feature's gradient, by the number of the point.
    gradient: fn(usize, &mut Dice) -> f32,
    /// The level of a gate's mask: scale, vertices of an axis, entries.
    mask: Option<(f32, u32, u32)>,
}

impl Plan {
    /// Points whose entries and gradients are any numbers.
    fn new(
        encoding: Encoding,
        [dimensions, features]: [usize; 2],
        levels: &[(f32, u32, u32)],
        positions: Vec<f32>,
    ) -> Self {
        let mut table = LevelTable::default();
        for &(scale, resolution, entries) in levels {
            table.add(scale, resolution, entries);
        }
        let (entry, gradient) = (any, any);
        let mask = None;
        Self { encoding, dimensions, features, levels: table, positions, entry, gradient, mask }
    }

    /// The points, whose entries and gradients are drawn.
    ///
    /// # Panics
    /// Where the fields contradict each other: a test draws every kind.
    fn points(self, dice: &mut Dice) -> Points {
        let Self { dimensions, features, positions, entry, gradient, .. } = self;
        let grid = self.levels.grid(together(self.encoding), [dimensions, features]);
        let grid = grid.unwrap_or_else(|error| panic!("a plan without a grid: {error}"));
        let gate = self.mask.map(|level| {
            let mask_grid = Gate::grid(*grid.encoding(), dimensions, level);
            let grid = mask_grid.unwrap_or_else(|error| panic!("a mask without a grid: {error}"));
            Gate { mask: (0..grid.entries()).map(|at| entry(at, dice)).collect(), grid }
        });
        let row = grid.levels().len() * features;
        let gradients = positions.len() / dimensions * row;
        Points {
            table: (0..grid.entries() * features).map(|at| entry(at / features, dice)).collect(),
            v_features: (0..gradients).map(|at| gradient(at / row, dice)).collect(),
            grid,
            positions,
            gate,
        }
    }
}

fn any(_: usize, dice: &mut Dice) -> f32 {
    dice.value()
}

/// So many numbers of points in the unit cube.
fn inside(count: usize, dice: &mut Dice) -> Vec<f32> {
    (0..count).map(|_| 0.5 + 0.5 * dice.value()).collect()
}

/// The entry that a turn chooses.
fn at<T: Copy>(all: &[T], turn: u64) -> T {
    all[usize::try_from(turn % all.len() as u64).unwrap_or(0)]
}

/// Fields that go together, the nearest to these.
fn together(encoding: Encoding) -> Encoding {
    let simplex = encoding.lattice == Lattice::Simplex;
    let interpolation = if simplex { Interpolation::Linear } else { encoding.interpolation };
    let right_corner = if simplex { RightCorner::FloorPlusOne } else { encoding.right_corner };
    let uncounted = encoding.dense_stride == DenseStride::Never;
    let crowded = if uncounted { Crowded::Hash } else { encoding.crowded };
    let skew = if simplex { encoding.skew } else { Skew::None };
    Encoding { skew, interpolation, right_corner, crowded, ..encoding }
}
