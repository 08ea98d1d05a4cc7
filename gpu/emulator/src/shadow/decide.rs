//! Decisions that floats make: comparisons, choices of the lesser and greater, roundings to whole
//! numbers.
//!
//! A decision is open where the operands' intervals overlap: a conforming execution may decide otherwise.
//! Equal numbers tie, and are followed as they were decided. A lane that an open comparison or floor
//! has led somewhere is marked: what it contributes from then on is uncertain as a whole. A rounding
//! to the nearest whole number marks no lane: it reduces a range, and the next whole number would do.

use super::super::ir::{
    Arithmetic, Compared, Comparison, File, FloatBinary, Place, Rounding, SINK, Setp, Slot,
};
use super::super::lanes::{Bits, LANES};
use super::super::registers::Registers;
use super::fixed_point::Whole;
use super::floats::read;
use super::journal::{Decided, Journal, Loss};
use super::marker::Marker;
use super::number::{Count, Known, Shadow, Word, depends, up};
use super::registers::{Beside, Lanes};
use super::table::Function;
use super::table::accuracy::NORMAL;
use super::tape::Flags;
use super::ties::{Reversed, Site};

/// From so many units on, a float that becomes a whole number is a fixed-point number and no decision.
const FIXED_POINT: f64 = 256.0;

/// The lanes where a comparison is open, and where it is one of equals.
#[inline(always)]
fn compared(a: &Lanes, b: &Lanes) -> (u32, u32) {
    let (mut open, mut ties) = (0, 0);
    for lane in 0..LANES {
        let distance = (a.x[lane] - b.x[lane]).abs();
        let reach = f64::from(a.r[lane]) + f64::from(b.r[lane]);
        let tie = a.x[lane] == b.x[lane];
        open |= u32::from(distance <= reach && !tie) << lane;
        ties |= u32::from(tie) << lane;
    }
    (open, ties)
}

fn counted(active: u32, open: u32, ties: u32) -> Decided {
    let [all, open, ties] = [active, open, ties].map(|lanes| u64::from(lanes.count_ones()));
    Decided { all, open, ties }
}

impl Journal {
    /// A comparison of two f32 in these slots. The lanes where they are equal and depend on an input.
    #[inline(always)]
    fn compare(&mut self, beside: &mut Beside, slots: [Slot; 2], active: u32) -> u32 {
        for place in slots.into_iter().zip(0..) {
            self.settle(beside, place, active);
        }
        let mut room = self.room.take().unwrap_or_default();
        let [a, b, _] = read(&mut room.scratch, self, beside, &slots);
        let (open, ties) = compared(a, b);
        let (open, ties) = (open & active, ties & active);
        let of_inputs = |&lane: &usize| depends(a.n[lane]) || depends(b.n[lane]);
        let tied = Bits(ties).filter(of_inputs).fold(0, |lanes, lane| lanes | 1 << lane);
        self.room = Some(room);
        beside.open |= open;
        self.undecided |= open;
        self.decide(counted(active, open, ties));
        tied
    }

    /// `setp`: the path is that of the f32. Where another predicate decides what becomes of both, the comparison does
    /// not.
    #[inline(always)]
    pub(super) fn set_predicate(&mut self, beside: &mut Beside, active: u32, setp: &Setp) {
        let active = if setp.combine.is_some() { active & self.deciding } else { active };
        let mut tied = 0;
        match setp.compared {
            Compared::Float { .. } => tied = self.compare(beside, [setp.a, setp.b], active),
            Compared::Double => {
                for lane in Bits(active) {
                    let [a, b] = [(setp.a, 0), (setp.b, 1)]
                        .map(|(slot, k)| self.double(beside.wide(slot, lane), self.wides[k][lane]));
                    tied |= u32::from(self.compare_two(beside, lane, a, b)) << lane;
                }
            }
            Compared::Narrow { format, .. } => {
                for lane in Bits(active) {
                    let [a, b] = [(setp.a, 0), (setp.b, 1)].map(|(slot, k)| {
                        self.narrow(beside.word(slot, lane), self.words[k][lane], format)
                    });
                    tied |= u32::from(self.compare_two(beside, lane, a, b)) << lane;
                }
            }
            Compared::Unsigned
            | Compared::Signed
            | Compared::Unsigned16
            | Compared::Signed16
            | Compared::Unsigned64
            | Compared::Signed64 => tied = self.compare_integers(beside, active, setp),
        }
        if tied | self.undecided != 0 && setp.comparison.is_of_values() {
            if tied != 0 {
                self.tie(setp.comparison, [tied, 0]);
            }
            self.leave_open();
        }
    }

