//! Options of `sweep`.

use std::path::{Path, PathBuf};

use clap::Args;
use splatcheck_gpu::Reduction;
use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;

use super::scenes::{self, Scene};
use crate::cli::case::read_splats;
use crate::cli::contender::named_or_one;
use crate::cli::exit::CliError;
use crate::cli::options::{ConventionName, SceneArgs};
use crate::cli::paths;
use crate::cli::scene::{Said, scene_cases};
use crate::cli::sight::is_seen;
use crate::cli::traffic::options::check_price;
use crate::cli::train::options::{reductions, within};
use crate::sweep::plot;
use splatcheck_judge::engines::{Discovery, Found};
use splatcheck_judge::scatter_step::check_lane_width;
use splatcheck_judge::traffic::cost::PRICE;
use splatcheck_workloads::splat::files::corpus::EXTENSIONS;

/// The word that means no engine.
const NONE: &str = "none";
/// Most timed runs of a setting.
const MOST_REPEATS: usize = 1000;

/// Options of `sweep`, as typed.
#[derive(Clone, Debug, Args)]
pub struct SweepArgs {
    /// A case (.safetensors or .toml) [default: three generated scenes, and some of the corpus]
    #[arg(value_name = "SCENE", conflicts_with = "ply")]
    pub case: Option<PathBuf>,
    /// A trained scene instead.
    #[command(flatten)]
    pub scene: SceneArgs,
    /// Judge and time on this engine, by its id or its family ('lavapipe'), or 'none' to count only;
    /// repeatable [default: a GPU, or else the first engine]
    #[arg(long, value_name = "ID")]
    pub engine: Vec<String>,
    /// Sweep this reduction, and atomic; repeatable [default: all]
    #[arg(long, value_name = "NAME", value_parser = |name: &str| name.parse::<Reduction>())]
    pub reduction: Vec<Reduction>,
    /// Run every threshold, not only 0, 1, 2, W/4, W/2, W-1, W and W+1 of W lanes
    #[arg(long)]
    pub full: bool,
    /// Timed runs of a setting, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 11)]
    pub repeats: usize,
    /// Count for warps of this many lanes too, as for a GPU that this machine does not have
    #[arg(long, value_name = "W", default_value_t = 32)]
    pub lane_width: u32,
    /// What a warp's shuffle of one value costs in the model, in atomic operations of one lane
    #[arg(long, value_name = "P", default_value_t = PRICE, allow_negative_numbers = true)]
    pub price: f64,
    /// Convention of a trained scene
    #[arg(long, value_name = "NAME", default_value = "inria", requires = "ply")]
    pub convention: ConventionName,
    /// Write every setting
    #[arg(long, value_name = "FILE.json")]
    pub json: Option<PathBuf>,
    /// Write every setting, a line each
    #[arg(long, value_name = "FILE.csv")]
    pub csv: Option<PathBuf>,
    /// Draw time and error / bound by threshold
    #[arg(short = 'o', long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Print the table of every scene, also of many
    #[arg(short, long)]
    pub verbose: bool,
}

/// A checked `sweep`.
#[derive(Debug)]
pub struct SweepPlan {
    pub(super) scenes: Vec<Scene>,
    /// What a person should know of a trained scene.
    pub(super) said: Said,
    pub(super) engines: Vec<Found>,
    /// Whether engines were asked for and none is here.
    pub(super) no_engine: bool,
    pub(super) reductions: Vec<Reduction>,
    pub(super) full: bool,
    pub(super) repeats: u32,
    pub(super) lane_width: u32,
    pub(super) price: f64,
    pub(super) json: Option<PathBuf>,
    pub(super) csv: Option<PathBuf>,
    pub(super) plot: Option<PathBuf>,
    pub(super) verbose: bool,
}

impl SweepPlan {
    /// How many sweeps there will be: one for each scene and engine, and one for the warp size that no
    /// engine has.
    pub(super) fn sweeps(&self) -> usize {
        self.scenes.len() * (self.engines.len() + usize::from(self.counts_apart()))
    }

    /// Whether the warp size is none of an engine's.
    pub(super) fn counts_apart(&self) -> bool {
        self.engines.iter().all(|found| found.info.lane_width != self.lane_width)
    }
}

impl SweepArgs {
    /// Whether no engine is asked for.
    #[must_use]
    pub fn counts_alone(&self) -> bool {
        !self.engine.is_empty() && self.engine.iter().all(|name| name == NONE)
    }

    /// Checks every option and reads the scenes.
    ///
    /// # Errors
    /// The first that cannot be followed.
    pub fn resolve(self, discovery: &Discovery) -> Result<SweepPlan, CliError> {
        within("--repeats", self.repeats, MOST_REPEATS)?;
        check_price(self.price)?;
        let lane_width = check_lane_width(self.lane_width)
            .map_err(|error| CliError::caused("--lane-width", error))?;
        let all: Vec<_> = RASTERIZE_BACKWARD.reductions().collect();
        let mut wanted = reductions(&self.reduction, &all)?;
        if !wanted.contains(&Reduction::BASELINE) {
            wanted.insert(0, Reduction::BASELINE);
        }
        let names: Vec<_> = self.engine.iter().filter(|name| *name != NONE).cloned().collect();
        let engines = match self.counts_alone() {
            true => Vec::new(),
            false => named_or_one(&names, discovery)?,
        };
        let file = |option, file: Option<&PathBuf>, extension| {
            file.map(|file| paths::writable_file(option, file, extension)).transpose()
        };
        let json = file("--json", self.json.as_ref(), "json")?;
        let csv = file("--csv", self.csv.as_ref(), "csv")?;
        let svg = file("--plot", self.plot.as_ref(), "svg")?;
        let (scenes, said) = self.scenes()?;
        let plan = SweepPlan {
            scenes,
            said,
            no_engine: engines.is_empty() && !self.counts_alone(),
            engines,
            reductions: wanted,
            full: self.full,
            repeats: u32::try_from(self.repeats).map_err(CliError::of)?,
            lane_width,
            price: self.price,
            json,
            csv,
            plot: svg,
            verbose: self.verbose,
        };
        if plan.plot.is_some() && plan.sweeps() > plot::MOST {
            return Err(CliError::new(format!(
                "--plot: {} scenes and engines, at most {} are drawn: choose a camera with --camera or an \
                 engine with --engine",
                plan.sweeps(),
                plot::MOST
            )));
        }
        Ok(plan)
    }

    /// The scenes, and what a person should know of them.
    fn scenes(&self) -> Result<(Vec<Scene>, Said), CliError> {
        if let Some(scene) = self.scene.resolve()? {
            let scene = scene_cases(&scene, &self.convention.convention())?;
            return Ok((scenes::of_cases(scene.cases)?, scene.said));
        }
        let Some(file) = &self.case else { return Ok((scenes::always_there()?, Said::default())) };
        is_a_case(file)?;
        let case = read_splats(&paths::readable_file("", file)?, None)?;
        is_seen(&case)?;
        Ok((scenes::of_cases(vec![case])?, Said::default()))
    }
}

/// That a file has the name of a case; a trained scene is taken in another way.
fn is_a_case(file: &Path) -> Result<(), CliError> {
    if file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ply")) {
        let file = file.display();
        return Err(CliError::new(format!(
            "{file}: a trained scene needs its cameras: --ply {file} --cameras FILE"
        )));
    }
    paths::expect_extension("", file, &EXTENSIONS)
}
