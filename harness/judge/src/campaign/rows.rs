//! The counts of an engine's part of a campaign, row by row of the report.

use super::chain::Chain;
use super::contender::Contender;
use super::finding::Finding;
use crate::engines::Emulation;
use crate::io::serde_forms::{furthest, number};
use crate::verdict::{Difference, Sharpness, Sight, Tally, Verdict};
use crate::words::count;
use serde::{Deserialize, Serialize};
use splatcheck_gpu::{DeviceInfo, EngineError, Reduction, Setting, Stage};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// Counts of one row of the report.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Row {
    /// (case, setting) runs by verdict.
    pub runs: BTreeMap<Verdict, u64>,
    /// All elements of all runs.
    pub tally: Tally,
    /// The largest error / bound of an element outside its bound, if there is one.
    #[serde(with = "furthest")]
    pub furthest: Option<f64>,
    /// Runs that disagree at each threshold that was run.
    pub disagree_at: BTreeMap<u32, u64>,
    /// The largest error / bound at each threshold that was run.
    #[serde(default)]
    pub worst_at: BTreeMap<u32, Ratio>,
}

/// An error / bound, perhaps infinite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ratio(#[serde(with = "number")] pub f64);

impl Row {
    pub(super) fn add(&mut self, tally: &Tally, setting: Option<Setting>) {
        self.add_run(tally.verdict(), setting);
        self.tally.merge(tally);
        let furthest = tally.worst.as_ref().map(Difference::ratio);
        self.move_to(furthest);
        if let Some(setting) = setting.filter(|setting| setting.reduction.has_threshold()) {
            let largest = furthest.unwrap_or(tally.sharpness.max);
            self.worst_at(setting.threshold, Ratio(largest));
        }
    }

    /// Takes in an error / bound at a threshold.
    pub(super) fn worst_at(&mut self, threshold: u32, ratio: Ratio) {
        let known = self.worst_at.entry(threshold).or_insert(ratio);
        known.0 = known.0.max(ratio.0);
    }

    pub(super) fn move_to(&mut self, furthest: Option<f64>) {
        self.furthest = furthest.into_iter().chain(self.furthest).reduce(f64::max);
    }

    pub(super) fn add_run(&mut self, verdict: Verdict, setting: Option<Setting>) {
        *self.runs.entry(verdict).or_default() += 1;
        if let Some(setting) = setting.filter(|setting| setting.reduction.has_threshold()) {
            let disagree = self.disagree_at.entry(setting.threshold).or_default();
            *disagree += u64::from(verdict == Verdict::Disagree);
        }
    }

    /// The largest error / bound of all elements that are not exact, if there is one.
    #[must_use]
    pub fn largest(&self) -> Option<f64> {
        self.furthest.or(self.tally.sharpness.quantile(1.0))
    }

    /// Runs with that verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> u64 {
        self.runs.get(&verdict).copied().unwrap_or(0)
    }
}

/// Runs that came to nothing because of a limit of the device or its driver
/// ([`EngineError::is_a_limit`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsupported {
    /// How many they are.
    pub runs: u64,
    /// The limit, as the run says it that was furthest beyond, or else the first.
    pub by: EngineError,
}

impl Unsupported {
    /// Adds such runs.
    pub(super) fn add(&mut self, other: Self) {
        self.runs += other.runs;
        let needs = |error: &EngineError| match error {
            EngineError::LoopLimit { needs, .. } => Some(*needs),
            _ => None,
        };
        if needs(&self.by) < needs(&other.by) {
            self.by = other.by;
        }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, by } = self;
        write!(f, "{}: {by}", count(*runs, "run"))
    }
}

fn add_limited(
    all: &mut BTreeMap<(Stage, Option<Reduction>), Unsupported>,
    key: (Stage, Option<Reduction>),
    limited: Unsupported,
) {
    match all.entry(key) {
        Entry::Vacant(place) => drop(place.insert(limited)),
        Entry::Occupied(mut place) => place.get_mut().add(limited),
    }
}

/// What one engine's part of a campaign came to.
#[derive(Clone, Debug)]
pub struct EngineReport {
    /// Id of the engine.
    pub id: String,
    /// What the emulator was asked for, if it is the emulator.
    pub emulation: Option<Emulation>,
    /// Its device.
    pub info: DeviceInfo,
    /// Whose forward pass its backward stages went on from.
    pub chain: Chain,
    /// By stage and reduction (none for the forward stages), in the order of reports.
    pub rows: BTreeMap<(Stage, Option<Reduction>), Row>,
    /// What the engine has no kernel for, and why: not exercised.
    pub unsupported: BTreeMap<(Stage, Option<Reduction>), String>,
    /// The runs that a limit of the device stood in the way of: not exercised.
    pub limited: BTreeMap<(Stage, Option<Reduction>), Unsupported>,
    /// The runs that no engine can make, by the reduction's own limit: they are out of the plan.
    pub beyond: BTreeMap<(Stage, Option<Reduction>), Unsupported>,
    /// The stages that it was asked for.
    pub asked: Vec<Stage>,
    /// What was wrong, each kind once.
    pub findings: Vec<Finding>,
    /// Why the engine was given up, if it was.
    pub given_up: Option<String>,
    /// How often its process ended in the middle of a request and was started again.
    pub deaths: u64,
    /// How long it was at work, its results' judgement included; zero, where nobody measured.
    pub busy: Duration,
}

