//! Subgroups of 64 and 128 lanes: two or four warps of 32, which exchange by way of workgroup memory and wait for
//! each other at a barrier of their own. An operation of the whole subgroup is one of each warp, and an exchange.
//!
//! Exchanges take turns between two places, so that one barrier each is enough: a warp that writes again to a
//! place has passed the barrier of the exchange between, which all others come to after they have read.

use std::fmt::Write as _;
use std::rc::Rc;

use super::code::{Scalar, is_truth};
use super::subgroup::{ALL, Combine};
use super::{Lower, Lowered};

/// Lanes of a warp of the machine.
pub(super) const WARP: u32 = 32;

/// Barriers of a block, of which the workgroup has the first.
const BARRIERS: u32 = 16;

/// The memory of exchanges; a variable of the program has a number in its name.
const MEMORY: &str = "shared_exchange";

/// What every lane of a wide subgroup knows from the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide {
    /// Its number among those of all warps, one after the other: not that of its invocation, which may be any.
    place: Scalar,
    /// The place of the subgroup's first lane.
    first: Scalar,
    lane: Scalar,
    subgroup: Scalar,
    /// The bytes in front of the place of the next exchange.
    turn: Scalar,
    /// The bytes of the text that compute them, and whether anything reads them.
    text: (usize, usize),
    used: bool,
    /// The most values that an exchange brings.
    values: usize,
}

/// What warps bring, one after the other.
type OfWarps = Vec<Scalar>;

