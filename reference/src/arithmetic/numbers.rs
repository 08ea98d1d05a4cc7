//! The traits of numbers, alone and in rows, that every stage is written over.

use super::extra::Roundings;
use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A comparison's outcome over every value the operands may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tristate {
    /// Holds whatever the roundings.
    Always,
    /// Fails whatever the roundings.
    Never,
    /// Depends on roundings: a conforming program may see either.
    Undecided,
}

impl Tristate {
    /// A plain boolean, for scalars without uncertainty.
    #[must_use]
    #[inline]
    pub fn known(holds: bool) -> Self {
        if holds { Self::Always } else { Self::Never }
    }
}

impl std::ops::Not for Tristate {
    type Output = Self;

    #[inline]
    fn not(self) -> Self {
        match self {
            Self::Always => Self::Never,
            Self::Never => Self::Always,
            Self::Undecided => Self::Undecided,
        }
    }
}

impl std::ops::BitOr for Tristate {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        match (self, other) {
            (Self::Always, _) | (_, Self::Always) => Self::Always,
            (Self::Never, Self::Never) => Self::Never,
            _ => Self::Undecided,
        }
    }
}

/// Arithmetic that every instance has, whether it holds one number or several lanes.
pub trait Arith:
    Copy
    + Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The constant `c`, rounded to the precision of `self`.
    #[must_use]
    fn like(self, c: f64) -> Self;

    /// e to the power `self`.
    #[must_use]
    fn exp(self) -> Self;

    /// e to the power `self`, where that is 0 or less and the result matters only above e^-708; elsewhere any
    /// number. Rows are spared what [`Self::exp`] does at the ends of its domain.
    #[must_use]
    #[inline(always)]
    fn exp_of_power(self) -> Self {
        self.exp()
    }

    /// Square root.
    #[must_use]
    fn sqrt(self) -> Self;

    /// What `part` gives, compiled as a function of its own for the same registers: a compiler's time grows faster
    /// than the function.
    #[inline(always)]
    fn apart<R>(self, part: impl FnOnce() -> R) -> R {
        part()
    }

    /// The smaller of two numbers; `other` where `self` is NaN.
    #[must_use]
    fn min(self, other: Self) -> Self;

    /// The larger of two numbers; `other` where `self` is NaN.
    #[must_use]
    fn max(self, other: Self) -> Self;

    /// `self * factor + term`, whose f64 is rounded once (IEEE 754-2019, 5.4.1, fusedMultiplyAdd): half of the
    /// walk's operations are such sums. f32 rounds twice, as programs may.
    #[must_use]
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        self * factor + term
    }

    /// The number `self`, whose derivative is by definition that of `other`: how a forward stage
    /// states a convention's gradient where that is not the derivative of the image. Only [`Dual`](super::Dual)
    /// has derivatives; every other instance is just `self`.
    #[must_use]
    #[inline(always)]
    fn with_gradient_of(self, other: Self) -> Self {
        let _ = other;
        self
    }

    /// The intermediate `self`, the sum of `terms`, of a program that rounds each of them up to `extra`
    /// times on its way into that sum. Only [`Bounded`](super::Bounded) knows the difference; every other
    /// instance is just `self`.
    #[must_use]
    #[inline(always)]
    fn rounded_again<const N: usize>(
        self,
        extra: Roundings,
        terms: impl FnOnce() -> [Self; N],
    ) -> Self {
        let _ = (extra, terms);
        self
    }

    /// This number, which programs also compute by `other`, an equal expression with other roundings. Only
    /// [`Bounded`](super::Bounded) knows the difference, and holds both; every other instance is just `self`.
    #[must_use]
    #[inline(always)]
    fn also(self, other: impl FnOnce() -> Self) -> Self {
        let _ = other;
        self
    }

    /// A term that stands for an intermediate that another program may never form: the sum of the
    /// magnitudes of its own terms. Only [`Bounded`](super::Bounded) reads it in
    /// [`Self::rounded_again`]; for every other instance it is 0.
    #[must_use]
    #[inline(always)]
    fn spread<const N: usize>(self, terms: [Self; N]) -> Self {
        let _ = terms;
        self.like(0.0)
    }
}

