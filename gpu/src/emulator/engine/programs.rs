//! The programs that the emulator runs: artifacts, kernels in WGSL, and what a user puts in their place.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use splatcheck_emulator::{ApproximationMode, Module, WARP};

use super::{EmulatorEngine, EmulatorOptions};
use crate::artifact::{Artifact, Channels};
use crate::engine::{EngineError, FloatAtomics};
use crate::mutation::Edit;
use crate::reduction::Reduction;
use crate::source_lines::SourceLines;
use crate::stage::Language;
use crate::wgsl::Variant;
use crate::wgsl::lower::{Bound, PtxKernel, Target, lower};

/// A program that runs in an artifact's place.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) module: Module,
    pub(super) entry: String,
    /// What its parameters are, of one in WGSL.
    pub(super) bindings: Option<Vec<Bound>>,
    /// Invocations of a workgroup, of one in WGSL; zeros where the launch says so.
    pub(super) block: [u32; 3],
}

/// The program of an artifact.
pub(super) fn loaded<'a>(
    programs: &'a mut BTreeMap<(Artifact, bool), Program>,
    artifact: &Artifact,
    options: &EmulatorOptions,
) -> Result<&'a Program, EngineError> {
    match programs.entry((*artifact, flushes(options))) {
        Entry::Occupied(loaded) => Ok(loaded.into_mut()),
        Entry::Vacant(place) => Ok(place.insert(load(artifact, options)?)),
    }
}

fn load(artifact: &Artifact, options: &EmulatorOptions) -> Result<Program, EngineError> {
    let failed = |message| EngineError::Compile { kernel: artifact.file(), message };
    let lane_width = options.lane_width;
    let (ptx, entry, bindings, block) = match options.language {
        Language::Ptx => {
            let ptx = artifact.ptx().map_err(|e| failed(e.to_string()))?;
            (ptx.to_owned(), artifact.entry(), None, [0; 3])
        }
        Language::Wgsl => {
            let PtxKernel { ptx, buffers, workgroup } =
                lowered(artifact, (lane_width, flushes(options)), options.edit.as_ref())?;
            let entry = artifact.spec().map_or("", |row| row.text.name).to_owned();
            (ptx, entry, Some(buffers), workgroup)
        }
    };
    let module = Module::parse(&ptx).map_err(|e| failed(e.to_string()))?;
    let lane_width = match options.language {
        Language::Ptx => lane_width,
        Language::Wgsl => warp_of(lane_width),
    };
    Ok(Program { module: on_machine(module, lane_width)?, entry, bindings, block })
}

/// The kernel in WGSL of an artifact's stage and setting, lowered for a machine with so many lanes. What
/// workgroup memory holds before it is written is nothing: the kernels rely on no zeros.
///
/// # Errors
/// [`EngineError::Compile`] where it is not WGSL or needs what the emulator does not have.
pub(super) fn lowered(
    artifact: &Artifact,
    (lanes, flush): (u32, bool),
    edit: Option<&Edit>,
) -> Result<PtxKernel, EngineError> {
    let failed = |message| EngineError::Compile { kernel: artifact.file(), message };
    let row = artifact.spec().ok_or_else(|| failed("no stage has it".to_owned()))?;
    let size = match artifact.channels {
        Some(Channels::Exactly(size) | Channels::UpTo(size)) => size,
        None => 1,
    };
    let reduction = artifact.reduction;
    let variant = Variant { size, reduction, atomics: FloatAtomics::Native };
    let (mut source, files) = (row.source(variant), row.source_files(variant));
    if let Some(edit) = edit {
        source = edit.apply(&source);
    }
    let target = Target { zeros: false, flush, ..Target::of_user(lanes) };
    lower(&source, &files, row.text.name, &HashMap::new(), target)
        .map_err(|error| failed(error.to_string()))
}

