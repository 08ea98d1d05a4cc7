//! Subgroup operations: shuffles, votes and ballots of PTX with a mask that names every lane.
//!
//! With 64 and 128 lanes a subgroup is several warps ([`wide`](super::wide)). WGSL's reductions leave the order of
//! a sum of floats open; here it is a tree over the lanes, which gives every lane the same bits. A lane that does not exist, because the workgroup is no multiple of the
//! subgroup, brings nothing. What a shuffle reads from a lane that does not exist is indeterminate: no value
//! that may be used.

use std::rc::Rc;

use naga::{CollectiveOperation, Direction, Expression, GatherMode, Handle, SubgroupOperation};

use super::code::{Scalar, is_truth};
use super::operator::kind_of;
use super::shape::Kind;
use super::{Frame, Lower, Lowered};

/// Every lane.
pub(super) const ALL: &str = "0xffffffff";

/// How the values of two lanes become one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Combine {
    pub(super) opcode: &'static str,
    /// What changes no value.
    pub(super) identity: Scalar,
}

impl Lower<'_> {
    /// Four words, of which 32 lanes fill the first.
    pub(super) fn ballot(&mut self, predicate: Scalar) -> Lowered<Rc<[Scalar]>> {
        let word = self.ballot_word(predicate);
        if self.is_wide() {
            return self.wide_ballot(word);
        }
        let none = Scalar::Bits(0);
        Ok([word, none, none, none].into())
    }

    fn ballot_word(&mut self, predicate: Scalar) -> Scalar {
        let predicate = self.code.predicate(predicate);
        let d = self.code.word();
        self.code.line(format_args!("vote.sync.ballot.b32 {d}, {predicate}, {ALL}"));
        d
    }

    /// Shuffles and broadcasts.
    pub(super) fn gather(
        &mut self,
        frame: &mut Frame<'_>,
        mode: GatherMode,
        argument: Handle<Expression>,
    ) -> Lowered<Rc<[Scalar]>> {
        let value = self.value(frame, argument)?;
        let (way, by) = match mode {
            // The lowest of all is the first.
            GatherMode::BroadcastFirst => ("idx", Scalar::Bits(0)),
            GatherMode::Broadcast(lane) | GatherMode::Shuffle(lane) => {
                ("idx", self.scalar(frame, lane)?)
            }
            GatherMode::ShuffleDown(by) => ("down", self.scalar(frame, by)?),
            GatherMode::ShuffleUp(by) => ("up", self.scalar(frame, by)?),
            GatherMode::ShuffleXor(by) => ("bfly", self.scalar(frame, by)?),
            GatherMode::QuadBroadcast(lane) => {
                let lane = self.scalar(frame, lane)?;
                let own = self.lane();
                let first = self.code.op("and.b32", &[own, Scalar::Bits(!3)]);
                ("idx", self.code.op("add.u32", &[first, lane]))
            }
            GatherMode::QuadSwap(direction) => {
                let by = match direction {
                    Direction::X => 1,
                    Direction::Y => 2,
                    Direction::Diagonal => 3,
                };
                ("bfly", Scalar::Bits(by))
            }
        };
        if self.is_wide() {
            return self.wide_shuffle(way, &value, by);
        }
        // PTX takes the lowest five bits: any more name lanes that do not exist.
        let exists = match by {
            Scalar::Bits(by) => Scalar::Truth(by < 32),
            _ => self.code.test("setp.lt.u32", &[by, Scalar::Bits(32)]),
        };
        Ok(value.iter().map(|&one| self.shuffled(way, one, by, exists)).collect())
    }

    /// A value of another lane; none where that does not exist.
    fn shuffled(&mut self, way: &str, value: Scalar, by: Scalar, exists: Scalar) -> Scalar {
        let number = if is_truth(value) { self.code.number(value) } else { value };
        let (moved, there) = self.shuffle(way, number, by);
        let exists = match way {
            "idx" => exists,
            _ => self.code.and(there, exists),
        };
        // A register that nobody writes holds nothing.
        let nothing = self.code.word();
        let moved = self.code.select(exists, moved, nothing);
        if is_truth(value) {
            return self.code.test("setp.ne.u32", &[moved, Scalar::Bits(0)]);
        }
        moved
    }

    /// A shuffle, and whether what it read is in the warp of 32.
    pub(super) fn shuffle(&mut self, way: &str, value: Scalar, by: Scalar) -> (Scalar, Scalar) {
        let (d, there) = (self.code.word(), self.code.truth());
        let last = if way == "up" { 0 } else { 31 };
        self.code
            .line(format_args!("shfl.sync.{way}.b32 {d}|{there}, {value}, {by}, {last}, {ALL}"));
        (d, there)
    }

    /// Reductions and scans.
    pub(super) fn collective(
        &mut self,
        frame: &mut Frame<'_>,
        op: SubgroupOperation,
        collective: CollectiveOperation,
        argument: Handle<Expression>,
    ) -> Lowered<Rc<[Scalar]>> {
        let kind = kind_of(&self.ty(frame, argument))?;
        let values = self.value(frame, argument)?;
        if let SubgroupOperation::All | SubgroupOperation::Any = op {
            let one = |&one: &Scalar| self.vote(op == SubgroupOperation::All, one);
            return values.iter().map(one).collect();
        }
        let combine = combine(op, kind)?;
        match collective {
            CollectiveOperation::Reduce => {
                let of_warp: Rc<[_]> =
                    values.iter().map(|&value| self.reduced(op, kind, combine, value)).collect();
                if self.is_wide() { self.wide_sums(combine, &of_warp) } else { Ok(of_warp) }
            }
            CollectiveOperation::InclusiveScan => self.scans(combine, &values),
            CollectiveOperation::ExclusiveScan => {
                let below = if self.is_wide() {
                    self.wide_below(&values, combine.identity)?
                } else {
                    values.iter().map(|&value| self.below(combine, value)).collect()
                };
                self.scans(combine, &below)
            }
        }
    }

    /// `subgroupAll` and `subgroupAny`.
    fn vote(&mut self, all: bool, value: Scalar) -> Lowered<Scalar> {
        let value = self.code.predicate(value);
        let (d, mode) = (self.code.truth(), if all { "all" } else { "any" });
        self.code.line(format_args!("vote.sync.{mode}.pred {d}, {value}, {ALL}"));
        if self.is_wide() { self.wide_vote(d, all) } else { Ok(d) }
    }

    /// The sum of a warp.
    fn reduced(
        &mut self,
        op: SubgroupOperation,
        kind: Kind,
        combine: Combine,
        value: Scalar,
    ) -> Scalar {
        let Some(op) = redux(op, kind) else { return self.tree(combine, value) };
        let d = self.code.word();
        self.code.line(format_args!("redux.sync.{op} {d}, {value}, {ALL}"));
        d
    }

    /// The value of the lane below; what changes nothing in the first.
    fn below(&mut self, combine: Combine, value: Scalar) -> Scalar {
        let (below, there) = self.shuffle("up", value, Scalar::Bits(1));
        self.code.select(there, below, combine.identity)
    }

    fn scans(&mut self, combine: Combine, values: &[Scalar]) -> Lowered<Rc<[Scalar]>> {
        let of_warp: Rc<[_]> = values.iter().map(|&value| self.scan(combine, value)).collect();
        if self.is_wide() { self.wide_scans(combine, &of_warp) } else { Ok(of_warp) }
    }

    /// The lane of the subgroup.
    pub(super) fn lane(&mut self) -> Scalar {
        match self.wide_place() {
            Some([lane, _]) => lane,
            None => self.special("laneid"),
        }
    }

    /// The sum of all lanes of a warp in each.
    fn tree(&mut self, combine: Combine, value: Scalar) -> Scalar {
        let lanes = self.warp();
        if !self.workgroup.iter().product::<u32>().is_multiple_of(lanes) {
            // The last subgroup has its first lanes alone: the last of them has the sum of all below it.
            let sum = self.scan(combine, value);
            let existing = self.ballot_word(Scalar::Truth(true));
            let last = self.code.op("bfind.u32", &[existing]);
            return self.shuffle("idx", sum, last).0;
        }
        // Every lane adds the lane at a distance that doubles.
        let mut sum = value;
        let mut distance = 1;
        while distance < lanes {
            let (other, _) = self.shuffle("bfly", sum, Scalar::Bits(distance));
            sum = self.code.op(combine.opcode, &[sum, other]);
            distance *= 2;
        }
        sum
    }

    /// Every lane adds the lane below it at a distance that doubles.
    fn scan(&mut self, combine: Combine, value: Scalar) -> Scalar {
        let mut sum = value;
        let mut distance = 1;
        while distance < self.warp() {
            let (lower, there) = self.shuffle("up", sum, Scalar::Bits(distance));
            let lower = self.code.select(there, lower, combine.identity);
            sum = self.code.op(combine.opcode, &[lower, sum]);
            distance *= 2;
        }
        sum
    }
}

