//! What is known of all registers at one place of a kernel.

use super::super::ir::{File, Kernel, Place, Predicate, Slot};
use super::integers::{Integers, mask};
use super::transfer::{Known, Operands, anything};

/// What is known in front of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) words: Vec<Integers>,
    pub(super) b64: Vec<Integers>,
    pub(super) predicates: Vec<Option<bool>>,
    /// Which instruction gave each predicate, as long as its operands are what they were.
    pub(super) definitions: Vec<Option<u32>>,
}

/// A state of a kernel, whose constants are known everywhere.
#[derive(Clone, Copy)]
pub(super) struct In<'s> {
    pub(super) kernel: &'s Kernel,
    pub(super) state: &'s State,
}

impl Operands for In<'_> {
    fn integer(&self, file: File, slot: Slot) -> Integers {
        let place = Place { file, slot };
        match (self.state.known(place).unwrap_or(anything(file)), self.kernel.constant(place)) {
            (Known::Integer(known), None) => known,
            (Known::Integer(any), Some(value)) => Integers::one(value, any.width),
            (Known::Predicate(_), _) => Integers::any(32),
        }
    }

    fn predicate(&self, Predicate { slot, negated }: Predicate) -> Option<bool> {
        // The slot after the registers is the constant false.
        let known = self.state.predicates.get(usize::from(slot)).copied();
        known.unwrap_or(Some(false)).map(|holds| holds != negated)
    }
}

impl State {
    pub(super) fn new(kernel: &Kernel) -> Self {
        Self {
            words: vec![Integers::any(32); usize::from(kernel.words)],
            b64: vec![Integers::any(64); usize::from(kernel.b64)],
            predicates: vec![None; usize::from(kernel.predicates)],
            definitions: vec![None; usize::from(kernel.predicates)],
        }
    }

    /// What is known of a register; `None` where the kernel has none of this number.
    pub(super) fn known(&self, place: Place) -> Option<Known> {
        let at = usize::from(place.slot);
        match place.file {
            File::Predicate => self.predicates.get(at).copied().map(Known::Predicate),
            File::Word => self.words.get(at).copied().map(Known::Integer),
            File::B64 => self.b64.get(at).copied().map(Known::Integer),
        }
    }

    /// Writes what is known; where the guard is open, what was there may stay.
    pub(super) fn write(&mut self, place: Place, known: Known, always: bool) {
        let at = usize::from(place.slot);
        match (place.file, known) {
            (File::Predicate, Known::Predicate(known)) => {
                let before = &mut self.predicates[at];
                *before = if always || *before == known { known } else { None };
            }
            (File::Word, Known::Integer(known)) => {
                let before = &mut self.words[at];
                *before = if always { known } else { before.or_of(known) };
            }
            (File::B64, Known::Integer(known)) => {
                let before = &mut self.b64[at];
                *before = if always { known } else { before.or_of(known) };
            }
            (_, Known::Integer(_) | Known::Predicate(_)) => {}
        }
    }

    /// Takes up what another way leads here with; whether that changed anything.
    pub(super) fn join(&mut self, other: &Self, widen: bool) -> bool {
        let before = self.clone();
        let of = |mine: &mut Vec<Integers>, theirs: &[Integers]| {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                let joined = mine.or_of(*theirs);
                *mine = if widen { widened(*mine, joined) } else { joined };
            }
        };
        of(&mut self.words, &other.words);
        of(&mut self.b64, &other.b64);
        for (mine, theirs) in self.predicates.iter_mut().zip(&other.predicates) {
            *mine = mine.filter(|known| *theirs == Some(*known));
        }
        for (mine, theirs) in self.definitions.iter_mut().zip(&other.definitions) {
            *mine = mine.filter(|known| *theirs == Some(*known));
        }
        *self != before
    }
}

/// Bounds that grew, grown to the next power of two that few loops go beyond.
fn widened(before: Integers, joined: Integers) -> Integers {
    let all = mask(joined.width);
    let steps = [0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, all];
    let largest = if joined.largest > before.largest {
        steps.into_iter().find(|step| *step >= joined.largest).unwrap_or(all).min(all)
    } else {
        joined.largest
    };
    let least = if joined.least < before.least { 0 } else { joined.least };
    Integers { least, largest, ..joined }
}
