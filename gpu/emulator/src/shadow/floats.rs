//! Operations on f32: all lanes at once, by the table.

use pulp::{Simd, WithSimd};

use super::super::ir::Slot;
use super::super::registers::{Bits, LANES, Registers};
use super::conventions::Departure;
use super::journal::{Journal, Loss};
use super::number::{Shadow, UNRECORDED, Word, depends, up};
use super::registers::{Beside, Lanes};
use super::table::accuracy::Accuracy;
use super::table::{Function, error, is_exact, spread, value};
use super::tape::{Flags, Rule, What, opened};

/// An instruction that gives an f32.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation<'s> {
    pub(super) function: Function,
    pub(super) accuracy: Accuracy,
    /// `.sat`.
    pub(super) saturate: bool,
    pub(super) d: Slot,
    pub(super) operands: &'s [Slot],
}

/// The table's answer for 32 lanes. Dispatched by pulp, for the widest registers there are.
struct Evaluate<'e> {
    function: Function,
    accuracy: Accuracy,
    operands: [&'e Lanes; 3],
    /// What the instruction gave.
    bits: &'e [u32; LANES],
    out: &'e mut Lanes,
}

impl WithSimd for Evaluate<'_> {
    /// The lanes whose f32 is not within the radius.
    type Output = u32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> u32 {
        let Self { function, accuracy, operands, bits, out } = self;
        macro_rules! folded {
            ($($known:ident)*) => {
                match function {
                    $(Function::$known => lanes(Function::$known, accuracy, operands, bits, out),)*
                    other => lanes(other, accuracy, operands, bits, out),
                }
            };
        }
        folded!(
            Negate Absolute Reciprocal Root ReciprocalRoot Exp2 Log2 Sum Difference Product Quotient Fused
        )
    }
}

#[inline(always)]
fn lanes(
    function: Function,
    accuracy: Accuracy,
    operands: [&Lanes; 3],
    bits: &[u32; LANES],
    out: &mut Lanes,
) -> u32 {
    let mut failed = [0_u32; LANES];
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
        failed[lane] = u32::from(number.failed);
    }
    let mut all = 0;
    for (lane, failed) in failed.iter().enumerate() {
        all |= failed << lane;
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
    let finite = y.abs() < f64::INFINITY && result.abs() < f64::INFINITY;
    let r = up(radius);
    let within = (result - y).abs() <= f64::from(r);
    Number { x: y, r, c: up(uncertain), failed: !(finite & within) }
}

/// An operand's lanes: those of its entry, or the f32 where it has none.
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
    for (x, &bits) in scratch.x.iter_mut().zip(&journal.words[k]) {
        *x = f64::from(f32::from_bits(bits));
    }
    (scratch.r, scratch.c) = ([0.0; LANES], [0.0; LANES]);
    scratch.n = [UNRECORDED; LANES];
    if let Some(entry) = entry {
        Bits(entry.floats).for_each(|lane| scratch.set(lane, entry.lanes.get(lane)));
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

/// Room for what is not in the registers' entries. Kept, since making it takes as long as an operation.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) scratch: [Lanes; 3],
    out: Lanes,
}

impl Default for Room {
    fn default() -> Self {
        Self { scratch: [Lanes::NONE; 3], out: Lanes::NONE }
    }
}

/// The lanes of each operand, after what is no float in them was made one; of those that are not there
/// zeros.
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

impl Journal {
    /// Makes floats of what is beside an operand otherwise: numbers that were changed by their bits.
    pub(super) fn settle(&mut self, beside: &mut Beside, (slot, k): (Slot, usize), active: u32) {
        if slot >= self.registers {
            return;
        }
        let others = beside.entry(slot).map_or(0, |entry| entry.others) & active;
        for lane in Bits(others) {
            let shadow = self.float(beside.word(slot, lane), self.words[k][lane]);
            beside.entry_mut(slot).set(lane, Word::Float(shadow));
        }
    }

