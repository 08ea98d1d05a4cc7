//! The projection stages as jobs.

use super::job::Job;
use super::submission::{Dispatch, Span, Submission};
use crate::engine::EngineError;
use crate::projection::{
    ProjectBackwardInputs, ProjectGradients, ProjectInputs, ProjectOutputs, ProjectParams,
    project_blocks,
};
use crate::stages::{self, Stage, values};

/// Numbers of a Gaussian's row in `geometry`: mean 3, quat 4, scale 3, opacity 1.
const GEOMETRY: usize = 11;

fn geometry_rows(inputs: &ProjectInputs) -> Vec<f32> {
    let mut rows = Vec::with_capacity(GEOMETRY * inputs.len());
    for (k, mean) in inputs.means.iter().enumerate() {
        rows.extend_from_slice(mean);
        rows.extend_from_slice(&inputs.quats[k]);
        rows.extend_from_slice(&inputs.scales[k]);
        rows.push(inputs.opacities[k]);
    }
    rows
}

/// Floats of the rows `[C,N,6+D]`.
fn row_floats(inputs: &ProjectInputs) -> usize {
    inputs.projections() * values(inputs.colors.channels()) as usize
}

fn bytes(floats: usize) -> u64 {
    floats as u64 * 4
}

impl Job for ProjectInputs {
    const STAGE: &'static Stage = &stages::PROJECT;
    type Results = ProjectOutputs;

    fn groups(&self) -> [u32; 2] {
        project_blocks(self)
    }

    fn channels(&self) -> u32 {
        self.colors.channels()
    }

    fn input_bytes(&self) -> u64 {
        let floats = 20 * self.cameras.len() + GEOMETRY * self.len() + self.colors.values().len();
        bytes(floats)
    }

    fn output_bytes(&self) -> u64 {
        bytes(row_floats(self) + 5 * self.projections())
    }

    fn params(&self, submission: &mut Submission, threshold: u32) -> Span {
        let mut params = ProjectParams::new(self, threshold);
        // WGSL lets a compiler assume that there is no infinity; no finite z is beyond this.
        params.far = params.far.min(f32::MAX);
        submission.params(&params)
    }

    fn upload(&self, submission: &mut Submission) -> Result<Vec<Span>, EngineError> {
        Ok(vec![
            submission.input("cameras", &self.cameras)?,
            submission.input("the rows of Gaussians", &geometry_rows(self))?,
            submission.input("colors", self.colors.values())?,
        ])
    }

    fn outputs(&self, submission: &mut Submission) -> Result<Vec<Span>, EngineError> {
        let rows = self.projections();
        Ok(vec![
            submission.output("the rows of projections", row_floats(self))?,
            submission.output("covars2d and depths", 4 * rows)?,
            submission.output("visible", rows)?,
        ])
    }

    fn read(&self, dispatch: &Dispatch, bytes: &[u8]) -> ProjectOutputs {
        let [rows, footprints, visible] = dispatch.outputs();
        let footprints: Vec<[f32; 4]> = footprints.read(bytes);
        ProjectOutputs::new(
            &rows.read::<f32>(bytes),
            self.colors.channels(),
            footprints.iter().map(|&[xx, xy, yy, _]| [xx, xy, yy]).collect(),
            footprints.iter().map(|&[.., depth]| depth).collect(),
            visible.read(bytes),
        )
    }
}

impl Job for ProjectBackwardInputs {
    const STAGE: &'static Stage = &stages::PROJECT_BACKWARD;
    type Results = ProjectGradients;

    fn groups(&self) -> [u32; 2] {
        let [x, _] = project_blocks(&self.project);
        [x, 1]
    }

    fn channels(&self) -> u32 {
        self.project.colors.channels()
    }

    fn input_bytes(&self) -> u64 {
        self.project.input_bytes() + bytes(row_floats(&self.project))
    }

    fn output_bytes(&self) -> u64 {
        let ProjectInputs { cameras, colors, .. } = &self.project;
        bytes(GEOMETRY * self.project.len() + colors.values().len() + 16 * cameras.len())
    }

    fn params(&self, submission: &mut Submission, threshold: u32) -> Span {
        self.project.params(submission, threshold)
    }

    fn upload(&self, submission: &mut Submission) -> Result<Vec<Span>, EngineError> {
        let mut spans = self.project.upload(submission)?;
        spans.push(submission.input("the rows of gradients", &self.rows())?);
        Ok(spans)
    }

    fn outputs(&self, submission: &mut Submission) -> Result<Vec<Span>, EngineError> {
        let ProjectInputs { cameras, colors, .. } = &self.project;
        Ok(vec![
            submission.output("the gradients' rows", GEOMETRY * self.project.len())?,
            submission.output("v_colors", colors.values().len())?,
            submission.output("v_viewmats", 16 * cameras.len())?,
        ])
    }

    fn read(&self, dispatch: &Dispatch, bytes: &[u8]) -> ProjectGradients {
        let [rows, colors, viewmats] = dispatch.outputs();
        let rows: Vec<[f32; GEOMETRY]> = rows.read(bytes);
        ProjectGradients {
            v_means: rows.iter().map(|r| [r[0], r[1], r[2]]).collect(),
            v_quats: rows.iter().map(|r| [r[3], r[4], r[5], r[6]]).collect(),
            v_scales: rows.iter().map(|r| [r[7], r[8], r[9]]).collect(),
            v_opacities: rows.iter().map(|r| r[10]).collect(),
            v_colors: colors.read(bytes),
            v_viewmats: viewmats.read(bytes),
        }
    }
}
