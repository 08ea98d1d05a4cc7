//! What an operation makes of what is known of its operands.

use super::super::ir::{
    Arithmetic, B64Count, B64Unary, BarrierReductionOp, Boolean, Compared, Comparison, Control,
    File, IntegerBinary, Op, Place, Predicate, Rare, RareOp, Setp, Slot, SpecialRegister, SyncKind,
    Synchronization, Transfer, WordTernary, WordType, WordUnary,
};
use super::super::lanes::WARP;
use super::integers::Integers;

/// What is taken for granted about a kernel, by places of its code.
#[derive(Clone, Debug, Default)]
pub(super) struct Given {
    /// Bytes of the parameters from an offset on, and what stands there.
    pub(super) parameters: Vec<(u64, Integers)>,
    /// `blockIdx` along an axis.
    pub(super) blocks: Vec<(u8, Integers)>,
    /// Threads of a block along each axis, at most.
    pub(super) threads: [u32; 3],
}

/// What is known of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Integer(Integers),
    /// `None` where it may be either.
    Predicate(Option<bool>),
}

/// What is known of the operands.
pub(super) trait Operands {
    fn integer(&self, file: File, slot: Slot) -> Integers;
    fn predicate(&self, predicate: Predicate) -> Option<bool>;

    fn word(&self, slot: Slot) -> Integers {
        self.integer(File::Word, slot)
    }

    fn b64(&self, slot: Slot) -> Integers {
        self.integer(File::B64, slot)
    }
}

/// What is known of anything in a file.
pub(super) fn anything(file: File) -> Known {
    match file {
        File::Predicate => Known::Predicate(None),
        File::Word => Known::Integer(Integers::any(32)),
        File::B64 => Known::Integer(Integers::any(64)),
    }
}

/// What is known of the one integer that an arithmetic operation gives; `None` where it gives none, or
/// nothing is known.
pub(super) fn integer(op: &Arithmetic, of: &dyn Operands) -> Option<Integers> {
    Some(match *op {
        Arithmetic::WordUnary(op, _, a) => word_unary(op, of.word(a))?,
        Arithmetic::WordBinary(op, _, a, b) => binary(op, of.word(a), of.word(b))?,
        Arithmetic::WordTernary(WordTernary::MadLo, _, a, b, c) => {
            of.word(a).mul(of.word(b)).add(of.word(c))
        }
        Arithmetic::BitFieldInsert([_, a, b, position, length]) => {
            inserted([a, b, position, length].map(|slot| of.word(slot)))?
        }
        Arithmetic::B64Unary(op, _, a) => match op {
            B64Unary::Move => of.b64(a),
            B64Unary::Not => of.b64(a).not(),
            B64Unary::Negate => of.b64(a).negate(),
            B64Unary::Abs => of.b64(a).signed().0.ge(&0).then(|| of.b64(a))?,
        },
        Arithmetic::B64Binary(op, _, a, b) => {
            let b = if op.shifts() { of.word(b).widened(64) } else { of.b64(b) };
            binary(op, of.b64(a), b)?
        }
        Arithmetic::B64Mad(_, a, b, c) => of.b64(a).mul(of.b64(b)).add(of.b64(c)),
        Arithmetic::B64Count(B64Count::Popc, _, a) => of.b64(a).count_ones(),
        Arithmetic::B64Count(B64Count::Clz, _, a) => of.b64(a).leading_zeros(),
        Arithmetic::MulWide { signed, a, b, .. } => wide(signed, of.word(a), of.word(b)),
        Arithmetic::MadWide { signed, a, b, c, .. } => {
            wide(signed, of.word(a), of.word(b)).add(of.b64(c))
        }
        Arithmetic::Widen { from, a, .. } => {
            let (signed, bits) = of_type(from);
            let low = of.word(a).low(bits);
            if signed { low.extended(64) } else { low.widened(64) }
        }
        Arithmetic::Narrow { a, .. } => of.b64(a).low(32),
        Arithmetic::Pack { low, high, .. } => {
            let high = of.word(high).widened(64).shl(Integers::one(32, 64));
            high.or(of.word(low).widened(64))
        }
        Arithmetic::SelectWord { a, b, p, .. } => selected(of, p, [of.word(a), of.word(b)]),
        Arithmetic::SelectB64 { a, b, p, .. } => selected(of, p, [of.b64(a), of.b64(b)]),
        Arithmetic::Rare(rare) => return self::rare(&rare, of),
        Arithmetic::WordTernary(
            WordTernary::FunnelLeftWrap
            | WordTernary::FunnelLeftClamp
            | WordTernary::FunnelRightWrap
            | WordTernary::FunnelRightClamp,
            ..,
        )
        | Arithmetic::Unpack { .. }
        | Arithmetic::Carry(_)
        | Arithmetic::FloatUnary(..)
        | Arithmetic::FloatBinary(..)
        | Arithmetic::Fma(..)
        | Arithmetic::FloatToInteger(_)
        | Arithmetic::WordToFloat { .. }
        | Arithmetic::B64ToFloat { .. }
        | Arithmetic::Setp(_)
        | Arithmetic::PredicateMove { .. }
        | Arithmetic::Predicate2(..)
        | Arithmetic::Split16 { .. } => return None,
    })
}

