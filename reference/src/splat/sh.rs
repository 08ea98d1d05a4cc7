//! View-dependent colour: real spherical harmonics of degree 0 to 3.
//!
//! color = max(0, `sum_k` `basis_k(d)` `sh_k` + 0.5) with d the unit vector from the camera to the
//! Gaussian. The basis is the orthonormal real one with the Condon-Shortley phase, in the order
//! l = 0..3, m = -l..l; its constants are sqrt of rational multiples of 1/pi (Sloan, Efficient
//! Spherical Harmonic Evaluation, JCGT 2013, appendix A2).

pub(crate) mod spelled;

use crate::arithmetic::{Arith, EvaluationOrders, Scalar, rounded};
use crate::splat::linear::{V3, each};

/// Most coefficients per channel: degree 3.
pub const MAX_COEFFICIENTS: usize = 16;

/// sqrt(1/(4 pi))
const C0: f64 = 0.282_094_791_773_878_14;
/// sqrt(3/(4 pi))
const C1: f64 = 0.488_602_511_902_919_9;
/// sqrt(15/(4 pi)), sqrt(5/(16 pi)), sqrt(15/(16 pi))
const C2: [f64; 3] = [1.092_548_430_592_079_2, 0.315_391_565_252_520_05, 0.546_274_215_296_039_6];
/// sqrt(35/(32 pi)), sqrt(105/(4 pi)), sqrt(21/(32 pi)), sqrt(7/(16 pi)), sqrt(105/(16 pi))
const C3: [f64; 5] = [
    0.590_043_589_926_643_5,
    2.890_611_442_640_554,
    0.457_045_799_464_465_8,
    0.373_176_332_590_115_4,
    1.445_305_721_320_277,
];

/// The basis functions at the unit vector `d`, as many as `coefficients` (1, 4, 9 or 16).
#[must_use]
#[inline(always)]
pub fn basis<A: Arith>([x, y, z]: V3<A>, coefficients: usize) -> [A; MAX_COEFFICIENTS] {
    let c = |value| x.like(value);
    let mut b = [c(0.0); MAX_COEFFICIENTS];
    b[0] = c(C0);
    if coefficients > 1 {
        b[1] = c(-C1) * y;
        b[2] = c(C1) * z;
        b[3] = c(-C1) * x;
    }
    if coefficients > 4 {
        b[4] = c(C2[0]) * (x * y);
        b[5] = c(-C2[0]) * (y * z);
        b[6] = c(C2[1]) * (c(2.0) * (z * z) - x * x - y * y);
        b[7] = c(-C2[0]) * (x * z);
        b[8] = c(C2[2]) * (x * x - y * y);
    }
    if coefficients > 9 {
        let (xx, yy, zz) = (x * x, y * y, z * z);
        b[9] = c(-C3[0]) * y * (c(3.0) * xx - yy);
        b[10] = c(C3[1]) * (x * y) * z;
        b[11] = c(-C3[2]) * y * (c(4.0) * zz - xx - yy);
        b[12] = c(C3[3]) * z * (c(2.0) * zz - c(3.0) * xx - c(3.0) * yy);
        b[13] = c(-C3[2]) * x * (c(4.0) * zz - xx - yy);
        b[14] = c(C3[4]) * z * (xx - yy);
        b[15] = c(-C3[0]) * x * (xx - c(3.0) * yy);
    }
    b
}

