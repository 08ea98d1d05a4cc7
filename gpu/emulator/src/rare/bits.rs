//! Bytes and bit fields. Source: PTX ISA 8.4, the sections of the instructions' names.

use super::super::ir::{Extract, Permutation};
use super::super::lanes::low;

/// prmt: four bytes out of the eight of a (lower) and b. In the general mode a selector's highest bit
/// asks for eight copies of the byte's sign.
pub(in super::super) fn permute(mode: Permutation, a: u32, b: u32, c: u32) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    let by = c & 3;
    // The byte that each byte of the result takes.
    let select = |byte: u32| match mode {
        Permutation::General => c >> (4 * byte) & 0xf,
        Permutation::Forward4 => by + byte,
        Permutation::Backward4 => by.wrapping_sub(byte) & 7,
        Permutation::Replicate8 => by,
        Permutation::EdgeLeft => byte.max(by),
        Permutation::EdgeRight => byte.min(by),
        Permutation::Replicate16 => 2 * (by & 1) + (byte & 1),
    };
    (0..4).fold(0, |result, byte| {
        let selector = select(byte);
        let chosen = (bytes >> (8 * (selector & 7)) & 0xff) as u8;
        let sign = mode == Permutation::General && selector & 8 != 0;
        let value = if sign { (chosen.cast_signed() >> 7).cast_unsigned() } else { chosen };
        result | u32::from(value) << (8 * byte)
    })
}

/// bfe: the field of `length` bits at `position`, filled with its sign, which is the highest bit of the
/// source where the field ends beyond it.
pub(in super::super) fn extract(
    Extract { signed, wide }: Extract,
    a: u64,
    position: u64,
    length: u64,
) -> u64 {
    let top = if wide { 63 } else { 31 };
    let (position, length) = (position & 0xff, length & 0xff);
    if length == 0 {
        return 0;
    }
    let sign = signed && a >> (position + length - 1).min(top) & 1 == 1;
    (0..=top).fold(0, |result, at| {
        let inside = at < length && position + at <= top;
        let bit = if inside { a >> (position + at) & 1 == 1 } else { sign };
        result | u64::from(bit) << at
    })
}

/// bfi of 64 bits: the low `length` bits of a go into b at `position`.
pub(super) fn insert64([a, b, position, length]: [u64; 4]) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    let end = (position + length).min(64);
    (position..end).fold(b, |result, at| result & !(1 << at) | (a >> (at - position) & 1) << at)
}

/// bfind of 64 bits: the highest bit that differs from the sign, or how far it is from the top.
pub(super) fn find64(a: u64, signed: bool, shift: bool) -> u32 {
    let a = if signed { a ^ (a.cast_signed() >> 63).cast_unsigned() } else { a };
    match a.leading_zeros() {
        64 => u32::MAX,
        zeros if shift => zeros,
        zeros => 63 - zeros,
    }
}

/// bmsk: `width` ones from `position` on, those that fit into the word.
pub(super) fn mask(wraps: bool, position: u32, width: u32) -> u32 {
    let [position, width] = [position, width].map(|x| if wraps { x & 31 } else { x.min(32) });
    low(((1_u64 << width) - 1) << position)
}

/// szext: the lower `width` bits, with zeros above them or with their sign.
pub(super) fn widen(signed: bool, wraps: bool, a: u32, width: u32) -> u32 {
    let width = if wraps { width & 31 } else { width.min(32) };
    let above = 32 - width;
    match (above, signed) {
        (32, _) => 0,
        (_, true) => ((a << above).cast_signed() >> above).cast_unsigned(),
        (_, false) => a << above >> above,
    }
}

/// fns: the place of the set bit that `nth` counts from `base`, up or (negative) down; all ones where there is none.
pub(super) fn find_nth(mask: u32, base: u32, nth: i32) -> u32 {
    let is_set = |at: &u32| mask >> at & 1 == 1;
    let before = nth.unsigned_abs().saturating_sub(1) as usize;
    let found = match nth {
        0 => Some(base).filter(|at| *at < 32 && is_set(at)),
        1.. => (base..32).filter(is_set).nth(before),
        _ => (0..=base.min(31)).rev().filter(is_set).nth(before),
    };
    found.unwrap_or(u32::MAX)
}

fn byte(word: u32, at: u32, signed: bool) -> i32 {
    let byte = (word >> (8 * at) & 0xff) as u8;
    if signed { byte.cast_signed().into() } else { byte.into() }
}

/// dp4a: c plus the products of the bytes.
pub(super) fn dot_bytes((x, y): (bool, bool), a: u32, b: u32, c: u32) -> u32 {
    (0..4).fold(c, |sum, at| sum.wrapping_add((byte(a, at, x) * byte(b, at, y)).cast_unsigned()))
}

/// dp2a: c plus the products of the halves of a and two bytes of b.
pub(super) fn dot_halves((x, y): (bool, bool), high: bool, a: u32, b: u32, c: u32) -> u32 {
    let half = |at: u32| {
        let half = (a >> (16 * at) & 0xffff) as u16;
        if x { i32::from(half.cast_signed()) } else { i32::from(half) }
    };
    let first = if high { 2 } else { 0 };
    (0..2).fold(c, |sum, at| sum.wrapping_add((half(at) * byte(b, first + at, y)).cast_unsigned()))
}

/// lop3: the bit of the table that the bits of a, b and c number.
pub(in super::super) fn logic3(table: u8, a: u32, b: u32, c: u32) -> u32 {
    (0..8).filter(|at| table >> at & 1 == 1).fold(0, |result, at| {
        let side = |word: u32, bit: u32| if at >> bit & 1 == 1 { word } else { !word };
        result | side(a, 2) & side(b, 1) & side(c, 0)
    })
}
