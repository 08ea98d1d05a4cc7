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

/// The policy of a campaign of many cases: every stage under every setting, but of the stages that are
/// formulations of one stage each case has one, by turns ([`has_turn`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct OneFormulation;

impl Policy for OneFormulation {
    fn runs(&self, stage: Stage, case: &dyn Case) -> bool {
        has_turn(stage, case)
    }
}

/// Whether a case is one of those that a stage is run on: each, but where it is one of several
/// formulations of a stage, which have turns of equal shares. The turn is the case's own, so that it
/// stays the same in every part of a campaign.
#[must_use]
pub fn has_turn(stage: Stage, case: &dyn Case) -> bool {
    let Some(standard) = stage.text.formulation_of else { return true };
    let formulations = Stage::all().filter(|other| other.text.formulation_of == Some(standard));
    // Mixed, since generators have turns of their own.
    let turn = match case.id() {
        Some(id) => mix(id.index),
        None => case.name().bytes().fold(0, |state, byte| mix(state ^ u64::from(byte))),
    };
    let all: Vec<_> = formulations.collect();
    let place = usize::try_from(turn % all.len().max(1) as u64).unwrap_or(0);
    all.get(place) == Some(&stage)
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
    /// Whether findings are diagnosed, which costs a run of the kernel and some of the oracle for each.
    pub diagnoses: bool,
}

impl<'a> Hooks<'a> {
    /// Everything is run, and nobody is told before the end.
    #[must_use]
    pub fn new(minimize: &'a Minimizer<'a>) -> Self {
        let chain = Chain::Oracle;
        Self { minimize, policy: &Everything, observer: &|_| (), chain, diagnoses: false }
    }

    /// With a diagnosis of every finding.
    #[must_use]
    pub fn diagnosing(self) -> Self {
        Self { diagnoses: true, ..self }
    }

    /// With this observer.
    #[must_use]
    pub fn observed(self, observer: &'a dyn Observer) -> Self {
        Self { observer, ..self }
    }
}
