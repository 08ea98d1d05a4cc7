//! Mistakes planted into the text of the artifacts: each must be caught, by what it says.

use splatcheck_emulator::{
    Argument, DeviceMemory, FaultKind, Launch, Module, Observers, Policy, RunError, Schedule,
    Trace, run_traced, shrink,
};
use splatcheck_gpu::Reduction;
use splatcheck_gpu::artifact::{Artifact, Channels};
use splatcheck_gpu::stage::Language;
use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;

use super::{engine, inputs, try_backward};

/// Runs a backward kernel from changed PTX; the gradients, or the fault.
fn run(
    reduction: Reduction,
    change: &dyn Fn(&str) -> String,
    schedule: &Schedule,
    trace: &mut Trace,
) -> Result<Vec<u8>, RunError> {
    let mut forward = engine(false, Schedule::lockstep());
    let inputs = inputs(&mut forward, 3, 300);
    let artifact = Artifact {
        stage: "rasterize_backward",
        reduction: Some(reduction),
        channels: Some(Channels::Exactly(3)),
        fast_math: false,
    };
    let original = artifact.ptx().expect("it is built in");
    let ptx = change(original);
    let module = Module::parse(&ptx).expect("the change keeps it PTX");
    let mut memory = DeviceMemory::new();
    let stage = RASTERIZE_BACKWARD.spec();
    let inputs = inputs.tensors().expect("the arrays fill their shapes");
    let sizes = stage.check_inputs(&inputs).expect("they are valid");
    let record = stage.record(&inputs, &sizes, 2, Language::Ptx).expect("nothing is missing");
    let mut arguments = vec![Argument::bytes(bytemuck::cast_slice(&record))];
    let buffers = stage.ptx.buffers;
    let gradients = memory.upload(&vec![0; 4 * buffers.outputs[0].words(stage.outputs, &sizes)]);
    for buffer in buffers.inputs {
        let words = buffer.pack(stage.inputs, &sizes, &inputs).expect("nothing is missing");
        arguments.push(memory.upload(bytemuck::cast_slice(&words)).into());
    }
    arguments.push(gradients.into());
    let launch = Launch { grid: [2, 1, 1], block: [256, 1, 1], dynamic_shared: 0, arguments };
    let observers = Observers { budget: 1 << 24, ..Observers::default() };
    run_traced(&module, &artifact.entry(), &launch, &mut memory, schedule, observers, trace)?;
    Ok(memory.read(gradients).expect("they were zeroed"))
}

/// Replaces the `which`th line that contains `what`.
fn replace_line(ptx: &str, what: &str, which: usize, by: &str) -> String {
    let mut seen = 0;
    let mut found = false;
    let lines: Vec<&str> = ptx
        .lines()
        .map(|line| {
            let hit = line.contains(what) && !line.trim_start().starts_with("//");
            seen += usize::from(hit);
            let this = hit && seen == which + 1;
            found |= this;
            if this { by } else { line }
        })
        .collect();
    assert!(found, "there is no line {which} with '{what}'");
    lines.join("\n")
}

fn kinds(reduction: Reduction, change: &dyn Fn(&str) -> String) -> Vec<FaultKind> {
    let mut schedules = vec![Schedule::lockstep()];
    for seed in 0..5 {
        schedules.extend([Schedule::random(seed), Schedule::adversarial(seed)]);
    }
    let faults = schedules.iter().filter_map(|schedule| {
        match run(reduction, change, schedule, &mut Trace::new()) {
            Err(RunError::Program(fault)) => Some(fault.kind),
            Err(error) => panic!("not a fault of the program: {error}"),
            Ok(_) => None,
        }
    });
    let faults: Vec<_> = faults.collect();
    assert_eq!(faults.len(), schedules.len(), "every schedule must show it: {faults:?}");
    faults
}

#[test]
fn a_missing_barrier_is_a_race() {
    // Around the end of the walk two, around the batch two; the list is longer than a batch.
    for which in 0..4 {
        let change = |ptx: &str| replace_line(ptx, "bar.sync", which, "");
        let faults = kinds(Reduction::SwB, &change);
        // Who reads the batch before anybody wrote it reads poison.
        let poison_instead = |kind: &FaultKind| which == 3 && poison(kind);
        let race = |kind: &FaultKind| matches!(kind, FaultKind::Race(_));
        assert!(faults.iter().all(|k| race(k) || poison_instead(k)), "barrier {which}: {faults:?}");
        assert!(faults.iter().any(race), "barrier {which}: {faults:?}");
    }
}

fn poison(kind: &FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::PoisonBranch
            | FaultKind::PoisonControl
            | FaultKind::PoisonAddress
            | FaultKind::PoisonOutput { .. }
    )
}

