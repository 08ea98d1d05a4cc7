//! Atomics on 64-bit integers and f64.

use super::access::{Outcome, View, observe};
use super::atomic::{combined, order};
use super::fault::{AccessKind, FaultKind, Trouble};
use super::ir::{Atomic, AtomicOp, SINK, Space};
use super::lanes::LANES;
use super::race::Record;
use super::registers::Registers;
use super::shadow::atomics::update64;

/// `atom` and `red` of 64 bits: the lanes go one after the other, ascending or as the schedule says.
#[inline(never)]
pub(super) fn atomic64(
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
        let sees = result != SINK;
        let record = Record { sees, ..view.record(AccessKind::Atomic, Some(a.scope), 0xf, bit) };
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
        let new = combine(a.op, old, r.b64.get(operand)[lane], r.b64.get(swap)[lane]);
        if let (Some(journal), Some(cells)) = (view.journal.as_deref_mut(), &mut segment.cells) {
            update64(journal, r, (a, lane), (cells, word), [old, new]);
        }
        segment.words[word] = super::wide::low(new);
        segment.words[word + 1] = super::alu::high(new);
        if !poisoned {
            segment.poison[word..word + 2].fill(0);
        }
        if sees {
            r.b64.set_lane(result, lane, old, poisoned);
        }
    }
    Ok(())
}

/// The new value.
fn combine(op: AtomicOp, old: u64, operand: u64, swap: u64) -> u64 {
    combined!(op, old, operand, swap, add_float(old, operand))
}

/// The sum of two f64, a NaN the canonical one.
fn add_float(old: u64, operand: u64) -> u64 {
    let sum = f64::from_bits(old) + f64::from_bits(operand);
    if sum.is_nan() { 0xfff8_0000_0000_0000 } else { sum.to_bits() }
}
