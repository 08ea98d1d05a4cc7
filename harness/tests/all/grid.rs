//! The workload `grid` on its whole way: cases of every kind, judged on the emulator in this process and on
//! every driver of this machine; planted defects are found and made small.

use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::stages::grid::{
    GRID_BACKWARD, GRID_BACKWARD_INPUT, GRID_FORWARD, LEVELS, OF_POINTS,
};
use splatcheck_gpu::{
    Data, DeviceInfo, Engine, EngineError, Reduction, Setting, Stage, Tensor, Tensors, Work,
};
use splatcheck_judge::campaign::{Contender, EngineReport, Fault, Hooks, run, smaller};
use splatcheck_judge::engines::{EngineProcess, Limits, Program, discover};
use splatcheck_judge::report::verdicts;
use splatcheck_judge::traffic::Counts;
use splatcheck_judge::verdict::Verdict;
use splatcheck_judge::workload::rows::Row;
use splatcheck_judge::workload::{AnyCase, Case as _, Frequency, Promise};
use splatcheck_workloads::grid::case::{Case, Points};
use splatcheck_workloads::grid::generators::{ALL, find};
use splatcheck_workloads::grid::growth::generator::TABLES;
use std::sync::Arc;

const SPLATCHECK: &str = env!("CARGO_BIN_EXE_splatcheck");

/// So many of every generator's kinds of cases, evenly spread, of those of which everything is promised and that
/// are cheap.
fn cases(most: u64) -> Vec<Case> {
    let promised = |row: &&'static Row<Points>| {
        row.generator.promise == Promise::Every && row.generator.turns != Frequency::Seldom
    };
    let of = |row: &'static Row<Points>| {
        let step = row.kinds.div_ceil(most).max(1);
        // No step that the kinds share a factor with leaves a part of them out.
        let step = if row.kinds.is_multiple_of(step) && step > 1 { step + 1 } else { step };
        (0..row.kinds)
            .step_by(usize::try_from(step).unwrap_or(1))
            .map(move |index| row.draw(index, 11, index))
    };
    ALL.iter().filter(promised).flat_map(of).collect()
}

fn judge(
    settings: &[Setting],
    id: &str,
    engine: Box<dyn Engine + Send + '_>,
    cases: Vec<impl splatcheck_judge::workload::Case + 'static>,
) -> EngineReport {
    let contender = Contender {
        id: id.to_owned(),
        emulation: None,
        engine,
        stages: Stage::all().collect(),
        settings: settings.to_vec(),
    };
    let views = cases.into_iter().map(|case| (Arc::new(case) as AnyCase, 0));
    let mut reports =
        run(views, vec![contender], Hooks::new(&smaller)).expect("the cases are legal");
    reports.pop().expect("one engine, one report")
}

fn emulator(options: EmulatorOptions) -> Box<EmulatorEngine> {
    Box::new(EmulatorEngine::open(options).expect("it is always there"))
}

/// Every run agreed, and there were as many as cases and settings, but those that compare nothing since there
/// is no point, and those that a limit of the driver stopped.
fn assert_all_agree(report: &EngineReport, settings: &[Setting], cases: &[Case]) {
    let text = verdicts(std::slice::from_ref(report));
    let findings: Vec<_> =
        report.findings.iter().map(|f| (f.case.name().to_owned(), &f.fault)).collect();
    assert_eq!(report.verdict(), Verdict::Agree, "{text}{findings:#?}");
    let empty = cases.iter().filter(|case| case.numbers.points() == 0).count() as u64;
    let of_lavapipe = report.id.starts_with("lavapipe");
    for stage in OF_POINTS {
        for setting in
            stage.settings(&Reduction::ALL.map(|r| Setting { reduction: r, threshold: 0 }))
        {
            let reduction = setting.map(|setting| setting.reduction);
            let row = &report.rows[&(stage, reduction)];
            let runs = reduction.map_or(1, |reduction| {
                settings.iter().filter(|setting| setting.reduction == reduction).count() as u64
            });
            let all = runs * cases.len() as u64;
            let left_out = row.count(Verdict::NotExercised);
            assert_eq!(
                row.count(Verdict::Agree) + left_out,
                all,
                "{stage}: a run is missing: {text}"
            );
            let few = if of_lavapipe { all / 10 } else { 0 };
            let limited = report.limited.get(&(stage, reduction)).map_or(0, |limited| limited.runs);
            assert!(limited <= few, "{stage}: {text}");
            // Exact zeros alone say nothing either: points that all lie outside.
            let nothing = if stage == GRID_BACKWARD { 0 } else { empty };
            assert!(left_out >= nothing, "{stage}: {text}");
            assert!(row.tally.elements() > 0, "{stage}: nothing was compared");
        }
    }
}

