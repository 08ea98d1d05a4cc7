//! Cutting requests into frames of bounded size.
//!
//! A frame's size is that of the request or of its answer, whichever is larger, estimated from the
//! lengths of the arrays; an item that is larger than the limit on its own gets a frame of its own.
//! The order of items is kept.

use std::ops::Range;

use splatcheck_gpu::{BackwardInputs, Camera, ProjectBackwardInputs, ProjectInputs, RasterInputs};

/// Bytes of header and metadata per job, and per setting of a job (measured: about 1.6 and 0.5 KiB).
const JOB_HEADER: usize = 2048;
const SETTING_HEADER: usize = 512;
/// Bytes of an f32, u32 or i32.
const WORD: usize = 4;

/// A run of settings of one backward job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Index of the job.
    pub job: usize,
    /// Which of its settings.
    pub settings: Range<usize>,
}

fn raster_bytes(inputs: &RasterInputs) -> usize {
    let words = inputs.means2d.len() * 2
        + inputs.conics.len() * 3
        + inputs.opacities.len()
        + inputs.colors.len()
        + inputs.background.len()
        + inputs.tile_offsets.len()
        + inputs.flatten_ids.len();
    JOB_HEADER + words * WORD
}

fn project_bytes(inputs: &ProjectInputs) -> usize {
    let words = 11 * inputs.len()
        + inputs.colors.values().len()
        + inputs.cameras.len() * size_of::<Camera>() / WORD;
    JOB_HEADER + words * WORD
}

/// The size of a forward rasterization and its answer.
#[must_use]
pub fn rasterize(inputs: &RasterInputs) -> usize {
    let answer = inputs.pixels().saturating_mul(inputs.channels as usize + 3);
    raster_bytes(inputs).saturating_add(answer.saturating_mul(WORD))
}

/// The size of a forward projection and its answer.
#[must_use]
pub fn project(inputs: &ProjectInputs) -> usize {
    let answer = inputs.projections().saturating_mul(inputs.colors.channels() as usize + 11);
    project_bytes(inputs).saturating_add(answer.saturating_mul(WORD))
}

/// The sizes of a backward job.
#[derive(Clone, Copy, Debug)]
pub struct BackwardSize {
    /// Its inputs, which travel once with a run of settings.
    pub once: usize,
    /// The gradients of one setting.
    pub each: usize,
    /// How many settings there are.
    pub settings: usize,
}

/// The sizes of a backward rasterization.
#[must_use]
pub fn rasterize_backward(input: &BackwardInputs, settings: usize) -> BackwardSize {
    let image = input.render_transmittance.len()
        + input.last_ids.len()
        + input.v_render_colors.len()
        + input.v_render_alphas.len();
    BackwardSize {
        once: raster_bytes(&input.raster) + WORD * image,
        each: SETTING_HEADER + WORD * (6 * input.raster.len() + input.raster.colors.len()),
        settings,
    }
}

/// The sizes of a backward projection.
#[must_use]
pub fn project_backward(input: &ProjectBackwardInputs, settings: usize) -> BackwardSize {
    let project = &input.project;
    let rows = 6 * input.v_opacities.len() + input.v_colors.len();
    let gradients = 11 * project.len() + project.colors.values().len() + 16 * project.cameras.len();
    BackwardSize {
        once: project_bytes(project) + WORD * rows,
        each: SETTING_HEADER + WORD * gradients,
        settings,
    }
}

/// Cuts forward jobs of these sizes into runs.
#[must_use]
pub fn forward(sizes: impl IntoIterator<Item = usize>, limit: usize) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut used = 0;
    for (i, size) in sizes.into_iter().enumerate() {
        match runs.last_mut() {
            Some(run) if size <= limit.saturating_sub(used) => {
                run.end = i + 1;
                used += size;
            }
            _ => {
                runs.push(i..i + 1);
                used = size;
            }
        }
    }
    runs
}

