//! PTX text to statements: the grammar of modules, kernels and operands, without the meaning of
//! opcodes (that is [`decode`](super::decode)).
//!
//! Whatever the grammar below does not name is an error with its line; nothing is skipped but
//! `.loc`, `.file`, `.pragma` and sections for debuggers, which mean nothing to an execution. What is
//! wrong inside a function is wrong with that function alone: its other lines and other functions are
//! read all the same.

mod declaration;
mod function;
mod label;
mod origin;
mod problem;
mod statement;

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use super::lex::{Located, Token, lex};
use declaration::Scopes;
use origin::{Origin, call_of};

pub use problem::ParseError;
pub(super) use problem::{Problem, refusal};

pub(super) type Parsed<T> = Result<T, Problem>;

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Kernel parameters.
    Param,
    /// Device memory, seen by every block.
    Global,
    /// A block's own memory.
    Shared,
    /// Read-only device memory.
    Const,
    /// A thread's own memory.
    Local,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Param => "parameter",
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Const => "constant",
            Self::Local => "local",
        })
    }
}

/// A variable outside registers.
#[derive(Debug)]
pub(super) struct Variable<'a> {
    pub(super) name: &'a str,
    pub(super) space: Space,
    /// Bytes; 0 for `extern` arrays, whose size the launch gives.
    pub(super) size: u64,
    pub(super) align: u64,
    /// What its elements are declared as.
    pub(super) kind: ParameterKind,
    pub(super) dynamic: bool,
    /// Initial bytes, at most `size`; the rest is zero (PTX ISA, "Initializers").
    pub(super) initial: Vec<u8>,
}

/// What a program declares a parameter as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// `.u32` and its like: a whole number or a pointer.
    Whole,
    /// `.f32` and its like.
    Float,
    /// `.b32` and its like, and structures: it is not said.
    Bits,
}

/// Width of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Predicate,
    /// 16 bits in a word's slot, whose upper half means nothing.
    Half,
    Word,
    /// 64 bits.
    B64,
}

impl Class {
    /// In a message.
    pub(super) fn described(self) -> &'static str {
        match self {
            Self::Predicate => "predicate",
            Self::Half => "16-bit",
            Self::Word => "32-bit",
            Self::B64 => "64-bit",
        }
    }
}

/// A register: its slot among those of its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Register {
    pub(super) class: Class,
    pub(super) slot: u16,
}

/// An operand as written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand<'a> {
    Register(Register),
    /// A variable, label or special register, or the sink `_`.
    Name(&'a str),
    /// A label of inner braces, by its index in the function's body.
    Label(u32),
    /// `!p`.
    Not(Register),
    /// Two's complement in 64 bits.
    Integer(i64),
    /// Bits of an f32 (`0f...`).
    Float(u32),
    /// Bits of an f64 (`0d...`, or digits with a point).
    Double(u64),
    /// `a|b`, each a register or `_`.
    Pair(Box<[Self; 2]>),
    Vector(Vec<Self>),
    /// `(a, b)`, of calls.
    List(Vec<Self>),
    /// `[base+offset]`; an integer base of 0 is an absolute address.
    Address(Box<Self>, i64),
}

/// An instruction as written.
#[derive(Debug)]
pub(super) struct Statement<'a> {
    pub(super) line: u32,
    /// Predicate and whether it is negated.
    pub(super) guard: Option<(Register, bool)>,
    pub(super) opcode: &'a str,
    /// Its place in the source's operands.
    pub(super) operands: Range<usize>,
}

/// How many registers of each width a kernel declares.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RegisterCounts {
    pub(super) predicates: u16,
    /// Halves and words.
    pub(super) words: u16,
    /// 64 bits.
    pub(super) b64: u16,
}

/// Who calls a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FunctionKind {
    /// `.entry`: a launch.
    Kernel,
    /// `.func` with a body: kernels and other functions.
    Device,
    /// `.func` without a body: what a linker would add.
    External,
}

/// A kernel or device function as written.
#[derive(Debug)]
pub(super) struct Function<'a> {
    pub(super) kind: FunctionKind,
    pub(super) name: &'a str,
    pub(super) line: u32,
    /// What it returns.
    pub(super) results: Vec<Variable<'a>>,
    pub(super) params: Vec<Variable<'a>>,
    /// `.maxntid` or `.reqntid`, missing dimensions 1.
    pub(super) max_threads: Option<[u32; 3]>,
    pub(super) registers: RegisterCounts,
    pub(super) variables: Vec<Variable<'a>>,
    pub(super) body: Vec<Statement<'a>>,
    /// Slot among its words of the flag CC.CF, where it uses that.
    pub(super) carry: Option<u16>,
    /// Label to index in `body`.
    pub(super) labels: HashMap<&'a str, u32>,
    /// Indices of the calls in `body`.
    pub(super) calls: Vec<usize>,
    /// What in it cannot be read.
    pub(super) problems: Vec<Problem>,
}

