//! Every value of every field, and every two values of two of them.

use super::plan::{Plan, at};
use splatcheck_judge::case_rng::CaseRng;
use splatcheck_judge::covering::{Choice, rows};
use splatcheck_reference::grid::{
    Crowded, DenseStride, Encoding, Hash, Interpolation, Lattice, Outside, PositionOffset,
    RightCorner, Skew,
};
use std::sync::OnceLock;

/// Frequency after which every value of every field has been had, and most pairs.
const FIELDS: u64 = 60;
/// Frequency in which every two values meet.
const MEETINGS: u64 = 28;
/// Kinds of cases.
pub(super) const KINDS: u64 = FIELDS + MEETINGS;

/// A value that a turn chooses. No two fields go through theirs in the same steps.
fn of<T: Copy>(all: &[T], turn: u64, steps: u64) -> T {
    at(all, turn / steps + turn)
}

/// Entries of a level with a place for each of r^d vertices, as far as they are few.
fn entries(r: u32, d: usize, most: u32) -> u32 {
    let all = (0..d).fold(1_u32, |all, _| all.saturating_mul(r));
    all.next_multiple_of(8).min(most)
}

/// Points in and around the unit cube, on a level that has entries for all of its vertices and one whose
/// entries are few, and of no round number.
pub(super) fn plan(turn: u64, _lane_width: u32, rng: &mut CaseRng) -> Plan {
    if let Some(meeting) = (turn % KINDS).checked_sub(FIELDS) {
        return met(meeting, rng);
    }
    let encoding = Encoding {
        lattice: at(&[Lattice::Cubic, Lattice::Cubic, Lattice::Cubic, Lattice::Simplex], turn),
        hash: of(Hash::ALL, turn, 2),
        interpolation: at(Interpolation::ALL, turn),
        position_offset: of(PositionOffset::ALL, turn, 3),
        right_corner: of(RightCorner::ALL, turn, 5),
        dense_stride: of(DenseStride::ALL, turn, 3),
        crowded: of(Crowded::ALL, turn, 7),
        outside: of(Outside::ALL, turn, 4),
        // Other than the dimensions, which come again after 16 turns.
        skew: at(Skew::ALL, turn / 4 + turn / 16),
    };
    let d = at(&[3_usize, 2, 1, 4], turn / 4 + turn);
    let features = at(&[2, 4, 1, 8], turn);
    let points = at(&[40, 12, 24, 65], turn / 2);
    // One more on each axis, for strides of r + 1.
    let levels = [(1.5, 3, entries(4, d, 256)), (11.3, 13, 61)];
    let positions = (0..points * d).map(|_| 0.5 + 0.8 * rng.value()).collect();
    Plan::new(encoding, [d, features], &levels, positions)
}

/// Of lattice, skew, hash, weights, offset, corner, stride, crowded and outside, then dimensions, features, points
/// and gates.
const SIZES: [usize; 13] = [2, 2, 2, 3, 2, 2, 3, 2, 2, 4, 4, 5, 2];

/// Fields that contradict each other are in no row together.
fn may_meet((a, x): Choice, (b, y): Choice) -> bool {
    let simplex = (a, x) == (0, 1);
    let [skewed, not_linear, ceil] = [(b, y) == (1, 1), b == 3 && y != 1, (b, y) == (5, 1)];
    let uncounted = (a, x) == (6, 2);
    !(simplex && (not_linear || ceil))
        && !((a, x) == (0, 0) && skewed)
        && !(uncounted && (b, y) == (7, 1))
}

/// The rows of a covering array, of points in the unit cube, beside it and far from it.
fn met(turn: u64, rng: &mut CaseRng) -> Plan {
    static ROWS: OnceLock<Vec<Vec<usize>>> = OnceLock::new();
    let all = ROWS.get_or_init(|| rows(&SIZES, &|a, b| may_meet(a, b) && may_meet(b, a)));
    let [
        lattice,
        skew,
        hash,
        weight,
        offset,
        corner,
        stride,
        crowded,
        outside,
        d,
        features,
        points,
        gate,
    ] = all[usize::try_from(turn).unwrap_or(0) % all.len()][..]
    else {
        unreachable!("a row has a value for each")
    };
    let encoding = Encoding {
        lattice: Lattice::ALL[lattice],
        skew: Skew::ALL[skew],
        hash: Hash::ALL[hash],
        interpolation: Interpolation::ALL[weight],
        position_offset: PositionOffset::ALL[offset],
        right_corner: RightCorner::ALL[corner],
        dense_stride: DenseStride::ALL[stride],
        crowded: Crowded::ALL[crowded],
        outside: Outside::ALL[outside],
    };
    let d = d + 1;
    let count = [12, 24, 40, 200, 300][points];
    let few = if d == 1 { 11 } else { 61 };
    let levels = [(1.5, 3, entries(4, d, 256)), (11.3, 13, few)];
    let positions = (0..count * d).map(|_| anywhere(rng)).collect();
    let plan = Plan::new(encoding, [d, 1 << features], &levels, positions);
    Plan { mask: (gate == 1).then_some((2.0, 3, entries(4, d, 256))), ..plan }
}

/// Mostly in the unit cube, else on either side of it, near or far.
fn anywhere(rng: &mut CaseRng) -> f32 {
    let share = rng.value();
    match rng.below(8) {
        0 => -1.0 + share,
        1 => 2.0 + share,
        2 => -40.0 + 37.0 * share,
        3 => 40.0 + 36.0 * share,
        _ => 0.5 + 0.5 * share,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_turn_for_each_row() {
        let rows = rows(&SIZES, &|a, b| may_meet(a, b) && may_meet(b, a));
        assert!(rows.len() as u64 <= MEETINGS, "{} rows", rows.len());
    }
}
