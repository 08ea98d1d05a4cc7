//! The stages by themselves: features, and their gradients by entries and by points.
//!
//! Points are independent in two of them, levels in the third, and within a part every sum has one
//! order: the bits do not depend on the number of threads.

use super::cell::{Cell, MOST_CORNERS, corners_of_cell, skewed};
use super::encoding::{Encoding, Outside};
use super::table::{Grid, Level};
use crate::arithmetic::{Bounded, Dual, Model, Scalar, Tristate};
use rayon::prelude::*;
use std::ops::Range;

/// Points that one thread does together: their features stay in its cache from level to level.
pub(super) const PART: usize = 4096;

/// A number that a stage over `S` reads: an f32 as kernels have it, or `S` itself.
pub trait Input<S>: Copy + Send + Sync {
    /// The number in the arithmetic of the stage.
    fn lift(self) -> S;
}

impl<S: Scalar> Input<S> for f32 {
    #[inline(always)]
    fn lift(self) -> S {
        S::from_f32(self)
    }
}

impl Input<Self> for f64 {
    #[inline(always)]
    fn lift(self) -> Self {
        self
    }
}

impl<const N: usize> Input<Self> for Dual<N> {
    #[inline(always)]
    fn lift(self) -> Self {
        self
    }
}

impl<M: Model> Input<Self> for Bounded<M> {
    #[inline(always)]
    fn lift(self) -> Self {
        self
    }
}

/// Calls a function of a constant size, one of those that there are.
macro_rules! with_size {
    ($size:expr, $N:ident in [$($n:literal)+] => $call:expr) => {
        match $size {
            $($n => { const $N: usize = $n; $call })+
            other => unreachable!("no grid has a size of {other}"),
        }
    };
}
pub(super) use with_size;

/// Whether the encoding leaves the point out. Infinity is outside whatever the roundings.
#[inline(always)]
pub(super) fn is_outside<S: Scalar, const D: usize>(
    encoding: &Encoding,
    position: &[S; D],
) -> Tristate {
    let [zero, one] = [0.0, 1.0].map(S::from_f64);
    match encoding.outside {
        Outside::Wraps => Tristate::Never,
        Outside::Zero => position.iter().fold(Tristate::Never, |any, &x| {
            let infinite = Tristate::known(x.value().is_infinite());
            any | infinite | x.less(zero) | one.less(x)
        }),
    }
}

/// The same in the values alone.
#[inline(always)]
fn value_is_outside<S: Scalar, const D: usize>(encoding: &Encoding, position: &[S; D]) -> bool {
    encoding.outside == Outside::Zero && position.iter().any(|x| x.value() < 0.0 || x.value() > 1.0)
}

/// How many points there are.
///
/// # Panics
/// For part of a point.
pub(super) fn points<I>(grid: &Grid, positions: &[I]) -> usize {
    let d = grid.dimensions();
    assert!(positions.len().is_multiple_of(d), "positions has rows of {d} numbers");
    positions.len() / d
}

/// # Panics
/// For a table of another grid.
pub(super) fn check_table<I>(grid: &Grid, table: &[I]) {
    let [rows, width] = [grid.entries(), grid.features()];
    assert_eq!(table.len(), rows * width, "table has {rows} rows of {width} numbers");
}

/// # Panics
/// For gradients of other features.
pub(super) fn check_gradients<I>(grid: &Grid, points: usize, v_features: &[I]) {
    let row = grid.levels().len() * grid.features();
    assert_eq!(v_features.len(), points * row, "v_features has {points} rows of {row} numbers");
}

/// The features of all points, `[N,L,F]`, from `positions` `[N,d]` and the entries' features `table`
/// `[E,F]`.
///
/// # Panics
/// For arrays that do not fit the grid.
#[must_use]
pub fn forward<S: Scalar, I: Input<S>>(grid: &Grid, positions: &[I], table: &[I]) -> Vec<S> {
    let points = points(grid, positions);
    check_table(grid, table);
    let row = grid.levels().len() * grid.features();
    let mut features = vec![S::default(); points * row];
    let together = (LINE / (grid.features() * size_of::<S>())).max(1);
    for first in (0..grid.levels().len()).step_by(together) {
        let levels = first..(first + together).min(grid.levels().len());
        let parts = features.par_chunks_mut(PART * row);
        let parts = parts.zip(positions.par_chunks(PART * grid.dimensions()));
        parts.for_each(|(features, positions)| {
            forward_part(grid, levels.clone(), (positions, table), features);
        });
    }
    features
}

/// Bytes of a cache line. As many levels as fill one with a point's features are done for all points
/// before the next: their entries are what the cache keeps, and each line of features is written once.
const LINE: usize = 64;

