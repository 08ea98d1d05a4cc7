//! What the harness asks of a workload: cases, the jobs that a case gives, and what a conforming
//! kernel may return for each.
//!
//! A case is a function of the generator, the [`Draw`] and two numbers (seed, index) alone, the same
//! on every machine. Where a generator has few kinds of cases, the draw's turn chooses the kind:
//! kinds take turns, and none is left to chance.
//!
//! Campaigns, fuzzing, reports, coverage and minimization see nothing else, and so know no workload.
//! The workloads themselves are in the crate `splatcheck-workloads`, a folder each.

mod built_in;
mod changed;
mod job;
pub mod left_out;
pub mod named;
pub mod rows;
#[cfg(test)]
pub(crate) mod toy;

pub use built_in::{BuiltIn, Constant, Values};
pub use job::{FailedRun, Job, Oracle};

use crate::case_space::{Axis, Traits};
use crate::io::{InputError, Problem, Unread, read};
use proptest::strategy::ValueTree;
use splatcheck_gpu::hazard::Hazard;
use splatcheck_gpu::{Stage, Tensors};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the keys of a reproducer's notes begin with, in every format of cases.
pub const NOTE_PREFIX: &str = "splatcheck.";

/// The metadata key by which a `.safetensors` names its case's workload.
pub const WORKLOAD_KEY: &str = "workload";

/// Where a drawn case comes from: drawing it again gives the same case, on every machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CaseId {
    /// Name of the workload.
    pub workload: &'static str,
    /// Name of the generator.
    pub generator: &'static str,
    /// The campaign's seed.
    pub seed: u64,
    /// The number of the case in the campaign.
    pub index: u64,
}

impl fmt::Display for CaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.generator, self.seed, self.index)
    }
}

/// A case that cannot be turned into jobs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("case {case}: {problem}")]
pub struct CaseError {
    /// The case.
    pub case: String,
    /// What is wrong with it.
    pub problem: String,
}

/// Frequency of a generator that stand for its kinds where these are more than it says, since it steers.
pub const SOME_TURNS: u64 = 50;

/// A generator of cases.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    /// Its name on the command line and in reports, unique in its workload.
    pub name: &'static str,
    /// The hazards that it aims at; none for inputs as they come.
    pub hazards: &'static [Hazard],
    /// One line: what it draws.
    pub purpose: &'static str,
    /// What of a conforming kernel's outputs is promised for its cases.
    pub promise: Promise,
    /// How often it has a turn in a campaign.
    pub turns: Frequency,
    /// The files that its cases are made from, which not every machine has.
    pub needs: &'static [&'static str],
}

/// What a case is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The warp size whose warps are aimed at, a power of two up to 128.
    pub lane_width: u32,
    /// How often the generator was used before: which of its kinds of cases comes.
    pub turn: u64,
}

/// For which stages a generator's cases have finite bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// For all.
    Every,
    /// For these; the others are not run.
    Only(&'static [Stage]),
    /// For none: sums may overflow in some orders, or inputs are not finite. Such cases are
    /// inconclusive at best, and run only where the generator is named.
    Nothing,
}

impl Promise {
    /// Whether a stage's outputs are promised.
    #[must_use]
    pub fn holds_for(self, stage: Stage) -> bool {
        match self {
            Self::Every => true,
            // A formulation of a stage computes the same numbers.
            Self::Only(stages) => stages.iter().any(|of| of.name == stage.standard()),
            Self::Nothing => false,
        }
    }
}

/// How often a generator has a turn among those of its workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frequency {
    /// Every other case: it aims at the cells of [`coverage`](crate::coverage) one after the other.
    /// A workload has at most one such generator.
    Steering,
    /// As often as the others like it.
    Often,
    /// One turn in 16 of those that do not steer: its cases take four to ten times as long.
    Seldom,
    /// Where few cases judge a kernel, the first turns of those that come seldom: its cases have at once what a
    /// campaign meets in many.
    First,
}

/// A case that was drawn and can be made simpler step by step.
pub type CaseTree = Box<dyn ValueTree<Value = AnyCase>>;

