//! What a generator draws, and the points that become of it.

use crate::grid::case::{LevelTable, Points};
use crate::grid::gate::Gate;
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_reference::grid::{
    Crowded, DenseStride, Encoding, Interpolation, Lattice, RightCorner, Skew,
};

/// What a generator draws.
pub(super) struct Plan {
    pub(super) encoding: Encoding,
    pub(super) dimensions: usize,
    pub(super) features: usize,
    pub(super) levels: LevelTable,
    /// `[N,d]`.
    pub(super) positions: Vec<f32>,
    /// Of an entry, by its number.
    pub(super) entry: fn(usize, &mut CaseRng) -> f32,
    /// Of a feature's gradient, by the number of the point.
    pub(super) gradient: fn(usize, &mut CaseRng) -> f32,
    /// The level of a gate's mask: scale, vertices of an axis, entries.
    pub(super) mask: Option<(f32, u32, u32)>,
}

impl Plan {
    /// Points whose entries and gradients are any numbers.
    pub(super) fn new(
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
    pub(super) fn points(self, rng: &mut CaseRng) -> Points {
        let Self { dimensions, features, positions, entry, gradient, .. } = self;
        let grid = self.levels.grid(together(self.encoding), [dimensions, features]);
        let grid = grid.unwrap_or_else(|error| panic!("a plan without a grid: {error}"));
        let gate = self.mask.map(|level| {
            let mask_grid = Gate::grid(*grid.encoding(), dimensions, level);
            let grid = mask_grid.unwrap_or_else(|error| panic!("a mask without a grid: {error}"));
            Gate { mask: (0..grid.entries()).map(|at| entry(at, rng)).collect(), grid }
        });
        let row = grid.levels().len() * features;
        let gradients = positions.len() / dimensions * row;
        Points {
            table: (0..grid.entries() * features).map(|at| entry(at / features, rng)).collect(),
            v_features: (0..gradients).map(|at| gradient(at / row, rng)).collect(),
            grid,
            positions,
            gate,
        }
    }
}

/// Any number, whatever the place.
pub(super) fn any(_: usize, rng: &mut CaseRng) -> f32 {
    rng.value()
}

/// `count` coordinates in the unit interval.
pub(super) fn inside(count: usize, rng: &mut CaseRng) -> Vec<f32> {
    (0..count).map(|_| 0.5 + 0.5 * rng.value()).collect()
}

/// The entry that a turn chooses.
pub(super) fn at<T: Copy>(all: &[T], turn: u64) -> T {
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
