//! What can go wrong, kept apart by whose fault it is.
//!
//! A [`Fault`] is the kernel's: the program under test misuses the machine. A [`LaunchError`](launch::LaunchError) is
//! the caller's. A [`Defect`](launch::Defect) is the emulator's own and never says anything about the kernel.

pub(crate) mod launch;
mod race;

use std::fmt;
use std::time::Duration;

use super::ir::Space;
pub use race::{AccessKind, Race, RaceAccess};

/// A misuse of the machine by a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "kernel '{kernel}' line {line}, block ({},{},{}), warp {warp}, lanes {lanes:#010x}: {kind}{}",
    block[0], block[1], block[2],
    undefined.map_or_else(String::new, |shuffle| format!("; {shuffle}"))
)]
pub struct Fault {
    /// The kernel.
    pub kernel: String,
    /// Line of the PTX source.
    pub line: u32,
    /// Block in x, y, z.
    pub block: [u32; 3],
    /// Warp in the block.
    pub warp: u32,
    /// Lanes at fault.
    pub lanes: u32,
    /// What happened.
    pub kind: FaultKind,
    /// Where it is about a value that was never written: the latest shuffle of the block that read lanes
    /// which do not take part, if there was one.
    pub undefined: Option<UndefinedShuffle>,
}

/// A shuffle that read lanes which do not take part. What it gave is undefined (PTX ISA, "shfl.sync"):
/// no misuse before it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndefinedShuffle {
    /// Line of the PTX source.
    pub line: u32,
    /// Lanes read that do not take part.
    pub sources: u32,
    /// Those of them that have exited.
    pub exited: u32,
    /// Lanes that take part.
    pub members: u32,
}

impl Fault {
    /// What noticed it, in a word or two for tables.
    #[must_use]
    pub fn observer(&self) -> &'static str {
        match self.undefined {
            Some(_) => WARP_MASK,
            None => self.kind.observer(),
        }
    }

    /// The address that it is about, and the memory that this is in.
    #[must_use]
    pub fn address(&self) -> Option<(Space, u64)> {
        match &self.kind {
            FaultKind::OutOfBounds { space, address, .. }
            | FaultKind::Misaligned { space, address, .. } => Some((*space, *address)),
            FaultKind::PoisonOutput { address } => Some((Space::Global, *address)),
            FaultKind::Race(race) => Some((race.space, race.address)),
            _ => None,
        }
    }

    /// The lines of the PTX source that have a part in it, each once, its own first.
    #[must_use]
    pub fn lines(&self) -> Vec<u32> {
        let mut lines = vec![self.line];
        lines.extend(self.undefined.map(|shuffle| shuffle.line));
        match &self.kind {
            FaultKind::Race(race) => lines.extend([race.first.line, race.second.line]),
            FaultKind::DivergentBarrier { other_line } => lines.extend(other_line),
            FaultKind::Deadlock { waiting } => lines.extend(waiting),
            FaultKind::OutOfBounds { .. }
            | FaultKind::Misaligned { .. }
            | FaultKind::PoisonAddress
            | FaultKind::PoisonBranch
            | FaultKind::PoisonOutput { .. }
            | FaultKind::PoisonControl
            | FaultKind::InputWritten { .. }
            | FaultKind::NotInOwnMask { .. }
            | FaultKind::UniformBranchDiverged
            | FaultKind::BarrierNumber { .. }
            | FaultKind::BarrierCount { .. }
            | FaultKind::MissedBarrier { .. }
            | FaultKind::MissingLanes { .. }
            | FaultKind::Index { .. }
            | FaultKind::Trap { .. }
            | FaultKind::Budget { .. }
            | FaultKind::Time { .. } => {}
        }
        let mut seen = Vec::new();
        lines.retain(|line| {
            !seen.contains(line) && {
                seen.push(*line);
                true
            }
        });
        lines
    }
}

