//! The registers of a warp, one array of 32 lanes per slot, each with the lanes that are poison.

use super::ir::{Kernel, Predicate, Slot};
use super::lanes::{Active, LANES};
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
    registers: usize,
}

impl<T: Copy + Default> File<T> {
    fn new(registers: Slot, constants: &[T]) -> Self {
        let registers = usize::from(registers);
        let mut values = Vec::with_capacity(registers + constants.len());
        values.resize(registers, Lanes([T::default(); LANES]));
        values.extend(constants.iter().map(|&c| Lanes([c; LANES])));
        let mut poison = vec![0; values.len()];
        poison[..registers].fill(u32::MAX);
        Self { values, poison, registers }
    }

    fn reset(&mut self) {
        self.poison[..self.registers].fill(u32::MAX);
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
    /// Sets the active lanes.
    #[inline(always)]
    pub(super) fn set(&mut self, slot: Slot, on: &Active, values: &[u32; LANES], poisoned: u32) {
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
    /// Sets the active lanes.
    #[inline(always)]
    pub(super) fn set(&mut self, slot: Slot, on: &Active, values: &[u64; LANES], poisoned: u32) {
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
