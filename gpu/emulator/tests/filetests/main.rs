//! Runs `filetests/*.ptx`: one small program per instruction, with what it must give.
//!
//! Lines of a file that begin with `// ` and one of these words are read here:
//! - `launch: BLOCKS x THREADS` for the lines that follow; 1 x 1 at first.
//! - `run: kernel(arguments) == expected`, where an argument is a number, `[numbers]` for a buffer
//!   that holds them, `out` for a buffer never written, or `out[numbers]`; expected are the words
//!   that `out` holds at the end, as one number or `[numbers]`. `number * count` repeats.
//! - `error: kernel(arguments): text`, the kernel's fault must contain the text.
//! - `error: text`, the file does not parse and the error contains the text.
//!
//! Numbers are integers, hexadecimal integers, hexadecimal floats (`0x1.8p+1`), `inf` and `nan`;
//! an argument of 8 bytes takes an integer as u64. Every run is repeated under random and hostile
//! schedules, which must not change a result, and replayed from its trace.

mod coverage;
mod expectation;

use std::path::{Path, PathBuf};

use expectation::{Expectation, Invocation, Outcome, parse_file};
use splatcheck_emulator::{
    ApproximationMode, DeviceMemory, Launch, Module, Observers, Policy, Report, RunError, Schedule,
    Trace, run_traced,
};

/// Seeds of each kind of schedule.
const SEEDS: u64 = 6;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests")
}

fn files() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder()).expect("filetests/ is there");
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("a readable entry").path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(&path).expect("a readable file"))
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn files_give_what_they_say() {
    let mut failures = Vec::new();
    let mut lines = 0;
    for (name, source) in files() {
        let expectations = parse_file(&source).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(!expectations.is_empty(), "{name} says nothing");
        lines += expectations.len();
        for expectation in &expectations {
            if let Err(message) = check(&source, expectation) {
                failures.push(format!("{name}:{}: {message}", expectation.line));
            }
        }
    }
    assert!(failures.is_empty(), "{} of {lines} fail:\n{}", failures.len(), failures.join("\n"));
}

fn check(source: &str, expectation: &Expectation) -> Result<(), String> {
    let parsed = Module::parse(source);
    let Some(invocation) = &expectation.invocation else {
        let Outcome::Error(text) = &expectation.outcome else {
            return Err("a run without a kernel".to_owned());
        };
        let error = parsed.err().ok_or("the file parses")?.to_string();
        return contains(&error, text);
    };
    let module = parsed.map_err(|e| e.to_string())?;
    check_schedule(&module, invocation, &expectation.outcome, &Schedule::lockstep(), true)?;
    for seed in 0..SEEDS {
        for policy in [Policy::Random(seed), Policy::Adversarial(seed)] {
            let schedule = Schedule { policy, approximation: ApproximationMode::Nearest };
            check_schedule(&module, invocation, &expectation.outcome, &schedule, false)
                .map_err(|e| format!("{:?}: {e}", schedule.policy))?;
        }
    }
    Ok(())
}

fn contains(error: &str, text: &str) -> Result<(), String> {
    if error.contains(text) { Ok(()) } else { Err(format!("'{error}' does not say '{text}'")) }
}

/// Runs once and once more from the trace.
fn check_schedule(
    module: &Module,
    invocation: &Invocation,
    outcome: &Outcome,
    schedule: &Schedule,
    exact: bool,
) -> Result<(), String> {
    let mut trace = Trace::new();
    let (result, words) = execute(module, invocation, outcome, schedule, &mut trace);
    let replay = schedule.replay(trace.clone());
    let again = execute(module, invocation, outcome, &replay, &mut Trace::new());
    if again.0.as_ref().err() != result.as_ref().err() || again.1 != words {
        return Err(format!("the replay differs: {:?} {:?}", again.0, again.1));
    }
    match (outcome, result) {
        (Outcome::Words(expected), Ok(_)) => {
            let words = words?;
            if &words == expected {
                return Ok(());
            }
            Err(format!("expected {expected:08x?}, found {words:08x?}"))
        }
        (Outcome::Words(_), Err(error)) => Err(error.to_string()),
        (Outcome::Error(text), Err(error)) => {
            let message = error.to_string();
            match error {
                RunError::Program(_) if !exact => Ok(()),
                RunError::Program(_) | RunError::Launch(_) => contains(&message, text),
                RunError::Emulator(_) => Err(message),
            }
        }
        (Outcome::Error(text), Ok(_)) => match words {
            Err(error) => contains(&error, text),
            Ok(words) => Err(format!("no fault, but {words:08x?}")),
        },
    }
}

type Executed = (Result<Report, RunError>, Result<Vec<u32>, String>);

fn execute(
    module: &Module,
    invocation: &Invocation,
    outcome: &Outcome,
    schedule: &Schedule,
    trace: &mut Trace,
) -> Executed {
    let mut memory = DeviceMemory::new();
    let length = match outcome {
        Outcome::Words(words) => words.len(),
        Outcome::Error(_) => 64,
    };
    let (arguments, out) = invocation.arguments(module, &mut memory, length);
    let launch = Launch {
        grid: [invocation.blocks, 1, 1],
        block: [invocation.threads, 1, 1],
        dynamic_shared: 256,
        arguments,
    };
    let observers = Observers { races: true, budget: 100_000 };
    let result =
        run_traced(module, &invocation.kernel, &launch, &mut memory, schedule, observers, trace);
    let words = match out {
        Some(buffer) => memory.read(buffer).map_err(|e| e.to_string()),
        None => Ok(Vec::new()),
    };
    let to_words = |bytes: Vec<u8>| {
        bytes.chunks(4).map(|c| u32::from_le_bytes(c.try_into().expect("whole words"))).collect()
    };
    (result, words.map(to_words))
}
