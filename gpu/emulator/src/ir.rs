//! Instructions as they are executed: opcodes resolved to enumerations, operands to slots.
//!
//! A slot names one value per lane. Slots of predicates, words (32 bits) and 64-bit integers (B64)
//! are counted apart; after a kernel's registers come its constants, so that an operand is always a
//! slot.

mod arithmetic;
mod operands;
mod order;
mod rare;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::parse::ParseError;
pub use super::parse::{ParameterKind, Space};
pub(super) use arithmetic::{
    Approximation, Arithmetic, B64Count, B64Unary, Boolean, Carry, CarryOp, Compared, Comparison,
    FloatBinary, FloatFlags, FloatToInteger, FloatUnary, IntegerBinary, NarrowFormat, Rounding,
    Setp, WordTernary, WordType, WordUnary,
};
pub(super) use operands::Role;
pub(super) use order::{Barrier, BarrierReduction, BarrierReductionOp, Itself, Orders, Scope};
pub(super) use rare::{
    Convert, Double, Extract, File, Half, Narrow, NarrowClamp, NarrowOp, Number, Permutation,
    Place, Rare, RareOp, Saturation, Test, Wave,
};

/// Index of a register or constant among those of its width.
pub(super) type Slot = u16;

/// The destination of a result nobody reads (`_`).
pub(super) const SINK: Slot = Slot::MAX;

/// A module ready to run.
#[derive(Debug)]
pub struct Module {
    /// `.target`, such as `sm_75`.
    pub(super) target: String,
    /// Initial contents of the module's variables in global and constant memory.
    pub(super) variables: Vec<u8>,
    /// Those of them that begin as zeros.
    pub(super) empty: Vec<Empty>,
    pub(super) kernels: BTreeMap<String, Kernel>,
    /// Kernels that cannot run, and why.
    pub(super) refused: BTreeMap<String, ParseError>,
    /// Lanes of a warp of the machine it runs on.
    pub(super) lane_width: u32,
    /// Which it is of the modules that a memory has.
    pub(super) number: u32,
}

/// A variable without an initializer, in the bytes of a module's variables.
#[derive(Debug)]
pub(super) struct Empty {
    pub(super) name: String,
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// A kernel ready to run.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) params: Vec<Parameter>,
    pub(super) max_threads: Option<[u32; 3]>,
    /// Bytes of static shared memory, before the dynamic part.
    pub(super) shared: u32,
    /// Bytes of local memory of a thread.
    pub(super) local: u32,
    pub(super) code: Vec<Instruction>,
    /// Whether every lane must reach what waits for lanes (`.pragma "uniform"`): its barriers and what the
    /// lanes of a warp execute together.
    pub(super) uniform: bool,
    /// Whom it may order.
    pub(super) orders: Orders,
    /// Registers without the constants.
    pub(super) predicates: Slot,
    pub(super) words: Slot,
    pub(super) b64: Slot,
    pub(super) word_constants: Vec<u32>,
    pub(super) b64_constants: Vec<u64>,
    /// File and line of the CUDA source from each PTX line on, where the PTX says; empty where it ends.
    pub(super) origins: BTreeMap<u32, String>,
    /// What the observer of floats has found out about it.
    pub(super) findings: Findings,
}

/// What an observer finds out about a kernel, once for all launches of it.
#[derive(Debug, Default)]
pub(super) struct Findings(OnceLock<Arc<dyn Any + Send + std::marker::Sync>>);

impl Findings {
    /// What was found, or is found now.
    pub(super) fn once<T: Any + Send + std::marker::Sync>(&self, find: impl Fn() -> T) -> Arc<T> {
        let found = self.0.get_or_init(|| Arc::new(find()));
        Arc::clone(found).downcast().unwrap_or_else(|_| Arc::new(find()))
    }
}

impl Kernel {
    /// The value of a slot that is a constant; `None` for a register. The predicate after the registers is
    /// the constant false.
    pub(super) fn constant(&self, Place { file, slot }: Place) -> Option<u64> {
        let behind = |registers: Slot| slot.checked_sub(registers).map(usize::from);
        match file {
            File::Predicate => behind(self.predicates).map(|_| 0),
            File::Word => self.word_constants.get(behind(self.words)?).copied().map(u64::from),
            File::B64 => self.b64_constants.get(behind(self.b64)?).copied(),
        }
    }
}

