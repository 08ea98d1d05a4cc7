//! What a host makes of exact numbers in f32, for kernels that are given it: its value in real arithmetic, and how
//! far both the host's f32 and that value may be off.
//!
//! A host rounds each operation to nearest (IEEE 754-2019, 4.3.1): by 2^-24 of the result, or by half the distance of
//! subnormals. The value is computed in f64, which loses 2^-53 of each result; products and sums of such values are far
//! from the ends of f64's range. To first order an operation passes its operands' radii on with its partial
//! derivatives; the product of two radii, which is all that is beyond it in a product, is kept.

use std::ops::{Add, Mul, Sub};

use super::super::ir::Rounding;
use super::super::memory::{Buffer, DeviceMemory};
use super::ask::Exact;
use super::number::{Shadow, UNIT, UNRECORDED, up};
use super::table::accuracy::Accuracy;

impl Exact {
    /// An operation's result, with the radii that it has of its operands.
    fn of(value: f64, radius: f64, uncertainty: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "whether it is an f32 is the question")]
        let is_single = f64::from(value as f32).to_bits() == value.to_bits();
        let uncertainty = uncertainty + UNIT * value.abs();
        // What is an f32 is not rounded, if the operands were what they stand for.
        let own = match is_single && radius == 0.0 {
            true => 0.0,
            false => Accuracy::rounded(Rounding::Nearest).bound(value.abs() + radius),
        };
        Self { value, radius: radius + own, uncertainty }
    }

    /// Whether a host may find another number below it: a whole one lies within its radius.
    #[must_use]
    pub fn has_open_floor(self) -> bool {
        let reach = self.radius + self.uncertainty;
        self.radius > 0.0 && (self.value - reach).ceil() <= (self.value + reach).floor()
    }

    /// Whether a host may find either of two numbers to be the larger one, or both to be equal.
    #[must_use]
    pub fn is_open_beside(self, other: Self) -> bool {
        let reach = self.radius + other.radius;
        let doubt = self.uncertainty + other.uncertainty;
        reach > 0.0 && (self.value - other.value).abs() <= reach + doubt
    }
}

impl From<f32> for Exact {
    fn from(x: f32) -> Self {
        Self { value: f64::from(x), radius: 0.0, uncertainty: 0.0 }
    }
}

impl Add for Exact {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let radius = self.radius + other.radius;
        Self::of(self.value + other.value, radius, self.uncertainty + other.uncertainty)
    }
}

impl Sub for Exact {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + Self { value: -other.value, ..other }
    }
}

impl Mul for Exact {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let factors = [self.value, other.value].map(f64::abs);
        let radius = of_product(factors, [self.radius, other.radius]);
        let uncertainty = of_product(factors, [self.uncertainty, other.uncertainty]);
        Self::of(self.value * other.value, radius, uncertainty)
    }
}

/// How far a product may be off whose factors are.
fn of_product([a, b]: [f64; 2], [r, s]: [f64; 2]) -> f64 {
    a * s + b * r + r * s
}

impl DeviceMemory {
    /// A host has made the elements of a buffer, and these are what they stand for.
    pub fn set_exact(&mut self, buffer: Buffer, numbers: &[Exact]) {
        let Some(segment) = self.segment_of(buffer) else { return };
        for (element, exact) in numbers.iter().enumerate().take(segment.elements()) {
            let Exact { value: x, radius, uncertainty } = *exact;
            let (r, c) = (up(radius + uncertainty), up(uncertainty));
            let shadow = Shadow { x, r, c, n: UNRECORDED };
            segment.put(element, Some(shadow));
        }
    }
}
