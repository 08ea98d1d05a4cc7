//! The stages that are judged, and what goes into them.
//!
//! A device's stage gets bit for bit the inputs that the oracle's stage gets, so the bounds cover
//! that stage's own arithmetic only and stay tight. What lies before a stage is computed by the
//! oracle's f32 instance: projection and binning before the rasterization, the forward image's
//! transmittance and last contributors before its backward stage, the rasterization's gradients
//! before the projection's backward stage.

mod project;
mod raster;

pub use project::ProjectStage;
pub use raster::Stage;

use serde::{Deserialize, Serialize};
use splatcheck_gpu::{BackwardConfig, Reduction};
use std::fmt;
use std::str::FromStr;

/// A judged stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageName {
    /// The projection by all cameras, spherical harmonics included.
    Project,
    /// The image of one camera.
    Rasterize,
    /// The gradients of what is rasterized, for one camera.
    RasterizeBackward,
    /// The gradients of Gaussians and cameras, for all cameras.
    ProjectBackward,
}

impl StageName {
    /// Every stage, in the order of reports: that of a training step.
    pub const ALL: [Self; 4] =
        [Self::Project, Self::Rasterize, Self::RasterizeBackward, Self::ProjectBackward];

    /// The name in reports and files, which is also the kernels' name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Rasterize => "rasterize",
            Self::RasterizeBackward => "rasterize_backward",
            Self::ProjectBackward => "project_backward",
        }
    }

    /// Whether a run of the stage takes all cameras of a case at once.
    #[must_use]
    pub fn takes_all_cameras(self) -> bool {
        matches!(self, Self::Project | Self::ProjectBackward)
    }

    /// Those of `settings` that the stage has kernels for; one run without a setting where nothing
    /// is reduced.
    #[must_use]
    pub fn settings(self, settings: &[BackwardConfig]) -> Vec<Option<BackwardConfig>> {
        let of = |reductions: &[Reduction]| {
            let some = settings.iter().filter(|s| reductions.contains(&s.reduction));
            some.copied().map(Some).collect()
        };
        match self {
            Self::Project | Self::Rasterize => vec![None],
            Self::RasterizeBackward => of(&Reduction::ALL),
            Self::ProjectBackward => of(&Reduction::OF_PROJECT_BACKWARD),
        }
    }
}

impl fmt::Display for StageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for StageName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|stage| stage.name() == name).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|stage| stage.name()).collect();
            format!("unknown stage '{name}': expected one of {}", known.join(", "))
        })
    }
}