    /// Keeps that these lanes compared equal numbers. Whether that is decided the other way.
    #[cold]
    #[inline(never)]
    pub(super) fn tie(&mut self, comparison: Comparison, lanes: [u32; 2]) -> bool {
        if !comparison.is_of_values() {
            return false;
        }
        let site = Site(self.place());
        self.ties.insert(site);
        let reversed = matches!(self.reversed, Some(Reversed::Ties(which)) if which.includes(site));
        if reversed {
            self.turned = [self.turned[0] | lanes[0], self.turned[1] | lanes[1]];
        }
        reversed
    }

    /// Keeps that rounding leaves open what the lanes of a comparison decided.
    #[cold]
    #[inline(never)]
    fn leave_open(&mut self) {
        let lanes = std::mem::take(&mut self.undecided);
        if lanes == 0 {
            return;
        }
        let site = Site(self.place());
        self.open.insert(site);
        if matches!(self.reversed, Some(Reversed::Open(which)) if which.includes(site)) {
            self.turned[0] |= lanes;
        }
    }

    /// After an instruction: takes the other way where its decision is reversed.
    #[inline(always)]
    pub(super) fn reverse(&mut self, r: &mut Registers, op: &Arithmetic) {
        if self.turned == [0; 2] && self.undecided == 0 {
            return;
        }
        // What is left is of an instruction that is not reversed.
        self.open_for_good |= std::mem::take(&mut self.undecided) != 0;
        let lanes = std::mem::take(&mut self.turned);
        if let Arithmetic::Rare(rare) = op {
            self.reverse_rare(r, rare, lanes);
        }
        if let Arithmetic::WordBinary(_, slot, ..) = *op {
            self.turn_signs(r, Place { file: File::Word, slot }, lanes[0]);
        }
        if let Arithmetic::B64Binary(_, slot, ..) = *op {
            self.turn_signs(r, Place { file: File::B64, slot }, lanes[0]);
        }
        let Arithmetic::Setp(Setp { d, q, .. }) = *op else { return };
        for slot in [d, q].into_iter().filter(|&slot| slot != SINK) {
            r.predicates[usize::from(slot)] ^= lanes[0];
        }
    }

    /// A comparison of one lane. Whether the numbers are equal and one depends on an input.
    pub(super) fn compare_two(
        &mut self,
        beside: &mut Beside,
        lane: usize,
        a: Shadow,
        b: Shadow,
    ) -> bool {
        let (open, tie) = overlap(&a, &b);
        self.decide_in(beside, lane, open, tie);
        tie && (depends(a.n) || depends(b.n))
    }

    /// A decision of one lane, which leads it somewhere.
    pub(super) fn decide_in(&mut self, beside: &mut Beside, lane: usize, open: bool, tie: bool) {
        beside.open |= u32::from(open) << lane;
        self.undecided |= u32::from(open) << lane;
        self.decide(Decided { all: 1, open: open.into(), ties: tie.into() });
    }

    /// min and max of f32.
    pub(super) fn extreme(
        &mut self,
        beside: &mut Beside,
        r: &Registers,
        active: u32,
        (op, flush, [d, a, b]): (FloatBinary, bool, [Slot; 3]),
    ) {
        let lane = active.trailing_zeros() as usize & 31;
        if b >= self.registers
            && let Some(marker) = Marker::of(self.words[1][lane])
        {
            return self.marker(beside, r, active, (marker, d, a));
        }
        for place in [a, b].into_iter().zip(0..) {
            self.settle(beside, place, active);
        }
        let mut scratch = [Lanes::NONE; 3];
        let operands = read(&mut scratch, self, beside, &[a, b]).map(|lanes| *lanes);
        let greatest = matches!(op, FloatBinary::Max | FloatBinary::MaxNan);
        for lane in Bits(active) {
            let values = [0, 1].map(|k| f64::from(f32::from_bits(self.words[k][lane])));
            let [first, second] = [0, 1].map(|k| operands[k].get(lane));
            let open = beside.open >> lane & 1 == 1;
            let result = r.words.get(d)[lane];
            let all = [(a, 0), (b, 1)].map(|(slot, k): (Slot, usize)| {
                (self.word(beside, slot, lane), self.words[k][lane])
            });
            let word = if let Some(counted) = self.extreme_count(all, (values, greatest)) {
                counted
            } else if f32::from_bits(result).is_nan() {
                self.restart(&[first, second], f64::NAN, result)
            } else {
                Word::Float(self.chosen((values, greatest, flush), [first, second], open))
            };
            beside.set_word(d, lane, word);
        }
    }

