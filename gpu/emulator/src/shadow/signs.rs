//! Signs and magnitudes that integers take from floats.
//!
//! A sign alone is a decision: near 0 a conforming execution may have the other one. So is the sign that another number
//! is given. What is left without its sign is an absolute value. A word may hold one sign or those of two halves; what an
//! operation takes is found by what it makes of the bits, so that masks, shifts, fields and permutations are alike.

mod wide;

use super::super::ir::{Comparison, File, IntegerBinary, Place, Slot};
use super::super::lanes::Bits;
use super::super::registers::Registers;
use super::bits::{Integers, Operand, SIGN};
use super::fields::applied;
use super::journal::Journal;
use super::number::{NO_FLOAT, Part, Shadow, Whole, Word, depends, is_near_zero, relevant};
use super::registers::Beside;
use super::table::Function;
use super::table::accuracy::Accuracy;
use super::wides::halves;

/// The bits of both halves of a word that are the signs of numbers of 16 bits.
const SIGNS: u32 = 0x8000_8000;

/// The signs in a word.
struct Signs {
    /// Each number, and the bit that is its sign, whatever became of the others.
    each: [Option<(Shadow, u32)>; 2],
    /// The bits that are no constants.
    variable: u32,
}

impl Signs {
    fn of((word, bits): &Operand) -> Self {
        let whole = |shadow: Option<Shadow>| {
            let each = [shadow.map(|shadow| (shadow, SIGN)), None];
            Self { each, variable: u32::MAX }
        };
        match *word {
            _ if !relevant(&(*word, *bits)) => Self { each: [None; 2], variable: 0 },
            Word::Float(shadow) => whole(Some(shadow)),
            Word::Refers(source)
                if source.bits != NO_FLOAT && (source.bits ^ bits) & !SIGN == 0 =>
            {
                whole(Some(source.shadow))
            }
            Word::Part(Part { of: Whole::Double(shadow), bits: had, upper: true })
                if (halves(had)[1] ^ bits) & !SIGN == 0 =>
            {
                whole(Some(shadow))
            }
            Word::Narrow(low) => Self { each: [Some((low, 0x8000)), None], variable: 0xffff },
            Word::Halves([low, high]) => {
                let variable = [low.map_or(0, |_| 0xffff), high.map_or(0, |_| 0xffff_0000)];
                let each = [low.map(|low| (low, 0x8000)), high.map(|high| (high, SIGN))];
                Self { each, variable: variable[0] | variable[1] }
            }
            Word::None | Word::Refers(_) | Word::Count(_) | Word::Part(_) | Word::Field(_) => {
                whole(None)
            }
        }
    }

    /// All bits that are signs.
    fn mask(&self) -> u32 {
        self.each.iter().flatten().fold(0, |all, (_, sign)| all | sign)
    }
}

/// What an operation takes of an operand, each bit of whose result is one of the operand's or none of them.
enum Taken {
    /// Nothing.
    Nothing,
    /// Nothing but signs.
    Signs(Signs),
    /// Something else.
    Bits,
}

impl Taken {
    fn of(operand: &Operand, of: &dyn Fn(u32) -> u32) -> Self {
        let signs = Signs::of(operand);
        let (variable, mask) = (signs.variable, signs.mask());
        let at = |bits: u32| of(operand.1 & !variable | bits & variable);
        if at(0) == at(u32::MAX) {
            Self::Nothing
        } else if at(0) == at(!mask) && at(mask) == at(u32::MAX) {
            Self::Signs(signs)
        } else {
            Self::Bits
        }
    }
}

impl Journal {
    /// The sign of a number decides something. Whether it is taken the other way.
    pub(super) fn take_sign(&mut self, beside: &mut Beside, lane: usize, shadow: &Shadow) -> bool {
        // What a library function decides says nothing of its result, which is that of the function.
        if beside.is_in_call(lane) {
            return false;
        }
        let tie = shadow.x == 0.0;
        let open = is_near_zero(shadow) && !tie;
        self.decide_in(beside, lane, open, tie);
        tie && depends(shadow.n) && self.tie(Comparison::Ge, [1 << lane, 0])
    }

    /// All signs that an operation takes of an operand. What those turn of the result that are taken the other way.
    fn take_signs(
        &mut self,
        beside: &mut Beside,
        lane: usize,
        (operand, signs): (&Operand, &Signs),
        of: &dyn Fn(u32) -> u32,
    ) -> u32 {
        let fixed = operand.1 & !signs.variable;
        let mut turned = 0;
        for (shadow, sign) in signs.each.iter().flatten() {
            let turns = of(fixed) ^ of(fixed | sign);
            if turns != 0 && self.take_sign(beside, lane, shadow) {
                turned ^= turns;
            }
        }
        turned
    }

    /// Masks and shifts of words that leave signs.
    #[inline(always)]
    pub(super) fn masked_signs(
        &mut self,
        beside: &mut Beside,
        on: u32,
        (op, slots): (IntegerBinary, [Slot; 2]),
    ) {
        let op = Integers::of(op);
        if !matches!(op, Integers::And | Integers::ShiftRight { .. }) {
            return;
        }
        let apply = |a: u32, b: u32| applied(op, [a, b]).unwrap_or(0);
        let changed = beside.changed(slots[0]) | beside.changed(slots[1]);
        for lane in Bits(changed & on) {
            let [a, b] = [0, 1].map(|k: usize| (beside.word(slots[k], lane), self.words[k][lane]));
            match (relevant(&a), relevant(&b)) {
                (true, false) => self.takes_signs(beside, lane, &a, &|bits| apply(bits, b.1)),
                // An amount is no number.
                (false, true) => self.takes_signs(beside, lane, &b, &|bits| apply(a.1, bits)),
                (true, true) | (false, false) => false,
            };
        }
    }

