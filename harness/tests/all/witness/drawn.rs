//! The unchanged kernels on many drawn cases.

use super::{Sum, accused, backwards, checked_jobs, engine};
use rayon::prelude::*;
use splatcheck::gradcheck::forward_of;
use splatcheck_emulator::{Schedule, WARP};
use splatcheck_gpu::emulator::EmulatorEngine;
use splatcheck_gpu::{Setting, Stage};
use splatcheck_judge::campaign::Item;
use splatcheck_judge::workload::{AnyCase, Draw, Generator, Workload};
use splatcheck_workloads::splat::{splat_case, takes_all_cameras};

/// A backward stage with its settings, and what came of the cases so far.
struct Row {
    stage: Stage,
    settings: Vec<Option<Setting>>,
    cases: usize,
    sum: Sum,
}

/// What is asked: as many cases of each backward stage, and the words that a job may have.
#[derive(Clone, Copy)]
struct Asked {
    most: usize,
    words: usize,
}

/// Each backward stage on so many cases, with its reductions and thresholds by turns, each case in two orders.
/// `SPLAT_WITNESS_CASES` says how many, and `SPLAT_WITNESS_WORDS` how large a job may be:
/// `cargo test --release -p splatcheck --test all witness -- --ignored --nocapture`.
#[test]
#[ignore = "takes minutes for 1,000 cases of each stage of at most 1,500 words"]
fn unchanged_kernels_of_splats_agree_on_many_drawn_cases() {
    agree_on_many_cases("splat");
}

/// The same of grid encodings.
#[test]
#[ignore = "takes minutes for 1,000 cases of each stage of at most 1,500 words"]
fn unchanged_kernels_of_grids_agree_on_many_drawn_cases() {
    agree_on_many_cases("grid");
}

fn agree_on_many_cases(name: &str) {
    /// Cases of each generator that are drawn together.
    const BATCH: u64 = 64;
    let number = |name: &str, default| {
        let given = std::env::var(name).map_or(Ok(default), |text| text.parse());
        given.unwrap_or_else(|_| panic!("{name} is a number"))
    };
    let asked = Asked {
        most: number("SPLAT_WITNESS_CASES", 1000),
        words: number("SPLAT_WITNESS_WORDS", usize::MAX),
    };
    let workload = splatcheck_workloads::find(name).expect("it is there");
    let row = |stage: Stage| {
        let settings = stage.settings(&Setting::sweep(WARP));
        Row { stage, settings, cases: 0, sum: Sum::default() }
    };
    let mut rows: Vec<Row> = backwards(name).into_iter().map(row).collect();
    let mut first = 0;
    while batch(workload.as_ref(), (first..first + BATCH).collect(), &mut rows, asked) {
        first += BATCH;
    }
}

/// Runs the stages that have not all their cases on those with some numbers; whether there was such a stage. Panics
/// with the cases of which a kernel is accused, and where none of them is small enough.
fn batch(workload: &dyn Workload, numbers: Vec<u64>, rows: &mut [Row], asked: Asked) -> bool {
    let is_first = numbers[0] == 0;
    let left: Vec<usize> = (0..rows.len()).filter(|&at| rows[at].cases < asked.most).collect();
    if left.is_empty() {
        return false;
    }
    let generators = workload.generators();
    let all: Vec<(&Generator, u64)> = numbers
        .iter()
        .flat_map(|&number| generators.iter().map(move |one| (*one, number)))
        .collect();
    let ran: Vec<(usize, Sum, Option<String>)> = all
        .par_iter()
        .map_init(
            || engine(Schedule::lockstep()),
            |engine, &drawn| of_case(engine, workload, drawn, (rows, &left), asked.words),
        )
        .flatten_iter()
        .collect();
    let wrong: Vec<&str> = ran.iter().filter_map(|(.., wrong)| wrong.as_deref()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (at, sum, _) in ran {
        rows[at].cases += 1;
        rows[at].sum.compared += sum.compared;
        rows[at].sum.unknown += sum.unknown;
    }
    for Row { stage, cases, sum, .. } in left.iter().map(|&at| &rows[at]) {
        assert!(!is_first || *cases > 0, "{stage}: no job of {} words", asked.words);
        let Sum { compared, unknown } = sum;
        println!("{stage}: {cases} cases in two orders, {compared} compared, {unknown} not judged");
    }
    true
}

/// What came of a drawn case for each of the stages that are left and have a small job of it.
fn of_case(
    engine: &mut EmulatorEngine,
    workload: &dyn Workload,
    (generator, number): (&Generator, u64),
    (rows, left): (&[Row], &[usize]),
    words: usize,
) -> Vec<(usize, Sum, Option<String>)> {
    let draw = Draw { lane_width: WARP, turn: number };
    let Some(case) = workload.draw(generator, draw, 0, number) else { return Vec::new() };
    let case = case.current();
    let may_be = |at: &&usize| {
        let stage = rows[**at].stage;
        generator.promise.holds_for(stage) && least_words(&case, stage) <= words
    };
    let left: Vec<usize> = left.iter().filter(may_be).copied().collect();
    let wanted = |stage: Stage| {
        let mut pairs = left.iter().map(|&at| rows[at].stage);
        pairs.any(|backward| backward == stage || forward_of(backward) == Some(stage))
    };
    if left.is_empty() {
        return Vec::new();
    }
    let item = Item::of(case, 0, &wanted).expect("the case is legal");
    let mut all = Vec::new();
    for at in left {
        let Row { stage, settings, .. } = &rows[at];
        let jobs = forward_of(*stage).and_then(|one| item.job(one)).zip(item.job(*stage));
        let Some(jobs) = jobs.filter(|(_, backward)| backward.words() <= words) else { continue };
        let setting = settings[usize::try_from(number).expect("small") % settings.len()];
        let what = format!("{stage} {setting:?}");
        let mut sum = Sum::default();
        let orders = [Schedule::lockstep(), Schedule::adversarial(number)];
        let wrong = orders.into_iter().map(|order| {
            engine.set_schedule(order);
            let checked = checked_jobs(engine, item.case.name(), jobs, setting)?;
            sum.add(&checked);
            Some(accused(&what, item.case.name(), &checked))
        });
        let Some(wrong) = wrong.collect::<Option<Vec<_>>>() else { continue };
        all.push((at, sum, wrong.into_iter().flatten().next()));
    }
    all
}

/// The words that a job of a stage has at least; more than 0 only where that is known before the job is made.
fn least_words(case: &AnyCase, stage: Stage) -> usize {
    let Some(splats) = splat_case(case) else { return 0 };
    let scene = &splats.scene;
    match takes_all_cameras(stage) {
        true => scene.gaussians.len() * scene.cameras.len(),
        false => (scene.width * scene.height) as usize,
    }
}
