//! The jobs of all stages, in as few submissions as their bytes allow.

use super::WgpuEngine;
use super::submission::{Dispatch, Span, Submission};
use crate::engine::EngineError;
use crate::reduction::BackwardConfig;
use crate::stages::{Stage, Variant};

/// What one stage is run on, in the order of the stage's table: settings, inputs, outputs.
pub(super) trait Job {
    /// The stage.
    const STAGE: &'static Stage;
    /// What comes back.
    type Results;
    /// Workgroups in x and y.
    fn groups(&self) -> [u32; 2];
    /// Channels D that the kernel is compiled for.
    fn channels(&self) -> u32;
    /// Bytes of all inputs.
    fn input_bytes(&self) -> u64;
    /// Bytes of all outputs of one dispatch.
    fn output_bytes(&self) -> u64;
    /// Adds the settings of one dispatch.
    fn params(&self, submission: &mut Submission, threshold: u32) -> Span;
    /// Adds the inputs.
    fn upload(&self, submission: &mut Submission) -> Result<Vec<Span>, EngineError>;
    /// Adds the outputs of one dispatch.
    fn outputs(&self, submission: &mut Submission) -> Result<Vec<Span>, EngineError>;
    /// Reads the outputs.
    fn read(&self, dispatch: &Dispatch, bytes: &[u8]) -> Self::Results;
}

impl WgpuEngine {
    /// Whether the device dispatches as many workgroups.
    pub(super) fn check_groups<J: Job>(&self, job: &J) -> Result<(), EngineError> {
        let limit = self.gpu.limits.max_compute_workgroups_per_dimension;
        let [x, y] = job.groups();
        if x.max(y) > limit {
            return Err(EngineError::Input(format!(
                "{} takes {x}x{y} workgroups, but the device dispatches at most {limit} in one \
                 dimension (max_compute_workgroups_per_dimension)",
                J::STAGE.name
            )));
        }
        Ok(())
    }

    /// Runs every job with every one of its settings; the result is indexed `[job][setting]`. A
    /// job's inputs are uploaded once a submission.
    pub(super) fn run_all<J: Job>(
        &mut self,
        jobs: &[(&J, &[BackwardConfig])],
    ) -> Result<Vec<Vec<J::Results>>, EngineError> {
        let mut results: Vec<_> = jobs.iter().map(|(_, c)| Vec::with_capacity(c.len())).collect();
        let mut submission = Submission::new(&self.gpu);
        // The jobs of the dispatches in `submission`.
        let mut pending = Vec::new();
        // The latest job's inputs.
        let mut inputs: Option<(usize, Vec<Span>)> = None;
        for (at, &(job, configs)) in jobs.iter().enumerate() {
            for config in configs {
                let uploaded = inputs.as_ref().is_some_and(|(job, _)| *job == at);
                let upload = if uploaded { 0 } else { job.input_bytes() };
                if !submission.has_room(upload + job.output_bytes(), self.submission_bytes) {
                    self.flush(&mut submission, &mut pending, jobs, &mut results)?;
                    inputs = None;
                }
                let shared = match inputs.take() {
                    Some((job, spans)) if job == at => spans,
                    _ => job.upload(&mut submission)?,
                };
                let variant = Variant {
                    channels: job.channels(),
                    reduction: config.reduction,
                    atomics: self.info.float_atomics,
                };
                let kernel = self.kernels.get(&self.gpu, J::STAGE, variant)?;
                let mut spans = vec![job.params(&mut submission, config.threshold)];
                spans.extend_from_slice(&shared);
                spans.extend(job.outputs(&mut submission)?);
                submission.dispatch(kernel, job.groups(), spans);
                pending.push(at);
                inputs = Some((at, shared));
            }
        }
        self.flush(&mut submission, &mut pending, jobs, &mut results)?;
        Ok(results)
    }

    fn flush<J: Job>(
        &mut self,
        submission: &mut Submission,
        pending: &mut Vec<usize>,
        jobs: &[(&J, &[BackwardConfig])],
        results: &mut [Vec<J::Results>],
    ) -> Result<(), EngineError> {
        let full = std::mem::replace(submission, Submission::new(&self.gpu));
        let mut dispatched = pending.drain(..);
        self.arenas.run(&self.gpu, full, |dispatch, bytes| {
            let at = dispatched.next().expect("every dispatch has its job");
            results[at].push(jobs[at].0.read(dispatch, bytes));
        })
    }
}
