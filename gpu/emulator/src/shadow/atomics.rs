//! Atomics: sums of floats in any order, and exchanges.
//!
//! A sum has the exact sum of its terms, their radii added up, and gamma(m - 1) times the sum of their
//! magnitudes, which bounds what m terms lose in any order (Higham, "Accuracy and Stability of Numerical
//! Algorithms", 4.2). Flushing of subnormal partial sums is added for each.
//!
//! A loop of compare-and-exchange has an ABA of shadows: a term below half a unit in the last place leaves
//! the bits as they were, so that another lane's exchange succeeds with an old value whose shadow is
//! older. What the exchange leaves is then its own number, plus what the memory's is ahead of the
//! expected one.

use super::super::ir::{Atomic, AtomicOp, NarrowFormat, Number, SINK};
use super::super::lanes::{Bits, LANES};
use super::super::rare::value_of;
use super::super::registers::Registers;
use super::bits::Integers;
use super::cells::{Cells, Terms};
use super::journal::Journal;
use super::number::{Shadow, UNIT, UNRECORDED, Wide, Word, depends, up};
use super::registers::{Beside, Entry, Lanes};
use super::table::Function;
use super::table::accuracy::{Accuracy, NORMAL};
use super::tape::Flags;
use super::wides::halves;

/// A word that an atomic changes, and what it holds.
pub(crate) struct Cell<'c> {
    pub(crate) cells: &'c mut Cells,
    pub(crate) word: usize,
    pub(crate) bits: u32,
}

/// The operations of `lanes` at one word, one after the other; `combine` is what each does. Gives the
/// word's new value.
pub(crate) fn update(
    journal: &mut Journal,
    r: &mut Registers,
    (a, element, lanes): (&Atomic, usize, u32),
    cell: Cell<'_>,
    poisoned: bool,
    combine: impl Fn(u32, u32, u32) -> u32,
) -> u32 {
    let Cell { cells, word, bits: mut value } = cell;
    let Some(mut beside) = r.beside.take() else { return value };
    let (operands, result) = (a.operands[element], a.results[element]);
    if a.op == AtomicOp::AddFloat && result == SINK {
        let terms = (operands, r.words.get(operands), lanes);
        value = journal.add_all(&beside, terms, (cells, word, value), combine);
        r.beside = Some(beside);
        return value;
    }
    for lane in Bits(lanes) {
        let operand = r.words.get(operands)[lane];
        let swap = if a.swap == SINK { 0 } else { r.words.get(a.swap)[lane] };
        let old = value;
        value = combine(old, operand, swap);
        let (before, _) = cells.get(word, old);
        let bits = [old, operand, swap, value];
        let step = Step { lane, bits, before };
        let slots = [operands, a.swap];
        journal.of_lane(Some(lane));
        journal.atomic(&mut beside, a.op, slots, (cells, word), &step);
        if result != SINK {
            r.words.set_lane(result, lane, old, poisoned);
            beside.set_word(result, lane, before);
        }
    }
    journal.of_lane(None);
    r.beside = Some(beside);
    value
}

/// A number of 16 bits in a word that a lane has added to: the upper one or the lower. `new` is the word by now.
pub(crate) fn update16(
    journal: &mut Journal,
    r: &mut Registers,
    (a, format): (&Atomic, NarrowFormat),
    (lane, upper): (usize, bool),
    cell: Cell<'_>,
    (operand, new): (u32, u32),
) {
    let Some(mut beside) = r.beside.take() else { return };
    let Cell { cells, word, bits: old } = cell;
    let value =
        |bits: u32, at: usize| value_of(format.number(), u64::from(bits >> (16 * at) & 0xffff));
    let (before, _) = cells.get(word, old);
    let own = beside.leaving(lane, journal.word(&beside, a.operands[0], lane));
    journal.of_lane(Some(lane));
    let at = usize::from(upper);
    let base = journal.half(before, at, value(old, at));
    let term = journal.half(own, 0, value(operand, 0));
    let constant = own == Word::None && beside.is_open(lane);
    let term = if constant { term.uncertain() } else { term };
    let kind = (Function::Sum, narrow_accuracy(format));
    let sum = journal.scalar(kind, &[base, term], false, value(new, at));
    // What was beside the whole word is lost in the other half too.
    let mut lost = |half| Some(journal.half(before, half, value(old, half)));
    let mut halves = before.halves().unwrap_or_else(|| [0, 1].map(&mut lost));
    let was = std::mem::replace(&mut halves[at], sum);
    journal.of_lane(None);
    cells.set(word, new, Word::of_halves(halves));
    if a.results[0] != SINK {
        beside.set_word(a.results[0], lane, was.map_or(Word::None, Word::Narrow));
    }
    r.beside = Some(beside);
}

