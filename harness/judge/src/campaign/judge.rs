//! One engine's part of a campaign: its stages are run and judged, and what fails is made small.

mod explained;
mod failed;

use super::chain::Chain;
use super::chain::{NO_FORWARD, after_own};
use super::contender::Contender;
use super::finding::Fault;
use super::hooks::{Exercised, Hooks};
use super::item::Item;
use super::once::once;
use super::rows::{EngineReport, Unsupported};
use super::run_stage::{Runs, tallies};
use crate::interrupt;
use crate::judge::Arithmetic;
use crate::verdict::{Tally, Verdict};
use crate::words::count;
use crate::workload::Job;
use explained::Suspects;
use failed::Failed;
use splatcheck_gpu::reduction::InMemory;
use splatcheck_gpu::{EngineError, Setting, Stage, Support};
use std::collections::BTreeMap;
use std::time::Instant;

/// Runs with more lanes (pixels or Gaussians) are made one setting a request: a software device
/// takes seconds for each, and the time limit and the progress bar are per request.
const LARGE: usize = 1 << 14;
/// Faults in a row after which an engine is given up.
const GIVE_UP: u32 = 3;

/// An engine with its report.
pub(super) struct Judge<'a, 'm> {
    contender: Contender<'a>,
    hooks: Hooks<'m>,
    pub(super) report: EngineReport,
    known: BTreeMap<String, usize>,
    /// What failed in the stage that is run now.
    failed: Vec<Failed>,
    /// What failed and is to be explained.
    suspects: Suspects,
    faults: u64,
    faults_in_a_row: u32,
}

/// The settings that an engine has no kernel for, with its reasons.
type Lacking = Vec<(Option<Setting>, String)>;

/// The settings of a job.
#[derive(Default)]
struct Settings {
    /// Those that surely stay within the engine's loop limit: they may share a request.
    short: Vec<Option<Setting>>,
    /// Settings that may reach the limit, which costs the whole request.
    long: Vec<Option<Setting>>,
    /// Settings that the engine does not run.
    lacking: Lacking,
    /// Settings whose reduction is not for the job.
    beyond: Lacking,
}

/// What came of an item's own forward pass, which backward stages go on from.
enum Forward {
    /// The item after it.
    Agrees(Item),
    /// Nothing to go on from.
    Nothing,
    /// The stage failed, which is counted.
    Failed(Stage),
}

/// A job of an item.
#[derive(Clone, Copy)]
struct Entry<'i> {
    /// The place of the item in the chunk.
    place: usize,
    item: &'i Item,
    job: &'i Job,
}

impl<'a, 'm> Judge<'a, 'm> {
    pub(super) fn new(contender: Contender<'a>, hooks: Hooks<'m>) -> Self {
        let report = EngineReport::new(&contender, hooks.chain);
        Self {
            contender,
            hooks,
            report,
            known: BTreeMap::new(),
            failed: Vec::new(),
            suspects: Suspects::default(),
            faults: 0,
            faults_in_a_row: 0,
        }
    }

    /// Runs the small jobs of a chunk in one request a stage; large ones, and all where that fails,
    /// one by one.
    pub(super) fn chunk(&mut self, items: &[Item]) {
        let start = Instant::now();
        self.run(items);
        self.report.busy += start.elapsed();
    }

