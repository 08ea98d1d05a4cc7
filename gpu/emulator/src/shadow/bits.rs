//! The rule of bits: what is beside an integer that was computed from floats, and when it is a float
//! again.
//!
//! An integer computed from a float refers to that float. Where it is used as a float:
//! - with the bits of the source but for sign and exponent, it is the source times that power of two;
//! - a mantissa of zeros that a mask or shift has made is a constant, and refers to nothing;
//! - anything else begins anew, without a derivative, and is reported.
//!
//! An integer with the bits of an operand is that operand (`x | 0`). The maximum of float bits may be any of those that
//! are equal to it.
//!
//! Floats that were rounded to at least 256 units are numbers of units: they stay so through additions,
//! subtractions and negations, and a sum of them is a float again where it is converted back.

use super::super::ir::{IntegerBinary, NarrowFormat};
use super::super::lanes::{Bits, LANES};
use super::super::rare::narrow::single;
use super::journal::{Journal, Loss};
use super::number::{
    Count, Known, NO_FLOAT, Part, Shadow, Source, Whole, Word, is_near_zero, relevant, up,
};
use super::registers::Gathered;
use super::table::accuracy::Accuracy;
use super::table::{Function, error};
use super::tape::Flags;

/// The bit of an f32 that is its sign.
pub(super) const SIGN: u32 = 1 << 31;

const MANTISSA: u32 = 0x7f_ffff;

/// Of the upper word of an f64.
const UPPER_MANTISSA: u32 = 0xf_ffff;

/// What an integer operation does, as far as floats in it are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Integers {
    Add,
    Subtract,
    Negate,
    /// A mask.
    And,
    ShiftLeft,
    ShiftRight {
        /// Whether the sign is filled in.
        signed: bool,
    },
    /// The lesser or greater.
    Extreme,
    /// Whatever else: the bits of the result say what became of the operands.
    Other,
}

impl Integers {
    pub(super) fn of(op: IntegerBinary) -> Self {
        match op {
            IntegerBinary::Add => Self::Add,
            IntegerBinary::Sub => Self::Subtract,
            IntegerBinary::And => Self::And,
            IntegerBinary::Shl => Self::ShiftLeft,
            IntegerBinary::ShrS => Self::ShiftRight { signed: true },
            IntegerBinary::ShrU => Self::ShiftRight { signed: false },
            IntegerBinary::MinS
            | IntegerBinary::MinU
            | IntegerBinary::MaxS
            | IntegerBinary::MaxU => Self::Extreme,
            IntegerBinary::MulLo
            | IntegerBinary::MulHiS
            | IntegerBinary::MulHiU
            | IntegerBinary::DivS
            | IntegerBinary::DivU
            | IntegerBinary::RemS
            | IntegerBinary::RemU
            | IntegerBinary::Or
            | IntegerBinary::Xor => Self::Other,
        }
    }
}

/// An operand: what is beside it, and its bits.
pub(super) type Operand = (Word, u32);

/// The source that an operand refers to.
fn reference((word, bits): &Operand) -> Option<Source<u32>> {
    match *word {
        Word::None | Word::Field(_) | Word::Count(Count { summed: false, .. }) => None,
        Word::Float(shadow) => Some(Source { shadow, bits: *bits }),
        Word::Refers(source) => Some(source),
        Word::Narrow(_) | Word::Halves(_) | Word::Count(_) | Word::Part(_) => {
            word.source().map(|shadow| Source { shadow, bits: NO_FLOAT })
        }
    }
}

/// What an operation that nobody follows makes of numbers in fixed point, such as a product; `None` where there is none
/// among the operands. What is shifted down or masked is a cell, and an extreme is one of its operands.
pub(super) fn changed_units(op: Integers, operands: impl Iterator<Item = Word>) -> Option<Shadow> {
    match op {
        Integers::And | Integers::ShiftRight { .. } | Integers::Extreme => return None,
        Integers::Add
        | Integers::Subtract
        | Integers::Negate
        | Integers::ShiftLeft
        | Integers::Other => {}
    }
    let units = operands.map(|word| match word {
        Word::Count(Count { shadow, summed: false, known: Known::ByScale }) => Some(shadow),
        _ => None,
    });
    units.fold(None, Shadow::joined)
}

/// Where integers of 32 bits wrap around.
const TURN: f64 = 4_294_967_296.0;

