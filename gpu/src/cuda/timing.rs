//! Times of a stage, by the device's events.

use super::failure::failed;
use super::{CudaEngine, Record, arguments, config};
use crate::engine::{EngineError, Work};
use crate::ptx_host::{Prepared, PtxJob};
use crate::reduction::Setting;
use crate::stage::{ExtraLaunches, Role, Sizes};
use crate::stages::Stage;
use crate::tensor::Tensors;
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
            let twice = stage.spec().extra_launches(setting.map(|setting| setting.reduction));
            milliseconds.push(match twice {
                None => {
                    let job = PtxJob { stage: stage.spec(), inputs: work.inputs, sizes, setting };
                    self.times(&job, repeats)?
                }
                Some(twice) => self.times_of_own(twice, (work.inputs, setting), repeats)?,
            });
        }
        Ok(Timing { milliseconds, peak: self.peak })
    }

    /// So many launches of one kernel, after one that is not counted.
    fn times(&mut self, job: &PtxJob<'_>, repeats: u32) -> Result<Vec<f32>, EngineError> {
        let mut prepared = job.prepare(self)?;
        self.timed(job, &mut prepared)?;
        (0..repeats).map(|_| self.timed(job, &mut prepared)).collect()
    }

    /// The same of a reduction's own launches, one after the other: the sum of their times. What the host
    /// derives and what lies between them is not counted.
    fn times_of_own(
        &mut self,
        twice: &ExtraLaunches,
        (inputs, setting): (&Tensors, Option<Setting>),
        repeats: u32,
    ) -> Result<Vec<f32>, EngineError> {
        let derived = (twice.derive)(inputs)?;
        let first = twice.of_first(inputs, &derived)?;
        let sizes = &twice.first.sizes(&first)?;
        let job = PtxJob { stage: twice.first, inputs: &first, sizes, setting };
        let written = job.run(self)?;
        let of_first = self.times(&job, repeats)?;
        let second = twice.of_second(inputs, &derived, &written)?;
        let Some((stage, second)) = second else { return Ok(of_first) };
        let sizes = &stage.sizes(&second)?;
        let job = PtxJob { stage, inputs: &second, sizes, setting: None };
        let of_second = self.times(&job, repeats)?;
        Ok(of_first.iter().zip(of_second).map(|(first, second)| first + second).collect())
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
                Role::Write
                | Role::MayWrite
                | Role::Read
                | Role::MayRead
                | Role::BuiltIn(_)
                | Role::Size(_) => {}
            }
        }
        Ok(())
    }
}
