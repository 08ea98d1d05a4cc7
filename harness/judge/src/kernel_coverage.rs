//! What cases reach of the kernels themselves: which instructions of each artifact the emulator
//! executed, and which predicates were seen both true and false.
//!
//! A *hole* is an instruction that was never executed, or a guard, branch or predicate that went one
//! way only: a kernel that is wrong there passes every case. [`measure`] runs cases and counts,
//! [`holes`] finds the holes and names their lines of CUDA, [`mod@unreachable`] holds those that a person
//! argued no input can reach, and [`text`] says it all in words.

mod flow;
pub mod holes;
mod program;
pub mod text;
pub mod unreachable;

use crate::engines::Emulation;
use crate::interrupt;
use crate::threads;
use crate::workload::{AnyCase, CaseError, Job};
use splatcheck_emulator::{KernelCoverage, Observers, OtherKernel};
use splatcheck_gpu::artifact::Artifact;
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::{Engine, EngineError, Setting, Work};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What was executed of every artifact that ran.
pub type Measured = BTreeMap<Artifact, KernelCoverage>;

/// Why nothing was measured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeasureError {
    /// A case has no jobs.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The emulator does not open.
    #[error("the emulator does not open: {0}")]
    Open(EngineError),
    /// A kernel does not run on a case, so that its counts say nothing.
    #[error("case {case}: {error}; 'splatcheck self-check --engine emulator' says more")]
    Run {
        /// The case.
        case: String,
        /// Why it does not.
        error: EngineError,
    },
    /// A defect of this procedure.
    #[error(transparent)]
    Merge(#[from] OtherKernel),
    /// A thread panicked, and said why on standard error.
    #[error("a thread panicked while it measured")]
    Panicked,
}

/// What is run.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// How the emulator runs, with which kernels.
    pub emulations: &'a [Emulation],
    /// Which of their artifacts.
    pub wanted: &'a (dyn Fn(&Artifact) -> bool + Sync),
}

/// Runs every stage of every view with every setting of the sweep, on as many emulators at a time as
/// there are processors; `done` is called after each view. Ctrl-C ends it after the views that run then.
///
/// # Errors
/// [`MeasureError`] for the first case that has no jobs or does not run.
pub fn measure(
    views: impl Iterator<Item = (AnyCase, usize)> + Send,
    scope: Scope<'_>,
    done: &(dyn Fn() + Sync),
) -> Result<Measured, MeasureError> {
    let views = Mutex::new(views);
    let next = || match interrupt::is_asked() {
        true => None,
        false => views.lock().unwrap_or_else(PoisonError::into_inner).next(),
    };
    let worker = || {
        let mut engines = open(scope)?;
        while let Some((case, view)) = next() {
            for job in case.jobs(view)? {
                for (emulation, engine) in &mut engines {
                    let run = run(engine, *emulation, &job, scope);
                    run.map_err(|error| MeasureError::Run { case: case.name().to_owned(), error })?;
                }
            }
            done();
        }
        Ok(engines.into_iter().map(|(_, mut engine)| engine.take_coverage()).collect())
    };
    let processors = threads::cores();
    let parts: Vec<Result<Vec<Measured>, MeasureError>> = std::thread::scope(|scope| {
        let others = (1..processors).map_while(|_| threads::in_scope(scope, worker).ok());
        let others: Vec<_> = others.collect();
        let mut parts = vec![worker()];
        let join = |worker: std::thread::ScopedJoinHandle<'_, _>| {
            worker.join().unwrap_or(Err(MeasureError::Panicked))
        };
        parts.extend(others.into_iter().map(join));
        parts
    });
    let mut sum = Measured::new();
    for part in parts {
        for (artifact, coverage) in part?.into_iter().flatten() {
            match sum.entry(artifact) {
                std::collections::btree_map::Entry::Vacant(first) => drop(first.insert(coverage)),
                std::collections::btree_map::Entry::Occupied(mut sum) => {
                    sum.get_mut().merge(&coverage)?;
                }
            }
        }
    }
    sum.retain(|artifact, _| (scope.wanted)(artifact));
    Ok(sum)
}

/// An emulator for each. Races are for `check` to find.
fn open(scope: Scope<'_>) -> Result<Vec<(Emulation, EmulatorEngine)>, MeasureError> {
    let observers = Observers { races: false, coverage: true, ..Observers::default() };
    let open = |&emulation: &Emulation| {
        let options = EmulatorOptions { observers, ..emulation.options() };
        Ok((emulation, EmulatorEngine::open(options).map_err(MeasureError::Open)?))
    };
    scope.emulations.iter().map(open).collect()
}

/// Runs a job with those settings of the sweep for which the artifact is wanted, and which are for a job of
/// its sizes.
fn run(
    engine: &mut EmulatorEngine,
    emulation: Emulation,
    job: &Job,
    scope: Scope<'_>,
) -> Result<(), EngineError> {
    let mut settings = job.stage.settings(&Setting::sweep(engine.info().lane_width));
    settings.retain(|&setting| {
        let is_for_it = job.is_beyond(setting).is_none();
        let all = emulation.build().artifacts(job.stage.spec(), setting, &job.sizes);
        is_for_it && all.iter().any(|artifact| (scope.wanted)(artifact))
    });
    if settings.is_empty() {
        return Ok(());
    }
    engine.run(job.stage, &[Work { inputs: &job.inputs, settings: &settings }]).map(drop)
}
