//! `splatcheck oracle`: the oracle as a tool from file to file, for programs in any language.

use std::io::Write;

use super::args::{OraclePlan, ScalarName};
use super::case::read_case;
use super::exit::{CliError, Outcome};
use crate::case::Case;
use crate::io::result_file::{Number, write_result};
use splat_reference::TooManyPairs;
use splat_reference::render::render_backward_with;
use splat_reference::scalar::{Scalar, Walk};

/// Carries out the plan: images and gradients of all cameras, in one file.
///
/// In f64 the constants of the convention are the real numbers that it names (0.3, not the f32 next
/// to it): the result is that of the mathematics, whichever precision a kernel works in.
///
/// # Errors
/// See [`CliError`].
pub fn run(plan: &OraclePlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let case = read_case(&plan.case, plan.profile)?;
    match plan.scalar {
        ScalarName::F64 => compute::<f64>(&case, plan)?,
        ScalarName::F32 => compute::<f32>(&case, plan)?,
    }
    let scene = &case.scene;
    writeln!(
        out,
        "{}: {} Gaussians, {} of {}x{} pixels, convention {}, {}",
        plan.output.display(),
        scene.gaussians.len(),
        match scene.cameras.len() {
            1 => "1 image".to_owned(),
            images => format!("{images} images"),
        },
        scene.width,
        scene.height,
        case.convention.profile.name(),
        plan.scalar,
    )?;
    Ok(Outcome::Agree)
}

fn compute<S: Walk + Number>(case: &Case, plan: &OraclePlan) -> Result<(), CliError> {
    let scene = case.scene.map(<S as Scalar>::from_f32);
    let cannot = |error: TooManyPairs| {
        CliError::caused(format!("{}: cannot render the case", plan.case.display()), error)
    };
    let mut stages = Vec::new();
    let keep = |stage| {
        if plan.stages {
            stages.push(stage);
        }
    };
    let gradients = render_backward_with(&scene, &case.convention, keep).map_err(cannot)?;
    write_result(&plan.output, &scene, &case.convention, gradients, &stages)
        .map_err(|error| CliError::caused("cannot write the result", error))
}
