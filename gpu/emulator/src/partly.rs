//! Words of which some bits were never written.
//!
//! Whether a lane's word is poison is one bit, which every operation hands on. A kernel that packs a number beside
//! one that it never writes, and takes the number out again, uses nothing that is undefined: compilers write this
//! for arrays of a thread, pairs of halves and structures with padding. So where an operation has brought poison it
//! is looked at once more, bit by bit. That costs nothing where nothing is poison.
//!
//! An operation that moves bits, chooses among them or combines those of one place is executed with the undefined
//! bits of its operands set to 0 and to 1 in turn: what differs is undefined. Each bit of such a result depends on
//! one bit of each operand, so these executions have all of its values.

use super::alu;
use super::float::approximate::ApproximationMode;
use super::ir::{
    Arithmetic, B64Unary, File, FloatUnary, IntegerBinary, Narrow, Number, Op, Place, Rare, RareOp,
    WordTernary, WordType, WordUnary,
};
use super::lanes::{Active, LANES};
use super::registers::Registers;

/// How the bits of a result depend on those of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depends {
    /// Each on one bit of each of the first operands, which so many are; on all bits of the others.
    ByBit(usize),
    /// All of them on the lowest bits of each operand, which so many are.
    OnLowest(u32),
    /// Each half on the same half of each operand.
    ByHalf,
    /// All of them on all.
    OnAll,
}

fn depends(op: &Arithmetic) -> Depends {
    match op {
        Arithmetic::WordUnary(op, ..) => match op {
            WordUnary::Move
            | WordUnary::Not
            | WordUnary::Brev
            | WordUnary::Signed8
            | WordUnary::Signed16
            | WordUnary::Unsigned8
            | WordUnary::Unsigned16 => Depends::ByBit(1),
            WordUnary::Abs16 => Depends::OnLowest(16),
            WordUnary::Negate
            | WordUnary::Abs
            | WordUnary::Popc
            | WordUnary::Clz
            | WordUnary::BfindS
            | WordUnary::BfindU
            | WordUnary::BfindShiftS
            | WordUnary::BfindShiftU => Depends::OnAll,
        },
        Arithmetic::WordBinary(op, ..) | Arithmetic::B64Binary(op, ..) => of_two(*op),
        Arithmetic::WordTernary(op, ..) => match op {
            WordTernary::MadLo => Depends::OnAll,
            WordTernary::FunnelLeftWrap
            | WordTernary::FunnelLeftClamp
            | WordTernary::FunnelRightWrap
            | WordTernary::FunnelRightClamp => Depends::ByBit(2),
        },
        Arithmetic::B64Unary(B64Unary::Move | B64Unary::Not, ..)
        | Arithmetic::FloatUnary(FloatUnary::Move, ..)
        | Arithmetic::Widen { .. }
        | Arithmetic::Narrow { .. }
        | Arithmetic::Unpack { .. }
        | Arithmetic::Split16 { .. } => Depends::ByBit(1),
        Arithmetic::BitFieldInsert(_)
        | Arithmetic::Pack { .. }
        | Arithmetic::SelectWord { .. }
        | Arithmetic::SelectB64 { .. } => Depends::ByBit(2),
        Arithmetic::WordToFloat { from, .. } => Depends::OnLowest(match from {
            WordType::S8 | WordType::U8 => 8,
            WordType::S16 | WordType::U16 => 16,
            WordType::S32 | WordType::U32 => 32,
        }),
        Arithmetic::Rare(Rare { op: RareOp::Pack16, sources, .. }) => {
            Depends::ByBit(sources.iter().flatten().count())
        }
        Arithmetic::Rare(Rare { op, .. }) => of_rare(op),
        Arithmetic::B64Unary(B64Unary::Negate | B64Unary::Abs, ..)
        | Arithmetic::FloatUnary(..)
        | Arithmetic::FloatBinary(..)
        | Arithmetic::Fma(..)
        | Arithmetic::FloatToInteger(_)
        | Arithmetic::B64Mad(..)
        | Arithmetic::Carry(_)
        | Arithmetic::B64Count(..)
        | Arithmetic::MulWide { .. }
        | Arithmetic::MadWide { .. }
        | Arithmetic::B64ToFloat { .. }
        | Arithmetic::Setp(_)
        | Arithmetic::PredicateMove { .. }
        | Arithmetic::Predicate2(..) => Depends::OnAll,
    }
}

fn of_two(op: IntegerBinary) -> Depends {
    match op {
        IntegerBinary::And | IntegerBinary::Or | IntegerBinary::Xor => Depends::ByBit(2),
        IntegerBinary::Shl | IntegerBinary::ShrS | IntegerBinary::ShrU => Depends::ByBit(1),
        IntegerBinary::Add
        | IntegerBinary::Sub
        | IntegerBinary::MulLo
        | IntegerBinary::MulHiS
        | IntegerBinary::MulHiU
        | IntegerBinary::DivS
        | IntegerBinary::DivU
        | IntegerBinary::RemS
        | IntegerBinary::RemU
        | IntegerBinary::MinS
        | IntegerBinary::MinU
        | IntegerBinary::MaxS
        | IntegerBinary::MaxU => Depends::OnAll,
    }
}