impl Journal {
    /// What is beside the result of an integer operation on words.
    pub(super) fn integer(&mut self, op: Integers, operands: &[Operand], result: u32) -> Word {
        if !operands.iter().any(relevant) {
            return self.carried_field(op, operands, result);
        }
        if let (Integers::Extreme, &[a, b]) = (op, operands) {
            return self.extreme_word([a, b], result);
        }
        if let Some(counted) = self.counted(op, operands, result) {
            return counted;
        }
        if makes_constant(op, operands) {
            return self.taken_field(op, operands, result);
        }
        if let Some(magnitude) = self.magnitude(op, operands, result) {
            return magnitude;
        }
        if let Some(signed) = self.signed_halves(op, operands, result) {
            return signed;
        }
        if let Some(halves) = halves(op, operands, result) {
            return halves;
        }
        let all: Vec<&Operand> = operands.iter().filter(|o| relevant(o)).collect();
        let alone = all.len() == 1;
        if let Some((same, _)) = all.iter().find(|o| alone && o.1 == result) {
            return *same;
        }
        if let Some(changed) = changed_units(op, operands.iter().map(|(word, _)| *word)) {
            return Word::garbled(Some(changed));
        }
        // The upper word of an f64, of which sign and exponent may have been changed by a number that is another's.
        let keeps = |bits: u32| alone || (bits ^ result) & UPPER_MANTISSA == 0;
        let part = all.iter().find_map(|(word, bits)| match word {
            Word::Part(part) if keeps(*bits) => Some(*part),
            _ => None,
        });
        if let Some(part) = part {
            return Word::Part(part);
        }
        let sources: Vec<Source<u32>> = all.into_iter().filter_map(reference).collect();
        let alike = |source: &&Source<u32>| (source.bits ^ result) & MANTISSA == 0;
        if let Some(one) = sources.iter().find(alike) {
            return Word::Refers(*one);
        }
        let each = sources.iter().map(|source| Some(source.shadow));
        let Some(joined) = each.fold(None, Shadow::joined) else { return Word::None };
        // Whatever became of it, the bits that it had are still known.
        let as_it_was =
            |source: &&Source<u32>| source.shadow.n == joined.n && source.bits != NO_FLOAT;
        sources.iter().find(as_it_was).map_or(Word::garbled(Some(joined)), |one| Word::Refers(*one))
    }

    /// What a mask of all bits but the sign leaves of numbers of 16 bits, and of an f32: an absolute value.
    fn magnitude(&mut self, op: Integers, operands: &[Operand], result: u32) -> Option<Word> {
        let (Integers::And, [a, b]) = (op, operands) else { return None };
        let ((word, bits), (_, mask)) = if relevant(a) { (a, b) } else { (b, a) };
        let kind = (Function::Absolute, Accuracy::EXACT);
        match *word {
            // One that is above 0 for sure is itself.
            Word::Float(shadow) if *mask == !SIGN && *bits == result && !is_near_zero(&shadow) => {
                None
            }
            Word::Float(_) | Word::Refers(_) if *mask == !SIGN => self.magnitude_of((*word, *bits)),
            // Bits of 16 are a number only together with a format: it is what is beside them.
            Word::Narrow(shadow) if *mask == 0x7fff => {
                self.scalar(kind, &[shadow], false, shadow.x.abs()).map(Word::Narrow)
            }
            Word::Halves(halves) if *mask == 0x7fff_7fff => Some(Word::of_halves(
                halves.map(|half| half.and_then(|a| self.scalar(kind, &[a], false, a.x.abs()))),
            )),
            _ => None,
        }
    }

    /// Sums, differences and remainders of numbers of units.
    fn counted(&mut self, op: Integers, operands: &[Operand], result: u32) -> Option<Word> {
        let counts = operands.iter().filter(|(word, _)| matches!(word, Word::Count(_))).count();
        if counts == 0 {
            return None;
        }
        let all = operands.iter().map(|(word, bits)| match *word {
            Word::Count(count) => Some(count),
            word if !relevant(&(word, *bits)) => {
                let shadow = Shadow::exact(f64::from(bits.cast_signed()));
                Some(Count { shadow, summed: false, known: Known::BySize })
            }
            _ => None,
        });
        let all: Vec<Count> = all.collect::<Option<_>>()?;
        if let (Integers::And, [(a, bits), (b, mask)]) = (op, operands) {
            return match (a, b) {
                (Word::Count(count), Word::None) => self.remainder(*count, (*bits, *mask), result),
                (Word::None, Word::Count(count)) => self.remainder(*count, (*mask, *bits), result),
                _ => None,
            };
        }
        let count = self.add_counts(op, &all, f64::from(result.cast_signed()), TURN)?;
        Some(Word::Count(count))
    }

