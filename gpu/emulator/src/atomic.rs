//! Atomics.

use super::access::{Groups, Outcome, addresses, observe};
use super::atomic16;
use super::delay::View;
use super::fault::{AccessKind, FaultKind, Trouble};
use super::float::flushed;
use super::ir::{Atomic, AtomicOp, SINK, Space};
use super::lanes::{Active, Bits, LANES, high, low};
use super::mix::mix;
use super::rare::narrow::add_pairs;
use super::registers::Registers;
use super::shadow::atomics::{self, Cell, update64};
use super::signal::Record;

/// `atom` and `red`: the lanes go one after the other, ascending or as the schedule says. Each
/// element of a vector is atomic by itself (PTX ISA, "atom").
#[inline(always)]
pub(super) fn atomic(r: &mut Registers, on: &Active, a: &Atomic, view: &mut View<'_>) -> Outcome {
    let all = addresses(r, on, a.address)?;
    if a.b64 {
        return atomic64(r, on.bits, a, &all, view);
    }
    let count = usize::from(a.count);
    let mut poison = 0;
    for &slot in &a.operands[..count] {
        poison |= r.words.poison(slot);
    }
    if a.swap != SINK {
        poison |= r.words.poison(a.swap);
    }
    if poison & on.bits != 0 {
        let lanes = poison & on.bits;
        let address = all[lanes.trailing_zeros() as usize];
        return Err(Trouble::new(FaultKind::PoisonOutput { address }, lanes));
    }
    if view.moment != 0 || !view.delayed.is_empty() {
        return disordered(r, on.bits, a, &all, view);
    }
    for (address, lanes) in Groups::new(on, &all, false) {
        update(r, a, address, lanes, view)?;
    }
    Ok(())
}

/// The lanes in the order of the moment, each after what it has stored there itself.
fn disordered(
    r: &mut Registers,
    active: u32,
    a: &Atomic,
    all: &[u64; LANES],
    view: &mut View<'_>,
) -> Outcome {
    for lane in order(view.moment).into_iter().filter(|lane| active >> lane & 1 == 1) {
        let address = all[lane as usize];
        for element in 0..u64::from(a.count) {
            let (thread, at) = (view.thread(lane), (address & !3) + 4 * element);
            view.delayed.settle(a.space, at, thread, &mut view.memories);
        }
        update(r, a, address, 1 << lane, view)?;
    }
    Ok(())
}

/// The lanes in the order of a hash (Fisher and Yates); ascending for 0.
fn order(moment: u64) -> [u32; LANES] {
    let mut order = [0; LANES];
    order.iter_mut().zip(0_u32..).for_each(|(place, lane)| *place = lane);
    if moment != 0 {
        for last in (1..LANES).rev() {
            let other = mix(moment ^ last as u64) % (last as u64 + 1);
            order.swap(last, usize::try_from(other).unwrap_or(0));
        }
    }
    order
}

/// The operations of `lanes` at one address.
#[inline(always)]
fn update(r: &mut Registers, a: &Atomic, address: u64, lanes: u32, view: &mut View<'_>) -> Outcome {
    if let AtomicOp::AddHalf(format) = a.op {
        return atomic16::update(r, (a, format), address, lanes, view);
    }
    let count = usize::from(a.count);
    let itself = a.itself;
    let sees = itself.acquires || a.results[..count].iter().any(|&result| result != SINK);
    let record =
        Record { sees, itself, ..view.record(AccessKind::Atomic, Some(a.scope), 0xf, lanes) };
    let order = &mut *view.order;
    let total = 4 * u32::from(a.count);
    let (segment, word) = view.memories.locate(a.space, address, total, lanes)?;
    observe(segment, order, word, count, &record, a.space, address)?;
    for element in 0..count {
        let at = word + element;
        if a.space == Space::Global {
            segment.count_atomics(at, lanes.count_ones());
        }
        let mut value = segment.words[at];
        // A word never written stays so: what is added to it is lost in it.
        let poisoned = segment.poison[at] != 0 && a.op != AtomicOp::Exchange;
        if let (Some(journal), Some(cells)) = (view.journal.as_deref_mut(), &mut segment.cells) {
            let cell = Cell { cells, word: at, bits: value };
            let combine = |old, operand, swap| combine(a.op, a.space, old, operand, swap);
            value = atomics::update(journal, r, (a, element, lanes), cell, poisoned, combine);
        } else if a.op == AtomicOp::AddFloat && a.results[element] == SINK {
            value = add_all(a.space, value, r.words.get(a.operands[element]), lanes);
        } else {
            for lane in Bits(lanes) {
                let operand = r.words.get(a.operands[element])[lane];
                let swap = if a.swap == SINK { 0 } else { r.words.get(a.swap)[lane] };
                let old = value;
                value = combine(a.op, a.space, old, operand, swap);
                if a.results[element] != SINK {
                    r.words.set_lane(a.results[element], lane, old, poisoned);
                }
            }
        }
        segment.words[at] = value;
        if !poisoned {
            segment.poison[at] = 0;
        }
    }
    Ok(())
}

/// Adds up floats, one after the other. Flushing and canonical NaN are off the chain of additions:
/// the rare sum for which they matter is done again with them.
#[inline(always)]
fn add_all(space: Space, old: u32, operands: &[u32; LANES], lanes: u32) -> u32 {
    let flush = |bits| if space == Space::Global { flushed(bits) } else { bits };
    let mut sum = f32::from_bits(flush(old));
    let mut odd = false;
    for lane in Bits(lanes) {
        sum += f32::from_bits(flush(operands[lane]));
        odd |= sum.is_nan() || sum.abs() < f32::MIN_POSITIVE;
    }
    if odd {
        return Bits(lanes).fold(old, |sum, lane| add_float(space, sum, operands[lane]));
    }
    sum.to_bits()
}

