//! A case as it is judged: its stages' inputs, and their bounds once they are needed.

use crate::workloads::splat::case::Case;
use crate::workloads::splat::expectation::{Arithmetic, Expectation, ProjectExpectation};
use crate::workloads::splat::stage::{ProjectStage, Stage, StageName};
use splatcheck_gpu::DeviceInfo;
use splatcheck_reference::splat::TooManyPairs;
use std::sync::OnceLock;

/// A case and camera with its stage inputs; bounds are computed once for each model in use.
#[derive(Debug)]
pub struct Item {
    /// The case.
    pub case: Case,
    /// Number of the camera.
    pub camera: usize,
    /// The rasterization's inputs.
    pub stage: Stage,
    /// The projection's, which belong to the case's first camera: they are those of all cameras.
    pub projection: Option<Projection>,
    bounds: [OnceLock<Expectation>; Arithmetic::COUNT],
}

/// The projection's part of an [`Item`].
#[derive(Debug)]
pub struct Projection {
    /// The stages' inputs.
    pub stage: ProjectStage,
    bounds: [OnceLock<ProjectExpectation>; Arithmetic::COUNT],
}

impl Item {
    /// Prepares the stages of a case.
    ///
    /// # Errors
    /// Says why the case cannot be rasterized.
    pub fn new(case: Case, camera: usize) -> Result<Self, String> {
        let failed = |error: TooManyPairs| format!("case {}: {error}", case.name);
        let stage = Stage::new(&case, camera).map_err(failed)?;
        let projection = (camera == 0).then(|| ProjectStage::new(&case)).transpose();
        let projection = projection.map_err(failed)?.map(Projection::new);
        Ok(Self { case, camera, stage, projection, bounds: Default::default() })
    }

    /// What a conforming kernel may return on a device of that kind.
    pub fn expectation(&self, info: &DeviceInfo) -> &Expectation {
        let arithmetic = Arithmetic::of(info);
        self.bounds[arithmetic as usize].get_or_init(|| Expectation::new(&self.stage, arithmetic))
    }

    /// Whether a stage is run for this camera of the case.
    #[must_use]
    pub fn has(&self, stage: StageName) -> bool {
        !stage.takes_all_cameras() || self.projection.is_some()
    }

    /// The largest number of lanes that one run of a stage takes.
    #[must_use]
    pub fn lanes(&self, stage: StageName) -> usize {
        if stage.takes_all_cameras() {
            self.projection.as_ref().map_or(0, |p| p.stage.inputs.project.projections())
        } else {
            self.stage.inputs.raster.pixels()
        }
    }
}

impl Projection {
    fn new(stage: ProjectStage) -> Self {
        Self { stage, bounds: Default::default() }
    }

    /// What a conforming kernel may return on a device of that kind.
    pub fn expectation(&self, info: &DeviceInfo) -> &ProjectExpectation {
        let arithmetic = Arithmetic::of(info);
        let bounds = &self.bounds[arithmetic as usize];
        bounds.get_or_init(|| ProjectExpectation::new(&self.stage, arithmetic))
    }
}
