//! The kernels that are changed: artifacts of this repository, or one of a user's own.

use super::super::class::{Class, Trial};
use super::super::emulated::{stage_of, takes};
use super::super::matrix::kernel_name;
use super::own::{Own, OwnProgram, OwnText};
use super::{GeneratedError, Source, opcode};
use splatcheck_emulator::mutate::{Mutation, MutationKind, mutations};
use splatcheck_emulator::{Observers, WARP};
use splatcheck_gpu::artifact::{self, Artifact};
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::source_lines::{SourceLine, SourceLines};
use splatcheck_gpu::stage::Language;
use splatcheck_gpu::{EngineError, Reduction, Setting, Stage};
use splatcheck_judge::io::read;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A kernel as it is, and everything that can be changed about it.
#[derive(Clone, Debug)]
pub struct Subject {
    program: Program,
    /// Everything that can be changed, by line.
    pub mutations: Vec<Mutation>,
    lines: SourceLines,
    /// The sources of [`Program::Own`] that are at hand, line by line.
    sources: BTreeMap<String, Vec<String>>,
    /// Which of the instructions with the same opcode and line of CUDA each line of PTX is, from 1.
    numbers: BTreeMap<u32, usize>,
}

/// Whose kernel it is.
#[derive(Clone, Debug)]
enum Program {
    /// An artifact, with its PTX.
    Artifact(Artifact, &'static str),
    /// The kernel in WGSL of an artifact's stage and setting, lowered for subgroups of so many lanes.
    Lowered {
        /// The artifact.
        kernel: Artifact,
        /// Lanes of a subgroup.
        lanes: u32,
        /// What it was lowered to.
        ptx: String,
        /// Its entry point.
        entry: String,
    },
    /// A user's, with the text that is changed.
    Own(Box<Own>, Box<OwnText>),
}

impl Subject {
    fn new(program: Program, lines: SourceLines) -> Result<Self, GeneratedError> {
        let mut subject = Self {
            program,
            mutations: Vec::new(),
            lines,
            sources: BTreeMap::new(),
            numbers: BTreeMap::new(),
        };
        subject.mutations = mutations(subject.ptx(), &subject.entry())?;
        if subject.is_wgsl() {
            // What `--use_fast_math` does is a device's right in WGSL.
            subject.mutations.retain(|mutation| mutation.kind != MutationKind::FastInstruction);
        }
        if subject.mutations.is_empty() {
            return Err(GeneratedError::Asked(format!(
                "kernel '{}' has no instruction that can be changed: there are no mutants to make",
                subject.name()
            )));
        }
        let mut met: BTreeMap<_, usize> = BTreeMap::new();
        for mutation in &subject.mutations {
            if subject.numbers.contains_key(&mutation.line) {
                continue;
            }
            let text = subject.source(mutation.line).and_then(|source| source.text);
            let number = met.entry((text, opcode(&mutation.instruction).to_owned())).or_default();
            *number += 1;
            subject.numbers.insert(mutation.line, *number);
        }
        Ok(subject)
    }

    /// A user's kernel, which is tried on these classes.
    ///
    /// # Errors
    /// Nothing of it can be changed; what an engine says of a program that cannot be lowered.
    pub fn own(own: Own, classes: &[Class]) -> Result<Self, GeneratedError> {
        let text = Box::new(own.text(classes)?);
        let lines = SourceLines::in_text(text.ptx());
        let mut subject = Self::new(Program::Own(Box::new(own), text), lines)?;
        let lines = subject.mutations.iter().map(|mutation| mutation.line);
        let files: BTreeSet<_> =
            lines.filter_map(|line| Some(subject.lines.at(line)?.at.file.clone())).collect();
        for file in files {
            // A source that is not at hand is named, and not shown.
            if let Ok(text) = read::text(Path::new(&file)) {
                let lines = text.lines().map(|line| line.trim().to_owned()).collect();
                subject.sources.insert(file, lines);
            }
        }
        Ok(subject)
    }

