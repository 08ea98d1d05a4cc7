//! Follows arithmetic: what is beside the result of every instruction.
//!
//! The match over the instructions has no remainder: a new one does not compile until somebody has said
//! what it does to a float.

mod carry;
mod wide;

use pulp::{Simd, WithSimd};

use super::super::ir::{
    Arithmetic, Boolean, File, FloatBinary, FloatToInteger, FloatUnary, Op, Place, Rounding, SINK,
    Slot, WordTernary, WordType, WordUnary,
};
use super::super::lanes::{Active, Bits};
use super::super::registers::Registers;
use super::bits::Integers;
use super::fixed_point::Whole;
use super::journal::Journal;
use super::number::{Shadow, Source, Wide, Word, depends, up};
use super::plan::Keep;
use super::registers::Beside;
use super::table::Function;
use super::table::accuracy::Accuracy;
use super::tape::{Flags, Tape};
use super::wides::halves;

/// Before an instruction: keeps what its operands are, which its result may be written over.
#[inline(never)]
pub(crate) fn before(journal: &mut Journal, r: &Registers, pc: u32) {
    journal.pc = pc;
    let Journal { plans, words, wides, deciding, .. } = journal;
    let (Some(plan), Some(beside)) = (plans.get(pc as usize), &r.beside) else { return };
    let is_beside = |place: &Place| match place.file {
        File::Word => beside.present(place.slot) != 0,
        File::B64 => beside.has_wide(place.slot),
        File::Predicate => false,
    };
    match plan.keep {
        Keep::Never => return,
        Keep::Beside if !plan.sources.iter().any(is_beside) => return,
        Keep::Beside | Keep::NoFloats | Keep::Always => {}
    }
    for (k, place) in plan.sources.iter().enumerate() {
        match place.file {
            File::Word if plan.keep == Keep::NoFloats && beside.is_float(place.slot) => {}
            File::Word => words[k] = *r.words.get(place.slot),
            File::B64 => wides[k] = *r.b64.get(place.slot),
            File::Predicate => {}
        }
    }
    if let Some((op, other)) = plan.combine {
        *deciding = deciding_lanes(op, r.truth(other));
    }
}

/// The lanes where a comparison decides what becomes of it and another predicate.
fn deciding_lanes(op: Boolean, other: u32) -> u32 {
    match op {
        Boolean::And => other,
        Boolean::Or => !other,
        Boolean::Xor => u32::MAX,
    }
}

/// Before an instruction by which numbers leave the lanes, a store, an atomic or a shuffle: of lanes that an open
/// decision has led here they are uncertain as a whole, and so is the derivative. An operation says so by its node;
/// a number that was only chosen and copied has none, and is given one.
#[inline(always)]
pub(crate) fn leave(journal: &mut Journal, r: &mut Registers, pc: u32, op: &Op) {
    let open = r.beside.as_ref().map_or(0, |beside| beside.open);
    if open != 0 && journal.tape.is_some() {
        journal.at(pc);
        doubted(journal, r, op, open);
    }
}

#[cold]
#[inline(never)]
fn doubted(journal: &mut Journal, r: &mut Registers, op: &Op, open: u32) {
    let Some(mut beside) = r.beside.take() else { return };
    // The words of a number of 64 bits that leave one after the other are still of one number.
    let mut parts = std::mem::take(&mut beside.parts);
    for place in op.reads() {
        for lane in Bits(open) {
            let in_parts = beside.has_parts(place, lane);
            beside.replace(place, lane, |shadow| {
                let n = match in_parts {
                    true => {
                        *parts.entry((lane, shadow.n)).or_insert_with(|| journal.doubt(&shadow))
                    }
                    false => journal.doubt(&shadow),
                };
                Shadow { n, ..shadow }
            });
        }
    }
    beside.parts = parts;
    r.beside = Some(beside);
}

/// After it: what is beside its result.
#[inline(never)]
pub(crate) fn after(journal: &mut Journal, r: &mut Registers, on: &Active, op: &Arithmetic) {
    let Some(mut beside) = r.beside.take() else { return };
    let arch = journal.arch;
    let departure = journal.departure();
    let handed = departure.map(|_| journal.handed(&beside, on.bits, op));
    let followed = Followed { journal: &mut *journal, beside: &mut beside, r, on: on.bits, op };
    arch.dispatch(followed);
    if let (Some(departure), Some(handed)) = (departure, handed) {
        journal.depart(&mut beside, r, (on.bits, op), (departure, &handed));
    }
    r.beside = Some(beside);
    journal.reverse(r, op);
}

