//! Forward-mode differentiation: a value in f64 and its derivatives in `N` directions.
//!
//! The value is computed by the operations of `f64`, in their order, so that a stage over [`Dual`]
//! takes every branch that the oracle takes. The derivatives follow the exact rule of each
//! operation; `min`, `max`, selects and comparisons differentiate the branch that was taken.
//!
//! It shares no line with the hand-written backward stages, which makes it their independent check.
//! Where a convention's gradient is by definition not the derivative of its image, the forward
//! stages say so by [`Arith::with_gradient_of`], which only this scalar notices.
//!
//! Source: Griewank and Walther, Evaluating Derivatives, 2nd edition, 2008, section 3.1.

use super::elementary;
use super::numbers::{Arith, LaneJob, Lanes, Scalar, Tristate, Vectorized};
use super::one_lane::one_lane;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A value and its derivatives in `N` directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual<const N: usize> {
    value: f64,
    slopes: [f64; N],
}

impl<const N: usize> Dual<N> {
    /// A number that depends on nothing.
    #[must_use]
    #[inline(always)]
    pub fn constant(value: f64) -> Self {
        Self { value, slopes: [0.0; N] }
    }

    /// The variable of direction `direction`.
    ///
    /// # Panics
    /// If `direction` is not below `N`.
    #[must_use]
    pub fn variable(value: f64, direction: usize) -> Self {
        let mut variable = Self::constant(value);
        variable.slopes[direction] = 1.0;
        variable
    }

    /// The derivatives.
    #[must_use]
    pub fn slopes(self) -> [f64; N] {
        self.slopes
    }

    /// f(self), where f has this value and this derivative at `self`.
    #[inline(always)]
    fn chain(self, value: f64, derivative: f64) -> Self {
        Self { value, slopes: self.slopes.map(|s| derivative * s) }
    }

    /// A function of two numbers from its value and what it does to one direction's derivatives.
    #[inline(always)]
    fn join(self, other: Self, value: f64, rule: impl Fn(f64, f64) -> f64) -> Self {
        Self { value, slopes: std::array::from_fn(|i| rule(self.slopes[i], other.slopes[i])) }
    }
}

impl<const N: usize> Default for Dual<N> {
    fn default() -> Self {
        Self::constant(0.0)
    }
}

impl<const N: usize> Add for Dual<N> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.join(other, self.value + other.value, |a, b| a + b)
    }
}

impl<const N: usize> Sub for Dual<N> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.join(other, self.value - other.value, |a, b| a - b)
    }
}

impl<const N: usize> Mul for Dual<N> {
    type Output = Self;

    #[expect(clippy::suspicious_arithmetic_impl, reason = "d(xy) = y dx + x dy")]
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let (x, y) = (self.value, other.value);
        self.join(other, x * y, |a, b| a * y + x * b)
    }
}

impl<const N: usize> Div for Dual<N> {
    type Output = Self;

    #[expect(clippy::suspicious_arithmetic_impl, reason = "d(x/y) = (dx - (x/y) dy)/y")]
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let quotient = self.value / other.value;
        self.join(other, quotient, |a, b| (a - quotient * b) / other.value)
    }
}

impl<const N: usize> Neg for Dual<N> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        self.chain(-self.value, -1.0)
    }
}

impl<const N: usize> Arith for Dual<N> {
    #[inline(always)]
    fn like(self, c: f64) -> Self {
        Self::constant(c)
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        let sum = self * factor + term;
        Self { value: self.value.mul_add(factor.value, term.value), ..sum }
    }

    #[inline(always)]
    fn exp(self) -> Self {
        let value = elementary::exp(self.value);
        self.chain(value, value)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        let value = self.value.sqrt();
        self.chain(value, 0.5 / value)
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if self.value < other.value { self } else { other }
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if self.value > other.value { self } else { other }
    }

    #[inline(always)]
    fn with_gradient_of(self, other: Self) -> Self {
        Self { slopes: other.slopes, ..self }
    }
}

impl<const N: usize> Scalar for Dual<N> {
    const SLACK: f64 = <f64 as Scalar>::SLACK;

    fn from_f32(x: f32) -> Self {
        Self::constant(f64::from(x))
    }

