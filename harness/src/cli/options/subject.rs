//! What `check` and `self-check` judge on.

use std::path::{Path, PathBuf};

use super::scene::ScenePlan;

/// What the kernels are judged on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A corpus and random scenes.
    Campaign {
        /// Folder of named scenes.
        corpus: PathBuf,
        /// Number of random scenes.
        cases: u32,
        /// Their seed.
        seed: u64,
    },
    /// A trained scene.
    Scene(ScenePlan),
    /// One case in a file.
    Case(PathBuf),
}

impl Subject {
    /// Seed of the cases that are drawn, where some may be.
    pub(in crate::cli) fn seed(&self) -> Option<u64> {
        match self {
            Self::Campaign { seed, .. } => Some(*seed),
            Self::Scene(_) | Self::Case(_) => None,
        }
    }

    /// The case or the folder of cases that is read.
    pub(in crate::cli) fn reads(&self) -> Option<&Path> {
        match self {
            Self::Campaign { corpus: read, .. } | Self::Case(read) => Some(read),
            Self::Scene(_) => None,
        }
    }
}
