//! The rounds of a campaign of schedules, what it has run, and what it has left out.

use std::collections::{BTreeMap, BTreeSet};

use splatcheck_gpu::artifact::{self, Artifact};
use splatcheck_gpu::{Reduction, Setting};

use crate::emulated;
use splatcheck_gpu::Stage;
use splatcheck_judge::campaign::{EngineReport, Fault, Item};
use splatcheck_judge::engines::{Emulation, Order};
use splatcheck_judge::table::table;
use splatcheck_judge::verdict::Verdict;

/// Thresholds of a warp of 32 lanes, from always to never.
const THRESHOLDS: u64 = 34;
/// With and without fast math.
const VARIANTS: u64 = 2;
/// Seeds in a row after which every threshold has met every variant.
pub(super) const ROUNDS: u64 = THRESHOLDS * VARIANTS;

/// One schedule with the kernels and the threshold that it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Kernels and schedule.
    pub emulation: Emulation,
    /// For the reductions that have one.
    pub threshold: u32,
}

impl Round {
    /// The round of a seed.
    #[must_use]
    pub fn new(order: Order, seed: u64) -> Self {
        let threshold = u32::try_from(seed % THRESHOLDS).unwrap_or(0);
        // The next seed has the next variant, and so has the next seed with the same threshold, which
        // without the second term would have the same (34 and 2 share a factor).
        let variant = (seed % VARIANTS + seed / THRESHOLDS) % VARIANTS;
        let order = order.with_seed(seed);
        let emulation = Emulation { fast_math: variant == 1, order, ..Emulation::default() };
        Self { emulation, threshold }
    }

    /// Every reduction, at the threshold where it has one.
    pub(super) fn settings(self) -> Vec<Setting> {
        let at = |reduction: Reduction| {
            let threshold = if reduction.has_threshold() { self.threshold } else { 0 };
            Setting { reduction, threshold }
        };
        Reduction::ALL.map(at).to_vec()
    }
}

/// The counts of one kind of schedule, stage and reduction.
#[derive(Clone, Debug, Default)]
struct Line {
    runs: u64,
    not_exercised: u64,
    disagree: u64,
    faults: u64,
    cells: BTreeSet<(Artifact, u32)>,
}

/// A line of the table: kind of schedule, stage, reduction.
type Key = (&'static str, Stage, Option<Reduction>);

/// What was run, kind by kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Coverage {
    lines: BTreeMap<Key, Line>,
}

impl Coverage {
    /// Adds a round.
    pub(super) fn add(&mut self, round: Round, report: &EngineReport, items: &[Item]) {
        let kind = round.emulation.order.kind();
        let settings = round.settings();
        let jobs = || items.iter().flat_map(|item| &item.jobs);
        let judged = |stage: &Stage| jobs().any(|job| job.stage.workload == stage.workload);
        let runs = Stage::all()
            .filter(judged)
            .flat_map(|stage| stage.settings(&settings).into_iter().map(move |s| (stage, s)));
        for (stage, setting) in runs {
            let reduction = setting.map(|setting| setting.reduction);
            let line = self.lines.entry((kind, stage, reduction)).or_default();
            line.count(report, stage, reduction);
            if report.given_up.is_none() {
                let cell = |item| cell(round, stage, setting, item);
                line.cells.extend(items.iter().filter_map(cell));
            }
        }
    }

    /// Runs of all lines.
    pub(super) fn runs(&self) -> u64 {
        self.lines.values().map(|line| line.runs).sum()
    }

