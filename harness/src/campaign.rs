//! A campaign: many cases on many engines, the oracle working ahead of the devices.
//!
//! One thread per engine talks to the engine's process and judges what comes back; the caller's
//! thread prepares stage inputs and bounds, a chunk of cases at a time, and hands every chunk to
//! all engines. Nothing that an engine does stops the campaign: a fault is a finding of its own.

mod watch;

use crate::case::Case;
use crate::judge::{Arithmetic, Expectation};
use crate::stage::Stage;
use crate::verdict::{Difference, Tally, Verdict};
use rayon::prelude::*;
use splat_gpu::{BackwardConfig, DeviceInfo, EngineError, RasterGradients, RasterOutputs};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
pub use watch::{Contender, Watch};

/// Name of the forward stage.
pub const FORWARD: &str = "rasterize";
/// Name of the backward stage.
pub const BACKWARD: &str = "rasterize_backward";

/// Cases prepared and judged together.
const CHUNK: usize = 12;
/// Chunks that may wait for an engine.
const WAITING: usize = 2;
/// Images with more pixels are run one setting a request: a software device takes seconds for each,
/// and the time limit and the progress bar are per request.
const LARGE: usize = 1 << 14;
/// Faults in a row after which an engine is given up.
const GIVE_UP: u32 = 3;

/// A case and camera with its stage inputs; bounds are computed once for each model in use.
#[derive(Debug)]
pub struct Item {
    /// The case.
    pub case: Case,
    /// Number of the camera.
    pub camera: usize,
    /// The stage's inputs.
    pub stage: Stage,
    bounds: [OnceLock<Expectation>; Arithmetic::COUNT],
}

impl Item {
    /// Prepares the stage of a case.
    ///
    /// # Errors
    /// Says why the case cannot be rasterized.
    pub fn new(case: Case, camera: usize) -> Result<Self, String> {
        let stage =
            Stage::new(&case, camera).map_err(|error| format!("case {}: {error}", case.name))?;
        Ok(Self { case, camera, stage, bounds: Default::default() })
    }

    /// What a conforming kernel may return on a device of that kind.
    pub fn expectation(&self, info: &DeviceInfo) -> &Expectation {
        let arithmetic = Arithmetic::of(info);
        self.bounds[arithmetic as usize].get_or_init(|| Expectation::new(&self.stage, arithmetic))
    }
}

/// What was wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// An element outside its bound.
    Difference(Difference),
    /// The engine gave no result.
    Engine(EngineError),
}

/// One thing that was wrong, with all that is needed to run it again.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Id of the engine.
    pub engine: String,
    /// Its lane width.
    pub lane_width: u32,
    /// Name of the stage.
    pub stage: &'static str,
    /// The setting; `None` for the forward stage.
    pub setting: Option<BackwardConfig>,
    /// What was wrong.
    pub fault: Fault,
    /// The case, as small as it could be made.
    pub case: Case,
    /// Number of the camera.
    pub camera: usize,
    /// How many runs failed in the same way (stage, reduction and output).
    pub runs: u64,
}

impl Finding {
    /// What makes two findings of an engine the same: stage, reduction, output, kind of failure and
    /// the case's class.
    fn key(stage: &str, setting: Option<BackwardConfig>, fault: &Fault, class: &str) -> String {
        let reduction = setting.map_or("-", |setting| setting.reduction.name());
        let what = match fault {
            Fault::Difference(difference) => {
                let kind = if difference.value.is_finite() { "wrong" } else { "not finite" };
                format!("{} {kind}", difference.output)
            }
            Fault::Engine(_) => "no result".to_owned(),
        };
        format!("{stage} {reduction} {what} {class}")
    }

    /// The name of its reproducer, without an extension.
    #[must_use]
    pub fn file_stem(&self) -> String {
        let setting = self.setting.map_or_else(String::new, |setting| {
            format!("-{}-t{}", setting.reduction, setting.threshold)
        });
        let what = match &self.fault {
            Fault::Difference(difference) => difference.output,
            Fault::Engine(_) => "fault",
        };
        let stem = format!("{}-{}{setting}-{what}-{}", self.engine, self.stage, self.case.name);
        stem.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
    }
}

