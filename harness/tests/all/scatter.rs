//! The workload `scatter` on its whole way: cases of every kind, judged on the emulator in this
//! process and on every driver of this machine; planted defects are found and made small.

use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::stages::scatter::SCATTER;
use splatcheck_gpu::{
    Data, DeviceInfo, Engine, EngineError, Reduction, Setting, Stage, Tensor, Tensors, Work,
};
use splatcheck_judge::campaign::{
    Contender, EngineReport, Fault, Hooks, Unsupported, run, smaller,
};
use splatcheck_judge::engines::{EngineProcess, Found, Limits, Program, discover};
use splatcheck_judge::report::verdicts;
use splatcheck_judge::verdict::Verdict;
use splatcheck_judge::workload::AnyCase;
use splatcheck_judge::workload::rows::Row;
use splatcheck_reference::scatter::NO_KEY;
use splatcheck_workloads::scatter::case::{Case, Numbers};
use splatcheck_workloads::scatter::generators::{ALL, find};
use std::collections::BTreeMap;
use std::sync::Arc;

const SPLATCHECK: &str = env!("CARGO_BIN_EXE_splatcheck");

/// So many of every generator's kinds of cases, evenly spread; all where there are no more.
fn cases(most: u64) -> Vec<Case> {
    let of = |row: &'static Row<Numbers>| {
        let step = row.kinds.div_ceil(most).max(1);
        // No step that the kinds share a factor with leaves a part of them out.
        let step = if row.kinds.is_multiple_of(step) && step > 1 { step + 1 } else { step };
        (0..row.kinds)
            .step_by(usize::try_from(step).unwrap_or(1))
            .map(move |index| row.draw(index, 11, index))
    };
    ALL.iter().flat_map(of).collect()
}

