//! The kernels of this repository judged by their own forward kernels: a second witness, which knows nothing
//! of the oracle.

use splatcheck::gradcheck::{Checked, check_stages, forward_of};
use splatcheck::mutants::class::{Class, Trial, classes};
use splatcheck_emulator::Schedule;
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::{Setting, Stage};
use std::path::Path;

fn classes_of(workload: &str, count: u32) -> Vec<Class> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpora").join(workload);
    let workload = splatcheck_workloads::find(workload).expect("it is there");
    let corpus = workload.read_corpus(&folder).expect("the corpus is whole");
    classes(workload.as_ref(), corpus, count).expect("the cases are legal")
}

fn engine(schedule: Schedule) -> EmulatorEngine {
    EmulatorEngine::open(EmulatorOptions { schedule, ..EmulatorOptions::default() }).expect("opens")
}

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
    Some(check_stages(engine, pair.0, pair.1, setting).expect("a run"))
}

#[test]
fn explore() {
    let of = std::env::var("WORKLOAD").unwrap_or("grid".into());
    let all = classes_of(&of, 4);
    let mut engine = engine(Schedule::lockstep());
    for backward in Stage::all() {
        if backward.workload != of {
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
                    for l in c.lost.iter().take(2) {
                        println!("   lost {}: {l}", trial.name());
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