/// One number.
pub trait Scalar: Arith + Default + PartialEq + Send + Sync + 'static {
    /// An input of the kernels: exact in every instance.
    fn from_f32(x: f32) -> Self;

    /// A number that a kernel computes before, which may lie so far from this one: a radius that [`Bounded`](super::Bounded)
    /// alone has.
    #[must_use]
    fn computed(x: f32, _radius: f64) -> Self {
        Self::from_f32(x)
    }

    /// A constant, rounded to the instance's precision.
    fn from_f64(x: f64) -> Self;

    /// The number in f64.
    fn value(self) -> f64;

    /// Whether `self < other`.
    fn less(self, other: Self) -> Tristate;

    /// Natural logarithm.
    #[must_use]
    fn ln(self) -> Self;

    /// `numerator / (self * self + plus)`, without the sum where there is nothing to add.
    ///
    /// A square is positive wherever its root cannot be 0, which [`Bounded`](super::Bounded) forgets in a product of
    /// two factors that it takes for independent.
    #[must_use]
    fn divides_by_square(self, numerator: Self, plus: Option<f64>) -> Self {
        let square = self * self;
        numerator / plus.map_or(square, |plus| square + Self::from_f64(plus))
    }

    /// `self / divisor`, for a program that divides only where it found the divisor positive, which is
    /// then neither below 2^-126 nor above 2^126.
    ///
    /// So zero divided by it is zero, which [`Bounded`](super::Bounded) does not see where the divisor's own radius
    /// reaches 0.
    #[must_use]
    fn over_positive(self, divisor: Self) -> Self {
        self / divisor
    }

    /// Sixteen times the unit roundoff of the walk's arithmetic, which covers the handful of
    /// roundings between a pair's inputs and its alpha; see `reach`.
    const SLACK: f64;

    /// Whether `self < other` in the values alone: the branch that the oracle itself takes.
    fn value_less(self, other: Self) -> bool {
        self.value() < other.value()
    }

    /// How far from [`Self::value`] the number may lie: 0 but for [`Bounded`](super::Bounded).
    #[inline(always)]
    fn uncertainty(self) -> f64 {
        0.0
    }

    /// `yes` where a comparison holds, `no` where it fails, and what covers both where it is
    /// undecided, which happens to [`Bounded`](super::Bounded) alone.
    #[must_use]
    #[inline(always)]
    fn choose(holds: Tristate, yes: Self, no: Self) -> Self {
        if holds == Tristate::Always { yes } else { no }
    }

    /// `sqrt(max(floor, self))` for a constant `floor >= 0`; `sqrt(floor)` where `self` is NaN.
    #[must_use]
    fn root_above(self, floor: f64) -> Self {
        if Self::from_f64(floor).value_less(self) {
            self.sqrt()
        } else {
            Self::from_f64(floor.sqrt())
        }
    }
}

/// A row of pixels processed together, each with its own number. Scalars are rows of one.
///
/// The rasterization walk is written over this trait with masks and selects, so that one text
/// serves one pixel at a time and vector registers, with the same bits. Everything is a method of a
/// value because a vector type exists only where the processor was found to have it.
pub trait Lanes: Arith {
    /// The number in each lane.
    type Elem: Scalar;
    /// One boolean per lane.
    type Mask: Copy;
    /// Number of lanes.
    const LANES: usize;

    /// The same number in every lane.
    #[must_use]
    fn splat(self, x: Self::Elem) -> Self;
    /// Reads [`Self::LANES`] numbers.
    #[must_use]
    fn load(self, from: &[Self::Elem]) -> Self;
    /// Writes [`Self::LANES`] numbers.
    fn store(self, to: &mut [Self::Elem]);
    /// The absolute value.
    #[must_use]
    fn abs(self) -> Self;
    /// `self < other`, lane by lane.
    fn lt(self, other: Self) -> Self::Mask;
    /// Both.
    fn and(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Negation.
    fn not(self, a: Self::Mask) -> Self::Mask;
    /// Whether any lane holds.
    fn any(self, a: Self::Mask) -> bool;
    /// `self` where the mask holds, else `other`: a select, never a product, so that what is not
    /// chosen cannot poison the result.
    #[must_use]
    fn or_else(self, mask: Self::Mask, other: Self) -> Self;
}

/// Work over rows of whatever width the processor has.
pub trait LaneJob<S> {
    /// What the work gives.
    type Output;

    /// Does the work; `lanes` is any value of the row type.
    fn run<L: Lanes<Elem = S>>(self, lanes: L) -> Self::Output;
}

/// A scalar over which the stages run, with the rows that the processor has for it.
pub trait Vectorized: Scalar {
    /// Does the work over the widest rows there are.
    fn with_lanes<J: LaneJob<Self>>(job: J) -> J::Output;
}
