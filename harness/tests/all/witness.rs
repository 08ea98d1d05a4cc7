//! The kernels of this repository judged by their own forward kernels: a second witness, which knows nothing
//! of the oracle.

use rayon::prelude::*;
use splatcheck::gradcheck::{Checked, check_stages, forward_of};
use splatcheck::mutants::class::{Class, Trial, classes};
use splatcheck::mutants::emulated::{stage_of, takes};
use splatcheck::mutants::{Language, read_mutants};
use splatcheck_emulator::{Schedule, WARP};
use splatcheck_gpu::artifact::Artifact;
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::{EngineError, Setting, Stage};
use std::collections::BTreeMap;
use std::path::Path;

const WORKLOADS: [&str; 2] = ["splat", "grid"];

fn classes_of(workload: &str, count: u32) -> Vec<Class> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpora").join(workload);
    let workload = splatcheck_workloads::find(workload).expect("it is there");
    let corpus = workload.read_corpus(&folder).expect("the corpus is whole");
    classes(workload.as_ref(), corpus, count).expect("the cases are legal")
}

fn engine(schedule: Schedule) -> EmulatorEngine {
    EmulatorEngine::open(EmulatorOptions { schedule, ..EmulatorOptions::default() }).expect("opens")
}

/// What came of a backward stage on a case; `None` where the case has no job of it, or its tape has no end.
fn checked(
    engine: &mut EmulatorEngine,
    trial: &Trial,
    backward: Stage,
    setting: Option<Setting>,
) -> Option<Checked> {
    let forward = forward_of(backward)?;
    let (first, second) = (trial.job(forward)?, trial.job(backward)?);
    if second.is_beyond(setting).is_some() {
        return None;
    }
    let pair = ((forward, &first.inputs), (backward, &second.inputs));
    match check_stages(engine, pair.0, pair.1, setting) {
        Ok(checked) => Some(checked),
        Err(EngineError::Input(why)) if why.contains("the tape is full") => None,
        Err(error) => panic!("{}: {error}", trial.name()),
    }
}

#[test]
fn explore() {
    let of = std::env::var("WORKLOAD").unwrap_or("grid".into());
    let all = classes_of(&of, 4);
    let mut engine = engine(Schedule::lockstep());
    for backward in Stage::all() {
        if backward.workload != of
            || backward.name.starts_with("rasterize_backward") && std::env::var("SKIP").is_ok()
        {
            continue;
        }
        let Some(forward) = forward_of(backward) else { continue };
        println!("== {backward} of {forward}");
        let settings = backward
            .settings(&[Setting { reduction: splatcheck_gpu::Reduction::Atomic, threshold: 0 }]);
        for class in &all {
            let (mut cases, mut compared, mut zeros, mut unknown, mut wrong, mut worst) =
                (0, 0, 0, 0, 0, 0.0f64);
            let start = std::time::Instant::now();
            for trial in &class.trials {
                for &setting in &settings {
                    let Some(c) = checked(&mut engine, trial, backward, setting) else { continue };
                    cases += 1;
                    if c.is_wrong() {
                        println!(
                            "   {} wrong: {:?} {:?} open {:?}",
                            trial.name(),
                            c.fault,
                            c.explained,
                            c.open
                        );
                    }
                    if class.name == "corpus" || std::env::var("LOST").is_ok() {
                        for l in c.lost.iter().take(2) {
                            println!("   lost {}: {l}", trial.name());
                        }
                    }
                    for j in &c.arrays {
                        compared += j.compared;
                        zeros += j.zeros;
                        unknown += j.unknown;
                        wrong += j.wrong.len();
                        worst = worst.max(j.worst);
                        if let Some(w) = j.wrong.first() {
                            println!("      {} {:?} {:?}", j.name, w, j.wrong.len());
                        }
                    }
                }
            }
            println!(
                "  {}: {cases} cases, {compared} compared, {zeros} zero, {unknown} unknown, {wrong} wrong, worst {worst:.2e}, {:?}",
                class.name,
                start.elapsed()
            );
        }
    }
}

#[test]
fn mutants() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/mutants");
    let mutants = read_mutants(&folder).expect("they are there");
    for workload in WORKLOADS {
        let all = classes_of(workload, 6);
        let own: Vec<_> = mutants
            .iter()
            .filter(|m| m.workload == workload && m.language == Language::Cuda)
            .collect();
        let rows: Vec<String> = own
            .par_iter()
            .flat_map_iter(|mutant| {
                let mut rows = Vec::new();
                for (kernel, ptx) in mutant.mutation.kernels.iter().zip(&mutant.ptx) {
                    let Ok((stage, settings)) = stage_of(kernel, WARP) else { continue };
                    if forward_of(stage).is_none() {
                        rows.push(format!("NOPAIR {} {}", mutant.mutation.name, kernel.entry()));
                        continue;
                    }
                    let mut engine = engine(Schedule::lockstep());
                    engine
                        .replace(kernel.stage, kernel.reduction, ptx, &kernel.entry())
                        .expect("parses");
                    engine.set_budget(1 << 24);
                    let start = std::time::Instant::now();
                    let mut tried = 0;
                    let mut died = None;
                    'all: for order in [Schedule::lockstep(), Schedule::adversarial(1)] {
                        engine.set_schedule(order);
                        for class in &all {
                            for trial in class
                                .aimed(&mutant.mutation.hazards)
                                .into_iter()
                                .filter(|t| takes(kernel, stage, t))
                                .take(if class.name == "corpus" { 100 } else { 6 })
                            {
                                let setting = settings[tried % settings.len()];
                                tried += 1;
                                let Some(c) = checked(&mut engine, trial, stage, setting) else {
                                    continue;
                                };
                                if c.is_wrong() {
                                    died = Some((
                                        trial.name().to_owned(),
                                        c.fault.clone(),
                                        c.explained.clone(),
                                    ));
                                    break 'all;
                                }
                            }
                        }
                    }
                    rows.push(match died {
                        Some((name, fault, explained)) => format!(
                            "dies {} {} after {tried} by {name}: {} [{:?}]",
                            mutant.mutation.name,
                            kernel.entry(),
                            fault.or(explained).unwrap_or_default(),
                            start.elapsed()
                        ),
                        None => format!(
                            "LIVES {} {} after {tried} {:?}",
                            mutant.mutation.name,
                            kernel.entry(),
                            start.elapsed()
                        ),
                    });
                }
                rows
            })
            .collect();
        for row in rows {
            println!("{workload} {row}");
        }
    }
}
