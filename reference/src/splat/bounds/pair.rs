//! Bounds of one (pixel, Gaussian) pair by itself.

use crate::arithmetic::{Arith, Bounded, ExtraRoundings, Model, rounded};
use crate::splat::pair::{PairGradient, alpha_vjp, sigma, sigma_terms};
use crate::splat::spelled::Pair;

/// What a conforming f32 program may make of a pair.
#[derive(Clone, Copy, Debug)]
pub struct PairBounds<M> {
    /// -sigma
    pub power: Bounded<M>,
    /// e to the power.
    pub gauss: Bounded<M>,
    /// What the pair passes back to its Gaussian.
    pub gradient: PairGradient<Bounded<M>>,
}

/// -sigma of a conic, 1/pixels^2, at an offset, pixels, with `extra` roundings of its terms.
pub(super) fn power<M: Model>(
    conic: [Bounded<M>; 3],
    [dx, dy]: [Bounded<M>; 2],
    extra: ExtraRoundings,
) -> Bounded<M> {
    rounded!(-sigma(conic, dx, dy), extra, sigma_terms(conic, dx, dy))
}

/// A pair whose inputs are exact, for a program with so many roundings besides; the decisions apart.
#[must_use]
pub fn pair<M: Model>(pair: &Pair<f32>, extra: ExtraRoundings) -> PairBounds<M> {
    let pair = pair.lifted::<Bounded<M>>();
    let (conic, offset) = (pair.conic, pair.offset());
    let power = power(conic, offset, extra);
    let gauss = power.exp();
    let gradient = alpha_vjp(conic, offset, pair.opacity, gauss, pair.v_alpha, extra);
    PairBounds { power, gauss, gradient }
}
