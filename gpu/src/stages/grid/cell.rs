//! The entries that points touch, as a host makes them for the reduction `per-key`: the cell, its corners'
//! rows and weights in f32, operation by operation as in `cell.cuh` (docs/src/grid.md has the formulas).
//! Where roundings decide a cell, the host's decision is one of those that kernels may come to.
//!
//! The same operations on [`Exact`] numbers, along the path that f32 took, give what the weights stand for.

use std::ops::{Add, Mul, Sub};

use splatcheck_emulator::Exact;

use super::shared::MOST_DIMENSIONS;
use crate::tensor::{TensorError, Tensors};

/// What weights are computed with: f32, or exact numbers.
trait Real:
    Copy + Default + From<f32> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
}

impl<T> Real for T where
    T: Copy + Default + From<f32> + Add<Output = T> + Sub<Output = T> + Mul<Output = T>
{
}

/// Numbers of an axis each; axes that a position has not got come last.
type Axes<T> = [T; MOST_DIMENSIONS];

/// Whether a field has the value of this name: see [`super::shared::FIELDS`].
fn is(inputs: &Tensors, field: &str, value: &str) -> Result<bool, TensorError> {
    let names =
        super::shared::FIELDS.iter().find(|(name, _)| *name == field).map_or(&[][..], |(_, n)| n);
    let number = inputs.u32(field)?[0] as usize;
    Ok(names.get(number).is_some_and(|name| *name == value))
}

/// What corners ask of the encoding's fields.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of two or three values")]
struct Fields {
    dimensions: usize,
    simplex: bool,
    prime: bool,
    nearest: bool,
    smoothstep: bool,
    half: bool,
    ceil: bool,
    zero_outside: bool,
    skewed: bool,
}

/// A row of the level table.
#[derive(Clone, Copy, Debug)]
struct Level {
    scale: f32,
    stride: u32,
    offset: u32,
    entries: u32,
    counted: bool,
}

/// The cell of a point.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    left: Axes<u32>,
    right: Axes<u32>,
    /// How many axes come before each by descending fraction, of equal ones the lower first.
    rank: Axes<usize>,
}

/// Where a point is in its cell.
#[derive(Clone, Copy, Debug, Default)]
struct Inside<T> {
    fraction: Axes<T>,
    lower: Axes<T>,
    upper: Axes<T>,
}

/// One addition to the table: features of a level by a weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Term {
    /// The row of the table.
    pub(super) row: u32,
    /// The row of `v_features` [N,L,F], taken as [N L, F].
    pub(super) source: u32,
    pub(super) weight: f32,
}

/// All additions to the table, level by level and point by point.
pub(super) fn terms(inputs: &Tensors) -> Result<Vec<Term>, TensorError> {
    let mut terms = Vec::new();
    each_point(inputs, |fields, level, position, source| {
        let located = fields.located(level, position);
        let inside = fields.inside(&located, &located);
        let cell = fields.cell(&located, &inside);
        terms.extend((0..fields.corners()).map(|corner| Term {
            row: fields.row(level, &cell, corner),
            source,
            weight: fields.weight(&cell, &inside, corner),
        }));
    })?;
    Ok(terms)
}

/// What the weights of [`terms`] stand for; `None` where a rounding may have decided a cell, or the order of its axes.
pub(super) fn exact_weights(inputs: &Tensors) -> Result<Option<Vec<Exact>>, TensorError> {
    let mut weights = Vec::new();
    let mut is_open = false;
    each_point(inputs, |fields, level, position, _| {
        let host = fields.located(level, position);
        let cell = fields.cell(&host, &fields.inside(&host, &host));
        let located = fields.located(level, position);
        let inside = fields.inside(&located, &host);
        is_open |= fields.is_open(&located, &inside);
        weights.extend((0..fields.corners()).map(|corner| fields.weight(&cell, &inside, corner)));
    })?;
    Ok((!is_open).then_some(weights))
}

/// Visits each point on each level on which it adds to the table, with the row of `v_features` that it adds.
fn each_point(
    inputs: &Tensors,
    mut visit: impl FnMut(&Fields, &Level, &[f32], u32),
) -> Result<(), TensorError> {
    let positions = inputs.f32("positions")?;
    let dimensions = inputs.get("positions")?.shape().get(1).copied().unwrap_or(0);
    let fields = fields(inputs, dimensions)?;
    let levels = levels(inputs, dimensions)?;
    for (l, level) in levels.iter().enumerate() {
        for (point, position) in positions.chunks_exact(dimensions.max(1)).enumerate() {
            // What is not a number is on neither side, as in the other kernels.
            let below = position.iter().any(|&x| x < 0.0);
            let beyond = position.iter().any(|&x| x > 1.0);
            if fields.zero_outside && (below || beyond) {
                continue;
            }
            // Rows of v_features have numbers of 32 bits, as the kernels' indices do.
            let source = u32::try_from(point * levels.len() + l).unwrap_or(u32::MAX);
            visit(&fields, level, position, source);
        }
    }
    Ok(())
}

