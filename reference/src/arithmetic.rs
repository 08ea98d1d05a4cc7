//! The numbers the oracle computes with.
//!
//! Every stage is written once, over [`Arith`], and instantiated with
//!
//! * `f32`: the mirror of what a device computes, in one fixed order;
//! * `f64`: the oracle's value;
//! * [`Bounded`]: the f64 value together with the largest distance at which any conforming f32
//!   evaluation of the same formula may lie from it;
//! * [`Dual`]: the f64 value and its derivatives, the check of the hand-written backward stages.
//!
//! No platform function is called: `exp` and `ln` are our own, and `sqrt`, the four operations and
//! comparisons are exact IEEE 754 operations. rustc never contracts `a * b + c`, and where a sum is meant to
//! be fused ([`Arith::mul_add`]) it is so on every machine, so results have the same bits on all of them.

mod bounded;
mod dual;
mod elementary;
mod extra;
mod half;
mod ieee;
mod model;
mod numbers;
mod one_lane;
#[cfg(test)]
mod perturbed;
#[cfg(test)]
mod registers;
pub(crate) mod sum;
mod vector;

pub use bounded::Bounded;
pub(crate) use bounded::Decided;
pub use dual::Dual;
pub use elementary::{exp, ln};
pub(crate) use extra::rounded;
pub use extra::{EvaluationOrders, ExtraRoundings, NoRoundings, Roundings};
pub use half::{HalfFormat, LaneSum};
pub use model::{ArithmeticModel, Cuda, CudaFast, Ieee, Model, Wgsl, WgslExpZero};
pub(crate) use model::{SMALLEST, ULP};
pub use numbers::{Arith, LaneJob, Lanes, Scalar, Tristate, Vectorized};
#[cfg(test)]
pub(crate) use perturbed::{Luck, Perturbed, seed as perturb};
#[cfg(test)]
pub(crate) use registers::in_all_registers;
pub use sum::ElementBound;
pub(crate) use vector::dispatch;
