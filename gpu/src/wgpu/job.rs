//! The jobs of any stage, in as few submissions as their bytes allow.

use super::WgpuEngine;
use super::guard;
use super::submission::{Dispatch, Span, Submission};
use crate::engine::{EngineError, Work};
use crate::reduction::Setting;
use crate::stage::{Buffer, Language, Role, Sizes, StageSpec};
use crate::tensor::{TensorError, Tensors};
use crate::wgsl::Variant;

/// A stage of one job, checked.
#[derive(Clone, Copy, Debug)]
struct Job<'a> {
    stage: &'static StageSpec,
    work: Work<'a>,
    sizes: &'a Sizes,
    workgroups: [u32; 2],
}

impl<'a> Job<'a> {
    /// One of its runs.
    fn run(&self, setting: Option<Setting>) -> guard::Run<'a> {
        let Self { stage, work, sizes, .. } = *self;
        guard::Run { stage, inputs: work.inputs, sizes, setting }
    }

    fn words(buffers: &[Buffer], words: impl Fn(&Buffer) -> usize) -> u64 {
        buffers.iter().map(|buffer| 4 * words(buffer) as u64).sum()
    }

    /// Bytes of all inputs.
    fn input_bytes(&self) -> u64 {
        let Self { stage, sizes, .. } = self;
        Self::words(stage.wgsl.buffers.inputs, |buffer| buffer.words(stage.inputs, sizes))
    }

    /// Bytes of all outputs of one dispatch.
    fn output_bytes(&self) -> u64 {
        let Self { stage, sizes, .. } = self;
        Self::words(stage.wgsl.buffers.outputs, |buffer| buffer.words(stage.outputs, sizes))
    }

    /// Adds the settings of one dispatch, if the stage has any.
    fn record(
        &self,
        submission: &mut Submission,
        setting: Option<Setting>,
    ) -> Result<Option<Span>, EngineError> {
        if self.stage.params.is_empty() {
            return Ok(None);
        }
        let threshold = setting.map_or(0, |setting| setting.threshold);
        let (inputs, sizes) = (self.work.inputs, self.sizes);
        let record = self.stage.record(inputs, sizes, threshold, Language::Wgsl)?;
        Ok(Some(submission.params(&record)))
    }

    /// Adds the inputs.
    fn upload(&self, submission: &mut Submission) -> Result<Vec<Span>, EngineError> {
        let Self { stage, sizes, work, .. } = self;
        let upload = |buffer: &Buffer| {
            let words = buffer.pack(stage.inputs, sizes, work.inputs)?;
            submission.input(buffer.name, &words)
        };
        stage.wgsl.buffers.inputs.iter().map(upload).collect()
    }

    /// Adds the outputs of one dispatch.
    fn outputs(&self, submission: &mut Submission) -> Result<Vec<Span>, EngineError> {
        let Self { stage, sizes, work, .. } = self;
        let output = |buffer: &Buffer| {
            let words = buffer.words(stage.outputs, sizes);
            match buffer.role(stage.outputs) {
                Role::Accumulate => submission.sums(buffer.name, words, None),
                Role::AccumulateOnto(start) => {
                    let start = work.inputs.get(start)?.words();
                    submission.sums(buffer.name, words, Some(start))
                }
                Role::Write
                | Role::MayWrite
                | Role::Read
                | Role::MayRead
                | Role::BuiltIn(_)
                | Role::Size(_) => submission.output(buffer.name, words),
            }
        };
        stage.wgsl.buffers.outputs.iter().map(output).collect()
    }

    /// Reads the outputs of a dispatch.
    fn read(&self, dispatch: &Dispatch, bytes: &[u8]) -> Result<Tensors, EngineError> {
        let Self { stage, sizes, .. } = self;
        let mut outputs = Tensors::new();
        for (buffer, span) in stage.wgsl.buffers.outputs.iter().zip(dispatch.outputs()) {
            let unpacked =
                buffer.unpack(stage.outputs, sizes, &span.read::<u32>(bytes), &mut outputs);
            unpacked.map_err(|error| EngineError::output(TensorError::from(error)))?;
        }
        Ok(outputs)
    }
}

