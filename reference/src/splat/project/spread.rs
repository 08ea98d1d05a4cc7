//! How large the terms are of which the projection's matrices are sums.
//!
//! The root of the covariance is J `R_w` M. A program that forms M M^T or `R_w` M M^T `R_w`^T first never
//! has J `R_w` or the root, and rounds the products of their terms instead. Where such a matrix is a
//! difference of large terms, those products are far larger than its own.

use super::lens::CameraParams;
use crate::arithmetic::Scalar;
use crate::splat::linear::{M3, V3};

/// The sums of the terms' magnitudes; zeros where no other spelling is held.
pub(crate) struct Spread<S> {
    /// Of J `R_w`.
    pub(crate) jacobian: [V3<S>; 2],
    /// Of J `R_w` R(q) diag(s).
    pub(crate) root: [V3<S>; 2],
}

impl<S: Scalar> Spread<S> {
    /// For the Jacobian J of the projection and `scaled` = R(q) diag(s).
    pub(crate) fn new(on_screen: &[V3<S>; 2], lens: &CameraParams<S>, scaled: &M3<S>) -> Self {
        let zero = [S::from_f64(0.0); 3];
        if lens.spellings.is_written() {
            return Self { jacobian: [zero; 2], root: [zero; 2] };
        }
        let jacobian = on_screen.map(|row| product(row, &lens.rotation));
        Self { jacobian, root: jacobian.map(|row| product(row, scaled)) }
    }
}

/// The magnitudes of what `row` M is a sum of.
pub(crate) fn product<S: Scalar>(row: V3<S>, m: &M3<S>) -> V3<S> {
    std::array::from_fn(|k| row[0].spread([row[0] * m[0][k], row[1] * m[1][k], row[2] * m[2][k]]))
}
