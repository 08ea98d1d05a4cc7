//! A kernel of a user's own whose mutants are made.

use std::fmt;
use std::sync::Arc;

use splatcheck_gpu::emulator::EmulatorEngine;
use splatcheck_gpu::{EngineError, Reduction, Setting, Stage, Tensors};
use splatcheck_reference::splat::Formulation;

use super::super::class::Class;
use crate::manifest::{LoweredWgsl, Manifest, WgslKernel};
use crate::user_kernel::UserKernel;
use splatcheck_judge::workload::AnyCase;
use splatcheck_workloads::splat::formulated::FormulationUse;
use splatcheck_workloads::splat::has_channels;

/// The program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnProgram {
    /// In PTX.
    Ptx(UserKernel),
    /// In WGSL, for subgroups of so many lanes.
    Wgsl {
        /// With its manifest.
        kernel: Arc<WgslKernel>,
        /// Lanes of a subgroup.
        lanes: u32,
    },
}

/// A manifest of several launches, which mutants are not made of: each launch goes on from what those before
/// it left, and a mutant is of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the manifest launches {0} kernels one after another, and mutants are made of one: give a manifest \
     of a single launch, with what the others would leave as its inputs"
)]
pub struct SeveralLaunches(usize);

/// A kernel of a user's own, and as what it is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    /// The program, and how it is launched: a single time.
    program: OwnProgram,
    /// Its entry point.
    entry: String,
    /// The stage that it stands in for.
    stage: Stage,
    /// How it adds up, and the threshold in its settings; of no matter for a stage that adds nothing up.
    setting: Setting,
    /// Whether it is judged as compiled with `--use_fast_math`.
    pub(super) fast_math: bool,
    /// The number of channels that it is made for; `None` for any.
    channels: Option<u32>,
}

impl OwnProgram {
    /// Its entry points, in the order in which they are launched.
    fn entries(&self) -> Vec<&str> {
        match self {
            Self::Ptx(kernel) => kernel.entries(),
            Self::Wgsl { kernel, .. } => {
                kernel.manifest().launches.iter().map(|launch| &*launch.kernel).collect()
            }
        }
    }

    /// Its manifest, if it has one.
    #[must_use]
    pub fn manifest(&self) -> Option<&Manifest> {
        match self {
            Self::Ptx(kernel) => kernel.manifest(),
            Self::Wgsl { kernel, .. } => Some(kernel.manifest()),
        }
    }

    /// The stage that it stands in for, judged in a formulation.
    #[must_use]
    pub fn stage(&self, formulation: Formulation) -> Stage {
        match self {
            Self::Ptx(kernel) => kernel.stage(formulation),
            Self::Wgsl { kernel, .. } => kernel.manifest().stage(formulation),
        }
    }

    /// A case as it is judged on it, in a formulation.
    ///
    /// # Errors
    /// [`FormulationUse`].
    pub fn judged(
        &self,
        case: &AnyCase,
        formulation: Formulation,
    ) -> Result<AnyCase, FormulationUse> {
        match self {
            Self::Ptx(kernel) => kernel.judged(case, formulation),
            Self::Wgsl { kernel, .. } => kernel.manifest().judged(case, formulation),
        }
    }
}

impl fmt::Display for OwnProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ptx(kernel) => kernel.fmt(f),
            Self::Wgsl { .. } => f.write_str(&self.entries().join(", ")),
        }
    }
}

impl Own {
    /// A kernel that is launched once, in place of a stage.
    ///
    /// # Errors
    /// [`SeveralLaunches`].
    pub fn new(
        program: OwnProgram,
        stage: Stage,
        setting: Setting,
    ) -> Result<Self, SeveralLaunches> {
        let entry = match program.entries()[..] {
            [entry] => entry.to_owned(),
            ref several => return Err(SeveralLaunches(several.len())),
        };
        Ok(Self { program, entry, stage, setting, fast_math: false, channels: None })
    }

    /// The same as compiled with `--use_fast_math` or not, and for so many channels.
    #[must_use]
    pub fn made(self, fast_math: bool, channels: Option<u32>) -> Self {
        Self { fast_math, channels, ..self }
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &OwnProgram {
        &self.program
    }

    /// Its entry point.
    pub(super) fn entry(&self) -> &str {
        &self.entry
    }

    /// The stage that it stands in for.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// How it adds up, where its stage does.
    #[must_use]
    pub fn setting(&self) -> Option<Setting> {
        self.stage().accumulates().then_some(self.setting)
    }

    /// Whether it is for a case: for its number of channels, where only one is, and as its manifest says.
    pub(super) fn takes(&self, case: &AnyCase) -> bool {
        let manifest = self.program.manifest();
        has_channels(case, self.channels) && manifest.is_none_or(|manifest| manifest.takes(case))
    }

    /// The text that is changed: a program in WGSL is lowered with the constants that it has on the first of the
    /// cases that it is for.
    ///
    /// # Errors
    /// As [`LoweredWgsl::new`].
    pub(super) fn text(&self, classes: &[Class]) -> Result<OwnText, EngineError> {
        let (kernel, lanes) = match &self.program {
            OwnProgram::Ptx(kernel) => return Ok(OwnText::Ptx(kernel.clone())),
            OwnProgram::Wgsl { kernel, lanes } => (kernel, *lanes),
        };
        let mut trials = classes.iter().flat_map(|class| &class.trials);
        let first =
            trials.find_map(|trial| trial.job(self.stage).filter(|_| self.takes(&trial.item.case)));
        let nothing = || EngineError::Input(format!("no case is for {}", self.entry));
        let inputs = &first.ok_or_else(nothing)?.inputs;
        LoweredWgsl::new(kernel, lanes, inputs).map(|lowered| OwnText::Wgsl(lowered.into()))
    }
}

/// What of a user's kernel is changed.
#[derive(Clone, Debug)]
pub(super) enum OwnText {
    /// The program.
    Ptx(UserKernel),
    /// What it was lowered to.
    Wgsl(Arc<LoweredWgsl>),
}

impl OwnText {
    /// As a text.
    pub(super) fn ptx(&self) -> &str {
        match self {
            Self::Ptx(kernel) => kernel.ptx(),
            Self::Wgsl(lowered) => lowered.ptx(),
        }
    }

    /// Whether it is that of these inputs.
    pub(super) fn is_for(&self, inputs: &Tensors) -> bool {
        match self {
            Self::Ptx(_) => true,
            Self::Wgsl(lowered) => lowered.is_for(inputs),
        }
    }

    /// Lets an engine run a changed text in place of a stage and reduction.
    ///
    /// # Errors
    /// [`EngineError::Compile`] where it does not parse.
    pub(super) fn install(
        &self,
        engine: &mut EmulatorEngine,
        place: (Stage, Option<Reduction>),
        ptx: &str,
    ) -> Result<(), EngineError> {
        match self {
            Self::Ptx(kernel) => kernel.install(engine, place, ptx),
            Self::Wgsl(lowered) => {
                engine.replace_by(place, Arc::new(lowered.changed(ptx)?));
                Ok(())
            }
        }
    }
}
