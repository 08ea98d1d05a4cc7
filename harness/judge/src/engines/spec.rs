//! What an engine is, and what it takes to start one.

use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;

use splatcheck_gpu::EngineKind;

use super::emulation::Emulation;

/// Environment variable that says which engine a child opens; without it wgpu's.
pub const ENGINE: &str = "SPLATCHECK_ENGINE";
/// CUDA's, with the kernels compiled by default.
pub const CUDA: &str = "cuda";
/// CUDA's, with the kernels compiled with `--use_fast_math`.
pub const CUDA_FAST: &str = "cuda-fast";

/// A driver of wgpu's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Driver {
    /// Mesa's lavapipe, whose warp size can be chosen.
    Lavapipe {
        /// Its warp size.
        lane_width: u32,
    },
    /// Google's SwiftShader.
    SwiftShader,
    /// Any other: named by its adapter.
    Other {
        /// The adapter's own name.
        adapter: String,
    },
}

/// What an engine is. Its id, the name on the command line and in reports, follows from it; nothing
/// is learned from an id but through [`FromStr`], once, where a person or a file names one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// WGSL through wgpu.
    Wgpu(Driver),
    /// NVIDIA's CUDA driver.
    Cuda {
        /// Whether the kernels are those compiled with `--use_fast_math`.
        fast_math: bool,
    },
    /// The PTX emulator.
    Emulator(Emulation),
}

impl Identity {
    /// How it reaches its device.
    #[must_use]
    pub fn kind(&self) -> EngineKind {
        match self {
            Self::Wgpu(_) => EngineKind::Wgpu,
            Self::Cuda { .. } => EngineKind::Cuda,
            Self::Emulator(_) => EngineKind::Emulator,
        }
    }

    /// Whether this is a driver or an emulator that runs on the processor.
    #[must_use]
    pub fn is_software(&self) -> bool {
        match self {
            Self::Wgpu(Driver::Lavapipe { .. } | Driver::SwiftShader) | Self::Emulator(_) => true,
            Self::Wgpu(Driver::Other { .. }) | Self::Cuda { .. } => false,
        }
    }
}

const LAVAPIPE: &str = "lavapipe-";
const SWIFTSHADER: &str = "swiftshader";
const WGPU: &str = "wgpu:";

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wgpu(Driver::Lavapipe { lane_width }) => write!(f, "{LAVAPIPE}{lane_width}"),
            Self::Wgpu(Driver::SwiftShader) => f.write_str(SWIFTSHADER),
            Self::Wgpu(Driver::Other { adapter }) => write!(f, "{WGPU}{adapter}"),
            Self::Cuda { fast_math: false } => f.write_str(CUDA),
            Self::Cuda { fast_math: true } => f.write_str(CUDA_FAST),
            Self::Emulator(emulation) => emulation.fmt(f),
        }
    }
}

/// No engine has this id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{id}' is no engine: expected {LAVAPIPE}LANES, {SWIFTSHADER}, {WGPU}ADAPTER, {CUDA}, \
     {CUDA_FAST}, or the emulator ({emulator})"
)]
pub struct UnknownIdentity {
    id: String,
    /// Why it is not the emulator.
    emulator: String,
}

impl FromStr for Identity {
    type Err = UnknownIdentity;

    fn from_str(id: &str) -> Result<Self, Self::Err> {
        if let Some(lanes) = id.strip_prefix(LAVAPIPE)
            && let Ok(lane_width) = lanes.parse()
        {
            return Ok(Self::Wgpu(Driver::Lavapipe { lane_width }));
        }
        if let Some(adapter) = id.strip_prefix(WGPU) {
            return Ok(Self::Wgpu(Driver::Other { adapter: adapter.to_owned() }));
        }
        match id {
            SWIFTSHADER => Ok(Self::Wgpu(Driver::SwiftShader)),
            CUDA => Ok(Self::Cuda { fast_math: false }),
            CUDA_FAST => Ok(Self::Cuda { fast_math: true }),
            other => match other.parse() {
                Ok(emulation) => Ok(Self::Emulator(emulation)),
                Err(reason) => {
                    let reason: <Emulation as FromStr>::Err = reason;
                    Err(UnknownIdentity { id: id.to_owned(), emulator: reason.to_string() })
                }
            },
        }
    }
}

