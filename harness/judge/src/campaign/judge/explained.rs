//! What a kernel may have got wrong, of all its failing runs: they are made again, the smallest first, until
//! only hypotheses are left that none of them contradicts.

use super::Judge;
use super::failed::no_diagnosis;
use crate::campaign::once::outputs_of_one_run;
use crate::campaign::{Fault, Finding, Item};
use crate::diagnosis::{Diagnosis, Weighing};
use crate::judge::Arithmetic;
use crate::work_budget::WorkBudget;
use crate::workload::{AnyCase, FailedRun, Job};
use splatcheck_gpu::{EngineError, EngineKind, Reduction, Setting, Stage};
use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::sync::Arc;

/// Words of the runs of one kernel that are kept to be made again: the largest are left out.
const WORDS: usize = 16 << 20;
/// Words of the runs that are made again, times the hypotheses that are tested on each: the oracle computes so
/// many, which takes seconds.
const EFFORT: usize = WORDS / 8;
/// Failing runs on which all hypotheses are tested: on others those that explained one of these.
const MOST_IN_FULL: usize = 4;

/// What is explained together: a kernel's runs that fail alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kernel {
    stage: Stage,
    reduction: Option<Reduction>,
    /// Whether numbers, what is none, or other bits are to be explained.
    what: &'static str,
}

impl Kernel {
    fn new(stage: Stage, setting: Option<Setting>, fault: &Fault) -> Self {
        let what = match fault {
            Fault::Difference(difference) if difference.value.is_finite() => "numbers",
            Fault::Difference(_) => "not finite",
            Fault::Engine(_) => "other bits",
        };
        Self { stage, reduction: setting.map(|setting| setting.reduction), what }
    }

    fn of(finding: &Finding) -> Self {
        Self::new(finding.stage, finding.setting, &finding.fault)
    }
}

/// A run that failed.
struct Suspect {
    case: AnyCase,
    view: usize,
    setting: Option<Setting>,
    words: usize,
}

/// The failing runs of a kernel.
#[derive(Default)]
struct Runs {
    kept: Vec<Suspect>,
    words: usize,
    /// How many runs are too large to be kept.
    left_out: u64,
}

impl Runs {
    fn add(&mut self, suspect: Suspect) {
        self.words += suspect.words;
        self.kept.push(suspect);
        while self.words > WORDS && self.kept.len() > 1 {
            let places = self.kept.iter().enumerate();
            let Some((largest, _)) = places.max_by_key(|(_, run)| run.words) else { return };
            self.words -= self.kept.remove(largest).words;
            self.left_out += 1;
        }
    }
}

/// The failing runs of all kernels.
#[derive(Default)]
pub(super) struct Suspects(BTreeMap<Kernel, Runs>);

impl Suspects {
    pub(super) fn add(
        &mut self,
        fault: &Fault,
        (job, setting): (&Job, Option<Setting>),
        item: &Item,
    ) {
        let (case, view, words) = (Arc::clone(&item.case), item.view, job.words());
        let kernel = Kernel::new(job.stage, setting, fault);
        self.0.entry(kernel).or_default().add(Suspect { case, view, setting, words });
    }
}

/// What was found out about a kernel.
#[derive(Default)]
struct Explained {
    /// What the runs say together, where something explains all of them.
    all: Option<Weighing>,
    /// What the first says alone, with its case.
    first: Option<(Weighing, String)>,
    /// The case that what explains the first does not explain.
    other: Option<String>,
    /// Runs that were not made again.
    left_out: u64,
    /// Why one of them was not.
    error: Option<EngineError>,
}

impl Explained {
    fn fits(&self) -> BTreeSet<String> {
        self.all.as_ref().map(Weighing::explaining).unwrap_or_default()
    }

    fn diagnosis(&self, others: &dyn Fn(&str) -> usize) -> Option<Diagnosis> {
        let diagnosis = match (&self.all, &self.first, &self.other) {
            (Some(all), ..) => all.conclude_beside(others),
            (None, Some((first, case)), Some(other)) if first.explains() => {
                first.contradicted(case, other)
            }
            (None, Some((first, _)), _) => first.conclude(),
            (None, None, _) => return None,
        };
        let runs = match self.left_out {
            0 => return Some(diagnosis),
            1 => "1 failing run was".to_owned(),
            more => format!("{more} failing runs were"),
        };
        Some(
            diagnosis
                .with_line(format!("{runs} not made again to test it: they are many or large")),
        )
    }
}