/// A tree of a workload's own cases, as the harness sees it.
pub struct Drawn<T>(pub T);

impl<T> ValueTree for Drawn<T>
where
    T: ValueTree,
    T::Value: Case + 'static,
{
    type Value = AnyCase;

    fn current(&self) -> AnyCase {
        Arc::new(self.0.current())
    }

    fn simplify(&mut self) -> bool {
        self.0.simplify()
    }

    fn complicate(&mut self) -> bool {
        self.0.complicate()
    }
}

/// A workload, under one of its conventions: how its cases are drawn and read.
pub trait Workload: fmt::Debug + Send + Sync {
    /// Its name: that of its folders, and of its stages' [`workload`](splatcheck_gpu::stage::StageSpec).
    fn name(&self) -> &'static str;

    /// The convention that cases are drawn under where a generator does not change it; `None` where
    /// none is named, which means each of them in turn, or the only one.
    fn convention(&self) -> Option<&'static str> {
        None
    }

    /// The workload under another of its conventions; `None` where it has none of that name.
    fn under(&self, _convention: &str) -> Option<Arc<dyn Workload>> {
        None
    }

    /// Its generators, in the order of a campaign's turns.
    fn generators(&self) -> Vec<&'static Generator>;

    /// The case of these two numbers, named `GENERATOR-seed-index`; `None` where what it is made from
    /// is not on this machine ([`Generator::needs`]), or the generator is another workload's.
    fn draw(&self, generator: &Generator, draw: Draw, seed: u64, index: u64) -> Option<CaseTree>;

    /// A case of each kind that takes turns in a generator, of those that are promised and cheap; none of a
    /// generator without kinds, of which a few cases stand for all.
    fn of_each_kind(&self, seed: u64) -> Vec<AnyCase>;

    /// Number `index` of the random cases that `self-check` judges beside its corpus.
    fn random(&self, seed: u64, index: u64) -> CaseTree;

    /// A view with something added that a right kernel takes no notice of.
    ///
    /// # Errors
    /// Why the view has no jobs.
    fn variants(&self, _case: &AnyCase, _view: usize) -> Result<Vec<Variant>, CaseError> {
        Ok(Vec::new())
    }

    /// The ways in which its cases differ, with the values that a kernel may treat differently.
    fn axes(&self) -> Vec<Axis>;

    /// The sizes and fields that may be built into a kernel.
    fn constants(&self) -> Vec<Constant> {
        Vec::new()
    }

    /// A case as one that a kernel of a stage is for; `None` where it cannot be made one.
    fn fitted(&self, case: &AnyCase, _stage: Stage, built_in: &BuiltIn) -> Option<AnyCase> {
        built_in.is_empty().then(|| Arc::clone(case))
    }

    /// Whether a kernel of a stage is for a case as it is.
    fn is_for(&self, _case: &AnyCase, _stage: Stage, built_in: &BuiltIn) -> bool {
        built_in.is_empty()
    }

    /// Extensions of the files that hold a case.
    fn extensions(&self) -> &'static [&'static str];

    /// Reads a case.
    ///
    /// # Errors
    /// Names the field, its value and the rule it breaks.
    fn read(&self, file: &Path) -> Result<CaseFile, InputError>;

    /// Reads every case of a folder, sorted by file name and each named as its file, since several
    /// findings may be of one case. A file that cannot be read does not stand in the way of the others.
    ///
    /// # Errors
    /// Where the folder is not readable, or has no case that is.
    fn read_corpus(&self, folder: &Path) -> Result<Corpus, InputError> {
        let files = read::files(folder, self.extensions())?;
        let named = |file: &PathBuf| {
            self.read(file).map(|read_from| read_from.case.renamed(read::stem(file), None))
        };
        let (cases, unread) = Unread::sort(files.iter().map(named));
        match unread.gap("files").filter(|_| cases.is_empty()) {
            Some(why) => Err(Problem::new("the number of cases", 0, why).in_file(folder)),
            None => Ok(Corpus { cases, unread }),
        }
    }
}

