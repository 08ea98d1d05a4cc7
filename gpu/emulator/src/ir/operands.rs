//! Which registers an operation reads and writes.

use super::{
    Address, Arithmetic, Atomic, AtomicOp, Barrier, BarrierReductionOp, Base, Compared, Control,
    File, Memory, Op, Place, Predicate, RareControl, RareMemory, SINK, Slot, Sync, SyncKind,
    Synchronization, Transfer,
};

/// What an operation does with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Reads,
    Writes,
}

/// What hears of each operand, and may exchange it.
type Visit<'v> = &'v mut dyn FnMut(Role, File, &mut Slot);

impl Op {
    /// Every register and constant that it names, those it reads in the order of its fields.
    pub(crate) fn operands(&mut self, visit: Visit<'_>) {
        let visit: Visit<'_> = &mut |role, file, slot: &mut Slot| {
            if *slot != SINK {
                visit(role, file, slot);
            }
        };
        match self {
            Self::Arithmetic(op) => arithmetic(op, visit),
            Self::Memory(op) => memory(op, visit),
            Self::Synchronization(op) => synchronization(op, visit),
            Self::Control(Control::Special(_, d)) => visit(Role::Writes, File::Word, d),
            Self::Control(Control::Rare(RareControl::Counter(d))) => {
                visit(Role::Writes, File::B64, d);
            }
            Self::Control(Control::Rare(RareControl::Index { index, .. })) => {
                visit(Role::Reads, File::Word, index);
            }
            Self::Control(
                Control::Branch { .. }
                | Control::Exit
                | Control::Rare(RareControl::Nothing | RareControl::Trap { .. }),
            ) => {}
        }
    }

    /// What it reads.
    pub(crate) fn reads(mut self) -> Vec<Place> {
        let mut all = Vec::new();
        self.operands(&mut |role, file, &mut slot| {
            if role == Role::Reads {
                all.push(Place { file, slot });
            }
        });
        all
    }

    /// What it writes.
    pub(crate) fn writes(mut self) -> Vec<Place> {
        let mut all = Vec::new();
        self.operands(&mut |role, file, &mut slot| {
            if role == Role::Writes {
                all.push(Place { file, slot });
            }
        });
        all
    }

    /// The operation without its registers: equal ones do the same to what they read.
    pub(crate) fn kind(mut self) -> Self {
        self.operands(&mut |_, _, slot| *slot = 0);
        self
    }
}

fn arithmetic(op: &mut Arithmetic, visit: Visit<'_>) {
    use File::{B64, Predicate as P, Word};
    use Role::{Reads, Writes};
    match op {
        Arithmetic::WordUnary(_, d, a)
        | Arithmetic::FloatUnary(_, _, d, a)
        | Arithmetic::WordToFloat { d, a, .. } => {
            each([(Writes, Word, d), (Reads, Word, a)], visit)
        }
        Arithmetic::WordBinary(_, d, a, b) | Arithmetic::FloatBinary(_, _, d, a, b) => {
            each([(Writes, Word, d), (Reads, Word, a), (Reads, Word, b)], visit);
        }
        Arithmetic::WordTernary(_, d, a, b, c) | Arithmetic::Fma(_, _, d, a, b, c) => {
            let all = [(Writes, Word, d), (Reads, Word, a), (Reads, Word, b), (Reads, Word, c)];
            each(all, visit);
        }
        Arithmetic::BitFieldInsert([d, sources @ ..]) => {
            visit(Writes, Word, d);
            sources.iter_mut().for_each(|source| visit(Reads, Word, source));
        }
        Arithmetic::B64Unary(_, d, a) => each([(Writes, B64, d), (Reads, B64, a)], visit),
        Arithmetic::B64Binary(op, d, a, b) => {
            let amount = if op.shifts() { Word } else { B64 };
            each([(Writes, B64, d), (Reads, B64, a), (Reads, amount, b)], visit);
        }
        Arithmetic::B64Mad(d, a, b, c) => {
            each([(Writes, B64, d), (Reads, B64, a), (Reads, B64, b), (Reads, B64, c)], visit);
        }
        Arithmetic::B64Count(_, d, a)
        | Arithmetic::Narrow { d, a }
        | Arithmetic::B64ToFloat { d, a, .. } => each([(Writes, Word, d), (Reads, B64, a)], visit),
        Arithmetic::MulWide { d, a, b, .. } => {
            each([(Writes, B64, d), (Reads, Word, a), (Reads, Word, b)], visit);
        }
        Arithmetic::MadWide { d, a, b, c, .. } => {
            each([(Writes, B64, d), (Reads, Word, a), (Reads, Word, b), (Reads, B64, c)], visit);
        }
        Arithmetic::Widen { d, a, .. } => each([(Writes, B64, d), (Reads, Word, a)], visit),
        Arithmetic::Pack { d, low, high } => {
            each([(Writes, B64, d), (Reads, Word, low), (Reads, Word, high)], visit);
        }
        Arithmetic::Unpack { low, high, a } => {
            each([(Writes, Word, low), (Writes, Word, high), (Reads, B64, a)], visit);
        }
        Arithmetic::FloatToInteger(op) => {
            let file = if op.b64 { B64 } else { Word };
            each([(Writes, file, &mut op.d), (Reads, Word, &mut op.a)], visit);
        }
        Arithmetic::Setp(op) => {
            let file = match op.compared {
                Compared::Unsigned64 | Compared::Signed64 | Compared::Double => B64,
                Compared::Unsigned
                | Compared::Signed
                | Compared::Unsigned16
                | Compared::Signed16
                | Compared::Float { .. }
                | Compared::Narrow { .. } => Word,
            };
            each([(Writes, P, &mut op.d), (Writes, P, &mut op.q)], &mut *visit);
            each([(Reads, file, &mut op.a), (Reads, file, &mut op.b)], &mut *visit);
            if let Some((_, predicate)) = &mut op.combine {
                visit(Reads, P, &mut predicate.slot);
            }
        }
        Arithmetic::SelectWord { d, a, b, p } => {
            each([(Writes, Word, d), (Reads, Word, a), (Reads, Word, b), (Reads, P, p)], visit);
        }
        Arithmetic::SelectB64 { d, a, b, p } => {
            each([(Writes, B64, d), (Reads, B64, a), (Reads, B64, b), (Reads, P, p)], visit);
        }
        Arithmetic::PredicateMove { d, a } => {
            each([(Writes, P, d), (Reads, P, &mut a.slot)], visit);
        }
        Arithmetic::Predicate2(_, d, a, b) => {
            each([(Writes, P, d), (Reads, P, &mut a.slot), (Reads, P, &mut b.slot)], visit);
        }
        Arithmetic::Split16 { parts, a } => {
            parts.iter_mut().for_each(|part| visit(Writes, Word, part));
            visit(Reads, a.file, &mut a.slot);
        }
        Arithmetic::Carry(op) => {
            let file = if op.wide { B64 } else { Word };
            each([(Writes, file, &mut op.d), (Writes, Word, &mut op.to)], &mut *visit);
            for source in &mut op.sources {
                visit(Reads, file, source);
            }
            visit(Reads, Word, &mut op.from);
        }
        Arithmetic::Rare(op) => {
            visit(Writes, op.d.file, &mut op.d.slot);
            for source in op.sources.iter_mut().flatten() {
                visit(Reads, source.file, &mut source.slot);
            }
        }
    }
}

