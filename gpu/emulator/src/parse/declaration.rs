//! Declarations: variables and registers.

use super::{
    Class, ParameterKind, Parsed, Parser, Problem, Register, RegisterCounts, Space, Token, Variable,
};

/// The most bytes of a variable, and of all of a module: what a source says is not taken from a machine's
/// memory without a limit.
pub(super) const LARGEST: u64 = 1 << 28;

/// The registers declared so far, innermost scope last (inline assembly opens scopes).
#[derive(Debug, Default)]
pub(super) struct Scopes<'a> {
    open: Vec<Vec<Declared<'a>>>,
    pub(super) counts: RegisterCounts,
}

/// `.reg .b32 %r<5>` declares `%r0` to `%r4`; `.reg .b32 %x` declares `%x`.
#[derive(Debug)]
struct Declared<'a> {
    name: &'a str,
    range: Option<u16>,
    class: Class,
    first: u16,
}

impl<'a> Scopes<'a> {
    /// Opens a scope; false when there are already more than any compiler nests.
    pub(super) fn open(&mut self) -> bool {
        self.open.push(Vec::new());
        self.open.len() <= 64
    }

    pub(super) fn close(&mut self) {
        self.open.pop();
    }

    /// The register called `name`, if there is one.
    pub(super) fn find(&self, name: &str) -> Option<Register> {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, digits) = name.split_at(name.len() - digits);
        let place = |all: u16, digit: u8| all.checked_mul(10)?.checked_add(u16::from(digit - b'0'));
        let index = if digits.is_empty() { None } else { digits.bytes().try_fold(0, place) };
        for declared in self.open.iter().rev().flat_map(|scope| scope.iter().rev()) {
            let offset = match declared.range {
                None if declared.name == name => 0,
                Some(count) if declared.name == prefix => match index {
                    Some(index) if index < count => index,
                    _ => continue,
                },
                _ => continue,
            };
            return Some(Register { class: declared.class, slot: declared.first + offset });
        }
        None
    }

    /// The first of so many new registers; `None` when there are more registers than slots.
    pub(super) fn unnamed(&mut self, class: Class, count: u16) -> Option<u16> {
        let counter = match class {
            Class::Predicate => &mut self.counts.predicates,
            Class::Half | Class::Word => &mut self.counts.words,
            Class::B64 => &mut self.counts.b64,
        };
        let first = *counter;
        // Half of the slots are left to constants.
        *counter = first.checked_add(count).filter(|&end| end <= u16::MAX / 2)?;
        Some(first)
    }

    /// Adds a declaration; `None` when there are more registers than slots.
    fn declare(&mut self, name: &'a str, range: Option<u16>, class: Class) -> Option<()> {
        let first = self.unnamed(class, range.unwrap_or(1))?;
        self.open.last_mut()?.push(Declared { name, range, class, first });
        Some(())
    }
}

/// Bytes and kind of a type that a variable may have.
fn declared(name: &str) -> Option<(u64, ParameterKind)> {
    use ParameterKind::{Bits, Float, Whole};
    Some(match name {
        ".b8" => (1, Bits),
        ".u8" | ".s8" => (1, Whole),
        ".b16" => (2, Bits),
        ".u16" | ".s16" => (2, Whole),
        ".f16" | ".bf16" => (2, Float),
        ".b32" | ".f16x2" | ".bf16x2" => (4, Bits),
        ".u32" | ".s32" => (4, Whole),
        ".f32" => (4, Float),
        ".b64" => (8, Bits),
        ".u64" | ".s64" => (8, Whole),
        ".f64" => (8, Float),
        _ => return None,
    })
}

