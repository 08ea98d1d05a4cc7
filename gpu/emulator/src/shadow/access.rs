//! Loads and stores of shadows: they go where the words go.

use std::collections::HashMap;

use super::super::delay::View;
use super::super::ir::{SINK, Space, Transfer};
use super::super::lanes::{Active, Bits, LANES};
use super::super::registers::Registers;
use super::cells::Cells;
use super::journal::{Journal, Loss};
use super::number::{Shadow, Wide, Word, relevant};
use super::registers::Beside;
use super::wides::halves;

/// After `ld`: the registers hold what was loaded.
#[inline(never)]
pub(crate) fn loaded(
    r: &mut Registers,
    on: &Active,
    t: &Transfer,
    all: &[u64; LANES],
    view: &mut View<'_>,
) {
    let Some(mut beside) = r.beside.take() else { return };
    let words = words_of(t);
    if t.width == 4 && !t.b64 && view.delayed.is_empty() {
        singles(&mut beside, on.bits, t, all, view);
        r.beside = Some(beside);
        return;
    }
    for lane in on.lanes() {
        let mut found = [Word::None; 4];
        if t.space != Space::Param {
            for (at, word) in found[..words].iter_mut().enumerate() {
                *word = read(view, t.space, (all[lane] & !3) + 4 * at as u64, lane);
            }
        }
        give(&mut beside, r, t, (lane, all[lane]), &found);
    }
    r.beside = Some(beside);
}

/// Loads of words that are in memory: what most loads are.
fn singles(beside: &mut Beside, on: u32, t: &Transfer, all: &[u64; LANES], view: &mut View<'_>) {
    let first = all[on.trailing_zeros() as usize & 31];
    let uniform = Bits(on).all(|lane| all[lane] == first);
    for (&slot, at) in t.slots[..usize::from(t.count)].iter().zip(0_u64..) {
        if slot == SINK {
            continue;
        }
        if t.space == Space::Param {
            beside.clear(slot, on);
            continue;
        }
        let mut one = |lane: usize| read(view, t.space, all[lane] + 4 * at, lane);
        if !uniform {
            Bits(on).for_each(|lane| beside.set_word(slot, lane, one(lane)));
            continue;
        }
        match one(on.trailing_zeros() as usize & 31) {
            Word::None => beside.clear(slot, on),
            Word::Float(shadow) => {
                let to = beside.floats_mut(slot, on);
                Bits(on).for_each(|lane| to.set(lane, shadow));
            }
            word => Bits(on).for_each(|lane| beside.set_word(slot, lane, word)),
        }
    }
}

/// The words that a transfer touches.
fn words_of(t: &Transfer) -> usize {
    (usize::from(t.width) * usize::from(t.count)).div_ceil(4)
}

/// What is beside a word, as a lane sees it.
fn read(view: &mut View<'_>, space: Space, address: u64, lane: usize) -> Word {
    let thread = view.thread(u32::try_from(lane).unwrap_or(0));
    let Ok((segment, at)) = view.memories.word(space, address, 0) else { return Word::None };
    let bits = segment.words[at];
    let Some(cells) = &segment.cells else { return Word::None };
    let (word, overwritten) = cells.get(at, bits);
    if let Some(held) = view.delayed.seen_beside((space, address), thread, word) {
        return held;
    }
    if let (true, Some(journal)) = (overwritten, &mut view.journal) {
        journal.note(Loss::Overwritten);
        // Who wrote past it knows of what.
        return Word::garbled(Some(Shadow::UNKNOWN));
    }
    word
}

/// Puts what was found beside the words of a lane's load beside the registers.
pub(super) fn give(
    beside: &mut Beside,
    r: &Registers,
    t: &Transfer,
    (lane, address): (usize, u64),
    found: &[Word; 4],
) {
    for element in 0..usize::from(t.count) {
        let slot = t.slots[element];
        if slot == SINK {
            continue;
        }
        let word = match t.width {
            8 => {
                let words = [found[2 * element], found[2 * element + 1]];
                beside.set_wide(slot, lane, Wide::of(words, r.b64.get(slot)[lane]));
                continue;
            }
            4 => found[element],
            width => {
                let at = (address & 3) as usize + usize::from(width) * element;
                part(found[at / 4], at % 4, width)
            }
        };
        if t.b64 {
            let wide = Wide::of([word, Word::None], r.b64.get(slot)[lane]);
            beside.set_wide(slot, lane, wide);
        } else {
            beside.set_word(slot, lane, word);
        }
    }
}

/// A part of a word: a half may be a number of 16 bits, whatever else refers to what it is a part of.
fn part(word: Word, byte: usize, width: u8) -> Word {
    match (word, width) {
        (Word::Halves(halves), 2) => halves[byte / 2].map_or(Word::None, Word::Narrow),
        (Word::Narrow(shadow), 2) if byte == 0 => Word::Narrow(shadow),
        // A part of a constant that left an open lane is one too.
        (word, 2) if !relevant(&(word, 0)) && word.read_as(Shadow::exact(1.0)).c > 0.0 => {
            Word::Narrow(Shadow::DOUBTED)
        }
        (word, _) => Word::garbled(word.source()),
    }
}

