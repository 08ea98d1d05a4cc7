//! A kernel's code: its own, with the functions that it calls put in place of the calls.
//!
//! PTX functions have registers and memory of their own for each call, and no pointers to one another
//! but those of indirect calls, which are refused as recursion is. Code in place of the call therefore
//! does the same, and lanes that part inside a function need no stack of return addresses. Functions
//! that are called one after the other share their registers and memory, as on a stack.

use std::collections::{BTreeMap, HashMap};

use super::super::ir::{
    Control, Instruction, InstructionClass, Memory, Op, Predicate, RareControl, RareMemory, Space,
};
use super::super::parse::{
    Function, FunctionKind, Operand, Parsed, Problem, RegisterCounts, Source, Statement, Variable,
};
use super::operands::{Decoder, Pool, Scope, Symbol};
use super::unread::discard_unread;

pub(super) type Symbols<'a> = HashMap<&'a str, Symbol>;

/// Instructions of a kernel and the functions in it, at most.
const MAX_CODE: u64 = 1 << 20;

/// Bytes of local memory of a thread, at most (CUDA C++ Programming Guide, "Compute Capabilities").
const MAX_LOCAL: u64 = 512 << 10;

/// Where local memory begins: an address whose base was left out is nobody's.
pub(in super::super) const LOCAL_BASE: u64 = 1024;

/// What a function takes, with all that it calls.
#[derive(Clone, Copy, Debug, Default)]
struct Needs {
    registers: RegisterCounts,
    /// Bytes of local memory, from where its own begin.
    local: u64,
    instructions: u64,
}

/// The functions that a kernel calls, directly or not.
pub(super) struct Called<'s, 'a> {
    functions: BTreeMap<&'a str, (&'s Function<'a>, Needs)>,
    own: Needs,
}

impl<'s, 'a> Called<'s, 'a> {
    /// # Errors
    /// Recursion, or more than there is room for.
    pub(super) fn by(entry: &Function<'a>, source: &'s Source<'a>) -> Parsed<Self> {
        let mut called = Self { functions: BTreeMap::new(), own: Needs::default() };
        let own = called.needs(entry, source, &mut vec![entry.name])?;
        called.own = own;
        Ok(called)
    }

    pub(super) fn functions(&self) -> impl Iterator<Item = &'s Function<'a>> {
        self.functions.values().map(|(function, _)| *function)
    }

    /// Registers of the kernel and all functions in it.
    pub(super) fn registers(&self) -> RegisterCounts {
        self.own.registers
    }

    /// Bytes of local memory of a thread.
    pub(super) fn local(&self) -> u32 {
        u32::try_from(self.own.local).unwrap_or(u32::MAX)
    }

    fn needs(
        &mut self,
        function: &Function<'a>,
        source: &'s Source<'a>,
        path: &mut Vec<&'a str>,
    ) -> Parsed<Needs> {
        let mut deepest = Needs::default();
        let mut instructions = function.body.len() as u64 + 2;
        for &call in &function.calls {
            let statement = &function.body[call];
            let operands = &source.operands[statement.operands.clone()];
            let Some(callee) = callee(operands).and_then(|name| source.functions.get(name)) else {
                continue;
            };
            let needs = match self.functions.get(callee.name) {
                Some((_, needs)) => *needs,
                None if path.contains(&callee.name) => {
                    let message = format!(
                        "function '{}' calls itself ({} -> {}): the emulator has no recursion",
                        callee.name,
                        path.join(" -> "),
                        callee.name
                    );
                    return Err(Problem::new(statement.line, message));
                }
                None => {
                    path.push(callee.name);
                    let needs = self.needs(callee, source, path)?;
                    path.pop();
                    self.functions.insert(callee.name, (callee, needs));
                    needs
                }
            };
            let most = |a: u16, b: u16| a.max(b);
            let (a, b) = (deepest.registers, needs.registers);
            deepest.registers = RegisterCounts {
                predicates: most(a.predicates, b.predicates),
                words: most(a.words, b.words),
                b64: most(a.b64, b.b64),
            };
            deepest.local = deepest.local.max(needs.local);
            instructions += needs.instructions + 3;
        }
        with_own(function, Needs { instructions, ..deepest })
    }
}

