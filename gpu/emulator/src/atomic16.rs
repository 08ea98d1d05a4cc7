//! Atomic sums of one f16 or bf16, which is half of a word of memory.

use super::access::{Outcome, bytes_of, observe};
use super::delay::View;
use super::fault::AccessKind;
use super::ir::{Atomic, NarrowFormat, SINK, Space};
use super::lanes::Bits;
use super::rare::narrow::add_one;
use super::registers::Registers;
use super::shadow::atomics::{Cell, update16};
use super::signal::Record;

/// Bits of a number.
const BITS: u32 = 0xffff;

/// The sums of `lanes` at one address.
pub(super) fn update(
    r: &mut Registers,
    (a, format): (&Atomic, NarrowFormat),
    address: u64,
    lanes: u32,
    view: &mut View<'_>,
) -> Outcome {
    let (operands, result) = (a.operands[0], a.results[0]);
    let bytes = bytes_of(address, 2);
    let record = view.record(AccessKind::Atomic, Some(a.scope), bytes, lanes);
    let record = Record { sees: result != SINK || a.itself.acquires, itself: a.itself, ..record };
    let order = &mut *view.order;
    let (segment, at) = view.memories.locate(a.space, address, 2, lanes)?;
    observe(segment, order, at, 1, &record, a.space, address)?;
    if a.space == Space::Global {
        segment.count_atomics(at, lanes.count_ones());
    }
    // A number never written stays so: what is added to it is lost in it.
    let poisoned = segment.poison[at] & bytes != 0;
    let upper = address & 2 != 0;
    let shift = if upper { 16 } else { 0 };
    for lane in Bits(lanes) {
        let operand = r.words.get(operands)[lane] & BITS;
        let word = segment.words[at];
        let old = word >> shift & BITS;
        let new = word & !(BITS << shift) | add_one(format, old, operand) << shift;
        if result != SINK {
            r.words.set_lane(result, lane, old, poisoned);
        }
        if let (Some(journal), Some(cells)) = (view.journal.as_deref_mut(), &mut segment.cells) {
            let cell = Cell { cells, word: at, bits: word };
            update16(journal, r, (a, format), (lane, upper), cell, (operand, new));
        }
        segment.words[at] = new;
    }
    Ok(())
}
