//! The gradient of one (pixel, Gaussian) pair in every formulation, once for every scalar, and what
//! a formulation reads.
//!
//! With the transmittance T in front of the Gaussian, its colour c, the colour B seen through it and
//! the gradient v of the pixel, alpha's gradient is `T (c - B) v` and a part of what reaches the
//! background, `T_final / (1 - alpha) (v_alpha - background v)`. The formulations differ in how they
//! know T and B:
//!
//! * `behind`: B itself, a running blend.
//! * `buffer`: `T (1 - alpha) B`, the light that arrives from behind: a running sum. As gsplat does,
//!   the background's part is two terms: `(T_final ra) v_alpha - (T_final ra) (background v)`.
//! * `image`: the same light, as what is left of the image when all that lies in front is taken away.
//!   The background's part is `((v_alpha - background v) T_final) ra`.
//! * `state`: `v_T = B v` with the background's part in it: one number for all channels. The colour of
//!   the state is rolled back too, `colour -= alpha T c`, but no gradient reads it.
//!
//! Over the reals all of them are equal: `T (1 - alpha) B` is the sum of `c alpha T` behind, and the
//! image is what lies in front, the pair's own `alpha T c`, and that sum. So the oracle has one value.
//!
//! # Radii
//!
//! [`crate::arithmetic::Bounded`] evaluates these very expressions, operation by operation, so each radius is rigorous
//! whatever the expression. To first order, with u the unit of one operation, k the pairs between the
//! walk's start and this one, and `rel` a relative error:
//!
//! * going back, `rel(T)` is the final transmittance's, plus k times the division's and that of
//!   `1 - alpha`; going forward it is k times the latter and a product's.
//! * `behind`: a blend's error is a mean of the errors that went into it, at most a few u max |c| at
//!   any depth, so `v_alpha` errs by `T |v| (rel(T) |c - B| + error(B))`.
//! * `buffer`: c T and `buffer ra` have the relative error of T each, so `v_alpha` errs by
//!   `T |v| rel(T) (|c| + |B|)`: more than `behind` where c and B are alike and T has many factors.
//! * `image`: each step leaves an error of up to `u |C|` in what is left of the image C, however little
//!   that is. `v_alpha` errs by `k u |C| |v| / (1 - alpha)`, which does not shrink with T: at T = 1e-4 four
//!   digits of it are lost.
//! * `state`: `v_T` is a mean like B, so it errs as `behind` does, with the sum over the channels in
//!   place of each.
//!
//! With extra roundings ([`Formulation::extra_roundings`]) the radius of each intermediate that has a
//! name grows besides, as `arithmetic/extra.rs` derives: the power, alpha before its clamp, T, the
//! weight alpha T, what is known of the light behind, `v_alpha`, the background's part, `v_power`, and
//! the numbers that a pair adds to its Gaussian. Each call of [`Arith::rounded_again`] names the terms.
//! A quotient by 1 - alpha is one term, since 1 - alpha is rounded once relative to itself.
//!
//! With `final_t = one-minus-alpha` the number that the walk starts with is `fl(1 - alpha)` for the
//! kernel and for the oracle ([`one_minus_alpha`]): what the forward pass lost in rounding 1 - T is an
//! input's error, which no backward pass can know.

mod checkpoints;
#[cfg(test)]
mod tests;
mod view;

pub use checkpoints::{CheckpointArrays, checkpoints};
pub use view::{BackwardView, Checkpoints, MissingInput, Omitted, one_minus_alpha};
pub(crate) use view::{Ends, Start, light_behind};

use crate::arithmetic::{Arith, ExtraRoundings, rounded};
use crate::splat::formulation::{Divide, Floor, Formulation, Remainder, WalkOrder};
use crate::splat::pair::{blend_vjp, one_term};

/// 1e-6 as an f32 program spells it.
const MILLIONTH: f64 = 1e-6f32 as f64;

/// Divides by `1 - alpha` in a formulation's way.
#[derive(Clone, Copy)]
struct Divisor<A> {
    one_minus: A,
    /// `1 / one_minus`, or `one_minus` again where it is not needed.
    reciprocal: A,
    divide: Divide,
}

impl<A: Arith> Divisor<A> {
    #[inline(always)]
    fn new(formulation: Formulation, alpha: A) -> Self {
        let one = alpha.like(1.0);
        let one_minus = match formulation.floor() {
            Floor::None => one - alpha,
            Floor::Millionth => alpha.like(MILLIONTH).max(one - alpha),
        };
        let divide = formulation.divide();
        let reciprocal = match divide {
            Divide::Direct => one_minus,
            Divide::Reciprocal => one / one_minus,
        };
        Self { one_minus, reciprocal, divide }
    }

    #[inline(always)]
    fn divides(self, x: A) -> A {
        match self.divide {
            Divide::Direct => x / self.one_minus,
            Divide::Reciprocal => x * self.reciprocal,
        }
    }
}

