//! What is drawn, and which generator comes when.

use super::shard::Shard;
use splatcheck_gpu::{Setting, Stage};
use splatcheck_judge::campaign::{Chain, Finding, Policy, has_turn};
use splatcheck_judge::engines::parted::Parts;
use splatcheck_judge::scatter_step::check_lane_width;
use splatcheck_judge::workload::{
    AnyCase, Case, CaseId, CaseTree, Draw, Frequency, Generator, Promise, Workload, views,
};
use std::sync::Arc;

/// Warp sizes that are aimed at where none is named: those of the devices there are.
pub const LANE_WIDTHS: [u32; 4] = [32, 8, 4, 16];
/// Settings that a case is run with where no number is named: its bounds are computed once for all.
const SETTINGS: usize = 2;

/// Of so many turns of the generators that were not named, large cases have one: they take four to ten times as long.
const LARGE: u64 = 16;
/// The same for a kernel of a user, which few cases judge: cameras and sizes are among the large ones.
const LARGE_OF_FEW: u64 = 4;

/// Why a campaign cannot aim as it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AimError {
    /// There is nothing to aim at.
    #[error("no warp size or no setting")]
    Nothing,
    /// There are no such warps.
    #[error("no warp has {width} lanes: expected 1, 2, 4, 8, 16, 32, 64 or 128")]
    LaneWidth {
        /// The number of lanes.
        width: u32,
    },
}

/// What is drawn.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) workload: Arc<dyn Workload>,
    pub(super) seed: u64,
    order: Order,
    /// Warp sizes that are aimed at, in turn.
    pub(super) lane_widths: Vec<u32>,
    /// Settings that a case is run with.
    pub(super) settings: usize,
    pub(super) chain: Chain,
    pub(super) parts: Parts,
}

/// Which generator comes when.
#[derive(Clone, Debug)]
enum Order {
    /// The generators that were named, one after the other.
    Named(Vec<&'static Generator>),
    /// `steering` at odd indices, the others at even ones; the others at all where none steers.
    All {
        steering: Option<&'static Generator>,
        often: Vec<&'static Generator>,
        seldom: Vec<&'static Generator>,
        /// Of so many turns one that comes seldom has one.
        large: u64,
    },
}

impl Order {
    fn all(workload: &dyn Workload) -> Self {
        let mut promised = workload.generators();
        promised.retain(|generator| generator.promise != Promise::Nothing);
        let of = |turns| promised.iter().copied().filter(move |g| g.turns == turns);
        Self::All {
            steering: of(Frequency::Steering).next(),
            often: of(Frequency::Often).collect(),
            seldom: of(Frequency::Seldom).collect(),
            large: LARGE,
        }
    }

    /// The generators that have a turn at all.
    fn used(&self) -> Vec<&'static Generator> {
        match self {
            Self::Named(named) => named.clone(),
            Self::All { steering, often, seldom, .. } => {
                seldom.iter().chain(often).chain(steering).copied().collect()
            }
        }
    }

    /// The generator of case `index`, and how often it had its turn before.
    fn at(&self, index: u64) -> (&'static Generator, u64) {
        let (generators, turn) = match self {
            Self::Named(named) => (named, index),
            Self::All { steering, often, seldom, large } => {
                let turn = match steering {
                    Some(steering) if index % 2 == 1 => return (steering, index / 2),
                    Some(_) => index / 2,
                    None => index,
                };
                match turn {
                    turn if seldom.is_empty() => (often, turn),
                    turn if turn % large == large - 1 => (seldom, turn / large),
                    turn => (often, turn - turn / large),
                }
            }
        };
        let count = generators.len() as u64;
        (generators[usize::try_from(turn % count).unwrap_or(0)], turn / count)
    }
}

