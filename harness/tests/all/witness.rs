//! The kernels of this repository judged by their own forward kernels: a second witness, which knows nothing
//! of the oracle.

mod clamped;
mod drawn;
mod oracle;

use rayon::prelude::*;
use splatcheck::gradcheck::{Checked, check_stages, compare_stages, forward_of};
use splatcheck::mutants::class::{Class, Trial, classes};
use splatcheck::mutants::emulated::{stage_of, takes};
use splatcheck::mutants::{Language, Mutant, read_mutants};
use splatcheck_emulator::{Contribution, Conventions, Schedule, WARP};
use splatcheck_gpu::artifact::Artifact;
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions, Pair, differentiable};
use splatcheck_gpu::hazard::Hazard;
use splatcheck_gpu::{Data, Engine, EngineError, Reduction, Setting, Stage, Tensor, Tensors, Work};
use splatcheck_judge::judge::Arithmetic;
use splatcheck_judge::workload::{FailedRun, Job};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const WORKLOADS: [&str; 2] = ["splat", "grid"];

fn tree(within: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(within)
}

/// The corpus and so many cases of each generator.
fn classes_of(workload: &str, count: u32) -> Vec<Class> {
    let folder = tree("corpora").join(workload);
    let workload = splatcheck_workloads::find(workload).expect("it is there");
    let corpus = workload.read_corpus(&folder).expect("the corpus is whole");
    classes(workload.as_ref(), corpus.cases, count).expect("the cases are legal")
}

/// Backward stages of a workload that have a forward stage.
fn backwards(workload: &str) -> Vec<Stage> {
    let own = Stage::all().filter(|stage| stage.workload == workload);
    own.filter(|stage| forward_of(*stage).is_some()).collect()
}

fn engine(schedule: Schedule) -> EmulatorEngine {
    EmulatorEngine::open(EmulatorOptions { schedule, ..EmulatorOptions::default() }).expect("opens")
}

/// What is not the derivative on a scene, on purpose: a divisor that is never less than 1e-6.
const DEPART: [(&str, &str); 1] =
    [("rasterize_backward_buffer_floor", "alpha-beyond-the-least-divisor")];

/// What came of a backward stage on a case; `None` where the case has no job of it, or more than a tape holds.
fn checked(
    engine: &mut EmulatorEngine,
    trial: &Trial,
    backward: Stage,
    setting: Option<Setting>,
) -> Option<Checked> {
    let jobs = (trial.job(forward_of(backward)?)?, trial.job(backward)?);
    checked_jobs(engine, trial.name(), jobs, setting)
}

/// The same of the jobs of both stages.
fn checked_jobs(
    engine: &mut EmulatorEngine,
    name: &str,
    jobs: (&Job, &Job),
    setting: Option<Setting>,
) -> Option<Checked> {
    on_jobs(name, jobs, &[setting], |forward, backward| {
        check_stages(engine, forward, backward, setting)
    })
}

/// A backward stage with the second setting compared with the first; `None` as for [`checked`].
fn same(
    engine: &mut EmulatorEngine,
    trial: &Trial,
    backward: Stage,
    settings: [Option<Setting>; 2],
) -> Option<Checked> {
    let jobs = (trial.job(forward_of(backward)?)?, trial.job(backward)?);
    on_jobs(trial.name(), jobs, &settings, |forward, backward| {
        compare_stages(engine, forward, backward, settings)
    })
}

fn on_jobs(
    name: &str,
    (first, second): (&Job, &Job),
    settings: &[Option<Setting>],
    judge: impl FnOnce((Stage, &Tensors), (Stage, &Tensors)) -> Result<Checked, EngineError>,
) -> Option<Checked> {
    let (forward, backward) = (first.stage, second.stage);
    if settings.iter().any(|setting| second.is_beyond(*setting).is_some()) {
        return None;
    }
    match judge((forward, &first.inputs), (backward, &second.inputs)) {
        Ok(checked) => Some(checked),
        Err(EngineError::Input(why)) if why.contains("the tape is full") => None,
        Err(error) => panic!("{name}: {error}"),
    }
}

/// Compared elements and those that nobody can judge.
#[derive(Default)]
struct Sum {
    compared: usize,
    unknown: usize,
}

impl Sum {
    fn add(&mut self, checked: &Checked) {
        for judged in &checked.arrays {
            self.compared += judged.compared;
            self.unknown += judged.unknown;
        }
    }
}

/// What a right kernel is accused of, if of anything.
fn accused(what: &str, case: &str, checked: &Checked) -> Option<String> {
    let first = || {
        let wrong = checked.arrays.iter().filter(|judged| !judged.wrong.is_empty());
        let each = wrong.map(|judged| format!("{} {:?}", judged.name, judged.wrong[0]));
        each.collect::<Vec<_>>().join("; ")
    };
    checked.is_wrong().then(|| {
        let Checked { fault, explained, open, .. } = checked;
        format!("{what}, {case}: {fault:?} {explained:?} open {open:?}: {}", first())
    })
}

