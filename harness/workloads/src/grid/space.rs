//! The ways in which cases of grid encodings differ.

use super::case::Points;
use super::growth::{CEIL, DECIDED, OPEN};
use splatcheck_judge::case_space::{Axis, Side, Traits, Value, Wanted, near_powers};
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
/// From the smallest on; the unit cube is the third.
const PLACE: [&str; 5] = ["below -2", "-2 to 0", "0 to 1", "1 to 3", "beyond 3"];
const DENSE_ENTRIES: &str = "entries of a dense level";

/// Powers of two about which there are numbers of points: warps and workgroups.
const POWERS: [u32; 3] = [4, 5, 8];
/// Entries that the tables of published programs have at most: 2^19 of them.
const MOST_ENTRIES: [u32; 1] = [19];

/// The main job has few cases of grids.
const CAMPAIGNS: Wanted = Wanted::InCampaigns("the main job has 25 random cases of grids");
const TABLES: Wanted = Wanted::Nowhere("level tables are cases of their own");
const DEAR: Wanted = Wanted::Nowhere("a table of that size takes a second");

/// The values of the fields, by their names.
macro_rules! fields {
    ($($field:ident: $member:ident),+) => {
        fn field_axes() -> Vec<Axis> {
            vec![$(Axis::new($field::FIELD, $field::ALL)),+]
        }

        fn field_traits(case: &Points) -> Traits {
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

/// The fields, with what they ask of one another.
fn paired_fields() -> Vec<Axis> {
    let cubic = (Lattice::FIELD.to_owned(), vec![Lattice::Cubic.to_string()]);
    let simplex = (Lattice::FIELD.to_owned(), vec![Lattice::Simplex.to_string()]);
    let counted = [DenseStride::Resolution, DenseStride::ResolutionPlusOne];
    let counted = (DenseStride::FIELD.to_owned(), counted.map(|stride| stride.to_string()).into());
    let needs = [
        (Interpolation::FIELD, Interpolation::Nearest.to_string(), &cubic),
        (Interpolation::FIELD, Interpolation::Smoothstep.to_string(), &cubic),
        (RightCorner::FIELD, RightCorner::Ceil.to_string(), &cubic),
        (Skew::FIELD, Skew::Simplex.to_string(), &simplex),
        (Crowded::FIELD, Crowded::Tiled.to_string(), &counted),
        (LEVELS, DENSE.to_owned(), &counted),
    ];
    let mut axes = field_axes();
    axes.push(Axis::new(LEVELS, [DENSE, CROWDED]));
    for (field, value, need) in needs {
        let values = axes.iter_mut().filter(|axis| axis.name == field).flat_map(|a| &mut a.values);
        values.filter(|one| one.name == value).for_each(|one| one.needs.push(need.clone()));
    }
    axes
}

/// Every way in which cases differ.
pub(super) fn axes() -> Vec<Axis> {
    let sides = POWERS.iter().flat_map(|&power| Side::ALL.map(|side| side.of(power)));
    let dense = MOST_ENTRIES.iter().flat_map(|&power| {
        let above = Wanted::InCampaigns("a table of that size takes a second");
        [
            Value::new(Side::To.of(power)),
            Value { wanted: above, ..Value::new(Side::Above.of(power)) },
        ]
    });
    let dense = Axis { name: DENSE_ENTRIES.to_owned(), values: dense.collect() };
    let mut axes = paired_fields();
    axes.extend([
        Axis::new(POINTS, sides),
        Axis::new(DIMENSIONS, 1..=4),
        Axis::new(FEATURES, [1, 2, 4, 8]),
        Axis::new(GATES, [GATED, UNGATED]),
        Axis::new(PLACES, PLACE),
    ]);
    let of_points = axes.into_iter().map(|axis| axis.paired(CAMPAIGNS));
    let of_tables = [
        Axis::new(CEIL, [DECIDED, OPEN]),
        Axis::new(ScaleRule::FIELD, ScaleRule::ALL),
        Axis::new(EntriesRule::FIELD, EntriesRule::ALL),
    ];
    let of_tables = of_tables.into_iter().map(|axis| axis.paired(TABLES));
    of_points.chain([dense.paired(DEAR)]).chain(of_tables).collect()
}

/// What a case has.
pub(super) fn traits(case: &Points) -> Traits {
    let value = |axis: &str, value: String| (axis.to_owned(), value);
    let mut traits = field_traits(case);
    traits.extend(near_powers(case.points(), &POWERS).map(|side| value(POINTS, side)));
    traits.insert(value(GATES, (if case.gate.is_some() { GATED } else { UNGATED }).to_owned()));
    traits.insert(value(DIMENSIONS, case.grid.dimensions().to_string()));
    traits.insert(value(FEATURES, case.grid.features().to_string()));
    for level in case.grid.levels() {
        traits.insert(value(LEVELS, (if level.dense { DENSE } else { CROWDED }).to_owned()));
        if level.dense {
            let sides = near_powers(level.entries as usize, &MOST_ENTRIES);
            traits.extend(sides.map(|side| value(DENSE_ENTRIES, side)));
        }
    }
    let place = |x: &f32| match *x {
        x if x < -2.0 => PLACE[0],
        x if x < 0.0 => PLACE[1],
        x if x <= 1.0 => PLACE[2],
        x if x <= 3.0 => PLACE[3],
        _ => PLACE[4],
    };
    traits.extend(case.positions.iter().map(|x| value(PLACES, place(x).to_owned())));
    traits
}