fn fields(inputs: &Tensors, dimensions: usize) -> Result<Fields, TensorError> {
    Ok(Fields {
        dimensions,
        simplex: is(inputs, "lattice", "simplex")?,
        prime: is(inputs, "hash", "prime")?,
        nearest: is(inputs, "interpolation", "nearest")?,
        smoothstep: is(inputs, "interpolation", "smoothstep")?,
        half: is(inputs, "position_offset", "half")?,
        ceil: is(inputs, "right_corner", "ceil")?,
        zero_outside: is(inputs, "outside", "zero")?,
        skewed: is(inputs, "skew", "simplex")?,
    })
}

fn levels(inputs: &Tensors, dimensions: usize) -> Result<Vec<Level>, TensorError> {
    let plus_one = is(inputs, "dense_stride", "resolution-plus-one")?;
    let never = is(inputs, "dense_stride", "never")?;
    let tiled = is(inputs, "crowded", "tiled")?;
    let scales = inputs.f32("scales")?.iter().zip(inputs.u32("resolutions")?);
    let ends = inputs.u32("offsets")?.windows(2);
    let level = |((&scale, &resolution), ends): ((&f32, &u32), &[u32])| {
        let entries = ends[1].wrapping_sub(ends[0]);
        let stride = resolution.wrapping_add(u32::from(plus_one));
        // A stride of 0 is one of 2^32; the product of strides may not fit into any integer.
        let room = (0..dimensions)
            .fold(if stride == 0 { 0 } else { entries }, |room, _| room / stride.max(1));
        let counted = tiled || !never && room > 0;
        Level { scale, stride, offset: ends[0], entries, counted }
    };
    Ok(scales.zip(ends).map(level).collect())
}

impl Fields {
    fn corners(&self) -> usize {
        match (self.simplex, self.nearest) {
            (true, _) => self.dimensions + 1,
            (false, true) => 1,
            (false, false) => 1 << self.dimensions,
        }
    }

    /// Moves the axes' numbers along the diagonal by (sqrt(d + 1) - 1) / d of their sum.
    fn skew<T: Real>(&self, axes: &mut [T]) {
        let factor = match self.dimensions {
            0 | 1 => 0.414_213_57_f32,
            2 => 0.366_025_4,
            3 => 0.333_333_34,
            _ => 0.309_017,
        };
        let along = T::from(factor) * axes.iter().fold(T::from(0.0), |sum, &x| sum + x);
        axes.iter_mut().for_each(|x| *x = *x + along);
    }

    /// The point in units of the level's cells.
    fn located<T: Real>(&self, level: &Level, position: &[f32]) -> Axes<T> {
        let mut located = [T::default(); MOST_DIMENSIONS];
        for (at, &x) in located.iter_mut().zip(position) {
            let scaled = T::from(level.scale) * T::from(x);
            *at = if self.half { scaled + T::from(0.5) } else { scaled };
        }
        if self.skewed {
            self.skew(&mut located[..self.dimensions]);
        }
        located
    }

    /// Where the point is in the cell that the host has found.
    fn inside<T: Real>(&self, located: &Axes<T>, host: &Axes<f32>) -> Inside<T> {
        let [one, two, three] = [1.0, 2.0, 3.0].map(T::from);
        let mut inside = Inside { lower: [one; MOST_DIMENSIONS], ..Inside::default() };
        for (j, (&at, host)) in located.iter().zip(host).enumerate().take(self.dimensions) {
            let t = at - T::from(host.floor());
            let u = if self.smoothstep { t * t * (three - two * t) } else { t };
            inside.fraction[j] = t;
            (inside.lower[j], inside.upper[j]) = (one - u, u);
        }
        inside
    }

    fn cell(&self, located: &Axes<f32>, inside: &Inside<f32>) -> Cell {
        let mut cell = Cell::default();
        for (j, &at) in located.iter().enumerate().take(self.dimensions) {
            let vertex = at.floor();
            #[expect(clippy::cast_possible_truncation, reason = "it saturates, as on a device")]
            let left = (vertex as i32).cast_unsigned();
            let on_vertex = self.ceil && vertex == at;
            cell.left[j] = left;
            cell.right[j] = if on_vertex { left } else { left.wrapping_add(1) };
        }
        let fractions = &inside.fraction[..self.dimensions];
        for (j, own) in fractions.iter().enumerate() {
            let before = |&(k, other): &(usize, &f32)| other > own || other == own && k < j;
            cell.rank[j] = fractions.iter().enumerate().filter(before).count();
        }
        cell
    }