/// An instruction that is followed. Dispatched by pulp, for the widest registers there are.
struct Followed<'f> {
    journal: &'f mut Journal,
    beside: &'f mut Beside,
    r: &'f Registers,
    on: u32,
    op: &'f Arithmetic,
}

impl WithSimd for Followed<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { journal, beside, r, on, op } = self;
        // Taken out, since a copy of a plan takes as long as an operation.
        let plans = std::mem::take(&mut journal.plans);
        match plans.get(journal.pc as usize).and_then(|plan| plan.operation.as_ref()) {
            Some(operation) => journal.operation(beside, r, on, operation),
            None => journal.arithmetic(beside, r, on, op),
        }
        journal.plans = plans;
    }
}

impl Journal {
    /// The node of a number that leaves an open lane: one that is open, or that of a constant.
    pub(super) fn doubt(&mut self, shadow: &Shadow) -> u32 {
        let is_open = |tape: &Tape| tape.is_open(shadow.n);
        if !depends(shadow.n) || self.tape.as_ref().is_some_and(is_open) {
            return shadow.n;
        }
        let flags = Flags { open: true, undecided: false };
        let parents = [Some(shadow), None, None];
        self.node(Function::Identity, parents, (shadow.x, shadow.c), flags)
    }

    /// An instruction that is no [`Operation`](super::plan::Operation).
    #[inline(always)]
    fn arithmetic(&mut self, beside: &mut Beside, r: &Registers, on: u32, op: &Arithmetic) {
        match *op {
            Arithmetic::FloatUnary(op, _, d, a) => match op {
                FloatUnary::Move => self.moved(beside, on, [d, a]),
                FloatUnary::Round(rounding) => {
                    self.rounded_whole(beside, r, on, ([d, a], rounding))
                }
                FloatUnary::Negate
                | FloatUnary::Abs
                | FloatUnary::Reciprocal
                | FloatUnary::Sqrt
                | FloatUnary::Approximate(_) => {}
            },
            Arithmetic::FloatBinary(op, flags, d, a, b) => match op {
                FloatBinary::Min | FloatBinary::Max | FloatBinary::MinNan | FloatBinary::MaxNan => {
                    self.extreme(beside, r, on, (op, flags.flush, [d, a, b]));
                }
                FloatBinary::Add
                | FloatBinary::Sub
                | FloatBinary::Mul
                | FloatBinary::Div
                | FloatBinary::Approximate(_) => {}
            },
            Arithmetic::Fma(..) => {}
            Arithmetic::WordUnary(WordUnary::Move, d, a) => self.moved(beside, on, [d, a]),
            Arithmetic::WordUnary(op, d, a) => {
                self.words(beside, r, on, (of_one_word(op), d, &[a]));
            }
            Arithmetic::WordBinary(op, d, a, b) => {
                self.masked_signs(beside, on, (op, [a, b]));
                self.words(beside, r, on, (Integers::of(op), d, &[a, b]));
            }
            Arithmetic::WordTernary(op, d, a, b, c) => {
                self.ternary(beside, r, on, (op, [d, a, b, c]))
            }
            Arithmetic::BitFieldInsert([d, a, b, c, e]) => {
                self.words(beside, r, on, (Integers::Other, d, &[a, b, c, e]));
            }
            Arithmetic::SelectWord { d, a, b, p } => {
                let chosen = r.predicates[usize::from(p)];
                self.moved(beside, on & chosen, [d, a]);
                self.moved(beside, on & !chosen, [d, b]);
            }
            Arithmetic::Setp(setp) => self.set_predicate(beside, on, &setp),
            Arithmetic::PredicateMove { .. } | Arithmetic::Predicate2(..) => {}
            Arithmetic::FloatToInteger(conversion) => {
                self.becomes_integer(beside, r, on, &conversion)
            }
            Arithmetic::WordToFloat { from, d, a } => {
                self.becomes_float(beside, r, on, (from, [d, a]))
            }
            Arithmetic::Split16 { parts, a } => self.parted(beside, on, (parts, a)),
            Arithmetic::Carry(ref carry) => self.carried(beside, r, on, carry),
            Arithmetic::Rare(ref rare) => self.rare(beside, r, on, rare),
            Arithmetic::B64Unary(..)
            | Arithmetic::B64Binary(..)
            | Arithmetic::B64Mad(..)
            | Arithmetic::B64Count(..)
            | Arithmetic::MulWide { .. }
            | Arithmetic::MadWide { .. }
            | Arithmetic::Widen { .. }
            | Arithmetic::Narrow { .. }
            | Arithmetic::Pack { .. }
            | Arithmetic::Unpack { .. }
            | Arithmetic::B64ToFloat { .. }
            | Arithmetic::SelectB64 { .. } => self.wide_arithmetic(beside, r, on, op),
        }
    }

