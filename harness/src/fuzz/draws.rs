//! Cases by number, from a seed or from generators.

use super::Plan;
use crate::campaign::Policy;
use crate::workload::{AnyCase, Case, CaseTree, Generator, Workload};
use splatcheck_gpu::{Setting, Stage};
use std::sync::Arc;

/// How cases are drawn for programs that are no engines.
#[derive(Clone, Debug)]
pub enum Draws {
    /// As `check` does, from this seed.
    Random(Arc<dyn Workload>, u64),
    /// From generators in turn.
    Generators(Plan),
}

impl Draws {
    /// From the generators that were named; for none, as `check` does.
    #[must_use]
    pub fn new(workload: Arc<dyn Workload>, seed: u64, named: &[&'static Generator]) -> Self {
        match named {
            [] => Self::Random(workload, seed),
            named => Self::Generators(Plan::new(workload, seed, named)),
        }
    }

    /// The case of that number; `None` where what it is made from is not on this machine.
    #[must_use]
    pub fn case(&self, index: u64) -> Option<AnyCase> {
        self.tree(index).map(|tree| tree.current())
    }

    /// The case of that number, which can be made simpler; `None` as for [`Self::case`].
    #[must_use]
    pub fn tree(&self, index: u64) -> Option<CaseTree> {
        match self {
            Self::Random(workload, seed) => Some(workload.random(*seed, index)),
            Self::Generators(plan) => plan.tree(index),
        }
    }

    /// The number of a case that was drawn here; `None` for any other.
    #[must_use]
    pub fn index(&self, case: &dyn Case) -> Option<u64> {
        match self {
            Self::Random(_, seed) => case.id().filter(|id| id.seed == *seed).map(|id| id.index),
            Self::Generators(plan) => plan.index(case),
        }
    }
}

/// Every case is the program's, whatever its formulation; of a generator's, the stages that it promises
/// something of.
impl Policy for Draws {
    fn class(&self, case: &dyn Case) -> String {
        match self {
            Self::Random(..) => String::new(),
            Self::Generators(plan) => plan.class(case),
        }
    }

    fn runs(&self, stage: Stage, case: &dyn Case) -> bool {
        match self {
            Self::Random(..) => true,
            Self::Generators(plan) => plan.promises(stage, case),
        }
    }

    fn settings(&self, _case: &dyn Case, all: &[Setting]) -> Vec<Setting> {
        all.to_vec()
    }
}
