//! One view of a case as it is judged: the jobs of its stages.

use crate::workload::{AnyCase, CaseError, Job};
use splatcheck_gpu::Stage;

/// A case and view with its jobs; bounds are computed once for each arithmetic in use.
#[derive(Debug)]
pub struct Item {
    /// The case.
    pub case: AnyCase,
    /// Number of the view.
    pub view: usize,
    /// The jobs of its stages.
    pub jobs: Vec<Job>,
}

impl Item {
    /// Prepares all jobs of a view.
    ///
    /// # Errors
    /// Says why the case has none.
    pub fn new(case: AnyCase, view: usize) -> Result<Self, CaseError> {
        Self::of(case, view, &|_| true)
    }

    /// Prepares the jobs of a view that are of the wanted stages.
    ///
    /// # Errors
    /// Says why the case has none.
    pub fn of(
        case: AnyCase,
        view: usize,
        wanted: &dyn Fn(Stage) -> bool,
    ) -> Result<Self, CaseError> {
        let jobs = case.jobs_of(view, wanted)?;
        Ok(Self { case, view, jobs })
    }

    /// The job of a stage; `None` where it is not run for this view.
    #[must_use]
    pub fn job(&self, stage: Stage) -> Option<&Job> {
        self.jobs.iter().find(|job| job.stage == stage)
    }
}