/// An engine that can be started: what it is and the surroundings its process needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineSpec {
    identity: Identity,
    /// The identity as text.
    id: String,
    /// Environment variables set for the child, over those it inherits.
    pub env: Vec<(String, OsString)>,
    /// The name of the adapter to open; `None` means the first that the driver offers.
    pub adapter: Option<String>,
}

impl Emulation {
    /// How to start its process. Its id is this emulation as text.
    #[must_use]
    pub fn spec(self) -> EngineSpec {
        let env = vec![(ENGINE.into(), self.to_string().into())];
        EngineSpec::new(Identity::Emulator(self), env)
    }
}

impl EngineSpec {
    /// An engine whose process needs this environment.
    #[must_use]
    pub fn new(identity: Identity, env: Vec<(String, OsString)>) -> Self {
        Self { id: identity.to_string(), identity, env, adapter: None }
    }

    /// What it is.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The name on the command line and in reports: `lavapipe-<warp size>`, `swiftshader`, `cuda`,
    /// `cuda-fast`, `wgpu:<adapter>`, or the emulator's. Unique among the engines of one discovery.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether `name`, as typed by a person, means this engine: its whole id, or the part of it
    /// before `-` or `:` (`lavapipe` means every warp size of it).
    #[must_use]
    pub fn answers_to(&self, name: &str) -> bool {
        let Some(rest) = self.id.strip_prefix(name) else { return false };
        !name.is_empty() && (rest.is_empty() || rest.starts_with(['-', ':']))
    }
}

#[cfg(test)]
mod tests {
    use super::super::emulation::Order;
    use super::*;

    #[test]
    fn a_name_means_an_id_or_its_family() {
        let lavapipe = Identity::Wgpu(Driver::Lavapipe { lane_width: 16 });
        let spec = EngineSpec::new(lavapipe, Vec::new());
        for (name, expected) in [
            ("lavapipe-16", true),
            ("lavapipe", true),
            ("lavapipe-1", false),
            ("lava", false),
            ("", false),
            ("lavapipe-16-", false),
        ] {
            assert_eq!(spec.answers_to(name), expected, "'{name}' against {}", spec.id());
        }
    }

    #[test]
    fn an_id_is_read_back_as_it_is_written() {
        let emulation =
            Emulation { fast_math: true, order: Order::Random(3), ..Emulation::default() };
        for (identity, id, software) in [
            (Identity::Wgpu(Driver::Lavapipe { lane_width: 8 }), "lavapipe-8", true),
            (Identity::Wgpu(Driver::SwiftShader), "swiftshader", true),
            (Identity::Wgpu(Driver::Other { adapter: "A: b-1".into() }), "wgpu:A: b-1", false),
            (Identity::Cuda { fast_math: false }, "cuda", false),
            (Identity::Cuda { fast_math: true }, "cuda-fast", false),
            (Identity::Emulator(emulation), "emulator-fast random:3", true),
        ] {
            assert_eq!(identity.to_string(), id, "its id");
            assert_eq!(id.parse(), Ok(identity.clone()), "read back");
            assert_eq!(identity.is_software(), software, "{id}");
        }
        for (id, words) in [
            ("lavapipe", "'lavapipe' is no engine: expected lavapipe-LANES, swiftshader,"),
            ("lavapipe-x", "'lavapipe-x' is no engine"),
            ("emulator chaotic", "unknown schedule 'chaotic'"),
        ] {
            let error = id.parse::<Identity>().expect_err(id).to_string();
            assert!(error.contains(words), "unhelpful: {error}");
        }
    }
}
