//! Spherical harmonics as a stage of their own: the colour that each Gaussian shows in a direction, and its gradients
//! by the coefficients and by the direction.
//!
//! With d = v / |v| of a direction v, the colour is `sum_k` `basis_k(d)` `c_k` ([`super::sh`]); neither 1/2 is added
//! nor anything clamped, as in gsplat's `spherical_harmonics`. `v_c[k]` is `basis_k(d)` `v_color`, and `v_v` the
//! gradient by d taken through the normalization.

use super::backward::project::harmonics::harmonics_vjp;
use super::linear::V3;
use super::project::unit_vector;
use super::sh;
use crate::arithmetic::{EvaluationOrders, Scalar};

/// The colours `[N,3]` of coefficients `[N,K,3]` in directions `[N,3]`, which need not have length 1.
///
/// # Panics
/// Where the arrays are of different numbers of Gaussians.
#[must_use]
pub fn forward<S: Scalar>(
    directions: &[V3<S>],
    coefficients: &[S],
    spellings: EvaluationOrders,
) -> Vec<V3<S>> {
    let stride = stride(directions, coefficients);
    let rows = directions.iter().zip(coefficients.chunks_exact(stride));
    rows.map(|(&v, row)| sh::sum_again(row, unit_vector(v, spellings).0, spellings)).collect()
}

/// The gradients by the coefficients `[N,K,3]` and by the directions `[N,3]`, from those by the colours.
///
/// # Panics
/// As [`forward`].
#[must_use]
pub fn backward<S: Scalar>(
    directions: &[V3<S>],
    coefficients: &[S],
    v_colors: &[V3<S>],
    spellings: EvaluationOrders,
) -> (Vec<S>, Vec<V3<S>>) {
    let stride = stride(directions, coefficients);
    let mut v_coefficients = vec![S::from_f64(0.0); coefficients.len()];
    let rows = coefficients.chunks_exact(stride).zip(v_coefficients.chunks_exact_mut(stride));
    let v_directions = directions.iter().zip(v_colors).zip(rows);
    let v_directions = v_directions
        .map(|((&v, &v_color), (row, v_row))| {
            let unit = unit_vector(v, spellings);
            harmonics_vjp(row, unit, v_color, v_row, spellings)
        })
        .collect();
    (v_coefficients, v_directions)
}

/// Numbers of a Gaussian's coefficients.
fn stride<S: Scalar>(directions: &[V3<S>], coefficients: &[S]) -> usize {
    let stride = coefficients.len() / directions.len().max(1);
    assert_eq!(stride * directions.len(), coefficients.len(), "a row for each direction");
    stride.max(1)
}

/// Directions in another number.
#[must_use]
pub fn lifted<S: Scalar>(directions: &[[f32; 3]]) -> Vec<V3<S>> {
    directions.iter().map(|v| v.map(S::from_f32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::{Bounded, Cuda, Dual};
    use approx::assert_relative_eq;

    const DIRECTIONS: [[f32; 3]; 3] = [[0.5, -1.25, 2.0], [-3.0, 0.25, 0.5], [0.0, 0.0, -2.0]];

    fn coefficients(count: usize) -> Vec<f32> {
        (0..DIRECTIONS.len() * count * 3).map(|i| ((i * 37 % 23) as f32 - 11.0) / 8.0).collect()
    }

    fn f64s(all: &[f32]) -> Vec<f64> {
        all.iter().map(|&x| f64::from(x)).collect()
    }

    /// Each gradient is the derivative of the loss, the sum of all colours times their gradients.
    #[test]
    fn the_gradients_are_derivatives() {
        for count in [1, 4, 9, 16] {
            let all = coefficients(count);
            let v_colors: Vec<V3<f64>> =
                vec![[1.0, -0.5, 0.25], [0.75, 2.0, -1.0], [0.5, 0.5, 1.5]];
            let (v_coefficients, v_directions) = backward(
                &lifted::<f64>(&DIRECTIONS),
                &f64s(&all),
                &v_colors,
                EvaluationOrders::WRITTEN,
            );
            let loss = |directions: &[V3<Dual<1>>], coefficients: &[Dual<1>]| {
                let colors = forward(directions, coefficients, EvaluationOrders::WRITTEN);
                let terms = colors.iter().zip(&v_colors).flat_map(|(color, v)| {
                    color.iter().zip(v).map(|(&x, &v)| x * Dual::from_f64(v))
                });
                terms.fold(Dual::from_f64(0.0), |sum, term| sum + term)
            };
            let duals = |all: &[f32], wrt: Option<usize>| -> Vec<Dual<1>> {
                let one = |(at, &x): (usize, &f32)| match wrt == Some(at) {
                    true => Dual::variable(x.into(), 0),
                    false => Dual::from_f32(x),
                };
                all.iter().enumerate().map(one).collect()
            };
            let flat = DIRECTIONS.as_flattened();
            let triples = |all: Vec<Dual<1>>| all.as_chunks::<3>().0.to_vec();
            // Some hundred roundings of f64, of 2^-53 each, of terms that cancel little.
            let close = |found: f64, dual: Dual<1>| {
                let [expected] = dual.slopes();
                assert_relative_eq!(found, expected, max_relative = 1e-12, epsilon = 1e-12);
            };
            for (at, &found) in v_coefficients.iter().enumerate() {
                close(found, loss(&triples(duals(flat, None)), &duals(&all, Some(at))));
            }
            for (at, &found) in v_directions.as_flattened().iter().enumerate() {
                close(found, loss(&triples(duals(flat, Some(at))), &duals(&all, None)));
            }
        }
    }

    #[test]
    fn a_right_kernel_in_f32_lies_within_the_bounds() {
        let (count, all) = (16, coefficients(16));
        let bounds = forward::<Bounded<Cuda>>(
            &lifted(&DIRECTIONS),
            &all.iter().map(|&x| Bounded::from_f32(x)).collect::<Vec<_>>(),
            EvaluationOrders::STANDARD,
        );
        let single = forward::<f32>(&lifted(&DIRECTIONS), &all, EvaluationOrders::WRITTEN);
        for (bound, x) in bounds.iter().flatten().zip(single.iter().flatten()) {
            let error = (bound.value() - f64::from(*x)).abs();
            assert!(error <= bound.radius(), "{error} is above {}", bound.radius());
            assert!(bound.radius() < 1e-4, "the bound is sharp: {} of {count}", bound.radius());
        }
    }
}
