//! Groups of lanes that one stride of a reduction over a warp alone brings together, and sums that it may take
//! for none.

use super::plan::{Plan, at};
use crate::grid::case::LevelTable;
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_reference::grid::{Encoding, Interpolation, Outside, PositionOffset, RightCorner};

/// By the turn and the warp size.
const SHAPES: [fn(u64, u32) -> Plan; 8] = [
    |_, lanes| last_alone(lanes),
    |_, lanes| longer_than_half(lanes),
    |_, lanes| halves(lanes),
    |turn, _| signs(at(&[4, 2], turn)),
    |_, lanes| on_a_vertex(lanes),
    |_, lanes| beside_a_vertex(RightCorner::Ceil, 0.3125, lanes),
    |_, lanes| beside_a_vertex(RightCorner::Ceil, 1.3125, lanes),
    |_, lanes| beside_a_vertex(RightCorner::FloorPlusOne, 0.3125, lanes),
];

/// Cases of a shape, each of which may have another part of the settings.
const EACH: u64 = 4;

/// Kinds of cases.
pub(super) const KINDS: u64 = EACH * SHAPES.len() as u64;

/// On a level of four cells, where a corner is at a multiple of a quarter.
pub(super) fn plan(turn: u64, lane_width: u32, _dice: &mut CaseRng) -> Plan {
    at(&SHAPES, turn / EACH)(turn, lane_width)
}

/// Each point adds to one entry.
fn nearest(features: usize, positions: Vec<f32>) -> Plan {
    let encoding = Encoding {
        interpolation: Interpolation::Nearest,
        position_offset: PositionOffset::Zero,
        outside: Outside::Zero,
        ..Encoding::default()
    };
    Plan::new(encoding, [1, features], &[(4.0, 5, 5)], positions)
}

/// A warp whose last lane alone has a key.
fn last_alone(lanes: u32) -> Plan {
    nearest(2, (0..lanes).map(|lane| if lane + 1 == lanes { 0.25 } else { -1.0 }).collect())
}

/// A run of one lane more than half a warp: after the largest stride its first lane has the sum of all but one,
/// which has come from the last.
fn longer_than_half(lanes: u32) -> Plan {
    let first = lanes / 2 + 1;
    nearest(4, (0..lanes).map(|lane| if lane < first { 0.25 } else { 0.75 }).collect())
}

/// Warps of which the lanes with a bit of their number 0 are a group and the others add nothing, a warp for
/// each bit: the stride of that bit is the one that the group has not got within itself.
fn halves(lanes: u32) -> Plan {
    let position = |bit: u32, lane: u32| if lane >> bit & 1 == 0 { 0.25 } else { -1.0 };
    let warp = |bit: u32| (0..lanes).map(move |lane| position(bit, lane));
    nearest(2, (0..lanes.ilog2()).flat_map(warp).collect())
}

/// Sums that are 0, 1 or -1, each of one point.
fn signs(features: usize) -> Plan {
    let positions = (0..20_u8).map(|vertex| f32::from(vertex) / 32.0).collect();
    let mut levels = LevelTable::default();
    levels.add(32.0, 33, 33);
    let gradient = |_: usize, rng: &mut CaseRng| at(&[0.0, 1.0, -1.0], u64::from(rng.below(3)));
    Plan { levels, gradient, ..nearest(features, positions) }
}

/// All lanes of a warp, and one of the next, on a vertex whose right neighbour is itself.
fn on_a_vertex(lanes: u32) -> Plan {
    let encoding = Encoding {
        position_offset: PositionOffset::Zero,
        right_corner: RightCorner::Ceil,
        ..Encoding::default()
    };
    let points = usize::try_from(lanes + 1).unwrap_or(1);
    Plan::new(encoding, [1, 2], &[(4.0, 5, 5)], vec![0.25; points])
}

/// Points on vertices of one axis, for each axis a warp, beside points of the cell whose right vertex is the
/// same: at half of the corners all add to one entry. Of the other axes all have one position.
fn beside_a_vertex(right_corner: RightCorner, others: f32, lanes: u32) -> Plan {
    let encoding =
        Encoding { position_offset: PositionOffset::Zero, right_corner, ..Encoding::default() };
    let beside = if right_corner == RightCorner::Ceil { 0.3125 } else { 0.6875 };
    let on_axis = |lane: u32| if lane.is_multiple_of(2) { 0.5 } else { beside };
    let point = |axis: u32, lane: u32| {
        [0, 1, 2, 3].map(|other| if other == axis { on_axis(lane) } else { others })
    };
    let positions = (0..4).flat_map(|axis| (0..lanes).flat_map(move |lane| point(axis, lane)));
    Plan::new(encoding, [4, 1], &[(4.0, 5, 625)], positions.collect())
}