/// The kinds of misuse.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access outside every buffer, or beyond the end of one.
    OutOfBounds {
        /// Memory accessed.
        space: Space,
        /// First byte.
        address: u64,
        /// Bytes.
        width: u32,
    },
    /// An address that is not a multiple of the access's size.
    Misaligned {
        /// Memory accessed.
        space: Space,
        /// First byte.
        address: u64,
        /// Bytes.
        width: u32,
    },
    /// An address computed from a value that was never written.
    PoisonAddress,
    /// A branch or guard decided by a value that was never written.
    PoisonBranch,
    /// A value that was never written, or a quotient by zero, stored to global memory or combined
    /// into memory by an atomic.
    PoisonOutput {
        /// Where.
        address: u64,
    },
    /// A member mask, shuffle lane, barrier number or vote decided by a value never written.
    PoisonControl,
    /// A lane executes a `.sync` instruction whose mask does not name it.
    NotInOwnMask {
        /// The mask.
        members: u32,
    },
    /// A store or an atomic to a buffer that is the launch's input
    /// ([`DeviceMemory::upload_input`](super::DeviceMemory::upload_input)).
    InputWritten {
        /// The buffer's name.
        name: String,
        /// First byte, from the buffer's beginning.
        offset: u64,
    },
    /// Lanes that execute a `bra.uni` together disagree.
    UniformBranchDiverged,
    /// Lanes of a warp arrive at different barriers, or not all of them at one.
    DivergentBarrier {
        /// Line of the other barrier, if they arrived at one.
        other_line: Option<u32>,
    },
    /// A barrier's number above 15.
    BarrierNumber {
        /// The number.
        number: u32,
    },
    /// A barrier for a part of the block whose number of threads cannot be.
    BarrierCount {
        /// The number that the instruction gives.
        count: u32,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A barrier that every thread of the block must reach, and some have exited.
    MissedBarrier {
        /// How many have.
        exited: u32,
    },
    /// What every lane of a warp must execute together, and some do not.
    MissingLanes {
        /// Those that have exited.
        missing: u32,
    },
    /// An index that is not below the number of an array's elements.
    Index {
        /// The index.
        index: u32,
        /// The number of elements.
        count: u32,
    },
    /// The kernel ended itself: `trap`, or an assertion that does not hold.
    Trap {
        /// Whether it was an assertion of CUDA.
        assertion: bool,
    },
    /// Nobody can go on.
    Deadlock {
        /// Lines at which threads wait.
        waiting: Vec<u32>,
    },
    /// More warp instructions than allowed.
    Budget {
        /// The limit.
        instructions: u64,
    },
    /// A longer time than allowed.
    Time {
        /// The limit.
        limit: Duration,
        /// Warp instructions until then.
        instructions: u64,
    },
    /// Two accesses to one word that nothing orders, one of them a write.
    Race(Box<Race>),
}

/// [`FaultKind::observer`] of a value that was never written.
pub const POISON: &str = "poison";
/// [`FaultKind::observer`] of a kernel that takes longer than it may.
pub const TIME_LIMIT: &str = "time limit";
/// [`FaultKind::observer`] of a kernel that executes more instructions than it may.
pub const BUDGET: &str = "budget";

/// What each kind of misuse is told by, in its words as they are printed.
const TOLD_BY: [(&str, &str); 22] = [
    (" are out of bounds", "out of bounds"),
    (" are misaligned", "misaligned"),
    ("the address was never written", POISON),
    ("the predicate was never written", POISON),
    ("a value that was never written goes to ", POISON),
    ("a mask or lane operand was never written", POISON),
    ("the executing lanes are not in the mask ", "warp mask"),
    (", an input, at byte ", "input written"),
    ("lanes disagree at a bra.uni", "uniform branch"),
    ("other lanes of the warp are at the barrier of line ", "barrier"),
    ("a barrier that not all lanes of the warp reach", "barrier"),
    (" is above 15", "barrier"),
    ("a barrier that every thread must reach", "barrier"),
    ("an operation that every lane must reach", MISSING),
    (" is beyond an array of ", "out of bounds"),
    ("a barrier for ", "barrier"),
    ("an assertion does not hold", "trap"),
    ("the kernel executes trap", "trap"),
    ("deadlock: threads wait at lines ", "deadlock"),
    ("no end within ", TIME_LIMIT),
    ("data race in ", "race"),
    (" instructions", BUDGET),
];

/// What noticed the misuse that an error's text tells of, as [`FaultKind::observer`] has it: such a text is
/// all that is left of a fault in another process. `None` where it tells of none.
#[must_use]
pub fn observer_of(text: &str) -> Option<&'static str> {
    TOLD_BY.iter().find(|(words, _)| text.contains(words)).map(|(_, observer)| *observer)
}

