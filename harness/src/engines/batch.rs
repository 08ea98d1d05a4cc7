//! Cutting requests into frames of bounded size.
//!
//! A frame's size is that of the request or of its answer, whichever is larger, estimated from the
//! lengths of the arrays; an item that is larger than the limit on its own gets a frame of its own.
//! The order of items is kept.

use std::ops::Range;

use splat_gpu::{BackwardConfig, BackwardInputs, RasterInputs};

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

/// Cuts forward jobs into runs.
#[must_use]
pub fn forward(inputs: &[&RasterInputs], limit: usize) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut used = 0;
    for (i, input) in inputs.iter().enumerate() {
        let answer = input.pixels().saturating_mul(input.channels as usize + 3);
        let size = raster_bytes(input).saturating_add(answer.saturating_mul(WORD));
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
pub fn backward(jobs: &[(&BackwardInputs, &[BackwardConfig])], limit: usize) -> Vec<Vec<Piece>> {
    let mut frames: Vec<Vec<Piece>> = Vec::new();
    let mut used = 0;
    for (job, (input, settings)) in jobs.iter().enumerate() {
        let once = raster_bytes(&input.raster)
            + WORD
                * (input.render_transmittance.len()
                    + input.last_ids.len()
                    + input.v_render_colors.len()
                    + input.v_render_alphas.len());
        let each = SETTING_HEADER + WORD * (6 * input.raster.len() + input.raster.colors.len());
        for setting in 0..settings.len() {
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
    use super::super::protocol::samples;
    use super::*;

    /// Every setting of every job once and in order, whatever the limit.
    #[test]
    fn backward_frames_cover_everything_in_order() {
        let inputs: Vec<_> = (0..5).map(samples::backward_inputs).collect();
        let sweep = BackwardConfig::sweep(8);
        let jobs: Vec<_> =
            inputs.iter().enumerate().map(|(i, input)| (input, &sweep[..i * 3])).collect();
        let all: Vec<_> = jobs
            .iter()
            .enumerate()
            .flat_map(|(j, job)| (0..job.1.len()).map(move |s| (j, s)))
            .collect();
        for limit in [0, 1, 3000, 5000, 10_000, usize::MAX] {
            let frames = backward(&jobs, limit);
            let covered: Vec<_> = frames
                .iter()
                .flatten()
                .flat_map(|piece| piece.settings.clone().map(|s| (piece.job, s)))
                .collect();
            assert_eq!(covered, all, "limit {limit}");
            assert!(frames.iter().all(|frame| !frame.is_empty()), "an empty frame at {limit}");
        }
        assert_eq!(backward(&jobs, usize::MAX).len(), 1, "one frame holds everything");
        assert_eq!(backward(&jobs, 0).len(), all.len(), "a frame for every setting");
    }

    #[test]
    fn forward_runs_cover_everything_in_order() {
        let inputs: Vec<_> = (0..7).map(samples::raster_inputs).collect();
        let inputs: Vec<_> = inputs.iter().collect();
        for (limit, runs) in [(0, 7), (usize::MAX, 1)] {
            let cut = forward(&inputs, limit);
            assert_eq!(cut.len(), runs, "limit {limit}");
            let covered: Vec<_> = cut.into_iter().flatten().collect();
            assert_eq!(covered, (0..7).collect::<Vec<_>>(), "limit {limit}");
        }
        assert!(forward(&[], 10).is_empty(), "nothing to send");
    }
}
