//! The table of operations: of each its value, its partial derivatives, how far it may go when its
//! operands do, and how its result is rounded.
//!
//! Everything else in this folder asks this table; an operation that is not in it has no shadow.
//!
//! # Bounds
//! [`spread`] bounds `|f(y) - f(x)|` for every y with `|y_k - x_k| <= r_k`. It is no first-order estimate:
//! each formula below holds for radii of any size, and gives infinity where a pole or the end of the
//! domain is within reach. [`doubts`] bounds in the same way how far the partial derivatives go.
//! Formulas are evaluated in f64; [`up`](super::number::up) adds what their roundings may lack.
//!
//! # Values
//! +, -, *, / and sqrt of f64 are rounded to nearest (IEEE 754), each within 2^-53 of its result. The
//! other functions are within [`own_error`], which the tests hold against the platform's library.

pub(super) mod accuracy;
pub(super) mod library;
mod special;
#[cfg(test)]
mod tests;

use std::f64::consts::LN_2;

use super::super::float::approximate::{exp2, log2};
use super::number::UNIT;
pub(super) use library::Library;

/// A function of up to three real numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Identity,
    Negate,
    Absolute,
    Reciprocal,
    Root,
    ReciprocalRoot,
    Exp2,
    Log2,
    Sine,
    Cosine,
    /// To 0..=1.
    Clamped,
    Sum,
    Difference,
    Product,
    Quotient,
    /// The first of two, of which a comparison has chosen it.
    Chosen,
    /// a b + c.
    Fused,
    /// a + (b - c): what an exchange that succeeded leaves (see [`atomics`](super::atomics)).
    Exchanged,
    /// A function of CUDA's library.
    Library(Library),
}

impl Function {
    /// All but those of the library.
    pub(super) const OWN: [Self; 18] = [
        Self::Identity,
        Self::Negate,
        Self::Absolute,
        Self::Reciprocal,
        Self::Root,
        Self::ReciprocalRoot,
        Self::Exp2,
        Self::Log2,
        Self::Sine,
        Self::Cosine,
        Self::Clamped,
        Self::Sum,
        Self::Difference,
        Self::Product,
        Self::Quotient,
        Self::Chosen,
        Self::Fused,
        Self::Exchanged,
    ];

    /// How many operands it has.
    pub(super) const fn operands(self) -> usize {
        match self {
            Self::Identity
            | Self::Negate
            | Self::Absolute
            | Self::Reciprocal
            | Self::Root
            | Self::ReciprocalRoot
            | Self::Exp2
            | Self::Log2
            | Self::Sine
            | Self::Cosine
            | Self::Clamped => 1,
            Self::Sum | Self::Difference | Self::Product | Self::Quotient | Self::Chosen => 2,
            Self::Fused | Self::Exchanged => 3,
            Self::Library(function) => function.operands(),
        }
    }

    /// A number of its own, below 126: its place in [`OWN`](Self::OWN), or 32 and more.
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Library(function) => 32 + function as u8,
            Self::Identity => 0,
            Self::Negate => 1,
            Self::Absolute => 2,
            Self::Reciprocal => 3,
            Self::Root => 4,
            Self::ReciprocalRoot => 5,
            Self::Exp2 => 6,
            Self::Log2 => 7,
            Self::Sine => 8,
            Self::Cosine => 9,
            Self::Clamped => 10,
            Self::Sum => 11,
            Self::Difference => 12,
            Self::Product => 13,
            Self::Quotient => 14,
            Self::Chosen => 15,
            Self::Fused => 16,
            Self::Exchanged => 17,
        }
    }

    /// The function of a number that [`code`](Self::code) gave.
    #[inline]
    pub(super) fn of(code: u8) -> Self {
        match code.checked_sub(32) {
            Some(at) => Self::Library(Library::ALL[usize::from(at)]),
            None => Self::OWN[usize::from(code)],
        }
    }
}

/// The value in real arithmetic, computed in f64.
#[inline(always)]
pub(super) fn value(function: Function, [a, b, c]: [f64; 3]) -> f64 {
    match function {
        Function::Identity | Function::Chosen => a,
        Function::Negate => -a,
        Function::Absolute => a.abs(),
        Function::Reciprocal => 1.0 / a,
        Function::Root => a.sqrt(),
        Function::ReciprocalRoot => 1.0 / a.sqrt(),
        Function::Exp2 => exp2(a),
        Function::Log2 => log2(a),
        Function::Sine => a.sin(),
        Function::Cosine => a.cos(),
        Function::Clamped => a.clamp(0.0, 1.0),
        Function::Sum => a + b,
        Function::Difference => a - b,
        Function::Product => a * b,
        Function::Quotient => a / b,
        Function::Fused => a.mul_add(b, c),
        Function::Exchanged => a + (b - c),
        Function::Library(function) => function.value([a, b, c]),
    }
}