/// The features of a part of the points on these levels.
fn forward_part<S: Scalar, I: Input<S>>(
    grid: &Grid,
    levels: Range<usize>,
    (positions, table): (&[I], &[I]),
    features: &mut [S],
) {
    let row = grid.levels().len() * grid.features();
    let mut corners = Corners::new(grid);
    let blocks = positions.chunks(BLOCK * grid.dimensions());
    for (positions, features) in blocks.zip(features.chunks_mut(BLOCK * row)) {
        for l in levels.clone() {
            corners.find(&grid.levels()[l], positions);
            with_size!(grid.features(), F in [1 2 4 8] => {
                with_size!(corners.count, C in [1 2 3 4 5 8 16] => {
                    let places = (features.as_chunks_mut().0, l, grid.levels().len());
                    interpolate::<S, I, F, C>(&corners, table.as_chunks().0, places);
                });
            });
        }
    }
}

/// The features of a block's points on a level: of `levels` rows of a point that of number `l`.
fn interpolate<S: Scalar, I: Input<S>, const F: usize, const C: usize>(
    corners: &Corners<S>,
    table: &[[I; F]],
    (features, l, levels): (&mut [[S; F]], usize, usize),
) {
    for (point, entries, weights) in corners.of_points::<C>() {
        let mut sums = [S::default(); F];
        for (&entry, &weight) in entries.iter().zip(weights) {
            for (sum, x) in sums.iter_mut().zip(&table[entry as usize]) {
                *sum = *sum + weight * x.lift();
            }
        }
        features[point * levels + l] = sums;
    }
    for &point in &corners.lost {
        features[point * levels + l] = [S::from_f64(f64::NAN); F];
    }
}

/// Points whose corners are found together, before the entries are visited: visits by themselves are
/// so few instructions that a processor has many of them under way.
const BLOCK: usize = 128;

/// The corners that a level's points are interpolated between.
struct Corners<S> {
    encoding: Encoding,
    dimensions: usize,
    /// Corners of a point.
    count: usize,
    /// The points that have a cell, by their number in the block.
    points: Vec<usize>,
    /// The entries of their corners, one point's after another's.
    entries: Vec<u32>,
    /// The weights.
    weights: Vec<S>,
    /// The points that are not outside and have no cell.
    lost: Vec<usize>,
}

impl<S: Scalar> Corners<S> {
    fn new(grid: &Grid) -> Self {
        let count = corners_of_cell(grid.encoding(), grid.dimensions());
        Self {
            encoding: *grid.encoding(),
            dimensions: grid.dimensions(),
            count,
            points: Vec::with_capacity(BLOCK),
            entries: vec![0; BLOCK * count],
            weights: vec![S::default(); BLOCK * count],
            lost: Vec::new(),
        }
    }

    /// Finds those of the points at these positions.
    fn find<I: Input<S>>(&mut self, level: &Level, positions: &[I]) {
        self.points.clear();
        self.lost.clear();
        with_size!(self.dimensions, D in [1 2 3 4] => {
            for (point, position) in positions.as_chunks::<D>().0.iter().enumerate() {
                self.find_one(level, point, position.map(I::lift));
            }
        });
    }

    #[inline(always)]
    fn find_one<const D: usize>(&mut self, level: &Level, point: usize, position: [S; D]) {
        // Copies, which the writes below cannot change.
        let (encoding, level) = (self.encoding, *level);
        if value_is_outside(&encoding, &position) {
            return;
        }
        let Some(cell) = Cell::of(position, &level, &encoding) else {
            self.lost.push(point);
            return;
        };
        let at = self.points.len() * self.count;
        cell.entries(&level, &encoding, &mut self.entries[at..][..self.count]);
        let weights = &mut self.weights[at..][..self.count];
        cell.weights(
            &encoding,
            #[inline(always)]
            |corner, weight| weights[corner] = weight,
        );
        self.points.push(point);
    }

    /// The points that have a cell, with the entries and weights of their corners.
    #[inline(always)]
    fn of_points<const C: usize>(&self) -> impl Iterator<Item = (usize, &[u32; C], &[S; C])> {
        let entries = self.entries.as_chunks().0.iter();
        let weights = self.weights.as_chunks().0.iter();
        self.points.iter().zip(entries.zip(weights)).map(|(&p, (e, w))| (p, e, w))
    }
}

/// The gradients of the entries, `v_table` `[E,F]`, from those of the features, `v_features`
/// `[N,L,F]`: for each entry the sum of weight times gradient over all corners that have it, in the
/// order of the points.
///
/// # Panics
/// For arrays that do not fit the grid.
#[must_use]
pub fn backward<S: Scalar, I: Input<S>>(grid: &Grid, positions: &[I], v_features: &[I]) -> Vec<S> {
    check_gradients(grid, points(grid, positions), v_features);
    let mut v_table = vec![S::default(); grid.entries() * grid.features()];
    let levels = by_level(grid, grid.features(), &mut v_table);
    levels.into_par_iter().enumerate().for_each(|(l, v_entries)| {
        backward_level(grid, l, (positions, v_features), v_entries);
    });
    v_table
}

/// A table with `width` numbers for each entry, cut into its levels.
pub(super) fn by_level<'a, T>(
    grid: &Grid,
    width: usize,
    mut table: &'a mut [T],
) -> Vec<&'a mut [T]> {
    let cut = |level: &Level| {
        let (own, rest) = std::mem::take(&mut table).split_at_mut(level.entries as usize * width);
        table = rest;
        own
    };
    grid.levels().iter().map(cut).collect()
}

