//! Bounds of the stages without a gate.

use super::super::cell::{Cell, corners_of_cell, skewed};
use super::super::encoding::Encoding;
use super::super::stages::{
    Input, PART, by_level, check_gradients, check_table, corner_rows, points, with_size,
};
use super::super::table::{Grid, Level, MOST_FEATURES};
use super::possible::{Seen, Undecided, see};
use crate::arithmetic::{ArithmeticModel, Bounded, ElementBound, LaneSum, Model, Scalar, Tristate};
use rayon::prelude::*;

use super::sum::{Otherwise, Sum};
use super::weight::Weight;

/// Bounds of the numbers of one lane each.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds<M> {
    /// The numbers, shaped as the stage's.
    pub elements: Vec<Bounded<M>>,
    /// Of features: the sum of weighted entries that each number is.
    pub sums: Vec<LaneSum>,
    /// Comparisons that were followed more than one way.
    pub undecided: Undecided,
}

/// Bounds of the entries' gradients, before the order of summation is accounted for.
#[derive(Clone, Debug, PartialEq)]
pub struct TableBounds {
    /// `[E,F]`.
    pub elements: Vec<ElementBound>,
    /// `[E]`: how many numbers other than 0 are, or may be, added up in an entry.
    pub terms: Vec<u64>,
    /// Comparisons that were followed more than one way.
    pub undecided: Undecided,
}

impl TableBounds {
    /// How far a program may lie from each value that adds up an entry's terms in any order.
    #[must_use]
    pub fn tolerances(&self, model: &ArithmeticModel) -> Vec<f64> {
        let width = self.elements.len() / self.terms.len().max(1);
        let terms = self.terms.iter().flat_map(|terms| std::iter::repeat_n(*terms, width));
        let of = |(sum, terms): (&ElementBound, u64)| {
            sum.tolerance(terms.saturating_sub(1), terms, model)
        };
        self.elements.iter().zip(terms).map(of).collect()
    }
}

impl<M: Model, const D: usize> Seen<M, D> {
    /// What a stage gives in any of the cells, or outside.
    fn joined<const K: usize>(&self, stage: impl Fn(&Cell<Bounded<M>, D>) -> [Sum; K]) -> [Sum; K] {
        let Some(cells) = &self.cells else { return [Sum::UNKNOWN; K] };
        let either = |a: [Sum; K], b: [Sum; K]| std::array::from_fn(|k| a[k].or(b[k]));
        let inside = cells.iter().map(stage).reduce(either).unwrap_or([Sum::UNKNOWN; K]);
        let zeros = [Sum::default(); K];
        match (self.outside, self.value_outside) {
            (Tristate::Undecided, true) => either(zeros, inside),
            (Tristate::Undecided, false) => either(inside, zeros),
            (Tristate::Never | Tristate::Always, _) => inside,
        }
    }
}

/// What [`super::forward`] gives.
pub(super) fn features<M: Model>(grid: &Grid, positions: &[f32], table: &[f32]) -> Bounds<M> {
    let grid = &*grid.under::<M>();
    points(grid, positions);
    check_table(grid, table);
    in_parts(grid, positions, |part| {
        with_size!(grid.dimensions(), D in [1 2 3 4] => {
            forward_part::<M, D>(grid, positions[part].as_chunks().0, table)
        })
    })
}

/// The parts of the points, in their order; `part` gets the places of their coordinates.
fn in_parts<M: Model>(
    grid: &Grid,
    positions: &[f32],
    part: impl Fn(std::ops::Range<usize>) -> Bounds<M> + Sync,
) -> Bounds<M> {
    let step = PART * grid.dimensions();
    let starts: Vec<_> = (0..positions.len()).step_by(step).collect();
    let end = |start: usize| positions.len().min(start + step);
    let parts: Vec<_> = starts.into_par_iter().map(|start| part(start..end(start))).collect();
    let mut all =
        Bounds { elements: Vec::new(), sums: Vec::new(), undecided: Undecided::default() };
    for part in parts {
        all.elements.extend(part.elements);
        all.sums.extend(part.sums);
        all.undecided.add(&part.undecided);
    }
    all
}

