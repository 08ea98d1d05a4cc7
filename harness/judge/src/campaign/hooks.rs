//! What the caller of a campaign decides ([`Policy`], [`Minimizer`]) and what it is told while the
//! campaign runs ([`Observer`]).

use super::chain::Chain;
use super::finding::Finding;
use super::item::Item;
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

    /// Which of a case's settings a job is run with, by the loop steps that all its lanes together make.
    fn by_steps(
        &self,
        _case: &dyn Case,
        settings: Vec<Setting>,
        _steps: &dyn Fn(Setting) -> u64,
    ) -> Vec<Setting> {
        settings
    }
}

/// The policy of a campaign that leaves nothing out: every stage under every setting of the engine,
/// and all cases of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everything;

impl Policy for Everything {}

/// The policy of a campaign of many cases: every stage under every setting, but in turn where that is
/// dear. Of the stages that are formulations of one stage each case has one ([`has_turn`]), of the
/// reductions that add up in memory without float atomics (a second launch, sums of 64 bits) it has one,
/// and of the thresholds of a reduction a random case has every third, where the kernel makes more than
/// 2^18 loop steps, or every sixth beyond 2^21. A corpus case has all thresholds.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByTurns;

impl Policy for ByTurns {
    fn runs(&self, stage: Stage, case: &dyn Case) -> bool {
        has_turn(stage, case)
    }

    fn settings(&self, case: &dyn Case, all: &[Setting]) -> Vec<Setting> {
        let has_turns = |setting: &Setting| setting.reduction.launches_twice();
        let dear: Vec<_> = all.iter().copied().filter(has_turns).collect();
        let one = place(case, 0, dear.len()).map(|place| dear[place]);
        let kept = |setting: &Setting| !has_turns(setting) || one == Some(*setting);
        all.iter().copied().filter(kept).collect()
    }

    fn by_steps(
        &self,
        case: &dyn Case,
        settings: Vec<Setting>,
        steps: &dyn Fn(Setting) -> u64,
    ) -> Vec<Setting> {
        if case.id().is_none() {
            return settings;
        }
        let kept = |setting: &Setting| {
            let of_reduction = settings.iter().filter(|other| other.reduction == setting.reduction);
            let own = of_reduction.clone().take_while(|other| *other != setting).count();
            // A reduction without thresholds has one setting, and no turns.
            let has_turn = |share| place(case, 1, share) == Some(own % share);
            of_reduction.count() == 1
                || match steps(*setting) {
                    0..=LONG => true,
                    steps if steps <= VERY_LONG => has_turn(3),
                    _ => has_turn(6),
                }
        };
        settings.iter().copied().filter(kept).collect()
    }
}

/// The policy of an engine that is too slow for everything and judges a part: of every stage of a case one
/// reduction and threshold, in turn, and of the formulations of a stage one as in [`ByTurns`]. Of `few`
/// cases it has every setting that is not long (2^18 loop steps).
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Whether there are so few cases that in turn some settings would have none.
    pub few: bool,
}

impl Part {
    /// The setting whose turn it is.
    fn one(case: &dyn Case, settings: &[Setting]) -> Option<Setting> {
        place(case, 2, settings.len()).map(|place| settings[place])
    }
}

impl Policy for Part {
    fn runs(&self, stage: Stage, case: &dyn Case) -> bool {
        self.few || has_turn(stage, case)
    }

    fn settings(&self, case: &dyn Case, all: &[Setting]) -> Vec<Setting> {
        if self.few { all.to_vec() } else { Self::one(case, all).into_iter().collect() }
    }

    fn by_steps(
        &self,
        case: &dyn Case,
        settings: Vec<Setting>,
        steps: &dyn Fn(Setting) -> u64,
    ) -> Vec<Setting> {
        let one = Self::one(case, &settings);
        let kept = |setting: &Setting| Some(*setting) == one || steps(*setting) <= LONG;
        settings.iter().copied().filter(kept).collect()
    }
}

/// Loop steps of all lanes beyond which a case has one threshold in three: with all of them such cases take
/// most of the main job's time.
const LONG: u64 = 1 << 18;
/// Loop steps beyond which a case has one threshold in six.
const VERY_LONG: u64 = LONG << 3;

