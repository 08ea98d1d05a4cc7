//! Branches, barriers and the instructions lanes execute together.

use super::super::ir::{
    Barrier, BarrierReduction, BarrierReductionOp, Control, InstructionClass, Op, RareControl,
    ReduxOp, SINK, Scope, ShuffleMode, Sync, SyncKind, SyncOperands, Synchronization, VoteMode,
};
use super::super::parse::{Class, Operand, Parsed};
use super::operands::{Decoded, Decoder};

/// The scopes of fences and atomics.
pub(super) const SCOPES: [(&str, Scope); 3] =
    [("cta", Scope::Block), ("gpu", Scope::Device), ("sys", Scope::Device)];

impl Decoder<'_, '_> {
    pub(super) fn control(&mut self) -> Decoded {
        let mnemonic = self.mnemonic;
        match mnemonic {
            "bra" => {
                self.expect_operands(1)?;
                let uniform = self.take("uni");
                let target = self.label(0)?;
                Ok((Op::Control(Control::Branch { target, uniform }), InstructionClass::Control))
            }
            "ret" | "exit" | "trap" | "nanosleep" | "prefetch" | "prefetchu" => self.alone(),
            "membar" | "fence" => self.fence(),
            "bar" if self.take("warp") => {
                self.require_sync()?;
                self.expect_operands(1)?;
                let members = self.word(0)?;
                let (kind, operands) = (SyncKind::Barrier, SyncOperands::NONE);
                let sync = Sync { kind, operands, members };
                Ok((Op::Synchronization(Synchronization::Warp(sync)), InstructionClass::Barrier))
            }
            "bar" | "barrier" => self.barrier(),
            "activemask" => {
                self.expect_operands(1)?;
                if self.take_type()? != "b32" {
                    return Err(self.unknown());
                }
                Ok((
                    Op::Synchronization(Synchronization::ActiveMask(self.to_word(0)?)),
                    InstructionClass::Warp,
                ))
            }
            _ => {
                self.require_sync()?;
                let sync = match mnemonic {
                    "shfl" => self.shuffle()?,
                    "vote" => self.vote()?,
                    "match" => self.matching()?,
                    "redux" => self.redux()?,
                    "elect" => self.elect()?,
                    _ => return Err(self.unknown()),
                };
                Ok((Op::Synchronization(Synchronization::Warp(sync)), InstructionClass::Warp))
            }
        }
    }

    /// What a lane does by itself: it leaves, traps or takes a hint.
    fn alone(&mut self) -> Decoded {
        match self.mnemonic {
            "ret" if !self.scope.kernel => {
                self.expect_operands(0)?;
                self.take("uni");
                // Behind the function, wherever that ends.
                let op = Control::Branch { target: u32::MAX, uniform: false };
                Ok((Op::Control(op), InstructionClass::Control))
            }
            "ret" | "exit" => {
                self.expect_operands(0)?;
                self.take("uni");
                Ok((Op::Control(Control::Exit), InstructionClass::Control))
            }
            "trap" => {
                if self.take("index") {
                    return self.trap_index();
                }
                self.expect_operands(0)?;
                let op = Control::Rare(RareControl::Trap { assertion: false });
                Ok((Op::Control(op), InstructionClass::Control))
            }
            "prefetch" | "prefetchu" => {
                self.expect_operands(1)?;
                self.take_one(&[("global", ()), ("local", ())]);
                self.take_one(&[("L1", ()), ("L2", ()), ("L2::evict_last", ())]);
                Ok((Op::Control(Control::Rare(RareControl::Nothing)), InstructionClass::Memory))
            }
            "nanosleep" => {
                self.expect_operands(1)?;
                if self.take_type()? != "u32" {
                    return Err(self.unknown());
                }
                self.word(0)?;
                Ok((Op::Control(Control::Rare(RareControl::Nothing)), InstructionClass::Control))
            }
            _ => Err(self.unknown()),
        }
    }

    /// `trap.index.u32 a, count`, which PTX has not: no index goes beyond an array unseen.
    fn trap_index(&mut self) -> Decoded {
        self.expect_operands(2)?;
        let count = match self.operand(1)? {
            Operand::Integer(count) => u32::try_from(*count).ok(),
            _ => None,
        };
        let count = count.ok_or_else(|| self.error("expected a count as the last"))?;
        if self.take_type()? != "u32" {
            return Err(self.unknown());
        }
        let op = Control::Rare(RareControl::Index { index: self.word(0)?, count });
        Ok((Op::Control(op), InstructionClass::Integer))
    }

    fn require_sync(&mut self) -> Parsed<()> {
        if self.take("sync") { Ok(()) } else { Err(self.unknown()) }
    }

    fn fence(&mut self) -> Decoded {
        self.expect_operands(0)?;
        let known = if self.mnemonic == "membar" {
            let scopes = [("cta", Scope::Block), ("gl", Scope::Device), ("sys", Scope::Device)];
            self.take_one(&scopes)
        } else {
            self.take_one(&[("acq_rel", ()), ("sc", ())]).and_then(|()| self.take_one(&SCOPES))
        };
        let scope = known.ok_or_else(|| self.unknown())?;
        Ok((Op::Synchronization(Synchronization::Fence(scope)), InstructionClass::Barrier))
    }

