//! `splatcheck oracle` of a case of sums by key.

use std::io::Write;

use super::super::exit::{CliError, Outcome};
use super::super::sharpness;
use super::options::{OraclePlan, ScalarName, only_of_splats, written};
use splatcheck_judge::words::count;
use splatcheck_workloads::scatter::case::Case;
use splatcheck_workloads::scatter::result_file::{in_f32, in_f64, radii_under, write_result};

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`].
pub(super) fn run(plan: &OraclePlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    only_of_splats(plan, "sums by key")?;
    let (case, _) =
        Case::read(&plan.case).map_err(|error| CliError::caused("cannot read the case", error))?;
    let numbers = &case.numbers;
    let mut report = String::new();
    let result = match (plan.scalar, plan.bounds) {
        (ScalarName::F32, _) => write_result(&plan.output, numbers, in_f32(numbers), None),
        (ScalarName::F64, model) => {
            let sums = in_f64(numbers);
            let radii = model.map(|model| radii_under(model.arithmetic(), numbers));
            if let Some((model, radii)) = &radii {
                let rows = vec![sharpness::row("sums", &[&sums], &[radii])];
                report = sharpness::text(model, &[], rows);
            }
            write_result(&plan.output, numbers, sums, radii)
        }
    };
    written(result)?;
    writeln!(
        out,
        "{}: {} of {}, {}, {}",
        plan.output.display(),
        count(numbers.len(), "element"),
        count(numbers.width, "value"),
        count(numbers.rows(), "row"),
        plan.scalar,
    )?;
    write!(out, "{report}")?;
    Ok(Outcome::Agree)
}