/// The settings of the reductions that the stage has.
fn settings(all: Vec<Setting>) -> Vec<Setting> {
    GRID_BACKWARD.settings(&all).into_iter().flatten().collect()
}

#[test]
fn the_emulator_agrees_on_cases_of_every_kind() {
    let all = cases(60);
    let settings = settings(Setting::sweep(32));
    let report = judge(&settings, "emulator", emulator(EmulatorOptions::default()), all.clone());
    assert_all_agree(&report, &settings, &all);
}

#[test]
fn the_emulator_agrees_under_every_threshold() {
    let some = cases(6);
    let settings = settings(Setting::all(32));
    let swept = 5 * 34;
    assert_eq!(settings.len(), swept + 2, "0 to 33; atomic and per-key have no threshold");
    let report = judge(&settings, "emulator", emulator(EmulatorOptions::default()), some.clone());
    assert_all_agree(&report, &settings, &some);
}

#[test]
fn fast_math_agrees_as_well() {
    let options = EmulatorOptions { fast_math: true, ..EmulatorOptions::default() };
    let some = cases(9);
    let settings = settings(Setting::sweep(32));
    let report = judge(&settings, "emulator-fast", emulator(options), some.clone());
    assert_all_agree(&report, &settings, &some);
}

#[test]
fn every_engine_of_this_machine_agrees() {
    let program = || Program::splatcheck(SPLATCHECK);
    let discovery = discover(&program());
    for missing in &discovery.missing {
        eprintln!("NOT EXERCISED: {}: {}", missing.candidate, missing.reason);
    }
    for found in discovery.found {
        // Fewer on the emulator with WGSL's kernels: it has five widths, and takes several times as long.
        let all = cases(if found.emulates_wgsl() { 3 } else { 12 });
        let settings = settings(Setting::sweep(found.info.lane_width));
        let engine = EngineProcess::start(found.spec.clone(), program(), Limits::default());
        let engine = Box::new(engine.expect("it was found"));
        let report = judge(&settings, found.spec.id(), engine, all.clone());
        println!("{}", verdicts(std::slice::from_ref(&report)));
        assert_all_agree(&report, &settings, &all);
    }
}

/// Level tables of every kind, on the emulator with both arithmetics and on the drivers.
#[test]
fn every_engine_agrees_on_level_tables() {
    let row = &TABLES[0];
    let all = || (0..row.kinds).map(|turn| row.draw(turn, 11, turn)).collect::<Vec<_>>();
    let agree = |report: &EngineReport| {
        let text = verdicts(std::slice::from_ref(report));
        assert_eq!(report.verdict(), Verdict::Agree, "{text}{:#?}", report.findings);
        let row = &report.rows[&(LEVELS, None)];
        assert_eq!(row.count(Verdict::Agree), TABLES[0].kinds, "a run is missing: {text}");
        assert!(row.tally.undecided > 0, "no ceil was undecided: {text}");
    };
    for fast_math in [false, true] {
        let options = EmulatorOptions { fast_math, ..EmulatorOptions::default() };
        agree(&judge(&[], "emulator", emulator(options), all()));
    }
    let program = || Program::splatcheck(SPLATCHECK);
    for found in discover(&program()).found {
        let engine = EngineProcess::start(found.spec.clone(), program(), Limits::default());
        let engine = Box::new(engine.expect("it was found"));
        let report = judge(&[], found.spec.id(), engine, all());
        println!("{}", verdicts(std::slice::from_ref(&report)));
        agree(&report);
    }
}

/// A point without a cell may have any result, but no kernel leaves its arrays: the emulator would say so.
#[test]
fn positions_without_a_cell_lead_nowhere() {
    let row = find("lost").expect("there is one");
    let all: Vec<_> = (0..row.kinds).map(|index| row.draw(index, 11, index)).collect();
    let settings = settings(Setting::sweep(32));
    let report = judge(&settings, "emulator", emulator(EmulatorOptions::default()), all);
    assert!(report.findings.is_empty(), "{}", verdicts(&[report]));
    assert_eq!(report.verdict(), Verdict::Inconclusive, "nothing is promised of some numbers");
}