/// The line of the vote and its destination.
fn vote(ptx: &str) -> (&str, &str) {
    let line = ptx.lines().find(|l| l.contains("vote.sync.ballot")).expect("it votes");
    let group =
        line.split([',', ' ', '\t']).find(|w| w.starts_with("%r")).expect("into a register");
    (line, group)
}

#[test]
fn a_shuffle_of_the_contributing_lanes_by_all_is_misuse() {
    let change = |ptx: &str| {
        let shuffle = ptx.lines().find(|l| l.contains("shfl.sync.idx")).expect("it shuffles");
        let cut = shuffle.rfind(',').expect("its mask is the last operand");
        ptx.replacen(shuffle, &format!("{}, {};", &shuffle[..cut], vote(ptx).1), 1)
    };
    let faults = kinds(Reduction::SwS, &change);
    let outside = |kind: &FaultKind| matches!(kind, FaultKind::NotInOwnMask { .. });
    assert!(faults.iter().all(outside), "{faults:?}");
}

#[test]
fn a_vote_of_the_whole_warp_in_a_branch_is_misuse() {
    let change = |ptx: &str| {
        let (line, _) = vote(ptx);
        let contributes = line.split([',', ' ', '\t']).find(|w| w.starts_with("%p"));
        let contributes = contributes.expect("a predicate");
        ptx.replacen(line, &format!("@{contributes} {line}"), 1)
    };
    let faults = kinds(Reduction::SwB, &change);
    // The lanes that skip the vote use its result, or wait elsewhere for those that vote.
    let misuse = |kind: &FaultKind| {
        matches!(
            kind,
            FaultKind::PoisonBranch
                | FaultKind::Deadlock { .. }
                | FaultKind::DivergentBarrier { .. }
        )
    };
    assert!(faults.iter().all(misuse), "{faults:?}");
}

#[test]
fn a_batch_that_is_not_written_is_poison() {
    let change = |ptx: &str| replace_line(ptx, "st.shared.v4.f32", 0, "");
    let faults = kinds(Reduction::Atomic, &change);
    assert!(faults.iter().all(poison), "{faults:?}");
}

#[test]
fn an_addition_without_atomic_is_a_race() {
    let change = |ptx: &str| {
        let line = ptx.lines().find(|l| l.contains("red.global.add.f32")).expect("it adds");
        ptx.replacen(line, &line.replace("red.global.add.f32", "st.global.f32"), 1)
    };
    let faults = kinds(Reduction::Atomic, &change);
    assert!(faults.iter().all(|kind| matches!(kind, FaultKind::Race(_))), "{faults:?}");
}

#[test]
fn a_failing_schedule_shrinks() {
    let change = |ptx: &str| replace_line(ptx, "bar.sync", 1, "");
    let schedule = Schedule::random(1);
    let mut trace = Trace::new();
    let fails = |trace: Trace| {
        let replay = schedule.replay(trace);
        assert!(matches!(replay.policy, Policy::Replay(_)), "a replay has a trace");
        run(Reduction::SwB, &change, &replay, &mut Trace::new()).is_err()
    };
    run(Reduction::SwB, &change, &schedule, &mut trace).expect_err("a barrier is missing");
    assert!(fails(trace.clone()), "the trace replays");
    // The race detector needs no schedule at all for this one.
    assert!(shrink(&trace, |t| fails(t.clone())).is_empty(), "lockstep shows it too");
}

#[test]
fn another_program_runs_in_an_artifacts_place() {
    let mut emulator = engine(false, Schedule::lockstep());
    let inputs = inputs(&mut emulator, 3, 20);
    let right = try_backward(&mut emulator, &inputs, Reduction::Atomic, 0).expect("it runs");
    let artifact = Artifact {
        stage: "rasterize_backward",
        reduction: Some(Reduction::Atomic),
        channels: Some(Channels::Exactly(3)),
        fast_math: false,
    };
    let ptx = artifact.ptx().expect("it is built in").replace(&artifact.entry(), "mine");
    let missing = emulator.replace("rasterize_backward", Some(Reduction::SwB), &ptx, "other");
    let missing = missing.expect_err("there is no such entry").to_string();
    assert_eq!(missing, "kernel other: the program has no entry point other", "it says so");
    emulator.replace("rasterize_backward", Some(Reduction::SwB), &ptx, "mine").expect("it parses");
    let other = try_backward(&mut emulator, &inputs, Reduction::SwB, 0).expect("it runs");
    assert_eq!(right, other, "the plain kernel ran in the butterfly's place, in the same order");
}
