//! `splatcheck render`: the oracle's image of a trained scene, so that a person can see that it is
//! right.

use std::io::Write;

use super::args::RenderPlan;
use super::exit::{CliError, Outcome};
use super::scene::scene_case;
use super::sight;
use crate::workloads::splat::files::image;
use splatcheck_reference::splat::rasterize::rasterize;
use splatcheck_reference::splat::render::project_scene;

/// Carries out the plan: the first chosen camera's image, in f64.
///
/// # Errors
/// See [`CliError`].
pub fn run(plan: &RenderPlan, out: &mut dyn Write) -> Result<Outcome, CliError> {
    let cases = scene_case(&plan.scene, &plan.convention)?;
    let Some(case) = cases.first() else { return Err(CliError::new("the file has no camera")) };
    if let Some(why) = sight::blind(case, 0) {
        return Err(CliError::new(format!("{}: the image would show nothing: {why}", case.name)));
    }
    let scene = case.scene.map(f64::from);
    let projected = project_scene(&scene, 0, &plan.convention)
        .map_err(|error| CliError::caused(format!("cannot render {}", case.name), error))?;
    let raster = rasterize::<f64>(&projected.view(&scene, 0, &plan.convention));
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
    Ok(Outcome::Agree)
}
