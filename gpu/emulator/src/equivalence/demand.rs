//! Which bits of every register anything that a kernel does depends on.
//!
//! Backwards over the code that control can arrive at: a bit that no memory, address, branch, barrier or
//! other lane depends on may be any. A change of such bits alone changes nothing that depends on them, by
//! induction over the operations: so that what is known to be 0 of one operand of `and` may excuse a bit
//! of the other, but not both of them each other.

use super::super::ir::{
    Arithmetic, B64Unary, Control, File, IntegerBinary, Kernel, Memory, Op, Place, RareMemory,
    RareOp, Slot, WordTernary, WordType, WordUnary,
};
use super::flow::Flow;
use super::integers::mask;
use super::state::{In, State};
use super::transfer::Operands;

/// The bits that are needed of every register; a predicate has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Needed {
    words: Vec<u64>,
    b64: Vec<u64>,
    predicates: Vec<u64>,
}

impl Needed {
    fn none(kernel: &Kernel) -> Self {
        let of = |count: Slot| vec![0; usize::from(count)];
        Self { words: of(kernel.words), b64: of(kernel.b64), predicates: of(kernel.predicates) }
    }

    fn file(&mut self, file: File) -> &mut Vec<u64> {
        match file {
            File::Predicate => &mut self.predicates,
            File::Word => &mut self.words,
            File::B64 => &mut self.b64,
        }
    }

    /// The bits that are needed of a register: none of one that the kernel has not.
    pub(super) fn of(&self, place: Place) -> u64 {
        let file = match place.file {
            File::Predicate => &self.predicates,
            File::Word => &self.words,
            File::B64 => &self.b64,
        };
        file.get(usize::from(place.slot)).copied().unwrap_or(0)
    }

    fn need(&mut self, place: Place, bits: u64) {
        // Constants are behind the registers.
        if let Some(needed) = self.file(place.file).get_mut(usize::from(place.slot)) {
            *needed |= bits;
        }
    }

    fn join(&mut self, other: &Self) -> bool {
        let before = self.clone();
        for (mine, theirs) in [
            (&mut self.words, &other.words),
            (&mut self.b64, &other.b64),
            (&mut self.predicates, &other.predicates),
        ] {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine |= theirs);
        }
        *self != before
    }
}

/// What is needed at the end of every block.
pub(super) struct Demand {
    ends: Vec<Needed>,
}

impl Demand {
    pub(super) fn of(flow: &Flow<'_>) -> Self {
        let successors = flow.successors();
        let mut ends = vec![Needed::none(flow.kernel); flow.len()];
        let states: Vec<Vec<State>> = (0..flow.len()).map(|block| states(flow, block)).collect();
        let mut changed = true;
        while changed {
            changed = false;
            let starts: Vec<_> = (0..flow.len())
                .map(|block| {
                    let mut needed = ends[block].clone();
                    if let Some(range) = flow.range(block) {
                        for (pc, state) in range.zip(&states[block]).rev() {
                            step(flow, pc, state, &mut needed);
                        }
                    }
                    needed
                })
                .collect();
            for (end, next) in ends.iter_mut().zip(&successors) {
                for next in next {
                    changed |= end.join(&starts[*next]);
                }
            }
        }
        Self { ends }
    }

    /// What is needed behind an instruction.
    pub(super) fn behind(&self, flow: &Flow<'_>, block: usize, pc: u32) -> Needed {
        let mut needed = self.ends[block].clone();
        if let Some(range) = flow.range(block) {
            let states = states(flow, block);
            let behind = range.zip(&states).filter(|(at, _)| *at > pc);
            for (pc, state) in behind.collect::<Vec<_>>().into_iter().rev() {
                step(flow, pc, state, &mut needed);
            }
        }
        needed
    }
}

/// What is known in front of each instruction of a block.
fn states(flow: &Flow<'_>, block: usize) -> Vec<State> {
    let Some(range) = flow.range(block) else { return Vec::new() };
    let Some(mut state) = flow.before(range.start) else { return Vec::new() };
    range
        .map(|pc| {
            let before = state.clone();
            flow.step(&mut state, pc);
            before
        })
        .collect()
}

