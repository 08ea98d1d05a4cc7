//! Bounds of the stages: what any conforming f32 program may return. Inputs are exact.
//!
//! A floor, a ceil or an order of fractions that roundings leave open is followed every way: a point
//! then has several possible cells, the first of which is the one of the f64 oracle. What a stage
//! gives in each is joined, so that either choice by a kernel is accepted and nothing else is. Where
//! a result is continuous the cells differ by little (features of hats), where it jumps (features of
//! nearest, slopes of linear) by the jump.
//!
//! A program may add up a sum's terms in any order; see [`ElementBound`](crate::arithmetic::ElementBound). A slope's term is a product of a level's
//! scale, S'(t), the sides' weights, a gradient and a difference of entries: programs multiply these in
//! any order, and some of them sums of terms in place of terms (tiny-cuda-nn keeps dy/dx, which its
//! backward pass multiplies by the gradients). A term passes as many products in each, but one that is
//! exact in one order may round in another: `Sum::add_product` counts those. A feature is also made axis by
//! axis, as a + t (b - a), and a slope as sums of products that are subtracted: `sum` says what that may cost. What
//! such a program or another order of products makes of an entry's gradient, `weight` says. Of a point without a cell
//! ([`super`]) nothing is known, and since it may be added to any entry of the level, nothing of these.

mod compiled;
mod gate;
mod keys;
mod possible;
mod stages;
mod sum;
mod weight;

pub use compiled::{Compiled, backward, backward_input, forward, gated_backward, keys};
pub use keys::Keys;
pub use possible::Undecided;
pub use stages::{Bounds, TableBounds};