/// Counts of one row of the report.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// (case, setting) runs by verdict.
    pub runs: BTreeMap<Verdict, u64>,
    /// All elements of all runs.
    pub tally: Tally,
    /// Runs that disagree at each threshold that was run.
    pub disagree_at: BTreeMap<u32, u64>,
}

impl Row {
    fn add(&mut self, tally: &Tally, setting: Option<BackwardConfig>) {
        self.add_run(tally.verdict(), setting);
        self.tally.merge(tally);
    }

    fn add_run(&mut self, verdict: Verdict, setting: Option<BackwardConfig>) {
        *self.runs.entry(verdict).or_default() += 1;
        if let Some(setting) = setting.filter(|setting| setting.reduction.has_threshold()) {
            let disagree = self.disagree_at.entry(setting.threshold).or_default();
            *disagree += u64::from(verdict == Verdict::Disagree);
        }
    }

    /// Runs with that verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> u64 {
        self.runs.get(&verdict).copied().unwrap_or(0)
    }
}

/// What one engine's part of a campaign came to.
#[derive(Clone, Debug)]
pub struct EngineReport {
    /// Id of the engine.
    pub id: String,
    /// Its device.
    pub info: DeviceInfo,
    /// By stage and reduction ("-" for the forward stage), in the order of reports.
    pub rows: BTreeMap<(usize, &'static str, &'static str), Row>,
    /// What was wrong, each kind once.
    pub findings: Vec<Finding>,
    /// Why the engine was given up, if it was.
    pub given_up: Option<String>,
}

impl EngineReport {
    fn new(id: String, info: DeviceInfo) -> Self {
        Self { id, info, rows: BTreeMap::new(), findings: Vec::new(), given_up: None }
    }

    fn row(&mut self, stage: &'static str, setting: Option<BackwardConfig>) -> &mut Row {
        let order = setting.map_or(0, |setting| setting.reduction as usize + 1);
        let reduction = setting.map_or("-", |setting| setting.reduction.name());
        self.rows.entry((order, stage, reduction)).or_default()
    }

    /// The worst verdict of all runs.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let rows = self.rows.values().flat_map(|row| row.runs.keys().copied());
        rows.max().unwrap_or(Verdict::NotExercised)
    }
}

/// Makes a failing case smaller: gets the case and a predicate that says whether a smaller one
/// still fails; returns the smallest that does.
pub type Minimizer<'a> = dyn Fn(&Item, &mut dyn FnMut(&Case) -> bool) -> Case + Sync + 'a;

/// Runs every case on every contender.
///
/// # Errors
/// The first case that cannot be prepared; engines' faults are findings, not errors.
pub fn run(
    cases: impl Iterator<Item = Result<(Case, usize), String>>,
    contenders: Vec<Contender<'_>>,
    minimize: &Minimizer<'_>,
    watch: &dyn Watch,
) -> Result<Vec<EngineReport>, String> {
    run_in_chunks(CHUNK, cases, contenders, minimize, watch)
}

/// As [`run`], with `chunk` cases to a submission.
///
/// # Errors
/// As [`run`].
pub fn run_in_chunks(
    chunk: usize,
    cases: impl Iterator<Item = Result<(Case, usize), String>>,
    contenders: Vec<Contender<'_>>,
    minimize: &Minimizer<'_>,
    watch: &dyn Watch,
) -> Result<Vec<EngineReport>, String> {
    let devices: Vec<_> = contenders.iter().map(|c| c.engine.info().clone()).collect();
    thread::scope(|scope| {
        let mut senders = Vec::new();
        let mut threads = Vec::new();
        for contender in contenders {
            let (sender, receiver) = sync_channel::<Arc<Vec<Item>>>(WAITING);
            senders.push(sender);
            threads.push(scope.spawn(move || serve(contender, &receiver, minimize, watch)));
        }
        let fed = feed(chunk, cases, &devices, |chunk| {
            for sender in &senders {
                // An engine's thread ends early only by a panic, which `join` reports.
                let _ = sender.send(Arc::clone(&chunk));
            }
        });
        drop(senders);
        let reports = threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "an engine's thread panicked".to_owned()))
            .collect::<Result<Vec<_>, _>>();
        fed.and(reports)
    })
}

