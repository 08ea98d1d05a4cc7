//! 3-vectors and 3x3 matrices over any scalar; row-major.

use crate::arithmetic::{Arith, Roundings, rounded};

/// A vector.
pub(crate) type V3<A> = [A; 3];
/// A matrix, row-major.
pub(crate) type M3<A> = [[A; 3]; 3];

/// `f` of each component. The standard library's own `map` of an array is not inlined, and the call costs
/// more than the few operations.
#[inline(always)]
pub(crate) fn each<T: Copy, R, const N: usize>(v: [T; N], f: impl Fn(T) -> R) -> [R; N] {
    std::array::from_fn(
        #[inline(always)]
        |i| f(v[i]),
    )
}

/// a . b
#[inline(always)]
pub(crate) fn dot<A: Arith>(a: V3<A>, b: V3<A>) -> A {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// a . b, rounded so often besides.
#[inline(always)]
pub(crate) fn dot_again<A: Arith>(a: V3<A>, b: V3<A>, extra: Roundings) -> A {
    rounded!(dot(a, b), extra, [a[0] * b[0], a[1] * b[1], a[2] * b[2]])
}

/// M v
#[inline(always)]
pub(crate) fn mul_vec<A: Arith>(m: &M3<A>, v: V3<A>) -> V3<A> {
    [dot(m[0], v), dot(m[1], v), dot(m[2], v)]
}

/// M v, rounded so often besides.
#[inline(always)]
pub(crate) fn mul_vec_again<A: Arith>(m: &M3<A>, v: V3<A>, extra: Roundings) -> V3<A> {
    [dot_again(m[0], v, extra), dot_again(m[1], v, extra), dot_again(m[2], v, extra)]
}

/// M^T v
#[inline(always)]
pub(crate) fn transpose_mul_vec<A: Arith>(m: &M3<A>, v: V3<A>) -> V3<A> {
    mul_vec(&transpose(m), v)
}

/// M^T
#[inline(always)]
pub(crate) fn transpose<A: Copy>(m: &M3<A>) -> M3<A> {
    let column = |i: usize| [m[0][i], m[1][i], m[2][i]];
    [column(0), column(1), column(2)]
}

/// R M for R with any number of rows.
#[inline(always)]
pub(crate) fn rows_mul<A: Arith, const R: usize>(rows: &[V3<A>; R], m: &M3<A>) -> [V3<A>; R] {
    let columns = transpose(m);
    std::array::from_fn(|i| mul_vec(&columns, rows[i]))
}

/// a + b
#[inline(always)]
pub(crate) fn add<A: Arith>(a: V3<A>, b: V3<A>) -> V3<A> {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// s v
#[inline(always)]
pub(crate) fn scale<A: Arith>(s: A, v: V3<A>) -> V3<A> {
    [s * v[0], s * v[1], s * v[2]]
}

/// The gradient of v where only n = v/|v| is used: (g - n (n . g))/|v|. Where g is rounded besides,
/// `spread` are the magnitudes of its terms.
#[inline(always)]
pub(crate) fn normalize_vjp<A: Arith, const N: usize>(
    n: [A; N],
    length: A,
    g: [A; N],
    (spread, extra): ([A; N], Roundings),
) -> [A; N] {
    let mut along = length.like(0.0);
    for (&n, &g) in n.iter().zip(&g) {
        along = along + n * g;
    }
    std::array::from_fn(|i| {
        let v = (g[i] - n[i] * along) / length;
        let v = rounded!(v, extra, [spread[i] / length]);
        rounded!(v, extra, std::array::from_fn::<_, N, _>(|j| n[i] * n[j] * spread[j] / length))
    })
}
