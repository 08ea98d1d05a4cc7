//! The options of a trained scene, and their check.

use std::path::{Path, PathBuf};

use clap::Args;
use splatcheck_reference::splat::convention::Convention;
use splatcheck_workloads::splat::files::convention_with;
use splatcheck_workloads::splat::files::ply::Invalid;

use crate::cli::exit::CliError;
use crate::cli::paths;

/// A trained scene with its cameras, as typed.
#[derive(Clone, Debug, Default, Args)]
pub struct SceneArgs {
    /// A trained scene
    #[arg(long, value_name = "FILE", requires = "cameras")]
    pub ply: Option<PathBuf>,
    /// Its cameras: JSON of splatcheck, 3DGS or nerfstudio, or a folder of COLMAP
    #[arg(long, value_name = "FILE", requires = "ply")]
    pub cameras: Option<PathBuf>,
    /// The camera to use
    #[arg(long, value_name = "NAME", requires = "ply")]
    pub camera: Option<String>,
    /// How the scene is read.
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// How a trained scene is read, as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct ReadingArgs {
    /// Leave out Gaussians without a rotation or with a number that is not finite
    #[arg(long, requires = "ply")]
    pub drop_invalid: bool,
    /// Change the scene's convention, such as antialiased=true
    #[arg(long, value_name = "FIELD=VALUE", value_parser = setting, requires = "ply")]
    pub set: Vec<(String, String)>,
}

/// A field and its value.
fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected FIELD=VALUE")?;
    let setting = (key.trim().to_owned(), value.trim().to_owned());
    match convention_with(&Convention::inria(), std::slice::from_ref(&setting)) {
        Ok(_) => Ok(setting),
        Err(problem) => Err(problem.to_string()),
    }
}

impl SceneArgs {
    /// Checks that the files can be opened; `None` where no scene is named.
    ///
    /// # Errors
    /// The first that cannot.
    pub fn resolve(&self) -> Result<Option<ScenePlan>, CliError> {
        let Some((ply, cameras)) = self.ply.as_ref().zip(self.cameras.as_ref()) else {
            return Ok(None);
        };
        resolve_scene(ply, cameras, self.camera.clone(), &self.reading).map(Some)
    }
}

/// A trained scene with its cameras. The files can be opened; they have not been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenePlan {
    /// The trained scene.
    pub ply: PathBuf,
    /// Its cameras.
    pub cameras: PathBuf,
    /// One of them by name.
    pub camera: Option<String>,
    /// What becomes of Gaussians that no renderer defines.
    pub invalid: Invalid,
    /// Changes of the convention.
    pub set: Vec<(String, String)>,
}

/// Checks that the files can be opened.
///
/// # Errors
/// The first that cannot.
pub(in crate::cli) fn resolve_scene(
    ply: &Path,
    cameras: &Path,
    camera: Option<String>,
    reading: &ReadingArgs,
) -> Result<ScenePlan, CliError> {
    Ok(ScenePlan {
        ply: paths::readable_file("--ply", ply)?,
        cameras: match cameras.is_dir() {
            true => paths::readable_folder("--cameras", cameras)?,
            false => paths::readable_file("--cameras", cameras)?,
        },
        camera,
        invalid: if reading.drop_invalid { Invalid::Dropped } else { Invalid::Refused },
        set: reading.set.clone(),
    })
}
