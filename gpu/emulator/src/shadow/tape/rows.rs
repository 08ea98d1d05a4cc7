//! Rows of nodes in words, which are read from the last to the first: the parents, operand by operand; which nodes
//! are undecided, if some are; how many nodes there are and what the parents are, if there is more than one
//! node; and last what they are.

use super::super::super::lanes::LANES;
use super::super::number::UNRECORDED;
use super::{Rule, Tape, UNDECIDED, What, name};

/// It has more than one node: before this word lies its shape. Codes of rules are below 128.
const SEVERAL: u32 = 1 << 31;

/// Of a shape: how many nodes less one, and by two bits what each parent is.
const COUNT: u32 = 31;
const KINDS: usize = 8;
/// The same for all nodes: a word.
const SAME: u32 = 0;
/// One after the other, for one node after the other: a word, the first.
const CONSECUTIVE: u32 = 1;
/// A word for each node.
const EACH: u32 = 2;

/// The parents of nodes in a row, by one operand.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Parents<'t> {
    /// The same for all.
    Same(u32),
    /// For one after the other one after the other, from this on.
    Consecutive(u32),
    Each(&'t [u32]),
}

impl Parents<'_> {
    /// That of the node at a place of the row.
    #[inline(always)]
    pub(in super::super) fn at(&self, node: usize) -> u32 {
        match *self {
            Self::Same(parent) => parent,
            Self::Consecutive(first) => first + name(node),
            Self::Each(all) => all[node],
        }
    }
}

/// Nodes in a row, as the sweep reads them.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Row<'t> {
    pub(in super::super) rule: Rule,
    pub(in super::super) place: u32,
    /// The number of the first node, and how many there are.
    pub(in super::super) first: usize,
    pub(in super::super) count: usize,
    /// By place in the row.
    pub(in super::super) open: u32,
    pub(in super::super) undecided: u32,
    pub(in super::super) parents: [Parents<'t>; 3],
}

impl Tape {
    /// Another row: of the nodes of some lanes.
    #[inline(always)]
    pub(super) fn describe(
        &mut self,
        what: What,
        (from, to): (usize, usize),
        parents: &[[u32; LANES]; 3],
        undecided: u32,
    ) {
        let count = to - from;
        let mut shape = name(count - 1) & COUNT;
        for (k, all) in parents.iter().take(what.rule.parents()).enumerate() {
            let (mut same, mut consecutive) = (true, true);
            for (place, &parent) in (0_u32..).zip(&all[from..to]) {
                same &= parent == all[from];
                consecutive &= parent == all[from].wrapping_add(place);
            }
            let kind = match (same, consecutive) {
                (true, _) => SAME,
                (false, true) => CONSECUTIVE,
                (false, false) => EACH,
            };
            shape |= kind << (KINDS + 2 * k);
            let words = if kind == EACH { to } else { from + 1 };
            self.rows.extend_from_slice(&all[from..words]);
        }
        let mut what = what.packed();
        if undecided != 0 {
            what |= UNDECIDED;
        }
        if count > 1 {
            if undecided != 0 {
                self.rows.push(undecided);
            }
            self.rows.push(shape);
            what |= SEVERAL;
        }
        self.rows.push(what);
    }

    /// All rows, from the last to the first.
    pub(in super::super) fn rows(&self) -> Rows<'_> {
        Rows { tape: self, end: self.rows.len(), node: self.nodes() }
    }
}

/// Goes through the rows of a tape, from the last to the first.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Rows<'t> {
    tape: &'t Tape,
    /// Where the next row ends, and the node after it.
    end: usize,
    node: usize,
}

impl<'t> Rows<'t> {
    /// The words that end here, of which so many are taken.
    #[inline(always)]
    fn take(&mut self, count: usize) -> &'t [u32] {
        let end = self.end;
        self.end -= count;
        &self.tape.rows[self.end..end]
    }
}

impl<'t> Iterator for Rows<'t> {
    type Item = Row<'t>;

