//! Cases by number, from a seed or from generators.

use super::Plan;
use crate::workload::{AnyCase, Generator, Workload};
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
        match self {
            Self::Random(workload, seed) => Some(workload.random(*seed, index).current()),
            Self::Generators(plan) => plan.tree(index).map(|tree| tree.current()),
        }
    }
}