    fn from_f64(x: f64) -> Self {
        Self::constant(x)
    }

    #[inline(always)]
    fn value(self) -> f64 {
        self.value
    }

    #[inline(always)]
    fn less(self, other: Self) -> Tristate {
        Tristate::known(self.value < other.value)
    }

    fn ln(self) -> Self {
        self.chain(elementary::ln(self.value), 1.0 / self.value)
    }
}

impl<const N: usize> Lanes for Dual<N> {
    one_lane!();

    fn abs(self) -> Self {
        if self.value() < 0.0 { -self } else { self }
    }

    #[inline(always)]
    fn lt(self, other: Self) -> bool {
        self.value < other.value
    }
}

impl<const N: usize> Vectorized for Dual<N> {
    fn with_lanes<J: LaneJob<Self>>(job: J) -> J::Output {
        job.run(Self::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x = 3 and y = -0.75, each varying in its own direction.
    fn pair() -> [Dual<2>; 2] {
        [Dual::variable(3.0, 0), Dual::variable(-0.75, 1)]
    }

    #[track_caller]
    fn assert_dual(dual: Dual<2>, value: f64, slopes: [f64; 2]) {
        assert_eq!(dual.value().to_bits(), value.to_bits(), "the value is not f64's");
        for (got, wanted) in dual.slopes().into_iter().zip(slopes) {
            // Each rule rounds at most four times.
            let error = (got - wanted).abs();
            assert!(error <= 2.0 * f64::EPSILON * wanted.abs(), "slope {got} is not {wanted}");
        }
    }

    #[test]
    fn the_four_operations() {
        let [x, y] = pair();
        assert_dual(x + y, 2.25, [1.0, 1.0]);
        assert_dual(x - y, 3.75, [1.0, -1.0]);
        assert_dual(-x, -3.0, [-1.0, 0.0]);
        assert_dual(x * y, -2.25, [-0.75, 3.0]);
        assert_dual(x / y, -4.0, [-4.0 / 3.0, -3.0 / 0.5625]);
        assert_dual(x * x, 9.0, [6.0, 0.0]);
        assert_dual(x / x, 1.0, [0.0, 0.0]);
        assert_dual(x.like(2.0) * y, -1.5, [0.0, 2.0]);
    }

    #[test]
    fn the_functions() {
        let [x, y] = pair();
        assert_dual(x.exp(), elementary::exp(3.0), [elementary::exp(3.0), 0.0]);
        assert_dual((y * y).sqrt(), 0.75, [0.0, -1.0]);
        assert_dual(x.ln(), elementary::ln(3.0), [1.0 / 3.0, 0.0]);
        assert_dual((x * x).ln(), elementary::ln(9.0), [2.0 / 3.0, 0.0]);
    }

    #[test]
    fn branches_differentiate_what_was_taken() {
        let [x, y] = pair();
        assert_dual(x.min(y), -0.75, [0.0, 1.0]);
        assert_dual(x.max(y), 3.0, [1.0, 0.0]);
        let limit = x.like(2.0);
        assert_dual(limit.min(x), 2.0, [0.0, 0.0]);
        assert_dual(limit.max(x), 3.0, [1.0, 0.0]);
        // At equality `min` and `max` give their argument, as they do for f64.
        assert_dual(x.like(3.0).min(x), 3.0, [1.0, 0.0]);
        assert_dual(x.or_else(y.lt(x), y), 3.0, [1.0, 0.0]);
        assert_dual(x.or_else(x.lt(y), y), -0.75, [0.0, 1.0]);
        assert_eq!(x.less(y), Tristate::Never, "3 < -0.75");
        assert_eq!(y.less(x), Tristate::Always, "-0.75 < 3 fails");
    }

    #[test]
    fn a_gradient_can_be_given() {
        let [x, y] = pair();
        assert_dual(x.with_gradient_of(y * y), 3.0, [0.0, -1.5]);
        assert_dual(x.with_gradient_of(x.like(0.0)), 3.0, [0.0, 0.0]);
        assert_eq!(1.5f64.with_gradient_of(7.0), 1.5, "f64 has no derivative to replace");
    }
}
