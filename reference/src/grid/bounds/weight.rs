//! The weight of a corner as programs multiply by it that keep no weights.
//!
//! A term of an entry's gradient is v times one factor for each axis: 1 - t to the left, t to the right, with S(t) for t
//! of a smoothstep. The oracle multiplies the factors, and then v. A program may take any other order, such as
//! ((v `o_z`) `o_y`) `o_x`, where products that are exact here round. And one that interpolates axis by axis as a + t (b - a) has
//! another difference after automatic differentiation: what came to the sum, g, goes to b as g t, and to a as
//! g - g t. With b - (1 - t) (b - a) it goes to a as g (1 - t), and to b as g - g (1 - t).
//!
//! So each step multiplies what came, g, by a factor o + e in place of the factor o. With u for one rounding,
//! - g (1 - t) rounds the difference and the product, |e| <= (2 u + u^2) (1 - t), and g t one product;
//! - g - g t rounds the product, u t, and the difference, u (1 - t), in all |e| <= u (t + (1 - t)) + u^2 t;
//! - g - g (1 - t) rounds 2 u (1 - t) and u t, and u^2 of them.
//!
//! In each |e| <= E = 2 u (1 + 2 u) (|t| + |1 - t|), of which nothing vanishes with the factor. Where t is exactly 0, g times
//! 1 and g times 0 are exact, and E = 0. With r for how far a program's t may lie from the value's, its term is v
//! times the product of o + x with |x| <= r + E, in any order of the axes, and so off by no more than
//!
//! |v| (product of (|o| + r + E) - product of |o|).
//!
//! A program rounds at most twice for each axis what may be subnormal.
//!
//! Whatever it computes is v times some of the factors. Where v and all t are exact, with 0 <= t <= 1, those are multiples of
//! q, v's lowest bit times that of each t, and none is above |v|. If |v| <= 2^24 q, they are all f32, and no program
//! rounds.

use super::super::cell::{Cell, corners_of_cell};
use super::super::encoding::Encoding;
use crate::arithmetic::{Bounded, Model, SMALLEST, Scalar, ULP};

/// The weight of a corner, and what a product by it may lose besides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight<M> {
    /// As a factor of v, in any order.
    factor: Bounded<M>,
    /// As the oracle has it.
    product: Bounded<M>,
    /// The product of the lowest bits of t of all axes; 0 where one is not exact.
    lowest: f64,
    /// How many operations may lose a subnormal number each.
    operations: f64,
}

impl<M: Model> Weight<M> {
    /// No weight.
    pub(super) fn none() -> Self {
        Self {
            factor: Bounded::default(),
            product: Bounded::default(),
            lowest: 1.0,
            operations: 0.0,
        }
    }

    /// That of a corner of a cell, which the oracle has as this product.
    pub(super) fn new<const D: usize>(
        product: Bounded<M>,
        corner: usize,
        cell: &Cell<Bounded<M>, D>,
        encoding: &Encoding,
    ) -> Self {
        let off = Self::off(corner, cell, encoding);
        if off == 0.0 {
            return Self { factor: product, product, lowest: 0.0, operations: 0.0 };
        }
        let factor = Bounded::new(product.value(), product.radius().max(off));
        let exact = |t: &Bounded<M>| t.radius() == 0.0 && (0.0..=1.0).contains(&t.value());
        let lowest = |t: Bounded<M>| if exact(&t) { lowest_bit(t.value()) } else { 0.0 };
        let lowest = cell.right_factors(encoding).into_iter().map(lowest).product();
        Self { factor, product, lowest, operations: 2.0 * D as f64 }
    }

    /// How far the product of its factors may be off, with that of v.
    fn off<const D: usize>(corner: usize, cell: &Cell<Bounded<M>, D>, encoding: &Encoding) -> f64 {
        // Of a simplex with more corners than two a weight is a difference, and one product is all there is.
        if corners_of_cell(encoding, D) < 1 << D {
            return 0.0;
        }
        let unit = M::TABLE.basic_ulp * ULP;
        let (mut most, mut value) = (1.0, 1.0);
        let mut rounds = false;
        for (axis, t) in cell.right_factors(encoding).into_iter().enumerate() {
            let (t, r) = (t.value(), t.radius());
            let is_zero = t == 0.0 && r == 0.0;
            let factor = if corner >> axis & 1 == 0 { 1.0 - t } else { t }.abs();
            let sides = t.abs() + (1.0 - t).abs() + 2.0 * r;
            let e = if is_zero { 0.0 } else { 2.0 * unit * (1.0 + 2.0 * unit) * sides };
            rounds |= !is_zero;
            (most, value) = (most * (factor + r + e), value * factor);
        }
        // Fewer than eight f64 operations for each of at most four axes, each off by 2^-53 of `most`.
        if rounds { (most - value) + most * 32.0 * f64::EPSILON } else { 0.0 }
    }

    /// One of both.
    pub(super) fn or(self, other: Self) -> Self {
        let operations = self.operations.max(other.operations);
        Self {
            factor: self.factor.or(other.factor),
            product: self.product.or(other.product),
            lowest: self.lowest.min(other.lowest),
            operations,
        }
    }

    /// A term with this weight.
    pub(super) fn times(self, v: Bounded<M>) -> Bounded<M> {
        let unit = self.lowest * lowest_bit(v.value());
        let fits = unit >= f64::from(f32::MIN_POSITIVE) && v.value().abs() <= 16_777_216.0 * unit;
        if v.radius() == 0.0 && fits {
            return self.product * v;
        }
        let term = self.factor * v;
        if self.operations == 0.0 || term.magnitude() == 0.0 {
            return term;
        }
        // Two roundings of 2^-53.
        let radius = (term.radius() + self.operations * SMALLEST) * (1.0 + 2.0 * f64::EPSILON);
        Bounded::new(term.value(), radius)
    }
}

/// The largest power of 2 that a number is a multiple of; of 0 it is 1, and of a subnormal number 0 stands for it.
fn lowest_bit(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    let bits = x.abs().to_bits();
    let exponent = bits >> 52;
    if bits == 0 {
        return 1.0;
    }
    if exponent == 0 || exponent == 0x7ff {
        return 0.0;
    }
    let zeros = (bits & MANTISSA | 1 << 52).trailing_zeros();
    // One power of two over another.
    let leading = f64::from_bits(exponent << 52);
    leading * f64::powi(2.0, i32::try_from(zeros).unwrap_or(0) - 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_bit_divides_a_number() {
        for (x, bit) in
            [(0.75, 0.25), (-3.0, 1.0), (1.0, 1.0), (0.0, 1.0), (96.0, 32.0), (f64::NAN, 0.0)]
        {
            assert_eq!(lowest_bit(x).to_bits(), f64::to_bits(bit), "{x}");
        }
    }
}
