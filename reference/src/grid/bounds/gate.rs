//! Bounds of gated encodings: see [`crate::grid::gate`].

use super::stages::{Bounds, TableBounds, features as features_of, of_entries, of_positions};
use super::sum::Sum;
use crate::arithmetic::{Bounded, Model};
use crate::grid::gate::{AtGates, Gated, Gradients, gated, width};
use crate::grid::stages::Input;

/// A point's products are added up in any order.
pub(super) fn at_gates<M: Model, I: Input<Bounded<M>>>(
    gates: &[I],
    features: &[I],
    v_gated: &[I],
) -> AtGates<Bounded<M>> {
    assert_eq!(features.len(), v_gated.len(), "each feature has a gradient");
    let width = width(gates, features);
    let rows = features.chunks_exact(width).zip(v_gated.chunks_exact(width));
    let dot = |(features, v_gated): (&[I], &[I])| {
        let mut sum = Sum::default();
        features.iter().zip(v_gated).for_each(|(y, v)| sum.add(y.lift() * v.lift()));
        sum.total::<M>()
    };
    AtGates { v_features: gated(gates, v_gated), v_gates: rows.map(dot).collect() }
}

/// The mask and the features at the points.
fn bounds_at_gates<M: Model>(of: &Gated<'_, f32>) -> [Bounds<M>; 2] {
    let Gated { grid, mask_grid, positions, table, mask } = *of;
    [features_of(mask_grid, positions, mask), features_of(grid, positions, table)]
}

pub(super) fn features<M: Model>(of: &Gated<'_, f32>) -> Bounds<M> {
    let [gates, features] = bounds_at_gates::<M>(of);
    let elements = gated(&gates.elements, &features.elements);
    let mut undecided = features.undecided;
    undecided.add(&gates.undecided);
    Bounds { elements, sums: Vec::new(), undecided }
}

pub(super) fn gradients<M: Model>(
    of: &Gated<'_, f32>,
    v_gated: &[f32],
) -> Gradients<TableBounds, Bounds<M>> {
    let Gated { grid, mask_grid, positions, table, mask } = *of;
    let [gates, features] = bounds_at_gates::<M>(of);
    let v_gated: Vec<Bounded<M>> = v_gated.iter().map(|v| v.lift()).collect();
    let AtGates { v_features, v_gates } = at_gates(&gates.elements, &features.elements, &v_gated);
    let mut v_positions = of_positions::<M>(grid, positions, table, &v_features);
    let of_mask = of_positions::<M>(mask_grid, positions, mask, &v_gates);
    v_positions.undecided.add(&of_mask.undecided);
    for (sum, own) in v_positions.elements.iter_mut().zip(of_mask.elements) {
        *sum = *sum + own;
    }
    Gradients {
        v_table: of_entries::<M>(grid, positions, &v_features),
        v_mask: of_entries::<M>(mask_grid, positions, &v_gates),
        v_positions,
    }
}
