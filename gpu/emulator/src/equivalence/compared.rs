//! What a comparison that holds says of the two integers.

use super::super::ir::Comparison;
use super::integers::Integers;

/// The comparison that holds where another does not.
pub(super) fn opposite(comparison: Comparison) -> Option<Comparison> {
    Some(match comparison {
        Comparison::Eq => Comparison::Ne,
        Comparison::Ne => Comparison::Eq,
        Comparison::Lt => Comparison::Ge,
        Comparison::Ge => Comparison::Lt,
        Comparison::Gt => Comparison::Le,
        Comparison::Le => Comparison::Gt,
        _ => return None,
    })
}

/// What is left of two integers of which a comparison holds; `None` where it cannot.
pub(super) fn restricted(
    comparison: Comparison,
    signed: bool,
    a: Integers,
    b: Integers,
) -> Option<(Integers, Integers)> {
    match comparison {
        Comparison::Eq => a.and_of(b).map(|both| (both, both)),
        Comparison::Ne => Some((without(a, b)?, without(b, a)?)),
        Comparison::Lt => below(a, b, 1, signed),
        Comparison::Le => below(a, b, 0, signed),
        Comparison::Gt => below(b, a, 1, signed).map(|(b, a)| (a, b)),
        Comparison::Ge => below(b, a, 0, signed).map(|(b, a)| (a, b)),
        _ => Some((a, b)),
    }
}

/// Without a number that is one of its ends.
fn without(a: Integers, b: Integers) -> Option<Integers> {
    match b.value() {
        Some(value) if a.value() == Some(value) => None,
        Some(value) if a.least == value => Integers { least: value + 1, ..a }.tight(),
        Some(value) if a.largest == value => Integers { largest: value - 1, ..a }.tight(),
        Some(_) | None => Some(a),
    }
}

/// Of a + gap <= b.
fn below(a: Integers, b: Integers, gap: u64, signed: bool) -> Option<(Integers, Integers)> {
    if !signed {
        let most = b.largest.checked_sub(gap)?;
        let least = a.least.checked_add(gap)?;
        let a = Integers { largest: a.largest.min(most), ..a }.tight()?;
        let b = Integers { least: b.least.max(least), ..b }.tight()?;
        return Some((a, b));
    }
    let gap = gap.cast_signed();
    let ((a_least, a_largest), (b_least, b_largest)) = (a.signed(), b.signed());
    let most = a_largest.min(b_largest.checked_sub(gap)?);
    let least = b_least.max(a_least.checked_add(gap)?);
    if a_least > most || least > b_largest {
        return None;
    }
    let a = a.and_of(Integers::between_signed(a_least, most, a.width))?;
    let b = b.and_of(Integers::between_signed(least, b_largest, b.width))?;
    Some((a, b))
}
