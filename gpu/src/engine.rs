//! What every engine promises: run a stage, or say why it could not.

pub use crate::device::{Arithmetic, DeviceInfo, EngineKind, FloatAtomics, LoopLimit};
pub use crate::error::{EngineError, OtherBits};
pub use crate::stage::Work;

use crate::reduction::Reduction;
use crate::stage::Stage;
use crate::tensor::Tensors;
use crate::timing::Timing;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What outputs hold before a kernel runs: a NaN with a telling payload, and no valid `last_ids`.
pub const POISON: u32 = 0x7fc0_dead;

/// Whether an engine can run something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Support {
    /// It can.
    Yes,
    /// It cannot, for this reason: what it was not asked for is not exercised, and no failure.
    No(String),
}

/// A device that runs the stages.
pub trait Engine {
    /// The device.
    fn info(&self) -> &DeviceInfo;

    /// Whether it has a kernel of that stage and reduction.
    fn supports(&self, _stage: Stage, _reduction: Option<Reduction>) -> Support {
        Support::Yes
    }

    /// Whether a run of the stage may be asked for with that reduction: those of its own kernels. One
    /// that runs a user's kernel in their place has that one too, however it adds up.
    fn reduces_by(&self, stage: Stage, reduction: Reduction) -> bool {
        stage.reduces_by(reduction)
    }

    /// Runs a stage on every job with every one of its settings, in one submission where possible;
    /// the result is indexed `[job][setting]` and holds the outputs that the stage's table lists.
    ///
    /// # Errors
    /// Any [`EngineError`]; no partial result is returned.
    fn run(&mut self, stage: Stage, work: &[Work<'_>]) -> Result<Vec<Vec<Tensors>>, EngineError>;

    /// As [`Self::run`], every run made once, also by an engine that makes each more often to compare them.
    ///
    /// # Errors
    /// As there.
    fn run_once(
        &mut self,
        stage: Stage,
        work: &[Work<'_>],
    ) -> Result<Vec<Vec<Tensors>>, EngineError> {
        self.run(stage, work)
    }

    /// In how many parts it makes a run of the stage, of which it adds the results up; 1 where a run is whole.
    fn parts(&self, _stage: Stage) -> u32 {
        1
    }

    /// How often the engine's process ended, or had to be killed, in the middle of a request and was started
    /// again; 0 for an engine that has none.
    fn deaths(&self) -> u64 {
        0
    }

    /// Times a stage by the device's own clock: the kernel alone, `repeats` runs of every setting
    /// after one that is not counted, on inputs that lie on the device.
    ///
    /// # Errors
    /// [`EngineError::Missing`] for an engine without such a clock, else any [`EngineError`].
    fn time(
        &mut self,
        _stage: Stage,
        _work: Work<'_>,
        _repeats: u32,
    ) -> Result<Timing, EngineError> {
        Err(no_clock(self.info()))
    }
}

/// What an engine without a clock says.
pub(crate) fn no_clock(info: &DeviceInfo) -> EngineError {
    let what = "a clock that times one kernel".to_owned();
    EngineError::Missing { adapter: info.adapter.clone(), what }
}

/// Runs calls into a library and turns a panic of it into an error.
pub(crate) fn no_panic<T>(
    library: &str,
    call: impl FnOnce() -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    // What the call leaves behind is not used again for results: buffers are poisoned before every
    // use, and a lost device stays lost.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(EngineError::Device(format!("{library} panicked: {message}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let error = no_panic::<()>("wgpu", || panic!("in the driver")).expect_err("it panicked");
        assert_eq!(
            error,
            EngineError::Device("wgpu panicked: in the driver".to_owned()),
            "the message is kept"
        );
    }
}
