//! Cutting requests into frames of bounded size.
//!
//! A frame's size is that of the request and of its answer, estimated from the stage's table and the
//! shapes of the arrays; a setting that is larger than the limit on its own, with the inputs of its
//! job, gets a frame of its own. The order of jobs and settings is kept.

use std::ops::Range;

use splatcheck_gpu::stage::{Port, Sizes};
use splatcheck_gpu::{Stage, TensorError, Work};

/// Bytes of header and metadata per job, per setting of a job (its name in the metadata), and per
/// array (its name, type, shape and place: measured at up to about 100).
const JOB_HEADER: usize = 1024;
const SETTING_HEADER: usize = 128;
const ARRAY_HEADER: usize = 128;
/// Bytes of an f32, u32 or i32.
const WORD: usize = 4;

/// A run of settings of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Index of the job.
    pub job: usize,
    /// Which of its settings.
    pub settings: Range<usize>,
}

/// The size of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobSize {
    /// Its inputs, which travel once with a run of settings.
    pub once: usize,
    /// The outputs of one setting.
    pub each: usize,
    /// How many settings there are.
    pub settings: usize,
}

/// The size of a job of a stage.
///
/// # Errors
/// [`TensorError`] for inputs that are not those of the stage.
pub fn size(stage: Stage, job: Work<'_>) -> Result<JobSize, TensorError> {
    let sizes = stage.sizes(job.inputs)?;
    Ok(JobSize {
        once: JOB_HEADER.saturating_add(bytes(stage.inputs, &sizes)),
        each: SETTING_HEADER.saturating_add(bytes(stage.outputs, &sizes)),
        settings: job.settings.len(),
    })
}

/// The size of the arrays of these ports.
fn bytes(ports: &[Port], sizes: &Sizes) -> usize {
    let one = |port: &Port| port.words(sizes).saturating_mul(WORD).saturating_add(ARRAY_HEADER);
    ports.iter().map(one).fold(0, usize::saturating_add)
}

/// Cuts jobs into frames of pieces. A job's settings may be spread over several frames, its inputs
/// then travel with each. Jobs without settings are left out.
#[must_use]
pub fn frames(jobs: impl IntoIterator<Item = JobSize>, limit: usize) -> Vec<Vec<Piece>> {
    let mut frames: Vec<Vec<Piece>> = Vec::new();
    let mut used: usize = 0;
    for (job, JobSize { once, each, settings }) in jobs.into_iter().enumerate() {
        let first = once.saturating_add(each);
        for setting in 0..settings {
            let room = limit.saturating_sub(used);
            match frames.last_mut() {
                Some(frame) if setting > 0 && each <= room => {
                    if let Some(piece) = frame.last_mut() {
                        piece.settings.end = setting + 1;
                    }
                    used += each;
                }
                Some(frame) if setting == 0 && first <= room => {
                    frame.push(Piece { job, settings: 0..1 });
                    used += first;
                }
                _ => {
                    frames.push(vec![Piece { job, settings: setting..setting + 1 }]);
                    used = first;
                }
            }
        }
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::super::protocol::{Answer, RequestRef, encode_request, encode_response, samples};
    use super::*;
    use splatcheck_gpu::Engine;
    use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;

    /// Every setting of every job once and in order, whatever the limit.
    #[test]
    fn frames_cover_everything_in_order() {
        let inputs: Vec<_> = (0..5).map(|n| samples::inputs(RASTERIZE_BACKWARD, n)).collect();
        let settings = samples::settings(RASTERIZE_BACKWARD);
        let sizes: Vec<_> = inputs
            .iter()
            .enumerate()
            .map(|(i, inputs)| Work { inputs, settings: &settings[..i * 3] })
            .map(|job| size(RASTERIZE_BACKWARD, job).expect("the samples fit"))
            .collect();
        let all: Vec<_> = sizes
            .iter()
            .enumerate()
            .flat_map(|(j, job)| (0..job.settings).map(move |s| (j, s)))
            .collect();
        for limit in [0, 1, 3000, 5000, 10_000, usize::MAX] {
            let frames = frames(sizes.iter().copied(), limit);
            let covered: Vec<_> = frames
                .iter()
                .flatten()
                .flat_map(|piece| piece.settings.clone().map(|s| (piece.job, s)))
                .collect();
            assert_eq!(covered, all, "limit {limit}");
            assert!(frames.iter().all(|frame| !frame.is_empty()), "an empty frame at {limit}");
        }
        assert_eq!(frames(sizes.clone(), usize::MAX).len(), 1, "one frame holds everything");
        assert_eq!(frames(sizes, 0).len(), all.len(), "a frame for every setting");
        assert!(frames([], 10).is_empty(), "nothing to send");
    }

    #[test]
    fn jobs_with_one_setting_share_frames_in_order() {
        let job = JobSize { once: 60, each: 40, settings: 1 };
        let huge = JobSize { once: usize::MAX, each: usize::MAX, settings: 1 };
        let cut = |limit| {
            let frames = frames([job, job, huge, job], limit);
            let jobs = |frame: Vec<Piece>| frame.iter().map(|piece| piece.job).collect::<Vec<_>>();
            frames.into_iter().map(jobs).collect::<Vec<_>>()
        };
        assert_eq!(cut(200), [vec![0, 1], vec![2], vec![3]], "two fit, one never does");
        assert_eq!(cut(199), [[0], [1], [2], [3]], "two do not fit");
    }

    #[test]
    fn the_estimates_are_not_below_the_frames() {
        let mut engine = samples::FakeEngine::default();
        for stage in Stage::all() {
            let settings = samples::settings(stage);
            for n in [0, 2, 3, 200] {
                let inputs = samples::inputs(stage, n);
                let jobs = [Work { inputs: &inputs, settings: &settings }];
                let request = RequestRef::Run { stage, jobs: &jobs };
                let answer = Answer::Run(engine.run(stage, &jobs).unwrap());
                let sent = encode_request(request).unwrap().len();
                let back = encode_response(request, &Ok(answer)).unwrap().len();
                let size = size(stage, jobs[0]).unwrap();
                let each = size.each * settings.len();
                assert!(sent <= size.once, "{stage}, {n}: {sent}, {size:?}");
                assert!(back <= size.once + each, "{stage}, {n}: {back}, {size:?}");
            }
        }
    }
}