/// Those of a type of words: whether they have a sign, and their bits.
fn of_type(of: WordType) -> (bool, u32) {
    match of {
        WordType::S8 => (true, 8),
        WordType::U8 => (false, 8),
        WordType::S16 => (true, 16),
        WordType::U16 => (false, 16),
        WordType::S32 => (true, 32),
        WordType::U32 => (false, 32),
    }
}

fn word_unary(op: WordUnary, a: Integers) -> Option<Integers> {
    Some(match op {
        WordUnary::Move => a,
        WordUnary::Not => a.not(),
        WordUnary::Negate => a.negate(),
        WordUnary::Abs => (a.signed().0 >= 0).then_some(a)?,
        WordUnary::Abs16 => Integers::between(0, 0x8000, 32),
        WordUnary::Popc => a.count_ones(),
        WordUnary::Clz => a.leading_zeros(),
        WordUnary::Brev => a.reversed(),
        WordUnary::Signed8 => a.low(8).extended(32),
        WordUnary::Signed16 => a.low(16).extended(32),
        WordUnary::Unsigned8 => a.low(8).widened(32),
        WordUnary::Unsigned16 => a.low(16).widened(32),
        // All ones for 0.
        WordUnary::BfindU if a.least > 0 => Integers::one(31, 32).sub(a.leading_zeros()),
        WordUnary::BfindShiftU if a.least > 0 => a.leading_zeros(),
        WordUnary::BfindS | WordUnary::BfindU | WordUnary::BfindShiftS | WordUnary::BfindShiftU => {
            return None;
        }
    })
}

fn binary(op: IntegerBinary, a: Integers, b: Integers) -> Option<Integers> {
    let positive = a.signed().0 >= 0 && b.signed().0 >= 0;
    Some(match op {
        IntegerBinary::Add => a.add(b),
        IntegerBinary::Sub => a.sub(b),
        IntegerBinary::MulLo => a.mul(b),
        IntegerBinary::MulHiU => mul_high(a, b),
        IntegerBinary::MulHiS if positive => mul_high(a, b),
        IntegerBinary::DivU => a.div(b),
        IntegerBinary::DivS if positive => a.div(b),
        IntegerBinary::RemU => a.rem(b),
        IntegerBinary::RemS if positive => a.rem(b),
        IntegerBinary::MinS => a.extreme_signed(b, i64::min),
        IntegerBinary::MaxS => a.extreme_signed(b, i64::max),
        IntegerBinary::MinU => a.min(b),
        IntegerBinary::MaxU => a.max(b),
        IntegerBinary::And => a.and(b),
        IntegerBinary::Or => a.or(b),
        IntegerBinary::Xor => a.xor(b),
        IntegerBinary::Shl => a.shl(b),
        IntegerBinary::ShrS => a.shr_signed(b),
        IntegerBinary::ShrU => a.shr(b),
        IntegerBinary::MulHiS | IntegerBinary::DivS | IntegerBinary::RemS => return None,
    })
}

#[expect(clippy::cast_possible_truncation, reason = "the high half of a product has its width")]
fn mul_high(a: Integers, b: Integers) -> Integers {
    let high = |x: u64, y: u64| ((u128::from(x) * u128::from(y)) >> a.width) as u64;
    Integers::between(high(a.least, b.least), high(a.largest, b.largest), a.width)
}