/// One lane's operation.
struct Step {
    lane: usize,
    /// Old value, operand, what is exchanged for it, new value.
    bits: [u32; 4],
    /// What is beside the old value.
    before: Word,
}

impl Journal {
    fn atomic(
        &mut self,
        beside: &mut Beside,
        op: AtomicOp,
        [operands, swap]: [u16; 2],
        (cells, word): (&mut Cells, usize),
        step: &Step,
    ) {
        let &Step { lane, bits: [old, operand, swapped, new], before } = step;
        let own = beside.leaving_single(lane, self.word(beside, operands, lane), operand);
        let after = match op {
            AtomicOp::AddFloat => {
                let term = self.float(own, operand);
                let base = self.base(cells, word, old);
                let (sum, terms) = self.add(base, term);
                if is_sum(&sum, terms, new) {
                    return cells.set_sum(word, new, sum, terms);
                }
                self.restart(&[base.0, term], sum.x, new)
            }
            AtomicOp::AddPair(format) => {
                self.add_pair(format, [(before, old), (own, operand)], new)
            }
            AtomicOp::Exchange => own,
            AtomicOp::CompareExchange if old == operand => {
                let swap = beside.leaving_single(lane, self.word(beside, swap, lane), swapped);
                self.exchanged(before, own, swap, old)
            }
            AtomicOp::CompareExchange => before,
            AtomicOp::Add => self.integer(Integers::Add, &[(before, old), (own, operand)], new),
            AtomicOp::And => self.integer(Integers::And, &[(before, old), (own, operand)], new),
            AtomicOp::MinS | AtomicOp::MinU | AtomicOp::MaxS | AtomicOp::MaxU => {
                self.integer(Integers::Extreme, &[(before, old), (own, operand)], new)
            }
            AtomicOp::AddHalf(_)
            | AtomicOp::Increment
            | AtomicOp::Decrement
            | AtomicOp::Or
            | AtomicOp::Xor => self.integer(Integers::Other, &[(before, old), (own, operand)], new),
        };
        // Many atomics add up a number of units, be it the only one.
        let after = match after {
            Word::Count(mut count) if op == AtomicOp::Add => {
                count.summed = true;
                Word::Count(count)
            }
            after => after,
        };
        cells.set(word, new, after);
    }

    /// Adds the terms of lanes to one word, one after the other, and gives its new value. Only the last sum is put
    /// into memory.
    #[inline(never)]
    fn add_all(
        &mut self,
        beside: &Beside,
        (slot, terms, lanes): (u16, &[u32; LANES], u32),
        (cells, word, mut value): (&mut Cells, usize, u32),
        combine: impl Fn(u32, u32, u32) -> u32,
    ) -> u32 {
        let closed = |entry: &&Entry| lanes & !(entry.floats & !beside.open) == 0;
        let mut scratch = None;
        let all = match beside.entry(slot).filter(closed) {
            Some(entry) => &*entry.lanes,
            None => scratch.insert(self.terms(beside, (slot, terms), lanes)),
        };
        let (mut sum, mut count) = self.base(cells, word, value);
        let mut put = false;
        for lane in Bits(lanes) {
            let term = all.get(lane);
            value = combine(value, terms[lane], 0);
            self.of_lane(Some(lane));
            let (next, next_count) = self.add((sum, count), term);
            put = is_sum(&next, next_count, value);
            if put {
                (sum, count) = (next, next_count);
            } else {
                let lost = self.restart(&[sum, term], next.x, value);
                cells.set(word, value, lost);
                (sum, count) = self.base(cells, word, value);
            }
        }
        self.of_lane(None);
        if put {
            cells.set_sum(word, value, sum, count);
        }
        value
    }

    /// What some lanes add, where it is not a float in all of them that no open decision has led here.
    #[inline(never)]
    fn terms(&mut self, beside: &Beside, (slot, bits): (u16, &[u32; LANES]), lanes: u32) -> Lanes {
        let mut all = Lanes::NONE;
        for lane in Bits(lanes) {
            let own = beside.leaving_single(lane, self.word(beside, slot, lane), bits[lane]);
            all.set(lane, self.float(own, bits[lane]));
        }
        all
    }

    /// The sum in a word that holds these bits, or the first term of one.
    fn base(&mut self, cells: &Cells, word: usize, bits: u32) -> (Shadow, Terms) {
        match cells.sum(word, bits) {
            Some(sum) => sum,
            None => (self.float(cells.get(word, bits).0, bits), Terms::default()),
        }
    }

