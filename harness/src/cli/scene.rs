//! A trained scene with its cameras as cases, one camera each.

use super::exit::CliError;
use super::options::ScenePlan;
use super::sight;
use rayon::prelude::*;
use splatcheck_judge::io::{Problem, memory};
use splatcheck_judge::words::{count, shown};
use splatcheck_reference::splat::convention::Convention;
use splatcheck_reference::splat::{Gaussians, Scene};
use splatcheck_workloads::splat::case::Case;
use splatcheck_workloads::splat::files::cameras::{self, NamedCamera};
use splatcheck_workloads::splat::files::convention_with;
use splatcheck_workloads::splat::files::loss::loss_gradient;
use splatcheck_workloads::splat::files::ply;

/// Seed of the loss gradient of trained scenes.
const LOSS_SEED: u64 = 1;

/// Characters of a camera's name in the name of its case, which stands in every line of a report.
const LONGEST_NAME: usize = 200;

/// Cameras that see nothing which a message names.
const NAMED: usize = 3;

/// The cases of a trained scene.
#[derive(Debug)]
pub struct SceneCases {
    /// A case for every camera that sees something; at least one.
    pub cases: Vec<Case>,
    /// What a person should know of the files.
    pub said: Said,
}

/// What a person should know of a trained scene's files.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// How they were read, each in a sentence.
    pub notes: Vec<String>,
    /// Cameras that see nothing, each with what is the matter: they are not exercised.
    pub blind: Vec<String>,
}

impl Said {
    /// All of it in lines.
    pub fn lines(&self) -> impl Iterator<Item = String> + '_ {
        let blind = self.blind.iter().map(|why| format!("NOT EXERCISED: {why}"));
        self.notes.iter().cloned().chain(blind)
    }
}

/// Reads a trained scene: a case for every camera that sees something of it, or for the one that was named.
///
/// # Errors
/// As [`scene_case`], and that no camera sees a Gaussian.
pub fn scene_cases(plan: &ScenePlan, convention: &Convention) -> Result<SceneCases, CliError> {
    let (mut cases, mut blind) = (Vec::new(), Vec::new());
    let (all, notes) = read_scene(plan, convention, usize::MAX)?;
    let seen: Vec<_> = all.par_iter().map(|case| sight::blind(case, 0)).collect();
    for (case, why) in all.into_iter().zip(seen) {
        match why {
            None => cases.push(case),
            Some(why) => blind.push(format!("{}: {why}", case.name)),
        }
    }
    if !cases.is_empty() {
        return Ok(SceneCases { cases, said: Said { notes, blind } });
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

/// Reads a trained scene under its first camera, or the one that was named, whatever it sees; with what a
/// person should know.
///
/// # Errors
/// What cannot be read, and a file without a camera.
pub fn scene_case(
    plan: &ScenePlan,
    convention: &Convention,
) -> Result<(Case, Vec<String>), CliError> {
    let (mut cases, notes) = read_scene(plan, convention, 1)?;
    let first = cases.pop().ok_or_else(|| CliError::new("the file has no camera"))?;
    Ok((first, notes))
}

/// Bytes of a pixel in a case: the loss gradient of three colours and of alpha, in f32.
const KEPT: u64 = 4 * 4;
/// Bytes of a pixel while its camera is worked on: the same in f64, and what is rasterized.
const WORKED_ON: u64 = 64;

/// That there is memory for these cameras: each is a case with the scene's Gaussians and an image of its own,
/// and the largest is worked on.
fn expect_memory(cameras: &[NamedCamera], gaussians: &Gaussians<f32>) -> Result<(), Problem> {
    let pixels = |camera: &NamedCamera| u64::from(camera.width) * u64::from(camera.height);
    let Some(largest) = cameras.iter().max_by_key(|camera| pixels(camera)) else { return Ok(()) };
    let of_gaussians = 4 * (11 * gaussians.len() + gaussians.colors.values().len()) as u64;
    let kept: u64 = cameras.iter().map(|camera| KEPT * pixels(camera) + of_gaussians).sum();
    let size = format!("of up to {}x{} pixels", largest.width, largest.height);
    let what = format!("{} {size}", count(cameras.len() as u64, "camera"));
    memory::expect(what, kept + WORKED_ON * pixels(largest))
}

/// Reads a trained scene: one case for each of the first `most` cameras, or for the one that was named,
/// whatever it sees; with what a person should know. The background is black and the loss gradient a fixed
/// random one of magnitude 1.
///
/// # Errors
/// What is wrong with the files, a camera that is not there, or more of them than there is memory for.
fn read_scene(
    plan: &ScenePlan,
    convention: &Convention,
    most: usize,
) -> Result<(Vec<Case>, Vec<String>), CliError> {
    let caused = |error| CliError::caused("cannot read the scene", error);
    let trained = ply::read_ply(&plan.ply, plan.invalid).map_err(caused)?;
    let convention = convention_with(&trained.convention(convention), &plan.set)
        .map_err(|problem| CliError::caused("--set", problem))?;
    let notes =
        trained.notes.iter().map(|note| format!("{}: {note}", plan.ply.display())).collect();
    let gaussians = trained.gaussians;
    let all = cameras::read_cameras(&plan.cameras).map_err(caused)?;
    let names: Vec<String> = all.iter().map(|camera| camera.name.clone()).collect();
    let chosen: Vec<_> = all
        .into_iter()
        .filter(|camera| plan.camera.as_ref().is_none_or(|name| *name == camera.name))
        .take(most)
        .collect();
    if chosen.is_empty() {
        return Err(CliError::new(format!(
            "{}: no camera is named '{}': there are {}",
            plan.cameras.display(),
            plan.camera.as_deref().unwrap_or_default(),
            names.join(", ")
        )));
    }
    expect_memory(&chosen, &gaussians).map_err(|problem| caused(problem.in_file(&plan.cameras)))?;
    let stem = plan.ply.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let cases = chosen
        .into_iter()
        .map(|camera| {
            let (v_render_colors, v_render_alphas) =
                loss_gradient(LOSS_SEED, camera.width, camera.height, 3, 1.0);
            Case {
                name: format!("{stem}-{}", shown(&camera.name, LONGEST_NAME)),
                id: None,
                purpose: "a trained scene".to_owned(),
                hazards: Vec::new(),
                convention,
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
        .collect();
    Ok((cases, notes))
}