fn wide(signed: bool, a: Integers, b: Integers) -> Integers {
    if signed { a.extended(64).mul(b.extended(64)) } else { a.widened(64).mul(b.widened(64)) }
}

/// Of bfi with a known place and length.
fn inserted([a, b, position, length]: [Integers; 4]) -> Option<Integers> {
    let (position, length) = (position.value()? & 0xff, length.value()? & 0xff);
    if position > 31 || length == 0 {
        return Some(b);
    }
    let field = u64::MAX >> (64 - length.min(64)) << position & 0xffff_ffff;
    let place = |bits: u64, of: u64| bits << position & field | of & !field;
    Some(Integers::with_bits(place(a.zeros, b.zeros), place(a.ones, b.ones), 32))
}

fn rare(rare: &Rare, of: &dyn Operands) -> Option<Integers> {
    let source = |n: usize| rare.sources[n].map(|place: Place| of.integer(place.file, place.slot));
    match rare.op {
        RareOp::Extract(extract) if !extract.signed => {
            let (a, position, length) = (source(0)?, source(1)?.value()?, source(2)?.value()?);
            let (position, length) = (position & 0xff, length & 0xff);
            if length == 0 {
                return Some(Integers::one(0, a.width));
            }
            let shifted = a.shr(Integers::one(position, a.width));
            let field = u64::MAX >> (64 - length.min(64));
            Some(shifted.and(Integers::one(field, a.width)))
        }
        _ => None,
    }
}

fn selected(of: &dyn Operands, p: Slot, [a, b]: [Integers; 2]) -> Integers {
    match of.predicate(Predicate { slot: p, negated: false }) {
        Some(true) => a,
        Some(false) => b,
        None => a.or_of(b),
    }
}

/// What is known of the predicate that an operation gives.
pub(super) fn predicate(op: &Arithmetic, of: &dyn Operands) -> Option<bool> {
    match op {
        Arithmetic::Setp(setp) => {
            let compared = compare(setp, of);
            match setp.combine {
                None => compared,
                Some((boolean, other)) => combined(boolean, compared, of.predicate(other)),
            }
        }
        Arithmetic::PredicateMove { a, .. } => of.predicate(*a),
        Arithmetic::Predicate2(boolean, _, a, b) => {
            combined(*boolean, of.predicate(*a), of.predicate(*b))
        }
        _ => None,
    }
}

pub(super) fn combined(boolean: Boolean, a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (boolean, a, b) {
        (Boolean::And, Some(false), _) | (Boolean::And, _, Some(false)) => Some(false),
        (Boolean::Or, Some(true), _) | (Boolean::Or, _, Some(true)) => Some(true),
        (Boolean::And, Some(a), Some(b)) => Some(a & b),
        (Boolean::Or, Some(a), Some(b)) => Some(a | b),
        (Boolean::Xor, Some(a), Some(b)) => Some(a ^ b),
        (_, None, _) | (_, _, None) => None,
    }
}

/// The integers that are compared, and whether they have a sign; `None` for numbers that are none.
pub(super) fn sides(setp: &Setp, of: &dyn Operands) -> Option<(bool, Integers, Integers)> {
    let file = match setp.compared {
        Compared::Unsigned | Compared::Signed => File::Word,
        Compared::Unsigned64 | Compared::Signed64 => File::B64,
        Compared::Unsigned16
        | Compared::Signed16
        | Compared::Float { .. }
        | Compared::Double
        | Compared::Narrow { .. } => return None,
    };
    let signed = matches!(setp.compared, Compared::Signed | Compared::Signed64);
    Some((signed, of.integer(file, setp.a), of.integer(file, setp.b)))
}

