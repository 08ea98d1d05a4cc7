//! The kernels of this repository as pairs: a second witness beside the oracle.

use splatcheck_gpu::emulator::{EmulatorEngine, Pair, PairGradient};
use splatcheck_gpu::tensor::{Scalar, Tensor, Tensors};
use splatcheck_gpu::{EngineError, Setting, Stage};

use super::explain::Parts;
use super::judge::{Checked, blindness, compared};

/// Numbers by which backward stages depart from the derivative on purpose, and what they are in the derivative:
/// whether a clamp passes the gradient on, and what 3DGS adds to a divisor in the backward pass alone.
const DEPARTURES: [(&str, Scalar); 3] = [
    ("clamp_stops_gradient", Scalar::U32(1)),
    ("clamp_has_gradient", Scalar::U32(1)),
    ("inverse_eps", Scalar::F32(0.0)),
];

/// The stage that a backward stage is of: of an output X of it that is given `v_X`, of an input Y it returns
/// `v_Y`.
#[must_use]
pub fn forward_of(backward: Stage) -> Option<Stage> {
    let gradient = |name: &str, of: &str| name.strip_prefix("v_") == Some(of);
    Stage::all().find(|forward| {
        let given = backward
            .inputs
            .iter()
            .any(|given| forward.outputs.iter().any(|output| gradient(given.name, output.name)));
        given
            && backward.outputs.iter().any(|returned| {
                forward.inputs.iter().any(|input| gradient(returned.name, input.name))
            })
    })
}

/// The inputs with which a backward stage returns the derivative.
#[must_use]
pub fn differentiable(inputs: &Tensors) -> Tensors {
    let mut inputs = inputs.clone();
    for (name, value) in DEPARTURES {
        if inputs.find(name).is_some() {
            inputs.insert(name, Tensor::scalar(value));
        }
    }
    inputs
}

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
    let mut checked = Checked::beside(run.memory, &run.gradient);
    let doubt = blindness(&run.gradient);
    for gradient in &run.gradients {
        let PairGradient { name, of, shape, expected, found, words, .. } = gradient;
        let expected = expected.iter().map(|(value, own)| (*value, own + doubt));
        let mut judged = compared(name, of, words, found, expected, checked.open);
        judged.shape.clone_from(shape);
        checked.add(judged, &|element| {
            let (uses, shares) = run.parts(gradient, element);
            Parts { uses, shares }
        });
    }
    Ok(checked)
}