/// Cuts backward jobs into frames of pieces. A job's settings may be spread over several frames,
/// its inputs then travel with each. Jobs without settings are left out.
#[must_use]
pub fn backward(jobs: impl IntoIterator<Item = BackwardSize>, limit: usize) -> Vec<Vec<Piece>> {
    let mut frames: Vec<Vec<Piece>> = Vec::new();
    let mut used = 0;
    for (job, BackwardSize { once, each, settings }) in jobs.into_iter().enumerate() {
        for setting in 0..settings {
            let room = limit.saturating_sub(used);
            match frames.last_mut() {
                Some(frame) if setting > 0 && each <= room => {
                    if let Some(piece) = frame.last_mut() {
                        piece.settings.end = setting + 1;
                    }
                    used += each;
                }
                Some(frame) if setting == 0 && once + each <= room => {
                    frame.push(Piece { job, settings: 0..1 });
                    used += once + each;
                }
                _ => {
                    frames.push(vec![Piece { job, settings: setting..setting + 1 }]);
                    used = once + each;
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
    use splatcheck_gpu::{BackwardConfig, Engine};

    /// Every setting of every job once and in order, whatever the limit.
    #[test]
    fn backward_frames_cover_everything_in_order() {
        let inputs: Vec<_> = (0..5).map(samples::backward_inputs).collect();
        let sizes = || inputs.iter().enumerate().map(|(i, x)| rasterize_backward(x, i * 3));
        let all: Vec<_> = sizes()
            .enumerate()
            .flat_map(|(j, job)| (0..job.settings).map(move |s| (j, s)))
            .collect();
        for limit in [0, 1, 3000, 5000, 10_000, usize::MAX] {
            let frames = backward(sizes(), limit);
            let covered: Vec<_> = frames
                .iter()
                .flatten()
                .flat_map(|piece| piece.settings.clone().map(|s| (piece.job, s)))
                .collect();
            assert_eq!(covered, all, "limit {limit}");
            assert!(frames.iter().all(|frame| !frame.is_empty()), "an empty frame at {limit}");
        }
        assert_eq!(backward(sizes(), usize::MAX).len(), 1, "one frame holds everything");
        assert_eq!(backward(sizes(), 0).len(), all.len(), "a frame for every setting");
    }

    #[test]
    fn forward_runs_cover_everything_in_order() {
        let inputs: Vec<_> = (0..7).map(samples::raster_inputs).collect();
        let sizes = || inputs.iter().map(rasterize);
        for (limit, runs) in [(0, 7), (usize::MAX, 1)] {
            let cut = forward(sizes(), limit);
            assert_eq!(cut.len(), runs, "limit {limit}");
            let covered: Vec<_> = cut.into_iter().flatten().collect();
            assert_eq!(covered, (0..7).collect::<Vec<_>>(), "limit {limit}");
        }
        assert!(forward([], 10).is_empty(), "nothing to send");
    }

    #[test]
    fn the_estimates_are_not_below_the_frames() {
        let mut engine = samples::FakeEngine::default();
        let sweep = BackwardConfig::sweep(8);
        for n in [2, 3, 200] {
            let raster = samples::backward_inputs(n);
            let jobs = [(&raster, sweep.as_slice())];
            let request = RequestRef::RasterizeBackward(&jobs);
            let answer = Answer::RasterizeBackward(engine.rasterize_backward(&jobs).unwrap());
            let sent = encode_request(request).unwrap().len();
            let back = encode_response(request, &Ok(answer)).unwrap().len();
            let size = rasterize_backward(&raster, sweep.len());
            assert!(sent <= size.once, "{n}: {sent} > {}", size.once);
            assert!(back <= size.once + size.each * sweep.len(), "{n}: {back}, {size:?}");

            let project = samples::project_backward_inputs(n);
            let jobs = [(&project, sweep.as_slice())];
            let request = RequestRef::ProjectBackward(&jobs);
            let answer = Answer::ProjectBackward(engine.project_backward(&jobs).unwrap());
            let sent = encode_request(request).unwrap().len();
            let back = encode_response(request, &Ok(answer)).unwrap().len();
            let size = project_backward(&project, sweep.len());
            assert!(sent <= size.once, "{n}: {sent} > {}", size.once);
            assert!(back <= size.once + size.each * sweep.len(), "{n}: {back}, {size:?}");

            let request = RequestRef::Project(&[&project.project]);
            let answer = Answer::Project(engine.project(&[&project.project]).unwrap());
            let sent = encode_request(request).unwrap().len();
            let back = encode_response(request, &Ok(answer)).unwrap().len();
            assert!(sent.max(back) <= super::project(&project.project), "{n}: {sent}, {back}");
        }
    }
}
