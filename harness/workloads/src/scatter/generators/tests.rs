//! Every generator draws what it says, the same every time.

use super::*;
use crate::scatter::case::Case;
use crate::tests::assert_complete;
use splatcheck_gpu::stages::scatter::SCATTER;
use splatcheck_judge::workload::Case as _;
use splatcheck_reference::scatter::NO_KEY;
use std::collections::BTreeSet;

/// Every kind of a generator's cases.
fn kinds(name: &str) -> Vec<Case> {
    let row = find(name).expect("there is one of that name");
    (0..row.kinds).map(|index| row.draw(index, 7, index)).collect()
}

fn bits(numbers: &Numbers) -> (&[u32], Vec<u32>, Vec<u32>) {
    let of = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect();
    (&numbers.keys, of(&numbers.values), of(&numbers.initial))
}

#[test]
fn the_same_numbers_give_the_same_case() {
    for row in ALL {
        let (one, same) = (row.draw(5, 1, 5), row.draw(5, 1, 5));
        assert_eq!(bits(&one.numbers), bits(&same.numbers), "{}", row.generator.name);
        assert_eq!(one.name, format!("{}-1-5", row.generator.name), "its name");
        let other = row.draw(5, 2, 5);
        assert_ne!(
            bits(&one.numbers),
            bits(&other.numbers),
            "{}: another seed",
            row.generator.name
        );
    }
}

#[test]
fn every_case_is_a_legal_input() {
    for case in ALL.iter().flat_map(|row| kinds(row.generator.name)) {
        let inputs = case.numbers.tensors().unwrap_or_else(|e| panic!("{}: {e}", case.name));
        SCATTER.check_inputs(&inputs).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert_eq!(case.jobs(0).map(|jobs| jobs.len()), Ok(1), "{}", case.name);
        for (key, values) in
            case.numbers.keys.iter().zip(case.numbers.values.chunks(case.numbers.width))
        {
            let finite = values.iter().all(|x| x.is_finite());
            assert!(finite || *key == NO_KEY, "{}: only idle elements may be infinite", case.name);
        }
    }
}

#[test]
fn partitions_are_all_there() {
    let cases = kinds("partitions");
    let mut groups = BTreeSet::new();
    for case in &cases {
        for warp in case.numbers.keys.chunks(32) {
            let rows: BTreeSet<_> = warp.iter().filter(|key| **key != NO_KEY).collect();
            groups.insert(rows.len());
        }
    }
    for count in [0, 1, 2, 16, 32] {
        assert!(groups.contains(&count), "no warp has {count} rows: {groups:?}");
    }
    let idle = |case: &Case| case.numbers.keys.iter().all(|key| *key == NO_KEY);
    assert_eq!(cases.iter().filter(|case| idle(case)).count(), 18, "every shape and width, idle");
    let two_runs = |warp: &[u32]| {
        let turns = warp.windows(2).filter(|pair| pair[0] != pair[1]).count();
        turns == 2 && warp.first() == warp.last() && !warp.contains(&NO_KEY)
    };
    let any = cases.iter().any(|case| case.numbers.keys.chunks(32).any(two_runs));
    assert!(any, "two runs of one row with another between");
}

#[test]
fn sizes_are_all_there() {
    let mut cases = kinds("sizes");
    cases.truncate(usize::try_from(sizes::OF_SIZES).expect("few"));
    let met: BTreeSet<_> = cases.iter().map(|c| (c.numbers.len(), c.numbers.width)).collect();
    assert_eq!(met.len(), 62, "8 counts of elements with 7 of values, and six larger ones");
    for case in cases {
        let numbers = &case.numbers;
        let rows = u32::try_from(numbers.rows()).expect("few rows");
        if numbers.len() >= 2 {
            assert!(numbers.keys.contains(&0), "{}: the first row", case.name);
            assert!(numbers.keys.contains(&(rows - 1)), "{}: the last row", case.name);
        }
        assert!(!numbers.keys.contains(&1), "{}: row 1 is never touched", case.name);
        assert!(numbers.initial.iter().all(|&x| x != 0.0), "{}: none starts from 0", case.name);
    }
}

#[test]
fn numbers_are_all_there() {
    let cases = kinds("numbers");
    let values = |keep: &dyn Fn(f32) -> bool| {
        cases.iter().any(|case| case.numbers.values.iter().any(|&x| keep(x)))
    };
    assert!(values(&|x| x.is_subnormal()), "subnormal numbers");
    assert!(values(&|x| x.to_bits() == 1 << 31), "a -0");
    assert!(values(&|x| x.abs() > 1e34), "large numbers");
    assert!(values(&|x| x != 0.0 && x.abs() < 1e-37), "small numbers");
    let near = |case: &Case| {
        let keys = &case.numbers.keys;
        keys.iter()
            .any(|key| keys.iter().any(|other| key != other && key & 0xffff == other & 0xffff))
    };
    assert_eq!(cases.iter().filter(|case| near(case)).count(), 4, "keys with equal low halves");
    for case in &cases {
        let Numbers { keys, values, initial, .. } = &case.numbers;
        for row in keys.iter().collect::<BTreeSet<_>>() {
            let of_row = keys.iter().zip(values).filter(|(key, _)| *key == row);
            let all: f64 = of_row.map(|(_, value)| f64::from(value.abs())).sum();
            let all = all + f64::from(initial[*row as usize].abs());
            assert!(all < f64::from(f32::MAX), "{}: row {row} may overflow", case.name);
        }
    }
}

/// The main job's cases have every value of every axis among them, and those of campaigns every pair.
#[test]
fn the_main_job_has_every_value_and_campaigns_every_pair() {
    assert_complete(&super::super::Scatter, Vec::new());
}
