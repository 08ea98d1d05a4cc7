//! The harmonics as many programs write them: on the unit sphere x^2 + y^2 is 1 - z^2, so that the
//! functions of m = 0 and +-1 need no x^2 and y^2 (Sloan, Efficient Spherical Harmonic Evaluation, JCGT
//! 2013, appendix A2).

use super::{
    C2, C3, MAX_COEFFICIENTS, basis as homogeneous, basis_gradient as homogeneous_gradient,
};
use crate::arithmetic::Arith;
use crate::splat::linear::V3;

/// The basis functions at the unit vector `d`.
pub(crate) fn basis<A: Arith>([x, y, z]: V3<A>, coefficients: usize) -> [A; MAX_COEFFICIENTS] {
    let c = |value| x.like(value);
    let mut b = homogeneous([x, y, z], coefficients);
    let zz = z * z;
    if coefficients > 4 {
        b[6] = c(3.0 * C2[1]) * zz - c(C2[1]);
    }
    if coefficients > 9 {
        let [k0, k1, k2, k3, k4] = C3;
        // cos and sin of twice and of three times the azimuth, times powers of the sine of the polar
        // angle.
        let [c2, s2] = [x * x - y * y, c(2.0) * x * y];
        let [c3, s3] = [x * c2 - y * s2, x * s2 + y * c2];
        let first = c(-5.0 * k2) * zz + c(k2);
        b[9] = c(-k0) * s3;
        b[10] = (c(0.5 * k1) * z) * s2;
        b[11] = first * y;
        b[12] = z * (c(5.0 * k3) * zz - c(3.0 * k3));
        b[13] = first * x;
        b[14] = (c(k4) * z) * c2;
        b[15] = c(-k0) * c3;
    }
    b
}

/// The derivatives of these polynomials.
pub(crate) fn basis_gradient<A: Arith>(
    [x, y, z]: V3<A>,
    coefficients: usize,
) -> [V3<A>; MAX_COEFFICIENTS] {
    let c = |value| x.like(value);
    let zero = c(0.0);
    let mut g = homogeneous_gradient([x, y, z], coefficients);
    let zz = z * z;
    if coefficients > 4 {
        g[6] = [zero, zero, c(6.0 * C2[1]) * z];
    }
    if coefficients > 9 {
        let [_, _, k2, k3, _] = C3;
        let first = c(-5.0 * k2) * zz + c(k2);
        g[11] = [zero, first, c(-10.0 * k2) * (y * z)];
        g[12] = [zero, zero, c(15.0 * k3) * zz - c(3.0 * k3)];
        g[13] = [first, zero, c(-10.0 * k2) * (x * z)];
    }
    g
}
