//! Whose gradients a fit follows.

use splatcheck_gpu::stages::splat::{PROJECT_BACKWARD, RASTERIZE_BACKWARD};
use splatcheck_gpu::{
    Engine, EngineError, ProjectGradients, RasterGradients, Reduction, Setting, Stage, Tensors,
    Work,
};
use splatcheck_reference::splat::CameraParams;
use splatcheck_reference::splat::backward::project::project;

use super::parameters::StageGradients;
use crate::splat::case::Case;
use crate::splat::stage::{ProjectStage, RasterStage};

/// A way from the gradient of the loss by the image to those by the Gaussians.
pub trait Backward {
    /// The gradients of a case with one camera, whose loss gradient `case` and `raster` both hold.
    ///
    /// # Errors
    /// What the engine says.
    fn gradients(
        &mut self,
        case: &Case,
        raster: &RasterStage,
    ) -> Result<StageGradients, EngineError>;
}

/// The oracle in f64, on the inputs that kernels get: nothing is rendered again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Oracle;

impl Backward for Oracle {
    fn gradients(
        &mut self,
        case: &Case,
        raster: &RasterStage,
    ) -> Result<StageGradients, EngineError> {
        let scene = case.scene.map(f64::from);
        let lens =
            CameraParams::new(&scene.cameras[0], [scene.width, scene.height], &raster.convention);
        let gradients = raster.oracle_backward();
        Ok(project(&scene.gaussians, &lens, &gradients, &raster.convention).into())
    }
}

/// An engine's kernels: `rasterize_backward` with a setting, then `project_backward`, whose Gaussians
/// have a lane each. The one sum of that, the camera's gradient, is not trained.
pub struct OnEngine<'e> {
    /// The engine.
    pub engine: &'e mut dyn Engine,
    /// How `rasterize_backward` adds up.
    pub setting: Setting,
}

impl OnEngine<'_> {
    fn run(
        &mut self,
        stage: Stage,
        inputs: &Tensors,
        setting: Setting,
    ) -> Result<Tensors, EngineError> {
        let work = Work { inputs, settings: &[Some(setting)] };
        let outputs = self.engine.run(stage, &[work])?;
        let one = outputs.into_iter().next().and_then(|of_job| of_job.into_iter().next());
        one.ok_or_else(|| EngineError::Device(format!("it returned nothing for {stage}")))
    }
}

impl Backward for OnEngine<'_> {
    fn gradients(
        &mut self,
        case: &Case,
        raster: &RasterStage,
    ) -> Result<StageGradients, EngineError> {
        let input = |error: &dyn std::fmt::Display| EngineError::Input(error.to_string());
        let inputs = raster.inputs.tensors().map_err(|error| input(&error))?;
        let outputs = self.run(RASTERIZE_BACKWARD, &inputs, self.setting)?;
        let gradients = RasterGradients::from_tensors(&outputs).map_err(EngineError::output)?;
        let project = ProjectStage::after(case, gradients);
        let inputs = project.inputs.tensors().map_err(|error| input(&error))?;
        let alone = Setting { reduction: Reduction::BASELINE, threshold: 0 };
        let outputs = self.run(PROJECT_BACKWARD, &inputs, alone)?;
        Ok(ProjectGradients::from_tensors(&outputs).map_err(EngineError::output)?.into())
    }
}