    /// The kernel's name in reports: an artifact's with its number of channels, without its
    /// architecture.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.program {
            Program::Artifact(kernel, _) => kernel_name(kernel),
            Program::Lowered { kernel, lanes, .. } => {
                format!("{} (WGSL, {lanes} lanes)", kernel_name(kernel))
            }
            Program::Own(own, _) => match own.program() {
                OwnProgram::Ptx(kernel) => kernel.to_string(),
                OwnProgram::Wgsl { lanes, .. } => format!("{} (WGSL, {lanes} lanes)", own.entry()),
            },
        }
    }

    /// The workload whose cases are for it.
    #[must_use]
    pub fn workload(&self) -> &'static str {
        match &self.program {
            Program::Artifact(kernel, _) | Program::Lowered { kernel, .. } => kernel.workload(),
            Program::Own(own, _) => own.stage().spec().workload,
        }
    }

    /// Whether it is in WGSL.
    pub(super) fn is_wgsl(&self) -> bool {
        match &self.program {
            Program::Artifact(..) => false,
            Program::Lowered { .. } => true,
            Program::Own(_, text) => matches!(**text, OwnText::Wgsl(_)),
        }
    }

    /// The user's kernel, if it is one.
    #[must_use]
    pub fn as_own(&self) -> Option<&Own> {
        match &self.program {
            Program::Artifact(..) | Program::Lowered { .. } => None,
            Program::Own(own, _) => Some(own),
        }
    }

    /// Its PTX.
    #[must_use]
    pub fn ptx(&self) -> &str {
        match &self.program {
            Program::Artifact(_, ptx) => ptx,
            Program::Lowered { ptx, .. } => ptx,
            Program::Own(_, text) => text.ptx(),
        }
    }

    /// Which of the instructions with the same opcode and line of CUDA a line of PTX is, from 1.
    pub(super) fn number(&self, line: u32) -> usize {
        self.numbers.get(&line).copied().unwrap_or_default()
    }

    /// The kernel's entry point.
    pub(super) fn entry(&self) -> Cow<'_, str> {
        match &self.program {
            Program::Artifact(kernel, _) => kernel.entry().into(),
            Program::Lowered { entry, .. } => entry.as_str().into(),
            Program::Own(own, _) => own.entry().into(),
        }
    }

    /// Stage and reduction of the artifacts in whose place it runs.
    pub(super) fn place(&self) -> (&'static str, Option<Reduction>) {
        match &self.program {
            Program::Artifact(kernel, _) | Program::Lowered { kernel, .. } => {
                (kernel.stage, kernel.reduction)
            }
            Program::Own(own, _) => {
                let reduction = own.setting().map(|setting| setting.reduction);
                (own.stage().spec().name, reduction)
            }
        }
    }

    /// Whether it is the second launch of a run.
    pub(super) fn is_second_launch(&self) -> bool {
        match &self.program {
            Program::Artifact(kernel, _) | Program::Lowered { kernel, .. } => {
                kernel.is_second_launch()
            }
            Program::Own(..) => false,
        }
    }

    /// The stage, and the settings to run it with.
    pub(super) fn stage(&self) -> Result<(Stage, Vec<Option<Setting>>), EngineError> {
        match &self.program {
            Program::Artifact(kernel, _) => stage_of(kernel, WARP),
            Program::Lowered { kernel, lanes, .. } => stage_of(kernel, *lanes),
            Program::Own(own, _) => Ok((own.stage(), vec![own.setting()])),
        }
    }

    /// Whether the kernel is made for the case.
    pub(super) fn takes(&self, stage: Stage, trial: &Trial) -> bool {
        match &self.program {
            Program::Artifact(kernel, _) | Program::Lowered { kernel, .. } => {
                takes(kernel, stage, trial)
            }
            Program::Own(own, text) => trial
                .job(stage)
                .is_some_and(|job| own.takes(&trial.item.case) && text.is_for(&job.inputs)),
        }
    }

    /// Opens an emulator that has the kernel as it is.
    pub(super) fn open(&self, observers: Observers) -> Result<EmulatorEngine, EngineError> {
        let fast_math = self.as_own().is_some_and(|own| own.fast_math);
        let mut options = EmulatorOptions { fast_math, observers, ..EmulatorOptions::default() };
        let of_own = self.as_own().map(Own::program);
        match (&self.program, of_own) {
            (Program::Lowered { lanes, .. }, _) | (_, Some(OwnProgram::Wgsl { lanes, .. })) => {
                (options.language, options.lane_width) = (Language::Wgsl, *lanes);
            }
            (Program::Artifact(..) | Program::Own(..), _) => {}
        }
        let mut engine = EmulatorEngine::open(options)?;
        if self.as_own().is_some() {
            self.install(&mut engine, self.ptx())?;
        }
        Ok(engine)
    }

    /// Lets an engine run a text in the kernel's place.
    pub(super) fn install(
        &self,
        engine: &mut EmulatorEngine,
        ptx: &str,
    ) -> Result<(), EngineError> {
        let (stage, reduction) = self.place();
        match &self.program {
            Program::Artifact(..) => engine.replace(stage, reduction, ptx, &self.entry()),
            Program::Lowered { kernel, .. } => engine.replace_lowered(kernel, ptx),
            Program::Own(own, text) => text.install(engine, (own.stage(), reduction), ptx),
        }
    }

    /// Whether it is launched by a manifest, so that an engine does not count its coverage.
    pub(super) fn has_manifest(&self) -> bool {
        self.as_own().is_some_and(|own| own.program().manifest().is_some())
    }

    /// The line of CUDA or WGSL that a line of the PTX was compiled from.
    #[must_use]
    pub fn source(&self, line: u32) -> Option<Source> {
        let line = &self.lines.at(line)?.at;
        let text = match &self.program {
            Program::Artifact(..) => line.text().map(str::to_owned),
            Program::Lowered { .. } | Program::Own(..) => self.own_text(line).cloned(),
        };
        Some(Source { line: line.clone(), text })
    }

    fn own_text(&self, line: &SourceLine) -> Option<&String> {
        self.sources.get(&line.file)?.get((line.line as usize).checked_sub(1)?)
    }
}