/// The transmittance in front of a Gaussian, on a walk that comes to it with `t`.
#[inline(always)]
pub(crate) fn in_front<A: Arith>(formulation: Formulation, alpha: A, t: A) -> A {
    match formulation.walk() {
        WalkOrder::Back => {
            one_term(Divisor::new(formulation, alpha).divides(t), formulation.extra_roundings())
        }
        WalkOrder::Front => t,
    }
}

/// The transmittance with which a walk leaves a Gaussian in front of which it is `t`.
#[inline(always)]
pub(crate) fn beyond<A: Arith>(formulation: Formulation, alpha: A, t: A) -> A {
    match formulation.walk() {
        WalkOrder::Back => t,
        // Some programs take the weight away: t - alpha t.
        WalkOrder::Front => {
            rounded!(t * (alpha.like(1.0) - alpha), formulation.extra_roundings(), [t, alpha * t])
        }
    }
}

/// The vector-Jacobian product of blending one Gaussian, in front of which the transmittance is `t`.
///
/// Slices are `[D]`. Writes the gradient of the colour to `v_color`, moves `remainder` past the
/// Gaussian, and returns the gradient of alpha.
#[inline(always)]
pub(crate) fn unblend<A: Arith>(
    formulation: Formulation,
    [alpha, t]: [A; 2],
    ends: Ends<A>,
    color: &[A],
    v_pixel: &[A],
    remainder: &mut [A],
    v_color: &mut [A],
) -> A {
    let divisor = Divisor::new(formulation, alpha);
    let extra = formulation.extra_roundings();
    let Ends { t_final, parts } = ends;
    match formulation.remainder() {
        Remainder::Behind => {
            let blended = blend_vjp(alpha, t, color, v_pixel, remainder, v_color, extra);
            let of_background = divisor.divides(t_final) * parts[0];
            rounded!(blended + of_background, extra, [of_background])
        }
        Remainder::Buffer => {
            let how = (divisor, Light::Behind, extra);
            let sum = light_vjp([alpha, t], how, color, v_pixel, remainder, v_color);
            let reaches = divisor.divides(t_final);
            let v_alpha = (sum + reaches * parts[0]) - reaches * parts[1];
            rounded!(v_alpha, extra, [reaches * parts[0], reaches * parts[1]])
        }
        Remainder::Image => {
            let how = (divisor, Light::Left, extra);
            let sum = light_vjp([alpha, t], how, color, v_pixel, remainder, v_color);
            let of_background = divisor.divides(parts[0]);
            rounded!(sum + of_background, extra, [of_background])
        }
        Remainder::State => {
            let v_t = remainder[0];
            let zero = alpha.like(0.0);
            let (mut of_weight, mut v_alpha) = (zero, zero);
            for ((&color, &v), v_color) in color.iter().zip(v_pixel).zip(v_color) {
                let through = v * t;
                *v_color = one_term(alpha * through, extra);
                v_alpha = rounded!(v_alpha + color * through, extra, [color * through]);
                let term = (color * alpha) * v;
                of_weight = rounded!(of_weight + term, extra, [term]);
            }
            let beyond = of_weight + (alpha.like(1.0) - alpha) * v_t;
            remainder[0] = rounded!(beyond, extra, [v_t, alpha * v_t]);
            rounded!(v_alpha - t * v_t, extra, [t * v_t])
        }
    }
}

/// Which light a walk keeps.
#[derive(Clone, Copy)]
enum Light {
    /// What arrives from behind the Gaussian; its own is added afterwards.
    Behind,
    /// What is left of the image; its own is taken away before.
    Left,
}

/// `buffer` and `image`: alpha's gradient without the background's part.
#[inline(always)]
fn light_vjp<A: Arith>(
    [alpha, t]: [A; 2],
    (divisor, light, extra): (Divisor<A>, Light, ExtraRoundings),
    color: &[A],
    v_pixel: &[A],
    remainder: &mut [A],
    v_color: &mut [A],
) -> A {
    let weight = one_term(alpha * t, extra);
    let mut v_alpha = alpha.like(0.0);
    let pixel = v_pixel.iter().zip(remainder);
    for ((&color, (&v, remainder)), v_color) in color.iter().zip(pixel).zip(v_color) {
        *v_color = one_term(weight * v, extra);
        let before = *remainder;
        let from_behind = match light {
            Light::Behind => {
                *remainder = rounded!(before + color * weight, extra, [before, color * weight]);
                before
            }
            Light::Left => {
                *remainder = rounded!(before - color * weight, extra, [before, color * weight]);
                *remainder
            }
        };
        let from_behind = divisor.divides(from_behind);
        v_alpha = v_alpha + (color * t - from_behind) * v;
        v_alpha = rounded!(v_alpha, extra, [(color * t) * v, from_behind * v]);
    }
    v_alpha
}