    /// What a mask of the lowest bits leaves of a number of units: the fraction in fixed point.
    fn remainder(&mut self, count: Count, (bits, mask): (u32, u32), result: u32) -> Option<Word> {
        let lowest = mask & mask.wrapping_add(1) == 0 && mask >> 31 == 0;
        let by = f64::from(bits.cast_signed()) - f64::from(result);
        let shadow = lowest.then(|| self.turned(count.shadow, by))?;
        Some(Word::Count(Count { shadow, ..count }))
    }

    /// The sum of the words of lanes, one after another.
    pub(crate) fn added_up(&mut self, words: &Gathered, values: &[u32; LANES], all: u32) -> Word {
        let mut lanes = Bits(all).map(|lane| (words.get(lane), values[lane]));
        let first = lanes.next().unwrap_or((Word::None, 0));
        let sum = lanes.fold(first, |sum, next| {
            let result = sum.1.wrapping_add(next.1);
            (self.integer(Integers::Add, &[sum, next], result), result)
        });
        sum.0
    }

    /// Of an addition, subtraction or negation whose result is this whole number; `None` for other
    /// operations. Integers wrap around at `turn`: what a carry is for, or two signs of one word. The number of
    /// units follows them.
    pub(super) fn add_counts(
        &mut self,
        op: Integers,
        all: &[Count],
        result: f64,
        turn: f64,
    ) -> Option<Count> {
        let (function, x) = match (op, all) {
            (Integers::Add, [a, b]) => (Function::Sum, a.shadow.x + b.shadow.x),
            (Integers::Subtract, [a, b]) => (Function::Difference, a.shadow.x - b.shadow.x),
            (Integers::Negate, [a]) => (Function::Negate, -a.shadow.x),
            _ => return None,
        };
        let r = up(all.iter().map(|count| f64::from(count.shadow.r)).sum());
        let turns = ((x - result) / turn).round();
        let wrapped = if turns == 0.0 { 0.0 } else { turns * turn };
        if !((x - wrapped - result).abs() <= f64::from(r)) {
            return None;
        }
        let own = error(function, x);
        let c = up(all.iter().map(|count| f64::from(count.shadow.c)).sum::<f64>() + own);
        let parent = |k: usize| all.get(k).map(|count| &count.shadow);
        let parents = [parent(0), parent(1), None];
        let n = self.node(function, parents, (x, c), Flags::default());
        // A whole number added to one that came from a float makes no sum of it.
        let from_floats = all.iter().filter(|count| count.shadow.r > 0.0).count();
        let summed = from_floats > 1 || all.iter().any(|count| count.summed);
        let known = all.iter().map(|count| count.known).max()?;
        Some(Count { shadow: self.turned(Shadow { x, r, c, n }, wrapped), summed, known })
    }

    /// A number of units that wrapped around, by so much.
    fn turned(&mut self, a: Shadow, by: f64) -> Shadow {
        if by == 0.0 {
            return a;
        }
        let x = a.x - by;
        let c = up(f64::from(a.c) + error(Function::Difference, x));
        let parents = [Some(&a), Some(&Shadow::exact(by)), None];
        let n = self.node(Function::Difference, parents, (x, c), Flags::default());
        Shadow { x, c, n, ..a }
    }

    /// A word used as an f32.
    #[inline(always)]
    pub(super) fn float(&mut self, word: Word, bits: u32) -> Shadow {
        match word {
            Word::Float(shadow) => shadow,
            word => self.float_of(word, bits),
        }
    }

