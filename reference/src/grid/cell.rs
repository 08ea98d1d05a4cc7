//! The cell of a point on a level: its corners, their weights and the slopes of these.

use super::encoding::{Encoding, Interpolation, Lattice, PositionOffset, RightCorner, Skew};
use super::table::{Level, MOST_DIMENSIONS};
use crate::arithmetic::Scalar;
use std::array::from_fn;

/// The most corners of a cell: 2^4.
pub(super) const MOST_CORNERS: usize = 16;

/// (sqrt(d + 1) - 1) / d for d = 1 to 4, each the nearest f32.
const SKEWS: [f32; MOST_DIMENSIONS] = [0.414_213_57, 0.366_025_4, 0.333_333_34, 0.309_017];

/// The axes' numbers moved along the diagonal, where the encoding does so. As a matrix this is its own
/// transpose: it also takes gradients back to where the points were.
#[inline(always)]
pub(super) fn skewed<S: Scalar, const D: usize>(encoding: &Encoding, axes: [S; D]) -> [S; D] {
    match encoding.skew {
        Skew::None => axes,
        Skew::Simplex => {
            let sum = axes[1..].iter().fold(axes[0], |sum, &x| sum + x);
            let along = S::from_f32(SKEWS[D - 1]) * sum;
            axes.map(|x| x + along)
        }
    }
}

/// Where a position lies on a level: scale times position plus the offset, skewed.
#[inline(always)]
pub(super) fn located<S: Scalar, const D: usize>(
    position: [S; D],
    level: &Level,
    encoding: &Encoding,
) -> [S; D] {
    let scale = S::computed(level.scale, level.scale_radius);
    let scaled = match encoding.position_offset {
        PositionOffset::Half => {
            let half = S::from_f64(0.5);
            position.map(|x| scale * x + half)
        }
        PositionOffset::Zero => position.map(|x| scale * x),
    };
    skewed(encoding, scaled)
}

/// The vertices to the left and right of a point on one axis.
pub(super) type Sides = [i64; 2];

/// A coordinate as an unsigned integer.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "wraps on purpose")]
#[inline(always)]
fn wrapped(vertex: i64) -> u32 {
    vertex as u32
}

/// The largest whole number that is not above `x`; `None` where a 32-bit integer does not hold it, or
/// there is none.
#[expect(clippy::cast_possible_truncation, reason = "of a small number that is the purpose")]
#[inline(always)]
pub(super) fn floor(x: f64) -> Option<i64> {
    // Not f64::floor, which is a call where the processor's instruction set may be the oldest.
    let toward_zero = x as i64;
    let known = (-2_147_483_648.0..2_147_483_648.0).contains(&x);
    // Not computed of others: the least integer has none below it.
    known.then(|| toward_zero - i64::from(toward_zero as f64 > x))
}

/// The sides that the arithmetic's own value has. The right one is the left one at a vertex, where
/// the encoding takes it by ceil.
#[inline(always)]
pub(super) fn own_sides(value: f64, encoding: &Encoding) -> Option<Sides> {
    let left = floor(value)?;
    let at_vertex = encoding.right_corner == RightCorner::Ceil && left as f64 == value;
    Some([left, left + i64::from(!at_vertex)])
}

/// How many corners a point is interpolated between.
#[inline(always)]
pub(super) fn corners_of_cell(encoding: &Encoding, dimensions: usize) -> usize {
    match (encoding.lattice, encoding.interpolation) {
        (Lattice::Simplex, _) => dimensions + 1,
        (Lattice::Cubic, Interpolation::Nearest) => 1,
        (Lattice::Cubic, Interpolation::Linear | Interpolation::Smoothstep) => 1 << dimensions,
    }
}

/// A cell that a point lies in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell<S, const D: usize> {
    sides: [[u32; 2]; D],
    fractions: [S; D],
    /// The axes by descending fraction, which a simplex is found by.
    order: [usize; D],
}