/// Whether a run of a kernel in WGSL takes subnormal floats for zeros: with the odd seeds of a schedule, which also
/// draw what approximate instructions give. A run that is made again has them still.
pub(super) fn flushes(options: &EmulatorOptions) -> bool {
    match (options.language, options.schedule.approximation) {
        (Language::Wgsl, ApproximationMode::Perturbed(seed)) => seed % 2 == 1,
        (Language::Ptx, _) | (_, ApproximationMode::Nearest) => false,
    }
}

/// Lanes of the warps that subgroups are made of: a subgroup of 64 lanes is two.
pub(super) fn warp_of(lanes: u32) -> u32 {
    lanes.min(WARP)
}

pub(super) fn on_machine(module: Module, lane_width: u32) -> Result<Module, EngineError> {
    module.with_lane_width(lane_width).map_err(|e| EngineError::Input(e.to_string()))
}

/// A program with this entry point, on a machine with so many lanes a warp.
fn entry_of(ptx: &str, entry: &str, lane_width: u32) -> Result<Module, EngineError> {
    let failed = |message| EngineError::Compile { kernel: entry.to_owned(), message };
    let module = Module::parse(ptx).map_err(|e| failed(e.to_string()))?;
    if let Some(refusal) = module.refusal(entry) {
        return Err(failed(refusal.to_string()));
    }
    if !module.kernels().any(|kernel| kernel == entry) {
        return Err(failed(format!("the program has no entry point {entry}")));
    }
    on_machine(module, lane_width)
}

impl EmulatorEngine {
    /// Names the lines of CUDA C++ that an artifact was compiled from where its PTX does not: conventions are by them.
    pub(in crate::emulator) fn name_lines(
        &mut self,
        artifact: &Artifact,
    ) -> Result<(), EngineError> {
        let lines = SourceLines::of(artifact);
        let lines = lines.map_err(|why| EngineError::Input(why.to_string()))?;
        loaded(&mut self.programs, artifact, &self.options)?;
        let place = (*artifact, flushes(&self.options));
        if let Some(Program { module, entry, .. }) = self.programs.get_mut(&place) {
            module.name_origins(entry, |line| Some(lines.at(line)?.at.to_string()));
        }
        Ok(())
    }

    /// Runs the entry point of another program in place of the artifacts of a stage and reduction,
    /// for every number of channels. It must take the
    /// artifacts' parameters; a difference in their number or sizes is an error of the launch.
    ///
    /// # Errors
    /// [`EngineError::Compile`] where the program does not parse or has no such entry point.
    pub fn replace(
        &mut self,
        stage: &'static str,
        reduction: Option<Reduction>,
        ptx: &str,
        entry: &str,
    ) -> Result<(), EngineError> {
        let module = entry_of(ptx, entry, self.options.lane_width)?;
        let program = Program { module, entry: entry.to_owned(), bindings: None, block: [0; 3] };
        self.replaced.insert((stage, reduction), program);
        self.coverage.retain(|ran, _| (ran.stage, ran.reduction) != (stage, reduction));
        Ok(())
    }

    /// The same of a kernel in WGSL: a changed text of what it was lowered to ([`EmulatorEngine::ptx`]), which has its
    /// buffers.
    ///
    /// # Errors
    /// As [`Self::replace`].
    pub fn replace_lowered(&mut self, artifact: &Artifact, ptx: &str) -> Result<(), EngineError> {
        let Program { entry, bindings, block, .. } =
            loaded(&mut self.programs, artifact, &self.options)?;
        let (entry, bindings, block) = (entry.clone(), bindings.clone(), *block);
        let (stage, reduction) = (artifact.stage, artifact.reduction);
        let lanes = warp_of(self.options.lane_width);
        let module = entry_of(ptx, &entry, lanes)?;
        self.replaced.insert((stage, reduction), Program { module, entry, bindings, block });
        self.coverage.retain(|ran, _| (ran.stage, ran.reduction) != (stage, reduction));
        Ok(())
    }

    /// Runs the artifacts again in place of every program of [`Self::replace`].
    pub fn restore(&mut self) {
        self.replaced.clear();
    }
}
