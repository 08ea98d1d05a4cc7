//! What became of the runs, as a table and as JSON.

use serde::Serialize;
use splatcheck_gpu::{Reduction, Setting};

use super::options::TrainPlan;
use splatcheck_judge::words::count;
use splatcheck_workloads::train::fit::{Curve, End};
use splatcheck_workloads::train::loss::Loss;

/// One run.
pub(super) struct Run {
    engine: String,
    setting: Option<Setting>,
    pub(super) curve: Curve,
}

impl Run {
    pub(super) fn new(engine: String, setting: Option<Setting>, curve: Curve) -> Self {
        Self { engine, setting, curve }
    }

    /// Engine and setting.
    pub(super) fn name(&self) -> String {
        match self.setting {
            Some(setting) => format!("{} {setting}", self.engine),
            None => self.engine.clone(),
        }
    }

    /// Whether Ctrl-C ended it.
    pub(super) fn was_interrupted(&self) -> bool {
        matches!(self.curve.end, End::Interrupted { .. })
    }

    /// Why it ended before its last step, if it did.
    pub(super) fn stopped(&self) -> Option<String> {
        match &self.curve.end {
            End::Done => None,
            End::Interrupted { step } => Some(format!("interrupted before step {step}")),
            End::NotFinite { step, what } => {
                Some(format!("step {step}: the gradient of {what} is not finite"))
            }
            End::Failed { step, error } => Some(format!("step {step}: {error}")),
        }
    }
}

/// All runs of a plan, the oracle's first.
pub(super) struct Report<'p> {
    pub(super) plan: &'p TrainPlan,
    pub(super) runs: Vec<Run>,
}

#[derive(Serialize)]
pub(super) struct ReportJson<'p> {
    target: &'p str,
    /// Width and height of each image.
    views: Vec<[u32; 2]>,
    gaussians: usize,
    steps: usize,
    loss: Loss,
    seed: u64,
    runs: Vec<RunJson<'p>>,
}

#[derive(Serialize)]
struct RunJson<'p> {
    engine: &'p str,
    reduction: Option<Reduction>,
    threshold: Option<u32>,
    /// Before which PSNR over all views is, and of the last the number of steps.
    at: Vec<usize>,
    /// dB; null where the images are exactly the targets.
    psnr: Vec<f64>,
    seconds: f64,
    /// dB.
    largest_difference: Option<f64>,
    stopped: Option<String>,
}

impl Report<'_> {
    pub(super) fn title(&self) -> String {
        let TrainPlan { name, target, gaussians, steps, seed, .. } = self.plan;
        let [width, height] = target.views.first().map_or([0; 2], |view| view.size);
        let views = match target.views.len() {
            1 => String::new(),
            views => format!(", {views} views"),
        };
        format!(
            "{name}, {width}x{height}{views}: {}, {}, seed {seed}",
            count(*gaussians, "Gaussian"),
            count(*steps, "step")
        )
    }

    /// How far a run's PSNR is from the oracle's.
    fn farthest(&self, run: &Run) -> Option<f64> {
        let oracle = self.runs.first()?;
        run.setting.and_then(|_| run.curve.farthest(&oracle.curve))
    }

    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let head = [
            "engine",
            "reduction",
            "PSNR at the start",
            "at the end",
            "seconds",
            "largest difference from the oracle",
        ];
        let row = |run: &Run| {
            let decibels = |point: Option<&(usize, f64)>| {
                point.map_or_else(|| "-".to_owned(), |(_, psnr)| format!("{psnr:.2} dB"))
            };
            let far = self.farthest(run).map(|far| format!("{far:.1e} dB"));
            vec![
                run.engine.clone(),
                run.setting.map_or_else(|| "-".to_owned(), |setting| setting.to_string()),
                decibels(run.curve.psnr.first()),
                decibels(run.curve.psnr.last()),
                format!("{:.1}", run.curve.seconds),
                far.unwrap_or_else(|| "-".to_owned()),
                match run.stopped() {
                    None => String::new(),
                    Some(why) if run.was_interrupted() => why,
                    Some(why) => format!("STOPPED at {why}"),
                },
            ]
        };
        let head = head.map(str::to_owned).to_vec();
        std::iter::once(head).chain(self.runs.iter().map(row)).collect()
    }

    pub(super) fn json(&self) -> ReportJson<'_> {
        ReportJson {
            target: &self.plan.name,
            views: self.plan.target.views.iter().map(|view| view.size).collect(),
            gaussians: self.plan.gaussians,
            steps: self.plan.steps,
            loss: self.plan.loss,
            seed: self.plan.seed,
            runs: self.runs.iter().map(|run| self.run_json(run)).collect(),
        }
    }

    fn run_json<'a>(&self, run: &'a Run) -> RunJson<'a> {
        let Run { engine, setting, curve } = run;
        let threshold = setting.filter(|setting| setting.reduction.has_threshold());
        RunJson {
            engine,
            reduction: setting.map(|setting| setting.reduction),
            threshold: threshold.map(|setting| setting.threshold),
            at: curve.psnr.iter().map(|point| point.0).collect(),
            psnr: curve.psnr.iter().map(|point| point.1).collect(),
            seconds: curve.seconds,
            largest_difference: self.farthest(run),
            stopped: run.stopped(),
        }
    }
}
