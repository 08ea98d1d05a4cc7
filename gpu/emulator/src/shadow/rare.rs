//! Operations that few kernels have, lane by lane.

mod convert;
mod fields;
mod narrow;
mod reversed;

use super::super::ir::{
    Comparison, Double, File, Permutation, Place, Rare, RareOp, Rounding, Wave,
};
use super::super::lanes::Bits;
use super::super::rare::{logic3, permute, takes_first};
use super::super::registers::Registers;
use super::bits::{Integers, SIGN, upper_bfloat};
use super::journal::Journal;
use super::magic::rounds_doubles;
use super::marker::Marker;
use super::number::{Shadow, UNIT, Wide, Word, is_near_zero, relevant};
use super::registers::Beside;
use super::table::accuracy::Accuracy;
use super::table::{Function, Library};
use super::wides::{DOUBLE, halves};

/// What is beside a register of either width, and its bits.
#[derive(Clone, Copy, Debug)]
enum Any {
    Word(Word, u32),
    Wide(Wide, u64),
    /// A predicate, or nothing.
    None,
}

impl Any {
    fn word(self) -> (Word, u32) {
        match self {
            Self::Word(word, bits) => (word, bits),
            Self::Wide(wide, bits) => (wide.words(bits)[0], halves(bits)[0]),
            Self::None => (Word::None, 0),
        }
    }

    /// What is beside a word of which the bits count: a literal is no float here.
    fn bits_of_word(self) -> Word {
        match self.word() {
            (Word::Float(shadow), _) if shadow.is_plain() => Word::None,
            (word, _) => word,
        }
    }

    /// What its halves are as numbers of 16 bits: nothing is known of one that is half of another number.
    fn halves(self) -> [Option<Option<Shadow>>; 2] {
        let (word, bits) = (self.bits_of_word(), self.word().1);
        match word.halves() {
            Some(halves) => halves.map(Some),
            None => [None, upper_bfloat(&(word, bits), bits >> 16).map(Some)],
        }
    }

    fn wide(self) -> (Wide, u64) {
        match self {
            Self::Word(word, bits) => (Wide::of([word, Word::None], bits.into()), bits.into()),
            Self::Wide(wide, bits) => (wide, bits),
            Self::None => (Wide::None, 0),
        }
    }

    fn is_none(self) -> bool {
        matches!(self, Self::None | Self::Word(Word::None, _) | Self::Wide(Wide::None, _))
    }
}

/// What a rare operation leaves beside its result.
enum Left {
    Word(Word),
    Wide(Wide),
}

/// One lane of a rare operation.
struct Lane<'l> {
    journal: &'l mut Journal,
    beside: &'l mut Beside,
    lane: usize,
    sources: [Any; 4],
    /// The bits of the result, those of 32 and less in the lower half.
    result: u64,
}

impl Journal {
    /// A rare operation, whose operands were kept before.
    pub(super) fn rare(&mut self, beside: &mut Beside, r: &Registers, active: u32, rare: &Rare) {
        for lane in Bits(active) {
            let mut sources = [Any::None; 4];
            for (k, place) in rare.sources.iter().enumerate() {
                sources[k] = match place {
                    Some(Place { file: File::Word, slot }) => {
                        Any::Word(self.word(beside, *slot, lane), self.words[k][lane])
                    }
                    Some(Place { file: File::B64, slot }) => {
                        Any::Wide(beside.wide(*slot, lane), self.wides[k][lane])
                    }
                    Some(Place { file: File::Predicate, .. }) | None => Any::None,
                };
            }
            let result = match rare.d.file {
                File::Word => r.words.get(rare.d.slot)[lane].into(),
                File::B64 => r.b64.get(rare.d.slot)[lane],
                File::Predicate => 0,
            };
            let mut one = Lane { journal: self, beside, lane, sources, result };
            let left = one.operation(rare);
            match (left, rare.d.file) {
                (_, File::Predicate) => {}
                (Left::Word(word), File::Word) => beside.set_word(rare.d.slot, lane, word),
                (Left::Wide(wide), File::B64) => beside.set_wide(rare.d.slot, lane, wide),
                (Left::Word(word), File::B64) => {
                    beside.set_wide(rare.d.slot, lane, Wide::of([word, Word::None], result));
                }
                (Left::Wide(wide), File::Word) => {
                    beside.set_word(rare.d.slot, lane, wide.words(result)[0]);
                }
            }
        }
    }
}

