//! Warps: registers and the fragments their lanes have parted into.
//!
//! Reconvergence is promised by nobody (independent thread scheduling), so that a warp is not a
//! stack of masks but a set of fragments, each a program counter and the lanes that stand there.
//! Which ready fragment goes on, for how long and whether fragments at one place merge again is
//! the schedule's choice.

use super::async_copy::Copies;
use super::ir::Kernel;
use super::lanes::{Active, WARP};
use super::local::LocalMemory;
use super::race::WarpOrder;
use super::registers::Registers;

/// What a fragment does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    /// Waits at a `.sync` instruction for the lanes of this mask.
    AtSync {
        members: u32,
    },
    AtBarrier,
}

/// Lanes at one place of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    pub(super) pc: u32,
    pub(super) lanes: u32,
    pub(super) state: State,
}

/// What a warp has that few kernels use.
#[derive(Debug)]
pub(super) struct RareState {
    pub(super) local: LocalMemory,
    pub(super) copies: Copies,
    /// The latest shuffle that read lanes which do not take part.
    pub(super) undefined: Option<Undefined>,
}

/// Where a shuffle is, and which lanes it read that do not take part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undefined {
    pub(super) pc: u32,
    pub(super) sources: u32,
    pub(super) exited: u32,
    pub(super) members: u32,
}

/// A warp of a block.
#[derive(Debug)]
pub(super) struct Warp {
    /// Index in the block.
    pub(super) index: u16,
    pub(super) registers: Registers,
    /// Lanes that are threads: the last warp of a block may be partial.
    pub(super) existing: u32,
    pub(super) exited: u32,
    pub(super) fragments: Vec<Fragment>,
    pub(super) order: WarpOrder,
    /// The lanes of the instruction being executed. Kept here, and not with the interpreter's other
    /// state, because an array among local variables is taken apart lane by lane by the compiler.
    pub(super) on: Active,
    /// What few kernels have, in one place: the registers of all others lie close together.
    pub(super) rare: Box<RareState>,
}

impl Warp {
    /// Warp `index` of a block of `threads` in warps of `width`; `followed`: whether floats are.
    pub(super) fn new(
        index: u16,
        threads: u32,
        width: u32,
        (kernel, followed): (&Kernel, bool),
    ) -> Self {
        let lanes = threads.saturating_sub(u32::from(index) * width).min(width);
        let existing = u32::MAX.checked_shr(WARP - lanes).unwrap_or(0);
        let mut warp = Self {
            index,
            registers: Registers::new(kernel, followed),
            existing,
            exited: 0,
            fragments: Vec::with_capacity(4),
            order: WarpOrder::default(),
            on: Active::new(0),
            rare: Box::new(RareState {
                local: LocalMemory::new(kernel.local, followed),
                copies: Copies::default(),
                undefined: None,
            }),
        };
        warp.start();
        warp
    }

    fn start(&mut self) {
        self.exited = 0;
        self.order = WarpOrder::default();
        self.fragments.clear();
        self.fragments.push(Fragment { pc: 0, lanes: self.existing, state: State::Ready });
    }

    /// The same warp of another block.
    pub(super) fn reset(&mut self) {
        self.registers.reset();
        self.rare.local.reset();
        self.rare.copies.clear();
        self.rare.undefined = None;
        self.start();
    }

    /// Lanes that have not exited.
    pub(super) fn live(&self) -> u32 {
        self.existing & !self.exited
    }

    /// The ready fragment at the lowest place of the program.
    pub(super) fn lowest_ready(&self) -> Option<usize> {
        let ready = self.fragments.iter().enumerate().filter(|(_, f)| f.state == State::Ready);
        ready.min_by_key(|(_, f)| f.pc).map(|(index, _)| index)
    }

    /// Merges the ready fragments that stand where fragment `index` stands into it, and returns
    /// its new index.
    pub(super) fn merge(&mut self, index: usize) -> usize {
        let target = self.fragments[index];
        if target.state != State::Ready || self.fragments.len() == 1 {
            return index;
        }
        let mut lanes = 0;
        self.fragments.retain(|fragment| {
            let same = fragment.state == State::Ready && fragment.pc == target.pc;
            lanes |= if same { fragment.lanes } else { 0 };
            !same
        });
        self.fragments.push(Fragment { lanes, ..target });
        self.fragments.len() - 1
    }

    /// Takes the ready lanes of `wanted` that stand where the first of them stands, parting
    /// fragments as needed, as a fragment of its own.
    pub(super) fn part(&mut self, wanted: u32) -> Option<usize> {
        let ready = |f: &&mut Fragment| f.state == State::Ready && f.lanes & wanted != 0;
        let found = self.fragments.iter_mut().find(ready)?;
        let chosen = Fragment { lanes: found.lanes & wanted, ..*found };
        found.lanes &= !wanted;
        self.fragments.retain(|fragment| fragment.lanes != 0);
        self.fragments.push(chosen);
        Some(self.fragments.len() - 1)
    }
}
