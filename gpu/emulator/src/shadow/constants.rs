//! Constants of a kernel: what slots hold that no instruction changes, and which numbers stand for themselves.

use std::collections::{HashMap, HashSet};

use super::super::ir::{Arithmetic, File, FloatUnary, Kernel, Op, Place, Slot, WordUnary};

/// Significant bits of a number that stands for itself.
const SHORT: u32 = 12;

/// Half a unit in the last place, or 0 for a number that stands for itself.
pub(super) fn half_unit(bits: u32) -> f64 {
    let value = f32::from_bits(bits);
    let fraction = bits & 0x7f_ffff;
    let significant = if fraction == 0 { 1 } else { 24 - fraction.trailing_zeros() };
    let whole = value.abs() < 16_777_216.0 && value.fract() == 0.0;
    // The largest f32 is a name of its own: what is masked by it is not rounded.
    if value.abs() >= f32::MAX || !value.is_finite() || significant <= SHORT || whole {
        return 0.0;
    }
    0.5 * f64::from(value.abs().next_up() - value.abs())
}

/// The f64 literals of a kernel that do not stand for themselves: those with more than half of the significant bits.
pub(super) fn doubles(kernel: &Kernel) -> HashSet<u64> {
    let long = |bits: &u64| {
        let fraction = bits & ((1 << 52) - 1);
        fraction != 0 && 53 - fraction.trailing_zeros() > 26 && f64::from_bits(*bits).is_finite()
    };
    kernel.b64_constants.iter().copied().filter(long).collect()
}

/// The constant that a slot is, or that a register holds which only a move of one writes.
pub(super) fn constant(
    kernel: &Kernel,
    moved: &HashMap<Slot, Option<u32>>,
    slot: Slot,
) -> Option<u32> {
    literal(kernel, slot).or_else(|| moved.get(&slot).copied().flatten())
}

pub(super) fn literal(kernel: &Kernel, slot: Slot) -> Option<u32> {
    let bits = kernel.constant(Place { file: File::Word, slot })?;
    u32::try_from(bits).ok()
}

/// Registers that only one instruction writes, a move of a constant.
pub(super) fn moved(kernel: &Kernel) -> HashMap<Slot, Option<u32>> {
    let mut all = HashMap::new();
    for instruction in &kernel.code {
        let value = match instruction.op {
            Op::Arithmetic(
                Arithmetic::FloatUnary(FloatUnary::Move, _, _, a)
                | Arithmetic::WordUnary(WordUnary::Move, _, a),
            ) => literal(kernel, a),
            _ => None,
        };
        for place in instruction.op.writes().into_iter().filter(|place| place.file == File::Word) {
            all.entry(place.slot).and_modify(|known| *known = None).or_insert(value);
        }
    }
    all
}