/// The reductions that are one instruction.
fn redux(op: SubgroupOperation, kind: Kind) -> Option<&'static str> {
    Some(match (op, kind) {
        (_, Kind::F32 | Kind::Bool) => return None,
        (SubgroupOperation::Add, _) => "add.u32",
        (SubgroupOperation::Min, Kind::I32) => "min.s32",
        (SubgroupOperation::Min, Kind::U32) => "min.u32",
        (SubgroupOperation::Max, Kind::I32) => "max.s32",
        (SubgroupOperation::Max, Kind::U32) => "max.u32",
        (SubgroupOperation::And, _) => "and.b32",
        (SubgroupOperation::Or, _) => "or.b32",
        (SubgroupOperation::Xor, _) => "xor.b32",
        (SubgroupOperation::All | SubgroupOperation::Any | SubgroupOperation::Mul, _) => {
            return None;
        }
    })
}

fn combine(op: SubgroupOperation, kind: Kind) -> Lowered<Combine> {
    let combine = |opcode, identity| Ok(Combine { opcode, identity });
    let bits = Scalar::Bits;
    match (op, kind) {
        // -0 + x is x, also for a -0.
        (SubgroupOperation::Add, Kind::F32) => combine("add.f32", Scalar::float(-0.0)),
        (SubgroupOperation::Mul, Kind::F32) => combine("mul.f32", Scalar::float(1.0)),
        (SubgroupOperation::Min, Kind::F32) => combine("min.f32", Scalar::float(f32::INFINITY)),
        (SubgroupOperation::Max, Kind::F32) => combine("max.f32", Scalar::float(f32::NEG_INFINITY)),
        (SubgroupOperation::Add, Kind::I32 | Kind::U32) => combine("add.u32", bits(0)),
        (SubgroupOperation::Mul, Kind::I32 | Kind::U32) => combine("mul.lo.u32", bits(1)),
        (SubgroupOperation::Min, Kind::I32) => combine("min.s32", bits(i32::MAX.cast_unsigned())),
        (SubgroupOperation::Min, Kind::U32) => combine("min.u32", bits(u32::MAX)),
        (SubgroupOperation::Max, Kind::I32) => combine("max.s32", bits(i32::MIN.cast_unsigned())),
        (SubgroupOperation::Max, Kind::U32) => combine("max.u32", bits(0)),
        (SubgroupOperation::And, Kind::I32 | Kind::U32) => combine("and.b32", bits(u32::MAX)),
        (SubgroupOperation::Or, Kind::I32 | Kind::U32) => combine("or.b32", bits(0)),
        (SubgroupOperation::Xor, Kind::I32 | Kind::U32) => combine("xor.b32", bits(0)),
        (SubgroupOperation::All | SubgroupOperation::Any, _)
        | (SubgroupOperation::And | SubgroupOperation::Or | SubgroupOperation::Xor, Kind::F32)
        | (_, Kind::Bool) => Err(format!("the subgroup operation {op:?} of {kind:?}")),
    }
}
