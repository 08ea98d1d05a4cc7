//! Backward of a sum of spherical harmonics: to its coefficients and to the direction of view.

use crate::arithmetic::{EvaluationOrders, Scalar};
use crate::splat::linear::{V3, add, dot, normalize_vjp, scale};
use crate::splat::pair::one_term;
use crate::splat::sh;

/// From the gradient of a sum of harmonics to those of its coefficients, which are written to `v_values`, and of the
/// vector along which its direction `d` lies, of so much length.
pub(crate) fn harmonics_vjp<S: Scalar>(
    values: &[S],
    (d, length): (V3<S>, S),
    v: V3<S>,
    v_values: &mut [S],
    spellings: EvaluationOrders,
) -> V3<S> {
    let coefficients = values.len() / 3;
    let basis = sh::basis_again(d, coefficients, spellings);
    let gradient = sh::basis_gradient(d, coefficients);
    let mut v_direction = [S::from_f64(0.0); 3];
    for (k, (sh, out)) in values.chunks_exact(3).zip(v_values.chunks_exact_mut(3)).enumerate() {
        for (out, &v) in out.iter_mut().zip(&v) {
            *out = one_term(basis[k] * v, spellings.at(1, 0));
        }
        let along = dot([sh[0], sh[1], sh[2]], v);
        v_direction = add(v_direction, scale(along, gradient[k]));
    }
    let spread = direction_spread(values, v, d, spellings);
    // A coefficient's 3 channels 3, a derivative 5, the additions to a square 7 and to an axis 17 uses, the
    // normalization 8.
    normalize_vjp(d, length, v_direction, (spread, spellings.at(40, 4)))
}

/// The magnitudes of the terms of the gradient by the direction of view: each coefficient times the
/// gradient of its channel's colour times each term of its function's derivative. They also are what the
/// derivatives of other polynomials differ by that are the same on the unit sphere: multiples of the
/// direction, which its length takes out again.
fn direction_spread<S: Scalar>(
    values: &[S],
    v: V3<S>,
    d: V3<S>,
    spellings: EvaluationOrders,
) -> V3<S> {
    let mut spread = [S::from_f64(0.0); 3];
    if spellings.is_written() {
        return spread;
    }
    let gradient = sh::gradient_spread(d, values.len() / 3);
    for (sh, gradient) in values.chunks_exact(3).zip(gradient) {
        let along = v[0].spread([sh[0] * v[0], sh[1] * v[1], sh[2] * v[2]]);
        spread = std::array::from_fn(|i| along.spread([spread[i], along * gradient[i]]));
    }
    spread
}
