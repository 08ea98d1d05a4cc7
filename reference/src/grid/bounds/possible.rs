//! The cells that a point may lie in, where roundings decide.

use crate::arithmetic::{Bounded, Model, Scalar, Tristate};
use crate::grid::cell::{Cell, Sides, floor, located, own_sides};
use crate::grid::encoding::{Encoding, Lattice, RightCorner};
use crate::grid::stages::is_outside;
use crate::grid::table::Level;

/// How many comparisons were followed more than one way, over all points and levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undecided {
    /// Whether a coordinate lies in one cell or the next, or at the vertex between them.
    pub floors: u64,
    /// Which of two fractions is the larger, of a simplex.
    pub orders: u64,
    /// Whether a point is outside.
    pub outside: u64,
    /// Points without a cell, of which nothing is known.
    pub lost: u64,
}

impl Undecided {
    pub(super) fn add(&mut self, other: &Self) {
        self.floors += other.floors;
        self.orders += other.orders;
        self.outside += other.outside;
        self.lost += other.lost;
    }

    /// The counts by name.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 4] {
        let Self { floors, orders, outside, lost } = *self;
        [("floors", floors), ("orders", orders), ("outside", outside), ("lost points", lost)]
    }
}
/// A point on a level as a stage sees it.
pub(super) struct Seen<M, const D: usize> {
    /// The possible cells; `None` where nothing is known.
    pub(super) cells: Option<Vec<Cell<Bounded<M>, D>>>,
    /// Whether the encoding leaves the point out; never certainly.
    pub(super) outside: Tristate,
    /// Whether the f64 oracle leaves it out.
    pub(super) value_outside: bool,
}

/// `None` for a point that is certainly outside.
pub(super) fn see<M: Model, const D: usize>(
    position: [f32; D],
    level: &Level,
    encoding: &Encoding,
    undecided: &mut Undecided,
) -> Option<Seen<M, D>> {
    let exact = position.map(f64::from);
    let position = position.map(Bounded::<M>::from_f32);
    let outside = is_outside(encoding, &position);
    if outside == Tristate::Always {
        return None;
    }
    undecided.outside += u64::from(outside == Tristate::Undecided);
    let cells = possible_cells(position, level, encoding, undecided);
    undecided.lost += u64::from(cells.is_none());
    let value_outside = is_outside(encoding, &exact) == Tristate::Always;
    Some(Seen { cells, outside, value_outside })
}

/// The cells that a point may lie in, the oracle's own first; `None` where nothing is known.
fn possible_cells<M: Model, const D: usize>(
    position: [Bounded<M>; D],
    level: &Level,
    encoding: &Encoding,
    undecided: &mut Undecided,
) -> Option<Vec<Cell<Bounded<M>, D>>> {
    let located = located(position, level, encoding);
    let mut all: Vec<[Sides; D]> = vec![[[0; 2]; D]];
    for (axis, &coordinate) in located.iter().enumerate() {
        let sides = possible_sides(coordinate, encoding)?;
        undecided.floors += u64::from(sides.len() > 1);
        let with = |chosen: &[Sides; D], own: Sides| {
            let mut chosen = *chosen;
            chosen[axis] = own;
            chosen
        };
        // The first combination stays that of the first sides of each axis.
        all = sides.iter().flat_map(|&own| all.iter().map(move |c| with(c, own))).collect();
    }
    let cells = all.into_iter().map(|sides| Cell::between(located, sides));
    Some(match encoding.lattice {
        Lattice::Cubic => cells.collect(),
        Lattice::Simplex => cells.flat_map(|cell| possible_orders(cell, undecided)).collect(),
    })
}

/// The sides that a coordinate may have, the oracle's own first; `None` where nothing is known, or
/// more than two floors are possible: the fraction then has no bits.
fn possible_sides<M: Model>(coordinate: Bounded<M>, encoding: &Encoding) -> Option<Vec<Sides>> {
    let own = own_sides(coordinate.value(), encoding)?;
    if coordinate.radius() == 0.0 {
        return Some(vec![own]);
    }
    let [low, high] = coordinate.ends();
    let [first, last] = [floor(low)?, floor(high)?];
    if last - first > 1 {
        return None;
    }
    let mut sides = vec![own];
    let mut push = |possible: Sides| {
        if !sides.contains(&possible) {
            sides.push(possible);
        }
    };
    for left in first..=last {
        let vertex = left as f64;
        match encoding.right_corner {
            RightCorner::FloorPlusOne => push([left, left + 1]),
            RightCorner::Ceil => {
                if vertex < high {
                    push([left, left + 1]);
                }
                if low <= vertex {
                    push([left, left]);
                }
            }
        }
    }
    Some(sides)
}

/// The same cell under every order that its fractions may have, the oracle's own first. Equal
/// fractions may be ordered either way: no program is promised to take the lower axis first.
fn possible_orders<M: Model, const D: usize>(
    cell: Cell<Bounded<M>, D>,
    undecided: &mut Undecided,
) -> Vec<Cell<Bounded<M>, D>> {
    let (own, fractions) = (cell.own_order(), *cell.fractions());
    let mut orders = vec![own];
    let mut order = own;
    permute(&mut order, 0, &mut |order: &[usize; D]| {
        let possible = (0..D).all(|late| {
            let before = &order[..late];
            before.iter().all(|&a| fractions[a].less(fractions[order[late]]) != Tristate::Always)
        });
        if possible && *order != own {
            orders.push(*order);
        }
    });
    undecided.orders += u64::from(orders.len() > 1);
    orders.into_iter().map(|order| cell.ordered(order)).collect()
}

/// Calls `visit` with every permutation of the numbers from `at` on.
fn permute<const D: usize>(order: &mut [usize; D], at: usize, visit: &mut impl FnMut(&[usize; D])) {
    if at == D {
        visit(order);
        return;
    }
    for other in at..D {
        order.swap(at, other);
        permute(order, at + 1, visit);
        order.swap(at, other);
    }
}
