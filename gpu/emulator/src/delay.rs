//! Stores that not everybody sees yet.
//!
//! PTX promises no order between the weak or relaxed stores of a thread to different addresses, nor
//! when other threads see them, except through causality (PTX ISA 8.4, "Memory Consistency Model":
//! "Causality order", "Release and Acquire Patterns", axiom "Causality"). What is promised is kept:
//! - a thread sees its own stores, and stores to one address keep the order in which they happened
//!   (axioms "Coherence" and "Sequential Consistency Per Location"): a store or atomic first lets
//!   out what is held of its word;
//! - `bar.sync`, `barrier`, `bar.warp.sync` and `membar.cta` order memory for the threads of the
//!   block ("Scope": cta). Stores to shared memory are then visible; those to global memory are for
//!   the block, and other blocks may wait longer;
//! - `membar.gl`, `membar.sys` and their `fence`s let out all that the thread and, by causality,
//!   the block it has synchronized with have stored;
//! - atomics act on memory at once.
//!
//! Loads are never early: of the reorderings PTX permits, those of a load with an earlier store
//! and of two stores are made, those of two loads are not. Vectors are as many stores as they
//! have words ("Vector Data-types").

use super::fault::Trouble;
use super::ir::Space;
use super::memory::{DeviceMemory, Segment};
use super::race::WarpOrder;
use super::shadow::journal::Journal;
use super::shadow::number::{Word, landed};

/// Words held back of a block at most; then the oldest becomes visible.
const CAPACITY: usize = 512;

/// A thread of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Thread {
    pub(super) warp: u16,
    pub(super) lane: u8,
}

/// What is stored to one word.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Piece {
    pub(super) value: u32,
    /// Bytes that are stored.
    pub(super) bytes: u8,
    /// Bytes that are stored and poison.
    pub(super) poison: u8,
}

impl Piece {
    /// The word and its poison with this stored into it.
    #[inline(always)]
    pub(super) fn over(&self, word: u32, poison: u8) -> (u32, u8) {
        let mut mask = 0;
        for byte in 0..4 {
            mask |= (u32::from(self.bytes >> byte & 1) * 0xff) << (8 * byte);
        }
        (word & !mask | self.value & mask, poison & !self.bytes | self.poison)
    }
}

/// A word on its way to memory.
#[derive(Clone, Debug)]
struct Held {
    space: Space,
    /// Of the word.
    address: u64,
    piece: Piece,
    /// What is beside it, where floats are followed.
    beside: Option<Box<Word>>,
    by: Thread,
    /// Whether it is volatile or relaxed: then everybody sees it in time.
    strong: bool,
    /// Whether the block sees it; only global memory then still waits for it.
    published: bool,
}

impl Held {
    fn seen_by(&self, thread: Thread) -> bool {
        self.published || self.by == thread
    }

    fn is_at(&self, space: Space, address: u64) -> bool {
        self.address == address & !3 && self.space == space
    }

    fn land(&self, memory: &mut Memories<'_>) {
        // The store has checked its address when it was executed.
        if let Ok((segment, word)) = memory.word(self.space, self.address, 0) {
            let (value, poison) = self.piece.over(segment.words[word], segment.poison[word]);
            (segment.words[word], segment.poison[word]) = (value, poison);
            if let Some(cells) = &mut segment.cells {
                let beside = self.beside.as_deref().copied().unwrap_or_default();
                let beside = landed(cells.unchecked(word), beside, self.piece.bytes);
                cells.set(word, value, beside);
            }
        }
    }
}

/// The memories a block reaches.
pub(super) struct Memories<'m> {
    pub(super) shared: &'m mut Segment,
    pub(super) global: &'m mut DeviceMemory,
}

impl Memories<'_> {
    /// The memory that holds `address` and the word of it.
    #[inline(always)]
    pub(super) fn locate(
        &mut self,
        space: Space,
        address: u64,
        width: u32,
        lanes: u32,
    ) -> Result<(&mut Segment, usize), Box<Trouble>> {
        let at = match space {
            Space::Global => self.global.forgiven(address, width),
            Space::Shared | Space::Const | Space::Param | Space::Local => address,
        };
        let found = match space {
            Space::Shared => Some((&mut *self.shared, at)),
            Space::Global | Space::Const | Space::Param | Space::Local => self.global.segment(at),
        };
        let Some((segment, offset)) = found else {
            let kind = super::fault::FaultKind::OutOfBounds { space, address, width };
            return Err(Trouble::new(kind, lanes));
        };
        match segment.locate(offset, width, space, address) {
            Ok(word) => Ok((segment, word)),
            Err(kind) => Err(Trouble::new(kind, lanes)),
        }
    }

    /// The memory and the word of an access whose bytes were looked at before: the last word of a buffer may have fewer
    /// than four.
    pub(super) fn word(
        &mut self,
        space: Space,
        address: u64,
        lanes: u32,
    ) -> Result<(&mut Segment, usize), Box<Trouble>> {
        self.locate(space, address & !3, 1, lanes)
    }
}