/// How far [`value`] may be from the real value, relative to it.
#[inline(always)]
pub(super) const fn own_error(function: Function) -> f64 {
    match function {
        Function::Identity
        | Function::Chosen
        | Function::Negate
        | Function::Absolute
        | Function::Clamped => 0.0,
        Function::Sum
        | Function::Difference
        | Function::Product
        | Function::Quotient
        | Function::Reciprocal
        | Function::Root
        | Function::Fused => UNIT,
        Function::ReciprocalRoot => 2.0 * UNIT,
        // The inner difference is of numbers that lie close together, and small.
        Function::Exchanged => 2.0 * UNIT,
        // What their polynomials are within.
        Function::Exp2 => 8.0 * UNIT,
        Function::Log2 => 32.0 * UNIT,
        // The platform's: below one unit in the last place in every library that Rust is built on.
        Function::Sine | Function::Cosine => 2.0 * UNIT,
        Function::Library(function) => function.own_error(),
    }
}

/// How far a value may be from the real one.
#[inline(always)]
pub(super) fn error(function: Function, value: f64) -> f64 {
    match function {
        Function::Library(library) => library.error(value),
        _ => own_error(function) * value.abs(),
    }
}

/// Whether `value` was computed from f32 operands without a rounding.
#[inline(always)]
pub(super) fn is_exact(function: Function, [a, b, c]: [f64; 3], value: f64) -> bool {
    match function {
        Function::Identity
        | Function::Chosen
        | Function::Negate
        | Function::Absolute
        | Function::Clamped => true,
        // A sum that gives both operands back.
        Function::Sum => value - a == b && value - b == a,
        Function::Difference => a - value == b && value + b == a,
        // 24 bits by 24 fit in 53.
        Function::Product => true,
        Function::Fused => value - a * b == c && value - c == a * b,
        // A quotient or root that is an f32 gives the operand back in a product of 48 bits.
        Function::Quotient | Function::Reciprocal | Function::Root => true,
        Function::ReciprocalRoot
        | Function::Exp2
        | Function::Log2
        | Function::Sine
        | Function::Cosine
        | Function::Exchanged
        | Function::Library(_) => false,
    }
}

/// The partial derivatives at `x`, where the value is `y`.
#[inline(always)]
pub(super) fn partials(function: Function, x: [f64; 3], y: f64) -> [f64; 3] {
    let [a, b, _] = x;
    match function {
        Function::Identity => [1.0, 0.0, 0.0],
        Function::Negate => [-1.0, 0.0, 0.0],
        Function::Absolute => [if a < 0.0 { -1.0 } else { 1.0 }, 0.0, 0.0],
        Function::Reciprocal => [-y * y, 0.0, 0.0],
        Function::Root => [0.5 / y, 0.0, 0.0],
        Function::ReciprocalRoot => [-0.5 * y / a, 0.0, 0.0],
        Function::Exp2 => [y * LN_2, 0.0, 0.0],
        Function::Log2 => [1.0 / (a * LN_2), 0.0, 0.0],
        Function::Sine => [a.cos(), 0.0, 0.0],
        Function::Cosine => [-a.sin(), 0.0, 0.0],
        Function::Clamped => [if (0.0..=1.0).contains(&a) { 1.0 } else { 0.0 }, 0.0, 0.0],
        Function::Sum => [1.0, 1.0, 0.0],
        Function::Difference => [1.0, -1.0, 0.0],
        Function::Product => [b, a, 0.0],
        Function::Quotient => [1.0 / b, -y / b, 0.0],
        Function::Chosen => [1.0, 0.0, 0.0],
        Function::Fused => [b, a, 1.0],
        Function::Exchanged => [1.0, 1.0, -1.0],
        Function::Library(function) => function.partials(x, y),
    }
}

