//! Subgroups of 64 lanes: two warps of 32, which exchange by way of workgroup memory and wait for each other at a
//! barrier of their own. An operation of the whole subgroup is one of each warp, and an exchange.

use std::rc::Rc;

use super::access::Space;
use super::code::{Scalar, is_truth};
use super::subgroup::{ALL, Combine};
use super::{Lower, Lowered};

/// The lanes.
pub(super) const WIDE: u32 = 64;

/// Barriers of a block, of which the workgroup has the first.
const BARRIERS: u32 = 16;

impl Lower<'_> {
    /// Whether a subgroup is two warps.
    pub(super) fn is_wide(&self) -> bool {
        self.target.lanes == WIDE
    }

    /// Lanes of a warp of the machine.
    pub(super) fn warp(&self) -> u32 {
        self.target.lanes.min(WIDE / 2)
    }

    /// The number of a lane among those of all warps, one after the other: not that of its invocation, which may
    /// be any.
    fn place(&mut self) -> Scalar {
        let (warp, lane) = (self.special("warpid"), self.special("laneid"));
        self.code.op("mad.lo.u32", &[warp, Scalar::Bits(WIDE / 2), lane])
    }

    /// The lane of a wide subgroup.
    pub(super) fn wide_lane(&mut self) -> Scalar {
        let index = self.place();
        self.code.op("and.b32", &[index, Scalar::Bits(WIDE - 1)])
    }

    /// The number of a wide subgroup.
    pub(super) fn wide_subgroup(&mut self) -> Scalar {
        let index = self.place();
        self.code.op("shr.u32", &[index, Scalar::Bits(WIDE.ilog2())])
    }

    /// What lanes `sources` of the subgroup bring.
    fn fetch(&mut self, value: Scalar, sources: &[Scalar]) -> Lowered<Vec<Scalar>> {
        let threads: u32 = self.workgroup.iter().product();
        if !threads.is_multiple_of(WIDE) || threads / WIDE >= BARRIERS {
            let most = WIDE * (BARRIERS - 1);
            return Err(format!(
                "subgroups of {WIDE} lanes in a workgroup of {threads} invocations (multiples of {WIDE} up \
                 to {most} have them)"
            ));
        }
        let base = match &self.exchange {
            Some(base) => base.clone(),
            None => {
                let base = self.declare(Space::Shared, None, 4 * threads);
                self.exchange.insert(base).clone()
            }
        };
        let index = self.place();
        let own = self.code.word();
        self.code.line(format_args!("mad.lo.u32 {own}, {index}, 4, {base}"));
        self.code.line(format_args!("st.shared.b32 [{own}], {value}"));
        let subgroup = self.wide_subgroup();
        let number = self.code.op("add.u32", &[subgroup, Scalar::Bits(1)]);
        self.code.line(format_args!("bar.sync {number}, {WIDE}"));
        let first = self.code.op("and.b32", &[index, Scalar::Bits(!(WIDE - 1))]);
        let mut all = Vec::with_capacity(sources.len());
        for &source in sources {
            let within = self.code.op("and.b32", &[source, Scalar::Bits(WIDE - 1)]);
            let from = self.code.op("add.u32", &[first, within]);
            let (at, d) = (self.code.word(), self.code.word());
            self.code.line(format_args!("mad.lo.u32 {at}, {from}, 4, {base}"));
            self.code.line(format_args!("ld.shared.b32 {d}, [{at}]"));
            all.push(d);
        }
        // Nobody writes again before all have read.
        self.code.line(format_args!("bar.sync {number}, {WIDE}"));
        Ok(all)
    }

    /// What both warps bring, of which each has one value.
    pub(super) fn both_warps(&mut self, value: Scalar) -> Lowered<[Scalar; 2]> {
        let both = self.fetch(value, &[Scalar::Bits(0), Scalar::Bits(WIDE / 2)])?;
        Ok([both[0], both[1]])
    }

    /// Four words of a ballot, of which 64 lanes fill two.
    pub(super) fn wide_ballot(&mut self, word: Scalar) -> Lowered<Rc<[Scalar]>> {
        let [low, high] = self.both_warps(word)?;
        Ok([low, high, Scalar::Bits(0), Scalar::Bits(0)].into())
    }

    /// A value of another lane; none where that does not exist.
    pub(super) fn wide_shuffle(&mut self, way: &str, value: Scalar, by: Scalar) -> Lowered<Scalar> {
        let lane = self.wide_lane();
        let source = match way {
            "up" => self.code.op("sub.u32", &[lane, by]),
            "down" => self.code.op("add.u32", &[lane, by]),
            "bfly" => self.code.op("xor.b32", &[lane, by]),
            _ => by,
        };
        let number = if is_truth(value) { self.code.number(value) } else { value };
        let moved = self.fetch(number, &[source])?[0];
        let exists = self.code.test("setp.lt.u32", &[source, Scalar::Bits(WIDE)]);
        let nothing = self.code.word();
        Ok(self.code.select(exists, moved, nothing))
    }

    /// A scan of the warp as one of the subgroup: the upper warp adds what the lower one has in all.
    pub(super) fn wide_scan(&mut self, combine: Combine, of_warp: Scalar) -> Lowered<Scalar> {
        let lower = self.fetch(of_warp, &[Scalar::Bits(WIDE / 2 - 1)])?[0];
        let lane = self.wide_lane();
        let upper = self.code.test("setp.ge.u32", &[lane, Scalar::Bits(WIDE / 2)]);
        let sum = self.code.op(combine.opcode, &[lower, of_warp]);
        Ok(self.code.select(upper, sum, of_warp))
    }

    /// The value of the lane below; `first` in lane 0.
    pub(super) fn wide_below(&mut self, value: Scalar, first: Scalar) -> Lowered<Scalar> {
        let lane = self.wide_lane();
        let below = self.code.op("sub.u32", &[lane, Scalar::Bits(1)]);
        let moved = self.fetch(value, &[below])?[0];
        let is_first = self.code.test("setp.eq.u32", &[lane, Scalar::Bits(0)]);
        Ok(self.code.select(is_first, first, moved))
    }

    /// `subgroupBarrier`.
    pub(super) fn subgroup_barrier(&mut self) -> Lowered<()> {
        self.code.line(format_args!("bar.warp.sync {ALL}"));
        if self.is_wide() {
            self.both_warps(Scalar::Bits(0))?;
        }
        Ok(())
    }
}
