//! First guesses of compare-exchange loops.

use std::collections::HashMap;

use super::super::ir::{
    Address, Arithmetic, AtomicOp, B64Unary, Base, File, FloatUnary, Instruction, IntegerBinary,
    Memory, Op, Place, RareMemory, Scope, Slot, Space, WordUnary,
};

/// Loads that are the first guess of a compare-exchange at the same address count as relaxed, as in the `atomicAdd` of
/// the CUDA C++ Programming Guide ("Atomic Functions"). Whatever is read, only a guess that is right is exchanged.
/// `constant` is what a slot holds that is none of a register.
pub(super) fn take_guesses(code: &mut [Instruction], constant: &dyn Fn(Place) -> Option<u64>) {
    let atomics = code.iter().filter_map(|instruction| instruction.op.atomic());
    let exchanges = atomics.filter(|atomic| atomic.op == AtomicOp::CompareExchange);
    let exchanges: Vec<_> =
        exchanges.map(|atomic| (atomic.space, atomic.address, atomic.operands[0])).collect();
    if exchanges.is_empty() {
        return;
    }
    let sums = Sums::of(code, constant);
    let exchanges: Vec<(Space, Address, Slot)> = exchanges
        .into_iter()
        .map(|(space, address, slot)| (space, sums.resolved(address), slot))
        .collect();
    let moves: Vec<(Slot, Slot)> = code.iter().filter_map(|one| moved(&one.op)).collect();
    for instruction in code {
        let Op::Memory(Memory::Load(load) | Memory::Rare(RareMemory::GenericLoad(load))) =
            &mut instruction.op
        else {
            continue;
        };
        let address = sums.resolved(load.address);
        let at_address =
            |(space, other, _): &&(Space, Address, Slot)| (*space, *other) == (load.space, address);
        let mut expected = exchanges.iter().filter(at_address).map(|exchange| exchange.2);
        if load.strong.is_none()
            && load.count == 1
            && expected.any(|slot| reaches(&moves, load.slots[0], slot))
        {
            load.strong = Some(Scope::Device);
        }
    }
}

/// Registers that only one instruction writes, a move of another or its sum with a constant.
struct Sums(HashMap<Place, Option<(Place, i64)>>);

impl Sums {
    fn of(code: &[Instruction], constant: &dyn Fn(Place) -> Option<u64>) -> Self {
        let mut all = HashMap::new();
        for instruction in code {
            let sum = Self::sum(&instruction.op, constant);
            for place in instruction.op.writes() {
                all.entry(place).and_modify(|known| *known = None).or_insert(sum);
            }
        }
        Self(all)
    }

    /// The register and the constant whose sum an instruction is.
    fn sum(op: &Op, constant: &dyn Fn(Place) -> Option<u64>) -> Option<(Place, i64)> {
        let (file, op, a, b) = match *op {
            Op::Arithmetic(Arithmetic::B64Binary(op, _, a, b)) => (File::B64, op, a, b),
            Op::Arithmetic(Arithmetic::WordBinary(op, _, a, b)) => (File::Word, op, a, b),
            Op::Arithmetic(Arithmetic::B64Unary(B64Unary::Move, _, a)) => {
                return Some((Place { file: File::B64, slot: a }, 0));
            }
            Op::Arithmetic(Arithmetic::WordUnary(WordUnary::Move, _, a)) => {
                return Some((Place { file: File::Word, slot: a }, 0));
            }
            _ => return None,
        };
        let [a, b] = [a, b].map(|slot| Place { file, slot });
        let signed = |bits: u64| match file {
            // The lower half of a word's constant.
            File::Word => i64::from((bits & 0xffff_ffff) as u32 as i32),
            File::B64 | File::Predicate => bits.cast_signed(),
        };
        match (op, constant(a), constant(b)) {
            (IntegerBinary::Add, None, Some(more)) => Some((a, signed(more))),
            (IntegerBinary::Add, Some(more), None) => Some((b, signed(more))),
            (IntegerBinary::Sub, None, Some(less)) => Some((a, signed(less).checked_neg()?)),
            _ => None,
        }
    }

    /// The same address by the register that its base is made of.
    fn resolved(&self, address: Address) -> Address {
        let Address { base, mut offset } = address;
        let mut place = match base {
            Base::None => return address,
            Base::Word(slot) => Place { file: File::Word, slot },
            Base::B64(slot) => Place { file: File::B64, slot },
        };
        // A register that is made of itself has no end.
        for _ in 0..self.0.len() {
            let Some(&Some((from, more))) = self.0.get(&place) else { break };
            (place, offset) = (from, offset.wrapping_add(more));
        }
        let base = match place.file {
            File::Word => Base::Word(place.slot),
            File::B64 => Base::B64(place.slot),
            File::Predicate => base,
        };
        Address { base, offset }
    }
}

/// The registers of a move, from and to.
fn moved(op: &Op) -> Option<(Slot, Slot)> {
    match *op {
        Op::Arithmetic(
            Arithmetic::WordUnary(WordUnary::Move, d, a)
            | Arithmetic::FloatUnary(FloatUnary::Move, _, d, a)
            | Arithmetic::B64Unary(B64Unary::Move, d, a),
        ) => Some((a, d)),
        _ => None,
    }
}

/// Whether moves bring what a register holds to another one.
fn reaches(moves: &[(Slot, Slot)], from: Slot, to: Slot) -> bool {
    let mut reached = vec![from];
    let mut at = 0;
    while let Some(&slot) = reached.get(at) {
        for &(_, next) in moves.iter().filter(|(source, _)| *source == slot) {
            if !reached.contains(&next) {
                reached.push(next);
            }
        }
        at += 1;
    }
    reached.contains(&to)
}