/// What a function takes, if `deepest` is the most that any function which it calls takes, with all
/// instructions.
fn with_own(function: &Function<'_>, deepest: Needs) -> Parsed<Needs> {
    let instructions = deepest.instructions;
    let own = function.registers;
    let sum = |a: u16, b: u16| a.checked_add(b).filter(|&sum| sum <= u16::MAX / 2);
    let registers = sum(own.predicates, deepest.registers.predicates)
        .zip(sum(own.words, deepest.registers.words))
        .zip(sum(own.b64, deepest.registers.b64));
    let too_large = |what: &str| {
        let message = format!("'{}' with the functions it calls has {what}", function.name);
        Problem::new(function.line, message)
    };
    let Some(((predicates, words), b64)) = registers else {
        return Err(too_large("too many registers"));
    };
    let (align, end) = local_variables(function, 0, None);
    // A frame begins at a multiple of 16.
    let skipped = if align > 16 { align } else { 0 };
    let local = match deepest.local {
        0 => skipped + end,
        inner => (skipped + end).next_multiple_of(16) + inner,
    };
    if local > MAX_LOCAL {
        return Err(too_large(&format!(
            "{local} bytes of local memory, which are more than 512 KiB"
        )));
    }
    if instructions > MAX_CODE {
        return Err(too_large("more than 2^20 instructions"));
    }
    Ok(Needs { registers: RegisterCounts { predicates, words, b64 }, local, instructions })
}

/// The name of the function that a call names.
fn callee<'a>(operands: &[Operand<'a>]) -> Option<&'a str> {
    let named = |operand: &Operand<'a>| match operand {
        Operand::Name(name) => Some(*name),
        _ => None,
    };
    operands.iter().take(2).find_map(named)
}

/// Lays out a function's local variables from `begin`; their largest alignment, and where they end.
fn local_variables<'a>(
    function: &Function<'a>,
    begin: u64,
    mut symbols: Option<&mut Symbols<'a>>,
) -> (u64, u64) {
    let locals = || function.variables.iter().filter(|v| v.space == Space::Local);
    let align = locals().map(|variable| variable.align).max().unwrap_or(1);
    let mut end = begin.next_multiple_of(align);
    for variable in locals() {
        let at = end.next_multiple_of(variable.align);
        end = at + variable.size;
        if let Some(symbols) = &mut symbols {
            symbols.insert(variable.name, Symbol { space: Space::Local, at: LOCAL_BASE + at });
        }
    }
    (align, end)
}

/// Code under construction.
pub(super) struct Assembled {
    pub(super) code: Vec<Instruction>,
    pub(super) pool: Pool,
    pub(super) problems: Vec<Problem>,
}

/// Decodes a kernel with the functions that it calls.
pub(super) fn assemble<'a>(
    entry: &Function<'a>,
    source: &Source<'a>,
    called: &Called<'_, 'a>,
    symbols: Symbols<'a>,
) -> Assembled {
    let assembled = Assembled {
        code: Vec::with_capacity(entry.body.len() + 1),
        pool: Pool::new(called.registers()),
        problems: Vec::new(),
    };
    let module = if entry.calls.is_empty() { Symbols::new() } else { symbols.clone() };
    let mut assembler = Assembler { source, called, module, assembled };
    assembler.function(entry, RegisterCounts::default(), 0, symbols);
    // A body may end without ret (PTX ISA, "ret"): falling off its end is leaving it.
    let line = entry.body.last().map_or(entry.line, |s| s.line);
    let mut assembled = assembler.assembled;
    assembled.code.push(control(Control::Exit, None, line));
    assembled
}

fn control(op: Control, guard: Option<Predicate>, line: u32) -> Instruction {
    Instruction { op: Op::Control(op), guard, line, class: InstructionClass::Control }
}

struct Assembler<'s, 'a> {
    source: &'s Source<'a>,
    called: &'s Called<'s, 'a>,
    /// Names that are the same in every function; none where none is called.
    module: Symbols<'a>,
    assembled: Assembled,
}

