//! Reports of one engine under several schedules as one.

use super::finding::Finding;
use super::rows::{EngineReport, Row};
use crate::engines::Emulation;
use std::collections::btree_map::Entry;

/// Joins the reports of the emulator that differ only in the schedule's seed, in their order.
#[must_use]
pub fn join_seeds(reports: Vec<EngineReport>) -> Vec<EngineReport> {
    let mut joined: Vec<(Option<Emulation>, u64, EngineReport)> = Vec::new();
    for report in reports {
        let emulation = report.emulation;
        let same = |other: &Option<Emulation>| {
            emulation.is_some_and(|e| {
                e.order.seed().is_some()
                    && other.is_some_and(|o| o.without_seed() == e.without_seed())
            })
        };
        match joined.iter_mut().find(|(other, ..)| same(other)) {
            Some((_, seeds, first)) => {
                *seeds += 1;
                first.merge(report);
            }
            None => joined.push((emulation, 1, report)),
        }
    }
    joined
        .into_iter()
        .map(|(emulation, seeds, mut report)| {
            let seed = emulation.and_then(|e| e.order.seed()).filter(|_| seeds > 1);
            if let Some(first) = seed {
                report.id = format!("{}..{}", report.id, first.saturating_add(seeds - 1));
            }
            report
        })
        .collect()
}

/// Adds a report to those of other engines, or to that of its own; gives its place.
pub fn add_report(reports: &mut Vec<EngineReport>, report: EngineReport) -> usize {
    match reports.iter().position(|known| known.id == report.id) {
        Some(at) => {
            reports[at].merge(report);
            at
        }
        None => {
            reports.push(report);
            reports.len() - 1
        }
    }
}

impl EngineReport {
    /// Adds what another run of the same engine came to.
    pub fn merge(&mut self, other: Self) {
        for (key, theirs) in other.rows {
            match self.rows.entry(key) {
                Entry::Vacant(place) => drop(place.insert(theirs)),
                Entry::Occupied(mut place) => place.get_mut().merge(theirs),
            }
        }
        for (key, theirs) in other.limited {
            self.limit(key, theirs);
        }
        for (key, theirs) in other.beyond {
            self.leave_out(key, theirs);
        }
        let new = other.asked.into_iter().filter(|stage| !self.asked.contains(stage));
        let new: Vec<_> = new.collect();
        self.asked.extend(new);
        self.unsupported.extend(other.unsupported);
        other.findings.into_iter().for_each(|finding| self.add_finding(finding));
        self.given_up = self.given_up.take().or(other.given_up);
        self.deaths += other.deaths;
        self.busy += other.busy;
    }

    /// Adds a finding, or its runs where its kind is known.
    pub fn add_finding(&mut self, finding: Finding) {
        match self.findings.iter_mut().find(|known| known.key == finding.key) {
            Some(known) => known.runs += finding.runs,
            None => self.findings.push(finding),
        }
    }
}

impl Row {
    /// Adds the counts of another row.
    fn merge(&mut self, other: Self) {
        for (verdict, runs) in other.runs {
            *self.runs.entry(verdict).or_default() += runs;
        }
        self.tally.merge(&other.tally);
        self.move_to(other.furthest);
        for (threshold, runs) in other.disagree_at {
            *self.disagree_at.entry(threshold).or_default() += runs;
        }
        for (threshold, ratio) in other.worst_at {
            self.worst_at(threshold, ratio);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::{Chain, Unsupported};
    use crate::verdict::Verdict;
    use splatcheck_gpu::stages::splat::{RASTERIZE, RASTERIZE_BACKWARD};
    use splatcheck_gpu::{Arithmetic, DeviceInfo, EngineKind, FloatAtomics, Reduction, Setting};
    use std::collections::BTreeMap;
    use std::time::Duration;

    fn report(id: &str, verdict: Verdict) -> EngineReport {
        let info = DeviceInfo {
            adapter: String::new(),
            driver: String::new(),
            backend: String::new(),
            kind: EngineKind::Emulator,
            arithmetic: Arithmetic::Cuda,
            lane_width: 32,
            float_atomics: FloatAtomics::Native,
            exp_of_zero_is_one: true,
            loop_limit: splatcheck_gpu::LoopLimit::NotMeasured,
        };
        let mut report = EngineReport {
            id: id.to_owned(),
            emulation: id.parse().ok(),
            info,
            chain: Chain::Oracle,
            rows: BTreeMap::new(),
            unsupported: BTreeMap::new(),
            limited: BTreeMap::new(),
            beyond: BTreeMap::new(),
            asked: vec![RASTERIZE, RASTERIZE_BACKWARD],
            findings: Vec::new(),
            given_up: None,
            deaths: 0,
            busy: Duration::ZERO,
        };
        let setting = Setting { reduction: Reduction::SwB, threshold: 3 };
        report.row(RASTERIZE_BACKWARD, Some(setting)).add_run(verdict, Some(setting));
        report.row(RASTERIZE, None).add_run(Verdict::Agree, None);
        let needs = 70_000 + id.len() as u64 + u64::from(verdict == Verdict::Disagree);
        let by = splatcheck_gpu::EngineError::LoopLimit { limit: 65_535, needs };
        let limited = Unsupported { runs: 1, by };
        report.limited.insert((RASTERIZE, None), limited);
        report
    }

    #[test]
    fn seeds_are_joined_and_nothing_else() {
        let ids = ["lavapipe-8", "emulator random:5", "emulator", "emulator random:6"];
        let verdicts = [Verdict::Agree, Verdict::Agree, Verdict::Agree, Verdict::Disagree];
        let reports = ids.iter().zip(verdicts).map(|(id, verdict)| report(id, verdict)).collect();
        let joined = join_seeds(reports);
        let ids: Vec<_> = joined.iter().map(|report| report.id.as_str()).collect();
        assert_eq!(ids, ["lavapipe-8", "emulator random:5..6", "emulator"], "two seeds are one");
        let rows: Vec<_> = joined[1].rows.values().collect();
        assert_eq!(rows[0].count(Verdict::Agree), 2, "forward runs of both seeds");
        assert_eq!(rows[1].count(Verdict::Disagree), 1, "the second seed's");
        assert_eq!(rows[1].disagree_at[&3], 1, "at its threshold");
        assert_eq!(joined[1].verdict(), Verdict::Disagree, "the worst of both");
        let limited = joined[1].limited[&(RASTERIZE, None)].to_string();
        let words = "2 runs: the driver's loop limit (65535 steps; this case needs up to 70018)";
        assert!(limited.starts_with(words), "the runs of both and the most steps: {limited}");
    }
}