/// A backward stage with its first reduction, and with each that a host makes floats for.
fn firsts(backward: Stage) -> Vec<(Stage, Option<Setting>)> {
    let of_host = |reduction: &Reduction| {
        backward.extra_launches(Some(*reduction)).is_some_and(|launches| launches.exact.is_some())
    };
    let first = backward.reductions().next();
    let others = backward.reductions().skip(1).filter(of_host).map(Some);
    let setting = |reduction| Setting { reduction, threshold: 1 };
    std::iter::once(first).chain(others).map(|one| (backward, one.map(setting))).collect()
}

/// The sweep over each forward kernel and the backward kernel of each formulation are within both uncertainties
/// of each other, on every scene of the corpora. Of splats at most one number in 200 is not judged: those of scenes
/// with subnormal gradients, which atomics flush, and those that an open comparison may make 0. Of grids it is at
/// most a third: many points of their corpus lie on a border of cells, where rounding decides on the cell.
#[test]
fn every_scene_of_the_corpora_has_the_derivatives_of_its_forward_kernel() {
    for workload in WORKLOADS {
        let classes = classes_of(workload, 1);
        let judged_of_each = if workload == "grid" { 2 } else { 200 };
        let corpus = &classes[0];
        assert_eq!(corpus.name, "corpus");
        for (backward, setting) in backwards(workload).into_iter().flat_map(firsts) {
            let departs = |trial: &&Trial| !DEPART.contains(&(backward.name, trial.name()));
            let all: Vec<(Sum, Option<String>)> = corpus
                .trials
                .par_iter()
                .filter(departs)
                .filter_map(|trial| {
                    let mut engine = engine(Schedule::lockstep());
                    let checked = checked(&mut engine, trial, backward, setting)?;
                    let mut sum = Sum::default();
                    sum.add(&checked);
                    Some((sum, accused(backward.name, trial.name(), &checked)))
                })
                .collect();
            let wrong: Vec<_> = all.iter().filter_map(|(_, wrong)| wrong.as_deref()).collect();
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
            let compared: usize = all.iter().map(|(sum, _)| sum.compared).sum();
            let unknown: usize = all.iter().map(|(sum, _)| sum.unknown).sum();
            let of = format!("{backward} {setting:?}");
            println!("{of}: {} scenes, {compared} compared, {unknown} not judged", all.len());
            assert!(compared > 0, "{of} was compared");
            let is_most = judged_of_each * unknown <= compared;
            assert!(is_most, "{of}: {compared} compared, {unknown} not judged");
        }
    }
}

/// The first setting of a stage with another reduction than this.
fn other_than(backward: Stage, setting: Option<Setting>) -> Option<Setting> {
    let reduction = setting?.reduction;
    let settings = backward.settings(&Setting::sweep(WARP));
    settings.into_iter().flatten().find(|one| one.reduction != reduction)
}

/// Every reduction at every threshold that it has, on a case of some generators: it returns the derivatives, in two
/// orders, and what another reduction returns, in lockstep.
#[test]
fn every_reduction_and_threshold_returns_the_derivatives() {
    for workload in WORKLOADS {
        let classes = classes_of(workload, 1);
        for backward in backwards(workload) {
            let drawn = classes.iter().skip(1).filter_map(|class| class.trials.first());
            let trials: Vec<&Trial> = drawn.filter(|trial| trial.job(backward).is_some()).collect();
            let settings = backward.settings(&Setting::sweep(WARP));
            let runs: Vec<(usize, Option<Setting>)> =
                settings.iter().copied().enumerate().collect();
            let found: Vec<(Option<Setting>, [usize; 2], Vec<String>)> = runs
                .par_iter()
                .map(|&(turn, setting)| {
                    // Two cases by turns, so that thresholds meet all of them.
                    let some: Vec<&Trial> =
                        trials.iter().copied().cycle().skip(2 * turn).take(2).collect();
                    let (compared, wrong) = of_setting(backward, (turn, setting), &some);
                    (setting, compared, wrong)
                })
                .collect();
            let accused: Vec<_> = found.iter().flat_map(|(.., wrong)| wrong).collect();
            assert!(accused.is_empty(), "{accused:#?}");
            for (setting, [derivatives, equal], _) in &found {
                let alone = other_than(backward, *setting).is_none();
                assert!(*derivatives > 0 && (*equal > 0 || alone), "{backward} {setting:?}");
            }
            let [derivatives, equal] =
                [0, 1].map(|at| found.iter().map(|(_, all, _)| all[at]).sum::<usize>());
            println!("{backward}: {} settings, {derivatives} + {equal} compared", settings.len());
        }
    }
}

