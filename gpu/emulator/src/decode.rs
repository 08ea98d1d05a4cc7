//! Statements to typed instructions.
//!
//! Every part of an opcode must be consumed by the rule that decodes it, and every operand must
//! have the width the rule asks for; what is left over is an error with its line. A kernel with such
//! an error is refused with all that it lacks; the others of its module run.

mod arithmetic;
mod assemble;
mod carry;
mod control;
mod convert;
mod data;
mod grid;
mod guesses;
mod narrow;
mod operands;
mod parts;
mod rare;
mod unread;

use std::collections::{BTreeMap, HashMap};

use super::ir::{Arithmetic, Empty, Findings, FloatBinary, Kernel, Module, Op, Parameter, Space};
use super::lanes::WARP;
use super::memory::MODULE_BASE;
use super::parse::{
    Function, ParameterKind, ParseError, Parsed, Problem, Source, Variable, parse, refusal,
};
pub(super) use assemble::LOCAL_BASE;
use assemble::Symbols;
pub use operands::MNEMONICS;
use operands::Symbol;

/// Shared memory of a block above which no current device goes (227 KiB on `sm_90`, rounded up).
const MAX_SHARED: u64 = 1 << 18;

impl Module {
    /// Parses and decodes a PTX module, perhaps with the NUL at its end that Warp writes as C does. A kernel that
    /// uses what the emulator does not have, or calls a function that does, is refused ([`Module::refusal`]); the others run.
    ///
    /// # Errors
    /// [`ParseError`] names the first line outside functions that is not PTX of the known subset, or,
    /// where no kernel of the module can run, what each of them lacks.
    pub fn parse(source: &str) -> Result<Self, ParseError> {
        let mut source = parse(source.trim_end_matches('\0'))?;
        grid::give(&mut source);
        let mut symbols = HashMap::new();
        let (variables, empty) = global_variables(&source, &mut symbols)?;
        let (mut kernels, mut refused) = (BTreeMap::new(), BTreeMap::new());
        for entry in &source.kernels {
            let name = entry.name.to_owned();
            if kernels.contains_key(&name) || refused.contains_key(&name) {
                let message = format!("kernel '{}' stands twice", entry.name);
                return Err(ParseError { line: entry.line, message });
            }
            match kernel(entry, &source, symbols.clone()) {
                Ok(kernel) => drop(kernels.insert(name, kernel)),
                Err(problems) => {
                    let origin = |line| source.origin(entry.line, line);
                    refused.insert(name, refusal(entry.name, &problems, origin));
                }
            }
        }
        if kernels.is_empty()
            && let Some(error) = all_of(&refused)
        {
            return Err(error);
        }
        let target = source.target.to_owned();
        Ok(Self { target, variables, empty, kernels, refused, lane_width: WARP, number: 0 })
    }

    /// The same as another of the modules that run on one memory: variables are each module's own.
    #[must_use]
    pub fn numbered(self, number: u32) -> Self {
        Self { number, ..self }
    }