fn step(flow: &Flow<'_>, pc: u32, state: &State, needed: &mut Needed) {
    let instruction = &flow.kernel.code[pc as usize];
    let of = In { kernel: flow.kernel, state };
    let written = instruction.op.writes();
    let results: Vec<(Place, u64)> =
        written.iter().map(|place| (*place, needed.of(*place))).collect();
    if !has_effect(&instruction.op) && results.iter().all(|(_, bits)| *bits == 0) {
        return;
    }
    let guard = instruction.guard.map_or(Some(true), |guard| of.predicate(guard));
    if guard == Some(true) {
        for place in &written {
            if let Some(bits) = needed.file(place.file).get_mut(usize::from(place.slot)) {
                *bits = 0;
            }
        }
    }
    // Also a guard that is known: what it is known from must stay.
    if let Some(guard) = instruction.guard {
        needed.need(Place { file: File::Predicate, slot: guard.slot }, 1);
    }
    if guard == Some(false) {
        return;
    }
    match &instruction.op {
        Op::Arithmetic(op) => {
            let bits = results.iter().fold(0, |all, (_, bits)| all | bits);
            for (place, bits) in operands(op, &results, bits, &of) {
                needed.need(place, bits);
            }
        }
        op @ (Op::Memory(_) | Op::Synchronization(_) | Op::Control(_)) => {
            for place in op.reads() {
                needed.need(place, u64::MAX);
            }
        }
    }
}

/// Whether an instruction does more than write registers. A load may be one that must not be made.
fn has_effect(op: &Op) -> bool {
    match op {
        Op::Arithmetic(_) => false,
        Op::Memory(
            Memory::Load(_)
            | Memory::Store(_)
            | Memory::Atomic(_)
            | Memory::Rare(
                RareMemory::LoadLocal(_)
                | RareMemory::StoreLocal(_)
                | RareMemory::ForgetLocal { .. }
                | RareMemory::GenericLoad(_)
                | RareMemory::GenericStore(_)
                | RareMemory::GenericAtomic(_)
                | RareMemory::Copy(_)
                | RareMemory::CommitCopies
                | RareMemory::WaitForCopies(_)
                | RareMemory::WaitForAllCopies,
            ),
        )
        | Op::Synchronization(_)
        | Op::Control(Control::Branch { .. } | Control::Exit | Control::Rare(_)) => true,
        Op::Control(Control::Special(..)) => false,
    }
}

/// The bits up to the highest one.
fn up_to(bits: u64) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> bits.leading_zeros() }
}

/// The bits of the operands that the bits of a result depend on.
fn operands(
    op: &Arithmetic,
    results: &[(Place, u64)],
    bits: u64,
    of: &In<'_>,
) -> Vec<(Place, u64)> {
    let word = |slot: Slot| Place { file: File::Word, slot };
    let b64 = |slot: Slot| Place { file: File::B64, slot };
    let predicate = |slot: Slot| (Place { file: File::Predicate, slot }, 1);
    match *op {
        Arithmetic::WordUnary(op, _, a) => vec![(word(a), of_unary(op, bits))],
        Arithmetic::WordBinary(op, _, a, b) => {
            let known = [of.word(a), of.word(b)];
            let [x, y] = of_binary(op, bits, known);
            vec![(word(a), x), (word(b), y)]
        }
        Arithmetic::WordTernary(WordTernary::MadLo, _, a, b, c) => {
            [a, b, c].map(|slot| (word(slot), up_to(bits))).to_vec()
        }
        Arithmetic::BitFieldInsert([_, a, b, position, length]) => {
            let all = || [a, b, position, length].map(|slot| (word(slot), u64::MAX)).to_vec();
            let places = of.word(position).value().zip(of.word(length).value());
            let Some((at, length_)) = places.map(|(a, b)| (a & 0xff, b & 0xff)) else {
                return all();
            };
            if at > 31 || length_ == 0 {
                return vec![(word(b), bits), (word(position), u64::MAX), (word(length), u64::MAX)];
            }
            let field = u64::MAX >> (64 - length_.min(64)) << at & mask(32);
            vec![
                (word(a), (bits & field) >> at),
                (word(b), bits & !field),
                (word(position), u64::MAX),
                (word(length), u64::MAX),
            ]
        }
        Arithmetic::B64Unary(op, _, a) => {
            let needed = match op {
                B64Unary::Move | B64Unary::Not => bits,
                B64Unary::Negate => up_to(bits),
                B64Unary::Abs => u64::MAX,
            };
            vec![(b64(a), needed)]
        }
        Arithmetic::B64Binary(op, _, a, b) => {
            let (second, b_known) =
                if op.shifts() { (word(b), of.word(b).widened(64)) } else { (b64(b), of.b64(b)) };
            let [x, y] = of_binary(op, bits, [of.b64(a), b_known]);
            vec![(b64(a), x), (second, y)]
        }
        Arithmetic::B64Mad(_, a, b, c) => [a, b, c].map(|slot| (b64(slot), up_to(bits))).to_vec(),
        Arithmetic::MulWide { a, b, .. } => [a, b].map(|slot| (word(slot), up_to(bits))).to_vec(),
        Arithmetic::MadWide { a, b, c, .. } => {
            vec![(word(a), up_to(bits)), (word(b), up_to(bits)), (b64(c), up_to(bits))]
        }
        Arithmetic::Widen { from, a, .. } => vec![(word(a), widened(from, bits))],
        Arithmetic::Narrow { a, .. } => vec![(b64(a), bits & mask(32))],
        Arithmetic::Pack { low, high, .. } => {
            vec![(word(low), bits & mask(32)), (word(high), bits >> 32)]
        }
        Arithmetic::Unpack { low, high, a } => {
            let of =
                |slot| results.iter().find(|(p, _)| p.slot == slot).map_or(0, |(_, bits)| *bits);
            vec![(b64(a), of(low) & mask(32) | of(high) << 32)]
        }
        Arithmetic::SelectWord { a, b, p, .. } => {
            vec![(word(a), bits), (word(b), bits), predicate(p)]
        }
        Arithmetic::SelectB64 { a, b, p, .. } => {
            vec![(b64(a), bits), (b64(b), bits), predicate(p)]
        }
        Arithmetic::Rare(rare) => {
            extracted(rare.op, &rare.sources, bits, of).unwrap_or_else(|| all(op))
        }
        _ => all(op),
    }
}