impl Plan {
    /// The generators that were named; for none, all of which anything is promised.
    #[must_use]
    pub fn new(workload: Arc<dyn Workload>, seed: u64, named: &[&'static Generator]) -> Self {
        let order = match named {
            [] => Order::all(workload.as_ref()),
            named => Order::Named(named.to_vec()),
        };
        let lane_widths = LANE_WIDTHS.to_vec();
        let (chain, parts) = (Chain::default(), Parts::default());
        Self { workload, seed, order, lane_widths, settings: SETTINGS, chain, parts }
    }

    /// Whose cases are drawn.
    #[must_use]
    pub fn workload(&self) -> &dyn Workload {
        self.workload.as_ref()
    }

    /// Seed of the cases.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Aims at warps of these numbers of lanes, in turn, and runs each case with so many settings.
    ///
    /// # Errors
    /// None, or a number of lanes that no warp has; no settings.
    pub fn aimed(self, lane_widths: Vec<u32>, settings: usize) -> Result<Self, AimError> {
        if lane_widths.is_empty() || settings == 0 {
            return Err(AimError::Nothing);
        }
        if let Some(&width) = lane_widths.iter().find(|&&width| check_lane_width(width).is_err()) {
            return Err(AimError::LaneWidth { width });
        }
        Ok(Self { lane_widths, settings, ..self })
    }

    /// As few cases judge a kernel of a user: large ones, of several cameras and of many Gaussians, come more often,
    /// those first that have much at once, without those of some generators.
    #[must_use]
    pub fn of_few(mut self, without: &[&str]) -> Self {
        if let Order::All { seldom, large, .. } = &mut self.order {
            *large = LARGE_OF_FEW;
            let mut all = self.workload.generators();
            all.retain(|generator| generator.turns == Frequency::First);
            all.append(seldom);
            all.retain(|generator| !without.contains(&generator.name));
            *seldom = all;
        }
        self
    }

    /// Lets backward stages go on from this forward pass.
    #[must_use]
    pub fn chained(self, chain: Chain) -> Self {
        Self { chain, ..self }
    }

    /// Whose forward pass backward stages go on from.
    #[must_use]
    pub fn chain(&self) -> Chain {
        self.chain
    }

    /// Cuts every run into so many parts.
    #[must_use]
    pub fn in_parts(self, parts: Parts) -> Self {
        Self { parts, ..self }
    }

    /// Into how many parts every run is cut.
    #[must_use]
    pub fn parts(&self) -> Parts {
        self.parts
    }

    /// What a report says of how cases are run.
    pub(super) fn described(&self) -> impl Iterator<Item = String> {
        self.chain.described().map(str::to_owned).into_iter().chain(self.parts.described())
    }

    /// The generators that were named.
    pub(super) fn named(&self) -> &[&'static Generator] {
        match &self.order {
            Order::Named(named) => named,
            Order::All { .. } => &[],
        }
    }

    /// The generators that this plan does not use.
    pub fn unused(&self) -> impl Iterator<Item = &'static Generator> + '_ {
        let used = self.order.used();
        // What those for few cases have, a campaign's others have too.
        let all = self.workload.generators().into_iter().filter(|g| g.turns != Frequency::First);
        all.filter(move |generator| used.iter().all(|u| u.name != generator.name))
    }

    /// The generators that this plan uses and whose files are not on this machine.
    #[must_use]
    pub fn not_drawn(&self) -> Vec<&'static Generator> {
        let mut used = self.order.used();
        let draw = Draw { lane_width: LANE_WIDTHS[0], turn: 0 };
        used.retain(|generator| !generator.needs.is_empty());
        used.retain(|generator| self.workload.draw(generator, draw, self.seed, 0).is_none());
        used
    }

    /// Whether there is no case at all: of none of its generators are the files on this machine.
    #[must_use]
    pub fn has_no_case(&self) -> bool {
        self.not_drawn().len() == self.order.used().len()
    }

    /// The generator of case `index`, and how often it had its turn before.
    #[must_use]
    pub fn generator(&self, index: u64) -> (&'static Generator, u64) {
        self.order.at(index)
    }

    /// Case `index`; `None` where what it is made from is not on this machine.
    #[must_use]
    pub fn tree(&self, index: u64) -> Option<CaseTree> {
        let (generator, turn) = self.generator(index);
        let count = self.lane_widths.len() as u64;
        let lane_width = self.lane_widths[usize::try_from(turn % count).unwrap_or(0)];
        // Every width meets every kind of case.
        let draw = Draw { lane_width, turn: turn / count };
        self.workload.draw(generator, draw, self.seed, index)
    }

    /// The identity of case `index`.
    pub(super) fn id(&self, index: u64) -> CaseId {
        let generator = self.generator(index).0.name;
        CaseId { workload: self.workload.name(), generator, seed: self.seed, index }
    }

    /// The index of a case of this plan; `None` for any other case.
    #[must_use]
    pub fn index(&self, case: &dyn Case) -> Option<u64> {
        let id = case.id()?;
        (*id == self.id(id.index)).then_some(id.index)
    }

