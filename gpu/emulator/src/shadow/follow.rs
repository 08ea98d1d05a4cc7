//! Follows arithmetic: what is beside the result of every instruction.
//!
//! The match over the instructions has no remainder: a new one does not compile until somebody has said
//! what it does to a float.

mod wide;

use super::super::ir::{
    Approximation, Arithmetic, Compared, File, FloatBinary, FloatFlags, FloatToInteger, FloatUnary,
    Place, Rounding, SINK, Slot, WordTernary, WordType, WordUnary,
};
use super::super::registers::{Active, Bits, Registers};
use super::bits::Integers;
use super::floats::Operation;
use super::journal::Journal;
use super::number::{Shadow, Source, Wide, Word, up};
use super::registers::Beside;
use super::table::Function;
use super::table::accuracy::Accuracy;

/// No operand.
const NONE: Place = Place { file: File::Predicate, slot: 0 };

/// The registers that an instruction reads, but for addresses, amounts that nobody follows, and
/// predicates.
fn sources(op: &Arithmetic) -> [Place; 4] {
    let word = |slot| Place { file: File::Word, slot };
    let wide = |slot| Place { file: File::B64, slot };
    match *op {
        Arithmetic::WordUnary(_, _, a)
        | Arithmetic::FloatUnary(_, _, _, a)
        | Arithmetic::WordToFloat { a, .. }
        | Arithmetic::Widen { a, .. }
        | Arithmetic::FloatToInteger(FloatToInteger { a, .. })
        | Arithmetic::Split16 { a, .. } => [word(a), NONE, NONE, NONE],
        Arithmetic::WordBinary(_, _, a, b)
        | Arithmetic::FloatBinary(_, _, _, a, b)
        | Arithmetic::MulWide { a, b, .. }
        | Arithmetic::SelectWord { a, b, .. } => [word(a), word(b), NONE, NONE],
        Arithmetic::Pack { low, high, .. } => [word(low), word(high), NONE, NONE],
        Arithmetic::WordTernary(_, _, a, b, c) | Arithmetic::Fma(_, _, _, a, b, c) => {
            [word(a), word(b), word(c), NONE]
        }
        Arithmetic::BitFieldInsert([_, a, b, c, d]) => [word(a), word(b), word(c), word(d)],
        Arithmetic::B64Unary(_, _, a)
        | Arithmetic::B64Count(_, _, a)
        | Arithmetic::Narrow { a, .. }
        | Arithmetic::Unpack { a, .. }
        | Arithmetic::B64ToFloat { a, .. } => [wide(a), NONE, NONE, NONE],
        Arithmetic::B64Binary(op, _, a, b) => {
            [wide(a), if op.shifts() { word(b) } else { wide(b) }, NONE, NONE]
        }
        Arithmetic::SelectB64 { a, b, .. } => [wide(a), wide(b), NONE, NONE],
        Arithmetic::B64Mad(_, a, b, c) => [wide(a), wide(b), wide(c), NONE],
        Arithmetic::MadWide { a, b, c, .. } => [word(a), word(b), wide(c), NONE],
        Arithmetic::Setp(setp) => match setp.compared {
            Compared::Unsigned64 | Compared::Signed64 | Compared::Double => {
                [wide(setp.a), wide(setp.b), NONE, NONE]
            }
            Compared::Unsigned
            | Compared::Signed
            | Compared::Unsigned16
            | Compared::Signed16
            | Compared::Float { .. }
            | Compared::Narrow { .. } => [word(setp.a), word(setp.b), NONE, NONE],
        },
        Arithmetic::PredicateMove { .. } | Arithmetic::Predicate2(..) => [NONE; 4],
        Arithmetic::Rare(rare) => rare.sources.map(|source| source.unwrap_or(NONE)),
    }
}

/// Before an instruction: keeps what its operands are, which its result may be written over.
#[inline(never)]
pub(crate) fn before(journal: &mut Journal, r: &Registers, op: &Arithmetic, pc: u32) {
    journal.pc = pc;
    for (k, place) in sources(op).into_iter().enumerate() {
        match place.file {
            File::Word => journal.words[k] = *r.words.get(place.slot),
            File::B64 => journal.wides[k] = *r.b64.get(place.slot),
            File::Predicate => {}
        }
    }
}

