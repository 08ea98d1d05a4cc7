//! How cases are drawn: the rows of a workload's table of generators.
//!
//! A case is a function of the generator, the [`Draw`] and two numbers (seed, index) alone, the same
//! on every machine. Where a generator has few kinds of cases, the draw's turn chooses the kind:
//! kinds take turns, and none is left to chance.

use super::{AnyCase, Case};
use proptest::strategy::ValueTree;
use splatcheck_gpu::Stage;
use splatcheck_gpu::hazard::Hazard;
use std::sync::Arc;

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
    /// For none: sums may overflow in some orders, or inputs are not finite. Such cases come to
    /// inconclusive at best, and are run only where the generator is named.
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
