//! What every engine promises: run a stage, or say why it could not.

use crate::reduction::{Reduction, Setting, ThresholdError};
use crate::stages::Stage;
use crate::tensor::{TensorError, Tensors};
use crate::timing::Timing;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What outputs hold before a kernel runs: a NaN with a telling payload, and no valid `last_ids`.
pub const POISON: u32 = 0x7fc0_dead;

/// How an engine adds f32 values in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FloatAtomics {
    /// A native atomic float addition.
    Native,
    /// A compare-exchange loop on the bit pattern.
    CompareExchange,
}

/// How an engine reaches its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    /// WGSL through wgpu.
    Wgpu,
    /// PTX through the CUDA driver.
    Cuda,
    /// PTX through the emulator.
    Emulator,
    /// A user's program, by files: whatever it runs on.
    Command,
}

/// What the language of an engine's kernels promises of its arithmetic: whose bounds hold. An engine
/// that names none of these is refused when its answer is read, never judged as another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arithmetic {
    /// WGSL's accuracies.
    Wgsl,
    /// CUDA's without `--use_fast_math`.
    Cuda,
    /// CUDA's with it.
    CudaFast,
    /// IEEE 754's, every operation correctly rounded: no kernel language, but a program's own word.
    Ieee,
}

/// How many steps a driver lets the loops of a kernel make before it leaves them, without a word.
/// Mesa's lavapipe is the one that is known to: it counts the steps of all loops of a subgroup
/// together, also the last one of each loop, at which it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoopLimit {
    /// It was not measured: kernels in PTX run as they are.
    #[default]
    NotMeasured,
    /// There is none up to this many steps.
    NoneUpTo(u64),
    /// This many in all loops of a subgroup together.
    InAll(u64),
    /// This many in each loop by itself.
    OfEach(u64),
}

impl LoopLimit {
    /// The limit, if one was found.
    #[must_use]
    pub fn steps(self) -> Option<u64> {
        match self {
            Self::NotMeasured | Self::NoneUpTo(_) => None,
            Self::InAll(steps) | Self::OfEach(steps) => Some(steps),
        }
    }

    /// Whether a kernel that makes up to so many steps may be left before its end.
    #[must_use]
    pub fn may_cut(self, steps: u64) -> bool {
        // A few steps belong to the guard (`wgsl::guard`).
        self.steps().is_some_and(|limit| steps.saturating_add(Self::MARGIN) > limit)
    }

    /// Steps of a limit that a kernel's bound must stay below it.
    pub(crate) const MARGIN: u64 = 8;
}

impl fmt::Display for LoopLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMeasured => f.pad("not measured"),
            Self::NoneUpTo(steps) => f.pad(&format!("none to {steps} steps")),
            Self::InAll(steps) => f.pad(&format!("{steps} steps in all")),
            Self::OfEach(steps) => f.pad(&format!("{steps} steps a loop")),
        }
    }
}

/// What is known of the device behind an engine. Recorded in every report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// The adapter's own name.
    pub adapter: String,
    /// Driver name and version, as the driver tells them.
    pub driver: String,
    /// Graphics interface ("vulkan", "metal", ...), or what stands for it.
    pub backend: String,
    /// How the device is reached.
    pub kind: EngineKind,
    /// Whose bounds hold for its kernels.
    pub arithmetic: Arithmetic,
    /// Lanes that execute together, measured by a kernel on the device.
    pub lane_width: u32,
    /// How the backward kernel adds to memory.
    pub float_atomics: FloatAtomics,
    /// Whether exp(+0) and exp(-0) give exactly 1 there, measured by a kernel on the device:
    /// the specifications allow 3 ulp, and knife edges at power = 0 are decided only if it is so.
    pub exp_of_zero_is_one: bool,
    /// How many steps the driver lets a kernel's loops make, measured by a kernel on the device.
    #[serde(default)]
    pub loop_limit: LoopLimit,
}

/// An element of which two runs of one kernel on one input gave different bits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherBits {
    /// The output and the element's index, as in `NumPy`.
    pub element: String,
    /// The number in both runs, with its bits.
    pub seen: [String; 2],
    /// The two runs.
    pub runs: [String; 2],
    /// How many elements differ between them.
    pub elements: usize,
}

