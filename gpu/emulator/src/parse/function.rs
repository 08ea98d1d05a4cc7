//! Kernels and device functions.

use std::collections::HashMap;

use super::declaration::{LARGEST, Scopes};
use super::{
    Class, Function, FunctionKind, Parsed, Parser, Problem, RegisterCounts, Source, Space, Token,
    Variable,
};

/// Whether an instruction reads or writes the flag CC.CF.
fn carries(opcode: &str) -> bool {
    let reads = |name| opcode.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    ["addc", "subc", "madc"].into_iter().any(reads) || opcode.split('.').any(|part| part == "cc")
}

impl<'a> Parser<'_, 'a> {
    /// A kernel or device function. What is wrong in it is among its problems; an error is what hides
    /// where it ends.
    pub(super) fn function(&mut self, kind: FunctionKind) -> Parsed<Function<'a>> {
        let mut function = Function {
            kind,
            name: "",
            line: self.line(),
            results: Vec::new(),
            params: Vec::new(),
            max_threads: None,
            registers: RegisterCounts::default(),
            variables: Vec::new(),
            body: Vec::new(),
            carry: None,
            labels: HashMap::new(),
            calls: Vec::new(),
            problems: Vec::new(),
        };
        self.at += 1;
        let begin = self.at;
        self.scopes = Scopes::default();
        self.targets.clear();
        let read = self.signature(&mut function).and_then(|()| self.body(&mut function));
        if function.body.iter().any(|statement| carries(statement.opcode)) {
            function.carry = self.scopes.unnamed(Class::Word, 1);
        }
        function.registers = self.scopes.counts;
        if let Err(problem) = read {
            if function.name.is_empty() {
                return Err(problem);
            }
            function.problems.push(problem);
            self.at = begin;
            self.skip_function()?;
        }
        Ok(function)
    }

    /// `.func (results) name (params)`, with a body or declared only. A definition replaces a declaration of
    /// the same name.
    pub(super) fn device_function(&mut self, module: &mut Source<'a>) -> Parsed<()> {
        let function = self.function(FunctionKind::Device)?;
        let defined = |known: &Function<'_>| known.kind == FunctionKind::Device;
        if module.functions.get(function.name).is_none_or(|known| !defined(known)) {
            module.functions.insert(function.name, function);
        }
        Ok(())
    }

    /// A variable of the module. What uses one that cannot be read is refused, and nothing else.
    pub(super) fn module_variable(&mut self, module: &mut Source<'a>) -> Parsed<()> {
        let begin = self.at;
        let spaces = [".global", ".const", ".shared"];
        let linkage = [".extern", ".common", ".managed"];
        let known = |word: &str| spaces.contains(&word) || linkage.contains(&word);
        match self.peek() {
            Some(Token::Word(word)) if known(word) => {}
            Some(Token::Word(word)) if word.starts_with('.') => {
                return Err(self.error(format!("unknown directive '{word}'")));
            }
            Some(Token::Word(_) | Token::Number(_) | Token::Text(_) | Token::Mark(_)) | None => {
                return Err(self.expected("a directive"));
            }
        }
        let line = self.line();
        match self.variable() {
            Ok(variable) if module.bytes + variable.size > LARGEST => {
                let what = format!(
                    "with variable '{}' those of the module are larger than {LARGEST} bytes together",
                    variable.name
                );
                module.refused.insert(variable.name, Problem::new(line, what));
            }
            Ok(variable) => {
                module.bytes += variable.size;
                module.variables.push(variable);
            }
            Err(problem) => {
                self.at = begin;
                let mut name = None;
                while let Some(token) = self.peek() {
                    self.at += 1;
                    match token {
                        Token::Word(word) if !word.starts_with('.') && name.is_none() => {
                            name = Some(word);
                        }
                        Token::Mark(';') => break,
                        Token::Mark('}') | Token::Word(".entry" | ".func") => {
                            if !matches!(token, Token::Mark('}')) {
                                return Err(problem);
                            }
                        }
                        Token::Word(_) | Token::Number(_) | Token::Text(_) | Token::Mark(_) => {}
                    }
                }
                match name {
                    Some(name) => drop(module.refused.insert(name, problem)),
                    None => return Err(problem),
                }
            }
        }
        Ok(())
    }

    /// From behind `.entry` or `.func` to the body.
    fn signature(&mut self, function: &mut Function<'a>) -> Parsed<()> {
        let kernel = function.kind == FunctionKind::Kernel;
        while !kernel && self.peek() == Some(Token::Word(".noreturn")) {
            self.at += 1;
        }
        if !kernel && self.is_at('(') {
            // The name behind it is needed to say whose results these are.
            let begin = self.at;
            while self.peek().is_some() && !self.eat(')') {
                self.at += 1;
            }
            function.name = self.word()?;
            self.at = begin;
            function.results = self.parameters()?;
            self.at += 1;
        } else {
            function.name = self.word()?;
        }
        if self.is_at('(') {
            function.params = self.parameters()?;
        }
        loop {
            match self.peek() {
                Some(Token::Mark('{')) => return Ok(()),
                Some(Token::Mark(';')) if !kernel => return Ok(()),
                Some(_) | None => {}
            }
            match self.word()? {
                // .reqntid is more than a limit, but a launch of another size is the host's mistake.
                ".maxntid" | ".reqntid" => function.max_threads = Some(self.dimensions()?),
                ".minnctapersm" | ".maxnreg" => drop(self.integer()?),
                ".noreturn" => {}
                ".pragma" => self.skip_directive(),
                other => {
                    self.at -= 1;
                    return Err(Problem::outside(self.line(), other));
                }
            }
        }
    }

    fn body(&mut self, function: &mut Function<'a>) -> Parsed<()> {
        if self.eat(';') {
            function.kind = FunctionKind::External;
            return Ok(());
        }
        self.block(function)
    }

    /// To behind the body, or behind the semicolon of a declaration.
    fn skip_function(&mut self) -> Parsed<()> {
        let mut depth = 0_u32;
        while let Some(token) = self.peek() {
            self.at += 1;
            match token {
                Token::Mark('{') => depth += 1,
                Token::Mark('}') if depth <= 1 => return Ok(()),
                Token::Mark('}') => depth -= 1,
                Token::Mark(';') if depth == 0 => return Ok(()),
                Token::Word(_) | Token::Number(_) | Token::Text(_) | Token::Mark(_) => {}
            }
        }
        Err(self.expected("'}'"))
    }

    fn dimensions(&mut self) -> Parsed<[u32; 3]> {
        let mut all = [1; 3];
        for (axis, size) in all.iter_mut().enumerate() {
            if axis > 0 && !self.eat(',') {
                break;
            }
            *size = u32::try_from(self.integer()?).map_err(|_| self.error("a size above 2^32"))?;
        }
        Ok(all)
    }

    /// `(.param .u64 a, .param .b32 b)`
    fn parameters(&mut self) -> Parsed<Vec<Variable<'a>>> {
        let mut all = Vec::new();
        self.expect('(')?;
        if self.eat(')') {
            return Ok(all);
        }
        loop {
            if self.word()? != ".param" {
                self.at -= 1;
                return Err(self.expected(".param"));
            }
            all.push(self.rest_of_variable(Space::Param)?);
            if !self.eat(',') {
                break;
            }
        }
        self.expect(')')?;
        Ok(all)
    }
}
