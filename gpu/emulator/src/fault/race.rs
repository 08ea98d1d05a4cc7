//! Two accesses that nothing orders.

use std::fmt;

use crate::ir::Space;

/// Two unordered accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// Memory accessed.
    pub space: Space,
    /// Address of the word.
    pub address: u64,
    /// The access seen first.
    pub first: RaceAccess,
    /// The access seen second.
    pub second: RaceAccess,
}

/// One side of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaceAccess {
    /// What it did.
    pub kind: AccessKind,
    /// Line of the PTX source.
    pub line: u32,
    /// Linear index of the block.
    pub block: u32,
    /// Warp in the block.
    pub warp: u32,
    /// Lanes of the warp.
    pub lanes: u32,
}

/// How memory was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic or reduction.
    Atomic,
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "data race in {} memory at {:#x}: {} and {}",
            self.space, self.address, self.first, self.second
        )
    }
}

impl fmt::Display for RaceAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Atomic => "atomic",
        };
        write!(
            f,
            "{kind} at line {} by block {}, warp {}, lanes {:#010x}",
            self.line, self.block, self.warp, self.lanes
        )
    }
}