/// Judges cases on an engine under some settings.
fn judge_under(
    settings: &[Setting],
    id: &str,
    engine: Box<dyn Engine + Send + '_>,
    cases: Vec<Case>,
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

fn emulator() -> EmulatorEngine {
    EmulatorEngine::open(EmulatorOptions::default()).expect("it is always there")
}

/// The same by atomics alone.
fn judge(id: &str, engine: Box<dyn Engine + Send + '_>, cases: Vec<Case>) -> EngineReport {
    judge_under(&[Setting { reduction: Reduction::Atomic, threshold: 0 }], id, engine, cases)
}

/// Every run agreed but those that a limit stopped, of the driver or of a workgroup's memory, and each
/// reduction had as many as cases for each of its settings.
fn assert_all_agree(report: &EngineReport, settings: &[Setting], cases: &[Case]) {
    let text = verdicts(std::slice::from_ref(report));
    let findings: Vec<_> =
        report.findings.iter().map(|f| (f.case.name().to_owned(), &f.fault)).collect();
    assert_eq!(report.verdict(), Verdict::Agree, "{text}{findings:#?}");
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

/// Every run agreed but those that a limit of the driver stopped, and there were as many as cases.
fn assert_agrees(report: &EngineReport, runs: usize) {
    let text = verdicts(std::slice::from_ref(report));
    let findings: Vec<_> =
        report.findings.iter().map(|f| (f.case.name().to_owned(), &f.fault)).collect();
    assert_eq!(report.verdict(), Verdict::Agree, "{text}{findings:#?}");
    assert_eq!(report.rows.len(), 1, "one stage, one reduction: {text}");
    let row = &report.rows[&(SCATTER, Some(Reduction::Atomic))];
    let limited: u64 = report.limited.values().map(|limited| limited.runs).sum();
    let of_lavapipe = report.id.starts_with("lavapipe");
    assert!(limited == 0 || of_lavapipe && 10 * limited < runs as u64, "{}: {text}", report.id);
    let judged = row.count(Verdict::Agree) + row.count(Verdict::NotExercised);
    assert_eq!(judged, runs as u64, "{}: a run is missing", report.id);
    assert!(row.tally.elements() > 0, "{}: nothing was compared", report.id);
}

/// The settings of the stage's own reductions.
fn settings(all: Vec<Setting>) -> Vec<Setting> {
    SCATTER.settings(&all).into_iter().flatten().collect()
}

#[test]
fn the_emulator_agrees_on_every_kind_of_case() {
    let all = cases(u64::MAX);
    assert_eq!(all.len(), 108 + 23 + 110 + 8, "all kinds of all generators");
    let settings = settings(Setting::sweep(32));
    let report = judge_under(&settings, "emulator", Box::new(emulator()), all.clone());
    assert_all_agree(&report, &settings, &all);
}

#[test]
fn the_emulator_agrees_under_every_threshold() {
    let some = cases(20);
    let settings = settings(Setting::all(32));
    assert_eq!(settings.len(), 5 * 34 + 2, "0 to 33, where a reduction has a threshold");
    let report = judge_under(&settings, "emulator", Box::new(emulator()), some.clone());
    assert_all_agree(&report, &settings, &some);
}

#[test]
fn fast_math_agrees_as_well() {
    let options = EmulatorOptions { fast_math: true, ..EmulatorOptions::default() };
    let engine = EmulatorEngine::open(options).expect("it is always there");
    let some = cases(12);
    let settings = settings(Setting::sweep(32));
    let report = judge_under(&settings, "emulator-fast", Box::new(engine), some.clone());
    assert_all_agree(&report, &settings, &some);
}

fn process(found: &Found) -> EngineProcess {
    let program = Program::splatcheck(SPLATCHECK);
    EngineProcess::start(found.spec.clone(), program, Limits::default()).expect("it was found")
}

#[test]
fn every_engine_of_this_machine_agrees() {
    let discovery = discover(&Program::splatcheck(SPLATCHECK));
    for missing in &discovery.missing {
        eprintln!("NOT EXERCISED: {}: {}", missing.candidate, missing.reason);
    }
    for found in discovery.found {
        // Fewer on the emulator with WGSL's kernels: it has five widths, and takes several times as long.
        let all = cases(if found.emulates_wgsl() { 5 } else { 20 });
        let settings = settings(Setting::sweep(found.info.lane_width));
        let engine = Box::new(process(&found));
        let report = judge_under(&settings, found.spec.id(), engine, all.clone());
        println!("{}", verdicts(std::slice::from_ref(&report)));
        assert_all_agree(&report, &settings, &all);
    }
}

/// What is wrong with an engine.
#[derive(Clone, Copy)]
enum Defect {
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

/// The emulator with a defect.
struct Planted {
    engine: EmulatorEngine,
    defect: Defect,
}

impl Planted {
    fn boxed(defect: Defect) -> Box<Self> {
        Box::new(Self { engine: emulator(), defect })
    }

    /// What the kernel gets.
    fn inputs(&self, inputs: &Tensors) -> Tensors {
        let mut changed = inputs.clone();
        match self.defect {
            Defect::LosesLane(lost) => {
                let mut keys = inputs.u32("keys").expect("they are there").to_vec();
                keys.iter_mut().skip(lost).step_by(32).for_each(|key| *key = NO_KEY);
                let count = keys.len();
                let tensor = Tensor::new("keys", vec![count], Data::U32(keys));
                changed.insert("keys", tensor.expect("as many"));
            }
            Defect::IgnoresInitial => {
                let shape = inputs.get("initial").expect("it is there").shape().to_vec();
                let zeros = Data::F32(vec![0.0; shape.iter().product()]);
                let tensor = Tensor::new("initial", shape, zeros);
                changed.insert("initial", tensor.expect("as many"));
            }
            Defect::Short | Defect::Integers | Defect::Renamed => {}
        }
        changed
    }

    /// What the engine answers.
    fn outputs(&self, outputs: Tensors) -> Tensors {
        let sums = outputs.get("sums").expect("the kernel gave them").clone();
        let [rows, width] = *sums.shape() else { panic!("they are [E,V]") };
        let tensor = |shape, data| Tensor::new("sums", shape, data).expect("as many");
        let mut changed = Tensors::new();
        match self.defect {
            Defect::LosesLane(_) | Defect::IgnoresInitial => return outputs,
            Defect::Short => {
                let words = &sums.words()[..(rows - 1) * width];
                let data = Data::from_words(sums.dtype(), words);
                changed.insert("sums", tensor(vec![rows - 1, width], data));
            }
            Defect::Integers => {
                let data = Data::U32(sums.words().to_vec());
                changed.insert("sums", tensor(vec![rows, width], data));
            }
            Defect::Renamed => changed.insert("sum", sums),
        }
        changed
    }
}

impl Engine for Planted {
    fn info(&self) -> &DeviceInfo {
        self.engine.info()
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let inputs: Vec<_> = work.iter().map(|job| self.inputs(job.inputs)).collect();
        let jobs: Vec<_> = inputs
            .iter()
            .zip(work)
            .map(|(inputs, job)| Work { inputs, settings: job.settings })
            .collect();
        let answers = self.engine.run(stage, &jobs)?;
        let changed = |answers: Vec<_>| answers.into_iter().map(|one| self.outputs(one)).collect();
        Ok(answers.into_iter().map(changed).collect())
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
    let report = judge("planted", Planted::boxed(Defect::LosesLane(0)), vec![drawn]);
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
    let again = judge("planted", Planted::boxed(Defect::LosesLane(0)), vec![read.clone()]);
    assert_eq!(again.verdict(), Verdict::Disagree, "it fails again");
    assert_agrees(&judge("emulator", Box::new(emulator()), vec![read]), 1);
}

#[test]
fn a_start_that_is_ignored_is_found_and_made_small() {
    let drawn = find("sizes").expect("there is one").draw(23, 11, 22);
    let report = judge("planted", Planted::boxed(Defect::IgnoresInitial), vec![drawn]);
    assert_eq!(report.verdict(), Verdict::Disagree, "rows start from zero");
    let numbers = &small(&report).numbers;
    assert_eq!((numbers.len(), numbers.width, numbers.rows()), (0, 1, 1), "a row alone");
    assert!(numbers.initial[0] != 0.0, "which does not start from zero: {numbers:?}");
}

#[test]
fn an_answer_that_does_not_fit_is_a_failure() {
    for (defect, what) in [
        (Defect::Short, "sums has the shape [0, 1], expected [1, 1]"),
        (Defect::Integers, "sums is u32, expected f32"),
        (Defect::Renamed, "sums is missing"),
    ] {
        let drawn = find("sizes").expect("there is one").draw(18, 11, 17);
        let report = judge("planted", Planted::boxed(defect), vec![drawn]);
        assert_eq!(report.verdict(), Verdict::Disagree, "{what}");
        let Fault::Engine(error) = &report.findings[0].fault else { panic!("{what}: no fault") };
        assert!(error.to_string().contains(what), "{error}");
        let row = &report.rows[&(SCATTER, Some(Reduction::Atomic))];
        assert_eq!(row.tally.elements(), 0, "{what}: nothing of it is compared");
        let left = small(&report).numbers.len();
        assert_eq!(left, 0, "{what}: the case is made small");
    }
}
