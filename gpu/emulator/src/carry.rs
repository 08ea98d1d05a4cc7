//! Sums and products that take or leave a carry.
//!
//! Source: PTX ISA 8.4, "Extended-Precision Integer Arithmetic Instructions". A borrow is kept in the flag as a 1, as a
//! carry is.

use super::ir::{Carry, CarryOp, SINK, Slot};
use super::lanes::{Active, LANES, low};
use super::registers::Registers;

/// Executes it for the active lanes. Out of the interpreter's loop, which stays small without it.
#[inline(never)]
pub(super) fn execute(r: &mut Registers, on: &Active, carry: &Carry) {
    let mut poison = r.words.poison(carry.from);
    let mut read = |slot: Slot| match (slot, carry.wide) {
        (SINK, _) => [0; LANES],
        (slot, true) => {
            poison |= r.b64.poison(slot);
            *r.b64.get(slot)
        }
        (slot, false) => {
            poison |= r.words.poison(slot);
            r.words.get(slot).map(u64::from)
        }
    };
    let [a, b, c] = carry.sources.map(&mut read);
    let from = *r.words.get(carry.from);
    let (mut out, mut carried) = ([0; LANES], [0; LANES]);
    for lane in on.lanes() {
        let sources = [a[lane], b[lane], c[lane]];
        (out[lane], carried[lane]) = one(carry, sources, from[lane]);
    }
    if carry.wide {
        r.b64.set(carry.d, on, &out, poison);
    } else {
        r.words.set(carry.d, on, &out.map(low), poison);
    }
    if carry.to != SINK {
        r.words.set(carry.to, on, &carried, poison);
    }
}

/// The result of a lane, and what is carried or borrowed.
fn one(carry: &Carry, [a, b, c]: [u64; 3], from: u32) -> (u64, u32) {
    let (bits, from) = (if carry.wide { 64 } else { 32 }, u128::from(from));
    let mask = u128::from(u64::MAX >> (64 - bits));
    let wide = u128::from;
    let value = match carry.op {
        CarryOp::Add => wide(a) + wide(b) + from,
        // What is borrowed is what the bits above are then.
        CarryOp::Sub => wide(a).wrapping_sub(wide(b)).wrapping_sub(from),
        CarryOp::MadLo => ((wide(a) * wide(b)) & mask) + wide(c) + from,
        CarryOp::MadHi { signed } => (high(a, b, bits, signed) & mask) + wide(c) + from,
    };
    #[expect(clippy::cast_possible_truncation, reason = "it is cut to the width")]
    let result = (value & mask) as u64;
    (result, u32::from(value >> bits & 1 == 1))
}

/// The upper half of a product of two numbers of so many bits, and whatever above it.
fn high(a: u64, b: u64, bits: u32, signed: bool) -> u128 {
    if !signed {
        return (u128::from(a) * u128::from(b)) >> bits;
    }
    let extended = |x: u64| i128::from((x << (64 - bits)).cast_signed() >> (64 - bits));
    ((extended(a) * extended(b)) >> bits).cast_unsigned()
}
