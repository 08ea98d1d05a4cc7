//! Device memory and a block's shared memory.
//!
//! Global addresses are windows of 1 TiB: window 0 is nobody's (a null pointer faults), window 1
//! holds the module's variables, every buffer has one of its own. An access past the end of a
//! buffer therefore never lands in another, as long as it is an index of 32 bits into elements of up to 128 bytes.
//! A hundred windows have addresses of 47 bits, as on a device.

use super::fault::FaultKind;
use super::ir::{Orders, Space};
use super::race::Shadow;
use super::shadow::cells::Cells;
use super::shadow::journal::Journal;

/// Bits of an address below the window's number.
const WINDOW_BITS: u32 = 40;

/// Address of the module's variables.
pub(super) const MODULE_BASE: u64 = 1 << WINDOW_BITS;

/// Every byte of a word is poison.
const ALL: u8 = 0xf;

/// The type of a buffer's floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FloatType {
    /// 32 bits: `float`.
    #[default]
    F32,
    /// 16 bits, 11 of them for the digits (IEEE 754 binary16): `__half`.
    F16,
    /// 16 bits, 8 of them for the digits: `__nv_bfloat16`.
    Bf16,
}

impl FloatType {
    /// Bytes of a number.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }
}

/// What launches did to a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// A load or an atomic operation read some of it.
    pub read: bool,
    /// A store or an atomic operation wrote some of it.
    pub written: bool,
}

impl std::ops::BitOr for Touched {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self { read: self.read | other.read, written: self.written | other.written }
    }
}

impl std::ops::BitOrAssign for Touched {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

/// Words with what is known of them.
#[derive(Debug, Default)]
pub(super) struct Segment {
    pub(super) words: Vec<u32>,
    /// Bytes never written, a bit each, per word.
    pub(super) poison: Vec<u8>,
    bytes: u64,
    /// Bytes below this one are nobody's.
    pub(super) first: u64,
    /// Absent when races are not looked for.
    pub(super) shadow: Option<Shadow>,
    /// Atomic operations per word, empty before the first.
    pub(super) atomics: Vec<u32>,
    /// What all launches did to it.
    pub(super) touched: Touched,
    /// Its name, of a buffer that kernels only read.
    pub(super) input: Option<Box<str>>,
    /// What is beside its words, where floats are followed.
    pub(super) cells: Option<Box<Cells>>,
    /// The type of its floats.
    pub(super) floats: FloatType,
}

impl Segment {
    /// `bytes` that were never written.
    pub(super) fn uninitialized(bytes: usize) -> Self {
        let words = bytes.div_ceil(4);
        Self {
            words: vec![0; words],
            poison: vec![ALL; words],
            bytes: bytes as u64,
            first: 0,
            shadow: None,
            atomics: Vec::new(),
            touched: Touched::default(),
            input: None,
            cells: None,
            floats: FloatType::F32,
        }
    }

    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut segment = Self::uninitialized(bytes.len());
        segment.poison.fill(0);
        for (word, chunk) in segment.words.iter_mut().zip(bytes.chunks(4)) {
            let mut whole = [0; 4];
            whole[..chunk.len()].copy_from_slice(chunk);
            *word = u32::from_le_bytes(whole);
        }
        segment
    }

    /// Starts looking for races, or stops; `orders` says whom the kernel may order.
    pub(super) fn watch(&mut self, races: bool, orders: Orders) {
        if races {
            let shadow = self.shadow.get_or_insert_with(|| Shadow::new(self.words.len()));
            shadow.clear(orders);
        } else {
            self.shadow = None;
        }
        self.atomics.clear();
    }

    /// Back to memory nobody has written, for another block.
    pub(super) fn reset(&mut self, orders: Orders) {
        self.poison.fill(ALL);
        self.watch(self.shadow.is_some(), orders);
        if let Some(cells) = &mut self.cells {
            cells.clear();
        }
    }