/// All bits of all operands.
fn all(op: &Arithmetic) -> Vec<(Place, u64)> {
    Op::Arithmetic(*op).reads().into_iter().map(|place| (place, u64::MAX)).collect()
}

fn extracted(
    op: RareOp,
    sources: &[Option<Place>; 4],
    bits: u64,
    of: &In<'_>,
) -> Option<Vec<(Place, u64)>> {
    let RareOp::Extract(extract) = op else { return None };
    let [Some(a), Some(position), Some(length), _] = *sources else { return None };
    let value = |place: Place| of.integer(place.file, place.slot).value().map(|x| x & 0xff);
    let (at, long) = (value(position)?, value(length)?);
    if extract.signed || at > 63 || long == 0 {
        return None;
    }
    let field = u64::MAX >> (64 - long.min(64));
    Some(vec![(a, (bits & field) << at), (position, u64::MAX), (length, u64::MAX)])
}

fn widened(from: WordType, bits: u64) -> u64 {
    let of = |width: u32, signed: bool| {
        let low = bits & mask(width);
        let above = signed && bits & !mask(width) != 0;
        low | if above { 1 << (width - 1) } else { 0 }
    };
    match from {
        WordType::S8 => of(8, true),
        WordType::U8 => of(8, false),
        WordType::S16 => of(16, true),
        WordType::U16 => of(16, false),
        WordType::S32 => of(32, true),
        WordType::U32 => of(32, false),
    }
}

fn of_unary(op: WordUnary, bits: u64) -> u64 {
    match op {
        WordUnary::Move | WordUnary::Not => bits,
        WordUnary::Negate => up_to(bits),
        WordUnary::Signed8 => widened(WordType::S8, bits),
        WordUnary::Signed16 => widened(WordType::S16, bits),
        WordUnary::Unsigned8 => bits & 0xff,
        WordUnary::Unsigned16 => bits & 0xffff,
        WordUnary::Abs16 => 0xffff,
        WordUnary::Brev => bits.reverse_bits() >> 32,
        WordUnary::Abs
        | WordUnary::Popc
        | WordUnary::Clz
        | WordUnary::BfindS
        | WordUnary::BfindU
        | WordUnary::BfindShiftS
        | WordUnary::BfindShiftU => u64::MAX,
    }
}

fn of_binary(op: IntegerBinary, bits: u64, [a, b]: [super::integers::Integers; 2]) -> [u64; 2] {
    let width = a.width;
    let amount = b.value().filter(|by| *by < u64::from(width));
    match op {
        IntegerBinary::Add | IntegerBinary::Sub | IntegerBinary::MulLo => [up_to(bits); 2],
        IntegerBinary::And => [bits & !b.zeros, bits & !(a.zeros & !b.zeros)],
        IntegerBinary::Or => [bits & !b.ones, bits & !(a.ones & !b.ones)],
        IntegerBinary::Xor => [bits; 2],
        IntegerBinary::Shl => match amount {
            Some(by) => [bits >> by, u64::MAX],
            None => [u64::MAX; 2],
        },
        IntegerBinary::ShrU => match amount {
            Some(by) => [bits << by & mask(width), u64::MAX],
            None => [u64::MAX; 2],
        },
        IntegerBinary::ShrS => match amount {
            Some(by) => {
                let sign = 1_u64 << (width - 1);
                let above = bits & !(mask(width) >> by) & mask(width) != 0;
                [bits << by & mask(width) | if above { sign } else { 0 }, u64::MAX]
            }
            None => [u64::MAX; 2],
        },
        IntegerBinary::MulHiS
        | IntegerBinary::MulHiU
        | IntegerBinary::DivS
        | IntegerBinary::DivU
        | IntegerBinary::RemS
        | IntegerBinary::RemU
        | IntegerBinary::MinS
        | IntegerBinary::MinU
        | IntegerBinary::MaxS
        | IntegerBinary::MaxU => [u64::MAX; 2],
    }
}
