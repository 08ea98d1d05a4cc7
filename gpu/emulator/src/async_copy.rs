//! `cp.async`: copies from global to shared memory that are complete when their thread has waited for
//! them (PTX ISA 8.4, "cp.async", "`cp.async.wait_group`").
//!
//! A copy reads its source when it begins. From then on its destination holds nothing that may be read,
//! until a wait of the same thread writes what was read: a thread that does not wait, or that waits
//! behind the barrier instead of before it, reads poison or races. What nobody waits for is never
//! written.

use super::access::{Outcome, addresses, bytes_of, observe};
use super::delay::View;
use super::fault::{AccessKind, FaultKind, Trouble};
use super::ir::{AsyncCopy, SINK, Space};
use super::lanes::{Active, LANES};
use super::registers::Registers;
use super::shadow::access as shadow;
use super::shadow::number::Word;

/// Every byte of a word is poison.
const ALL: u8 = 0xf;

/// A copy on its way.
#[derive(Clone, Debug)]
struct Copy {
    lane: u32,
    /// Groups that the lane had committed before: its own is the next.
    group: u32,
    to: u64,
    words: usize,
    values: [u32; 4],
    poison: [u8; 4],
    /// What is beside the words, where floats are followed.
    beside: Option<Box<[Word; 4]>>,
}

/// The copies of a warp's lanes.
#[derive(Debug, Default)]
pub(super) struct Copies {
    under_way: Vec<Copy>,
    /// Groups that each lane has committed.
    committed: [u32; LANES],
}

impl Copies {
    pub(super) fn clear(&mut self) {
        self.under_way.clear();
        self.committed = [0; LANES];
    }

    /// `cp.async`.
    pub(super) fn begin(
        &mut self,
        r: &Registers,
        on: &Active,
        copy: &AsyncCopy,
        view: &mut View<'_>,
    ) -> Outcome {
        let (to, from) = (addresses(r, on, copy.to)?, addresses(r, on, copy.from)?);
        let bytes = u32::from(copy.bytes);
        let words = usize::from(copy.bytes / 4);
        for lane in on.lanes() {
            let bit = 1 << lane;
            let read = if copy.read == SINK {
                bytes
            } else {
                if r.words.poison(copy.read) & bit != 0 {
                    return Err(Trouble::new(FaultKind::PoisonControl, bit));
                }
                r.words.get(copy.read)[lane].min(bytes)
            };
            let (values, poison) = source(view, from[lane], (bytes, read), lane)?;
            let beside = shadow::copied(r, view, (from[lane], lane), (&values[..words], read));
            let nothing = (&[0; 4][..words], &[ALL; 4][..words], None);
            write(view, to[lane], nothing, lane)?;
            let group = self.committed[lane];
            let to = to[lane];
            let lane = u32::try_from(lane).unwrap_or(0);
            self.under_way.push(Copy { lane, group, to, words, values, poison, beside });
        }
        Ok(())
    }

    /// `cp.async.commit_group`.
    pub(super) fn commit(&mut self, on: &Active) {
        on.lanes().for_each(|lane| self.committed[lane] += 1);
    }

    /// `cp.async.wait_group N`, or `cp.async.wait_all`, which waits for what is in no group as well.
    pub(super) fn wait(
        &mut self,
        on: &Active,
        groups: Option<u32>,
        view: &mut View<'_>,
    ) -> Outcome {
        let committed = self.committed;
        let complete = |copy: &Copy| {
            let done = committed[copy.lane as usize & 31];
            let waited = groups.is_none_or(|groups| copy.group < done.saturating_sub(groups));
            on.bits >> copy.lane & 1 == 1 && waited
        };
        let mut written = Ok(());
        self.under_way.retain(|copy| {
            if !complete(copy) || written.is_err() {
                return true;
            }
            let lane = copy.lane as usize;
            let (values, poison) = (&copy.values[..copy.words], &copy.poison[..copy.words]);
            written = write(view, copy.to, (values, poison, copy.beside.as_deref()), lane);
            false
        });
        written
    }
}

/// What a lane reads of `bytes` bytes at an address: the first `read` of them, then zeros.
fn source(
    view: &mut View<'_>,
    address: u64,
    (bytes, read): (u32, u32),
    lane: usize,
) -> Result<([u32; 4], [u8; 4]), Box<Trouble>> {
    let (mut values, mut poison) = ([0; 4], [0; 4]);
    let space = Space::Global;
    if !address.is_multiple_of(bytes.into()) {
        let kind = FaultKind::Misaligned { space, address, width: bytes };
        return Err(Trouble::new(kind, 1 << lane));
    }
    for at in 0..read.div_ceil(4) {
        let address = address + 4 * u64::from(at);
        let inside = (read - 4 * at).min(4);
        let record = view.record(AccessKind::Read, None, bytes_of(address, inside), 1 << lane);
        let thread = view.thread(record.lanes.trailing_zeros());
        let order = &mut *view.order;
        let (segment, word) = match inside {
            4 => view.memories.locate(space, address, 4, 1 << lane)?,
            // The last of the bytes, which are in one word.
            _ => view.memories.locate(space, address + u64::from(inside) - 1, 1, 1 << lane)?,
        };
        observe(segment, order, word, 1, &record, space, address)?;
        let held = (segment.words[word], segment.poison[word]);
        let (value, unknown) = view.delayed.seen(space, address, thread, held);
        let mask = u32::MAX >> (32 - 8 * inside);
        values[at as usize] = value & mask;
        poison[at as usize] = unknown & (ALL >> (4 - inside));
    }
    Ok((values, poison))
}

/// A lane writes words to shared memory.
fn write(
    view: &mut View<'_>,
    address: u64,
    (values, poison, beside): (&[u32], &[u8], Option<&[Word; 4]>),
    lane: usize,
) -> Outcome {
    let space = Space::Shared;
    let record = view.record(AccessKind::Write, None, 0xf, 1 << lane);
    let thread = view.thread(record.lanes.trailing_zeros());
    for at in 0..values.len() as u64 {
        view.delayed.settle(space, address + 4 * at, thread, &mut view.memories);
    }
    let order = &mut *view.order;
    let bytes = 4 * u32::try_from(values.len()).unwrap_or(4);
    let (segment, word) = view.memories.locate(space, address, bytes, 1 << lane)?;
    observe(segment, order, word, values.len(), &record, space, address)?;
    segment.words[word..word + values.len()].copy_from_slice(values);
    segment.poison[word..word + poison.len()].copy_from_slice(poison);
    if let Some(cells) = &mut segment.cells {
        for (at, &value) in values.iter().enumerate() {
            cells.set(word + at, value, beside.map_or(Word::None, |all| all[at]));
        }
    }
    Ok(())
}
