//! What the tests of a workload's whole way share: cases of every kind, the engines of this machine, and one with
//! a planted defect.

use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::{
    Data, DeviceInfo, Engine, EngineError, Reduction, Setting, Stage, Tensor, Tensors, Work,
};
use splatcheck_judge::campaign::{Contender, EngineReport, Hooks, run, smaller};
use splatcheck_judge::engines::{EngineProcess, Found, Limits, Program, discover};
use splatcheck_judge::report::verdicts;
use splatcheck_judge::verdict::Verdict;
use splatcheck_judge::workload::named::{InFiles, Named};
use splatcheck_judge::workload::rows::Row;
use splatcheck_judge::workload::{AnyCase, Case};
use std::sync::Arc;

/// The program under test.
pub(crate) const SPLATCHECK: &str = env!("CARGO_BIN_EXE_splatcheck");

/// Atomics alone.
pub(crate) const ATOMIC: Setting = Setting { reduction: Reduction::Atomic, threshold: 0 };

/// So many of a generator's kinds of cases, evenly spread; all where there are no more.
pub(crate) fn spread<N: InFiles>(
    row: &'static Row<N>,
    most: u64,
) -> impl Iterator<Item = Named<N>> {
    let step = row.kinds.div_ceil(most).max(1);
    // No step that the kinds share a factor with leaves a part of them out.
    let step = if row.kinds.is_multiple_of(step) && step > 1 { step + 1 } else { step };
    let kinds = (0..row.kinds).step_by(usize::try_from(step).unwrap_or(1));
    kinds.map(move |index| row.draw(index, 11, index))
}

/// Judges cases on an engine under some settings.
pub(crate) fn judge(
    settings: &[Setting],
    id: &str,
    engine: Box<dyn Engine + Send + '_>,
    cases: Vec<impl Case + 'static>,
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

/// The same on the emulator in this process.
pub(crate) fn judge_emulated(
    settings: &[Setting],
    fast_math: bool,
    cases: Vec<impl Case + 'static>,
) -> EngineReport {
    judge(settings, "emulator", emulator(fast_math), cases)
}

fn emulator(fast_math: bool) -> Box<EmulatorEngine> {
    let options = EmulatorOptions { fast_math, ..EmulatorOptions::default() };
    Box::new(EmulatorEngine::open(options).expect("it is always there"))
}

/// Judges on every engine of this machine, in a process each, and shows what came of it.
pub(crate) fn on_every_engine(judged: impl Fn(&Found, Box<EngineProcess>) -> EngineReport) {
    let program = || Program::splatcheck(SPLATCHECK);
    let discovery = discover(&program());
    for missing in &discovery.missing {
        eprintln!("NOT EXERCISED: {}: {}", missing.candidate, missing.reason);
    }
    for found in discovery.found {
        let engine = EngineProcess::start(found.spec.clone(), program(), Limits::default());
        let report = judged(&found, Box::new(engine.expect("it was found")));
        println!("{}", verdicts(std::slice::from_ref(&report)));
    }
}

/// Every run that compares anything agreed. The report's rows as text, for what is asserted of them.
pub(crate) fn agreed(report: &EngineReport) -> String {
    let text = verdicts(std::slice::from_ref(report));
    let findings: Vec<_> =
        report.findings.iter().map(|f| (f.case.name().to_owned(), &f.fault)).collect();
    assert_eq!(report.verdict(), Verdict::Agree, "{text}{findings:#?}");
    text
}

/// What is wrong with an engine.
pub(crate) trait Defect: Send {
    /// Changes what a kernel gets.
    fn change_inputs(&self, _stage: Stage, _inputs: &mut Tensors) {}

    /// What the engine answers.
    fn outputs(&self, outputs: Tensors) -> Tensors {
        outputs
    }
}

/// The emulator with a defect.
pub(crate) struct Planted<D> {
    engine: Box<EmulatorEngine>,
    defect: D,
}

impl<D: Defect> Planted<D> {
    pub(crate) fn boxed(defect: D) -> Box<Self> {
        Box::new(Self { engine: emulator(false), defect })
    }
}

impl<D: Defect> Engine for Planted<D> {
    fn info(&self) -> &DeviceInfo {
        self.engine.info()
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let changed = |job: &Work<'_>| {
            let mut inputs = job.inputs.clone();
            self.defect.change_inputs(stage, &mut inputs);
            inputs
        };
        let inputs: Vec<_> = work.iter().map(changed).collect();
        let jobs =
            inputs.iter().zip(work).map(|(inputs, job)| Work { inputs, settings: job.settings });
        let answers = self.engine.run(stage, &jobs.collect::<Vec<_>>())?;
        let told = |one| self.defect.outputs(one);
        Ok(answers.into_iter().map(|all| all.into_iter().map(told).collect()).collect())
    }
}

/// Changes the floats of an input.
pub(crate) fn change_floats(inputs: &mut Tensors, name: &'static str, edit: impl Fn(&mut [f32])) {
    let shape = inputs.get(name).expect("it is there").shape().to_vec();
    let mut numbers = inputs.f32(name).expect("they are floats").to_vec();
    edit(&mut numbers);
    inputs.insert(name, Tensor::new(name, shape, Data::F32(numbers)).expect("as many"));
}