fn compare(setp: &Setp, of: &dyn Operands) -> Option<bool> {
    let (signed, a, b) = sides(setp, of)?;
    let ((a_least, a_largest), (b_least, b_largest)) = if signed {
        let wide = |(x, y): (i64, i64)| (i128::from(x), i128::from(y));
        (wide(a.signed()), wide(b.signed()))
    } else {
        let wide = |x: Integers| (i128::from(x.least), i128::from(x.largest));
        (wide(a), wide(b))
    };
    let less = if a_largest < b_least {
        Some(true)
    } else if a_least >= b_largest {
        Some(false)
    } else {
        None
    };
    let more = if a_least > b_largest {
        Some(true)
    } else if a_largest <= b_least {
        Some(false)
    } else {
        None
    };
    let equal = if a.is_apart_from(b) {
        Some(false)
    } else {
        a.value().zip(b.value()).map(|(a, b)| a == b)
    };
    let not = |known: Option<bool>| known.map(|known| !known);
    match setp.comparison {
        Comparison::Eq => equal,
        Comparison::Ne => not(equal),
        Comparison::Lt => less,
        Comparison::Ge => not(less),
        Comparison::Gt => more,
        Comparison::Le => not(more),
        Comparison::Equ
        | Comparison::Neu
        | Comparison::Ltu
        | Comparison::Leu
        | Comparison::Gtu
        | Comparison::Geu
        | Comparison::Num
        | Comparison::Nan => None,
    }
}

/// What is known of what an operation that is not arithmetic writes into a register, but for what memory
/// and other lanes hold.
pub(super) fn elsewhere(op: &Op, given: &Given) -> Option<Integers> {
    let up_to = |most: u64| Some(Integers::between(0, most, 32));
    match op {
        Op::Control(Control::Special(register, _)) => special(*register, given),
        Op::Synchronization(Synchronization::Barrier(barrier)) => match barrier.reduction?.op {
            BarrierReductionOp::Popc => {
                up_to(given.threads.iter().copied().map(u64::from).product())
            }
            BarrierReductionOp::And | BarrierReductionOp::Or => None,
        },
        Op::Synchronization(Synchronization::Warp(sync)) => match sync.kind {
            SyncKind::Barrier
            | SyncKind::Shuffle(_)
            | SyncKind::Vote(_)
            | SyncKind::Ballot
            | SyncKind::MatchAny { .. }
            | SyncKind::MatchAll { .. }
            | SyncKind::Redux(_)
            | SyncKind::Elect => None,
        },
        Op::Arithmetic(_)
        | Op::Memory(_)
        | Op::Synchronization(Synchronization::ActiveMask(_) | Synchronization::Fence(_))
        | Op::Control(Control::Branch { .. } | Control::Exit | Control::Rare(_)) => None,
    }
}

/// What a narrow load can give.
pub(super) fn loaded(transfer: &Transfer) -> Integers {
    let (bits, width) = (8 * u32::from(transfer.width), if transfer.b64 { 64 } else { 32 });
    if transfer.signed || bits >= width {
        Integers::any(width)
    } else {
        Integers::any(bits).widened(width)
    }
}

/// Threads of a block, and blocks of a grid, as CUDA allows them (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability").
fn special(register: SpecialRegister, given: &Given) -> Option<Integers> {
    if let SpecialRegister::Ctaid(axis) = register
        && let Some((_, fact)) = given.blocks.iter().find(|(other, _)| *other == axis)
    {
        return Some(*fact);
    }
    let blocks = |axis: u8| if axis == 0 { 0x7fff_ffff } else { 0xffff };
    let of_axis = |axis: u8| u64::from(given.threads[usize::from(axis)]);
    let warp = u64::from(WARP);
    let (least, largest) = match register {
        SpecialRegister::Tid(axis) => (0, of_axis(axis) - 1),
        SpecialRegister::Ntid(axis) => (1, of_axis(axis)),
        SpecialRegister::Ctaid(axis) => (0, blocks(axis) - 1),
        SpecialRegister::Nctaid(axis) => (1, blocks(axis)),
        SpecialRegister::LaneId => (0, warp - 1),
        SpecialRegister::WarpId => (0, 1024 / warp - 1),
        SpecialRegister::WarpCount => (1, 1024 / warp),
        SpecialRegister::LaneMaskEq | SpecialRegister::LaneMaskLe => (1, u64::from(u32::MAX)),
        SpecialRegister::LaneMaskLt => (0, u64::from(u32::MAX >> 1)),
        SpecialRegister::LaneMaskGt
        | SpecialRegister::LaneMaskGe
        | SpecialRegister::CounterLow
        | SpecialRegister::CounterHigh => return None,
    };
    Some(Integers::between(least, largest, 32))
}
