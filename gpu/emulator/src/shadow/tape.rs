//! The tape: what was computed from what, for the sweep back.
//!
//! A node is an operation, its parents and its value; partial derivatives are computed again in the
//! sweep from the values of the parents. Numbers without an input in them are constants: they have a
//! table of their own, and operations on them alone leave no node.
//!
//! What the lanes of a warp compute by one instruction are nodes in a row: values and uncertainties are kept
//! node by node, the rest once for all of them. Mostly the parents are nodes in a row too.

mod makers;
pub(super) mod rows;

use super::super::lanes::{Bits, LANES};
use super::number::{CONSTANT, Shadow, UNRECORDED, depends};
use super::registers::Lanes;
use super::spare;
use super::table::Function;
pub(super) use makers::{Makers, Making};

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// An element of an input.
    Input,
    /// A number that began anew: its derivative by the parents is not known.
    Lost,
    Real(Function),
}

/// What more there is to say of a node than its rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    /// Its lane came here by a decision that rounding leaves open.
    pub(super) open: bool,
    /// Rounding leaves open which derivative it has (a choice among operands, a clamp at its end).
    pub(super) undecided: bool,
}

/// Bits of a place.
const PLACE_BITS: u32 = 22;

/// Places that fit into a node.
pub(super) const PLACES: u32 = 1 << PLACE_BITS;

/// Of a row's last word: some of its lanes came by an open decision ([`Tape::is_open`] says which).
const OPEN: u32 = 1 << 22;
/// Some are undecided: a word of lanes lies before the shape.
const UNDECIDED: u32 = 1 << 23;
impl Rule {
    fn code(self) -> u32 {
        match self {
            Self::Input => 0,
            Self::Lost => 1,
            Self::Real(function) => 2 + u32::from(function.code()),
        }
    }

    fn of(code: u32) -> Self {
        match code {
            0 => Self::Input,
            1 => Self::Lost,
            real => Self::Real(Function::of(((real - 2) & 0xff) as u8)),
        }
    }

    /// Parents that are kept.
    #[inline(always)]
    fn parents(self) -> usize {
        match self {
            Self::Input => 0,
            Self::Lost => 3,
            Self::Real(function) => function.operands(),
        }
    }
}

/// What a node is, where it was made, and what more is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct What {
    pub(super) rule: Rule,
    pub(super) flags: Flags,
    /// The instruction, by its number among those of all kernels.
    pub(super) place: u32,
}

impl What {
    pub(super) fn packed(self) -> u32 {
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        self.rule.code() << 24
            | flag(self.flags.open, OPEN)
            | flag(self.flags.undecided, UNDECIDED)
            | self.place & (PLACES - 1)
    }

    fn unpacked(what: u32) -> Self {
        Self {
            rule: Rule::of(what >> 24 & 0x7f),
            flags: Flags { open: what & OPEN != 0, undecided: what & UNDECIDED != 0 },
            place: what & (PLACES - 1),
        }
    }
}

/// The nodes of an instruction, as it is followed. The number of each lane is in [`Lanes`] of its own.
pub(super) struct Recorded<'r> {
    /// With no flags.
    pub(super) what: What,
    pub(super) lanes: u32,
    /// Of all lanes.
    pub(super) parents: &'r [[u32; LANES]; 3],
    /// Of these lanes, those that came by an open decision, and those that are undecided.
    pub(super) open: u32,
    pub(super) undecided: u32,
}

/// Nodes of a block: blocks are never moved, so that a tape that grows is not copied.
pub(super) const BLOCK: usize = 1 << 15;

/// Values and uncertainties of nodes.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) x: Vec<f64>,
    pub(super) c: Vec<f32>,
}

/// All nodes and constants.
#[derive(Debug)]
pub(super) struct Tape {
    blocks: Vec<Block>,
    /// Row after row: the parents, the lanes that are undecided, the shape, and last what it is.
    rows: Vec<u32>,
    /// The rows in which some came by an open decision: the first node, and which.
    open: Vec<(u32, u32)>,
    /// Values and their uncertainty. The first is not used: 0 names no constant.
    constants: Vec<(f64, f32)>,
    /// Elements of inputs: of which buffer, from which node, how many.
    inputs: Vec<Input>,
    /// Whose nodes they are.
    pub(super) makers: Making,
    /// The bytes that the caller allows.
    limit: u64,
}

/// The elements of an input, which are nodes in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    pub(super) segment: usize,
    pub(super) first: u32,
    pub(super) count: u32,
}