fn forward_part<M: Model, const D: usize>(
    grid: &Grid,
    positions: &[[f32; D]],
    table: &[f32],
) -> Bounds<M> {
    let (encoding, width) = (grid.encoding(), grid.features());
    let mut undecided = Undecided::default();
    let count = positions.len() * grid.levels().len() * width;
    let (mut elements, mut of_lanes) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for &position in positions {
        for level in grid.levels() {
            let Some(seen) = see::<M, D>(position, level, encoding, &mut undecided) else {
                elements.extend(std::iter::repeat_n(Bounded::default(), width));
                of_lanes.extend(std::iter::repeat_n(LaneSum::default(), width));
                continue;
            };
            let sums = seen.joined::<MOST_FEATURES>(|cell| {
                let along_axes = Otherwise::along_axes(encoding, cell, None);
                let mut sums = [Sum { along_axes, ..Sum::default() }; MOST_FEATURES];
                cell.weights(encoding, |corner, weight| {
                    let entry = level.entry(cell.vertex(corner, encoding)) as usize;
                    for (sum, &x) in sums.iter_mut().zip(&table[entry * width..][..width]) {
                        sum.add(weight * Bounded::from_f32(x));
                        let largest = &mut sum.along_axes.magnitude;
                        *largest = largest.max(f64::from(x.abs()));
                    }
                });
                sums
            });
            elements.extend(sums[..width].iter().map(|sum| sum.total::<M>()));
            of_lanes.extend(sums[..width].iter().map(Sum::of_lane));
        }
    }
    Bounds { elements, sums: of_lanes, undecided }
}

/// What [`super::backward_input`] gives, of features' gradients that may be bounded themselves.
pub(super) fn of_positions<M: Model>(
    grid: &Grid,
    positions: &[f32],
    table: &[f32],
    v_features: &[impl Input<Bounded<M>>],
) -> Bounds<M> {
    let grid = &*grid.under::<M>();
    check_table(grid, table);
    check_gradients(grid, points(grid, positions), v_features);
    let row = grid.levels().len() * grid.features();
    in_parts(grid, positions, |part| {
        let v_features = &v_features[part.start / grid.dimensions() * row..];
        with_size!(grid.dimensions(), D in [1 2 3 4] => {
            input_part::<M, D>(grid, positions[part].as_chunks().0, table, v_features)
        })
    })
}

fn input_part<M: Model, const D: usize>(
    grid: &Grid,
    positions: &[[f32; D]],
    table: &[f32],
    v_features: &[impl Input<Bounded<M>>],
) -> Bounds<M> {
    let (levels, width, mut undecided) = (grid.levels(), grid.features(), Undecided::default());
    let mut elements = Vec::with_capacity(positions.len() * D);
    for (&position, row) in positions.iter().zip(v_features.chunks_exact(levels.len() * width)) {
        let mut sums = [Sum::default(); D];
        for (level, v) in levels.iter().zip(row.chunks_exact(width)) {
            if let Some(seen) = see::<M, D>(position, level, grid.encoding(), &mut undecided) {
                let slopes = seen.joined(|cell| slopes(grid.encoding(), level, cell, table, v));
                sums.iter_mut().zip(&slopes).for_each(|(sum, slope)| sum.add_sum(slope));
            }
        }
        elements.extend(skewed(
            grid.encoding(),
            sums.map(|sum| sum.total_of_slopes::<M>(levels.len() as u64)),
        ));
    }
    Bounds { elements, sums: Vec::new(), undecided }
}

/// What a level adds to the gradient of a point in a cell.
fn slopes<M: Model, const D: usize>(
    encoding: &Encoding,
    level: &Level,
    cell: &Cell<Bounded<M>, D>,
    table: &[f32],
    v_features: &[impl Input<Bounded<M>>],
) -> [Sum; D] {
    let rows = corner_rows(encoding, level, cell, v_features.len());
    let mut sums = [Sum::default(); D];
    let is_exact = |x: Bounded<M>| u64::from(x.radius() == 0.0);
    // A product with a fraction that is not exact rounds.
    let some_exact = cell.fractions().iter().any(|&t| is_exact(t) == 1);
    let products = cell.products_of_slope(encoding);
    let of_weight = if some_exact { products } else { 0 };
    let corners = &rows[..corners_of_cell(encoding, D)];
    let largest: [f64; MOST_FEATURES] = std::array::from_fn(|f| {
        let of_corner = |row: &usize| f64::from(table.get(row + f).map_or(0.0, |x| x.abs()));
        corners.iter().map(of_corner).fold(0.0, f64::max)
    });
    for (axis, sum) in sums.iter_mut().enumerate() {
        sum.along_axes = Otherwise::along_axes(encoding, cell, Some(axis));
    }
    // A side adds up the products of its corners, each of two more numbers; then the difference and its products
    // with S'(t) and the scale.
    let side = (corners.len() * v_features.len()) as u64 + products + 5;
    cell.slopes(level, encoding, |axis, corners, weight| {
        for (f, &v) in v_features.iter().enumerate() {
            let entries = corners.map(|corner| table[rows[corner] + f]);
            let [left, right] = entries.map(Bounded::from_f32);
            let by_gradient = v.lift() * (right - left);
            let (term, sum) = (weight * by_gradient, &mut sums[axis]);
            sum.add_product(term, of_weight + is_exact(by_gradient) + is_exact(term));
            let share = weight * v.lift();
            sum.along_axes.magnitude += share.magnitude() * 2.0 * largest[f];
            let [left, right] = [share * left, share * right];
            let rounds = [left, right, right - left].iter().any(|x| x.radius() != 0.0);
            if rounds || sum.terms > 1 {
                sum.subtracted.roundings = side;
            }
            sum.subtracted.magnitude += left.magnitude() + right.magnitude();
        }
    });
    sums
}