    #[inline(always)]
    fn next(&mut self) -> Option<Row<'t>> {
        if self.end == 0 {
            return None;
        }
        let packed = self.take(1)[0];
        let What { rule, flags, place } = What::unpacked(packed);
        let shape = if packed & SEVERAL == 0 { 0 } else { self.take(1)[0] };
        let undecided = match (flags.undecided, packed & SEVERAL) {
            (false, _) => 0,
            (true, 0) => 1,
            (true, _) => self.take(1)[0],
        };
        let count = (shape & COUNT) as usize + 1;
        let mut parents = [Parents::Same(UNRECORDED); 3];
        for k in (0..rule.parents()).rev() {
            parents[k] = match shape >> (KINDS + 2 * k) & 3 {
                SAME => Parents::Same(self.take(1)[0]),
                CONSECUTIVE => Parents::Consecutive(self.take(1)[0]),
                _ => Parents::Each(self.take(count)),
            };
        }
        self.node -= count;
        let first = self.node;
        let open = match flags.open {
            false => 0,
            true => {
                let own = self.tape.open.binary_search_by_key(&first, |(n, _)| *n as usize);
                own.map_or(0, |at| self.tape.open[at].1)
            }
        };
        Some(Row { rule, place, first, count, open, undecided, parents })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::registers::Lanes;
    use super::super::super::table::Function;
    use super::super::{BLOCK, Flags, Recorded};
    use super::*;

    /// A row of sums by these lanes, whose parents are `parents`; returns the numbers of the nodes.
    fn record(tape: &mut Tape, lanes: u32, parents: [[u32; LANES]; 2], place: u32) -> [u32; LANES] {
        let what = What { rule: Rule::Real(Function::Sum), flags: Flags::default(), place };
        let parents = &[parents[0], parents[1], [UNRECORDED; LANES]];
        let mut out = Lanes::NONE;
        out.x = std::array::from_fn(|lane| lane as f64);
        let (open, undecided) = (lanes & 0x8421, lanes & 0x70);
        tape.record(&Recorded { what, lanes, parents, open, undecided }, &mut out);
        out.n
    }

    #[test]
    fn rows_are_read_as_they_were_recorded() {
        let mut tape = Tape::new(1 << 24);
        let first = tape.input(0, &[0.5; LANES], &[0.0; LANES]);
        let inputs = std::array::from_fn(|lane| first + name(lane));
        let mixed = std::array::from_fn(|lane| first + name(lane * lane % 7));
        let masks = [u32::MAX, 0xffff_0000, 0x8000_0001, 1 << 9, 0x1234_5678];
        let mut recorded = Vec::new();
        // Beyond a block, so that some row lies in two.
        for place in 0..1 + name(BLOCK / 16) {
            let lanes = masks[place as usize % masks.len()];
            let parents = if place % 3 == 0 { [inputs, mixed] } else { [[first; LANES], inputs] };
            recorded.push((lanes, parents, record(&mut tape, lanes, parents, place)));
        }
        let mut found = vec![[false; LANES]; recorded.len()];
        for row in tape.rows().filter(|row| matches!(row.rule, Rule::Real(_))) {
            let (lanes, parents, numbers) = &recorded[row.place as usize];
            for node in 0..row.count {
                let n = name(row.first + node);
                let lane = numbers.iter().position(|&number| number == n).expect("it has a lane");
                assert!(lanes >> lane & 1 == 1, "lane {lane} took part");
                found[row.place as usize][lane] = true;
                assert_eq!(row.parents[0].at(node), parents[0][lane], "the first parent");
                assert_eq!(row.parents[1].at(node), parents[1][lane], "the second parent");
                assert_eq!(tape.number(n).0, lane as f64, "its value");
                let flags = [(row.open, 0x8421_u32), (row.undecided, 0x70)];
                for (flags, expected) in flags {
                    assert_eq!(flags >> node & 1, expected >> lane & 1, "flags of lane {lane}");
                }
                assert_eq!(tape.is_open(n), row.open >> node & 1 == 1, "open for its children too");
            }
        }
        for ((lanes, ..), found) in recorded.iter().zip(found) {
            for (lane, found) in found.into_iter().enumerate() {
                assert_eq!(found, lanes >> lane & 1 == 1, "lane {lane} of {lanes:x}");
            }
        }
    }
}
