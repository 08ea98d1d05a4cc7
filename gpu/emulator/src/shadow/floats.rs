//! Operations on f32: all lanes at once, by the table.

use super::super::ir::Slot;
use super::super::lanes::{Bits, LANES};
use super::super::registers::Registers;
use super::conventions::Departure;
use super::endless::endless;
use super::journal::{Journal, Loss, Room};
use super::number::{Shadow, UNRECORDED, Word, depends, up};
use super::plan::Operation;
use super::registers::{Beside, Lanes};
use super::table::accuracy::Accuracy;
use super::table::{Function, error, is_exact, spread, value};
use super::tape::{Flags, Recorded, Rule, What};

/// The table's answer for 32 lanes, by code of its own for what kernels are full of; `bits` are what the
/// instruction gave. Whether there is a lane whose f32 is not within the radius: [`failed`] says which.
#[inline(always)]
fn evaluate(
    (function, accuracy): (Function, Accuracy),
    operands: [&Lanes; 3],
    bits: &[u32; LANES],
    out: &mut Lanes,
) -> bool {
    // With the flushing of operands and without: it takes as long as the rest.
    let [flushing, plain] = [true, false].map(|flush| Accuracy { flush, ..accuracy });
    macro_rules! folded {
        ($($known:ident)*) => {
            match (function, accuracy.flush) {
                $(
                    (Function::$known, true) => {
                        lanes(Function::$known, flushing, operands, bits, out)
                    }
                    (Function::$known, false) => {
                        lanes(Function::$known, plain, operands, bits, out)
                    }
                )*
                (other, _) => lanes(other, accuracy, operands, bits, out),
            }
        };
    }
    folded!(
        Negate Absolute Reciprocal Root ReciprocalRoot Exp2 Log2 Sum Difference Product Quotient Fused
    )
}

#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "many lanes at once, see `lanes`")]
fn lanes(
    function: Function,
    accuracy: Accuracy,
    operands: [&Lanes; 3],
    bits: &[u32; LANES],
    out: &mut Lanes,
) -> bool {
    let mut failed = false;
    let [a, b, c] = operands;
    // No closures: the compiler takes them for functions of their own, lane by lane, without the wide
    // registers.
    for lane in 0..LANES {
        let x = [a.x[lane], b.x[lane], c.x[lane]];
        let r = [
            accuracy.reach(x[0], f64::from(a.r[lane])),
            accuracy.reach(x[1], f64::from(b.r[lane])),
            accuracy.reach(x[2], f64::from(c.r[lane])),
        ];
        let c = [f64::from(a.c[lane]), f64::from(b.c[lane]), f64::from(c.c[lane])];
        let result = f64::from(f32::from_bits(bits[lane]));
        let number = number(function, accuracy, (x, r, c), result);
        (out.x[lane], out.r[lane], out.c[lane]) = (number.x, number.r, number.c);
        failed |= number.failed;
    }
    failed
}

/// Whether both are numbers, and not further apart than that; or the float has overflowed, as the number beyond it
/// is rounded. What the next operation makes of infinity is looked at there: 2^-inf is right, and inf - inf is not.
#[inline(always)]
fn is_within(y: f64, result: f64, r: f32) -> bool {
    let beyond = (y.abs() > f64::from(f32::MAX)) & (y.abs() < f64::INFINITY);
    let overflows = beyond & (result == f64::INFINITY.copysign(y));
    // The difference of two numbers is finite, but for f64 of different signs at the end of their range: they are far
    // apart too.
    let distance = (result - y).abs();
    overflows | ((distance < f64::INFINITY) & (distance <= f64::from(r)))
}

/// The same of a result that is clamped to 0..=1 (`.sat`), before it is clamped. It says nothing of what was
/// clamped: the rounding is taken as it comes.
#[inline(always)]
fn evaluate_clamped(
    (function, accuracy): (Function, Accuracy),
    operands: [&Lanes; 3],
    bits: &[u32; LANES],
    out: &mut Lanes,
) -> bool {
    // What a compiler makes of expf has it in a fused operation.
    match function {
        Function::Fused => clamped_lanes(Function::Fused, accuracy, operands, bits, out),
        other => clamped_lanes(other, accuracy, operands, bits, out),
    }
}

