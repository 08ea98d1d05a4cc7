//! One (pixel, Gaussian) pair: the formulas that forward and backward rasterization share, once
//! for every scalar. The WGSL and CUDA kernels spell the same expressions with the same grouping,
//! because the bounds are bounds of these expressions.
//!
//! Source: Kerbl et al. 2023, section 4 (alpha blending of projected Gaussians), equations (2), (3).

use crate::arithmetic::{Arith, ExtraRoundings, Roundings, rounded};

/// Half the squared Mahalanobis distance: `0.5 (a dx^2 + c dy^2) + b dx dy` for the conic
/// (a, b, c), 1/pixels^2, and the offset (dx, dy) = mean2d - sample point, pixels.
#[inline(always)]
pub fn sigma<A: Arith>(conic: [A; 3], dx: A, dy: A) -> A {
    sigma_along(&AlongX::new(conic, dx), &AlongY::new(conic, dy))
}

/// What [`sigma`] needs of dx alone: the same for a column of pixels.
#[derive(Clone, Copy)]
pub(crate) struct AlongX<A> {
    dx: A,
    /// a dx
    own: A,
    /// a dx^2
    square: A,
    /// b dx
    cross: A,
}

/// What [`sigma`] needs of dy alone: the same for a row of pixels.
#[derive(Clone, Copy)]
pub(crate) struct AlongY<A> {
    dy: A,
    /// c dy
    own: A,
    /// c dy^2
    square: A,
}

impl<A: Arith> AlongX<A> {
    #[inline(always)]
    pub(crate) fn new([a, b, _]: [A; 3], dx: A) -> Self {
        let own = a * dx;
        Self { dx, own, square: own * dx, cross: b * dx }
    }
}

impl<A: Arith> AlongY<A> {
    #[inline(always)]
    pub(crate) fn new([_, _, c]: [A; 3], dy: A) -> Self {
        let own = c * dy;
        Self { dy, own, square: own * dy }
    }
}

/// [`sigma`] where a column and a row of pixels meet.
#[inline(always)]
pub(crate) fn sigma_along<A: Arith>(x: &AlongX<A>, y: &AlongY<A>) -> A {
    x.cross.mul_add(y.dy, x.dx.like(0.5) * (x.square + y.square))
}

/// [`sigma_terms`] where a column and a row of pixels meet.
#[inline(always)]
pub(crate) fn sigma_terms_along<A: Arith>(x: &AlongX<A>, y: &AlongY<A>) -> [A; 3] {
    let half = x.dx.like(0.5);
    [half * x.square, half * y.square, x.cross * y.dy]
}

/// What [`alpha_vjp`] needs of dx alone.
#[derive(Clone, Copy)]
pub(crate) struct SlopeX<A> {
    dx: A,
    /// a dx
    own: A,
    /// b dx
    cross: A,
    /// dx^2
    square: A,
}

/// What [`alpha_vjp`] needs of dy alone.
#[derive(Clone, Copy)]
pub(crate) struct SlopeY<A> {
    dy: A,
    /// c dy
    own: A,
    /// b dy
    cross: A,
    /// dy^2
    square: A,
}

impl<A: Arith> SlopeX<A> {
    #[inline(always)]
    fn new([a, b, _]: [A; 3], dx: A) -> Self {
        Self { dx, own: a * dx, cross: b * dx, square: dx * dx }
    }

    /// The same where sigma is known.
    #[inline(always)]
    pub(crate) fn beside(x: &AlongX<A>) -> Self {
        Self { dx: x.dx, own: x.own, cross: x.cross, square: x.dx * x.dx }
    }
}

impl<A: Arith> SlopeY<A> {
    #[inline(always)]
    fn new([_, b, c]: [A; 3], dy: A) -> Self {
        Self { dy, own: c * dy, cross: b * dy, square: dy * dy }
    }

    /// The same where sigma is known.
    #[inline(always)]
    pub(crate) fn beside([_, b, _]: [A; 3], y: &AlongY<A>) -> Self {
        Self { dy: y.dy, own: y.own, cross: b * y.dy, square: y.dy * y.dy }
    }
}

/// The terms of [`sigma`].
#[inline(always)]
pub fn sigma_terms<A: Arith>(conic: [A; 3], dx: A, dy: A) -> [A; 3] {
    sigma_terms_along(&AlongX::new(conic, dx), &AlongY::new(conic, dy))
}

/// What a pair passes back to its Gaussian, the colour excepted.
#[derive(Clone, Copy, Debug)]
pub struct PairGradient<A> {
    /// Gradient of the projected mean, per pixel.
    pub mean2d: [A; 2],
    /// Gradient of the conic (a, b, c), with the full off-diagonal.
    pub conic: [A; 3],
    /// Gradient of the opacity.
    pub opacity: A,
}

impl<A: Copy> PairGradient<A> {
    /// The six numbers in the order in which they are accumulated.
    #[inline(always)]
    pub fn to_array(self) -> [A; 6] {
        let [mx, my] = self.mean2d;
        let [a, b, c] = self.conic;
        [mx, my, a, b, c, self.opacity]
    }
}

