//! The parts of the way from a scene to its gradients that a program may do.

use super::formulated::stage_of;
use splatcheck_gpu::Stage;
use splatcheck_gpu::stages::splat::{self, PROJECT, PROJECT_BACKWARD, RENDER_BACKWARD};
use splatcheck_reference::splat::Formulation;
use std::fmt;
use std::str::FromStr;

/// The part of the way that a program does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The gradients of what is rasterized, for one camera.
    #[default]
    Raster,
    /// The projection of all Gaussians by all cameras.
    Project,
    /// The gradients of Gaussians and cameras, from those of what is rasterized.
    ProjectBackward,
    /// Images and gradients of a scene.
    Full,
    /// A stage whose arrays are its ports as they are: of another workload, or harmonics by themselves.
    Of(Stage),
}

impl Level {
    /// The levels of splats.
    pub const ALL: [Self; 4] = [Self::Raster, Self::Project, Self::ProjectBackward, Self::Full];

    /// Its name on the command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Raster => "raster",
            Self::Project => "project",
            Self::ProjectBackward => "project-backward",
            Self::Full => "full",
            Self::Of(stage) => stage.spec().name,
        }
    }

    /// The workload that its cases are of.
    #[must_use]
    pub fn workload(self) -> &'static str {
        match self {
            Self::Raster | Self::Project | Self::ProjectBackward | Self::Full => splat::NAME,
            Self::Of(stage) => stage.spec().workload,
        }
    }

    /// All of them.
    fn all() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().chain(Self::others())
    }

    /// Those of stages whose arrays are their ports as they are.
    pub fn others() -> impl Iterator<Item = Self> {
        let others = Stage::all().filter(|stage| stage.workload != splat::NAME);
        others.chain(Stage::OF_USERS).map(Self::Of)
    }

    /// The names of all.
    fn names() -> String {
        Self::all().map(Self::name).collect::<Vec<_>>().join(", ")
    }

    /// The level whose programs stand in for a stage; `None` for one that no program does.
    #[must_use]
    pub fn of(stage: Stage) -> Option<Self> {
        let does = |level: &Self| match level {
            Self::Raster => Formulation::all().any(|formulation| stage_of(formulation) == stage),
            Self::Project => stage == PROJECT,
            Self::ProjectBackward => stage == PROJECT_BACKWARD,
            Self::Full => stage == RENDER_BACKWARD,
            Self::Of(own) => stage == *own,
        };
        Self::all().find(does)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// There is no level of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no level '{0}': expected one of {names}", names = Level::names())]
pub struct NoLevel(String);

impl FromStr for Level {
    type Err = NoLevel;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::all().find(|level| level.name() == name);
        found.ok_or_else(|| NoLevel(name.to_owned()))
    }
}