impl<'a> Assembler<'_, 'a> {
    /// Decodes a function whose registers and local memory begin where they are said to.
    fn function(
        &mut self,
        function: &Function<'a>,
        registers: RegisterCounts,
        local: u64,
        mut symbols: Symbols<'a>,
    ) {
        let (_, end_of_local) = local_variables(function, local, Some(&mut symbols));
        let after = end_of_local.next_multiple_of(16);
        let kernel = function.kind == FunctionKind::Kernel;
        let refused = &self.source.refused;
        let locals = !kernel || end_of_local > local;
        let carry = function.carry.map(|slot| registers.words + slot);
        let labels = &function.labels;
        let scope = Scope { symbols, labels, registers, carry, kernel, locals, refused };
        if !kernel && end_of_local > local {
            self.forget(local, end_of_local, function.line);
        }
        let first = self.assembled.code.len();
        if kernel && function.calls.is_empty() {
            // Statements and instructions are one to one: labels are right as they are.
            function.body.iter().for_each(|statement| self.statement(statement, &scope));
        } else {
            let mut places = Vec::with_capacity(function.body.len());
            for statement in &function.body {
                places.push(self.place());
                if statement.opcode.starts_with("call") {
                    self.call((function, statement), &scope, after);
                } else {
                    self.statement(statement, &scope);
                }
            }
            let end = self.place();
            self.resolve(&places, function, end);
        }
        if let (Some(first_statement), Some(last)) = (function.body.first(), function.body.last()) {
            let operands = first_statement.operands.start..last.operands.end;
            let operands = &self.source.operands[operands];
            let counts = (function.registers, registers);
            discard_unread(&mut self.assembled.code[first..], operands, counts);
        }
    }

    fn place(&self) -> u32 {
        u32::try_from(self.assembled.code.len()).unwrap_or(u32::MAX)
    }

    fn statement(&mut self, statement: &Statement<'a>, scope: &Scope<'_, 'a>) {
        let operands = &self.source.operands[statement.operands.clone()];
        let guard = guard(statement, scope);
        let mut decoder = Decoder::new((statement, operands), scope, &mut self.assembled.pool);
        match decoder.decode() {
            Ok((op, class)) => {
                self.assembled.code.push(Instruction { op, guard, line: statement.line, class });
            }
            Err(problem) => self.assembled.problems.push(problem),
        }
    }

    /// Makes the labels of a function places of the code; its `ret`, which names no statement, goes
    /// behind it.
    fn resolve(&mut self, places: &[u32], function: &Function<'a>, end: u32) {
        for (statement, &place) in function.body.iter().zip(places) {
            // Calls have resolved their own.
            if !statement.opcode.starts_with("call")
                && let Some(instruction) = self.assembled.code.get_mut(place as usize)
                && let Op::Control(Control::Branch { target, .. }) = &mut instruction.op
            {
                *target = places.get(*target as usize).copied().unwrap_or(end);
            }
        }
    }

    /// Local memory from here to there holds nothing.
    fn forget(&mut self, begin: u64, end: u64, line: u32) {
        let [begin, end] = [begin, end].map(|at| u32::try_from(at).unwrap_or(u32::MAX));
        let op = Op::Memory(Memory::Rare(RareMemory::ForgetLocal { begin, end }));
        let class = InstructionClass::Memory;
        self.assembled.code.push(Instruction { op, guard: None, line, class });
    }

    fn call(
        &mut self,
        (caller, statement): (&Function<'a>, &Statement<'a>),
        scope: &Scope<'_, 'a>,
        local: u64,
    ) {
        if let Err(problem) = self.try_call((caller, statement), scope, local) {
            self.assembled.problems.push(problem);
        }
    }

    fn try_call(
        &mut self,
        (caller, statement): (&Function<'a>, &Statement<'a>),
        scope: &Scope<'_, 'a>,
        local: u64,
    ) -> Parsed<()> {
        let line = statement.line;
        let error = |message: String| Problem::new(line, message);
        if !matches!(statement.opcode, "call" | "call.uni") {
            return Err(Problem::outside(line, statement.opcode));
        }
        let operands = &self.source.operands[statement.operands.clone()];
        let Some(name) = callee(operands) else {
            let what = "a call of a function whose address is in a register: the emulator has direct \
                        calls only";
            return Err(error(what.to_owned()));
        };
        let (results, arguments) = lists(operands);
        if name == "__assertfail" {
            let class = InstructionClass::Control;
            let op = Op::Control(Control::Rare(RareControl::Trap { assertion: true }));
            let guard = guard(statement, scope);
            self.assembled.code.push(Instruction { op, guard, line, class });
            return Ok(());
        }
        let Some(function) = self.source.functions.get(name) else {
            return Err(error(format!("the module has no function '{name}'")));
        };
        let mut symbols = self.module.clone();
        let formal = function.results.iter().zip(results);
        as_many(function, results.len(), arguments.len()).map_err(error)?;
        for (formal, actual) in formal.chain(function.params.iter().zip(arguments)) {
            let symbol = handed_over(formal, actual, (scope, caller))
                .map_err(|why| error(format!("call of '{name}': {why}")))?;
            symbols.insert(formal.name, symbol);
        }
        if function.kind == FunctionKind::External {
            return self.external(name, statement, scope, &symbols, function);
        }
        let (own, base) = (caller.registers, scope.registers);
        let registers = RegisterCounts {
            predicates: base.predicates + own.predicates,
            words: base.words + own.words,
            b64: base.b64 + own.b64,
        };
        debug_assert!(self.called.functions.contains_key(name), "it was found before");
        let around = self.branch_around(guard(statement, scope), line);
        self.function(function, registers, local, symbols);
        let end = self.place();
        if let Some(instruction) = around.and_then(|at| self.assembled.code.get_mut(at))
            && let Op::Control(Control::Branch { target, .. }) = &mut instruction.op
        {
            *target = end;
        }
        Ok(())
    }

    /// Lanes whose guard does not hold go around the function; where that branch is.
    fn branch_around(&mut self, guard: Option<Predicate>, line: u32) -> Option<usize> {
        let Predicate { slot, negated } = guard?;
        let op = Control::Branch { target: 0, uniform: false };
        let guard = Some(Predicate { slot, negated: !negated });
        self.assembled.code.push(control(op, guard, line));
        Some(self.assembled.code.len() - 1)
    }

    /// `vprintf` prints nothing and returns 0, the number of arguments printed at worst (CUDA C++
    /// Programming Guide, "Formatted Output").
    fn external(
        &mut self,
        name: &str,
        statement: &Statement<'a>,
        scope: &Scope<'_, 'a>,
        symbols: &Symbols<'a>,
        function: &Function<'a>,
    ) -> Parsed<()> {
        if name != "vprintf" {
            let message = format!(
                "function '{name}' has no body in the module: link it in (the emulator itself has \
                 vprintf and __assertfail)"
            );
            return Err(Problem::new(statement.line, message));
        }
        let result = function.results.first().and_then(|result| symbols.get(result.name));
        if let Some(result) = result {
            let guard = guard(statement, scope);
            let operands = &[];
            let mut decoder = Decoder::new((statement, operands), scope, &mut self.assembled.pool);
            let transfer = decoder.store_zero(result.at)?;
            let op = Op::Memory(Memory::Rare(RareMemory::StoreLocal(transfer)));
            let class = InstructionClass::Memory;
            self.assembled.code.push(Instruction { op, guard, line: statement.line, class });
        }
        Ok(())
    }
}

