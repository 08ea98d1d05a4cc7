//! Loads and stores.

use super::delay::{Piece, Thread, View};
use super::fault::{AccessKind, FaultKind, Trouble};
use super::ir::{Address, Base, File, Itself, Place, SINK, Scope, Slot, Space, Transfer};
use super::lanes::{Active, LANES, high};
use super::memory::{Segment, Touched};
use super::race::WarpOrder;
use super::registers::Registers;
use super::shadow::access as shadow;
use super::shadow::number::landed;
use super::signal::Record;

pub(super) type Outcome = Result<(), Box<Trouble>>;

/// The address of every lane.
#[inline(always)]
pub(super) fn addresses(
    r: &Registers,
    on: &Active,
    address: Address,
) -> Result<[u64; LANES], Box<Trouble>> {
    let mut all = [address.offset.cast_unsigned(); LANES];
    let poison = match address.base {
        Base::None => 0,
        Base::Word(slot) => {
            for (at, base) in all.iter_mut().zip(r.words.get(slot)) {
                *at = at.wrapping_add(u64::from(*base)) & 0xffff_ffff;
            }
            r.words.poison(slot)
        }
        Base::B64(slot) => {
            for (at, base) in all.iter_mut().zip(r.b64.get(slot)) {
                *at = at.wrapping_add(*base);
            }
            r.b64.poison(slot)
        }
    };
    if poison & on.bits != 0 {
        return Err(Trouble::new(FaultKind::PoisonAddress, poison & on.bits));
    }
    Ok(all)
}

/// The lanes by address, ascending: all at once where they agree, else one by one.
pub(super) struct Groups<'a> {
    rest: u32,
    addresses: &'a [u64; LANES],
    uniform: bool,
}

impl<'a> Groups<'a> {
    /// `apart`: one by one also where they agree.
    #[inline(always)]
    pub(super) fn new(on: &Active, addresses: &'a [u64; LANES], apart: bool) -> Self {
        Self { rest: on.bits, addresses, uniform: !apart && is_uniform(on, addresses) }
    }
}

/// Whether all active lanes have one address.
#[inline(always)]
pub(super) fn is_uniform(on: &Active, addresses: &[u64; LANES]) -> bool {
    let first = addresses[on.bits.trailing_zeros() as usize & 31];
    let mut differ = 0;
    for (address, mask) in addresses.iter().zip(&on.mask) {
        differ |= (address ^ first) & i64::from(mask.cast_signed()).cast_unsigned();
    }
    differ == 0
}

impl Iterator for Groups<'_> {
    type Item = (u64, u32);

    #[inline(always)]
    fn next(&mut self) -> Option<(u64, u32)> {
        if self.rest == 0 {
            return None;
        }
        let lane = self.rest.trailing_zeros() as usize;
        let lanes = if self.uniform { self.rest } else { 1 << lane };
        self.rest &= !lanes;
        Some((self.addresses[lane], lanes))
    }
}

impl View<'_> {
    #[inline(always)]
    pub(super) fn record(
        &self,
        kind: AccessKind,
        strong: Option<Scope>,
        bytes: u8,
        lanes: u32,
    ) -> Record {
        Record {
            kind,
            strong,
            itself: Itself::default(),
            sees: true,
            bytes,
            warp: self.warp,
            block: self.block,
            epoch: self.epoch,
            time: self.order.time,
            lanes,
            line: self.line,
        }
    }

    /// Whether a store is seen by everybody as soon as it is executed.
    #[inline(always)]
    fn at_once(&self) -> bool {
        self.moment == 0 && self.delayed.is_empty()
    }

    #[inline(always)]
    pub(super) fn thread(&self, lane: u32) -> Thread {
        Thread { warp: self.warp, lane: (lane & 31) as u8 }
    }
}

