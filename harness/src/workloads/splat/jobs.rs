//! The jobs of a case: its stages with their inputs, their oracles and their scatter steps.

use super::contributions::Contributions;
use super::expectation;
use super::stage::{ProjectStage, RasterStage};
use crate::judge::{Arithmetic, Expectation};
use crate::scatter_step::Scatter;
use crate::workload::{Job, Oracle};
use splatcheck_gpu::stages::splat::{PROJECT, PROJECT_BACKWARD, RASTERIZE, RASTERIZE_BACKWARD};
use splatcheck_gpu::{EngineError, TensorError};
use std::sync::Arc;

/// The jobs of one camera's image.
///
/// # Errors
/// [`TensorError`] where the stage contradicts itself.
pub(super) fn raster_jobs(stage: RasterStage) -> Result<Vec<Job>, TensorError> {
    let stage = Arc::new(stage);
    let (inputs, lanes) = (&stage.inputs, stage.inputs.raster.pixels());
    let forward = Box::new(Rasterize(Arc::clone(&stage)));
    let backward = Box::new(RasterizeBackward(Arc::clone(&stage)));
    Ok(vec![
        Job::new(RASTERIZE, inputs.raster.tensors()?, lanes, forward)?,
        Job::new(RASTERIZE_BACKWARD, inputs.tensors()?, lanes, backward)?,
    ])
}

/// The oracle of `rasterize`.
#[derive(Debug)]
struct Rasterize(Arc<RasterStage>);

impl Oracle for Rasterize {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        expectation::rasterize(&self.0, arithmetic)
    }
}

/// The oracle of `rasterize_backward`.
#[derive(Debug)]
struct RasterizeBackward(Arc<RasterStage>);

impl Oracle for RasterizeBackward {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        expectation::rasterize_backward(&self.0, arithmetic)
    }

    fn scatter(&self, lane_width: u32) -> Option<Result<Box<dyn Scatter + '_>, EngineError>> {
        let steps = Contributions::new(&self.0, lane_width);
        Some(steps.map(|steps| Box::new(steps) as Box<dyn Scatter>))
    }
}

/// The jobs of a case's projection by all cameras.
///
/// # Errors
/// [`TensorError`] where the stage contradicts itself.
pub(super) fn project_jobs(stage: ProjectStage) -> Result<Vec<Job>, TensorError> {
    let stage = Arc::new(stage);
    let (inputs, lanes) = (&stage.inputs, stage.inputs.project.projections());
    let forward = Box::new(Project(Arc::clone(&stage)));
    let backward = Box::new(ProjectBackward(Arc::clone(&stage)));
    Ok(vec![
        Job::new(PROJECT, inputs.project.tensors()?, lanes, forward)?,
        Job::new(PROJECT_BACKWARD, inputs.tensors()?, lanes, backward)?,
    ])
}

/// The oracle of `project`.
#[derive(Debug)]
struct Project(Arc<ProjectStage>);

impl Oracle for Project {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        expectation::project(&self.0, arithmetic)
    }
}

/// The oracle of `project_backward`.
#[derive(Debug)]
struct ProjectBackward(Arc<ProjectStage>);

impl Oracle for ProjectBackward {
    fn expect(&self, arithmetic: Arithmetic) -> Expectation {
        expectation::project_backward(&self.0, arithmetic)
    }
}
