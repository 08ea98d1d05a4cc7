//! Parts of opcodes and operands, taken one by one.

use std::collections::HashMap;
use std::hash::Hash;

use super::super::ir::{Address, Base, InstructionClass, Op, Predicate, SINK, Slot, Space};
use super::super::parse::{
    Class, Operand, ParseError, Parsed, Problem, Register, RegisterCounts, Statement,
};
use super::parts::Parts;

/// Whose instructions a module of rules decodes.
#[derive(Clone, Copy)]
enum Rules {
    Arithmetic,
    Control,
    Data,
    Rare,
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
        "atan2" "tanh" "addc" "subc" "madc"
    }
    Data { "mov" "ld" "st" "cvta" "cvt" "atom" "red" "selp" }
    Control {
        "bra" "shfl" "bar" "vote" "activemask" "barrier" "exit" "fence" "match" "membar" "redux" "elect"
        "ret" "call" "trap" "nanosleep" "prefetch" "prefetchu"
    }
    Rare {
        "bfe" "bmsk" "copysign" "cos" "cp" "dp2a" "dp4a" "fns" "isspacep" "lop3" "mad24" "mul24" "pow" "prmt" "sad"
        "set" "sin" "slct" "szext" "testp"
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

/// What a function's statements refer to.
pub(super) struct Scope<'s, 'a> {
    pub(super) symbols: HashMap<&'a str, Symbol>,
    pub(super) labels: &'s HashMap<&'a str, u32>,
    /// Where the function's registers begin among those of the kernel.
    pub(super) registers: RegisterCounts,
    /// Where its flag CC.CF is among the words of the kernel, if it has one.
    pub(super) carry: Option<Slot>,
    /// Whether it is a kernel and not a function that it calls.
    pub(super) kernel: bool,
    /// Whether `.param` can mean a variable of the function.
    pub(super) locals: bool,
    /// Variables of the module that cannot be read.
    pub(super) refused: &'s HashMap<&'a str, Problem>,
}

impl Scope<'_, '_> {
    /// The slot of a register among those of the kernel.
    #[inline(always)]
    pub(super) fn slot(&self, register: Register) -> Slot {
        register.slot
            + match register.class {
                Class::Predicate => self.registers.predicates,
                Class::Half | Class::Word => self.registers.words,
                Class::B64 => self.registers.b64,
            }
    }
}

/// An operand as a message shows it.
fn described(operand: &Operand<'_>) -> String {
    let list = |all: &[Operand<'_>]| all.iter().map(described).collect::<Vec<_>>().join(", ");
    match operand {
        Operand::Register(Register { class, .. }) => {
            format!("a {} register", class.described())
        }
        Operand::Name(name) => format!("'{name}'"),
        Operand::Label(_) => "a label".to_owned(),
        Operand::Not(_) => "a negated predicate".to_owned(),
        Operand::Integer(value) => value.to_string(),
        Operand::Float(bits) => format!("{:?}", f32::from_bits(*bits)),
        Operand::Double(bits) => format!("{:?}", f64::from_bits(*bits)),
        Operand::Pair(pair) => format!("{}|{}", described(&pair[0]), described(&pair[1])),
        Operand::Vector(all) => format!("{{{}}}", list(all)),
        Operand::List(all) => format!("({})", list(all)),
        Operand::Address(base, offset) => format!("[{}+{offset}]", described(base)),
    }
}

/// One statement being decoded.
pub(super) struct Decoder<'s, 'a> {
    pub(super) statement: &'s Statement<'a>,
    pub(super) operands: &'s [Operand<'a>],
    pub(super) scope: &'s Scope<'s, 'a>,
    pool: &'s mut Pool,
    pub(super) mnemonic: &'a str,
    parts: Parts<'a>,
}

pub(super) type Decoded = Parsed<(Op, InstructionClass)>;

impl<'s, 'a> Decoder<'s, 'a> {
    pub(super) fn new(
        (statement, operands): (&'s Statement<'a>, &'s [Operand<'a>]),
        scope: &'s Scope<'s, 'a>,
        pool: &'s mut Pool,
    ) -> Self {
        let (mnemonic, parts) = Parts::split(statement.opcode);
        Self { statement, operands, scope, pool, mnemonic, parts }
    }

    /// Decodes the statement with the rule of its mnemonic.
    pub(super) fn decode(&mut self) -> Decoded {
        let decoded = match rules(self.mnemonic) {
            Some(Rules::Arithmetic) => self.arithmetic(),
            Some(Rules::Control) => self.control(),
            Some(Rules::Data) => self.data(),
            Some(Rules::Rare) => self.rare(),
            None => return Err(self.unknown()),
        }?;
        if !self.parts.is_empty() {
            return Err(self.unknown());
        }
        Ok(decoded)
    }

    /// Drops what says where caches should keep the data: it has no meaning beside speed (PTX ISA,
    /// "Cache Operators", "Cache Eviction Priority Hints").
    pub(super) fn drop_cache_hints(&mut self) {
        const HINTS: [&str; 21] = [
            "ca",
            "cg",
            "cs",
            "lu",
            "cv",
            "wb",
            "wt",
            "L1::evict_normal",
            "L1::evict_unchanged",
            "L1::evict_first",
            "L1::evict_last",
            "L1::no_allocate",
            "L2::evict_normal",
            "L2::evict_first",
            "L2::evict_last",
            "L2::64B",
            "L2::128B",
            "L2::256B",
            "evict_last",
            "evict_first",
            "evict_normal",
        ];
        if !self.parts.is_empty() {
            let (all, count) = (self.parts.all, self.parts.count);
            self.parts.count = 0;
            for part in all[..count].iter().filter(|part| !HINTS.contains(part)) {
                self.parts.all[self.parts.count] = part;
                self.parts.count += 1;
            }
        }
    }

    /// Whether parts of the opcode are left.
    pub(super) fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Whether this part of the opcode is left.
    pub(super) fn has_part(&self, part: &str) -> bool {
        self.parts.as_slice().contains(&part)
    }

    pub(super) fn error(&self, message: impl Into<String>) -> Problem {
        Problem::new(self.statement.line, message.into())
    }

    /// The opcode as a whole is not in the subset.
    pub(super) fn unknown(&self) -> Problem {
        Problem::outside(self.statement.line, self.statement.opcode)
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

    pub(super) fn wrong(&self, operand: &Operand<'a>, what: &str) -> Problem {
        self.error(format!("expected {what}, found {}", described(operand)))
    }

    /// A name that nothing in reach has.
    fn unknown_name(&self, name: &str) -> Problem {
        match self.scope.refused.get(name) {
            Some(problem) => self.error(format!(
                "the declaration of '{name}' cannot be read: {}",
                ParseError::from(problem.clone())
            )),
            None => self.error(format!("expected a known name, found '{name}'")),
        }
    }

    /// The slot of a constant word.
    pub(super) fn constant(&mut self, bits: u32) -> Parsed<Slot> {
        self.pool.words.slot(bits).ok_or_else(|| self.error("too many constants"))
    }

    /// The slot of a constant of 64 bits.
    pub(super) fn constant64(&mut self, bits: u64) -> Parsed<Slot> {
        self.pool.b64.slot(bits).ok_or_else(|| self.error("too many constants"))
    }

    /// A word read: register or constant.
    pub(super) fn word_of(&mut self, operand: &Operand<'a>) -> Parsed<Slot> {
        let bits = match operand {
            Operand::Register(register @ Register { class: Class::Word | Class::Half, .. }) => {
                return Ok(self.scope.slot(*register));
            }
            Operand::Integer(value) => u32::try_from(*value)
                .or_else(|_| i32::try_from(*value).map(i32::cast_unsigned))
                .map_err(|_| self.wrong(operand, "an immediate of 32 bits"))?,
            Operand::Float(bits) => *bits,
            Operand::Double(bits) => single(*bits).to_bits(),
            Operand::Name("WARP_SZ") => 32,
            Operand::Name(name) => match self.scope.symbols.get(name) {
                Some(symbol) => u32::try_from(symbol.at)
                    .map_err(|_| self.wrong(operand, "an address of 32 bits"))?,
                None => return Err(self.unknown_name(name)),
            },
            _ => return Err(self.wrong(operand, "a 32-bit operand")),
        };
        self.constant(bits)
    }

    pub(super) fn word(&mut self, index: usize) -> Parsed<Slot> {
        let operand = self.operand(index)?;
        self.word_of(operand)
    }

    /// A 64-bit integer read: register, constant or address.
    pub(super) fn b64_of(&mut self, operand: &Operand<'a>) -> Parsed<Slot> {
        let bits = match operand {
            Operand::Register(register @ Register { class: Class::B64, .. }) => {
                return Ok(self.scope.slot(*register));
            }
            Operand::Integer(value) => value.cast_unsigned(),
            Operand::Double(bits) => *bits,
            Operand::Name(name) => match self.scope.symbols.get(name) {
                Some(symbol) => symbol.at,
                None => return Err(self.unknown_name(name)),
            },
            _ => return Err(self.wrong(operand, "a 64-bit operand")),
        };
        self.constant64(bits)
    }

    pub(super) fn b64(&mut self, index: usize) -> Parsed<Slot> {
        let operand = self.operand(index)?;
        self.b64_of(operand)
    }

    /// A register written, of one of `classes`.
    pub(super) fn destination_of(&self, operand: &Operand<'a>, classes: &[Class]) -> Parsed<Slot> {
        match operand {
            Operand::Register(register) if classes.contains(&register.class) => {
                Ok(self.scope.slot(*register))
            }
            _ => {
                let wanted: Vec<_> = classes.iter().map(|class| class.described()).collect();
                Err(self.wrong(operand, &format!("a {} register", wanted.join(" or "))))
            }
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
            Operand::Register(register @ Register { class: Class::Predicate, .. }) => {
                (self.scope.slot(*register), false)
            }
            Operand::Not(register) => (self.scope.slot(*register), true),
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
            Operand::Register(register @ Register { class: Class::Word, .. }) => {
                (Base::Word(self.scope.slot(*register)), 0)
            }
            Operand::Register(register @ Register { class: Class::B64, .. }) => {
                (Base::B64(self.scope.slot(*register)), 0)
            }
            Operand::Integer(at) => (Base::None, *at),
            Operand::Name(name) => match self.scope.symbols.get(name) {
                Some(symbol) if symbol.space == space => (Base::None, symbol.at.cast_signed()),
                Some(_) => {
                    return Err(self.wrong(operand, &format!("a variable in {space} memory")));
                }
                None => return Err(self.unknown_name(name)),
            },
            _ => return Err(self.wrong(operand, "an address")),
        };
        Ok(Address { base, offset: from.wrapping_add(*offset) })
    }

    pub(super) fn label(&self, index: usize) -> Parsed<u32> {
        let operand = self.operand(index)?;
        match operand {
            Operand::Name(name) => self.scope.labels.get(name).copied(),
            Operand::Label(place) => Some(*place),
            _ => None,
        }
        .ok_or_else(|| self.wrong(operand, "a label of this kernel"))
    }
}

/// The nearest f32 of a constant that is written as f64.
#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is what is asked for")]
fn single(bits: u64) -> f32 {
    f64::from_bits(bits) as f32
}