/// A kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) offset: u32,
    pub(super) size: u32,
    pub(super) kind: ParameterKind,
}

/// One decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Instruction {
    pub(super) op: Op,
    /// `@p` or `@!p`: only lanes for which it holds execute.
    pub(super) guard: Option<Predicate>,
    pub(super) line: u32,
    pub(super) class: InstructionClass,
}

/// What an instruction is counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstructionClass {
    /// Integer, predicate, move and conversion instructions.
    Integer,
    /// f32 arithmetic.
    Float,
    /// Approximate f32 functions (ex2, lg2, rcp, sqrt, rsqrt, div).
    Special,
    /// Loads and stores.
    Memory,
    /// `atom` and `red`.
    Atomic,
    /// shfl, vote, match, redux, activemask.
    Warp,
    /// bar and membar.
    Barrier,
    /// bra, ret, exit.
    Control,
}

/// A predicate operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Predicate {
    pub(super) slot: Slot,
    pub(super) negated: bool,
}

/// An address: base register, if any, plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) base: Base,
    pub(super) offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    None,
    Word(Slot),
    B64(Slot),
}

/// A load or store of 1, 2 or 4 elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Transfer {
    pub(super) space: Space,
    /// Bytes of an element: 1, 2, 4, 8.
    pub(super) width: u8,
    /// `volatile` or `relaxed`; absent for weak accesses.
    pub(super) strong: Option<Scope>,
    pub(super) itself: Itself,
    /// Sign-extend a narrow load.
    pub(super) signed: bool,
    /// Whether registers have 64 bits.
    pub(super) b64: bool,
    pub(super) count: u8,
    /// Registers: destinations of a load, sources of a store.
    pub(super) slots: [Slot; 4],
    pub(super) address: Address,
}

/// What an atomic does to a word, half of one or a 64-bit integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtomicOp {
    AddFloat,
    /// Two floats of 16 bits in a word, each by itself.
    AddPair(NarrowFormat),
    /// A float of 16 bits.
    AddHalf(NarrowFormat),
    Add,
    /// `old >= operand ? 0 : old + 1`.
    Increment,
    /// `old == 0 || old > operand ? operand : old - 1`.
    Decrement,
    And,
    Or,
    Xor,
    MinS,
    MinU,
    MaxS,
    MaxU,
    Exchange,
    CompareExchange,
}

/// `atom` and `red` on words, up to four side by side, or on half of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Atomic {
    pub(super) op: AtomicOp,
    pub(super) space: Space,
    pub(super) scope: Scope,
    pub(super) itself: Itself,
    pub(super) count: u8,
    /// Whether it is one 64-bit number.
    pub(super) b64: bool,
    /// [`SINK`] where nobody reads the old value.
    pub(super) results: [Slot; 4],
    pub(super) operands: [Slot; 4],
    /// The new value of a compare-exchange, whose operand is the expected one.
    pub(super) swap: Slot,
    pub(super) address: Address,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VoteMode {
    All,
    Any,
    Uniform,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReduxOp {
    Add,
    MinS,
    MinU,
    MaxS,
    MaxU,
    And,
    Or,
    Xor,
}

/// An instruction of the lanes named in a mask together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sync {
    pub(super) kind: SyncKind,
    pub(super) operands: SyncOperands,
    /// Word holding the member mask.
    pub(super) members: Slot,
}

/// Which instruction it is, with all its qualifiers: lanes meet at equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncKind {
    /// `bar.warp.sync`.
    Barrier,
    Shuffle(ShuffleMode),
    Vote(VoteMode),
    Ballot,
    MatchAny {
        b64: bool,
    },
    MatchAll {
        b64: bool,
    },
    Redux(ReduxOp),
    /// `elect.sync`.
    Elect,
}

/// What a [`Sync`] reads and writes. What its kind does not have is as in [`SyncOperands::NONE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SyncOperands {
    /// The word written.
    pub(super) d: Slot,
    /// The predicate written.
    pub(super) p: Slot,
    /// The words read, or the 64-bit integer in the first place: a, b and c of a shuffle.
    pub(super) sources: [Slot; 3],
    /// The predicate read, of votes.
    pub(super) predicate: Predicate,
}

