//! Why an engine gave no result.

use crate::reduction::ThresholdError;
use crate::tensor::TensorError;
use serde::{Deserialize, Serialize};
use std::fmt;

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
    /// The launch is one that no device makes on this case, or has no values there: nothing is said of the kernel,
    /// which did not run.
    #[error("not launched: {0}")]
    NotLaunched(String),
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
    /// A kernel faulted, or the device reported another error: the words say which.
    #[error("{0}")]
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
    /// Whether a limit of the device, its driver or the launch stood in the way of one run: another may be within.
    #[must_use]
    pub fn is_a_limit(&self) -> bool {
        match self {
            Self::LoopLimit { .. } | Self::TooLarge(_) | Self::NotLaunched(_) => true,
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
    /// something it lacks, a kernel that is not the project's, that its driver does not take, that was not launched or
    /// whose loops it leaves.
    #[must_use]
    pub fn is_of_the_machine(&self) -> bool {
        match self {
            Self::NoDevice(_)
            | Self::Missing { .. }
            | Self::Compile { .. }
            | Self::LoopLimit { .. }
            | Self::TooLarge(_)
            | Self::NotLaunched(_)
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