/// The vector-Jacobian product of `alpha = opacity exp(-sigma)` (the clamp apart).
///
/// d alpha/d opacity = gauss, d alpha/d sigma = -opacity gauss, and sigma's derivatives follow from
/// its definition: d sigma/d mx = a dx + b dy, d sigma/d a = dx^2/2, d sigma/d b = dx dy.
///
/// Intermediates with `extra` roundings: `v_power`, and the six results.
#[inline(always)]
pub fn alpha_vjp<A: Arith>(
    conic: [A; 3],
    [dx, dy]: [A; 2],
    opacity: A,
    gauss: A,
    v_alpha: A,
    extra: ExtraRoundings,
) -> PairGradient<A> {
    let slopes = (&SlopeX::new(conic, dx), &SlopeY::new(conic, dy));
    alpha_vjp_along(slopes, [opacity, gauss, v_alpha], extra)
}

/// [`alpha_vjp`] where a column and a row of pixels meet, of `[opacity, gauss, v_alpha]`.
#[inline(always)]
pub(crate) fn alpha_vjp_along<A: Arith>(
    (x, y): (&SlopeX<A>, &SlopeY<A>),
    [opacity, gauss, v_alpha]: [A; 3],
    extra: ExtraRoundings,
) -> PairGradient<A> {
    let [mx, my, a, b, c, v_opacity] = alpha_vjp_factors((x, y), [opacity, gauss, v_alpha], extra);
    let minus = mx[0];
    PairGradient {
        mean2d: [
            rounded!(mx[0] * mx[1], extra, [minus * x.own, minus * y.cross]),
            rounded!(my[0] * my[1], extra, [minus * x.cross, minus * y.own]),
        ],
        conic: [
            one_term(a[0] * a[1], extra),
            one_term(b[0] * b[1], extra),
            one_term(c[0] * c[1], extra),
        ],
        opacity: one_term(v_opacity[0] * v_opacity[1], extra),
    }
}

/// The six numbers of [`alpha_vjp`] before their own roundings, each as the two factors of a product: a sum of
/// them is rounded once a term.
#[inline(always)]
pub(crate) fn alpha_vjp_factors<A: Arith>(
    (x, y): (&SlopeX<A>, &SlopeY<A>),
    [opacity, gauss, v_alpha]: [A; 3],
    extra: ExtraRoundings,
) -> [[A; 2]; 6] {
    let v_power = one_term((opacity * gauss) * v_alpha, extra);
    let (minus, minus_half) = (-v_power, v_power.like(-0.5) * v_power);
    [
        [minus, x.own + y.cross],
        [minus, x.cross + y.own],
        [minus_half, x.square],
        [minus, x.dx * y.dy],
        [minus_half, y.square],
        [gauss, v_alpha],
    ]
}

/// An intermediate that is one product.
#[inline(always)]
pub(crate) fn one_term<A: Arith>(product: A, extra: impl Into<Roundings>) -> A {
    rounded!(product, extra, [product])
}

/// The vector-Jacobian product of blending one Gaussian over what lies `behind` it.
///
/// With transmittance `t` in front of the Gaussian and the colour `behind` that would be seen
/// through it, C = ... + t (alpha color + (1 - alpha) behind), so dC/d alpha = (color - behind) t
/// and dC/d color = alpha t. Slices are `[D]`. Writes the gradient of the colour to `v_color`,
/// replaces `behind` by what is seen with this Gaussian in front of it, and returns the gradient of
/// alpha without the background's part.
///
/// Intermediates with `extra` roundings: the gradient of the colour, alpha's, of which each channel
/// adds two terms, and `behind`, which some programs blend as behind + alpha (color - behind).
#[inline(always)]
pub fn blend_vjp<A: Arith>(
    alpha: A,
    t: A,
    color: &[A],
    v_pixel: &[A],
    behind: &mut [A],
    v_color: &mut [A],
    extra: ExtraRoundings,
) -> A {
    let weight = one_term(alpha * t, extra);
    let one_minus = alpha.like(1.0) - alpha;
    let mut v_alpha = alpha.like(0.0);
    for (((&color, &v), behind), v_color) in color.iter().zip(v_pixel).zip(behind).zip(v_color) {
        *v_color = one_term(weight * v, extra);
        v_alpha = ((color - *behind) * t).mul_add(v, v_alpha);
        v_alpha = rounded!(v_alpha, extra, [(color * t) * v, (*behind * t) * v]);
        let blended = alpha.mul_add(color, one_minus * *behind);
        let before = *behind;
        *behind = rounded!(blended, extra, [alpha * color, before, alpha * before]);
    }
    v_alpha
}

/// `background . v_pixel`: the gradient of the transmittance that reaches the background, as far as
/// the colours go. With final transmittance T the image holds `T background` and the opacity `1 - T`,
/// so the whole gradient of T is this minus `v_render_alpha`. Slices are `[D]`; `zero` is 0. Each
/// channel is a term with `extra` roundings.
#[inline(always)]
pub fn background_vjp<A: Arith>(
    background: &[A],
    v_pixel: &[A],
    zero: A,
    extra: ExtraRoundings,
) -> A {
    let mut through = zero;
    for (&b, &v) in background.iter().zip(v_pixel) {
        through = rounded!(through + b * v, extra, [b * v]);
    }
    through
}