    /// A number, and for a part of the block how many threads take part. Reductions are of the whole
    /// block: those with a thread count are not in the subset.
    fn barrier(&mut self) -> Decoded {
        let aligned = self.mnemonic == "bar" || self.take("aligned");
        self.take("cta");
        let arrives = self.take("arrive");
        if arrives || self.take("sync") {
            let counted = arrives || self.operands.len() == 2;
            self.expect_operands(if counted { 2 } else { 1 })?;
            let count = if counted { self.word(1)? } else { SINK };
            let number = self.word(0)?;
            let barrier = Barrier { number, count, arrives, aligned, reduction: None };
            return Ok((
                Op::Synchronization(Synchronization::Barrier(barrier)),
                InstructionClass::Barrier,
            ));
        }
        if !self.take("red") {
            return Err(self.unknown());
        }
        self.expect_operands(3)?;
        let kind = self.take_type()?;
        let op = self.take_one(&[
            ("popc", BarrierReductionOp::Popc),
            ("and", BarrierReductionOp::And),
            ("or", BarrierReductionOp::Or),
        ]);
        let (op, d) = match (op, kind) {
            (Some(op @ BarrierReductionOp::Popc), "u32") => (op, self.to_word(0)?),
            (Some(op @ (BarrierReductionOp::And | BarrierReductionOp::Or)), "pred") => {
                (op, self.to_predicate(0)?)
            }
            _ => return Err(self.unknown()),
        };
        let reduction = Some(BarrierReduction { op, d, a: self.predicate(2)? });
        let (number, count, arrives) = (self.word(1)?, SINK, false);
        let barrier = Barrier { number, count, arrives, aligned, reduction };
        Ok((Op::Synchronization(Synchronization::Barrier(barrier)), InstructionClass::Barrier))
    }

    fn shuffle(&mut self) -> Parsed<Sync> {
        self.expect_operands(5)?;
        let mode = self.take_one(&[
            ("up", ShuffleMode::Up),
            ("down", ShuffleMode::Down),
            ("bfly", ShuffleMode::Butterfly),
            ("idx", ShuffleMode::Index),
        ]);
        let mode = mode.ok_or_else(|| self.unknown())?;
        if self.take_type()? != "b32" {
            return Err(self.unknown());
        }
        let [d, p] = self.with_predicate(0, Class::Word)?;
        let (a, b, c) = (self.word(1)?, self.word(2)?, self.word(3)?);
        let operands = SyncOperands { d, p, sources: [a, b, c], ..SyncOperands::NONE };
        Ok(Sync { kind: SyncKind::Shuffle(mode), operands, members: self.word(4)? })
    }

    fn vote(&mut self) -> Parsed<Sync> {
        self.expect_operands(3)?;
        let (predicate, members) = (self.predicate(1)?, self.word(2)?);
        let operands = SyncOperands { predicate, ..SyncOperands::NONE };
        let kind = self.take_type()?;
        if kind == "b32" && self.take("ballot") {
            let operands = SyncOperands { d: self.to_word(0)?, ..operands };
            return Ok(Sync { kind: SyncKind::Ballot, operands, members });
        }
        let mode = self.take_one(&[
            ("all", VoteMode::All),
            ("any", VoteMode::Any),
            ("uni", VoteMode::Uniform),
        ]);
        match mode {
            Some(mode) if kind == "pred" => {
                let operands = SyncOperands { p: self.to_predicate(0)?, ..operands };
                Ok(Sync { kind: SyncKind::Vote(mode), operands, members })
            }
            Some(_) | None => Err(self.unknown()),
        }
    }

    fn matching(&mut self) -> Parsed<Sync> {
        self.expect_operands(3)?;
        let b64 = match self.take_type()? {
            "b32" => false,
            "b64" => true,
            _ => return Err(self.unknown()),
        };
        let a = if b64 { self.b64(1)? } else { self.word(1)? };
        let members = self.word(2)?;
        let operands = SyncOperands { sources: [a, SINK, SINK], ..SyncOperands::NONE };
        if self.take("any") {
            if matches!(self.operand(0)?, Operand::Pair(_)) {
                return Err(self.error("match.any has no predicate"));
            }
            let operands = SyncOperands { d: self.to_word(0)?, ..operands };
            return Ok(Sync { kind: SyncKind::MatchAny { b64 }, operands, members });
        }
        if !self.take("all") {
            return Err(self.unknown());
        }
        let [d, p] = self.with_predicate(0, Class::Word)?;
        let operands = SyncOperands { d, p, ..operands };
        Ok(Sync { kind: SyncKind::MatchAll { b64 }, operands, members })
    }

    /// `elect.sync d|p, members`
    fn elect(&mut self) -> Parsed<Sync> {
        self.expect_operands(2)?;
        let [d, p] = self.with_predicate(0, Class::Word)?;
        if p == SINK {
            return Err(self.error("expected a predicate behind |"));
        }
        let operands = SyncOperands { d, p, ..SyncOperands::NONE };
        Ok(Sync { kind: SyncKind::Elect, operands, members: self.word(1)? })
    }

    fn redux(&mut self) -> Parsed<Sync> {
        self.expect_operands(3)?;
        let kind = self.take_type()?;
        let op = match (self.take_type()?, kind) {
            ("add", "s32" | "u32") => ReduxOp::Add,
            ("min", "s32") => ReduxOp::MinS,
            ("min", "u32") => ReduxOp::MinU,
            ("max", "s32") => ReduxOp::MaxS,
            ("max", "u32") => ReduxOp::MaxU,
            ("and", "b32") => ReduxOp::And,
            ("or", "b32") => ReduxOp::Or,
            ("xor", "b32") => ReduxOp::Xor,
            _ => return Err(self.unknown()),
        };
        let (d, sources) = (self.to_word(0)?, [self.word(1)?, SINK, SINK]);
        let operands = SyncOperands { d, sources, ..SyncOperands::NONE };
        Ok(Sync { kind: SyncKind::Redux(op), operands, members: self.word(2)? })
    }
}
