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
    /// See [`crate::Engine::time`]. Sums start over before each run and outside of the time.
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
            self.timed(&job, &mut prepared)?;
            let runs = (0..repeats).map(|_| self.timed(&job, &mut prepared));
            milliseconds.push(runs.collect::<Result<_, _>>()?);
        }
        Ok(Timing { milliseconds, peak: self.peak })
    }

    /// One launch; the time is that of the kernel by the device's events.
    fn timed(
        &mut self,
        job: &PtxJob<'_>,
        prepared: &mut Prepared<CudaSlice<u32>>,
    ) -> Result<f32, EngineError> {
        self.start_over(job, &mut prepared.outputs)?;
        let stage = job.stage;
        let failed = failed(stage.name);
        let kernel = self.kernel(prepared.artifact)?;
        let (record, config) = (Record::new(&prepared.record), config(prepared.geometry));
        let mut launch = self.stream.launch_builder(&kernel);
        launch.record_kernel_launch(CUevent_flags::CU_EVENT_DEFAULT);
        arguments(&mut launch, &record, prepared);
        // SAFETY: as for a launch without a clock, see `PtxDevice::launch`.
        let events = unsafe { launch.launch(config) }.map_err(&failed)?;
        let (start, end) = events.ok_or_else(|| {
            EngineError::Device(format!("{}: no events were recorded", stage.name))
        })?;
        start.elapsed_ms(&end).map_err(&failed)
    }

    /// Gives what a kernel adds to the values that it had before the first run, so that every run
    /// adds the same to the same; a kernel writes the other outputs whatever they hold.
    fn start_over(
        &mut self,
        job: &PtxJob<'_>,
        outputs: &mut [CudaSlice<u32>],
    ) -> Result<(), EngineError> {
        for (buffer, array) in job.stage.ptx.buffers.outputs.iter().zip(outputs) {
            match buffer.role(job.stage.outputs) {
                Role::Accumulate => {
                    self.stream.memset_zeros(array).map_err(failed(buffer.name))?;
                }
                Role::AccumulateOnto(start) => {
                    let start = job.inputs.get(start)?.words();
                    self.stream.memcpy_htod(start, array).map_err(failed(buffer.name))?;
                }
                Role::Write | Role::Read | Role::Size(_) => {}
            }
        }
        Ok(())
    }
}
