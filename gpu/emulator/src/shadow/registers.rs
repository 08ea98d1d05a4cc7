//! Shadows of a warp's registers: arrays over its lanes, for the slots that ever held a float.

use std::collections::HashMap;

use super::super::ir::{File, Place, SINK, Slot};
use super::super::lanes::{Bits, LANES};
use super::number::{Shadow, UNRECORDED, Wide, Word, relevant};

/// The numbers of all lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes {
    pub(super) x: [f64; LANES],
    pub(super) r: [f32; LANES],
    pub(super) c: [f32; LANES],
    pub(super) n: [u32; LANES],
}

impl Lanes {
    pub(super) const NONE: Self =
        Self { x: [0.0; LANES], r: [0.0; LANES], c: [0.0; LANES], n: [UNRECORDED; LANES] };

    /// The same in all lanes.
    pub(super) fn all(shadow: Shadow) -> Self {
        let Shadow { x, r, c, n } = shadow;
        Self { x: [x; LANES], r: [r; LANES], c: [c; LANES], n: [n; LANES] }
    }

    #[inline(always)]
    pub(super) fn get(&self, lane: usize) -> Shadow {
        Shadow { x: self.x[lane], r: self.r[lane], c: self.c[lane], n: self.n[lane] }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, lane: usize, Shadow { x, r, c, n }: Shadow) {
        (self.x[lane], self.r[lane], self.c[lane], self.n[lane]) = (x, r, c, n);
    }

    /// Takes the lanes of another.
    #[inline(always)]
    pub(super) fn take(&mut self, from: &Self, lanes: u32) {
        if lanes == u32::MAX {
            (self.x, self.r, self.c, self.n) = (from.x, from.r, from.c, from.n);
            return;
        }
        // Without branches, so that the compiler takes many at once.
        for lane in 0..LANES {
            let taken = lanes >> lane & 1 == 1;
            self.x[lane] = if taken { from.x[lane] } else { self.x[lane] };
            self.r[lane] = if taken { from.r[lane] } else { self.r[lane] };
            self.c[lane] = if taken { from.c[lane] } else { self.c[lane] };
            self.n[lane] = if taken { from.n[lane] } else { self.n[lane] };
        }
    }
}

/// What is beside a register of 32 bits.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Apart, so that what is computed takes their place and is not copied.
    pub(super) lanes: Box<Lanes>,
    /// Lanes that hold a float.
    pub(super) floats: u32,
    /// Lanes that hold something else; never one of `floats`.
    pub(super) others: u32,
    /// Lanes that hold a literal of the kernel, which is a float or not.
    pub(super) literals: u32,
    other: Option<Box<[Word; LANES]>>,
}

impl Entry {
    fn new() -> Self {
        let lanes = Box::new(Lanes::NONE);
        Self { lanes, floats: 0, others: 0, literals: 0, other: None }
    }

    /// Forgets what some lanes held.
    #[inline(always)]
    pub(super) fn clear(&mut self, lanes: u32) {
        self.floats &= !lanes;
        self.others &= !lanes;
        self.literals &= !lanes;
    }

    /// What is beside a lane.
    #[inline(always)]
    pub(super) fn get(&self, lane: usize) -> Word {
        if self.floats >> lane & 1 == 1 {
            Word::Float(self.lanes.get(lane))
        } else if self.others >> lane & 1 == 1 {
            self.other.as_ref().map_or(Word::None, |other| other[lane])
        } else {
            Word::None
        }
    }

    pub(super) fn set(&mut self, lane: usize, word: Word) {
        self.clear(1 << lane);
        match word {
            Word::None => {}
            Word::Float(shadow) => {
                self.lanes.set(lane, shadow);
                self.floats |= 1 << lane;
            }
            other => {
                self.other.get_or_insert_with(|| Box::new([Word::None; LANES]))[lane] = other;
                self.others |= 1 << lane;
            }
        }
    }
}

/// What lanes bring to a shuffle.
#[derive(Debug)]
pub(crate) enum Gathered {
    Nothing,
    Floats(Box<Lanes>),
    Words(Box<[Word; LANES]>),
}

impl Gathered {
    /// What is beside the word of a lane.
    pub(crate) fn get(&self, lane: usize) -> Word {
        match self {
            Self::Nothing => Word::None,
            Self::Floats(all) => Word::Float(all.get(lane)),
            Self::Words(all) => all[lane],
        }
    }
}

/// A call of a library function that has begun (see [`calls`](super::calls)).
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) function: u8,
    pub(super) operands: [Shadow; 2],
    /// Whether the lane had come by an open decision: those inside do not count.
    pub(super) was_open: bool,
}

/// The shadows of a warp's registers.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// Of each slot the entry, counted from 1; 0 for none.
    index: Vec<u32>,
    entries: Vec<Entry>,
    wides: Vec<Option<Box<[Wide; LANES]>>>,
    /// Lanes that came where they are by an open decision.
    pub(super) open: u32,
    /// Calls of library functions that have begun, by lane.
    pub(super) calls: Vec<Vec<Call>>,
    /// The nodes that words of 64 bits were given by which they left open lanes: by lane and the number's own node.
    pub(super) parts: HashMap<(usize, u32), u32>,
}

