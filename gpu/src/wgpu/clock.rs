//! Times of dispatches, by the device's timestamps: one before and one after each, in a pass of its own.

use wgpu::{
    Buffer, BufferDescriptor, BufferUsages, CommandEncoder, ComputePassTimestampWrites, MapMode,
    QUERY_RESOLVE_BUFFER_ALIGNMENT, QUERY_SET_MAX_QUERIES, QUERY_SIZE, QuerySet,
    QuerySetDescriptor, QueryType,
};

use super::device::Gpu;
use crate::engine::EngineError;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_milliseconds() {
        assert_eq!(milliseconds([1_000, 3_000], 500.0), Ok(1.0));
        let error = milliseconds([3, 1], 1.0).expect_err("backwards").to_string();
        assert!(error.contains("backwards"), "{error}");
    }
}
