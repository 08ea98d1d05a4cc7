//! Runs the filetests on the emulator, one test per file: `filetest::add` runs `add.ptx`.
//!
//! Every launch is repeated under random and adversarial schedules, which must not change a result
//! and must not change what a fault says (beyond what the file names), and replayed from its trace.

use std::collections::BTreeSet;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use splatcheck_emulator::{
    Buffer, DeviceMemory, FaultKind, Launch, Loss, Module, Observers, Place, Policy, Report,
    RunError, Schedule, Shadowing, Trace, run_traced,
};
use splatcheck_filetests::{
    Argument, DYNAMIC_SHARED, Expectation, Filetest, Invocation, Outcome, all,
};

/// Seeds of each kind of schedule for a launch that goes well.
const SEEDS: u64 = 6;

/// Seeds of each kind of schedule for a launch that is misused: what it says depends on who comes
/// first.
const FAULT_SEEDS: u64 = 100;

/// What a file says under `error:` of a run that goes well.
const NO_FAULT: &str = "no fault";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let test =
        |file: Filetest| Trial::test(format!("filetest::{}", file.name), move || run_file(&file));
    let mut trials: Vec<_> = all().into_iter().map(test).collect();
    trials.push(Trial::test("every_kind_of_misuse_is_reported_and_has_a_legal_neighbour", kinds));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Kinds that no filetest can show: the clock's is in `limits.rs`.
const ELSEWHERE: [&str; 1] = ["time"];

/// Every kind of fault is what some `error:` line gets in lockstep, and the kind of some `legal:` line.
fn kinds() -> Result<(), Failed> {
    let (mut reported, mut neighbours) = (BTreeSet::new(), BTreeSet::new());
    for file in all() {
        let Ok(module) = Module::parse(&file.source) else { continue };
        for Expectation { invocation, outcome, legal, .. } in file.expectations()? {
            neighbours.extend(legal);
            let (Some(invocation), Outcome::Error(_)) = (invocation, &outcome) else { continue };
            let (lockstep, mut trace) = (Schedule::lockstep(), Trace::new());
            let (result, _) =
                execute(&module, &invocation, &outcome, &lockstep, (&mut trace, Shadowing::Off));
            if let Err(RunError::Program(fault)) = result {
                reported.insert(fault.kind.name().to_owned());
            }
        }
    }
    let kinds: BTreeSet<_> = FaultKind::NAMES.into_iter().map(str::to_owned).collect();
    let elsewhere: BTreeSet<_> = ELSEWHERE.into_iter().map(str::to_owned).collect();
    let expected: BTreeSet<_> = kinds.difference(&elsewhere).cloned().collect();
    for (what, found) in [("reported", &reported), ("a legal neighbour's", &neighbours)] {
        if found != &expected {
            let differ: Vec<_> = found.symmetric_difference(&expected).collect();
            return Err(format!("not {what}, or no kind: {differ:?}").into());
        }
    }
    Ok(())
}

fn run_file(file: &Filetest) -> Result<(), Failed> {
    let expectations = file.expectations().map_err(|e| format!("{}.ptx: {e}", file.name))?;
    if expectations.is_empty() {
        return Err(format!("{}.ptx expects nothing", file.name).into());
    }
    let mut failures = Vec::new();
    for expectation in &expectations {
        if let Err(message) = check(&file.source, expectation) {
            failures.push(format!("{}.ptx:{}: {message}", file.name, expectation.line));
        }
    }
    let lines = expectations.len();
    let text = || format!("{} of {lines} fail:\n{}", failures.len(), failures.join("\n"));
    if failures.is_empty() { Ok(()) } else { Err(text().into()) }
}

fn check(source: &str, expectation: &Expectation) -> Result<(), String> {
    let parsed = Module::parse(source);
    let Some(invocation) = &expectation.invocation else {
        let Outcome::Error(texts) = &expectation.outcome else {
            return Err("a run without a kernel".to_owned());
        };
        let error = parsed.err().ok_or("the file parses")?.to_string();
        return contains(&error, texts);
    };
    let module = parsed.map_err(|e| e.to_string())?;
    let (lockstep, others, seeds) = match &expectation.outcome {
        Outcome::Words(words) => {
            (Outcome::Words(words.clone()), expectation.outcome.clone(), SEEDS)
        }
        Outcome::Error(texts) => {
            (Outcome::Error(texts[..1].to_vec()), expectation.outcome.clone(), FAULT_SEEDS)
        }
    };
    check_schedule(&module, invocation, &lockstep, &Schedule::lockstep())
        .map_err(|e| format!("lockstep: {e}"))?;
    for seed in 0..seeds {
        for policy in [Policy::Random(seed), Policy::Adversarial(seed)] {
            let schedule = Schedule { policy, ..Schedule::lockstep() };
            check_schedule(&module, invocation, &others, &schedule)
                .map_err(|e| format!("{:?}: {e}", schedule.policy))?;
        }
    }
    Ok(())
}