impl Lower<'_> {
    /// Whether a subgroup is several warps.
    pub(super) fn is_wide(&self) -> bool {
        self.wide.is_some()
    }

    /// Lanes of a warp of the machine.
    pub(super) fn warp(&self) -> u32 {
        self.target.lanes.min(WARP)
    }

    /// Computes what lanes of wide subgroups know, if the workgroup has more than a warp.
    pub(super) fn begin_wide(&mut self) {
        if self.target.lanes <= WARP || self.threads() <= WARP {
            return;
        }
        let start = self.code.bytes();
        let (warp, lane) = (self.special("warpid"), self.special("laneid"));
        let place = self.code.op("mad.lo.u32", &[warp, Scalar::Bits(WARP), lane]);
        let last = self.target.lanes - 1;
        let first = self.code.op("and.b32", &[place, Scalar::Bits(!last)]);
        let lane = self.code.op("and.b32", &[place, Scalar::Bits(last)]);
        let subgroup = self.code.op("shr.u32", &[place, Scalar::Bits(last.count_ones())]);
        let turn = self.code.copied(Scalar::Bits(0));
        let text = (start, self.code.bytes());
        let (used, values) = (false, 0);
        self.wide = Some(Wide { place, first, lane, subgroup, turn, text, used, values });
    }

    /// Declares the memory of exchanges, and takes away what nothing has read.
    pub(super) fn end_wide(&mut self) {
        let Some(Wide { text, used, values, .. }) = self.wide else { return };
        if !used {
            self.code.remove(text);
        }
        if values > 0 {
            let bytes = 2 * values * self.exchanged() as usize;
            // Writing to a text does not fail.
            let _ = writeln!(self.declared, "\t.shared .align 4 .b8 {MEMORY}[{bytes}];");
        }
    }

    fn threads(&self) -> u32 {
        self.workgroup.iter().product()
    }

    /// Bytes of a value of each lane, whether it exists or not.
    fn exchanged(&self) -> u32 {
        4 * self.threads().next_multiple_of(self.target.lanes)
    }

    fn wide(&mut self) -> Lowered<Wide> {
        let wide = self.wide.as_mut().ok_or("a wide subgroup")?;
        wide.used = true;
        Ok(*wide)
    }

    /// The lane of a wide subgroup, and the number of that; `None` where a subgroup is a warp.
    pub(super) fn wide_place(&mut self) -> Option<[Scalar; 2]> {
        self.wide().ok().map(|wide| [wide.lane, wide.subgroup])
    }

    /// What lanes `sources` of the subgroup bring of each value. Of a lane that does not exist that is nothing.
    fn fetch(&mut self, values: &[Scalar], sources: &[Scalar]) -> Lowered<Vec<OfWarps>> {
        let (wide, threads, lanes) = (self.wide()?, self.threads(), self.target.lanes);
        if !threads.is_multiple_of(WARP) || threads.div_ceil(lanes) >= BARRIERS {
            let most = lanes * (BARRIERS - 1);
            return Err(format!(
                "subgroups of {lanes} lanes in a workgroup of {threads} invocations (multiples of {WARP} up to \
                 {most} have them)"
            ));
        }
        if let Some(wide) = &mut self.wide {
            wide.values = wide.values.max(values.len());
        }
        let bytes = self.exchanged();
        let base = self.code.word();
        self.code.line(format_args!("add.u32 {base}, {}, {MEMORY}", wide.turn));
        let own = self.code.op("mad.lo.u32", &[wide.place, Scalar::Bits(4), base]);
        for (number, value) in (0..).zip(values) {
            let at = 2 * bytes * number;
            self.code.line(format_args!("st.shared.b32 [{own}+{at}], {value}"));
        }
        let number = self.code.op("add.u32", &[wide.subgroup, Scalar::Bits(1)]);
        let count = match threads % lanes {
            0 => Scalar::Bits(lanes),
            rest => {
                let last = Scalar::Bits(threads / lanes);
                let last = self.code.test("setp.eq.u32", &[wide.subgroup, last]);
                self.code.select(last, Scalar::Bits(rest), Scalar::Bits(lanes))
            }
        };
        self.code.line(format_args!("bar.sync {number}, {count}"));
        let mut all = vec![Vec::with_capacity(sources.len()); values.len()];
        for &source in sources {
            let within = match source {
                Scalar::Bits(source) => Scalar::Bits(source & (lanes - 1)),
                _ => self.code.op("and.b32", &[source, Scalar::Bits(lanes - 1)]),
            };
            let from = self.code.op("add.u32", &[wide.first, within]);
            let at = self.code.op("mad.lo.u32", &[from, Scalar::Bits(4), base]);
            for (number, all) in (0..).zip(&mut all) {
                let (d, value) = (self.code.word(), 2 * bytes * number);
                self.code.line(format_args!("ld.shared.b32 {d}, [{at}+{value}]"));
                all.push(d);
            }
        }
        self.code.write("xor.b32", wide.turn, &[wide.turn, Scalar::Bits(bytes)]);
        Ok(all)
    }

    /// Whether each warp of the subgroup exists.
    fn existing(&mut self) -> Lowered<Vec<Scalar>> {
        let (wide, threads, lanes) = (self.wide()?, self.threads(), self.target.lanes);
        let mut all = Vec::new();
        for first in (0..lanes).step_by(WARP as usize) {
            all.push(if first == 0 || threads.is_multiple_of(lanes) {
                Scalar::Truth(true)
            } else {
                let first = self.code.op("add.u32", &[wide.first, Scalar::Bits(first)]);
                self.code.test("setp.lt.u32", &[first, Scalar::Bits(threads)])
            });
        }
        Ok(all)
    }

    /// Of each value what lane `lane` of each warp brings; what changes nothing, of warps that do not exist.
    fn of_warps(
        &mut self,
        values: &[Scalar],
        lane: u32,
        identity: Scalar,
    ) -> Lowered<Vec<OfWarps>> {
        let firsts = (0..self.target.lanes).step_by(WARP as usize);
        let sources: Vec<_> = firsts.map(|first| Scalar::Bits(first + lane)).collect();
        let mut all = self.fetch(values, &sources)?;
        let exist = self.existing()?;
        for (value, &exists) in all.iter_mut().flat_map(|all| all.iter_mut().zip(&exist)) {
            *value = self.code.select(exists, *value, identity);
        }
        Ok(all)
    }

    /// Four words of a ballot, of which each warp fills one.
    pub(super) fn wide_ballot(&mut self, word: Scalar) -> Lowered<Rc<[Scalar]>> {
        let mut words = self.of_warps(&[word], 0, Scalar::Bits(0))?.remove(0);
        words.resize(4, Scalar::Bits(0));
        Ok(words.into())
    }

    /// Whether all warps have it, or any.
    pub(super) fn wide_vote(&mut self, of_warp: Scalar, all: bool) -> Lowered<Scalar> {
        let number = self.code.number(of_warp);
        let identity = Scalar::Bits(u32::from(all));
        let words = self.of_warps(&[number], 0, identity)?.remove(0);
        let opcode = if all { "and.b32" } else { "or.b32" };
        let word = self.combined(opcode, &words);
        Ok(self.code.test("setp.ne.u32", &[word, Scalar::Bits(0)]))
    }

    fn combined(&mut self, opcode: &str, words: &[Scalar]) -> Scalar {
        let combine = |all, &one| self.code.op(opcode, &[all, one]);
        words[1..].iter().fold(words[0], combine)
    }

    /// The sums of the subgroup by those of its warps.
    pub(super) fn wide_sums(
        &mut self,
        combine: Combine,
        of_warp: &[Scalar],
    ) -> Lowered<Rc<[Scalar]>> {
        let all = self.of_warps(of_warp, 0, combine.identity)?;
        Ok(all.iter().map(|words| self.combined(combine.opcode, words)).collect())
    }

    /// Scans of the warp as those of the subgroup: a warp adds what those below it have in all.
    pub(super) fn wide_scans(
        &mut self,
        combine: Combine,
        of_warp: &[Scalar],
    ) -> Lowered<Rc<[Scalar]>> {
        let totals = self.of_warps(of_warp, WARP - 1, combine.identity)?;
        let lane = self.wide()?.lane;
        let mut scans = of_warp.to_vec();
        for (scan, totals) in scans.iter_mut().zip(totals) {
            let own = *scan;
            for upper in 1..totals.len() {
                let below = self.combined(combine.opcode, &totals[..upper]);
                let sum = self.code.op(combine.opcode, &[below, own]);
                let first = Scalar::Bits(WARP * u32::try_from(upper).unwrap_or(u32::MAX));
                let there = self.code.test("setp.ge.u32", &[lane, first]);
                *scan = self.code.select(there, sum, *scan);
            }
        }
        Ok(scans.into())
    }

    /// The values of the lane below; `first` in lane 0.
    pub(super) fn wide_below(&mut self, values: &[Scalar], first: Scalar) -> Lowered<Rc<[Scalar]>> {
        let lane = self.wide()?.lane;
        let below = self.code.op("sub.u32", &[lane, Scalar::Bits(1)]);
        let moved = self.fetch(values, &[below])?;
        let is_first = self.code.test("setp.eq.u32", &[lane, Scalar::Bits(0)]);
        Ok(moved.iter().map(|moved| self.code.select(is_first, first, moved[0])).collect())
    }

    /// Values of another lane; none where that does not exist.
    pub(super) fn wide_shuffle(
        &mut self,
        way: &str,
        values: &[Scalar],
        by: Scalar,
    ) -> Lowered<Rc<[Scalar]>> {
        let number = |&one: &Scalar| if is_truth(one) { self.code.number(one) } else { one };
        let numbers: Vec<_> = values.iter().map(number).collect();
        let moved = match (way, by) {
            ("bfly", Scalar::Bits(by)) if by < WARP => self.within_warp(&numbers, Scalar::Bits(by)),
            ("bfly", Scalar::Word(_)) => self.exchange_by_distance(&numbers, by)?,
            _ => self.exchange(way, &numbers, by)?,
        };
        let pairs = values.iter().zip(moved);
        let value = |(&one, moved): (&Scalar, Scalar)| match is_truth(one) {
            true => self.code.test("setp.ne.u32", &[moved, Scalar::Bits(0)]),
            false => moved,
        };
        Ok(pairs.map(value).collect())
    }

    /// By way of memory.
    fn exchange(&mut self, way: &str, numbers: &[Scalar], by: Scalar) -> Lowered<Vec<Scalar>> {
        let lane = self.wide()?.lane;
        let source = match way {
            "up" => self.code.op("sub.u32", &[lane, by]),
            "down" => self.code.op("add.u32", &[lane, by]),
            "bfly" => self.code.op("xor.b32", &[lane, by]),
            _ => by,
        };
        let moved = self.fetch(numbers, &[source])?;
        let lanes = Scalar::Bits(self.target.lanes);
        let exists = self.code.test("setp.lt.u32", &[source, lanes]);
        let nothing = self.code.word();
        Ok(moved.iter().map(|moved| self.code.select(exists, moved[0], nothing)).collect())
    }

    /// A shuffle by a distance that stays within the warp.
    fn within_warp(&mut self, numbers: &[Scalar], by: Scalar) -> Vec<Scalar> {
        numbers.iter().map(|&number| self.shuffle("bfly", number, by).0).collect()
    }

    /// `subgroupShuffleXor` by a distance that is known when the kernel runs, and the same in all lanes (WGSL,
    /// "subgroupShuffleXor"): within the warp where it is below 32.
    fn exchange_by_distance(&mut self, numbers: &[Scalar], by: Scalar) -> Lowered<Vec<Scalar>> {
        let [far, end] = [self.code.label(), self.code.label()];
        let near = self.code.test("setp.lt.u32", &[by, Scalar::Bits(WARP)]);
        let all = self.code.truth();
        self.code.line(format_args!("vote.sync.all.pred {all}, {near}, {ALL}"));
        let results: Vec<_> = numbers.iter().map(|_| self.code.word()).collect();
        self.code.jump_if(all, false, far);
        let moved = self.within_warp(numbers, by);
        results.iter().zip(moved).for_each(|(&to, from)| self.code.copy(to, from));
        self.code.jump(end);
        self.code.bind(far);
        let moved = self.exchange("bfly", numbers, by)?;
        results.iter().zip(moved).for_each(|(&to, from)| self.code.copy(to, from));
        self.code.bind(end);
        Ok(results)
    }

    /// `subgroupBarrier`.
    pub(super) fn subgroup_barrier(&mut self) -> Lowered<()> {
        self.code.line(format_args!("bar.warp.sync {ALL}"));
        if self.is_wide() {
            self.fetch(&[Scalar::Bits(0)], &[])?;
        }
        Ok(())
    }
}