/// Whether a case is one of those that a stage is run on: each, but where it is one of several
/// formulations of a stage, which have turns of equal shares. The turn is the case's own, so that it
/// stays the same in every part of a campaign.
#[must_use]
pub fn has_turn(stage: Stage, case: &dyn Case) -> bool {
    let Some(standard) = stage.text.formulation_of else { return true };
    let formulations = Stage::all().filter(|other| other.text.formulation_of == Some(standard));
    let all: Vec<_> = formulations.collect();
    place(case, 0, all.len()).and_then(|place| all.get(place)) == Some(&stage)
}

/// Which of so many things a case has; `None` where there are none. It is mixed, since generators have
/// turns of their own, and with what is dealt out: a case that has the first formulation has any threshold.
fn place(case: &dyn Case, what: u64, count: usize) -> Option<usize> {
    let turn = match case.id() {
        Some(id) => mix(id.index),
        None => case.name().bytes().fold(0, |state, byte| mix(state ^ u64::from(byte))),
    };
    let turn = if what == 0 { turn } else { mix(turn ^ what) };
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

    /// `runs` more (case, engine, stage, setting) runs are done.
    fn done(&self, runs: u64);

    /// A run of a case is one of those that are done.
    fn ran(&self, _case: &dyn Case) {}

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
    use crate::workload::toy::Toy;
    use std::collections::BTreeMap;

    const CASES: usize = 200;

    #[test]
    fn dear_reductions_share_the_cases_and_the_others_have_them_all() {
        let all = Setting::all(4);
        let mut runs = BTreeMap::new();
        for index in 0..CASES as u64 {
            let case = Toy::drawn(index);
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

    #[test]
    fn a_part_has_every_setting_by_turns() {
        let (all, part) = (Setting::sweep(32), Part { few: false });
        let mut settings = BTreeMap::new();
        for index in 0..2 * CASES as u64 {
            let case = Toy::drawn(index);
            let [one] = part.settings(case.as_ref(), &all)[..] else {
                panic!("one setting of case {index}")
            };
            *settings.entry(one).or_insert(0) += 1;
        }
        assert_eq!(settings.len(), all.len(), "{settings:?}");
    }

    #[test]
    fn few_cases_have_every_setting_that_is_not_long() {
        let case = Toy::drawn(0);
        let (all, part) = (Setting::all(32), Part { few: true });
        assert!(Stage::all().all(|stage| part.runs(stage, case.as_ref())), "every stage");
        assert_eq!(part.settings(case.as_ref(), &all), all, "every setting");
        let short = part.by_steps(case.as_ref(), all.clone(), &|_| LONG);
        assert_eq!(short, all, "that is not long");
        assert_eq!(part.by_steps(case.as_ref(), all, &|_| LONG + 1).len(), 1, "or one");
    }

    #[test]
    fn a_long_case_has_a_share_of_the_thresholds_and_many_have_them_all() {
        let all = Setting::all(8);
        let of = |case: &AnyCase, steps| ByTurns.by_steps(case.as_ref(), all.clone(), &|_| steps);
        assert_eq!(of(&Toy::drawn(0), LONG), all, "a case that is not long");
        let of_corpus = Toy::drawn(0).renamed("list-of-513".to_owned(), None);
        assert_eq!(of(&of_corpus, LONG + 1), all, "a corpus case");
        for (steps, share) in [(LONG + 1, 3), (VERY_LONG, 3), (VERY_LONG + 1, 6)] {
            let mut met = BTreeMap::new();
            for index in 0..CASES as u64 {
                let settings = of(&Toy::drawn(index), steps);
                assert!(settings.len() <= all.len() / share + all.len() / 4, "case {index}");
                settings.into_iter().for_each(|setting| *met.entry(setting).or_insert(0) += 1);
            }
            for setting in &all {
                let times = met.get(setting).copied().unwrap_or(0);
                assert!(times >= CASES / share * 3 / 4, "{setting}: {times} cases of {CASES}");
            }
        }
    }
}
