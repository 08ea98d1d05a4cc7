//! One engine's part of a campaign: its stages are run and judged, and what fails is made small.

use super::once::once;
use super::run_stage::{Work, tallies};
use super::{Contender, EngineReport, Fault, Finding, Item, Minimizer, Watch};
use crate::engines::Emulation;
use crate::verdict::{Tally, Verdict};
use crate::workloads::splat::stage::StageName;
use splatcheck_gpu::{BackwardConfig, EngineError};
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
    watch: &'m dyn Watch,
    pub(super) report: EngineReport,
    known: BTreeMap<String, usize>,
    faults_in_a_row: u32,
}

impl<'a, 'm> Judge<'a, 'm> {
    pub(super) fn new(
        contender: Contender<'a>,
        minimize: &'m Minimizer<'m>,
        watch: &'m dyn Watch,
    ) -> Self {
        let report = EngineReport::new(contender.id.clone(), contender.engine.info().clone());
        let known = BTreeMap::new();
        Self { contender, minimize, watch, report, known, faults_in_a_row: 0 }
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
        let work = items.iter().map(|&item| (item, self.settings(stage, item)));
        let work: Vec<Work<'_>> = work.filter(|(_, settings)| !settings.is_empty()).collect();
        if work.is_empty() {
            return Ok(());
        }
        let tallies = tallies(self.contender.engine.as_mut(), stage, &work)?;
        for ((item, settings), tallies) in work.iter().zip(&tallies) {
            for (&setting, tally) in settings.iter().zip(tallies) {
                self.count(item, stage, setting, tally);
            }
            self.exercised(stage, item, settings);
        }
        Ok(())
    }

    /// The settings to run a stage of a case with; none where it is not run.
    fn settings(&self, stage: StageName, item: &Item) -> Vec<Option<BackwardConfig>> {
        if !self.watch.runs(stage, &item.case) {
            return Vec::new();
        }
        stage.settings(&self.watch.settings(&item.case, &self.contender.settings))
    }

    fn exercised(&self, stage: StageName, item: &Item, settings: &[Option<BackwardConfig>]) {
        if stage == StageName::RasterizeBackward {
            let settings: Vec<_> = settings.iter().flatten().copied().collect();
            self.watch.exercised(&self.report.id, self.report.info.lane_width, item, &settings);
        }
    }

    fn one_by_one(&mut self, stage: StageName, item: &Item) {
        for setting in self.settings(stage, item) {
            if self.report.given_up.is_some() {
                self.report.row(stage, setting).add(&Tally::default(), setting);
                self.watch.done(1);
                continue;
            }
            match once(self.contender.engine.as_mut(), stage, item, setting) {
                Ok(tally) => {
                    self.count(item, stage, setting, &tally);
                    self.exercised(stage, item, &[setting]);
                }
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
        self.watch.done(1);
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
        self.watch.done(1);
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
        let class = self.watch.class(&item.case);
        let key = Finding::key(stage, setting, &fault, &class);
        if let Some(&index) = self.known.get(&key) {
            self.report.findings[index].runs += 1;
            return;
        }
        self.known.insert(key.clone(), self.report.findings.len());
        let mut finding = Finding {
            engine: self.report.id.clone(),
            lane_width: self.report.info.lane_width,
            stage,
            setting,
            key,
            fault,
            case: item.case.clone(),
            camera: item.camera,
            runs: 1,
            notes: Vec::new(),
        };
        // Before it is made smaller: whoever kills the process in the meantime loses nothing.
        self.watch.found(&finding, false);
        if self.repeats(&finding.fault) {
            self.shrink(item, &mut finding);
            self.watch.found(&finding, true);
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
