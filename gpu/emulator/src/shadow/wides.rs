//! What is beside registers of 64 bits: f64, numbers of units, and pairs of words.

use super::super::ir::{B64Unary, IntegerBinary};
use super::bits::{Integers, changed_units};
use super::floats::{Number, number};
use super::journal::{Journal, Loss};
use super::number::{Count, Known, Part, Shadow, Source, UNIT, Whole, Wide, Word, relevant, up};
use super::table::Function;
use super::table::accuracy::Accuracy;
use super::tape::Flags;

/// 64 bits and what is beside them.
pub(super) type Operand = (Wide, u64);

/// An f64 rounded to nearest.
pub(super) const DOUBLE: Accuracy = Accuracy {
    relative: UNIT,
    floor: 0.0,
    // Half of the least f64, which is 0 in f64; a whole one.
    absolute: 5e-324,
    correct: false,
    flush: false,
};

/// How far an f64 literal may be from what it stands for, of its size.
const LITERAL: f64 = 1.0 / 8_796_093_022_208.0;

const MANTISSA: u64 = (1 << 52) - 1;

/// The words of 64 bits.
pub(super) fn halves(bits: u64) -> [u32; 2] {
    [(bits & 0xffff_ffff) as u32, (bits >> 32) as u32]
}

impl Journal {
    /// An operation on integers of 64 bits.
    pub(super) fn wide_integer(&mut self, op: Integers, operands: &[Operand], result: u64) -> Wide {
        let plain = |(wide, bits): &Operand| match wide {
            // As integers constants are what they are.
            Wide::Double(shadow) if shadow.is_plain() => (Wide::None, *bits),
            wide => (*wide, *bits),
        };
        let operands: Vec<Operand> = operands.iter().map(plain).collect();
        if operands.iter().all(|(wide, _)| *wide == Wide::None) {
            return Wide::None;
        }
        if let (Integers::Extreme, &[a, b]) = (op, &*operands) {
            return self.extreme_wide([a, b], result);
        }
        if let (Integers::And, [a, b]) = (op, &*operands) {
            let leaves = |number: &Operand, (mask, bits): &Operand| {
                *mask == Wide::None && self.leaves_wide_sign(op, number, *bits)
            };
            if leaves(a, b) || leaves(b, a) {
                return Wide::None;
            }
        }
        let counts: Option<Vec<Count>> = operands.iter().map(as_count).collect();
        if let Some(all) = counts
            && let Some(count) =
                self.add_counts(op, &all, result.cast_signed() as f64, f64::INFINITY)
        {
            return Wide::Count(count);
        }
        let mut others = operands.iter().filter(|(wide, _)| *wide != Wide::None);
        let (first, second) = (others.next(), others.next());
        let alone = second.is_none();
        let same = |(wide, bits): &&Operand| *wide != Wide::None && *bits == result;
        if let Some((wide, _)) = operands.iter().find(same).filter(|_| alone) {
            return *wide;
        }
        let counts = operands.iter().map(|(wide, _)| match wide {
            Wide::Count(count) => Word::Count(*count),
            Wide::None | Wide::Double(_) | Wide::Refers(_) | Wide::Words(_) => Word::None,
        });
        if let Some(changed) = changed_units(op, counts) {
            return Wide::of([Word::garbled(Some(changed)); 2], result);
        }
        match first {
            // The exponent or sign of an f64 was changed, or its bits altogether.
            Some((Wide::Refers(source), _)) if alone => return Wide::Refers(*source),
            Some((Wide::Double(shadow), bits)) if alone => {
                return Wide::Refers(Source { shadow: *shadow, bits: *bits });
            }
            _ => {}
        }
        let split = |(wide, bits): &Operand| wide.words(*bits);
        let all: Vec<([Word; 2], [u32; 2])> =
            operands.iter().map(|operand| (split(operand), halves(operand.1))).collect();
        let results = halves(result);
        let words = [0, 1].map(|half| {
            let own: Vec<_> = all.iter().map(|(words, bits)| (words[half], bits[half])).collect();
            match self.integer(op_of_halves(op), &own, results[half]) {
                // A carry or a shift may have brought something from the other half.
                Word::None if results[half] != 0 => self.beyond_half(&all, half, results[half]),
                word => word,
            }
        });
        Wide::of(words, result)
    }