/// Prepares the cases chunk by chunk, in parallel within a chunk: stage inputs, and the bounds for
/// every device, which work on the chunk before in the meantime.
fn feed(
    size: usize,
    mut cases: impl Iterator<Item = Result<(Case, usize), String>>,
    devices: &[DeviceInfo],
    mut send: impl FnMut(Arc<Vec<Item>>),
) -> Result<(), String> {
    loop {
        let chunk: Vec<_> = cases.by_ref().take(size).collect::<Result<_, _>>()?;
        if chunk.is_empty() {
            return Ok(());
        }
        let items = chunk
            .into_par_iter()
            .map(|(case, camera)| {
                let item = Item::new(case, camera)?;
                for device in devices {
                    item.expectation(device);
                }
                Ok(item)
            })
            .collect::<Result<Vec<_>, String>>()?;
        send(Arc::new(items));
    }
}

/// One engine's thread.
fn serve(
    contender: Contender<'_>,
    chunks: &Receiver<Arc<Vec<Item>>>,
    minimize: &Minimizer<'_>,
    watch: &dyn Watch,
) -> EngineReport {
    let mut judge = Judge::new(contender, minimize, watch);
    for chunk in chunks {
        judge.chunk(&chunk);
    }
    judge.report
}

/// An engine with its report.
struct Judge<'a, 'm> {
    contender: Contender<'a>,
    minimize: &'m Minimizer<'m>,
    watch: &'m dyn Watch,
    report: EngineReport,
    known: BTreeMap<String, usize>,
    faults_in_a_row: u32,
}

impl<'a, 'm> Judge<'a, 'm> {
    fn new(contender: Contender<'a>, minimize: &'m Minimizer<'m>, watch: &'m dyn Watch) -> Self {
        let report = EngineReport::new(contender.id.clone(), contender.engine.info().clone());
        let known = BTreeMap::new();
        Self { contender, minimize, watch, report, known, faults_in_a_row: 0 }
    }

    /// Runs the small cases of a chunk in one request each way; large ones, and all where that
    /// fails, one by one.
    fn chunk(&mut self, items: &[Item]) {
        let (large, small): (Vec<&Item>, Vec<&Item>) =
            items.iter().partition(|item| item.stage.inputs.raster.pixels() > LARGE);
        let given_up = self.report.given_up.is_some();
        if given_up || self.forward(&small).is_err() {
            small.iter().for_each(|item| self.forward_one(item));
        }
        if given_up || self.backward(&small).is_err() {
            small.iter().for_each(|item| self.backward_one(item));
        }
        for item in large {
            self.forward_one(item);
            self.backward_one(item);
        }
    }

    fn forward_one(&mut self, item: &Item) {
        if self.report.given_up.is_some() {
            return self.not_exercised(FORWARD, None);
        }
        if let Err(error) = self.forward(&[item]) {
            self.note_fault(item, FORWARD, None, error);
        }
    }

    fn backward_one(&mut self, item: &Item) {
        for setting in self.settings(item) {
            if self.report.given_up.is_some() {
                self.not_exercised(BACKWARD, Some(setting));
                continue;
            }
            match self.gradients(item, setting) {
                Ok(gradients) => {
                    self.judge_backward(item, setting, &gradients);
                    self.exercised(item, &[setting]);
                }
                Err(error) => self.note_fault(item, BACKWARD, Some(setting), error),
            }
        }
    }

    fn settings(&self, item: &Item) -> Vec<BackwardConfig> {
        self.watch.settings(&item.case, &self.contender.settings)
    }

    fn exercised(&self, item: &Item, settings: &[BackwardConfig]) {
        self.watch.exercised(&self.report.id, self.report.info.lane_width, item, settings);
    }

    fn not_exercised(&mut self, stage: &'static str, setting: Option<BackwardConfig>) {
        self.report.row(stage, setting).add(&Tally::default(), setting);
        self.watch.done(1);
    }

