//! Mutants that nobody thought of: the unchanged kernels with one PTX instruction changed
//! ([`splatcheck_emulator::mutate`]), by the thousand.
//!
//! A kernel's mutants are drawn by a seed ([`sample`]) and run on the cases, the cheapest first, each
//! until the first catch ([`hunt`]). One that nobody notices *survives*: it is a blind spot
//! of the cases, unless it is equivalent to the original, which is argued once in a file
//! ([`equivalent`]). The score is the share of the others that were killed ([`report`]).

pub mod equivalent;
pub mod hunt;
mod probe;
pub mod report;
pub mod sample;

use super::Catch;
use super::matrix::kernel_name;
use serde::{Serialize, Serializer};
use splatcheck_emulator::mutate::{Mutation, NoSuchKernel, mutations};
use splatcheck_gpu::artifact::{self, Architecture, Artifact, ArtifactError};
use splatcheck_gpu::source_lines::SourceLine;
use splatcheck_gpu::{EngineError, Stage};
use std::collections::BTreeSet;

/// A kernel as it is, and everything that can be changed about it.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The kernel.
    pub kernel: Artifact,
    /// Its PTX.
    pub ptx: &'static str,
    /// Its mutations, by line.
    pub mutations: Vec<Mutation>,
}

impl Subject {
    /// The kernel's name in reports: with its number of channels, without its architecture.
    #[must_use]
    pub fn name(&self) -> String {
        kernel_name(&self.kernel)
    }
}

/// Why mutants cannot be generated or run.
#[derive(Debug, thiserror::Error)]
pub enum GeneratedError {
    /// A kernel that there is not.
    #[error("there is no kernel '{name}': expected one of {}", known.join(", "))]
    UnknownKernel {
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A number of mutants that there are not.
    #[error(
        "{asked} mutants were asked for, but these kernels have {exist}: expected 1 to {exist}"
    )]
    Count {
        /// The number.
        asked: usize,
        /// How many there are.
        exist: usize,
    },
    /// No case is for a kernel.
    #[error("no case runs {0}, so that nothing can be said of its mutants")]
    NoCase(String),
    /// The kernel's PTX is not as it was compiled.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// The PTX holds no kernel.
    #[error(transparent)]
    NoSuchKernel(#[from] NoSuchKernel),
    /// The emulator or this procedure failed: nothing that tells of a kernel.
    #[error("the emulator failed")]
    Engine(#[from] EngineError),
}

/// The unchanged kernels, one for each stage and reduction: for the older architecture, without fast
/// math, for exactly so many channels where there is one for any number too. By name where some are
/// named.
///
/// # Errors
/// [`GeneratedError::UnknownKernel`]; an artifact that is not as it was compiled.
pub fn subjects(names: &[String]) -> Result<Vec<Subject>, GeneratedError> {
    let stages: BTreeSet<_> = Stage::all().map(|stage| stage.spec().name).collect();
    let mut met = BTreeSet::new();
    let mut kernels = artifact::all();
    kernels.retain(|kernel| {
        kernel.architecture == Architecture::Compute75
            && !kernel.fast_math
            && stages.contains(kernel.stage)
            && met.insert((kernel.stage, kernel.reduction))
    });
    for name in names {
        let is = |kernel: &Artifact| kernel_name(kernel) == *name || kernel.entry() == *name;
        if !kernels.iter().any(is) {
            let known = kernels.iter().map(kernel_name).collect();
            return Err(GeneratedError::UnknownKernel { name: name.clone(), known });
        }
    }
    kernels.retain(|kernel| {
        let named = |name: &String| *name == kernel_name(kernel) || *name == kernel.entry();
        names.is_empty() || names.iter().any(named)
    });
    let subject = |kernel: Artifact| {
        let ptx = kernel.ptx()?;
        Ok(Subject { kernel, ptx, mutations: mutations(ptx, &kernel.entry())? })
    };
    kernels.into_iter().map(subject).collect()
}

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "outcome")]
pub enum Fate {
    /// Somebody noticed it.
    Killed {
        /// Who: see [`Catch::by`].
        by: String,
        /// On which case, under which schedule and setting, and in which words.
        example: String,
    },
    /// Nobody did.
    Survived,
    /// The emulator does not parse it.
    Refused {
        /// Why.
        reason: String,
    },
}

impl Fate {
    fn killed(case: &str, catch: Catch) -> Self {
        Self::Killed { by: catch.by, example: format!("{case}, {}", catch.words) }
    }
}

/// `file:line`.
fn as_text<S: Serializer>(line: &Option<SourceLine>, to: S) -> Result<S::Ok, S::Error> {
    line.as_ref().map(ToString::to_string).serialize(to)
}

/// One mutant, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Record {
    /// The kernel: see [`Subject::name`].
    pub kernel: String,
    /// The line of its PTX.
    pub line: u32,
    /// The line of CUDA that this was compiled from, where the compiler says it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub source: Option<SourceLine>,
    /// The kind of change.
    pub kind: &'static str,
    /// The instruction as it was.
    pub instruction: String,
    /// The change.
    pub change: String,
    /// What became of it.
    #[serde(flatten)]
    pub fate: Fate,
    /// Whether the unchanged kernel arrives at the line in any run.
    pub reached: bool,
    /// Runs of the mutant.
    pub runs: usize,
    /// Why it does what the original does, if that was argued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equivalent: Option<String>,
}