/// The unchanged kernels, one for each stage and reduction: without fast math, for exactly so many
/// channels where there is one for any number too. By name where some are named. In WGSL if they are for subgroups of
/// so many lanes.
///
/// # Errors
/// There is no such kernel; an artifact that is not as it was compiled.
pub fn subjects(names: &[String], wgsl: Option<u32>) -> Result<Vec<Subject>, GeneratedError> {
    let mut met = BTreeSet::new();
    let mut kernels = artifact::all();
    kernels.retain(|kernel| {
        !kernel.fast_math
            && kernel.judged().is_some()
            && met.insert((kernel.stage, kernel.reduction))
    });
    for name in names {
        let is = |kernel: &Artifact| kernel_name(kernel) == *name || kernel.entry() == *name;
        if !kernels.iter().any(is) {
            let known = kernels.iter().map(kernel_name).collect::<Vec<_>>().join(", ");
            return Err(GeneratedError::Asked(format!(
                "there is no kernel '{name}': expected one of {known}"
            )));
        }
    }
    kernels.retain(|kernel| {
        let named = |name: &String| *name == kernel_name(kernel) || *name == kernel.entry();
        names.is_empty() || names.iter().any(named)
    });
    let subject = |kernel: Artifact| {
        if let Some(lanes) = wgsl {
            let ptx = EmulatorEngine::ptx(&kernel, Language::Wgsl, lanes)?;
            let lines = SourceLines::in_text(&ptx);
            let entry = kernel.spec().map_or("", |row| row.text.name).to_owned();
            return Subject::new(Program::Lowered { kernel, lanes, ptx, entry }, lines);
        }
        let lines = SourceLines::of(&kernel).unwrap_or_default();
        Subject::new(Program::Artifact(kernel, kernel.ptx()?), lines)
    };
    kernels.into_iter().map(subject).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_must_exist() {
        let error = subjects(&["rasterise".to_owned()], None).expect_err("another name");
        assert!(error.to_string().contains("rasterize_backward_sw_b.d3"), "{error}");
        assert!(subjects(&[], None).expect("all kernels").len() > 10, "all kernels");
    }
}