    /// A word or two taken apart into numbers of 16 bits.
    fn parted(&mut self, beside: &mut Beside, on: u32, (parts, a): ([Slot; 4], Place)) {
        for lane in Bits(on) {
            let words = match a.file {
                File::B64 => {
                    let bits = self.wides[0][lane];
                    let [first, second] = beside.wide(a.slot, lane).words(bits);
                    let [low, high] = halves(bits);
                    [(first, low), (second, high)]
                }
                File::Word | File::Predicate => {
                    [(self.word(beside, a.slot, lane), self.words[0][lane]), (Word::None, 0)]
                }
            };
            let found = words.into_iter().flat_map(|(word, bits)| split(word, bits));
            for (part, word) in parts.into_iter().zip(found).filter(|(part, _)| *part != SINK) {
                beside.set_word(part, lane, word);
            }
        }
    }

    /// `cvt.rni.f32.f32` and its like: the decision. The result is a whole number, and has nothing beside it.
    fn rounded_whole(
        &mut self,
        beside: &mut Beside,
        r: &Registers,
        on: u32,
        ([d, a], rounding): ([Slot; 2], Rounding),
    ) {
        self.settle(beside, (a, 0), on);
        let units = matches!(self.whole_number(), Whole::Units | Whole::Halved);
        for lane in Bits(on) {
            let shadow = self.float(self.word(beside, a, lane), self.words[0][lane]);
            // Where the kernel does not say that they are units, it may be a cell.
            if !units {
                self.round(beside, lane, &shadow, rounding);
            }
            let result = f64::from(f32::from_bits(r.words.get(d)[lane]));
            let count = self.units(shadow, rounding, result);
            beside.set_word(d, lane, count.map_or(Word::None, Word::Count));
        }
    }

    /// Moves: the shadow follows the word.
    #[inline(always)]
    fn moved(&mut self, beside: &mut Beside, on: u32, [d, a]: [Slot; 2]) {
        if d == SINK || on == 0 {
            return;
        }
        if let Some(at) = a.checked_sub(self.registers) {
            let lanes = &self.literals[usize::from(at)];
            let entry = beside.entry_mut(d);
            entry.clear(on);
            entry.lanes.take(lanes, on);
            entry.floats |= on;
            entry.literals |= on;
            return;
        }
        beside.copy([d, a], on);
    }

    /// Operations on integers of 32 bits.
    fn words(
        &mut self,
        beside: &mut Beside,
        r: &Registers,
        on: u32,
        (op, d, from): (Integers, Slot, &[Slot]),
    ) {
        let present = from.iter().fold(0, |all, &slot| all | beside.present(slot)) & on;
        beside.clear(d, on & !present);
        for lane in Bits(present) {
            let mut operands = [(Word::None, 0); 4];
            for (k, &slot) in from.iter().enumerate() {
                operands[k] = (beside.word(slot, lane), self.words[k][lane]);
            }
            let result = r.words.get(d)[lane];
            let word = self.integer(op, &operands[..from.len()], result);
            beside.set_word(d, lane, word);
        }
    }

