//! The text of a kernel as it grows: registers, labels, and of each instruction the place in the WGSL that
//! it was lowered from.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

/// A number or a truth value: in a register, or known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Scalar {
    Word(u32),
    Bits(u32),
    Predicate(u32),
    Truth(bool),
}

impl Scalar {
    /// The bits of a number.
    pub(super) fn float(value: f32) -> Self {
        Self::Bits(value.to_bits())
    }
}

impl fmt::Display for Scalar {
    /// As an operand; a truth value that is known has none in PTX ([`Code::predicate`]).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(number) => write!(f, "%r{number}"),
            Self::Bits(bits) => write!(f, "{bits}"),
            Self::Predicate(number) => write!(f, "%p{number}"),
            Self::Truth(truth) => write!(f, "{}", u32::from(*truth)),
        }
    }
}

/// A place in the program that others jump to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(u32);

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "$L{}", self.0)
    }
}

/// File, line and column.
pub(super) type At = (usize, u32, u32);

/// The instructions so far.
#[derive(Debug, Default)]
pub(super) struct Code {
    text: String,
    words: u32,
    predicates: u32,
    addresses: u32,
    labels: u32,
    /// The place that the next instruction is of.
    pub(super) at: Option<At>,
    told: Option<At>,
    /// Whether floats are flushed.
    flush: bool,
}

/// Instructions on f32 that PTX has with `.ftz` too.
const FLUSHABLE: [&str; 17] = [
    "add", "sub", "mul", "div", "fma", "min", "max", "abs", "neg", "sqrt", "rsqrt", "ex2", "lg2",
    "sin", "cos", "pow", "setp",
];

/// The same instruction on floats that are flushed.
fn flushing(opcode: &str) -> Cow<'_, str> {
    let name = opcode.split('.').next().unwrap_or(opcode);
    let stem = opcode.strip_suffix(".f32").filter(|_| FLUSHABLE.contains(&name));
    stem.map_or(Cow::Borrowed(opcode), |stem| Cow::Owned(format!("{stem}.ftz.f32")))
}

impl Code {
    /// No instructions yet; whether floats are to be flushed.
    pub(super) fn new(flush: bool) -> Self {
        Self { flush, ..Self::default() }
    }