/// d `basis_k` / d(x, y, z) of the polynomials in [`basis`].
#[must_use]
#[inline(always)]
pub(crate) fn basis_gradient<A: Arith>(
    [x, y, z]: V3<A>,
    coefficients: usize,
) -> [V3<A>; MAX_COEFFICIENTS] {
    let c = |value| x.like(value);
    let zero = c(0.0);
    let mut g = [[zero; 3]; MAX_COEFFICIENTS];
    if coefficients > 1 {
        g[1] = [zero, c(-C1), zero];
        g[2] = [zero, zero, c(C1)];
        g[3] = [c(-C1), zero, zero];
    }
    if coefficients > 4 {
        let [k0, k1, k2] = C2;
        g[4] = [c(k0) * y, c(k0) * x, zero];
        g[5] = [zero, c(-k0) * z, c(-k0) * y];
        g[6] = [c(-2.0 * k1) * x, c(-2.0 * k1) * y, c(4.0 * k1) * z];
        g[7] = [c(-k0) * z, zero, c(-k0) * x];
        g[8] = [c(2.0 * k2) * x, c(-2.0 * k2) * y, zero];
    }
    if coefficients > 9 {
        let [k0, k1, k2, k3, k4] = C3;
        let (xx, yy, zz) = (x * x, y * y, z * z);
        let (xy, yz, xz) = (x * y, y * z, x * z);
        g[9] = [c(-6.0 * k0) * xy, c(-3.0 * k0) * (xx - yy), zero];
        g[10] = [c(k1) * yz, c(k1) * xz, c(k1) * xy];
        g[11] = [c(2.0 * k2) * xy, c(-k2) * (c(4.0) * zz - xx - c(3.0) * yy), c(-8.0 * k2) * yz];
        g[12] = [
            c(-6.0 * k3) * xz,
            c(-6.0 * k3) * yz,
            c(k3) * (c(6.0) * zz - c(3.0) * xx - c(3.0) * yy),
        ];
        g[13] = [c(-k2) * (c(4.0) * zz - c(3.0) * xx - yy), c(2.0 * k2) * xy, c(-8.0 * k2) * xz];
        g[14] = [c(2.0 * k4) * xz, c(-2.0 * k4) * yz, c(k4) * (xx - yy)];
        g[15] = [c(-3.0 * k0) * (xx - yy), c(6.0 * k0) * xy, zero];
    }
    g
}

/// The colour before the clamp, for coefficients `sh` `[K,3]` in direction `d`.
#[must_use]
pub fn unclamped<S: Scalar>(sh: &[S], d: V3<S>) -> V3<S> {
    unclamped_again(sh, d, EvaluationOrders::WRITTEN)
}

/// The same as other programs spell it: a sum of up to 16 products and 1/2, in any order.
#[inline(always)]
pub(crate) fn unclamped_again<S: Scalar>(sh: &[S], d: V3<S>, spellings: EvaluationOrders) -> V3<S> {
    let (half, extra) = (S::from_f64(0.5), spellings.at(17, 0));
    each(sum_again(sh, d, spellings), |c| rounded!(c + half, extra, [half]))
}

/// The sum alone, as a part of one with 1/2.
#[inline(always)]
pub(crate) fn sum_again<S: Scalar>(sh: &[S], d: V3<S>, spellings: EvaluationOrders) -> V3<S> {
    let (b, extra) = (basis_again(d, sh.len() / 3, spellings), spellings.at(17, 0));
    let mut color = [S::from_f64(0.0); 3];
    for (row, &b) in sh.chunks_exact(3).zip(&b) {
        for (slot, &coefficient) in color.iter_mut().zip(row) {
            *slot = rounded!(*slot + b * coefficient, extra, [b * coefficient]);
        }
    }
    color
}

/// [`basis`] as other programs spell it, whichever polynomial of its degree a program
/// takes that is the same on the unit sphere: those differ by a multiple of |d|^2 - 1, which is the
/// roundings of d times no more than the terms here.
#[inline(always)]
pub(crate) fn basis_again<A: Arith>(
    d: V3<A>,
    coefficients: usize,
    spellings: EvaluationOrders,
) -> [A; MAX_COEFFICIENTS] {
    let mut b = basis(d, coefficients);
    if spellings.is_written() {
        return b;
    }
    // A polynomial's 6, and |d|^2: 3 of its sum, and of each factor a root, a reciprocal and a product.
    let extra = spellings.at(11, 6);
    // Each function is homogeneous, so that d times its gradient is its degree times it, term by term.
    let spread = gradient_spread(d, coefficients);
    for (b, spread) in b.iter_mut().zip(spread) {
        *b = rounded!(*b, extra, [*b, d[0] * spread[0], d[1] * spread[1], d[2] * spread[2]]);
    }
    b
}

