//! The ways in which cases of grid encodings differ.

use super::case::Case;
use super::growth::traits::{CEIL, DECIDED, OPEN};
use crate::case_space::{Axis, Side, Traits, near_powers};
use splatcheck_reference::grid::{
    Crowded, DenseStride, EntriesRule, Hash, Interpolation, Lattice, Outside, PositionOffset,
    RightCorner, ScaleRule, Skew,
};

const POINTS: &str = "points";
const DIMENSIONS: &str = "dimensions";
const FEATURES: &str = "features of an entry";
const LEVELS: &str = "levels that are";
const DENSE: &str = "dense";
const CROWDED: &str = "crowded";
const GATES: &str = "features";
const GATED: &str = "behind a gate";
const UNGATED: &str = "by themselves";
const PLACES: &str = "positions";
const NEGATIVE: &str = "negative";
const INSIDE: &str = "inside";
const BEYOND: &str = "beyond 1";

/// Powers of two about which there are numbers of points: warps and workgroups.
const POWERS: [u32; 3] = [4, 5, 8];

/// The values of the fields, by their names.
macro_rules! fields {
    ($($field:ident: $member:ident),+) => {
        fn field_axes() -> Vec<Axis> {
            vec![$(Axis::new($field::FIELD, $field::ALL)),+]
        }

        fn field_traits(case: &Case) -> Traits {
            let encoding = case.grid.encoding();
            Traits::from([$(($field::FIELD.to_owned(), encoding.$member.to_string())),+])
        }
    };
}

fields! {
    Lattice: lattice,
    Hash: hash,
    Interpolation: interpolation,
    PositionOffset: position_offset,
    RightCorner: right_corner,
    DenseStride: dense_stride,
    Crowded: crowded,
    Outside: outside,
    Skew: skew
}

/// Every way in which cases differ.
pub(super) fn axes() -> Vec<Axis> {
    let sides = POWERS.iter().flat_map(|&power| Side::ALL.map(|side| side.of(power)));
    let mut axes = field_axes();
    axes.extend([
        Axis::new(POINTS, sides),
        Axis::new(DIMENSIONS, 1..=4),
        Axis::new(FEATURES, [1, 2, 4, 8]),
        Axis::new(LEVELS, [DENSE, CROWDED]),
        Axis::new(GATES, [GATED, UNGATED]),
        Axis::new(PLACES, [NEGATIVE, INSIDE, BEYOND]),
        Axis::new(CEIL, [DECIDED, OPEN]),
        Axis::new(ScaleRule::FIELD, ScaleRule::ALL),
        Axis::new(EntriesRule::FIELD, EntriesRule::ALL),
    ]);
    axes
}

/// What a case has.
pub(super) fn traits(case: &Case) -> Traits {
    let value = |axis: &str, value: String| (axis.to_owned(), value);
    let mut traits = field_traits(case);
    traits.extend(near_powers(case.points(), &POWERS).map(|side| value(POINTS, side)));
    traits.insert(value(GATES, (if case.gate.is_some() { GATED } else { UNGATED }).to_owned()));
    traits.insert(value(DIMENSIONS, case.grid.dimensions().to_string()));
    traits.insert(value(FEATURES, case.grid.features().to_string()));
    for level in case.grid.levels() {
        traits.insert(value(LEVELS, (if level.dense { DENSE } else { CROWDED }).to_owned()));
    }
    let place = |x: &f32| match *x {
        x if x < 0.0 => NEGATIVE,
        x if x > 1.0 => BEYOND,
        _ => INSIDE,
    };
    traits.extend(case.positions.iter().map(|x| value(PLACES, place(x).to_owned())));
    traits
}