/// [`FaultKind::observer`] of lanes that do not come.
const MISSING: &str = "missing lanes";

/// [`FaultKind::observer`] of a mask, and [`Fault::observer`] of what a shuffle read outside its own.
const WARP_MASK: &str = "warp mask";

impl FaultKind {
    /// The names of all kinds.
    pub const NAMES: [&'static str; 20] = [
        "out-of-bounds",
        "misaligned",
        "poison-address",
        "poison-branch",
        "poison-output",
        "poison-control",
        "input-written",
        "not-in-own-mask",
        "uniform-branch-diverged",
        "divergent-barrier",
        "barrier-number",
        "barrier-count",
        "missed-barrier",
        "missing-lanes",
        "index",
        "trap",
        "deadlock",
        "budget",
        "time",
        "race",
    ];

    /// The kind's own name, one of [`Self::NAMES`].
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::OutOfBounds { .. } => "out-of-bounds",
            Self::Misaligned { .. } => "misaligned",
            Self::PoisonAddress => "poison-address",
            Self::PoisonBranch => "poison-branch",
            Self::PoisonOutput { .. } => "poison-output",
            Self::PoisonControl => "poison-control",
            Self::InputWritten { .. } => "input-written",
            Self::NotInOwnMask { .. } => "not-in-own-mask",
            Self::UniformBranchDiverged => "uniform-branch-diverged",
            Self::DivergentBarrier { .. } => "divergent-barrier",
            Self::BarrierNumber { .. } => "barrier-number",
            Self::BarrierCount { .. } => "barrier-count",
            Self::MissedBarrier { .. } => "missed-barrier",
            Self::MissingLanes { .. } => "missing-lanes",
            Self::Index { .. } => "index",
            Self::Trap { .. } => "trap",
            Self::Deadlock { .. } => "deadlock",
            Self::Budget { .. } => "budget",
            Self::Time { .. } => "time",
            Self::Race(_) => "race",
        }
    }

    /// Whether it is about a value that was never written.
    pub(super) fn is_poison(&self) -> bool {
        self.observer() == POISON
    }

    /// What noticed it, in a word or two for tables.
    #[must_use]
    pub fn observer(&self) -> &'static str {
        match self {
            Self::OutOfBounds { .. } | Self::Index { .. } => "out of bounds",
            Self::MissingLanes { .. } => MISSING,
            Self::Misaligned { .. } => "misaligned",
            Self::PoisonAddress
            | Self::PoisonBranch
            | Self::PoisonOutput { .. }
            | Self::PoisonControl => POISON,
            Self::InputWritten { .. } => "input written",
            Self::NotInOwnMask { .. } => WARP_MASK,
            Self::UniformBranchDiverged => "uniform branch",
            Self::DivergentBarrier { .. }
            | Self::BarrierNumber { .. }
            | Self::MissedBarrier { .. }
            | Self::BarrierCount { .. } => "barrier",
            Self::Trap { .. } => "trap",
            Self::Deadlock { .. } => "deadlock",
            Self::Budget { .. } => BUDGET,
            Self::Time { .. } => TIME_LIMIT,
            Self::Race(_) => "race",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfBounds { space, address, width } => {
                write!(f, "{width} bytes at {address:#x} of {space} memory are out of bounds")
            }
            Self::Misaligned { space, address, width } => {
                write!(f, "{width} bytes at {address:#x} of {space} memory are misaligned")
            }
            Self::PoisonAddress => f.write_str("the address was never written"),
            Self::PoisonBranch => f.write_str("the predicate was never written"),
            Self::PoisonOutput { address } => {
                write!(f, "a value that was never written goes to {address:#x}")
            }
            Self::PoisonControl => f.write_str("a mask or lane operand was never written"),
            Self::NotInOwnMask { members } => {
                write!(f, "the executing lanes are not in the mask {members:#010x}")
            }
            Self::InputWritten { name, offset } => {
                write!(f, "writes to {name}, an input, at byte {offset}")
            }
            Self::UniformBranchDiverged => f.write_str("lanes disagree at a bra.uni"),
            Self::DivergentBarrier { other_line: Some(line) } => {
                write!(f, "other lanes of the warp are at the barrier of line {line}")
            }
            Self::DivergentBarrier { other_line: None } => {
                f.write_str("a barrier that not all lanes of the warp reach")
            }
            Self::BarrierNumber { number } => write!(f, "barrier {number} is above 15"),
            Self::BarrierCount { count, why } => {
                write!(f, "a barrier for {count} threads: {why}")
            }
            Self::MissedBarrier { exited } => write!(
                f,
                "a barrier that every thread must reach: {exited} threads of the block have exited"
            ),
            Self::MissingLanes { missing } => write!(
                f,
                "an operation that every lane must reach: lanes {missing:#010x} have exited"
            ),
            Self::Index { index, count } => {
                write!(f, "index {index} is beyond an array of {count} elements")
            }
            Self::Trap { assertion: true } => f.write_str("an assertion does not hold"),
            Self::Trap { assertion: false } => f.write_str("the kernel executes trap"),
            Self::Deadlock { waiting } => write!(f, "deadlock: threads wait at lines {waiting:?}"),
            Self::Budget { instructions } => write!(f, "more than {instructions} instructions"),
            Self::Time { limit, instructions } => {
                let limit = limit.as_secs_f64();
                write!(f, "no end within {limit} s of processor time ({instructions} instructions)")
            }
            Self::Race(race) => race.fmt(f),
        }
    }
}