/// What [`super::backward`] gives, of features' gradients that may be bounded themselves.
pub(super) fn of_entries<M: Model>(
    grid: &Grid,
    positions: &[f32],
    v_features: &[impl Input<Bounded<M>>],
) -> TableBounds {
    let grid = &*grid.under::<M>();
    check_gradients(grid, points(grid, positions), v_features);
    let entries = grid.entries();
    let mut elements = vec![ElementBound::default(); entries * grid.features()];
    let mut terms = vec![0; entries];
    let own = by_level(grid, grid.features(), &mut elements).into_par_iter();
    let own = own.zip(by_level(grid, 1, &mut terms)).enumerate();
    let counts: Vec<Undecided> = own
        .map(|(l, (elements, terms))| {
            let mut sums = LevelSums { elements, terms, width: grid.features() };
            with_size!(grid.dimensions(), D in [1 2 3 4] => {
                let positions = positions.as_chunks::<D>().0;
                sums.add_all::<M, D>(grid, l, positions, v_features)
            })
        })
        .collect();
    let mut undecided = Undecided::default();
    counts.iter().for_each(|count| undecided.add(count));
    TableBounds { elements, terms, undecided }
}

/// The sums of a level's entries.
struct LevelSums<'a> {
    elements: &'a mut [ElementBound],
    terms: &'a mut [u64],
    width: usize,
}

impl LevelSums<'_> {
    /// Adds what all points contribute to the entries of level `l`.
    fn add_all<M: Model, const D: usize>(
        &mut self,
        grid: &Grid,
        l: usize,
        positions: &[[f32; D]],
        v_features: &[impl Input<Bounded<M>>],
    ) -> Undecided {
        let (level, encoding) = (&grid.levels()[l], grid.encoding());
        let (mut undecided, mut unknown) = (Undecided::default(), false);
        let rows = v_features.chunks_exact(grid.levels().len() * self.width);
        for (&position, row) in positions.iter().zip(rows) {
            let Some(seen) = see::<M, D>(position, level, encoding, &mut undecided) else {
                continue;
            };
            let Some(weights) = joined_weights(&seen, encoding) else {
                unknown = true;
                continue;
            };
            for (vertex, weight) in weights {
                let entry = (level.entry(vertex) - level.offset) as usize;
                self.add(entry, weight, &row[l * self.width..][..self.width]);
            }
        }
        if unknown {
            let unknown = Sum::UNKNOWN.element;
            self.elements
                .iter_mut()
                .for_each(|sum| *sum = ElementBound { value: sum.value, ..unknown });
        }
        let sums = self.elements.chunks_exact_mut(self.width).zip(self.terms.iter());
        for (sums, &terms) in sums.filter(|(_, terms)| **terms > 1) {
            sums.iter_mut().for_each(|sum| sum.finish(terms));
        }
        undecided
    }

    fn add<M: Model>(
        &mut self,
        entry: usize,
        weight: Weight<M>,
        v_features: &[impl Input<Bounded<M>>],
    ) {
        let mut any = false;
        let sums = &mut self.elements[entry * self.width..][..self.width];
        for (sum, &v) in sums.iter_mut().zip(v_features) {
            let term = weight.times(v.lift());
            any |= term.magnitude() != 0.0;
            sum.add(term);
        }
        self.terms[entry] += u64::from(any);
    }
}

/// The vertices of all possible cells with the weights that they may have, which are 0 in a cell that
/// has not got them; `None` where nothing is known.
fn joined_weights<M: Model, const D: usize>(
    seen: &Seen<M, D>,
    encoding: &Encoding,
) -> Option<Vec<([u32; D], Weight<M>)>> {
    let zero = Weight::none();
    let mut joined: Vec<([u32; D], Weight<M>)> = Vec::new();
    for (number, cell) in seen.cells.as_ref()?.iter().enumerate() {
        let mut own = Vec::new();
        cell.weights(encoding, |corner, weight| {
            let weight = Weight::new(weight, corner, cell, encoding);
            own.push((cell.vertex(corner, encoding), weight));
        });
        for (vertex, weight) in &mut joined {
            // Each corner once: where ceil is floor, two corners are one vertex.
            let same = own.iter().position(|(own, _)| own == vertex);
            *weight = weight.or(same.map_or(zero, |at| own.swap_remove(at).1));
        }
        let new = own.into_iter().map(|(v, w)| (v, if number == 0 { w } else { zero.or(w) }));
        joined.extend(new);
    }
    if seen.outside == Tristate::Undecided {
        let either = |w: Weight<M>| if seen.value_outside { zero.or(w) } else { w.or(zero) };
        joined.iter_mut().for_each(|(_, weight)| *weight = either(*weight));
    }
    Some(joined)
}