    /// mad.lo, and shifts of two words.
    fn ternary(
        &mut self,
        beside: &mut Beside,
        r: &Registers,
        on: u32,
        (op, [d, a, b, c]): (WordTernary, [Slot; 4]),
    ) {
        match op {
            WordTernary::MadLo
            | WordTernary::FunnelLeftWrap
            | WordTernary::FunnelLeftClamp
            | WordTernary::FunnelRightWrap
            | WordTernary::FunnelRightClamp => {
                self.words(beside, r, on, (Integers::Other, d, &[a, b, c]));
            }
        }
    }

    /// cvt from f32 to an integer.
    fn becomes_integer(
        &mut self,
        beside: &mut Beside,
        r: &Registers,
        on: u32,
        op: &FloatToInteger,
    ) {
        self.settle(beside, (op.a, 0), on);
        for lane in Bits(on) {
            let word = self.word(beside, op.a, lane);
            let result = op.result(r, lane);
            let count = match word {
                // It was rounded to a whole number already.
                Word::Count(count) if count.is_rounded_to(result) => Some(count),
                word => {
                    let a = self.float(word, self.words[0][lane]);
                    self.whole(beside, (lane, a), op.rounding, result)
                }
            };
            if op.b64 {
                beside.set_wide(op.d, lane, count.map_or(Wide::None, Wide::Count));
            } else {
                beside.set_word(op.d, lane, count.map_or(Word::None, Word::Count));
            }
        }
    }

    /// cvt from an integer to f32.
    fn becomes_float(
        &mut self,
        beside: &mut Beside,
        r: &Registers,
        on: u32,
        (from, [d, a]): (WordType, [Slot; 2]),
    ) {
        for lane in Bits(on) {
            let bits = self.words[0][lane];
            let whole = match from {
                WordType::S32 => f64::from(bits.cast_signed()),
                WordType::U32 => f64::from(bits),
                // What fits into f32 is exact.
                WordType::S8 | WordType::U8 | WordType::S16 | WordType::U16 => {
                    f64::from(f32::from_bits(r.words.get(d)[lane]))
                }
            };
            let found = self.converted(beside.word(a, lane), bits, whole);
            let word = self.rounded(found, whole, (lane, beside.open), r.words.get(d)[lane]);
            beside.set_word(d, lane, word);
        }
    }

    /// A whole number, or what it stands for, rounded to f32.
    fn rounded(
        &mut self,
        found: Option<Shadow>,
        whole: f64,
        (lane, open): (usize, u32),
        result: u32,
    ) -> Word {
        let value = f64::from(f32::from_bits(result));
        let a = match found {
            None if whole == value => return Word::None,
            None => Shadow { r: up((whole - value).abs()), ..Shadow::exact(whole) },
            Some(a) => a,
        };
        let kind = (Function::Identity, Accuracy::rounded(Rounding::Nearest));
        let shadow = self.scalar(kind, &[a], open >> lane & 1 == 1, value);
        shadow.map_or(Word::None, Word::Float)
    }
}

/// What an operation on one word is.
fn of_one_word(op: WordUnary) -> Integers {
    match op {
        WordUnary::Negate => Integers::Negate,
        WordUnary::Move
        | WordUnary::Not
        | WordUnary::Abs
        | WordUnary::Abs16
        | WordUnary::Popc
        | WordUnary::Clz
        | WordUnary::Brev
        | WordUnary::Signed8
        | WordUnary::Signed16
        | WordUnary::Unsigned8
        | WordUnary::Unsigned16
        | WordUnary::BfindS
        | WordUnary::BfindU
        | WordUnary::BfindShiftS
        | WordUnary::BfindShiftU => Integers::Other,
    }
}

/// `mov.b32 {low, high}, a`.
fn split(word: Word, bits: u32) -> [Word; 2] {
    match word {
        Word::None | Word::Field(_) => [Word::None; 2],
        Word::Halves(halves) => halves.map(|half| half.map_or(Word::None, Word::Narrow)),
        Word::Narrow(low) => [Word::Narrow(low), Word::None],
        Word::Float(shadow) if shadow.is_plain() => [Word::None; 2],
        Word::Float(shadow) => [Word::Refers(Source { shadow, bits }); 2],
        Word::Refers(source) => [Word::Refers(source); 2],
        Word::Count(_) | Word::Part(_) => [Word::garbled(word.source()); 2],
    }
}
