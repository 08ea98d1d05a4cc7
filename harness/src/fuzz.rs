//! The cases of a fuzzing campaign: a list without end, a pure function of seed and index.
//!
//! Nothing that a machine does has a part in it, neither its engines nor their speed nor the number
//! of threads; so any part of a campaign can be run again anywhere. It is steered without looking
//! back: every other case is one of [`generators`]'s `lanes`, whose aims take turns until every cell
//! of [`coverage`](crate::coverage) was aimed at; the other generators take turns in between, those
//! with large cases one turn in 16. Lane widths and settings take turns too.

mod join;
mod record;
mod results;
mod shard;

pub use join::{JoinError, Part, folder_of, join};
pub use record::{RecordError, ResultError};
pub use results::{REPORT, RESULT, Results};
pub use shard::{NotAShard, Shard};

use crate::campaign::{Finding, Policy};
use crate::workload::{AnyCase, Case, CaseId};
use crate::workloads::splat::generators::{self, CaseTree, Draw, Generator, Promise, Size};
use crate::workloads::splat::{self};
use splatcheck_gpu::BackwardConfig;
use splatcheck_gpu::Stage;
use splatcheck_reference::splat::convention::Profile;

/// Lane widths that are aimed at where none is named: those of the devices there are.
pub const LANE_WIDTHS: [u32; 4] = [32, 8, 4, 16];
/// Settings that a case is run with where no number is named: its bounds are computed once for all.
const SETTINGS: usize = 2;

/// Of so many turns of the generators that were not named, large cases have one.
const LARGE: u64 = 16;

/// Why a campaign cannot aim as it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AimError {
    /// There is nothing to aim at.
    #[error("no lane width or no setting")]
    Nothing,
    /// There are no such warps.
    #[error("no warp has {width} lanes: expected 1, 2, 4, 8, 16, 32 or 64")]
    LaneWidth {
        /// The number of lanes.
        width: u32,
    },
}

/// What is drawn.
#[derive(Clone, Debug)]
pub struct Plan {
    profile: Profile,
    seed: u64,
    turns: Turns,
    /// Lane widths that are aimed at, in turn.
    lane_widths: Vec<u32>,
    /// Settings that a case is run with.
    settings: usize,
}

/// Which generator comes when.
#[derive(Clone, Debug)]
enum Turns {
    /// Those that were named, one after the other.
    Named(Vec<&'static Generator>),
    /// `steering` at odd indices, the others at even ones.
    All {
        steering: &'static Generator,
        small: Vec<&'static Generator>,
        large: Vec<&'static Generator>,
    },
}

impl Turns {
    fn all() -> Self {
        let promised = || generators::ALL.iter().filter(|g| g.promise != Promise::Nothing);
        let of = |size| promised().filter(move |g| g.size == size && g.name != STEERING).collect();
        let steering = generators::find(STEERING);
        let Some(steering) = steering else { unreachable!("{STEERING} is a generator") };
        Self::All { steering, small: of(Size::Small), large: of(Size::Large) }
    }

    /// Those that have a turn at all.
    fn used(&self) -> Vec<&'static Generator> {
        match self {
            Self::Named(named) => named.clone(),
            Self::All { steering, small, large } => {
                large.iter().chain(small).chain([steering]).copied().collect()
            }
        }
    }

    /// The generator of case `index`, and how often it had its turn before.
    fn at(&self, index: u64) -> (&'static Generator, u64) {
        let (generators, turn) = match self {
            Self::Named(named) => (named, index),
            Self::All { steering, .. } if index % 2 == 1 => return (steering, index / 2),
            Self::All { small, large, .. } => match index / 2 {
                turn if turn % LARGE == LARGE - 1 => (large, turn / LARGE),
                turn => (small, turn - turn / LARGE),
            },
        };
        let count = generators.len() as u64;
        (generators[usize::try_from(turn % count).unwrap_or(0)], turn / count)
    }
}

/// The generator that aims at cells of the coverage.
const STEERING: &str = "lanes";

