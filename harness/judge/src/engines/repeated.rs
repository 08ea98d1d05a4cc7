//! An engine that makes every run more than once and demands equal bits.
//!
//! A kernel's result depends on the order of execution only where several threads add floats to one
//! number, race, or read what was never written. The emulator runs in as many orders as it is asked
//! for; its approximate instructions are rounded in one way in all of them, as a device does, whose
//! order alone changes from run to run. A device's order is its own, so there it is simply run again.

use super::emulation::Order;
use splatcheck_emulator::Schedule;
use splatcheck_gpu::emulator::EmulatorEngine;
use splatcheck_gpu::{
    Data, DeviceInfo, Engine, EngineError, OtherBits, Reduction, Stage, Support, Tensor, Tensors,
    Work,
};

/// How often a run is made, and in which orders on the emulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// The emulator's orders, each another.
    pub orders: Vec<Order>,
    /// Runs on a device.
    pub runs: u32,
}

impl Repeats {
    /// So many runs: on the emulator in lockstep, then in random and adversarial orders in turn.
    #[must_use]
    pub fn new(runs: u32) -> Self {
        let order = |run: u32| match (run, u64::from(run.saturating_sub(1) / 2)) {
            (0, _) => Order::Lockstep,
            (run, seed) if run % 2 == 1 => Order::Random(seed),
            (_, seed) => Order::Adversarial(seed),
        };
        Self { orders: (0..runs).map(order).collect(), runs }
    }

    /// Lockstep and then these orders on the emulator.
    #[must_use]
    pub fn in_orders(orders: Vec<Order>, runs: u32) -> Self {
        let others = orders.into_iter().filter(|&order| order != Order::Lockstep);
        Self { orders: std::iter::once(Order::Lockstep).chain(others).collect(), runs }
    }
}

