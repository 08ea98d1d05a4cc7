//! How far a Gaussian can contribute: an ellipse outside which `alpha < alpha_min` for certain.
//!
//! Both conventions skip a pair with `alpha < alpha_min`, so leaving out pixels beyond the ellipse
//! changes no bit of any result.
//!
//! alpha >= `alpha_min` needs `sigma <= s` with s = `ln(opacity/alpha_min)`. The walk's own sigma
//! is rounded: its error is at most a few units roundoff of (a dx^2 + c dy^2)/2 + |b dx dy| <= kappa
//! sigma with kappa = (1 + rho)/(1 - rho), rho = |b|/sqrt(ac) (the maximum of the ratio over all
//! directions, attained where a dx^2 = c dy^2). So s is widened to s (1 + slack kappa) + slack,
//! slack being 16 units roundoff, which also covers exp, the product with the opacity and the
//! rounding of s.
//!
//! With det = ac - b^2 the ellipse sigma = s is a (dx + (b/a) dy)^2 + (det/a) dy^2 = 2s, hence
//! |dy| <= sqrt(2 s a/det), and in a row |dx + (b/a) dy| <= sqrt((2s - (det/a) dy^2)/a).
//!
//! Numbers that carry an uncertainty ([`Scalar::uncertainty`]) widen the ellipse. With radii `r_a`,
//! `r_b`, `r_c` of the conic, any sigma' that may occur satisfies |sigma' - sigma| <= (`r_a` dx^2 +
//! `r_c` dy^2)/2 + `r_b` |dx dy|. With 2 |dx dy| sqrt(ac) <= a dx^2 + c dy^2 =: Q this is at most
//! `(max(r_a/a, r_c/c) + r_b/sqrt(ac)) Q/2`, and sigma >= (1 - rho) Q/2, so sigma' >= (1 - eps) sigma
//! with eps = `(max(r_a/a, r_c/c) + r_b/sqrt(ac))/(1 - rho)`: the limit s of sigma' is a limit
//! s/(1 - eps) of sigma. The rounding of sigma' is relative to its own kappa'; with eps < 1/8 both
//! Q'/Q and (1 + rho')/(1 + rho) are below 9/8 and sigma'/sigma above 7/8, so kappa' < 2 kappa, and
//! the slack counts twice. The opacity counts with its largest value. The mean's own radii (rx, ry)
//! move the ellipse: the row at dy is one at some dy' with |dy' - dy| <= ry, cut at x + (b/a) dy'.

use crate::arithmetic::{Scalar, ln};
use crate::splat::view::RasterView;
use rayon::prelude::*;

/// Covers the roundings of this file, each at most 2^-31 of its result where det > 2^-20 ac.
const GROW: f64 = 1.0 + 1.0 / 1_048_576.0;

/// Everything that decides alpha, of one Gaussian, side by side in memory.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Footprint<S> {
    pub(crate) mean2d: [S; 2],
    pub(crate) conic: [S; 3],
    pub(crate) opacity: S,
    /// 2s, widened; infinite where the conic is not safely positive definite.
    limit: f64,
    /// Largest |dy|, pixels; negative infinity where nothing can be reached.
    half_height: f64,
}

/// 2s and the largest |dy| of a Gaussian with this conic and opacity.
fn reach<S: Scalar>(conic: [S; 3], opacity: S, alpha_min: f64) -> (f64, f64) {
    let anywhere = (f64::INFINITY, f64::INFINITY);
    let [a, b, c] = conic.map(S::value);
    let [ra, rb, rc] = conic.map(S::uncertainty);
    let (product, det) = (a * c, a * c - b * b);
    // With det > 2^-20 ac the rounding of det in f64 stays below 2^-31 of it.
    if !(a > 0.0 && c > 0.0 && det > product / 1_048_576.0 && alpha_min > 0.0) {
        return anywhere;
    }
    let root = product.sqrt();
    let kappa = (root + b.abs()) / (root - b.abs());
    let s = ln((opacity.value() + opacity.uncertainty()) / alpha_min);
    let eps = ((ra / a).max(rc / c) + rb / root) * root / (root - b.abs());
    if !(eps < 0.125) {
        return anywhere;
    }
    let widened = (s * (1.0 + 2.0 * S::SLACK * kappa) + S::SLACK) / (1.0 - eps);
    if widened < 0.0 {
        return (0.0, f64::NEG_INFINITY);
    }
    let limit = 2.0 * widened * GROW;
    let half_height = (limit * a / det).sqrt() * GROW;
    let finite = half_height.is_finite() && (limit / a).is_finite() && (c / (a * a)).is_finite();
    if finite { (limit, half_height) } else { anywhere }
}

