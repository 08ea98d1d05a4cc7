//! The gradient of a camera's matrix.
//!
//! Harmonics are seen from the camera's position p, of which there are two spellings. With M = [R t; 0 1]:
//! - p = -R^T t. The gradient v by the direction, which is that by -p, gives t v^T to R and R v to t.
//! - p is the last column of P = M^-1, as `torch.inverse(viewmats)[..., :3, 3]` in gsplat's `rasterization`. Of a
//!   gradient G by P the one by M is -P^T G P^T (Giles, *An extended collection of matrix derivative results*, 2008,
//!   section 2.2.3): R v p^T to R, R v to t, and (p . v) [p^T 1] to the last row.
//!
//! Both are right: they differ by what changes M off the rigid motions, where only one of them says what p is.

use crate::arithmetic::sum::ElementBound;
use crate::arithmetic::{Bounded, Model, Scalar};
use crate::splat::backward::project::Row;
use crate::splat::project::CameraParams;

/// The matrix's gradient.
type Viewmat<M> = [[Bounded<M>; 4]; 4];

/// A sum over the Gaussians in front of the camera, in any order, by either spelling of its position.
pub(super) fn viewmat<M: Model>(
    lens: &CameraParams<Bounded<M>>,
    rows: &[Row<Bounded<M>>],
    terms: u64,
) -> Viewmat<M> {
    let transposed = by_transpose(rows, terms);
    let is_seen = |row: &Row<Bounded<M>>| row.direction.iter().any(|x| x.magnitude() > 0.0);
    if !rows.iter().any(is_seen) {
        return transposed;
    }
    let inverted = by_inverse(lens, rows, terms);
    std::array::from_fn(|i| std::array::from_fn(|k| transposed[i][k].or(inverted[i][k])))
}

fn by_transpose<M: Model>(rows: &[Row<Bounded<M>>], terms: u64) -> Viewmat<M> {
    let mut sums = [[ElementBound::default(); 4]; 4];
    for row in rows {
        for (i, sums) in sums.iter_mut().enumerate().take(3) {
            let gradient = row.rotation[i].iter().chain([&row.translation[i]]);
            sums.iter_mut().zip(gradient).for_each(|(sum, &term)| sum.add(term));
        }
    }
    let mut v_viewmat = [[Bounded::from_f64(0.0); 4]; 4];
    for (i, sum) in sums.as_flattened_mut().iter_mut().enumerate().take(12) {
        sum.finish(terms);
        v_viewmat[i / 4][i % 4] = sum.in_any_order(terms);
    }
    v_viewmat
}

/// Roundings of an entry of an inverse by elimination with partial pivoting, in parts of |P| |L| |U| |P| (Higham,
/// *Accuracy and Stability of Numerical Algorithms*, 14.3): 3 n of them. For n = 4 and a rotation, whose columns have
/// length 1, no entry of L is above 1, none of U above 4, and the product is at most 18 times 1 + |t|.
const OF_INVERSE: f64 = 12.0 * 18.0;

/// Products and sums of four numbers each, for two products of matrices.
const OF_PRODUCTS: u64 = 16;