/// Float addition on global memory flushes subnormals, that on shared memory does not (PTX ISA,
/// "atom").
#[inline(always)]
fn add_float(space: Space, old: u32, operand: u32) -> u32 {
    let flush = |bits| if space == Space::Global { flushed(bits) } else { bits };
    let sum = f32::from_bits(flush(old)) + f32::from_bits(flush(operand));
    if sum.is_nan() { 0x7fff_ffff } else { flush(sum.to_bits()) }
}

/// The new value of a word of either width: `$add_float` where floats are added. One text for both, because
/// what an operation does with integers is the same.
macro_rules! combined {
    ($op:expr, $old:expr, $operand:expr, $swap:expr, $add_float:expr) => {{
        let (old, operand, swap) = ($old, $operand, $swap);
        match $op {
            AtomicOp::AddFloat | AtomicOp::AddPair(_) | AtomicOp::AddHalf(_) => $add_float,
            AtomicOp::Add => old.wrapping_add(operand),
            AtomicOp::Increment => {
                if old >= operand {
                    0
                } else {
                    old + 1
                }
            }
            AtomicOp::Decrement => {
                if old == 0 || old > operand {
                    operand
                } else {
                    old - 1
                }
            }
            AtomicOp::And => old & operand,
            AtomicOp::Or => old | operand,
            AtomicOp::Xor => old ^ operand,
            AtomicOp::MinS => old.cast_signed().min(operand.cast_signed()).cast_unsigned(),
            AtomicOp::MinU => old.min(operand),
            AtomicOp::MaxS => old.cast_signed().max(operand.cast_signed()).cast_unsigned(),
            AtomicOp::MaxU => old.max(operand),
            AtomicOp::Exchange => operand,
            AtomicOp::CompareExchange => {
                if old == operand {
                    swap
                } else {
                    old
                }
            }
        }
    }};
}

/// The new value of a word.
#[inline(always)]
fn combine(op: AtomicOp, space: Space, old: u32, operand: u32, swap: u32) -> u32 {
    let sum = |old, operand| {
        if let AtomicOp::AddPair(format) = op {
            return add_pairs(format, old, operand);
        }
        add_float(space, old, operand)
    };
    combined!(op, old, operand, swap, sum(old, operand))
}

/// `atom` and `red` of 64 bits: the lanes go one after the other, ascending or as the schedule says.
#[inline(never)]
fn atomic64(
    r: &mut Registers,
    active: u32,
    a: &Atomic,
    all: &[u64; LANES],
    view: &mut View<'_>,
) -> Outcome {
    let [operand, result] = [a.operands[0], a.results[0]];
    let swap = if a.swap == SINK { operand } else { a.swap };
    let poison = (r.b64.poison(operand) | r.b64.poison(swap)) & active;
    if poison != 0 {
        let address = all[poison.trailing_zeros() as usize & 31];
        return Err(Trouble::new(FaultKind::PoisonOutput { address }, poison));
    }
    for lane in order(view.moment).into_iter().filter(|lane| active >> lane & 1 == 1) {
        let (address, bit) = (all[lane as usize], 1 << lane);
        if !view.delayed.is_empty() {
            for at in [address, address + 4] {
                let thread = view.thread(lane);
                view.delayed.settle(a.space, at, thread, &mut view.memories);
            }
        }
        let (sees, itself) = (result != SINK || a.itself.acquires, a.itself);
        let record =
            Record { sees, itself, ..view.record(AccessKind::Atomic, Some(a.scope), 0xf, bit) };
        let order = &mut *view.order;
        let (segment, word) = view.memories.locate(a.space, address, 8, bit)?;
        observe(segment, order, word, 2, &record, a.space, address)?;
        if a.space == Space::Global {
            segment.count_atomics(word, 1);
        }
        // A number of which a part was never written stays so.
        let poisoned =
            (segment.poison[word] | segment.poison[word + 1]) != 0 && a.op != AtomicOp::Exchange;
        let old = u64::from(segment.words[word + 1]) << 32 | u64::from(segment.words[word]);
        let lane = lane as usize;
        let new = combine64(a.op, old, r.b64.get(operand)[lane], r.b64.get(swap)[lane]);
        if let (Some(journal), Some(cells)) = (view.journal.as_deref_mut(), &mut segment.cells) {
            update64(journal, r, (a, lane), (cells, word), [old, new]);
        }
        segment.words[word] = low(new);
        segment.words[word + 1] = high(new);
        if !poisoned {
            segment.poison[word..word + 2].fill(0);
        }
        if result != SINK {
            r.b64.set_lane(result, lane, old, poisoned);
        }
    }
    Ok(())
}

/// The new value of 64 bits.
fn combine64(op: AtomicOp, old: u64, operand: u64, swap: u64) -> u64 {
    combined!(op, old, operand, swap, add_double(old, operand))
}

/// The sum of two f64, a NaN the canonical one.
fn add_double(old: u64, operand: u64) -> u64 {
    let sum = f64::from_bits(old) + f64::from_bits(operand);
    if sum.is_nan() { 0xfff8_0000_0000_0000 } else { sum.to_bits() }
}