/// Notes an access to `words` words from `word`, which may be a write to an input, and tells the shadow of it.
#[inline(always)]
pub(super) fn observe(
    segment: &mut Segment,
    order: &mut WarpOrder,
    word: usize,
    words: usize,
    record: &Record,
    space: Space,
    address: u64,
) -> Outcome {
    if record.kind != AccessKind::Read
        && let Some(name) = &segment.input
    {
        let (name, offset) = (name.to_string(), 4 * word as u64 + (address & 3));
        return Err(Trouble::new(FaultKind::InputWritten { name, offset }, record.lanes));
    }
    segment.touched |= match record.kind {
        AccessKind::Read => Touched { read: true, written: false },
        AccessKind::Write => Touched { read: false, written: true },
        AccessKind::Atomic => Touched { read: true, written: true },
    };
    let Some(shadow) = &mut segment.shadow else { return Ok(()) };
    for at in word..word + words {
        if let Some(earlier) = shadow.add(at, record, order) {
            let address = (address & !3) + 4 * (at - word) as u64;
            let kind = FaultKind::Race(earlier.race(record, space, address));
            return Err(Trouble::new(kind, record.lanes));
        }
    }
    Ok(())
}

/// The bytes of a word that an access of `width` at `address` touches.
#[inline(always)]
pub(super) fn bytes_of(address: u64, width: u32) -> u8 {
    match width {
        1 => 1 << (address & 3),
        2 => 3 << (address & 2),
        // Words, whole.
        _ => 0xf,
    }
}

/// `ld`.
#[inline(always)]
pub(super) fn load(r: &mut Registers, on: &Active, t: &Transfer, view: &mut View<'_>) -> Outcome {
    let all = addresses(r, on, t.address)?;
    let width = u32::from(t.width);
    let total = width * u32::from(t.count);
    let words = (total as usize).div_ceil(4);
    // What is held back is seen by the lane that stored it.
    let apart = !view.delayed.is_empty();
    for (address, lanes) in Groups::new(on, &all, apart) {
        let mut values = [0_u32; 4];
        let mut poison = [0_u8; 4];
        if t.space == Space::Param {
            let word = view.params.locate(address, total, t.space, address);
            let word = word.map_err(|kind| Trouble::new(kind, lanes))?;
            values[..words].copy_from_slice(&view.params.words[word..word + words]);
        } else {
            let record = view.record(AccessKind::Read, t.strong, bytes_of(address, total), lanes);
            let record = Record { itself: t.itself, ..record };
            let order = &mut *view.order;
            let (segment, word) = view.memories.locate(t.space, address, total, lanes)?;
            values[..words].copy_from_slice(&segment.words[word..word + words]);
            poison[..words].copy_from_slice(&segment.poison[word..word + words]);
            observe(segment, order, word, words, &record, t.space, address)?;
            if apart {
                let thread = view.thread(lanes.trailing_zeros());
                for (at, (value, poison)) in values.iter_mut().zip(&mut poison).enumerate() {
                    let at = (address & !3) + 4 * at as u64;
                    let seen = view.delayed.seen(t.space, at, thread, (*value, *poison));
                    (*value, *poison) = seen;
                }
            }
        }
        deliver(r, t, lanes, address, &values, &poison);
    }
    if view.journal.is_some() {
        shadow::loaded(r, on, t, &all, view);
    }
    Ok(())
}