/// What is sent is known without a kernel: a lane's corners are steps of their own.
#[test]
fn all_points_in_one_cell_send_one_value_a_warp_and_corner() {
    let case = find("sharing").expect("there is one").draw(0, 11, 0);
    let jobs = case.jobs_of(0, &|stage| stage == GRID_BACKWARD).expect("it has one");
    let scatter = jobs[0].scatter(32).expect("it adds to memory").expect("32 lanes");
    let counts = Counts::new(scatter.as_ref());
    let (points, levels) = (case.numbers.points() as u64, 2);
    let corners = 1 << case.numbers.grid.dimensions();
    assert_eq!(counts.contributing(), points * levels * corners, "each adds to each corner");
    let warps = points.div_ceil(32);
    let sent = |reduction| {
        let traffic = counts.traffic(Setting { reduction, threshold: 0 });
        traffic.expect("there are such kernels").global.operations()
    };
    let features = case.numbers.grid.features() as u64;
    assert_eq!(sent(Reduction::Atomic), points * levels * corners * features, "lane by lane");
    assert_eq!(sent(Reduction::SwB), warps * levels * corners * features, "one value a warp");
}

/// What is wrong with an engine.
#[derive(Clone, Copy)]
enum Defect {
    /// It takes the scale for 1 in one stage.
    IgnoresScale(Stage),
    /// Points of this number in their warp add nothing.
    LosesLane(usize),
}

/// The emulator with a defect.
struct Planted {
    engine: Box<EmulatorEngine>,
    defect: Defect,
}

impl Planted {
    fn boxed(defect: Defect) -> Box<Self> {
        Box::new(Self { engine: emulator(EmulatorOptions::default()), defect })
    }

    /// What the kernel gets.
    fn inputs(&self, stage: Stage, inputs: &Tensors) -> Tensors {
        let mut changed = inputs.clone();
        let mut put = |name: &'static str, edit: &dyn Fn(&mut Vec<f32>)| {
            let shape = inputs.get(name).expect("it is there").shape().to_vec();
            let mut numbers = inputs.f32(name).expect("they are floats").to_vec();
            edit(&mut numbers);
            changed.insert(name, Tensor::new(name, shape, Data::F32(numbers)).expect("as many"));
        };
        match self.defect {
            Defect::IgnoresScale(of) if of == stage => put("scales", &|all| all.fill(1.0)),
            Defect::LosesLane(lost) if stage == GRID_BACKWARD => {
                let width = inputs.get("v_features").expect("it is there").shape()[1..].iter();
                let width: usize = width.product();
                put("v_features", &|all| {
                    all.chunks_mut(width).skip(lost).step_by(32).for_each(|row| row.fill(0.0));
                });
            }
            Defect::IgnoresScale(_) | Defect::LosesLane(_) => {}
        }
        changed
    }
}

impl Engine for Planted {
    fn info(&self) -> &DeviceInfo {
        self.engine.info()
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let inputs: Vec<_> = work.iter().map(|job| self.inputs(stage, job.inputs)).collect();
        let jobs: Vec<_> = inputs
            .iter()
            .zip(work)
            .map(|(inputs, job)| Work { inputs, settings: job.settings })
            .collect();
        self.engine.run(stage, &jobs)
    }
}

/// The one case that a finding was reduced to.
fn found(defect: Defect) -> (Case, String) {
    let drawn = find("fields").expect("there is one").draw(1, 11, 1);
    let points = &drawn.numbers;
    assert!(points.points() > 8 && points.grid.levels().len() > 1, "a case to make smaller");
    let settings = [Setting { reduction: Reduction::Atomic, threshold: 0 }];
    let report = judge(&settings, "planted", Planted::boxed(defect), vec![drawn]);
    assert_eq!(report.verdict(), Verdict::Disagree, "it is wrong");
    assert_eq!(report.findings.len(), 1, "of one stage");
    let finding = &report.findings[0];
    assert!(matches!(finding.fault, Fault::Difference(_)), "{:?}", finding.fault);
    let case = finding.case.as_any().downcast_ref::<Case>().expect("of this workload");
    (case.clone(), finding.key.clone())
}

#[test]
fn defects_are_found_in_their_stage_and_made_small() {
    for (stage, output) in [
        (GRID_FORWARD, "features"),
        (GRID_BACKWARD, "v_table"),
        (GRID_BACKWARD_INPUT, "v_positions"),
    ] {
        let (Case { numbers: case, .. }, key) = found(Defect::IgnoresScale(stage));
        assert!(key.contains(stage.name) && key.contains(output), "{key}");
        let size = (case.points(), case.grid.levels().len(), case.grid.features());
        assert_eq!(size, (1, 1, 1), "{stage}: one point on one level with one feature");
    }
    let (Case { numbers: case, .. }, _) = found(Defect::LosesLane(3));
    assert_eq!((case.points(), case.grid.levels().len()), (4, 1), "the lost one is number 3");
}
