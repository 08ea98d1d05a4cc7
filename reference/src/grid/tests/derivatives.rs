//! The gradients are the derivatives of the features: by dual numbers, exactly, and by differences.

use super::*;
use crate::arithmetic::{Dual, Scalar};
use approx::{assert_abs_diff_eq, assert_relative_eq};

/// The derivative of the loss by number `at` of one input, through the stage's own forward code.
fn dual(case: &Case, of_table: bool, at: usize) -> f64 {
    let lift = |numbers: &[f32], varies: bool| -> Vec<Dual<1>> {
        let one = |(i, &x): (usize, &f32)| {
            let value = f64::from(x);
            if varies && i == at { Dual::variable(value, 0) } else { Dual::constant(value) }
        };
        numbers.iter().enumerate().map(one).collect()
    };
    let (positions, table) = (lift(&case.positions, !of_table), lift(&case.table, of_table));
    let features = forward::<Dual<1>, _>(&case.grid, &positions, &table);
    let slopes: Vec<f64> = features.iter().map(|y| y.slopes()[0]).collect();
    dot(&slopes, &case.v_features)
}

#[test]
fn gradients_are_those_of_dual_numbers() {
    for (seed, encoding) in encodings().into_iter().enumerate() {
        let sizes = [1 + seed % 4, [1, 2, 4, 8][seed / 4 % 4]];
        let case = Case::new(encoding, sizes, 3, seed);
        let v_table = backward::<f64, _>(&case.grid, &case.positions, &case.v_features);
        let by_dual: Vec<_> = (0..v_table.len()).map(|at| dual(&case, true, at)).collect();
        assert_near(&v_table, &by_dual, 3.0, &format!("v_table, {encoding:?}"));
        let Case { grid, positions, table, v_features } = &case;
        let v_positions = backward_input::<f64, _>(grid, positions, table, v_features);
        let by_dual: Vec<_> = (0..v_positions.len()).map(|at| dual(&case, false, at)).collect();
        assert_near(&v_positions, &by_dual, 200.0, &format!("v_positions, {encoding:?}"));
        if encoding.interpolation != Interpolation::Nearest && encoding.outside == Outside::Wraps {
            assert!(v_positions.iter().any(|&v| v.abs() > 0.1), "{encoding:?}: nothing to compare");
        }
    }
}

/// The loss in f64.
fn loss(case: &Case, positions: &[f64], table: &[f64]) -> f64 {
    dot(&forward::<f64, _>(&case.grid, positions, table), &case.v_features)
}

/// Central differences, where no point comes near a border of a cell or of a simplex.
#[test]
fn gradients_are_differences_of_the_loss() {
    const STEP: f64 = 1e-6;
    for (lattice, skew) in [
        (Lattice::Cubic, Skew::None),
        (Lattice::Simplex, Skew::None),
        (Lattice::Simplex, Skew::Simplex),
    ] {
        for interpolation in [Interpolation::Linear, Interpolation::Smoothstep] {
            let encoding = Encoding { lattice, skew, interpolation, ..Encoding::default() };
            if lattice == Lattice::Simplex && interpolation == Interpolation::Smoothstep {
                continue;
            }
            let mut case = Case::new(encoding, [3, 2], 1, 5);
            case.positions = vec![0.23, 0.41, 0.77];
            let (positions, table) = (wide(&case.positions), wide(&case.table));
            let Case { grid, v_features, .. } = &case;
            let v = [
                backward_input::<f64, _>(grid, &case.positions, &case.table, v_features),
                backward::<f64, _>(grid, &case.positions, v_features),
            ];
            for (at, &v) in v[0].iter().enumerate() {
                let moved = |by: f64| {
                    let mut positions = positions.clone();
                    positions[at] += by;
                    loss(&case, &positions, &table)
                };
                let difference = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
                assert_relative_eq!(v, difference, epsilon = 1e-6, max_relative = 1e-6);
            }
            for (at, &v) in v[1].iter().enumerate() {
                let mut more = table.clone();
                more[at] += 1.0;
                let difference = loss(&case, &positions, &more) - loss(&case, &positions, &table);
                assert_abs_diff_eq!(v, difference, epsilon = 1e-12);
            }
        }
    }
}

/// At a vertex floor + 1 has the slope to the right, and ceil none.
#[test]
fn the_slope_at_a_vertex_is_the_right_corners() {
    let slope = |right_corner| {
        let position_offset = PositionOffset::Zero;
        let encoding = Encoding { right_corner, position_offset, ..Encoding::default() };
        let grid = Grid::new(encoding, [1, 1], &[4.0], &[5], &[0, 8]).expect("it fits");
        let table = [0.0, 1.0, 3.0, 7.0, 15.0, 0.0, 0.0, 0.0];
        backward_input::<f64, f32>(&grid, &[0.5], &table, &[1.0])
    };
    assert_eq!(slope(RightCorner::FloorPlusOne), [16.0], "4 (7 - 3)");
    assert_eq!(slope(RightCorner::Ceil), [0.0], "both corners are the vertex");
}

/// Where two fractions tie, a simplex takes the lower axis first.
#[test]
fn a_tie_goes_to_the_lower_axis() {
    let encoding = Encoding { lattice: Lattice::Simplex, ..Encoding::default() };
    let grid = Grid::new(encoding, [2, 1], &[1.0], &[2], &[0, 4]).expect("it fits");
    let table = [0.0, 1.0, 10.0, 100.0];
    // pos = 3/4 on both axes: vertices 00, 10, 11.
    let v = backward_input::<f64, f32>(&grid, &[0.25, 0.25], &table, &[1.0]);
    assert_eq!(v, [1.0, 99.0], "along axis 0, then along axis 1");
    let y = forward::<f64, f32>(&grid, &[0.25, 0.25], &table);
    assert_eq!(y, [75.0], "the vertex between them has weight 0");
    assert_eq!(Dual::<1>::constant(y[0]).value(), 75.0, "a constant");
}