/// How many elements were compared with derivatives, and with another reduction's, and what is wrong.
fn of_setting(
    backward: Stage,
    (turn, setting): (usize, Option<Setting>),
    trials: &[&Trial],
) -> ([usize; 2], Vec<String>) {
    let other = other_than(backward, setting);
    let (mut compared, mut wrong) = ([0; 2], Vec::new());
    for (order, schedule) in
        [Schedule::lockstep(), Schedule::adversarial(turn as u64)].into_iter().enumerate()
    {
        let mut engine = engine(schedule);
        for trial in trials {
            let derivatives = checked(&mut engine, trial, backward, setting);
            let beside = other.filter(|_| order == 0);
            let equal =
                beside.and_then(|other| same(&mut engine, trial, backward, [Some(other), setting]));
            for (at, checked) in [derivatives, equal].into_iter().enumerate() {
                let Some(checked) = checked else { continue };
                let mut sum = Sum::default();
                sum.add(&checked);
                compared[at] += sum.compared;
                let what = format!("{backward} {setting:?}, question {at}");
                wrong.extend(accused(&what, trial.name(), &checked));
            }
        }
    }
    (compared, wrong)
}

/// Why a mutant has the values of the right kernel in real arithmetic.
fn leaves_values(mutant: &Mutant) -> Option<&'static str> {
    let name = mutant.mutation.name.as_str();
    let counts = |hazard: &Hazard| {
        matches!(
            hazard,
            Hazard::ThresholdEdge | Hazard::ActiveMaskAsSet | Hazard::CountApartFromGroup
        )
    };
    match name {
        // What it leaves is a number only where f32 overflows.
        "scaled-sums" | "value-times-mask" => Some("differs where f32 overflows"),
        "threshold-counts-16-lanes" => Some("another threshold"),
        _ if mutant.mutation.hazards.iter().all(counts) => Some("other groups, the same sums"),
        _ => None,
    }
}

/// The cases that a mutant is tried on: those of its kernel, first those that aim at it.
fn aimed<'c>(
    classes: &'c [Class],
    mutant: &Mutant,
    (kernel, stage): (&Artifact, Stage),
) -> Vec<&'c Trial> {
    let mut all = Vec::new();
    for class in classes {
        let most = if class.name == "corpus" { 100 } else { 6 };
        let aimed = class.aimed(&mutant.mutation.hazards).into_iter();
        all.extend(aimed.filter(|trial| takes(kernel, stage, trial)).take(most));
    }
    all
}

/// A gradient that lacks what one line of the forward kernel contributes is told by that line, where no hypothesis
/// says what it is.
#[test]
fn a_gradient_that_lacks_a_line_is_told_by_it() {
    let backward = backwards("splat").into_iter().find(|stage| stage.name == "project_backward");
    let backward = backward.expect("it has a forward stage");
    let forward = forward_of(backward).expect("it is `project`");
    let classes = classes_of("splat", 1);
    let mut told = BTreeMap::new();
    for job in classes[0].trials.iter().filter_map(|trial| trial.job(backward)).take(12) {
        let setting = backward.settings(&Setting::sweep(WARP))[0];
        let work = Work { inputs: &job.inputs, settings: &[setting] };
        let mut ran = engine(Schedule::lockstep()).run(backward, &[work]).expect("it runs");
        let right = ran.remove(0).remove(0);
        let given = differentiable(&job.inputs);
        let mut own = Tensors::new();
        for port in forward.inputs {
            own.insert(port.name, given.get(port.name).expect("both read it").clone());
        }
        let conventions = &Conventions::default();
        let pair =
            Pair { forward: (forward, &own), backward: (backward, &given), setting, conventions };
        let mut engine = engine(Schedule::lockstep());
        let Ok((memory, sweep)) = engine.sweep(pair) else { continue };
        let gradient = sweep.gradients.iter().find(|one| one.name == "v_means").expect("it");
        let values = right.f32("v_means").expect("it is there");
        let uses: Vec<_> =
            (0..values.len()).map(|at| sweep.parts(memory, gradient, at).0).collect();
        let Some(first) = uses.first().and_then(|uses| uses.last()) else { continue };
        let line = first.place.source.clone().expect("our kernels have lines");
        #[expect(clippy::cast_possible_truncation, reason = "an output in f32")]
        let lacks = |(value, uses): (&f32, &Vec<Contribution>)| {
            let own =
                |one: &&Contribution| (&one.place, one.operand) == (&first.place, first.operand);
            (f64::from(*value) - uses.iter().filter(own).map(|one| one.value).sum::<f64>()) as f32
        };
        let wrong: Vec<f32> = values.iter().zip(&uses).map(lacks).collect();
        let mut outputs = right.clone();
        let shape = right.get("v_means").expect("it is there").shape().to_vec();
        let wrong = Tensor::new("v_means", shape, Data::F32(wrong)).expect("the same shape");
        outputs.insert("v_means", wrong);
        let run = FailedRun { arithmetic: Arithmetic::Cuda, setting, lane_width: WARP };
        let diagnosis = job.diagnose(run, &outputs).expect("all outputs are there");
        let headline = diagnosis.map(|diagnosis| diagnosis.headline).unwrap_or_default();
        *told
            .entry(headline.starts_with("looks like: v_means") && headline.contains(&line))
            .or_insert(0) += 1;
        println!("{line}: {headline}");
    }
    assert!(told.get(&true).is_some_and(|count| *count >= 3), "{told:?}");
}