    fn forward(&mut self, items: &[&Item]) -> Result<(), EngineError> {
        let inputs: Vec<_> = items.iter().map(|item| &item.stage.inputs.raster).collect();
        let outputs = self.contender.engine.rasterize(&inputs)?;
        for (item, output) in items.iter().zip(&outputs) {
            self.judge_forward(item, output);
        }
        Ok(())
    }

    fn backward(&mut self, items: &[&Item]) -> Result<(), EngineError> {
        let settings: Vec<_> = items.iter().map(|item| self.settings(item)).collect();
        let jobs = items.iter().zip(&settings);
        let jobs: Vec<_> = jobs.map(|(item, s)| (&item.stage.inputs, s.as_slice())).collect();
        let gradients = self.contender.engine.rasterize_backward(&jobs)?;
        for ((item, settings), gradients) in items.iter().zip(&settings).zip(&gradients) {
            for (&setting, gradients) in settings.iter().zip(gradients) {
                self.judge_backward(item, setting, gradients);
            }
            self.exercised(item, settings);
        }
        Ok(())
    }

    fn gradients(
        &mut self,
        item: &Item,
        setting: BackwardConfig,
    ) -> Result<RasterGradients, EngineError> {
        let mut gradients =
            self.contender.engine.rasterize_backward(&[(&item.stage.inputs, &[setting])])?;
        let one = gradients.pop().and_then(|mut settings| settings.pop());
        one.ok_or_else(|| EngineError::Device("no gradients came back".to_owned()))
    }

    fn judge_forward(&mut self, item: &Item, output: &RasterOutputs) {
        let tally = item.expectation(&self.report.info).judge_forward(output);
        self.count(item, FORWARD, None, &tally);
    }

    fn judge_backward(&mut self, item: &Item, setting: BackwardConfig, output: &RasterGradients) {
        let info = &self.report.info;
        let tally = item.expectation(info).judge_backward(output, setting, info.lane_width);
        self.count(item, BACKWARD, Some(setting), &tally);
    }

    fn count(
        &mut self,
        item: &Item,
        stage: &'static str,
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
        stage: &'static str,
        setting: Option<BackwardConfig>,
        error: EngineError,
    ) {
        self.watch.done(1);
        self.report.row(stage, setting).add_run(Verdict::Disagree, setting);
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
        stage: &'static str,
        setting: Option<BackwardConfig>,
        fault: Fault,
    ) {
        let key = Finding::key(stage, setting, &fault, &self.watch.class(&item.case));
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
        };
        // Before it is made smaller: whoever kills the process in the meantime loses nothing.
        self.watch.found(&finding, false);
        if let Fault::Difference(_) = finding.fault {
            self.shrink(item, &mut finding);
            self.watch.found(&finding, true);
        }
        self.report.findings.push(finding);
    }

    /// Replaces the finding's case by a smaller one that still differs.
    fn shrink(&mut self, item: &Item, finding: &mut Finding) {
        let minimize = self.minimize;
        let (setting, camera) = (finding.setting, finding.camera);
        let mut smallest = None;
        minimize(item, &mut |case| {
            let Ok(item) = Item::new(case.clone(), camera) else { return false };
            match self.difference(&item, setting) {
                Some(difference) => {
                    smallest = Some((item.case, difference));
                    true
                }
                None => false,
            }
        });
        if let Some((case, difference)) = smallest {
            finding.case = case;
            finding.fault = Fault::Difference(difference);
        }
    }

    /// Runs one stage of one case; the worst difference, if there is one.
    fn difference(&mut self, item: &Item, setting: Option<BackwardConfig>) -> Option<Difference> {
        let info = self.report.info.clone();
        let tally = match setting {
            None => {
                let outputs = self.contender.engine.rasterize(&[&item.stage.inputs.raster]).ok()?;
                item.expectation(&info).judge_forward(outputs.first()?)
            }
            Some(setting) => {
                let gradients = self.gradients(item, setting).ok()?;
                item.expectation(&info).judge_backward(&gradients, setting, info.lane_width)
            }
        };
        tally.worst
    }
}
