//! `splatcheck oracle`: the oracle as a tool from file to file, for programs in any language.

mod grid;
mod options;
mod scatter;
mod sparse;

use std::io::Write;

use super::case::read_splats;
use super::contract::ModelName;
use super::exit::{CliError, Outcome};
use super::sharpness;
pub use options::{OracleArgs, OraclePlan, ScalarName};
use splatcheck_gpu::stages::scatter::NAME as SCATTER;
use splatcheck_reference::arithmetic::{
    Bounded, Cuda, CudaFast, EvaluationOrders, Extra, Ieee, Model, Scalar, Vectorized, Wgsl,
    WgslExpZero,
};
use splatcheck_reference::splat::TooManyPairs;
use splatcheck_reference::splat::bounds::{Undecided, pipeline};
use splatcheck_reference::splat::render::{Gradients, Stage, render_backward_with};
use splatcheck_workloads::grid::NAME as GRID;
use splatcheck_workloads::sparse::NAME as SPARSE;
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::files::result_file::{Number, Radii, write_result};

/// Carries out the plan: images and gradients of all cameras, in one file.
///
/// In f64 the constants of the convention are the real numbers that it names (0.3, not the f32 next
/// to it): the result is that of the mathematics, whichever precision a kernel works in. Bounds
/// count the rounding of those constants as well.
///
/// # Errors
/// See [`CliError`].
pub fn run(plan: &OraclePlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let workload = splatcheck_workloads::name_in(&plan.case)
        .map_err(|error| CliError::caused("cannot read the case", error))?;
    if plan.cost && workload.as_deref() != Some(SPARSE) {
        let case = plan.case.display();
        return Err(CliError::new(format!(
            "--cost: is of cases of sparse convolution, and {case} is none: leave it out"
        )));
    }
    match workload.as_deref() {
        Some(GRID) => return grid::run(plan, out),
        Some(SCATTER) => return scatter::run(plan, out),
        Some(SPARSE) => return sparse::run(plan, out),
        Some(_) | None => {}
    }
    let case = read_splats(&plan.case, plan.profile)?;
    let bounds = match (plan.scalar, plan.bounds) {
        (ScalarName::F32, _) => compute::<f32>(&case, plan, None)?,
        (ScalarName::F64, None) => compute::<f64>(&case, plan, None)?,
        (ScalarName::F64, Some(model)) => {
            let bounds = match model {
                ModelName::Ieee => bounds::<Ieee>,
                ModelName::Wgsl => bounds::<Wgsl>,
                ModelName::WgslExp0 => bounds::<WgslExpZero>,
                ModelName::Cuda => bounds::<Cuda>,
                ModelName::CudaFast => bounds::<CudaFast>,
            };
            compute(&case, plan, Some(bounds))?
        }
    };
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
    write!(out, "{}", bounds.unwrap_or_default())?;
    Ok(Outcome::Agree)
}

/// Refuses what only a case of splats has, of a case of something else.
fn only_of_splats(plan: &OraclePlan, what: &str) -> Result<(), CliError> {
    for (option, given) in [("--convention", plan.profile.is_some()), ("--stages", plan.stages)] {
        if given {
            let case = plan.case.display();
            let problem = format!(
                "{option}: is of cases of splats, and {case} is one of {what}: leave it out"
            );
            return Err(CliError::new(problem));
        }
    }
    Ok(())
}

/// What computes the radii about a result: of its images and gradients and of its stages.
type Bounds<S> =
    fn(&Case, &Gradients<S>, &[Stage<S>]) -> Result<(Radii<S>, Undecided), TooManyPairs>;

/// Computes and writes the result; answers with a report of the bounds, if there are any.
fn compute<S: Vectorized + Number>(
    case: &Case,
    plan: &OraclePlan,
    bounds: Option<Bounds<S>>,
) -> Result<Option<String>, CliError> {
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
    let bounds = bounds.map(|bounds| bounds(case, &gradients, &stages)).transpose();
    let bounds = bounds.map_err(cannot)?;
    let report =
        bounds.as_ref().map(|(radii, undecided)| sharpness::report(radii, undecided, &gradients));
    let radii = bounds.map(|(radii, _)| radii);
    write_result(&plan.output, &scene, &case.convention, gradients, &stages, radii)
        .map_err(|error| CliError::caused("cannot write the result", error))?;
    Ok(report)
}

/// The radii under the model `M`.
fn bounds<M: Model>(
    case: &Case,
    gradients: &Gradients<f64>,
    stages: &[Stage<f64>],
) -> Result<(Radii<f64>, Undecided), TooManyPairs> {
    let scene = case.scene.map(Bounded::<Extra<M>>::from_f32);
    let bounds = pipeline(&scene, &case.convention, EvaluationOrders::STANDARD)?;
    let radii = Radii {
        model: M::TABLE.name,
        gradients: bounds.radii_about(gradients),
        stages: bounds.stage_radii_about(stages),
    };
    Ok((radii, bounds.undecided))
}
