//! Arithmetic between two other instructions is executed together, unless somebody observes it: nobody can tell.

use splatcheck_emulator::{
    DeviceMemory, Fault, FaultKind, Launch, Module, Observers, Report, RunError, Schedule, run,
};

/// Every lane counts down from another number, and jumps into the middle of the arithmetic of others.
const KERNEL: &str = ".version 8.4
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .b32 %r<8>;
.reg .b64 %rd<4>;
.reg .pred %p<3>;
mov.u32 %r1, %tid.x;
mov.u32 %r2, 1;
and.b32 %r3, %r1, 7;
setp.gt.u32 %p1, %r3, 3;
@%p1 bra MIDDLE;
LOOP:
mul.lo.u32 %r2, %r2, 3;
add.u32 %r2, %r2, %r1;
MIDDLE:
xor.b32 %r2, %r2, 5;
sub.u32 %r3, %r3, 1;
@%p1 add.u32 %r2, %r2, 9;
setp.lt.s32 %p2, %r3, 0;
@!%p2 bra LOOP;
ld.param.u64 %rd1, [out];
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r2;
ret;
}
";

fn launched(schedule: &Schedule, observers: Observers) -> Result<(Report, Vec<u32>), RunError> {
    let module = Module::parse(KERNEL).expect("it is PTX");
    let mut memory = DeviceMemory::new();
    let out = memory.allocate(4 * 64);
    let launch = Launch {
        grid: [1; 3],
        block: [64, 1, 1],
        arguments: vec![out.into()],
        ..Launch::default()
    };
    let report = run(&module, "k", &launch, &mut memory, schedule, observers)?;
    let bytes = memory.read(out).expect("all are written");
    let words =
        bytes.chunks(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    Ok((report, words.collect()))
}

fn schedules() -> Vec<Schedule> {
    let seeded = (0..40).flat_map(|seed| [Schedule::random(seed), Schedule::adversarial(seed)]);
    std::iter::once(Schedule::lockstep()).chain(seeded).collect()
}

#[test]
fn counts_results_and_decisions_are_those_of_one_at_a_time() {
    for schedule in schedules() {
        let (together, values) = launched(&schedule, Observers::default()).expect("it is right");
        let one_at_a_time = Observers { coverage: true, ..Observers::default() };
        let (mut alone, expected) = launched(&schedule, one_at_a_time).expect("it is right");
        assert!(alone.coverage.take().is_some());
        assert_eq!(together, alone, "{schedule:?}");
        assert_eq!(values, expected, "{schedule:?}");
    }
}

#[test]
fn a_budget_ends_at_the_same_instruction() {
    let (report, _) = launched(&Schedule::lockstep(), Observers::default()).expect("it is right");
    let all: u64 = report.instructions.values().map(|executed| executed.warps).sum();
    assert!(all > 50, "a budget for each: {all}");
    for budget in 0..all {
        let ended = |coverage| {
            let observers = Observers { budget, coverage, ..Observers::default() };
            match launched(&Schedule::lockstep(), observers) {
                Err(RunError::Program(fault)) => *fault,
                other => panic!("{budget} of {all} instructions: {other:?}"),
            }
        };
        let Fault { kind, .. } = ended(false);
        assert_eq!(kind, FaultKind::Budget { instructions: budget });
        assert_eq!(ended(false), ended(true), "line and lanes");
    }
}
