//! Moves, loads, stores and atomics.

use super::super::generic::window;
use super::super::ir::{
    Address, Arithmetic, Atomic, AtomicOp, B64Unary, Base, Control, InstructionClass,
    IntegerBinary, Itself, Memory, NarrowFormat, Op, RareControl, RareMemory, SINK, Scope, Slot,
    Space, SpecialRegister, Transfer, WordUnary,
};
use super::super::parse::{Class, Operand, Parsed, Problem, Register};
use super::control::SCOPES;
use super::operands::{Decoded, Decoder};

/// State spaces as most opcodes name them.
const SPACES: [(&str, Space); 4] = [
    ("param", Space::Param),
    ("global", Space::Global),
    ("shared", Space::Shared),
    ("const", Space::Const),
];

/// Other names. Memory of other blocks of a cluster is not in the subset.
const RARE_SPACES: [(&str, Space); 4] = [
    ("local", Space::Local),
    ("shared::cta", Space::Shared),
    ("param::entry", Space::Param),
    ("param::func", Space::Local),
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

    /// The state space that the opcode names, if it does.
    pub(super) fn take_space(&mut self) -> Option<Space> {
        self.take_one(&SPACES).or_else(|| self.take_one(&RARE_SPACES))
    }

    fn mov(&mut self) -> Parsed<Op> {
        self.expect_operands(2)?;
        let kind = self.take_type()?;
        if let ("u32" | "b32", Operand::Name(name)) = (kind, self.operand(1)?)
            && name.starts_with('%')
        {
            if let Some(half) = self.half_of_grid(name)? {
                return Ok(Op::Arithmetic(half));
            }
            let register = special(name).ok_or_else(|| self.unknown_special(name))?;
            return Ok(Op::Control(Control::Special(register, self.to_word(0)?)));
        }
        if let ("u64" | "b64" | "s64", Operand::Name(name)) = (kind, self.operand(1)?)
            && name.starts_with('%')
        {
            // Time is what passes: the same on every machine, and more for each instruction.
            return match *name {
                "%clock64" | "%globaltimer" => {
                    Ok(Op::Control(Control::Rare(RareControl::Counter(self.to_b64(0)?))))
                }
                _ => Err(self.unknown_special(name)),
            };
        }
        Ok(Op::Arithmetic(self.copy(kind)?))
    }

    /// A special register that the emulator does not have, or a register that was not declared.
    fn unknown_special(&self, name: &str) -> Problem {
        if name.bytes().any(|byte| byte.is_ascii_digit()) {
            return self.error(format!("expected a known name, found '{name}'"));
        }
        Problem::outside(self.statement.line, name)
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
            ("b32", Operand::Vector(parts), _) if parts.len() == 2 => self.unpack16(parts),
            ("b64", Operand::Vector(parts), _) if parts.len() == 4 => self.unpack16(parts),
            ("b32", _, Operand::Vector(parts)) if parts.len() == 2 => self.pack16(parts),
            ("b64", _, Operand::Vector(parts)) if parts.len() == 4 => self.pack16(parts),
            (
                "u16" | "s16" | "b16" | "u32" | "s32" | "b32" | "f32" | "f16" | "bf16" | "f16x2"
                | "bf16x2",
                ..,
            ) => Ok(Arithmetic::WordUnary(WordUnary::Move, self.to_word(0)?, self.word(1)?)),
            ("u64" | "s64" | "b64" | "f64", ..) => {
                Ok(Arithmetic::B64Unary(B64Unary::Move, self.to_b64(0)?, self.b64(1)?))
            }
            _ => Err(self.unknown()),
        }
    }

    /// To a generic address and back: the begin of the memory's window is added or taken away.
    fn cvta(&mut self) -> Parsed<Arithmetic> {
        self.expect_operands(2)?;
        let wide = self.take_type()? == "u64";
        let back = self.take("to");
        let space = self.take_space().filter(|_| wide).ok_or_else(|| self.unknown())?;
        let (d, a) = (self.to_b64(0)?, self.b64(1)?);
        let op = if back { IntegerBinary::Sub } else { IntegerBinary::Add };
        match window(space) {
            0 => Ok(Arithmetic::B64Unary(B64Unary::Move, d, a)),
            begin => Ok(Arithmetic::B64Binary(op, d, a, self.constant64(begin)?)),
        }
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
            "s64" | "u64" | "b64" | "f64" => {
                let (a, b) = (self.b64(1)?, self.b64(2)?);
                Ok(Arithmetic::SelectB64 { d: self.to_b64(0)?, a, b, p })
            }
            _ => Err(self.unknown()),
        }
    }

    fn transfer(&mut self) -> Parsed<Memory> {
        self.expect_operands(2)?;
        let load = self.mnemonic == "ld";
        let kind = self.take_type()?;
        let (registers, at) = if load { (0, 1) } else { (1, 0) };
        let named = self.take_space();
        let space = match named {
            Some(Space::Param) if self.scope.locals && self.is_local(at, load)? => Space::Local,
            Some(space) => space,
            None => Space::Global,
        };
        let (strong, itself) = self.strength(space)?;
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
            "u64" | "b64" | "s64" | "f64" => (8, false),
            _ => return Err(self.unknown()),
        };
        if u32::from(width) * u32::from(count) > 16 {
            return Err(self.unknown());
        }
        if self.has_parts() {
            self.drop_cache_hints();
        }
        let address = self.address(at, space)?;
        let (slots, b64) = self.elements(registers, count, width, load)?;
        let t = Transfer { space, width, strong, itself, signed, b64, count, slots, address };
        Ok(match (load, named, space) {
            (true, None, _) => Memory::Rare(RareMemory::GenericLoad(t)),
            (false, None, _) => Memory::Rare(RareMemory::GenericStore(t)),
            (true, Some(_), Space::Local) => Memory::Rare(RareMemory::LoadLocal(t)),
            (false, Some(_), Space::Local) => Memory::Rare(RareMemory::StoreLocal(t)),
            (true, Some(_), Space::Param | Space::Global | Space::Shared | Space::Const) => {
                Memory::Load(t)
            }
            (false, Some(_), Space::Param | Space::Global | Space::Shared | Space::Const) => {
                Memory::Store(t)
            }
        })
    }

    /// Whether `.param` means what a call hands over, which is the caller's local memory, and not what
    /// the launch does.
    fn is_local(&self, address: usize, load: bool) -> Parsed<bool> {
        let of = |name: &str| self.scope.symbols.get(name).map(|symbol| symbol.space);
        Ok(match self.operand(address)? {
            Operand::Address(base, _) => match base.as_ref() {
                Operand::Name(name) => of(name) == Some(Space::Local),
                _ => !load || !self.scope.kernel,
            },
            _ => false,
        })
    }

    /// A word of zero at an address of local memory: what a call without effect returns.
    pub(super) fn store_zero(&mut self, at: u64) -> Parsed<Transfer> {
        let address = Address { base: Base::None, offset: at.cast_signed() };
        let slots = [self.constant(0)?, SINK, SINK, SINK];
        let (space, strong) = (Space::Local, None);
        Ok(Transfer {
            space,
            width: 4,
            strong,
            itself: Itself::default(),
            signed: false,
            b64: false,
            count: 1,
            slots,
            address,
        })
    }

    /// `weak`, `volatile`, which orders like `relaxed.sys` (PTX ISA, "ld"), `relaxed`, or a load that
    /// acquires and a store that releases.
    fn strength(&mut self, space: Space) -> Parsed<(Option<Scope>, Itself)> {
        let mut itself = Itself::default();
        if self.take("weak") || !self.has_parts() {
            return Ok((None, itself));
        }
        let load = self.mnemonic == "ld";
        itself.acquires = load && self.take("acquire");
        itself.releases = !load && self.take("release");
        let strong = if self.take("volatile") {
            Some(Scope::Device)
        } else if itself != Itself::default() || self.take("relaxed") {
            Some(self.take_one(&SCOPES).ok_or_else(|| self.unknown())?)
        } else {
            None
        };
        let writable = matches!(space, Space::Global | Space::Shared);
        if strong.is_some() && !writable { Err(self.unknown()) } else { Ok((strong, itself)) }
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
        let named = self.take_space();
        let space = named.unwrap_or(Space::Global);
        if !matches!(space, Space::Global | Space::Shared) {
            return Err(self.unknown());
        }
        let itself = self.semantics()?;
        let scope = self.take_one(&SCOPES).unwrap_or(Scope::Device);
        let count = self.take_one(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
        let op = self.atomic_op(kind)?;
        let b64 = kind.ends_with("64");
        if self.has_parts() {
            self.drop_cache_hints();
        }
        if count > 1
            && (b64
                || !matches!(op, AtomicOp::AddFloat | AtomicOp::AddPair(_))
                || space != Space::Global)
        {
            return Err(self.unknown());
        }
        let compare = op == AtomicOp::CompareExchange;
        let first = usize::from(returns);
        self.expect_operands(first + 2 + usize::from(compare))?;
        let address = self.address(first, space)?;
        let width = match op {
            AtomicOp::AddHalf(_) => 2,
            _ if b64 => 8,
            _ => 4,
        };
        let mut results = [SINK; 4];
        if returns && *self.operand(0)? != Operand::Name("_") {
            results = self.elements(0, count, width, true)?.0;
        }
        let operands = self.elements(first + 1, count, width, false)?.0;
        let swap = match (compare, b64) {
            (true, true) => self.b64(first + 2)?,
            (true, false) => self.word(first + 2)?,
            (false, _) => SINK,
        };
        let atomic =
            Atomic { op, space, scope, itself, count, b64, results, operands, swap, address };
        Ok(match named {
            Some(_) => Memory::Atomic(atomic),
            None => Memory::Rare(RareMemory::GenericAtomic(atomic)),
        })
    }

    /// What an atomic orders; a reduction sees nothing that it could acquire.
    fn semantics(&mut self) -> Parsed<Itself> {
        let all = [
            ("relaxed", (false, false)),
            ("acquire", (true, false)),
            ("release", (false, true)),
            ("acq_rel", (true, true)),
        ];
        let (acquires, releases) = self.take_one(&all).unwrap_or_default();
        if acquires && self.mnemonic == "red" {
            return Err(self.unknown());
        }
        Ok(Itself { acquires, releases })
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
            ("inc", "inc"),
            ("dec", "dec"),
        ]);
        match (name, kind) {
            (Some("add"), "f32" | "f64") => Ok(AtomicOp::AddFloat),
            // Sums of f16 and bf16 keep subnormals, and the opcode says so (PTX ISA 8.4, "atom").
            (Some("add"), "f16x2") if self.take("noftz") => {
                Ok(AtomicOp::AddPair(NarrowFormat::F16))
            }
            (Some("add"), "bf16x2") if self.take("noftz") => {
                Ok(AtomicOp::AddPair(NarrowFormat::Bf16))
            }
            (Some("add"), "f16") if self.take("noftz") => Ok(AtomicOp::AddHalf(NarrowFormat::F16)),
            (Some("add"), "bf16") if self.take("noftz") => {
                Ok(AtomicOp::AddHalf(NarrowFormat::Bf16))
            }
            (Some("cas"), "b16") => {
                let what = format!(
                    "{}, by which nvcc adds a bf16 for older devices; compile with -arch=compute_90",
                    self.statement.opcode
                );
                Err(Problem::outside(self.statement.line, &what))
            }
            (Some("add"), "u32" | "s32" | "u64" | "s64") => Ok(AtomicOp::Add),
            (Some("inc"), "u32") => Ok(AtomicOp::Increment),
            (Some("dec"), "u32") => Ok(AtomicOp::Decrement),
            (Some("and"), "b32" | "b64") => Ok(AtomicOp::And),
            (Some("or"), "b32" | "b64") => Ok(AtomicOp::Or),
            (Some("xor"), "b32" | "b64") => Ok(AtomicOp::Xor),
            (Some("min"), "s32" | "s64") => Ok(AtomicOp::MinS),
            (Some("min"), "u32" | "u64") => Ok(AtomicOp::MinU),
            (Some("max"), "s32" | "s64") => Ok(AtomicOp::MaxS),
            (Some("max"), "u32" | "u64") => Ok(AtomicOp::MaxU),
            (Some("exch"), "b32" | "b64") if self.mnemonic == "atom" => Ok(AtomicOp::Exchange),
            (Some("cas"), "b32" | "b64") if self.mnemonic == "atom" => {
                Ok(AtomicOp::CompareExchange)
            }
            _ => Err(self.unknown()),
        }
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
        "%warpid" => Some(SpecialRegister::WarpId),
        "%nwarpid" => Some(SpecialRegister::WarpCount),
        "%clock" | "%clock_lo" | "%globaltimer_lo" => Some(SpecialRegister::CounterLow),
        "%clock_hi" | "%globaltimer_hi" => Some(SpecialRegister::CounterHigh),
        _ => None,
    }
}
