//! What is known of the device behind an engine.

use serde::{Deserialize, Serialize};
use std::fmt;

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
