//! The kernels of this repository as pairs: a second witness beside the oracle.

use splatcheck_gpu::emulator::{
    EmulatorEngine, Pair, PairRun, Returned, SweptGradient, differentiable,
};
use splatcheck_gpu::tensor::Tensors;
use splatcheck_gpu::{EngineError, Setting, Stage};

use super::judge::{Checked, blindness, compared};

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
    let inputs = [differentiable(forward.1), differentiable(backward.1)];
    let pair =
        Pair { forward: (forward.0, &inputs[0]), backward: (backward.0, &inputs[1]), setting };
    let run = match engine.differentiate(pair) {
        Ok(run) => run,
        Err(EngineError::Device(why) | EngineError::NoEnd(why)) => return Ok(Checked::fault(why)),
        Err(error) => return Err(error),
    };
    let PairRun { memory, sweep, returned } = run;
    let mut checked = Checked::beside(memory, &sweep.gradient);
    let doubt = blindness(&sweep.gradient);
    for (gradient, Returned { found, words }) in sweep.gradients.iter().zip(&returned) {
        let SweptGradient { name, of, shape, expected, .. } = gradient;
        let expected = expected.iter().map(|(value, own)| (*value, own + doubt));
        let mut judged = compared(name, of, words, found, expected, checked.open);
        judged.shape.clone_from(shape);
        checked.add(judged, &|element| sweep.parts(memory, gradient, element).into());
    }
    Ok(checked)
}