    /// What is beside the lesser or greater of two numbers, of which one at least is a number.
    pub(super) fn chosen(
        &mut self,
        ([a, b], greatest, flush): ([f64; 2], bool, bool),
        [first, second]: [Shadow; 2],
        open: bool,
    ) -> Shadow {
        let takes_first = b.is_nan() || if greatest { a >= b } else { a <= b };
        let (mut taken, mut other) = if takes_first { (first, second) } else { (second, first) };
        for one in [&mut taken, &mut other] {
            if flush && one.x.abs() < NORMAL + f64::from(one.r) && one.x != 0.0 {
                one.r = up(f64::from(one.r) + NORMAL);
            }
        }
        if a.is_nan() || b.is_nan() {
            return taken;
        }
        let (undecided, tie) = overlap(&taken, &other);
        self.decide(Decided { all: 1, open: u64::from(undecided), ties: u64::from(tie) });
        // Of two equal numbers either may have the derivative: the mathematics does not say.
        let either = tie && taken.n != other.n && (depends(taken.n) || depends(other.n));
        if !undecided && !either {
            return taken;
        }
        // In real arithmetic it is the greater or lesser of both, whichever f32 took. An extreme of numbers that are
        // off by r and s, or uncertain by them, is so by no more than the larger.
        let is_taken = if greatest { taken.x >= other.x } else { taken.x <= other.x };
        let [x, y] = if is_taken { [&taken, &other] } else { [&other, &taken] };
        let (r, c) = (x.r.max(y.r), x.c.max(y.c));
        let flags = Flags { open, undecided: true };
        let n = self.node(Function::Chosen, [Some(x), Some(y), None], (x.x, c), flags);
        Shadow { x: x.x, r, c, n }
    }

    /// A rounding to a whole number: the decision.
    pub(super) fn round(
        &mut self,
        beside: &mut Beside,
        lane: usize,
        a: &Shadow,
        rounding: Rounding,
    ) {
        let whole = |x: f64| match rounding {
            Rounding::Nearest => x.round_ties_even(),
            Rounding::Zero => x.trunc(),
            Rounding::Down => x.floor(),
            Rounding::Up => x.ceil(),
        };
        let r = f64::from(a.r);
        let open = whole(a.x - r) != whole(a.x + r);
        // The end of an interval, which a number on it belongs to.
        let tie = open && a.x.fract() == 0.0;
        let open = open && !tie;
        self.undecided |= u32::from(open) << lane;
        if rounding != Rounding::Nearest {
            beside.open |= u32::from(open) << lane;
        }
        self.decide(Decided { all: 1, open: u64::from(open), ties: u64::from(tie) });
    }

    /// A float becomes a whole number: a decision, or a number of units (see [`Whole`]; from [`FIXED_POINT`] on
    /// where the kernel does not say).
    pub(super) fn whole(
        &mut self,
        beside: &mut Beside,
        (lane, a): (usize, Shadow),
        rounding: Rounding,
        result: f64,
    ) -> Option<Count> {
        match self.whole_number() {
            Whole::Units | Whole::Halved | Whole::Unsure => {}
            // By its size it may be the number of a cell all the same.
            Whole::Cell | Whole::BySize | Whole::UnsureBySize => {
                self.round(beside, lane, &a, rounding);
            }
        }
        self.units(a, rounding, result)
    }

    /// Whether a float that becomes a whole number says a cell.
    fn is_cell(&self, a: &Shadow) -> bool {
        match self.whole_number() {
            Whole::Units | Whole::Halved | Whole::Unsure => false,
            Whole::Cell => true,
            Whole::BySize | Whole::UnsureBySize => a.x.abs() < FIXED_POINT,
        }
    }

    /// The number of units that a float becomes; `None` of a cell, and where its bits say all.
    pub(super) fn units(&mut self, a: Shadow, rounding: Rounding, result: f64) -> Option<Count> {
        if self.is_cell(&a) {
            return None;
        }
        let rounded = match rounding {
            Rounding::Nearest => 0.5,
            Rounding::Zero | Rounding::Down | Rounding::Up => 1.0,
        };
        // A half that was added so that it rounds to the nearest is no part of the number.
        let half = self.whole_number() == Whole::Halved && rounding != Rounding::Nearest;
        let a = if half { Shadow { c: up(f64::from(a.c) + 0.5), ..a } } else { a };
        let r = up(f64::from(a.r) + rounded);
        // What saturates is no number of units any more, and nobody knows what it stands for.
        let within = (a.x - result).abs() <= f64::from(r);
        if !within {
            let shadow = self.begin_anew(result, &[Some(a)], Loss::Range);
            return Some(Count { shadow, summed: false, known: Known::BySize });
        }
        let plain = !depends(a.n) && a.r == 0.0 && a.c == 0.0 && a.x == result;
        let known = match self.whole_number() {
            Whole::Units | Whole::Halved => Known::ByScale,
            Whole::Cell | Whole::BySize => Known::BySize,
            Whole::Unsure | Whole::UnsureBySize => Known::Unsure,
        };
        (!plain).then_some(Count { shadow: Shadow { r, ..a }, summed: false, known })
    }
}

/// Whether rounding leaves open how two numbers compare, and whether they are equal.
fn overlap(a: &Shadow, b: &Shadow) -> (bool, bool) {
    let tie = a.x == b.x;
    ((a.x - b.x).abs() <= f64::from(a.r) + f64::from(b.r) && !tie, tie)
}