/// A source as written.
#[derive(Debug, Default)]
pub(super) struct Source<'a> {
    pub(super) target: &'a str,
    pub(super) variables: Vec<Variable<'a>>,
    /// Bytes of all variables.
    bytes: u64,
    pub(super) kernels: Vec<Function<'a>>,
    /// Device functions by name, those with a body first.
    pub(super) functions: HashMap<&'a str, Function<'a>>,
    /// Variables of the module that cannot be read, and why.
    pub(super) refused: HashMap<&'a str, Problem>,
    /// The operands of all statements, one after the other.
    pub(super) operands: Vec<Operand<'a>>,
    /// In the order of the source.
    origins: Vec<Origin>,
    /// Names of source files by number.
    files: HashMap<u32, &'a str>,
    /// `.pragma "uniform"`, which no compiler of CUDA writes.
    pub(super) uniform: bool,
}

/// Parses a module.
///
/// # Errors
/// The first line outside functions that is not in the subset.
pub(super) fn parse(source: &str) -> Parsed<Source<'_>> {
    let tokens = lex(source)?;
    // Some three tokens are an operand with what stands around it.
    let operands = Vec::with_capacity(tokens.len() / 3);
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
        scopes: Scopes::default(),
        operands,
        targets: HashMap::new(),
        origins: Vec::new(),
        files: HashMap::new(),
        uniform: false,
    };
    let mut module = Source::default();
    while let Some(token) = parser.peek() {
        match token {
            Token::Word(".version") => {
                parser.at += 1;
                parser.number()?;
            }
            Token::Word(".target") => {
                parser.at += 1;
                module.target = parser.word()?;
                // `sm_75, texmode_independent, debug`
                while parser.eat(',') {
                    parser.word()?;
                }
            }
            Token::Word(".address_size") => {
                parser.at += 1;
                if parser.integer()? != 64 {
                    return Err(parser.error("only .address_size 64 is known"));
                }
            }
            Token::Word(".loc" | ".file" | ".pragma") => parser.skip_directive(),
            Token::Word(".section") => parser.skip_debug_section()?,
            Token::Word(".visible" | ".weak") => parser.at += 1,
            Token::Word(".extern") if parser.follows(".func") => parser.at += 1,
            Token::Word(".entry") => {
                let kernel = parser.function(FunctionKind::Kernel)?;
                module.kernels.push(kernel);
            }
            Token::Word(".func") => parser.device_function(&mut module)?,
            _ => parser.module_variable(&mut module)?,
        }
    }
    if module.target.is_empty() {
        return Err(parser.error("no .target"));
    }
    module.operands = parser.operands;
    module.origins = parser.origins;
    module.files = parser.files;
    module.uniform = parser.uniform;
    Ok(module)
}

/// A position in the tokens; the grammar is in the submodules.
struct Parser<'t, 'a> {
    tokens: &'t [Located<'a>],
    at: usize,
    scopes: Scopes<'a>,
    operands: Vec<Operand<'a>>,
    /// The lists of labels of the function.
    targets: HashMap<&'a str, Vec<&'a str>>,
    origins: Vec<Origin>,
    files: HashMap<u32, &'a str>,
    uniform: bool,
}