    /// How many bytes it has.
    pub(super) fn byte_count(&self) -> usize {
        usize::try_from(self.bytes).unwrap_or(usize::MAX)
    }

    /// Whether a byte was never written.
    fn is_unwritten(&self, at: usize) -> bool {
        self.poison[at / 4] >> (at % 4) & 1 == 1
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.truncate(self.byte_count());
        bytes
    }

    /// The word that holds the first of `width` bytes at `offset`; `address` is for the report.
    #[inline(always)]
    pub(super) fn locate(
        &self,
        offset: u64,
        width: u32,
        space: Space,
        address: u64,
    ) -> Result<usize, FaultKind> {
        if offset & u64::from(width - 1) != 0 {
            return Err(FaultKind::Misaligned { space, address, width });
        }
        match offset.checked_add(u64::from(width)) {
            Some(end) if end <= self.bytes && offset >= self.first => {
                usize::try_from(offset / 4).map_err(|_| FaultKind::PoisonAddress)
            }
            Some(_) | None => Err(FaultKind::OutOfBounds { space, address, width }),
        }
    }

    /// Marks an atomic operation.
    #[inline]
    pub(super) fn count_atomics(&mut self, word: usize, operations: u32) {
        if self.atomics.is_empty() {
            self.atomics = vec![0; self.words.len()];
        }
        self.atomics[word] += operations;
    }
}

/// A buffer in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Buffer(u32);

impl Buffer {
    /// The device address of its first byte.
    #[must_use]
    pub fn address(self) -> u64 {
        (u64::from(self.0) + 2) << WINDOW_BITS
    }

    /// Its number among the segments.
    pub(super) fn index(self) -> usize {
        self.0 as usize + 1
    }

    /// The buffer of a segment that is no module's.
    pub(super) fn of_index(index: usize) -> Self {
        Self(u32::try_from(index.saturating_sub(1)).unwrap_or(u32::MAX))
    }
}

/// A read of bytes that no kernel and no host wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{count} bytes of the buffer were never written, the first at {first}")]
pub struct NeverWritten {
    /// Offset of the first such byte.
    pub first: usize,
    /// How many.
    pub count: usize,
}

/// Which module variables are of, and what they held at first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Variables {
    module: u32,
    at_first: Vec<u8>,
}

/// The memory of the device: buffers that launches read and write.
#[derive(Debug, Default)]
pub struct DeviceMemory {
    /// The module's variables first, then the buffers.
    segments: Vec<Segment>,
    /// The module whose variables those are.
    loaded: Variables,
    /// Those of the modules that ran before it.
    parked: Vec<(Variables, Segment)>,
    /// What stands for all memory beyond the buffers, where its accesses are forgiven.
    beyond: Option<Buffer>,
    /// What is kept of floats that are followed.
    pub(super) journal: Option<Box<Journal>>,
}

/// Bytes of the widest access.
const WIDEST: usize = 16;

impl DeviceMemory {
    /// No buffers.
    #[must_use]
    pub fn new() -> Self {
        Self { segments: vec![Segment::default()], ..Self::default() }
    }

    /// Takes all buffers away. Modules stay loaded, with what their variables hold.
    pub fn free_buffers(&mut self) {
        self.segments.truncate(1);
        self.beyond = None;
    }

    /// Whether a variable of a module holds something else than when it was loaded.
    #[must_use]
    pub fn has_changed_variables(&self) -> bool {
        let loaded = self.segments.first().map(|segment| (&self.loaded, segment));
        let parked = self.parked.iter().map(|(variables, segment)| (variables, segment));
        let mut all = loaded.into_iter().chain(parked);
        all.any(|(variables, segment)| segment.to_bytes() != variables.at_first)
    }

