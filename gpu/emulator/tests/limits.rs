//! What a source may cost: a launch that never ends is ended, and memory that a source asks for has a
//! limit.

use std::time::{Duration, Instant};

use splatcheck_emulator::{
    DeviceMemory, Fault, FaultKind, Launch, Module, Observers, RunError, Schedule, TimeLimit, run,
};

fn source(variables: &str, body: &str) -> String {
    format!(
        ".version 8.4\n.target sm_75\n.address_size 64\n{variables}.visible .entry k()\n{{\n{body}ret;\n}}\n"
    )
}

/// Runs a kernel of 4 blocks of 256 threads under limits.
fn ended(body: &str, schedule: &Schedule, observers: Observers) -> FaultKind {
    let module = Module::parse(&source(".shared .b32 s;\n", body)).expect("it is PTX");
    let launch = Launch { grid: [4, 1, 1], block: [256, 1, 1], ..Launch::default() };
    let mut memory = DeviceMemory::new();
    match run(&module, "k", &launch, &mut memory, schedule, observers) {
        Err(RunError::Program(fault)) => {
            let Fault { kind, .. } = *fault;
            kind
        }
        other => panic!("it never ends: {other:?}"),
    }
}

#[test]
fn a_loop_over_anything_ends_in_time_under_every_schedule() {
    let limit = Duration::from_millis(200);
    let observers = || Observers { time: Some(TimeLimit::from_now(limit)), ..Observers::default() };
    let schedules = [Schedule::lockstep(), Schedule::random(1), Schedule::adversarial(1)];
    for body in ["membar.gl;\n", "bar.warp.sync -1;\n", "bar.sync 0;\n", ""] {
        for schedule in &schedules {
            let start = Instant::now();
            let kind = ended(&format!("L:\n{body}bra L;\n"), schedule, observers());
            let took = start.elapsed();
            assert!(
                matches!(kind, FaultKind::Time { limit: said, instructions } if said == limit && instructions > 0),
                "{body}: {kind:?}"
            );
            assert_eq!(kind.observer(), "time limit", "{body}");
            // 4,096 of the dearest instructions, on a busy machine.
            assert!(took < Duration::from_secs(20), "{body}: {took:?}");
        }
    }
}

#[test]
fn a_budget_ends_a_launch_at_the_same_instruction_whatever_the_time_is() {
    let observers = Observers { budget: 10_000, ..Observers::default() };
    let hour = TimeLimit::from_now(Duration::from_secs(3600));
    let timed = Observers { time: Some(hour), ..observers };
    for observers in [observers, timed] {
        let kind = ended("L:\nbra L;\n", &Schedule::lockstep(), observers);
        assert_eq!(kind, FaultKind::Budget { instructions: 10_000 });
    }
}

/// Launches one after another share a limit: none has it anew.
#[test]
fn a_limit_is_for_all_launches_under_it() {
    let limit = TimeLimit::from_now(Duration::from_millis(200));
    let observers = Observers { time: Some(limit), ..Observers::default() };
    let start = Instant::now();
    for launch in 0..50 {
        let kind = ended("L:\nbra L;\n", &Schedule::lockstep(), observers);
        assert!(matches!(kind, FaultKind::Time { .. }), "launch {launch}: {kind:?}");
    }
    assert!(start.elapsed() < Duration::from_secs(5), "50 limits would be 10 s");
}

#[test]
fn variables_have_at_most_so_many_bytes() {
    let refused = |variables: &str, body: &str| {
        let module = Module::parse(&source(variables, body));
        match &module {
            Err(error) => error.to_string(),
            Ok(module) => module.refusal("k").map_or_else(String::new, ToString::to_string),
        }
    };
    let of = |name: &str, bytes: u64| format!(".global .align 4 .b8 {name}[{bytes}];\n");
    let (large, small) = (1 << 28, 1 << 20);
    let uses = "mov.u64 %rd1, big;\n";
    let body = format!(".reg .b64 %rd<2>;\n{uses}");
    assert_eq!(refused(&of("big", large), &body), "", "as large as may be");
    let text = refused(&of("big", large + 1), &body);
    assert!(text.contains("variable 'big' is larger than 268435456 bytes"), "{text}");
    assert!(text.contains("line 4"), "where it is declared: {text}");
    let text = refused(&(of("other", large) + &of("big", small)), &body);
    assert!(text.contains("with variable 'big' those of the module are larger"), "{text}");
    let many: String = (0..20_000).map(|i| of(&format!("v{i}"), 4)).collect();
    assert_eq!(refused(&many, ""), "", "many small ones");
}
