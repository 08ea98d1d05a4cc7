//! Automatic differentiation in reverse, as `PyTorch` and JAX do it: a program's operations are written on a
//! tape, which is read from the end.

use crate::arithmetic::{Arith, Scalar};
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// An operation and the places of its operands.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Leaf,
    Add(usize, usize),
    Sub(usize, usize),
    Mul(usize, usize),
    Div(usize, usize),
    Neg(usize),
    Sqrt(usize),
}

/// How a library differentiates a quotient and a root.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Library {
    /// -g ((a/b)/b) and g/(2 r).
    Torch,
    /// (-g a) (1/b^2) and g (0.5/r).
    Jax,
}

/// The operations of one program and what they gave.
#[derive(Debug)]
pub(super) struct Tape<S>(RefCell<Vec<(Operation, S)>>);

/// A number on a tape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Var<'t, S> {
    tape: &'t Tape<S>,
    place: usize,
    pub(super) value: S,
}

impl<S: Scalar> Tape<S> {
    pub(super) fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }

    /// A number that the program is given.
    pub(super) fn leaf(&self, value: S) -> Var<'_, S> {
        self.write(Operation::Leaf, value)
    }

    fn write(&self, operation: Operation, value: S) -> Var<'_, S> {
        let mut all = self.0.borrow_mut();
        all.push((operation, value));
        Var { tape: self, place: all.len() - 1, value }
    }

    /// The gradients by all numbers, from those by the results.
    pub(super) fn gradients(&self, results: &[(Var<'_, S>, S)], library: Library) -> Gradients<S> {
        let all = self.0.borrow();
        let mut v: Vec<Option<S>> = vec![None; all.len()];
        let add = |slot: &mut Option<S>, more: S| *slot = Some(slot.map_or(more, |v| v + more));
        results.iter().for_each(|&(result, more)| add(&mut v[result.place], more));
        let (half, two) = (S::from_f64(0.5), S::from_f64(2.0));
        for (place, &(operation, result)) in all.iter().enumerate().rev() {
            let Some(g) = v[place] else { continue };
            let value = |place: usize| all[place].1;
            match operation {
                Operation::Leaf => {}
                Operation::Add(a, b) => {
                    add(&mut v[a], g);
                    add(&mut v[b], g);
                }
                Operation::Sub(a, b) => {
                    add(&mut v[a], g);
                    add(&mut v[b], -g);
                }
                Operation::Mul(a, b) => {
                    add(&mut v[a], g * value(b));
                    add(&mut v[b], g * value(a));
                }
                Operation::Div(a, b) => {
                    add(&mut v[a], g / value(b));
                    let by_divisor = match library {
                        Library::Torch => -g * (result / value(b)),
                        Library::Jax => {
                            (-g * value(a)) * (S::from_f64(1.0) / (value(b) * value(b)))
                        }
                    };
                    add(&mut v[b], by_divisor);
                }
                Operation::Neg(a) => add(&mut v[a], -g),
                Operation::Sqrt(a) => {
                    let by_square = match library {
                        Library::Torch => g / (two * result),
                        Library::Jax => g * (half / result),
                    };
                    add(&mut v[a], by_square);
                }
            }
        }
        Gradients(v)
    }
}

/// The gradients by the numbers of a tape.
pub(super) struct Gradients<S>(Vec<Option<S>>);

impl<S: Scalar> Gradients<S> {
    pub(super) fn by(&self, number: Var<'_, S>) -> S {
        self.0[number.place].unwrap_or_else(|| S::from_f64(0.0))
    }
}

impl<'t, S: Scalar> Var<'t, S> {
    /// A number on the same tape that does not depend on anything.
    pub(super) fn constant(self, value: S) -> Var<'t, S> {
        self.tape.leaf(value)
    }
}

impl<S: Scalar> Add for Var<'_, S> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.tape.write(Operation::Add(self.place, other.place), self.value + other.value)
    }
}

impl<S: Scalar> Sub for Var<'_, S> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.tape.write(Operation::Sub(self.place, other.place), self.value - other.value)
    }
}

impl<S: Scalar> Mul for Var<'_, S> {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        self.tape.write(Operation::Mul(self.place, other.place), self.value * other.value)
    }
}

impl<S: Scalar> Div for Var<'_, S> {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        self.tape.write(Operation::Div(self.place, other.place), self.value / other.value)
    }
}

impl<S: Scalar> Neg for Var<'_, S> {
    type Output = Self;

    fn neg(self) -> Self {
        self.tape.write(Operation::Neg(self.place), -self.value)
    }
}

impl<S: Scalar> Arith for Var<'_, S> {
    fn like(self, c: f64) -> Self {
        self.tape.leaf(S::from_f64(c))
    }

    fn exp(self) -> Self {
        unreachable!("nothing that is projected is an exponential")
    }

    fn sqrt(self) -> Self {
        self.tape.write(Operation::Sqrt(self.place), self.value.sqrt())
    }

    fn min(self, other: Self) -> Self {
        if self.value.value_less(other.value) { self } else { other }
    }

    fn max(self, other: Self) -> Self {
        if other.value.value_less(self.value) { self } else { other }
    }
}
