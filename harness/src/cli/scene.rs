//! A trained scene with its cameras as cases, one camera each.

use super::exit::CliError;
use super::options::ScenePlan;
use super::sight;
use rayon::prelude::*;
use splatcheck_reference::splat::Scene;
use splatcheck_reference::splat::convention::Convention;
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::files::loss::loss_gradient;
use splatcheck_workloads::splat::files::{cameras, ply};

/// Seed of the loss gradient of trained scenes.
const LOSS_SEED: u64 = 1;

/// Cameras that see nothing which a message names.
const NAMED: usize = 3;

/// The cases of a trained scene.
#[derive(Debug)]
pub struct SceneCases {
    /// A case for every camera that sees something; at least one.
    pub cases: Vec<Case>,
    /// The other cameras, each with what is the matter: they are not exercised.
    pub blind: Vec<String>,
}

impl SceneCases {
    /// The lines that say which cameras are left out.
    pub fn lines(&self) -> impl Iterator<Item = String> + '_ {
        self.blind.iter().map(|why| format!("NOT EXERCISED: {why}"))
    }
}

/// Reads a trained scene: a case for every camera that sees something of it, or for the one that was named.
///
/// # Errors
/// As [`scene_case`], and that no camera sees a Gaussian.
pub fn scene_cases(plan: &ScenePlan, convention: &Convention) -> Result<SceneCases, CliError> {
    let (mut cases, mut blind) = (Vec::new(), Vec::new());
    let all = scene_case(plan, convention)?;
    let seen: Vec<_> = all.par_iter().map(|case| sight::blind(case, 0)).collect();
    for (case, why) in all.into_iter().zip(seen) {
        match why {
            None => cases.push(case),
            Some(why) => blind.push(format!("{}: {why}", case.name)),
        }
    }
    if !cases.is_empty() {
        return Ok(SceneCases { cases, blind });
    }
    let count = blind.len();
    blind.truncate(NAMED);
    let more = if count > NAMED { format!("; and {} more", count - NAMED) } else { String::new() };
    Err(CliError::new(format!(
        "NOT EXERCISED: no camera of {} sees a Gaussian of {}: {}{more}",
        plan.cameras.display(),
        plan.ply.display(),
        blind.join("; ")
    )))
}

/// Reads a trained scene: one case for every camera, or for the one that was named, whatever it sees. The
/// background is black and the loss gradient a fixed random one of magnitude 1.
///
/// # Errors
/// What is wrong with the files, or a camera that is not there.
pub fn scene_case(plan: &ScenePlan, convention: &Convention) -> Result<Vec<Case>, CliError> {
    let caused = |error| CliError::caused("cannot read the scene", error);
    let gaussians = ply::read_ply(&plan.ply).map_err(caused)?;
    let all = cameras::read_cameras(&plan.cameras).map_err(caused)?;
    let names: Vec<String> = all.iter().map(|camera| camera.name.clone()).collect();
    let chosen: Vec<_> = all
        .into_iter()
        .filter(|camera| plan.camera.as_ref().is_none_or(|name| *name == camera.name))
        .collect();
    if chosen.is_empty() {
        return Err(CliError::new(format!(
            "{}: no camera is named '{}': there are {}",
            plan.cameras.display(),
            plan.camera.as_deref().unwrap_or_default(),
            names.join(", ")
        )));
    }
    let stem = plan.ply.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(chosen
        .into_iter()
        .map(|camera| {
            let (v_render_colors, v_render_alphas) =
                loss_gradient(LOSS_SEED, camera.width, camera.height, 3, 1.0);
            Case {
                name: format!("{stem}-{}", camera.name),
                id: None,
                purpose: "a trained scene".to_owned(),
                hazards: Vec::new(),
                convention: *convention,
                scene: Scene {
                    width: camera.width,
                    height: camera.height,
                    gaussians: gaussians.clone(),
                    cameras: vec![camera.camera],
                    backgrounds: vec![0.0; 3],
                    v_render_colors,
                    v_render_alphas,
                },
            }
        })
        .collect())
}