/// How far the value may go when each operand goes as far as its radius.
#[inline(always)]
pub(super) fn spread(function: Function, x: [f64; 3], y: f64, r: [f64; 3]) -> f64 {
    let [a, b, _] = x;
    match function {
        Function::Identity | Function::Negate | Function::Absolute | Function::Clamped => r[0],
        Function::Chosen => r[0],
        Function::Sum | Function::Difference => r[0] + r[1],
        Function::Exchanged => r[0] + r[1] + r[2],
        // |(a + s)(b + t) - a b| <= |a| t + |b| s + s t.
        Function::Product => a.abs() * r[1] + b.abs() * r[0] + r[0] * r[1],
        Function::Fused => a.abs() * r[1] + b.abs() * r[0] + r[0] * r[1] + r[2],
        // (a + s)/(b + t) - a/b = (s - q t)/(b + t).
        Function::Quotient => over(r[0] + y.abs() * r[1], b.abs() - r[1]),
        Function::Reciprocal => over(y.abs() * r[0], a.abs() - r[0]),
        // sqrt(a) - sqrt(a - r) = r/(sqrt(a) + sqrt(a - r)), the larger side. Below 0 there is none.
        Function::Root => over(r[0], y + (a - r[0]).max(0.0).sqrt()),
        // 1/t - 1/s = r/((s + t) s t) with s = sqrt(a), t = sqrt(a - r).
        Function::ReciprocalRoot => {
            let t = (a - r[0]).max(0.0).sqrt();
            over(r[0] * y * y, t * (1.0 + t * y))
        }
        Function::Exp2 => exp2_spread(a, y, r[0]),
        // -log2(1 - p) <= p/(1 - p)/ln 2 with p = r/a.
        Function::Log2 => over(r[0] / LN_2, a - r[0]),
        Function::Sine | Function::Cosine => r[0].min(2.0),
        Function::Library(function) => function.spread(x, y, r),
    }
}

/// How far the partial derivatives may be from those computed, when each operand is uncertain by `c`:
/// the way they go, and the rounding of f64.
#[inline(always)]
pub(super) fn doubts(function: Function, x: [f64; 3], d: [f64; 3], c: [f64; 3]) -> [f64; 3] {
    let [a, b, _] = x;
    let one = |doubt: f64| [doubt + 4.0 * UNIT * d[0].abs(), 0.0, 0.0];
    match function {
        Function::Identity
        | Function::Negate
        | Function::Absolute
        | Function::Clamped
        | Function::Sum
        | Function::Difference
        | Function::Chosen
        | Function::Exchanged => [0.0; 3],
        Function::Product | Function::Fused => [c[1], c[0], 0.0],
        Function::Quotient => {
            let first = power(d[0], c[1], b, 1.0);
            // a/b^2: the numerator goes by c, the divisor by what the power does.
            let second = power(d[1], c[1], b, 2.0) + (d[0].abs() + first).powi(2) * c[0];
            [first + 2.0 * UNIT * d[0].abs(), second + 4.0 * UNIT * d[1].abs(), 0.0]
        }
        Function::Reciprocal => one(power(d[0], c[0], a, 2.0)),
        Function::Root => one(power(d[0], c[0], a, 0.5)),
        Function::ReciprocalRoot => one(power(d[0], c[0], a, 1.5)),
        Function::Log2 => one(power(d[0], c[0], a, 1.0)),
        // As the value's, and the polynomial's own error.
        Function::Exp2 => {
            one(LN_2 * exp2_spread(a, d[0].abs() / LN_2, c[0]) + 8.0 * UNIT * d[0].abs())
        }
        // |cos(a + c) - cos(a)| <= c |sin a| + c^2/2.
        Function::Sine => one((c[0] * (a.sin().abs() + 0.5 * c[0])).min(2.0)),
        Function::Cosine => one((c[0] * (a.cos().abs() + 0.5 * c[0])).min(2.0)),
        Function::Library(function) => function.doubts(x, d, c),
    }
}

/// n/d, and infinity where d is not positive: a pole is within reach. Nothing goes nowhere.
#[inline(always)]
pub(super) fn over(n: f64, d: f64) -> f64 {
    if n == 0.0 {
        0.0
    } else if d > 0.0 {
        n / d
    } else {
        f64::INFINITY
    }
}

/// How far y = 2^a goes when a goes by r. For r <= 1 it is y (2^r - 1) <= y r ln 2 (1 + r), since 2^r <= 1 + r there;
/// both are above 0 and at most 2^(a + r), which is little where a is far below 0, as where a mask is added.
#[inline(always)]
fn exp2_spread(a: f64, y: f64, r: f64) -> f64 {
    if r <= 1.0 { y.abs() * r * LN_2 * (1.0 + r) } else { exp2(a + r) * (1.0 + 16.0 * UNIT) }
}

/// How far d, which is a constant times x^-p, goes when x goes by c: with q = c/|x| it is at most
/// |d| ((1 - q)^-p - 1) <= |d| p q (1 - q)^-(p + 1), by the mean value theorem.
#[inline(always)]
fn power(d: f64, c: f64, x: f64, p: f64) -> f64 {
    let q = c / x.abs();
    // (1 - q)^-(p + 1) <= (1 - q)^-3, since p is at most 2.
    let rest = 1.0 - q;
    over(d.abs() * p * q, if rest > 0.0 { rest * rest * rest } else { 0.0 })
}