    fn run(&mut self, items: &[Item]) {
        let own = self.after_own(items);
        for stage in self.contender.stages.clone() {
            if interrupt::is_asked() {
                return;
            }
            let mut entries = Vec::with_capacity(items.len());
            for (place, item) in items.iter().enumerate() {
                let Some(job) = item.job(stage) else { continue };
                let own = own.get(place);
                if matches!(own, Some(Forward::Failed(failed)) if *failed == stage) {
                    continue;
                }
                // What is given up is run no more, whatever it would go on from.
                let chained = item.case.forward_of(stage).is_some();
                let own = own.filter(|_| chained && self.report.given_up.is_none());
                let after = match own {
                    None => Some(item),
                    Some(Forward::Agrees(after)) => Some(after),
                    Some(Forward::Nothing | Forward::Failed(_)) => None,
                };
                match after.and_then(|item| Some(Entry { place, item, job: item.job(stage)? })) {
                    Some(entry) => entries.push(entry),
                    None => self.without_forward(Entry { place, item, job }),
                }
            }
            let all = entries.clone();
            let (large, small): (Vec<_>, Vec<_>) =
                entries.into_iter().partition(|entry| entry.job.lanes > LARGE);
            if self.report.given_up.is_some() {
                small.iter().for_each(|&entry| self.one_by_one(entry));
            } else if let Err(error) = self.together(stage, &small) {
                self.apart(&small, error);
            }
            large.iter().for_each(|&entry| self.one_by_one(entry));
            self.note_failed(&all);
        }
    }

    /// What came of it, the findings explained.
    pub(super) fn into_report(mut self) -> EngineReport {
        let start = Instant::now();
        self.explain();
        self.report.busy += start.elapsed();
        self.report.deaths = self.contender.engine.deaths();
        self.report
    }

    /// What came of the engine's own forward passes; of none where backward stages go on from the oracle's, where
    /// the engine is given up, or behind Ctrl-C.
    fn after_own(&mut self, items: &[Item]) -> Vec<Forward> {
        let mut all = Vec::with_capacity(items.len());
        if self.hooks.chain == Chain::Oracle {
            return all;
        }
        for (place, item) in items.iter().enumerate() {
            if self.report.given_up.is_some() || interrupt::is_asked() {
                break;
            }
            let Contender { engine, stages, .. } = &mut self.contender;
            all.push(match after_own(engine.as_mut(), item, stages) {
                Ok(after) => {
                    self.faults_in_a_row = 0;
                    after.map_or(Forward::Nothing, Forward::Agrees)
                }
                Err((stage, error)) => match item.job(stage).filter(|_| !error.is_a_limit()) {
                    None => Forward::Nothing,
                    Some(job) => {
                        // It is not run again for its own row, where it may not fail.
                        let entry = Entry { place, item, job };
                        self.note_fault(entry, None, error);
                        self.note_failed(&[entry]);
                        Forward::Failed(stage)
                    }
                },
            });
        }
        all
    }

    /// What has no forward pass to go on from is not exercised.
    fn without_forward(&mut self, entry: Entry<'_>) {
        let Settings { short, long, beyond, .. } = self.settings(entry);
        let beyond = beyond.into_iter().map(|(setting, _)| setting);
        let lacking = short.into_iter().chain(long).chain(beyond);
        let lacking = lacking.map(|setting| (setting, NO_FORWARD.to_owned())).collect();
        self.note_unsupported(entry, lacking);
    }

