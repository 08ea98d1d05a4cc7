//! What the caller of a campaign decides ([`Policy`], [`Minimizer`]) and what it is told while the
//! campaign runs ([`Observer`]).

use super::{Chain, Finding, Item};
use crate::workload::{AnyCase, Case, Job};
use splatcheck_emulator::mix;
use splatcheck_gpu::{Setting, Stage};

/// Makes a failing case smaller: gets the case and a predicate that says whether a smaller one
/// still fails; returns the smallest that does.
pub type Minimizer<'a> = dyn Fn(&Item, &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase + Sync + 'a;

/// The workload's own way to make a case smaller.
pub fn smaller(item: &Item, fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
    std::sync::Arc::clone(&item.case).smaller(fails)
}

/// The case as it is: where it is as small as it should be.
pub fn as_it_is(item: &Item, _: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
    std::sync::Arc::clone(&item.case)
}

/// Decides what a case is run with. Every engine's thread asks it, so it must not depend on which
/// asks first.
pub trait Policy: Sync {
    /// What kind of case it is: findings of different kinds are kept apart.
    fn class(&self, _case: &dyn Case) -> String {
        String::new()
    }

    /// Whether a stage of a case is run.
    fn runs(&self, _stage: Stage, _case: &dyn Case) -> bool {
        true
    }

    /// Which of the settings that an engine and a stage have a case is run with.
    fn settings(&self, _case: &dyn Case, all: &[Setting]) -> Vec<Setting> {
        all.to_vec()
    }
}

/// The policy of a campaign that leaves nothing out: every stage under every setting of the engine,
/// and all cases of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everything;

impl Policy for Everything {}

/// The policy of a campaign of many cases: every stage under every setting, but by turns where that is
/// dear. Of the stages that are formulations of one stage each case has one ([`has_turn`]), and of the
/// reductions that add up in memory without float atomics (a second launch, sums of 64 bits) it has one.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByTurns;

impl Policy for ByTurns {
    fn runs(&self, stage: Stage, case: &dyn Case) -> bool {
        has_turn(stage, case)
    }

    fn settings(&self, case: &dyn Case, all: &[Setting]) -> Vec<Setting> {
        let has_turns = |setting: &Setting| setting.reduction.launches_twice();
        let dear: Vec<_> = all.iter().copied().filter(has_turns).collect();
        let one = place(case, dear.len()).map(|place| dear[place]);
        let kept = |setting: &Setting| !has_turns(setting) || one == Some(*setting);
        all.iter().copied().filter(kept).collect()
    }
}

/// Whether a case is one of those that a stage is run on: each, but where it is one of several
/// formulations of a stage, which have turns of equal shares. The turn is the case's own, so that it
/// stays the same in every part of a campaign.
#[must_use]
pub fn has_turn(stage: Stage, case: &dyn Case) -> bool {
    let Some(standard) = stage.text.formulation_of else { return true };
    let formulations = Stage::all().filter(|other| other.text.formulation_of == Some(standard));
    let all: Vec<_> = formulations.collect();
    place(case, all.len()).and_then(|place| all.get(place)) == Some(&stage)
}

/// Which of so many things a case has; `None` where there are none. It is mixed, since generators have
/// turns of their own.
fn place(case: &dyn Case, count: usize) -> Option<usize> {
    let turn = match case.id() {
        Some(id) => mix(id.index),
        None => case.name().bytes().fold(0, |state, byte| mix(state ^ u64::from(byte))),
    };
    usize::try_from(turn.checked_rem(count as u64)?).ok()
}

/// What an engine was run on.
#[derive(Clone, Copy, Debug)]
pub struct Exercised<'a> {
    /// The case.
    pub case: &'a dyn Case,
    /// The view.
    pub view: usize,
    /// The job.
    pub job: &'a Job,
    /// The settings.
    pub settings: &'a [Setting],
}

/// Is told of a campaign while it runs. A function of the number of runs done is an observer.
pub trait Observer: Sync {
    /// A view of a case is about to be judged: called once, whatever the number of engines.
    fn prepared(&self, _item: &Item) {}

    /// So many more (case, engine, stage, setting) runs are done.
    fn done(&self, runs: u64);

    /// A new kind of finding: called at once, and once more when the case was made `small`.
    fn found(&self, _finding: &Finding, _small: bool) {}

    /// A stage that accumulates was run on lanes of that width with these settings.
    fn exercised(&self, _engine: &str, _width: u32, _run: Exercised<'_>) {}
}

impl<F: Fn(u64) + Sync> Observer for F {
    fn done(&self, runs: u64) {
        self(runs);
    }
}

/// Whether and how findings are diagnosed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diagnoses {
    /// They are not.
    None,
    /// Each by its own run, so that it is the same in whatever part of a campaign it is met.
    Alone,
    /// Each in the light of other runs that fail in the same way, and of the other findings.
    Together,
}

/// All that a campaign asks its caller and tells it.
#[derive(Clone, Copy)]
pub struct Hooks<'a> {
    /// Makes failing cases smaller.
    pub minimize: &'a Minimizer<'a>,
    /// Decides what each case is run with.
    pub policy: &'a dyn Policy,
    /// Is told of progress and findings.
    pub observer: &'a dyn Observer,
    /// Whose forward pass backward stages go on from.
    pub chain: Chain,
    /// How findings are diagnosed, which costs a run of the kernel and some of the oracle for each.
    pub diagnoses: Diagnoses,
}

impl<'a> Hooks<'a> {
    /// Everything is run, every finding is diagnosed, and nobody is told before the end.
    #[must_use]
    pub fn new(minimize: &'a Minimizer<'a>) -> Self {
        let (chain, diagnoses) = (Chain::Oracle, Diagnoses::Together);
        Self { minimize, policy: &Everything, observer: &|_| (), chain, diagnoses }
    }

    /// With a diagnosis of every finding by its own run.
    #[must_use]
    pub fn diagnosing_each(self) -> Self {
        Self { diagnoses: Diagnoses::Alone, ..self }
    }

    /// With this observer.
    #[must_use]
    pub fn observed(self, observer: &'a dyn Observer) -> Self {
        Self { observer, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::Plan;
    use crate::workload::generator;
    use crate::workloads::find;
    use std::collections::BTreeMap;

    const CASES: usize = 200;

    #[test]
    fn dear_reductions_share_the_cases_and_the_others_have_them_all() {
        let workload = find("splat").expect("there");
        let typical = generator(workload.as_ref(), "typical").expect("a generator");
        let plan = Plan::new(workload, 1, &[typical]);
        let all = Setting::all(4);
        let mut runs = BTreeMap::new();
        for index in 0..CASES as u64 {
            let case = plan.tree(index).expect("no data needed").current();
            for setting in ByTurns.settings(case.as_ref(), &all) {
                *runs.entry(setting.reduction).or_insert(0) += 1;
            }
        }
        for (reduction, runs) in runs {
            let settings = all.iter().filter(|setting| setting.reduction == reduction).count();
            if reduction.launches_twice() {
                assert!((CASES / 3..=2 * CASES / 3).contains(&runs), "{reduction}: {runs}");
            } else {
                assert_eq!(runs, CASES * settings, "{reduction}");
            }
        }
    }
}
