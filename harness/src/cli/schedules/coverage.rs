//! What a campaign of schedules has run, and what it has left out.

use std::collections::{BTreeMap, BTreeSet};

use splat_gpu::artifact::{self, Artifact, channels_for, spelled};
use splat_gpu::{BackwardConfig, Reduction};

use super::super::table::table;
use super::{Round, THRESHOLDS};
use crate::campaign::{BACKWARD, EngineReport, FORWARD, Fault, Item};
use crate::verdict::Verdict;

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
type Key = (&'static str, &'static str, Option<&'static str>);

/// What was run, kind by kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Coverage {
    lines: BTreeMap<Key, Line>,
}

impl Coverage {
    /// Adds a round.
    pub(super) fn add(&mut self, round: Round, report: &EngineReport, items: &[Item]) {
        let kind = round.emulation.order.kind();
        let settings = round.settings().into_iter().map(Some).chain([None]);
        for setting in settings {
            let stage = if setting.is_some() { BACKWARD } else { FORWARD };
            let reduction = setting.map(|setting| spelled(setting.reduction));
            let line = self.lines.entry((kind, stage, reduction)).or_default();
            line.count(report, stage, setting.map(|setting| setting.reduction));
            if report.given_up.is_none() {
                line.cells.extend(items.iter().filter_map(|item| cell(round, item, setting)));
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
                (*stage).to_owned(),
                reduction.unwrap_or("-").to_owned(),
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
    fn count(&mut self, report: &EngineReport, stage: &str, reduction: Option<Reduction>) {
        let name = reduction.map_or("-", Reduction::name);
        let rows = report.rows.iter().filter(|((_, s, r), _)| *s == stage && *r == name);
        for (_, row) in rows {
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
fn cell(round: Round, item: &Item, setting: Option<BackwardConfig>) -> Option<(Artifact, u32)> {
    let raster = &item.stage.inputs.raster;
    if raster.is_empty() {
        return None;
    }
    let artifact = Artifact {
        stage: if setting.is_some() { BACKWARD } else { FORWARD },
        reduction: setting.map(|setting| spelled(setting.reduction)),
        channels: Some(channels_for(raster.channels)),
        architecture: round.emulation.architecture,
        fast_math: round.emulation.fast_math,
    };
    Some((artifact, setting.map_or(0, |setting| setting.threshold)))
}

/// The cells of a line: its artifacts with every threshold, or with none.
fn expected((_, stage, reduction): Key) -> BTreeSet<(Artifact, u32)> {
    let with = Reduction::ALL.into_iter().filter(|r| r.has_threshold());
    let swept = reduction.is_some_and(|name| with.into_iter().any(|r| spelled(r) == name));
    let thresholds = if swept { u32::try_from(THRESHOLDS).unwrap_or(u32::MAX) } else { 1 };
    artifact::all()
        .into_iter()
        .filter(|artifact| artifact.stage == stage && artifact.reduction == reduction)
        .flat_map(|artifact| (0..thresholds).map(move |threshold| (artifact, threshold)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::ROUNDS;
    use super::*;
    use crate::engines::Order;

    #[test]
    fn a_full_turn_has_every_threshold_with_every_variant_from_any_seed_on() {
        for first in [0, 1, 67, 68, 1000, 123_456_789] {
            let met: BTreeSet<_> = (first..first + ROUNDS)
                .map(|seed| Round::new(Order::Random(0), seed))
                .map(|round| {
                    let Round { emulation, threshold } = round;
                    (emulation.architecture, emulation.fast_math, threshold)
                })
                .collect();
            assert_eq!(met.len() as u64, ROUNDS, "from seed {first} on");
        }
    }

    #[test]
    fn every_artifact_of_the_stages_has_its_cells() {
        let swept = expected(("random", BACKWARD, Some("sw_b")));
        assert_eq!(swept.len(), 8 * 34, "two numbers of channels, four variants, 34 thresholds");
        assert_eq!(expected(("random", BACKWARD, Some("atomic"))).len(), 8, "no threshold");
        assert_eq!(expected(("lockstep", FORWARD, None)).len(), 8, "the forward stage");
    }
}
