//! Follows instructions at which the derivative is another on purpose.

use super::super::ir::{Arithmetic, FloatToInteger};
use super::super::lanes::Bits;
use super::super::registers::Registers;
use super::conventions::{Departure, choice, result, rounded};
use super::journal::Journal;
use super::number::{Count, Known, Shadow, UNRECORDED, Wide, Word, depends};
use super::registers::Beside;
use super::table::Function;
use super::tape::Flags;

impl Journal {
    /// What the instruction being executed does with the derivative.
    pub(super) fn departure(&self) -> Option<Departure> {
        self.departures.get(self.pc as usize).copied().flatten()
    }

    /// The operands of a choice that hands the derivative on, before it is made.
    pub(super) fn handed(
        &mut self,
        beside: &Beside,
        on: u32,
        op: &Arithmetic,
    ) -> Vec<(usize, Shadow)> {
        let chosen = choice(op).map(|(_, operands)| operands);
        let Some(operands) = chosen.or_else(|| rounded(op).map(|a| [a; 2])) else {
            return Vec::new();
        };
        // Where the bits of the operands are.
        let at = if operands[0] == operands[1] { [0; 2] } else { [0, 1] };
        let mut all = Vec::new();
        for lane in Bits(on) {
            let of = |journal: &mut Self, k: usize| {
                let (word, bits) =
                    (journal.word(beside, operands[k], lane), journal.words[at[k]][lane]);
                match word {
                    Word::None => None,
                    word => Some(journal.float(word, bits)),
                }
            };
            let found = [of(self, 0), of(self, 1)].into_iter().flatten().find(|s| depends(s.n));
            all.extend(found.map(|shadow| (lane, shadow)));
        }
        all
    }

    /// After an instruction at which the derivative is another on purpose.
    pub(super) fn depart(
        &mut self,
        beside: &mut Beside,
        r: &Registers,
        (on, op): (u32, &Arithmetic),
        (departure, handed): (Departure, &[(usize, Shadow)]),
    ) {
        if let Arithmetic::FloatToInteger(conversion) = op {
            return match departure {
                Departure::Straight => self.rounds_straight(beside, r, conversion, handed),
                // A whole number, and nothing that it was made of.
                Departure::Detach => Bits(on).for_each(|lane| match conversion.b64 {
                    true => beside.set_wide(conversion.d, lane, Wide::None),
                    false => beside.set_word(conversion.d, lane, Word::None),
                }),
            };
        }
        let Some(d) = result(op) else { return };
        let float = |beside: &Beside, lane: usize| match beside.word(d, lane) {
            Word::Float(shadow) => shadow,
            _ => Shadow::single(r.words.get(d)[lane]),
        };
        match departure {
            Departure::Detach => {
                for lane in Bits(on) {
                    if let Word::Float(shadow) = beside.word(d, lane) {
                        let constant = Shadow { n: UNRECORDED, ..shadow };
                        beside.set_word(d, lane, Word::Float(constant));
                    }
                }
            }
            Departure::Straight => {
                for (lane, operand) in handed {
                    let taken = float(beside, *lane);
                    if depends(taken.n) {
                        continue;
                    }
                    let number = (taken.x, taken.c);
                    let parents = [Some(operand), None, None];
                    let n = self.node(Function::Identity, parents, number, Flags::default());
                    beside.set_word(d, *lane, Word::Float(Shadow { n, ..taken }));
                }
            }
        }
    }

    /// A whole number that hands the derivative on to the float it was rounded from.
    fn rounds_straight(
        &mut self,
        beside: &mut Beside,
        r: &Registers,
        op: &FloatToInteger,
        handed: &[(usize, Shadow)],
    ) {
        for (lane, operand) in handed {
            let x = op.result(r, *lane);
            let parents = [Some(operand), None, None];
            let n = self.node(Function::Identity, parents, (x, 0.0), Flags::default());
            let shadow = Shadow { n, ..Shadow::exact(x) };
            let count = Count { shadow, summed: true, known: Known::ByScale };
            match op.b64 {
                true => beside.set_wide(op.d, *lane, Wide::Count(count)),
                false => beside.set_word(op.d, *lane, Word::Count(count)),
            }
        }
    }
}

impl FloatToInteger {
    /// The whole number that a lane has got.
    #[expect(clippy::cast_precision_loss, reason = "a float was rounded to it")]
    pub(super) fn result(&self, r: &Registers, lane: usize) -> f64 {
        match (self.b64, self.signed) {
            (true, true) => r.b64.get(self.d)[lane].cast_signed() as f64,
            (true, false) => r.b64.get(self.d)[lane] as f64,
            (false, true) => f64::from(r.words.get(self.d)[lane].cast_signed()),
            (false, false) => f64::from(r.words.get(self.d)[lane]),
        }
    }
}
