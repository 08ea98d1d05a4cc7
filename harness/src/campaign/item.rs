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
    use crate::workload::generator;
    use crate::workloads::find;
    use crate::{fuzz::Plan, workload::CaseTree};

    /// The tree of a case and every simpler one on the way to its simplest.
    fn simpler(mut tree: CaseTree) -> Vec<AnyCase> {
        let mut all = vec![tree.current()];
        while all.len() < 200 && tree.simplify() {
            all.push(tree.current());
        }
        all
    }

    #[test]
    fn a_view_that_a_smaller_case_has_lost_is_an_error_and_no_panic() {
        let workload = find("splat").expect("there");
        let cameras = generator(workload.as_ref(), "cameras").expect("a generator");
        let plan = Plan::new(workload, 1, &[cameras]);
        let mut lost = 0;
        for index in 0..20 {
            let all = simpler(plan.tree(index).expect("no data needed"));
            let last = all[0].views() - 1;
            for case in all {
                let (views, item) = (case.views(), Item::new(case, last));
                assert_eq!(item.is_ok(), last < views, "view {last} of {views}");
                lost += usize::from(item.is_err());
            }
        }
        assert!(lost > 0, "no case has lost a camera");
    }
}
