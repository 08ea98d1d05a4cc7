//! The tape: what was computed from what, for the sweep back.
//!
//! A node is an operation, its parents and its value; partial derivatives are computed again in the
//! sweep from the values of the parents. Numbers without an input in them are constants: they have a
//! table of their own, and operations on them alone leave no node.

use super::number::{CONSTANT, Shadow, UNRECORDED, depends};
use super::table::Function;

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

/// A node, 28 bytes: 8 for the value in two halves, since nothing here needs it aligned.
#[derive(Clone, Copy, Debug)]
struct Node {
    x: [u32; 2],
    parents: [u32; 3],
    c: f32,
    /// 8 bits of rule, 2 of flags, 22 of place.
    what: u32,
}

const _: () = assert!(size_of::<Node>() == 28, "a node has 28 bytes");

/// Bits of a place.
const PLACE_BITS: u32 = 22;

/// Places that fit into a node.
pub(super) const PLACES: u32 = 1 << PLACE_BITS;

const OPEN: u32 = 1 << 22;
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
            rule: Rule::of(what >> 24),
            flags: Flags { open: what & OPEN != 0, undecided: what & UNDECIDED != 0 },
            place: what & (PLACES - 1),
        }
    }
}

/// [`OPEN`] for packed nodes of lanes that came by an open decision.
pub(super) const fn opened(open: bool) -> u32 {
    if open { OPEN } else { 0 }
}

/// A node as the sweep reads it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) what: What,
    pub(super) parents: [u32; 3],
    pub(super) x: f64,
}

/// Nodes of a block: blocks are never moved, so that a tape that grows is not copied.
const BLOCK: usize = 1 << 15;

/// All nodes and constants.
#[derive(Debug)]
pub(super) struct Tape {
    blocks: Vec<Vec<Node>>,
    /// Values and their uncertainty. The first is not used: 0 names no constant.
    constants: Vec<(f64, f32)>,
    /// Elements of inputs: of which buffer, from which node, how many.
    inputs: Vec<Input>,
    /// Nodes and constants at most, by the bytes that the caller allows.
    limit: usize,
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
        let mut tape =
            Self { blocks: Vec::new(), constants: vec![(0.0, 0.0)], inputs: Vec::new(), limit: 0 };
        tape.limit(bytes);
        // The node 0 is nobody's.
        tape.push([0; 3], 0.0, 0.0, 0);
        tape
    }

    /// From now on it may take so many bytes.
    pub(super) fn limit(&mut self, bytes: u64) {
        let nodes = usize::try_from(bytes / size_of::<Node>() as u64).unwrap_or(usize::MAX);
        // Half of the numbers name constants.
        self.limit = nodes.min((CONSTANT - 2) as usize);
    }

    /// Nodes so far.
    pub(super) fn nodes(&self) -> usize {
        match self.blocks.split_last() {
            Some((last, full)) => full.len() * BLOCK + last.len(),
            None => 0,
        }
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        (self.nodes() * size_of::<Node>() + self.constants.len() * size_of::<(f64, f32)>()) as u64
    }

    /// Whether there is no room left: what is computed from now on has no origin, and the launch ends.
    pub(super) fn is_full(&self) -> bool {
        self.nodes() + self.constants.len() >= self.limit
    }

    /// Another node, by its packed description.
    #[inline(always)]
    pub(super) fn push(&mut self, parents: [u32; 3], x: f64, c: f32, what: u32) -> u32 {
        if self.blocks.last().is_none_or(|last| last.len() == BLOCK) {
            if self.is_full() && !self.blocks.is_empty() {
                return UNRECORDED;
            }
            self.blocks.push(Vec::with_capacity(BLOCK));
        }
        let before = (self.blocks.len() - 1) * BLOCK;
        let Some(last) = self.blocks.last_mut() else { return UNRECORDED };
        let bits = x.to_bits();
        let x = [(bits & 0xffff_ffff) as u32, (bits >> 32) as u32];
        last.push(Node { x, parents, c, what });
        name(before + last.len() - 1)
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

    #[inline(always)]
    fn node(&self, n: u32) -> &Node {
        &self.blocks[n as usize / BLOCK][n as usize % BLOCK]
    }

    /// Value and uncertainty of a node or constant.
    #[inline(always)]
    pub(super) fn number(&self, n: u32) -> (f64, f64) {
        let (x, c) = if depends(n) {
            let node = self.node(n);
            (value(node), node.c)
        } else {
            self.constants[(n & !CONSTANT) as usize]
        };
        (x, f64::from(c))
    }

    #[inline(always)]
    pub(super) fn read(&self, n: u32) -> Read {
        let node = self.node(n);
        Read { what: What::unpacked(node.what), parents: node.parents, x: value(node) }
    }

    /// The number that names a shadow among parents: its own, or that of a constant made for it.
    pub(super) fn name(&mut self, shadow: &Shadow) -> u32 {
        if shadow.n == UNRECORDED { self.constant(shadow.x, shadow.c) } else { shadow.n }
    }
}

/// A number below 2^31, which the limit keeps all below.
#[inline(always)]
pub(super) fn name(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(UNRECORDED)
}

#[inline(always)]
fn value(node: &Node) -> f64 {
    f64::from_bits(u64::from(node.x[1]) << 32 | u64::from(node.x[0]))
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
