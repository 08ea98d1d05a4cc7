//! The workload `grid` on its whole way: cases of every kind, judged on the emulator in this process and on
//! every driver of this machine; planted defects are found and made small.

use super::workload::{
    ATOMIC, Defect, Planted, agreed, change_floats, judge, judge_emulated, on_every_engine, spread,
};
use splatcheck_gpu::stages::grid::{
    GRID_BACKWARD, GRID_BACKWARD_INPUT, GRID_FORWARD, LEVELS, OF_POINTS,
};
use splatcheck_gpu::{Reduction, Setting, Stage, Tensors};
use splatcheck_judge::campaign::{EngineReport, Fault};
use splatcheck_judge::report::verdicts;
use splatcheck_judge::traffic::Counts;
use splatcheck_judge::verdict::Verdict;
use splatcheck_judge::workload::rows::Row;
use splatcheck_judge::workload::{Case as _, Frequency, Promise};
use splatcheck_workloads::grid::case::{Case, Points};
use splatcheck_workloads::grid::generators::{ALL, find};
use splatcheck_workloads::grid::growth::generator::TABLES;

/// So many of every generator's kinds of cases, evenly spread, of those of which everything is promised and that
/// are cheap.
fn cases(most: u64) -> Vec<Case> {
    let promised = |row: &&'static Row<Points>| {
        row.generator.promise == Promise::Every && row.generator.turns != Frequency::Seldom
    };
    ALL.iter().filter(promised).flat_map(|row| spread(row, most)).collect()
}

/// Every run agreed, and there were as many as cases and settings, but those that compare nothing since there
/// is no point, and those that a limit of the driver stopped.
fn assert_all_agree(report: &EngineReport, settings: &[Setting], cases: &[Case]) {
    let text = agreed(report);
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
    let report = judge_emulated(&settings, false, all.clone());
    assert_all_agree(&report, &settings, &all);
}

#[test]
fn the_emulator_agrees_under_every_threshold() {
    let some = cases(6);
    let settings = settings(Setting::all(32));
    let swept = 5 * 34;
    assert_eq!(settings.len(), swept + 2, "0 to 33; atomic and per-key have no threshold");
    let report = judge_emulated(&settings, false, some.clone());
    assert_all_agree(&report, &settings, &some);
}

#[test]
fn fast_math_agrees_as_well() {
    let some = cases(9);
    let settings = settings(Setting::sweep(32));
    let report = judge_emulated(&settings, true, some.clone());
    assert_all_agree(&report, &settings, &some);
}

#[test]
fn every_engine_of_this_machine_agrees() {
    on_every_engine(|found, engine| {
        // Fewer on the emulator with WGSL's kernels: it has five widths, and takes several times as long.
        let all = cases(if found.emulates_wgsl() { 2 } else { 6 });
        let settings = settings(Setting::sweep(found.info.lane_width));
        let report = judge(&settings, found.spec.id(), engine, all.clone());
        assert_all_agree(&report, &settings, &all);
        report
    });
}

/// Level tables of every kind, on the emulator with both arithmetics and on the drivers.
#[test]
fn every_engine_agrees_on_level_tables() {
    let row = &TABLES[0];
    let all = || (0..row.kinds).map(|turn| row.draw(turn, 11, turn)).collect::<Vec<_>>();
    let agree = |report: &EngineReport| {
        let text = agreed(report);
        let row = &report.rows[&(LEVELS, None)];
        assert_eq!(row.count(Verdict::Agree), TABLES[0].kinds, "a run is missing: {text}");
        assert!(row.tally.undecided > 0, "no ceil was undecided: {text}");
    };
    for fast_math in [false, true] {
        agree(&judge_emulated(&[], fast_math, all()));
    }
    on_every_engine(|found, engine| {
        let report = judge(&[], found.spec.id(), engine, all());
        agree(&report);
        report
    });
}

/// A point without a cell may have any result, but no kernel leaves its arrays: the emulator would say so.
#[test]
fn positions_without_a_cell_lead_nowhere() {
    let row = find("lost").expect("there is one");
    let all: Vec<_> = (0..row.kinds).map(|index| row.draw(index, 11, index)).collect();
    let settings = settings(Setting::sweep(32));
    let report = judge_emulated(&settings, false, all);
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
enum Wrong {
    /// It takes the scale for 1 in one stage.
    IgnoresScale(Stage),
    /// Points of this number in their warp add nothing.
    LosesLane(usize),
}

impl Defect for Wrong {
    fn change_inputs(&self, stage: Stage, inputs: &mut Tensors) {
        match *self {
            Self::IgnoresScale(of) if of == stage => {
                change_floats(inputs, "scales", |all| all.fill(1.0));
            }
            Self::LosesLane(lost) if stage == GRID_BACKWARD => {
                let shape = inputs.get("v_features").expect("it is there").shape();
                let width: usize = shape[1..].iter().product();
                change_floats(inputs, "v_features", |all| {
                    all.chunks_mut(width).skip(lost).step_by(32).for_each(|row| row.fill(0.0));
                });
            }
            Self::IgnoresScale(_) | Self::LosesLane(_) => {}
        }
    }
}

/// The one case that a finding was reduced to.
fn found(wrong: Wrong) -> (Case, String) {
    let drawn = find("fields").expect("there is one").draw(1, 11, 1);
    let points = &drawn.numbers;
    assert!(points.points() > 8 && points.grid.levels().len() > 1, "a case to make smaller");
    let report = judge(&[ATOMIC], "planted", Planted::boxed(wrong), vec![drawn]);
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
        let (Case { numbers: case, .. }, key) = found(Wrong::IgnoresScale(stage));
        assert!(key.contains(stage.name) && key.contains(output), "{key}");
        let size = (case.points(), case.grid.levels().len(), case.grid.features());
        assert_eq!(size, (1, 1, 1), "{stage}: one point on one level with one feature");
    }
    let (Case { numbers: case, .. }, _) = found(Wrong::LosesLane(3));
    assert_eq!((case.points(), case.grid.levels().len()), (4, 1), "the lost one is number 3");
}