/// A race whose values are right in both orders that are tried here, and in fifteen more on some cases: that it lives
/// takes two minutes to see. `splatcheck mutants` finds it by the race.
const RACE: &str = "missing-barrier-between-batches-block";

/// How a mutant's kernel died: by its forward kernel, and beside a kernel with another reduction, where there is one.
struct Died {
    name: String,
    by_derivatives: bool,
    by_comparison: Option<bool>,
}

/// Every mutant of a backward kernel that changes values dies by its forward kernel alone, and beside a right kernel
/// with another reduction alone.
#[test]
fn every_mutant_that_changes_values_dies_without_the_oracle() {
    let (mutants, unread) =
        read_mutants(&tree("tests/mutants"), &|_, _| true).expect("they are there");
    assert_eq!(unread.gap("mutants"), None, "all can be read");
    let classes: BTreeMap<_, _> =
        WORKLOADS.into_iter().map(|workload| (workload, classes_of(workload, 6))).collect();
    let own: Vec<&Mutant> = mutants
        .iter()
        .filter(|mutant| mutant.language == Language::Cuda && leaves_values(mutant).is_none())
        .filter(|mutant| classes.contains_key(mutant.workload.as_str()))
        .filter(|mutant| mutant.mutation.name != RACE)
        .collect();
    let died: Vec<Died> = own
        .par_iter()
        .flat_map_iter(|mutant| {
            let classes = &classes[mutant.workload.as_str()];
            let kernels = mutant.mutation.kernels.iter().zip(&mutant.ptx);
            kernels.filter_map(move |(kernel, ptx)| {
                let (stage, settings) = stage_of(kernel, WARP).ok()?;
                forward_of(stage)?;
                Some(died_of(mutant, (kernel, ptx), (stage, settings), classes))
            })
        })
        .collect();
    let alive = |lives: &dyn Fn(&Died) -> bool| {
        let alive = died.iter().filter(|died| lives(died)).map(|died| died.name.as_str());
        alive.collect::<Vec<_>>()
    };
    let beside = died.iter().filter(|died| died.by_comparison.is_some()).count();
    println!("{} kernels with a mistake, {beside} of them beside another reduction", died.len());
    assert!(died.len() >= 100, "only {} kernels were tried", died.len());
    assert!(beside >= 90, "only {beside} kernels were compared");
    let none: [&str; 0] = [];
    assert_eq!(alive(&|died| !died.by_derivatives), none, "what lives by gradcheck");
    assert_eq!(alive(&|died| died.by_comparison == Some(false)), none, "what lives by compare");
}

/// What is asked of a kernel on a case.
type Asked<'a> = dyn Fn(&mut EmulatorEngine, &Trial, Option<Setting>) -> Option<Checked> + 'a;

/// How a kernel of a mutant dies.
fn died_of(
    mutant: &Mutant,
    (kernel, ptx): (&Artifact, &str),
    (stage, settings): (Stage, Vec<Option<Setting>>),
    classes: &[Class],
) -> Died {
    let mut engine = engine(Schedule::lockstep());
    let replaced = engine.replace(kernel.stage, kernel.reduction, ptx, &kernel.entry());
    replaced.expect("it parses");
    engine.set_budget(1 << 24);
    let trials = aimed(classes, mutant, (kernel, stage));
    let mut dies = |judge: &Asked<'_>| {
        [Schedule::lockstep(), Schedule::adversarial(1)].into_iter().any(|order| {
            engine.set_schedule(order);
            trials.iter().enumerate().any(|(turn, trial)| {
                let setting = settings[turn % settings.len()];
                judge(&mut engine, trial, setting).is_some_and(|checked| checked.is_wrong())
            })
        })
    };
    let by_derivatives = dies(&|engine, trial, setting| checked(engine, trial, stage, setting));
    let first = settings.first().copied().flatten();
    let by_comparison = other_than(stage, first).map(|other| {
        dies(&|engine, trial, setting| same(engine, trial, stage, [Some(other), setting]))
    });
    let name = format!("{} in {}", mutant.mutation.name, kernel.entry());
    Died { name, by_derivatives, by_comparison }
}