fn of_rare(op: &RareOp) -> Depends {
    match op {
        RareOp::Logic3(_) => Depends::ByBit(3),
        RareOp::Permute(_) | RareOp::Pack16 | RareOp::Insert64 => Depends::ByBit(2),
        RareOp::Extract(_) | RareOp::Reverse64 | RareOp::Widen { .. } => Depends::ByBit(1),
        RareOp::Narrow(Narrow { packed: true, .. }) | RareOp::SetNarrow { packed: true, .. } => {
            Depends::ByHalf
        }
        RareOp::Narrow(_)
        | RareOp::Half(_)
        | RareOp::MulWideHalf { .. }
        | RareOp::SetNarrow { packed: false, .. } => Depends::OnLowest(16),
        RareOp::Convert(convert) => Depends::OnLowest(match convert.from {
            Number::Integer { bits, .. } => bits.into(),
            Number::F16 | Number::Bf16 => 16,
            Number::F32 => 32,
            Number::F64 => 64,
        }),
        RareOp::Double(..)
        | RareOp::ConvertPair { .. }
        | RareOp::Find64 { .. }
        | RareOp::MaskBits { .. }
        | RareOp::FindNth
        | RareOp::SelectBySign { .. }
        | RareOp::CopySign { .. }
        | RareOp::DotBytes { .. }
        | RareOp::DotHalves { .. }
        | RareOp::MadHigh { .. }
        | RareOp::Mul24 { .. }
        | RareOp::Sad { .. }
        | RareOp::Set { .. }
        | RareOp::IsIn(_)
        | RareOp::Test { .. }
        | RareOp::Wave { .. }
        | RareOp::PowerWgsl { .. } => Depends::OnAll,
    }
}

/// Bits of each lane.
type Masks = [u64; LANES];

/// All bits where `any` has one.
fn all_where(any: u64) -> u64 {
    if any == 0 { 0 } else { u64::MAX }
}

/// Looks once more at an operation that has just brought poison to a word.
#[cold]
#[inline(never)]
pub(super) fn refine(r: &mut Registers, on: &Active, op: &Arithmetic, mode: ApproximationMode) {
    let after = r.take_back();
    let depends = depends(op);
    let op = Op::Arithmetic(*op);
    let (reads, writes) = (op.reads(), op.writes());
    let undefined: Vec<Masks> = reads.iter().map(|place| r.undefined(*place)).collect();
    let of_lane = |masks: &[Masks], f: &dyn Fn(u64) -> u64| {
        let mut any = [0; LANES];
        for masks in masks {
            (0..LANES).for_each(|lane| any[lane] |= f(masks[lane]));
        }
        any
    };
    let results: Vec<Masks> = match depends {
        Depends::ByBit(count) => {
            let rest = of_lane(&undefined[count.min(undefined.len())..], &all_where);
            let bits = by_bit(r, on, (&op, mode), &reads[..count], &undefined);
            bits.into_iter().map(|bits| std::array::from_fn(|at| bits[at] | rest[at])).collect()
        }
        Depends::OnLowest(count) => {
            let lowest = u64::MAX >> (64 - count);
            vec![of_lane(&undefined, &|mask| all_where(mask & lowest))]
        }
        Depends::ByHalf => {
            let half = |mask: u64, of: u64| if mask & of == 0 { 0 } else { of };
            vec![of_lane(&undefined, &|mask| half(mask, 0xffff) | half(mask, 0xffff_0000))]
        }
        // As it was executed.
        Depends::OnAll => Vec::new(),
    };
    r.put_forward(after);
    for (place, bits) in writes.into_iter().zip(results) {
        if place.file != File::Predicate {
            r.mark(place, on.bits, &bits);
        }
    }
}

/// The undefined bits of each result, by executions with those of the first operands set to 0 and to 1.
fn by_bit(
    r: &mut Registers,
    on: &Active,
    (op, mode): (&Op, ApproximationMode),
    data: &[Place],
    undefined: &[Masks],
) -> Vec<Masks> {
    let Op::Arithmetic(arithmetic) = op else { return Vec::new() };
    let writes = op.writes();
    let touched: Vec<Place> = data.iter().chain(&writes).copied().collect();
    let before: Vec<Masks> = touched.iter().map(|place| r.bits(*place)).collect();
    let mut first: Option<Vec<Masks>> = None;
    let mut differ = vec![[0; LANES]; writes.len()];
    for ones in 0..1_u32 << data.len() {
        for (place, bits) in touched.iter().zip(&before) {
            r.set_bits(*place, bits);
        }
        for (at, (place, masks)) in data.iter().zip(undefined).enumerate() {
            let filled = |lane: usize| match ones >> at & 1 {
                0 => before[at][lane] & !masks[lane],
                _ => before[at][lane] | masks[lane],
            };
            r.set_bits(*place, &std::array::from_fn(filled));
        }
        alu::execute(r, on, arithmetic, mode);
        let found: Vec<Masks> = writes.iter().map(|place| r.bits(*place)).collect();
        drop(r.take_back());
        match &first {
            None => first = Some(found),
            Some(first) => {
                for ((differ, first), found) in differ.iter_mut().zip(first).zip(&found) {
                    (0..LANES).for_each(|lane| differ[lane] |= first[lane] ^ found[lane]);
                }
            }
        }
    }
    for (place, bits) in touched.iter().zip(&before) {
        r.set_bits(*place, bits);
    }
    differ
}
