//! Options of `train`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_gpu::{Reduction, Setting};
use splatcheck_reference::splat::Convention;

use crate::cli::case::read_splats;
use crate::cli::contender::named_or_one;
use crate::cli::exit::CliError;
use crate::cli::options::SceneArgs;
use crate::cli::paths;
use crate::cli::scene::{Said, SceneCases, scene_cases};
use crate::cli::sight::is_seen;
use splatcheck_judge::engines::{Discovery, Found};
use splatcheck_workloads::train::loss::Loss;
use splatcheck_workloads::train::picture::Picture;
use splatcheck_workloads::train::target::Target;

/// Most Gaussians: each looks for its neighbours among all at the start.
const MOST_GAUSSIANS: usize = 20_000;
/// Most steps.
const MOST_STEPS: usize = 100_000;
/// Longest side of an image, pixels.
const MOST_PIXELS: u32 = 2048;
/// The word that means no engine beside the oracle.
const ORACLE: &str = "oracle";
/// What is trained with where no reduction is named: the baseline and DISTWAR's faster one.
const DEFAULT: [Reduction; 2] = [Reduction::Atomic, Reduction::SwB];
/// Without a threshold: one lane in so many, 8 of 32 as DISTWAR's authors have it.
const SHARE_OF_LANES: u32 = 4;

/// What is minimized, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LossName {
    /// The mean of absolute differences
    L1,
    /// The mean of squared differences
    L2,
}

/// Options of `train`, as typed.
#[derive(Clone, Debug, Args)]
pub struct TrainArgs {
    /// The picture to fit (.png), or a case whose images are rendered by the oracle (.safetensors, .toml)
    #[arg(value_name = "TARGET", required_unless_present = "ply", conflicts_with = "ply")]
    pub target: Option<PathBuf>,
    /// A trained scene whose images are rendered by the oracle.
    #[command(flatten)]
    pub scene: SceneArgs,
    /// Gaussians to fit
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub gaussians: usize,
    /// Steps of the optimizer
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub steps: usize,
    /// The longer side of the images, pixels; smaller pictures stay as they are
    #[arg(long, value_name = "PIXELS", default_value_t = 128)]
    pub size: u32,
    /// Train on this engine, by its id or its family ('lavapipe'), or 'oracle' for none; repeatable
    /// [default: a GPU, or else the first engine]
    #[arg(long, value_name = "ID")]
    pub engine: Vec<String>,
    /// Train with this reduction of the backward rasterization; repeatable [default: atomic and sw-b]
    #[arg(long, value_name = "NAME", value_parser = |name: &str| name.parse::<Reduction>())]
    pub reduction: Vec<Reduction>,
    /// The balance threshold, 0 to warp size + 1 [default: a quarter of the warp size]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub threshold: Option<u32>,
    /// What is minimized
    #[arg(long, value_name = "NAME", default_value = "l2")]
    pub loss: LossName,
    /// Seed of the Gaussians at the start
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Write every run's PSNR by step
    #[arg(long, value_name = "FILE.json")]
    pub json: Option<PathBuf>,
    /// Draw every run's PSNR by step
    #[arg(short = 'o', long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
}

/// A checked `train`.
#[derive(Clone, Debug)]
pub struct TrainPlan {
    pub(super) name: String,
    pub(super) target: Target,
    /// What a person should know of a trained scene.
    pub(super) said: Said,
    pub(super) gaussians: usize,
    pub(super) steps: usize,
    pub(super) engines: Vec<Found>,
    /// Whether no engine was asked for.
    pub(super) oracle_alone: bool,
    pub(super) reductions: Vec<Reduction>,
    pub(super) threshold: Option<u32>,
    pub(super) loss: Loss,
    pub(super) seed: u64,
    pub(super) json: Option<PathBuf>,
    pub(super) plot: Option<PathBuf>,
}

impl TrainPlan {
    /// The settings of an engine, one for each reduction.
    pub(super) fn settings(&self, found: &Found) -> Vec<Setting> {
        let lane_width = found.info.lane_width;
        let of = |&reduction: &Reduction| {
            let given = self.threshold.unwrap_or(lane_width / SHARE_OF_LANES);
            Setting { reduction, threshold: if reduction.has_threshold() { given } else { 0 } }
        };
        self.reductions.iter().map(of).collect()
    }
}

