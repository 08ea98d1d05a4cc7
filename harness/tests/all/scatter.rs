//! The workload `scatter` on its whole way: cases of every kind, judged on the emulator in this
//! process and on every driver of this machine; planted defects are found and made small.

use super::workload::{
    ATOMIC, Defect, Planted, agreed, change_floats, judge, judge_emulated, on_every_engine, spread,
};
use splatcheck_gpu::stages::scatter::SCATTER;
use splatcheck_gpu::{Data, Reduction, Setting, Stage, Tensor, Tensors};
use splatcheck_judge::campaign::{EngineReport, Fault, Unsupported};
use splatcheck_judge::verdict::Verdict;
use splatcheck_reference::scatter::NO_KEY;
use splatcheck_workloads::scatter::case::Case;
use splatcheck_workloads::scatter::generators::{ALL, find};
use std::collections::BTreeMap;

/// So many of every generator's kinds of cases.
fn cases(most: u64) -> Vec<Case> {
    ALL.iter().flat_map(|row| spread(row, most)).collect()
}

/// What comes of a case by atomics alone on an engine with a defect.
fn judge_planted(wrong: Wrong, case: Case) -> EngineReport {
    judge(&[ATOMIC], "planted", Planted::boxed(wrong), vec![case])
}

/// Every run agreed but those that a limit stopped, of the driver or of a workgroup's memory, and each
/// reduction had as many as cases for each of its settings.
fn assert_all_agree(report: &EngineReport, settings: &[Setting], cases: &[Case]) {
    let text = agreed(report);
    let large = cases.iter().filter(|case| case.numbers.rows() > ROWS_OF_WORKGROUP).count();
    for reduction in SCATTER.reductions() {
        let row = &report.rows[&(SCATTER, Some(reduction))];
        let settings = settings.iter().filter(|setting| setting.reduction == reduction).count();
        let all = (settings * cases.len()) as u64;
        // Rows of zeros to which nothing is added say nothing.
        let judged = row.count(Verdict::Agree) + row.count(Verdict::NotExercised);
        let runs = |of: &BTreeMap<(Stage, Option<Reduction>), Unsupported>| {
            of.get(&(SCATTER, Some(reduction))).map_or(0, |it| it.runs)
        };
        let [beyond, limited] = [&report.beyond, &report.limited].map(runs);
        assert_eq!(judged + beyond, all, "{} {reduction}: a run is missing: {text}", report.id);
        let expected = if reduction == Reduction::Block { settings * large } else { 0 } as u64;
        assert_eq!(beyond, expected, "{} {reduction}: out of the plan: {text}", report.id);
        let of_lavapipe = report.id.starts_with("lavapipe");
        assert!(
            limited == 0 || of_lavapipe && 10 * limited < all,
            "{} {reduction}: {text}",
            report.id
        );
        assert!(row.tally.elements() > 0, "{} {reduction}: nothing was compared", report.id);
    }
}

/// Rows of which `block` keeps sums.
const ROWS_OF_WORKGROUP: usize = 1024;

/// The settings of the stage's own reductions.
fn settings(all: Vec<Setting>) -> Vec<Setting> {
    SCATTER.settings(&all).into_iter().flatten().collect()
}

#[test]
fn the_emulator_agrees_on_every_kind_of_case() {
    let all = cases(u64::MAX);
    assert_eq!(all.len(), 108 + 23 + 110 + 8, "all kinds of all generators");
    let settings = settings(Setting::sweep(32));
    let report = judge_emulated(&settings, false, all.clone());
    assert_all_agree(&report, &settings, &all);
}

#[test]
fn the_emulator_agrees_under_every_threshold() {
    let some = cases(20);
    let settings = settings(Setting::all(32));
    assert_eq!(settings.len(), 5 * 34 + 2, "0 to 33, where a reduction has a threshold");
    let report = judge_emulated(&settings, false, some.clone());
    assert_all_agree(&report, &settings, &some);
}

#[test]
fn fast_math_agrees_as_well() {
    let some = cases(12);
    let settings = settings(Setting::sweep(32));
    let report = judge_emulated(&settings, true, some.clone());
    assert_all_agree(&report, &settings, &some);
}

#[test]
fn every_engine_of_this_machine_agrees() {
    on_every_engine(|found, engine| {
        // Fewer on the emulator with WGSL's kernels: it has five widths, and takes several times as long.
        let all = cases(if found.emulates_wgsl() { 3 } else { 10 });
        let settings = settings(Setting::sweep(found.info.lane_width));
        let report = judge(&settings, found.spec.id(), engine, all.clone());
        assert_all_agree(&report, &settings, &all);
        report
    });
}

/// What is wrong with an engine.
#[derive(Clone, Copy)]
enum Wrong {
    /// The element of the lane with this number in its warp is not added.
    LosesLane(usize),
    /// Sums start from zero.
    IgnoresInitial,
    /// One row is missing.
    Short,
    /// The sums are integers.
    Integers,
    /// They have another name.
    Renamed,
}