    /// Gives names to the constants among operands that are used together with numbers which depend on
    /// inputs.
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
    pub(super) fn operation(
        &mut self,
        beside: &mut Beside,
        r: &Registers,
        active: u32,
        operation: &Operation<'_>,
    ) {
        let &Operation { function, accuracy, d, operands: slots, .. } = operation;
        for place in slots.iter().copied().zip(0..) {
            self.settle(beside, place, active);
        }
        if operation.saturate {
            return self.saturated(beside, r, active, operation);
        }
        let mut room = self.room.take().unwrap_or_default();
        let Room { scratch, out } = &mut *room;
        let mut vars = 0;
        if self.tape.is_some() {
            let read = read(scratch, self, beside, slots);
            vars = read.iter().fold(0, |vars, lanes| vars | dependent(lanes)) & active;
            if vars != 0 {
                for place in slots.iter().copied().zip(0..) {
                    self.name(beside, place, vars);
                }
            }
        }
        out.n = [UNRECORDED; LANES];
        let operands = read(scratch, self, beside, slots);
        let bits = r.words.get(d);
        let evaluate = Evaluate { function, accuracy, operands, bits, out: &mut *out };
        let failed = self.arch.dispatch(evaluate) & active;
        let parents = operands.map(|operand| operand.n);
        let mut undecided = 0;
        if function == Function::Absolute {
            for lane in Bits(vars) {
                let a = operands[0].get(lane);
                undecided |= u32::from(a.x.abs() <= f64::from(a.r)) << lane;
            }
        }
        let mut restarts: Vec<(usize, [Shadow; 3])> = Vec::new();
        for lane in Bits(failed) {
            restarts.push((lane, operands.map(|operand| operand.get(lane))));
        }
        self.record(function, vars & !failed, (&parents, &mut *out), beside.open, undecided);
        let entry = beside.entry_mut(d);
        entry.clear(active);
        entry.lanes.take(out, active);
        entry.floats |= active & !failed;
        for (lane, from) in restarts {
            let word = self.restart(&from[..slots.len()], out.x[lane], bits[lane]);
            beside.set_word(d, lane, word);
        }
        self.room = Some(room);
    }

    /// Nodes of some lanes.
    #[inline(always)]
    fn record(
        &mut self,
        function: Function,
        lanes: u32,
        (parents, out): (&[[u32; LANES]; 3], &mut Lanes),
        open: u32,
        undecided: u32,
    ) {
        let place = self.place();
        let Some(tape) = &mut self.tape else { return };
        let what = |undecided| {
            let flags = Flags { open: false, undecided };
            What { rule: Rule::Real(function), flags, place }.packed()
        };
        let both = [what(false), what(true)];
        for lane in Bits(lanes) {
            let what = both[(undecided >> lane & 1) as usize] | opened(open >> lane & 1 == 1);
            let parents = [parents[0][lane], parents[1][lane], parents[2][lane]];
            out.n[lane] = tape.push(parents, out.x[lane], out.c[lane], what);
        }
    }

    /// What is beside a result that is not within its radius.
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

    /// The same with `.sat`, lane by lane: the operation, and then what clamps it.
    fn saturated(
        &mut self,
        beside: &mut Beside,
        r: &Registers,
        active: u32,
        operation: &Operation<'_>,
    ) {
        let &Operation { function, accuracy, d, operands: slots, .. } = operation;
        let bits = r.words.get(d);
        let mut scratch = [Lanes::NONE; 3];
        // Copies, because the result may be written over an operand.
        let operands = read(&mut scratch, self, beside, slots).map(|lanes| *lanes);
        for lane in Bits(active) {
            let from = operands.map(|operand| operand.get(lane));
            let x = from.map(|shadow| shadow.x);
            // The clamped result says nothing of what was clamped: the rounding is taken as it comes.
            let y = value(function, x);
            let r = from.map(|shadow| accuracy.reach(shadow.x, f64::from(shadow.r)));
            let c = from.map(|shadow| f64::from(shadow.c));
            let moved = spread(function, x, y, r);
            let radius = up(moved + accuracy.bound(y.abs() + moved));
            let uncertain = up(spread(function, x, y, c) + error(function, y));
            let result = f64::from(f32::from_bits(bits[lane]));
            let clamped = y.clamp(0.0, 1.0);
            if !((clamped - result).abs() <= f64::from(radius)) {
                let word = self.restart(&from[..slots.len()], y, bits[lane]);
                beside.set_word(d, lane, word);
                continue;
            }
            let open = beside.open >> lane & 1 == 1;
            let parents = [0, 1, 2].map(|k| (k < slots.len()).then_some(&from[k]));
            let flags = Flags { open, undecided: false };
            let n = self.node(function, parents, (y, uncertain), flags);
            let whole = Shadow { x: y, r: radius, c: uncertain, n };
            let edge = |end: f64| (y - end).abs() <= f64::from(radius);
            let undecided = edge(0.0) || edge(1.0);
            let straight = self.departure() == Some(Departure::Straight);
            let outside = y != clamped && !undecided && !straight;
            // Surely clamped, it is the end of the interval, whatever went in.
            let shadow = if outside {
                Shadow::exact(clamped)
            } else {
                let flags = Flags { open, undecided };
                let number = (clamped, uncertain);
                let function = if straight { Function::Identity } else { Function::Clamped };
                let n = self.node(function, [Some(&whole), None, None], number, flags);
                Shadow { x: clamped, n, ..whole }
            };
            beside.set_word(d, lane, Word::Float(shadow));
        }
    }
}
