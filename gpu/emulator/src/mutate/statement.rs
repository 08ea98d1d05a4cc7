//! The statements of a kernel as text, and which registers it has written above each.

use std::collections::HashMap;
use std::fmt;

/// One instruction on a line of its own.
#[derive(Debug)]
pub(super) struct Statement<'a> {
    /// From 1.
    pub(super) line: u32,
    /// `@%p1` or `@!%p1`.
    pub(super) guard: Option<&'a str>,
    pub(super) opcode: &'a str,
    pub(super) operands: Vec<&'a str>,
    /// Inside a scope of inline assembly, whose registers may hide those of the kernel.
    pub(super) nested: bool,
    /// Labels above it in the kernel: control enters a run of statements with the same number only at
    /// its first.
    block: usize,
}

impl fmt::Display for Statement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.guard_text(), joined(self.opcode, &self.operands))
    }
}

/// Whether an opcode orders or exchanges what threads do.
pub(super) fn synchronizes(opcode: &str) -> bool {
    const MNEMONICS: [&str; 12] = [
        "bar",
        "barrier",
        "membar",
        "fence",
        "atom",
        "red",
        "shfl",
        "vote",
        "match",
        "activemask",
        "redux",
        "elect",
    ];
    let mut parts = opcode.split('.');
    MNEMONICS.contains(&parts.next().unwrap_or_default())
        || parts.any(|part| matches!(part, "acquire" | "release"))
}

impl<'a> Statement<'a> {
    fn read(text: &'a str, line: u32, nested: bool, block: usize) -> Option<Self> {
        let text = text.trim().strip_suffix(';')?;
        let (guard, rest) = match text.strip_prefix('@') {
            Some(rest) => {
                let length = rest.find(char::is_whitespace)?;
                (Some(&text[..=length]), rest[length..].trim_start())
            }
            None => (None, text),
        };
        let opcode = rest.split_whitespace().next()?;
        let begins = opcode.starts_with(|c: char| c.is_ascii_lowercase());
        if !begins || rest.contains([';', ':']) {
            return None;
        }
        let operands = split(rest[opcode.len()..].trim());
        Some(Self { line, guard, opcode, operands, nested, block })
    }

    /// The mnemonic: what stands before the opcode's first dot.
    pub(super) fn mnemonic(&self) -> &'a str {
        self.opcode.split('.').next().unwrap_or_default()
    }

    /// Whether the opcode has this part.
    pub(super) fn has(&self, part: &str) -> bool {
        self.opcode.split('.').any(|p| p == part)
    }

    /// The opcode's last part: the type of most instructions.
    pub(super) fn type_name(&self) -> &'a str {
        self.opcode.rsplit('.').next().unwrap_or_default()
    }

    /// The guard with a space after it, if there is one.
    pub(super) fn guard_text(&self) -> String {
        self.guard.map_or_else(String::new, |guard| format!("{guard} "))
    }

    /// Whether the first operand is written, and not read.
    pub(super) fn writes(&self) -> bool {
        match self.mnemonic() {
            "st" | "red" | "bra" | "brx" | "ret" | "exit" | "membar" | "fence" => false,
            "bar" | "barrier" => self.has("red"),
            _ => true,
        }
    }

    /// The registers it writes.
    fn written(&self) -> impl Iterator<Item = &'a str> {
        let first = self.operands.first().filter(|_| self.writes()).copied().unwrap_or_default();
        let marks = |c: char| matches!(c, '{' | '}' | ',' | '|') || c.is_whitespace();
        first.split(marks).filter(|name| name.starts_with('%'))
    }

    /// The one register that it writes, a predicate beside it apart.
    pub(super) fn destination(&self) -> Option<&'a str> {
        if self.operands.first()?.starts_with('{') {
            return None;
        }
        self.written().next()
    }
}

/// Operands at the commas outside brackets and braces.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0_u32, 0);
    let mut all = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                all.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        all.push(text[start..].trim());
    }
    all
}

/// A kernel's statements and registers.
#[derive(Debug)]
pub(super) struct Body<'a> {
    pub(super) statements: Vec<Statement<'a>>,
    /// The type of every name or numbered family (`%f` of `%f<9>`) that the kernel's own scope
    /// declares.
    classes: HashMap<&'a str, &'a str>,
    /// Registers of the kernel's own scope in the order of their first writes, with the statement.
    written: Vec<(usize, &'a str)>,
    /// What is moved into the registers that are written once, by a `mov` without a guard; `None` for
    /// all others.
    moved: HashMap<&'a str, Option<&'a str>>,
}

