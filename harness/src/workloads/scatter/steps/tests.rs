//! Steps by hand, and their traffic against the emulator's counts.

use super::*;
use crate::traffic::Counts;
use crate::workloads::scatter::generators::ALL;
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::stages::scatter::SCATTER;
use splatcheck_gpu::{Engine, Setting, Work};

const ATOMIC: Setting = Setting { reduction: Reduction::Atomic, threshold: 0 };

fn numbers(keys: &[u32], width: usize) -> Numbers {
    Numbers {
        keys: keys.to_vec(),
        values: vec![1.0; keys.len() * width],
        initial: vec![0.0; 5 * width],
        width,
    }
}

/// The steps of a workgroup that any lane takes part in: warp, lanes that stopped, destinations.
fn steps(numbers: &Numbers, workgroup: u32) -> Vec<(u32, u64, Vec<Destination>)> {
    let steps = Steps::new(numbers, 4).expect("a width that there is");
    let mut met = Vec::new();
    steps.workgroup(workgroup, &mut |step| {
        assert_eq!((step.place, step.length), (0, 1), "a warp makes one step");
        if !step.destinations.is_empty() {
            met.push((step.warp, step.stopped, step.destinations.to_vec()));
        }
    });
    met
}

#[test]
fn lanes_are_parted_by_their_keys() {
    let keys = [3, 0, 3, NO_KEY, NO_KEY, NO_KEY, NO_KEY, NO_KEY, 4, 4];
    let of = |row, lanes| Destination { row, slot: row, lanes };
    let expected =
        vec![(0, 0b0000, vec![of(3, 0b0101), of(0, 0b0010)]), (2, 0b1100, vec![of(4, 0b0011)])];
    assert_eq!(steps(&numbers(&keys, 1), 0), expected, "idle lanes belong to no row");
    let mut many = vec![NO_KEY; 256];
    many.push(2);
    let numbers = numbers(&many, 1);
    assert_eq!(steps(&numbers, 0), [], "all are idle");
    assert_eq!(steps(&numbers, 1), [(0, 0b1110, vec![of(2, 1)])], "the next workgroup");
    assert_eq!(Steps::new(&numbers, 4).expect("there is").workgroups(), 2, "a part of the second");
}

#[test]
fn widths_that_no_warp_has_are_refused() {
    for width in [0, 3, 128] {
        let error = Steps::new(&numbers(&[], 1), width).expect_err("no warp has it").to_string();
        assert!(error.contains("expected a power of two up to 64"), "{width}: {error}");
    }
    let none = numbers(&[], 1);
    let empty = Steps::new(&none, 64).expect("a width that there is");
    assert_eq!(empty.workgroups(), 1, "a launch has a workgroup");
    empty.workgroup(0, &mut |step| assert_eq!(step.stopped, u64::MAX, "no lane has an element"));
}

#[test]
fn counts_are_those_of_the_emulator() {
    let mut engine = EmulatorEngine::open(EmulatorOptions::default()).expect("always there");
    for row in ALL {
        for index in 0..row.kinds {
            let case = row.draw(index, 4, index);
            let steps = Steps::new(&case.numbers, 32).expect("a width that there is");
            let traffic = Counts::new(&steps).traffic(ATOMIC).expect("it has no threshold");
            let inputs = case.numbers.tensors().expect("the arrays fit");
            let work = Work { inputs: &inputs, settings: &[Some(ATOMIC)] };
            engine.run(SCATTER, &[work]).unwrap_or_else(|e| panic!("{}: {e}", case.name));
            let found = engine.report();
            let mut lanes = found.global_atomics.lanes.clone();
            lanes.resize(33, 0);
            let name = &case.name;
            assert_eq!(lanes, traffic.global.lanes, "{name}: instructions by their lanes");
            let operations = found.global_atomics.operations;
            assert_eq!(operations, traffic.global.operations(), "{name}: words changed");
            let chains: Vec<u32> = found.chains.values().copied().collect();
            let of_rows = traffic.chains.iter().filter(|&&chain| chain > 0);
            let width = case.numbers.width;
            let expected: Vec<u32> =
                of_rows.flat_map(|&chain| std::iter::repeat_n(chain, width)).collect();
            assert_eq!(chains, expected, "{name}: additions to each address");
            assert_eq!(traffic.shared.issued(), 0, "{name}: nothing is kept in shared memory");
        }
    }
}
