//! Steps by hand, and their traffic against the emulator's counts.

use super::*;
use crate::scatter::case::Case;
use crate::scatter::generators::ALL;
use crate::tests::traffic::{check_shuffles, ran};
use splatcheck_emulator::Report;
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::reduction::OfWorkgroup;
use splatcheck_gpu::{Engine, Setting, Work};
use splatcheck_judge::scatter_step::{Destination, Lanes};
use splatcheck_judge::traffic::{Counts, Traffic};

fn numbers(keys: &[u32], width: usize) -> Numbers {
    Numbers {
        keys: keys.to_vec(),
        values: vec![1.0; keys.len() * width],
        initial: vec![0.0; 5 * width],
        width,
    }
}

/// The steps of a workgroup that any lane takes part in: warp, lanes that stopped, destinations.
fn steps(numbers: &Numbers, workgroup: u32) -> Vec<(u32, Lanes, Vec<Destination>)> {
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
    for width in [0, 3, 256] {
        let error = Steps::new(&numbers(&[], 1), width).expect_err("no warp has it").to_string();
        assert!(error.contains("expected a power of two up to 128"), "{width}: {error}");
    }
    let none = numbers(&[], 1);
    let empty = Steps::new(&none, 128).expect("a width that there is");
    assert_eq!(empty.workgroups(), 1, "a launch has a workgroup");
    empty.workgroup(0, &mut |step| assert_eq!(step.stopped, Lanes::MAX, "no lane has an element"));
}

/// The settings that a case is run with: every reduction, at one threshold, those of a sweep or all.
fn settings(index: u64) -> Vec<Option<Setting>> {
    let threshold = u32::try_from(index % 34).unwrap_or(0);
    SCATTER.settings(&match index % 12 {
        0 => Setting::all(32),
        4 | 8 => Setting::sweep(32),
        _ => Reduction::ALL.map(|reduction| Setting { reduction, threshold }).to_vec(),
    })
}

/// How many of the words that are said to change may not: sums of a workgroup that come out as zero are not
/// sent. Those of `numbers` are made to cancel; of random ones few do.
fn may_cancel(setting: Setting, case: &Case, words: u64) -> u64 {
    let of_workgroup = setting.reduction.row().of_workgroup == OfWorkgroup::InMemory;
    match case.id.as_ref().map(|id| id.generator) {
        _ if !of_workgroup => 0,
        Some("numbers") => words,
        _ => words.div_ceil(1000),
    }
}

#[test]
fn counts_are_those_of_the_emulator() {
    let mut engine = EmulatorEngine::open(EmulatorOptions::default()).expect("always there");
    let mut compared = 0;
    for row in ALL {
        for index in 0..row.kinds {
            let mut all = Vec::new();
            let case = row.draw(index, 4, index);
            let steps = Steps::new(&case.numbers, 32).expect("a width that there is");
            let counts = Counts::new(&steps);
            let inputs = case.numbers.tensors().expect("the arrays fit");
            let sizes = SCATTER.check_inputs(&inputs).expect("they are legal");
            for setting in settings(index).into_iter().flatten() {
                if SCATTER.is_beyond(setting.reduction, &sizes).is_some() {
                    continue;
                }
                let work = Work { inputs: &inputs, settings: &[Some(setting)] };
                let name = format!("{} under {setting}", case.name);
                engine.run(SCATTER, &[work]).unwrap_or_else(|e| panic!("{name}: {e}"));
                let traffic = counts.traffic(setting).expect("it is in range");
                same(
                    &traffic,
                    engine.report(),
                    (&name, case.numbers.width),
                    may_cancel(setting, &case, traffic.global.operations()),
                );
                all.push(ran(&counts, setting, engine.report()));
            }
            compared += check_shuffles(&case.name, &all);
        }
    }
    assert!(compared > 500, "shuffles of {compared} runs");
}

/// What the emulator counted is what was said; of global memory at most that, where sums may cancel.
fn same(traffic: &Traffic, found: &Report, (name, width): (&str, usize), zeros: u64) {
    let lanes = |found: &[u64]| {
        let mut lanes = found.to_vec();
        lanes.resize(33, 0);
        lanes
    };
    let shared = lanes(&found.shared_atomics.lanes);
    assert_eq!(shared, traffic.shared.lanes, "{name}: instructions on shared memory");
    let [operations, said] = [found.global_atomics.operations, traffic.global.operations()];
    if zeros > 0 {
        let there = (said - zeros..=said).contains(&operations);
        assert!(there, "{name}: {operations} words changed, {said} were said");
        return;
    }
    let global = lanes(&found.global_atomics.lanes);
    assert_eq!(global, traffic.global.lanes, "{name}: instructions by their lanes");
    assert_eq!(operations, said, "{name}: words changed");
    let chains: Vec<u32> = found.chains.values().copied().collect();
    let of_rows = traffic.chains.iter().filter(|&&chain| chain > 0);
    let expected: Vec<u32> = of_rows.flat_map(|&chain| std::iter::repeat_n(chain, width)).collect();
    assert_eq!(chains, expected, "{name}: additions to each address");
}

/// Two runs of one row: each sends by itself, and the warp as a whole is at two rows.
#[test]
fn runs_of_one_row_send_apart() {
    let keys = [3, 3, 0, 3, 3, 3, 3, 3];
    let numbers = numbers(&keys, 2);
    let steps = Steps::new(&numbers, 8).expect("a width that there is");
    let counts = Counts::new(&steps);
    let chains = |reduction, threshold| {
        let traffic = counts.traffic(Setting { reduction, threshold }).expect("in range");
        let chain = |row: usize| traffic.chains.get(row).map_or(0, |&chain| u64::from(chain));
        [chain(0), chain(3), traffic.global.issued()]
    };
    assert_eq!(chains(Reduction::Segmented, 2), [1, 2, 2], "a run of two and one of five");
    assert_eq!(chains(Reduction::Segmented, 3), [1, 3, 2], "the run of two is below");
    assert_eq!(chains(Reduction::SwS, 0), [1, 1, 2], "one group");
    assert_eq!(chains(Reduction::SwB, 0), [1, 7, 2], "the warp has two rows");
    assert_eq!(chains(Reduction::PerKey, 0), [0; 3], "nothing is atomic");
    assert_eq!(chains(Reduction::Block, 0), [1, 1, 2], "one of the workgroup");
}