impl Tape {
    /// A tape of at most so many bytes.
    pub(super) fn new(bytes: u64) -> Self {
        let constants = vec![(0.0, 0.0)];
        let (blocks, rows, open, inputs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let makers = Making::default();
        let mut tape = Self { blocks, rows, open, constants, inputs, makers, limit: bytes };
        // The node 0 is nobody's, and in the next any input may be.
        tape.push([UNRECORDED; 3], 0.0, 0.0, 0);
        let what = What { rule: Rule::Lost, flags: Flags::default(), place: 0 };
        tape.push([UNRECORDED; 3], 0.0, f32::INFINITY, what.packed());
        tape
    }

    /// From now on it may take so many bytes.
    pub(super) fn limit(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    /// Nodes so far.
    pub(super) fn nodes(&self) -> usize {
        match self.blocks.split_last() {
            Some((last, full)) => full.len() * BLOCK + last.x.len(),
            None => 0,
        }
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        let nodes = self.nodes() * (size_of::<f64>() + size_of::<f32>());
        let rows = 4 * self.rows.len() + 8 * self.open.len();
        let rows = rows + self.makers.bytes();
        (nodes + rows + self.constants.len() * size_of::<(f64, f32)>()) as u64
    }

    /// Whether there is no room left: what is computed from now on has no origin, and the launch ends.
    pub(super) fn is_full(&self) -> bool {
        // Half of the numbers name constants.
        let most = (CONSTANT - 2) as usize - BLOCK;
        self.bytes() >= self.limit || self.nodes().max(self.constants.len()) >= most
    }

    /// The block that the next nodes come into; `None` if there is no room left.
    #[inline(always)]
    fn last(&mut self) -> Option<(&mut Block, usize)> {
        if self.blocks.last().is_none_or(|last| last.x.len() == BLOCK) {
            if self.is_full() && !self.blocks.is_empty() {
                return None;
            }
            self.blocks.push(Block { x: spare::doubles(BLOCK), c: spare::singles(BLOCK) });
        }
        let before = (self.blocks.len() - 1) * BLOCK;
        self.blocks.last_mut().map(|block| (block, before))
    }

    /// Another node, by its packed description.
    pub(super) fn push(&mut self, parents: [u32; 3], x: f64, c: f32, what: u32) -> u32 {
        let Some((block, before)) = self.last() else { return UNRECORDED };
        block.x.push(x);
        block.c.push(c);
        let n = name(before + block.x.len() - 1);
        self.makers.one_by_one(n);
        self.rows.extend(&parents[..What::unpacked(what).rule.parents()]);
        self.rows.push(what);
        if what & OPEN != 0 {
            self.open.push((n, 1));
        }
        n
    }

    /// The nodes of an instruction, in the order of the lanes. `out` has their values and is given their numbers.
    #[inline(always)]
    pub(super) fn record(&mut self, all: &Recorded<'_>, out: &mut Lanes) {
        let first = name(self.nodes());
        self.makers.made_by(first, all.lanes);
        if all.lanes == u32::MAX {
            let flags = [all.open, all.undecided];
            self.append(all.what, LANES, (&out.x, &out.c), (all.parents, flags), &mut out.n);
            return;
        }
        // The lanes that take part, one after the other.
        let (mut x, mut c, mut n) = ([0.0; LANES], [0.0; LANES], [UNRECORDED; LANES]);
        let mut parents = [[UNRECORDED; LANES]; 3];
        let (mut open, mut undecided) = (0, 0);
        for (at, lane) in Bits(all.lanes).enumerate() {
            let at = at & 31;
            (x[at], c[at]) = (out.x[lane], out.c[lane]);
            for (parents, from) in parents.iter_mut().zip(all.parents) {
                parents[at] = from[lane];
            }
            open |= (all.open >> lane & 1) << at;
            undecided |= (all.undecided >> lane & 1) << at;
        }
        let count = all.lanes.count_ones() as usize;
        self.append(all.what, count, (&x, &c), (&parents, [open, undecided]), &mut n);
        for (at, lane) in Bits(all.lanes).enumerate() {
            out.n[lane] = n[at & 31];
        }
    }

    /// The same of the first lanes, none between which takes no part. What does not fit into a block comes into
    /// the next.
    #[inline(always)]
    fn append(
        &mut self,
        what: What,
        count: usize,
        (x, c): (&[f64; LANES], &[f32; LANES]),
        (parents, [open, undecided]): (&[[u32; LANES]; 3], [u32; 2]),
        n: &mut [u32; LANES],
    ) {
        let mut from = 0;
        while from < count {
            let Some((block, before)) = self.last() else { return };
            let to = count.min(from + BLOCK - block.x.len());
            let first = name(before + block.x.len());
            block.x.extend_from_slice(&x[from..to]);
            block.c.extend_from_slice(&c[from..to]);
            for (n, number) in n[from..to].iter_mut().zip(first..) {
                *n = number;
            }
            let own = u32::MAX >> (LANES - (to - from));
            self.describe(what, (from, to), parents, undecided >> from & own);
            if open >> from & own != 0 {
                self.open.push((first, open >> from & own));
                if let Some(last) = self.rows.last_mut() {
                    *last |= OPEN;
                }
            }
            from = to;
        }
    }

    /// Another constant.
    pub(super) fn constant(&mut self, x: f64, c: f32) -> u32 {
        self.constants.push((x, c));
        CONSTANT | name(self.constants.len() - 1)
    }

    /// The elements of an input become nodes.
    pub(super) fn input(&mut self, segment: usize, values: &[f64], c: &[f32]) -> u32 {
        let what = What { rule: Rule::Input, flags: Flags::default(), place: 0 }.packed();
        let first = name(self.nodes());
        for (&x, &c) in values.iter().zip(c) {
            self.push([0; 3], x, c, what);
        }
        let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
        self.inputs.push(Input { segment, first, count });
        first
    }

    pub(super) fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Value and uncertainty of a node or constant.
    #[inline(always)]
    pub(super) fn number(&self, n: u32) -> (f64, f64) {
        let (x, c) = if depends(n) {
            let (block, at) = (&self.blocks[n as usize / BLOCK], n as usize % BLOCK);
            (block.x[at], block.c[at])
        } else {
            self.constants[(n & !CONSTANT) as usize]
        };
        (x, f64::from(c))
    }

    /// Values and uncertainties of so many nodes in a row, if they are of one block.
    #[inline(always)]
    pub(super) fn numbers(&self, first: usize, count: usize) -> Option<(&[f64], &[f32])> {
        let (block, at) = (self.blocks.get(first / BLOCK)?, first % BLOCK);
        Some((block.x.get(at..at + count)?, block.c.get(at..at + count)?))
    }

    /// Whether a node's lane came by an open decision.
    pub(super) fn is_open(&self, n: u32) -> bool {
        let after = self.open.partition_point(|(first, _)| *first <= n);
        let row = self.open[..after].last();
        row.is_some_and(|(first, open)| open.checked_shr(n - first).unwrap_or(0) & 1 == 1)
    }

    /// The number that names a shadow among parents: its own, or that of a constant made for it.
    pub(super) fn name(&mut self, shadow: &Shadow) -> u32 {
        if shadow.n == UNRECORDED { self.constant(shadow.x, shadow.c) } else { shadow.n }
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        for block in &mut self.blocks {
            spare::keep_doubles(&mut block.x);
            spare::keep_singles(&mut block.c);
        }
    }
}

/// A number below 2^31, which the limit keeps all below.
#[inline(always)]
pub(super) fn name(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(UNRECORDED)
}

#[cfg(test)]
mod tests {
    use super::super::table::Library;
    use super::*;

    #[test]
    fn what_a_node_is_survives_packing() {
        let own = Function::OWN.into_iter();
        let library = Library::ALL.into_iter().map(Function::Library);
        let rules = [Rule::Input, Rule::Lost].into_iter();
        for rule in rules.chain(own.chain(library).map(Rule::Real)) {
            for (open, undecided) in [(false, false), (true, false), (false, true), (true, true)] {
                let what = What { rule, flags: Flags { open, undecided }, place: PLACES - 7 };
                assert_eq!(What::unpacked(what.packed()), what, "as it went in");
            }
        }
    }

    #[test]
    fn a_full_tape_says_so_and_takes_no_more() {
        let mut tape = Tape::new(28 * BLOCK as u64 / 2);
        let mut last = 1;
        for i in 0..2 * BLOCK {
            last = tape.push([0; 3], i as f64, 0.0, 0);
        }
        assert!(tape.is_full(), "beyond its limit");
        assert_eq!(last, UNRECORDED, "no node");
        assert!(tape.nodes() <= BLOCK, "{} nodes", tape.nodes());
    }
}
