//! Points in simplices: far from the origin, below it, in few entries, and on the planes between simplices.

use super::plan::{Plan, at, inside};
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_reference::grid::{DenseStride, Encoding, Lattice, PositionOffset, Skew};

/// By the rng.
const SHAPES: [fn(&mut CaseRng) -> Plan; 10] = [
    |rng| far([1, 2], (3001.0, 3003, 509), rng),
    |rng| far([2, 2], (3001.0, 3003, 509), rng),
    |rng| far([4, 2], (3001.0, 3003, 509), rng),
    |rng| far([4, 1], (100_003.0, 100_005, 509), rng),
    |rng| below_0(Skew::Simplex, &[(11.3, u32::MAX, 61), (2.0, 3, 61)], rng),
    |rng| below_0(Skew::None, &[(2.0, 3, 61)], rng),
    stride_1,
    // One or two entries for all vertices.
    |rng| Plan::new(simplices(), [3, 1], &[(4.0, 17, 2), (4.0, 17, 1)], inside(3 * 24, rng)),
    // A single point.
    |_| Plan::new(simplices(), [3, 1], &[(2.5, 4, 61)], vec![0.45, 0.3, 0.7]),
    |_| ties(),
];

/// Kinds of cases.
pub(super) const KINDS: u64 = SHAPES.len() as u64;

/// One kind a turn.
pub(super) fn plan(turn: u64, _lane_width: u32, rng: &mut CaseRng) -> Plan {
    at(&SHAPES, turn)(rng)
}

/// Simplices that nothing has moved.
fn simplices() -> Encoding {
    Encoding { lattice: Lattice::Simplex, ..Encoding::default() }
}

/// A level far from the origin, where a part of 2^-11 of the skew is a part of a cell, or one rounding of it
/// another order of the axes. Of two levels the other one has a stride of 1; the bounds of the farthest, where
/// the order is open, would hide it.
fn far([d, levels]: [usize; 2], level: (f32, u32, u32), rng: &mut CaseRng) -> Plan {
    let encoding = Encoding { skew: Skew::Simplex, ..simplices() };
    let all = [level, (1.0, 1, 61)];
    Plan::new(encoding, [d, 1], &all[..levels], inside(64 * d, rng))
}

/// Points of four dimensions on both sides of 0, the right vertices of some of which are 0; on a level whose
/// stride is 2^32, too.
fn below_0(skew: Skew, levels: &[(f32, u32, u32)], rng: &mut CaseRng) -> Plan {
    let dense_stride = DenseStride::ResolutionPlusOne;
    let encoding = Encoding { skew, dense_stride, ..simplices() };
    let positions = (0..24 * 4).map(|_| 0.2 + 0.8 * rng.value()).collect();
    Plan::new(encoding, [4, 1], levels, positions)
}

/// Points of one cell, with their axes in any order, on a level that adds up the numbers of a vertex.
fn stride_1(rng: &mut CaseRng) -> Plan {
    let encoding = Encoding { position_offset: PositionOffset::Zero, ..simplices() };
    let positions = (0..40 * 4).map(|_| 0.33 + 0.32 * rng.value()).collect();
    Plan::new(encoding, [4, 1], &[(1.5, 1, 5)], positions)
}

/// Points between two simplices, where two fractions are equal, beside points on one side: for each pair of
/// axes a warp, the other two axes before and behind both. Fractions are exact, products of weights are not.
fn ties() -> Plan {
    let encoding = Encoding { position_offset: PositionOffset::Zero, ..simplices() };
    let pairs = (0..4).flat_map(|k| (0..k).map(move |j| (j, k)));
    let point = |(j, k): (usize, usize), lane: u8| {
        let tied = 0.4 + 0.007_31 * f32::from(lane);
        let [first, second] = if lane.is_multiple_of(2) { [tied; 2] } else { [0.625, 0.375] };
        let mut others = [0.875, 0.125].into_iter();
        let mut fraction = |axis| match axis {
            axis if axis == j => first,
            axis if axis == k => second,
            _ => others.next().unwrap_or(0.0),
        };
        // Cells are a quarter long.
        [0, 1, 2, 3].map(|axis| 0.25 * fraction(axis))
    };
    let positions = pairs.flat_map(|pair| (0..32).flat_map(move |lane| point(pair, lane)));
    Plan::new(encoding, [4, 1], &[(4.0, 5, 625)], positions.collect())
}
