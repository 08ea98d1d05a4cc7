//! Times of a stage, by the device's events.

use super::failure::failed;
use super::{CudaEngine, Record, arguments, config};
use crate::engine::{EngineError, Work};
use crate::ptx_host::{Prepared, PtxJob};
use crate::stage::{Role, Sizes};
use crate::stages::Stage;
use crate::timing::Timing;
use cudarc::driver::CudaSlice;
use cudarc::driver::sys::CUevent_flags;

impl CudaEngine {
    /// See [`crate::Engine::time`]. Sums are zeroed before each run and outside of the time.
    pub(super) fn time_all(
        &mut self,
        stage: Stage,
        work: Work<'_>,
        sizes: &Sizes,
        repeats: u32,
    ) -> Result<Timing, EngineError> {
        let mut milliseconds = Vec::with_capacity(work.settings.len());
        for &setting in work.settings {
            let job = PtxJob { stage: stage.spec(), inputs: work.inputs, sizes, setting };
            let mut prepared = job.prepare(self)?;
            self.timed(stage, &mut prepared)?;
            let runs = (0..repeats).map(|_| self.timed(stage, &mut prepared));
            milliseconds.push(runs.collect::<Result<_, _>>()?);
        }
        Ok(Timing { milliseconds, peak: self.peak })
    }

    /// One launch; the time is that of the kernel by the device's events.
    fn timed(
        &mut self,
        stage: Stage,
        job: &mut Prepared<CudaSlice<u32>>,
    ) -> Result<f32, EngineError> {
        for (buffer, array) in stage.ptx.buffers.outputs.iter().zip(&mut job.outputs) {
            match buffer.role(stage.outputs) {
                Role::Accumulate | Role::AccumulateOnto(_) => {
                    self.stream.memset_zeros(array).map_err(failed(buffer.name))?;
                }
                Role::Write | Role::Read | Role::Size(_) => {}
            }
        }
        let failed = failed(stage.name);
        let kernel = self.kernel(job.artifact)?;
        let (record, config) = (Record::new(&job.record), config(job.geometry));
        let mut launch = self.stream.launch_builder(&kernel);
        launch.record_kernel_launch(CUevent_flags::CU_EVENT_DEFAULT);
        arguments(&mut launch, &record, job);
        // SAFETY: as for a launch without a clock, see `PtxDevice::launch`.
        let events = unsafe { launch.launch(config) }.map_err(&failed)?;
        let (start, end) = events.ok_or_else(|| {
            EngineError::Device(format!("{}: no events were recorded", stage.name))
        })?;
        start.elapsed_ms(&end).map_err(&failed)
    }
}
