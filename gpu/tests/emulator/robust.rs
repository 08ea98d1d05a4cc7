//! Damaged PTX: an error or a run that ends, never a panic.

use super::FEATURES;
use splatcheck_emulator::{
    Argument, DeviceMemory, Launch, Module, Observers, RunError, Schedule, mix, run,
};
use splatcheck_gpu::artifact::all;

/// Copies, moves, drops or changes a few pieces of a text.
fn damaged(text: &str, seed: u64) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let at = |salt: u64, end: usize| {
        let below = mix(mix(seed) ^ salt) % end.max(1) as u64;
        usize::try_from(below).expect("it is below a usize")
    };
    for round in 0..1 + seed % 3 {
        let salt = 10 * round;
        let (from, to) = (at(salt, bytes.len()), at(salt + 1, bytes.len()));
        let length = at(salt + 2, 12).min(bytes.len() - from);
        let piece = bytes[from..from + length].to_vec();
        match at(salt + 3, 4) {
            0 => drop(bytes.splice(to..to, piece)),
            1 => drop(bytes.drain(from..from + length)),
            2 => bytes[from] = b"0123456789%,;:{}[]()+-@!|.frdpx\n"[at(salt + 4, 32)],
            _ => {
                let end = (to + length).min(bytes.len());
                drop(bytes.splice(to..end, piece));
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn damaged_modules_do_not_panic() {
    let artifacts: Vec<_> = all().into_iter().filter(|a| !a.fast_math).collect();
    let (mut parsed, mut finished, mut faults) = (0, 0, 0);
    for (seed, artifact) in (0..3000_u64).zip(artifacts.iter().cycle()) {
        // The end of a long text is as good as its whole and takes less time.
        let artifact = artifact.ptx().expect("it is built in");
        let text = if seed.is_multiple_of(4) { &FEATURES } else { artifact };
        if text.len() > 40_000 {
            continue;
        }
        let Ok(module) = Module::parse(&damaged(text, seed)) else { continue };
        parsed += 1;
        let kernels: Vec<_> = module.kernels().map(str::to_owned).collect();
        let chosen = usize::try_from(seed / 4).unwrap_or(0) % kernels.len().max(1);
        let Some(entry) = kernels.get(chosen).cloned() else { continue };
        let sizes = module.parameter_sizes(&entry).expect("the kernel is there");
        let mut memory = DeviceMemory::new();
        let buffer = memory.upload(&[0; 4096]);
        let arguments = sizes
            .iter()
            .map(|&size| match size {
                8 => buffer.into(),
                size => Argument::bytes(&[1, 0, 0, 0].repeat(size as usize)[..size as usize]),
            })
            .collect();
        let launch = Launch { grid: [2, 1, 1], block: [64, 1, 1], dynamic_shared: 0, arguments };
        let observers = Observers { races: true, budget: 20_000, ..Observers::default() };
        let schedule = [Schedule::lockstep(), Schedule::adversarial(seed)];
        for schedule in schedule {
            match run(&module, &entry, &launch, &mut memory, &schedule, observers) {
                Ok(_) => finished += 1,
                Err(RunError::Program(_) | RunError::Launch(_)) => faults += 1,
                Err(RunError::Emulator(defect)) => panic!("seed {seed}: {defect}"),
            }
        }
    }
    println!("{parsed} parsed, {finished} finished, {faults} faults");
    assert!(parsed > 50 && faults > 20, "the damage is too great or too small to tell");
}