    fn together(&mut self, stage: Stage, entries: &[Entry<'_>]) -> Result<(), EngineError> {
        let mut taken = Vec::with_capacity(entries.len());
        let mut runs = Vec::with_capacity(entries.len());
        let mut others = Vec::with_capacity(entries.len());
        for &entry in entries {
            let Settings { short, long, lacking, beyond } = self.settings(entry);
            others.push((entry, long, lacking, beyond));
            if !short.is_empty() {
                taken.push(entry);
                runs.push(Runs { job: entry.job, settings: short });
            }
        }
        if !runs.is_empty() {
            let tallies = tallies(self.contender.engine.as_mut(), stage, &runs)?;
            for ((&entry, runs), tallies) in taken.iter().zip(&runs).zip(&tallies) {
                for (&setting, tally) in runs.settings.iter().zip(tallies) {
                    self.count(entry, setting, tally);
                }
                self.exercised(entry, &runs.settings);
            }
        }
        for (entry, long, lacking, beyond) in others {
            long.into_iter().for_each(|setting| self.single(entry, setting));
            self.note_unsupported(entry, lacking);
            self.note_beyond(entry, beyond);
        }
        Ok(())
    }

    /// What failed in one request, each by itself. If then none fails, the failure is a finding all the
    /// same: a kernel that ends its process now and then is no right one.
    fn apart(&mut self, entries: &[Entry<'_>], error: EngineError) {
        let before = self.faults;
        let (id, jobs) = (&self.report.id, entries.len());
        if !error.is_a_limit() {
            // It may have taken the whole time limit, and what comes now may take as long.
            tracing::warn!(
                "engine {id}: {error}; each job of the request follows by itself: {jobs}"
            );
        }
        entries.iter().for_each(|&entry| self.one_by_one(entry));
        if self.faults != before || error.is_a_limit() {
            return;
        }
        // The request was for the short settings, which not every job has.
        let asked = |&entry| Some((entry, *self.settings(entry).short.first()?));
        let Some((first, setting)) = entries.iter().find_map(asked) else { return };
        let told = |what: String| {
            format!(
                "{what} (in a request for {}, this one the first; each by itself did not fail)",
                count(jobs, "job")
            )
        };
        let error = match error {
            EngineError::Device(what) => EngineError::Device(told(what)),
            EngineError::Unavailable(what) => EngineError::Unavailable(told(what)),
            other => other,
        };
        self.note_fault(first, setting, error);
    }

    /// The settings to run a job with; none where the policy leaves the stage out.
    fn settings(&self, entry: Entry<'_>) -> Settings {
        let (case, stage) = (entry.item.case.as_ref(), entry.job.stage);
        if !self.hooks.policy.runs(stage, case) {
            return Settings::default();
        }
        let settings = self.hooks.policy.settings(case, &self.contender.own_settings(stage));
        let steps = |setting| entry.job.steps(&self.report.info, Some(setting));
        let settings = self.hooks.policy.by_steps(case, settings, &steps);
        let mut all = Settings::default();
        for setting in self.contender.settings_of(stage, &settings) {
            match self.contender.engine.supports(stage, setting.map(|s| s.reduction)) {
                Support::Yes if let Some(reason) = self.beyond(entry, setting) => {
                    all.beyond.push((setting, reason));
                }
                Support::Yes if entry.job.may_be_cut(&self.report.info, setting) => {
                    all.long.push(setting);
                }
                Support::Yes => all.short.push(setting),
                Support::No(reason) => all.lacking.push((setting, reason)),
            }
        }
        all
    }

    /// Why the setting's reduction is not for the job: its sums are larger than the numbers which are added
    /// up, or its rows more than are kept. Only of a reduction whose numbers end somewhere are the bounds
    /// asked.
    fn beyond(&self, entry: Entry<'_>, setting: Option<Setting>) -> Option<String> {
        let arithmetic = Arithmetic::of(&self.report.info);
        let reduction = setting?.reduction;
        let fits = match reduction.row().in_memory {
            InMemory::FloatAtomics | InMemory::InOrder | InMemory::OneWriter => true,
            InMemory::FixedPoint => entry.job.expectation(arithmetic).is_in_fixed_point(),
        };
        if !fits {
            return Some("sums reach 2^31, where the numbers in fixed point end".to_owned());
        }
        entry.job.is_beyond(setting)
    }

    /// What a reduction has no numbers for no engine runs: it is out of the plan, which is said.
    fn note_beyond(&mut self, entry: Entry<'_>, beyond: Lacking) {
        for (setting, reason) in beyond {
            self.done(entry);
            let key = (entry.job.stage, setting.map(|setting| setting.reduction));
            let by = EngineError::TooLarge(reason);
            self.report.leave_out(key, Unsupported { runs: 1, by });
        }
    }

    /// What an engine has no kernel for is not exercised, and does not cost the engine its place.
    fn note_unsupported(&mut self, entry: Entry<'_>, lacking: Lacking) {
        for (setting, reason) in lacking {
            self.done(entry);
            let stage = entry.job.stage;
            self.report.row(stage, setting).add_run(Verdict::NotExercised, setting);
            let key = (stage, setting.map(|setting| setting.reduction));
            self.report.unsupported.insert(key, reason);
        }
    }

    fn exercised(&self, entry: Entry<'_>, settings: &[Option<Setting>]) {
        if entry.job.stage.accumulates() {
            let settings: Vec<_> = settings.iter().flatten().copied().collect();
            let Entry { item, job, .. } = entry;
            let (case, view) = (item.case.as_ref(), item.view);
            let run = Exercised { case, view, job, settings: &settings };
            self.hooks.observer.exercised(&self.report.id, self.report.info.lane_width, run);
        }
    }

    fn one_by_one(&mut self, entry: Entry<'_>) {
        let Settings { short, long, lacking, beyond } = self.settings(entry);
        short.into_iter().chain(long).for_each(|setting| self.single(entry, setting));
        self.note_unsupported(entry, lacking);
        self.note_beyond(entry, beyond);
    }

    /// One run in a request of its own.
    fn single(&mut self, entry: Entry<'_>, setting: Option<Setting>) {
        if self.report.given_up.is_some() {
            self.report.row(entry.job.stage, setting).add(&Tally::default(), setting);
            self.done(entry);
            return;
        }
        match once(self.contender.engine.as_mut(), entry.job, setting) {
            Ok(tally) => {
                self.count(entry, setting, &tally);
                self.exercised(entry, &[setting]);
            }
            Err(error) if error.is_a_limit() => self.note_limited(entry, setting, error),
            Err(error) => self.note_fault(entry, setting, error),
        }
    }

    /// A run more.
    fn done(&self, entry: Entry<'_>) {
        self.hooks.observer.ran(entry.item.case.as_ref());
        self.hooks.observer.done(1);
    }

    /// A run beyond a limit is not exercised, and does not cost the engine its place.
    fn note_limited(&mut self, entry: Entry<'_>, setting: Option<Setting>, by: EngineError) {
        self.done(entry);
        self.faults_in_a_row = 0;
        let stage = entry.job.stage;
        self.report.row(stage, setting).add_run(Verdict::NotExercised, setting);
        let key = (stage, setting.map(|setting| setting.reduction));
        self.report.limit(key, Unsupported { runs: 1, by });
    }

    fn count(&mut self, entry: Entry<'_>, setting: Option<Setting>, tally: &Tally) {
        self.faults_in_a_row = 0;
        self.done(entry);
        self.report.row(entry.job.stage, setting).add(tally, setting);
        if let Some(difference) = &tally.worst {
            let (fault, outside) = (Fault::Difference(difference.clone()), tally.outside.clone());
            self.failed.push(Failed { place: entry.place, setting, fault, outside });
        }
    }

    fn note_fault(&mut self, entry: Entry<'_>, setting: Option<Setting>, error: EngineError) {
        self.done(entry);
        self.faults += 1;
        // What the machine lacks says nothing of the kernel.
        let of_machine = error.is_of_the_machine();
        let verdict = if of_machine { Verdict::NotExercised } else { Verdict::Disagree };
        self.report.row(entry.job.stage, setting).add_run(verdict, setting);
        // Other bits come from an engine that works.
        let works = matches!(error, EngineError::NotDeterministic(_));
        self.faults_in_a_row = if works { 0 } else { self.faults_in_a_row + 1 };
        // What did not end once may take all of its time again and again.
        let endless = matches!(error, EngineError::NoEnd(_));
        if endless || self.faults_in_a_row >= GIVE_UP {
            self.report.given_up = Some(error.to_string());
        }
        let (fault, outside) = (Fault::Engine(error), Vec::new());
        self.failed.push(Failed { place: entry.place, setting, fault, outside });
    }
}
