//! `--save`: the first case as a file, with what the kernel makes of it.

use std::collections::BTreeMap;
use std::path::Path;

use splatcheck_gpu::{EngineError, Stage, Tensors};

use super::options::PtxPlan;
use crate::cli::exit::CliError;
use crate::user_kernel::UserProgram;
use splatcheck_judge::campaign::Item;
use splatcheck_judge::campaign::once::outputs_of;
use splatcheck_judge::engines::command::array_parts;
use splatcheck_judge::io::container::{self, Entry, Part};
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::judge::{Arithmetic, OutputBound};
use splatcheck_judge::workload::{AnyCase, views};
use splatcheck_reference::splat::Formulation;

/// Writes the first case that the kernel is for: inputs under their names, `f32_NAME` of each output, and in f64
/// `exact_NAME`. A kernel that is stopped has no outputs.
///
/// # Errors
/// The case cannot be prepared, or the file not be written.
pub(super) fn judged(
    plan: &PtxPlan,
    formulation: Formulation,
    file: &Path,
) -> Result<(), CliError> {
    let stage = plan.kernel.stage(formulation);
    let judged = |case: &AnyCase| plan.kernel.judged(case, formulation).map_err(CliError::of);
    for (case, view) in views(plan.subject.iter()) {
        let item = Item::of(judged(&case)?, view, &|one| one == stage).map_err(CliError::of)?;
        let Some(job) = item.job(stage) else { continue };
        let emulation = plan.emulations[0];
        let place = (stage, plan.reduction_of(stage));
        let mut engine = plan.kernel.open(emulation.options(), place).map_err(CliError::of)?;
        let setting = place.1.map(|_| plan.setting);
        let outputs = or_nothing(outputs_of(&mut engine, job, setting))?;
        let arithmetic = if emulation.fast_math { Arithmetic::CudaFast } else { Arithmetic::Cuda };
        let expected = job.expectation_of(arithmetic, &outputs);
        let mut parts = array_parts(&job.inputs, "");
        parts.extend(array_parts(&outputs, "f32_"));
        for output in expected.outputs() {
            let values = exact(&output.bound);
            let name = format!("exact_{}", output.name);
            parts.push(Box::new(Entry::named(name, output.shape.clone(), values)));
        }
        return write(plan, stage, &format!("case {}, view {view}", case.name()), &parts, file);
    }
    Err(CliError::new("--save: no case has arrays for the kernel: give others"))
}

/// The same of a kernel without an oracle.
///
/// # Errors
/// As [`judged`].
pub(super) fn observed(
    plan: &PtxPlan,
    stage: Stage,
    (case, inputs): (&str, &Tensors),
    file: &Path,
) -> Result<(), CliError> {
    let place = (stage, plan.reduction_of(stage));
    let mut engine = plan.kernel.open(plan.emulations[0].options(), place).map_err(CliError::of)?;
    let outputs = match &plan.kernel.program {
        UserProgram::Manifest(kernel) => engine.run_foreign(kernel.as_ref(), inputs),
        UserProgram::Interface(_) => {
            let settings = [Some(plan.setting)];
            let work = [splatcheck_gpu::Work { inputs, settings: &settings }];
            let all = splatcheck_gpu::Engine::run(&mut engine, stage, &work);
            all.map(|mut all| all.pop().and_then(|mut one| one.pop()).unwrap_or_default())
        }
    };
    let mut parts = array_parts(inputs, "");
    parts.extend(array_parts(&or_nothing(outputs)?, "f32_"));
    write(plan, stage, case, &parts, file)
}

/// The outputs; none of a kernel that is stopped, as the verdict says.
fn or_nothing(outputs: Result<Tensors, EngineError>) -> Result<Tensors, CliError> {
    match outputs {
        Err(EngineError::Device(_) | EngineError::NoEnd(_)) => Ok(Tensors::new()),
        other => other.map_err(CliError::of),
    }
}

/// What the oracle computes in f64.
fn exact(bound: &OutputBound) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "places and flags are far below 2^53")]
    let whole = |all: &[i64]| all.iter().map(|&one| one as f64).collect();
    match bound {
        OutputBound::Interval(all) => all.iter().map(|bound| bound.0).collect(),
        OutputBound::Sum(all) => all.iter().map(|bound| bound.value).collect(),
        OutputBound::OneOf(allowed) => whole(&allowed.oracle),
        OutputBound::DerivedFrom(derived) => whole(&derived.oracle),
    }
}

fn write(
    plan: &PtxPlan,
    stage: Stage,
    case: &str,
    parts: &[Box<dyn Part>],
    file: &Path,
) -> Result<(), CliError> {
    let metadata: BTreeMap<String, String> = [
        ("case", case.to_owned()),
        ("stage", stage.to_string()),
        ("kernel", plan.kernel.to_string()),
    ]
    .map(|(key, text)| (key.to_owned(), text))
    .into();
    let parts: Vec<&dyn Part> = parts.iter().map(AsRef::as_ref).collect();
    let bytes = container::encode_parts(&metadata, &parts);
    let bytes = bytes.map_err(|problem| CliError::of(problem.in_file(file)))?;
    write_file(file, &bytes).map_err(CliError::of)
}
