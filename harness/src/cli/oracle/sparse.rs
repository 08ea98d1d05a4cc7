//! `splatcheck oracle` of a case of sparse convolution.

use std::io::Write;

use super::super::contract::ModelName;
use super::super::exit::{CliError, Outcome};
use super::super::sharpness;
use super::only_of_splats;
use super::options::{OraclePlan, ScalarName};
use splatcheck_judge::words::count;
use splatcheck_reference::arithmetic::{Cuda, CudaFast, Ieee, Model, Wgsl, WgslExpZero};
use splatcheck_reference::sparse::Products;
use splatcheck_workloads::sparse::case::Case;
use splatcheck_workloads::sparse::result_file::write_result;

/// Carries out the plan.
///
/// # Errors
/// See [`CliError`].
pub(super) fn run(plan: &OraclePlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    only_of_splats(plan, "sparse convolution")?;
    let case =
        Case::read(&plan.case).map_err(|error| CliError::caused("cannot read the case", error))?;
    let mut report = String::new();
    let written = match (plan.scalar, plan.bounds) {
        (ScalarName::F32, _) => {
            write_result(&plan.output, &case, case.layer().products::<f32>(), None)
        }
        (ScalarName::F64, model) => {
            let products = case.layer().products::<f64>();
            let radii = model.map(|model| radii(&case, model));
            if let Some((model, radii)) = &radii {
                report = sharpness::text(model, &[], rows(&products, radii));
            }
            write_result(&plan.output, &case, products, radii)
        }
    };
    written.map_err(|error| CliError::caused("cannot write the result", error))?;
    writeln!(
        out,
        "{}: {} to {} by {}, {}, {}",
        plan.output.display(),
        count(case.sites, "site"),
        case.map.out_coords.len(),
        count(case.layer().offsets, "kernel offset"),
        count(case.map.pairs.len(), "pair"),
        plan.scalar,
    )?;
    write!(out, "{report}")?;
    Ok(Outcome::Agree)
}

/// The radii under a model, with its name.
fn radii(case: &Case, model: ModelName) -> (&'static str, Products<f64>) {
    let layer = case.layer();
    match model {
        ModelName::Ieee => (Ieee::TABLE.name, layer.radii::<Ieee>()),
        ModelName::Wgsl => (Wgsl::TABLE.name, layer.radii::<Wgsl>()),
        ModelName::WgslExp0 => (WgslExpZero::TABLE.name, layer.radii::<WgslExpZero>()),
        ModelName::Cuda => (Cuda::TABLE.name, layer.radii::<Cuda>()),
        ModelName::CudaFast => (CudaFast::TABLE.name, layer.radii::<CudaFast>()),
    }
}

fn rows(products: &Products<f64>, radii: &Products<f64>) -> Vec<Vec<String>> {
    [
        ("out", &products.out, &radii.out),
        ("v_feats", &products.v_feats, &radii.v_feats),
        ("v_weights", &products.v_weights, &radii.v_weights),
    ]
    .map(|(name, values, bounds)| sharpness::row(name, &[values], &[bounds]))
    .to_vec()
}
