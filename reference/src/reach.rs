//! How far a Gaussian can contribute: a box outside which `alpha < alpha_min` for certain.
//!
//! Both conventions skip a pair with `alpha < alpha_min`, so leaving out pixels beyond the box
//! changes no bit of any result.
//!
//! alpha >= `alpha_min` needs `sigma <= s` with s = `ln(opacity/alpha_min)`. On the ellipse sigma = s of
//! the conic (a, b, c) with det = ac - b^2 > 0, the largest |dx| is sqrt(2 s c/det) and the largest
//! |dy| sqrt(2 s a/det). The walk's own sigma is rounded: its error is at most a few units roundoff
//! of (a dx^2 + c dy^2)/2 + |b dx dy| <= kappa sigma with kappa = (1 + rho)/(1 - rho), rho =
//! |b|/sqrt(ac) (the maximum of the ratio over all directions, attained where a dx^2 = c dy^2).
//! So s is widened to s (1 + slack kappa) + slack, slack being 16 units roundoff, which also covers
//! exp, the product with the opacity and the rounding of s.

use crate::scalar::{Scalar, ln};
use crate::view::RasterView;
use rayon::prelude::*;

/// Half-sizes in pixels of the box around the projected mean, or what is known instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reach {
    /// Nowhere.
    Nowhere,
    /// At most this far in x and y.
    Within(f64, f64),
    /// Perhaps everywhere: the conic is not safely positive definite.
    Anywhere,
}

/// The reach of a Gaussian with this conic and opacity.
fn reach<S: Scalar>(conic: [S; 3], opacity: S, alpha_min: f64) -> Reach {
    let [a, b, c] = conic.map(S::value);
    let (product, det) = (a * c, a * c - b * b);
    // With det > 2^-20 ac the rounding of det in f64 stays below 2^-31 of it.
    if !(a > 0.0 && c > 0.0 && det > product / 1_048_576.0 && alpha_min > 0.0) {
        return Reach::Anywhere;
    }
    let root = product.sqrt();
    let kappa = (root + b.abs()) / (root - b.abs());
    let limit = ln(opacity.value() / alpha_min);
    let widened = limit * (1.0 + S::SLACK * kappa) + S::SLACK;
    if widened < 0.0 {
        return Reach::Nowhere;
    }
    if !widened.is_finite() {
        return Reach::Anywhere;
    }
    // 2^-20 of slack covers the roundings of these lines.
    let grow = 1.0 + 1.0 / 1_048_576.0;
    Reach::Within((2.0 * widened * c / det).sqrt() * grow, (2.0 * widened * a / det).sqrt() * grow)
}

/// The reach of every Gaussian: it depends on no tile, so it is computed once.
pub(crate) fn reaches<S: Scalar>(view: &RasterView<'_, S>) -> Vec<Reach> {
    let (splats, alpha_min) = (view.splats, view.convention.alpha_min);
    splats
        .conics
        .par_iter()
        .zip(&splats.opacities)
        .map(|(&conic, &opacity)| reach(conic, opacity, alpha_min))
        .collect()
}

/// The integers i with |i + offset - center| <= half, cut to `from..to`.
pub(crate) fn span(
    center: f64,
    half: f64,
    offset: f64,
    from: usize,
    to: usize,
) -> std::ops::Range<usize> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float to integer casts saturate, and the result is cut to the range"
    )]
    let whole = |x: f64| x as usize;
    let low = whole((center - half - offset).floor());
    let high = whole((center + half - offset).ceil().max(-1.0) + 1.0);
    low.clamp(from, to)..high.clamp(from, to)
}
