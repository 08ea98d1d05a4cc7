//! f32 arithmetic in which every operation returns a random one of the results that the model
//! allows: what conforming devices may compute, drawn at random. It is the check of [`super::Bounded`].
//!
//! * An operation that the table gives k ulp returns any f32 within k ulp of the exact result, drawn
//!   uniformly, or at the ends, or mostly on one side (see [`Luck`]).
//! * Addition, subtraction and multiplication are correctly rounded (0.5 ulp) or return either
//!   neighbour (1 ulp); exact results are returned exactly.
//! * A product that is added to something may be fused: the addition then sees it unrounded.
//! * Where the model may flush, subnormal operands and results are replaced by zero or not.
//!
//! The numbers are drawn from a generator of the current thread, so that a run on one thread is
//! repeatable.

use super::one_lane::one_lane;
use super::{Arith, LaneJob, Lanes, Model, Roundings, Scalar, Tristate, Vectorized, elementary};
use crate::splat::synthetic::Random;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// How results are drawn from what is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Luck {
    /// Uniformly.
    Uniform,
    /// The largest or the smallest.
    Ends,
    /// Nine times in ten the largest.
    Up,
    /// Nine times in ten the smallest.
    Down,
}

thread_local! {
    static DRAW: RefCell<(Random, Luck)> = const { RefCell::new((Random(0), Luck::Uniform)) };
}

/// Starts the current thread's draws.
pub(crate) fn seed(seed: u64, luck: Luck) {
    DRAW.with(|draw| *draw.borrow_mut() = (Random(seed), luck));
}

/// A number in -1..=1: which of the allowed results.
fn draw() -> f64 {
    DRAW.with(|draw| {
        let (random, luck) = &mut *draw.borrow_mut();
        let unit = f64::from(random.unit());
        let mostly = if unit < 0.9 { 1.0 } else { -1.0 };
        match luck {
            Luck::Uniform => 2.0 * unit - 1.0,
            Luck::Ends => (unit - 0.5).signum(),
            Luck::Up => mostly,
            Luck::Down => -mostly,
        }
    })
}

/// An even chance, whatever the luck.
fn coin() -> bool {
    DRAW.with(|draw| draw.borrow_mut().0.unit() < 0.5)
}

/// One f32, and the exact product where it was rounded from one. Its operations stay functions: a walk with all of
/// them inside takes minutes to compile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Perturbed<M> {
    value: f32,
    product: Option<f64>,
    model: PhantomData<M>,
}

#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the purpose")]
fn nearest(x: f64) -> f32 {
    x as f32
}

/// The result and its neighbour on the side of `x`.
fn toward(result: f32, x: f64) -> f32 {
    if f64::from(result) < x { result.next_up() } else { result.next_down() }
}

impl<M: Model> Perturbed<M> {
    fn new(value: f32) -> Self {
        Self { value, product: None, model: PhantomData }
    }

    /// A result that may be flushed.
    fn flushed(value: f32) -> f32 {
        if M::TABLE.may_flush && value.is_subnormal() && coin() { 0.0 } else { value }
    }

    /// The value as an operation may read it.
    fn read(self) -> f64 {
        f64::from(Self::flushed(self.value))
    }

    /// An addition's or multiplication's result, whose exact value is `sum + error`, `sum` being
    /// the nearest f64.
    fn basic(sum: f64, error: f64) -> f32 {
        // Round to odd: between f32 numbers `exact` lies where the exact value lies.
        let exact = if error == 0.0 || sum.to_bits() & 1 == 1 {
            sum
        } else if error > 0.0 {
            sum.next_up()
        } else {
            sum.next_down()
        };
        let rounded = nearest(exact);
        if f64::from(rounded) == exact || M::TABLE.basic_ulp < 1.0 {
            return Self::flushed(rounded);
        }
        let other = toward(rounded, exact);
        let (low, high) = if rounded < other { (rounded, other) } else { (other, rounded) };
        Self::flushed(if draw() < 0.0 { low } else { high })
    }