impl fmt::Display for UndefinedShuffle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, sources, exited, members } = self;
        write!(f, "the shuffle at line {line} reads lanes {sources:#010x}, which ")?;
        match *exited {
            0 => write!(f, "are not among the members {members:#010x}"),
            all if all == *sources => f.write_str("have exited"),
            some => {
                write!(f, "are not among the members {members:#010x} ({some:#010x} have exited)")
            }
        }?;
        f.write_str(": what it gives is undefined")
    }
}

/// A fault without its place, on its way to where the place is known.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) kind: FaultKind,
    pub(super) lanes: u32,
}

impl Trouble {
    /// Boxed, so that the result of an instruction stays in a register.
    #[cold]
    pub(super) fn new(kind: FaultKind, lanes: u32) -> Box<Self> {
        Box::new(Self { kind, lanes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_every_fault_tells_its_kind() {
        let access = |kind| RaceAccess { kind, line: 3, block: 0, warp: 1, lanes: 7 };
        let race = Race {
            space: Space::Shared,
            address: 8,
            first: access(AccessKind::Read),
            second: access(AccessKind::Write),
        };
        let (space, address, width) = (Space::Global, 64, 4);
        for kind in [
            FaultKind::OutOfBounds { space, address, width },
            FaultKind::Misaligned { space, address, width },
            FaultKind::PoisonAddress,
            FaultKind::PoisonBranch,
            FaultKind::PoisonOutput { address },
            FaultKind::PoisonControl,
            FaultKind::NotInOwnMask { members: 1 },
            FaultKind::InputWritten { name: "Ks".into(), offset: 4 },
            FaultKind::UniformBranchDiverged,
            FaultKind::DivergentBarrier { other_line: Some(4) },
            FaultKind::DivergentBarrier { other_line: None },
            FaultKind::BarrierNumber { number: 16 },
            FaultKind::BarrierCount { count: 33, why: "no multiple of 32" },
            FaultKind::MissedBarrier { exited: 192 },
            FaultKind::MissingLanes { missing: 6 },
            FaultKind::Index { index: 70, count: 64 },
            FaultKind::Trap { assertion: true },
            FaultKind::Trap { assertion: false },
            FaultKind::Deadlock { waiting: vec![1, 2] },
            FaultKind::Budget { instructions: 9 },
            FaultKind::Time { limit: Duration::from_secs(2), instructions: 9 },
            FaultKind::Race(Box::new(race)),
        ] {
            let observer = kind.observer();
            let (kernel, undefined) = ("k".to_owned(), None);
            let fault =
                Fault { kernel, line: 1, block: [0; 3], warp: 0, lanes: 1, kind, undefined };
            assert_eq!(observer_of(&fault.to_string()), Some(observer), "{fault}");
        }
        assert_eq!(observer_of("the device was lost"), None, "no misuse");
    }
}
