//! The ways in which cases of sums by key differ.

use super::case::Numbers;
use splatcheck_judge::case_space::{Axis, Side, Traits, Wanted, near_powers};
use splatcheck_reference::scatter::NO_KEY;

const ELEMENTS: &str = "elements";
const ROWS: &str = "rows";
const LAST_ROW: &str = "rows up to the last with an element";
const INITIAL: &str = "rows before";
const VALUES: &str = "values of an element";
const KEYS: &str = "elements without a row";
const NONE: &str = "none";
const SOME: &str = "some";
const ALL: &str = "all";

/// Powers of two about which there are sizes: warps, workgroups, numbers held in 8 and 16 bits.
const POWERS: [u32; 5] = [4, 5, 8, 10, 16];
/// As many rows as that are few, for cases to be cheap; a workgroup keeps sums of 2^10.
const ROW_POWERS: [u32; 3] = [4, 8, 10];
/// Values that a lane holds at a time, and their neighbours.
const WIDTHS: [usize; 7] = [1, 2, 3, 8, 31, 32, 33];

const CAMPAIGNS: Wanted = Wanted::InCampaigns("the main job has 25 random cases of sums by key");
const SPARSE: Wanted = Wanted::Nowhere("cases of such sizes are sparse, for their cost");
const FOLLOWS: Wanted = Wanted::Nowhere("it follows from the rows");

/// Every way in which cases differ.
pub(super) fn axes() -> Vec<Axis> {
    let sides = |powers: &[u32]| -> Vec<String> {
        powers.iter().flat_map(|&power| Side::ALL.map(|side| side.of(power))).collect()
    };
    let mut elements =
        Axis::new(ELEMENTS, [vec![NONE.to_owned()], sides(&POWERS)].concat()).paired(CAMPAIGNS);
    let few: Vec<_> =
        [10, 16].into_iter().flat_map(|power| Side::ALL.map(|side| side.of(power))).collect();
    for value in &mut elements.values {
        if value.name == Side::To.of(16) {
            value.wanted = Wanted::InCampaigns("such a case takes a second or more");
        }
        if few.contains(&value.name) {
            value.pairs = SPARSE;
        }
    }
    let mut rows = Axis::new(ROWS, sides(&ROW_POWERS)).paired(CAMPAIGNS);
    let beyond = rows.values.iter_mut().filter(|value| value.name == Side::Above.of(10));
    beyond.for_each(|value| value.pairs = SPARSE);
    let mut values = Axis::new(VALUES, WIDTHS).paired(CAMPAIGNS);
    let beside = values.values.iter_mut().filter(|value| ["31", "32"].contains(&&*value.name));
    beside.for_each(|value| value.wanted = CAMPAIGNS);
    let mut keys = Axis::new(KEYS, [NONE, SOME, ALL]).paired(CAMPAIGNS);
    let there = sides(&POWERS);
    let idle = keys.values.iter_mut().filter(|value| value.name != NONE);
    idle.for_each(|value| value.needs.push((ELEMENTS.to_owned(), there.clone())));
    vec![
        elements,
        rows,
        Axis::new(LAST_ROW, sides(&ROW_POWERS)).paired(FOLLOWS),
        values,
        keys,
        Axis::new(INITIAL, ["0", SOME]).paired(CAMPAIGNS),
    ]
}

/// What a case has.
pub(super) fn traits(numbers: &Numbers) -> Traits {
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
    let last = numbers.keys.iter().filter(|key| **key != NO_KEY).max();
    let last = last.map_or(0, |&row| row as usize + 1);
    traits.extend(near_powers(last, &ROW_POWERS).map(|side| value(LAST_ROW, side)));
    let starts = numbers.initial.iter().any(|&x| x != 0.0);
    traits.insert(value(INITIAL, if starts { SOME.to_owned() } else { "0".to_owned() }));
    if numbers.is_empty() {
        traits.insert(value(ELEMENTS, NONE.to_owned()));
    }
    if WIDTHS.contains(&numbers.width) {
        traits.insert(value(VALUES, numbers.width.to_string()));
    }
    traits
}
