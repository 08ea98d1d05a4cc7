//! The tables of stages, a file a workload.
//!
//! A reader finds the whole way of a stage from its row: the arrays that go in and come out, the
//! record of settings, the launch, the reductions, and the kernels' files.

pub mod grid;
mod per_key;
pub mod probe;
pub mod scatter;
pub mod splat;

pub use crate::stage::Stage;

use crate::stage::StageSpec;
use std::cmp::Ordering;
use std::str::FromStr;

/// The tables of all workloads, each in the order of a training step.
const WORKLOADS: [&[&StageSpec]; 3] = [&splat::STAGES, &scatter::STAGES, &grid::STAGES];

impl Stage {
    /// Every stage, in the order of reports.
    pub fn all() -> impl Iterator<Item = Self> {
        WORKLOADS.into_iter().flatten().copied().map(Self)
    }

    /// Stages that are judged and have no kernels of ours, and whose arrays are ports as they are: no engine is
    /// asked for them unless a user's kernel stands in for one.
    pub const OF_USERS: [Self; 2] =
        [splat::SPHERICAL_HARMONICS, splat::SPHERICAL_HARMONICS_BACKWARD];

    /// The same of programs alone.
    const OF_PROGRAMS: [Self; 1] = [splat::RENDER_BACKWARD];

    /// Its place in the order of reports.
    fn place(self) -> usize {
        Self::all().position(|stage| stage == self).unwrap_or(usize::MAX)
    }
}

impl Ord for Stage {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for Stage {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// There is no stage of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown stage '{name}': expected one of {known}")]
pub struct UnknownStage {
    name: String,
    known: String,
}

impl FromStr for Stage {
    type Err = UnknownStage;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let mut all = Self::all().chain(Self::OF_USERS).chain(Self::OF_PROGRAMS);
        all.find(|stage| stage.name == name).ok_or_else(|| {
            let known: Vec<_> = Self::all().map(|stage| stage.name).collect();
            UnknownStage { name: name.to_owned(), known: known.join(", ") }
        })
    }
}

impl From<Stage> for String {
    fn from(stage: Stage) -> Self {
        stage.name.to_owned()
    }
}

impl TryFrom<String> for Stage {
    type Error = UnknownStage;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        name.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_read_back() {
        let all = || Stage::all().chain(Stage::OF_USERS).chain(Stage::OF_PROGRAMS);
        let names: BTreeSet<_> = all().map(|stage| stage.name).collect();
        assert_eq!(names.len(), all().count(), "a stage is known by its name");
        for stage in all() {
            assert_eq!(stage.name.parse(), Ok(stage), "{stage}");
        }
        let error = "raster".parse::<Stage>().expect_err("there is none").to_string();
        assert!(error.starts_with("unknown stage 'raster': expected one of project,"), "{error}");
    }
}
