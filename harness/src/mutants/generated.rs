//! Mutants that no person wrote: the unchanged kernels with one PTX instruction changed
//! ([`splatcheck_emulator::mutate`]), by the thousand.
//!
//! A kernel's mutants are drawn by a seed ([`sample`]) and run on the cases, the cheapest first, each
//! until the first catch ([`run_mutants`]). One that nobody notices *survives*: either its outputs have the
//! bits of the right kernel's in every run, and it is a blind spot of the cases, unless it is equivalent
//! to the original, which is proved, or argued once in a file ([`equivalent`]); or they differ, but lie within the
//! bounds, and the largest error says by how much these would have to be sharper. The score is the
//! share of those that are not equivalent that were killed ([`report`]).
//!
//! A kernel of a user's own is a [`Subject`](subject::Subject) as well as the artifacts are.

mod case_set;
pub mod equivalent;
mod own;
mod probe;
pub mod report;
pub mod run_mutants;
pub mod sample;
pub mod subject;

pub use own::{Own, OwnProgram, SeveralLaunches};

use super::Catch;
use serde::Serialize;
use splatcheck_emulator::mutate::NoSuchKernel;
use splatcheck_gpu::EngineError;
use splatcheck_gpu::artifact::ArtifactError;
use splatcheck_gpu::source_lines::SourceLine;
use splatcheck_judge::workload::CaseError;

/// What is said of a kernel that no case tries.
const NOTHING_SAID: &str = "so that nothing can be said of its mutants";

/// Why mutants cannot be generated or run.
#[derive(Debug, thiserror::Error)]
pub enum GeneratedError {
    /// There is no such kernel or number of mutants, or nothing can be said of a kernel's mutants.
    #[error("{0}")]
    Asked(String),
    /// The kernel's PTX is not as it was compiled.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// The PTX holds no kernel.
    #[error(transparent)]
    NoSuchKernel(#[from] NoSuchKernel),
    /// A case cannot be run.
    #[error("a case that mutants are tried on cannot be run")]
    Case(#[from] CaseError),
    /// The emulator or this procedure failed: nothing that tells of a kernel.
    #[error("the emulator failed")]
    Engine(#[from] EngineError),
}

/// What is said of a mutant that is proved to do what the original does.
pub const PROVED: &str = "proved: whatever the launch, nothing that matters differs";

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    Survived {
        /// How near it came to being noticed; `None` where its outputs have the bits of the right
        /// kernel's in every run.
        closest: Option<Closest>,
    },
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

/// The run in which a survivor came nearest to being noticed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Closest {
    /// The largest error/bound of the elements whose bits differ from the right kernel's; 0 where
    /// those have no error or no finite bound.
    pub ratio: f64,
    /// The largest error/bound that the right kernel has at the same elements.
    pub unchanged: f64,
    /// The case.
    pub case: String,
}

/// A line of a kernel's source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// Where it is.
    pub line: SourceLine,
    /// What stands there, where the source is at hand.
    pub text: Option<String>,
}

impl Serialize for Source {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.line)
    }
}

/// One mutant, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// The kernel: see [`Subject::name`](subject::Subject::name).
    pub kernel: String,
    /// The line of its PTX.
    pub line: u32,
    /// The line of CUDA that this was compiled from, where the compiler says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The kind of change.
    pub kind: &'static str,
    /// The instruction as it was.
    pub instruction: String,
    /// The change.
    pub change: String,
    /// The same without registers: [`Mutation::label`](splatcheck_emulator::mutate::Mutation::label).
    #[serde(skip)]
    pub label: String,
    /// Which of the kernel's instructions with this opcode and line of CUDA it is, from 1.
    #[serde(skip)]
    pub number: usize,
    /// What became of it.
    #[serde(flatten)]
    pub fate: Fate,
    /// Whether the unchanged kernel arrives at the line in any run.
    pub reached: bool,
    /// Runs of the mutant.
    pub runs: usize,
    /// Why it does what the original does, if that was proved or argued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equivalent: Option<String>,
    /// The smallest input on which it does not, where that was argued and is larger than any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<String>,
}

impl Record {
    /// The opcode of the instruction.
    fn opcode(&self) -> &str {
        opcode(&self.instruction)
    }

    /// Whether it is proved to do what the original does.
    fn is_proved(&self) -> bool {
        self.equivalent.as_deref() == Some(PROVED)
    }
}

/// The opcode of an instruction as reports show it.
fn opcode(instruction: &str) -> &str {
    let word = instruction.split(' ').find(|word| !word.starts_with('@'));
    word.unwrap_or_default().trim_end_matches(';')
}
