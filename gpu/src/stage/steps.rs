//! How many steps the loops of a WGSL kernel make at most: what a driver's loop limit
//! ([`LoopLimit`](crate::engine::LoopLimit)) is compared with.
//!
//! A *step* is one turn of a loop of a subgroup, while at least one of its lanes is in it, as lavapipe
//! counts them: the turn in which the loop's condition fails is one too, and a loop in a branch that no
//! lane takes makes one. So `for` over n things makes n + 1 ([`over`]), and a loop within makes its own
//! steps at every turn. A compiler that unrolls a loop makes fewer. Each stage has its bound beside its
//! table; `wgpu::tests::on_device` measures that the kernels stay within theirs.

use super::{Sizes, StageSpec};
use crate::device::{DeviceInfo, FloatAtomics};
use crate::error::EngineError;
use crate::reduction::Setting;
use crate::tensor::{TensorError, Tensors};

/// One launch, as far as the number of its loops' steps depends on it.
#[derive(Clone, Copy, Debug)]
pub struct LoopRun<'a> {
    /// The inputs.
    pub inputs: &'a Tensors,
    /// Their sizes.
    pub sizes: &'a Sizes,
    /// The setting; `None` for a stage that reduces nothing.
    pub setting: Option<Setting>,
    /// Lanes of a subgroup.
    pub lane_width: u32,
    /// How floats are added in memory.
    pub atomics: FloatAtomics,
    /// Lanes of the whole launch.
    pub lanes: u64,
}

/// Steps of a loop over so many things, each of which takes `each` steps of loops within.
#[must_use]
pub(crate) fn over(things: u64, each: u64) -> u64 {
    things.saturating_mul(each.saturating_add(1)).saturating_add(1)
}

impl LoopRun<'_> {
    /// A size.
    pub(crate) fn size(&self, symbol: &str) -> u64 {
        self.sizes.get(symbol) as u64
    }

    /// Steps of adding one value in memory (`add` in `atomic_native.wgsl`, `atomic_cas.wgsl`). An
    /// exchange fails only where another lane's came between, and each lane of the launch adds once to
    /// a number, so that at most all of them fail one after another.
    pub(crate) fn add(&self) -> u64 {
        match self.atomics {
            FloatAtomics::Native => 0,
            FloatAtomics::CompareExchange => self.lanes,
        }
    }
}

impl StageSpec {
    /// A bound of the loop steps of a subgroup in one run on a device, [`u64::MAX`] where it is beyond
    /// what can be counted.
    ///
    /// # Errors
    /// [`EngineError::Input`] for inputs that are not those of the stage.
    pub fn loop_steps(
        &self,
        inputs: &Tensors,
        sizes: &Sizes,
        setting: Option<Setting>,
        device: &DeviceInfo,
    ) -> Result<u64, EngineError> {
        let [x, y] = self.workgroups(sizes)?;
        let lanes = u64::from(x)
            * u64::from(y)
            * u64::from(self.workgroup_size(setting.map(|setting| setting.reduction)));
        let DeviceInfo { lane_width, float_atomics: atomics, .. } = *device;
        let run = LoopRun { inputs, sizes, setting, lane_width, atomics, lanes };
        Ok((self.wgsl.loop_steps)(&run).map_err(|error: TensorError| error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_within_loops_multiply() {
        assert_eq!(over(0, 7), 1, "the turn that ends it");
        assert_eq!(over(3, 0), 4, "three turns and the one that ends it");
        assert_eq!(over(3, over(2, 0)), 3 * 4 + 1, "a loop within");
        assert_eq!(over(u64::MAX, u64::MAX), u64::MAX, "more than can be counted");
    }
}
