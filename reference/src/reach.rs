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
//!
//! Numbers that carry an uncertainty ([`Scalar::uncertainty`]) widen the box. With radii `r_a`, `r_b`,
//! `r_c` of the conic, any sigma' that may occur satisfies |sigma' - sigma| <= (`r_a` dx^2 + `r_c` dy^2)/2 +
//! `r_b` |dx dy|. With 2 |dx dy| sqrt(ac) <= a dx^2 + c dy^2 =: Q this is at most `(max(r_a/a, r_c/c) +
//! r_b/sqrt(ac)) Q/2`, and sigma >= (1 - rho) Q/2, so sigma' >= (1 - eps) sigma with eps =
//! `(max(r_a/a, r_c/c) + r_b/sqrt(ac))/(1 - rho)`: the limit s of sigma' is a limit s/(1 - eps) of
//! sigma. The rounding of sigma' is relative to its own kappa'; with eps < 1/8 both Q'/Q and
//! (1 + rho')/(1 + rho) are below 9/8 and sigma'/sigma above 7/8, so kappa' < 2 kappa, and the slack
//! counts twice. The opacity counts with its largest value, and the box around the mean grows by the
//! mean's own radius.

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
fn reach<S: Scalar>(mean2d: [S; 2], conic: [S; 3], opacity: S, alpha_min: f64) -> Reach {
    let [a, b, c] = conic.map(S::value);
    let [ra, rb, rc] = conic.map(S::uncertainty);
    let (product, det) = (a * c, a * c - b * b);
    // With det > 2^-20 ac the rounding of det in f64 stays below 2^-31 of it.
    if !(a > 0.0 && c > 0.0 && det > product / 1_048_576.0 && alpha_min > 0.0) {
        return Reach::Anywhere;
    }
    let root = product.sqrt();
    let kappa = (root + b.abs()) / (root - b.abs());
    let limit = ln((opacity.value() + opacity.uncertainty()) / alpha_min);
    let eps = ((ra / a).max(rc / c) + rb / root) * root / (root - b.abs());
    if !(eps < 0.125) {
        return Reach::Anywhere;
    }
    let widened = (limit * (1.0 + 2.0 * S::SLACK * kappa) + S::SLACK) / (1.0 - eps);
    if widened < 0.0 {
        return Reach::Nowhere;
    }
    if !widened.is_finite() {
        return Reach::Anywhere;
    }
    // 2^-20 of slack covers the roundings of these lines.
    let grow = 1.0 + 1.0 / 1_048_576.0;
    let [rx, ry] = mean2d.map(S::uncertainty);
    let [x, y] = [c, a].map(|other| (2.0 * widened * other / det).sqrt());
    Reach::Within((x + rx) * grow, (y + ry) * grow)
}

/// The reach of every Gaussian: it depends on no tile, so it is computed once.
pub(crate) fn reaches<S: Scalar>(view: &RasterView<'_, S>) -> Vec<Reach> {
    let (splats, alpha_min) = (view.splats, view.convention.alpha_min);
    (&splats.means2d, &splats.conics, &splats.opacities)
        .into_par_iter()
        .map(|(&mean, &conic, &opacity)| reach(mean, conic, opacity, alpha_min))
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
