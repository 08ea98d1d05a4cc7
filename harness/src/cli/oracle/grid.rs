//! `splatcheck oracle` of a case of grid encodings.

use std::io::Write;

use super::super::contract::ModelName;
use super::super::exit::{CliError, Outcome};
use super::super::sharpness;
use super::options::{OraclePlan, ScalarName, only_of_splats, written};
use splatcheck_judge::io::InputError;
use splatcheck_workloads::grid::case::Points;
use splatcheck_workloads::grid::case_file::{AnyCaseFile, read_any};
use splatcheck_workloads::grid::growth::LevelTableCase;
use splatcheck_workloads::grid::result_file::{Outputs, Radii, write_result};

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`].
pub(super) fn run(plan: &OraclePlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    only_of_splats(plan, "grid encodings")?;
    let cannot = |error: InputError| CliError::caused("cannot read the case", error);
    let case = match read_any(&plan.case).map_err(cannot)? {
        AnyCaseFile::Points(case, _) => case.numbers,
        AnyCaseFile::Growth(case, _) => return level_table(plan, &case),
    };
    let report = match (plan.scalar, plan.bounds) {
        (ScalarName::F32, _) => {
            written(write_result(&plan.output, &case, Outputs::in_f32(&case), None))?;
            String::new()
        }
        (ScalarName::F64, model) => in_f64(plan, &case, model)?,
    };
    let (grid, points) = (&case.grid, case.points());
    let dense = grid.levels().iter().filter(|level| level.dense).count();
    writeln!(
        out,
        "{}: {points} points of {} dimensions, {} levels of which {dense} are dense, {} entries of {} features, {}",
        plan.output.display(),
        grid.dimensions(),
        grid.levels().len(),
        grid.entries(),
        grid.features(),
        plan.scalar,
    )?;
    write!(out, "{report}")?;
    Ok(Outcome::Agree)
}

/// What a level table is judged by depends on what the program itself has, which no file of bounds can say.
fn level_table(plan: &OraclePlan, case: &LevelTableCase) -> Result<Outcome, CliError> {
    let file = plan.case.display();
    Err(CliError::new(format!(
        "{file}: {} is a level table, whose entries and offsets follow from a program's own resolutions; judge \
         it by 'splatcheck check --command COMMAND --level grid_forward --case {file}'",
        case.name
    )))
}

/// Computes and writes the result with its bounds, if there are any; answers with a report of them.
fn in_f64(plan: &OraclePlan, case: &Points, model: Option<ModelName>) -> Result<String, CliError> {
    let outputs = Outputs::in_f64(case);
    let radii = model.map(|model| Radii::under(model.arithmetic(), case));
    let report = radii.as_ref().map(|radii| report(case, &outputs, radii));
    let radii = radii.map(|radii| (radii.model, radii.outputs));
    written(write_result(&plan.output, case, outputs, radii))?;
    Ok(report.unwrap_or_default())
}

/// How sharp the bounds are, level by level: the fraction of a fine level has few bits.
fn report(case: &Points, outputs: &Outputs<f64>, radii: &Radii) -> String {
    let (levels, width) = (case.grid.levels(), case.grid.features());
    let mut rows = Vec::new();
    for (l, level) in levels.iter().enumerate() {
        let of = |all: &[f64]| -> Vec<f64> {
            let rows = all.chunks_exact(levels.len() * width);
            rows.flat_map(|row| row[l * width..][..width].to_vec()).collect()
        };
        let (values, bounds) = (of(&outputs.features), of(&radii.outputs.features));
        let name = format!("features, level {l} (r {})", level.resolution);
        rows.push(sharpness::row(&name, &[&values], &[&bounds]));
    }
    for (name, values, bounds) in [
        ("v_table", &outputs.v_table, &radii.outputs.v_table),
        ("v_positions", &outputs.v_positions, &radii.outputs.v_positions),
    ] {
        rows.push(sharpness::row(name, &[values], &[bounds]));
    }
    if let (Some(values), Some(bounds)) = (&outputs.v_mask, &radii.outputs.v_mask) {
        rows.push(sharpness::row("v_mask", &[values], &[bounds]));
    }
    sharpness::text(radii.model, &radii.undecided.named(), rows)
}