    /// Any f32 within `ulps` of `exact`.
    fn within(exact: f64, ulps: f64) -> Self {
        if exact == 0.0 {
            return Self::new(0.0);
        }
        // Correct rounding; beside a power of two half an ulp would reach further than that.
        if ulps <= 0.5 {
            return Self::new(Self::flushed(nearest(exact)));
        }
        let exponent = ((exact.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        let ulp = f64::powi(2.0, (exponent - 23).max(-149));
        let aim = nearest(exact + draw() * ulps * ulp);
        let beyond = (f64::from(aim) - exact).abs() > ulps * ulp;
        Self::new(Self::flushed(if beyond { toward(aim, exact) } else { aim }))
    }
}

impl<M: Model> Add for Perturbed<M> {
    type Output = Self;

    #[inline(never)]
    fn add(self, other: Self) -> Self {
        let (mut x, mut y) = (self.read(), other.read());
        // Fused: one of the operands, if it is a product, is not rounded before the addition.
        match (self.product, other.product) {
            (Some(product), _) if coin() => x = product,
            (_, Some(product)) if coin() => y = product,
            _ => {}
        }
        let sum = x + y;
        let back = sum - x;
        Self::new(Self::basic(sum, (x - (sum - back)) + (y - back)))
    }
}

impl<M: Model> Neg for Perturbed<M> {
    type Output = Self;

    fn neg(self) -> Self {
        Self { value: -self.value, product: self.product.map(|x| -x), ..self }
    }
}

impl<M: Model> Sub for Perturbed<M> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl<M: Model> Mul for Perturbed<M> {
    type Output = Self;

    #[inline(never)]
    fn mul(self, other: Self) -> Self {
        // 24 + 24 bits: exact in f64.
        let product = self.read() * other.read();
        Self { product: Some(product), ..Self::new(Self::basic(product, 0.0)) }
    }
}

impl<M: Model> Div for Perturbed<M> {
    type Output = Self;

    #[inline(never)]
    fn div(self, other: Self) -> Self {
        Self::within(self.read() / other.read(), M::TABLE.div_ulp)
    }
}

impl<M: Model> Arith for Perturbed<M> {
    fn like(self, c: f64) -> Self {
        Self::from_f64(c)
    }

    #[inline(never)]
    fn exp(self) -> Self {
        let x = self.read();
        if x == 0.0 && M::TABLE.exp_of_zero_is_one {
            return Self::new(1.0);
        }
        let ulps = M::TABLE.exp_ulp + M::TABLE.exp_ulp_per_x * x.abs();
        Self::within(elementary::exp(x), ulps)
    }

    #[inline(never)]
    fn sqrt(self) -> Self {
        Self::within(self.read().sqrt(), M::TABLE.sqrt_ulp)
    }

    /// Each term is off by up to `extra` units of one operation.
    fn rounded_again<const N: usize>(
        self,
        extra: Roundings,
        terms: impl FnOnce() -> [Self; N],
    ) -> Self {
        if extra.is_none() || !self.value.is_finite() {
            return self;
        }
        let value = f64::from(self.value);
        let most = extra.ulps(&M::TABLE) * f64::from(f32::EPSILON);
        let off = |term: &Self| draw() * most * f64::from(term.value);
        let aim = value + terms().iter().map(off).sum::<f64>();
        let rounded = nearest(aim);
        let beyond = (f64::from(rounded) - value).abs() > (aim - value).abs();
        Self::new(Self::flushed(if beyond { toward(rounded, value) } else { rounded }))
    }

    fn min(self, other: Self) -> Self {
        if self.read() < other.read() { self } else { other }
    }

    fn max(self, other: Self) -> Self {
        if self.read() > other.read() { self } else { other }
    }
}

impl<M: Model> Scalar for Perturbed<M> {
    /// No pixel is left out: a kernel need not know any Gaussian's reach.
    const SLACK: f64 = f64::INFINITY;

    fn from_f32(x: f32) -> Self {
        Self::new(x)
    }

    fn from_f64(x: f64) -> Self {
        Self::new(nearest(x))
    }

    fn value(self) -> f64 {
        f64::from(self.value)
    }

    fn less(self, other: Self) -> Tristate {
        Tristate::known(self.read() < other.read())
    }

    fn ln(self) -> Self {
        Self::within(elementary::ln(self.read()), M::TABLE.ln_ulp)
    }
}

impl<M: Model> Lanes for Perturbed<M> {
    one_lane!();

    fn abs(self) -> Self {
        if self.value() < 0.0 { -self } else { self }
    }

    fn lt(self, other: Self) -> bool {
        self.read() < other.read()
    }
}

impl<M: Model> Vectorized for Perturbed<M> {
    fn with_lanes<J: LaneJob<Self>>(job: J) -> J::Output {
        job.run(Self::default())
    }
}