    /// What is beside a register or literal.
    #[inline(always)]
    pub(super) fn word(&self, beside: &Beside, slot: u16, lane: usize) -> Word {
        match slot.checked_sub(self.registers) {
            Some(at) => self
                .literals
                .get(usize::from(at))
                .map_or(Word::None, |lanes| Word::Float(lanes.get(0))),
            None => beside.word(slot, lane),
        }
    }

    /// A term is added to a sum.
    #[inline(always)]
    fn add(&mut self, (base, terms): (Shadow, Terms), term: Shadow) -> (Shadow, Terms) {
        let size = |shadow: &Shadow| shadow.x.abs() + f64::from(shadow.r);
        let terms = match terms.count {
            // Nothing is lost by adding to 0.
            0 if base.x == 0.0 && base.r == 0.0 => Terms { count: 0, magnitude: 0.0 },
            0 => Terms { count: 1, magnitude: up(size(&base)) },
            _ => terms,
        };
        let magnitude = up(f64::from(terms.magnitude) + size(&term));
        let terms = Terms { count: terms.count.saturating_add(1), magnitude };
        let x = base.x + term.x;
        let of = |shadow: &Shadow| flushed(shadow.x, f64::from(shadow.r));
        let r = f64::from(base.r) + f64::from(term.r);
        let r = up(r + of(&base) + of(&term) + flushed(x, r));
        let c = up(f64::from(base.c) + f64::from(term.c) + UNIT * x.abs());
        let depends = depends(base.n) || depends(term.n);
        let n = if depends { self.sum_node(base, term, (x, c)) } else { UNRECORDED };
        (Shadow { x, r, c, n }, terms)
    }

    #[inline(never)]
    fn sum_node(&mut self, base: Shadow, term: Shadow, number: (f64, f32)) -> u32 {
        self.node(Function::Sum, [Some(&base), Some(&term), None], number, Flags::default())
    }

    /// What is beside a word after an exchange has succeeded.
    fn exchanged(&mut self, memory: Word, expected: Word, swap: Word, old: u32) -> Word {
        match (swap, memory, expected) {
            (Word::Float(swap), Word::Float(_) | Word::None, Word::Float(_) | Word::None) => {
                let [memory, expected] = [memory, expected].map(|word| self.float(word, old));
                Word::Float(self.ahead(swap, &memory, &expected))
            }
            _ => swap,
        }
    }

    /// A number that was computed from an expected value, plus what the memory is ahead of that.
    fn ahead(&mut self, swap: Shadow, memory: &Shadow, expected: &Shadow) -> Shadow {
        // Infinite numbers, which a largest one begins as, are equal and have no difference. An integer may be no number.
        let is_same = memory.x == expected.x || memory.x.is_nan() && expected.x.is_nan();
        if memory.n == expected.n && is_same {
            return swap;
        }
        let ahead = memory.x - expected.x;
        let x = swap.x + ahead;
        let r = up(f64::from(swap.r) + ahead.abs());
        let c = [swap.c, memory.c, expected.c].map(f64::from);
        let c = up(c.iter().sum::<f64>() + 2.0 * UNIT * x.abs());
        let parents = [Some(&swap), Some(memory), Some(expected)];
        let n = self.node(Function::Exchanged, parents, (x, c), Flags::default());
        Shadow { x, r, c, n }
    }

    /// Two numbers of 16 bits are added to those in a word.
    fn add_pair(&mut self, format: NarrowFormat, from: [(Word, u32); 2], new: u32) -> Word {
        let accuracy = narrow_accuracy(format);
        let halves = [0, 1].map(|half| {
            let shift = 16 * half;
            let number = format.number();
            let operands = from.map(|(word, bits)| {
                let value = value_of(number, u64::from(bits >> shift & 0xffff));
                self.half(word, half as usize, value)
            });
            let result = value_of(number, u64::from(new >> shift & 0xffff));
            self.scalar((Function::Sum, accuracy), &operands, false, result)
        });
        Word::Halves(halves)
    }

