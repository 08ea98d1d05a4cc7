//! Instructions, labels and operands.

use super::{Class, Entry, Operand, Parsed, Parser, Register, Statement, Token};

impl<'a> Parser<'_, 'a> {
    /// `{ declarations, labels and instructions }`
    pub(super) fn block(&mut self, entry: &mut Entry<'a>) -> Parsed<()> {
        self.expect('{')?;
        if !self.scopes.open() {
            return Err(self.error("scopes are nested too deeply"));
        }
        loop {
            match self.peek() {
                Some(Token::Mark('}')) => break,
                Some(Token::Mark('{')) => self.block(entry)?,
                Some(Token::Mark(';')) => self.at += 1,
                Some(Token::Word(".reg")) => self.register()?,
                Some(Token::Word(".loc" | ".pragma")) => self.skip_directive(),
                Some(Token::Word(name)) if name.starts_with('.') => {
                    let variable = self.variable()?;
                    entry.variables.push(variable);
                }
                Some(Token::Word(name)) if self.is_label() => {
                    let next = u32::try_from(entry.body.len()).unwrap_or(u32::MAX);
                    if entry.labels.insert(name, next).is_some() {
                        return Err(self.error(format!("label '{name}' stands twice")));
                    }
                    self.at += 2;
                }
                _ => {
                    let statement = self.statement()?;
                    entry.body.push(statement);
                }
            }
        }
        self.scopes.close();
        self.expect('}')
    }

    fn is_label(&self) -> bool {
        self.tokens.get(self.at + 1).is_some_and(|t| t.token == Token::Mark(':'))
    }

    /// `@!p opcode operands;`
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
        if !self.eat(';') {
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
            self.expect(';')?;
        }
        Ok(Statement { line, guard, opcode, operands: first..self.operands.len() })
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

    /// An integer, or the bits of an f32 as `0f3F800000`.
    pub(super) fn literal(&mut self) -> Parsed<Operand<'a>> {
        if let Some(Token::Number(text)) = self.peek()
            && let Some(digits) = text.strip_prefix("0f").or_else(|| text.strip_prefix("0F"))
        {
            let bits = u32::from_str_radix(digits, 16)
                .ok()
                .filter(|_| digits.len() == 8)
                .ok_or_else(|| self.expected("eight hexadecimal digits after 0f"))?;
            self.at += 1;
            return Ok(Operand::Float(bits));
        }
        self.integer().map(Operand::Integer)
    }
}
