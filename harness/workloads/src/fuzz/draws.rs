//! Cases by number, from a seed or from generators.

use super::plan::Plan;
use splatcheck_gpu::{Setting, Stage};
use splatcheck_judge::campaign::Policy;
use splatcheck_judge::workload::{AnyCase, Case, CaseTree, Generator, Workload};
use std::sync::Arc;

/// How cases are drawn for programs that are no engines.
#[derive(Clone, Debug)]
pub enum Draws {
    /// As `self-check` does, from this seed.
    Random(Arc<dyn Workload>, u64),
    /// From generators in turn.
    Generators(Plan),
}

impl Draws {
    /// From the generators that were named; for none, as `self-check` does.
    #[must_use]
    pub fn new(workload: Arc<dyn Workload>, seed: u64, named: &[&'static Generator]) -> Self {
        match named {
            [] => Self::Random(workload, seed),
            named => Self::Generators(Plan::new(workload, seed, named)),
        }
    }

    /// What they are cases of.
    #[must_use]
    pub fn workload(&self) -> &dyn Workload {
        match self {
            Self::Random(workload, _) => workload.as_ref(),
            Self::Generators(plan) => plan.workload(),
        }
    }

    /// Seed of the cases.
    #[must_use]
    pub fn seed(&self) -> u64 {
        match self {
            Self::Random(_, seed) => *seed,
            Self::Generators(plan) => plan.seed(),
        }
    }

    /// The case of that number; `None` where what it is made from is not on this machine.
    #[must_use]
    pub fn case(&self, index: u64) -> Option<AnyCase> {
        self.tree(index).map(|tree| tree.current())
    }

    /// What `fits` makes of the case of that number, and where it takes that for none, of a case far behind all
    /// others. So each number has a case of its own, whatever becomes of the others. `None` where many do not
    /// fit, and as for [`Self::case`].
    #[must_use]
    pub fn fitting(
        &self,
        index: u64,
        fits: impl Fn(AnyCase) -> Option<AnyCase>,
    ) -> Option<AnyCase> {
        let numbers = (0..Self::TRIES).map(|again| index.wrapping_add(again * Self::APART));
        numbers.filter_map(|number| self.case(number)).find_map(fits)
    }

    /// More numbers than anybody asks for, and prime: kinds take turns, and the next one is of another kind.
    const APART: u64 = (1 << 32) + 15;

    /// Of so many cases one fits, if any does: no generator has more kinds in a row that do not.
    const TRIES: u64 = 64;

    /// The generators whose files are not on this machine.
    #[must_use]
    pub fn not_drawn(&self) -> Vec<&'static Generator> {
        match self {
            Self::Random(..) => Vec::new(),
            Self::Generators(plan) => plan.not_drawn(),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;
    use crate::splat::contract::Contract;
    use splatcheck_judge::workload::generator;

    /// Lists of no Gaussian come in turn: each number has a case all the same, and always the same one.
    #[test]
    fn a_number_whose_case_does_not_fit_has_another() {
        let workload = find("splat").expect("there").under("inria").expect("known");
        let lengths = generator(workload.as_ref(), "lengths").expect("there");
        let contract = Contract::default();
        let fits = |case: AnyCase| contract.compares(&case).then_some(case);
        for named in [&[][..], &[lengths]] {
            let draws = Draws::new(Arc::clone(&workload), 3, named);
            let empty =
                |index: &u64| draws.case(*index).is_some_and(|case| !contract.compares(&case));
            assert!((0..1000).filter(empty).count() > 0, "some are empty");
            let mut seen = std::collections::BTreeSet::new();
            for index in 0..1000 {
                let case = draws.fitting(index, fits).expect("one fits");
                assert!(contract.compares(&case), "{}", case.name());
                assert!(seen.insert(case.name().to_owned()), "{} comes once", case.name());
                let own = draws.index(case.as_ref()).expect("it was drawn here");
                assert_eq!(own % Draws::APART, index, "{}", case.name());
            }
            assert!(draws.fitting(0, |_| None).is_none(), "none fits");
        }
    }
}