    /// One of two numbers of 16 bits in a word, whose bits are this value.
    pub(super) fn half(&mut self, word: Word, half: usize, value: f64) -> Shadow {
        let plain = Shadow::exact(value);
        let own = |shadow: Shadow| if shadow.is_plain() { shadow.read_as(plain) } else { shadow };
        match (word, half) {
            (Word::Halves(halves), half) => halves[half].map_or(plain, own),
            (Word::Narrow(shadow), 0) => own(shadow),
            (Word::None | Word::Narrow(_) | Word::Field(_), _) => plain,
            // A literal, whose bits are those of two numbers.
            (Word::Float(shadow), _) if shadow.is_plain() => shadow.read_as(plain),
            (Word::Part(part), _) if part.of.shadow().is_plain() => part.of.shadow().read_as(plain),
            (Word::Float(_) | Word::Refers(_) | Word::Count(_) | Word::Part(_), _) => {
                self.begin_anew(value, &[word.source()], super::journal::Loss::Bits)
            }
        }
    }
}

/// What an atomic takes away of a number that may be subnormal: on global memory it adds and leaves zeros in place of
/// those (PTX ISA 8.4, "atom": `.add` of `.f32`).
#[inline(always)]
fn flushed(x: f64, r: f64) -> f64 {
    if x.abs() < NORMAL + r && (x != 0.0 || r > 0.0) { NORMAL } else { 0.0 }
}

/// Whether a word with these bits is the sum: what lies further away than any order can bring it is none, because of
/// an overflow.
#[inline(always)]
fn is_sum(sum: &Shadow, terms: Terms, bits: u32) -> bool {
    let distance = (f64::from(f32::from_bits(bits)) - sum.x).abs();
    // Mostly the radii of the terms are enough. The rounding takes a division.
    distance <= f64::from(sum.r) || distance <= f64::from(sum.r) + terms.rounding()
}

/// How f16 and bf16 are rounded.
pub(super) fn narrow_accuracy(format: NarrowFormat) -> Accuracy {
    match format.number() {
        // 2^-133 and 2^-24 are the least of them.
        Number::Bf16 => Accuracy::narrow(8, 2.0_f64.powi(-133)),
        _ => Accuracy::narrow(11, 2.0_f64.powi(-24)),
    }
}

/// A 64-bit integer that an atomic has changed: one of both operands, or a sum of units.
pub(crate) fn update64(
    journal: &mut Journal,
    r: &mut Registers,
    (a, lane): (&Atomic, usize),
    (cells, word): (&mut Cells, usize),
    [old, new]: [u64; 2],
) {
    let Some(mut beside) = r.beside.take() else { return };
    let [low, high] = halves(old);
    let words = [cells.get(word, low).0, cells.get(word + 1, high).0];
    let before = Wide::of(words, old);
    let (operand, swap) = (a.operands[0], a.swap);
    let leaving = |slot: u16| {
        let bits = r.b64.get(slot)[lane];
        beside.leaving_wide(lane, beside.wide(slot, lane), bits)
    };
    let own = (leaving(operand), r.b64.get(operand)[lane]);
    let both = [(before, old), own];
    let after = match a.op {
        AtomicOp::AddFloat => {
            let [base, term] = both.map(|(wide, bits)| journal.double(wide, bits));
            let kind = (Function::Sum, super::wides::DOUBLE);
            let sum = journal.double_operation(kind, &[base, term], false, f64::from_bits(new));
            sum.map_or(Wide::None, Wide::Double)
        }
        AtomicOp::Exchange => own.0,
        AtomicOp::CompareExchange if old == own.1 => match (leaving(swap), before, own.0) {
            (Wide::Double(swap), Wide::Double(memory), Wide::Double(expected)) => {
                Wide::Double(journal.ahead(swap, &memory, &expected))
            }
            (swap, ..) => swap,
        },
        AtomicOp::CompareExchange => before,
        AtomicOp::Add => match journal.wide_integer(Integers::Add, &both, new) {
            Wide::Count(mut count) => {
                count.summed = true;
                Wide::Count(count)
            }
            wide => wide,
        },
        AtomicOp::And => journal.wide_integer(Integers::And, &both, new),
        AtomicOp::MinS | AtomicOp::MinU | AtomicOp::MaxS | AtomicOp::MaxU => {
            journal.wide_integer(Integers::Extreme, &both, new)
        }
        AtomicOp::AddPair(_)
        | AtomicOp::AddHalf(_)
        | AtomicOp::Increment
        | AtomicOp::Decrement
        | AtomicOp::Or
        | AtomicOp::Xor => journal.wide_integer(Integers::Other, &both, new),
    };
    for ((at, bits), beside) in halves(new).into_iter().enumerate().zip(after.words(new)) {
        cells.set(word + at, bits, beside);
    }
    if a.results[0] != SINK {
        beside.set_wide(a.results[0], lane, before);
    }
    r.beside = Some(beside);
}