impl Lane<'_> {
    fn operation(&mut self, rare: &Rare) -> Left {
        let none = Left::Word(Word::None);
        match rare.op {
            RareOp::Convert(convert) => self.convert(convert),
            RareOp::Double(op, rounding) => self.double_operation(op, rounding),
            RareOp::Narrow(narrow) => Left::Word(self.narrow_operation(narrow)),
            RareOp::ConvertPair { format, .. } => Left::Word(self.convert_pair(format)),
            RareOp::SetNarrow { comparison, format, packed, .. } => {
                for half in 0..1 + usize::from(packed) {
                    let operands = [0, 1].map(|k| self.half(k, half, format));
                    self.compare(comparison, operands, half);
                }
                none
            }
            RareOp::Set { comparison, .. } => {
                let operands = [0, 1].map(|k| self.float(k));
                self.compare(comparison, operands, 0);
                none
            }
            RareOp::SelectBySign { float, flush } => {
                let reversed = float && {
                    let operands = [self.float(2), Shadow::exact(0.0)];
                    self.compare(Comparison::Ge, operands, 0)
                };
                self.selected(takes_first(self.sources[2].word().1, float, flush) != reversed)
            }
            RareOp::CopySign { double } => self.copy_sign(double),
            RareOp::Wave { op, flush } => {
                let a = self.float(0);
                let function = match op {
                    Wave::Sin => Function::Sine,
                    Wave::Cos => Function::Cosine,
                };
                let accuracy = Accuracy::wave(a.x.abs() + f64::from(a.r)).flushing(flush);
                Left::Word(self.single((function, accuracy), &[a]))
            }
            RareOp::PowerWgsl { flush } => {
                let operands = [0, 1].map(|k| self.float(k));
                let x = operands.map(|shadow| shadow.x);
                let r = operands.map(|shadow| f64::from(shadow.r));
                let accuracy = Accuracy::power(x, r).flushing(flush);
                Left::Word(self.single((Function::Library(Library::Power), accuracy), &operands))
            }
            RareOp::Pack16 => {
                let [a, b, c, d] = self.sources.map(|source| source.bits_of_word());
                match rare.d.file {
                    File::B64 => Left::Wide(Wide::of([packed(a, b), packed(c, d)], self.result)),
                    File::Word | File::Predicate => Left::Word(packed(a, b)),
                }
            }
            RareOp::Permute(mode) => Left::Word(self.permuted(mode)),
            // Whole numbers of other types, fields and products of bits.
            RareOp::Half(half) => Left::Word(self.half_integer(half)),
            RareOp::Logic3(table) => {
                let operands = [0, 1, 2].map(|k| self.sources[k].word());
                let of = |k: usize, bits: u32| {
                    let mut all = operands.map(|(_, bits)| bits);
                    all[k] = bits;
                    logic3(table, all[0], all[1], all[2])
                };
                Left::Word(self.by_bits(&operands, &of))
            }
            RareOp::Insert64 => Left::Wide(self.inserted()),
            RareOp::Extract(extract) => self.extracted(extract),
            RareOp::MulWideHalf { .. }
            | RareOp::Find64 { .. }
            | RareOp::Reverse64
            | RareOp::MaskBits { .. }
            | RareOp::Widen { .. }
            | RareOp::FindNth
            | RareOp::DotBytes { .. }
            | RareOp::DotHalves { .. }
            | RareOp::MadHigh { .. }
            | RareOp::Mul24 { .. }
            | RareOp::Sad { .. } => self.scrambled(),
            // What they say of a number is a decision on its bits: the path is that of the f32.
            RareOp::IsIn(_) | RareOp::Test { .. } => none,
        }
    }

    fn float(&mut self, k: usize) -> Shadow {
        let (word, bits) = self.sources[k].word();
        self.journal.float(word, bits)
    }

    fn is_open(&self) -> bool {
        self.beside.open >> self.lane & 1 == 1
    }

    /// An operation whose result is an f32.
    fn single(&mut self, kind: (Function, Accuracy), operands: &[Shadow]) -> Word {
        let open = self.is_open();
        let result = f64::from(f32::from_bits(halves(self.result)[0]));
        let shadow = self.journal.scalar(kind, operands, open, result);
        shadow.map_or(Word::None, Word::Float)
    }

    /// One that is no arithmetic, on the bits of words.
    fn integer(&mut self, op: Integers, count: usize) -> Word {
        let operands: Vec<_> = self.sources[..count].iter().map(|source| source.word()).collect();
        self.journal.integer(op, &operands, halves(self.result)[0])
    }

    /// One of which each bit of the result is one of the operands'. `of`: the result if an operand had other bits.
    fn by_bits(&mut self, operands: &[(Word, u32)], of: &dyn Fn(usize, u32) -> u32) -> Word {
        let result = halves(self.result)[0];
        if !operands.iter().any(relevant) {
            return Word::None;
        }
        self.journal.by_bits(self.beside, self.lane, (operands, result), of)
    }

    /// A result whose bits no rule follows.
    fn scrambled(&mut self) -> Left {
        if self.sources.iter().all(|source| source.is_none()) {
            return Left::Word(Word::None);
        }
        let from: Vec<Word> = self
            .sources
            .iter()
            .flat_map(|source| match *source {
                Any::Word(word, _) => [word, Word::None],
                Any::Wide(wide, bits) => wide.words(bits),
                Any::None => [Word::None; 2],
            })
            .collect();
        Left::Wide(self.journal.scrambled(&from, self.result))
    }

    /// A comparison of two numbers, or of two in these halves of words. Whether it is decided the other way.
    fn compare(&mut self, comparison: Comparison, [a, b]: [Shadow; 2], half: usize) -> bool {
        let tied = self.journal.compare_two(self.beside, self.lane, a, b);
        let mut lanes = [0; 2];
        lanes[half] = 1 << self.lane;
        tied && self.journal.tie(comparison, lanes)
    }

    /// `slct`: one of two.
    fn selected(&mut self, first: bool) -> Left {
        let [a, b, ..] = self.sources;
        match if first { a } else { b } {
            Any::Wide(wide, _) => Left::Wide(wide),
            word => Left::Word(word.word().0),
        }
    }

    /// The sign of the first, the magnitude of the second. Near 0 the sign may be another, and that of the second has
    /// no part in it.
    fn copy_sign(&mut self, double: bool) -> Left {
        let of = |k: usize, one: &mut Self| match double {
            true => {
                let (wide, bits) = one.sources[k].wide();
                (one.journal.double(wide, bits), bits & 1 << 63 != 0)
            }
            false => (one.float(k), one.sources[k].word().1 & SIGN != 0),
        };
        let (sign, mut negative) = of(0, self);
        if !self.sources[0].is_none() {
            let turned = self.journal.take_sign(self.beside, self.lane, &sign);
            self.journal.turns[self.lane] = if double { 1 << 63 } else { SIGN.into() };
            negative ^= turned;
        }
        if self.sources[1].is_none() {
            return Left::Word(Word::None);
        }
        let (mut shadow, was_negative) = of(1, self);
        if is_near_zero(&shadow) {
            let size = shadow.x.abs();
            let kind = (Function::Absolute, Accuracy::EXACT);
            shadow = self.journal.scalar(kind, &[shadow], false, size).unwrap_or(shadow);
            if negative {
                shadow = self.journal.scaled(&shadow, -1.0);
            }
        } else if negative != was_negative {
            shadow = self.journal.scaled(&shadow, -1.0);
        }
        if double { Left::Wide(Wide::Double(shadow)) } else { Left::Word(Word::Float(shadow)) }
    }

    /// prmt: halves of 16 bits may be numbers; else the bits say what became of the words.
    fn permuted(&mut self, mode: Permutation) -> Word {
        let (_, selector) = self.sources[2].word();
        let all = [0, 1].map(|k| self.sources[k].halves());
        let half = |nibbles: u32| match nibbles & 0xff {
            0x10 => all[0][0],
            0x32 => all[0][1],
            0x54 => all[1][0],
            0x76 => all[1][1],
            _ => None,
        };
        match (half(selector), half(selector >> 8)) {
            (Some(low), Some(high)) => Word::of_halves([low, high]),
            _ if all.iter().flatten().all(|half| *half == Some(None)) => Word::None,
            _ => self.permuted_bits(mode, selector),
        }
    }

    fn permuted_bits(&mut self, mode: Permutation, selector: u32) -> Word {
        let operands = [0, 1].map(|k| self.sources[k].word());
        let of = |k: usize, bits: u32| {
            let mut all = operands.map(|(_, bits)| bits);
            all[k] = bits;
            permute(mode, all[0], all[1], selector)
        };
        self.by_bits(&operands, &of)
    }

    /// bfi.b64: by halves where it takes one, as keys of 64 bits are made.
    fn inserted(&mut self) -> Wide {
        let [(a, a_bits), (b, b_bits), ..] = [0, 1].map(|k| self.sources[k].wide());
        let [position, length] = [2, 3].map(|k| self.sources[k].word().1 & 0xff);
        let ([low, high], old) = (a.words(a_bits), b.words(b_bits));
        match (position, length) {
            (32, 32..) => Wide::of([old[0], low], self.result),
            (0, 32) => Wide::of([low, old[1]], self.result),
            (0, 64..) => Wide::of([low, high], self.result),
            _ => self.journal.scrambled(&[low, high, old[0], old[1]], self.result),
        }
    }

    fn double_operation(&mut self, op: Double, rounding: Rounding) -> Left {
        let operands = [0, 1, 2].map(|k| {
            let (wide, bits) = self.sources[k].wide();
            self.journal.double(wide, bits)
        });
        let result = f64::from_bits(self.result);
        if op == Double::Max
            && let Some(marker) = Marker::of_double(self.sources[1].wide().1)
        {
            let operand = (marker, operands[0], result);
            return Left::Wide(self.journal.marker_of_doubles(self.beside, self.lane, operand));
        }
        if rounds_doubles(op, &operands) {
            return Left::Wide(Wide::None);
        }
        let exact = Accuracy { correct: false, ..Accuracy::EXACT };
        // 20 bits of the mantissa count.
        let gross = Accuracy { relative: 1.0 / 524_288.0, ..DOUBLE };
        let near = Accuracy { relative: 1.0 / 268_435_456.0, ..DOUBLE };
        // Towards one side the next number may be a whole unit away.
        let unit = if rounding == Rounding::Nearest { UNIT } else { 2.0 * UNIT };
        let double = Accuracy { relative: unit, ..DOUBLE };
        let (function, accuracy, count) = match op {
            Double::Add => (Function::Sum, double, 2),
            Double::Sub => (Function::Difference, double, 2),
            Double::Mul => (Function::Product, double, 2),
            Double::Fma => (Function::Fused, double, 3),
            Double::Div => (Function::Quotient, double, 2),
            Double::Reciprocal => (Function::Reciprocal, double, 1),
            Double::GrossReciprocal => (Function::Reciprocal, gross, 1),
            Double::GrossReciprocalRoot => (Function::ReciprocalRoot, gross, 1),
            Double::ReciprocalRoot => (Function::ReciprocalRoot, near, 1),
            Double::Sqrt => (Function::Root, double, 1),
            Double::Negate => (Function::Negate, exact, 1),
            Double::Abs => (Function::Absolute, exact, 1),
            Double::Min | Double::Max => {
                let values = [0, 1].map(|k| f64::from_bits(self.sources[k].wide().1));
                if result.is_nan() || self.sources[..2].iter().all(|source| source.is_none()) {
                    return Left::Wide(Wide::None);
                }
                let kind = (values, op == Double::Max, false);
                let open = self.is_open();
                let chosen = self.journal.chosen(kind, [operands[0], operands[1]], open);
                return Left::Wide(Wide::Double(chosen));
            }
        };
        let open = self.is_open();
        let kind = (function, accuracy);
        let shadow = self.journal.double_operation(kind, &operands[..count], open, result);
        Left::Wide(shadow.map_or(Wide::None, Wide::Double))
    }
}

/// The lower word of 64 bits. Of a number of units that fits into it, the number.
pub(super) fn narrowed(wide: Wide, bits: u64, result: u32) -> Word {
    match wide {
        Wide::Count(count) if bits.cast_signed() == i64::from(result.cast_signed()) => {
            Word::Count(count)
        }
        wide => wide.words(bits)[0],
    }
}

/// `mov.b32 d, {low, high}`.
fn packed(low: Word, high: Word) -> Word {
    let half = |word: Word| match word {
        Word::Narrow(shadow) => Some(shadow),
        Word::Halves([low, _]) => low,
        _ => None,
    };
    match (low, high) {
        (Word::None, Word::None) => Word::None,
        (
            Word::None | Word::Narrow(_) | Word::Halves(_),
            Word::None | Word::Narrow(_) | Word::Halves(_),
        ) => Word::Halves([half(low), half(high)]),
        // Halves of an f32 that was taken apart: the same number again, if they are both of it.
        (Word::Refers(low), Word::Refers(high)) if low == high => Word::Refers(low),
        (low, high) => Word::garbled(Shadow::joined(low.source(), high.source())),
    }
}