    /// An operation on one word that may be nothing but its signs. Whether it is.
    pub(super) fn takes_signs(
        &mut self,
        beside: &mut Beside,
        lane: usize,
        operand: &Operand,
        of: &dyn Fn(u32) -> u32,
    ) -> bool {
        let Taken::Signs(signs) = Taken::of(operand, of) else { return false };
        self.turns[lane] = self.take_signs(beside, lane, (operand, &signs), of).into();
        true
    }

    /// An operation each bit of whose result is one of its operands' or not, or depends on no bit of them. `None` where
    /// nothing is known but the bits.
    pub(super) fn by_bits(
        &mut self,
        beside: &mut Beside,
        lane: usize,
        (operands, mut result): (&[Operand], u32),
        of: &dyn Fn(usize, u32) -> u32,
    ) -> Word {
        // Operands of which the signs count alone.
        let (mut signs, mut turned, mut others) = (0, 0, Vec::new());
        for (k, operand) in operands.iter().enumerate().filter(|(_, operand)| relevant(operand)) {
            let of = |bits: u32| of(k, bits);
            match Taken::of(operand, &of) {
                Taken::Nothing => {}
                Taken::Signs(all) => {
                    signs += 1;
                    turned ^= self.take_signs(beside, lane, (operand, &all), &of);
                }
                Taken::Bits => others.push((k, *operand)),
            }
        }
        result ^= turned;
        if signs > 0 {
            self.turns[lane] = turned.into();
        }
        match *others {
            [] if signs > 0 => Word::None,
            [(k, operand)] if of(k, 0) ^ of(k, u32::MAX) == !SIGN && of(k, 0) & !SIGN == 0 => {
                let sign = result & SIGN;
                match self.magnitude_of(operand) {
                    Some(word) if sign == 0 => word,
                    Some(Word::Float(shadow)) => Word::Float(self.scaled(&shadow, -1.0)),
                    _ => self.integer(Integers::Other, &[operand], result),
                }
            }
            [] => self.integer(Integers::Other, operands, result),
            _ => {
                let all: Vec<Operand> = others.iter().map(|(_, operand)| *operand).collect();
                self.integer(Integers::Other, &all, result)
            }
        }
    }

    /// Signs that are put on numbers of 16 bits, or turned, by an integer of nothing but those.
    pub(super) fn signed_halves(
        &mut self,
        op: Integers,
        operands: &[Operand],
        result: u32,
    ) -> Option<Word> {
        let (Integers::Other, [a, b]) = (op, operands) else { return None };
        let ((word, bits), (_, signs)) = if relevant(a) { (a, b) } else { (b, a) };
        let is_alone = relevant(a) != relevant(b);
        let is_put = result == bits | signs || result == bits ^ signs;
        if !is_alone || !is_put || signs & !SIGNS != 0 {
            return None;
        }
        let mut turn = |half: Option<Shadow>, sign: u32| {
            let is_turned = (bits ^ result) & sign != 0;
            half.map(|half| if is_turned { self.scaled(&half, -1.0) } else { half })
        };
        match *word {
            Word::Narrow(low) => turn(Some(low), 0x8000).map(Word::Narrow),
            Word::Halves([low, high]) => Some(Word::Halves([turn(low, 0x8000), turn(high, SIGN)])),
            Word::None
            | Word::Float(_)
            | Word::Refers(_)
            | Word::Count(_)
            | Word::Part(_)
            | Word::Field(_) => None,
        }
    }

    /// An f32 without its sign; `None` of what is none, or not as it was.
    pub(super) fn magnitude_of(&mut self, (word, bits): Operand) -> Option<Word> {
        let shadow = match word {
            Word::Float(shadow) => shadow,
            Word::Refers(source) if source.bits == bits => source.shadow,
            Word::Refers(source) if source.bits ^ bits == SIGN => self.scaled(&source.shadow, -1.0),
            Word::None
            | Word::Narrow(_)
            | Word::Halves(_)
            | Word::Refers(_)
            | Word::Count(_)
            | Word::Part(_)
            | Word::Field(_) => return None,
        };
        let size = f64::from(f32::from_bits(bits & !SIGN));
        self.scalar((Function::Absolute, Accuracy::EXACT), &[shadow], false, size).map(Word::Float)
    }

    /// After an operation: turns what signs that are taken the other way turn.
    pub(super) fn turn_signs(&self, r: &mut Registers, place: Place, lanes: u32) {
        match place.file {
            File::Word => turn(r, place.slot, lanes, |lane| halves(self.turns[lane])[0]),
            File::B64 => {
                for lane in Bits(lanes) {
                    let poisoned = r.b64.poison(place.slot) >> lane & 1 == 1;
                    let value = r.b64.get(place.slot)[lane] ^ self.turns[lane];
                    r.b64.set_lane(place.slot, lane, value, poisoned);
                }
            }
            File::Predicate => {}
        }
    }
}

/// Turns these bits of lanes of a word.
pub(super) fn turn(r: &mut Registers, slot: Slot, lanes: u32, bits: impl Fn(usize) -> u32) {
    for lane in Bits(lanes) {
        let poisoned = r.words.poison(slot) >> lane & 1 == 1;
        let value = r.words.get(slot)[lane] ^ bits(lane);
        r.words.set_lane(slot, lane, value, poisoned);
    }
}
