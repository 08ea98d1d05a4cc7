//! Moves, conversions, loads, stores and atomics.

use super::super::ir::{
    Arithmetic, Atomic, AtomicOp, B64Unary, Control, FloatToInteger, FloatUnary, InstructionClass,
    Memory, Op, SINK, Scope, Slot, Space, SpecialRegister, Transfer, WordType, WordUnary,
};
use super::super::parse::{Class, Operand, Parsed, Register};
use super::control::SCOPES;
use super::operands::{Decoded, Decoder};

const SPACES: [(&str, Space); 4] = [
    ("param", Space::Param),
    ("global", Space::Global),
    ("shared", Space::Shared),
    ("const", Space::Const),
];

impl<'a> Decoder<'_, 'a> {
    pub(super) fn data(&mut self) -> Decoded {
        let integer = |op| Ok((op, InstructionClass::Integer));
        match self.mnemonic {
            "mov" => integer(self.mov()?),
            "cvta" => integer(Op::Arithmetic(self.cvta()?)),
            "cvt" => integer(Op::Arithmetic(self.cvt()?)),
            "selp" => integer(Op::Arithmetic(self.selp()?)),
            "ld" | "st" => Ok((Op::Memory(self.transfer()?), InstructionClass::Memory)),
            "atom" | "red" => Ok((Op::Memory(self.atomic()?), InstructionClass::Atomic)),
            _ => Err(self.unknown()),
        }
    }

    fn mov(&mut self) -> Parsed<Op> {
        self.expect_operands(2)?;
        let kind = self.take_type()?;
        if let ("u32" | "b32", Operand::Name(name)) = (kind, self.operand(1)?)
            && name.starts_with('%')
        {
            let register = special(name);
            let register = register.ok_or_else(|| {
                self.error(format!("special register '{name}' is outside the subset"))
            })?;
            return Ok(Op::Control(Control::Special(register, self.to_word(0)?)));
        }
        Ok(Op::Arithmetic(self.copy(kind)?))
    }

    /// `mov` between registers.
    fn copy(&mut self, kind: &str) -> Parsed<Arithmetic> {
        match (kind, self.operand(0)?, self.operand(1)?) {
            ("pred", ..) => {
                Ok(Arithmetic::PredicateMove { d: self.to_predicate(0)?, a: self.predicate(1)? })
            }
            ("b64", Operand::Vector(parts), _) if parts.len() == 2 => {
                let [low, high] = [&parts[0], &parts[1]].map(|part| match part {
                    Operand::Name("_") => Ok(SINK),
                    part => self.destination_of(part, &[Class::Word]),
                });
                Ok(Arithmetic::Unpack { low: low?, high: high?, a: self.b64(1)? })
            }
            ("b64", _, Operand::Vector(parts)) if parts.len() == 2 => {
                let d = self.to_b64(0)?;
                let (low, high) = (self.word_of(&parts[0])?, self.word_of(&parts[1])?);
                Ok(Arithmetic::Pack { d, low, high })
            }
            ("u16" | "s16" | "b16" | "u32" | "s32" | "b32" | "f32", ..) => {
                Ok(Arithmetic::WordUnary(WordUnary::Move, self.to_word(0)?, self.word(1)?))
            }
            ("u64" | "s64" | "b64", ..) => {
                Ok(Arithmetic::B64Unary(B64Unary::Move, self.to_b64(0)?, self.b64(1)?))
            }
            _ => Err(self.unknown()),
        }
    }

    /// Generic addresses are those of global memory here, and no instruction of the subset
    /// dereferences a generic address, so that the conversion is a copy in either direction.
    fn cvta(&mut self) -> Parsed<Arithmetic> {
        self.expect_operands(2)?;
        let wide = self.take_type()? == "u64";
        self.take("to");
        if !wide || self.take_one(&SPACES).is_none_or(|space| space == Space::Param) {
            return Err(self.unknown());
        }
        Ok(Arithmetic::B64Unary(B64Unary::Move, self.to_b64(0)?, self.b64(1)?))
    }

    fn selp(&mut self) -> Parsed<Arithmetic> {
        self.expect_operands(4)?;
        let p = self.predicate(3)?;
        if p.negated {
            return Err(self.error("selp takes a predicate register"));
        }
        let p = p.slot;
        match self.take_type()? {
            "s16" | "u16" | "b16" | "s32" | "u32" | "b32" | "f32" => {
                let (a, b) = (self.word(1)?, self.word(2)?);
                Ok(Arithmetic::SelectWord { d: self.to_word(0)?, a, b, p })
            }
            "s64" | "u64" | "b64" => {
                let (a, b) = (self.b64(1)?, self.b64(2)?);
                Ok(Arithmetic::SelectB64 { d: self.to_b64(0)?, a, b, p })
            }
            _ => Err(self.unknown()),
        }
    }

    fn cvt(&mut self) -> Parsed<Arithmetic> {
        self.expect_operands(2)?;
        let from = self.take_type()?;
        let to = self.take_type()?;
        match (integer_type(to), integer_type(from)) {
            (None, None) if to == "f32" && from == "f32" => {
                let flags = self.float_flags();
                let op = self.integral_rounding().map_or(FloatUnary::Move, FloatUnary::Round);
                Ok(Arithmetic::FloatUnary(op, flags, self.to_word(0)?, self.word(1)?))
            }
            (None, Some(from)) if to == "f32" => {
                if !self.take("rn") {
                    return Err(self.unknown());
                }
                Ok(match from {
                    IntegerType::Word(from) => {
                        let a = self.word(1)?;
                        Arithmetic::WordToFloat { from, d: self.to_word(0)?, a }
                    }
                    IntegerType::B64 { signed } => {
                        let a = self.b64(1)?;
                        Arithmetic::B64ToFloat { signed, d: self.to_word(0)?, a }
                    }
                })
            }
            (Some(to), None) if from == "f32" => self.convert_float(to),
            (Some(to), Some(from)) => self.convert_integer(to, from),
            (None, _) | (Some(_), None) => Err(self.unknown()),
        }
    }

    /// `cvt` from f32 to an integer.
    fn convert_float(&mut self, to: IntegerType) -> Parsed<Arithmetic> {
        let rounding = self.integral_rounding().ok_or_else(|| self.unknown())?;
        let flags = self.float_flags();
        if flags.saturate {
            return Err(self.unknown());
        }
        let (b64, signed) = match to {
            IntegerType::Word(WordType::S32) => (false, true),
            IntegerType::Word(WordType::U32) => (false, false),
            IntegerType::B64 { signed } => (true, signed),
            IntegerType::Word(WordType::S8 | WordType::U8 | WordType::S16 | WordType::U16) => {
                return Err(self.unknown());
            }
        };
        let d = if b64 { self.to_b64(0)? } else { self.to_word(0)? };
        let (flush, a) = (flags.flush, self.word(1)?);
        let conversion = FloatToInteger { b64, signed, rounding, flush, d, a };
        Ok(Arithmetic::FloatToInteger(conversion))
    }

    fn convert_integer(&mut self, to: IntegerType, from: IntegerType) -> Parsed<Arithmetic> {
        use IntegerType::{B64, Word};
        match (to, from) {
            (B64 { .. }, B64 { .. }) => {
                Ok(Arithmetic::B64Unary(B64Unary::Move, self.to_b64(0)?, self.b64(1)?))
            }
            (B64 { .. }, Word(from)) => {
                Ok(Arithmetic::Widen { from, d: self.to_b64(0)?, a: self.word(1)? })
            }
            (Word(WordType::S32 | WordType::U32), B64 { .. }) => {
                Ok(Arithmetic::Narrow { d: self.to_word(0)?, a: self.b64(1)? })
            }
            (Word(WordType::S8 | WordType::U8 | WordType::S16 | WordType::U16), B64 { .. }) => {
                Err(self.unknown())
            }
            (Word(to), Word(from)) => {
                let op = match if bits(to) < bits(from) { to } else { from } {
                    WordType::S8 => WordUnary::Signed8,
                    WordType::U8 => WordUnary::Unsigned8,
                    WordType::S16 => WordUnary::Signed16,
                    WordType::U16 => WordUnary::Unsigned16,
                    WordType::S32 | WordType::U32 => WordUnary::Move,
                };
                Ok(Arithmetic::WordUnary(op, self.to_word(0)?, self.word(1)?))
            }
        }
    }

    fn transfer(&mut self) -> Parsed<Memory> {
        self.expect_operands(2)?;
        let load = self.mnemonic == "ld";
        let kind = self.take_type()?;
        let space = self.take_one(&SPACES).ok_or_else(|| self.unknown())?;
        let strong = self.strength(space)?;
        // Through the read-only cache: the kernel promises that nobody writes there meanwhile,
        // which is what the race detector checks of any load.
        if load && space == Space::Global && strong.is_none() {
            self.take("nc");
        }
        if !load && matches!(space, Space::Param | Space::Const) {
            return Err(self.unknown());
        }
        let count = self.take_one(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
        let (width, signed) = match kind {
            "u8" | "b8" => (1, false),
            "s8" => (1, true),
            "u16" | "b16" => (2, false),
            "s16" => (2, true),
            "u32" | "b32" | "s32" | "f32" => (4, kind == "s32"),
            "u64" | "b64" | "s64" => (8, false),
            _ => return Err(self.unknown()),
        };
        if u32::from(width) * u32::from(count) > 16 {
            return Err(self.unknown());
        }
        let (registers, at) = if load { (0, 1) } else { (1, 0) };
        let address = self.address(at, space)?;
        let (slots, b64) = self.elements(registers, count, width, load)?;
        let transfer = Transfer { space, width, strong, signed, b64, count, slots, address };
        Ok(if load { Memory::Load(transfer) } else { Memory::Store(transfer) })
    }

    /// `weak`, `volatile`, which orders like `relaxed.sys` (PTX ISA, "ld"), or `relaxed`. What
    /// acquires or releases by itself is not in the subset.
    fn strength(&mut self, space: Space) -> Parsed<Option<Scope>> {
        if self.take("weak") {
            return Ok(None);
        }
        let strong = if self.take("volatile") {
            Some(Scope::Device)
        } else if self.take("relaxed") {
            Some(self.take_one(&SCOPES).ok_or_else(|| self.unknown())?)
        } else {
            None
        };
        let writable = matches!(space, Space::Global | Space::Shared);
        if strong.is_some() && !writable { Err(self.unknown()) } else { Ok(strong) }
    }

    /// The registers of a load or store, and whether they have 64 bits. They may be wider than the
    /// element (PTX ISA, "Operand Size Exceeding Instruction-Type Size").
    fn elements(
        &mut self,
        index: usize,
        count: u8,
        width: u8,
        load: bool,
    ) -> Parsed<([Slot; 4], bool)> {
        let operand = self.operand(index)?;
        let elements = match operand {
            Operand::Vector(all) => all.as_slice(),
            single => std::slice::from_ref(single),
        };
        if elements.len() != usize::from(count) {
            return Err(self.error(format!("expected {count} registers")));
        }
        let b64 = width == 8
            || elements
                .iter()
                .any(|e| matches!(e, Operand::Register(Register { class: Class::B64, .. })));
        let mut slots = [SINK; 4];
        for (slot, element) in slots.iter_mut().zip(elements) {
            *slot = match (load, b64) {
                (true, _) if *element == Operand::Name("_") => SINK,
                (true, true) => self.destination_of(element, &[Class::B64])?,
                (true, false) if width == 4 => self.destination_of(element, &[Class::Word])?,
                (true, false) => self.destination_of(element, &[Class::Word, Class::Half])?,
                (false, true) => self.b64_of(element)?,
                (false, false) => self.word_of(element)?,
            };
        }
        Ok((slots, b64))
    }

    fn atomic(&mut self) -> Parsed<Memory> {
        let returns = self.mnemonic == "atom";
        let kind = self.take_type()?;
        let space = self.take_one(&SPACES).ok_or_else(|| self.unknown())?;
        if !matches!(space, Space::Global | Space::Shared) {
            return Err(self.unknown());
        }
        // Stronger orders would have to be known to the race detector.
        self.take("relaxed");
        let scope = self.take_one(&SCOPES).unwrap_or(Scope::Device);
        let count = self.take_one(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
        let op = self.atomic_op(kind)?;
        if count > 1 && (op != AtomicOp::AddFloat || space != Space::Global) {
            return Err(self.unknown());
        }
        let compare = op == AtomicOp::CompareExchange;
        let first = usize::from(returns);
        self.expect_operands(first + 2 + usize::from(compare))?;
        let address = self.address(first, space)?;
        let mut results = [SINK; 4];
        if returns && *self.operand(0)? != Operand::Name("_") {
            results = self.elements(0, count, 4, true)?.0;
        }
        let operands = self.elements(first + 1, count, 4, false)?.0;
        let swap = if compare { self.word(first + 2)? } else { SINK };
        Ok(Memory::Atomic(Atomic { op, space, scope, count, results, operands, swap, address }))
    }

    fn atomic_op(&mut self, kind: &'a str) -> Parsed<AtomicOp> {
        let name = self.take_one(&[
            ("add", "add"),
            ("and", "and"),
            ("or", "or"),
            ("xor", "xor"),
            ("min", "min"),
            ("max", "max"),
            ("exch", "exch"),
            ("cas", "cas"),
        ]);
        match (name, kind) {
            (Some("add"), "f32") => Ok(AtomicOp::AddFloat),
            (Some("add"), "u32" | "s32") => Ok(AtomicOp::Add),
            (Some("and"), "b32") => Ok(AtomicOp::And),
            (Some("or"), "b32") => Ok(AtomicOp::Or),
            (Some("xor"), "b32") => Ok(AtomicOp::Xor),
            (Some("min"), "s32") => Ok(AtomicOp::MinS),
            (Some("min"), "u32") => Ok(AtomicOp::MinU),
            (Some("max"), "s32") => Ok(AtomicOp::MaxS),
            (Some("max"), "u32") => Ok(AtomicOp::MaxU),
            (Some("exch"), "b32") if self.mnemonic == "atom" => Ok(AtomicOp::Exchange),
            (Some("cas"), "b32") if self.mnemonic == "atom" => Ok(AtomicOp::CompareExchange),
            _ => Err(self.unknown()),
        }
    }
}

/// An integer type of `cvt`.
#[derive(Clone, Copy)]
enum IntegerType {
    Word(WordType),
    B64 { signed: bool },
}

fn integer_type(name: &str) -> Option<IntegerType> {
    Some(match name {
        "s8" => IntegerType::Word(WordType::S8),
        "u8" => IntegerType::Word(WordType::U8),
        "s16" => IntegerType::Word(WordType::S16),
        "u16" => IntegerType::Word(WordType::U16),
        "s32" => IntegerType::Word(WordType::S32),
        "u32" => IntegerType::Word(WordType::U32),
        "s64" => IntegerType::B64 { signed: true },
        "u64" => IntegerType::B64 { signed: false },
        _ => return None,
    })
}

fn bits(word: WordType) -> u32 {
    match word {
        WordType::S8 | WordType::U8 => 8,
        WordType::S16 | WordType::U16 => 16,
        WordType::S32 | WordType::U32 => 32,
    }
}

fn special(name: &str) -> Option<SpecialRegister> {
    use SpecialRegister::{Ctaid, Nctaid, Ntid, Tid};
    let axis = |axis: &str| "xyz".find(axis).and_then(|a| u8::try_from(a).ok());
    if let Some((register, component)) = name.split_once('.') {
        let axis = axis(component).filter(|_| component.len() == 1)?;
        return match register {
            "%tid" => Some(Tid(axis)),
            "%ntid" => Some(Ntid(axis)),
            "%ctaid" => Some(Ctaid(axis)),
            "%nctaid" => Some(Nctaid(axis)),
            _ => None,
        };
    }
    match name {
        "%laneid" => Some(SpecialRegister::LaneId),
        "%lanemask_eq" => Some(SpecialRegister::LaneMaskEq),
        "%lanemask_lt" => Some(SpecialRegister::LaneMaskLt),
        "%lanemask_le" => Some(SpecialRegister::LaneMaskLe),
        "%lanemask_gt" => Some(SpecialRegister::LaneMaskGt),
        "%lanemask_ge" => Some(SpecialRegister::LaneMaskGe),
        _ => None,
    }
}