fn guard(statement: &Statement<'_>, scope: &Scope<'_, '_>) -> Option<Predicate> {
    let guard = statement.guard;
    guard.map(|(register, negated)| Predicate { slot: scope.slot(register), negated })
}

/// Results and arguments of a call.
fn lists<'o, 'a>(operands: &'o [Operand<'a>]) -> (&'o [Operand<'a>], &'o [Operand<'a>]) {
    let list = |operand: Option<&'o Operand<'a>>| match operand {
        Some(Operand::List(all)) => all.as_slice(),
        _ => &[],
    };
    match operands.first() {
        Some(Operand::List(results)) => (results, list(operands.get(2))),
        _ => (&[], list(operands.get(1))),
    }
}

/// Whether a call has as many results and arguments as the function.
fn as_many(function: &Function<'_>, results: usize, arguments: usize) -> Result<(), String> {
    let (returned, taken) = (function.results.len(), function.params.len());
    if (returned, taken) == (results, arguments) {
        return Ok(());
    }
    let name = function.name;
    Err(format!(
        "'{name}' takes {taken} arguments and returns {returned} values, not {arguments} and {results}"
    ))
}

/// Where a parameter or result of a function is: in the variable that the caller names.
fn handed_over<'a>(
    formal: &Variable<'a>,
    actual: &Operand<'a>,
    (scope, caller): (&Scope<'_, 'a>, &Function<'a>),
) -> Result<Symbol, String> {
    let Operand::Name(name) = actual else {
        return Err("arguments must be .param variables".to_owned());
    };
    let symbol = scope.symbols.get(name).copied().filter(|symbol| symbol.space == Space::Local);
    let symbol = symbol.ok_or_else(|| format!("'{name}' is no .param variable of the caller"))?;
    let own = caller.variables.iter().chain(&caller.params).chain(&caller.results);
    let size = own.filter(|v| v.name == *name).map(|v| v.size).max().unwrap_or(0);
    if size < formal.size {
        return Err(format!("'{name}' has {size} bytes, '{}' has {}", formal.name, formal.size));
    }
    Ok(symbol)
}
