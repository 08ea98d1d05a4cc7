//! Runs: the jobs of a stage one after another, each as often as its launches are made in one process.

use std::sync::Arc;

use super::super::noted::Unending;
use super::EmulatorEngine;
use crate::engine::{DeviceInfo, Engine, EngineError, Work};
use crate::ptx_host::PtxJob;
use crate::reduction::Reduction;
use crate::stage::StageSpec;
use crate::stages::Stage;
use crate::tensor::Tensors;

impl Engine for EmulatorEngine {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn reduces_by(&self, stage: Stage, reduction: Reduction) -> bool {
        self.has(stage.spec(), reduction)
    }

    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError> {
        stage.spec().in_launches(work, |row, work| self.run_row(row, work))
    }
}

impl EmulatorEngine {
    /// Makes a run: `once` makes its launches, on fresh buffers, so often as the options say.
    pub(in crate::emulator) fn in_one_process(
        &mut self,
        mut once: impl FnMut(&mut Self) -> Result<Tensors, EngineError>,
    ) -> Result<Tensors, EngineError> {
        self.begin_anew();
        let mut outputs = once(self);
        for number in 2..=self.options.launches {
            if outputs.is_err() || !self.memory.has_changed_variables() {
                break;
            }
            self.memory.free_buffers();
            outputs = once(self).map_err(|error| in_launch(number, error));
        }
        if self.memory.has_changed_variables() {
            self.noted.variables_changed();
        }
        if matches!(outputs, Err(EngineError::NoEnd(_))) {
            self.noted.given_up();
        }
        outputs
    }

    /// Launches a row on every job with every one of its settings.
    pub(super) fn run_row(
        &mut self,
        row: &'static StageSpec,
        work: &[Work<'_>],
    ) -> Result<Vec<Vec<Tensors>>, EngineError> {
        let has = |reduction| self.has(row, reduction);
        // A program with a host side of its own may be given more than the stage has.
        let foreign = self.foreign.keys().any(|(stage, _)| *stage == row.name);
        let is_port = |name: &str| row.inputs.iter().any(|port| port.name == name);
        let ports: Vec<_> = match foreign {
            true => work.iter().map(|job| job.inputs.clone().only(is_port)).collect(),
            false => Vec::new(),
        };
        let checked = work.iter().zip(&ports).map(|(job, inputs)| Work { inputs, ..*job });
        let checked: Vec<_> = if foreign { checked.collect() } else { work.to_vec() };
        if !foreign {
            work.iter().try_for_each(|job| row.check_built_in(job.inputs))?;
        }
        let sizes = row.check_work_by(&checked, self.info.lane_width, &has)?;
        let mut results = Vec::with_capacity(work.len());
        for (&Work { inputs, settings }, sizes) in work.iter().zip(&sizes) {
            let most = self.options.observers.budget;
            if let Some([any_job, every_element]) = self.budget_by_size {
                let budget = every_element.saturating_mul(sizes.largest() as u64);
                self.options.observers.budget = most.min(budget.saturating_add(any_job));
            }
            let job = |&setting| PtxJob { stage: row, inputs, sizes, setting };
            let outputs = settings.iter().map(|setting| self.run_job(job(setting)));
            let outputs = outputs.collect::<Result<_, _>>();
            self.options.observers.budget = most;
            results.push(outputs?);
        }
        Ok(results)
    }

    /// One run. One that did not end is not made again to learn the same.
    fn run_job(&mut self, job: PtxJob<'_>) -> Result<Tensors, EngineError> {
        let PtxJob { stage, inputs, setting, .. } = job;
        let limited = self.options.time.is_some() && self.decisions.is_empty();
        let (row, schedule) = (stage.name, self.options.schedule.clone());
        if limited
            && let Some((error, fault)) = self.noted.unending(row, setting, inputs, &schedule)
        {
            self.fault = Some(fault);
            return Err(error);
        }
        let place = (row, setting.map(|setting| setting.reduction));
        let outputs = match self.foreign.get(&place).map(Arc::clone) {
            Some(program) => self.run_foreign(program.as_ref(), inputs),
            None => self.in_one_process(|engine| job.run(engine)),
        };
        if limited
            && let (Err(error @ EngineError::NoEnd(_)), Some(fault)) = (&outputs, &self.fault)
        {
            let (inputs, error, fault) = (inputs.clone(), error.clone(), fault.clone());
            self.noted.no_end(Unending { row, setting, inputs, schedule, error, fault });
        }
        outputs
    }

    /// Whether it has a kernel of a row with a reduction.
    fn has(&self, row: &StageSpec, reduction: Reduction) -> bool {
        let place = (row.name, Some(reduction));
        row.reduces_by(reduction)
            || self.replaced.contains_key(&place)
            || self.foreign.contains_key(&place)
    }
}

/// The error of a launch that is not the first of its process.
fn in_launch(number: u32, error: EngineError) -> EngineError {
    match error {
        EngineError::Device(text) => EngineError::Device(format!(
            "{text} (in launch {number} of one process: the module's variables hold what the launch before \
             left in them)"
        )),
        other => other,
    }
}