    /// Whether a rounding may have decided the point's cell, or the order of its axes.
    fn is_open(&self, located: &Axes<Exact>, inside: &Inside<Exact>) -> bool {
        let fractions = &inside.fraction[..self.dimensions];
        let is_tied = |(j, own): (usize, &Exact)| {
            fractions[..j].iter().any(|other| own.is_open_beside(*other))
        };
        located[..self.dimensions].iter().any(|at| at.has_open_floor())
            || self.simplex && fractions.iter().enumerate().any(is_tied)
    }

    /// Of a cube bit j of the corner's number, of a simplex the first `corner` axes by descending fraction.
    fn is_right(&self, cell: &Cell, corner: usize, axis: usize) -> bool {
        if self.simplex { cell.rank[axis] < corner } else { corner >> axis & 1 == 1 }
    }

    fn row(&self, level: &Level, cell: &Cell, corner: usize) -> u32 {
        const PRIMES: Axes<u32> = [1, 2_654_435_761, 805_459_861, 3_674_653_429];
        let vertex = |j: usize| {
            if self.is_right(cell, corner, j) { cell.right[j] } else { cell.left[j] }
        };
        let axes = 0..self.dimensions;
        let number = if level.counted {
            axes.rev().fold(0_u32, |n, j| n.wrapping_mul(level.stride).wrapping_add(vertex(j)))
        } else if self.prime {
            axes.fold(0, |n, j| n ^ vertex(j).wrapping_mul(PRIMES[j]))
        } else {
            axes.fold(0_u32, |n, j| n.wrapping_add(vertex(j)).wrapping_mul(2_531_011))
        };
        level.offset + number.checked_rem(level.entries).unwrap_or(0)
    }

    fn weight<T: Real>(&self, cell: &Cell, inside: &Inside<T>, corner: usize) -> T {
        let [zero, one] = [0.0, 1.0].map(T::from);
        if self.simplex {
            let at = |rank| (0..self.dimensions).find(|&j| cell.rank[j] == rank);
            let fraction = |rank| at(rank).map_or(zero, |j| inside.fraction[j]);
            let before = if corner == 0 { one } else { fraction(corner - 1) };
            return if corner == self.dimensions { before } else { before - fraction(corner) };
        }
        if self.nearest {
            return one;
        }
        let side = |j: usize| if corner >> j & 1 == 1 { inside.upper[j] } else { inside.lower[j] };
        (0..self.dimensions).fold(one, |weight, j| weight * side(j))
    }
}

#[cfg(test)]
mod tests {
    use super::super::GRID_BACKWARD;
    use super::super::tests::inputs;
    use super::*;
    use crate::tensor::Data;

    #[test]
    fn a_point_adds_to_the_corners_of_its_cell_on_every_level() {
        let mut all = inputs(GRID_BACKWARD, 1, &[0, 4, 8], 1);
        // With half a cell added: 0.75 and 1.25 of a plane whose rows have two vertices.
        all.array("positions", &[1, 2], Data::F32(vec![0.25, 0.75])).expect("two numbers");
        let rows: Vec<(u32, u32, f32)> =
            terms(&all).expect("it is whole").iter().map(|t| (t.row, t.source, t.weight)).collect();
        let [a, b, c, e] = [0.1875, 0.5625, 0.0625, 0.1875];
        let level = |first: u32, l: u32| {
            [(2, a), (3, b), (0, c), (1, e)].map(|(row, weight)| (first + row, l, weight))
        };
        assert_eq!(rows, [level(0, 0), level(4, 1)].concat());
    }

    #[test]
    fn simplices_have_a_corner_more_than_axes_and_nobody_adds_outside() {
        let mut all = inputs(GRID_BACKWARD, 1, &[0, 9], 1);
        all.scalar("lattice", 1_u32);
        all.scalar("outside", 1_u32);
        all.array("resolutions", &[1], Data::U32(vec![3])).expect("one");
        all.array("positions", &[1, 2], Data::F32(vec![0.125, 0.25])).expect("two numbers");
        let found = terms(&all).expect("it is whole");
        let rows: Vec<(u32, f32)> = found.iter().map(|t| (t.row, t.weight)).collect();
        // 0.625 and 0.75 in the cell: first along the second axis, then along both.
        assert_eq!(rows, [(0, 0.25), (3, 0.125), (4, 0.625)]);
        all.array("positions", &[1, 2], Data::F32(vec![0.125, 1.25])).expect("two numbers");
        assert!(terms(&all).expect("it is whole").is_empty(), "it is outside");
    }
}