    /// What may have come into a half from the other one.
    fn beyond_half(&mut self, all: &[([Word; 2], [u32; 2])], half: usize, result: u32) -> Word {
        let own = all.iter().any(|(_, bits)| bits[half] == result);
        let other: Vec<_> =
            all.iter().map(|(words, bits)| (words[1 - half], bits[1 - half])).collect();
        if own { Word::None } else { self.integer(Integers::Other, &other, result) }
    }

    /// A shift of 64 bits: by 32 a half takes the other's place.
    pub(super) fn wide_shift(
        &mut self,
        op: IntegerBinary,
        (wide, bits): Operand,
        amount: u32,
        result: u64,
    ) -> Wide {
        if wide == Wide::None {
            return Wide::None;
        }
        if amount == 0 {
            return wide;
        }
        if self.leaves_wide_sign(Integers::of(op), &(wide, bits), amount.into()) {
            return Wide::None;
        }
        if let Wide::Count(count) = wide
            && let Some(changed) = changed_units(Integers::of(op), [Word::Count(count)].into_iter())
        {
            return Wide::of([Word::garbled(Some(changed)); 2], result);
        }
        let [low, high] = wide.words(bits);
        if amount == 32 {
            let words =
                if op == IntegerBinary::Shl { [Word::None, low] } else { [high, Word::None] };
            return Wide::of(words, result);
        }
        if amount >= 64 {
            return Wide::None;
        }
        self.scrambled(&[low, high], result)
    }

    /// Words of which no bits can be told from others any more.
    pub(super) fn scrambled(&mut self, from: &[Word], result: u64) -> Wide {
        Wide::of(halves(result).map(|half| self.scrambled_word(from, half)), result)
    }

    /// The same of a word.
    pub(super) fn scrambled_word(&mut self, from: &[Word], result: u32) -> Word {
        let each =
            from.iter().map(|word| match word {
                Word::Count(Count { summed: false, known, .. })
                | Word::Part(Part {
                    of: Whole::Count(Count { summed: false, known, .. }), ..
                }) if *known != Known::ByScale => None,
                Word::Float(shadow) if shadow.is_plain() => None,
                word => word.source(),
            });
        if result == 0 { Word::None } else { Word::garbled(each.fold(None, Shadow::joined)) }
    }

    /// 64 bits used as an f64.
    pub(super) fn double(&mut self, wide: Wide, bits: u64) -> Shadow {
        let value = f64::from_bits(bits);
        match wide {
            // Rounded, or of a polynomial in place of a function, whose derivative is not as near as its value.
            Wide::None if self.doubles.contains(&bits) => {
                Shadow { c: up(value.abs() * LITERAL), ..Shadow::exact(value) }
            }
            Wide::None => Shadow::exact(value),
            Wide::Double(shadow) => shadow,
            Wide::Words([low, high]) if [low, high].iter().all(|word| !relevant(&(*word, 0))) => {
                let [low, high] = [low, high].map(|word| word.read_as(Shadow::exact(value)));
                if low.c > high.c { low } else { high }
            }
            Wide::Refers(source) => match power_of_two(source.bits, bits) {
                Some(1.0) => source.shadow,
                Some(factor) => self.scaled(&source.shadow, factor),
                None => self.begin_anew(value, &[Some(source.shadow)], Loss::Bits),
            },
            Wide::Words([low, high]) => match (low, high) {
                // Words that were taken apart and changed, put together by arithmetic.
                (Word::Part(low), Word::Part(high))
                    if low.of == high.of && low.bits == high.bits =>
                {
                    let (shadow, bits_then) = (low.of.shadow(), low.bits);
                    let source = Wide::Refers(Source { shadow, bits: bits_then });
                    match low.of {
                        Whole::Double(_) => self.double(source, bits),
                        Whole::Count(_) => self.begin_anew(value, &[Some(shadow)], Loss::Bits),
                    }
                }
                _ => self.begin_anew(value, &[low.source(), high.source()], Loss::Bits),
            },
            Wide::Count(count) => self.begin_anew(value, &[Some(count.shadow)], Loss::Bits),
        }
    }

    /// An operation on f64 whose result has these bits.
    pub(super) fn double_operation(
        &mut self,
        (function, accuracy): (Function, Accuracy),
        operands: &[Shadow],
        open: bool,
        result: f64,
    ) -> Option<Shadow> {
        if operands.iter().all(|shadow| shadow.n == 0 && shadow.r == 0.0 && shadow.c == 0.0) {
            return None;
        }
        self.scalar((function, accuracy), operands, open, result)
    }