impl Plan {
    /// The generators that were named; for none, all of which anything is promised.
    #[must_use]
    pub fn new(profile: Profile, seed: u64, named: &[&'static Generator]) -> Self {
        let turns = if named.is_empty() { Turns::all() } else { Turns::Named(named.to_vec()) };
        Self { profile, seed, turns, lane_widths: LANE_WIDTHS.to_vec(), settings: SETTINGS }
    }

    /// Aims at warps of these numbers of lanes, in turn, and runs each case with so many settings.
    ///
    /// # Errors
    /// None, or a number of lanes that no warp has; no settings.
    pub fn aimed(self, lane_widths: Vec<u32>, settings: usize) -> Result<Self, AimError> {
        if lane_widths.is_empty() || settings == 0 {
            return Err(AimError::Nothing);
        }
        let wrong = lane_widths.iter().find(|width| !width.is_power_of_two() || **width > 64);
        if let Some(&width) = wrong {
            return Err(AimError::LaneWidth { width });
        }
        Ok(Self { lane_widths, settings, ..self })
    }

    /// The generators that were named.
    fn named(&self) -> &[&'static Generator] {
        match &self.turns {
            Turns::Named(named) => named,
            Turns::All { .. } => &[],
        }
    }

    /// The generators that this plan does not use.
    pub fn unused(&self) -> impl Iterator<Item = &'static Generator> + '_ {
        let used = self.turns.used();
        generators::ALL
            .iter()
            .filter(move |generator| used.iter().all(|u| u.name != generator.name))
    }

    /// Whether windows are drawn but the trained scenes are not on this machine.
    #[must_use]
    pub fn window_is_missing(&self) -> bool {
        let draw = Draw { profile: self.profile, lane_width: 32, turn: 0 };
        self.turns.used().iter().any(|generator| generator.strategy(draw).is_none())
    }

    /// The generator of case `index`, and how often it had its turn before.
    #[must_use]
    pub fn generator(&self, index: u64) -> (&'static Generator, u64) {
        self.turns.at(index)
    }

    /// Case `index`; `None` where what it is made from is not on this machine.
    #[must_use]
    pub fn tree(&self, index: u64) -> Option<CaseTree> {
        let (generator, turn) = self.generator(index);
        let count = self.lane_widths.len() as u64;
        let lane_width = self.lane_widths[usize::try_from(turn % count).unwrap_or(0)];
        // Every width meets every kind of case.
        let turn = turn / count;
        generator.draw(Draw { profile: self.profile, lane_width, turn }, self.seed, index)
    }

    /// The identity of case `index`.
    pub(super) fn id(&self, index: u64) -> CaseId {
        CaseId { generator: self.generator(index).0.name, seed: self.seed, index }
    }

    /// The index of a case of this plan; `None` for any other case.
    #[must_use]
    pub fn index(&self, case: &dyn Case) -> Option<u64> {
        let id = case.id()?;
        (*id == self.id(id.index)).then_some(id.index)
    }

    /// The generators on whose cases only the rasterization is run.
    pub fn rasterized(&self) -> impl Iterator<Item = &'static str> + '_ {
        let used = self.turns.used().into_iter();
        used.filter(|g| g.promise == Promise::Rasterization).map(|g| g.name)
    }

    /// Puts findings in the order of their cases.
    pub fn sort(&self, findings: &mut [Finding]) {
        findings.sort_by_cached_key(|f| (self.index(f.case.as_ref()), f.key.clone()));
    }

    /// The cases of a part from the first on, each with all its cameras.
    pub fn cases(&self, shard: Shard) -> impl Iterator<Item = (AnyCase, usize)> + '_ {
        let trees = shard.indices().filter_map(|index| self.tree(index));
        splat::views(trees.map(|tree| tree.current()))
    }
}

impl Policy for Plan {
    /// The generator, or nothing for a case of another campaign.
    fn class(&self, case: &dyn Case) -> String {
        self.index(case).map_or_else(String::new, |index| self.generator(index).0.name.to_owned())
    }