/// The stores of a block that wait, in the order in which they were executed.
#[derive(Debug, Default)]
pub(super) struct StoreBuffer {
    held: Vec<Held>,
}

impl StoreBuffer {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.held.clear();
    }

    /// Holds a store to the word at `address` back.
    pub(super) fn hold(
        &mut self,
        space: Space,
        address: u64,
        (piece, beside): (Piece, Option<Box<Word>>),
        (by, strong): (Thread, bool),
        memory: &mut Memories<'_>,
    ) {
        if self.held.len() == CAPACITY {
            let Held { space, address, by, .. } = self.held[0];
            self.settle(space, address, by, memory);
        }
        let address = address & !3;
        self.held.push(Held { space, address, piece, beside, by, strong, published: false });
    }

    /// What `thread` sees of the word at `address`, which holds `word`.
    pub(super) fn seen(
        &self,
        space: Space,
        address: u64,
        thread: Thread,
        word: (u32, u8),
    ) -> (u32, u8) {
        let known = |held: &&Held| held.is_at(space, address) && held.seen_by(thread);
        let all = self.held.iter().filter(known);
        all.fold(word, |(value, poison), held| held.piece.over(value, poison))
    }

    /// What is beside the word at `address` as `thread` sees it, if some of that is on its way; `word` is beside it
    /// in memory.
    pub(super) fn seen_beside(
        &self,
        (space, address): (Space, u64),
        thread: Thread,
        word: Word,
    ) -> Option<Word> {
        let known = |held: &&Held| held.is_at(space, address) && held.seen_by(thread);
        let over = |word: Option<Word>, held: &Held| {
            let beside = held.beside.as_deref().copied().unwrap_or_default();
            word.map(|word| landed(word, beside, held.piece.bytes))
        };
        let mut all = self.held.iter().filter(known).peekable();
        all.peek()?;
        all.fold(Some(word), over)
    }

    /// Lets out what `thread` sees of the word at `address`.
    pub(super) fn settle(
        &mut self,
        space: Space,
        address: u64,
        thread: Thread,
        memory: &mut Memories<'_>,
    ) {
        self.release(memory, |held| held.is_at(space, address) && held.seen_by(thread));
    }

    /// Shows the block what `lanes` of `warp` have stored.
    pub(super) fn publish(&mut self, warp: u16, lanes: u32, memory: &mut Memories<'_>) {
        let theirs = |by: Thread| by.warp == warp && lanes >> by.lane & 1 == 1;
        self.release(memory, |held| held.space == Space::Shared && theirs(held.by));
        for held in &mut self.held {
            held.published |= theirs(held.by);
        }
    }

    /// Shows everybody what the block has seen.
    pub(super) fn flush(&mut self, memory: &mut Memories<'_>) {
        self.release(memory, |held| held.published);
    }

    /// Lets out what `lanes` of `warp`, which have exited, have stored by strong stores: they execute nothing any more, and
    /// whoever waits for such a store sees it in time.
    pub(super) fn leave(&mut self, warp: u16, lanes: u32, memory: &mut Memories<'_>) {
        let is_theirs =
            |held: &&Held| held.strong && held.by.warp == warp && lanes >> held.by.lane & 1 == 1;
        while let Some(&Held { space, address, by, .. }) = self.held.iter().find(is_theirs) {
            self.settle(space, address, by, memory);
        }
    }

    /// Lets out everything.
    pub(super) fn drain(&mut self, memory: &mut Memories<'_>) {
        self.release(memory, |_| true);
    }

    /// Lets out what `warp` has stored to the words for which `chosen` holds, and what it must
    /// follow.
    pub(super) fn trickle(
        &mut self,
        warp: u16,
        memory: &mut Memories<'_>,
        chosen: impl Fn(u64) -> bool,
    ) {
        let seen = |held: &Held| held.published || held.by.warp == warp;
        self.release(memory, |held| seen(held) && chosen(held.address));
    }

    /// Lets out those of which `leaves` holds, in order.
    fn release(&mut self, memory: &mut Memories<'_>, leaves: impl Fn(&Held) -> bool) {
        self.held.retain(|held| {
            let stays = !leaves(held);
            if !stays {
                held.land(memory);
            }
            stays
        });
    }
}

/// The memories a warp reaches, and who it is.
pub(super) struct View<'v> {
    pub(super) params: &'v Segment,
    pub(super) memories: Memories<'v>,
    pub(super) delayed: &'v mut StoreBuffer,
    /// What the schedule makes of this instruction: 0 for nothing special, else a hash.
    pub(super) moment: u64,
    pub(super) block: u32,
    pub(super) epoch: u32,
    pub(super) warp: u16,
    pub(super) order: &'v mut WarpOrder,
    pub(super) line: u32,
    /// Where floats are followed.
    pub(super) journal: Option<&'v mut Journal>,
}