impl<S: Scalar, const D: usize> Cell<S, D> {
    /// The cell of a point by its own values; `None` where it has none: a coordinate is not finite, or
    /// beyond what a 32-bit integer holds.
    #[inline(always)]
    pub(super) fn of(position: [S; D], level: &Level, encoding: &Encoding) -> Option<Self> {
        let located = located(position, level, encoding);
        let mut sides = [[0; 2]; D];
        for (sides, axis) in sides.iter_mut().zip(&located) {
            *sides = own_sides(axis.value(), encoding)?;
        }
        let cell = Self::between(located, sides);
        Some(match encoding.lattice {
            Lattice::Cubic => cell,
            Lattice::Simplex => cell.ordered(cell.own_order()),
        })
    }

    /// The cell between these sides, whose coordinates below 0 are taken as unsigned.
    #[inline(always)]
    pub(super) fn between(located: [S; D], sides: [Sides; D]) -> Self {
        Self {
            sides: sides.map(|axis| axis.map(wrapped)),
            fractions: from_fn(|j| located[j] - S::from_f64(sides[j][0] as f64)),
            order: from_fn(|j| j),
        }
    }

    /// The same cell with its axes in another order.
    #[inline(always)]
    pub(super) fn ordered(self, order: [usize; D]) -> Self {
        Self { order, ..self }
    }

    /// The fractions of the axes.
    #[inline(always)]
    pub(super) fn fractions(&self) -> &[S; D] {
        &self.fractions
    }

    /// The axes by descending fraction as the values have it, of equal ones the lower first.
    #[inline(always)]
    pub(super) fn own_order(&self) -> [usize; D] {
        let mut order = from_fn(|j| j);
        for end in 1..D {
            let mut at = end;
            while at > 0 && self.fractions[order[at - 1]].value_less(self.fractions[order[at]]) {
                order.swap(at - 1, at);
                at -= 1;
            }
        }
        order
    }

    /// The vertex of a corner.
    #[inline(always)]
    pub(super) fn vertex(&self, corner: usize, encoding: &Encoding) -> [u32; D] {
        self.of_corner(&self.sides, corner, encoding)
    }

    /// The entries of all corners, in the order of their numbers. Each side's product is taken once.
    #[inline(always)]
    pub(super) fn entries(&self, level: &Level, encoding: &Encoding, entries: &mut [u32]) {
        let products = from_fn(|j| self.sides[j].map(|side| level.product(j, side)));
        let all = |corner| self.of_corner(&products, corner, encoding);
        match encoding.lattice {
            // The usual number of corners, as one that the compiler knows.
            Lattice::Cubic if entries.len() == 1 << D => level.entries(all, &mut entries[..1 << D]),
            Lattice::Cubic | Lattice::Simplex => level.entries(all, entries),
        }
    }

    /// Of each axis what its left or right side has, as the corner lies: of a cube bit j of `corner` is the
    /// side of axis j, of a simplex the first `corner` axes of the order are on the right.
    #[inline(always)]
    fn of_corner(&self, sides: &[[u32; 2]; D], corner: usize, encoding: &Encoding) -> [u32; D] {
        match encoding.lattice {
            Lattice::Cubic => from_fn(|j| sides[j][corner >> j & 1]),
            Lattice::Simplex => {
                let mut chosen = sides.map(|[left, _]| left);
                for &axis in &self.order[..corner] {
                    chosen[axis] = sides[axis][1];
                }
                chosen
            }
        }
    }

