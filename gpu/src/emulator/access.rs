//! Loads, stores and atomics.

use super::fault::{AccessKind, FaultKind, Trouble};
use super::float::flushed;
use super::ir::{Address, Atomic, AtomicOp, Base, SINK, Space, Transfer};
use super::memory::{DeviceMemory, Segment};
use super::race::{Record, WarpOrder};
use super::registers::{Active, LANES, Registers};

/// The memories a warp reaches, and who it is.
pub(super) struct View<'v> {
    pub(super) params: &'v Segment,
    pub(super) global: &'v mut DeviceMemory,
    pub(super) shared: &'v mut Segment,
    pub(super) block: u32,
    pub(super) epoch: u32,
    pub(super) warp: u16,
    pub(super) order: &'v WarpOrder,
    pub(super) line: u32,
}

type Outcome = Result<(), Box<Trouble>>;

/// The address of every lane.
#[inline(always)]
fn addresses(r: &Registers, on: &Active, address: Address) -> Result<[u64; LANES], Box<Trouble>> {
    let mut all = [address.offset.cast_unsigned(); LANES];
    let poison = match address.base {
        Base::None => 0,
        Base::Word(slot) => {
            for (at, base) in all.iter_mut().zip(r.words.get(slot)) {
                *at = at.wrapping_add(u64::from(*base)) & 0xffff_ffff;
            }
            r.words.poison(slot)
        }
        Base::Double(slot) => {
            for (at, base) in all.iter_mut().zip(r.doubles.get(slot)) {
                *at = at.wrapping_add(*base);
            }
            r.doubles.poison(slot)
        }
    };
    if poison & on.bits != 0 {
        return Err(Trouble::new(FaultKind::PoisonAddress, poison & on.bits));
    }
    Ok(all)
}

/// The lanes by address, ascending: all at once where they agree, else one by one.
struct Groups<'a> {
    rest: u32,
    addresses: &'a [u64; LANES],
    uniform: bool,
}

impl<'a> Groups<'a> {
    #[inline(always)]
    fn new(on: &Active, addresses: &'a [u64; LANES]) -> Self {
        let first = addresses[on.bits.trailing_zeros() as usize & 31];
        let mut differ = 0;
        for (address, mask) in addresses.iter().zip(&on.mask) {
            differ |= (address ^ first) & i64::from(mask.cast_signed()).cast_unsigned();
        }
        Self { rest: on.bits, addresses, uniform: differ == 0 }
    }
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
    /// The memory that holds `address` and the word of it.
    #[inline(always)]
    fn locate(
        &mut self,
        space: Space,
        address: u64,
        width: u32,
        lanes: u32,
    ) -> Result<(&mut Segment, usize), Box<Trouble>> {
        let found = match space {
            Space::Shared => Some((&mut *self.shared, address)),
            _ => self.global.segment(address),
        };
        let Some((segment, offset)) = found else {
            let kind = FaultKind::OutOfBounds { space, address, width };
            return Err(Trouble::new(kind, lanes));
        };
        match segment.locate(offset, width, space, address) {
            Ok(word) => Ok((segment, word)),
            Err(kind) => Err(Trouble::new(kind, lanes)),
        }
    }

    #[inline(always)]
    fn record(&self, kind: AccessKind, bytes: u8, lanes: u32) -> Record {
        Record {
            kind,
            bytes,
            warp: self.warp,
            block: self.block,
            epoch: self.epoch,
            time: self.time(),
            lanes,
            line: self.line,
        }
    }

    #[inline(always)]
    fn time(&self) -> u32 {
        self.order.time
    }
}

