//! Spherical harmonics as stages of their own: what kernels do that are given directions and coefficients by
//! themselves. There are no kernels of ours of them.
//!
//! Symbols: `N` Gaussians, `K` coefficients of a channel, (degree + 1)^2 of them.

use super::shared::N;
use super::whole::without_kernels;
use crate::error::EngineError;
use crate::stage::Stage;
use crate::stage::{Dim, Port, Sizes, StageSpec};
use crate::tensor::{Dtype, Tensors};

/// The colours of all Gaussians, each in its direction.
pub const SPHERICAL_HARMONICS: Stage = Stage::of(&FORWARD);
/// The gradients of their coefficients and directions.
pub const SPHERICAL_HARMONICS_BACKWARD: Stage = Stage::of(&BACKWARD);

const K: Dim = Dim::Symbol("K");
const THREE: Dim = Dim::Const(3);

/// 0 to 3.
const DEGREE: Port = Port::constant("degree", Dtype::U32);
/// From the camera to each Gaussian, of any length.
const DIRS: Port = Port::read("dirs", Dtype::F32, &[N, THREE]);
const COEFFS: Port = Port::read("coeffs", Dtype::F32, &[N, K, THREE]);

static FORWARD: StageSpec = StageSpec {
    check,
    ..without_kernels(
        "spherical_harmonics",
        &[DEGREE, DIRS, COEFFS],
        &[Port::write("colors", Dtype::F32, &[N, THREE])],
    )
};

static BACKWARD: StageSpec = StageSpec {
    check,
    ..without_kernels(
        "spherical_harmonics_backward",
        &[DEGREE, DIRS, COEFFS, Port::read("v_colors", Dtype::F32, &[N, THREE])],
        &[
            Port::write("v_coeffs", Dtype::F32, &[N, K, THREE]),
            Port::write("v_dirs", Dtype::F32, &[N, THREE]),
        ],
    )
};

/// As many coefficients as the degree has.
fn check(inputs: &Tensors, sizes: &Sizes) -> Result<(), EngineError> {
    let (degree, found) = (inputs.u32("degree")?[0] as usize, sizes.get("K"));
    let expected = degree.saturating_add(1).saturating_pow(2);
    if degree <= 3 && found == expected {
        return Ok(());
    }
    Err(EngineError::Input(format!(
        "degree {degree} with {found} coefficients, expected 0 to 3 with {expected}"
    )))
}
