//! Branches, barriers and the instructions lanes execute together.

use super::super::ir::{
    Barrier, BarrierReduction, BarrierReductionOp, InstructionClass, Op, ReduxOp, Scope,
    ShuffleMode, Sync, SyncKind, VoteMode,
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
                Ok((Op::Branch { target, uniform }, InstructionClass::Control))
            }
            "ret" | "exit" => {
                self.expect_operands(0)?;
                self.take("uni");
                Ok((Op::Exit, InstructionClass::Control))
            }
            "membar" | "fence" => self.fence(),
            "bar" if self.take("warp") => {
                self.require_sync()?;
                self.expect_operands(1)?;
                let members = self.word(0)?;
                let sync = Sync { kind: SyncKind::Barrier, members };
                Ok((Op::Sync(sync), InstructionClass::Barrier))
            }
            "bar" | "barrier" => self.barrier(),
            "activemask" => {
                self.expect_operands(1)?;
                if self.take_type()? != "b32" {
                    return Err(self.unknown());
                }
                Ok((Op::ActiveMask(self.to_word(0)?), InstructionClass::Warp))
            }
            _ => {
                self.require_sync()?;
                let sync = match self.mnemonic {
                    "shfl" => self.shuffle()?,
                    "vote" => self.vote()?,
                    "match" => self.matching()?,
                    _ => self.redux()?,
                };
                Ok((Op::Sync(sync), InstructionClass::Warp))
            }
        }
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
        Ok((Op::Fence(scope), InstructionClass::Barrier))
    }

    /// All threads of the block take part: forms with a thread count are not in the subset.
    fn barrier(&mut self) -> Decoded {
        let aligned = self.mnemonic == "bar" || self.take("aligned");
        self.take("cta");
        if self.take("sync") {
            self.expect_operands(1)?;
            let barrier = Barrier { number: self.word(0)?, aligned, reduction: None };
            return Ok((Op::Barrier(barrier), InstructionClass::Barrier));
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
        let barrier = Barrier { number: self.word(1)?, aligned, reduction };
        Ok((Op::Barrier(barrier), InstructionClass::Barrier))
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
        Ok(Sync { kind: SyncKind::Shuffle { mode, d, p, a, b, c }, members: self.word(4)? })
    }

    fn vote(&mut self) -> Parsed<Sync> {
        self.expect_operands(3)?;
        let (a, members) = (self.predicate(1)?, self.word(2)?);
        let kind = self.take_type()?;
        if kind == "b32" && self.take("ballot") {
            return Ok(Sync { kind: SyncKind::Ballot { d: self.to_word(0)?, a }, members });
        }
        let mode = self.take_one(&[
            ("all", VoteMode::All),
            ("any", VoteMode::Any),
            ("uni", VoteMode::Uniform),
        ]);
        match mode {
            Some(mode) if kind == "pred" => {
                let kind = SyncKind::Vote { mode, d: self.to_predicate(0)?, a };
                Ok(Sync { kind, members })
            }
            _ => Err(self.unknown()),
        }
    }

    fn matching(&mut self) -> Parsed<Sync> {
        self.expect_operands(3)?;
        let double = match self.take_type()? {
            "b32" => false,
            "b64" => true,
            _ => return Err(self.unknown()),
        };
        let a = if double { self.double(1)? } else { self.word(1)? };
        let members = self.word(2)?;
        if self.take("any") {
            if matches!(self.operand(0)?, Operand::Pair(_)) {
                return Err(self.error("match.any has no predicate"));
            }
            return Ok(Sync {
                kind: SyncKind::MatchAny { d: self.to_word(0)?, a, double },
                members,
            });
        }
        if !self.take("all") {
            return Err(self.unknown());
        }
        let [d, p] = self.with_predicate(0, Class::Word)?;
        Ok(Sync { kind: SyncKind::MatchAll { d, p, a, double }, members })
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
        Ok(Sync {
            kind: SyncKind::Redux { op, d: self.to_word(0)?, a: self.word(1)? },
            members: self.word(2)?,
        })
    }
}