fn each<const N: usize>(operands: [(Role, File, &mut Slot); N], visit: Visit<'_>) {
    for (role, file, slot) in operands {
        visit(role, file, slot);
    }
}

fn address(address: &mut Address, visit: Visit<'_>) {
    match &mut address.base {
        Base::None => {}
        Base::Word(slot) => visit(Role::Reads, File::Word, slot),
        Base::B64(slot) => visit(Role::Reads, File::B64, slot),
    }
}

fn transfer(transfer: &mut Transfer, role: Role, visit: Visit<'_>) {
    let file = if transfer.b64 { File::B64 } else { File::Word };
    for slot in &mut transfer.slots[..usize::from(transfer.count)] {
        visit(role, file, slot);
    }
    address(&mut transfer.address, visit);
}

fn atomic(op: &mut Atomic, visit: Visit<'_>) {
    let file = if op.b64 { File::B64 } else { File::Word };
    let count = usize::from(op.count);
    for slot in &mut op.results[..count] {
        visit(Role::Writes, file, slot);
    }
    for slot in &mut op.operands[..count] {
        visit(Role::Reads, file, slot);
    }
    if op.op == AtomicOp::CompareExchange {
        visit(Role::Reads, file, &mut op.swap);
    }
    address(&mut op.address, visit);
}

fn memory(op: &mut Memory, visit: Visit<'_>) {
    match op {
        Memory::Load(t) | Memory::Rare(RareMemory::LoadLocal(t) | RareMemory::GenericLoad(t)) => {
            transfer(t, Role::Writes, visit);
        }
        Memory::Store(t)
        | Memory::Rare(RareMemory::StoreLocal(t) | RareMemory::GenericStore(t)) => {
            transfer(t, Role::Reads, visit);
        }
        Memory::Atomic(op) | Memory::Rare(RareMemory::GenericAtomic(op)) => atomic(op, visit),
        Memory::Rare(RareMemory::Copy(copy)) => {
            address(&mut copy.to, &mut *visit);
            address(&mut copy.from, &mut *visit);
            visit(Role::Reads, File::Word, &mut copy.read);
        }
        Memory::Rare(
            RareMemory::ForgetLocal { .. }
            | RareMemory::CommitCopies
            | RareMemory::WaitForCopies(_)
            | RareMemory::WaitForAllCopies,
        ) => {}
    }
}

fn synchronization(op: &mut Synchronization, visit: Visit<'_>) {
    match op {
        Synchronization::Warp(sync) => warp(sync, visit),
        Synchronization::ActiveMask(d) => visit(Role::Writes, File::Word, d),
        Synchronization::Barrier(barrier) => of_block(barrier, visit),
        Synchronization::Fence(_) => {}
    }
}

fn warp(sync: &mut Sync, visit: Visit<'_>) {
    let b64 =
        matches!(sync.kind, SyncKind::MatchAny { b64: true } | SyncKind::MatchAll { b64: true });
    let operands = &mut sync.operands;
    visit(Role::Writes, File::Word, &mut operands.d);
    visit(Role::Writes, File::Predicate, &mut operands.p);
    let [first, others @ ..] = &mut operands.sources;
    visit(Role::Reads, if b64 { File::B64 } else { File::Word }, first);
    for source in others {
        visit(Role::Reads, File::Word, source);
    }
    visit(Role::Reads, File::Predicate, &mut operands.predicate.slot);
    visit(Role::Reads, File::Word, &mut sync.members);
}

fn of_block(barrier: &mut Barrier, visit: Visit<'_>) {
    visit(Role::Reads, File::Word, &mut barrier.number);
    visit(Role::Reads, File::Word, &mut barrier.count);
    if let Some(reduction) = &mut barrier.reduction {
        let file = match reduction.op {
            BarrierReductionOp::Popc => File::Word,
            BarrierReductionOp::And | BarrierReductionOp::Or => File::Predicate,
        };
        visit(Role::Writes, file, &mut reduction.d);
        let Predicate { slot, .. } = &mut reduction.a;
        visit(Role::Reads, File::Predicate, slot);
    }
}