impl TrainArgs {
    /// Whether no engine is asked for.
    #[must_use]
    pub fn oracle_alone(&self) -> bool {
        !self.engine.is_empty() && self.engine.iter().all(|name| name == ORACLE)
    }

    /// Checks every option and reads the target.
    ///
    /// # Errors
    /// The first that cannot be followed.
    pub fn resolve(self, discovery: &Discovery) -> Result<TrainPlan, CliError> {
        within("--gaussians", self.gaussians, MOST_GAUSSIANS)?;
        within("--steps", self.steps, MOST_STEPS)?;
        within("--size", self.size as usize, MOST_PIXELS as usize)?;
        let reductions = reductions(&self.reduction, &DEFAULT)?;
        let oracle_alone = self.oracle_alone();
        let names: Vec<_> = self.engine.iter().filter(|name| *name != ORACLE).cloned().collect();
        let engines = match oracle_alone {
            true => Vec::new(),
            false => named_or_one(&names, discovery)?,
        };
        let json = self.json.as_deref().map(|file| paths::writable_file("--json", file, "json"));
        let plot = self.plot.as_deref().map(|file| paths::writable_file("--plot", file, "svg"));
        let (json, plot) = (json.transpose()?, plot.transpose()?);
        let (name, target, said) = self.read()?;
        let plan = TrainPlan {
            name,
            target,
            said,
            gaussians: self.gaussians,
            steps: self.steps,
            engines,
            oracle_alone,
            reductions,
            threshold: self.threshold,
            loss: match self.loss {
                LossName::L1 => Loss::L1,
                LossName::L2 => Loss::L2,
            },
            seed: self.seed,
            json,
            plot,
        };
        for found in &plan.engines {
            for setting in plan.settings(found) {
                setting.check(found.info.lane_width).map_err(|error| {
                    CliError::new(format!("--threshold on engine {}: {error}", found.spec.id()))
                })?;
            }
        }
        Ok(plan)
    }

    /// What the target is called, the target, and what a person should know of it.
    fn read(&self) -> Result<(String, Target, Said), CliError> {
        let named =
            |file: &Path| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let not = |file: &Path, error| CliError::caused(file.display().to_string(), error);
        if let Some(scene) = self.scene.resolve()? {
            let SceneCases { cases, said } = scene_cases(&scene, &Convention::inria())?;
            let scenes: Vec<_> = cases.iter().map(|case| &case.scene).collect();
            let ply = &scene.ply;
            let target = Target::of_scenes(&scenes, cases[0].convention, self.size);
            return Ok((named(ply), target.map_err(|error| not(ply, error))?, said));
        }
        let Some(file) = &self.target else {
            return Err(CliError::new("TARGET: a picture (.png) or a case is needed"));
        };
        paths::expect_extension("", file, &["png", "safetensors", "toml"])?;
        let file = paths::readable_file("", file)?;
        let extension = file.extension().unwrap_or_default();
        let target = if extension.eq_ignore_ascii_case("png") {
            let picture = Picture::read(&file)
                .map_err(|error| CliError::caused(format!("TARGET {}", file.display()), error))?;
            Target::of_picture(picture.at_most(self.size), Convention::inria())
        } else {
            let case = read_splats(&file, None)?;
            is_seen(&case)?;
            let target = Target::of_scenes(&[&case.scene], case.convention, self.size);
            target.map_err(|error| not(&file, error))?
        };
        Ok((named(&file), target, Said::default()))
    }
}

/// That a number is between 1 and the most.
pub(in crate::cli) fn within(option: &str, value: usize, most: usize) -> Result<(), CliError> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    Err(CliError::new(format!("{option} {value}: expected 1 to {most}")))
}

/// Those that were named, or the default, in the order of reports.
pub(in crate::cli) fn reductions(
    named: &[Reduction],
    default: &[Reduction],
) -> Result<Vec<Reduction>, CliError> {
    let of_stage = RASTERIZE_BACKWARD.reductions().collect::<Vec<_>>();
    if let Some(other) = named.iter().find(|reduction| !of_stage.contains(reduction)) {
        let names: Vec<_> = of_stage.iter().map(|reduction| reduction.name()).collect();
        return Err(CliError::new(format!(
            "--reduction {other}: rasterize_backward has no such kernel: expected one of {}",
            names.join(", ")
        )));
    }
    let wanted = if named.is_empty() { default } else { named };
    Ok(of_stage.into_iter().filter(|reduction| wanted.contains(reduction)).collect())
}
