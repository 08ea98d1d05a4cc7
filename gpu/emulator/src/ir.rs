//! Instructions as they are executed: opcodes resolved to enumerations, operands to slots.
//!
//! A slot names one value per lane. Slots of predicates, words (32 bits) and doubles (64 bits) are
//! counted apart; after a kernel's registers come its constants, so that an operand is always a
//! slot.

mod arithmetic;

use std::collections::BTreeMap;

pub use super::parse::Space;
pub(super) use arithmetic::{
    Approximation, Boolean, Compared, Comparison, Double1, DoubleCount, Float1, Float2, FloatFlags,
    Int2, Rounding, Word1, Word3,
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
    pub(super) kernels: BTreeMap<String, Kernel>,
    /// Lanes of a warp of the machine it runs on.
    pub(super) lane_width: u32,
}

/// A kernel ready to run.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) params: Vec<Parameter>,
    pub(super) max_threads: Option<[u32; 3]>,
    /// Bytes of static shared memory, before the dynamic part.
    pub(super) shared: u32,
    pub(super) code: Vec<Instruction>,
    /// Whether there are fences in it.
    pub(super) fences: bool,
    /// Registers without the constants.
    pub(super) predicates: Slot,
    pub(super) words: Slot,
    pub(super) doubles: Slot,
    pub(super) word_constants: Vec<u32>,
    pub(super) double_constants: Vec<u64>,
}

/// A kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) offset: u32,
    pub(super) size: u32,
}

/// One decoded instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    pub(super) op: Op,
    pub(super) guard: Option<Guard>,
    pub(super) line: u32,
    pub(super) class: InstructionClass,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    pub(super) predicate: Slot,
    pub(super) negated: bool,
}

/// For which threads a fence or atomic orders (PTX ISA, "Scope").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// `cta`.
    Block,
    /// `gl`, `gpu` and `sys`: every thread of the launch.
    Device,
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

/// `setp`: `d = (a cmp b) bool c` and, if asked for, `q = !(a cmp b) bool c`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setp {
    pub(super) comparison: Comparison,
    pub(super) compared: Compared,
    pub(super) d: Slot,
    pub(super) q: Slot,
    pub(super) a: Slot,
    pub(super) b: Slot,
    pub(super) combine: Option<(Boolean, Predicate)>,
}

/// An integer type of a conversion from or to f32, or between widths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IntType {
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
    S64,
    U64,
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
    Double(Slot),
}

/// A load or store of 1, 2 or 4 elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) space: Space,
    /// Bytes of an element: 1, 2, 4, 8.
    pub(super) width: u8,
    /// `volatile` or `relaxed`; absent for weak accesses.
    pub(super) strong: Option<Scope>,
    /// Sign-extend a narrow load.
    pub(super) signed: bool,
    /// Whether registers are doubles.
    pub(super) double: bool,
    pub(super) count: u8,
    /// Registers: destinations of a load, sources of a store.
    pub(super) slots: [Slot; 4],
    pub(super) address: Address,
}

/// What an atomic does to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtomicOp {
    AddFloat,
    Add,
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

/// `atom` and `red` on words, up to four side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Atomic {
    pub(super) op: AtomicOp,
    pub(super) space: Space,
    pub(super) scope: Scope,
    pub(super) count: u8,
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
    /// Word holding the member mask.
    pub(super) members: Slot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncKind {
    /// `bar.warp.sync`.
    Barrier,
    Shuffle {
        mode: ShuffleMode,
        d: Slot,
        p: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    Vote {
        mode: VoteMode,
        d: Slot,
        a: Predicate,
    },
    Ballot {
        d: Slot,
        a: Predicate,
    },
    MatchAny {
        d: Slot,
        a: Slot,
        double: bool,
    },
    MatchAll {
        d: Slot,
        p: Slot,
        a: Slot,
        double: bool,
    },
    Redux {
        op: ReduxOp,
        d: Slot,
        a: Slot,
    },
}

/// `bar.sync`, `barrier.sync` and `bar.red`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Barrier {
    /// Word holding the barrier's number.
    pub(super) number: Slot,
    /// `bar.*`: all lanes of a warp must execute the same one.
    pub(super) aligned: bool,
    pub(super) reduction: Option<BarrierReduction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BarrierReduction {
    pub(super) op: BarrierReductionOp,
    /// A word for popc, a predicate otherwise.
    pub(super) d: Slot,
    pub(super) a: Predicate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BarrierReductionOp {
    Popc,
    And,
    Or,
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
}

/// Every operation. Destinations come first, then sources, as in PTX.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    Word1(Word1, Slot, Slot),
    Word2(Int2, Slot, Slot, Slot),
    Word3(Word3, Slot, Slot, Slot, Slot),
    /// bfi d, a, b, position, length.
    BitFieldInsert([Slot; 5]),
    Double1(Double1, Slot, Slot),
    Double2(Int2, Slot, Slot, Slot),
    /// mad.lo on doubles.
    DoubleMad(Slot, Slot, Slot, Slot),
    DoubleCount(DoubleCount, Slot, Slot),
    /// mul.wide; signed or not.
    MulWide {
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    /// mad.wide.
    MadWide {
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    /// Widening of a word.
    Widen {
        from: IntType,
        d: Slot,
        a: Slot,
    },
    /// Low word of a double.
    Narrow {
        d: Slot,
        a: Slot,
    },
    /// `mov.b64 d, {low, high}`.
    Pack {
        d: Slot,
        low: Slot,
        high: Slot,
    },
    /// `mov.b64 {low, high}, a`.
    Unpack {
        low: Slot,
        high: Slot,
        a: Slot,
    },
    Float1(Float1, FloatFlags, Slot, Slot),
    Float2(Float2, FloatFlags, Slot, Slot, Slot),
    Fma(Rounding, FloatFlags, Slot, Slot, Slot, Slot),
    FloatToInt {
        to: IntType,
        rounding: Rounding,
        flush: bool,
        d: Slot,
        a: Slot,
    },
    /// Rounded to nearest.
    IntToFloat {
        from: IntType,
        d: Slot,
        a: Slot,
    },
    Setp(Setp),
    SelectWord {
        d: Slot,
        a: Slot,
        b: Slot,
        p: Slot,
    },
    SelectDouble {
        d: Slot,
        a: Slot,
        b: Slot,
        p: Slot,
    },
    PredicateMove {
        d: Slot,
        a: Predicate,
    },
    Predicate2(Boolean, Slot, Predicate, Predicate),
    Special(SpecialRegister, Slot),
    Load(Transfer),
    Store(Transfer),
    Atomic(Atomic),
    Sync(Sync),
    ActiveMask(Slot),
    Barrier(Barrier),
    /// membar and fence.
    Fence(Scope),
    Branch {
        target: u32,
        uniform: bool,
    },
    Exit,
}