    /// Another memory of the same device, without buffers, whose variables of modules hold what they hold here.
    #[must_use]
    pub fn of_next_run(&self) -> Self {
        let kept = |segment: &Segment| Segment::of(&segment.to_bytes());
        let parked = self.parked.iter();
        Self {
            segments: self.segments.first().map(kept).into_iter().collect(),
            loaded: self.loaded.clone(),
            parked: parked.map(|(of, segment)| (of.clone(), kept(segment))).collect(),
            ..Self::default()
        }
    }

    fn push(&mut self, segment: Segment) -> Buffer {
        if self.segments.is_empty() {
            self.segments.push(Segment::default());
        }
        self.segments.push(segment);
        Buffer(u32::try_from(self.segments.len() - 2).unwrap_or(u32::MAX))
    }

    /// Whether accesses beyond the buffers are forgiven in the launch that begins: reads give what was never
    /// written, writes are lost.
    pub(super) fn forgive(&mut self, forgives: bool) {
        let made = self.beyond.filter(|_| forgives);
        let make = || self.push(Segment::uninitialized(2 * WIDEST));
        self.beyond = made.or_else(|| forgives.then(make));
    }

    /// The address of an access as it is made: its own, or one that stands for all that is beyond.
    #[inline(always)]
    pub(super) fn forgiven(&mut self, address: u64, width: u32) -> u64 {
        match self.beyond {
            None => address,
            Some(beyond) => self.inside_or(beyond, address, width),
        }
    }

    #[cold]
    fn inside_or(&mut self, beyond: Buffer, address: u64, width: u32) -> u64 {
        let inside = |(segment, offset): (&mut Segment, u64)| {
            offset.checked_add(u64::from(width)).is_some_and(|end| end <= segment.bytes)
        };
        if self.segment(address).is_some_and(inside) {
            return address;
        }
        self.segments[beyond.index()].reset(Orders::default());
        // As well aligned as its own.
        beyond.address() + address % WIDEST as u64
    }

    /// A buffer that holds `bytes`.
    pub fn upload(&mut self, bytes: &[u8]) -> Buffer {
        self.push(Segment::of(bytes))
    }

    /// A buffer that holds `bytes` and is an input: a kernel that writes to it misuses it, and is told its
    /// `name`.
    pub fn upload_input(&mut self, name: &str, bytes: &[u8]) -> Buffer {
        self.push(Segment { input: Some(name.into()), ..Segment::of(bytes) })
    }

    /// The buffer at or next to an address, if it is one of these, and the byte in it: negative before its first.
    #[must_use]
    pub fn buffer_at(&self, address: u64) -> Option<(Buffer, i64)> {
        let index = usize::try_from(address >> WINDOW_BITS).ok()?.checked_sub(1)?;
        let is_buffer = |index: usize| index > 0 && index < self.segments.len();
        let byte = (address & ((1 << WINDOW_BITS) - 1)).cast_signed();
        let before = byte - (1 << WINDOW_BITS);
        // Nearer to the begin of the next one.
        if -before < byte && is_buffer(index + 1) {
            return Some((Buffer::of_index(index + 1), before));
        }
        is_buffer(index).then(|| (Buffer::of_index(index), byte))
    }

    /// Bytes of a buffer.
    #[must_use]
    pub fn bytes(&self, buffer: Buffer) -> u64 {
        self.segment_at(buffer).map_or(0, |segment| segment.bytes)
    }

    /// What launches have done to a buffer.
    #[must_use]
    pub fn touched(&self, buffer: Buffer) -> Touched {
        self.segment_at(buffer).map(|segment| segment.touched).unwrap_or_default()
    }

    /// A buffer of `bytes` that were never written.
    pub fn allocate(&mut self, bytes: usize) -> Buffer {
        self.push(Segment::uninitialized(bytes))
    }

    /// What a buffer holds.
    ///
    /// # Errors
    /// [`NeverWritten`] when part of it was never written.
    pub fn read(&self, buffer: Buffer) -> Result<Vec<u8>, NeverWritten> {
        self.read_first(buffer, usize::MAX)
    }