impl<S: Scalar> Footprint<S> {
    pub(crate) fn new(view: &RasterView<'_, S>, id: usize) -> Self {
        let splats = view.splats;
        let (conic, opacity) = (splats.conics[id], splats.opacities[id]);
        let (limit, half_height) = reach(conic, opacity, view.convention.alpha_min);
        Self { mean2d: splats.means2d[id], conic, opacity, limit, half_height }
    }

    /// First and last y that may be reached, pixels.
    #[inline(always)]
    pub(crate) fn rows(&self) -> [f64; 2] {
        let y = self.mean2d[1].value();
        let half = self.half_height + self.mean2d[1].uncertainty();
        if half < f64::INFINITY {
            widen([y - half, y + half])
        } else {
            [f64::NEG_INFINITY, f64::INFINITY]
        }
    }

    /// What [`Self::row`] needs of the ellipse.
    #[inline(always)]
    pub(crate) fn ellipse(&self) -> Ellipse {
        let [a, b, c] = self.conic.map(S::value);
        let [x, y] = self.mean2d.map(S::value);
        let [rx, ry] = self.mean2d.map(S::uncertainty);
        let skew = b / a;
        // (c - b^2/a)/a = det/a^2, with a relative error below 2^-31 as for det.
        let fall = (c - b * skew) / a;
        let slack = [rx + skew.abs() * ry, ry];
        Ellipse { center: [x, y], slack, skew, limit: self.limit / a, fall }
    }

    /// Whether the pixel with this sample point may be reached.
    pub(crate) fn reaches(&self, sample: [S; 2]) -> bool {
        let within = |[low, high]: [f64; 2], x: f64| low <= x && x <= high;
        let [x, y] = sample.map(S::value);
        within(self.rows(), y) && within(widen(self.ellipse().row(y)), x)
    }
}

/// The ellipse of a [`Footprint`] in the form in which a row of pixels cuts it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ellipse {
    center: [f64; 2],
    /// How far the centre may move the ends of a row, and the row.
    slack: [f64; 2],
    skew: f64,
    limit: f64,
    fall: f64,
}

impl Ellipse {
    /// First and last x that may be reached in the row at `y`, pixels, to be [widened](widen). Where the row
    /// misses the ellipse, some point near it, which is more than enough.
    #[inline(always)]
    pub(crate) fn row(&self, y: f64) -> [f64; 2] {
        let dy = self.center[1] - y;
        let near = dy.abs() - self.slack[1];
        let near = if near > 0.0 { near } else { 0.0 };
        let square = self.limit - self.fall * (near * near);
        // An unsafe conic has an infinite limit: anywhere.
        let half = if self.limit < f64::INFINITY {
            (if square > 0.0 { square } else { 0.0 }).sqrt() + self.slack[0]
        } else {
            f64::INFINITY
        };
        let x = self.center[0] + self.skew * dy;
        let x = if half < f64::INFINITY { x } else { 0.0 };
        [x - half, x + half]
    }
}

/// Covers the rounding of an interval's ends.
#[inline(always)]
pub(crate) fn widen([low, high]: [f64; 2]) -> [f64; 2] {
    [low - (GROW - 1.0) * (1.0 + low.abs()), high + (GROW - 1.0) * (1.0 + high.abs())]
}

/// The footprint of every Gaussian: it depends on no tile, so it is computed once.
pub(crate) fn footprints<S: Scalar>(view: &RasterView<'_, S>) -> Vec<Footprint<S>> {
    (0..view.splats.opacities.len()).into_par_iter().map(|id| Footprint::new(view, id)).collect()
}