    /// Names of the kernels that can run, sorted.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.keys().map(String::as_str)
    }

    /// Why a kernel of the module cannot run: all instructions that the emulator does not have, with
    /// their lines. `None` if it can, or if there is no such kernel.
    #[must_use]
    pub fn refusal(&self, kernel: &str) -> Option<&ParseError> {
        self.refused.get(kernel)
    }

    /// Whether all sums and products of a kernel take subnormal numbers for zeros (`.ftz`), as `nvcc -ftz=true` and
    /// `--use_fast_math` compile them.
    #[must_use]
    pub fn flushes(&self, kernel: &str) -> bool {
        let of = |op: &Op| match op {
            Op::Arithmetic(Arithmetic::FloatBinary(
                FloatBinary::Add | FloatBinary::Sub | FloatBinary::Mul,
                flags,
                ..,
            ))
            | Op::Arithmetic(Arithmetic::Fma(_, flags, ..)) => Some(flags.flush),
            _ => None,
        };
        let Some(kernel) = self.kernels.get(kernel) else { return false };
        let mut all = kernel.code.iter().filter_map(|one| of(&one.op)).peekable();
        all.peek().is_some() && all.all(|flushes| flushes)
    }

    /// Lines of CUDA (`file.cu:81`) at which a kernel computes in f32, each with whether it chooses an operand or
    /// clamps there: where [`Conventions`](crate::Conventions) may name it. Empty without `-lineinfo`.
    #[must_use]
    pub fn departures(&self, kernel: &str) -> BTreeMap<String, bool> {
        self.kernels.get(kernel).map_or_else(BTreeMap::new, |kernel| kernel.departures())
    }

    /// The place in its source that a line of a kernel was made from (`file.cu:81`, `file.wgsl:81:5`); `None`
    /// where the PTX does not say.
    #[must_use]
    pub fn origin(&self, kernel: &str, line: u32) -> Option<&str> {
        self.kernels.get(kernel)?.origins.get(&line).map(String::as_str)
    }

    /// The module's variable (`__device__`, `__constant__`) at an address of global memory; `None` for an address that
    /// is of none. Those that have a value from the beginning are not told apart.
    #[must_use]
    pub fn variable_at(&self, address: u64) -> Option<String> {
        let offset = address.checked_sub(MODULE_BASE)?;
        if usize::try_from(offset).ok()? >= self.variables.len() {
            return None;
        }
        let of = self.empty.iter().find(|one| (one.begin..one.end).contains(&offset));
        Some(of.map_or_else(
            || "a variable of the module".to_owned(),
            |one| format!("byte {} of the module's variable {}", offset - one.begin, one.name),
        ))
    }

    /// Says which place in its source each line of a kernel was made from, for PTX that does not say it itself.
    pub fn name_origins(&mut self, kernel: &str, origin: impl Fn(u32) -> Option<String>) {
        let Some(kernel) = self.kernels.get_mut(kernel) else { return };
        for instruction in &kernel.code {
            if let Some(origin) = origin(instruction.line) {
                kernel.origins.insert(instruction.line, origin);
            }
        }
    }

    /// Bytes of each parameter of a kernel; `None` if there is no such kernel.
    #[must_use]
    pub fn parameter_sizes(&self, kernel: &str) -> Option<Vec<u32>> {
        Some(self.kernels.get(kernel)?.params.iter().map(|p| p.size).collect())
    }

    /// What each parameter of a kernel is declared as; `None` if there is no such kernel.
    #[must_use]
    pub fn parameter_kinds(&self, kernel: &str) -> Option<Vec<ParameterKind>> {
        Some(self.kernels.get(kernel)?.params.iter().map(|p| p.kind).collect())
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

/// The refusals of all kernels as one error, each on a line of its own.
fn all_of(refused: &BTreeMap<String, ParseError>) -> Option<ParseError> {
    let mut all: Vec<&ParseError> = refused.values().collect();
    all.sort_by_key(|error| error.line);
    let (first, others) = all.split_first()?;
    let mut message = first.message.clone();
    for other in others {
        message = format!("{message}\n{other}");
    }
    Some(ParseError { line: first.line, message })
}

/// Lays out global and constant variables and returns their initial bytes, and which have none.
fn global_variables<'a>(
    source: &Source<'a>,
    symbols: &mut Symbols<'a>,
) -> Parsed<(Vec<u8>, Vec<Empty>)> {
    let (mut bytes, mut empty) = (Vec::new(), Vec::new());
    for variable in &source.variables {
        if variable.space == Space::Shared {
            continue;
        }
        let begin = (bytes.len() as u64).next_multiple_of(variable.align);
        let end = begin + variable.size;
        let too_large = || Problem::new(1, "module variables above 2 GiB".to_owned());
        let [first, last] = [begin, end].map(usize::try_from);
        let (first, last) = (first.map_err(|_| too_large())?, last.map_err(|_| too_large())?);
        if end > 1 << 31 {
            return Err(too_large());
        }
        bytes.resize(last, 0);
        bytes[first..first + variable.initial.len()].copy_from_slice(&variable.initial);
        symbols.insert(variable.name, Symbol { space: variable.space, at: MODULE_BASE + begin });
        if variable.initial.is_empty() {
            empty.push(Empty { name: variable.name.to_owned(), begin, end });
        }
    }
    Ok((bytes, empty))
}

/// Where shared variables begin. Devices from `sm_80` on keep as many bytes to themselves, and an address
/// whose base was left out is nobody's.
pub(super) const SHARED_BASE: u64 = 1024;

