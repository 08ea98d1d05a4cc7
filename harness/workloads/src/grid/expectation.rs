//! What a conforming kernel may return for each stage.

use super::case::Points;
use super::steps::Places;
use splatcheck_judge::judge::{ByLane, Expectation, Output, OutputBound, Rows, Terms};
use splatcheck_reference::arithmetic::{Bounded, Model, Scalar};
use splatcheck_reference::grid::bounds::{self, Compiled, Undecided};
use splatcheck_reference::grid::gate::{AtGates, gated};

/// How many comparisons roundings leave open.
fn open(undecided: &Undecided) -> u64 {
    undecided.named().iter().map(|(_, count)| count).sum()
}

fn intervals<M: Model>(name: &'static str, shape: Vec<usize>, all: &[Bounded<M>]) -> Rows {
    let bounds = all.iter().map(|number| (number.value(), number.radius())).collect();
    Rows::single(Output { name, shape, bound: OutputBound::Interval(bounds) })
}

/// The features of all points.
pub(super) fn forward<M: Compiled>(case: &Points) -> Expectation {
    let Points { grid, positions, table, .. } = case;
    let bounds = bounds::forward::<M>(grid, positions, table);
    let shape = vec![case.points(), grid.levels().len(), grid.features()];
    let features = intervals("features", shape, &bounds.elements);
    let rows = vec![Rows { lane_sums: bounds.sums, ..features }];
    Expectation { model: M::TABLE, undecided: open(&bounds.undecided), rows }
}

/// The gradients of the points.
pub(super) fn backward_input<M: Compiled>(case: &Points) -> Expectation {
    let Points { grid, positions, table, v_features, .. } = case;
    let bounds = bounds::backward_input::<M>(grid, positions, table, v_features);
    let shape = vec![case.points(), grid.dimensions()];
    let rows = vec![intervals("v_positions", shape, &bounds.elements)];
    Expectation { model: M::TABLE, undecided: open(&bounds.undecided), rows }
}

/// The gradients of the table: sums of one term for each corner of each point.
pub(super) fn backward<M: Compiled>(case: &Points) -> Expectation {
    let Points { grid, positions, v_features, .. } = case;
    let bounds = bounds::backward::<M>(grid, positions, v_features);
    let count = grid.entries();
    let output = Output {
        name: "v_table",
        shape: vec![count, grid.features()],
        bound: OutputBound::Sum(bounds.elements),
    };
    let rows = Rows {
        count,
        outputs: vec![output],
        terms: Some(Terms::ByLane(lanes::<M>(case))),
        ..Rows::default()
    };
    Expectation { model: M::TABLE, undecided: open(&bounds.undecided), rows: vec![rows] }
}

/// The features behind the gate.
pub(super) fn gate<M: Model>(case: &Points) -> Expectation {
    let at = case.at_gate().unwrap_or_default();
    let shape = vec![case.points(), case.grid.levels().len(), case.grid.features()];
    let products = gated::<Bounded<M>, f32>(&at.gates, &at.features);
    let rows = vec![intervals("gated", shape, &products)];
    Expectation { model: M::TABLE, undecided: 0, rows }
}

/// The gradients of the features and of the gates.
pub(super) fn gate_backward<M: Compiled>(case: &Points) -> Expectation {
    let at = case.at_gate().unwrap_or_default();
    let shape = vec![case.points(), case.grid.levels().len(), case.grid.features()];
    let AtGates { v_features, v_gates } =
        bounds::gated_backward::<M>(&at.gates, &at.features, &case.v_features);
    let rows = vec![
        intervals("v_features", shape, &v_features),
        intervals("v_gates", vec![case.points()], &v_gates),
    ];
    Expectation { model: M::TABLE, undecided: 0, rows }
}

/// Which lane has which entry at which step. A workgroup that is at a corner is taken for one by itself: it
/// adds up and sends what it has there before it goes on.
fn lanes<M: Compiled>(case: &Points) -> ByLane {
    let keys = bounds::keys::<M>(&case.grid, &case.positions);
    let places = Places::of(case);
    let mut rows = vec![bounds::Keys::NONE; places.lanes()];
    for (place, &key) in keys.own.iter().enumerate() {
        rows[places.lane(place)] = key;
    }
    let mut others: Vec<_> =
        keys.others.iter().map(|&(place, key)| (places.lane(place), key)).collect();
    others.sort_unstable();
    ByLane { rows, others, count: case.grid.entries(), before: Vec::new() }
}
