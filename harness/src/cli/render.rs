//! `splatcheck render`: the oracle's image of a trained scene, so that a person can see that it is
//! right.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::exit::{CliError, Outcome};
use super::options::{ConventionName, ReadingArgs, ScenePlan, resolve_scene};
use super::paths;
use super::scene::scene_case;
use super::sight;
use splatcheck_reference::splat::convention::Convention;
use splatcheck_workloads::splat::computed::Seen;
use splatcheck_workloads::splat::files::image;

/// Options of `render`, as typed.
#[derive(Clone, Debug, Args)]
pub struct RenderArgs {
    /// A trained scene
    #[arg(long, value_name = "FILE")]
    pub ply: PathBuf,
    /// Its cameras: JSON of splatcheck, 3DGS or nerfstudio, or a folder of COLMAP
    #[arg(long, value_name = "FILE")]
    pub cameras: PathBuf,
    /// The camera to use [default: the first]
    #[arg(long, value_name = "NAME")]
    pub camera: Option<String>,
    /// How the scene is read.
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// The image to write (.png)
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Convention of the scene
    #[arg(long, value_name = "NAME", default_value = "inria")]
    pub convention: ConventionName,
}

/// A checked `render`.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderPlan {
    /// What to render.
    pub scene: ScenePlan,
    /// A .png in a folder that can be written to.
    pub output: PathBuf,
    /// The convention of the scene.
    pub convention: Convention,
}

impl RenderArgs {
    /// Checks every option.
    ///
    /// # Errors
    /// The first option that cannot be followed.
    pub fn resolve(self) -> Result<RenderPlan, CliError> {
        Ok(RenderPlan {
            scene: resolve_scene(&self.ply, &self.cameras, self.camera, &self.reading)?,
            output: paths::writable_file("--output", &self.output, "png")?,
            convention: self.convention.convention(),
        })
    }
}

/// Carries out the plan: the first chosen camera's image, in f64.
///
/// # Errors
/// See [`CliError`].
pub fn run(plan: &RenderPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let (case, notes) = scene_case(&plan.scene, &plan.convention)?;
    if let Some(why) = sight::blind(&case, 0) {
        return Err(CliError::new(format!("{}: the image would show nothing: {why}", case.name)));
    }
    let (scene, cannot) = (&case.scene, format!("cannot render {}", case.name));
    let seen = Seen::new(&case, 0).map_err(|error| CliError::caused(cannot, error))?;
    let (raster, projected) = (seen.image(), &seen.projected);
    image::write_png(&plan.output, scene.width, scene.height, &raster.render_colors)
        .map_err(|error| CliError::caused("cannot write the image", error))?;
    writeln!(
        out,
        "{}: {}x{} pixels, {} of {} Gaussians in front of the camera, {} (tile, Gaussian) pairs",
        plan.output.display(),
        scene.width,
        scene.height,
        projected.visible(),
        scene.gaussians.len(),
        projected.lists.flatten_ids.len()
    )?;
    notes.iter().try_for_each(|note| writeln!(out, "{note}"))?;
    Ok(Outcome::Agree)
}