impl fmt::Display for OtherBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { element, seen: [a, b], runs: [under_a, under_b], elements } = self;
        write!(f, "{element} is {a} under {under_a} and {b} under {under_b}")?;
        match elements {
            0 | 1 => Ok(()),
            _ => write!(f, "; {elements} elements differ"),
        }
    }
}

/// Why an engine gave no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum EngineError {
    /// There is no usable device.
    #[error("no device: {0}")]
    NoDevice(String),
    /// The device lacks something the kernels need.
    #[error("{adapter}: missing {what}")]
    Missing {
        /// The adapter.
        adapter: String,
        /// The missing feature or limit.
        what: String,
    },
    /// A kernel did not compile.
    #[error("kernel {kernel}: {message}")]
    Compile {
        /// Kernel name.
        kernel: String,
        /// The compiler's words.
        message: String,
    },
    /// The inputs contradict each other or exceed what the kernels are written for.
    #[error("invalid input: {0}")]
    Input(String),
    /// A threshold is out of range.
    #[error(transparent)]
    Threshold(#[from] ThresholdError),
    /// The device ran out of memory, was lost, or is not to be had.
    #[error("device not available: {0}")]
    Unavailable(String),
    /// The driver left the kernel's loops before their end, or may have: what came back is not the
    /// kernel's result. Nothing is said of the kernel, which may need so many steps here.
    #[error(
        "the driver's loop limit ({limit} steps; this case needs up to {needs}): what the kernel \
         returns is not its result"
    )]
    LoopLimit {
        /// Steps after which the driver leaves the loops.
        limit: u64,
        /// Steps that the kernel makes at most.
        needs: u64,
    },
    /// The inputs or outputs are more than the device, or the way to it, takes.
    #[error("too large: {0}")]
    TooLarge(String),
    /// A kernel faulted, or the device reported another error.
    #[error("device failed: {0}")]
    Device(String),
    /// A kernel was given up after the time that it had: perhaps it never ends.
    #[error("{0}")]
    NoEnd(String),
    /// The same run was made more than once and gave different results.
    #[error("not deterministic: {0}")]
    NotDeterministic(Box<OtherBits>),
    /// A user's program answered, and its answer is no result. It can be asked again.
    #[error("{0}")]
    Refused(String),
    /// A user's program gave no answer, and is gone.
    #[error("{0}")]
    Ended(String),
}

impl EngineError {
    /// Whether a limit of the device or its driver stood in the way of one run: another may be within.
    #[must_use]
    pub fn is_a_limit(&self) -> bool {
        match self {
            Self::LoopLimit { .. } | Self::TooLarge(_) => true,
            Self::NoDevice(_)
            | Self::Missing { .. }
            | Self::Compile { .. }
            | Self::Input(_)
            | Self::Threshold(_)
            | Self::Unavailable(_)
            | Self::Device(_)
            | Self::NoEnd(_)
            | Self::NotDeterministic(_)
            | Self::Refused(_)
            | Self::Ended(_) => false,
        }
    }

    /// Whether this says something of the machine and nothing of a kernel's correctness: no device,
    /// something it lacks, a kernel that is not the project's, that its driver does not take or whose
    /// loops it leaves.
    #[must_use]
    pub fn is_of_the_machine(&self) -> bool {
        match self {
            Self::NoDevice(_)
            | Self::Missing { .. }
            | Self::Compile { .. }
            | Self::LoopLimit { .. }
            | Self::TooLarge(_)
            | Self::Unavailable(_) => true,
            Self::Input(_)
            | Self::Threshold(_)
            | Self::Device(_)
            | Self::NoEnd(_)
            | Self::NotDeterministic(_)
            | Self::Refused(_)
            | Self::Ended(_) => false,
        }
    }
}

impl From<TensorError> for EngineError {
    /// Arrays that a caller handed over; what an engine returned is [`EngineError::output`].
    fn from(error: TensorError) -> Self {
        Self::Input(error.to_string())
    }
}

impl EngineError {
    /// An engine's own arrays that are not what its stage says.
    #[must_use]
    pub fn output(error: impl Into<TensorError>) -> Self {
        Self::Device(format!("its answer does not fit the stage: {}", error.into()))
    }
}

/// Inputs of a stage, and the settings to run it with: `None` for a stage that reduces nothing.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The arrays that the stage's table lists.
    pub inputs: &'a Tensors,
    /// The settings.
    pub settings: &'a [Option<Setting>],
}

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
