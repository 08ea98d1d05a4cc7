//! Instructions and operands.

use super::super::decode::MNEMONICS;
use super::{Class, Function, Operand, Parsed, Parser, Problem, Register, Space, Statement, Token};

impl<'a> Parser<'_, 'a> {
    /// `{ declarations, labels and instructions }`. A line that cannot be read is a problem of the
    /// function, and the next is read all the same.
    pub(super) fn block(&mut self, function: &mut Function<'a>) -> Parsed<()> {
        self.expect('{')?;
        if !self.scopes.open() {
            return Err(self.error("scopes are nested too deeply"));
        }
        loop {
            let start = self.at;
            let read = match self.peek() {
                Some(Token::Mark('}')) => break,
                Some(Token::Mark('{')) => {
                    let outer = Self::open_labels(function);
                    self.block(function)?;
                    self.close_labels(function, outer);
                    continue;
                }
                Some(Token::Mark(';')) => {
                    self.at += 1;
                    continue;
                }
                Some(Token::Word(".loc" | ".pragma")) => {
                    self.skip_directive();
                    continue;
                }
                None => return Err(self.expected("'}'")),
                Some(Token::Word(word)) if word == ".reg" || word.starts_with(".reg.") => {
                    self.register()
                }
                Some(Token::Word(name)) if name.starts_with('.') => self.own_variable(function),
                Some(Token::Word(name)) if self.is_label() => self.label(name, function),
                Some(Token::Word(_) | Token::Number(_) | Token::Text(_) | Token::Mark(_)) => {
                    self.statement().and_then(|statement| {
                        if statement.opcode.starts_with("brx.") {
                            return self.branch_by_index(&statement, function);
                        }
                        if statement.opcode.starts_with("call") {
                            function.calls.push(function.body.len());
                        }
                        function.body.push(statement);
                        Ok(())
                    })
                }
            };
            if let Err(problem) = read {
                function.problems.push(problem);
                self.recover(start);
            }
        }
        self.scopes.close();
        self.expect('}')
    }

    /// Behind the semicolon that ends what began at `start`, or at the brace that ends its block.
    fn recover(&mut self, start: usize) {
        let mut depth = 0_u32;
        let failed = self.at;
        self.at = start;
        while let Some(token) = self.peek() {
            match token {
                Token::Mark('{') => depth += 1,
                Token::Mark('}') if depth == 0 => return,
                Token::Mark('}') => depth -= 1,
                Token::Mark(';') if self.at >= failed => {
                    self.at += 1;
                    return;
                }
                Token::Word(_) | Token::Number(_) | Token::Text(_) | Token::Mark(_) => {}
            }
            self.at += 1;
        }
    }

    /// A variable of the function. The `.param` variables of its calls have the same names in scopes
    /// that follow one another: one variable, as large as the largest, stands for all of a name.
    fn own_variable(&mut self, function: &mut Function<'a>) -> Parsed<()> {
        let param = self.peek() == Some(Token::Word(".param"));
        let variable = self.variable()?;
        let known = function.variables.iter_mut().find(|known| known.name == variable.name);
        match known {
            Some(known) if param && known.space == Space::Local => {
                known.size = known.size.max(variable.size);
                known.align = known.align.max(variable.align);
            }
            Some(_) | None => function.variables.push(variable),
        }
        Ok(())
    }

    /// `@!p opcode operands;`
    #[inline]
    fn statement(&mut self) -> Parsed<Statement<'a>> {
        let line = self.line();
        let guard = if self.eat('@') {
            let negated = self.eat('!');
            Some((self.predicate()?, negated))
        } else {
            None
        };
        let opcode = self.word()?;
        let first = self.operands.len();
        if let Err(problem) = self.operands() {
            // Operands of an unknown instruction have a grammar of their own.
            let known = MNEMONICS.contains(&opcode.split('.').next().unwrap_or_default());
            return Err(if known { problem } else { Problem::outside(line, opcode) });
        }
        Ok(Statement { line, guard, opcode, operands: first..self.operands.len() })
    }

    /// Operands to the semicolon.
    #[inline(always)]
    fn operands(&mut self) -> Parsed<()> {
        if self.eat(';') {
            return Ok(());
        }
        loop {
            match self.register_alone() {
                Some(register) => self.operands.push(Operand::Register(register)),
                None => {
                    let operand = self.operand()?;
                    self.operands.push(operand);
                }
            }
            if !self.eat(',') {
                break;
            }
        }
        self.expect(';')
    }

    fn predicate(&mut self) -> Parsed<Register> {
        let name = self.word()?;
        match self.scopes.find(name) {
            Some(register) if register.class == Class::Predicate => Ok(register),
            _ => {
                self.at -= 1;
                Err(self.expected("a predicate register"))
            }
        }
    }

    /// An operand that is a register and nothing else: most are, and these need not be handed from
    /// function to function, which took a fifth of all time.
    fn register_alone(&mut self) -> Option<Register> {
        let [Token::Word(name), Token::Mark(',' | ';')] =
            [self.tokens.get(self.at)?.token, self.tokens.get(self.at + 1)?.token]
        else {
            return None;
        };
        let register = self.scopes.find(name)?;
        self.at += 1;
        Some(register)
    }

    fn operand(&mut self) -> Parsed<Operand<'a>> {
        if self.eat('{') {
            let mut elements = Vec::with_capacity(4);
            loop {
                elements.push(self.scalar()?);
                if !self.eat(',') {
                    break;
                }
            }
            self.expect('}')?;
            return Ok(Operand::Vector(elements));
        }
        if self.eat('[') {
            let base = self.scalar()?;
            let signed = self.eat('+') || self.is_at('-');
            let offset = if signed { self.integer()? } else { 0 };
            self.expect(']')?;
            return Ok(match base {
                Operand::Integer(at) => {
                    Operand::Address(Box::new(Operand::Integer(0)), at.wrapping_add(offset))
                }
                Operand::Register(_) | Operand::Name(_) => Operand::Address(Box::new(base), offset),
                _ => return Err(self.error("an address must be a register, name or integer")),
            });
        }
        if self.eat('(') {
            let mut elements = Vec::new();
            while !self.eat(')') {
                elements.push(self.scalar()?);
                if !self.eat(',') {
                    self.expect(')')?;
                    break;
                }
            }
            return Ok(Operand::List(elements));
        }
        if self.eat('!') {
            return Ok(Operand::Not(self.predicate()?));
        }
        let first = self.scalar()?;
        if self.eat('|') {
            let second = self.scalar()?;
            return Ok(Operand::Pair(Box::new([first, second])));
        }
        Ok(first)
    }

    fn scalar(&mut self) -> Parsed<Operand<'a>> {
        let Some(Token::Word(name)) = self.peek() else { return self.literal() };
        self.at += 1;
        Ok(self.scopes.find(name).map_or(Operand::Name(name), Operand::Register))
    }

    /// An integer, the bits of an f32 as `0f3F800000` or of an f64 as `0d3FF0000000000000`, or digits
    /// with a point (PTX ISA, "Floating-Point Constants").
    pub(super) fn literal(&mut self) -> Parsed<Operand<'a>> {
        let Some(Token::Number(text)) = self.peek() else {
            return self.negative_decimal();
        };
        let bits = match text.get(..2) {
            Some("0f" | "0F") => {
                let bits = u32::from_str_radix(&text[2..], 16).ok().filter(|_| text.len() == 10);
                let bits =
                    bits.ok_or_else(|| self.expected("eight hexadecimal digits after 0f"))?;
                Operand::Float(bits)
            }
            Some("0d" | "0D") => {
                let bits = u64::from_str_radix(&text[2..], 16).ok().filter(|_| text.len() == 18);
                let bits =
                    bits.ok_or_else(|| self.expected("sixteen hexadecimal digits after 0d"))?;
                Operand::Double(bits)
            }
            _ if text.contains('.') => Operand::Double(self.decimal(text)?.to_bits()),
            Some(_) | None => return self.integer().map(Operand::Integer),
        };
        self.at += 1;
        Ok(bits)
    }

    /// `-1.5`, or an integer.
    fn negative_decimal(&mut self) -> Parsed<Operand<'a>> {
        if let (true, Some(Token::Number(text))) =
            (self.is_at('-'), self.tokens.get(self.at + 1).map(|t| t.token))
            && text.contains('.')
        {
            let value = -self.decimal(text)?;
            self.at += 2;
            return Ok(Operand::Double(value.to_bits()));
        }
        self.integer().map(Operand::Integer)
    }

    fn decimal(&self, text: &str) -> Parsed<f64> {
        text.parse().map_err(|_| self.expected("a number"))
    }
}