    /// One instruction.
    pub(super) fn line(&mut self, instruction: fmt::Arguments<'_>) {
        if let Some((file, line, column)) = self.at
            && self.told != self.at
        {
            // Writing to a text does not fail, here and below.
            let _ = writeln!(self.text, "\t.loc {} {line} {column}", file + 1);
            self.told = self.at;
        }
        let _ = writeln!(self.text, "\t{instruction};");
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels)
    }

    /// The label is here.
    pub(super) fn bind(&mut self, label: Label) {
        let _ = writeln!(self.text, "{label}:");
    }

    pub(super) fn jump(&mut self, label: Label) {
        self.line(format_args!("bra {label}"));
    }

    /// Jumps where `condition`, a register, is as told.
    pub(super) fn jump_if(&mut self, condition: Scalar, is: bool, label: Label) {
        let not = if is { "" } else { "!" };
        self.line(format_args!("@{not}{condition} bra {label}"));
    }

    /// A new register for a number.
    pub(super) fn word(&mut self) -> Scalar {
        self.words += 1;
        Scalar::Word(self.words)
    }

    /// A new register for a truth value.
    pub(super) fn truth(&mut self) -> Scalar {
        self.predicates += 1;
        Scalar::Predicate(self.predicates)
    }

    /// A new register for an address in a buffer, as it is written.
    pub(super) fn address(&mut self) -> String {
        self.addresses += 1;
        format!("%rd{}", self.addresses)
    }

    /// An instruction that gives a number.
    pub(super) fn op(&mut self, opcode: &str, operands: &[Scalar]) -> Scalar {
        let d = self.word();
        self.write(opcode, d, operands);
        d
    }

    /// An instruction that gives a truth value.
    pub(super) fn test(&mut self, opcode: &str, operands: &[Scalar]) -> Scalar {
        let d = self.truth();
        self.write(opcode, d, operands);
        d
    }

    /// An instruction with this destination.
    pub(super) fn write(&mut self, opcode: &str, d: Scalar, operands: &[Scalar]) {
        let operands: Vec<String> = operands.iter().map(ToString::to_string).collect();
        let opcode = if self.flush { flushing(opcode) } else { Cow::Borrowed(opcode) };
        self.line(format_args!("{opcode} {d}, {}", operands.join(", ")));
    }

    /// A truth value in a register.
    pub(super) fn predicate(&mut self, truth: Scalar) -> Scalar {
        match truth {
            Scalar::Truth(known) => {
                let d = self.truth();
                self.line(format_args!("setp.eq.u32 {d}, {}, 1", u32::from(known)));
                d
            }
            Scalar::Word(_) | Scalar::Bits(_) | Scalar::Predicate(_) => truth,
        }
    }

    pub(super) fn not(&mut self, truth: Scalar) -> Scalar {
        match truth {
            Scalar::Truth(known) => Scalar::Truth(!known),
            _ => self.test("not.pred", &[truth]),
        }
    }

    pub(super) fn and(&mut self, a: Scalar, b: Scalar) -> Scalar {
        match (a, b) {
            (Scalar::Truth(false), _) | (_, Scalar::Truth(false)) => Scalar::Truth(false),
            (Scalar::Truth(true), other) | (other, Scalar::Truth(true)) => other,
            _ => self.test("and.pred", &[a, b]),
        }
    }

    pub(super) fn or(&mut self, a: Scalar, b: Scalar) -> Scalar {
        match (a, b) {
            (Scalar::Truth(true), _) | (_, Scalar::Truth(true)) => Scalar::Truth(true),
            (Scalar::Truth(false), other) | (other, Scalar::Truth(false)) => other,
            _ => self.test("or.pred", &[a, b]),
        }
    }

    pub(super) fn xor(&mut self, a: Scalar, b: Scalar) -> Scalar {
        match (a, b) {
            (Scalar::Truth(false), other) | (other, Scalar::Truth(false)) => other,
            (Scalar::Truth(true), other) | (other, Scalar::Truth(true)) => self.not(other),
            _ => self.test("xor.pred", &[a, b]),
        }
    }

    /// `a` where the condition holds, else `b`; both are numbers or both truth values.
    pub(super) fn select(&mut self, condition: Scalar, a: Scalar, b: Scalar) -> Scalar {
        match condition {
            Scalar::Truth(true) => return a,
            Scalar::Truth(false) => return b,
            Scalar::Word(_) | Scalar::Bits(_) | Scalar::Predicate(_) => {}
        }
        if a == b {
            return a;
        }
        if is_truth(a) || is_truth(b) {
            let otherwise = self.not(condition);
            let (chosen, left) = (self.and(condition, a), self.and(otherwise, b));
            return self.or(chosen, left);
        }
        self.op("selp.b32", &[a, b, condition])
    }

    /// A truth value as 1 or 0.
    pub(super) fn number(&mut self, truth: Scalar) -> Scalar {
        self.select(truth, Scalar::Bits(1), Scalar::Bits(0))
    }

    /// Writes a register.
    pub(super) fn copy(&mut self, to: Scalar, from: Scalar) {
        match (to, from) {
            (Scalar::Predicate(_), Scalar::Truth(known)) => {
                self.line(format_args!("setp.eq.u32 {to}, {}, 1", u32::from(known)));
            }
            (Scalar::Predicate(_), _) => self.write("mov.pred", to, &[from]),
            _ => self.write("mov.b32", to, &[from]),
        }
    }

    /// A copy in a new register.
    pub(super) fn copied(&mut self, from: Scalar) -> Scalar {
        let to = if is_truth(from) { self.truth() } else { self.word() };
        self.copy(to, from);
        to
    }

    /// Takes instructions away by where their text begins and ends.
    pub(super) fn remove(&mut self, (begin, end): (usize, usize)) {
        self.text.replace_range(begin..end, "");
    }

    /// Bytes of text so far.
    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// The registers that the instructions name, as declarations, and the instructions.
    pub(super) fn finish(self) -> String {
        let Self { text, words, predicates, addresses, .. } = self;
        let mut all = String::new();
        for (class, name, count) in
            [("pred", "p", predicates), ("b32", "r", words), ("b64", "rd", addresses)]
        {
            if count > 0 {
                let _ = writeln!(all, "\t.reg .{class} %{name}<{}>;", count + 1);
            }
        }
        all + &text
    }
}

/// Whether it is a truth value and no number.
pub(super) fn is_truth(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Predicate(_) | Scalar::Truth(_))
}
