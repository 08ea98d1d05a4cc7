//! Sums and products that take or leave a carry (PTX ISA 8.4, "Extended-Precision Integer Arithmetic Instructions").

use super::super::ir::{Arithmetic, Carry, CarryOp, SINK};
use super::super::parse::Parsed;
use super::operands::Decoder;

impl Decoder<'_, '_> {
    /// Whether the instruction reads the flag CC.CF.
    fn takes_carry(&self) -> bool {
        matches!(self.mnemonic, "addc" | "subc" | "madc")
    }

    /// Whether it reads or writes the flag.
    pub(super) fn carries(&self) -> bool {
        self.takes_carry() || self.has_part("cc")
    }

    /// `add.cc`, `addc` and their like of whole numbers.
    pub(super) fn carry(&mut self) -> Parsed<Arithmetic> {
        let (signed, wide) = match self.take_type()? {
            "s32" => (true, false),
            "u32" => (false, false),
            "s64" => (true, true),
            "u64" => (false, true),
            _ => return Err(self.unknown()),
        };
        let flag = self.scope.carry.ok_or_else(|| self.error("too many registers"))?;
        let to = if self.take("cc") { flag } else { SINK };
        let from = if self.takes_carry() { flag } else { self.constant(0)? };
        let half = self.take_one(&[("lo", CarryOp::MadLo), ("hi", CarryOp::MadHi { signed })]);
        let (op, count) = match (self.mnemonic, half) {
            ("add" | "addc", None) => (CarryOp::Add, 2),
            ("sub" | "subc", None) => (CarryOp::Sub, 2),
            ("mad" | "madc", Some(op)) => (op, 3),
            _ => return Err(self.unknown()),
        };
        self.expect_operands(count + 1)?;
        let mut sources = [SINK; 3];
        for (index, source) in sources[..count].iter_mut().enumerate() {
            *source = if wide { self.b64(index + 1)? } else { self.word(index + 1)? };
        }
        let d = if wide { self.to_b64(0)? } else { self.to_word(0)? };
        Ok(Arithmetic::Carry(Carry { op, wide, d, to, sources, from }))
    }
}
