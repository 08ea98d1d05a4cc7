//! Proofs that a changed kernel computes what the original does, for every launch that a few facts allow.
//!
//! The original is interpreted abstractly (`flow`: what every register can hold, by bounds and known
//! bits), and backwards (`demand`: which bits anything depends on). A changed instruction is then
//! compared with the one that stood there, as expressions of the registers in front of it (`values`): if
//! they have the same effects and leave the same bits in everything that is still needed, the two kernels
//! do the same. Where that cannot be shown nothing is said.
//!
//! Parameters that can be one of few numbers, such as the features of an entry, are taken one by one: what
//! is a constant then decides branches, and what is behind a branch that is never taken may be changed at
//! will.
//!
//! Of other lanes and of memory nothing is known: a shuffle and a load give anything.

mod compared;
mod demand;
mod flow;
mod integers;
mod state;
mod transfer;
mod values;

use std::ops::RangeInclusive;

use super::ir::{Control, File, Instruction, Kernel, Module, Op, Place};
use demand::Demand;
use flow::Flow;
use integers::Integers;
use transfer::Given;
use values::Values;

/// Cases that facts may make, at most.
const CASES: usize = 128;

/// A fact about every launch of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about.
    pub about: About,
    /// What that can be: anything in one of these. A parameter is looked at in each of them by itself.
    pub values: Vec<RangeInclusive<u32>>,
}

/// What a fact is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The word at an offset of a parameter, both from 0.
    Parameter {
        /// Which parameter.
        number: usize,
        /// Its byte.
        offset: u32,
    },
    /// `blockIdx`, along x, y or z: 0, 1 or 2.
    Block(u8),
}

/// A kernel, with all that the facts allow.
pub struct Original<'m> {
    kernel: &'m Kernel,
    cases: Vec<(Flow<'m>, Demand)>,
}

impl<'m> Original<'m> {
    /// Looks at a kernel; `None` if the module has none of that name.
    #[must_use]
    pub fn of(module: &'m Module, kernel: &str, facts: &[Fact]) -> Option<Self> {
        let kernel = module.kernels.get(kernel)?;
        let cases = cases(kernel, facts).into_iter().map(|given| {
            let flow = Flow::of(kernel, given);
            let demand = Demand::of(&flow);
            (flow, demand)
        });
        Some(Self { kernel, cases: cases.collect() })
    }

    /// Whether a kernel that is changed on one line of its PTX alone provably does what the original does.
    #[must_use]
    pub fn does_the_same(&self, changed: &Module, line: u32) -> bool {
        let Some(changed) = changed.kernels.get(&self.kernel.name) else { return false };
        let (Some(before), Some(after)) = (at_line(self.kernel, line), at_line(changed, line))
        else {
            return false;
        };
        if !same_elsewhere(self.kernel, &before, changed, &after) {
            return false;
        }
        let code = |kernel: &Kernel, range: std::ops::Range<usize>| -> Vec<Instruction> {
            kernel.code[range].iter().map(|instruction| by_line(instruction, kernel)).collect()
        };
        let (old, new) = (code(self.kernel, before.clone()), code(changed, after));
        let Ok(first) = u32::try_from(before.start) else { return false };
        let Some(last) = (first..).zip(&old).last().map(|(pc, _)| pc) else { return false };
        // What is known of a register that the original does not read here may be what the change undoes: then it is
        // no fact of the changed kernel, unless its own flow has it.
        let reads = |code: &[Instruction]| -> Vec<Place> {
            code.iter().flat_map(|one| one.op.reads().into_iter().chain(guard_of(one))).collect()
        };
        let read = reads(&old);
        let is_new = reads(&new)
            .iter()
            .any(|place| !read.contains(place) && changed.constant(*place).is_none());
        self.cases.iter().all(|(flow, demand)| {
            let Some(mut state) = flow.before(first) else { return true };
            if is_new {
                let own = Flow::of(changed, flow.given.clone());
                let Some(known) = own.before(first) else { return false };
                state.join(&known, false);
            }
            let mut values = Values::new(&state);
            let was = values.run(self.kernel, &old, &flow.given);
            let is = values.run(changed, &new, &flow.given);
            if was.effects != is.effects {
                return false;
            }
            let needed = demand.behind(flow, flow.block_at(first), last);
            let places: Vec<Place> =
                was.written.iter().chain(&is.written).map(|(place, _)| *place).collect();
            places.into_iter().all(|place| {
                let bits = needed.of(place);
                let [a, b] = [(&was, self.kernel), (&is, changed)]
                    .map(|(outcome, kernel)| values.read(kernel, &outcome.written, place));
                bits == 0 || values.agree(a, b, bits)
            })
        })
    }
}