    /// One row for each line.
    pub(super) fn table(&self) -> String {
        let head = [
            "schedule",
            "stage",
            "reduction",
            "runs",
            "not exercised",
            "disagree",
            "faults",
            "artifacts",
            "thresholds",
            "cells",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for (key @ (kind, stage, reduction), line) in &self.lines {
            let all = expected(*key);
            let of = |found: usize, all: usize| format!("{found}/{all}");
            let artifacts = |cells: &BTreeSet<(Artifact, u32)>| {
                cells.iter().map(|(artifact, _)| *artifact).collect::<BTreeSet<_>>().len()
            };
            let thresholds = |cells: &BTreeSet<(Artifact, u32)>| {
                cells.iter().map(|(_, threshold)| *threshold).collect::<BTreeSet<_>>().len()
            };
            rows.push(vec![
                (*kind).to_owned(),
                stage.to_string(),
                reduction.map_or("-", Reduction::name).to_owned(),
                line.runs.to_string(),
                line.not_exercised.to_string(),
                line.disagree.to_string(),
                line.faults.to_string(),
                of(artifacts(&line.cells), artifacts(&all)),
                of(thresholds(&line.cells), thresholds(&all)),
                of(line.cells.len(), all.len()),
            ]);
        }
        table(&rows)
    }

    /// What was left out, `None` if nothing was.
    pub(super) fn uncovered(&self) -> Option<String> {
        let left_out = |(key, line): (&Key, &Line)| {
            let (kind, ..) = *key;
            let missing: Vec<_> = expected(*key).difference(&line.cells).copied().collect();
            missing.into_iter().map(move |cell| (kind, cell)).collect::<Vec<_>>()
        };
        let missing: Vec<_> = self.lines.iter().flat_map(left_out).collect();
        let (kind, (artifact, threshold)) = missing.first()?;
        Some(format!(
            "NOT EXERCISED: {} cells of (schedule, artifact, threshold), the first is {kind}, {}, \
             threshold {threshold}",
            missing.len(),
            artifact.file()
        ))
    }
}

impl Line {
    fn count(&mut self, report: &EngineReport, stage: Stage, reduction: Option<Reduction>) {
        if let Some(row) = report.rows.get(&(stage, reduction)) {
            self.runs += row.runs.values().sum::<u64>();
            self.not_exercised += row.count(Verdict::NotExercised);
        }
        for finding in &report.findings {
            if finding.stage == stage && finding.setting.map(|s| s.reduction) == reduction {
                match finding.fault {
                    Fault::Difference(_) => self.disagree += finding.runs,
                    Fault::Engine(_) => self.faults += finding.runs,
                }
            }
        }
    }
}

/// What a run covers; nothing where there is no Gaussian, so that nothing is added up.
fn cell(
    round: Round,
    stage: Stage,
    setting: Option<Setting>,
    item: &Item,
) -> Option<(Artifact, u32)> {
    let job = item.job(stage).filter(|job| job.sizes.get("N") > 0)?;
    let artifact = emulated::artifact(round.emulation, job, setting);
    Some((artifact, setting.map_or(0, |setting| setting.threshold)))
}

/// The cells of a line: its artifacts with every threshold, or with none.
fn expected((_, stage, reduction): Key) -> BTreeSet<(Artifact, u32)> {
    let swept = reduction.is_some_and(Reduction::has_threshold);
    let thresholds = if swept { u32::try_from(THRESHOLDS).unwrap_or(u32::MAX) } else { 1 };
    artifact::all()
        .into_iter()
        .filter(|artifact| artifact.stage == stage.name && artifact.reduction == reduction)
        .flat_map(|artifact| (0..thresholds).map(move |threshold| (artifact, threshold)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::ROUNDS;
    use super::*;
    use splatcheck_gpu::stages::splat::{RASTERIZE, RASTERIZE_BACKWARD};
    use splatcheck_judge::engines::Order;

    #[test]
    fn a_full_turn_has_every_threshold_with_every_variant_from_any_seed_on() {
        for first in [0, 1, 67, 68, 1000, 123_456_789] {
            let met: BTreeSet<_> = (first..first + ROUNDS)
                .map(|seed| Round::new(Order::Random(0), seed))
                .map(|Round { emulation, threshold }| (emulation.fast_math, threshold))
                .collect();
            assert_eq!(met.len() as u64, ROUNDS, "from seed {first} on");
        }
    }

    #[test]
    fn every_artifact_of_the_stages_has_its_cells() {
        let backward = |reduction| ("random", RASTERIZE_BACKWARD, Some(reduction));
        let swept = expected(backward(Reduction::SwB));
        assert_eq!(swept.len(), 4 * 34, "two numbers of channels, fast math or not, 34 thresholds");
        assert_eq!(expected(backward(Reduction::Atomic)).len(), 4, "no threshold");
        assert_eq!(expected(("lockstep", RASTERIZE, None)).len(), 4, "the forward stage");
    }
}