impl WgpuEngine {
    /// Whether the device dispatches as many workgroups.
    fn check_groups(&self, stage: &StageSpec, sizes: &Sizes) -> Result<[u32; 2], EngineError> {
        let limit = self.gpu.limits.max_compute_workgroups_per_dimension;
        let [x, y] = stage.workgroups(sizes)?;
        if x.max(y) > limit {
            return Err(EngineError::TooLarge(format!(
                "{} takes {x}x{y} workgroups, but the device dispatches at most {limit} in one \
                 dimension (max_compute_workgroups_per_dimension)",
                stage.name
            )));
        }
        Ok([x, y])
    }

    /// Runs every job with every one of its settings; the result is indexed `[job][setting]`. A
    /// job's inputs are uploaded once a submission.
    pub(super) fn run_all(
        &mut self,
        stage: &'static StageSpec,
        work: &[Work<'_>],
        sizes: &[Sizes],
    ) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let mut jobs = Vec::with_capacity(work.len());
        for (&work, sizes) in work.iter().zip(sizes) {
            let workgroups = self.check_groups(stage, sizes)?;
            let job = Job { stage, work, sizes, workgroups };
            work.settings.iter().try_for_each(|&s| guard::before(job.run(s), &self.info))?;
            jobs.push(job);
        }
        let mut results: Vec<_> =
            work.iter().map(|work| Vec::with_capacity(work.settings.len())).collect();
        let mut submission = Submission::new(&self.gpu);
        // The jobs of the dispatches in `submission`, with their settings.
        let mut pending = Vec::new();
        // The latest job's inputs.
        let mut uploaded: Option<(usize, Vec<Span>)> = None;
        let runs = jobs.iter().enumerate();
        let runs = runs.flat_map(|(at, job)| job.work.settings.iter().map(move |&s| (at, s)));
        for (at, setting) in runs {
            let job = &jobs[at];
            let here = uploaded.as_ref().is_some_and(|(job, _)| *job == at);
            let upload = if here { 0 } else { job.input_bytes() };
            if !submission.has_room(upload + job.output_bytes(), self.submission_bytes) {
                self.flush(&mut submission, &mut pending, &jobs, &mut results)?;
                uploaded = None;
            }
            let inputs = match uploaded.take() {
                Some((job, spans)) if job == at => spans,
                _ => job.upload(&mut submission)?,
            };
            self.dispatch(&mut submission, job, setting, &inputs)?;
            pending.push((at, setting));
            uploaded = Some((at, inputs));
        }
        self.flush(&mut submission, &mut pending, &jobs, &mut results)?;
        Ok(results)
    }

    fn dispatch(
        &mut self,
        submission: &mut Submission,
        job: &Job<'_>,
        setting: Option<Setting>,
        inputs: &[Span],
    ) -> Result<(), EngineError> {
        let variant = Variant {
            size: job.stage.compiled_size(job.sizes),
            reduction: setting.map(|setting| setting.reduction),
            atomics: self.info.float_atomics,
        };
        let kernel = self.kernels.get(&self.gpu, job.stage, variant)?;
        let mut spans: Vec<_> = job.record(submission, setting)?.into_iter().collect();
        spans.extend_from_slice(inputs);
        spans.extend(job.outputs(submission)?);
        if let Some(guard) = &self.guard {
            spans.push(guard.span(submission)?);
        }
        submission.dispatch(kernel, job.workgroups, spans);
        Ok(())
    }

    fn flush(
        &mut self,
        submission: &mut Submission,
        pending: &mut Vec<(usize, Option<Setting>)>,
        jobs: &[Job<'_>],
        results: &mut [Vec<Tensors>],
    ) -> Result<(), EngineError> {
        let full = std::mem::replace(submission, Submission::new(&self.gpu));
        let (guard, info) = (&mut self.guard, &self.info);
        let mut dispatched = pending.drain(..);
        let mut failed = Ok(());
        self.arenas.run(&self.gpu, full, |dispatch, bytes| {
            let (at, setting) = dispatched.next().expect("every dispatch has its job");
            let job = &jobs[at];
            let kept = guard::after(dispatch, bytes, job.run(setting), guard, info);
            match kept.and_then(|()| job.read(dispatch, bytes)) {
                Ok(outputs) => results[at].push(outputs),
                Err(error) => failed = Err(error),
            }
        })?;
        failed
    }
}
