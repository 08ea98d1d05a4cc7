//! Acceptance: everything that this project can say about one machine, in one folder.
//!
//! Made for a machine that has a GPU and nothing else. The parts are those of the command's other
//! subcommands (devices, check) and what only a GPU can answer: how long every reduction takes at
//! every threshold ([`speed`]), held against the atomic traffic ([`splatcheck_judge::traffic`]) and the floor
//! of the device. A part that was not exercised says so with its reason; nothing is left out in
//! silence, and the folder appears only when it is complete ([`folder`]).

pub mod folder;
pub mod json;
pub mod speed;
pub mod text;

use std::fmt;

use splatcheck_gpu::{Setting, ThresholdError};

use speed::EngineTimes;
use splatcheck_judge::campaign::EngineReport;
use splatcheck_judge::engines::Discovery;
use splatcheck_judge::traffic::{Counts, Traffic};
use splatcheck_judge::verdict::Verdict;
use splatcheck_workloads::splat::contributions::Contributions;
use splatcheck_workloads::splat::floor::Work;
use splatcheck_workloads::splat::stage::RasterStage;

/// Everything that was found out.
#[derive(Debug)]
pub struct Acceptance {
    /// Whether this was the short form of the run.
    pub quick: bool,
    /// The engines of this machine, and what is missing.
    pub discovery: Discovery,
    /// Kernels against the oracle.
    pub checks: Vec<Check>,
    /// What every setting costs on each scene.
    pub scenes: Vec<SceneReport>,
    /// What was not exercised, and why.
    pub not_exercised: Vec<String>,
    /// What went wrong with the machine, not with a kernel.
    pub faults: Vec<String>,
}

/// One campaign.
#[derive(Debug)]
pub struct Check {
    /// What the kernels were judged on.
    pub subject: String,
    /// What came of it.
    pub reports: Vec<EngineReport>,
    /// The findings' reproducers, engine by engine.
    pub files: Vec<Vec<String>>,
}

impl Acceptance {
    /// The worst verdict of all campaigns.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        EngineReport::worst(self.checks.iter().flat_map(|check| &check.reports))
    }
}

/// One scene: what there is to do, what is sent to memory, how long it takes.
#[derive(Clone, Debug)]
pub struct SceneReport {
    /// Its name.
    pub name: String,
    /// Number of Gaussians.
    pub gaussians: usize,
    /// Width and height, pixels.
    pub size: [u32; 2],
    /// What the stage has to compute and to move.
    pub work: Work,
    /// The traffic of every setting, by warp size.
    pub traffic: Vec<(u32, Vec<TrafficRow>)>,
    /// Engine by engine.
    pub times: Vec<EngineTimes>,
}

/// The traffic of one setting in figures.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficRow {
    /// The setting.
    pub setting: Setting,
    /// Atomic instructions on global memory.
    pub issued: u64,
    /// Additions to words of global memory.
    pub additions: u64,
    /// Lanes that an atomic has on average.
    pub lanes_per_atomic: f64,
    /// Additions to the address with the most.
    pub longest_chain: u32,
    /// Additions per address.
    pub mean_chain: f64,
    /// Atomic instructions on shared memory.
    pub shared: u64,
}

impl From<Traffic> for TrafficRow {
    fn from(traffic: Traffic) -> Self {
        Self {
            setting: traffic.setting,
            issued: traffic.global.issued(),
            additions: traffic.global.operations(),
            lanes_per_atomic: traffic.lanes_per_atomic(),
            longest_chain: traffic.longest_chain(),
            mean_chain: traffic.mean_chain(),
            shared: traffic.shared.issued(),
        }
    }
}

/// Why a scene's work and traffic cannot be counted: the stage contradicts itself, or there is no such warp size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SceneError(String);

impl SceneReport {
    /// Counts a scene's work, and its traffic for each of the warp sizes.
    ///
    /// # Errors
    /// Why the stage cannot be walked.
    pub fn new(name: &str, stage: &RasterStage, lane_widths: &[u32]) -> Result<Self, SceneError> {
        let failed = |why: &dyn fmt::Display| SceneError(format!("scene {name}: {why}"));
        let raster = &stage.inputs.raster;
        let mut traffic = Vec::new();
        let mut work = None;
        for &lane_width in lane_widths {
            let steps = Contributions::new(stage, lane_width).map_err(|error| failed(&error))?;
            let counts = Counts::new(&steps);
            let rows = Setting::all(lane_width)
                .into_iter()
                .map(|setting| counts.traffic(setting).map(TrafficRow::from))
                .collect::<Result<_, _>>()
                .map_err(|error: ThresholdError| failed(&error))?;
            traffic.push((lane_width, rows));
            work.get_or_insert_with(|| Work::new(stage, &counts));
        }
        Ok(Self {
            name: name.to_owned(),
            gaussians: raster.len(),
            size: [raster.width, raster.height],
            work: work.ok_or_else(|| failed(&"no warp size to count for"))?,
            traffic,
            times: Vec::new(),
        })
    }
}