/// The magnitudes of the terms of [`basis_gradient`].
pub(crate) fn gradient_spread<A: Arith>(
    [x, y, z]: V3<A>,
    coefficients: usize,
) -> [V3<A>; MAX_COEFFICIENTS] {
    let size = |x: A| x.spread([x]);
    let mut s = basis_gradient([x, y, z], coefficients).map(|row| row.map(size));
    if coefficients > 9 {
        // Where a derivative is a difference: its terms with one sign.
        let c = |value| x.like(value);
        let [k0, _, k2, k3, k4] = C3;
        let (xx, yy, zz) = (x * x, y * y, z * z);
        s[9][1] = x.spread([c(3.0 * k0) * xx, c(3.0 * k0) * yy]);
        s[11][1] = x.spread([c(4.0 * k2) * zz, c(k2) * xx, c(3.0 * k2) * yy]);
        s[12][2] = x.spread([c(6.0 * k3) * zz, c(3.0 * k3) * xx, c(3.0 * k3) * yy]);
        s[13][0] = x.spread([c(4.0 * k2) * zz, c(3.0 * k2) * xx, c(k2) * yy]);
        s[14][2] = x.spread([c(k4) * xx, c(k4) * yy]);
        s[15][0] = s[9][1];
    }
    s
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::{Bounded, Ieee};
    use crate::splat::tests::roundoff;
    use approx::assert_abs_diff_eq;

    /// Gauss-Legendre nodes and weights for n = 4: exact for polynomials of degree 7 (Abramowitz and
    /// Stegun, table 25.4).
    const LEGENDRE: [(f64, f64); 4] = [
        (-0.861_136_311_594_052_6, 0.347_854_845_137_453_9),
        (-0.339_981_043_584_856_26, 0.652_145_154_862_546_2),
        (0.339_981_043_584_856_26, 0.652_145_154_862_546_2),
        (0.861_136_311_594_052_6, 0.347_854_845_137_453_9),
    ];
    /// Equally spaced azimuths: exact for trigonometric polynomials of degree 7.
    const AZIMUTHS: usize = 8;

    /// Points of the sphere with weights that integrate products of two basis functions (degree 6)
    /// exactly, up to rounding. Azimuths are turned from one another by 45 degrees, starting at
    /// (cos, sin) = (0.8, 0.6).
    fn sphere<S: Scalar>() -> Vec<(V3<S>, S)> {
        let mut points = Vec::new();
        let c = S::from_f64;
        let half = c(std::f64::consts::FRAC_1_SQRT_2);
        let turn = c(2.0 * std::f64::consts::PI / AZIMUTHS as f64);
        for (z, weight) in LEGENDRE.map(|(z, weight)| (c(z), c(weight))) {
            let radius = (c(1.0) - z * z).sqrt();
            let (mut cos, mut sin) = (c(0.8), c(0.6));
            for _ in 0..AZIMUTHS {
                points.push(([radius * cos, radius * sin, z], weight * turn));
                (cos, sin) = (half * (cos - sin), half * (cos + sin));
            }
        }
        points
    }

    #[test]
    fn the_basis_is_orthonormal() {
        let points = sphere::<Bounded<Ieee>>();
        for i in 0..MAX_COEFFICIENTS {
            for j in 0..MAX_COEFFICIENTS {
                let mut product = Bounded::from_f64(0.0);
                for &(d, weight) in &points {
                    let b = basis(d, MAX_COEFFICIENTS);
                    product = product + weight * b[i] * b[j];
                }
                let expected = if i == j { 1.0 } else { 0.0 };
                // What f64 may round; a constant that is off in its tenth digit is far outside.
                let radius = roundoff::radii([product])[0];
                assert!(radius < 1e-10, "the bound for {i}, {j} is too wide to tell: {radius}");
                assert_abs_diff_eq!(product.value(), expected, epsilon = radius);
            }
        }
    }

    #[test]
    fn fewer_coefficients_are_a_prefix() {
        let d = [0.48, 0.6, 0.64];
        let all = basis(d, 16);
        for coefficients in [1, 4, 9] {
            let some = basis(d, coefficients);
            assert_eq!(some[..coefficients], all[..coefficients], "{coefficients} coefficients");
            assert!(
                some[coefficients..].iter().all(|&b| b == 0.0),
                "{coefficients}: the rest is 0"
            );
        }
    }
}