    /// The first bytes of a buffer, so many or as many as it has.
    ///
    /// # Errors
    /// [`NeverWritten`] when part of them was never written.
    pub fn read_first(&self, buffer: Buffer, count: usize) -> Result<Vec<u8>, NeverWritten> {
        let Some(segment) = self.segments.get(buffer.0 as usize + 1) else {
            return Ok(Vec::new());
        };
        let mut bytes = segment.to_bytes();
        bytes.truncate(count);
        let unwritten = |at: &usize| segment.is_unwritten(*at);
        let count = (0..bytes.len()).filter(unwritten).count();
        match (0..bytes.len()).find(unwritten) {
            Some(first) => Err(NeverWritten { first, count }),
            None => Ok(bytes),
        }
    }

    /// What a buffer holds, with 0xff where nothing was ever written, and how many bytes these are.
    #[must_use]
    pub fn read_marked(&self, buffer: Buffer) -> (Vec<u8>, usize) {
        let Some(segment) = self.segment_at(buffer) else { return (Vec::new(), 0) };
        let mut bytes = segment.to_bytes();
        let unwritten: Vec<_> = (0..bytes.len()).filter(|at| segment.is_unwritten(*at)).collect();
        unwritten.iter().for_each(|&at| bytes[at] = 0xff);
        (bytes, unwritten.len())
    }

    /// Puts a module's variables in their place: with what its launches before left in them, or, of a module that
    /// has not run, with what they hold at first.
    pub(super) fn load(&mut self, module: u32, at_first: &[u8]) {
        if self.segments.is_empty() {
            self.segments.push(Segment::default());
        }
        if (self.loaded.module, &*self.loaded.at_first) == (module, at_first) {
            return;
        }
        let wanted = Variables { module, at_first: at_first.to_vec() };
        let known = self.parked.iter().position(|(variables, _)| *variables == wanted);
        let own = known.map(|at| self.parked.swap_remove(at).1);
        let own = own.unwrap_or_else(|| Segment::of(at_first));
        let before = (
            std::mem::replace(&mut self.loaded, wanted),
            std::mem::replace(&mut self.segments[0], own),
        );
        // Another text of the same module takes its place.
        if before.0.module != module {
            self.parked.push(before);
        }
    }

    /// Prepares for a launch.
    pub(super) fn begin(&mut self, races: bool, orders: Orders) {
        for segment in &mut self.segments {
            segment.watch(races, orders);
        }
    }

    /// All segments.
    pub(super) fn segments_mut(&mut self) -> impl Iterator<Item = &mut Segment> {
        self.segments.iter_mut()
    }

    /// The segment of a buffer.
    pub(super) fn segment_at(&self, buffer: Buffer) -> Option<&Segment> {
        self.segments.get(buffer.index())
    }

    /// The same, to be changed.
    pub(super) fn segment_of(&mut self, buffer: Buffer) -> Option<&mut Segment> {
        self.segments.get_mut(buffer.index())
    }

    /// The segment of an address and the offset in it.
    #[inline(always)]
    pub(super) fn segment(&mut self, address: u64) -> Option<(&mut Segment, u64)> {
        let window = usize::try_from(address >> WINDOW_BITS).ok()?;
        let segment = self.segments.get_mut(window.checked_sub(1)?)?;
        Some((segment, address & ((1 << WINDOW_BITS) - 1)))
    }

    /// Atomic operations per address, in ascending order of addresses.
    pub(super) fn atomics(&self) -> impl Iterator<Item = (u64, u32)> {
        self.segments.iter().enumerate().flat_map(|(index, segment)| {
            let base = (index as u64 + 1) << WINDOW_BITS;
            let counted = segment.atomics.iter().enumerate().filter(|&(_, &count)| count > 0);
            counted.map(move |(word, &count)| (base + 4 * word as u64, count))
        })
    }
}