impl Defect for Wrong {
    fn change_inputs(&self, _: Stage, inputs: &mut Tensors) {
        match *self {
            Self::LosesLane(lost) => {
                let mut keys = inputs.u32("keys").expect("they are there").to_vec();
                keys.iter_mut().skip(lost).step_by(32).for_each(|key| *key = NO_KEY);
                let tensor = Tensor::new("keys", vec![keys.len()], Data::U32(keys));
                inputs.insert("keys", tensor.expect("as many"));
            }
            Self::IgnoresInitial => change_floats(inputs, "initial", |all| all.fill(0.0)),
            Self::Short | Self::Integers | Self::Renamed => {}
        }
    }

    fn outputs(&self, outputs: Tensors) -> Tensors {
        let sums = outputs.get("sums").expect("the kernel gave them").clone();
        let [rows, width] = *sums.shape() else { panic!("they are [E,V]") };
        let tensor = |shape, data| Tensor::new("sums", shape, data).expect("as many");
        let mut changed = Tensors::new();
        match self {
            Self::LosesLane(_) | Self::IgnoresInitial => return outputs,
            Self::Short => {
                let words = &sums.words()[..(rows - 1) * width];
                let data = Data::from_words(sums.dtype(), words);
                changed.insert("sums", tensor(vec![rows - 1, width], data));
            }
            Self::Integers => {
                let data = Data::U32(sums.words().to_vec());
                changed.insert("sums", tensor(vec![rows, width], data));
            }
            Self::Renamed => changed.insert("sum", sums),
        }
        changed
    }
}

/// The one case that a finding was reduced to.
fn small(report: &EngineReport) -> &Case {
    let found: Vec<_> = report.findings.iter().map(|f| &f.fault).collect();
    assert_eq!(report.findings.len(), 1, "every kind of finding once: {found:#?}");
    let case = &report.findings[0].case;
    case.as_any().downcast_ref().expect("it is a case of this workload")
}

#[test]
fn a_lost_lane_is_found_and_made_small() {
    let drawn = find("sizes").expect("there is one").draw(18, 11, 15);
    assert_eq!((drawn.numbers.len(), drawn.numbers.width), (257, 2), "a large case");
    let report = judge_planted(Wrong::LosesLane(0), drawn);
    assert_eq!(report.verdict(), Verdict::Disagree, "a lane's values are missing");
    let case = small(&report);
    let numbers = &case.numbers;
    assert_eq!((numbers.len(), numbers.width), (1, 1), "one element in lane 0: {numbers:?}");
    assert_eq!(numbers.initial.last(), Some(&0.0), "from zero: {numbers:?}");
    let finding = &report.findings[0];
    assert!(finding.key.starts_with("scatter atomic sums wrong"), "{}", finding.key);
    let Fault::Difference(difference) = &finding.fault else { panic!("{:?}", finding.fault) };
    let [row, value] = difference.element[..] else { panic!("an element of [E,V]") };
    assert_eq!((&*difference.output, value), ("sums", 0), "{difference}");
    assert_eq!(row, numbers.keys[0] as usize, "the row of the lost element: {difference}");
    assert_eq!(difference.value.to_bits(), 0.0_f64.to_bits(), "nothing was added: {difference}");
    let stem = finding.file_stem();
    assert_eq!(stem, "planted-scatter-atomic-t0-sums-sizes-11-15", "the reproducer's name");
    // The reproducer is the case.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(format!("{stem}.safetensors"));
    finding.case.write(&path, &BTreeMap::new()).expect("the folder is writable");
    let (read, _) = Case::read(&path).expect("it was just written");
    assert_eq!((&read.numbers, &read.name), (numbers, &case.name), "it is read back");
    let again = judge_planted(Wrong::LosesLane(0), read.clone());
    assert_eq!(again.verdict(), Verdict::Disagree, "it fails again");
    agreed(&judge_emulated(&[ATOMIC], false, vec![read]));
}

#[test]
fn a_start_that_is_ignored_is_found_and_made_small() {
    let drawn = find("sizes").expect("there is one").draw(23, 11, 22);
    let report = judge_planted(Wrong::IgnoresInitial, drawn);
    assert_eq!(report.verdict(), Verdict::Disagree, "rows start from zero");
    let numbers = &small(&report).numbers;
    assert_eq!((numbers.len(), numbers.width, numbers.rows()), (0, 1, 1), "a row alone");
    assert!(numbers.initial[0] != 0.0, "which does not start from zero: {numbers:?}");
}

#[test]
fn an_answer_that_does_not_fit_is_a_failure() {
    for (wrong, what) in [
        (Wrong::Short, "sums has the shape [0, 1], expected [1, 1]"),
        (Wrong::Integers, "sums is u32, expected f32"),
        (Wrong::Renamed, "sums is missing"),
    ] {
        let drawn = find("sizes").expect("there is one").draw(18, 11, 17);
        let report = judge_planted(wrong, drawn);
        assert_eq!(report.verdict(), Verdict::Disagree, "{what}");
        let Fault::Engine(error) = &report.findings[0].fault else { panic!("{what}: no fault") };
        assert!(error.to_string().contains(what), "{error}");
        let row = &report.rows[&(SCATTER, Some(Reduction::Atomic))];
        assert_eq!(row.tally.elements(), 0, "{what}: nothing of it is compared");
        let left = small(&report).numbers.len();
        assert_eq!(left, 0, "{what}: the case is made small");
    }
}
