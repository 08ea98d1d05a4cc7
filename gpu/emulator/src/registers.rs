//! The registers of a warp, one array of 32 lanes per slot, each with the lanes that are poison.

use std::collections::HashMap;

use super::ir::{File as In, Kernel, Place, Predicate, SINK, Slot};
use super::lanes::{Active, Bits, LANES, low};
use super::shadow::registers::Beside;

/// A value of each lane, where they lie in as few lines of the cache as they can.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Lanes<T>([T; LANES]);

/// Values of one width: registers, then constants.
#[derive(Debug)]
pub(super) struct File<T> {
    values: Vec<Lanes<T>>,
    /// Lanes whose value was never written, or was computed from such a value. Apart from the values: each
    /// block sets all of them.
    poison: Vec<u32>,
    /// Of lanes that are poison the bits that are, where it is not all of them; of other lanes nothing.
    partly: HashMap<Slot, Box<[T; LANES]>>,
    /// What the arithmetic that is being executed has written poison over.
    over: Vec<Held<T>>,
    registers: usize,
}

/// What a slot held.
#[derive(Clone, Debug)]
struct Held<T> {
    slot: Slot,
    values: Lanes<T>,
    poison: u32,
    partly: Option<Box<[T; LANES]>>,
}

impl<T: Copy + Default> File<T> {
    fn new(registers: Slot, constants: &[T]) -> Self {
        let registers = usize::from(registers);
        let mut values = Vec::with_capacity(registers + constants.len());
        values.resize(registers, Lanes([T::default(); LANES]));
        values.extend(constants.iter().map(|&c| Lanes([c; LANES])));
        let mut poison = vec![0; values.len()];
        poison[..registers].fill(u32::MAX);
        Self { values, poison, partly: HashMap::new(), over: Vec::new(), registers }
    }

    fn reset(&mut self) {
        self.poison[..self.registers].fill(u32::MAX);
        self.partly.clear();
    }

    /// Whether of each lane of a slot all bits are poison, or none.
    pub(super) fn is_whole(&self, slot: Slot) -> bool {
        !self.partly.contains_key(&slot)
    }

    /// What a slot holds.
    fn held(&self, slot: Slot) -> Held<T> {
        let at = usize::from(slot);
        let partly = self.partly.get(&slot).cloned();
        Held { slot, values: self.values[at], poison: self.poison[at], partly }
    }

    fn put(&mut self, held: Held<T>) {
        let at = usize::from(held.slot);
        (self.values[at], self.poison[at]) = (held.values, held.poison);
        match held.partly {
            Some(partly) => drop(self.partly.insert(held.slot, partly)),
            None => drop(self.partly.remove(&held.slot)),
        }
    }

    /// Exchanges what arithmetic has written poison over with what it wrote.
    fn take_back(&mut self) -> Vec<Held<T>> {
        let over = std::mem::take(&mut self.over);
        let after = over.iter().map(|held| self.held(held.slot)).collect();
        over.into_iter().rev().for_each(|held| self.put(held));
        after
    }

    /// Arithmetic writes poison: keeps what it writes over. All bits of its lanes are poison so far.
    #[cold]
    #[inline(never)]
    fn poisoned(&mut self, slot: Slot, lanes: u32) {
        self.over.push(self.held(slot));
        self.forget(slot, lanes);
    }

    /// Of lanes of a slot all bits are poison, or none.
    #[cold]
    #[inline(never)]
    fn forget(&mut self, slot: Slot, lanes: u32) {
        if let Some(partly) = self.partly.get_mut(&slot) {
            Bits(lanes).for_each(|lane| partly[lane] = T::default());
        }
    }

    /// These bits of lanes of a slot are poison, and no others.
    fn mark(&mut self, slot: Slot, lanes: u32, undefined: &[T; LANES])
    where
        T: PartialEq,
    {
        if slot == SINK {
            return;
        }
        let partly = self.partly.entry(slot).or_insert_with(|| [T::default(); LANES].into());
        let mut poison = 0;
        for lane in Bits(lanes) {
            partly[lane] = undefined[lane];
            poison |= u32::from(undefined[lane] != T::default()) << lane;
        }
        self.set_poison(slot, lanes, poison);
    }

    /// The values of a slot.
    #[inline(always)]
    pub(super) fn get(&self, slot: Slot) -> &[T; LANES] {
        &self.values[usize::from(slot)].0
    }

