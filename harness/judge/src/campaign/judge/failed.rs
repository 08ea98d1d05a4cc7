//! What failed, made a finding: the first of each kind, diagnosed and made small.

use super::{Entry, Judge};
use crate::campaign::chain::after_own;
use crate::campaign::once::once;
use crate::campaign::{Chain, Diagnoses, Fault, Finding, Item};
use crate::interrupt;
use crate::verdict::{Difference, Tally};
use crate::work_budget::WorkBudget;
use crate::workload::AnyCase;
use splatcheck_gpu::{EngineError, EngineKind, Setting, Stage};
use std::mem::take;
use std::sync::Arc;

/// A run that failed.
pub(super) struct Failed {
    /// The place of its item in the chunk.
    pub(super) place: usize,
    pub(super) setting: Option<Setting>,
    pub(super) fault: Fault,
    pub(super) outside: Vec<Difference>,
}

impl Judge<'_, '_> {
    /// Makes findings of what failed in a stage, in the order of the cases: which run is the first of its kind
    /// must not depend on what else was in its request.
    pub(super) fn note_failed(&mut self, entries: &[Entry<'_>]) {
        let mut failed = take(&mut self.failed);
        failed.sort_by_key(|one| one.place);
        for Failed { place, setting, fault, outside } in failed {
            if let Some(&entry) = entries.iter().find(|entry| entry.place == place) {
                self.found(entry, setting, (fault, outside));
            }
        }
    }

    /// Keeps the first finding of each kind, made small, and counts the others.
    fn found(
        &mut self,
        entry: Entry<'_>,
        setting: Option<Setting>,
        (fault, outside): (Fault, Vec<Difference>),
    ) {
        let Entry { item, job, .. } = entry;
        if self.hooks.diagnoses == Diagnoses::Together && self.tells(&fault) {
            self.suspects.add(&fault, (job, setting), item);
        }
        let class = self.hooks.policy.class(item.case.as_ref());
        let key = Finding::key(job.stage, setting, &fault, &class);
        if let Some(&index) = self.known.get(&key) {
            self.report.findings[index].runs += 1;
            return;
        }
        self.known.insert(key.clone(), self.report.findings.len());
        if let Fault::Engine(error @ (EngineError::Device(_) | EngineError::Ended(_))) = &fault {
            // At once: the end of the campaign may be hours away.
            tracing::warn!("engine {}: {}: {error}", self.report.id, job.stage);
        }
        let mut finding = Finding {
            engine: self.report.id.clone(),
            emulation: self.report.emulation,
            lane_width: self.report.info.lane_width,
            stage: job.stage,
            setting,
            key,
            fault,
            outside,
            case: Arc::clone(&item.case),
            view: item.view,
            runs: 1,
            diagnosis: None,
            notes: Vec::new(),
            places: Vec::new(),
        };
        // Before it is made smaller: whoever kills the process in the meantime loses nothing.
        self.hooks.observer.found(&finding, false);
        if self.hooks.diagnoses == Diagnoses::Alone && self.tells(&finding.fault) {
            match self.weighed(job, setting, None) {
                Ok(weighing) => finding.diagnosis = weighing.map(|one| one.conclude()),
                Err(error) => finding.notes.push(no_diagnosis(&error)),
            }
        }
        if self.repeats(&finding.fault) {
            self.shrink(item, &mut finding);
            let [larger, small] =
                [&item.case, &finding.case].map(|case| case.describe(job.stage, item.view));
            if larger != small {
                finding.diagnosis = finding.diagnosis.map(|found| found.of_larger(&larger));
            }
            self.hooks.observer.found(&finding, true);
        }
        self.report.findings.push(finding);
    }

    /// Whether the same run fails again, at no harm: a device's fault may cost its process, but the
    /// emulator's is that of the kernel, and a refused answer that of the program. What does not end takes
    /// its whole time limit again and again.
    fn repeats(&self, fault: &Fault) -> bool {
        match fault {
            Fault::Difference(_) => true,
            Fault::Engine(EngineError::Device(_) | EngineError::NotDeterministic(_)) => {
                self.report.info.kind == EngineKind::Emulator && !fault.is_of_time()
            }
            // A program that answered goes on; one that ended takes its time to start again.
            Fault::Engine(EngineError::Refused(_)) => true,
            Fault::Engine(_) => false,
        }
    }

    /// Whether what the kernel returned can say what it has got wrong.
    fn tells(&self, fault: &Fault) -> bool {
        match fault {
            Fault::Difference(_) => true,
            // A program whose outputs nobody clears may add to what it left there.
            Fault::Engine(EngineError::NotDeterministic(_)) => {
                self.report.info.kind == EngineKind::Command
            }
            Fault::Engine(_) => false,
        }
    }

    /// The item of a case as the engine gets it: after its own forward pass where it goes on from that.
    /// `None` where there is none.
    pub(super) fn item_of(&mut self, case: &AnyCase, view: usize, stage: Stage) -> Option<Item> {
        let forward = case.forward_of(stage).filter(|_| self.hooks.chain == Chain::Own);
        let wanted = |of| of == stage || Some(of) == forward;
        let item = Item::of(Arc::clone(case), view, &wanted).ok()?;
        if forward.is_none() {
            return Some(item);
        }
        after_own(self.contender.engine.as_mut(), &item, &[stage]).ok()?
    }

    /// Replaces the finding's case by a smaller one that still fails in the same way: in the same output, as far
    /// as the effort goes.
    fn shrink(&mut self, item: &Item, finding: &mut Finding) {
        let minimize = self.hooks.minimize;
        let (stage, setting, view) = (finding.stage, finding.setting, finding.view);
        let kind = finding.fault.kind();
        let (mut smallest, mut effort) = (None, WorkBudget::default());
        // Of runs that do not end each costs its limit, which is no work done: after a few no other is tried.
        let mut endless = 0;
        let mut others: Vec<EngineError> = Vec::new();
        minimize(item, &mut |case| {
            if effort.is_spent() || endless == ENDLESS || interrupt::is_asked() {
                return false;
            }
            let Some(item) = self.item_of(case, view, stage) else { return false };
            let Some(job) = item.job(stage) else { return false };
            effort.spend(job.words());
            let (faults, outside) = match once(self.contender.engine.as_mut(), job, setting) {
                Ok(tally) => (differences(&tally), tally.outside),
                Err(error) => (vec![Fault::Engine(error)], Vec::new()),
            };
            if let [Fault::Engine(error)] = &faults[..]
                && faults[0].kind() != kind
            {
                endless += u32::from(matches!(error, EngineError::NoEnd(_)));
                if !error.is_a_limit() {
                    others.push(error.clone());
                }
            }
            let mut same = faults.into_iter().filter(|fault| fault.kind() == kind);
            match same.next().filter(|fault| self.repeats(fault)) {
                Some(fault) => {
                    smallest = Some((item.case, fault, outside));
                    true
                }
                None => false,
            }
        });
        if let Some((case, fault, outside)) = smallest {
            (finding.case, finding.fault, finding.outside) = (case, fault, outside);
        }
        if let Some(first) = others.first() {
            let when = "while the case was made smaller";
            finding.notes.push(match others.len() {
                1 => format!("another run failed {when}: {first}"),
                count => format!("{count} other runs failed {when}, the first: {first}"),
            });
        }
    }
}

/// Runs that do not end, while a case is made smaller.
const ENDLESS: u32 = 2;

/// Why a finding has none.
pub(super) fn no_diagnosis(error: &EngineError) -> String {
    format!("no diagnosis, the run for it failed: {error}")
}

/// What a run has wrong, the worst first.
fn differences(tally: &Tally) -> Vec<Fault> {
    let mut all: Vec<_> = tally.worst.iter().chain(&tally.outside).cloned().collect();
    // Of equals the first stays so, whatever else is there.
    all.sort_by(|one, other| other.ratio().total_cmp(&one.ratio()));
    all.into_iter().map(Fault::Difference).collect()
}