fn contains(error: &str, texts: &[String]) -> Result<(), String> {
    if texts.iter().any(|text| error.contains(text)) {
        Ok(())
    } else {
        Err(format!("'{error}' says none of {texts:?}"))
    }
}

/// Runs once and once more from the trace, then with floats followed: what is observed changes nothing,
/// and no f32 lies outside its radius.
fn check_schedule(
    module: &Module,
    invocation: &Invocation,
    outcome: &Outcome,
    schedule: &Schedule,
) -> Result<(), String> {
    let mut trace = Trace::new();
    let (result, words) =
        execute(module, invocation, outcome, schedule, (&mut trace, Shadowing::Off));
    let replay = schedule.replay(trace.clone());
    let again = {
        let followed = (&mut Trace::new(), Shadowing::Tape { bytes: 1 << 26 });
        execute(module, invocation, outcome, &replay, followed)
    };
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
        (Outcome::Error(_), Err(RunError::Emulator(defect))) => Err(defect.to_string()),
        (Outcome::Error(texts), Err(error @ (RunError::Program(_) | RunError::Launch(_)))) => {
            contains(&error.to_string(), texts)
        }
        (Outcome::Error(texts), Ok(_)) if texts.iter().any(|text| text == NO_FAULT) => Ok(()),
        (Outcome::Error(texts), Ok(_)) => match words {
            Err(error) => contains(&error, texts),
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
    (trace, shadow): (&mut Trace, Shadowing),
) -> Executed {
    let mut memory = DeviceMemory::new();
    let (arguments, out) = arguments(invocation, module, &mut memory, outcome.length());
    let launch = Launch {
        grid: [invocation.blocks, 1, 1],
        block: [invocation.threads, 1, 1],
        dynamic_shared: DYNAMIC_SHARED,
        arguments,
    };
    let observers = Observers { races: true, budget: 100_000, shadow, ..Observers::default() };
    let result =
        run_traced(module, &invocation.kernel, &launch, &mut memory, schedule, observers, trace);
    let words = match out {
        Some(buffer) => memory.read(buffer).map_err(|e| e.to_string()),
        None => Ok(Vec::new()),
    };
    // A quotient by more than 2^126 is 0 there (PTX ISA, "div"): rightly no quotient.
    let none = |place: &Place| place.kernel == "div_approx_f32";
    let mut losses = memory.losses().into_iter();
    let outside = losses.find(|lost| lost.loss == Loss::Radius && !none(&lost.place));
    let words = match outside {
        Some(lost) => Err(format!("an f32 is outside its radius: {}", lost.place)),
        None => words,
    };
    let to_words = |bytes: Vec<u8>| {
        bytes.chunks(4).map(|c| u32::from_le_bytes(c.try_into().expect("whole words"))).collect()
    };
    (result, words.map(to_words))
}

/// The arguments, and the buffer called `out`, of `length` words if it is never written.
fn arguments(
    invocation: &Invocation,
    module: &Module,
    memory: &mut DeviceMemory,
    length: usize,
) -> (Vec<splatcheck_emulator::Argument>, Option<Buffer>) {
    let sizes = module.parameter_sizes(&invocation.kernel).unwrap_or_default();
    let bytes = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let mut out = None;
    let mut arguments = Vec::new();
    for (index, written) in invocation.arguments.iter().enumerate() {
        arguments.push(match written {
            Argument::Number(value) => {
                let size = sizes.get(index).map_or(4, |&size| size as usize).min(8);
                splatcheck_emulator::Argument::bytes(&value.to_le_bytes()[..size])
            }
            Argument::Buffer(words) => memory.upload(&bytes(words)).into(),
            Argument::Input(words) => memory.upload_input("in", &bytes(words)).into(),
            Argument::Out(initial) => {
                let buffer = match initial {
                    Some(words) => memory.upload(&bytes(words)),
                    None => memory.allocate(4 * length),
                };
                out = Some(buffer);
                buffer.into()
            }
        });
    }
    (arguments, out)
}