impl<'a> Parser<'_, 'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).map(|t| t.token)
    }

    /// Whether `word` stands behind the next token.
    fn follows(&self, word: &str) -> bool {
        self.tokens.get(self.at + 1).is_some_and(|t| t.token == Token::Word(word))
    }

    /// Whether the next token is `mark`.
    fn is_at(&self, mark: char) -> bool {
        matches!(self.tokens.get(self.at), Some(Located { token: Token::Mark(m), .. }) if *m == mark)
    }

    /// The line of the next token, or of the last.
    fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |t| t.line)
    }

    fn error(&self, message: impl Into<String>) -> Problem {
        Problem::new(self.line(), message.into())
    }

    fn expected(&self, what: &str) -> Problem {
        let found = match self.peek() {
            Some(Token::Word(text) | Token::Number(text)) => format!("'{text}'"),
            Some(Token::Text(text)) => format!("\"{text}\""),
            Some(Token::Mark(mark)) => format!("'{mark}'"),
            None => "the end".to_owned(),
        };
        self.error(format!("expected {what}, found {found}"))
    }

    /// Whether the next token is `mark`, which is then consumed.
    fn eat(&mut self, mark: char) -> bool {
        let found = self.is_at(mark);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, mark: char) -> Parsed<()> {
        if self.eat(mark) { Ok(()) } else { Err(self.expected(&format!("'{mark}'"))) }
    }

    fn word(&mut self) -> Parsed<&'a str> {
        let Some(Token::Word(text)) = self.peek() else { return Err(self.expected("a name")) };
        self.at += 1;
        Ok(text)
    }

    fn number(&mut self) -> Parsed<&'a str> {
        let Some(Token::Number(text)) = self.peek() else { return Err(self.expected("a number")) };
        self.at += 1;
        Ok(text)
    }

    /// An integer literal with an optional sign, in two's complement of 64 bits.
    fn integer(&mut self) -> Parsed<i64> {
        let negative = self.eat('-');
        let text = self.number()?;
        let digits = text.strip_suffix('U').unwrap_or(text);
        // PTX ISA, "Integer Constants".
        let parsed = match (digits.get(..2), digits.strip_prefix('0')) {
            (Some("0x" | "0X"), _) => u64::from_str_radix(&digits[2..], 16),
            (Some("0b" | "0B"), _) => u64::from_str_radix(&digits[2..], 2),
            (Some(_), Some(octal)) => u64::from_str_radix(octal, 8),
            _ => digits.parse(),
        };
        let Ok(magnitude) = parsed else {
            self.at -= 1;
            return Err(self.expected("an integer of at most 64 bits"));
        };
        let value = magnitude.cast_signed();
        Ok(if negative { value.wrapping_neg() } else { value })
    }

    /// `.section .debug_str { ... }` and the like, as `-lineinfo` adds them; braces do not nest.
    fn skip_debug_section(&mut self) -> Parsed<()> {
        self.at += 1;
        if !self.word()?.starts_with(".debug_") {
            self.at -= 1;
            return Err(self.expected("the name of a debug section"));
        }
        self.expect('{')?;
        while !self.eat('}') {
            if self.peek().is_none() {
                return Err(self.expected("'}' after the section"));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// To the end of the line: `.loc`, `.file` and `.pragma` end with it. Of the first two it is kept
    /// which CUDA line they name.
    fn skip_directive(&mut self) {
        let line = self.line();
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        let number = |token: Token<'a>| match token {
            Token::Number(text) => text.parse().ok(),
            Token::Word(_) | Token::Text(_) | Token::Mark(_) => None,
        };
        if let [Located { token: Token::Word(".pragma"), .. }, what, ..] = rest {
            self.uniform |= what.token == Token::Text("uniform");
        }
        if let [Located { token: Token::Word(name), .. }, first, second, ..] = rest
            && let Some(file) = number(first.token)
        {
            match (*name, second.token) {
                (".file", Token::Text(path)) => drop(self.files.insert(file, path)),
                (".loc", token) => {
                    if let Some(of_source) = number(token) {
                        let column = rest.get(3).and_then(|third| number(third.token));
                        let column = column.unwrap_or(0);
                        let call = call_of(rest, line);
                        self.origins.push(Origin {
                            ptx: line,
                            file,
                            line: of_source,
                            column,
                            call,
                        });
                    }
                }
                _ => {}
            }
        }
        let is_pragma = matches!(rest, [Located { token: Token::Word(".pragma"), .. }, ..]);
        while self.tokens.get(self.at).is_some_and(|t| t.line == line) {
            // Another statement may stand on the line of a pragma.
            if is_pragma && self.eat(';') {
                return;
            }
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "\
.version 8.4
.target sm_75
.address_size 64
.visible .entry k()
{
    .loc 1 27 0
    .loc 2 86 5, function_name $L__info_string0, inlined_at 1 55 5
    ret;
}
.file 1 \"/somewhere/k.cu\"
";

    #[test]
    fn line_information_is_skipped_and_other_sections_are_refused() {
        let section = |name: &str, end: &str| {
            format!("{KERNEL}.section {name}\n{{\n$L__info_string0:\n.b8 95,90,0\n{end}")
        };
        let text = section(".debug_str", "}\n");
        let source = parse(&text).expect("what -lineinfo gives");
        assert_eq!(source.kernels[0].body.len(), 1, "one instruction");
        assert_eq!(source.origin(5, 8), None, "file 2 has no name");
        for (text, words) in [
            (section(".text", "}\n"), "line 11: expected the name of a debug section"),
            (section(".debug_str", ""), "expected '}' after the section, found the end"),
        ] {
            let error = parse(&text).expect_err("it is wrong");
            let error = ParseError::from(error).to_string();
            assert!(error.contains(words), "no '{words}' in: {error}");
        }
    }
}