impl Beside {
    /// Back to registers that hold nothing.
    pub(crate) fn reset(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.clear(u32::MAX));
        self.wides.iter_mut().for_each(|wide| *wide = None);
        self.open = 0;
        self.calls.clear();
        self.parts.clear();
    }

    #[inline(always)]
    pub(super) fn entry(&self, slot: Slot) -> Option<&Entry> {
        let at = *self.index.get(usize::from(slot))?;
        self.entries.get((at as usize).wrapping_sub(1))
    }

    /// The entry of a slot, made if there is none.
    #[inline(always)]
    pub(super) fn entry_mut(&mut self, slot: Slot) -> &mut Entry {
        let at = usize::from(slot);
        if self.index.len() <= at {
            self.index.resize(at + 1, 0);
        }
        if self.index[at] == 0 {
            self.entries.push(Entry::new());
            self.index[at] = u32::try_from(self.entries.len()).unwrap_or(0);
        }
        &mut self.entries[self.index[at] as usize - 1]
    }

    /// Some lanes of a register become those of another.
    #[inline(always)]
    pub(super) fn copy(&mut self, [d, a]: [Slot; 2], on: u32) {
        if d == a || on == 0 {
            return;
        }
        if self.present(a) & on == 0 {
            return self.clear(d, on);
        }
        self.entry_mut(d);
        let place = |slot: Slot| self.index[usize::from(slot)] as usize - 1;
        let Ok([to, from]) = self.entries.get_disjoint_mut([place(d), place(a)]) else { return };
        to.clear(on);
        to.lanes.take(&from.lanes, on);
        to.floats |= from.floats & on;
        to.literals |= from.literals & on;
        Bits(from.others & on).for_each(|lane| to.set(lane, from.get(lane)));
    }

    /// Lanes of a register that are all floats.
    #[inline(always)]
    pub(super) fn floats_mut(&mut self, slot: Slot, lanes: u32) -> &mut Lanes {
        let entry = self.entry_mut(slot);
        entry.clear(lanes);
        entry.floats |= lanes;
        &mut entry.lanes
    }

    /// The lanes of a slot that have something beside them.
    #[inline(always)]
    pub(super) fn present(&self, slot: Slot) -> u32 {
        self.entry(slot).map_or(0, |entry| entry.floats | entry.others)
    }

    /// The same without those that hold a literal of the kernel.
    #[inline(always)]
    pub(super) fn changed(&self, slot: Slot) -> u32 {
        self.entry(slot).map_or(0, |entry| (entry.floats | entry.others) & !entry.literals)
    }

    /// Whether all lanes of a slot hold a float.
    #[inline(always)]
    pub(super) fn is_float(&self, slot: Slot) -> bool {
        self.entry(slot).is_some_and(|entry| entry.floats == u32::MAX)
    }

    /// An integer was written.
    #[inline(always)]
    pub(super) fn clear(&mut self, slot: Slot, lanes: u32) {
        let at = self.index.get(usize::from(slot)).map_or(0, |&at| at as usize);
        if let Some(entry) = self.entries.get_mut(at.wrapping_sub(1)) {
            entry.clear(lanes);
        }
    }

    #[inline(always)]
    pub(super) fn word(&self, slot: Slot, lane: usize) -> Word {
        self.entry(slot).map_or(Word::None, |entry| entry.get(lane))
    }

    pub(super) fn set_word(&mut self, slot: Slot, lane: usize, word: Word) {
        if slot == SINK {
            return;
        }
        if word == Word::None {
            self.clear(slot, 1 << lane);
        } else {
            self.entry_mut(slot).set(lane, word);
        }
    }

    /// Whether anything is beside a 64-bit register.
    #[inline(always)]
    pub(super) fn has_wide(&self, slot: Slot) -> bool {
        self.wides.get(usize::from(slot)).is_some_and(Option::is_some)
    }

    #[inline(always)]
    pub(super) fn wide(&self, slot: Slot, lane: usize) -> Wide {
        let all = self.wides.get(usize::from(slot)).and_then(Option::as_ref);
        all.map_or(Wide::None, |all| all[lane])
    }

    pub(super) fn set_wide(&mut self, slot: Slot, lane: usize, wide: Wide) {
        if slot == SINK || wide == Wide::None && !self.has_wide(slot) {
            return;
        }
        let at = usize::from(slot);
        if self.wides.len() <= at {
            self.wides.resize_with(at + 1, || None);
        }
        self.wides[at].get_or_insert_with(|| Box::new([Wide::None; LANES]))[lane] = wide;
    }

    /// An integer of 64 bits was written.
    #[inline(always)]
    pub(super) fn clear_wide(&mut self, slot: Slot, lanes: u32) {
        let Some(Some(all)) = self.wides.get_mut(usize::from(slot)) else { return };
        Bits(lanes).for_each(|lane| all[lane] = Wide::None);
        if all.iter().all(|wide| *wide == Wide::None) {
            self.wides[usize::from(slot)] = None;
        }
    }

    /// Each of `lanes` gets what is beside its source's `a`, as a shuffle gives it.
    pub(crate) fn permute(
        &mut self,
        d: Slot,
        gathered: &Gathered,
        lanes: u32,
        sources: impl Fn(usize) -> usize,
    ) {
        if d == SINK {
            return;
        }
        match gathered {
            Gathered::Nothing => self.clear(d, lanes),
            Gathered::Floats(all) => {
                let to = self.floats_mut(d, lanes);
                Bits(lanes).for_each(|lane| to.set(lane, all.get(sources(lane) & 31)));
            }
            Gathered::Words(all) => {
                Bits(lanes).for_each(|lane| self.set_word(d, lane, all[sources(lane) & 31]));
            }
        }
    }

    /// What is beside a slot in all lanes. What leaves a lane that an open decision has led here is
    /// uncertain.
    pub(crate) fn gather(&self, slot: Slot, bits: &[u32; LANES]) -> Gathered {
        if self.open == 0 {
            let Some(entry) = self.entry(slot) else { return Gathered::Nothing };
            if entry.floats | entry.others == 0 {
                return Gathered::Nothing;
            }
            if entry.floats == u32::MAX {
                return Gathered::Floats(entry.lanes.clone());
            }
        }
        let word = |lane: usize| self.leaving_single(lane, self.word(slot, lane), bits[lane]);
        Gathered::Words(Box::new(std::array::from_fn(word)))
    }

    /// What leaves a lane: of one that an open decision has led here it is uncertain as a whole.
    pub(crate) fn leaving(&self, lane: usize, word: Word) -> Word {
        if self.is_open(lane) { word.each(Shadow::uncertain) } else { word }
    }

    /// The same of a word that may be an f32 with nothing beside it. If it is an integer, it loses nothing.
    pub(crate) fn leaving_single(&self, lane: usize, word: Word, bits: u32) -> Word {
        if !self.is_open(lane) || !matches!(word, Word::None | Word::Field(_)) {
            return self.leaving(lane, word);
        }
        let single = Shadow::single(bits).uncertain();
        if single.is_plain() { Word::Float(single) } else { Word::None }
    }

    /// Whether an open decision has led a lane here.
    pub(super) fn is_open(&self, lane: usize) -> bool {
        self.open >> lane & 1 == 1
    }

    /// Whether a lane is inside of a library function.
    pub(super) fn is_in_call(&self, lane: usize) -> bool {
        self.calls.get(lane).is_some_and(|calls| !calls.is_empty())
    }

    /// [`Self::leaving_single`] of 64 bits, which may be an f64 with nothing beside it.
    pub(crate) fn leaving_wide(&self, lane: usize, wide: Wide, bits: u64) -> Wide {
        if !self.is_open(lane) {
            return wide;
        }
        let own = Shadow::exact(f64::from_bits(bits)).uncertain();
        if wide == Wide::None && own.is_plain() {
            return Wide::Double(own);
        }
        wide.each(Shadow::uncertain)
    }

    /// The same of the lower half of a word, which may be a number of 16 bits with nothing beside it.
    pub(crate) fn leaving_half(&self, lane: usize, word: Word, bits: u32) -> Word {
        match word {
            word if relevant(&(word, bits)) => self.leaving(lane, word),
            _ if self.is_open(lane) && bits & 0x7fff != 0 => Word::Narrow(Shadow::DOUBTED),
            _ => Word::None,
        }
    }

    /// Whether words of a number of 64 bits are in a lane of a register.
    pub(super) fn has_parts(&self, Place { file, slot }: Place, lane: usize) -> bool {
        match file {
            File::Word => matches!(self.word(slot, lane), Word::Part(_)),
            File::B64 => matches!(self.wide(slot, lane), Wide::Words(_)),
            File::Predicate => false,
        }
    }

    /// Every number in a lane of a register is replaced, of whichever kind it is.
    pub(super) fn replace(
        &mut self,
        Place { file, slot }: Place,
        lane: usize,
        f: impl FnMut(Shadow) -> Shadow,
    ) {
        match file {
            File::Word => {
                let word = self.word(slot, lane);
                let replaced = word.each(f);
                if replaced != word {
                    self.entry_mut(slot).set(lane, replaced);
                }
            }
            File::B64 => {
                let replaced = self.wide(slot, lane).each(f);
                self.set_wide(slot, lane, replaced);
            }
            File::Predicate => {}
        }
    }
}

impl Beside {
    /// An integer that came from no float was written.
    #[inline(always)]
    pub(crate) fn forget(&mut self, slot: Slot, lanes: u32) {
        self.clear(slot, lanes);
    }

    /// The same of 64 bits.
    pub(crate) fn forget_wide(&mut self, slot: Slot, lanes: u32) {
        self.clear_wide(slot, lanes);
    }

    /// Puts a word beside some lanes of a slot.
    pub(crate) fn put(&mut self, d: Slot, lanes: u32, word: Word) {
        if d != SINK {
            Bits(lanes).for_each(|lane| self.set_word(d, lane, word));
        }
    }
}
