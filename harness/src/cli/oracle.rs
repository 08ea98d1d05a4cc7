//! `splatcheck oracle`: the oracle as a tool from file to file, for programs in any language.

mod grid;
mod options;
mod scatter;
mod sparse;

use std::io::Write;

use super::case::read_splats;
use super::contract::ModelName;
use super::exit::{CliError, Outcome};
use super::output::Progress;
use super::sharpness;
use options::written;
pub use options::{OracleArgs, OraclePlan, ScalarName};
use splatcheck_gpu::stages::scatter::NAME as SCATTER;
use splatcheck_judge::words::count;
use splatcheck_reference::splat::TooManyPairs;
use splatcheck_workloads::grid::NAME as GRID;
use splatcheck_workloads::sparse::NAME as SPARSE;
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::computed::{in_f32, in_f64};

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
    let report = match (plan.scalar, plan.bounds) {
        (ScalarName::F32, _) => {
            let computed = in_f32(&case, plan.stages).map_err(|error| cannot(plan, error))?;
            written(computed.write(&plan.output, &case, None))?;
            String::new()
        }
        (ScalarName::F64, model) => exact(&case, plan, model)?,
    };
    let scene = &case.scene;
    writeln!(
        out,
        "{}: {}, {} of {}x{} pixels, convention {}, {}",
        plan.output.display(),
        count(scene.gaussians.len(), "Gaussian"),
        count(scene.cameras.len(), "image"),
        scene.width,
        scene.height,
        case.convention.profile.name(),
        plan.scalar,
    )?;
    write!(out, "{report}")?;
    Ok(Outcome::Agree)
}

fn cannot(plan: &OraclePlan, error: TooManyPairs) -> CliError {
    CliError::caused(format!("{}: cannot render the case", plan.case.display()), error)
}

/// Computes and writes the result in f64 with its bounds, if there are any; answers with a report of them.
fn exact(case: &Case, plan: &OraclePlan, model: Option<ModelName>) -> Result<String, CliError> {
    let bar = Progress::new("oracle", "steps", 1 + u64::from(model.is_some()));
    let computed = in_f64(case, plan.stages).map_err(|error| cannot(plan, error))?;
    bar.inc(1);
    let bounds = model.map(|model| computed.bounds(case, model.arithmetic())).transpose();
    let bounds = bounds.map_err(|error| cannot(plan, error))?;
    bar.finish_and_clear();
    let report = bounds
        .as_ref()
        .map(|(radii, undecided)| sharpness::report(radii, undecided, &computed.gradients));
    written(computed.write(&plan.output, case, bounds.map(|(radii, _)| radii)))?;
    Ok(report.unwrap_or_default())
}