    #[inline(never)]
    fn float_of(&mut self, word: Word, bits: u32) -> Shadow {
        match word {
            Word::None | Word::Field(_) => Shadow::single(bits),
            Word::Float(shadow) => shadow,
            word if !relevant(&(word, bits)) => word.read_as(Shadow::single(bits)),
            Word::Halves([_, Some(high)]) if is_bfloat(bits, &high) => high,
            // A float that was rounded to a whole number: that number.
            Word::Count(count) if count.is_rounded_to(f64::from(f32::from_bits(bits))) => {
                Shadow::single(bits)
            }
            Word::Refers(source) => match power_of_two(source.bits, bits) {
                Some(1.0) => source.shadow,
                Some(factor) => self.scaled(&source.shadow, factor),
                None => self.anew(bits, &[Some(source.shadow)]),
            },
            Word::Narrow(_) | Word::Halves(_) | Word::Count(_) | Word::Part(_) => {
                self.anew(bits, &[word.source()])
            }
        }
    }

    /// A number times a power of two, or its negative.
    pub(super) fn scaled(&mut self, shadow: &Shadow, factor: f64) -> Shadow {
        let x = shadow.x * factor;
        let [r, c] = [shadow.r, shadow.c].map(|radius| up(f64::from(radius) * factor.abs()));
        let by = Shadow::exact(factor);
        let parents = [Some(shadow), Some(&by), None];
        let n = self.node(Function::Product, parents, (x, c), Flags::default());
        Shadow { x, r, c, n }
    }

    fn anew(&mut self, bits: u32, from: &[Option<Shadow>]) -> Shadow {
        self.begin_anew(f64::from(f32::from_bits(bits)), from, Loss::Bits)
    }

    /// A word of which the lower half is used as an f16 or bf16.
    pub(super) fn narrow(&mut self, word: Word, bits: u32, format: NarrowFormat) -> Shadow {
        let x = f64::from(single(format, false, u64::from(bits & 0xffff)));
        match word {
            Word::None | Word::Field(_) => Shadow::exact(x),
            Word::Narrow(shadow) | Word::Halves([Some(shadow), _]) if shadow.is_plain() => {
                shadow.read_as(Shadow::exact(x))
            }
            Word::Narrow(shadow) | Word::Halves([Some(shadow), _]) => shadow,
            Word::Halves([None, _]) => Shadow::exact(x),
            word if !relevant(&(word, bits)) => word.read_as(Shadow::exact(x)),
            // The upper half of an f32 is a bf16: it was cut off, and what was cut is lost.
            Word::Float(_) | Word::Refers(_) | Word::Count(_) | Word::Part(_) => {
                self.begin_anew(x, &[word.source()], Loss::Bits)
            }
        }
    }

    /// An integer that is converted to a float, as the whole number it is. `None` if its bits say all.
    pub(super) fn converted(&mut self, word: Word, bits: u32, whole: f64) -> Option<Shadow> {
        match word {
            Word::None | Word::Field(_) | Word::Count(Count { summed: false, .. }) => None,
            word if !relevant(&(word, bits)) => None,
            Word::Count(Count { shadow, summed: true, known: Known::Unsure }) => {
                Some(self.begin_anew(whole, &[Some(shadow)], Loss::Count))
            }
            Word::Count(Count { shadow, summed: true, known: Known::BySize | Known::ByScale }) => {
                let turns = ((shadow.x - whole) / TURN).round();
                Some(self.turned(shadow, turns * TURN))
            }
            Word::Float(_)
            | Word::Refers(_)
            | Word::Narrow(_)
            | Word::Halves(_)
            | Word::Part(_) => Some(self.begin_anew(whole, &[word.source()], Loss::Bits)),
        }
    }
}

/// The factor between two floats whose bits differ in sign and exponent alone.
pub(super) fn power_of_two(source: u32, bits: u32) -> Option<f64> {
    let exponent = |bits: u32| i32::from((bits >> 23 & 0xff) as u8);
    let (from, to) = (exponent(source), exponent(bits));
    let normal = |exponent: i32| (1..255).contains(&exponent);
    let alike = (source ^ bits) & MANTISSA == 0;
    if !alike || from != to && !(normal(from) && normal(to)) {
        return None;
    }
    let sign = if (source ^ bits) >> 31 == 1 { -1.0 } else { 1.0 };
    Some(sign * 2.0_f64.powi(to - from))
}