/// Puts what a load read into the registers of `lanes`.
#[inline(always)]
pub(super) fn deliver(
    r: &mut Registers,
    t: &Transfer,
    lanes: u32,
    address: u64,
    values: &[u32; 4],
    poison: &[u8; 4],
) {
    for element in 0..usize::from(t.count) {
        let slot = t.slots[element];
        if slot == SINK {
            continue;
        }
        // The bytes that were never written.
        let (value, bytes) = match t.width {
            8 => {
                let (low, high) = (values[2 * element], values[2 * element + 1]);
                let bytes = poison[2 * element] | poison[2 * element + 1] << 4;
                (u64::from(high) << 32 | u64::from(low), bytes)
            }
            4 => {
                let value = u64::from(values[element]);
                let signed = if t.signed && t.b64 { sign(value, 32) } else { value };
                (signed, poison[element])
            }
            width => {
                let at =
                    (address & 3) as u32 + u32::from(width) * u32::try_from(element).unwrap_or(0);
                let bits = 8 * u32::from(width);
                let word = (at / 4) as usize;
                let value = u64::from(values[word]) >> (8 * (at % 4)) & ((1 << bits) - 1);
                let touched = bytes_of(u64::from(at), width.into());
                let signed = if t.signed { sign(value, bits) } else { value };
                (signed, (poison[word] & touched) >> (at % 4))
            }
        };
        let poisoned = if bytes == 0 { 0 } else { lanes };
        if t.b64 {
            if lanes.is_power_of_two() {
                r.b64.set_lane(slot, lanes.trailing_zeros() as usize, value, bytes != 0);
            } else {
                r.b64.give(slot, &Active::new(lanes), &[value; LANES], poisoned);
            }
        } else {
            let value = (value & 0xffff_ffff) as u32;
            if lanes.is_power_of_two() {
                r.words.set_lane(slot, lanes.trailing_zeros() as usize, value, bytes != 0);
            } else {
                r.words.give(slot, &Active::new(lanes), &[value; LANES], poisoned);
            }
        }
        if bytes != 0 {
            mark(r, t, (slot, lanes), bytes);
        }
    }
}

/// Marks the bits that a load found never written: of these bytes, and of what a sign is extended to.
#[cold]
#[inline(never)]
fn mark(r: &mut Registers, t: &Transfer, (slot, lanes): (Slot, u32), bytes: u8) {
    let mut bits: u64 =
        (0..8).filter(|byte| bytes >> byte & 1 == 1).map(|byte| 0xff << (8 * byte)).sum();
    if t.signed && t.width < 8 {
        bits = sign(bits, 8 * u32::from(t.width));
    }
    let file = if t.b64 { File::B64 } else { File::Word };
    r.mark(Place { file, slot }, lanes, &[bits; LANES]);
}

/// The bytes of a lane's value that are poison.
#[cold]
#[inline(never)]
fn poison_of(r: &Registers, t: &Transfer, slot: Slot, lane: usize) -> u8 {
    let file = if t.b64 { File::B64 } else { File::Word };
    let bits = r.undefined(Place { file, slot })[lane];
    (0..8).filter(|byte| bits >> (8 * byte) & 0xff != 0).map(|byte| 1 << byte).sum()
}

/// Sign-extension of the low `bits`.
#[inline(always)]
fn sign(value: u64, bits: u32) -> u64 {
    ((value << (64 - bits)).cast_signed() >> (64 - bits)).cast_unsigned()
}

/// `st`. Lanes that store to one address at once are a race, even with equal values.
#[inline(always)]
pub(super) fn store(r: &Registers, on: &Active, t: &Transfer, view: &mut View<'_>) -> Outcome {
    let all = addresses(r, on, t.address)?;
    let total = u32::from(t.width) * u32::from(t.count);
    let words = (total as usize).div_ceil(4);
    let at_once = view.at_once();
    for (address, lanes) in Groups::new(on, &all, !at_once) {
        // Where races are not looked for, the highest lane lasts.
        let lane = 31 - lanes.leading_zeros();
        let record = view.record(AccessKind::Write, t.strong, bytes_of(address, total), lanes);
        let record = Record { itself: t.itself, ..record };
        let order = &mut *view.order;
        let (segment, word) = view.memories.locate(t.space, address, total, lanes)?;
        observe(segment, order, word, words, &record, t.space, address)?;
        let pieces = pieces(r, t, address, lane as usize);
        if t.space == Space::Global && is_unwritten(&pieces[..words]) {
            return Err(Trouble::new(FaultKind::PoisonOutput { address }, lanes));
        }
        if at_once {
            for (at, piece) in pieces[..words].iter().enumerate() {
                write(segment, word + at, piece);
            }
            if view.journal.is_some() {
                shadow::stored_at_once(r, t, (lane as usize, address), view);
            }
        } else {
            store_late(r, t, (address, lane), &pieces[..words], view)?;
        }
    }
    Ok(())
}

