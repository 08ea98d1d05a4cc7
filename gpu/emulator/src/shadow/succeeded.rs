//! Which comparisons ask whether an exchange succeeded: that is no decision of numbers.

use std::collections::HashSet;

use super::super::ir::{
    Arithmetic, Atomic, AtomicOp, B64Unary, Comparison, File, FloatUnary, Kernel, Memory, Op,
    Place, RareMemory, SINK, Slot, WordUnary,
};

/// The numbers of the instructions that compare for equality what a compare-and-exchange gave back.
pub(super) fn exchanges(kernel: &Kernel) -> HashSet<u32> {
    let mut given: HashSet<Place> = HashSet::new();
    for instruction in &kernel.code {
        if let Op::Memory(Memory::Atomic(atomic) | Memory::Rare(RareMemory::GenericAtomic(atomic))) =
            &instruction.op
            && atomic.op == AtomicOp::CompareExchange
        {
            given.extend(results(atomic));
        }
    }
    if given.is_empty() {
        return HashSet::new();
    }
    // Copies, until there are no more: what a loop copies may stand before.
    let mut known = 0;
    while known != given.len() {
        known = given.len();
        for instruction in &kernel.code {
            let Op::Arithmetic(op) = &instruction.op else { continue };
            let (from, to) = copy(op);
            if from.is_some_and(|from| given.contains(&from)) {
                given.extend(to);
            }
        }
    }
    let asks = |(pc, op): (u32, &Op)| match op {
        Op::Arithmetic(Arithmetic::Setp(setp))
            if matches!(setp.comparison, Comparison::Eq | Comparison::Ne) =>
        {
            let is_given = |file: File, slot: Slot| given.contains(&Place { file, slot });
            let any = [setp.a, setp.b]
                .into_iter()
                .any(|slot| is_given(File::Word, slot) || is_given(File::B64, slot));
            any.then_some(pc)
        }
        _ => None,
    };
    (0..).zip(kernel.code.iter().map(|instruction| &instruction.op)).filter_map(asks).collect()
}

/// The registers that an atomic gives the old value to, of either width.
fn results(atomic: &Atomic) -> impl Iterator<Item = Place> {
    let slots = atomic.results.iter().copied().filter(|&slot| slot != SINK);
    slots.map(|slot| {
        let file = if atomic.b64 { File::B64 } else { File::Word };
        Place { file, slot }
    })
}

/// What an instruction copies, and where to.
fn copy(op: &Arithmetic) -> (Option<Place>, Vec<Place>) {
    let word = |slot| Place { file: File::Word, slot };
    let wide = |slot| Place { file: File::B64, slot };
    match *op {
        Arithmetic::WordUnary(WordUnary::Move, d, a)
        | Arithmetic::FloatUnary(FloatUnary::Move, _, d, a) => (Some(word(a)), vec![word(d)]),
        Arithmetic::B64Unary(B64Unary::Move, d, a) => (Some(wide(a)), vec![wide(d)]),
        Arithmetic::Unpack { low, high, a } => (Some(wide(a)), vec![word(low), word(high)]),
        Arithmetic::Split16 { parts, a } => {
            let written = parts.into_iter().filter(|&part| part != SINK);
            (Some(a), written.map(word).collect())
        }
        _ => (None, Vec::new()),
    }
}
