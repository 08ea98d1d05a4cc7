//! What orders threads: barriers of blocks, fences, and whom each of them orders.

use super::{Memory, Op, Predicate, RareMemory, SINK, Slot, Synchronization};

/// For which threads a fence or atomic orders (PTX ISA, "Scope").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// `cta`.
    Block,
    /// `gl`, `gpu` and `sys`: every thread of the launch.
    Device,
}

/// What an access orders by itself, at the word that it is to (PTX ISA, "Release and Acquire Patterns").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Itself {
    pub(crate) acquires: bool,
    pub(crate) releases: bool,
}

/// `bar.sync`, `bar.arrive`, their `barrier` forms and `bar.red`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Barrier {
    /// Word holding the barrier's number.
    pub(crate) number: Slot,
    /// Word holding how many threads take part; [`SINK`] for all of the block.
    pub(crate) count: Slot,
    /// `bar.arrive`: is counted, and does not wait.
    pub(crate) arrives: bool,
    /// `bar.*`: all lanes of a warp must execute the same one.
    pub(crate) aligned: bool,
    pub(crate) reduction: Option<BarrierReduction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BarrierReduction {
    pub(crate) op: BarrierReductionOp,
    /// A word for popc, a predicate otherwise.
    pub(crate) d: Slot,
    pub(crate) a: Predicate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierReductionOp {
    Popc,
    And,
    Or,
}

/// Whom something orders beside the lanes of a warp, from the fewest on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Orders {
    /// All threads of a block at once, by its barriers.
    #[default]
    WholeBlocks,
    /// Also some warps of a block, by barriers of a part of it.
    Warps,
    /// Also threads of several blocks, by fences and flags.
    Any,
    /// Also by accesses that acquire or release by themselves.
    AtWords,
}

impl Op {
    /// What it orders as an access.
    fn itself(&self) -> Itself {
        match self {
            Self::Memory(op) => op.itself().0,
            Self::Arithmetic(_) | Self::Synchronization(_) | Self::Control(_) => Itself::default(),
        }
    }

    /// Whom it may order.
    pub(crate) fn orders(&self) -> Orders {
        if self.itself() != Itself::default() {
            Orders::AtWords
        } else if matches!(self, Self::Synchronization(Synchronization::Fence(_))) {
            Orders::Any
        } else if self.barrier().is_some_and(|barrier| barrier.count != SINK) {
            Orders::Warps
        } else {
            Orders::WholeBlocks
        }
    }
}

impl Memory {
    /// What it orders by itself, and for whom.
    pub(crate) fn itself(&self) -> (Itself, Scope) {
        match self {
            Self::Load(t)
            | Self::Store(t)
            | Self::Rare(RareMemory::GenericLoad(t) | RareMemory::GenericStore(t)) => {
                (t.itself, t.strong.unwrap_or(Scope::Block))
            }
            Self::Atomic(a) | Self::Rare(RareMemory::GenericAtomic(a)) => (a.itself, a.scope),
            Self::Rare(
                RareMemory::LoadLocal(_)
                | RareMemory::StoreLocal(_)
                | RareMemory::ForgetLocal { .. }
                | RareMemory::Copy(_)
                | RareMemory::CommitCopies
                | RareMemory::WaitForCopies(_)
                | RareMemory::WaitForAllCopies,
            ) => (Itself::default(), Scope::Block),
        }
    }
}
