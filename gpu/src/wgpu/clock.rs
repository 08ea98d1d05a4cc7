//! Times of dispatches, by the device's timestamps: one before and one after each, in a pass of its own.

use wgpu::{
    Buffer, BufferDescriptor, BufferUsages, CommandEncoder, ComputePassTimestampWrites, Features,
    MapMode, QUERY_RESOLVE_BUFFER_ALIGNMENT, QUERY_SET_MAX_QUERIES, QUERY_SIZE, QuerySet,
    QuerySetDescriptor, QueryType,
};

use super::WgpuEngine;
use super::device::Gpu;
use crate::engine::{Engine, EngineError, Work, no_clock};
use crate::stages::Stage;
use crate::timing::Timing;

const LABEL: Option<&str> = Some("timestamps");

/// The timestamps of one submission.
#[derive(Debug)]
pub(super) struct Stamps {
    queries: QuerySet,
    /// Timestamps.
    count: u32,
    resolved: Buffer,
    readback: Buffer,
}

impl Stamps {
    /// Room for so many dispatches.
    pub(super) fn new(gpu: &Gpu, dispatches: usize) -> Result<Self, EngineError> {
        let count = u32::try_from(2 * dispatches).ok().filter(|&n| n <= QUERY_SET_MAX_QUERIES);
        let count = count.ok_or_else(|| {
            EngineError::TooLarge(format!(
                "{dispatches} runs at once: at most {} are timed together",
                QUERY_SET_MAX_QUERIES / 2
            ))
        })?;
        let size = (u64::from(count) * u64::from(QUERY_SIZE))
            .next_multiple_of(QUERY_RESOLVE_BUFFER_ALIGNMENT);
        let buffer = |usage| {
            let descriptor =
                BufferDescriptor { label: LABEL, size, usage, mapped_at_creation: false };
            gpu.device.create_buffer(&descriptor)
        };
        let descriptor = QuerySetDescriptor { label: LABEL, ty: QueryType::Timestamp, count };
        gpu.scoped("timestamps", || Self {
            queries: gpu.device.create_query_set(&descriptor),
            count,
            resolved: buffer(BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC),
            readback: buffer(BufferUsages::MAP_READ | BufferUsages::COPY_DST),
        })
    }

    /// What the pass of a dispatch writes.
    pub(super) fn of(&self, dispatch: u32) -> ComputePassTimestampWrites<'_> {
        ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(2 * dispatch),
            end_of_pass_write_index: Some(2 * dispatch + 1),
        }
    }

    /// Lets the timestamps be read once the commands are done.
    pub(super) fn resolve(&self, commands: &mut CommandEncoder) {
        commands.resolve_query_set(&self.queries, 0..self.count, &self.resolved, 0);
        commands.copy_buffer_to_buffer(&self.resolved, 0, &self.readback, 0, self.readback.size());
    }

    /// Asks for them; they are there after the submission was waited for.
    pub(super) fn map(&self) {
        // That it failed is seen when they are read.
        self.readback.slice(..).map_async(MapMode::Read, |_| ());
    }

    /// The time of each dispatch, milliseconds.
    pub(super) fn milliseconds(&self, gpu: &Gpu) -> Result<Vec<f32>, EngineError> {
        let view = self.readback.slice(..).get_mapped_range();
        let view =
            view.map_err(|e| EngineError::Device(format!("reading timestamps failed: {e}")))?;
        let ticks: Vec<u64> = bytemuck::pod_collect_to_vec(&view);
        let period = gpu.queue.get_timestamp_period();
        let pairs = ticks.chunks_exact(2).take(self.count as usize / 2);
        pairs.map(|pair| milliseconds([pair[0], pair[1]], period)).collect()
    }
}

/// From one timestamp to the next, of so many nanoseconds a tick.
fn milliseconds([start, end]: [u64; 2], period: f32) -> Result<f32, EngineError> {
    match end.checked_sub(start) {
        #[expect(clippy::cast_precision_loss, reason = "f32 tells seven digits of a time")]
        Some(ticks) => Ok(ticks as f32 * period / 1e6),
        None => Err(EngineError::Device(format!(
            "its clock runs backwards: {start} ticks before a kernel, {end} after it"
        ))),
    }
}

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

    #[test]
    fn ticks_become_milliseconds() {
        assert_eq!(milliseconds([1_000, 3_000], 500.0), Ok(1.0));
        let error = milliseconds([3, 1], 1.0).expect_err("backwards").to_string();
        assert!(error.contains("backwards"), "{error}");
    }
}