/// Whether a mask or shift has left nothing of the mantissas: signs, exponents and powers of two. Of two numbers
/// of 16 bits in a word: signs.
fn makes_constant(op: Integers, operands: &[Operand]) -> bool {
    let [first, second, ..] = operands else { return false };
    let all = [first, second];
    let is_low = |o: &&Operand| matches!(o.0, Word::Narrow(_)) && o.1 >> 16 == 0;
    let is_narrow = |o: &&Operand| matches!(o.0, Word::Narrow(_) | Word::Halves(_));
    let is_upper =
        |o: &&Operand| matches!(o.0, Word::Part(Part { of: Whole::Double(_), upper: true, .. }));
    let (mantissas, left, right) = if all.iter().any(is_low) {
        (0x7fff, 31, 15)
    } else if all.iter().any(is_narrow) {
        (0x7fff_7fff, 31, 31)
    } else if all.iter().any(is_upper) {
        (UPPER_MANTISSA, 32, 20)
    } else {
        (MANTISSA, 23, 23)
    };
    match op {
        Integers::And => all.iter().any(|o| !relevant(o) && o.1 & mantissas == 0),
        // A number of units is no mantissa.
        Integers::ShiftLeft if matches!(first.0, Word::Count(_)) => false,
        Integers::ShiftLeft => second.1 >= left,
        Integers::ShiftRight { .. } => second.1 >= right,
        Integers::Add
        | Integers::Subtract
        | Integers::Negate
        | Integers::Extreme
        | Integers::Other => false,
    }
}

/// Numbers of 16 bits that masks and shifts take out of a word or into its upper half, and that are put together.
fn halves(op: Integers, operands: &[Operand], result: u32) -> Option<Word> {
    let half = |shadow: Option<Shadow>| Some(shadow.map_or(Word::None, Word::Narrow));
    match (op, operands) {
        (Integers::And, [(Word::Halves([low, _]), _), (Word::None, 0xffff)]) => half(*low),
        (Integers::And, [(Word::Halves([_, high]), _), (Word::None, 0xffff_0000)]) => {
            Some(Word::of_halves([None, *high]))
        }
        (Integers::ShiftRight { .. }, [(Word::Halves([_, high]), _), (Word::None, 16)]) => {
            half(*high)
        }
        (
            Integers::ShiftLeft,
            [(Word::Narrow(low) | Word::Halves([Some(low), _]), _), (Word::None, 16)],
        ) => Some(Word::of_halves([None, Some(*low)])),
        // An f32 rounded to bf16, as code does it that has no instruction for it.
        (Integers::ShiftRight { .. }, [number, (Word::None, 16)]) => {
            upper_bfloat(number, result).map(Word::Narrow)
        }
        (Integers::And, [number, (Word::None, 0xffff_0000)]) if number.1 != result => {
            let high = upper_bfloat(number, result >> 16)?;
            Some(Word::of_halves([None, Some(high)]))
        }
        (Integers::Add | Integers::Other, [(one, a), (other, b)])
            if a & b == 0 && a | b == result =>
        {
            let [one_halves, other_halves] = [one.halves()?, other.halves()?];
            let apart =
                [0, 1].iter().all(|&k| one_halves[k].is_none() || other_halves[k].is_none());
            let both = [0, 1].map(|k| one_halves[k].or(other_halves[k]));
            apart.then(|| Word::of_halves(both))
        }
        _ => None,
    }
}

/// Whether the upper half of these bits is this bf16: with zeros below it is that number as an f32.
pub(super) fn is_bfloat(bits: u32, high: &Shadow) -> bool {
    let distance = (f64::from(f32::from_bits(bits)) - high.x).abs();
    bits & 0xffff == 0 && distance <= f64::from(high.r)
}

/// The bf16 that is the upper half of an f32, cut off or rounded before.
pub(super) fn upper_bfloat(number: &Operand, half: u32) -> Option<Shadow> {
    let source = match number.0 {
        Word::Float(_) | Word::Refers(_) => reference(number)?,
        Word::None
        | Word::Narrow(_)
        | Word::Halves(_)
        | Word::Count(_)
        | Word::Part(_)
        | Word::Field(_) => return None,
    };
    let above = source.bits >> 16;
    [above, above + 1].contains(&half).then(|| cut_to_bfloat(source.shadow))
}

/// The same number, with what is lost where an f32 is rounded to bf16 in whichever direction: 2^-7 of it, or less
/// than a unit of the least bf16.
fn cut_to_bfloat(shadow: Shadow) -> Shadow {
    const LEAST: f64 = 9.183_549_615_799_121e-41;
    let lost = (shadow.x.abs() + f64::from(shadow.r)) / 128.0 + LEAST;
    Shadow { r: up(f64::from(shadow.r) + lost), ..shadow }
}
