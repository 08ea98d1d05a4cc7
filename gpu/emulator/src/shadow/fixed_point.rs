//! Which whole numbers of a kernel are floats in fixed point, and which are cells.

use std::collections::{HashMap, HashSet};

use super::super::ir::{
    Arithmetic, AtomicOp, B64Unary, File, FloatBinary, FloatToInteger, FloatUnary, IntegerBinary,
    Kernel, Op, Place, Rare, RareOp, ReduxOp, Rounding, Slot, SyncKind, Synchronization, WordUnary,
};
use super::constants::{constant, moved};
use super::literals::set;

/// The least scale of fixed point: a grid has fewer cells on a side.
const SCALE: f32 = 65_536.0;

/// The least scale of fixed point that an atomic adds up, where it is no power of two. What counts steps of a ray or
/// cells has fewer to a unit.
const ADDED_SCALE: f32 = 1_000.0;

/// The bits of 1/2.
const HALF: u32 = 0x3f00_0000;

/// What a whole number is that was made of a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// A number of units in fixed point, be it small: the float was multiplied by a power of two, [`SCALE`] or
    /// more, or by another scale, and an atomic adds the number up.
    Units,
    /// The same of a float that may hold the half unit by which it is rounded.
    Halved,
    /// A cell or a count, be it large: what is left of the float without it is used too, or it was rounded up or
    /// down by name.
    Cell,
    /// A cell where it is small, else a number of units.
    BySize,
    /// A cell where it is small; a sum of others may be a count or in fixed point.
    UnsureBySize,
    /// A sum of them may be a count or in fixed point, be they small.
    Unsure,
}

/// What each instruction of a kernel makes that converts a float to a whole number.
pub(super) fn wholes(kernel: &Kernel) -> Vec<Whole> {
    let moved = moved(kernel);
    let power = |bits: u32| bits & 0x7f_ffff == 0 && f32::from_bits(bits).abs() >= SCALE;
    let value = |slot: Slot| constant(kernel, &moved, slot);
    let is_scale = |slot: Slot| value(slot).is_some_and(power);
    // A factor that the kernel is given may be a scale.
    let may_scale = |a: Slot, b: Slot| {
        let known = [a, b].into_iter().find_map(value).map(f32::from_bits);
        known.is_none_or(|factor| factor.abs() >= ADDED_SCALE)
    };
    let is_unit = |slot: Slot| {
        value(slot).is_some_and(|bits| f32::from_bits(bits).abs() <= 1.0 / ADDED_SCALE)
    };
    let half = |slot: Slot| value(slot).is_some_and(|bits| bits << 1 == HALF << 1);
    let added = added(kernel);
    let mut all = vec![Whole::BySize; kernel.code.len()];
    // Of registers that were written last by a product with a scale; by a sum with a half, or by a half with a
    // sign; by a conversion to a whole number, with its place and the float; and by one of those back.
    let [mut halved, mut halves] = [(); 2].map(|()| HashSet::<Slot>::new());
    let mut products: HashSet<Slot> = HashSet::new();
    // Of registers that may hold a float times a scale that is no power of two, or a sum of such.
    let mut scaled: HashSet<Slot> = HashSet::new();
    let mut wholes: HashMap<Slot, (usize, Slot)> = HashMap::new();
    let mut floats: HashMap<Slot, (usize, Slot)> = HashMap::new();
    for (at, instruction) in kernel.code.iter().enumerate() {
        let Op::Arithmetic(op) = instruction.op else { continue };
        let (mut product, mut whole, mut float) = (false, None, None);
        let is_half = |slot: Slot| half(slot) || halves.contains(&slot);
        let (is_halved, signed_half) = match op {
            Arithmetic::FloatBinary(FloatBinary::Add | FloatBinary::Sub, _, _, a, b) => {
                (is_half(a) || is_half(b), false)
            }
            Arithmetic::Fma(_, _, _, _, _, c) => (is_half(c), false),
            Arithmetic::FloatBinary(FloatBinary::Mul, _, _, a, b) => (false, half(a) || half(b)),
            Arithmetic::FloatBinary(FloatBinary::Min | FloatBinary::Max, _, _, a, b) => {
                (halved.contains(&a) || halved.contains(&b), false)
            }
            Arithmetic::FloatUnary(FloatUnary::Move | FloatUnary::Round(_), _, _, a) => {
                (halved.contains(&a), halves.contains(&a))
            }
            Arithmetic::Rare(Rare { op: RareOp::CopySign { .. }, .. })
            | Arithmetic::SelectWord { .. } => (false, true),
            _ => (false, false),
        };
        let is_scaled = match op {
            Arithmetic::FloatBinary(FloatBinary::Mul, _, _, a, b) => {
                may_scale(a, b) || scaled.contains(&a) || scaled.contains(&b)
            }
            // A sum of its own rounding is a product with 1 too.
            Arithmetic::Fma(_, _, _, a, b, c) => {
                may_scale(a, b) || [a, b, c].iter().any(|slot| scaled.contains(slot))
            }
            Arithmetic::FloatBinary(
                FloatBinary::Div | FloatBinary::Approximate(_),
                _,
                _,
                a,
                by,
            ) => is_unit(by) || scaled.contains(&a),
            Arithmetic::FloatBinary(_, _, _, a, b) | Arithmetic::SelectWord { a, b, .. } => {
                scaled.contains(&a) || scaled.contains(&b)
            }
            Arithmetic::FloatUnary(
                FloatUnary::Move | FloatUnary::Negate | FloatUnary::Abs | FloatUnary::Round(_),
                _,
                _,
                a,
            )
            | Arithmetic::WordUnary(WordUnary::Move, _, a) => scaled.contains(&a),
            _ => false,
        };
        // What a float becomes that is rounded so.
        let whole_of = |a: Slot, place: Place, rounding: Rounding| {
            let has_half = halved.contains(&a);
            let by_name = matches!(rounding, Rounding::Up | Rounding::Down) && !has_half;
            let (is_added, is_scaled) = (added.contains(&place), scaled.contains(&a));
            match (products.contains(&a) || is_added && is_scaled && !by_name, has_half) {
                (true, true) => Whole::Halved,
                (true, false) => Whole::Units,
                (false, _) if is_added && (is_scaled || !by_name) => Whole::Unsure,
                (false, _) if by_name => Whole::Cell,
                (false, _) => Whole::UnsureBySize,
            }
        };
        match op {
            Arithmetic::FloatBinary(FloatBinary::Mul, _, _, a, b) => {
                product = is_scale(a) || is_scale(b);
            }
            Arithmetic::FloatUnary(FloatUnary::Move, _, _, a)
            | Arithmetic::WordUnary(WordUnary::Move, _, a) => product = products.contains(&a),
            // Clamped to what fits into the integer.
            Arithmetic::FloatBinary(FloatBinary::Min | FloatBinary::Max, _, _, a, b) => {
                product = products.contains(&a) || products.contains(&b);
            }
            Arithmetic::FloatUnary(FloatUnary::Round(rounding), _, d, a) => {
                product = products.contains(&a);
                all[at] = whole_of(a, Place { file: File::Word, slot: d }, rounding);
                float = Some((at, a));
            }
            Arithmetic::FloatToInteger(FloatToInteger { a, d, b64, rounding, .. }) => {
                let file = if b64 { File::B64 } else { File::Word };
                all[at] = whole_of(a, Place { file, slot: d }, rounding);
                whole = Some((at, a));
            }
            Arithmetic::WordToFloat { a, .. } => float = wholes.get(&a).copied(),
            Arithmetic::FloatBinary(FloatBinary::Sub, _, _, a, b) => {
                if let Some((of, from)) = floats.get(&b)
                    && *from == a
                {
                    all[*of] = Whole::Cell;
                }
            }
            _ => {}
        }
        for place in instruction.op.writes().into_iter().filter(|place| place.file == File::Word) {
            // What may be scaled on one way may be so after another.
            if is_scaled {
                scaled.insert(place.slot);
            }
            for (is, of) in
                [(product, &mut products), (is_halved, &mut halved), (signed_half, &mut halves)]
            {
                if is {
                    of.insert(place.slot);
                } else {
                    of.remove(&place.slot);
                }
            }
            set(&mut wholes, place.slot, whole);
            set(&mut floats, place.slot, float);
        }
    }
    all
}