    /// The weights of all corners, in the order of their numbers.
    #[inline(always)]
    pub(super) fn weights(&self, encoding: &Encoding, mut visit: impl FnMut(usize, S)) {
        let one = S::from_f64(1.0);
        match (encoding.lattice, encoding.interpolation) {
            (Lattice::Simplex, _) => {
                let sorted = self.order.map(|axis| self.fractions[axis]);
                visit(0, one - sorted[0]);
                for k in 1..D {
                    visit(k, sorted[k - 1] - sorted[k]);
                }
                visit(D, sorted[D - 1]);
            }
            (Lattice::Cubic, Interpolation::Nearest) => visit(0, one),
            (Lattice::Cubic, Interpolation::Linear | Interpolation::Smoothstep) => {
                let factors = self.factors(encoding);
                for corner in 0..1 << D {
                    let first = factors[0][corner & 1];
                    visit(corner, (1..D).fold(first, |w, j| w * factors[j][corner >> j & 1]));
                }
            }
        }
    }

    /// The weights of the right sides of the axes: S(t); of a simplex, t.
    pub(super) fn right_factors(&self, encoding: &Encoding) -> [S; D] {
        match encoding.lattice {
            Lattice::Cubic => self.factors(encoding).map(|[_, right]| right),
            Lattice::Simplex => self.fractions,
        }
    }

    /// The weights of the sides of each axis: 1 - S(t) and S(t).
    #[inline(always)]
    fn factors(&self, encoding: &Encoding) -> [[S; 2]; D] {
        let one = S::from_f64(1.0);
        self.fractions.map(|t| {
            let u = match encoding.interpolation {
                Interpolation::Nearest | Interpolation::Linear => t,
                Interpolation::Smoothstep => {
                    let (two, three) = (S::from_f64(2.0), S::from_f64(3.0));
                    (t * t * (three - two * t)).also(|| three * t * t - two * t * t * t)
                }
            };
            [one - u, u]
        })
    }

    /// The derivatives by the coordinates before the skew, as differences of entries: of each axis, the corners on its
    /// left and right with the weight of their difference, the scale included.
    #[inline(always)]
    pub(super) fn slopes(
        &self,
        level: &Level,
        encoding: &Encoding,
        mut visit: impl FnMut(usize, [usize; 2], S),
    ) {
        let scale = S::computed(level.scale, level.scale_radius);
        match (encoding.lattice, encoding.interpolation) {
            (Lattice::Simplex, _) => {
                for (k, &axis) in self.order.iter().enumerate() {
                    visit(axis, [k, k + 1], scale);
                }
            }
            // Constant in each cell.
            (Lattice::Cubic, Interpolation::Nearest) => {}
            (Lattice::Cubic, Interpolation::Linear | Interpolation::Smoothstep) => {
                let factors = self.factors(encoding);
                for axis in 0..D {
                    let slope = self.slope(axis, scale, encoding);
                    for left in (0..1 << D).filter(|corner| corner >> axis & 1 == 0) {
                        let others = (0..D).filter(|&j| j != axis);
                        let weight = others.fold(slope, |w, j| w * factors[j][left >> j & 1]);
                        visit(axis, [left, left | 1 << axis], weight);
                    }
                }
            }
        }
    }

    /// How many products a weight of [`Self::slopes`] is.
    pub(super) fn products_of_slope(&self, encoding: &Encoding) -> u64 {
        let sides = D as u64 - 1;
        match (encoding.lattice, encoding.interpolation) {
            (Lattice::Simplex, _) | (Lattice::Cubic, Interpolation::Nearest) => 0,
            (Lattice::Cubic, Interpolation::Linear) => sides,
            // 6 t, (1 - t) times that, and the scale.
            (Lattice::Cubic, Interpolation::Smoothstep) => sides + 3,
        }
    }

    /// scale S'(t).
    #[inline(always)]
    fn slope(&self, axis: usize, scale: S, encoding: &Encoding) -> S {
        match encoding.interpolation {
            Interpolation::Nearest | Interpolation::Linear => scale,
            Interpolation::Smoothstep => {
                let t = self.fractions[axis];
                let six = S::from_f64(6.0);
                scale * (six * t * (S::from_f64(1.0) - t)).also(|| six * t - six * t * t)
            }
        }
    }
}