/// What makes the runs.
enum Machine<'a> {
    Emulator(Box<EmulatorEngine>, Vec<Order>),
    Device(Box<dyn Engine + Send + 'a>, u32),
    /// Emulators that are processes of their own, each in its order.
    Orders(Vec<(Order, Box<dyn Engine + Send + 'a>)>),
}

/// An engine that makes every run several times and compares the bits.
pub struct Repeated<'a>(Machine<'a>);

impl<'a> Repeated<'a> {
    /// The emulator in these orders.
    #[must_use]
    pub fn emulator(engine: EmulatorEngine, repeats: &Repeats) -> Self {
        Self(Machine::Emulator(Box::new(engine), repeats.orders.clone()))
    }

    /// A device so often.
    #[must_use]
    pub fn device(engine: Box<dyn Engine + Send + 'a>, repeats: &Repeats) -> Self {
        Self(Machine::Device(engine, repeats.runs))
    }

    /// Emulators in processes of their own, the first of at least one and those behind it, in the order that each
    /// was started in.
    #[must_use]
    pub fn processes(all: Vec<(Order, Box<dyn Engine + Send + 'a>)>) -> Self {
        Self(Machine::Orders(all))
    }

    fn engine(&self) -> &dyn Engine {
        match &self.0 {
            Machine::Emulator(engine, _) => engine.as_ref(),
            Machine::Device(engine, _) => engine.as_ref(),
            Machine::Orders(all) => all[0].1.as_ref(),
        }
    }

    /// Makes all runs; gives their names and results.
    fn runs(
        &mut self,
        mut run: impl FnMut(&mut dyn Engine, String) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        match &mut self.0 {
            Machine::Emulator(engine, orders) => orders.iter().try_for_each(|order| {
                let policy = order.schedule().policy;
                engine.set_schedule(Schedule { policy, ..Schedule::lockstep() });
                run(engine.as_mut(), order.to_string())
            }),
            Machine::Device(engine, runs) => {
                (1..=*runs).try_for_each(|number| run(engine.as_mut(), format!("run {number}")))
            }
            Machine::Orders(all) => all
                .iter_mut()
                .try_for_each(|(order, engine)| run(engine.as_mut(), order.to_string())),
        }
    }
}

impl Engine for Repeated<'_> {
    fn info(&self) -> &DeviceInfo {
        self.engine().info()
    }

    fn supports(&self, stage: Stage, reduction: Option<Reduction>) -> Support {
        self.engine().supports(stage, reduction)
    }

    fn reduces_by(&self, stage: Stage, reduction: Reduction) -> bool {
        self.engine().reduces_by(stage, reduction)
    }

    fn deaths(&self) -> u64 {
        match &self.0 {
            Machine::Emulator(..) | Machine::Device(..) => self.engine().deaths(),
            Machine::Orders(all) => all.iter().map(|(_, engine)| engine.deaths()).sum(),
        }
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let mut first: Option<(String, Vec<Vec<Tensors>>)> = None;
        self.runs(|engine, name| {
            let outputs = engine.run(stage, work).map_err(|error| of_run(error, &name))?;
            let Some((other, expected)) = &first else {
                first = Some((name, outputs));
                return Ok(());
            };
            let both = expected.iter().flatten().zip(outputs.iter().flatten());
            let mut different = both.filter_map(|(a, b)| other_bits([a, b], [other, &name]));
            different.next().map_or(Ok(()), |bits| Err(EngineError::NotDeterministic(bits)))
        })?;
        first.map(|(_, outputs)| outputs).ok_or_else(|| EngineError::Input("no run".to_owned()))
    }

    fn run_once(
        &mut self,
        stage: Stage,
        work: &[Work<'_>],
    ) -> Result<Vec<Vec<Tensors>>, EngineError> {
        match &mut self.0 {
            Machine::Emulator(engine, _) => engine.run_once(stage, work),
            Machine::Device(engine, _) => engine.run_once(stage, work),
            Machine::Orders(all) => all[0].1.run_once(stage, work),
        }
    }
}

/// A kernel's failure with the run that it failed in.
fn of_run(error: EngineError, name: &str) -> EngineError {
    match error {
        EngineError::Device(message) => EngineError::Device(format!("{message} (in {name})")),
        error => error,
    }
}

/// The first element that differs, if any does. A missing output is the judge's to report.
fn other_bits(outputs: [&Tensors; 2], runs: [&str; 2]) -> Option<Box<OtherBits>> {
    let mut found: Option<OtherBits> = None;
    for (name, tensor) in outputs[0].iter() {
        let Some(other) = outputs[1].find(name) else { continue };
        let words = tensor.words().iter().zip(other.words()).enumerate();
        for (place, _) in words.filter(|(_, (a, b))| a != b) {
            let first = found.get_or_insert_with(|| OtherBits {
                element: element(name, tensor.shape(), place),
                seen: [tensor, other].map(|tensor| seen(tensor, place)),
                runs: runs.map(str::to_owned),
                elements: 0,
            });
            first.elements += 1;
        }
    }
    found.map(Box::new)
}

/// An element as `NumPy` names it.
fn element(name: &str, shape: &[usize], mut place: usize) -> String {
    let mut index: Vec<String> = Vec::new();
    for &length in shape.iter().rev() {
        index.push((place % length.max(1)).to_string());
        place /= length.max(1);
    }
    index.reverse();
    format!("{name}[{}]", index.join(", "))
}

/// A number with its bits.
fn seen(tensor: &Tensor, place: usize) -> String {
    let word = tensor.words()[place];
    let number = match tensor.data() {
        Data::F32(numbers) => format!("{:e}", numbers[place]),
        Data::U32(numbers) => numbers[place].to_string(),
        Data::I32(numbers) => numbers[place].to_string(),
    };
    format!("{number} ({word:#010x})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcheck_gpu::stages::splat::RASTERIZE;
    use splatcheck_gpu::{Arithmetic, EngineKind, FloatAtomics, LoopLimit};

    /// A device whose results are these, one after another, and then a failure.
    struct Listed {
        info: DeviceInfo,
        results: Vec<[f32; 4]>,
    }

    impl Engine for Listed {
        fn info(&self) -> &DeviceInfo {
            &self.info
        }

        fn run(&mut self, _: Stage, _: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
            let numbers = self.results.pop().ok_or_else(|| EngineError::Device("lost".into()))?;
            let mut outputs = Tensors::new();
            let tensor = Tensor::new("out", vec![2, 2], Data::F32(numbers.to_vec()));
            outputs.insert("out", tensor.expect("four numbers"));
            Ok(vec![vec![outputs]])
        }
    }

    fn ran(results: &[[f32; 4]]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let info = DeviceInfo {
            adapter: String::new(),
            driver: String::new(),
            backend: String::new(),
            kind: EngineKind::Cuda,
            arithmetic: Arithmetic::Cuda,
            lane_width: 32,
            float_atomics: FloatAtomics::Native,
            exp_of_zero_is_one: true,
            loop_limit: LoopLimit::NotMeasured,
        };
        let results = results.iter().rev().copied().collect();
        let repeats = Repeats::new(3);
        Repeated::device(Box::new(Listed { info, results }), &repeats).run(RASTERIZE, &[])
    }

    #[test]
    fn equal_bits_are_the_result_and_other_bits_an_error() {
        let one = [1.0, 2.0, 3.0, 4.0];
        let same = ran(&[one; 3]).expect("equal bits");
        assert_eq!(same[0][0].f32("out"), Ok(&one[..]), "the first run's result");
        let text = |results: &[[f32; 4]]| ran(results).expect_err("an error").to_string();
        let other = [1.0, 2.0, 3.000_000_2, -4.0];
        let expected = "not deterministic: out[1, 0] is 3e0 (0x40400000) under run 1 and \
                        3.0000002e0 (0x40400001) under run 3; 2 elements differ";
        assert_eq!(text(&[one, one, other]), expected, "which element, which runs");
        let zeros = [[0.0; 4], [0.0, 0.0, 0.0, -0.0], [0.0; 4]];
        let signed = "not deterministic: out[1, 1] is 0e0 (0x00000000) under run 1 and -0e0 \
                      (0x80000000) under run 2";
        assert_eq!(text(&zeros), signed, "bits, not numbers");
        assert_eq!(text(&[one]), "lost (in run 2)", "a failure is passed on");
    }
}
