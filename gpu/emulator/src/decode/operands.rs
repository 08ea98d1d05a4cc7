//! Parts of opcodes and operands, taken one by one.

use std::collections::HashMap;
use std::hash::Hash;

use super::super::ir::{Address, Base, InstructionClass, Op, Predicate, SINK, Slot, Space};
use super::super::parse::{
    Class, Operand, ParseError, Parsed, Register, RegisterCounts, Statement,
};

/// Whose instructions a module of rules decodes.
#[derive(Clone, Copy)]
enum Rules {
    Arithmetic,
    Control,
    Data,
}

macro_rules! mnemonics {
    ($($rules:ident { $($name:literal)* })*) => {
        /// Every mnemonic of the subset.
        pub const MNEMONICS: &[&str] = &[$($($name),*),*];

        fn rules(mnemonic: &str) -> Option<Rules> {
            match mnemonic {
                $($($name)|* => Some(Rules::$rules),)*
                _ => None,
            }
        }
    };
}

mnemonics! {
    Arithmetic {
        "fma" "mul" "add" "setp" "sub" "mad" "and" "shl" "or" "neg" "min" "max" "ex2" "rcp" "abs"
        "bfi" "bfind" "brev" "clz" "div" "lg2" "not" "popc" "rem" "rsqrt" "shf" "shr" "sqrt" "xor"
    }
    Data { "mov" "ld" "st" "cvta" "cvt" "atom" "red" "selp" }
    Control {
        "bra" "shfl" "bar" "vote" "activemask" "barrier" "exit" "fence" "match" "membar" "redux"
        "ret"
    }
}

/// A variable's address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol {
    pub(super) space: Space,
    pub(super) at: u64,
}

/// The constants of one width, each once.
#[derive(Debug)]
pub(super) struct Constants<T> {
    first: Slot,
    slots: HashMap<T, Slot>,
    pub(super) values: Vec<T>,
}

impl<T: Copy + Eq + Hash> Constants<T> {
    fn new(first: Slot) -> Self {
        Self { first, slots: HashMap::new(), values: Vec::new() }
    }

    /// The slot of `value`; `None` when slots run out.
    fn slot(&mut self, value: T) -> Option<Slot> {
        if let Some(&slot) = self.slots.get(&value) {
            return Some(slot);
        }
        let index = Slot::try_from(self.values.len()).ok()?;
        let slot = self.first.checked_add(index).filter(|&s| s < SINK)?;
        self.slots.insert(value, slot);
        self.values.push(value);
        Some(slot)
    }
}

/// A kernel's constants. The one constant predicate is false; true is its negation.
#[derive(Debug)]
pub(super) struct Pool {
    first_predicate: Slot,
    pub(super) words: Constants<u32>,
    pub(super) b64: Constants<u64>,
}

impl Pool {
    pub(super) fn new(counts: RegisterCounts) -> Self {
        Self {
            first_predicate: counts.predicates,
            words: Constants::new(counts.words),
            b64: Constants::new(counts.b64),
        }
    }
}

/// One statement being decoded.
pub(super) struct Decoder<'s, 'a> {
    statement: &'s Statement<'a>,
    pub(super) operands: &'s [Operand<'a>],
    symbols: &'s HashMap<&'a str, Symbol>,
    labels: &'s HashMap<&'a str, u32>,
    pool: &'s mut Pool,
    pub(super) mnemonic: &'a str,
    parts: Parts<'a>,
}

/// Parts of the opcode after the mnemonic that no rule has taken yet. Not a vector, because every
/// statement has some and none has many.
struct Parts<'a> {
    all: [&'a str; 12],
    count: usize,
    /// There were more, which no rule can take.
    more: bool,
}

/// What stands before the first dot, and what after it.
fn part(opcode: &str) -> (&str, Option<&str>) {
    opcode.split_once('.').map_or((opcode, None), |(part, rest)| (part, Some(rest)))
}

impl<'a> Parts<'a> {
    /// The mnemonic, and the parts after it.
    fn split(opcode: &'a str) -> (&'a str, Self) {
        let (mut all, mut count) = ([""; 12], 0);
        let (mnemonic, mut rest) = part(opcode);
        while let Some(after) = rest
            && count < all.len()
        {
            (all[count], rest) = part(after);
            count += 1;
        }
        (mnemonic, Self { all, count, more: rest.is_some() })
    }

    fn is_empty(&self) -> bool {
        self.count == 0 && !self.more
    }

    fn as_slice(&self) -> &[&'a str] {
        &self.all[..self.count]
    }