    /// The stages that are not run on the cases of some generators, since nothing is promised of
    /// them there, each list of stages with its generators.
    #[must_use]
    pub fn left_out(&self) -> Vec<(Vec<Stage>, Vec<&'static str>)> {
        let mut all: Vec<(Vec<Stage>, Vec<&'static str>)> = Vec::new();
        for generator in self.order.used() {
            let Promise::Only(_) = generator.promise else { continue };
            let own = Stage::all().filter(|stage| stage.workload == self.workload.name());
            let stages: Vec<_> = own.filter(|stage| !generator.promise.holds_for(*stage)).collect();
            match all.iter_mut().find(|(known, _)| *known == stages) {
                Some((_, names)) => names.push(generator.name),
                None => all.push((stages, vec![generator.name])),
            }
        }
        all
    }

    /// Puts findings in the order of their cases.
    pub fn sort(&self, findings: &mut [Finding]) {
        findings.sort_by_cached_key(|f| (self.index(f.case.as_ref()), f.key.clone()));
    }

    /// The cases of a part from the first on, each with all its cameras.
    pub fn cases(&self, shard: Shard) -> impl Iterator<Item = (AnyCase, usize)> + '_ {
        let trees = shard.indices().filter_map(|index| self.tree(index));
        views(trees.map(|tree| tree.current()))
    }
}

impl Plan {
    /// Whether a stage's outputs are promised on a case: on all cases of a generator of which nothing is,
    /// which runs only because it was named.
    #[must_use]
    pub fn promises(&self, stage: Stage, case: &dyn Case) -> bool {
        let promise = self.index(case).map(|index| self.generator(index).0.promise);
        promise.is_none_or(|p| p == Promise::Nothing || p.holds_for(stage))
    }
}

impl Policy for Plan {
    /// The generator, or nothing for a case of another campaign.
    fn class(&self, case: &dyn Case) -> String {
        self.index(case).map_or_else(String::new, |index| self.generator(index).0.name.to_owned())
    }

    /// In its turn, where its outputs are promised.
    fn runs(&self, stage: Stage, case: &dyn Case) -> bool {
        has_turn(stage, case) && self.promises(stage, case)
    }

    /// The next ones in turn, of all that a device has. After as many cases as there are settings the
    /// turns are shifted by one: else an aim that comes back after so many cases, or a part of them,
    /// would meet the same settings for ever.
    fn settings(&self, case: &dyn Case, all: &[Setting]) -> Vec<Setting> {
        let (index, count) = (self.index(case).unwrap_or(0), all.len().max(1) as u64);
        let turn = index.wrapping_mul(self.settings as u64).wrapping_add(index / count);
        let first = usize::try_from(turn % count).unwrap_or(0);
        all.iter().cycle().skip(first).take(self.settings.min(all.len())).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splat::splat_case;
    use crate::{all as workloads, find};
    use splatcheck_judge::workload::generator;
    use std::collections::BTreeMap;

    fn splat(convention: &str) -> Arc<dyn Workload> {
        find("splat").expect("there").under(convention).expect("known")
    }

    fn row(name: &str) -> &'static Generator {
        generator(find("splat").expect("there").as_ref(), name).expect("a generator")
    }

    #[test]
    fn every_generator_has_its_turn_and_half_of_the_cases_steer() {
        let plan = Plan::new(splat("inria"), 1, &[]);
        let mut turns = BTreeMap::new();
        for index in 0..8192 {
            let (generator, turn) = plan.generator(index);
            let before = turns.entry(generator.name).or_insert(0);
            assert_eq!(turn, *before, "turns of {} are counted", generator.name);
            *before += 1;
        }
        assert_eq!(turns["lanes"], 4096, "half of the cases");
        let mut promised = plan.workload().generators();
        promised.retain(|generator| generator.promise != Promise::Nothing);
        // One in 16 of the other half is for those that have their turns seldom.
        let seldom = promised.iter().filter(|row| row.turns == Frequency::Seldom).count() as u64;
        for generator in promised.into_iter().filter(|row| row.turns != Frequency::First) {
            let least = if generator.turns == Frequency::Seldom { 4096 / 16 / seldom } else { 200 };
            assert!(turns[generator.name] >= least, "{} has no turn", generator.name);
        }
        let unused: Vec<_> = plan.unused().map(|g| g.name).collect();
        assert_eq!(unused, ["overflow", "non-finite"], "what is promised nothing");
    }

