//! Damaged modules: whatever the text, it is refused with a short message that names a line, or it runs
//! to its end, to a fault or to its budget. Nothing panics and nothing overflows; the profile `fuzz` and
//! debug builds check the latter.
//!
//! The texts are those of `gpu/kernels/ptx.tar.zst` and of users' kernels in `gpu/tests/kernels/ptx.tar.zst`, changed
//! in a few places: a number for another, an operand for that of another line, lines doubled, exchanged,
//! left out, cut in two. A failure names its seed. `SPLATCHECK_FUZZ_CASES=250000` tries that many.

use std::panic::{AssertUnwindSafe, catch_unwind};

use splatcheck_emulator::{
    Argument, DeviceMemory, Launch, Module, Observers, RunError, Schedule, run,
};
use splatcheck_filetests::damage::{NUMBERS, Random, cases, damaged};
use splatcheck_filetests::{compiled, users};

/// Instructions of a launch: a change may make any loop endless.
const BUDGET: u64 = 20_000;
/// The longest message: nobody reads more, whatever the text holds.
const LONGEST: usize = 4000;

/// The modules, smallest first.
fn modules() -> Vec<(String, String)> {
    let ours = compiled().into_iter().filter(|(path, _)| !path.starts_with("grid/"));
    let mut all: Vec<_> = ours.chain(users()).collect();
    all.sort_by_key(|(_, text)| text.len());
    assert!(all.len() > 100, "the modules are not where they were");
    all
}

/// Directives, parameters and variables.
fn declares(line: &str) -> bool {
    line.trim_start().starts_with(['.', ')', '('])
}

/// Arguments of these sizes: arrays where there is room for an address, numbers elsewhere.
fn arguments(sizes: &[u32], memory: &mut DeviceMemory, random: &mut Random) -> Vec<Argument> {
    let one = |&size: &u32| match size {
        8 => memory.upload(&1_u32.to_le_bytes().repeat(4096)).into(),
        size => {
            let word = u32::try_from(random.below(5)).unwrap_or(0).to_le_bytes();
            let bytes: Vec<u8> = word.iter().copied().cycle().take(size as usize).collect();
            Argument::bytes(&bytes)
        }
    };
    sizes.iter().map(one).collect()
}

/// What became of a text.
#[derive(Default)]
struct Outcome {
    /// The messages of what did not work.
    said: Vec<String>,
    /// Whether a kernel was launched, and how many ran to their end.
    launched: bool,
    ended: u64,
}

/// Runs what can be run of a text.
fn run_all(text: &str, random: &mut Random) -> Outcome {
    let mut outcome = Outcome::default();
    let Outcome { said, launched, ended } = &mut outcome;
    let module = match Module::parse(text) {
        Ok(module) => module,
        Err(error) => {
            said.push(error.to_string());
            return outcome;
        }
    };
    let kernels: Vec<_> = module.kernels().map(str::to_owned).collect();
    for kernel in &kernels {
        said.extend(module.refusal(kernel).map(ToString::to_string));
        let sizes = module.parameter_sizes(kernel).unwrap_or_default();
        if sizes.iter().any(|&size| size > 1 << 16) {
            continue;
        }
        let mut memory = DeviceMemory::new();
        let arguments = arguments(&sizes, &mut memory, random);
        // Most have the shape that our kernels are compiled for, some none that a device has.
        let block = match random.below(8) {
            0 => [33, 1, 2],
            1 => [65_536, 65_536, u32::MAX],
            2 => [256, 0, 1],
            _ => [256, 1, 1],
        };
        let grid = [[1, 1, 1], [2, 1, 3], [u32::MAX, u32::MAX, u32::MAX]][random.below(7) / 3];
        let dynamic_shared = match random.below(4) {
            0 => random.pick(&NUMBERS).parse().unwrap_or(u32::MAX),
            _ => 4096,
        };
        let launch = Launch { grid, block, dynamic_shared, arguments };
        let seed = random.below(1000) as u64;
        let schedule = match random.below(4) {
            0 => Schedule::adversarial(seed),
            1 => Schedule::random(seed),
            _ => Schedule::lockstep(),
        };
        let observers = Observers { budget: BUDGET, ..Observers::default() };
        match run(&module, kernel, &launch, &mut memory, &schedule, observers) {
            Ok(_) => (*launched, *ended) = (true, *ended + 1),
            Err(RunError::Launch(error)) => said.push(error.to_string()),
            Err(RunError::Program(fault)) => {
                *launched = true;
                said.push(fault.to_string());
            }
            Err(RunError::Emulator(defect)) => panic!("a defect of the emulator: {defect:?}"),
        }
    }
    outcome
}

#[test]
fn damaged_modules_are_refused_or_run() {
    let modules = modules();
    let (mut refused, mut launched, mut ended) = (0, 0, 0);
    for seed in 0..cases(2000) {
        let mut random = Random::new(seed);
        // The smaller half more often: it is as rich in instructions.
        let half = modules.len() / (1 + random.below(2));
        let (file, text) = &modules[random.below(half)];
        let text = damaged(text, declares, &mut random);
        let tried = catch_unwind(AssertUnwindSafe(|| run_all(&text, &mut random)));
        let outcome = tried.unwrap_or_else(|_| panic!("seed {seed}, {file}: it panicked"));
        if let Some(long) = outcome.said.iter().find(|said| said.len() > LONGEST) {
            panic!("seed {seed}, {file}: a message of {} bytes", long.len());
        }
        match outcome.launched {
            true => launched += 1,
            false => refused += 1,
        }
        ended += outcome.ended;
    }
    println!("{refused} refused, {launched} launched, {ended} kernels ran to their end");
    assert!(refused.min(launched).min(ended) > 0, "{refused}, {launched}, {ended}: nothing tried");
}