impl EngineReport {
    pub(super) fn new(contender: &Contender<'_>, chain: Chain) -> Self {
        Self {
            id: contender.id.clone(),
            emulation: contender.emulation,
            info: contender.engine.info().clone(),
            chain,
            rows: BTreeMap::new(),
            unsupported: BTreeMap::new(),
            limited: BTreeMap::new(),
            beyond: BTreeMap::new(),
            asked: contender.stages.clone(),
            findings: Vec::new(),
            given_up: None,
            deaths: 0,
            busy: Duration::ZERO,
        }
    }

    /// Counts runs that a limit stood in the way of.
    pub(super) fn limit(&mut self, key: (Stage, Option<Reduction>), limited: Unsupported) {
        add_limited(&mut self.limited, key, limited);
    }

    /// Counts runs that are out of the plan.
    pub(super) fn leave_out(&mut self, key: (Stage, Option<Reduction>), limited: Unsupported) {
        add_limited(&mut self.beyond, key, limited);
    }

    pub(super) fn row(&mut self, stage: Stage, setting: Option<Setting>) -> &mut Row {
        self.rows.entry((stage, setting.map(|setting| setting.reduction))).or_default()
    }

    /// The rows with the names of their stages and reductions; "-" for a stage without one.
    pub fn named_rows(&self) -> impl Iterator<Item = (&'static str, &'static str, &Row)> {
        self.rows.iter().map(|(&(stage, reduction), row)| {
            (stage.spec().name, reduction.map_or("-", Reduction::name), row)
        })
    }

    /// How near the errors of all its runs come to their bounds.
    #[must_use]
    pub fn sharpness(&self) -> Sharpness {
        let mut all = Sharpness::default();
        self.rows.values().for_each(|row| all.merge(&row.tally.sharpness));
        all
    }

    /// How many runs it made.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.rows.values().flat_map(|row| row.runs.values()).sum()
    }

    /// The worst verdict of all runs.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let rows = self.rows.values().flat_map(|row| row.runs.keys().copied());
        rows.max().unwrap_or(Verdict::NotExercised)
    }

    /// Why agreement of these engines is no pass, each reason a sentence.
    #[must_use]
    pub fn gaps(reports: &[Self]) -> Vec<String> {
        let mut of_outputs = BTreeMap::new();
        for (&(stage, _), row) in reports.iter().flat_map(|report| &report.rows) {
            for (output, &sight) in &row.tally.sight {
                let known = of_outputs.entry((stage.name, output)).or_insert(sight);
                *known = sight.max(*known);
            }
        }
        let rows = reports.iter().flat_map(|report| report.rows.values());
        let decided = rows.map(|row| row.tally.decided()).sum();
        let gap = Sight::gap(of_outputs.into_values(), decided);
        let blind = gap.map(|_| Self::blind(reports)).unwrap_or_default();
        mostly_left_out(reports).chain(blind).collect()
    }

    /// The outputs that were compared and are not judged, each a sentence: in every run a kernel that does nothing
    /// would agree, or no bound is finite.
    #[must_use]
    pub fn blind(reports: &[Self]) -> Vec<String> {
        let mut outputs: BTreeMap<_, (BTreeSet<&str>, BTreeMap<&str, Sight>)> = BTreeMap::new();
        for (&(stage, reduction), row) in reports.iter().flat_map(|report| &report.rows) {
            for (output, &sight) in &row.tally.sight {
                let (all, blind) = outputs.entry((stage.name, output)).or_default();
                let way = reduction.map_or("-", Reduction::name);
                all.insert(way);
                if sight.is_unseen() {
                    let known = blind.entry(way).or_insert(sight);
                    *known = sight.max(*known);
                }
            }
        }
        let sentences = outputs.into_iter().filter_map(|((stage, output), (all, blind))| {
            let why = blind.values().max()?.not_judged(" in every run")?;
            let some = format!(" ({})", Vec::from_iter(blind.keys().copied()).join(", "));
            let ways = if blind.len() == all.len() { "" } else { some.as_str() };
            Some(format!("NOT EXERCISED: {output} of {stage}{ways}: {why}"))
        });
        sentences.collect()
    }

    /// The worst verdict of several engines: not exercised, if there is none.
    #[must_use]
    pub fn worst<'a>(reports: impl IntoIterator<Item = &'a Self>) -> Verdict {
        reports.into_iter().map(Self::verdict).max().unwrap_or(Verdict::NotExercised)
    }
}

/// The classes (a stage and how it adds up) of which limits of devices left out most runs, on all engines
/// together: what is left is no agreement about the class.
fn mostly_left_out(reports: &[EngineReport]) -> impl Iterator<Item = String> {
    let mut classes: BTreeMap<(Stage, Option<Reduction>), (u64, u64, String)> = BTreeMap::new();
    for report in reports {
        for (&class, row) in &report.rows {
            let (all, out, why) = classes.entry(class).or_default();
            *all += row.runs.values().sum::<u64>();
            if let Some(limited) = report.limited.get(&class) {
                *out += limited.runs;
                *why = format!("{}: {}", report.id, limited.by);
            }
        }
    }
    let most = classes.into_iter().filter(|(_, (all, out, _))| 2 * out > *all);
    most.map(|((stage, reduction), (all, out, why))| {
        let name = reduction.map_or_else(String::new, |reduction| format!(", {reduction}"));
        format!(
            "NOT EXERCISED: {}{name}: {out} of its {all} runs were left out ({why})",
            stage.name
        )
    })
}