    #[test]
    fn every_workload_has_its_turns_whether_a_generator_steers_or_not() {
        for workload in workloads() {
            let plan = Plan::new(Arc::clone(&workload), 1, &[]);
            let mut met: Vec<_> = (0..1024).map(|index| plan.generator(index).0.name).collect();
            met.sort_unstable();
            met.dedup();
            assert_eq!(met.len(), plan.order.used().len(), "{}", workload.name());
        }
        let often = row("finish");
        let seldom = vec![row("typical")];
        let none = Order::All { steering: None, often: vec![often], seldom, large: LARGE };
        let turns: Vec<_> = (0..17).map(|index| none.at(index)).collect();
        assert_eq!(turns.iter().filter(|(g, _)| g.name == "typical").count(), 1, "one in 16");
        assert_eq!(turns[16].1, 15, "turns of the others are counted without it");
        let few = Plan::new(splat("inria"), 1, &[]).of_few(&["crowds"]);
        let large =
            (0..64).step_by(2).filter(|&index| few.generator(index).0.turns != Frequency::Often);
        assert_eq!(large.count(), 8, "one in 4 of the half that does not steer");
        assert!((0..256).all(|index| few.generator(index).0.name != "crowds"), "left out");
        assert_eq!(few.generator(6).0.name, "large", "the first of the large ones");
    }

    #[test]
    fn a_short_campaign_has_many_channels() {
        let plan = Plan::new(splat("inria"), 1, &[]);
        let channels = |index| {
            let case = plan.tree(index)?.current();
            Some(splat_case(&case)?.scene.channels())
        };
        let most = (0..100).filter_map(channels).max();
        assert!(most > Some(16), "{most:?} in the first hundred cases");
    }

    #[test]
    fn names_lead_back_to_their_cases_and_no_others_do() {
        let plan = Plan::new(splat("gsplat"), 9, &[]);
        for index in 0..50 {
            let Some(tree) = plan.tree(index) else { continue };
            let case = tree.current();
            assert_eq!(plan.index(case.as_ref()), Some(index), "{}", case.name());
            assert_eq!(plan.class(case.as_ref()), plan.generator(index).0.name, "{}", case.name());
        }
        let other = Plan::new(splat("gsplat"), 8, &[]).tree(1).expect("no data needed").current();
        assert_eq!(plan.index(other.as_ref()), None, "another seed's case");
    }

    #[test]
    fn every_kind_of_case_is_aimed_at_every_lane_width() {
        let plan =
            Plan::new(splat("inria"), 1, &[row("lengths")]).aimed(vec![8, 4], 3).expect("widths");
        let length = |index| {
            let case = plan.tree(index).expect("no data needed").current();
            splat_case(&case).expect("splats").scene.gaussians.means.len()
        };
        // Lists of 0 for both widths, then of 1 for both, then of 255.
        assert_eq!([0, 1, 2, 3, 4, 5].map(length), [0, 0, 1, 1, 255, 255], "lengths");
    }

    #[test]
    fn settings_take_turns_and_all_of_them_come() {
        let plan =
            Plan::new(splat("inria"), 1, &[row("finish")]).aimed(vec![4], 3).expect("widths");
        let all = Setting::all(4);
        let of = |index| {
            let case = plan.tree(index).expect("no data needed").current();
            plan.settings(case.as_ref(), &all)
        };
        assert_eq!([of(0), of(1)].concat(), all[..6], "the next ones");
        let count = all.len() as u64;
        let met: Vec<_> = (0..count.div_ceil(3)).flat_map(of).collect();
        assert!(all.iter().all(|setting| met.contains(setting)), "as many turns as settings");
        let after = [of(count), of(count + 1)].concat();
        assert_eq!(after, all[1..7], "shifted by one after as many cases as settings");
    }

    #[test]
    fn what_no_warp_has_is_refused() {
        for (lane_widths, settings) in [(vec![], 1), (vec![4, 5], 1), (vec![256], 1), (vec![4], 0)]
        {
            let plan = Plan::new(splat("inria"), 1, &[]).aimed(lane_widths.clone(), settings);
            assert!(plan.is_err(), "{lane_widths:?}, {settings}");
        }
    }
}