#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "many lanes at once, see `lanes`")]
fn clamped_lanes(
    function: Function,
    accuracy: Accuracy,
    [a, b, c]: [&Lanes; 3],
    bits: &[u32; LANES],
    out: &mut Lanes,
) -> bool {
    let mut failed = false;
    for lane in 0..LANES {
        let x = [a.x[lane], b.x[lane], c.x[lane]];
        let r = [
            accuracy.reach(x[0], f64::from(a.r[lane])),
            accuracy.reach(x[1], f64::from(b.r[lane])),
            accuracy.reach(x[2], f64::from(c.r[lane])),
        ];
        let c = [f64::from(a.c[lane]), f64::from(b.c[lane]), f64::from(c.c[lane])];
        let y = value(function, x);
        let moved = spread(function, x, y, r);
        let radius = up(moved + accuracy.bound(y.abs() + moved));
        let result = f64::from(f32::from_bits(bits[lane]));
        (out.x[lane], out.r[lane]) = (y, radius);
        out.c[lane] = up(spread(function, x, y, c) + error(function, y));
        failed |= !is_within(y.clamp(0.0, 1.0), result, radius) | (y.abs() == f64::INFINITY);
    }
    failed
}

/// Lanes whose f32 is not within the radius of what was computed, or, where both are clamped, of what that is
/// then; or one of both is no number.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "many lanes at once, see `lanes`")]
fn failed(out: &Lanes, bits: &[u32; LANES], saturate: bool) -> u32 {
    let mut all = 0;
    for lane in 0..LANES {
        let (y, result) = (out.x[lane], f64::from(f32::from_bits(bits[lane])));
        let y = if saturate { y.clamp(0.0, 1.0) } else { y };
        all |= u32::from(!is_within(y, result, out.r[lane])) << lane;
    }
    all
}

/// What the table says of a result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub(super) x: f64,
    pub(super) r: f32,
    pub(super) c: f32,
    /// The instruction's result is not within the radius, or one of both is no number.
    pub(super) failed: bool,
}

#[inline(always)]
pub(super) fn number(
    function: Function,
    accuracy: Accuracy,
    (x, r, c): ([f64; 3], [f64; 3], [f64; 3]),
    result: f64,
) -> Number {
    let y = value(function, x);
    let moved = spread(function, x, y, r);
    // A result that needs no rounding gets none.
    let exact = accuracy.correct && moved == 0.0 && result == y;
    let radius = if exact { 0.0 } else { moved + accuracy.bound(y.abs() + moved) };
    let own = if exact && is_exact(function, x, y) { 0.0 } else { error(function, y) };
    let uncertain = spread(function, x, y, c) + own;
    let r = up(radius);
    Number { x: y, r, c: up(uncertain), failed: !is_within(y, result, r) }
}

/// An operand's lanes: those of its entry, or the f32 where it has none.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "many lanes at once, see `lanes`")]
fn operand<'l>(
    journal: &'l Journal,
    beside: &'l Beside,
    (slot, k): (Slot, usize),
    scratch: &'l mut Lanes,
) -> &'l Lanes {
    if slot >= journal.registers {
        return &journal.literals[usize::from(slot - journal.registers)];
    }
    let entry = beside.entry(slot);
    if let Some(entry) = entry.filter(|entry| entry.floats == u32::MAX) {
        return &entry.lanes;
    }
    let words = &journal.words[k];
    for lane in 0..LANES {
        scratch.x[lane] = f64::from(f32::from_bits(words[lane]));
    }
    (scratch.r, scratch.c) = ([0.0; LANES], [0.0; LANES]);
    scratch.n = [UNRECORDED; LANES];
    if let Some(entry) = entry.filter(|entry| entry.floats != 0) {
        scratch.take(&entry.lanes, entry.floats);
    }
    scratch
}

/// Lanes in whose numbers inputs are.
#[inline(always)]
fn dependent(lanes: &Lanes) -> u32 {
    let mut all = 0;
    for (lane, &n) in lanes.n.iter().enumerate() {
        all |= u32::from(depends(n)) << lane;
    }
    all
}

/// Lanes whose numbers the tape has not heard of.
#[inline(always)]
fn unrecorded(lanes: &Lanes) -> u32 {
    let mut all = 0;
    for (lane, &n) in lanes.n.iter().enumerate() {
        all |= u32::from(n == UNRECORDED) << lane;
    }
    all
}

/// The lanes of each operand, after what is no float in them was made one; of those that are not there
/// zeros.
#[inline(always)]
pub(super) fn read<'l>(
    scratch: &'l mut [Lanes; 3],
    journal: &'l Journal,
    beside: &'l Beside,
    slots: &[Slot],
) -> [&'l Lanes; 3] {
    static NOTHING: Lanes = Lanes::NONE;
    let mut all = [&NOTHING; 3];
    for (k, (&slot, scratch)) in slots.iter().zip(scratch).enumerate() {
        all[k] = operand(journal, beside, (slot, k), scratch);
    }
    all
}