/// The cases of a folder.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// Those that can be read.
    pub cases: Vec<AnyCase>,
    /// The others.
    pub unread: Unread,
}

/// The generator of that name.
#[must_use]
pub fn generator(workload: &dyn Workload, name: &str) -> Option<&'static Generator> {
    workload.generators().into_iter().find(|generator| generator.name == name)
}

/// See [`Workload::variants`].
#[derive(Debug)]
pub struct Variant {
    /// Its name in reports.
    pub name: &'static str,
    /// Whether only CUDA's kernels promise anything for its input.
    pub cuda_only: bool,
    /// What is promised.
    pub promise: Promise,
    /// The jobs of the view.
    pub jobs: Vec<Job>,
}

/// What a reproducer says beside its case; keys begin with [`NOTE_PREFIX`].
pub type Notes = BTreeMap<String, String>;

/// A case that was read, and what its file carries beside it.
#[derive(Clone, Debug)]
pub struct CaseFile {
    /// The case.
    pub case: AnyCase,
    /// The notes, keys in full.
    pub notes: Notes,
}

/// A case as the harness holds it.
pub type AnyCase = Arc<dyn Case>;

/// One case of a workload.
pub trait Case: fmt::Debug + Send + Sync {
    /// Its name, unique in its corpus or campaign.
    fn name(&self) -> &str;

    /// Where it was drawn; `None` for a case that was read.
    fn id(&self) -> Option<&CaseId>;

    /// The hazards that it aims at.
    fn hazards(&self) -> &[Hazard];

    /// The views that its jobs are of: cameras, for splats. At least one.
    fn views(&self) -> usize;

    /// The jobs of one view that are of the wanted stages. A stage that takes all views at once belongs
    /// to the first.
    ///
    /// # Errors
    /// Why there are none.
    fn jobs_of(&self, view: usize, wanted: &dyn Fn(Stage) -> bool) -> Result<Vec<Job>, CaseError>;

    /// All jobs of one view.
    ///
    /// # Errors
    /// As [`Self::jobs_of`].
    fn jobs(&self, view: usize) -> Result<Vec<Job>, CaseError> {
        self.jobs_of(view, &|_| true)
    }

    /// How many of the views a stage has jobs of: one, if a run of it takes all of them.
    fn views_of(&self, stage: Stage) -> usize;

    /// Which values of the workload's [axes](Workload::axes) a view has.
    ///
    /// # Errors
    /// As [`Self::jobs`].
    fn traits(&self, view: usize) -> Result<Traits, CaseError>;

    /// Its size in words, as a run of a stage on one view has it.
    fn describe(&self, stage: Stage, view: usize) -> String;

    /// The stage of which outputs are inputs of `stage`, a backward pass that may go on from the forward
    /// pass of the program that is judged; `None` where it goes on from none.
    fn forward_of(&self, _stage: Stage) -> Option<Stage> {
        None
    }

    /// The case with what a program's own forward pass gave for a view, in place of the oracle's; `None`
    /// where no stage reads it, or it is none of this view.
    fn after(&self, _view: usize, _outputs: &Tensors) -> Option<AnyCase> {
        None
    }

    /// The same case under another name, and perhaps as that drawn case.
    fn renamed(&self, name: String, id: Option<CaseId>) -> AnyCase;

    /// A smaller case for which `fails` still holds; the case itself where there is none.
    fn smaller(self: Arc<Self>, fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase;

    /// Writes it with the notes of a reproducer (keys begin with [`NOTE_PREFIX`]); if that fails, there
    /// is no file.
    ///
    /// # Errors
    /// Why the file could not be written.
    fn write(&self, path: &Path, notes: &Notes) -> Result<(), InputError>;

    /// The workload's own type.
    fn as_any(&self) -> &dyn Any;
}

/// Every view of some cases.
pub fn views(cases: impl IntoIterator<Item = AnyCase>) -> impl Iterator<Item = (AnyCase, usize)> {
    cases.into_iter().flat_map(|case| {
        let views = case.views();
        (0..views).map(move |view| (Arc::clone(&case), view))
    })
}