impl Judge<'_, '_> {
    /// Explains the findings, kernel by kernel, those of one stage in the light of each other.
    pub(super) fn explain(&mut self) {
        let mut told = Vec::new();
        for (kernel, mut runs) in take(&mut self.suspects).0 {
            runs.kept.sort_by_key(|run| run.words);
            told.push((kernel, self.explained(kernel.stage, &runs)));
        }
        for (kernel, explained) in &told {
            let fits = |of: &&(Kernel, Explained), fault: &str| {
                of.0.stage == kernel.stage && of.1.fits().contains(fault)
            };
            let others = |fault: &str| told.iter().filter(|of| fits(of, fault)).count();
            let diagnosis = explained.diagnosis(&others);
            for finding in self.report.findings.iter_mut().filter(|one| Kernel::of(one) == *kernel)
            {
                finding.diagnosis.clone_from(&diagnosis);
                if let (None, Some(error)) = (&diagnosis, &explained.error) {
                    finding.notes.push(no_diagnosis(error));
                }
            }
        }
    }

    /// What explains all failing runs of a kernel, which come in order of their size.
    fn explained(&mut self, stage: Stage, runs: &Runs) -> Explained {
        let mut explained = Explained { left_out: runs.left_out, ..Explained::default() };
        let mut effort = WorkBudget::of(EFFORT);
        let mut begin = 0;
        for _ in 0..MOST_IN_FULL {
            let Some(first) = runs.kept.get(begin) else { break };
            let weighed = self.weigh(stage, first, None);
            let Some(mut all) = explained.noted(weighed) else {
                begin += 1;
                continue;
            };
            let kept = (all.clone(), first.case.name().to_owned());
            explained.first.get_or_insert(kept);
            let (mut other, mut left_out) = (None, runs.left_out);
            for (place, run) in runs.kept.iter().enumerate().filter(|(place, _)| *place != begin) {
                let alive = all.alive();
                if alive.is_empty() {
                    break;
                }
                if !effort.spend(run.words * (alive.len() + 1)) {
                    left_out += 1;
                    continue;
                }
                let weighed = self.weigh(stage, run, Some(&alive));
                let Some(one) = explained.noted(weighed).filter(|one| !one.is_partial()) else {
                    continue;
                };
                all.merge(&one);
                if all.alive().is_empty() {
                    other = Some(place);
                }
            }
            if all.explains() {
                (explained.all, explained.left_out) = (Some(all), left_out);
                break;
            }
            let name = |place: usize| runs.kept[place].case.name().to_owned();
            explained.other = explained.other.or(other.map(name));
            begin = other.unwrap_or(begin + 1);
        }
        explained
    }

    /// What a run says that is made again; `None` where it is right this time.
    fn weigh(
        &mut self,
        stage: Stage,
        run: &Suspect,
        only: Option<&BTreeSet<String>>,
    ) -> Result<Option<Weighing>, EngineError> {
        let Some(item) = self.item_of(&run.case, run.view, stage) else { return Ok(None) };
        let Some(job) = item.job(stage) else { return Ok(None) };
        self.weighed(job, run.setting, only)
    }

    /// The same of its job.
    pub(super) fn weighed(
        &mut self,
        job: &Job,
        setting: Option<Setting>,
        only: Option<&BTreeSet<String>>,
    ) -> Result<Option<Weighing>, EngineError> {
        let engine = self.contender.engine.as_mut();
        // Of other engines the harness clears the outputs.
        let before = match self.report.info.kind {
            EngineKind::Command => Some(outputs_of_one_run(engine, job, setting)?),
            EngineKind::Emulator | EngineKind::Wgpu | EngineKind::Cuda => None,
        };
        let outputs = outputs_of_one_run(engine, job, setting)?;
        let run = FailedRun {
            arithmetic: Arithmetic::of(&self.report.info),
            setting,
            lane_width: self.report.info.lane_width,
        };
        Ok(job.weigh((before.as_ref(), &outputs), run, only)?)
    }
}

impl Explained {
    /// What a run said; an error is kept, the first.
    fn noted(&mut self, weighed: Result<Option<Weighing>, EngineError>) -> Option<Weighing> {
        match weighed {
            Ok(weighed) => weighed,
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }
}