    /// The poisoned lanes of a slot.
    #[inline(always)]
    pub(super) fn poison(&self, slot: Slot) -> u32 {
        self.poison[usize::from(slot)]
    }

    /// Sets one lane.
    #[inline(always)]
    pub(super) fn set_lane(&mut self, slot: Slot, lane: usize, value: T, poisoned: bool) {
        self.values[usize::from(slot)].0[lane] = value;
        if poisoned {
            self.forget(slot, 1 << lane);
        }
        let poison = &mut self.poison[usize::from(slot)];
        *poison = *poison & !(1 << lane) | u32::from(poisoned) << lane;
    }

    /// The value of a slot that is a constant.
    #[inline(always)]
    pub(super) fn constant(&self, slot: Slot) -> Option<T> {
        let slot = usize::from(slot);
        if slot < self.registers { None } else { self.values.get(slot).map(|lanes| lanes.0[0]) }
    }

    #[inline(always)]
    fn set_poison(&mut self, slot: Slot, active: u32, poisoned: u32) {
        let poison = &mut self.poison[usize::from(slot)];
        *poison = *poison & !active | poisoned & active;
    }
}

impl File<u32> {
    /// Sets the active lanes, as arithmetic does.
    #[inline(always)]
    pub(super) fn set(&mut self, slot: Slot, on: &Active, values: &[u32; LANES], poisoned: u32) {
        if poisoned & on.bits != 0 {
            self.poisoned(slot, poisoned & on.bits);
        }
        self.write(slot, on, values, poisoned);
    }

    /// The same of what came from elsewhere.
    #[inline(always)]
    pub(super) fn give(&mut self, slot: Slot, on: &Active, values: &[u32; LANES], poisoned: u32) {
        if poisoned & on.bits != 0 {
            self.forget(slot, poisoned & on.bits);
        }
        self.write(slot, on, values, poisoned);
    }

    #[inline(always)]
    fn write(&mut self, slot: Slot, on: &Active, values: &[u32; LANES], poisoned: u32) {
        let d = &mut self.values[usize::from(slot)].0;
        if on.bits == u32::MAX {
            *d = *values;
            self.poison[usize::from(slot)] = poisoned;
            return;
        }
        on.put(d, values);
        self.set_poison(slot, on.bits, poisoned);
    }
}

impl File<u64> {
    /// Sets the active lanes, as arithmetic does.
    #[inline(always)]
    pub(super) fn set(&mut self, slot: Slot, on: &Active, values: &[u64; LANES], poisoned: u32) {
        if poisoned & on.bits != 0 {
            self.poisoned(slot, poisoned & on.bits);
        }
        self.write(slot, on, values, poisoned);
    }

    /// The same of what came from elsewhere.
    #[inline(always)]
    pub(super) fn give(&mut self, slot: Slot, on: &Active, values: &[u64; LANES], poisoned: u32) {
        if poisoned & on.bits != 0 {
            self.forget(slot, poisoned & on.bits);
        }
        self.write(slot, on, values, poisoned);
    }

    #[inline(always)]
    fn write(&mut self, slot: Slot, on: &Active, values: &[u64; LANES], poisoned: u32) {
        let d = &mut self.values[usize::from(slot)].0;
        if on.bits == u32::MAX {
            *d = *values;
            self.poison[usize::from(slot)] = poisoned;
            return;
        }
        for ((d, &value), mask) in d.iter_mut().zip(values).zip(&on.mask) {
            let mask = i64::from(mask.cast_signed()).cast_unsigned();
            *d = value & mask | *d & !mask;
        }
        self.set_poison(slot, on.bits, poisoned);
    }
}

/// The registers of a warp.
#[derive(Debug)]
pub(super) struct Registers {
    /// A bit per lane; the slot after the registers is the constant false.
    pub(super) predicates: Vec<u32>,
    pub(super) predicate_poison: Vec<u32>,
    pub(super) words: File<u32>,
    pub(super) b64: File<u64>,
    /// What is beside them, where floats are followed.
    pub(super) beside: Option<Box<Beside>>,
}

/// What arithmetic wrote, which [`Registers::take_back`] has taken back.
pub(super) struct After {
    words: Vec<Held<u32>>,
    b64: Vec<Held<u64>>,
}

/// Bits that are poison. Those of words stand in the lower half.
impl Registers {
    /// Whether arithmetic has just written poison.
    #[inline(always)]
    pub(super) fn has_new_poison(&self) -> bool {
        !self.words.over.is_empty() || !self.b64.over.is_empty()
    }