/// The operands of lanes whose result is not within its radius.
#[cold]
#[inline(never)]
fn lost(operands: [&Lanes; 3], lanes: u32) -> Vec<(usize, [Shadow; 3])> {
    Bits(lanes).map(|lane| (lane, operands.map(|operand| operand.get(lane)))).collect()
}

/// Lanes that might be 0: which side of it they are on, rounding leaves open.
fn at_zero(lanes: &Lanes) -> u32 {
    let is_near = |lane: usize| lanes.x[lane].abs() <= f64::from(lanes.r[lane]);
    (0..LANES).fold(0, |all, lane| all | u32::from(is_near(lane)) << lane)
}

impl Journal {
    /// Makes floats of what is beside an operand otherwise: numbers that were changed by their bits.
    #[inline(always)]
    pub(super) fn settle(&mut self, beside: &mut Beside, place: (Slot, usize), active: u32) {
        let others = beside.entry(place.0).map_or(0, |entry| entry.others) & active;
        if others != 0 {
            self.settle_others(beside, place, others);
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_others(&mut self, beside: &mut Beside, (slot, k): (Slot, usize), others: u32) {
        for lane in Bits(others) {
            let (word, bits) = (beside.word(slot, lane), self.words[k][lane]);
            // As a float it is what its bits say, and as an integer it may still be a number of units.
            let single = f64::from(f32::from_bits(bits));
            if matches!(&word, Word::Count(count) if count.is_rounded_to(single)) {
                continue;
            }
            let shadow = self.float(word, bits);
            beside.entry_mut(slot).set(lane, Word::Float(shadow));
        }
    }

    /// Gives names to the constants among operands that are used together with numbers which depend on
    /// inputs.
    #[inline(never)]
    fn name(&mut self, beside: &mut Beside, (slot, k): (Slot, usize), lanes: u32) {
        if slot >= self.registers {
            return;
        }
        let Some(tape) = &mut self.tape else { return };
        let mut floats = 0;
        let mut unnamed = lanes;
        if let Some(entry) = beside.entry(slot) {
            floats = entry.floats;
            let mut named = 0;
            for (lane, &n) in entry.lanes.n.iter().enumerate() {
                named |= u32::from(n != UNRECORDED) << lane;
            }
            unnamed &= !(floats & named);
        }
        let mut last: Option<Shadow> = None;
        for lane in Bits(unnamed) {
            let known = floats >> lane & 1 == 1;
            let entry = beside.entry_mut(slot);
            let mut shadow =
                if known { entry.lanes.get(lane) } else { Shadow::single(self.words[k][lane]) };
            let same = last.filter(|last| last.x == shadow.x && last.c == shadow.c);
            shadow.n = same.map_or_else(|| tape.constant(shadow.x, shadow.c), |last| last.n);
            last = Some(shadow);
            entry.set(lane, Word::Float(shadow));
        }
    }

    /// An instruction on f32, of the lanes that execute it.
    #[inline(always)]
    pub(super) fn operation(
        &mut self,
        beside: &mut Beside,
        r: &Registers,
        active: u32,
        operation: &Operation,
    ) {
        let &Operation { function, accuracy, saturate, d, .. } = operation;
        let slots = operation.operands();
        if self.rounds_on_purpose(beside, active, operation) {
            return beside.clear(d, active);
        }
        for place in slots.iter().copied().zip(0..) {
            self.settle(beside, place, active);
        }
        let mut room = self.room.take().unwrap_or_default();
        let Room { scratch, out } = &mut *room;
        let vars = match self.tape {
            None => 0,
            Some(_) => self.named(beside, scratch, (slots, active)),
        };
        let operands = read(scratch, self, beside, slots);
        let (row, bits) = ((function, accuracy), r.words.get(d));
        let some_failed = match saturate {
            false => evaluate(row, operands, bits, out),
            true => evaluate_clamped(row, operands, bits, out),
        };
        let failed = match some_failed {
            true => {
                let endless = endless((function, saturate), operands, bits, out);
                failed(out, bits, saturate) & active & !endless
            }
            false => 0,
        };
        out.n = [UNRECORDED; LANES];
        let anew = if failed == 0 { Vec::new() } else { lost(operands, failed) };
        let recorded = vars & !failed;
        if recorded != 0 {
            let undecided = if function == Function::Absolute { at_zero(operands[0]) } else { 0 };
            let parents = operands.map(|operand| operand.n);
            let flags = [beside.open & recorded, undecided & recorded];
            self.record(function, recorded, (&parents, out), flags);
        }
        if saturate {
            self.clamp((active & !failed, recorded), beside.open & recorded, out);
        }
        let entry = beside.entry_mut(d);
        entry.clear(active);
        entry.floats |= active & !failed;
        if active == u32::MAX && failed == 0 {
            std::mem::swap(&mut entry.lanes, out);
        } else {
            entry.lanes.take(out, active);
        }
        for (lane, from) in anew {
            let word = self.restart(&from[..slots.len()], out.x[lane], bits[lane]);
            beside.set_word(d, lane, word);
        }
        self.room = Some(room);
    }

    /// Lanes with an operand that depends on inputs. The constants among the operands have names then.
    #[inline(always)]
    fn named(
        &mut self,
        beside: &mut Beside,
        scratch: &mut [Lanes; 3],
        (slots, active): (&[Slot], u32),
    ) -> u32 {
        let all = read(scratch, self, beside, slots);
        let vars = all.iter().fold(0, |vars, lanes| vars | dependent(lanes)) & active;
        let unnamed = all[..slots.len()].iter().fold(0, |all, lanes| all | unrecorded(lanes));
        if unnamed & vars != 0 {
            for place in slots.iter().copied().zip(0..) {
                self.name(beside, place, vars);
            }
        }
        vars
    }

    /// Clamps the numbers of lanes to 0..=1. `recorded`: those that depend on inputs.
    #[inline(always)]
    fn clamp(&mut self, (lanes, recorded): (u32, u32), open: u32, out: &mut Lanes) {
        let straight = self.departure() == Some(Departure::Straight);
        let (mut undecided, mut outside) = (0, 0);
        for lane in 0..LANES {
            let (y, r) = (out.x[lane], f64::from(out.r[lane]));
            let clamped = y.clamp(0.0, 1.0);
            let edge = (y.abs() <= r) | ((y - 1.0).abs() <= r);
            undecided |= u32::from(edge) << lane;
            outside |= u32::from((y != clamped) & !edge) << lane;
            out.x[lane] = if lanes >> lane & 1 == 1 { clamped } else { y };
        }
        // Surely clamped, it is the end of the interval, whatever went in.
        let outside = if straight { 0 } else { outside & lanes };
        let parents = [out.n, [UNRECORDED; LANES], [UNRECORDED; LANES]];
        for lane in 0..LANES {
            let is_end = outside >> lane & 1 == 1;
            out.r[lane] = if is_end { 0.0 } else { out.r[lane] };
            out.c[lane] = if is_end { 0.0 } else { out.c[lane] };
        }
        out.n = [UNRECORDED; LANES];
        let inside = recorded & !outside;
        if inside != 0 {
            let function = if straight { Function::Identity } else { Function::Clamped };
            self.record(function, inside, (&parents, out), [open & inside, undecided & inside]);
        }
    }

    /// Nodes of some lanes; `flags`: which of them have come by an open decision, and which are undecided.
    #[inline(always)]
    fn record(
        &mut self,
        function: Function,
        lanes: u32,
        (parents, out): (&[[u32; LANES]; 3], &mut Lanes),
        [open, undecided]: [u32; 2],
    ) {
        let place = self.place();
        let Some(tape) = &mut self.tape else { return };
        let what = What { rule: Rule::Real(function), flags: Flags::default(), place };
        tape.record(&Recorded { what, lanes, parents, open, undecided }, out);
    }

    /// What is beside a result that is not within its radius.
    #[inline(never)]
    pub(super) fn restart(&mut self, from: &[Shadow], x: f64, bits: u32) -> Word {
        let result = f64::from(f32::from_bits(bits));
        let agree = x == result || x.is_nan() && result.is_nan();
        let depends_on = from.iter().any(|shadow| depends(shadow.n));
        // An infinite constant (a mask before a maximum or an exponential) takes the derivative with it,
        // as the function that it is put into does.
        let masked = from.iter().any(|shadow| shadow.x.is_infinite() && !depends(shadow.n));
        if agree && (!depends_on || masked) {
            return Word::None;
        }
        let finite = x.is_finite() && result.is_finite();
        let loss = if finite { Loss::Radius } else { Loss::Range };
        let from: Vec<_> = from.iter().copied().map(Some).collect();
        Word::Float(self.begin_anew(result, &from, loss))
    }
}
