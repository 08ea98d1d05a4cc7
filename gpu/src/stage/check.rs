//! Whether a request fits its stage, checked before anything reaches a device.

use super::{Buffer, Buffers, Port, Role, Sizes, StageSpec};
use crate::error::EngineError;
use crate::reduction::{Reduction, Setting};
use crate::stage::Work;
use crate::tensor::Tensors;

impl StageSpec {
    /// Checks inputs: types, shapes, what the kernels' 32-bit indices reach, and what else the stage
    /// demands of them.
    ///
    /// # Errors
    /// [`EngineError::Input`] that names the array, what was found and what was expected.
    pub fn check_inputs(&self, inputs: &Tensors) -> Result<Sizes, EngineError> {
        let sizes = self.sizes(inputs)?;
        for Buffers { inputs, outputs } in [self.wgsl.buffers, self.ptx.buffers] {
            for (buffers, ports) in [(inputs, self.inputs), (outputs, self.outputs)] {
                buffers.iter().try_for_each(|buffer| within_reach(buffer, ports, &sizes))?;
            }
        }
        (self.check)(inputs, &sizes)?;
        Ok(sizes)
    }

    /// Checks every job and every one of its settings; the sizes of each.
    ///
    /// # Errors
    /// As [`Self::check_inputs`]; [`EngineError::Input`] for a reduction that the stage does not have,
    /// [`EngineError::Threshold`] for a threshold that is out of range, [`EngineError::TooLarge`] for a
    /// reduction that is not for a job of these sizes ([`Self::is_beyond`]).
    pub fn check_work(
        &self,
        work: &[Work<'_>],
        lane_width: u32,
    ) -> Result<Vec<Sizes>, EngineError> {
        work.iter().try_for_each(|job| self.check_built_in(job.inputs))?;
        self.check_work_by(work, lane_width, &|reduction| self.reduces_by(reduction))
    }

    /// Whether inputs are those that our kernels are written for.
    ///
    /// # Errors
    /// [`EngineError::Input`] for a number that is another than theirs.
    pub fn check_built_in(&self, inputs: &Tensors) -> Result<(), EngineError> {
        for port in self.inputs {
            if let Role::BuiltIn(own) = port.role
                && let Some(&found) = inputs.u32(port.name)?.first()
                && found != own
            {
                let name = port.name;
                return Err(EngineError::Input(format!(
                    "{name} is {found}: the kernels are written for {own}"
                )));
            }
        }
        Ok(())
    }

    /// As [`Self::check_work`], for an engine that `has` kernels for these reductions, and maybe not ours.
    ///
    /// # Errors
    /// As [`Self::check_work`].
    pub(crate) fn check_work_by(
        &self,
        work: &[Work<'_>],
        lane_width: u32,
        has: &dyn Fn(Reduction) -> bool,
    ) -> Result<Vec<Sizes>, EngineError> {
        work.iter()
            .map(|job| {
                job.settings
                    .iter()
                    .try_for_each(|&setting| self.check_setting(setting, lane_width, has))?;
                let sizes = self.check_inputs(job.inputs)?;
                let mut reductions = job.settings.iter().flatten().map(|setting| setting.reduction);
                match reductions.find_map(|reduction| self.is_beyond(reduction, &sizes)) {
                    Some(reason) => Err(EngineError::TooLarge(reason)),
                    None => Ok(sizes),
                }
            })
            .collect()
    }

    fn check_setting(
        &self,
        setting: Option<Setting>,
        lane_width: u32,
        has: &dyn Fn(Reduction) -> bool,
    ) -> Result<(), EngineError> {
        match setting {
            None if !self.accumulates() => Ok(()),
            None => Err(EngineError::Input(format!(
                "{} adds to memory and needs a reduction: one of {}",
                self.name,
                self.reduction_names()
            ))),
            Some(setting) if !self.accumulates() => Err(EngineError::Input(format!(
                "{} reduces nothing and has no reduction {}",
                self.name, setting.reduction
            ))),
            Some(setting) if !has(setting.reduction) => Err(EngineError::Input(format!(
                "{} has no reduction {}: expected one of {}",
                self.name,
                setting.reduction,
                self.reduction_names()
            ))),
            Some(setting) if setting.reduction.has_threshold() => {
                setting.check(lane_width)?;
                Ok(())
            }
            Some(_) => Ok(()),
        }
    }

    fn reduction_names(&self) -> String {
        let names: Vec<_> = self.reductions().map(|reduction| reduction.name()).collect();
        names.join(", ")
    }
}

fn within_reach(buffer: &Buffer, ports: &[Port], sizes: &Sizes) -> Result<(), EngineError> {
    let words = buffer.words(ports, sizes);
    if u32::try_from(words).is_ok() {
        return Ok(());
    }
    Err(EngineError::Input(format!(
        "{} hold {words} numbers, more than the kernels' 32-bit indices reach",
        buffer.ports.join(", ")
    )))
}
