//! `--save`: the first case as a file, with what the kernel makes of it.

use std::collections::BTreeMap;
use std::path::Path;

use splatcheck_gpu::{EngineError, Stage, Tensors};

use safetensors::Dtype;

use super::options::PtxPlan;
use crate::cli::exit::CliError;
use crate::manifest::{Keeping, Kept, Number};
use crate::user_kernel::UserProgram;
use splatcheck_judge::campaign::Item;
use splatcheck_judge::campaign::once::outputs_of;
use splatcheck_judge::engines::command::array_parts;
use splatcheck_judge::io::container::{self, Entry, Part, RawEntry};
use splatcheck_judge::io::write::write_file;
use splatcheck_judge::judge::{Arithmetic, OutputBound};
use splatcheck_judge::workload::{AnyCase, views};
use splatcheck_reference::splat::Formulation;

const NOTHING: &str = "--save: the manifest has no array of its own (zeros, poison, random, values, iota, buffer), \
                       and there is no case: give one with --case";

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
        let case = format!("case {}, view {view}", case.name());
        return write(plan, [("case", case), ("stage", stage.to_string())], &parts, file);
    }
    Err(CliError::new("--save: no case has arrays for the kernel: give others"))
}

/// The same of a kernel without an oracle; without a case, the arrays of its manifest behind the last launch. `false`
/// where no device launches the kernel on the case.
///
/// # Errors
/// As [`judged`]; that there is nothing to save.
pub(super) fn observed(
    plan: &PtxPlan,
    stage: Stage,
    (case, inputs): (&str, &Tensors),
    file: &Path,
) -> Result<bool, CliError> {
    let place = (stage, plan.reduction_of(stage));
    let mut engine = plan.kernel.open(plan.emulations[0].options(), place).map_err(CliError::of)?;
    let mut keeping = None;
    let outputs = match &plan.kernel.program {
        UserProgram::Manifest(kernel) if inputs.is_empty() => {
            engine.run_foreign(keeping.insert(Keeping::of(kernel)), inputs)
        }
        UserProgram::Manifest(kernel) => engine.run_foreign(kernel.as_ref(), inputs),
        UserProgram::Interface(_) => {
            let settings = [Some(plan.setting)];
            let work = [splatcheck_gpu::Work { inputs, settings: &settings }];
            let all = splatcheck_gpu::Engine::run(&mut engine, stage, &work);
            all.map(|mut all| all.pop().and_then(|mut one| one.pop()).unwrap_or_default())
        }
    };
    let has_ended = match &outputs {
        Err(limit) if limit.is_a_limit() => return Ok(false),
        outputs => outputs.is_ok(),
    };
    let outputs = or_nothing(outputs)?;
    match keeping.map(Keeping::into_kept) {
        Some(arrays) if has_ended && arrays.is_empty() => Err(CliError::new(NOTHING)),
        Some(arrays) => kept(plan, case, &arrays, file),
        None => {
            let mut parts = array_parts(inputs, "");
            parts.extend(array_parts(&outputs, "f32_"));
            write(plan, [("case", case.to_owned()), ("stage", stage.to_string())], &parts, file)
        }
    }
    .map(|()| true)
}

/// Writes arrays of a manifest's own.
fn kept(plan: &PtxPlan, case: &str, arrays: &[Kept], file: &Path) -> Result<(), CliError> {
    let one = |kept: &Kept| -> Box<dyn Part> {
        let Kept { name, number, shape, bytes, unwritten: _ } = kept.clone();
        Box::new(RawEntry { name, dtype: dtype(number), shape, bytes })
    };
    let gaps = arrays.iter().filter(|kept| kept.unwritten > 0);
    let gaps: Vec<_> = gaps
        .map(|kept| format!("{} of {} bytes of {}", kept.unwritten, kept.bytes.len(), kept.name))
        .collect();
    let parts: Vec<_> = arrays.iter().map(one).collect();
    write(plan, [("case", case.to_owned()), ("never_written", gaps.join(", "))], &parts, file)
}

/// How headers name a type.
fn dtype(number: Number) -> Dtype {
    match number {
        Number::U8 => Dtype::U8,
        Number::U32 => Dtype::U32,
        Number::I32 => Dtype::I32,
        Number::U64 => Dtype::U64,
        Number::I64 => Dtype::I64,
        Number::F32 => Dtype::F32,
        Number::F64 => Dtype::F64,
    }
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
    about: [(&str, String); 2],
    parts: &[Box<dyn Part>],
    file: &Path,
) -> Result<(), CliError> {
    let kernel = ("kernel", plan.kernel.to_string());
    let metadata: BTreeMap<String, String> =
        about.into_iter().chain([kernel]).map(|(key, text)| (key.to_owned(), text)).collect();
    let parts: Vec<&dyn Part> = parts.iter().map(AsRef::as_ref).collect();
    let bytes = container::encode_parts(&metadata, &parts);
    let bytes = bytes.map_err(|problem| CliError::of(problem.in_file(file)))?;
    write_file(file, &bytes).map_err(CliError::of)
}
