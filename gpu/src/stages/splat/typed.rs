//! The stages of splats as methods with typed arrays, on every engine.

use super::{
    BackwardInputs, PROJECT, PROJECT_BACKWARD, ProjectBackwardInputs, ProjectGradients,
    ProjectInputs, ProjectOutputs, RASTERIZE, RASTERIZE_BACKWARD, RasterGradients, RasterInputs,
    RasterOutputs,
};
use crate::engine::{Engine, EngineError, Work};
use crate::reduction::Setting;
use crate::stage::Stage;
use crate::tensor::{ShapeError, TensorError, Tensors};

/// The splat stages of an engine, for callers that have records instead of [`Tensors`].
pub trait SplatEngine: Engine {
    /// Runs [`RASTERIZE`] on every input.
    ///
    /// # Errors
    /// As [`Engine::run`].
    fn rasterize(&mut self, inputs: &[&RasterInputs]) -> Result<Vec<RasterOutputs>, EngineError> {
        let inputs = collected(inputs, |inputs| inputs.tensors())?;
        read(forward(self, RASTERIZE, &inputs)?.iter(), RasterOutputs::from_tensors)
    }

    /// Runs [`RASTERIZE_BACKWARD`]; indexed `[job][setting]`.
    ///
    /// # Errors
    /// As [`Engine::run`].
    fn rasterize_backward(
        &mut self,
        jobs: &[(&BackwardInputs, &[Setting])],
    ) -> Result<Vec<Vec<RasterGradients>>, EngineError> {
        let inputs = collected(jobs, |(inputs, _)| inputs.tensors())?;
        let settings = jobs.iter().map(|(_, settings)| *settings);
        backward(self, RASTERIZE_BACKWARD, &inputs, settings)?
            .iter()
            .map(|all| read(all.iter(), RasterGradients::from_tensors))
            .collect()
    }

    /// Runs [`PROJECT`] on every input.
    ///
    /// # Errors
    /// As [`Engine::run`].
    fn project(&mut self, inputs: &[&ProjectInputs]) -> Result<Vec<ProjectOutputs>, EngineError> {
        let inputs = collected(inputs, |inputs| inputs.tensors())?;
        read(forward(self, PROJECT, &inputs)?.iter(), ProjectOutputs::from_tensors)
    }

    /// Runs [`PROJECT_BACKWARD`]; indexed `[job][setting]`.
    ///
    /// # Errors
    /// As [`Engine::run`].
    fn project_backward(
        &mut self,
        jobs: &[(&ProjectBackwardInputs, &[Setting])],
    ) -> Result<Vec<Vec<ProjectGradients>>, EngineError> {
        let inputs = collected(jobs, |(inputs, _)| inputs.tensors())?;
        let settings = jobs.iter().map(|(_, settings)| *settings);
        backward(self, PROJECT_BACKWARD, &inputs, settings)?
            .iter()
            .map(|all| read(all.iter(), ProjectGradients::from_tensors))
            .collect()
    }
}

impl<E: Engine + ?Sized> SplatEngine for E {}

fn collected<T>(
    jobs: &[T],
    tensors: impl Fn(&T) -> Result<Tensors, ShapeError>,
) -> Result<Vec<Tensors>, EngineError> {
    let all: Result<Vec<_>, _> = jobs.iter().map(tensors).collect();
    Ok(all.map_err(TensorError::from)?)
}

fn forward<E: Engine + ?Sized>(
    engine: &mut E,
    stage: Stage,
    inputs: &[Tensors],
) -> Result<Vec<Tensors>, EngineError> {
    let work: Vec<_> = inputs.iter().map(|inputs| Work { inputs, settings: &[None] }).collect();
    Ok(engine.run(stage, &work)?.into_iter().flatten().collect())
}

fn backward<'s, E: Engine + ?Sized>(
    engine: &mut E,
    stage: Stage,
    inputs: &[Tensors],
    settings: impl Iterator<Item = &'s [Setting]>,
) -> Result<Vec<Vec<Tensors>>, EngineError> {
    let settings: Vec<Vec<_>> =
        settings.map(|settings| settings.iter().copied().map(Some).collect()).collect();
    let jobs = inputs.iter().zip(&settings);
    let work: Vec<_> = jobs.map(|(inputs, settings)| Work { inputs, settings }).collect();
    engine.run(stage, &work)
}

fn read<'t, T>(
    outputs: impl Iterator<Item = &'t Tensors>,
    from: impl Fn(&Tensors) -> Result<T, TensorError>,
) -> Result<Vec<T>, EngineError> {
    outputs.map(|outputs| from(outputs).map_err(EngineError::output)).collect()
}
