//! What a campaign's runs come to: findings in their files, coverage, rates and the result.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use super::options::{FuzzPlan, Limit};
use crate::cli::exit::CliError;
use crate::cli::output::Lines;
use crate::cli::provenance;
use crate::cli::reproducer::Reproducers;
use splatcheck_judge::campaign::{
    Contender, EngineReport, Exercised, Finding, Hooks, Item, Observer, Share, run_in_chunks,
};
use splatcheck_judge::case_space::CaseSpace;
use splatcheck_judge::coverage::{Coverage, Met};
use splatcheck_judge::interrupt;
use splatcheck_judge::minimize::shrink;
use splatcheck_judge::report::Detail;
use splatcheck_judge::threads::Pool;
use splatcheck_judge::words::{count, grouped};
use splatcheck_judge::workload::{AnyCase, Case};
use splatcheck_workloads::fuzz::Results;

/// Cases of a submission: they are small.
pub(super) const CHUNK: usize = 64;

/// Writes findings, measures coverage and shows both.
pub(super) struct Watcher<'a> {
    pub(super) fuzz: &'a FuzzPlan,
    pub(super) reproducers: Reproducers,
    started: Instant,
    /// The program, where one is run, by what its files held at the beginning.
    version: Option<String>,
    bar: ProgressBar,
    _lines: Option<Lines>,
    runs: Arc<AtomicU64>,
    found: AtomicU64,
    /// One more than the largest index that an engine has run.
    pub(super) cases: Arc<AtomicU64>,
    coverage: Mutex<BTreeMap<String, Coverage>>,
    space: Mutex<CaseSpace>,
    /// The first finding that could not be written.
    unwritten: Mutex<Option<CliError>>,
}

/// A panic of another thread is reported by the campaign; its counts are as good as before.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Watcher<'a> {
    /// Of a campaign that begins: what an earlier one left in its folder is set aside.
    ///
    /// # Errors
    /// A file that cannot be moved.
    pub(super) fn new(fuzz: &'a FuzzPlan) -> Result<Self, CliError> {
        let reproducers = Reproducers::begin(&fuzz.out, "fuzz", None)?.in_parts(fuzz.plan.parts());
        let cannot = |error| CliError::caused("--out", error);
        Results::set_aside(&fuzz.out).map_err(cannot)?;
        let bar = match fuzz.detail {
            Detail::Verdict => ProgressBar::hidden(),
            Detail::Engines | Detail::Rows => ProgressBar::new_spinner(),
        };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
            bar.set_style(style);
        }
        let (runs, cases) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let lines = match fuzz.detail {
            Detail::Verdict => None,
            Detail::Engines | Detail::Rows => {
                let (runs, cases) = (Arc::clone(&runs), Arc::clone(&cases));
                let (shard, bar) = (fuzz.shard, bar.clone());
                Some(Lines::new(move || {
                    let cases = grouped(shard.share(cases.load(Ordering::Relaxed)));
                    let runs = grouped(runs.load(Ordering::Relaxed));
                    (!bar.is_finished()).then(|| format!("fuzz: {cases} cases, {runs} runs"))
                }))
            }
        };
        Ok(Self {
            fuzz,
            reproducers,
            started: Instant::now(),
            version: fuzz.command.as_ref().map(provenance::version_of),
            bar,
            _lines: lines,
            runs,
            found: AtomicU64::new(0),
            cases,
            coverage: Mutex::default(),
            space: Mutex::default(),
            unwritten: Mutex::default(),
        })
    }

    /// Counts a case; how many there were before, and its index.
    fn reach(&self, case: &dyn Case) -> (u64, u64) {
        let index = self.fuzz.plan.index(case).unwrap_or(0);
        (self.cases.fetch_max(index + 1, Ordering::Relaxed), index)
    }

    /// Cases, runs and findings, with rates.
    fn progress(&self) -> String {
        let [cases, runs, found] =
            [&*self.cases, &*self.runs, &self.found].map(|n| n.load(Ordering::Relaxed));
        let cases = self.fuzz.shard.share(cases);
        let seconds = self.started.elapsed().as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "rates for people")]
        let [case_rate, run_rate] = [cases, runs].map(|n| n as f64 / seconds);
        let found = match found {
            0 => "no failures".to_owned(),
            found => format!("{} of failure", count(found, "kind")),
        };
        let (cases, runs) = (count(cases, "case"), count(runs, "run"));
        format!("{cases} ({case_rate:.0}/s), {runs} ({run_rate:.0}/s), {found}")
    }

    /// How long it still takes, at the rate so far.
    fn left(&self) -> String {
        let spent = self.started.elapsed();
        let left = match self.fuzz.limit {
            Limit::Time(time) => time.saturating_sub(spent),
            Limit::Cases(all) => {
                let [all, done] = [all, self.cases.load(Ordering::Relaxed).max(1)];
                #[expect(clippy::cast_precision_loss, reason = "an estimate for people")]
                spent.mul_f64(all.saturating_sub(done) as f64 / done as f64)
            }
        };
        format!("{} left", HumanDuration(left))
    }

    /// The cases of the plan, until the time is up.
    pub(super) fn cases(&self) -> impl Iterator<Item = (AnyCase, usize)> + Send + '_ {
        let Self { fuzz, started, .. } = self;
        fuzz.plan.cases(fuzz.shard).take_while(move |(case, _)| match fuzz.limit {
            Limit::Time(time) => started.elapsed() < time,
            Limit::Cases(cases) => fuzz.plan.index(case.as_ref()).is_some_and(|i| i < cases),
        })
    }

    /// The result, written where the number of cases is given, with the formulation that a program with any was
    /// found to have.
    ///
    /// # Errors
    /// A file that could not be written.
    pub(super) fn finish(
        self,
        reports: Vec<EngineReport>,
        settled: Option<String>,
    ) -> Result<Results, CliError> {
        let fuzz = self.fuzz;
        self.bar.finish_and_clear();
        // Standard output says nothing that depends on the machine's speed.
        let seconds = self.started.elapsed().as_secs_f64();
        match fuzz.detail {
            Detail::Verdict => {}
            Detail::Engines | Detail::Rows => {
                let _ = writeln!(std::io::stderr(), "{} in {seconds:.1} s", self.progress());
            }
        }
        let results = Results { formulation: settled, ..self.results(reports) };
        // What depends on the machine's speed, or on Ctrl-C, cannot be joined, nor made again.
        if fuzz.share == Share::Everyone && !interrupt::is_asked() {
            let cannot = |error| {
                CliError::caused(format!("cannot make the folder {}", fuzz.out.display()), error)
            };
            fs::create_dir_all(&fuzz.out).map_err(cannot)?;
            let written = results.write(&fuzz.out, &fuzz.out);
            written.map_err(|error| CliError::caused("cannot write the result", error))?;
        }
        match self.unwritten.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(results),
        }
    }

    fn results(&self, mut reports: Vec<EngineReport>) -> Results {
        let plan = &self.fuzz.plan;
        // It is the same whatever the machine's speed.
        reports.iter_mut().for_each(|report| report.busy = Duration::ZERO);
        reports.iter_mut().for_each(|report| plan.sort(&mut report.findings));
        // Parts that another version of the program made are not of one campaign.
        if let Some(version) = &self.version {
            reports.iter_mut().for_each(|report| report.info.backend.clone_from(version));
        }
        let reached = self.cases.load(Ordering::Relaxed);
        Results {
            plan: plan.clone(),
            cases: match self.fuzz.limit {
                Limit::Cases(cases) => cases,
                Limit::Time(_) => reached,
            },
            shard: self.fuzz.shard,
            absent: Vec::new(),
            reached,
            formulation: None,
            not_drawn: plan.not_drawn().iter().map(|generator| generator.name.to_owned()).collect(),
            missing: self.fuzz.missing.clone(),
            reports,
            coverage: lock(&self.coverage).clone(),
            space: lock(&self.space).clone(),
        }
    }
}