/// Whether nothing of what is stored was ever written. What is partly written may be padding, and is kept as it is:
/// whoever uses it, the host too, finds out.
#[inline(always)]
fn is_unwritten(pieces: &[Piece]) -> bool {
    pieces.iter().any(|piece| piece.poison != 0)
        && pieces.iter().all(|piece| piece.poison == piece.bytes)
}

#[inline(always)]
fn write(segment: &mut Segment, word: usize, piece: &Piece) {
    let (value, poison) = piece.over(segment.words[word], segment.poison[word]);
    (segment.words[word], segment.poison[word]) = (value, poison);
}

/// A store whose words are seen late, by some lanes of the instruction, or follow such.
fn store_late(
    r: &Registers,
    t: &Transfer,
    (first, lane): (u64, u32),
    pieces: &[Piece],
    view: &mut View<'_>,
) -> Outcome {
    let (space, address) = (t.space, first);
    let beside = shadow::stored_late(r, t, (lane as usize, first), view);
    let late = match view.moment & 3 {
        // Also where the schedule wants nothing special.
        0 => 0,
        1 => u32::MAX,
        // Those that the hash chooses.
        _ => high(view.moment),
    };
    let by = view.thread(lane);
    for (at, piece) in pieces.iter().enumerate() {
        let address = (address & !3) + 4 * at as u64;
        if late >> lane & 1 == 1 {
            let held = (*piece, beside.map(|all| Box::new(all[at])));
            let by = (by, t.strong.is_some());
            view.delayed.hold(space, address, held, by, &mut view.memories);
        } else {
            view.delayed.settle(space, address, by, &mut view.memories);
            let (segment, word) = view.memories.word(space, address, 1 << lane)?;
            write(segment, word, piece);
            if let (Some(cells), Some(all)) = (&mut segment.cells, beside) {
                let beside = landed(cells.unchecked(word), all[at], piece.bytes);
                cells.set(word, segment.words[word], beside);
            }
        }
    }
    Ok(())
}

/// What a lane stores to each word.
#[inline(always)]
pub(super) fn pieces(r: &Registers, t: &Transfer, address: u64, lane: usize) -> [Piece; 4] {
    let mut pieces = [Piece::default(); 4];
    for element in 0..usize::from(t.count) {
        let slot = t.slots[element];
        let (value, poison) = if t.b64 {
            (r.b64.get(slot)[lane], r.b64.poison(slot))
        } else {
            (u64::from(r.words.get(slot)[lane]), r.words.poison(slot))
        };
        let poison = if poison >> lane & 1 == 1 { poison_of(r, t, slot, lane) } else { 0 };
        #[expect(clippy::cast_possible_truncation, reason = "the halves of 64 bits are words")]
        let [low, high] = [value as u32, (value >> 32) as u32];
        match t.width {
            8 => {
                pieces[2 * element] = Piece { value: low, bytes: 0xf, poison: poison & 0xf };
                pieces[2 * element + 1] = Piece { value: high, bytes: 0xf, poison: poison >> 4 };
            }
            4 => pieces[element] = Piece { value: low, bytes: 0xf, poison: poison & 0xf },
            width => {
                let at = (address & 3) as usize + usize::from(width) * element;
                let bytes = bytes_of(at as u64, width.into());
                let value = (low & ((1 << (8 * width)) - 1)) << (8 * (at % 4));
                let piece = &mut pieces[at / 4];
                piece.value |= value;
                piece.bytes |= bytes;
                piece.poison |= (poison & bytes_of(0, width.into())) << (at % 4);
            }
        }
    }
    pieces
}
