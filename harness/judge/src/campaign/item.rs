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
        // A case that is made smaller may lose the view that failed.
        if view >= case.views() {
            let problem = format!("it has no view {view}, only {}", case.views());
            return Err(CaseError { case: case.name().to_owned(), problem });
        }
        let jobs = case.jobs_of(view, wanted)?;
        Ok(Self { case, view, jobs })
    }

    /// The job of a stage; `None` where it is not run for this view.
    #[must_use]
    pub fn job(&self, stage: Stage) -> Option<&Job> {
        self.jobs.iter().find(|job| job.stage == stage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::toy::Toy;
    use std::sync::Arc;

    #[test]
    fn a_view_that_a_smaller_case_has_lost_is_an_error_and_no_panic() {
        let toy = |views| -> AnyCase { Arc::new(Toy { name: "toy".to_owned(), id: None, views }) };
        assert!(Item::new(toy(2), 1).is_ok(), "the last of two views");
        let error = Item::new(toy(1), 1).expect_err("one view is left").to_string();
        assert_eq!(error, "case toy: it has no view 1, only 1", "what is wrong");
    }
}
