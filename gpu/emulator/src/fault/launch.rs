//! Why a launch gave no result.

use super::super::parse::ParseError;
use super::Fault;

/// Why a launch gave no report.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The kernel misused the machine.
    #[error(transparent)]
    Program(Box<Fault>),
    /// The launch does not fit the kernel.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The emulator contradicts itself.
    #[error(transparent)]
    Emulator(#[from] Defect),
}

impl From<Fault> for RunError {
    fn from(fault: Fault) -> Self {
        Self::Program(Box::new(fault))
    }
}

/// A contradiction inside the emulator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("defect of the emulator, not of the kernel: {0}")]
pub struct Defect(pub String);

/// Most bytes of shared memory that a block may have on any device: 227 KiB, of compute capability 9.0 and 10.0 (CUDA
/// C++ Programming Guide, table of technical specifications).
pub(crate) const MOST_SHARED: u64 = 227 << 10;

/// A launch that does not fit the kernel or the machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// No such kernel.
    #[error("no kernel '{0}' in the module")]
    UnknownKernel(String),
    /// Arguments do not match the parameters.
    #[error("kernel '{kernel}' takes parameters of {expected:?} bytes, not {found:?}")]
    Arguments {
        /// The kernel.
        kernel: String,
        /// Bytes of each parameter.
        expected: Vec<u32>,
        /// Bytes of each argument.
        found: Vec<u32>,
    },
    /// A block of no or too many threads, an empty grid, or more blocks than fit.
    #[error("grid {grid:?} of blocks {block:?}: {reason}")]
    Shape {
        /// Blocks in x, y, z.
        grid: [u32; 3],
        /// Threads of a block in x, y, z.
        block: [u32; 3],
        /// What is wrong.
        reason: String,
    },
    /// A number of lanes that no machine's warps have.
    #[error("warps of {0} lanes: expected a power of two up to 64")]
    LaneWidth(u32),
    /// A kernel whose masks and lane numbers are for 32 lanes on a machine of more.
    #[error(
        "kernel '{kernel}' line {line}: 32-bit masks and lane numbers on a machine with warps of \
         {width} lanes"
    )]
    Masks {
        /// The kernel.
        kernel: String,
        /// Line of the first such instruction.
        line: u32,
        /// Lanes of the machine's warps.
        width: u32,
    },
    /// A kernel that uses what the emulator does not have.
    #[error(transparent)]
    Refused(ParseError),
    /// What the shadows of this launch were computed from does not fit into the tape.
    #[error(
        "the tape is full ({bytes} bytes): take fewer blocks, smaller inputs or a kernel with shorter loops"
    )]
    Tape {
        /// Bytes that the tape may take.
        bytes: u64,
    },
    /// More instructions than a tape can name, in all kernels that ran on a memory.
    #[error(
        "the kernels that were followed on this memory have too many instructions: follow anew"
    )]
    Instructions,
    /// Shared memory beyond what any device has.
    #[error("{0} bytes of shared memory, but no device has more than {MOST_SHARED} for a block")]
    Shared(u64),
}
