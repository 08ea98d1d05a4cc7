//! The ways in which cases of sums by key differ.

use super::case::Case;
use crate::case_space::{Axis, Side, Traits, Wanted, near_powers};
use splatcheck_reference::scatter::NO_KEY;

const ELEMENTS: &str = "elements";
const ROWS: &str = "rows";
const VALUES: &str = "values of an element";
const KEYS: &str = "elements without a row";
const NONE: &str = "none";
const SOME: &str = "some";
const ALL: &str = "all";

/// Powers of two about which there are sizes: warps, workgroups, numbers held in 8 and 16 bits.
const POWERS: [u32; 5] = [4, 5, 8, 10, 16];
/// As many rows as that are few, for cases to be cheap.
const ROW_POWERS: [u32; 2] = [4, 8];
/// Values that a lane holds at a time, and their neighbours.
const WIDTHS: [usize; 7] = [1, 2, 3, 8, 31, 32, 33];

/// Every way in which cases differ.
pub(super) fn axes() -> Vec<Axis> {
    let sides = |powers: &[u32]| -> Vec<String> {
        powers.iter().flat_map(|&power| Side::ALL.map(|side| side.of(power))).collect()
    };
    let mut elements = Axis::new(ELEMENTS, [vec![NONE.to_owned()], sides(&POWERS)].concat());
    let dear = elements.values.iter_mut().filter(|value| value.name == Side::To.of(16));
    dear.for_each(|value| value.wanted = Wanted::InCampaigns("such a case takes a second or more"));
    vec![
        elements,
        Axis::new(ROWS, sides(&ROW_POWERS)),
        Axis::new(VALUES, WIDTHS),
        Axis::new(KEYS, [NONE, SOME, ALL]),
    ]
}

/// What a case has.
pub(super) fn traits(case: &Case) -> Traits {
    let numbers = &case.numbers;
    let idle = numbers.keys.iter().filter(|key| **key == NO_KEY).count();
    let keys = match idle {
        0 => NONE,
        _ if idle == numbers.len() => ALL,
        _ => SOME,
    };
    let value = |axis: &str, value: String| (axis.to_owned(), value);
    let mut traits = Traits::from([value(KEYS, keys.to_owned())]);
    traits.extend(near_powers(numbers.len(), &POWERS).map(|side| value(ELEMENTS, side)));
    traits.extend(near_powers(numbers.rows(), &ROW_POWERS).map(|side| value(ROWS, side)));
    if numbers.is_empty() {
        traits.insert(value(ELEMENTS, NONE.to_owned()));
    }
    if WIDTHS.contains(&numbers.width) {
        traits.insert(value(VALUES, numbers.width.to_string()));
    }
    traits
}
