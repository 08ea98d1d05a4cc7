//! Bounds that are known by hand: exact where nothing rounds, both ways where roundings decide, and
//! infinite where nothing is promised.

use super::bounds::{Compiled, Keys};
use super::*;
use crate::arithmetic::{Bounded, Cuda, Model, Scalar, Wgsl};

/// The bounds' values are those of the f64 stages, to the bit.
#[test]
fn values_are_those_of_the_oracle() {
    fn bits(values: impl IntoIterator<Item = f64>) -> Vec<u64> {
        values.into_iter().map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() }).collect()
    }
    for (seed, encoding) in encodings().into_iter().enumerate() {
        let sizes = [1 + seed % 4, [1, 2, 4, 8][seed / 4 % 4]];
        let case = Case::new(encoding, sizes, 12, seed);
        let Case { grid, positions, table, v_features } = &case;
        let of = |bounds: bounds::Bounds<Wgsl>| bits(bounds.elements.iter().map(|x| x.value()));
        let features = bounds::forward(grid, positions, table);
        assert_eq!(of(features), bits(forward::<f64, _>(grid, positions, table)), "{encoding:?}");
        let slopes = bounds::backward_input(grid, positions, table, v_features);
        let expected = backward_input::<f64, _>(grid, positions, table, v_features);
        assert_eq!(of(slopes), bits(expected), "{encoding:?}");
        let entries = bounds::backward::<Wgsl>(grid, positions, v_features);
        let values = bits(entries.elements.iter().map(|x| x.value));
        assert_eq!(values, bits(backward::<f64, _>(grid, positions, v_features)), "{encoding:?}");
    }
}

/// One level with 4 cells in the unit interval.
fn line(encoding: Encoding) -> Grid {
    Grid::new(encoding, [1, 1], &[4.0], &[8], &[0, 8]).expect("it fits")
}

