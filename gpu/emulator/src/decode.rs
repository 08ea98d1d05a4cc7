//! Statements to typed instructions.
//!
//! Every part of an opcode must be consumed by the rule that decodes it, and every operand must
//! have the width the rule asks for; what is left over is an error with its line.

mod arithmetic;
mod control;
mod data;
mod operands;

use std::collections::{BTreeMap, HashMap};

use super::ir::{
    Control, Instruction, InstructionClass, Kernel, Memory, Module, Op, Parameter, Predicate, SINK,
    Slot, Space,
};
use super::memory::MODULE_BASE;
use super::parse::{Class, Entry, Operand, ParseError, Parsed, Register, Source, Variable, parse};
use super::registers::WARP;
pub use operands::MNEMONICS;
use operands::{Decoder, Pool, Symbol};

/// Shared memory of a block above which no current device goes (227 KiB on `sm_90`, rounded up).
const MAX_SHARED: u64 = 1 << 18;

impl Module {
    /// Parses and decodes a PTX module.
    ///
    /// # Errors
    /// [`ParseError`] names the first line that is not PTX of the known subset.
    pub fn parse(source: &str) -> Result<Self, ParseError> {
        let source = parse(source)?;
        let mut symbols = HashMap::new();
        let variables = global_variables(&source, &mut symbols)?;
        let mut kernels = BTreeMap::new();
        for entry in &source.entries {
            let kernel = kernel(entry, &source, symbols.clone())?;
            if kernels.insert(entry.name.to_owned(), kernel).is_some() {
                let message = format!("kernel '{}' stands twice", entry.name);
                return Err(ParseError::new(entry.line, message));
            }
        }
        Ok(Self { target: source.target.to_owned(), variables, kernels, lane_width: WARP })
    }

    /// Names of the kernels, sorted.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.keys().map(String::as_str)
    }

    /// Bytes of each parameter of a kernel; `None` if there is no such kernel.
    #[must_use]
    pub fn parameter_sizes(&self, kernel: &str) -> Option<Vec<u32>> {
        Some(self.kernels.get(kernel)?.params.iter().map(|p| p.size).collect())
    }

    /// The most threads a block of a kernel may have in x, y, z (`.maxntid`); `None` if the kernel
    /// does not say, or if there is no such kernel.
    #[must_use]
    pub fn max_threads(&self, kernel: &str) -> Option<[u32; 3]> {
        self.kernels.get(kernel)?.max_threads
    }

    /// The module's target, such as `sm_75`.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }
}

/// Lays out global and constant variables and returns their initial bytes.
fn global_variables<'a>(
    source: &Source<'a>,
    symbols: &mut HashMap<&'a str, Symbol>,
) -> Parsed<Vec<u8>> {
    let mut bytes = Vec::new();
    for variable in &source.variables {
        if variable.space == Space::Shared {
            continue;
        }
        let begin = (bytes.len() as u64).next_multiple_of(variable.align);
        let end = begin + variable.size;
        let too_large = || ParseError::new(1, "module variables above 2 GiB".to_owned());
        let [first, last] = [begin, end].map(usize::try_from);
        let (first, last) = (first.map_err(|_| too_large())?, last.map_err(|_| too_large())?);
        if end > 1 << 31 {
            return Err(too_large());
        }
        bytes.resize(last, 0);
        bytes[first..first + variable.initial.len()].copy_from_slice(&variable.initial);
        symbols.insert(variable.name, Symbol { space: variable.space, at: MODULE_BASE + begin });
    }
    Ok(bytes)
}

/// Where shared variables begin. Devices from `sm_80` on keep as many bytes to themselves, and an address
/// whose base was left out is nobody's.
const SHARED_BASE: u64 = 1024;

/// Lays out shared variables, static ones first, and returns the bytes of the static ones.
fn shared_variables<'a>(
    entry: &Entry<'a>,
    source: &Source<'a>,
    symbols: &mut HashMap<&'a str, Symbol>,
) -> Parsed<u32> {
    let all: Vec<&Variable<'a>> = source
        .variables
        .iter()
        .chain(&entry.variables)
        .filter(|v| v.space == Space::Shared)
        .collect();
    let mut end = if all.is_empty() { 0 } else { SHARED_BASE };
    for dynamic in [false, true] {
        for variable in all.iter().filter(|v| v.dynamic == dynamic) {
            // Every external array begins where the static part ends (CUDA C++, "__shared__").
            let begin = end.next_multiple_of(variable.align);
            end = begin + variable.size;
            symbols.insert(variable.name, Symbol { space: Space::Shared, at: begin });
        }
    }
    let fits = u32::try_from(end).ok().filter(|_| end <= MAX_SHARED);
    fits.ok_or_else(|| ParseError::new(entry.line, format!("{end} bytes of shared memory")))
}

