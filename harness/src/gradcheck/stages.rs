//! The kernels of this repository as pairs: a second witness beside the oracle.

use splatcheck_emulator::Conventions;
use splatcheck_gpu::emulator::{
    EmulatorEngine, Pair, PairRun, Returned, SweptGradient, as_clamped, differentiable,
};
use splatcheck_gpu::tensor::Tensors;
use splatcheck_gpu::{EngineError, Setting, Stage};

use super::compared::{Open, compared};
use super::judge::{Checked, Judged, blindness};
use splatcheck_judge::attribution::Parts;

/// Whether a backward stage returns the derivatives of its forward stage, each with the inputs of a case.
///
/// # Errors
/// [`EngineError::Input`]: the inputs are not those of the stages.
pub fn check_stages(
    engine: &mut EmulatorEngine,
    forward: (Stage, &Tensors),
    backward: (Stage, &Tensors),
    setting: Option<Setting>,
) -> Result<Checked, EngineError> {
    let inputs = differentiable(backward.1);
    let backward = (backward.0, &inputs);
    check(engine, forward, backward, (setting, &Conventions::default()))
}

/// The same of a backward stage that is given whether alpha's clamp lets the gradient pass: where it does, it passes in
/// the sweep over the forward stage too.
///
/// # Errors
/// As [`check_stages`].
pub fn check_stages_as_clamped(
    engine: &mut EmulatorEngine,
    forward: (Stage, &Tensors),
    backward: (Stage, &Tensors),
    setting: Option<Setting>,
) -> Result<Checked, EngineError> {
    let (inputs, conventions) = as_clamped(backward.1)?;
    check(engine, forward, (backward.0, &inputs), (setting, &conventions))
}

fn check(
    engine: &mut EmulatorEngine,
    forward: (Stage, &Tensors),
    backward: (Stage, &Tensors),
    how: (Option<Setting>, &Conventions),
) -> Result<Checked, EngineError> {
    run(engine, forward, backward, how, |PairRun { memory, sweep, returned }| {
        let mut checked = Checked::of_memory(memory).swept(memory, &sweep.gradient);
        let doubt = blindness(&sweep.gradient);
        for (gradient, returned) in sweep.gradients.iter().zip(&returned) {
            let expected = gradient.expected.iter().map(|(value, own)| (*value, own + doubt));
            let judged = judged(gradient, gradient.of, returned, expected, checked.open);
            checked.add(judged, &|element| sweep.parts(memory, gradient, element).into());
        }
        checked
    })
}

/// Whether a backward stage returns the same with the second of two settings as with the first.
///
/// # Errors
/// As [`check_stages`].
pub fn compare_stages(
    engine: &mut EmulatorEngine,
    forward: (Stage, &Tensors),
    backward: (Stage, &Tensors),
    [one, other]: [Option<Setting>; 2],
) -> Result<Checked, EngineError> {
    let mut wanted = Vec::new();
    let (inputs, conventions) = (differentiable(backward.1), Conventions::default());
    let backward = (backward.0, &inputs);
    let first = run(engine, forward, backward, (one, &conventions), |run| {
        wanted = run.returned;
        Checked::of_memory(run.memory)
    })?;
    if first.is_wrong() {
        return Ok(first);
    }
    run(engine, forward, backward, (other, &conventions), |PairRun { memory, sweep, returned }| {
        let mut checked = first.and(Checked::of_memory(memory));
        let each = wanted.iter().zip(&returned);
        for (gradient, (wanted, returned)) in sweep.gradients.iter().zip(each) {
            let expected = wanted.found.iter().map(|exact| (exact.value, exact.uncertainty));
            let judged = judged(gradient, gradient.name, returned, expected, checked.open);
            checked.add(judged, &|_| Parts::default());
        }
        checked
    })
}

/// Runs a pair; a kernel that gives no result is what came of it.
fn run(
    engine: &mut EmulatorEngine,
    forward: (Stage, &Tensors),
    backward: (Stage, &Tensors),
    (setting, conventions): (Option<Setting>, &Conventions),
    judge: impl FnOnce(PairRun<'_>) -> Checked,
) -> Result<Checked, EngineError> {
    let inputs = differentiable(forward.1);
    let pair = Pair { forward: (forward.0, &inputs), backward, setting, conventions };
    match engine.differentiate(pair) {
        Ok(run) => Ok(judge(run)),
        Err(EngineError::Device(why) | EngineError::NoEnd(why)) => Ok(Checked::fault(why)),
        Err(error) => Err(error),
    }
}

/// A gradient that was returned, compared with what it must be.
fn judged(
    gradient: &SweptGradient,
    of: &str,
    Returned { found, words }: &Returned,
    expected: impl Iterator<Item = (f64, f64)>,
    open: [u64; 2],
) -> Judged {
    let floats: Vec<f32> = words.iter().copied().map(f32::from_bits).collect();
    let open = Open { any: open[0] > 0, reaches: &|_| true };
    let judged = compared(gradient.name, of, (&floats, &|_| false), found, expected, &open);
    Judged { shape: gradient.shape.clone(), ..judged }
}