const TABLE: [f32; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

/// A power of two as scale and points that are multiples of another: positions, weights and these
/// products are all exact, so that there is no bound to hide in.
#[test]
fn exact_lattices_have_no_radius() {
    let grid = line(Encoding::default());
    let positions: Vec<f32> = (0..64_u8).map(|i| f32::from(i) / 64.0).collect();
    let features = bounds::forward::<Wgsl>(&grid, &positions, &TABLE);
    let v = vec![1.0; 64];
    let slopes = bounds::backward_input::<Wgsl>(&grid, &positions, &TABLE, &v);
    let entries = bounds::backward::<Wgsl>(&grid, &positions, &v);
    for at_vertex in (0..64).filter(|i| (i + 8) % 16 == 0) {
        assert_eq!(features.elements[at_vertex].radius(), 0.0, "{at_vertex}: an entry as it is");
    }
    assert_eq!(features.undecided, bounds::Undecided::default(), "every floor is decided");
    assert!(slopes.elements.iter().all(|v| v.radius() == 0.0), "4 (right - left)");
    assert!(entries.elements.iter().all(|sum| sum.radius < 1e-12), "f64 roundings of the sums");
}

/// A point one f32 below a vertex of an inexact scale, whose floor roundings decide.
fn undecided<M: Compiled>(encoding: Encoding) -> (Grid, [f32; 1]) {
    let grid = Grid::new(encoding, [1, 1], &[2.7], &[8], &[0, 8]).expect("it fits");
    let at = |x: f32| bounds::forward::<M>(&grid, &[x], &TABLE).undecided.floors;
    let mut x = 2.5_f32 / 2.7;
    (0..4).for_each(|_| x = x.next_down());
    while at(x) == 0 {
        x = x.next_up();
    }
    (grid, [x])
}

#[test]
fn a_jump_is_accepted_on_both_sides_and_nothing_between_is_widened() {
    let nearest = Encoding { interpolation: Interpolation::Nearest, ..Encoding::default() };
    let (grid, x) = undecided::<Cuda>(nearest);
    let y = bounds::forward::<Cuda>(&grid, &x, &TABLE).elements[0];
    let other = if y.value() == 4.0 { 8.0 } else { 4.0 };
    let jump = (y.value() - other).abs();
    assert!((jump..jump + 1e-9).contains(&y.radius()), "entry 2 or entry 3: {y:?}");
    let (grid, x) = undecided::<Cuda>(Encoding::default());
    let y = bounds::forward::<Cuda>(&grid, &x, &TABLE).elements[0];
    assert!(y.radius() < 1e-4, "linear is continuous: {y:?}");
    let v = bounds::backward_input::<Cuda>(&grid, &x, &TABLE, &[1.0]).elements[0];
    let [low, high] = v.ends();
    assert!(low < 2.7 * 4.0 && high > 2.7 * 8.0, "either slope: {v:?}");
    let v = bounds::backward::<Cuda>(&grid, &x, &[1.0]);
    let weights: Vec<_> = v.elements.iter().map(|sum| sum.value + sum.radius).collect();
    for (entry, &weight) in weights.iter().enumerate() {
        match entry {
            3 => assert!((1.0..1.0 + 1e-5).contains(&weight), "the vertex: {weights:?}"),
            2 | 4 => assert!(weight > 0.0 && weight < 1e-5, "perhaps a neighbour: {weights:?}"),
            _ => assert_eq!(weight, 0.0, "nobody's: {weights:?}"),
        }
    }
}

/// With ceil a point that may be at a vertex may have no slope.
#[test]
fn a_vertex_that_roundings_decide_may_have_no_slope() {
    let (grid, x) =
        undecided::<Cuda>(Encoding { right_corner: RightCorner::Ceil, ..Encoding::default() });
    let v = bounds::backward_input::<Cuda>(&grid, &x, &TABLE, &[1.0]).elements[0];
    let [low, high] = v.ends();
    assert!(low <= 0.0 && high > 2.7 * 8.0, "{v:?}");
}

/// Where fractions tie exactly, a program may sort them either way.
#[test]
fn a_tie_may_go_to_either_axis() {
    let encoding = Encoding { lattice: Lattice::Simplex, ..Encoding::default() };
    let grid = Grid::new(encoding, [2, 1], &[1.0], &[2], &[0, 4]).expect("it fits");
    let (x, table) = ([0.25; 2], [0.0, 1.0, 10.0, 100.0]);
    let v = bounds::backward_input::<Cuda>(&grid, &x, &table, &[1.0]);
    assert_eq!(v.undecided.orders, 1, "one tie");
    // Axis 0 first: 1 along it, then 99; axis 1 first: 90 along axis 0, after 10.
    let [along_0, along_1] = [v.elements[0], v.elements[1]].map(|v| (v.value(), v.radius()));
    let near = |(value, radius): (f64, f64), own: f64, other: f64| {
        value == own && ((own - other).abs()..(own - other).abs() + 1e-3).contains(&radius)
    };
    assert!(near(along_0, 1.0, 90.0) && near(along_1, 99.0, 10.0), "{along_0:?} {along_1:?}");
    let y = bounds::forward::<Cuda>(&grid, &x, &table).elements[0];
    assert_eq!((y.value(), y.radius()), (75.0, 0.0), "the feature is the same");
}

#[test]
fn nothing_is_known_of_a_point_without_a_cell_and_of_what_it_may_add_to() {
    let grid = Grid::new(Encoding::default(), [1, 1], &[4.0, 8.0], &[8, 16], &[0, 8, 16]);
    let grid = grid.expect("it fits");
    let table = vec![1.0; 16];
    for x in [f32::NAN, f32::INFINITY, 1e9, 1e30] {
        let positions = [0.3, x];
        let y = bounds::forward::<Cuda>(&grid, &positions, &table);
        let known: Vec<_> = y.elements.iter().map(|y| y.radius() < f64::INFINITY).collect();
        assert_eq!(known, [true, true, false, false], "{x}: the features of point 1 alone");
        assert_eq!(y.undecided.lost, 2, "on both levels");
        let v = bounds::backward::<Cuda>(&grid, &positions, &[1.0; 4]);
        assert!(v.tolerances(&Cuda::TABLE).iter().all(|&t| t == f64::INFINITY), "{x}: any entry");
        let v = bounds::backward_input::<Cuda>(&grid, &positions, &table, &[1.0; 4]);
        let known: Vec<_> = v.elements.iter().map(|v| v.radius() < f64::INFINITY).collect();
        assert_eq!(known, [true, false], "{x}: the gradient of point 1 alone");
    }
    let outside = Encoding { outside: Outside::Zero, ..Encoding::default() };
    let grid = line(outside);
    for x in [f32::INFINITY, 1e30, -1.0] {
        let y = bounds::forward::<Cuda>(&grid, &[x], &TABLE).elements[0];
        assert_eq!((y.value(), y.radius()), (0.0, 0.0), "{x} is outside, and so known");
    }
    // A subnormal below 0 is 0 where it is flushed.
    let y = bounds::forward::<Wgsl>(&grid, &[-1e-40], &TABLE);
    assert_eq!((y.undecided.outside, y.elements[0].value()), (1, 0.0), "left out in f64");
    assert!(y.elements[0].radius() >= 1.5, "or between entries 0 and 1");
}

/// A sum that may overflow in some order has no finite bound.
#[test]
fn sums_that_may_overflow_are_unbounded() {
    let grid = line(Encoding::default());
    let v = bounds::backward::<Cuda>(&grid, &[0.375; 4], &[3e38, 3e38, -3e38, -3e38]);
    let vertex = 2;
    assert_eq!(v.elements[vertex].value, 0.0, "it cancels");
    assert_eq!(v.terms[vertex], 4, "of four terms");
    assert_eq!(v.tolerances(&Cuda::TABLE)[vertex], f64::INFINITY, "infinity on the way");
    let table = [3e38_f32; 8];
    let y = bounds::forward::<Cuda>(&grid, &[0.3], &table).elements[0];
    assert!(y.value() > 2.9e38 && Bounded::<Cuda>::magnitude(y) > 3e38, "{y:?}");
}

/// The keys are the entries that the gradients are added to.
#[test]
fn keys_are_where_the_gradients_go() {
    for (seed, encoding) in encodings().into_iter().enumerate().step_by(3) {
        let sizes = [1 + seed % 4, 1];
        let case = Case::new(encoding, sizes, 12, seed);
        let keys = bounds::keys::<Cuda>(&case.grid, &case.positions);
        let v = backward::<f64, _>(&case.grid, &case.positions, &case.v_features);
        for (entry, v) in v.iter().enumerate() {
            let named = keys.own.iter().any(|&key| key as usize == entry);
            assert!(named || *v == 0.0, "{encoding:?}: nobody has entry {entry}, which is {v}");
        }
        let levels = case.grid.levels().len();
        assert_eq!(keys.own.len(), levels * keys.corners * case.points(), "[L, corners, N]");
        for (at, &key) in keys.own.iter().enumerate().filter(|(_, key)| **key != Keys::NONE) {
            let level = &case.grid.levels()[at / (keys.corners * case.points())];
            assert!((level.offset..level.offset + level.entries).contains(&key), "its level");
        }
    }
}

#[test]
fn keys_that_roundings_decide_are_named_both_ways() {
    let (grid, x) = undecided::<Cuda>(Encoding::default());
    let keys = bounds::keys::<Cuda>(&grid, &x);
    let [left, right] = [keys.own[0], keys.own[1]];
    assert!(left == 2 || left == 3, "the vertex is entry 3: {keys:?}");
    let moved = |key: u32| if left == 2 { key + 1 } else { key - 1 };
    assert_eq!(keys.others, [(0, moved(left)), (1, moved(right))], "the cell beside it");
    let grid = line(Encoding { outside: Outside::Zero, ..Encoding::default() });
    let keys = bounds::keys::<Wgsl>(&grid, &[-1.0, f32::NAN, -1e-40]);
    assert_eq!(keys.own, [Keys::NONE; 6], "outside, without a cell, outside but for a flush");
    assert_eq!(keys.others, [(2, 0), (5, 1)], "[corners, N]: of the last alone");
}
