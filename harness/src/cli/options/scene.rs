//! The options of a trained scene, and their check.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::exit::CliError;
use crate::cli::paths;

/// A trained scene with its cameras, as typed.
#[derive(Clone, Debug, Default, Args)]
pub struct SceneArgs {
    /// A trained scene
    #[arg(long, value_name = "FILE", requires = "cameras")]
    pub ply: Option<PathBuf>,
    /// Its cameras (JSON)
    #[arg(long, value_name = "FILE", requires = "ply")]
    pub cameras: Option<PathBuf>,
    /// The camera to use
    #[arg(long, value_name = "NAME", requires = "ply")]
    pub camera: Option<String>,
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
}

/// Checks that the files can be opened.
///
/// # Errors
/// The first that cannot.
pub(in crate::cli) fn resolve_scene(
    ply: &Path,
    cameras: &Path,
    camera: Option<String>,
) -> Result<ScenePlan, CliError> {
    Ok(ScenePlan {
        ply: paths::readable_file("--ply", ply)?,
        cameras: paths::readable_file("--cameras", cameras)?,
        camera,
    })
}