/// Parameters one after the other, each at its alignment.
fn parameters<'a>(
    entry: &Entry<'a>,
    symbols: &mut HashMap<&'a str, Symbol>,
) -> Parsed<Vec<Parameter>> {
    let mut params = Vec::with_capacity(entry.params.len());
    let mut end = 0_u64;
    for param in &entry.params {
        let begin = end.next_multiple_of(param.align);
        end = begin + param.size;
        // The limit of PTX ISA, "Kernel Function Parameters", for sm_70 and later.
        if end > 32764 {
            return Err(ParseError::new(entry.line, "parameters above 32764 bytes".to_owned()));
        }
        symbols.insert(param.name, Symbol { space: Space::Param, at: begin });
        let [offset, size] = [begin, param.size].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        params.push(Parameter { offset, size });
    }
    Ok(params)
}

fn kernel<'a>(
    entry: &Entry<'a>,
    source: &Source<'a>,
    mut symbols: HashMap<&'a str, Symbol>,
) -> Parsed<Kernel> {
    let params = parameters(entry, &mut symbols)?;
    let shared = shared_variables(entry, source, &mut symbols)?;
    let counts = entry.registers;
    let mut pool = Pool::new(counts);
    let mut code = Vec::with_capacity(entry.body.len() + 1);
    for statement in &entry.body {
        let guard =
            statement.guard.map(|(register, negated)| Predicate { slot: register.slot, negated });
        let operands = &source.operands[statement.operands.clone()];
        let mut decoder = Decoder::new((statement, operands), &symbols, &entry.labels, &mut pool);
        let (op, class) = decoder.decode()?;
        code.push(Instruction { op, guard, line: statement.line, class });
    }
    if let (Some(first), Some(last)) = (entry.body.first(), entry.body.last()) {
        let operands = first.operands.start..last.operands.end;
        discard_unread(&mut code, &source.operands[operands]);
    }
    // A body may end without ret (PTX ISA, "ret"): falling off its end is leaving it.
    let line = entry.body.last().map_or(entry.line, |s| s.line);
    code.push(Instruction {
        op: Op::Control(Control::Exit),
        guard: None,
        line,
        class: InstructionClass::Control,
    });
    Ok(Kernel {
        name: entry.name.to_owned(),
        params,
        max_threads: entry.max_threads,
        shared,
        fences: code.iter().any(|i| i.op.is_fence()),
        code,
        predicates: counts.predicates,
        words: counts.words,
        b64: counts.b64,
        word_constants: pool.words.values,
        b64_constants: pool.b64.values,
    })
}

/// An `atom` whose result nobody reads is a reduction, whichever way the compiler spelt it.
fn discard_unread(code: &mut [Instruction], operands: &[Operand<'_>]) {
    let mut mentions = HashMap::new();
    fn count(operand: &Operand<'_>, mentions: &mut HashMap<Slot, u32>) {
        match operand {
            Operand::Register(Register { class: Class::Word | Class::Half, slot }) => {
                *mentions.entry(*slot).or_default() += 1;
            }
            Operand::Pair(pair) => pair.iter().for_each(|o| count(o, mentions)),
            Operand::Vector(all) => all.iter().for_each(|o| count(o, mentions)),
            Operand::Address(base, _) => count(base, mentions),
            Operand::Register(Register { class: Class::Predicate | Class::B64, .. })
            | Operand::Name(_)
            | Operand::Not(_)
            | Operand::Integer(_)
            | Operand::Float(_) => {}
        }
    }
    if !code.iter().filter_map(|i| i.op.atomic()).any(|a| a.results != [SINK; 4]) {
        return;
    }
    operands.iter().for_each(|o| count(o, &mut mentions));
    for instruction in code {
        if let Op::Memory(Memory::Atomic(atomic)) = &mut instruction.op {
            for result in &mut atomic.results {
                if mentions.get(result) == Some(&1) {
                    *result = SINK;
                }
            }
        }
    }
}