/// The gradients of the entries of level `l`.
fn backward_level<S: Scalar, I: Input<S>>(
    grid: &Grid,
    l: usize,
    (positions, v_features): (&[I], &[I]),
    v_entries: &mut [S],
) {
    let (level, row) = (&grid.levels()[l], grid.levels().len() * grid.features());
    let mut corners = Corners::new(grid);
    let blocks = positions.chunks(BLOCK * grid.dimensions());
    for (positions, v_features) in blocks.zip(v_features.chunks(BLOCK * row)) {
        corners.find(level, positions);
        with_size!(grid.features(), F in [1 2 4 8] => {
            with_size!(corners.count, C in [1 2 3 4 5 8 16] => {
                let places = (v_features.as_chunks().0, l, grid.levels().len());
                let v_entries = v_entries.as_chunks_mut().0;
                add_gradients::<S, I, F, C>(&corners, places, v_entries, level.offset);
            });
        });
    }
}

/// Adds what a block's points contribute to the entries of a level, which begin with number `first`.
fn add_gradients<S: Scalar, I: Input<S>, const F: usize, const C: usize>(
    corners: &Corners<S>,
    (v_features, l, levels): (&[[I; F]], usize, usize),
    v_entries: &mut [[S; F]],
    first: u32,
) {
    for (point, entries, weights) in corners.of_points::<C>() {
        let v = v_features[point * levels + l].map(I::lift);
        for (&entry, &weight) in entries.iter().zip(weights) {
            for (sum, v) in v_entries[(entry - first) as usize].iter_mut().zip(v) {
                *sum = *sum + weight * v;
            }
        }
    }
}

/// The gradients of the positions, `v_positions` `[N,d]`, from those of the features, `v_features`
/// `[N,L,F]`.
///
/// # Panics
/// For arrays that do not fit the grid.
#[must_use]
pub fn backward_input<S: Scalar, I: Input<S>>(
    grid: &Grid,
    positions: &[I],
    table: &[I],
    v_features: &[I],
) -> Vec<S> {
    check_table(grid, table);
    check_gradients(grid, points(grid, positions), v_features);
    let (d, row) = (grid.dimensions(), grid.levels().len() * grid.features());
    let mut v_positions = vec![S::default(); positions.len()];
    let inputs = positions.par_chunks(PART * d).zip(v_features.par_chunks(PART * row));
    v_positions.par_chunks_mut(PART * d).zip(inputs).for_each(|(own, (positions, v_features))| {
        with_size!(d, D in [1 2 3 4] => {
            let positions = positions.as_chunks::<D>().0;
            input_part(grid, positions, (table, v_features), own.as_chunks_mut().0);
        });
    });
    v_positions
}

/// The gradients of a part of the points.
fn input_part<S: Scalar, I: Input<S>, const D: usize>(
    grid: &Grid,
    positions: &[[I; D]],
    (table, v_features): (&[I], &[I]),
    v_positions: &mut [[S; D]],
) {
    let (encoding, width) = (grid.encoding(), grid.features());
    for (l, level) in grid.levels().iter().enumerate() {
        let rows = v_features.chunks_exact(grid.levels().len() * width);
        for ((sums, position), row) in v_positions.iter_mut().zip(positions).zip(rows) {
            let position = position.map(I::lift);
            if value_is_outside(encoding, &position) {
                continue;
            }
            let slopes = match Cell::of(position, level, encoding) {
                Some(cell) => slopes(encoding, level, &cell, table, &row[l * width..][..width]),
                None => [S::from_f64(f64::NAN); D],
            };
            for (sum, slope) in sums.iter_mut().zip(slopes) {
                *sum = *sum + slope;
            }
        }
    }
    v_positions.iter_mut().for_each(|sums| *sums = skewed(encoding, *sums));
}

/// What one level adds to the gradient of a point.
fn slopes<S: Scalar, I: Input<S>, const D: usize>(
    encoding: &Encoding,
    level: &Level,
    cell: &Cell<S, D>,
    table: &[I],
    v_features: &[I],
) -> [S; D] {
    let rows = corner_rows(encoding, level, cell, v_features.len());
    let mut sums = [S::default(); D];
    cell.slopes(level, encoding, |axis, corners, weight| {
        let [left, right] = corners.map(|corner| &table[rows[corner]..][..v_features.len()]);
        for ((left, right), v) in left.iter().zip(right).zip(v_features) {
            let difference = right.lift() - left.lift();
            sums[axis] = sums[axis] + weight * (v.lift() * difference);
        }
    });
    sums
}

/// Where in the table the features of each corner begin, of which there are `width`.
pub(super) fn corner_rows<S: Scalar, const D: usize>(
    encoding: &Encoding,
    level: &Level,
    cell: &Cell<S, D>,
    width: usize,
) -> [usize; MOST_CORNERS] {
    let mut entries = [0; MOST_CORNERS];
    cell.entries(level, encoding, &mut entries[..corners_of_cell(encoding, D)]);
    entries.map(|entry| entry as usize * width)
}