    fn remove(&mut self, at: usize) {
        self.all.copy_within(at + 1..self.count, at);
        self.count -= 1;
    }

    fn pop(&mut self) -> Option<&'a str> {
        self.count = self.count.checked_sub(1)?;
        Some(self.all[self.count])
    }
}

pub(super) type Decoded = Parsed<(Op, InstructionClass)>;

impl<'s, 'a> Decoder<'s, 'a> {
    pub(super) fn new(
        (statement, operands): (&'s Statement<'a>, &'s [Operand<'a>]),
        symbols: &'s HashMap<&'a str, Symbol>,
        labels: &'s HashMap<&'a str, u32>,
        pool: &'s mut Pool,
    ) -> Self {
        let (mnemonic, parts) = Parts::split(statement.opcode);
        Self { statement, operands, symbols, labels, pool, mnemonic, parts }
    }

    /// Decodes the statement with the rule of its mnemonic.
    pub(super) fn decode(&mut self) -> Decoded {
        let decoded = match rules(self.mnemonic) {
            Some(Rules::Arithmetic) => self.arithmetic(),
            Some(Rules::Control) => self.control(),
            Some(Rules::Data) => self.data(),
            None => return Err(self.unknown()),
        }?;
        if !self.parts.is_empty() {
            return Err(self.unknown());
        }
        Ok(decoded)
    }

    pub(super) fn error(&self, message: impl Into<String>) -> ParseError {
        ParseError::new(self.statement.line, message.into())
    }

    /// The opcode as a whole is not in the subset.
    pub(super) fn unknown(&self) -> ParseError {
        self.error(format!("'{}' is outside the emulated subset", self.statement.opcode))
    }

    /// Takes `part` from the opcode if it is there.
    // Where `part` is known its comparisons need no call.
    #[inline(always)]
    pub(super) fn take(&mut self, part: &str) -> bool {
        let at = self.parts.as_slice().iter().position(|&p| p == part);
        if let Some(at) = at {
            self.parts.remove(at);
        }
        at.is_some()
    }

    /// Takes whichever of `choices` comes first in the opcode.
    pub(super) fn take_one<T: Copy>(&mut self, choices: &[(&str, T)]) -> Option<T> {
        let chosen = |part: &&str| choices.iter().find(|(name, _)| name == part);
        let mut found = self.parts.as_slice().iter().enumerate();
        let (at, value) = found.find_map(|(at, part)| Some((at, chosen(part)?.1)))?;
        self.parts.remove(at);
        Some(value)
    }

    /// Takes the last part: the type of most instructions.
    pub(super) fn take_type(&mut self) -> Parsed<&'a str> {
        self.parts.pop().ok_or_else(|| self.unknown())
    }

    pub(super) fn expect_operands(&self, count: usize) -> Parsed<()> {
        let found = self.operands.len();
        if found == count {
            return Ok(());
        }
        Err(self.error(format!("'{}' takes {count} operands, not {found}", self.mnemonic)))
    }

    pub(super) fn operand(&self, index: usize) -> Parsed<&'s Operand<'a>> {
        self.operands
            .get(index)
            .ok_or_else(|| self.error(format!("operand {} is missing", index + 1)))
    }

    fn wrong(&self, operand: &Operand<'a>, what: &str) -> ParseError {
        self.error(format!("expected {what}, found {operand:?}"))
    }

    /// A word read: register or constant.
    pub(super) fn word_of(&mut self, operand: &Operand<'a>) -> Parsed<Slot> {
        let bits = match operand {
            Operand::Register(Register { class: Class::Word | Class::Half, slot }) => {
                return Ok(*slot);
            }
            Operand::Integer(value) => u32::try_from(*value)
                .or_else(|_| i32::try_from(*value).map(i32::cast_unsigned))
                .map_err(|_| self.wrong(operand, "an immediate of 32 bits"))?,
            Operand::Float(bits) => *bits,
            Operand::Name("WARP_SZ") => 32,
            Operand::Name(name) => match self.symbols.get(name) {
                Some(symbol) => u32::try_from(symbol.at)
                    .map_err(|_| self.wrong(operand, "an address of 32 bits"))?,
                None => return Err(self.wrong(operand, "a known name")),
            },
            _ => return Err(self.wrong(operand, "a 32-bit operand")),
        };
        self.pool.words.slot(bits).ok_or_else(|| self.error("too many constants"))
    }

    pub(super) fn word(&mut self, index: usize) -> Parsed<Slot> {
        let operand = self.operand(index)?;
        self.word_of(operand)
    }

    /// A 64-bit integer read: register, constant or address.
    pub(super) fn b64_of(&mut self, operand: &Operand<'a>) -> Parsed<Slot> {
        let bits = match operand {
            Operand::Register(Register { class: Class::B64, slot }) => return Ok(*slot),
            Operand::Integer(value) => value.cast_unsigned(),
            Operand::Name(name) => match self.symbols.get(name) {
                Some(symbol) => symbol.at,
                None => return Err(self.wrong(operand, "a known name")),
            },
            _ => return Err(self.wrong(operand, "a 64-bit operand")),
        };
        self.pool.b64.slot(bits).ok_or_else(|| self.error("too many constants"))
    }

    pub(super) fn b64(&mut self, index: usize) -> Parsed<Slot> {
        let operand = self.operand(index)?;
        self.b64_of(operand)
    }

    /// A register written, of one of `classes`.
    pub(super) fn destination_of(&self, operand: &Operand<'a>, classes: &[Class]) -> Parsed<Slot> {
        match operand {
            Operand::Register(register) if classes.contains(&register.class) => Ok(register.slot),
            _ => Err(self.wrong(operand, &format!("a register of {classes:?}"))),
        }
    }

    pub(super) fn to_word(&self, index: usize) -> Parsed<Slot> {
        self.destination_of(self.operand(index)?, &[Class::Word, Class::Half])
    }

    pub(super) fn to_b64(&self, index: usize) -> Parsed<Slot> {
        self.destination_of(self.operand(index)?, &[Class::B64])
    }

    pub(super) fn to_predicate(&self, index: usize) -> Parsed<Slot> {
        self.destination_of(self.operand(index)?, &[Class::Predicate])
    }

    /// A predicate read: `p`, `!p`, or an integer, of which zero is false.
    pub(super) fn predicate_of(&self, operand: &Operand<'a>) -> Parsed<Predicate> {
        let (slot, negated) = match operand {
            Operand::Register(Register { class: Class::Predicate, slot }) => (*slot, false),
            Operand::Not(register) => (register.slot, true),
            Operand::Integer(value) => (self.pool.first_predicate, *value != 0),
            _ => return Err(self.wrong(operand, "a predicate")),
        };
        Ok(Predicate { slot, negated })
    }

    pub(super) fn predicate(&self, index: usize) -> Parsed<Predicate> {
        self.predicate_of(self.operand(index)?)
    }

    /// `d` or `d|p`; a missing or `_` predicate is [`SINK`].
    pub(super) fn with_predicate(&self, index: usize, class: Class) -> Parsed<[Slot; 2]> {
        let (d, p) = match self.operand(index)? {
            Operand::Pair(pair) => (&pair[0], Some(&pair[1])),
            single => (single, None),
        };
        let d = match d {
            Operand::Name("_") => SINK,
            _ => self.destination_of(d, &[class])?,
        };
        let p = match p {
            None | Some(Operand::Name("_")) => SINK,
            Some(p) => self.destination_of(p, &[Class::Predicate])?,
        };
        Ok([d, p])
    }

    /// `[base+offset]`, checked against the space a name belongs to.
    pub(super) fn address(&mut self, index: usize, space: Space) -> Parsed<Address> {
        let operand = self.operand(index)?;
        let Operand::Address(base, offset) = operand else {
            return Err(self.wrong(operand, "an address"));
        };
        let (base, from) = match base.as_ref() {
            Operand::Register(Register { class: Class::Word, slot }) => (Base::Word(*slot), 0),
            Operand::Register(Register { class: Class::B64, slot }) => (Base::B64(*slot), 0),
            Operand::Integer(at) => (Base::None, *at),
            Operand::Name(name) => match self.symbols.get(name) {
                Some(symbol) if symbol.space == space => (Base::None, symbol.at.cast_signed()),
                Some(_) => return Err(self.wrong(operand, &format!("a variable in {space:?}"))),
                None => return Err(self.wrong(operand, "a known name")),
            },
            _ => return Err(self.wrong(operand, "an address")),
        };
        Ok(Address { base, offset: from.wrapping_add(*offset) })
    }

    pub(super) fn label(&self, index: usize) -> Parsed<u32> {
        let operand = self.operand(index)?;
        match operand {
            Operand::Name(name) => self.labels.get(name).copied(),
            _ => None,
        }
        .ok_or_else(|| self.wrong(operand, "a label of this kernel"))
    }
}