/// Registers that an atomic adds up as whole numbers, as they are or in sums of the lane or of its warp; and the floats
/// that such numbers are made of.
fn added(kernel: &Kernel) -> HashSet<Place> {
    let mut all = HashSet::new();
    for atomic in kernel.code.iter().filter_map(|instruction| instruction.op.atomic()) {
        if atomic.op == AtomicOp::Add {
            let file = if atomic.b64 { File::B64 } else { File::Word };
            let operands = &atomic.operands[..usize::from(atomic.count)];
            all.extend(operands.iter().map(|&slot| Place { file, slot }));
        }
    }
    loop {
        let before = all.len();
        for instruction in kernel.code.iter().rev() {
            if instruction.op.writes().iter().any(|place| all.contains(place)) {
                all.extend(passed_on(&instruction.op));
            }
        }
        if all.len() == before {
            return all;
        }
    }
}

/// What an instruction hands on, as it is or as a part of a sum.
fn passed_on(op: &Op) -> Vec<Place> {
    let words = |slots: &[Slot]| {
        slots.iter().map(|&slot| Place { file: File::Word, slot }).collect::<Vec<_>>()
    };
    match *op {
        Op::Arithmetic(
            Arithmetic::WordUnary(WordUnary::Move | WordUnary::Negate, _, a)
            | Arithmetic::FloatUnary(FloatUnary::Move, _, _, a)
            | Arithmetic::FloatToInteger(FloatToInteger { a, .. })
            | Arithmetic::Widen { a, .. },
        ) => words(&[a]),
        Op::Arithmetic(
            Arithmetic::WordBinary(IntegerBinary::Add | IntegerBinary::Sub, _, a, b)
            | Arithmetic::FloatBinary(FloatBinary::Min | FloatBinary::Max, _, _, a, b)
            | Arithmetic::SelectWord { a, b, .. },
        ) => words(&[a, b]),
        Op::Arithmetic(
            Arithmetic::B64Unary(B64Unary::Move | B64Unary::Negate, ..)
            | Arithmetic::B64Binary(IntegerBinary::Add | IntegerBinary::Sub, ..)
            | Arithmetic::SelectB64 { .. },
        ) => op.reads().into_iter().filter(|place| place.file == File::B64).collect(),
        Op::Synchronization(Synchronization::Warp(ref sync)) => match sync.kind {
            SyncKind::Shuffle(_) | SyncKind::Redux(ReduxOp::Add) => {
                words(&sync.operands.sources[..1])
            }
            SyncKind::Barrier
            | SyncKind::Vote(_)
            | SyncKind::Ballot
            | SyncKind::MatchAny { .. }
            | SyncKind::MatchAll { .. }
            | SyncKind::Redux(_)
            | SyncKind::Elect => Vec::new(),
        },
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::ir::Module;
    use super::*;

    /// What the last conversion to a whole number of a kernel makes.
    fn of(body: &str) -> Whole {
        let text = format!(
            ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
             .reg .f32 %f<9>;\n.reg .b32 %r<9>;\n.reg .b64 %d<4>;\nld.param.u64 %d1, [p];\n\
             ld.global.f32 %f1, [%d1];\nmul.f32 %f2, %f1, 0f447A0000;\n{body}\nret;\n}}\n"
        );
        let module = Module::parse(&text).expect("the test's kernel");
        let kernel = &module.kernels["k"];
        let is_whole = |op: &Op| matches!(op, Op::Arithmetic(Arithmetic::FloatToInteger(_)));
        let at = kernel.code.iter().rposition(|instruction| is_whole(&instruction.op));
        wholes(kernel)[at.expect("a conversion")]
    }

    /// A thousand is no power of two: what becomes of the number says that it is in units.
    #[test]
    fn what_an_atomic_adds_up_is_a_number_of_units() {
        let add = "red.global.add.u32 [%d1], %r2;";
        let rounded = "cvt.rni.s32.f32 %r1, %f2;";
        let of_warp = "shfl.sync.bfly.b32 %r3, %r1, 16, 31, -1;\nadd.s32 %r2, %r1, %r3;";
        for (body, whole) in [
            (format!("{rounded}\nmov.b32 %r2, %r1;\n{add}"), Whole::Units),
            (format!("{rounded}\n{of_warp}\n{add}"), Whole::Units),
            ("cvt.rni.s64.f32 %d2, %f2;\nred.global.add.u64 [%d1], %d2;".to_owned(), Whole::Units),
            // Steps of 1/200, which are counted; a unit of 1/1000; a factor that is not known.
            (
                format!("mul.f32 %f3, %f1, 0f43480000;\ncvt.rzi.s32.f32 %r2, %f3;\n{add}"),
                Whole::Unsure,
            ),
            (
                format!("div.rn.f32 %f3, %f1, 0f3A83126F;\ncvt.rzi.s32.f32 %r2, %f3;\n{add}"),
                Whole::Units,
            ),
            (format!("mul.f32 %f3, %f1, %f1;\ncvt.rzi.s32.f32 %r2, %f3;\n{add}"), Whole::Units),
            // Rounded up or down by name.
            (format!("cvt.rpi.s32.f32 %r2, %f1;\n{add}"), Whole::Cell),
            (format!("cvt.rmi.s32.f32 %r2, %f1;\n{add}"), Whole::Cell),
            // Or so that a random number decides: floor(1000 x + u).
            (
                format!("fma.rn.f32 %f3, %f1, 0f447A0000, %f2;\ncvt.rmi.s32.f32 %r2, %f3;\n{add}"),
                Whole::Unsure,
            ),
            // Scaled, and half of it.
            (
                format!("mul.f32 %f3, %f2, 0f3F000000;\ncvt.rzi.s32.f32 %r2, %f3;\n{add}"),
                Whole::Units,
            ),
            // An index, and what is stored.
            (
                format!("{rounded}\nadd.s32 %r2, %r1, 1;\nst.global.u32 [%d1], %r2;"),
                Whole::UnsureBySize,
            ),
            (
                format!(
                    "{rounded}\nmul.wide.s32 %d2, %r1, 4;\nadd.s64 %d3, %d1, %d2;\n\
                         red.global.add.u32 [%d3], 1;"
                ),
                Whole::UnsureBySize,
            ),
            (
                format!("add.f32 %f3, %f2, 0f3F000000;\ncvt.rmi.s32.f32 %r2, %f3;\n{add}"),
                Whole::Halved,
            ),
            (
                format!(
                    "mov.f32 %f4, 0f3F000000;\ncopysign.f32 %f5, %f2, %f4;\n\
                         add.rz.f32 %f3, %f2, %f5;\ncvt.rzi.f32.f32 %f6, %f3;\n\
                         cvt.rzi.s32.f32 %r2, %f6;\n{add}"
                ),
                Whole::Halved,
            ),
        ] {
            assert_eq!(of(&body), whole, "{body}");
        }
    }
}