    /// Undoes what arithmetic has written where it wrote poison.
    pub(super) fn take_back(&mut self) -> After {
        After { words: self.words.take_back(), b64: self.b64.take_back() }
    }

    /// Writes it again.
    pub(super) fn put_forward(&mut self, after: After) {
        after.words.into_iter().for_each(|held| self.words.put(held));
        after.b64.into_iter().for_each(|held| self.b64.put(held));
    }

    /// The values of a slot.
    pub(super) fn bits(&self, place: Place) -> [u64; LANES] {
        match place.file {
            In::Word => self.words.get(place.slot).map(u64::from),
            In::B64 => *self.b64.get(place.slot),
            In::Predicate => [0; LANES],
        }
    }

    /// Sets the values of a slot, and nothing else.
    pub(super) fn set_bits(&mut self, place: Place, bits: &[u64; LANES]) {
        let at = usize::from(place.slot);
        match place.file {
            In::Word => self.words.values[at].0 = bits.map(low),
            In::B64 => self.b64.values[at].0 = *bits,
            In::Predicate => {}
        }
    }

    /// The bits of a slot that are poison.
    pub(super) fn undefined(&self, place: Place) -> [u64; LANES] {
        let (poison, partly): (u32, Option<[u64; LANES]>) = match place.file {
            In::Word => {
                let partly = self.words.partly.get(&place.slot);
                (self.words.poison(place.slot), partly.map(|partly| partly.map(u64::from)))
            }
            In::B64 => {
                (self.b64.poison(place.slot), self.b64.partly.get(&place.slot).map(|all| **all))
            }
            In::Predicate => (self.predicate_poison[usize::from(place.slot)], None),
        };
        let all = if place.file == In::Word { u64::from(u32::MAX) } else { u64::MAX };
        std::array::from_fn(|lane| match (poison >> lane & 1, &partly) {
            (0, _) => 0,
            (_, Some(partly)) if partly[lane] != 0 => partly[lane],
            _ => all,
        })
    }

    /// These bits of lanes of a slot are poison, and no others.
    pub(super) fn mark(&mut self, place: Place, lanes: u32, undefined: &[u64; LANES]) {
        match place.file {
            In::Word => self.words.mark(place.slot, lanes, &undefined.map(low)),
            In::B64 => self.b64.mark(place.slot, lanes, undefined),
            In::Predicate => {}
        }
    }
}

impl Registers {
    /// About how many bytes they take, what is beside them included.
    pub(super) fn bytes(&self) -> usize {
        let own = size_of_val(&self.words.values[..]) + size_of_val(&self.b64.values[..]);
        if self.beside.is_some() { 4 * own } else { own }
    }

    /// `followed`: whether floats are.
    pub(super) fn new(kernel: &Kernel, followed: bool) -> Self {
        let predicates = usize::from(kernel.predicates);
        let mut predicate_poison = vec![u32::MAX; predicates + 1];
        predicate_poison[predicates] = 0;
        Self {
            predicates: vec![0; predicates + 1],
            predicate_poison,
            words: File::new(kernel.words, &kernel.word_constants),
            b64: File::new(kernel.b64, &kernel.b64_constants),
            beside: followed.then(Box::default),
        }
    }

    /// Back to the state of a new warp.
    pub(super) fn reset(&mut self) {
        let last = self.predicate_poison.len() - 1;
        self.predicate_poison[..last].fill(u32::MAX);
        self.words.reset();
        self.b64.reset();
        if let Some(beside) = &mut self.beside {
            beside.reset();
        }
    }

    /// The lanes where a predicate operand is true.
    #[inline(always)]
    pub(super) fn truth(&self, predicate: Predicate) -> u32 {
        let bits = self.predicates[usize::from(predicate.slot)];
        if predicate.negated { !bits } else { bits }
    }

    #[inline(always)]
    pub(super) fn truth_poison(&self, predicate: Predicate) -> u32 {
        self.predicate_poison[usize::from(predicate.slot)]
    }

    /// Sets the active lanes of a predicate.
    #[inline(always)]
    pub(super) fn set_predicate(&mut self, slot: Slot, active: u32, bits: u32, poisoned: u32) {
        let slot = usize::from(slot);
        self.predicates[slot] = self.predicates[slot] & !active | bits & active;
        self.predicate_poison[slot] = self.predicate_poison[slot] & !active | poisoned & active;
    }
}