/// What a lane stores to each word, as it is beside the registers. `old`: what was there, for parts.
pub(crate) fn stored(
    beside: &Beside,
    r: &Registers,
    t: &Transfer,
    (lane, address): (usize, u64),
    old: impl Fn(usize) -> Word,
) -> [Word; 4] {
    let mut all = [Word::None; 4];
    if t.width < 4 {
        all.iter_mut().take(words_of(t)).enumerate().for_each(|(at, word)| *word = old(at));
    }
    let leaving = |word: Word| beside.leaving(lane, word);
    for element in 0..usize::from(t.count) {
        let slot = t.slots[element];
        let (words, bits) = if t.b64 {
            let (wide, bits) = (beside.wide(slot, lane), r.b64.get(slot)[lane]);
            let wide = if t.width == 8 { beside.leaving_wide(lane, wide, bits) } else { wide };
            (wide.words(bits), halves(bits)[0])
        } else {
            ([beside.word(slot, lane), Word::None], r.words.get(slot)[lane])
        };
        match t.width {
            8 => {
                all[2 * element] = words[0];
                all[2 * element + 1] = words[1];
            }
            4 if t.b64 => all[element] = leaving(words[0]),
            4 => {
                all[element] = beside.leaving_single(lane, words[0], bits);
            }
            width => {
                let at = (address & 3) as usize + usize::from(width) * element;
                let into = &mut all[at / 4];
                let word = match width {
                    2 => beside.leaving_half(lane, words[0], bits),
                    _ if relevant(&(words[0], bits)) => leaving(words[0]),
                    _ => Word::None,
                };
                *into = over(*into, word, at % 4, width);
            }
        }
    }
    all
}

/// A word after something narrower was stored into it.
fn over(old: Word, new: Word, byte: usize, width: u8) -> Word {
    let shadow = match new {
        Word::None | Word::Field(_) => None,
        Word::Narrow(shadow) if width == 2 => Some(shadow),
        other => return Word::garbled(Shadow::joined(other.source(), old.source())),
    };
    let mut halves = match old.halves() {
        Some(halves) => halves,
        // An f32 of which a part is overwritten with something else.
        None if width == 2 && shadow.is_some() => [None; 2],
        None => return Word::garbled(Shadow::joined(old.source(), shadow)),
    };
    // A byte of a number of 16 bits is overwritten: the number is lost as an f32 is.
    if width == 1 && halves[byte / 2].is_some() {
        return Word::garbled(old.source());
    }
    halves[byte / 2] = shadow;
    Word::of_halves(halves)
}

/// After `st` has put words into memory at once.
#[inline(never)]
pub(crate) fn stored_at_once(
    r: &Registers,
    t: &Transfer,
    (lane, address): (usize, u64),
    view: &mut View<'_>,
) {
    let Some(beside) = &r.beside else { return };
    let words = words_of(t);
    let Ok((segment, word)) = view.memories.word(t.space, address, 0) else { return };
    let values: [u32; 4] =
        std::array::from_fn(|at| segment.words.get(word + at).copied().unwrap_or(0));
    let Some(cells) = &mut segment.cells else { return };
    put(cells, word, &values[..words], |cells| {
        // A store of parts has changed the bits: what lay beside the others is still theirs.
        stored(beside, r, t, (lane, address), |at| cells.unchecked(word + at))
    });
}

/// The same of a store that not everybody sees at once: the words beside it. `None` where nothing is
/// followed.
#[inline(never)]
pub(crate) fn stored_late(
    r: &Registers,
    t: &Transfer,
    (lane, address): (usize, u64),
    view: &mut View<'_>,
) -> Option<[Word; 4]> {
    let beside = r.beside.as_ref()?;
    let mut old = [Word::None; 4];
    for (at, old) in old[..words_of(t)].iter_mut().enumerate() {
        *old = read(view, t.space, (address & !3) + 4 * at as u64, lane);
    }
    Some(stored(beside, r, t, (lane, address), |at| old[at]))
}

/// What is beside the words that `cp.async` reads: of `words` the first `read` bytes, then zeros. What a lane copies that
/// an open decision has led here is uncertain, as what it stores.
pub(crate) fn copied(
    r: &Registers,
    view: &mut View<'_>,
    (address, lane): (u64, usize),
    (values, read_bytes): (&[u32], u32),
) -> Option<Box<[Word; 4]>> {
    let beside = r.beside.as_ref()?;
    let mut all = [Word::None; 4];
    for (at, word) in all[..values.len()].iter_mut().enumerate() {
        let at = 4 * at as u64;
        *word = match u64::from(read_bytes).saturating_sub(at) {
            0 => Word::None,
            4.. => read(view, Space::Global, address + at, lane),
            _ => Word::garbled(read(view, Space::Global, address + at, lane).source()),
        };
    }
    let journal = view.journal.as_deref_mut()?;
    if beside.is_open(lane) {
        // The words of a number of 64 bits are still of one number.
        let mut doubts = HashMap::new();
        for (word, &bits) in all.iter_mut().zip(values) {
            let doubted = word.each(|shadow| {
                let n = *doubts.entry(shadow.n).or_insert_with(|| journal.doubt(&shadow));
                Shadow { n, ..shadow }
            });
            *word = beside.leaving_single(lane, doubted, bits);
        }
    }
    Some(Box::new(all))
}

/// Puts words beside some in a row.
pub(super) fn put(
    cells: &mut Cells,
    word: usize,
    values: &[u32],
    stored: impl Fn(&Cells) -> [Word; 4],
) {
    let all = stored(cells);
    for (at, (&value, beside)) in values.iter().zip(all).enumerate() {
        cells.set(word + at, value, beside);
    }
}

impl Beside {
    /// What is beside the words of a lane's load from local memory.
    pub(crate) fn loaded(r: &mut Registers, t: &Transfer, lane: (usize, u64), found: &[Word; 4]) {
        if let Some(mut beside) = r.beside.take() {
            give(&mut beside, r, t, lane, found);
            r.beside = Some(beside);
        }
    }
}

impl Journal {
    /// A loss that makes no number anew.
    pub(super) fn note(&mut self, loss: Loss) {
        let place = self.place();
        *self.lost.entry((place, loss)).or_default() += 1;
    }
}