/// Lays out shared variables, static ones first, and returns the bytes of the static ones.
fn shared_variables<'a>(
    all: &[&Variable<'a>],
    line: u32,
    symbols: &mut Symbols<'a>,
) -> Parsed<u32> {
    let mut end = if all.is_empty() { 0 } else { SHARED_BASE };
    let mut place = |variable: &Variable<'a>, at| {
        symbols.insert(variable.name, Symbol { space: Space::Shared, at });
        at + variable.size
    };
    for variable in all.iter().filter(|variable| !variable.dynamic) {
        end = place(variable, end.next_multiple_of(variable.align));
    }
    // All external arrays begin at one address, where the static part ends (CUDA C++, "__shared__").
    let dynamic = || all.iter().filter(|variable| variable.dynamic);
    if let Some(align) = dynamic().map(|variable| variable.align).max() {
        end = end.next_multiple_of(align);
        end = dynamic().map(|variable| place(variable, end)).max().unwrap_or(end);
    }
    let fits = u32::try_from(end).ok().filter(|_| end <= MAX_SHARED);
    fits.ok_or_else(|| Problem::new(line, format!("{end} bytes of shared memory")))
}

/// Parameters one after the other, each at its alignment.
fn parameters<'a>(entry: &Function<'a>, symbols: &mut Symbols<'a>) -> Parsed<Vec<Parameter>> {
    let mut params = Vec::with_capacity(entry.params.len());
    let mut end = 0_u64;
    for param in &entry.params {
        let begin = end.next_multiple_of(param.align);
        end = begin + param.size;
        // The limit of PTX ISA, "Kernel Function Parameters", for sm_70 and later.
        if end > 32764 {
            return Err(Problem::new(entry.line, "parameters above 32764 bytes".to_owned()));
        }
        symbols.insert(param.name, Symbol { space: Space::Param, at: begin });
        let [offset, size] = [begin, param.size].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        params.push(Parameter { offset, size, kind: param.kind });
    }
    Ok(params)
}

/// A kernel with the functions that it calls, or all that is wrong with it.
fn kernel<'a>(
    entry: &Function<'a>,
    source: &Source<'a>,
    mut symbols: Symbols<'a>,
) -> Result<Kernel, Vec<Problem>> {
    let one = |problem| vec![problem];
    let params = parameters(entry, &mut symbols).map_err(one)?;
    let called = assemble::Called::by(entry, source).map_err(one)?;
    let functions = || std::iter::once(entry).chain(called.functions());
    let of_functions = functions().flat_map(|function| &function.variables);
    let shared: Vec<&Variable<'a>> =
        source.variables.iter().chain(of_functions).filter(|v| v.space == Space::Shared).collect();
    let shared = shared_variables(&shared, entry.line, &mut symbols).map_err(one)?;
    let assembled = assemble::assemble(entry, source, &called, symbols);
    let mut problems: Vec<Problem> =
        functions().flat_map(|function| &function.problems).cloned().collect();
    problems.extend_from_slice(&assembled.problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let code = assembled.code;
    let counts = called.registers();
    let mut origins = BTreeMap::new();
    for instruction in &code {
        let first = if instruction.line >= entry.line { entry.line } else { 0 };
        if let Some(origin) = source.origin(first, instruction.line) {
            origins.insert(instruction.line, origin);
        }
    }
    let mut kernel = Kernel {
        name: entry.name.to_owned(),
        params,
        max_threads: entry.max_threads,
        shared,
        local: called.local(),
        uniform: source.uniform,
        orders: code.iter().map(|i| i.op.orders()).max().unwrap_or_default(),
        code,
        predicates: counts.predicates,
        words: counts.words,
        b64: counts.b64,
        word_constants: assembled.pool.words.values,
        b64_constants: assembled.pool.b64.values,
        origins,
        findings: Findings::default(),
    };
    let mut code = std::mem::take(&mut kernel.code);
    guesses::take_guesses(&mut code, &|place| kernel.constant(place));
    kernel.code = code;
    Ok(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_variable_has_its_name() {
        let text = ".version 8.0\n.target sm_75\n.address_size 64\n\
                    .global .align 4 .u32 counter;\n.global .align 8 .b8 sums[16];\n\
                    .const .align 4 .u32 last = 7;\n\
                    .visible .entry k()\n{\n    ret;\n}\n";
        let module = Module::parse(text).expect("it is PTX");
        let at = |offset| module.variable_at(MODULE_BASE + offset);
        assert_eq!(at(0).as_deref(), Some("byte 0 of the module's variable counter"));
        assert_eq!(at(13).as_deref(), Some("byte 5 of the module's variable sums"));
        assert_eq!(at(24).as_deref(), Some("a variable of the module"), "it has a value");
        assert_eq!([at(28), module.variable_at(0)], [None, None], "of none");
    }
}