    /// Where its outputs are promised, and all cases of a generator of which nothing is, which runs
    /// only because it was named.
    fn runs(&self, stage: Stage, case: &dyn Case) -> bool {
        let promise = self.index(case).map(|index| self.generator(index).0.promise);
        promise.is_none_or(|p| p == Promise::Nothing || p.holds_for(stage))
    }

    /// The next ones in turn, of all that a device has.
    fn settings(&self, case: &dyn Case, all: &[BackwardConfig]) -> Vec<BackwardConfig> {
        let turn = self.index(case).unwrap_or(0).wrapping_mul(self.settings as u64);
        let first = usize::try_from(turn % all.len().max(1) as u64).unwrap_or(0);
        all.iter().cycle().skip(first).take(self.settings.min(all.len())).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn every_generator_has_its_turn_and_half_of_the_cases_steer() {
        let plan = Plan::new(Profile::Inria, 1, &[]);
        let mut turns = BTreeMap::new();
        for index in 0..8192 {
            let (generator, turn) = plan.generator(index);
            let before = turns.entry(generator.name).or_insert(0);
            assert_eq!(turn, *before, "turns of {} are counted", generator.name);
            *before += 1;
        }
        assert_eq!(turns["lanes"], 4096, "half of the cases");
        for generator in generators::ALL.iter().filter(|g| g.promise != Promise::Nothing) {
            let least = if generator.size == Size::Large { 24 } else { 256 };
            assert!(turns[generator.name] >= least, "{} has no turn", generator.name);
        }
        let unused: Vec<_> = plan.unused().map(|g| g.name).collect();
        assert_eq!(unused, ["overflow", "non-finite"], "what is promised nothing");
    }

    #[test]
    fn names_lead_back_to_their_cases_and_no_others_do() {
        let plan = Plan::new(Profile::Gsplat, 9, &[]);
        for index in 0..50 {
            let Some(tree) = plan.tree(index) else { continue };
            let case = tree.current();
            assert_eq!(plan.index(&case), Some(index), "{}", case.name);
            assert_eq!(plan.class(&case), plan.generator(index).0.name, "{}", case.name);
        }
        let other = Plan::new(Profile::Gsplat, 8, &[]).tree(1).expect("no data needed").current();
        assert_eq!(plan.index(&other), None, "another seed's case");
    }

    #[test]
    fn every_kind_of_case_is_aimed_at_every_lane_width() {
        let lengths = generators::find("lengths").expect("a generator");
        let plan = Plan::new(Profile::Inria, 1, &[lengths]).aimed(vec![8, 4], 3).expect("widths");
        let length = |index| {
            let case = plan.tree(index).expect("no data needed").current();
            case.scene.gaussians.means.len()
        };
        // Lists of 0 for both widths, then of 1 for both, then of 255.
        assert_eq!([0, 1, 2, 3, 4, 5].map(length), [0, 0, 1, 1, 255, 255], "lengths");
    }

    #[test]
    fn settings_take_turns_and_all_of_them_come() {
        let finish = generators::find("finish").expect("a generator");
        let plan = Plan::new(Profile::Inria, 1, &[finish]).aimed(vec![4], 3).expect("widths");
        let all = BackwardConfig::all(4);
        let of = |index| {
            let case = plan.tree(index).expect("no data needed").current();
            plan.settings(&case, &all)
        };
        assert_eq!([of(0), of(1)].concat(), all[..6], "the next ones");
        let met: Vec<_> = (0..9).flat_map(of).collect();
        assert!(all.iter().all(|setting| met.contains(setting)), "27 turns, 26 settings");
    }

    #[test]
    fn what_no_warp_has_is_refused() {
        for (lane_widths, settings) in [(vec![], 1), (vec![4, 5], 1), (vec![128], 1), (vec![4], 0)]
        {
            let plan = Plan::new(Profile::Inria, 1, &[]).aimed(lane_widths.clone(), settings);
            assert!(plan.is_err(), "{lane_widths:?}, {settings}");
        }
    }
}
