//! A job of which other outputs are expected.

use std::any::Any;
use std::fmt;

use splatcheck_gpu::{EngineError, Tensors};

use super::{FailedRun, Job, Oracle};
use crate::diagnosis::Hypothesis;
use crate::judge::{Arithmetic, Expectation};
use crate::scatter_step::Scatter;

impl Job {
    /// The same job of a kernel of which other outputs are expected: `change` makes them from the inputs and
    /// what was expected, of a right kernel and of each fault that a wrong one may have.
    #[must_use]
    pub fn expecting<F>(self, change: F) -> Self
    where
        F: Fn(&Tensors, Expectation) -> Expectation + Send + Sync + 'static,
    {
        let (inputs, sizes) = (self.inputs.clone(), self.sizes.clone());
        let (stage, lanes) = (self.stage, self.lanes);
        let oracle = Box::new(Changed { job: self, change });
        Self { stage, inputs, sizes, lanes, oracle, expectations: Default::default() }
    }
}

/// What another job expects, changed.
pub(crate) struct Changed<F> {
    job: Job,
    change: F,
}

impl<F> fmt::Debug for Changed<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Changed").field(&self.job).finish()
    }
}

impl<F> Oracle for Changed<F>
where
    F: Fn(&Tensors, Expectation) -> Expectation + Send + Sync,
{
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        (self.change)(&self.job.inputs, self.job.expectation(arithmetic).clone())
    }

    fn expect_beside(&self, arithmetic: Arithmetic) -> Option<Expectation> {
        let beside = self.job.oracle.expect_beside(arithmetic)?;
        Some((self.change)(&self.job.inputs, beside))
    }

    fn arrays(&self) -> Option<&dyn Any> {
        self.job.arrays()
    }

    fn expect_with(
        &self,
        other: &dyn Any,
        array: &str,
        arithmetic: Arithmetic,
    ) -> Option<Expectation> {
        let all = self.job.expect_with(other, array, arithmetic)?;
        Some((self.change)(&self.job.inputs, all))
    }

    fn scatter(&self, lane_width: u32) -> Option<Result<Box<dyn Scatter + '_>, EngineError>> {
        self.job.scatter(lane_width)
    }

    fn hypotheses(&self, run: FailedRun) -> Vec<Hypothesis<'_>> {
        let all = self.job.hypotheses(run).into_iter();
        all.map(|fault| fault.map(|all| (self.change)(&self.job.inputs, all))).collect()
    }
}
