//! Where no hypothesis explains what is wrong of gradients: what they lack of splatcheck's own forward kernel.

use super::measured::{Measured, Part};
use super::weighing::Weighing;
use crate::attribution::{Element, Explained, Parts, WrongArray, explain};
use splatcheck_emulator::Conventions;
use splatcheck_gpu::emulator::{
    EmulatorEngine, EmulatorOptions, Pair, SweptGradient, differentiable, forward_of,
};
use splatcheck_gpu::{Setting, Stage, TensorError, Tensors};
use std::time::Duration;

/// Fewer wrong elements tell too little: of one number, half and double of something are soon found.
const LEAST: usize = 3;

/// Processor time that the forward kernel may take: a larger case is not asked.
const TIME: Duration = Duration::from_secs(10);

impl Weighing {
    /// With what the wrong gradients of a run lack of the forward stage's kernel, where no hypothesis explains
    /// them. A stage without a forward stage, and a case whose tape is too long, say nothing.
    ///
    /// # Errors
    /// [`TensorError`] for an output that is missing.
    pub fn attributed(
        mut self,
        (stage, inputs): (Stage, &Tensors),
        (right, outputs): (&crate::judge::Expectation, &Tensors),
        run: (Option<Setting>, u32),
    ) -> Result<Self, TensorError> {
        if self.explains() {
            return Ok(self);
        }
        let measured = Measured::new(right, outputs, run)?;
        self.attribution = of_forward((stage, inputs), &measured);
        Ok(self)
    }
}

/// The first of the outputs whose wrong elements a part of the forward kernel explains.
fn of_forward((stage, inputs): (Stage, &Tensors), measured: &Measured) -> Option<Explained> {
    let forward = forward_of(stage)?;
    let given = differentiable(inputs);
    let mut own = Tensors::new();
    for port in forward.inputs {
        own.insert(port.name, given.find(port.name)?.clone());
    }
    let options = EmulatorOptions { time: Some(TIME), ..EmulatorOptions::default() };
    let mut engine = EmulatorEngine::open(options).ok()?;
    let conventions = &Conventions::default();
    let pair =
        Pair { forward: (forward, &own), backward: (stage, &given), setting: None, conventions };
    let (memory, sweep) = engine.sweep(pair).ok()?;
    let of = |part: &Part| {
        let gradient = sweep.gradients.iter().find(|gradient| gradient.name == part.name)?;
        explained(part, gradient, &|element| sweep.parts(memory, gradient, element).into())
    };
    measured.parts.iter().find_map(of)
}

/// What the wrong elements of a gradient lack of the parts that each is made of. All of them must have the
/// derivative as their right value: a convention that departs from it on purpose is no part of the forward kernel.
fn explained(
    part: &Part,
    gradient: &SweptGradient,
    parts: &dyn Fn(usize) -> Parts,
) -> Option<Explained> {
    if gradient.expected.len() != part.returned.len() {
        return None;
    }
    let mut wrong = Vec::new();
    for index in part.outside() {
        let (right, (expected, doubt)) = (&part.right[index], gradient.expected[index]);
        let (found, uncertainty) = (part.returned[index], right.radius + doubt);
        if !found.is_finite() || (expected - right.value).abs() > uncertainty {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "it was an f32")]
        let float = found as f32;
        wrong.push(Element { index, found, expected, uncertainty, float });
    }
    if wrong.len() < LEAST {
        return None;
    }
    let zeros = |index: &usize| part.returned[*index] == 0.0 && part.right[*index].value == 0.0;
    let array = WrongArray {
        name: part.name,
        of: gradient.of,
        compared: part.returned.len(),
        zeros: (0..part.returned.len()).filter(zeros).count(),
        wrong: &wrong,
        right: &[],
    };
    explain(&array, parts)
}