impl SyncOperands {
    pub(super) const NONE: Self = Self {
        d: SINK,
        p: SINK,
        sources: [SINK; 3],
        predicate: Predicate { slot: SINK, negated: false },
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpecialRegister {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    LaneMaskEq,
    LaneMaskLt,
    LaneMaskLe,
    LaneMaskGt,
    LaneMaskGe,
    /// Warp of the block, and how many there are.
    WarpId,
    WarpCount,
    /// The halves of [`RareControl::Counter`].
    CounterLow,
    CounterHigh,
}

/// Every operation, by who executes it: each of the four is matched without a remainder, so that an
/// operation that nobody executes does not compile. Destinations come first, then sources, as in
/// PTX.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Op {
    /// From registers to registers, each lane by itself.
    Arithmetic(Arithmetic),
    /// Loads, stores and atomics.
    Memory(Memory),
    /// What waits for or asks about other lanes, or orders memory.
    Synchronization(Synchronization),
    /// Where a thread is and where it goes on.
    Control(Control),
}

impl Op {
    pub(super) fn atomic(&self) -> Option<&Atomic> {
        match self {
            Self::Memory(
                Memory::Atomic(atomic) | Memory::Rare(RareMemory::GenericAtomic(atomic)),
            ) => Some(atomic),
            _ => None,
        }
    }

    pub(super) fn atomic_mut(&mut self) -> Option<&mut Atomic> {
        match self {
            Self::Memory(
                Memory::Atomic(atomic) | Memory::Rare(RareMemory::GenericAtomic(atomic)),
            ) => Some(atomic),
            _ => None,
        }
    }

    pub(super) fn barrier(&self) -> Option<&Barrier> {
        if let Self::Synchronization(Synchronization::Barrier(barrier)) = self {
            Some(barrier)
        } else {
            None
        }
    }

    pub(super) fn sync(&self) -> Option<&Sync> {
        if let Self::Synchronization(Synchronization::Warp(sync)) = self {
            Some(sync)
        } else {
            None
        }
    }
}

/// Operations on memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Memory {
    Load(Transfer),
    Store(Transfer),
    Atomic(Atomic),
    /// What few kernels do.
    Rare(RareMemory),
}

/// Operations on memory that few kernels have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RareMemory {
    LoadLocal(Transfer),
    StoreLocal(Transfer),
    /// A function begins: its local memory, between these offsets, holds nothing.
    ForgetLocal {
        begin: u32,
        end: u32,
    },
    /// At addresses that say themselves in which memory they are (PTX ISA, "Generic Addressing").
    GenericLoad(Transfer),
    GenericStore(Transfer),
    GenericAtomic(Atomic),
    /// `cp.async`, from global to shared memory.
    Copy(AsyncCopy),
    CommitCopies,
    /// Until at most so many groups of copies are under way.
    WaitForCopies(u32),
    WaitForAllCopies,
}

/// `cp.async`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AsyncCopy {
    pub(super) to: Address,
    pub(super) from: Address,
    /// Bytes written: 4, 8, 16.
    pub(super) bytes: u8,
    /// Word holding how many of them are read, the rest being zeros; [`SINK`] for all.
    pub(super) read: Slot,
}

/// Operations of several threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Synchronization {
    /// Of the lanes named in a mask.
    Warp(Sync),
    ActiveMask(Slot),
    /// Of a block.
    Barrier(Barrier),
    /// membar and fence.
    Fence(Scope),
}

/// Operations on the place of a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Control {
    Branch {
        target: u32,
        uniform: bool,
    },
    Exit,
    /// What few kernels do.
    Rare(RareControl),
    /// Which thread, lane and block this is.
    Special(SpecialRegister, Slot),
}

/// Operations that are executed as any other, and change no place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RareControl {
    /// Hints: nanosleep, prefetch.
    Nothing,
    /// `trap`, or an assertion of CUDA that does not hold.
    Trap { assertion: bool },
    /// `trap.index`: where a word is not below a count.
    Index { index: Slot, count: u32 },
    /// Instructions that the launch has executed, into 64 bits.
    Counter(Slot),
}
