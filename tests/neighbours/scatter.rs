//! The inputs of sums by key, read wrongly.

use super::{
    ABSOLUTE, CLIPPED, FIRST_COLUMN, FIRST_ROW, REVERSED, Reading, Shape, TRANSPOSED, Wrong, ZERO,
    assert_seen, main_job,
};
use splatcheck_judge::workload::AnyCase;
use splatcheck_reference::scatter::NO_KEY;
use splatcheck_workloads::scatter::Scatter;
use splatcheck_workloads::scatter::case::{Case, Numbers};
use std::sync::Arc;

/// How keys are misread.
/// An array, by its name.
type Array = (&'static str, fn(&mut Numbers) -> &mut Vec<f32>);

/// What a key is taken for, of so many rows.
type Key = (&'static str, fn(u32, u32) -> u32);

static KEYS: [Key; 5] = [
    ("the first's", |_, first| first),
    ("its low 8 bits", |key, _| if key == NO_KEY { key } else { key & 0xff }),
    ("its low 9 bits", |key, _| if key == NO_KEY { key } else { key & 0x1ff }),
    ("its low 16 bits", |key, _| if key == NO_KEY { key } else { key & 0xffff }),
    ("row 0 where there is none", |key, _| if key == NO_KEY { 0 } else { key }),
];

static VALUES: [(&str, Reading); 7] =
    [ZERO, ABSOLUTE, CLIPPED, FIRST_ROW, FIRST_COLUMN, REVERSED, TRANSPOSED];

fn all() -> Vec<Wrong<Case>> {
    let keys = KEYS.iter().map(|&(by, reading)| {
        Wrong::new("keys", by, move |case: &mut Case| {
            let first = case.numbers.keys.first().copied().unwrap_or(NO_KEY);
            case.numbers.keys.iter_mut().for_each(|key| *key = reading(*key, first));
        })
    });
    let values = VALUES.iter().flat_map(|&(by, reading)| {
        let of: [Array; 2] = [
            ("values", |numbers| &mut numbers.values),
            ("initial", |numbers| &mut numbers.initial),
        ];
        of.map(|(name, array)| {
            Wrong::new(name, by, move |case: &mut Case| {
                let shape = Shape { cameras: 1, columns: case.numbers.width };
                let values = array(&mut case.numbers);
                // What idle elements hold is no number, and must not move to others.
                if values.iter().all(|x| x.is_finite()) {
                    reading(values, shape);
                }
            })
        })
    });
    keys.chain(values).collect()
}

#[test]
fn the_main_job_sees_every_input_of_sums_by_key() {
    let cases = main_job(&Scatter, 25);
    let of = |case: &AnyCase| case.as_any().downcast_ref::<Case>().cloned();
    let cases: Vec<_> = cases.iter().filter_map(of).filter(|c| !c.numbers.is_empty()).collect();
    let Numbers { keys: _, values: _, initial: _, width: _ } = &cases[0].numbers;
    assert_seen(&cases, &all(), (&["keys", "values", "initial"], &[]), |case| {
        Arc::new(case.clone())
    });
}
