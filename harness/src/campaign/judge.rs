//! One engine's part of a campaign: its stages are run and judged, and what fails is made small.

use super::once::once;
use super::run_stage::tallies;
use super::{Contender, EngineReport, Fault, Finding, Item, Minimizer};
use crate::engines::Emulation;
use crate::stage::StageName;
use crate::verdict::{Tally, Verdict};
use splat_gpu::{BackwardConfig, EngineError};
use std::collections::BTreeMap;
use std::mem::discriminant;

/// Runs with more lanes (pixels or Gaussians) are made one setting a request: a software device
/// takes seconds for each, and the time limit and the progress bar are per request.
const LARGE: usize = 1 << 14;
/// Faults in a row after which an engine is given up.
const GIVE_UP: u32 = 3;

/// An engine with its report.
pub(super) struct Judge<'a, 'm> {
    contender: Contender<'a>,
    minimize: &'m Minimizer<'m>,
    progress: &'m (dyn Fn(u64) + Sync),
    pub(super) report: EngineReport,
    known: BTreeMap<String, usize>,
    faults_in_a_row: u32,
}

impl<'a, 'm> Judge<'a, 'm> {
    pub(super) fn new(
        contender: Contender<'a>,
        minimize: &'m Minimizer<'m>,
        progress: &'m (dyn Fn(u64) + Sync),
    ) -> Self {
        let report = EngineReport::new(contender.id.clone(), contender.engine.info().clone());
        let known = BTreeMap::new();
        Self { contender, minimize, progress, report, known, faults_in_a_row: 0 }
    }

    /// Runs the small cases of a chunk in one request a stage; large ones, and all where that
    /// fails, one by one.
    pub(super) fn chunk(&mut self, items: &[Item]) {
        for stage in self.contender.stages.clone() {
            let items = items.iter().filter(|item| item.has(stage));
            let (large, small): (Vec<&Item>, Vec<&Item>) =
                items.partition(|item| item.lanes(stage) > LARGE);
            if self.report.given_up.is_some() || self.together(stage, &small).is_err() {
                small.iter().for_each(|item| self.one_by_one(stage, item));
            }
            large.iter().for_each(|item| self.one_by_one(stage, item));
        }
    }

    fn together(&mut self, stage: StageName, items: &[&Item]) -> Result<(), EngineError> {
        let settings = stage.settings(&self.contender.settings);
        if items.is_empty() || settings.is_empty() {
            return Ok(());
        }
        let tallies = tallies(self.contender.engine.as_mut(), stage, items, &settings)?;
        for (item, tallies) in items.iter().zip(&tallies) {
            for (&setting, tally) in settings.iter().zip(tallies) {
                self.count(item, stage, setting, tally);
            }
        }
        Ok(())
    }

    fn one_by_one(&mut self, stage: StageName, item: &Item) {
        for setting in stage.settings(&self.contender.settings) {
            if self.report.given_up.is_some() {
                self.report.row(stage, setting).add(&Tally::default(), setting);
                (self.progress)(1);
                continue;
            }
            match once(self.contender.engine.as_mut(), stage, item, setting) {
                Ok(tally) => self.count(item, stage, setting, &tally),
                Err(error) => self.note_fault(item, stage, setting, error),
            }
        }
    }

    fn count(
        &mut self,
        item: &Item,
        stage: StageName,
        setting: Option<BackwardConfig>,
        tally: &Tally,
    ) {
        self.faults_in_a_row = 0;
        (self.progress)(1);
        self.report.row(stage, setting).add(tally, setting);
        if let Some(difference) = &tally.worst {
            self.found(item, stage, setting, Fault::Difference(difference.clone()));
        }
    }

    fn note_fault(
        &mut self,
        item: &Item,
        stage: StageName,
        setting: Option<BackwardConfig>,
        error: EngineError,
    ) {
        (self.progress)(1);
        // What the machine lacks says nothing of the kernel.
        let of_machine = error.is_of_the_machine();
        let verdict = if of_machine { Verdict::NotExercised } else { Verdict::Disagree };
        self.report.row(stage, setting).add_run(verdict, setting);
        self.faults_in_a_row += 1;
        if self.faults_in_a_row >= GIVE_UP {
            self.report.given_up = Some(error.to_string());
        }
        self.found(item, stage, setting, Fault::Engine(error));
    }

    /// Keeps the first finding of each kind, made small, and counts the others.
    fn found(
        &mut self,
        item: &Item,
        stage: StageName,
        setting: Option<BackwardConfig>,
        fault: Fault,
    ) {
        let key = Finding::key(stage, setting, &fault);
        if let Some(&index) = self.known.get(&key) {
            self.report.findings[index].runs += 1;
            return;
        }
        self.known.insert(key, self.report.findings.len());
        let mut finding = Finding {
            engine: self.report.id.clone(),
            lane_width: self.report.info.lane_width,
            stage,
            setting,
            fault,
            case: item.case.clone(),
            camera: item.camera,
            runs: 1,
            notes: Vec::new(),
        };
        if self.repeats(&finding.fault) {
            self.shrink(item, &mut finding);
        }
        self.report.findings.push(finding);
    }

    /// Whether the same run fails again, at no harm: a device's fault may cost its process, but the
    /// emulator's is that of the kernel.
    fn repeats(&self, fault: &Fault) -> bool {
        match fault {
            Fault::Difference(_) => true,
            Fault::Engine(EngineError::Device(_)) => self.report.id.parse::<Emulation>().is_ok(),
            Fault::Engine(_) => false,
        }
    }

    /// Replaces the finding's case by a smaller one that still fails in the same way.
    fn shrink(&mut self, item: &Item, finding: &mut Finding) {
        let minimize = self.minimize;
        let (stage, setting, camera) = (finding.stage, finding.setting, finding.camera);
        let kind = discriminant(&finding.fault);
        let mut smallest = None;
        minimize(item, &mut |case| {
            let Ok(item) = Item::new(case.clone(), camera) else { return false };
            let fault = match once(self.contender.engine.as_mut(), stage, &item, setting) {
                Ok(tally) => tally.worst.map(Fault::Difference),
                Err(error) => Some(Fault::Engine(error)),
            };
            match fault.filter(|fault| discriminant(fault) == kind && self.repeats(fault)) {
                Some(fault) => {
                    smallest = Some((item.case, fault));
                    true
                }
                None => false,
            }
        });
        if let Some((case, fault)) = smallest {
            (finding.case, finding.fault) = (case, fault);
        }
    }
}
