//! Times of a stage, by the timestamps of its dispatches.

use wgpu::Features;

use super::WgpuEngine;
use crate::engine::{Engine, EngineError, Work, no_clock};
use crate::stages::Stage;
use crate::timing::Timing;

impl WgpuEngine {
    /// See [`crate::Engine::time`]. All runs of a setting are one call, so that inputs are uploaded once
    /// for those of a submission; of a reduction with several launches the times are added up.
    pub(super) fn time_all(
        &mut self,
        stage: Stage,
        work: Work<'_>,
        repeats: u32,
    ) -> Result<Timing, EngineError> {
        if !self.gpu.device.features().contains(Features::TIMESTAMP_QUERY) {
            return Err(no_clock(&self.info));
        }
        let runs = repeats as usize + 1;
        let mut all = Vec::with_capacity(work.settings.len());
        for &setting in work.settings {
            self.arenas.times = Some(Vec::new());
            let settings = vec![setting; runs];
            let ran = self.run(stage, &[Work { inputs: work.inputs, settings: &settings }]);
            let times = self.arenas.times.take().unwrap_or_default();
            ran?;
            all.push(added_up(&times, runs).ok_or_else(|| {
                EngineError::Device(format!("{} times for {runs} runs", times.len()))
            })?);
        }
        Ok(Timing { milliseconds: all, peak: None })
    }
}

/// The times of the runs, from those of their launches: of the first launch of each run, then of the
/// second of each. The first run is not counted.
fn added_up(launches: &[f32], runs: usize) -> Option<Vec<f32>> {
    let mut times = vec![0.0; runs];
    let all = launches.chunks_exact(runs);
    if launches.is_empty() || !all.remainder().is_empty() {
        return None;
    }
    for launch in all {
        times.iter_mut().zip(launch).for_each(|(time, launch)| *time += launch);
    }
    Some(times.split_off(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_all_launches_without_the_first_run() {
        assert_eq!(added_up(&[9.0, 1.0, 2.0], 3), Some(vec![1.0, 2.0]), "one launch");
        let two = [9.0, 1.0, 2.0, 9.0, 0.5, 0.25];
        assert_eq!(added_up(&two, 3), Some(vec![1.5, 2.25]), "two launches");
        assert_eq!(added_up(&two, 4), None, "a launch that is not whole");
        assert_eq!(added_up(&[], 4), None, "no launch");
    }
}
