//! That gradients of every workload add up from parts, and that an all-reduce which does it wrong is found.

use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::{
    Data, DeviceInfo, Engine, EngineError, Reduction, Setting, Stage, Tensor, Tensors, Work,
};
use splatcheck_judge::campaign::{Runs, tallies};
use splatcheck_judge::engines::parted::{Parted, Parts};
use splatcheck_judge::workload::{Job, Workload};

const PARTS: u32 = 3;
const CASES: u64 = 6;

/// What an all-reduce, or the engines whose parts it adds up, may do wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    None,
    /// A part is counted twice.
    Twice,
    /// The parts are averaged where they are summed.
    Averaged,
    /// An engine sends its part of the step before.
    OtherStep,
    /// An engine still has the weights of the step before.
    StaleWeights,
}

/// An engine of which one part goes wrong.
struct Mistaken {
    engine: EmulatorEngine,
    mistake: Mistake,
    /// Runs of all parts.
    calls: u32,
    /// What the wrong part had, and gave, in the step before.
    before: Option<(Tensors, Vec<Vec<Tensors>>)>,
}

impl Engine for Mistaken {
    fn info(&self) -> &DeviceInfo {
        self.engine.info()
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let is_wrong = self.calls % PARTS == PARTS - 1;
        self.calls += 1;
        let before = self.before.take_if(|_| is_wrong);
        let mut inputs = work[0].inputs.clone();
        if let (Mistake::StaleWeights, Some((before, _))) = (self.mistake, &before) {
            WEIGHTS.iter().for_each(|name| copy(before, &mut inputs, name));
        }
        let ours = [Work { inputs: &inputs, settings: work[0].settings }];
        let mut outputs = self.engine.run(stage, &ours)?;
        if is_wrong {
            self.before = Some((work[0].inputs.clone(), outputs.clone()));
        }
        match (self.mistake, before) {
            (Mistake::Twice, _) if is_wrong => scale(&mut outputs, 2.0),
            #[expect(clippy::cast_precision_loss, reason = "a small number")]
            (Mistake::Averaged, _) => scale(&mut outputs, 1.0 / PARTS as f32),
            (Mistake::OtherStep, Some((_, before))) => outputs = before,
            _ => {}
        }
        Ok(outputs)
    }
}

/// What sums depend on besides what is given: opacities of splats, keys, points of a grid.
const WEIGHTS: [&str; 3] = ["opacities", "keys", "positions"];

fn copy(from: &Tensors, to: &mut Tensors, name: &str) {
    if let Some(tensor) = from.find(name) {
        to.insert(name.to_owned(), tensor.clone());
    }
}

fn scale(outputs: &mut [Vec<Tensors>], by: f32) {
    for all in outputs.iter_mut().flatten() {
        for (name, tensor) in all.clone().iter() {
            if let Data::F32(values) = tensor.data() {
                let values = values.iter().map(|value| value * by).collect();
                let tensor = Tensor::new(name, tensor.shape().to_vec(), Data::F32(values));
                all.insert(name.to_owned(), tensor.expect("as many"));
            }
        }
    }
}

/// Another step of the same shapes: what is given is doubled, and the weights are in another order.
fn step_before(inputs: &Tensors) -> Tensors {
    let mut all = inputs.clone();
    for (name, tensor) in inputs.iter() {
        let (given, weights) =
            (name.starts_with("v_") || name == "values", WEIGHTS.contains(&name));
        let data = match tensor.data() {
            Data::F32(values) if given => {
                Data::F32(values.iter().map(|value| 2.0 * value).collect())
            }
            Data::F32(values) if weights => Data::F32(values.iter().rev().copied().collect()),
            Data::U32(values) if weights => Data::U32(values.iter().rev().copied().collect()),
            other => other.clone(),
        };
        let tensor = Tensor::new(name, tensor.shape().to_vec(), data);
        all.insert(name.to_owned(), tensor.expect("as many"));
    }
    all
}

/// Runs whose sum is wrong, of all.
fn wrong(jobs: &[Job], mistake: Mistake) -> [usize; 2] {
    let mut count = [0, 0];
    for job in jobs {
        for reduction in [Reduction::Atomic, Reduction::SwB] {
            let setting = Setting { reduction, threshold: 0 };
            let Some(&setting) = job.stage.settings(&[setting]).first() else { continue };
            let engine = EmulatorEngine::open(EmulatorOptions::default()).expect("always there");
            let engine = Mistaken { engine, mistake, calls: 0, before: None };
            let mut engine = Parted::new(Box::new(engine), Parts::try_from(PARTS).expect("three"));
            let before = step_before(&job.inputs);
            let work = [Work { inputs: &before, settings: &[setting] }];
            engine.run(job.stage, &work).expect("a right kernel");
            let runs = [Runs { job, settings: vec![setting] }];
            let tally = tallies(&mut engine, job.stage, &runs).expect("a right kernel");
            count[0] += usize::from(tally[0][0].worst.is_some());
            count[1] += 1;
        }
    }
    count
}

/// The jobs of some random cases that add gradients up.
fn jobs(workload: &dyn Workload) -> Vec<Job> {
    let case = |index| workload.random(11, index).current();
    let jobs = (0..CASES).flat_map(|index| case(index).jobs(0).expect("it has jobs"));
    jobs.filter(|job| job.stage.accumulates()).collect()
}

#[test]
fn parts_add_up_and_every_wrong_all_reduce_dies() {
    for workload in crate::all() {
        let jobs = jobs(workload.as_ref());
        let name = workload.name();
        let [accused, runs] = wrong(&jobs, Mistake::None);
        assert!(accused == 0 && runs > 5, "{name}: {accused} of {runs} right runs accused");
        for mistake in
            [Mistake::Twice, Mistake::Averaged, Mistake::OtherStep, Mistake::StaleWeights]
        {
            let [found, runs] = wrong(&jobs, mistake);
            assert!(found > 0, "{name}: {mistake:?} was found in none of {runs} runs");
        }
    }
}
