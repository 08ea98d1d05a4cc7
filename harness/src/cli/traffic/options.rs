//! Options of `traffic`.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::exit::CliError;
use crate::cli::options::{ConventionName, SceneArgs, ScenePlan};
use crate::cli::paths;
use splatcheck_judge::io::read;
use splatcheck_judge::scatter_step::check_lane_width;
use splatcheck_judge::traffic::cost::PRICE;

/// Most points: a level's entries are counted in 32 bits, 16 corners a point.
const MOST_POINTS: usize = 1 << 24;

/// Options of `traffic`, as typed.
#[derive(Clone, Debug, Args)]
pub struct TrafficArgs {
    /// The scene whose splats are counted, and through which rays go to the grid's points.
    #[command(flatten)]
    pub scene: SceneArgs,
    /// Count a grid encoding of this picture's pixels instead (.png)
    #[arg(long, value_name = "FILE", conflicts_with = "ply")]
    pub image: Option<PathBuf>,
    /// Points of the grid encoding
    #[arg(long, value_name = "N", default_value_t = 131_072)]
    pub points: usize,
    /// Lanes of a warp
    #[arg(long, value_name = "W", default_value_t = 32)]
    pub lane_width: u32,
    /// What a warp's shuffle of one value costs, in atomic operations of one lane: decides which threshold
    /// is best. The default explains the times of five scenes on an H100
    #[arg(long, value_name = "P", default_value_t = PRICE, allow_negative_numbers = true)]
    pub price: f64,
    /// Convention of the scene
    #[arg(long, value_name = "NAME", default_value = "inria")]
    pub convention: ConventionName,
    /// Write the counts of every setting
    #[arg(long, value_name = "FILE.json")]
    pub json: Option<PathBuf>,
}

/// What is counted.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Source {
    Scene(ScenePlan),
    /// Width and height of a picture.
    Image([u32; 2]),
    Uniform,
}

/// A checked `traffic`.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficPlan {
    pub(super) source: Source,
    pub(super) points: usize,
    pub(super) lane_width: u32,
    pub(super) price: f64,
    pub(super) convention: ConventionName,
    pub(super) json: Option<PathBuf>,
}

impl TrafficArgs {
    /// Checks every option.
    ///
    /// # Errors
    /// The first that cannot be followed.
    pub fn resolve(self) -> Result<TrafficPlan, CliError> {
        let source = match (self.scene.resolve()?, &self.image) {
            (Some(scene), _) => Source::Scene(scene),
            (None, Some(file)) => Source::Image(size_of(file)?),
            (None, None) => Source::Uniform,
        };
        if !(1..=MOST_POINTS).contains(&self.points) {
            let what = format!("--points {}: expected 1 to {MOST_POINTS}", self.points);
            return Err(CliError::new(what));
        }
        check_price(self.price)?;
        let lane_width = check_lane_width(self.lane_width)
            .map_err(|error| CliError::caused("--lane-width", error))?;
        let json = self.json.map(|file| paths::writable_file("--json", &file, "json"));
        Ok(TrafficPlan {
            source,
            points: self.points,
            lane_width,
            price: self.price,
            convention: self.convention,
            json: json.transpose()?,
        })
    }
}

/// That a price is one.
pub(in crate::cli) fn check_price(price: f64) -> Result<(), CliError> {
    if price.is_finite() && price >= 0.0 {
        return Ok(());
    }
    Err(CliError::new(format!("--price {price}: expected a finite number from 0 on")))
}

/// Width and height of a picture.
fn size_of(file: &Path) -> Result<[u32; 2], CliError> {
    let cannot = |error: &dyn std::fmt::Display| {
        CliError::new(format!("--image {}: cannot be read as PNG: {error}", file.display()))
    };
    let opened = read::open(file).map_err(|e| CliError::new(format!("--image {e}")))?;
    let reader = png::Decoder::new(BufReader::new(opened)).read_info().map_err(|e| cannot(&e))?;
    let info = reader.info();
    Ok([info.width, info.height])
}