/// Tells the shadow of an access to `words` words from `word`.
#[inline(always)]
fn observe(
    segment: &mut Segment,
    order: &WarpOrder,
    word: usize,
    words: usize,
    record: &Record,
    space: Space,
    address: u64,
) -> Outcome {
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
fn bytes_of(address: u64, width: u32) -> u8 {
    match width {
        1 => 1 << (address & 3),
        2 => 3 << (address & 2),
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
    for (address, lanes) in Groups::new(on, &all) {
        let mut values = [0_u32; 4];
        let mut poison = [0_u8; 4];
        if t.space == Space::Param {
            let word = view.params.locate(address, total, t.space, address);
            let word = word.map_err(|kind| Trouble::new(kind, lanes))?;
            values[..words].copy_from_slice(&view.params.words[word..word + words]);
        } else {
            let record = view.record(AccessKind::Read, bytes_of(address, total), lanes);
            let order = view.order;
            let (segment, word) = view.locate(t.space, address, total, lanes)?;
            values[..words].copy_from_slice(&segment.words[word..word + words]);
            poison[..words].copy_from_slice(&segment.poison[word..word + words]);
            observe(segment, order, word, words, &record, t.space, address)?;
        }
        deliver(r, t, lanes, address, &values, &poison);
    }
    Ok(())
}

/// Puts what a load read into the registers of `lanes`.
#[inline(always)]
fn deliver(
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
        let (value, poisoned) = match t.width {
            8 => {
                let (low, high) = (values[2 * element], values[2 * element + 1]);
                let poisoned = poison[2 * element] | poison[2 * element + 1];
                (u64::from(high) << 32 | u64::from(low), poisoned != 0)
            }
            4 => {
                let value = u64::from(values[element]);
                let signed = if t.signed && t.double { sign(value, 32) } else { value };
                (signed, poison[element] != 0)
            }
            width => {
                let at =
                    (address & 3) as u32 + u32::from(width) * u32::try_from(element).unwrap_or(0);
                let bits = 8 * u32::from(width);
                let word = (at / 4) as usize;
                let value = u64::from(values[word]) >> (8 * (at % 4)) & ((1 << bits) - 1);
                let touched = bytes_of(u64::from(at), width.into());
                let signed = if t.signed { sign(value, bits) } else { value };
                (signed, poison[word] & touched != 0)
            }
        };
        let poisoned = if poisoned { lanes } else { 0 };
        if t.double {
            if lanes.is_power_of_two() {
                r.doubles.set_lane(slot, lanes.trailing_zeros() as usize, value, poisoned != 0);
            } else {
                r.doubles.set(slot, &Active::new(lanes), &[value; LANES], poisoned);
            }
        } else {
            let value = (value & 0xffff_ffff) as u32;
            if lanes.is_power_of_two() {
                r.words.set_lane(slot, lanes.trailing_zeros() as usize, value, poisoned != 0);
            } else {
                r.words.set(slot, &Active::new(lanes), &[value; LANES], poisoned);
            }
        }
    }
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
    let width = u32::from(t.width);
    let total = width * u32::from(t.count);
    let words = (total as usize).div_ceil(4);
    for (address, lanes) in Groups::new(on, &all) {
        // Where races are not looked for, the highest lane lasts.
        let lane = 31 - lanes.leading_zeros() as usize;
        let record = view.record(AccessKind::Write, bytes_of(address, total), lanes);
        let order = view.order;
        let byte = (address & 3) as usize;
        let (segment, word) = view.locate(t.space, address, total, lanes)?;
        observe(segment, order, word, words, &record, t.space, address)?;
        for element in 0..usize::from(t.count) {
            let slot = t.slots[element];
            let (value, poison) = if t.double {
                (r.doubles.get(slot)[lane], r.doubles.poison(slot))
            } else {
                (u64::from(r.words.get(slot)[lane]), r.words.poison(slot))
            };
            let poisoned = poison >> lane & 1 == 1;
            if poisoned && t.space == Space::Global {
                return Err(Trouble::new(FaultKind::PoisonOutput { address }, lanes));
            }
            put(segment, word, byte, element, width, value, poisoned);
        }
    }
    Ok(())
}

/// Writes one element of a store.
#[inline(always)]
fn put(
    segment: &mut Segment,
    word: usize,
    byte: usize,
    element: usize,
    width: u32,
    value: u64,
    poisoned: bool,
) {
    let poison = if poisoned { 0xf } else { 0 };
    #[expect(clippy::cast_possible_truncation, reason = "the halves of a double are words")]
    let halves = [value as u32, (value >> 32) as u32];
    match width {
        8 => {
            segment.words[word + 2 * element] = halves[0];
            segment.words[word + 2 * element + 1] = halves[1];
            segment.poison[word + 2 * element] = poison;
            segment.poison[word + 2 * element + 1] = poison;
        }
        4 => {
            segment.words[word + element] = halves[0];
            segment.poison[word + element] = poison;
        }
        width => {
            let at = byte + width as usize * element;
            let (word, shift) = (word + at / 4, 8 * (at % 4));
            let mask = ((1_u32 << (8 * width)) - 1) << shift;
            segment.words[word] = segment.words[word] & !mask | halves[0] << shift & mask;
            let touched = bytes_of(at as u64, width);
            segment.poison[word] = segment.poison[word] & !touched | poison & touched;
        }
    }
}

/// `atom` and `red`: the lanes go one after the other, ascending.
#[inline(always)]
pub(super) fn atomic(r: &mut Registers, on: &Active, a: &Atomic, view: &mut View<'_>) -> Outcome {
    let all = addresses(r, on, a.address)?;
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
    let total = 4 * u32::from(a.count);
    for (address, lanes) in Groups::new(on, &all) {
        let record = view.record(AccessKind::Atomic, 0xf, lanes);
        let order = view.order;
        let (segment, word) = view.locate(a.space, address, total, lanes)?;
        observe(segment, order, word, count, &record, a.space, address)?;
        for element in 0..count {
            let at = word + element;
            if a.space == Space::Global {
                segment.count_atomics(at, lanes.count_ones());
            }
            // A word never written stays so: what is added to it is lost in it.
            let poisoned = segment.poison[at] != 0 && a.op != AtomicOp::Exchange;
            for lane in (Active { bits: lanes, mask: [0; LANES] }).lanes() {
                let old = segment.words[at];
                let operand = r.words.get(a.operands[element])[lane];
                let swap = if a.swap == SINK { 0 } else { r.words.get(a.swap)[lane] };
                segment.words[at] = combine(a.op, a.space, old, operand, swap);
                if a.results[element] != SINK {
                    r.words.set_lane(a.results[element], lane, old, poisoned);
                }
            }
            if !poisoned {
                segment.poison[at] = 0;
            }
        }
    }
    Ok(())
}

/// The new value of a word. Float addition on global memory flushes subnormals, that on shared
/// memory does not (PTX ISA, "atom").
#[inline(always)]
fn combine(op: AtomicOp, space: Space, old: u32, operand: u32, swap: u32) -> u32 {
    match op {
        AtomicOp::AddFloat => {
            let flush = |bits| if space == Space::Global { flushed(bits) } else { bits };
            let sum = f32::from_bits(flush(old)) + f32::from_bits(flush(operand));
            if sum.is_nan() { 0x7fff_ffff } else { flush(sum.to_bits()) }
        }
        AtomicOp::Add => old.wrapping_add(operand),
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
}