/// After it: what is beside its result.
#[inline(never)]
pub(crate) fn after(journal: &mut Journal, r: &mut Registers, on: &Active, op: &Arithmetic) {
    let Some(mut beside) = r.beside.take() else { return };
    match journal.departure() {
        None => journal.arithmetic(&mut beside, r, on.bits, op),
        Some(departure) => {
            let handed = journal.handed(&beside, on.bits, op);
            journal.arithmetic(&mut beside, r, on.bits, op);
            journal.depart(&mut beside, r, (on.bits, op), (departure, &handed));
        }
    }
    r.beside = Some(beside);
}

impl Journal {
    fn arithmetic(&mut self, beside: &mut Beside, r: &Registers, on: u32, op: &Arithmetic) {
        match *op {
            Arithmetic::FloatUnary(op, flags, d, a) => {
                self.unary(beside, r, on, (op, flags, [d, a]))
            }
            Arithmetic::FloatBinary(op, flags, d, a, b) => {
                self.binary(beside, r, on, (op, flags, [d, a, b]));
            }
            Arithmetic::Fma(rounding, flags, d, a, b, c) => {
                if self.rounds_on_purpose(beside, on, (d, &[c], &[a, b])) {
                    return;
                }
                let accuracy = Accuracy::rounded(rounding).flushing(flags.flush);
                let (function, saturate, operands) = (Function::Fused, flags.saturate, [a, b, c]);
                let operands = &operands;
                self.operation(
                    beside,
                    r,
                    on,
                    &Operation { function, accuracy, saturate, d, operands },
                );
            }
            Arithmetic::WordUnary(WordUnary::Move, d, a) => self.moved(beside, on, [d, a]),
            Arithmetic::WordUnary(op, d, a) => {
                self.words(beside, r, on, (of_one_word(op), d, &[a]));
            }
            Arithmetic::WordBinary(op, d, a, b) => {
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
            Arithmetic::Split16 { low, high, a } => {
                for lane in Bits(on) {
                    let [first, second] = split(self.word(beside, a, lane), self.words[0][lane]);
                    beside.set_word(low, lane, first);
                    beside.set_word(high, lane, second);
                }
            }
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

    fn unary(
        &mut self,
        beside: &mut Beside,
        r: &Registers,
        on: u32,
        (op, flags, [d, a]): (FloatUnary, FloatFlags, [Slot; 2]),
    ) {
        let FloatFlags { flush, saturate } = flags;
        let (function, accuracy) = match op {
            FloatUnary::Move if !saturate && !flush => return self.moved(beside, on, [d, a]),
            FloatUnary::Move => (Function::Identity, Accuracy::EXACT),
            FloatUnary::Negate => (Function::Negate, Accuracy::EXACT),
            FloatUnary::Abs => (Function::Absolute, Accuracy::EXACT),
            FloatUnary::Round(rounding) => {
                self.settle(beside, (a, 0), on);
                for lane in Bits(on) {
                    let shadow = self.float(self.word(beside, a, lane), self.words[0][lane]);
                    self.round(beside, lane, &shadow, rounding);
                }
                return beside.clear(d, on);
            }
            FloatUnary::Reciprocal => (Function::Reciprocal, Accuracy::rounded(Rounding::Nearest)),
            FloatUnary::Sqrt => (Function::Root, Accuracy::rounded(Rounding::Nearest)),
            FloatUnary::Approximate(f) => (approximated(f), Accuracy::approximate(f)),
        };
        let accuracy = accuracy.flushing(flush);
        let operands = &[a];
        self.operation(beside, r, on, &Operation { function, accuracy, saturate, d, operands });
    }

    fn binary(
        &mut self,
        beside: &mut Beside,
        r: &Registers,
        on: u32,
        (op, flags, [d, a, b]): (FloatBinary, FloatFlags, [Slot; 3]),
    ) {
        let FloatFlags { flush, saturate } = flags;
        let rounded = Accuracy::rounded(Rounding::Nearest);
        let (function, accuracy) = match op {
            FloatBinary::Add => (Function::Sum, rounded),
            FloatBinary::Sub => (Function::Difference, rounded),
            FloatBinary::Mul => (Function::Product, rounded),
            FloatBinary::Div => (Function::Quotient, rounded),
            FloatBinary::Min | FloatBinary::Max | FloatBinary::MinNan | FloatBinary::MaxNan => {
                return self.extreme(beside, r, on, (op, flush, [d, a, b]));
            }
            FloatBinary::Approximate(f) => (approximated(f), Accuracy::approximate(f)),
        };
        let sum = matches!(op, FloatBinary::Add | FloatBinary::Sub);
        if sum && self.rounds_on_purpose(beside, on, (d, &[a, b], &[a, b])) {
            return;
        }
        let accuracy = accuracy.flushing(flush);
        let operands = &[a, b];
        self.operation(beside, r, on, &Operation { function, accuracy, saturate, d, operands });
    }

    /// Whether a sum is a rounding to a whole number: one of `addends` is a literal such as 1.5 * 2^23,
    /// far above the rest, whose last place is a half, 1 or 2. The f32 result then is a whole number.
    fn rounds_on_purpose(
        &mut self,
        beside: &mut Beside,
        on: u32,
        (d, addends, operands): (Slot, &[Slot], &[Slot]),
    ) -> bool {
        let magic = |journal: &Self, slot: Slot| {
            let literals = match slot.checked_sub(journal.registers) {
                Some(_) => u32::MAX,
                None => beside.entry(slot).map_or(0, |entry| entry.literals),
            };
            if literals & on != on {
                return None;
            }
            let lane = on.trailing_zeros() as usize & 31;
            let word = journal.word(beside, slot, lane);
            let Word::Float(shadow) = word else { return None };
            let size = shadow.x.abs();
            let whole = shadow.x.fract() == 0.0 && (4_194_304.0..33_554_432.0).contains(&size);
            whole.then_some(size)
        };
        let Some((at, size)) =
            addends.iter().find_map(|&slot| magic(self, slot).map(|size| (slot, size)))
        else {
            return false;
        };
        let rest: Vec<(Slot, usize)> =
            operands.iter().copied().zip(0..).filter(|(slot, _)| *slot != at).collect();
        let small = |lane: usize| {
            let number = |&(slot, k): &(Slot, usize)| match self.word(beside, slot, lane) {
                Word::Float(shadow) => shadow.x,
                _ => f64::from(f32::from_bits(self.words[k][lane])),
            };
            rest.iter().map(number).product::<f64>().abs() < 0.5 * size
        };
        if !Bits(on).all(small) {
            return false;
        }
        beside.clear(d, on);
        true
    }

    /// Moves: the shadow follows the word.
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
            let a = self.float(self.word(beside, op.a, lane), self.words[0][lane]);
            let result = match (op.b64, op.signed) {
                (true, true) => r.b64.get(op.d)[lane].cast_signed() as f64,
                (true, false) => r.b64.get(op.d)[lane] as f64,
                (false, true) => f64::from(r.words.get(op.d)[lane].cast_signed()),
                (false, false) => f64::from(r.words.get(op.d)[lane]),
            };
            let count = self.whole(beside, (lane, a), op.rounding, result);
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

/// The function of an approximate instruction.
fn approximated(f: Approximation) -> Function {
    match f {
        Approximation::Ex2 | Approximation::Ex2Wgsl => Function::Exp2,
        Approximation::Lg2 | Approximation::Lg2Wgsl => Function::Log2,
        Approximation::Rcp => Function::Reciprocal,
        Approximation::Sqrt => Function::Root,
        Approximation::Rsqrt | Approximation::RsqrtWgsl => Function::ReciprocalRoot,
        Approximation::Div | Approximation::DivFull => Function::Quotient,
    }
}

/// `mov.b32 {low, high}, a`.
fn split(word: Word, bits: u32) -> [Word; 2] {
    match word {
        Word::None => [Word::None; 2],
        Word::Halves(halves) => halves.map(|half| half.map_or(Word::None, Word::Narrow)),
        Word::Narrow(low) => [Word::Narrow(low), Word::None],
        Word::Float(shadow) if shadow.is_plain() => [Word::None; 2],
        Word::Float(shadow) => [Word::Refers(Source { shadow, bits }); 2],
        Word::Refers(source) => [Word::Refers(source); 2],
        Word::Count(_) | Word::Part(_) => {
            let refers = |shadow| Word::Refers(Source { shadow, bits: 0x7fff_ffff });
            [word.source().map_or(Word::None, refers); 2]
        }
    }
}
