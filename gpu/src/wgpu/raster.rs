//! The rasterization stages as jobs.

use super::job::Job;
use super::submission::{Dispatch, Span, Submission};
use crate::engine::EngineError;
use crate::layout::{BackwardInputs, RasterGradients, RasterInputs, RasterOutputs};
use crate::stages::{self, Params, Stage};

fn raster_bytes(inputs: &RasterInputs) -> u64 {
    let words = inputs.len() * (6 + inputs.channels as usize)
        + inputs.tile_offsets.len()
        + inputs.flatten_ids.len();
    words as u64 * 4
}

fn image_bytes(inputs: &RasterInputs) -> u64 {
    (inputs.pixels() * (3 + inputs.channels as usize)) as u64 * 4
}

impl Job for RasterInputs {
    const STAGE: &'static Stage = &stages::RASTERIZE;
    type Results = RasterOutputs;

    fn groups(&self) -> [u32; 2] {
        self.tiles()
    }

    fn channels(&self) -> u32 {
        self.channels
    }

    fn input_bytes(&self) -> u64 {
        raster_bytes(self)
    }

    fn output_bytes(&self) -> u64 {
        image_bytes(self)
    }

    fn params(&self, submission: &mut Submission, threshold: u32) -> Span {
        submission.params(&Params::new(self, threshold))
    }

    fn upload(&self, submission: &mut Submission) -> Result<Vec<Span>, EngineError> {
        Ok(vec![
            submission.input("the rows of Gaussians", &self.rows())?,
            submission.input("tile_offsets", &self.tile_offsets)?,
            submission.input("flatten_ids", &self.flatten_ids)?,
        ])
    }

    fn outputs(&self, submission: &mut Submission) -> Result<Vec<Span>, EngineError> {
        let pixels = self.pixels();
        Ok(vec![
            submission.output("render_colors", pixels * self.channels as usize)?,
            submission.output("render_alphas", pixels)?,
            submission.output("render_transmittance", pixels)?,
            submission.output("last_ids", pixels)?,
        ])
    }

    fn read(&self, dispatch: &Dispatch, bytes: &[u8]) -> RasterOutputs {
        let [colors, alphas, transmittance, last] = dispatch.outputs();
        RasterOutputs {
            render_colors: colors.read(bytes),
            render_alphas: alphas.read(bytes),
            render_transmittance: transmittance.read(bytes),
            last_ids: last.read(bytes),
        }
    }
}

impl Job for BackwardInputs {
    const STAGE: &'static Stage = &stages::RASTERIZE_BACKWARD;
    type Results = RasterGradients;

    fn groups(&self) -> [u32; 2] {
        self.raster.tiles()
    }

    fn channels(&self) -> u32 {
        self.raster.channels
    }

    fn input_bytes(&self) -> u64 {
        raster_bytes(&self.raster) + image_bytes(&self.raster)
    }

    fn output_bytes(&self) -> u64 {
        self.raster.len() as u64 * u64::from(stages::values(self.raster.channels)) * 4
    }

    fn params(&self, submission: &mut Submission, threshold: u32) -> Span {
        self.raster.params(submission, threshold)
    }

    fn upload(&self, submission: &mut Submission) -> Result<Vec<Span>, EngineError> {
        let mut spans = self.raster.upload(submission)?;
        spans.push(submission.input("render_transmittance", &self.render_transmittance)?);
        spans.push(submission.input("last_ids", &self.last_ids)?);
        spans.push(submission.input("v_render_colors", &self.v_render_colors)?);
        spans.push(submission.input("v_render_alphas", &self.v_render_alphas)?);
        Ok(spans)
    }

    fn outputs(&self, submission: &mut Submission) -> Result<Vec<Span>, EngineError> {
        let row = stages::values(self.raster.channels) as usize;
        Ok(vec![submission.output("the rows of gradients", self.raster.len() * row)?])
    }

    fn read(&self, dispatch: &Dispatch, bytes: &[u8]) -> RasterGradients {
        let [rows] = dispatch.outputs();
        RasterGradients::from_rows(&rows.read::<f32>(bytes), self.raster.channels)
    }
}