fn by_inverse<M: Model>(
    lens: &CameraParams<Bounded<M>>,
    rows: &[Row<Bounded<M>>],
    terms: u64,
) -> Viewmat<M> {
    let one = Bounded::from_f64(1.0);
    let size: f64 = 1.0 + lens.translation.iter().map(|t| t.magnitude()).sum::<f64>();
    let off = OF_INVERSE * f64::from(f32::EPSILON) / 2.0 * size;
    let inverse = |x: Bounded<M>| Bounded::new(x.value(), x.radius() + off);
    let p = lens.eye().position.map(inverse);
    let p = [p[0], p[1], p[2], one];
    let mut sums = [[ElementBound::default(); 4]; 4];
    for row in rows {
        let v = row.direction;
        for (i, sums) in sums.iter_mut().enumerate().take(3) {
            let turned = lens.rotation[i].map(inverse);
            for (k, sum) in sums.iter_mut().enumerate() {
                // What the other spelling has in its place.
                let (all, other) = match k {
                    3 => {
                        let r = lens.rotation[i];
                        (row.translation[i], r[0] * v[0] + r[1] * v[1] + r[2] * v[2])
                    }
                    k => (row.rotation[i][k], lens.translation[i] * v[k]),
                };
                sum.add(all - other);
                (0..3).for_each(|j| sum.add(turned[j] * v[j] * p[k]));
            }
        }
        for (k, sum) in sums[3].iter_mut().enumerate() {
            (0..3).for_each(|j| sum.add(p[j] * v[j] * p[k]));
        }
    }
    let count = 4 * terms + OF_PRODUCTS;
    sums.map(|row| {
        row.map(|mut sum| {
            sum.finish(count);
            sum.in_any_order(count)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::Cuda;
    use crate::splat::convention::Convention;
    use crate::splat::synthetic::frustum;

    /// The gradient by the inverse's last column, in f64: -P^T G P^T with G = [0 -v].
    fn expected(viewmat: &[[f64; 4]; 4], v: [f64; 3]) -> [[f64; 4]; 4] {
        let r = |i: usize, k: usize| viewmat[i][k];
        let p: [f64; 3] =
            std::array::from_fn(|k| -(0..3).map(|i| r(i, k) * viewmat[i][3]).sum::<f64>());
        let p = [p[0], p[1], p[2], 1.0];
        std::array::from_fn(|i| {
            let left: f64 = match i {
                3 => (0..3).map(|j| p[j] * v[j]).sum(),
                i => (0..3).map(|j| r(i, j) * v[j]).sum(),
            };
            p.map(|p| left * p)
        })
    }

    #[test]
    fn both_spellings_of_the_cameras_position_are_held() {
        let scene = frustum(3, 16, 16, 1);
        let camera = scene.cameras[0];
        let lens = CameraParams::new(&camera, [scene.width, scene.height], &Convention::inria());
        let lens = lens.map(|x: f32| Bounded::<Cuda>::from_f64(f64::from(x)));
        let v = [0.25, -0.5, 1.5];
        let row = Row { direction: v.map(Bounded::from_f64), ..Row::zero() };
        let t = lens.translation.map(|t| t.value());
        let rotation: [[_; 3]; 3] =
            std::array::from_fn(|i| std::array::from_fn(|k| Bounded::from_f64(t[i] * v[k])));
        let turned = lens.rotation.map(|r| (0..3).map(|j| r[j].value() * v[j]).sum::<f64>());
        let row = Row { rotation, translation: turned.map(Bounded::from_f64), ..row };
        let bounds = viewmat(&lens, &[row], 1);
        let matrix: [[f64; 4]; 4] = std::array::from_fn(|i| match i {
            3 => [0.0, 0.0, 0.0, 1.0],
            i => [
                lens.rotation[i][0].value(),
                lens.rotation[i][1].value(),
                lens.rotation[i][2].value(),
                t[i],
            ],
        });
        let inverted = expected(&matrix, v);
        for (i, k) in (0..4).flat_map(|i| (0..4).map(move |k| (i, k))) {
            let [low, high] = bounds[i][k].ends();
            let transposed = match (i, k) {
                (3, _) => 0.0,
                (i, 3) => turned[i],
                (i, k) => t[i] * v[k],
            };
            for right in [transposed, inverted[i][k]] {
                assert!(low <= right && right <= high, "{i}, {k}: {right} not in {low}..{high}");
            }
            // Nothing at all, where both are something.
            let least = transposed.abs().min(inverted[i][k].abs());
            let same_side = transposed * inverted[i][k] > 0.0;
            assert!(!same_side || least < 1e-3 || low > 0.0 || high < 0.0, "{i}, {k}: 0 is right");
        }
    }
}