    /// An operation of one lane by the table; `None` where the bits of the result say all.
    pub(super) fn scalar(
        &mut self,
        (function, accuracy): (Function, Accuracy),
        operands: &[Shadow],
        open: bool,
        result: f64,
    ) -> Option<Shadow> {
        let at = |k: usize| operands.get(k).copied().unwrap_or(Shadow::exact(0.0));
        let all = [at(0), at(1), at(2)];
        let x = all.map(|shadow| shadow.x);
        let r = all.map(|shadow| accuracy.reach(shadow.x, f64::from(shadow.r)));
        let c = all.map(|shadow| f64::from(shadow.c));
        let Number { x, r, c, failed } = number(function, accuracy, (x, r, c), result);
        if failed {
            return self.restarted(operands, x, result);
        }
        let parents = [0, 1, 2].map(|k| operands.get(k));
        let undecided = is_at_edge(function, operands, accuracy);
        let n = self.node(function, parents, (x, c), Flags { open, undecided });
        Some(Shadow { x, r, c, n })
    }

    /// A number that is not within its radius begins anew.
    fn restarted(&mut self, from: &[Shadow], x: f64, result: f64) -> Option<Shadow> {
        let agree = x == result || x.is_nan() && result.is_nan();
        if agree && !from.iter().any(|shadow| super::number::depends(shadow.n)) {
            return None;
        }
        let finite = x.is_finite() && result.is_finite();
        let loss = if finite { Loss::Radius } else { Loss::Range };
        let from: Vec<_> = from.iter().copied().map(Some).collect();
        Some(self.begin_anew(result, &from, loss))
    }
}

/// Whether the operand may be on either side of where the slope changes, as rounded as the result is.
fn is_at_edge(function: Function, operands: &[Shadow], accuracy: Accuracy) -> bool {
    let edges: &[f64] = match function {
        Function::Absolute => &[0.0],
        Function::Clamped => &[0.0, 1.0],
        Function::Identity
        | Function::Negate
        | Function::Reciprocal
        | Function::Root
        | Function::ReciprocalRoot
        | Function::Exp2
        | Function::Log2
        | Function::Sine
        | Function::Cosine
        | Function::Sum
        | Function::Difference
        | Function::Product
        | Function::Quotient
        | Function::Chosen
        | Function::Fused
        | Function::Exchanged
        | Function::Library(_) => &[],
    };
    let Some(a) = operands.first().filter(|_| !edges.is_empty()) else { return false };
    let moved = accuracy.reach(a.x, f64::from(a.r));
    let reach = moved + accuracy.bound(a.x.abs() + moved);
    edges.iter().any(|edge| (a.x - edge).abs() <= reach)
}

/// An operand as a number of units: it is one, or a whole number.
pub(super) fn as_count((wide, bits): &Operand) -> Option<Count> {
    match wide {
        Wide::Count(count) => Some(*count),
        Wide::None => {
            let shadow = Shadow::exact(bits.cast_signed() as f64);
            Some(Count { shadow, summed: false, known: Known::BySize })
        }
        Wide::Double(_) | Wide::Refers(_) | Wide::Words(_) => None,
    }
}

/// Sums are not those of halves.
fn op_of_halves(op: Integers) -> Integers {
    match op {
        Integers::And => Integers::And,
        Integers::Add
        | Integers::Subtract
        | Integers::Negate
        | Integers::ShiftLeft
        | Integers::ShiftRight { .. }
        | Integers::Extreme
        | Integers::Other => Integers::Other,
    }
}

/// As of words.
pub(super) fn power_of_two(source: u64, bits: u64) -> Option<f64> {
    let exponent = |bits: u64| i32::from((bits >> 52 & 0x7ff) as u16);
    let (from, to) = (exponent(source), exponent(bits));
    let normal = |exponent: i32| (1..2047).contains(&exponent);
    let alike = (source ^ bits) & MANTISSA == 0;
    if !alike || from != to && !(normal(from) && normal(to)) {
        return None;
    }
    let sign = if (source ^ bits) >> 63 == 1 { -1.0 } else { 1.0 };
    Some(sign * 2.0_f64.powi(to - from))
}

/// What an operation on one integer of 64 bits is.
pub(super) fn unary(op: B64Unary) -> Integers {
    match op {
        B64Unary::Negate => Integers::Negate,
        B64Unary::Move | B64Unary::Not | B64Unary::Abs => Integers::Other,
    }
}