/// The register of an instruction's guard.
fn guard_of(instruction: &Instruction) -> Option<Place> {
    instruction.guard.map(|guard| Place { file: File::Predicate, slot: guard.slot })
}

/// The most threads of a block along each axis (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability"). `.maxntid` limits their product alone: what `__launch_bounds__(256)` makes of a kernel, `.maxntid
/// 256`, is launched as 16 x 16 too (PTX ISA, ".maxntid").
fn threads_of(kernel: &Kernel) -> [u32; 3] {
    let product = kernel.max_threads.map(|sizes| sizes.iter().map(|&n| u64::from(n)).product());
    let most = product.and_then(|all: u64| u32::try_from(all).ok()).unwrap_or(u32::MAX);
    [1024, 1024, 64].map(|axis: u32| axis.min(most.max(1)))
}

/// What is given in each case: every parameter with several ranges in each of them.
fn cases(kernel: &Kernel, facts: &[Fact]) -> Vec<Given> {
    let threads = threads_of(kernel);
    let mut all = vec![Given { threads, ..Given::default() }];
    for fact in facts {
        let ranges = fact
            .values
            .iter()
            .map(|range| Integers::between((*range.start()).into(), (*range.end()).into(), 32));
        let together = ranges.clone().reduce(Integers::or_of);
        let Some(together) = together else { continue };
        match fact.about {
            About::Block(axis) => all.iter_mut().for_each(|g| g.blocks.push((axis, together))),
            About::Parameter { number, offset } => {
                let Some(parameter) = kernel.params.get(number) else { continue };
                let at = u64::from(parameter.offset) + u64::from(offset);
                let ranges: Vec<_> = if all.len() * fact.values.len() > CASES {
                    vec![together]
                } else {
                    ranges.collect()
                };
                let with = |given: &Given, range| {
                    let mut given = given.clone();
                    given.parameters.push((at, range));
                    given
                };
                all = all
                    .iter()
                    .flat_map(|given| ranges.iter().map(move |range| with(given, *range)))
                    .collect();
            }
        }
    }
    all
}

/// The instructions of a line, one after the other; `None` where there are none, or others between.
fn at_line(kernel: &Kernel, line: u32) -> Option<std::ops::Range<usize>> {
    let is = |instruction: &Instruction| instruction.line == line;
    let Some(first) = kernel.code.iter().position(is) else {
        let next = kernel.code.iter().position(|instruction| instruction.line > line)?;
        return Some(next..next);
    };
    let last = kernel.code.iter().rposition(is)?;
    kernel.code[first..=last].iter().all(is).then_some(first..last + 1)
}

/// An instruction that leads to a line and not to a place of the code.
fn by_line(instruction: &Instruction, kernel: &Kernel) -> Instruction {
    let mut instruction = *instruction;
    if let Op::Control(Control::Branch { target, .. }) = &mut instruction.op {
        *target = kernel.code.get(*target as usize).map_or(u32::MAX, |to| to.line);
    }
    instruction
}

/// Whether two kernels are the same but for these instructions.
fn same_elsewhere(
    a: &Kernel,
    without: &std::ops::Range<usize>,
    b: &Kernel,
    without_of_b: &std::ops::Range<usize>,
) -> bool {
    let same = |x: &[Instruction], y: &[Instruction]| {
        x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_instruction(x, a, y, b))
    };
    same(&a.code[..without.start], &b.code[..without_of_b.start])
        && same(&a.code[without.end..], &b.code[without_of_b.end..])
}

fn same_instruction(x: &Instruction, a: &Kernel, y: &Instruction, b: &Kernel) -> bool {
    // A register by its number, a constant by its value.
    let names = |mut op: Op, kernel: &Kernel| {
        let mut all = Vec::new();
        op.operands(&mut |_, file, slot| {
            all.push((file, kernel.constant(Place { file, slot: *slot }).ok_or(*slot)));
        });
        all
    };
    let (x, y) = (by_line(x, a), by_line(y, b));
    x.guard == y.guard && x.op.kind() == y.op.kind() && names(x.op, a) == names(y.op, b)
}

#[cfg(test)]
mod tests;