impl Observer for Watcher<'_> {
    fn prepared(&self, item: &Item) {
        // The item has jobs, so its view has traits.
        if let Ok(traits) = item.case.traits(item.view) {
            lock(&self.space).add(traits);
        }
    }

    fn done(&self, runs: u64) {
        self.runs.fetch_add(runs, Ordering::Relaxed);
    }

    fn ran(&self, case: &dyn Case) {
        // Of engines those cases count by which something is known of how they add up.
        if self.fuzz.command.is_some() {
            self.reach(case);
        }
    }

    fn found(&self, finding: &Finding, small: bool) {
        if !small {
            self.found.fetch_add(1, Ordering::Relaxed);
        }
        // In which formulation a finding is one is known when all are tried.
        if self.fuzz.command.as_ref().is_some_and(|command| command.promise.is_any()) {
            return;
        }
        if let Err(error) = self.reproducers.write(&mut finding.clone(), None) {
            lock(&self.unwritten).get_or_insert(error);
        }
    }

    fn exercised(&self, engine: &str, width: u32, run: Exercised<'_>) {
        // Nothing is known of how a program adds up.
        if self.fuzz.command.is_some() {
            return;
        }
        // An engine has run the stage, so it does not contradict itself.
        let Some(Ok(steps)) = run.job.scatter(width) else { return };
        let (before, index) = self.reach(run.case);
        let settings = run.settings;
        let met = Met::new(steps.as_ref());
        let mut all = lock(&self.coverage);
        let coverage = all.entry(engine.to_owned()).or_insert_with(|| Coverage::new(width));
        settings.iter().for_each(|&setting| coverage.add(&met, setting));
        if before / (CHUNK as u64) < (index + 1) / (CHUNK as u64) {
            let [met, reachable] = coverage.count();
            let progress = format!("{}, {met}/{reachable} cells", self.progress());
            self.bar.set_message(format!("{progress}, {}", self.left()));
            self.bar.tick();
        }
    }
}

impl FuzzPlan {
    /// Runs a campaign on the plan's threads.
    ///
    /// # Errors
    /// A panic of an engine's thread; a case that cannot be prepared.
    pub(super) fn campaign(
        &self,
        cases: impl Iterator<Item = (AnyCase, usize)> + Send,
        contenders: Vec<Contender<'_>>,
        hooks: Hooks<'_>,
    ) -> Result<Vec<EngineReport>, CliError> {
        let pool = Pool::of(self.jobs);
        let run = || run_in_chunks((CHUNK, self.share), cases, contenders, hooks);
        pool.install(run).map_err(CliError::of)
    }

    /// A smaller case that fails: made simpler as its generator can, then by what it keeps, needed or not,
    /// such as a list as long as a batch.
    pub(super) fn smaller(&self, item: &Item, fails: &mut dyn FnMut(&AnyCase) -> bool) -> AnyCase {
        let tree = self.plan.index(item.case.as_ref()).and_then(|index| self.plan.tree(index));
        tree.map_or_else(|| Arc::clone(&item.case), |tree| shrink(tree, fails)).smaller(fails)
    }
}