impl<'a> Parser<'_, 'a> {
    /// `.global .align 4 .b8 name[5] = {1, 2};` and the like.
    pub(super) fn variable(&mut self) -> Parsed<Variable<'a>> {
        let dynamic = self.peek() == Some(Token::Word(".extern"));
        self.at += usize::from(dynamic);
        let space = match self.word()? {
            ".global" => Space::Global,
            ".shared" => Space::Shared,
            ".const" => Space::Const,
            // What calls hand over is the caller's own memory (PTX ISA, "Parameter State Space",
            // "Device Function Parameters").
            ".local" | ".param" => Space::Local,
            other => {
                self.at -= 1;
                return Err(Problem::outside(self.line(), other));
            }
        };
        let mut variable = self.rest_of_variable(space)?;
        variable.dynamic = dynamic;
        if dynamic && (space != Space::Shared || variable.size != 0) {
            return Err(self.error("an external variable must be a shared array without a size"));
        }
        if !dynamic && variable.size == 0 {
            return Err(self.error("a variable without a size"));
        }
        self.expect(';')?;
        Ok(variable)
    }

    /// From `.align` to before the semicolon.
    pub(super) fn rest_of_variable(&mut self, space: Space) -> Parsed<Variable<'a>> {
        let mut align = None;
        let (element, kind) = loop {
            match self.word()? {
                ".align" => align = Some(self.integer()?.cast_unsigned()),
                ".ptr" | ".global" | ".shared" | ".const" | ".local" => {}
                name => match declared(name) {
                    Some(declared) => break declared,
                    None => {
                        self.at -= 1;
                        return Err(Problem::outside(self.line(), name));
                    }
                },
            }
        };
        let align = align.unwrap_or(element);
        if !align.is_power_of_two() || align > 1 << 12 {
            return Err(self.error(format!("alignment {align} is not a power of two to 4096")));
        }
        self.pointee()?;
        let name = self.word()?;
        let mut size = element;
        while self.eat('[') {
            if self.eat(']') {
                size = 0;
                break;
            }
            let count = self.integer()?.cast_unsigned();
            size = size.checked_mul(count).filter(|&s| s <= LARGEST).ok_or_else(|| {
                self.error(format!("variable '{name}' is larger than {LARGEST} bytes"))
            })?;
            self.expect(']')?;
        }
        let initial = if self.eat('=') { self.initializer(element, size)? } else { Vec::new() };
        Ok(Variable { name, space, size, align, kind, dynamic: false, initial })
    }

    /// What a parameter points to, as newer compilers write it: `.ptr .global .align 1` (PTX ISA, "Kernel
    /// Parameter Attribute: .ptr"). It says nothing of the parameter itself.
    fn pointee(&mut self) -> Parsed<()> {
        while let Some(Token::Word(word)) = self.peek() {
            match word {
                ".ptr" | ".global" | ".shared" | ".const" | ".local" => self.at += 1,
                ".align" => {
                    self.at += 1;
                    self.integer()?;
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// A number, or numbers in braces (braces inside them only group).
    fn initializer(&mut self, element: u64, size: u64) -> Parsed<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut depth = 0_u32;
        loop {
            if self.eat('{') {
                depth += 1;
                continue;
            }
            let value = match self.literal()? {
                super::Operand::Float(bits) => i64::from(bits),
                super::Operand::Integer(value) => value,
                super::Operand::Double(bits) if element == 8 => bits.cast_signed(),
                _ => return Err(self.expected("a number")),
            };
            let width = usize::try_from(element).unwrap_or(8);
            bytes.extend_from_slice(&value.to_le_bytes()[..width]);
            while depth > 0 && self.eat('}') {
                depth -= 1;
            }
            if depth == 0 || !self.eat(',') {
                break;
            }
        }
        if depth > 0 {
            return Err(self.expected("'}'"));
        }
        if bytes.len() as u64 > size {
            return Err(self.error("more initial values than elements"));
        }
        Ok(bytes)
    }

    /// `.reg .b32 %r<5>, %x;`, and `.reg.b32 %x;` as people write it by hand.
    pub(super) fn register(&mut self) -> Parsed<()> {
        let word = self.word()?;
        let of_type = match word.strip_prefix(".reg") {
            Some("") | None => self.word()?,
            Some(of_type) => of_type,
        };
        let class = match of_type {
            ".pred" => Class::Predicate,
            ".b16" | ".u16" | ".s16" | ".f16" | ".bf16" => Class::Half,
            ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" | ".bf16x2" => Class::Word,
            ".b64" | ".u64" | ".s64" | ".f64" => Class::B64,
            other => {
                self.at -= 1;
                return Err(Problem::outside(self.line(), &format!(".reg {other}")));
            }
        };
        loop {
            let name = self.word()?;
            let range = if self.eat('<') {
                let count = self.integer()?;
                self.expect('>')?;
                Some(u16::try_from(count).map_err(|_| self.error("too many registers"))?)
            } else {
                None
            };
            self.scopes
                .declare(name, range, class)
                .ok_or_else(|| self.error("too many registers"))?;
            if !self.eat(',') {
                break;
            }
        }
        self.expect(';')
    }
}