impl<'a> Body<'a> {
    /// The body of a kernel; `None` where the text has no such kernel.
    pub(super) fn find(ptx: &'a str, kernel: &str) -> Option<Self> {
        let mut lines = ptx.lines().zip(1..).map(|(text, line)| (without_comment(text), line));
        lines.find(|(text, _)| {
            let mut words = text.split(|c: char| c.is_whitespace() || c == '(');
            words.by_ref().any(|word| word == ".entry") && words.any(|word| word == kernel)
        })?;
        let mut body = Self {
            statements: Vec::new(),
            classes: HashMap::new(),
            written: Vec::new(),
            moved: HashMap::new(),
        };
        let (mut depth, mut block) = (0_usize, 0);
        for (text, line) in lines {
            // A colon stands behind a label alone.
            block += usize::from(text.contains(':'));
            if depth > 0
                && let Some(statement) = Statement::read(text, line, depth > 1, block)
            {
                body.add(statement);
            } else if depth == 1 {
                body.declare(text);
            }
            let was = depth;
            depth = (depth + text.matches('{').count()).saturating_sub(text.matches('}').count());
            if was > 0 && depth == 0 {
                return Some(body);
            }
        }
        None
    }

    fn add(&mut self, statement: Statement<'a>) {
        let source = match (statement.operands.as_slice(), statement.mnemonic()) {
            (&[_, source], "mov") if statement.guard.is_none() && !statement.nested => Some(source),
            _ => None,
        };
        for register in statement.written() {
            self.moved.entry(register).and_modify(|known| *known = None).or_insert(source);
            let known = || self.written.iter().any(|&(_, known)| known == register);
            if !statement.nested && !known() {
                self.written.push((self.statements.len(), register));
            }
        }
        self.statements.push(statement);
    }

    /// The constant that an operand of a statement is: what [`Self::constant`] says, or the number that
    /// was moved into the register last above it, where control cannot enter in between.
    pub(super) fn constant_at(&self, index: usize, operand: &'a str) -> Option<&'a str> {
        let (mut index, mut operand) = (index, operand);
        loop {
            if let Some(constant) = self.constant(operand) {
                return Some(constant);
            }
            let block = self.statements[index].block;
            let above = self.statements[..index].iter().enumerate().rev();
            let mut above = above.take_while(|(_, statement)| statement.block == block);
            let (at, write) = above.find(|(_, s)| s.written().any(|name| name == operand))?;
            match (write.operands.as_slice(), write.mnemonic()) {
                (&[_, source], "mov") if write.guard.is_none() && !write.nested => {
                    (index, operand) = (at, source);
                }
                _ => return None,
            }
        }
    }

    /// The constant that an operand always is: a number, or a register that only ever gets one.
    pub(super) fn constant(&self, operand: &'a str) -> Option<&'a str> {
        let mut operand = operand;
        // As many moves as no compiler leaves one after the other.
        for _ in 0..8 {
            if operand.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
                return Some(operand);
            }
            operand = self.moved.get(operand).copied().flatten()?;
        }
        None
    }

    /// `.reg .f32 %f<9>, %x;`
    fn declare(&mut self, text: &'a str) {
        let Some(rest) = text.trim().strip_prefix(".reg") else { return };
        let Some((class, names)) =
            rest.trim().trim_end_matches(';').split_once(char::is_whitespace)
        else {
            return;
        };
        for name in names.split(',') {
            self.classes.insert(name.split('<').next().unwrap_or_default().trim(), class);
        }
    }

    /// The declared type of a register, such as `.f32`.
    pub(super) fn class(&self, register: &str) -> Option<&'a str> {
        let family = register.trim_end_matches(|c: char| c.is_ascii_digit());
        self.classes.get(register).or_else(|| self.classes.get(family)).copied()
    }

    /// The registers of a type that are written somewhere above a statement, the last first.
    pub(super) fn written_above(&self, index: usize, class: &str) -> Vec<&'a str> {
        let above = self.written.iter().filter(|&&(at, _)| at < index);
        let mut names: Vec<_> = above.map(|&(_, name)| name).collect();
        names.retain(|name| self.class(name) == Some(class));
        names.reverse();
        names
    }
}

fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// `opcode a, b, c;`
pub(super) fn joined(opcode: &str, operands: &[&str]) -> String {
    if operands.is_empty() {
        return format!("{opcode};");
    }
    format!("{opcode} {};", operands.join(", "))
}
